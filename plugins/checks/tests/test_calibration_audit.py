"""What calibration found in the audit and the schedule: values, repeated rows, months that need no fill, round trips as the only log."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from attrs import evolve

from finassay.api.strategy import Observable, Stance
from finassay_checks.fidelity.execution import _days_after
from finassay_checks.fidelity.observe import observations
from finassay_checks.recompute.audit import audit
from finassay_checks.recompute.calendar import empty_spells, schedule_share, unchanged_targets
from finassay_checks.recompute.control import control
from finassay_checks.recompute.panel import split_adjusted
from finassay_checks.recompute.rebuilt import fill_log

from .deliveries import clean_delivery, make_package
from .fidelity_market import Rules, Run, run

TRADES = "results/trades.csv"


def outcome(tmp_path: Path, letter: str, trades: pd.DataFrame) -> tuple[str, str]:
    found = next(o for o in audit(make_package(tmp_path, clean_delivery() | {TRADES: trades})) if o.letter == letter)
    return found.status, found.found


def log() -> pd.DataFrame:
    trades = clean_delivery()[TRADES]
    assert isinstance(trades, pd.DataFrame)
    return trades.copy()


@pytest.mark.parametrize(("factor", "status"), [(1.0, "pass"), (0.9991, "pass"), (1.25, "fail"), (0.5, "fail")])
def test_a_delivered_value_is_price_times_shares(tmp_path: Path, factor: float, status: str) -> None:
    trades = log()
    trades["value"] = (trades["shares"] * trades["price"]).abs()
    trades.loc[trades.index[::5], "value"] *= factor
    assert outcome(tmp_path, "b", trades)[0] == status


def test_a_column_that_holds_something_else_is_no_value(tmp_path: Path) -> None:
    trades = log()
    trades["value"] = np.linspace(1e6, 2e6, len(trades))
    assert outcome(tmp_path, "b", trades)[0] == "pass"


def test_rows_of_the_log_that_stand_twice(tmp_path: Path) -> None:
    trades = log()
    trades["shares"] += 0.25
    status, found = outcome(tmp_path / "twice", "g", pd.concat([trades, trades.iloc[3:6]], ignore_index=True))
    assert status == "fail"
    assert "3 of" in found
    numbered = log().drop(columns=["trade_id", "order_id"], errors="ignore")
    numbered["shares"] = numbered["shares"].round()
    numbered["order_id"] = 7
    assert "stand twice" not in outcome(tmp_path / "parts", "g", pd.concat([numbered, numbered.iloc[3:5]], ignore_index=True))[1]


def test_a_month_that_begins_without_holdings_needs_no_fill() -> None:
    dates = pd.to_datetime(["2018-02-01", "2018-07-02"])
    fills = np.array([5, 5])
    day = pd.Timestamp
    out = (
        (day("2018-02-20"), day("2018-03-06")),
        (day("2018-03-28"), day("2018-04-03")),
        (day("2018-05-01"), day("2018-05-02")),
        (day("2018-05-31"), day("2018-06-11")),
    )
    assert schedule_share(dates, fills, "monthly") == 0.0
    assert schedule_share(dates, fills, "monthly", out) == 1.0
    assert schedule_share(dates, fills, "monthly", out[:2]) == 0.0
    middle = ((day("2018-03-12"), day("2018-03-20")),)
    assert schedule_share(dates, fills, "monthly", middle) == 0.0


def test_a_plan_that_stayed_needs_no_fill() -> None:
    days = pd.to_datetime(["2018-01-31", "2018-02-28", "2018-03-29", "2018-04-30"])
    plan = pd.DataFrame({"AAA": [0.5, 0.5, 0.5, 0.2], "BBB": [0.5, 0.5, 0.5, np.nan]}, index=days)
    stayed = unchanged_targets(plan)
    assert [a for a, _ in stayed] == list(days[1:3])
    assert schedule_share(days[[0, 3]], np.array([2, 2]), "monthly") == 0.0
    assert schedule_share(days[[0, 3]], np.array([2, 2]), "monthly", stayed) == 1.0


def round_trips(trades: pd.DataFrame) -> pd.DataFrame:
    """First in, first out."""
    lots: defaultdict[str, list[list[object]]] = defaultdict(list)
    rows = []
    for fill in trades.itertuples():
        left = float(fill.shares)
        if str(fill.side).upper().startswith("B"):
            lots[fill.ticker].append([fill.fill_date, left, fill.price])
            continue
        while left > 1e-9 and lots[fill.ticker]:
            lot = lots[fill.ticker][0]
            size = min(left, float(lot[1]))  # type: ignore[arg-type]
            rows.append((fill.ticker, lot[0], fill.fill_date, size, lot[2], fill.price, size * (fill.price - float(lot[2]))))  # type: ignore[arg-type]
            left, lot[1] = left - size, float(lot[1]) - size  # type: ignore[arg-type]
            if float(lot[1]) <= 1e-9:  # type: ignore[arg-type]
                lots[fill.ticker].pop(0)
    rows += [(t, lot[0], None, lot[1], lot[2], None, None) for t, own in lots.items() for lot in own]
    return pd.DataFrame(rows, columns=["ticker", "entry_date", "exit_date", "shares", "entry_price", "exit_price", "pnl"])


@pytest.fixture(scope="module")
def stopped() -> Run:
    return run(Rules(stop=("trailing", 0.08), rate=0.0))


def test_round_trips_alone_show_the_stop_and_the_schedule(tmp_path: Path, stopped: Run) -> None:
    trips = round_trips(stopped.trades)
    files = stopped.files("Rebalance monthly. A trailing stop sells 8% below the peak.")
    del files["trades.csv"]
    package = make_package(tmp_path, files | {"round_trips.csv": trips})
    stop, monthly = Observable("trailing-stop", {"threshold": 0.08}), Observable("schedule", {"period": "monthly"})
    package = evolve(package, task=evolve(package.task, observables={"stop": stop, "schedule": monthly}))
    found = package.fact(observations)
    assert found.show(stop).stance is Stance.SUPPORTS
    assert found.show(monthly).stance is Stance.SUPPORTS
    log_ = fill_log(found.ledger.delivered)
    assert log_ is not None
    assert len(log_) == len(package.fact(control).mask) == len(trips) + int(trips["exit_date"].notna().sum())
    assert {o.letter: o.status for o in audit(package)}["h"] == "pass"


def test_a_portfolio_that_trades_after_any_announcement() -> None:
    sessions = pd.bdate_range("2020-01-01", periods=500)
    announced = [np.arange(10, 490, 40), np.arange(13, 490, 40)]
    after = pd.DataFrame({"fill_date": sessions[np.concatenate(announced) + 1]})
    shown = _days_after(after, sessions, announced)
    assert shown is not None
    assert shown.stance is Stance.SUPPORTS
    assert _days_after(pd.DataFrame({"fill_date": sessions[5::21]}), sessions, announced) is None
    everywhere = [np.arange(0, 499)]
    assert _days_after(after, sessions, everywhere) is None, "on days of which each is one after an announcement, nothing is shown"


def test_spells_without_holdings_are_seen_through_splits() -> None:
    days = pd.bdate_range("2013-01-01", periods=6)
    weights = pd.DataFrame({"A": [0.0, 0.5, 0.5, 0.0, 0.0, 0.4], "B": [0.0, 0.0, 0.5, 0.0, float("nan"), 0.0]}, index=days)
    assert empty_spells(weights) == ((days[0], days[0]), (days[3], days[4]))
    assert empty_spells(weights.iloc[1:3]) == ()
    assert empty_spells(None) == ()


def test_closes_go_through_splits_that_a_table_of_actions_gives() -> None:
    days = pd.bdate_range("2013-01-01", periods=4)
    closes = pd.DataFrame({"A": [100.0, 102.0, 51.5, 52.0], "B": [10.0, 10.0, 10.0, 10.0]}, index=days)
    actions = pd.DataFrame({"date": [days[2], days[2]], "ticker": ["A", "B"], "kind": ["split", "split"], "value": [2.0, 2.0]})
    through = split_adjusted(closes, actions)
    assert through["A"].tolist() == [50.0, 51.0, 51.5, 52.0]
    assert through["B"].tolist() == [10.0] * 4, "a close that does not jump is adjusted already"
    assert split_adjusted(closes, None) is closes
