"""What calibration found: splits from a table of actions, pandas' default JSON, spells without holdings, class shares, large two-row headers."""

import json

import numpy as np
import pandas as pd

from finassay_checks.model import Table
from finassay_checks.reading.delimited import read_large
from finassay_checks.reading.limits import ReadLimits
from finassay_checks.reading.structured import read_json
from finassay_checks.recompute.calendar import flat_spells, schedule_share
from finassay_checks.recompute.panel import Panel, with_splits
from finassay_checks.roles.cells import canonical_ticker
from finassay_checks.roles.context import Context
from finassay_checks.roles.plain import plain_roles
from finassay_checks.roles.shape import shape_of
from finassay_checks.roles.wide import role_tables

DAYS = pd.bdate_range("2020-01-01", periods=6)


def _panel(*closes: float) -> Panel:
    return Panel(DAYS, pd.Index(["AAA"]), np.array(closes)[:, None])


def _split(ratio: float) -> pd.DataFrame:
    return pd.DataFrame({"date": [DAYS[3]], "ticker": ["AAA"], "kind": ["split"], "value": [ratio]})


def test_a_split_of_raw_prices_is_taken_from_the_table_of_actions():
    made = with_splits(_panel(80, 82, 81, 20.5, 20, 21), _split(4.0))
    assert made.adjusted is not None
    assert made.adjusted[:, 0].tolist() == [20, 20.5, 20.25, 20.5, 20, 21]


def test_a_split_that_prices_already_carry_is_left_alone():
    assert with_splits(_panel(20, 20.5, 20.25, 20.5, 20, 21), _split(4.0)).adjusted is None
    assert with_splits(_panel(20, 20.5, 20.25, 20.5, 20, 21), None).adjusted is None


def test_json_by_columns_with_counted_rows_is_one_table():
    rows = 100
    data = json.dumps({"date": {str(k): f"2020-01-{k % 28 + 1:02d}" for k in range(rows)}, "close": {str(k): k + 1.0 for k in range(rows)}})
    frame = read_json(data.encode(), ".json", ReadLimits()).tables[0].frame
    assert list(frame.columns) == ["date", "close"]
    assert len(frame) == rows


def test_months_without_holdings_are_no_missed_months():
    dates = pd.to_datetime(["2020-01-31", "2020-02-28", "2020-06-30", "2020-07-31", "2020-11-30"])
    trades = pd.DataFrame(
        {
            "fill_date": pd.to_datetime(["2020-01-31", "2020-03-05", "2020-06-30", "2020-08-10", "2020-11-30"]),
            "ticker": "AAA",
            "shares": [10.0, -10.0, 5.0, -5.0, 7.0],
        }
    )
    fills = np.ones(len(dates), dtype=np.int64)
    assert len(flat_spells(trades)) == 2
    assert schedule_share(dates[[0, 2, 4]], fills[:3], "monthly") == 0.0
    assert schedule_share(dates, fills, "monthly", flat_spells(trades)) == 1.0


def test_class_shares_of_a_file_name():
    assert canonical_ticker("BRK_B") == "BRK-B"


def test_a_large_file_with_fields_and_tickers_across(tmp_path):
    lines = ["Price,Close,Close,Volume,Volume", "Ticker,AAA,BBB,AAA,BBB", "Date,,,,"]
    lines += [f"{day.date()},{10 + k % 7},{20 + k % 5},100,200" for k, day in enumerate(pd.bdate_range("2000-01-03", periods=3_000))]
    path = tmp_path / "prices.csv"
    path.write_text("\n".join(lines) + "\n")
    frame = read_large(path, ".csv", ReadLimits()).tables[0].frame
    assert list(frame.columns) == ["Date", "Close AAA", "Close BBB", "Volume AAA", "Volume BBB"]
    assert len(frame) == 3_000


def _roles(name: str, frame: pd.DataFrame) -> set[str]:
    table = Table(name, name, 1, True, frame)
    shape = shape_of(table, frozenset(), "UTC")
    context = Context("UTC", frozenset())
    return {r.role for r in (*role_tables(shape, context), *plain_roles(shape))}


def _series(rows: int, **columns: object) -> pd.DataFrame:
    return pd.DataFrame({"Date": pd.bdate_range("2020-01-01", periods=rows).strftime("%Y-%m-%d"), **columns})


def test_a_daily_table_of_commissions_and_returns_is_an_equity_curve_and_no_headline():
    rows = 120
    money = 1e6 * np.cumprod(1 + 0.01 * np.sin(np.arange(rows)))
    frame = _series(rows, **{"Portfolio Value": money, "Cash": 10.0, "Commission": 1.0, "Returns": 0.01 * np.sin(np.arange(rows))})
    found = _roles("results/equity.csv", frame)
    assert "equity" in found
    assert "metrics" not in found
    few = pd.DataFrame({"Portfolio": ["strategy", "index"], "Commission": [1.0, 0.0], "Returns": [0.1, 0.2], "Sharpe": [1.0, 0.5]})
    assert "metrics" in _roles("results/figures.csv", few)


def test_a_return_that_a_rule_compares_with_is_no_equity():
    rows = 120
    state = _series(rows, in_market=["True", "False"] * 60, index_return_12m=0.01, return_needed=0.0)
    assert "equity" not in _roles("results/states.csv", state)
    assert "states" in _roles("results/states.csv", state)
    assert "equity" not in _roles("results/daily.csv", _series(rows, trailing_return=0.01, ret_12m=0.02, note="x"))
    assert "equity" in _roles("results/daily.csv", _series(rows, fund_return=0.01 * np.cos(np.arange(rows)), note="x"))
