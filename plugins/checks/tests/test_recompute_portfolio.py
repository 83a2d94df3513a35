"""Rebuilding from fills and from weights: hand values, splits, dividends, shorts, gaps, dating."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finassay_checks.recompute.panel import Panel, panel_of
from finassay_checks.recompute.portfolio import (
    clean_fills,
    fills_of_round_trips,
    rebuild_from_fills,
    rebuild_from_weights,
    weight_matrix,
)

DAYS = pd.bdate_range("2020-01-01", periods=6)


def prices(closes: dict[str, list[float]], adjusted: dict[str, list[float]] | None = None) -> Panel:
    rows = [
        (day, ticker, close, adjusted[ticker][i] if adjusted else np.nan)
        for ticker, values in closes.items()
        for i, (day, close) in enumerate(zip(DAYS, values, strict=True))
    ]
    found = panel_of(pd.DataFrame(rows, columns=["date", "ticker", "close", "adj_close"]))
    assert found is not None
    return found


def fills(*rows: tuple[int, str, float, float, float]) -> pd.DataFrame:
    """(day, ticker, signed shares, price, fee)."""
    frame = pd.DataFrame(rows, columns=["day", "ticker", "shares", "price", "fee"])
    frame["fill_date"] = [DAYS[d] for d in frame["day"]]
    frame["value"] = np.nan
    return clean_fills(frame)


def test_hand_values() -> None:
    panel = prices({"A": [10, 11, 12, 13, 14, 15]})
    book = rebuild_from_fills(fills((1, "A", 10, 11, 1.0), (3, "A", -4, 13, 0.5)), panel, 1000.0)
    assert book.dates[0] == DAYS[0]
    assert book.equity.tolist() == pytest.approx([1000, 999, 1009, 1018.5, 1024.5, 1030.5])
    assert book.cash[-1] == pytest.approx(1000 - 110 - 1 + 52 - 0.5)
    assert book.fees.tolist() == [0, 1, 0, 0.5, 0, 0]
    assert book.coverage == 1.0


def test_a_short_position_gains_when_prices_fall() -> None:
    book = rebuild_from_fills(fills((0, "A", -10, 10, 0)), prices({"A": [10, 9, 8, 7, 6, 5]}), 100.0)
    assert book.equity[-1] == pytest.approx(150)
    assert book.shares.min() == -10


def test_a_missing_close_carries_the_last_value_and_is_flagged() -> None:
    book = rebuild_from_fills(fills((0, "A", 1, 10, 0)), prices({"A": [10, np.nan, np.nan, 13, 14, 15], "B": [1] * 6}), 100.0)
    assert book.equity[:4].tolist() == pytest.approx([100, 100, 100, 100])
    assert book.unpriced.sum() == 2
    assert book.coverage == pytest.approx(4 / 6)


def test_a_split_multiplies_shares_and_a_crash_does_not() -> None:
    split = prices({"A": [100, 100, 50, 50, 51, 52]}, {"A": [50, 50, 50, 50, 51, 52]})
    book = rebuild_from_fills(fills((0, "A", 10, 100, 0)), split, 1000.0)
    assert book.shares[:, 0].tolist() == [0, 10, 10, 20, 20, 20, 20]
    assert book.equity[-1] == pytest.approx(1040)
    crash = prices({"A": [100, 100, 50, 50, 51, 52]}, {"A": [90, 90, 45, 45, 46, 47]})
    assert rebuild_from_fills(fills((0, "A", 10, 100, 0)), crash, 1000.0).equity[-1] == pytest.approx(520)


def test_dividends_follow_from_the_adjusted_close() -> None:
    factor = 1 - 2 / 100
    panel = prices({"A": [100, 100, 98, 98, 98, 98]}, {"A": [100 * factor, 100 * factor, 98, 98, 98, 98]})
    bought = fills((0, "A", 1, 100, 0))
    assert rebuild_from_fills(bought, panel, 100.0).equity[-1] == pytest.approx(98)
    assert rebuild_from_fills(bought, panel, 100.0, dividends=True).equity[-1] == pytest.approx(100)


def test_value_and_price_give_shares_and_unusable_rows_leave() -> None:
    frame = pd.DataFrame(
        {"fill_date": [DAYS[0], DAYS[1], pd.NaT], "ticker": ["A", "A", "A"], "shares": [np.nan, np.nan, 3.0], "price": [10.0, np.nan, 5.0],
         "fee": np.nan, "value": [50.0, 7.0, 15.0]}
    )  # fmt: skip
    kept = clean_fills(frame)
    assert kept["shares"].tolist() == [5.0]
    assert kept["fee"].tolist() == [0.0]


def test_weights_take_effect_when_they_are_said_to() -> None:
    panel = prices({"A": [10, 11, 11, 22, 22, 22], "B": [10, 10, 10, 10, 10, 10]})
    dates = pd.DatetimeIndex([DAYS[1], DAYS[3]])
    weights = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert rebuild_from_weights(dates, weights, panel, 1.0).equity[-1] == pytest.approx(2.0)
    assert rebuild_from_weights(dates, weights, panel, 1.0, lag=-1).equity[-1] == pytest.approx(1.1)
    assert rebuild_from_weights(dates, weights, panel, 1.0, lag=1).equity[-1] == pytest.approx(2.0)
    charged = rebuild_from_weights(dates, weights, panel, 1.0, rate=0.01)
    assert charged.fees.sum() > 0.02
    assert charged.equity[-1] < 1.98


def test_shares_are_held_between_rows_of_weights() -> None:
    panel = prices({"A": [10, 20, 20, 20, 20, 20], "B": [10, 10, 10, 10, 10, 10]})
    book = rebuild_from_weights(pd.DatetimeIndex([DAYS[0]]), np.array([[0.5, 0.5]]), panel, 1.0)
    assert (book.holdings / book.equity[:, None])[-1].tolist() == pytest.approx([2 / 3, 1 / 3])


def test_the_fill_date_of_a_weights_row_counts() -> None:
    frame = pd.DataFrame({"date": [DAYS[0]], "fill_date": [DAYS[1]], "ticker": ["A"], "weight": [1.0]})
    dates, matrix = weight_matrix(frame, pd.Index(["A", "B"]))
    assert dates.tolist() == [DAYS[1]]
    assert matrix[0, 0] == 1.0
    assert np.isnan(matrix[0, 1])


def test_round_trips_become_fills() -> None:
    trips = pd.DataFrame(
        {"entry_date": [DAYS[0], DAYS[1]], "exit_date": [DAYS[2], pd.NaT], "ticker": ["A", "B"], "shares": [10.0, 5.0],
         "entry_price": [1.0, 2.0], "exit_price": [3.0, np.nan], "pnl": np.nan, "fee": [1.0, 0.5], "open": [False, True], "row": [1, 2]}
    )  # fmt: skip
    made = clean_fills(fills_of_round_trips(trips))
    assert sorted(made["shares"]) == [-10.0, 5.0, 10.0]
    assert made["fee"].sum() == pytest.approx(1.5)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from("AB"), st.integers(-20, 20).filter(bool), st.floats(0.0, 5.0)), min_size=1, max_size=25
    )
)
def test_value_is_conserved(rows: list[tuple[int, str, int, float]]) -> None:
    """Filled at the close, equity changes by price moves of what was held and by fees alone."""
    closes = {"A": [10.0, 12, 11, 9, 13, 14], "B": [5.0, 4, 6, 7, 6, 8]}
    logged = sorted(rows)
    made = fills(*((d, t, float(s), closes[t][d], f) for d, t, s, f in logged))
    book = rebuild_from_fills(made, prices(closes), 1000.0)
    worth, held = 1000.0, {"A": 0.0, "B": 0.0}
    for day in range(6):
        if day:
            worth += sum(held[t] * (closes[t][day] - closes[t][day - 1]) for t in held)
        for d, ticker, shares, fee in logged:
            if d == day:
                held[ticker] += shares
                worth -= fee
        if DAYS[day] in book.dates:
            assert book.equity[book.dates.get_loc(DAYS[day])] == pytest.approx(worth)
