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
from finassay_checks.model import RoleTable
from finassay_checks.recompute.entered import CLOCK, chosen, early_entries, membership, texts_of
from finassay_checks.recompute.lags import lags
from finassay_checks.recompute.own_day import own_day
from finassay_checks.recompute.panel import Panel
from finassay_checks.recompute.reaching import reaching
from finassay_checks.recompute.rebuilt import price_panel
from finassay_checks.recompute.vintages import vintages
from finassay_checks.roles.cells import to_dates

MAX_ROWS = 200
_AT_CLOSE = re.compile(r"1[5-9]:\d\d|2[0-3]:\d\d|\bclose\b", re.I)
_AUCTION = re.compile(r"close auction|market[- ]on[- ]close|\bmoc\b|closing auction|decided before the close", re.I)


def signal_findings(package: Package) -> Iterator[AuditFinding]:
    """Fills on the bar whose close decided them, and scores or timing series that reach ahead of their date."""
    yield from _bar_findings(package)
    late = package.fact(lags)
    for one in package.fact(reaching):
        # Where all fills come after the last price that the score needs, its date is a label and nothing was used early.
        label = one.role == "signals" and late is not None and not len(late.late)
        yield AuditFinding(
            "score_reaches_ahead" if one.role == "signals" else "state_reaches_ahead",
            f"'{one.name}' is {one.formula} on {one.share:.0%} of sampled dates; {one.trailing} gives {one.trailing_share:.0%}",
            "note" if label else "wrong",
            where_of(package.fact(read_delivery), "signals" if one.role == "signals" else "states"),
            one.rows,
            one.trailing,
            one.formula,
            {"compared": one.compared},
        )


def _bar_findings(package: Package) -> Iterator[AuditFinding]:
    """Fills on the bar whose close decided them."""
    delivered = package.fact(read_delivery)
    trades, signals = chosen(delivered, "trades"), chosen(delivered, "signals")
    if trades is None or not len(trades.frame):
        return
    own = trades.frame["signal_date"].notna()
    if own.mean() > 0.5:
        decided, texts = trades.frame["signal_date"], texts_of(trades, "signal_date")
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
    fill_texts = texts_of(trades, "fill_date")
    later = _later_time(texts, fill_texts)
    late = same & ~later & (known | (closes & ~opens))
    if not late.any():
        return
    words = package.fact(statements).words + " ".join(d.text[:100_000] for d in delivered.documents[:50])
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
    with np.errstate(all="ignore"):
        return np.abs(trades["price"].to_numpy(dtype=float) / values - 1.0) < 2e-4


def _later_time(signal: "pd.Series[str]", fill: "pd.Series[str]") -> Any:
    """Fills whose own time of day lies after the signal's."""

    def minutes(text: str) -> float:
        match = CLOCK.search(text)
        value = int(match[1]) * 60 + int(match[2]) if match else 0
        return float(value) if match and value else np.nan

    first, second = (np.array([minutes(t) for t in s]) for s in (signal, fill))
    with np.errstate(all="ignore"):
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
    """Entries on figures that were not public yet or on the day of the announcement without a time that shows the order, and scores that
    hold restated or unannounced figures."""
    for version in package.fact(vintages):
        if version.late:
            check = "restated_before_it_was_public" if version.sight == "restated" else "figure_before_announcement"
            rows = tuple(f"row {v.row}: {v.ticker} {v.date.date()}, announced {v.announced.date()}" for v in version.late[:MAX_ROWS])
            where = where_of(package.fact(read_delivery), "signals")
            yield AuditFinding(check, version.status, "wrong", where, rows, "the version announced by the score's date")
    found = package.fact(early_entries)
    if found is None:
        return
    if found.early:
        text = "; ".join(f"{e.ticker} entered {e.entered.date()}, announced {e.announced.date()}" for e in found.early[:8])
        yield AuditFinding(
            "entry_before_announcement",
            f"{len(found.early)} entries come before the figures were public: {text}",
            "wrong",
            found.figures,
            tuple(dict.fromkeys(e.ticker for e in found.early))[:MAX_ROWS],
            "after the announcement",
        )
    if found.same_day:
        text = "; ".join(f"{e.ticker} on {e.entered.date()}" for e in found.same_day[:8])
        yield AuditFinding(
            "entry_on_announcement_day",
            f"{len(found.same_day)} entries are on the day of the announcement, and no time of day shows that it came first: {text}",
            "wrong",
            found.figures,
            tuple(dict.fromkeys(e.ticker for e in found.same_day))[:MAX_ROWS],
            "a time of the announcement before the fill's",
        )


def membership_findings(package: Package) -> Iterator[AuditFinding]:
    """Purchases of names that were no members of the universe on that date: added <= date < removed."""
    found = package.fact(membership)
    if found is None:
        return
    for check, outsiders, text in (
        ("traded_before_membership", found.before, "were bought before they were members"),
        ("traded_after_removal", found.after, "were bought after they had left"),
        ("traded_never_a_member", found.never, "were never members"),
    ):
        if outsiders:
            yield AuditFinding(
                check,
                f"{len(outsiders)} names {text}",
                "wrong",
                found.universe,
                expected="added <= date < removed",
                facts={"rows": [[o.ticker, str(o.day.date())] for o in outsiders[:MAX_ROWS]]},
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
