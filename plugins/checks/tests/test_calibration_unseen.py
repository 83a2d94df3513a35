"""What calibration found on strategies that nobody had looked at: an index that lies in two tables, states that are off most of the time."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from finassay.api.strategy import Stance
from finassay_checks.fidelity.selection import Agreement, _better

from .fidelity_market import Rules, market, run
from .test_fidelity_observables import show


def _index() -> pd.Series:
    return market().mean(axis=1) * 10


def _momentum_state() -> pd.Series:
    index = _index()
    return index > index.shift(252)


def _mostly_out(index: pd.Series) -> pd.Series:
    """Another rule: in the market on one day in five, by blocks of ten sessions."""
    return pd.Series((np.arange(len(index)) // 10) % 5 == 0, index=index.index)


@pytest.mark.parametrize("followed", [True, False])
def test_a_timing_rule_whose_warm_up_lies_in_the_longer_of_two_tables_of_the_index(tmp_path: Path, followed: bool) -> None:
    index = _index()
    state = _momentum_state() if followed else _mostly_out(index)
    made = run(Rules(state=state, schedule="weekly"), warm_up=400)
    level = index.iloc[400:]
    files = made.files("| timing | 12-month return of the index |\n|---|---|\n") | {
        "data/index.csv": pd.DataFrame({"date": index.index, "close": index.to_numpy()}),
        "results/benchmark.csv": pd.DataFrame({"date": level.index, "sp500_index": level.to_numpy() / level.iloc[0]}),
        "results/states.csv": pd.DataFrame({"date": level.index, "in_market": state.iloc[400:].to_numpy()}),
    }
    shown = show(tmp_path, files, "timing", rule="index_abs_mom")
    assert shown.stance is (Stance.SUPPORTS if followed else Stance.CONTRADICTS)
    assert "derived again" in shown.note


def test_a_rival_ranking_that_fits_one_fill_better_is_no_evidence() -> None:
    own = Agreement(18 / 19, 19, 0.9, 10)
    assert not _better(1.0, own, 0.95)
    assert _better(1.0, Agreement(0.7, 19, 0.9, 10), 0.95)
    assert _better(0.99, Agreement(0.96, 100, 0.9, 50), 0.95), "both are enough: then the better one leaves the other unshown"
