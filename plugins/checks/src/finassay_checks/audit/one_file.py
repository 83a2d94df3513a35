"""A backtest in one table, as people write it with a data frame: a close, a position or signal, and what the strategy earned, row by row.

Positions that earn the return of the bar whose close decides them are told from such that earn from the next bar on by the returns alone;
whether a position was already moved on by a bar, by its name and by the other columns of the table that decide it."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from finassay.api.delivery import Package
from finassay_checks.audit.model import AuditFinding, Severity
from finassay_checks.delivered import read_delivery
from finassay_checks.model import RoleTable
from finassay_checks.recompute.panel import Floats
from finassay_checks.roles import names
from finassay_checks.roles.cells import to_numbers

_HELD = frozenset(
    {"position", "positions", "pos", "signal", "signals", "weight", "exposure", "holding", "allocation", "invested", "leverage"}
)
NEAR = 2e-4
"""How far a return may lie from position times return and still be it, besides what costs take on days of a change."""
FEWEST = 8
"""Changes of the position below which nothing is told."""


def one_file_findings(package: Package) -> Iterator[AuditFinding]:
    """Of every current table of values or returns that holds a close and a position as well."""
    for table in package.fact(read_delivery).role_tables:
        if table.role == "equity" and table.table.current and 2 * FEWEST < len(table.frame) <= 200_000:
            yield from _of_table(table)


def _of_table(table: RoleTable) -> Iterator[AuditFinding]:
    source = table.table.frame
    close = next((c for c in map(str, source.columns) if names.key(c) in (*names.OHLC["adj_close"], *names.OHLC["close"])), None)
    if close is None or not table.frame["row"].is_monotonic_increasing:
        return
    level = _numbers(source, close)
    earned = _earned(table, len(source))
    if earned is None or not (np.nan_to_num(level, nan=1.0) > 0).all():
        return
    with np.errstate(all="ignore"):
        moved = np.asarray(np.concatenate(([np.nan], level[1:] / level[:-1] - 1.0)), dtype=np.float64)
    for name in map(str, source.columns):
        if not _HELD & set(names.parts(name)) or name == close:
            continue
        held = _numbers(source, name)
        if np.isfinite(held).mean() < 0.9 or np.nanmax(np.abs(held)) > 5:
            continue
        same, later, changes = _fits(held, moved, earned)
        if changes < FEWEST or same < 0.95 or later > 0.8:
            continue
        severity = _severity(name, held, level, source, close)
        yield AuditFinding(
            "weight_uses_same_day_return",
            f"'{name}' earns the return of its own row on {same:.0%} of the {changes} rows on which it changes"
            + ("" if severity == "wrong" else "; whether it was moved on by a row before cannot be told"),
            severity,
            table.table.where,
            expected="w[t-1]*r[t]",
            found="w[t]*r[t]",
            facts={"value": "reported return equals w[t]*r[t], not w[t-1]*r[t]"},
        )
        return


def _numbers(source: pd.DataFrame, name: str) -> Floats:
    return np.asarray(to_numbers(source[name]).to_numpy(dtype=float), dtype=np.float64)


def _earned(table: RoleTable, rows: int) -> Floats | None:
    """The strategy's return row by row of the delivered table; NaN where there is none."""
    frame = table.frame
    made = np.full(rows, np.nan)
    at = frame["row"].to_numpy() - 1
    if frame["ret"].notna().mean() > 0.8:
        made[at] = frame["ret"].to_numpy(dtype=float)
    elif frame["equity"].notna().mean() > 0.8:
        made[at] = frame["equity"].pct_change(fill_method=None).to_numpy(dtype=float)
    else:
        return None
    return made


def _fits(held: Floats, moved: Floats, earned: Floats) -> tuple[float, float, int]:
    """(share of rows with a change whose return the new position gives, the old one gives, how many such rows)."""
    before = np.concatenate(([np.nan], held[:-1]))
    change = np.abs(held - before)
    used = (
        np.isfinite(before) & np.isfinite(held) & np.isfinite(moved) & np.isfinite(earned) & (change > 0.05) & (np.abs(moved) > 20 * NEAR)
    )
    if not used.any():
        return 0.0, 0.0, 0
    allowed = NEAR + 0.003 * change[used]
    same, later = (np.abs(w[used] * moved[used] - earned[used]) <= allowed for w in (held, before))
    return float(same.mean()), float(later.mean()), int(used.sum())


def _severity(name: str, held: Floats, level: Floats, source: pd.DataFrame, close: str) -> Severity:
    """`wrong` for a signal by its name, or a position that the close beside it decides on the same row; else it may have been moved on."""
    if {"signal", "signals"} & set(names.parts(name)):
        return "wrong"
    into = held > 0
    for other in map(str, source.columns):
        if other in (name, close):
            continue
        line = _numbers(source, other)
        if np.isfinite(line).mean() < 0.5 or not 1 / 3 < float(np.nanmedian(line / level)) < 3:
            continue  # no price, and no average of prices
        for above in (level > line, level < line):
            if _decides(above, into, np.isfinite(line)):
                return "wrong"
    return "note"


def _decides(above: NDArray[np.bool_], into: NDArray[np.bool_], known: NDArray[np.bool_]) -> bool:
    now = float(np.mean(above[known] == into[known]))
    moved_on = float(np.mean(above[:-1][known[:-1]] == into[1:][known[:-1]]))
    return now > 0.98 and moved_on < now - 0.02
