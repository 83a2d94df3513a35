"""3.1: every level, and the planted look-aheads."""

import sys
from pathlib import Path

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from backtest_faults import (
    deliveries,
    drop,
    drop_columns,
    package_of,
    say,
    signal_after_fill,
    signal_on_fill,
    simulated,
    spoiled,
    told,
    verdict,
    weights_files,
)

from finassay_checks.checks.backtest_timing import PointInTimeCorrectness


def test_a_clean_delivery_is_explicit_throughout(tmp_path: Path) -> None:
    found = verdict(PointInTimeCorrectness, spoiled(tmp_path))
    assert found.level == 4
    assert found.facts["explicit"] == 1.0


@pytest.mark.parametrize("fault", [signal_on_fill, signal_after_fill])
def test_a_fill_on_or_before_its_signal_is_level_one(tmp_path: Path, fault: object) -> None:
    assert callable(fault)
    found = verdict(PointInTimeCorrectness, spoiled(tmp_path, fault))
    assert found.level == 1
    assert "results/trades.csv" in told(found)


def test_a_disclosed_same_close_is_level_one_all_the_same(tmp_path: Path) -> None:
    disclosed = say("decided at the last close of a month, filled at the next close", "decided and filled at the same close, on purpose")
    assert verdict(PointInTimeCorrectness, spoiled(tmp_path, signal_on_fill, disclosed)).level == 1


def test_dates_inferred_from_the_schedule_are_level_two(tmp_path: Path) -> None:
    undated = drop_columns("results/trades.csv", "signal_date", "decided_by")
    found = verdict(
        PointInTimeCorrectness,
        spoiled(
            tmp_path, undated, drop_columns("results/signals.csv", "fill_date"), drop_columns("results/target_weights.csv", "fill_date")
        ),
    )
    assert found.level == 2
    assert found.facts["inferred"] > 0.9


def test_prices_outside_the_day_are_level_three(tmp_path: Path) -> None:
    def outside(files: dict[str, object]) -> None:
        frame = files["results/trades.csv"]
        assert isinstance(frame, pd.DataFrame)
        frame.loc[frame.index[::20], "price"] *= 1.05
        frame["value"] = frame["shares"] * frame["price"]

    found = verdict(PointInTimeCorrectness, spoiled(tmp_path, outside))
    assert found.level == 3
    assert "outside the day's range" in told(found)


def test_neither_date_nor_rule_is_level_one(tmp_path: Path) -> None:
    silent = say("decided at the last close of a month, filled at the next close", "as agreed")
    gone = drop("results/signals.csv", "results/target_weights.csv")
    found = verdict(PointInTimeCorrectness, spoiled(tmp_path, drop_columns("results/trades.csv", "signal_date"), gone, silent))
    assert found.level == 1
    assert "neither a date nor a disclosed rule" in found.reason


def test_a_disclosed_rule_alone_is_level_two(tmp_path: Path) -> None:
    gone = drop("results/signals.csv", "results/target_weights.csv")
    assert verdict(PointInTimeCorrectness, spoiled(tmp_path, drop_columns("results/trades.csv", "signal_date"), gone)).level == 2


@pytest.mark.parametrize(("lag", "level"), [(0, 1), (1, 2)])
def test_weights_that_earn_their_own_day(tmp_path: Path, lag: int, level: int) -> None:
    found = verdict(PointInTimeCorrectness, package_of(tmp_path, weights_files(lag)))
    assert found.level == level
    assert ("w[t]·r[t]" in told(found)) == (lag == 0)


@pytest.mark.parametrize(
    ("code", "level"),
    [("strategy = weights.shift(1) * returns\n", 2), ("strategy = weights * returns\n", 1), ("print('nothing')\n", 0), (None, 0)],
)
def test_without_logs_the_code_is_looked_at(tmp_path: Path, code: str | None, level: int) -> None:
    files: dict[str, object] = {"notes.csv": pd.DataFrame({"a": [1], "b": [2]})}
    if code is not None:
        files["run.py"] = code
    assert verdict(PointInTimeCorrectness, package_of(tmp_path, files)).level == level


def test_an_early_fundamental_is_level_one(tmp_path: Path) -> None:
    days = deliveries.sessions("2014-01-02", "2014-12-31")
    files = {
        "fundamentals.csv": pd.DataFrame(
            {"ticker": ["AAPL", "AMD"], "period_end": ["2013-12-31"] * 2, "announced": ["2014-02-10", "2014-04-20"], "eps": [1.5, 2.5]}
        ),
        "trades.csv": pd.DataFrame(
            {"signal_date": ["2014-03-03"] * 2, "fill_date": ["2014-03-04"] * 2, "ticker": ["AAPL", "AMD"], "side": ["BUY"] * 2, "shares": [5, 5],
             "price": [10.0, 10.0]}
        ),
        "prices.csv": pd.DataFrame({"date": [d for d in days for _ in range(2)], "ticker": ["AAPL", "AMD"] * len(days), "close": 10.0}),
    }  # fmt: skip
    found = verdict(PointInTimeCorrectness, package_of(tmp_path, files))
    assert found.level == 1
    assert "AMD" in told(found)
    assert "AAPL: used" not in told(found)


def test_a_score_that_looks_ahead_of_its_label_is_level_one(tmp_path: Path) -> None:
    def ahead(files: dict[str, object]) -> None:
        closes = simulated().prices.pivot(index="date", columns="ticker", values="close")
        future = closes.shift(-1) / closes.shift(20) - 1
        frame = files["results/signals.csv"]
        assert isinstance(frame, pd.DataFrame)
        score = [future.loc[d, t] for d, t in zip(frame["decision_date"], frame["ticker"], strict=True)]
        files["results/signals.csv"] = frame.drop(columns=["mom_6_1", "rank"]).assign(score=score)

    found = verdict(PointInTimeCorrectness, spoiled(tmp_path, ahead))
    assert found.level == 1
    assert "t+1" in told(found)
