"""Our own metrics against hand values and against plain loops."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finassay_checks.recompute import metrics

RETURNS = np.array([0.10, -0.20, 0.05, 0.0])


def test_hand_values() -> None:
    assert metrics.total_return(RETURNS) == pytest.approx(1.1 * 0.8 * 1.05 - 1)
    assert metrics.annual_return(RETURNS, 2) == pytest.approx((1.1 * 0.8 * 1.05) ** 0.5 - 1)
    assert metrics.max_drawdown(RETURNS) == pytest.approx(-0.2)
    assert metrics.volatility(RETURNS, 4) == pytest.approx(2 * 0.13149778198382917)
    assert metrics.sharpe(RETURNS, 4) == pytest.approx(-0.0125 * 2 / 0.13149778198382917)
    assert metrics.sortino(RETURNS, 4) == pytest.approx(-0.0125 * 4 / (math.sqrt(0.04 / 4) * 2))


def test_a_loss_on_the_first_day_is_in_the_drawdown() -> None:
    assert metrics.max_drawdown(np.array([-0.145, 0.01])) == pytest.approx(-0.145)


@given(st.lists(st.floats(-0.5, 0.5), min_size=3, max_size=60))
def test_against_plain_loops(values: list[float]) -> None:
    wealth, peak, worst = 1.0, 1.0, 0.0
    for value in values:
        wealth *= 1 + value
        peak = max(peak, wealth)
        worst = min(worst, wealth / peak - 1)
    returns = np.array(values)
    assert metrics.total_return(returns) == pytest.approx(wealth - 1, abs=1e-12)
    assert metrics.max_drawdown(returns) == pytest.approx(worst, abs=1e-12)
    mean = sum(values) / len(values)
    variance = sum((v - mean) ** 2 for v in values) / (len(values) - 1)
    assert metrics.volatility(returns, 252) == pytest.approx(math.sqrt(variance * 252), abs=1e-9)
    below = math.sqrt(sum(min(v, 0.0) ** 2 for v in values) / len(values)) * math.sqrt(252)
    assert metrics.downside(returns, 252) == pytest.approx(below, abs=1e-9)


@pytest.mark.parametrize("figure", [metrics.sharpe, metrics.sortino, metrics.volatility])
def test_what_does_not_exist_is_nan(figure: "object") -> None:
    assert callable(figure)
    assert math.isnan(figure(np.empty(0), 252.0))


def test_no_spread_and_no_wealth_give_no_ratio() -> None:
    assert math.isnan(metrics.sharpe(np.zeros(5), 252))
    assert math.isnan(metrics.sortino(np.full(5, 0.01), 252))
    assert math.isnan(metrics.annual_return(np.array([-1.5, 0.1]), 252))


@pytest.mark.parametrize(("frequency", "periods"), [("B", 252.0), ("D", 365.0), ("W-FRI", 52.0), ("ME", 12.0), ("QE", 4.0), ("YE", 1.0)])
def test_periods_by_the_data_themselves(frequency: str, periods: float) -> None:
    assert metrics.periods_per_year(pd.date_range("2015-01-02", periods=12, freq=frequency)) == periods


def test_the_path_drops_what_is_no_number_and_knows_its_length() -> None:
    index = pd.to_datetime(["2020-01-01", "2020-07-01", "2021-01-01"])
    path = metrics.path_of(pd.Series([100.0, np.nan, 110.0], index=index))
    assert path.returns.tolist() == pytest.approx([0.1])
    assert path.years == pytest.approx(366 / 365.25)


def test_beta_of_a_levered_copy() -> None:
    market = np.array([0.01, -0.02, 0.03, 0.0])
    assert metrics.beta(2 * market + 0.001, market) == pytest.approx(2.0)
