"""Builders on other people's backtesting libraries: their books balance, and fills, holdings, cash and curve are their own."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from finassay_calibrate.clean.build import draft_of, setup_of
from finassay_calibrate.clean.draft import Draft
from finassay_calibrate.clean.layouts.spec import Layout
from finassay_calibrate.clean.libraries import installed
from finassay_calibrate.clean.strategies import GRAMMAR

LIBRARIES = ("bt", "qstrader")


@pytest.fixture(scope="module")
def plain() -> int:
    """Seed of a plain strategy that a library can hold: monthly, with costs of a share of the value, no stops."""
    return next(
        k
        for k in range(5_000)
        if (c := GRAMMAR.sample(k).choices)["schedule"] == ("monthly",)
        and c["cost"] == ("fixed_bps",)
        and c["timing"] == ("none",)
        and c["risk"] == ("none",)
    )


@pytest.fixture(scope="module", params=LIBRARIES)
def built(request: pytest.FixtureRequest, plain: int) -> Draft:
    name = str(request.param)
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed; it is part of the development group")
    return draft_of(setup_of(GRAMMAR.sample(plain), 1, name, Layout()), installed()[name])


def test_both_libraries_are_offered_where_they_are_installed():
    assert set(installed()) == {name for name in LIBRARIES if find_spec(name) is not None}


def test_the_fills_make_the_holdings_and_the_cash(built):
    trades, positions = built.tables["trades"], built.tables["positions"].set_index("date")
    signed = trades["shares"] * np.where(trades["side"] == "BUY", 1.0, -1.0)
    made = signed.groupby([trades["fill_date"], trades["ticker"]]).sum().unstack(fill_value=0.0).cumsum()
    held = positions.drop(columns="cash")
    made = made.reindex(index=held.index).ffill().reindex(columns=held.columns).fillna(0.0)
    np.testing.assert_allclose(made.to_numpy(), held.to_numpy(), atol=1e-6)
    spent = (signed * trades["price"] + trades["fee"]).groupby(trades["fill_date"]).sum().cumsum()
    cash = built.setup.settings.capital - spent.reindex(held.index).ffill().fillna(0.0)
    np.testing.assert_allclose(cash.to_numpy(), positions["cash"].to_numpy(), atol=1e-4)
    assert positions["cash"].min() > -0.002 * built.setup.settings.capital  # bt pays its commissions on top of weights that leave no cash


def test_holdings_and_prices_make_the_curve(built):
    market, equity = built.setup.market, built.tables["equity"].set_index("date")
    close = pd.DataFrame(market.close, index=market.dates, columns=list(market.tickers)).ffill().loc[equity.index]
    held = built.tables["positions"].set_index("date")
    worth = (held.drop(columns="cash")[close.columns] * close).fillna(0.0).sum(axis=1) + held["cash"]
    np.testing.assert_allclose(worth.to_numpy(), equity["equity"].to_numpy(), rtol=1e-9)


def test_fills_are_at_the_close_of_the_day_after_the_decision(built):
    market, trades = built.setup.market, built.tables["trades"]
    at = market.dates.get_indexer(pd.DatetimeIndex(trades["fill_date"]))
    assert (at - market.dates.get_indexer(pd.DatetimeIndex(trades["signal_date"])) == built.setup.settings.fill_lag).all()
    column = [market.tickers.index(t) for t in trades["ticker"]]
    close = pd.DataFrame(market.close).ffill().to_numpy()
    np.testing.assert_allclose(trades["price"].to_numpy(), close[at, column], rtol=1e-9)


def test_the_curve_is_not_the_reference_engines(built, plain):
    reference = draft_of(setup_of(GRAMMAR.sample(plain), 1, layout=Layout())).tables["equity"]["equity"]
    own = built.tables["equity"]["equity"]
    assert len(own) == len(reference)
    assert 0 < (own / reference - 1).abs().max() < 0.02


@pytest.mark.skipif(find_spec("qstrader") is None, reason="qstrader is not installed; it is part of the development group")
def test_qstrader_holds_whole_shares_and_keeps_what_a_plan_leaves_in_cash():
    from finassay_calibrate.clean.libraries.qstrader_session import Session

    dates = pd.bdate_range("2024-01-01", periods=6)
    close = pd.DataFrame({"A": [10.0, 11, 12, 13, 14, 15], "B": [7.0] * 6}, index=dates)
    weights = pd.DataFrame({"A": [0.5, 0.0], "B": [0.25, 0.0]}, index=dates[[1, 4]])
    session = Session(close, weights, 10_000.0, 10.0)
    session.run()
    fills = [(str(t.dt.date()), t.asset, t.quantity, t.price) for t in session.log.transactions]
    assert fills == [
        ("2024-01-02", "A", 454, 11.0),  # 5,000 less a commission of 5, at 11
        ("2024-01-02", "B", 356, 7.0),  # 2,500 less 2.5, at 7
        ("2024-01-05", "A", -454, 14.0),
        ("2024-01-05", "B", -356, 7.0),
    ]
    gain, fees = 454 * 3.0, (4994 + 2492 + 6356 + 2492) / 1000
    assert session.get_equity_curve()["Equity"].iloc[-1] == pytest.approx(10_000 + gain - fees)
    assert [h["cash"] for h in session.holdings][1] == pytest.approx(10_000 - 4994 - 2492 - 7.486)
