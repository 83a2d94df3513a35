"""What calibration found in the reading: columns of several levels in parquet, class shares in file names, growth below zero."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from finassay_checks.model import Choice, Role, RoleTable, Table
from finassay_checks.reading.columnar import read_parquet
from finassay_checks.reading.limits import ReadLimits
from finassay_checks.recompute.conventions import Curve, alternatives
from finassay_checks.roles.choose import Selector
from finassay_checks.roles.context import Context
from finassay_checks.roles.shape import shape_of
from finassay_checks.roles.wide import role_tables

DAYS = pd.bdate_range("2020-01-01", periods=40, name="Date")


def roles(where: str, frame: pd.DataFrame, known: frozenset[str] = frozenset()) -> dict[str, pd.DataFrame]:
    shape = shape_of(Table(where, where, 1, True, frame), known, "UTC")
    return {str(r.role): r.frame for r in role_tables(shape, Context("UTC", known))}


@pytest.mark.parametrize("by_ticker", [False, True])
def test_parquet_with_columns_of_two_levels_is_one_price_table(tmp_path: Path, by_ticker: bool) -> None:
    columns = [(f, t) for f in ("Close", "Volume") for t in ("AAA", "BRK-B")]
    index = pd.MultiIndex.from_tuples([c[::-1] if by_ticker else c for c in columns])
    values = np.random.default_rng(1).uniform(10, 20, (len(DAYS), 4))
    pd.DataFrame(values, index=DAYS, columns=index).to_parquet(tmp_path / "prices.parquet")
    frame = read_parquet(tmp_path / "prices.parquet", ReadLimits()).tables[0].frame
    prices = roles("prices.parquet", frame)["prices"]
    assert set(prices["ticker"]) == {"AAA", "BRK-B"}
    assert prices["close"].iloc[1] == pytest.approx(values[0, 1])


@pytest.mark.parametrize("stem", ["BRK_B", "BRK-B", "BRK.B"])
def test_a_file_of_a_class_share_holds_its_prices(stem: str) -> None:
    frame = pd.DataFrame(
        {"date": DAYS.strftime("%Y-%m-%d"), **{c: np.linspace(10, 12, len(DAYS)) for c in ("open", "high", "low", "close")}}
    )
    assert set(roles(f"prices/{stem}.csv", frame)["prices"]["ticker"]) == {"BRK-B"}


def test_a_curve_that_falls_below_zero_has_no_annual_return() -> None:
    equity = pd.Series([1.0, 2.0, -3.0, -2.0, -2.5] * 20, index=pd.bdate_range("2020-01-01", periods=100))
    for metric in ("annual_return", "total_return", "annual_vol", "sharpe", "sortino", "max_drawdown"):
        assert all(np.isfinite(a.value) for a in alternatives(metric, Curve.of(equity)))
    short = pd.Series([-1.0, 1.0, -2.0], index=pd.bdate_range("2020-01-01", periods=3))
    assert list(alternatives("annual_return", Curve.of(short))) is not None


def candidate(where: str, frame: pd.DataFrame) -> RoleTable:
    return RoleTable("weights", Table(where, where, 1, True, frame), {}, ("a weight for each date and ticker",), frame)


def test_a_plan_of_purchases_counts_before_daily_weights_of_every_name() -> None:
    days, names = DAYS, list("ABCD")
    log = pd.DataFrame({"signal_date": np.repeat(days[:20:2], 4), "fill_date": np.repeat(days[1:21:2], 4), "ticker": names * 10})
    held = pd.DataFrame([(d, n, 0.25, "held") for d in days for n in names], columns=["date", "ticker", "weight", "kind"])
    plan = pd.DataFrame([(d, n, 0.5, "target") for d in days[:20:2] for n in "AB"], columns=["date", "ticker", "weight", "kind"])
    chosen: dict[Role, Choice] = {"trades": Choice("trades", "found", candidate("trades.csv", log), (), ())}
    selector = Selector({}, (), "")

    def winner(*left: RoleTable) -> str:
        kept = list(left)
        for test, _ in selector._tests("weights", chosen):
            scores = [test(c) for c in kept]
            kept = [c for c, score in zip(kept, scores, strict=True) if score == max(scores)]
        return kept[0].table.where

    assert winner(candidate("daily_weights.csv", held), candidate("target_weights.csv", plan)) == "target_weights.csv"
    stale = plan.assign(date=plan["date"] + pd.Timedelta(days=400))
    assert winner(candidate("daily_weights.csv", held), candidate("old_targets.csv", stale)) == "daily_weights.csv"
