"""Trades in their units, and what each earned."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finassay_checks.recompute.round_trips import round_trips, shares_after, win_rates

DAYS = pd.bdate_range("2020-01-01", periods=40)


def log(*rows: tuple[int, str, float, float, float]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["day", "ticker", "shares", "price", "fee"])
    return frame.assign(date=[DAYS[d] for d in frame["day"]])


def test_partial_exits_are_one_position_and_several_closing_fills() -> None:
    made = round_trips(
        log(
            (0, "A", 30, 10, 0), (1, "A", -10, 11, 0), (2, "A", -10, 12, 0), (3, "A", -10, 13, 0),
            (0, "B", 30, 10, 0), (1, "B", -10, 11, 0), (2, "B", -10, 10.5, 0), (3, "B", -10, 5, 0),
        )
    )  # fmt: skip
    counts = made.counts
    assert (counts.fills, counts.closing, counts.round_trips, counts.open) == (8, 6, 2, 0)
    rates = win_rates(made)
    assert rates["closing fills, net"] == pytest.approx(5 / 6)
    assert rates["closed positions, net"] == pytest.approx(0.5)


def test_net_and_gross_differ_by_both_fees() -> None:
    made = round_trips(log((0, "A", 10, 100, 18.0), (5, "A", -10, 100.3, 18.05)))
    assert made.spell_gross.tolist() == pytest.approx([3.0])
    assert made.spell_net.tolist() == pytest.approx([3.0 - 36.05])
    assert made.closing_net.tolist() == pytest.approx([3.0 - 36.05])


def test_a_fill_through_zero_closes_one_and_opens_another() -> None:
    made = round_trips(log((0, "A", 10, 10, 0), (1, "A", -25, 12, 5.0), (2, "A", 15, 11, 0)))
    assert made.counts.round_trips == 2
    assert made.spell_gross.tolist() == pytest.approx([20.0, 15.0])
    assert made.spell_net.tolist() == pytest.approx([18.0, 12.0])


def test_fractional_shares_are_real_numbers() -> None:
    made = round_trips(log((0, "A", 0.75, 10, 0), (1, "A", -0.25, 12, 0), (2, "A", -0.5, 14, 0)))
    assert made.counts.round_trips == 1
    assert made.spell_gross.sum() == pytest.approx(0.25 * 2 + 0.5 * 4)


def test_first_in_first_out() -> None:
    made = round_trips(log((0, "A", 10, 10, 0), (1, "A", 10, 20, 0), (2, "A", -15, 18, 0), (3, "A", -5, 18, 0)))
    assert made.closing_gross.tolist() == pytest.approx([10 * 8 - 5 * 2, -10])
    assert made.counts.matched == 3


def test_an_open_position_is_counted_apart() -> None:
    made = round_trips(log((0, "A", 10, 10, 0), (1, "A", -10, 11, 0), (2, "A", 4, 12, 0)))
    assert (made.counts.round_trips, made.counts.open) == (1, 1)
    assert made.spells["exit_date"].isna().tolist() == [False, True]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 39), st.sampled_from("AB"), st.integers(-9, 9).filter(bool), st.integers(1, 30), st.integers(0, 3)),
        min_size=1,
        max_size=30,
    )
)
def test_profits_add_up_to_the_cash(rows: list[tuple[int, str, int, int, int]]) -> None:
    """What closed positions earned, plus the flows of open ones, is the whole cash flow; closing fills tell the same profit."""
    frame = log(*((d, t, float(s), float(p), float(f)) for d, t, s, p, f in sorted(rows)))
    made = round_trips(frame)
    flows = float((-frame["shares"] * frame["price"] - frame["fee"]).sum())
    assert float(made.spells["net"].sum()) == pytest.approx(flows)
    held = frame.groupby("ticker")["shares"].sum()
    if (held == 0).all():
        assert float(made.closing_net.sum()) == pytest.approx(flows)
        assert float(made.spell_net.sum()) == pytest.approx(flows)
    last = pd.Series(shares_after(frame), index=frame["ticker"]).groupby(level=0).last()
    assert np.allclose(last.sort_index(), held.sort_index())
