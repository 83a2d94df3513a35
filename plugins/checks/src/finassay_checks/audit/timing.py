"""Whether something was used before it could be known: fills against signals, weights, announcements, membership, the cutoff."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from finassay.api.delivery import Package
from finassay_checks.audit.basis import where_of
from finassay_checks.audit.model import AuditFinding, AuditMetric
from finassay_checks.audit.reported import statements
from finassay_checks.audit.trips import joined_words
from finassay_checks.delivered import read_delivery
from finassay_checks.facts.late_rows import late_rows
from finassay_checks.model import Delivered, RoleTable
from finassay_checks.recompute.lags import lags
from finassay_checks.recompute.own_day import own_day
from finassay_checks.recompute.panel import Panel
from finassay_checks.recompute.rebuilt import price_panel
from finassay_checks.roles.cells import to_dates

MAX_ROWS = 200
_AT_CLOSE = re.compile(r"1[5-9]:\d\d|2[0-3]:\d\d|\bclose\b", re.I)
_AUCTION = re.compile(r"close auction|market[- ]on[- ]close|\bmoc\b|closing auction|decided before the close", re.I)


def chosen(delivered: Delivered, role: str) -> RoleTable | None:
    choice = delivered.choices.get(role)  # type: ignore[call-overload]  # a role by its name
    return choice.chosen if choice is not None else None


def raw_cells(table: RoleTable, name: str) -> "pd.Series[Any]":
    """The delivered cells behind a canonical column, in the order of the canonical rows."""
    cells: pd.Series[Any] = table.table.frame[table.columns[name]].iloc[table.frame["row"].to_numpy() - 1]
    return cells.reset_index(drop=True)


def signal_findings(package: Package) -> Iterator[AuditFinding]:
    """Fills on the bar whose close decided them."""
    delivered = package.fact(read_delivery)
    trades, signals = chosen(delivered, "trades"), chosen(delivered, "signals")
    if trades is None or not len(trades.frame):
        return
    own = trades.frame["signal_date"].notna()
    if own.mean() > 0.5:
        decided, texts = trades.frame["signal_date"], _texts_of(trades, "signal_date")
    elif signals is not None and signals is not trades and signals.table is not trades.table:
        decided, texts = _joined(trades.frame, signals), _texts_of_signals(signals, trades.frame)
    else:
        return
    fill = trades.frame["fill_date"]
    same = (decided >= fill).fillna(False).to_numpy()
    if not same.any():
        return
    if signals is not None and "dated signals in words" not in signals.reasons and own.mean() <= 0.5:
        same = same & _late_by_information(package, len(same))
        if not same.any():
            return
    panel = package.fact(price_panel)
    closes, opens = _near(trades.frame, panel, "close"), _near(trades.frame, panel, "open")
    known = texts.str.contains(_AT_CLOSE).to_numpy() | (decided > fill).fillna(False).to_numpy()
    fill_texts = _texts_of(trades, "fill_date")
    later = _later_time(texts, fill_texts)
    late = same & ~later & (known | (closes & ~opens))
    if not late.any():
        return
    words = package.fact(statements).words + " ".join(d.text[:100_000] for d in delivered.reports)
    allowed = bool(_AUCTION.search(words)) and not texts.str.contains(r"close of the same|1[6-9]:", case=False).any()
    yield AuditFinding(
        "fill_not_after_signal",
        f"{int(late.sum())} of {len(trades.frame)} fills are on the bar whose close decided them",
        "note" if allowed else "wrong",
        trades.table.where,
        tuple(str(d.date()) for d in fill[late].head(MAX_ROWS)),
        "the next session's open at the earliest",
        "the signal's own close" if closes[late].mean() > 0.5 else "the signal's own date",
        {"count": int(late.sum())},
    )


def _late_by_information(package: Package, count: int) -> "NDArray[np.bool_]":
    """Fills that are not after the last price that their score needs, whatever its label says."""
    found = package.fact(lags)
    late = np.zeros(count, dtype=bool)
    if found is not None:
        late[found.late] = True
    return late


def _texts_of(table: RoleTable, name: str) -> "pd.Series[str]":
    if name not in table.columns or table.columns[name] not in table.table.frame:
        return pd.Series("", index=range(len(table.frame)))
    return raw_cells(table, name).astype(str)


def _texts_of_signals(signals: RoleTable, trades: pd.DataFrame) -> "pd.Series[str]":
    """For each fill what the signal rows of its date and ticker say in words: their stamp and what they are based on."""
    source = signals.table.frame.iloc[signals.frame["row"].to_numpy() - 1]
    words = [c for c in source.columns if not pd.api.types.is_numeric_dtype(source[c].dtype)]
    said = joined_words(source[words]).to_numpy()
    by_key: dict[tuple[Any, Any], str] = {}
    for day, ticker, text in zip(signals.frame["date"], signals.frame["ticker"], said, strict=True):
        by_key[(day, ticker)] = str(text)
    return pd.Series([by_key.get((d, t), "") for d, t in zip(trades["fill_date"], trades["ticker"], strict=True)])


def _joined(trades: pd.DataFrame, signals: RoleTable) -> "pd.Series[Any]":
    """The latest signal date of the ticker up to the fill date."""
    rows = (
        signals.frame[signals.frame["score"].notna() & (signals.frame["score"] != 0)]
        if signals.frame["score"].notna().any()
        else signals.frame
    )
    dates = {t: np.sort(g["date"].to_numpy()) for t, g in rows.groupby("ticker")}
    decided = []
    for day, ticker in zip(trades["fill_date"], trades["ticker"], strict=True):
        known = dates.get(ticker)
        at = int(np.searchsorted(known, np.datetime64(day), side="right")) - 1 if known is not None else -1
        decided.append(known[at] if known is not None and at >= 0 else np.datetime64("NaT"))
    found: pd.Series[Any] = pd.Series(np.array(decided, dtype="datetime64[ns]"))
    # Scores of every day say what is known each day; only sparse signals tell which one caused a fill.
    return (
        found
        if len(rows) < 0.5 * max(len(pd.bdate_range(rows["date"].min(), rows["date"].max())), 1) * max(len(dates), 1)
        else found.where(found.isna())
    )


def _near(trades: pd.DataFrame, panel: Panel | None, field: str) -> Any:
    """Whether each fill's price is that day's close (or open)."""
    matrix = getattr(panel, field) if panel is not None else None
    if panel is None or matrix is None:
        return np.zeros(len(trades), dtype=bool)
    values = panel.at(matrix, panel.date_codes(trades["fill_date"]), panel.ticker_codes(trades["ticker"]))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.abs(trades["price"].to_numpy(dtype=float) / values - 1.0) < 2e-4


_CLOCK = re.compile(r"(\d{1,2}):(\d{2})")


def _later_time(signal: "pd.Series[str]", fill: "pd.Series[str]") -> Any:
    """Fills whose own time of day lies after the signal's."""

    def minutes(text: str) -> float:
        match = _CLOCK.search(text)
        value = int(match[1]) * 60 + int(match[2]) if match else 0
        return float(value) if match and value else np.nan

    first, second = (np.array([minutes(t) for t in s]) for s in (signal, fill))
    with np.errstate(invalid="ignore"):
        return second > first


def weight_findings(package: Package, metrics: tuple[AuditMetric, ...]) -> Iterator[AuditFinding]:
    """Weights that earn the return of the day whose close they use: by the reported figures, or by the delivered returns."""
    delivered = package.fact(read_delivery)
    hit = [m for m in metrics if m.fault == "weight_uses_same_day_return"]
    own = package.fact(own_day)
    if hit or (own is not None and own.at_fault):
        yield AuditFinding(
            "weight_uses_same_day_return",
            "the weights earn the return of their own day: a weight known at a close earns from the next session on",
            "wrong",
            where_of(delivered, "weights"),
            own.first if own is not None else (),
            "w[t-1]*r[t]",
            "w[t]*r[t]",
            {"value": "reported return equals w[t]*r[t], not w[t-1]*r[t]", "metrics": [m.name for m in hit]},
        )


def announcement_findings(package: Package) -> Iterator[AuditFinding]:
    """Entries on figures that were not public yet, and entries on the day of the announcement without a time that shows the order."""
    delivered = package.fact(read_delivery)
    table = chosen(delivered, "fundamentals")
    entries = _entries(package)
    if table is None or entries is None or table.frame["announced"].isna().all():
        return
    early, same = [], []
    facts = table.frame.drop_duplicates(["ticker", "period_end", "announced"])
    stamps = dict(zip(table.frame["row"], _texts_of(table, "announced"), strict=True))
    for ticker, day, period, text in entries[["ticker", "date", "period", "text"]].itertuples(index=False):
        used = _used(facts[facts["ticker"] == ticker], day, period)
        if used is None or pd.isna(used["announced"]):
            continue
        if used["announced"] > day:
            early.append((str(ticker), str(day.date()), str(used["announced"].date())))
        elif used["announced"] == day and not _in_order(stamps.get(used["row"], ""), text):
            same.append((str(ticker), str(day.date())))
    where = table.table.where
    if early:
        named = tuple(dict.fromkeys(t for t, _, _ in early))[:MAX_ROWS]
        text = "; ".join(f"{t} entered {d}, announced {a}" for t, d, a in early[:8])
        yield AuditFinding(
            "entry_before_announcement",
            f"{len(early)} entries come before the figures were public: {text}",
            "wrong",
            where,
            named,
            "after the announcement",
        )
    if same:
        named = tuple(dict.fromkeys(t for t, _ in same))[:MAX_ROWS]
        text = "; ".join(f"{t} on {d}" for t, d in same[:8])
        yield AuditFinding(
            "entry_on_announcement_day",
            f"{len(same)} entries are on the day of the announcement, and no time of day shows that it came first: {text}",
            "wrong",
            where,
            named,
            "a time of the announcement before the fill's",
        )


def _entries(package: Package) -> pd.DataFrame | None:
    """Purchases as ticker, date, period (that the row names) and the delivered stamp."""
    delivered = package.fact(read_delivery)
    for role, name in (("entries", "date"), ("trades", "fill_date"), ("round_trips", "entry_date")):
        table = chosen(delivered, role)
        if table is None:
            continue
        frame = pd.DataFrame({"ticker": table.frame["ticker"].to_numpy(), "date": table.frame[name].to_numpy()})
        frame["text"] = _texts_of(table, name).to_numpy()
        source = table.table.frame.iloc[table.frame["row"].to_numpy() - 1]
        period = next((c for c in source.columns if re.search(r"period|quarter|fiscal", str(c), re.I)), None)
        frame["period"] = to_dates(source[period], package.task.conditions.timezone).to_numpy() if period is not None else pd.NaT
        bought = table.frame["shares"] > 0 if role == "trades" else table.frame["side"].fillna(1) > 0 if role == "entries" else None
        return frame[bought.to_numpy()] if bought is not None else frame
    return None


def _used(facts: pd.DataFrame, day: pd.Timestamp, period: Any) -> "pd.Series[Any] | None":
    """The figures that an entry used: those of the period that it names; else, where nothing of the ticker was public yet, the latest."""
    if facts.empty:
        return None
    if not pd.isna(period):
        own = facts[facts["period_end"] == period]
        return own.iloc[-1] if len(own) else None
    ended = facts[facts["period_end"].isna() | (facts["period_end"] <= day)]
    ended = ended if len(ended) else facts
    public = ended[ended["announced"] < day]
    if len(public):
        return None  # an earlier figure was public: which one was used cannot be told
    return ended.sort_values("period_end").iloc[-1]


def _in_order(announced: str, entered: str) -> bool:
    first, second = _CLOCK.search(announced), _CLOCK.search(entered)
    if first is None or (int(first[1]), int(first[2])) == (0, 0):
        return False
    if second is None or (int(second[1]), int(second[2])) == (0, 0):
        return (int(first[1]), int(first[2])) < (9, 30)  # before the open: every fill of the day is later
    return (int(first[1]), int(first[2])) < (int(second[1]), int(second[2]))


def membership_findings(package: Package) -> Iterator[AuditFinding]:
    """Purchases of names that were no members of the universe on that date: added <= date < removed."""
    delivered = package.fact(read_delivery)
    table, entries = chosen(delivered, "universe"), _entries(package)
    if table is None or entries is None or table.frame["start"].isna().all():
        return
    spans = {t: list(zip(g["start"], g["end"], strict=True)) for t, g in table.frame.groupby("ticker")}
    before: list[list[str]] = []
    after: list[list[str]] = []
    outside: list[list[str]] = []
    for ticker, day in entries[["ticker", "date"]].itertuples(index=False):
        own = spans.get(ticker)
        if own is None:
            outside.append([str(ticker), str(day.date())])
        elif not any((pd.isna(s) or s <= day) and (pd.isna(e) or day < e) for s, e in own):
            ended = any(not pd.isna(e) and e <= day for _, e in own)
            (after if ended else before).append([str(ticker), str(day.date())])
    for check, rows, text in (
        ("traded_before_membership", before, "were bought before they were members"),
        ("traded_after_removal", after, "were bought after they had left"),
        ("traded_never_a_member", outside, "were never members"),
    ):
        if rows:
            yield AuditFinding(
                check,
                f"{len(rows)} names {text}",
                "wrong",
                table.table.where,
                expected="added <= date < removed",
                facts={"rows": rows[:MAX_ROWS]},
            )


def cutoff_findings(package: Package, cutoff: "object | None") -> Iterator[AuditFinding]:
    """Dated rows after the cutoff, and stamps of undated snapshots."""
    if cutoff is None:
        return
    found = package.fact(late_rows)
    delivered = package.fact(read_delivery)
    by_where = {t.where: t for t in delivered.tables}
    listed: set[str] = set()
    for late in found.tables:
        table = by_where.get(late.where)
        field = _stamp_field(table.frame, late.rows) if table is not None and list(table.frame.columns) == ["name", "value"] else None
        listed.add(late.where)
        rows = tuple(str(v) for v in field[1]) if field else _all_late(package, late.where, late.dates)
        yield AuditFinding(
            "future_row",
            f"{late.count} rows are dated after {cutoff}",
            "wrong",
            late.where.split("#")[0],
            rows,
            f"on or before {cutoff}",
            rows[0] if rows else "",
            {"field": field[0]} if field else {},
        )
    for where, name, stamp in _snapshots(package, cutoff):
        if where not in listed:
            yield AuditFinding(
                "future_row",
                f"the snapshot was taken after {cutoff}",
                "wrong",
                where,
                (stamp,),
                f"on or before {cutoff}",
                stamp,
                {"field": name},
            )


def _stamp_field(frame: pd.DataFrame, rows: tuple[int, ...]) -> tuple[str, list[str]] | None:
    cells = frame.iloc[[r - 1 for r in rows if 0 < r <= len(frame)]]
    return (str(cells.iloc[0, 0]), [str(v) for v in cells.iloc[:, 1]]) if len(cells) else None


def _all_late(package: Package, where: str, dates: tuple[str, ...]) -> tuple[str, ...]:
    """All late dates of a table in a role, since the fact keeps a dozen."""
    for candidate in package.fact(read_delivery).role_tables:
        name = "fill_date" if candidate.role == "trades" else "date"
        if candidate.table.where == where and name in candidate.frame:
            days = pd.DatetimeIndex(candidate.frame[name].dropna().unique()).sort_values()
            late = days[days > pd.Timestamp(package.cutoff)]
            if len(late):
                return tuple(str(d.date()) for d in late[:MAX_ROWS])
    return dates


_STAMP = re.compile(
    r"retriev|fetch|download|as_?of|snapshot|timestamp|updated|collected|published|generated|created|asof|query|pulled|date|time", re.I
)
_NOT_DATA = re.compile(r"cut-?off|target|planned|until|expir|matur|next|start|end\b|period|from|to$", re.I)


def _snapshots(package: Package, cutoff: object) -> Iterator[tuple[str, str, str]]:
    """(file, field, stamp) of name-value tables whose own stamp lies after the cutoff."""
    zone = package.task.conditions.timezone
    for table in package.fact(read_delivery).tables:
        frame = table.frame
        if not table.current or list(frame.columns) != ["name", "value"] or len(frame) > 200:
            continue
        for name, value in frame.itertuples(index=False):
            if not isinstance(value, str) or not _STAMP.search(str(name)) or _NOT_DATA.search(str(name)) or len(value) > 40:
                continue
            day = to_dates(pd.Series([value], dtype=object), zone).iloc[0]
            if not pd.isna(day) and day > pd.Timestamp(str(cutoff)):
                yield table.path, str(name), value
