"""What calibration found on strategies that nobody had looked at: an index that lies in two tables, states that are off most of the time."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from finassay.api.strategy import Stance
from finassay_checks.delivered import read_delivery
from finassay_checks.fidelity.selection import Agreement, _better
from finassay_checks.recompute.audit import audit
from finassay_checks.roles.canonical import weight_scale

from .deliveries import clean_delivery, make_package
from .fidelity_market import Rules, market, run
from .test_fidelity_observables import show


def _index() -> pd.Series:
    index: pd.Series = market().mean(axis=1) * 10
    return index


def _momentum_state() -> pd.Series:
    index = _index()
    state: pd.Series = index > index.shift(252)
    return state


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


@pytest.mark.parametrize("gross", [1.0, 1.5, 1.6])
@pytest.mark.parametrize("name", ["target_weights.csv", "targets.csv"])
def test_wide_targets_that_sum_to_more_than_one(tmp_path: Path, gross: float, name: str) -> None:
    trades = clean_delivery()["results/trades.csv"]
    assert isinstance(trades, pd.DataFrame)
    days, tickers = pd.DatetimeIndex(trades["fill_date"].unique())[:8], list(trades["ticker"].unique())[:4]
    rng = np.random.default_rng(5)
    weights = pd.DataFrame(rng.dirichlet(np.ones(len(tickers)), len(days)) * gross, columns=tickers).assign(date=days)
    files = {path: body for path, body in clean_delivery().items() if path != "results/target_weights.csv"}
    package = make_package(tmp_path, files | {f"results/{name}": weights[["date", *tickers]]})
    found = next(o for o in audit(package) if o.letter == "e")
    assert found.status == ("pass" if gross == 1.0 else "fail"), found


def test_percent_that_is_mostly_cash_is_still_percent() -> None:
    days = pd.Series(np.repeat(pd.bdate_range("2020-01-01", periods=10), 2))
    weights = pd.Series([0.0, 0.0] * 7 + [60.0, 40.0] * 3)
    assert weight_scale(weights, days) == 0.01
    assert weight_scale(weights * 0.015, days) == 1.0


@pytest.mark.parametrize(("name", "kind"), [("targets.csv", "weights"), ("shares.csv", "positions")])
def test_wide_targets_of_a_volatility_target_are_weights(tmp_path: Path, name: str, kind: str) -> None:
    rng = np.random.default_rng(5)
    days, tickers = pd.bdate_range("2016-01-04", periods=40), list("ABCDEFGH")
    weights = pd.DataFrame(rng.dirichlet(np.ones(8), len(days)) * rng.uniform(0.3, 0.8, (len(days), 1)), index=days, columns=tickers)
    held = weights.where(weights > 0.03, 0.0).rename_axis("date").reset_index()
    tables = make_package(tmp_path, {f"results/{name}": held}).fact(read_delivery).role_tables
    assert [t.role for t in tables if t.table.where == f"results/{name}"] == [kind]
