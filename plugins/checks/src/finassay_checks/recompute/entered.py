"""Purchases against what was public on their day: announcements of the figures, membership of the universe."""

import re
from typing import Any

import numpy as np
import pandas as pd
from attrs import frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Delivered, RoleTable
from finassay_checks.roles.cells import to_dates

CLOCK = re.compile(r"(\d{1,2}):(\d{2})")
_PERIOD = re.compile(r"period|quarter|fiscal", re.I)
_OF_FIGURES = re.compile(r"fiscal|period_?end|report\w*_?(?:period|quarter)|(?:earnings|statement)_?(?:period|quarter)", re.I)
"""Names of periods that are about figures: a bare 'period' or 'quarter' may be the one of a rebalance."""
HELD = 1e-6
"""A weight above this is a holding."""


def chosen(delivered: Delivered, role: str) -> RoleTable | None:
    """The table that counts in a role, None where it is missing or ambiguous."""
    choice = delivered.choices.get(role)  # type: ignore[call-overload]  # a role by its name
    return choice.chosen if choice is not None else None


def raw_cells(table: RoleTable, name: str) -> "pd.Series[Any]":
    """The delivered cells behind a canonical column, in the order of the canonical rows."""
    cells: pd.Series[Any] = table.table.frame[table.columns[name]].iloc[table.frame["row"].to_numpy() - 1]
    return cells.reset_index(drop=True)


def texts_of(table: RoleTable, name: str) -> "pd.Series[str]":
    """The same as text; empty where the table has no such column."""
    if name not in table.columns or table.columns[name] not in table.table.frame:
        return pd.Series("", index=range(len(table.frame)))
    return raw_cells(table, name).astype(str)


@frozen(eq=False)
class Purchases:
    """`frame` has ticker, date, period (that the row names, else NaT), text (the delivered stamp) and row, one row a purchase."""

    where: str
    frame: pd.DataFrame
    figures: bool = False
    """The column behind `period` is named as the period of the figures."""
    slack: pd.Timedelta = pd.Timedelta(0)
    """How long after the date the purchase may have taken place: a weight's own date may be that of its decision."""


WEIGHT_SLACK = pd.Timedelta(days=4)
"""From a decision before a long weekend to the next session."""


def purchases(package: Package) -> Purchases | None:
    """Purchases of the log, whatever its form; without one, the first rows on which a name has a weight. None without either."""
    delivered = package.fact(read_delivery)
    for role, name in (("entries", "date"), ("trades", "fill_date"), ("round_trips", "entry_date")):
        table = chosen(delivered, role)
        if table is not None:
            return _of_log(table, role, name, package.task.conditions.timezone)
    table = chosen(delivered, "weights")
    return Purchases(table.table.where, _of_weights(table.frame), slack=WEIGHT_SLACK) if table is not None and len(table.frame) else None


def _of_log(table: RoleTable, role: str, name: str, timezone: str) -> Purchases:
    rows = table.frame["row"].to_numpy()
    frame = pd.DataFrame({"ticker": table.frame["ticker"].to_numpy(), "date": table.frame[name].to_numpy(), "row": rows})
    frame["text"] = texts_of(table, name).to_numpy()
    frame["period"] = pd.NaT
    of_figures = False
    if len(table.table.frame) and (rows > 0).all() and (rows <= len(table.table.frame)).all():
        source = table.table.frame.iloc[rows - 1]
        period = next((c for pattern in (_OF_FIGURES, _PERIOD) for c in source.columns if pattern.search(str(c))), None)
        if period is not None:
            of_figures = bool(_OF_FIGURES.search(str(period)))
            frame["period"] = to_dates(source[period], timezone).to_numpy()
    bought = table.frame["shares"] > 0 if role == "trades" else table.frame["side"].fillna(1) > 0 if role == "entries" else None
    kept = frame[bought.to_numpy()] if bought is not None else frame
    return Purchases(table.table.where, kept[kept["date"].notna() & kept["ticker"].notna()].reset_index(drop=True), of_figures)


def _of_weights(weights: pd.DataFrame) -> pd.DataFrame:
    """Rows on which a name is held and was not on the date before: of delivered zeros as well as of names that are left out."""
    rows = weights[(weights["weight"] > HELD) & weights["date"].notna() & weights["ticker"].notna() & (weights["ticker"] != "$CASH")]
    dates = np.sort(weights["date"].dropna().unique())
    rows = rows.assign(at=np.searchsorted(dates, rows["date"].to_numpy())).sort_values(["ticker", "at"])
    new = (rows["ticker"] != rows["ticker"].shift()) | (rows["at"] != rows["at"].shift() + 1)
    first = rows[new]
    return pd.DataFrame(
        {
            "ticker": first["ticker"].to_numpy(),
            "date": first["date"].to_numpy(),
            "row": first["row"].to_numpy(),
            "text": "",
            "period": pd.NaT,
        }
    )


@frozen
class EarlyEntry:
    """A purchase that comes before, or on the day of, the announcement of the figures that it used."""

    ticker: str
    entered: pd.Timestamp
    announced: pd.Timestamp
    row: int
    """1-based row of the purchase."""
    figure: int
    """1-based row of the figures."""


@frozen
class EarlyEntries:
    """`early` before the announcement; `same_day` on its day without a time of day that shows the order; `where` of both tables."""

    where: str
    figures: str
    early: tuple[EarlyEntry, ...]
    same_day: tuple[EarlyEntry, ...]
    named: bool
    """The log's rows name the period of the figures that they used, in a column that says so."""


def early_entries(package: Package) -> EarlyEntries | None:
    """None without purchases and dated fundamentals. Where an earlier figure was public and the row names no period, which one was
    used cannot be told, and the purchase is left out."""
    delivered = package.fact(read_delivery)
    table = chosen(delivered, "fundamentals")
    if table is None or table.frame["announced"].isna().all():
        return None
    bought = package.fact(purchases)
    if bought is None:
        return None
    facts = table.frame.drop_duplicates(["ticker", "period_end", "announced"])
    by_ticker = dict(tuple(facts.groupby("ticker")))
    stamps = dict(zip(table.frame["row"], texts_of(table, "announced"), strict=True))
    early, same = [], []
    for ticker, day, period, text, row in bought.frame[["ticker", "date", "period", "text", "row"]].itertuples(index=False):
        own = by_ticker.get(ticker)
        used = _used(own, day, period) if own is not None else None
        if used is None or pd.isna(used["announced"]):
            continue
        entry = EarlyEntry(str(ticker), day, used["announced"], int(row), int(used["row"]))
        if used["announced"] > day:
            early.append(entry)
        elif used["announced"] == day and not _in_order(stamps.get(used["row"], ""), text):
            same.append(entry)
    return EarlyEntries(
        bought.where, table.table.where, tuple(early), tuple(same), bought.figures and bool(bought.frame["period"].notna().any())
    )


def _used(facts: pd.DataFrame, day: pd.Timestamp, period: Any) -> "pd.Series[Any] | None":
    """The figures that an entry used: those of the period that it names; else, where nothing of the ticker was public yet, the latest."""
    if facts.empty:
        return None
    if not pd.isna(period):
        own = facts[facts["period_end"] == period].sort_values("announced")
        return own.iloc[0] if len(own) else None  # a later version is a restatement: the first was public before it
    ended = facts[facts["period_end"].isna() | (facts["period_end"] <= day)]
    ended = ended if len(ended) else facts
    public = ended[ended["announced"] < day]
    if len(public):
        return None  # an earlier figure was public: which one was used cannot be told
    return ended.sort_values(["period_end", "announced"], ascending=[True, False]).iloc[-1]


def _in_order(announced: str, entered: str) -> bool:
    first, second = CLOCK.search(announced), CLOCK.search(entered)
    if first is None or (int(first[1]), int(first[2])) == (0, 0):
        return False
    if second is None or (int(second[1]), int(second[2])) == (0, 0):
        return (int(first[1]), int(first[2])) < (9, 30)  # before the open: every fill of the day is later
    return (int(first[1]), int(first[2])) < (int(second[1]), int(second[2]))


@frozen
class Outsider:
    """A purchase of a name that was no member on its day."""

    ticker: str
    day: pd.Timestamp
    row: int
    spans: str
    """The name's own dates of membership, as delivered; empty for a name that is never listed."""


@frozen
class Membership:
    """Purchases against a dated universe: a member on the date means start <= date < end. `before` uses what only became true later."""

    where: str
    universe: str
    bought: int
    before: tuple[Outsider, ...]
    after: tuple[Outsider, ...]
    never: tuple[Outsider, ...]


def membership(package: Package) -> Membership | None:
    """None without purchases or a universe whose names have dates."""
    table = chosen(package.fact(read_delivery), "universe")
    if table is None or table.frame["start"].isna().all():
        return None
    bought = package.fact(purchases)
    if bought is None:
        return None
    spans = {t: list(zip(g["start"], g["end"], strict=True)) for t, g in table.frame.groupby("ticker")}
    before: list[Outsider] = []
    after: list[Outsider] = []
    never: list[Outsider] = []
    for ticker, day, row in bought.frame[["ticker", "date", "row"]].itertuples(index=False):
        own = spans.get(ticker)
        if own is None:
            never.append(Outsider(str(ticker), day, int(row), ""))
        elif not any(_inside(day, start, end, bought.slack) for start, end in own):
            text = ", ".join(f"{_day(start) or '...'} to {_day(end) or '...'}" for start, end in own[:4])
            ended = any(not pd.isna(end) and end <= day for _, end in own)
            (after if ended else before).append(Outsider(str(ticker), day, int(row), text))
    return Membership(bought.where, table.table.where, len(bought.frame), tuple(before), tuple(after), tuple(never))


def _inside(day: pd.Timestamp, start: Any, end: Any, slack: pd.Timedelta) -> bool:
    return (pd.isna(start) or bool(start <= day + slack)) and (pd.isna(end) or bool(day < end))


def _day(stamp: Any) -> str:
    return "" if pd.isna(stamp) else str(stamp)[:10]
