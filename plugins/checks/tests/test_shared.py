"""Codes of columns that checks share, and rows that stand twice, against what pandas computes."""

import gc

import numpy as np
import pandas as pd
import pytest

from finassay_checks import shared
from finassay_checks.recompute import repeats
from finassay_checks.recompute.calendar import flat_spells
from finassay_checks.roles.cells import to_dates

ROWS = shared.SHORT + 1


def _texts(seed: int = 0) -> "pd.Series[str]":
    names = np.array(["B", "A", None, "C"], dtype=object)
    return pd.Series(names[np.random.default_rng(seed).integers(0, 4, ROWS)], dtype="str")


def test_codes_are_those_of_pandas_and_are_kept_with_the_column() -> None:
    frame = pd.DataFrame({"ticker": _texts(), "x": 1.0})
    codes, names = shared.factorized(frame["ticker"])
    expected, uniques = pd.factorize(frame["ticker"])
    assert (codes == expected).all()
    assert list(names) == list(uniques)
    assert shared.factorized(frame.assign(y=2.0)["ticker"])[0] is codes
    assert shared.factorized(frame["ticker"].iloc[1:])[0] is not codes
    by_order, ordered = shared.sorted_codes(frame["ticker"])
    assert (by_order == pd.factorize(frame["ticker"], sort=True)[0]).all()
    assert list(ordered) == ["A", "B", "C"]
    at = shared.positions(pd.Index(["A", "B"]), frame["ticker"])
    assert (at == pd.Index(["A", "B"]).get_indexer(pd.Index(frame["ticker"]))).all()


def test_a_changed_column_has_codes_of_its_own() -> None:
    frame = pd.DataFrame({"ticker": _texts()})
    before = shared.factorized(frame["ticker"])[0]
    frame.loc[0, "ticker"] = "D"
    after, names = shared.factorized(frame["ticker"])
    assert names[0] == "D"
    assert after is not before


def test_changed_dates_have_codes_of_their_own() -> None:
    frame = pd.DataFrame({"date": pd.Timestamp("2020-01-02"), "x": 1.0}, index=range(ROWS))
    codes, _ = shared.day_codes(frame, "date")
    frame["x"] += 1.0
    assert shared.day_codes(frame, "date")[0] is codes
    frame.loc[3, "date"] = pd.Timestamp("2020-01-01")
    assert list(shared.day_codes(frame, "date")[1]) == [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-02")]
    frame["date"] = pd.Timestamp("2020-01-03")
    assert list(shared.day_codes(frame, "date")[1]) == [pd.Timestamp("2020-01-03")]


def test_what_was_kept_goes_with_its_owner() -> None:
    frame = pd.DataFrame({"date": pd.date_range("2020-01-01", periods=ROWS)})
    held = id(frame)
    shared.day_codes(frame, "date")
    assert held in shared._KEPT
    del frame
    gc.collect()
    assert held not in shared._KEPT


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_stand_twice_are_those_of_pandas(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "day": pd.to_datetime(rng.integers(0, 3, ROWS), unit="D"),
            "ticker": _texts(seed),
            "shares": rng.choice([0.0, -0.0, 1.0, np.nan], ROWS),
            "count": rng.integers(0, 500, ROWS),
            "note": rng.choice(np.array(["x", None], dtype=object), ROWS),
        }
    )
    monkeypatch.setattr(repeats, "_ENOUGH", 1)
    assert (repeats.repeated_rows(frame) == frame.duplicated().to_numpy()).all()
    assert not repeats.repeated_rows(frame.drop_duplicates()).any()


def test_whole_days_of_any_unit_are_those_of_the_general_way() -> None:
    days = pd.Series(pd.date_range("2019-12-30", periods=5))
    for unit in ("s", "ms", "us", "ns"):
        for moved in (
            days,
            days + pd.Timedelta(hours=3),
            days.where(days != days[1]),
            days + pd.Timedelta(days=200_000 if unit != "ns" else 80_000),
        ):
            made = to_dates(moved.dt.as_unit(unit))
            limit = pd.Timestamp("2200-01-01")
            wanted = moved.where(moved <= limit).dt.normalize().dt.as_unit("ns")
            assert made.dtype == "datetime64[ns]"
            pd.testing.assert_series_equal(made, wanted, check_names=False)


def test_spells_without_holdings() -> None:
    days = pd.to_datetime(["2020-01-02", "2020-01-03", "2020-01-03", "2020-01-10", "2020-01-13"])
    log = pd.DataFrame({"fill_date": days, "ticker": ["A", "A", "B", "B", "A"], "shares": [5.0, -5.0, 2.0, -2.0, 1.0]})
    assert flat_spells(log) == ((pd.Timestamp("2020-01-10"), pd.Timestamp("2020-01-13")),)
    assert flat_spells(log.assign(shares=np.nan)) == ()
    assert flat_spells(log.assign(ticker=None)) == ()
