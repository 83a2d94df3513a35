"""3.1 on scores and timing series that reach ahead of their date, and on their trailing twins, which must stay clean."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from backtest_faults import Files, package_of, simulated, spoiled, told, verdict, weights_files

from finassay_checks.audit.timing import signal_findings
from finassay_checks.checks.backtest_timing import PointInTimeCorrectness

Frame = pd.DataFrame
Score = Callable[[Frame], Frame]


def with_scores(score: Score, shift: int = 0, digits: int = 8) -> Callable[[Files], None]:
    """The clean delivery with this score of the closes, T x N, in place of its own."""

    def fault(files: Files) -> None:
        closes = simulated().prices.pivot(index="date", columns="ticker", values="close")
        made = score(closes).shift(shift)
        frame = files["results/signals.csv"]
        values = [made.loc[d, t] for d, t in zip(frame["decision_date"], frame["ticker"], strict=True)]
        files["results/signals.csv"] = frame.drop(columns=["mom_6_1", "rank"]).assign(score=np.round(values, digits))

    return fault


def centred(x: Frame) -> Frame:
    return x / x.rolling(41, center=True).mean() - 1


def trailing(x: Frame) -> Frame:
    return x / x.rolling(41).mean() - 1


def whole(x: Frame) -> Frame:
    moves = x / x.shift(21) - 1
    return (moves - moves.mean()) / moves.std()


def growing(x: Frame) -> Frame:
    moves = x / x.shift(21) - 1
    return (moves - moves.expanding().mean()) / moves.expanding().std()


def rolled(x: Frame) -> Frame:
    moves = x / x.shift(21) - 1
    return (moves - moves.rolling(126).mean()) / moves.rolling(126).std()


def between(x: Frame) -> Frame:
    return (x - x.min()) / (x.max() - x.min())


def across(x: Frame) -> Frame:
    """A z-score across the names of one day needs nothing from later."""
    moves = x / x.shift(21) - 1
    return moves.sub(moves.mean(axis=1), axis=0).div(moves.std(axis=1), axis=0)


@pytest.mark.parametrize("score", [centred, whole, between])
def test_a_score_that_only_later_prices_reproduce_is_level_one(tmp_path: Path, score: Score) -> None:
    found = verdict(PointInTimeCorrectness, spoiled(tmp_path, with_scores(score)))
    assert found.level == 1
    assert "trailing it is" in told(found)
    assert int(str(found.facts["window_reaches_ahead"])) > 0
    assert int(str(found.facts["not_after_signal"])) > 0


@pytest.mark.parametrize("score", [trailing, growing, rolled, across])
def test_the_trailing_twins_stay_clean(tmp_path: Path, score: Score) -> None:
    found = verdict(PointInTimeCorrectness, spoiled(tmp_path, with_scores(score)))
    assert found.level == 4, told(found)
    assert "window_reaches_ahead" not in found.facts


def test_four_decimals_are_enough_to_see_it(tmp_path: Path) -> None:
    assert verdict(PointInTimeCorrectness, spoiled(tmp_path, with_scores(whole, digits=4))).level == 1


def test_a_score_of_noise_reaches_nowhere(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    found = verdict(PointInTimeCorrectness, spoiled(tmp_path, with_scores(lambda x: x * 0 + random.normal(size=x.shape))))
    assert found.level == 4


def timing(score: Score) -> Files:
    """Weights alone, with a benchmark and a timing series in numbers."""
    closes = simulated().prices.pivot(index="date", columns="ticker", values="close")
    index = closes.mean(axis=1).to_frame("index")
    made = score(index)["index"].dropna()
    state = pd.DataFrame(
        {"date": made.index, "moving_average": made.to_numpy(), "risk_on": (index["index"].loc[made.index] > made).to_numpy()}
    )
    curve = pd.DataFrame({"date": index.index, "benchmark": index["index"].to_numpy()})
    return weights_files() | {"results/timing_state.csv": state, "results/benchmark.csv": curve}


@pytest.mark.parametrize(
    ("score", "level"),
    [(lambda x: x.rolling(101, center=True).mean(), 1), (lambda x: x.rolling(101).mean(), 2)],
    ids=["centred", "trailing"],
)
def test_a_timing_average_that_reaches_ahead(tmp_path: Path, score: Score, level: int) -> None:
    found = verdict(PointInTimeCorrectness, package_of(tmp_path, timing(score)))
    assert found.level == level, told(found)
    assert ("trailing it is" in told(found)) == (level == 1)


@pytest.mark.parametrize(("score", "found"), [(centred, True), (trailing, False)])
def test_the_audit_says_so_as_well(tmp_path: Path, score: Score, found: bool) -> None:
    findings = [f for f in signal_findings(spoiled(tmp_path, with_scores(score))) if f.check == "score_reaches_ahead"]
    assert bool(findings) == found
    assert all(f.severity == "wrong" and "trailing it is" in f.rows[0] for f in findings)
