"""Whether fundamentals and events were public when they were used."""

import pandas as pd
from attrs import frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery


@frozen
class EarlyUse:
    """A value used before it was announced."""

    ticker: str
    used: pd.Timestamp
    announced: pd.Timestamp
    text: str


@frozen
class Announcements:
    """`uses` of fundamentals or events that could be tied to a row, `dated` of them with an announcement date."""

    uses: int
    dated: int
    early: tuple[EarlyUse, ...]


def announcements(package: Package) -> Announcements | None:
    """None where neither fundamentals nor events are delivered, or no use of them can be tied to a row.

    A use is a score that equals a delivered fundamental of the ticker, an event that names its own fill, or, where no score shows the
    value, a purchase of a ticker that has fundamentals but none announced by then.
    """
    delivered = package.fact(read_delivery)
    early: list[EarlyUse] = []
    uses = dated = 0
    fundamentals = delivered.frame("fundamentals")
    if fundamentals is not None and not fundamentals.empty:
        tied = _scores(delivered.frame("signals"), fundamentals)
        entries = delivered.frame("trades")
        if tied is None and entries is not None:
            tied = _entries(entries, fundamentals)
        if tied is not None:
            uses, dated = len(tied), int(tied["announced"].notna().sum())
            rows = tied[tied["announced"] > tied["used"]]
            early += [
                EarlyUse(str(ticker), used, announced, "fundamental")
                for ticker, used, announced in zip(*(rows[name].head(200) for name in ("ticker", "used", "announced")), strict=True)
            ]
    events = delivered.frame("events")
    if events is not None and events["fill_date"].notna().any():
        rows = events[events["fill_date"].notna() & events["date"].notna()]
        uses, dated = uses + len(rows), dated + len(rows)
        late = rows[rows["date"] >= rows["fill_date"]]
        early += [
            EarlyUse(str(ticker), used, announced, "event")
            for ticker, used, announced in zip(*(late[name].head(200) for name in ("ticker", "fill_date", "date")), strict=True)
        ]
    return Announcements(uses, dated, tuple(early)) if uses else None


def _scores(signals: pd.DataFrame | None, fundamentals: pd.DataFrame) -> pd.DataFrame | None:
    """(ticker, used, announced) of scores that equal a fundamental; of several equal values the one announced first."""
    if signals is None or signals.empty:
        return None
    left = signals.loc[signals["score"].notna(), ["date", "ticker", "score"]]
    right = fundamentals.loc[fundamentals["value"].notna(), ["ticker", "value", "announced"]]
    left = left.assign(key=_key(left["score"]))
    right = right.assign(key=_key(right["value"]))
    earliest = right.groupby(["ticker", "key"])["announced"].min()
    has = right.set_index(["ticker", "key"]).index
    keys = pd.MultiIndex.from_frame(left[["ticker", "key"]])
    hit = keys.isin(has)
    if hit.sum() < 0.5 * len(left):
        return None
    return pd.DataFrame({"ticker": left["ticker"][hit], "used": left["date"][hit], "announced": earliest.reindex(keys[hit]).to_numpy()})


def _key(values: "pd.Series") -> "pd.Series":
    """A number to six significant digits, as text."""
    return values.map(lambda value: f"{value:.6g}")


def _entries(trades: pd.DataFrame, fundamentals: pd.DataFrame) -> pd.DataFrame | None:
    """Purchases of tickers with fundamentals, each with the first announcement; early if even that came after the purchase."""
    first = fundamentals.groupby("ticker")["announced"].min()
    buys = trades[(trades["shares"] > 0) & trades["ticker"].isin(first.index) & trades["fill_date"].notna()]
    if buys.empty or first.isna().all():
        return None
    return pd.DataFrame({"ticker": buys["ticker"], "used": buys["fill_date"], "announced": first.reindex(buys["ticker"]).to_numpy()})


def share_dated(found: Announcements | None) -> float:
    """Share of uses with an announcement date; 1 without any use."""
    return found.dated / found.uses if found is not None and found.uses else 1.0
