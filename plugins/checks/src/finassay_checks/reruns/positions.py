"""Positions up to a day, compared between the delivery and a run on perturbed data."""

from typing import Final

import numpy as np
import pandas as pd
from attrs import frozen

from finassay_checks.model import Delivered, RoleTable

RELATIVE: Final = 1e-6
MOST_SHOWN: Final = 200


@frozen
class Moved:
    """A position of `day` that differs once data after it are others."""

    day: str
    ticker: str
    delivered: str
    perturbed: str


def restated(read: Delivered, like: RoleTable) -> pd.DataFrame | None:
    """The canonical frame of the same table in the same role, in what a run wrote."""
    found = [r for r in read.role_tables if r.role == like.role and r.table.where == like.table.where]
    return found[0].frame if found else None


def _days(frame: pd.DataFrame, role: str) -> "pd.Series":
    """The day of each row up to which data may have been used: the decision's, else the row's own. Labels that are all first days of
    months stand for the whole month."""
    if role == "trades":
        return frame["signal_date"].where(frame["signal_date"].notna(), frame["fill_date"])
    days = frame["date"]
    known = days.dropna()
    if len(known) and (known.dt.day == 1).all():
        return days + pd.offsets.MonthEnd(0)
    return days


def decision_day(chosen: RoleTable) -> pd.Timestamp | None:
    """The decision in the middle of the delivered ones; None for fewer than ten."""
    days = np.unique(_days(chosen.frame, chosen.role).dropna().to_numpy().astype("datetime64[ns]"))
    return pd.Timestamp(days[len(days) // 2]) if len(days) >= 10 else None


def moved(delivered: pd.DataFrame, perturbed: pd.DataFrame, role: str, after: pd.Timestamp) -> tuple[int, list[Moved], bool]:
    """(positions compared, those that moved, whether positions after the day moved).

    By row up to the day: shares of fills, weights, shares held. Of fills decided up to the day and filled after it, whose size follows the
    price of the fill: which names are held.
    """
    if role == "trades":
        return _fills(delivered, perturbed, after)
    value = "weight" if role == "weights" else "shares"
    one, other = (_by_day(frame, _days(frame, role), value) for frame in (delivered, perturbed))
    early = [series[series.index.get_level_values(0) <= after] for series in (one, other)]
    return len(early[0]), _differing(*early), not _alike(one, other)


def _by_day(frame: pd.DataFrame, days: "pd.Series", value: str) -> "pd.Series":
    known = frame.assign(day=days).dropna(subset=["day", "ticker", value])
    summed = known.groupby(["day", "ticker"])[value].sum()
    return summed[summed.abs() > 1e-9]


def _alike(one: "pd.Series", other: "pd.Series") -> bool:
    return one.index.equals(other.index) and bool(np.allclose(one, other, rtol=RELATIVE, atol=1e-9))


def _differing(one: "pd.Series", other: "pd.Series") -> list[Moved]:
    both = pd.concat([one, other], axis=1, keys=["a", "b"]).fillna(0.0).sort_index()
    # Rounded files move by their last digit only where sums are close to a half: a thousandth of a position is no other position.
    scale = float(both.abs().to_numpy().max()) if len(both) else 0.0
    off = ~np.isclose(both["a"], both["b"], rtol=RELATIVE, atol=1e-9 * max(scale, 1.0))
    rows = both[off]
    return [
        Moved(str(day.date()), str(ticker), f"{a:.8g}", f"{b:.8g}")
        for (day, ticker), a, b in zip(rows.index[:MOST_SHOWN], rows["a"], rows["b"], strict=False)
    ]


def _fills(delivered: pd.DataFrame, perturbed: pd.DataFrame, after: pd.Timestamp) -> tuple[int, list[Moved], bool]:
    one, other = (_by_day(frame, frame["fill_date"], "shares") for frame in (delivered, perturbed))
    early = [series[series.index.get_level_values(0) <= after] for series in (one, other)]
    found = _differing(*early)
    count = len(early[0])
    if not found:
        held = [_held(frame, after) for frame in (delivered, perturbed)]
        count += len(held[0])
        names = [("not held", "held") if name in held[1] else ("held", "not held") for name in sorted(held[0] ^ held[1])]
        found = [Moved(str(after.date()), name, *how) for name, how in zip(sorted(held[0] ^ held[1]), names, strict=True)]
    return count, found, not _alike(one, other)


def _held(frame: pd.DataFrame, after: pd.Timestamp) -> frozenset[str]:
    """Names held once every fill that was decided up to the day is done; only where decisions are dated in the log."""
    if not frame["signal_date"].notna().any():
        return frozenset()
    rows = frame[frame["signal_date"].le(after) | (frame["signal_date"].isna() & frame["fill_date"].le(after))]
    shares = rows.groupby("ticker")["shares"].sum()
    traded = rows.groupby("ticker")["shares"].apply(lambda s: float(s.abs().max()))
    return frozenset(str(t) for t in shares.index if shares[t] > 1e-6 * max(traded[t], 1.0))
