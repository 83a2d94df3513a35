"""Conventions are told from faults, and named."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from finassay_checks.model import Figure, MetricMatch
from finassay_checks.recompute import metrics
from finassay_checks.recompute.conventions import Curve, alternatives, own_value
from finassay_checks.recompute.matches import decide, tolerance


def curve(days: int = 1000, mean: float = 0.0009, spread: float = 0.011, seed: int = 3, frequency: str = "B") -> Curve:
    steps = np.random.default_rng(seed).normal(mean, spread, days)
    index = pd.date_range("2014-12-31", periods=days + 1, freq=frequency)
    return Curve.of(pd.Series(100 * np.concatenate(([1.0], np.cumprod(1 + steps))), index=index))


CURVE = curve()
R = CURVE.path.returns
N = len(R)
GROWTH = float(np.prod(1 + R))


def judged(metric: Any, reported: float, precision: float = 5e-5, on: Curve = CURVE) -> MetricMatch:
    own = own_value(metric, on.path)
    blank = MetricMatch(metric, reported, None, 0.0, False)
    figure = Figure(metric, reported, precision, "REPORT.md", "")
    return decide(figure, reported, own, list(alternatives(metric, on)), blank)


FAULTS = {
    "sharpe": [
        (R.mean() / R.std(ddof=1) * np.sqrt(365), "sqrt(365)"),
        (R.mean() / R.std(ddof=1), "not annualised"),
        (R.mean() / R.std(ddof=1) * np.sqrt(12), "sqrt(12)"),
    ],
    "annual_vol": [(R.std(ddof=1) * np.sqrt(365), "sqrt(365)"), (R.std(ddof=1), "not annualised")],
    "annual_return": [(GROWTH ** (365 / N) - 1, "365 periods"), (GROWTH ** (52 / (N * 1.4)) - 1, "/ 52")],
    "total_return": [(R.sum(), "not compounded"), (np.prod(1 + np.log1p(R)) - 1, "log returns")],
}


@pytest.mark.parametrize(("metric", "reported", "name"), [(m, float(v), n) for m, rows in FAULTS.items() for v, n in rows])
def test_a_fault_has_a_fingerprint(metric: str, reported: float, name: str) -> None:
    found = judged(metric, reported)
    assert found.convention.startswith("fault: ")
    assert name in found.convention
    assert found.matches == (abs(reported - own_value(metric, CURVE.path)) <= tolerance(metric, own_value(metric, CURVE.path)))


def test_a_fault_inside_the_tolerance_is_still_named() -> None:
    """0.5 on Sharpe hides sqrt(365) below a Sharpe of 2.46."""
    found = judged("sharpe", float(R.mean() / R.std(ddof=1) * np.sqrt(365)))
    assert found.matches
    assert "sqrt(365)" in found.convention


CONVENTIONS = {
    "sharpe": [
        (((1 + R.mean()) ** 252 - 1) / (R.std(ddof=1) * np.sqrt(252)), "compounded annual mean"),
        ((GROWTH ** (252 / N) - 1) / (R.std(ddof=1) * np.sqrt(252)), "geometric annual return / volatility"),
    ],
    "annual_return": [(float(R.mean() * 252), "arithmetic")],
    "sortino": [(R.mean() * 252 / (np.sqrt(np.mean(np.minimum(R - R.mean(), 0) ** 2)) * np.sqrt(252)), "semi-deviation")],
}


@pytest.mark.parametrize(("metric", "reported", "name"), [(m, float(v), n) for m, rows in CONVENTIONS.items() for v, n in rows])
def test_a_usual_convention_matches_under_its_name(metric: str, reported: float, name: str) -> None:
    found = judged(metric, reported)
    assert found.matches
    assert name in found.convention


@pytest.mark.parametrize("exponent", [252 / N, 252 / (N - 1), 365.25 / CURVE.path.years / 365.25])
def test_clocks_that_are_accepted_without_remark(exponent: float) -> None:
    assert judged("annual_return", GROWTH**exponent - 1).convention in ("", "calendar days / 365.25")
    assert judged("annual_return", GROWTH**exponent - 1).matches


def test_the_right_figure_has_no_remark_and_a_wrong_one_no_excuse() -> None:
    assert judged("sharpe", metrics.sharpe(R, 252)).convention == ""
    wrong = judged("sharpe", 9.87)
    assert (wrong.matches, wrong.convention) == (False, "")


def test_a_drawdown_without_the_starting_capital_is_named() -> None:
    index = pd.date_range("2020-01-01", periods=202, freq="B")
    equity = pd.Series(np.concatenate(([100.0, 85.5], np.linspace(86, 120, 200) - 3 * np.sin(np.arange(200)))), index=index)
    found = judged("max_drawdown", metrics.max_drawdown(Curve.of(equity).path.returns[1:]), on=Curve.of(equity))
    assert not found.matches
    assert found.convention == "fault: starting capital left out"


def test_a_month_end_drawdown_is_named() -> None:
    index = pd.bdate_range("2019-12-31", periods=300)
    worth = 100 * 1.0003 ** np.arange(300) * np.where(index.to_period("M") == pd.Period("2020-09"), 0.95, 1.0)
    worth[(index > "2020-05-10") & (index < "2020-05-15")] *= 0.8
    steep = Curve.of(pd.Series(worth, index=index))
    found = judged("max_drawdown", metrics.max_drawdown(steep.every("M").returns), on=steep)
    assert not found.matches
    assert found.convention == "fault: month-end values only"


def test_seven_day_data_may_use_365() -> None:
    crypto = curve(frequency="D")
    value = float(crypto.path.returns.mean() / crypto.path.returns.std(ddof=1) * np.sqrt(365))
    assert judged("sharpe", value, on=crypto).convention == ""


def test_large_totals_have_a_relative_floor() -> None:
    assert tolerance("total_return", 138.69) == pytest.approx(0.005 * 139.69)
    assert tolerance("total_return", 0.3) == 0.02
    assert tolerance("trades", 100) == 0


def test_periods_start_with_the_capital() -> None:
    index = pd.DatetimeIndex(["2019-12-31", "2020-01-31", "2020-02-28"])
    assert Curve.of(pd.Series([100.0, 110.0, 121.0], index=index)).every("M").returns.tolist() == pytest.approx([0.1, 0.1])
    within = pd.DatetimeIndex(["2020-01-10", "2020-01-31", "2020-02-28"])
    assert Curve.of(pd.Series([100.0, 110.0, 121.0], index=within)).every("M").returns.tolist() == pytest.approx([0.1, 0.1])
