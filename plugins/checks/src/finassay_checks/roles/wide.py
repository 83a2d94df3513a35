"""Tables with dates down and tickers across, and numbered column groups: prices, weights, positions, signals by content."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from finassay_checks.model import Role, RoleTable
from finassay_checks.roles import accounts, canonical, detect, names
from finassay_checks.roles.cells import canonical_ticker, to_numbers, to_tickers
from finassay_checks.roles.context import Context, Found, dates_of, stem_of
from finassay_checks.roles.context import made as made_role
from finassay_checks.roles.languages import english
from finassay_checks.roles.shape import Shape
from finassay_checks.roles.vocabulary import HINT_CHECK

Matrix = np.ndarray[Any, Any]
MOST_GROSS = 3.001
"""Long and short weights together up to which a table named as weights is taken for one."""
_HINTS: tuple[tuple[Role, re.Pattern[str]], ...] = (
    ("weights", re.compile(r"weight|alloc", re.I)),
    ("positions", re.compile(r"position|share|holding|units", re.I)),
    ("signals", re.compile(r"signal|score|rank|factor|zscore|momentum|volatil|returns?(?:[^a-z]|$)", re.I)),
    ("prices", re.compile(r"price|close|adj|quote|market_?data", re.I)),
)
_FIELDS = frozenset(key for keys in names.OHLC.values() for key in keys)
_EXPOSURE = ("cash", "invested", "exposure", "cashweight", "grossexposure", "leverage")


def _matrix(shape: Shape) -> Matrix:
    sample = shape.columns[0].sample.index
    return canonical.matrix_of(shape.table.frame[list(shape.tickers)].loc[sample])


def _extra(shape: Shape, keys: tuple[str, ...]) -> str | None:
    return next((c.name for k in keys for c in shape.of("number") if c.key == k and c.name not in shape.tickers), None)


def is_weights(matrix: Matrix, extra: Matrix | None) -> bool:
    """All ≥ -0.001, rows sum to at most 1.001 (100.1), half of them to 1 (100) ± 0.1 %, or a cash or exposure column makes up or
    equals the difference."""
    if not np.isfinite(matrix).any() or np.nanmin(matrix) < -0.001:
        return False
    sums = np.nansum(matrix, axis=1)
    scale = 100.0 if np.nanmax(matrix) > 1.001 else 1.0
    if np.max(sums) > 1.001 * scale or np.max(sums) <= 0:
        return False
    if np.mean(np.abs(sums[sums > 0] - scale) <= 0.001 * scale) >= 0.5:
        return True
    if extra is None:
        return False
    return bool(np.mean(np.abs(sums - extra) <= 0.002 * scale) >= 0.9 or np.mean(np.abs(sums + extra - scale) <= 0.002 * scale) >= 0.9)


_PLAN = re.compile(r"weight|alloc|target", re.I)


def _leveraged(matrix: Matrix) -> bool:
    """None below zero, and half of the rows that hold anything sum to one and the same value between one and what a book may hold at most."""
    sums = np.nansum(matrix, axis=1)
    sums = sums[sums > 0]
    if not sums.size or np.nanmin(matrix) < -0.001 or sums.max() > MOST_GROSS:
        return False
    usual = float(np.median(sums))
    return usual > 1.001 and bool(np.mean(np.abs(sums / usual - 1) <= 0.001) >= 0.5)


def _hint(stem: str) -> Role | None:
    """The role that the name ends in: `equal_weight_20_daily_shares` holds shares."""
    last: tuple[int, Role | None] = (-1, None)
    for role, pattern in _HINTS:
        for match in pattern.finditer(stem):
            last = max(last, (match.start(), role), key=lambda found: found[0])
    return last[1]


def content_role(shape: Shape, matrix: Matrix) -> tuple[Role, str]:
    """What a dates × tickers table holds, with the reason."""
    stem = stem_of(shape)
    hint = _hint(stem)
    known = matrix[np.isfinite(matrix)]
    if not known.size:
        return "unknown", "no numbers"
    exposure = _extra(shape, _EXPOSURE)
    extra = to_numbers(shape.table.frame[exposure]).loc[shape.columns[0].sample.index].to_numpy() if exposure else None
    plan = hint == "weights" or (hint is None and _PLAN.search(stem) is not None)
    if hint != "signals" and (
        is_weights(matrix, extra) or (plan and known.min() >= -0.001 and np.nanmax(np.nansum(matrix, axis=1)) <= 1.001)
    ):
        return "weights", "rows sum to at most one, none below zero"
    if hint == "weights" and is_weights(matrix / 100, extra):
        return "weights", "rows sum to at most a hundred, none below zero"
    if hint == "weights" and known.min() < -0.001 and float(np.nanmax(np.nansum(np.abs(matrix), axis=1))) <= MOST_GROSS:
        return "weights", "named as weights, long and short, in all at most three times the value"
    if hint != "signals" and _PLAN.search(stem) and _leveraged(matrix):
        return "weights", "named as weights or targets, rows sum to the same value above one"
    if hint == "positions" and known.min() >= -1e-6:
        return "positions", "named as holdings, none below zero"
    if hint == "signals":
        return "signals", "named as a signal"
    repeats = _repeats(shape)
    if known.min() > 0 and repeats < 0.5:
        return "prices", "all positive, rows do not sum to one, cells seldom repeat"
    if known.min() >= 0 and repeats >= 0.5 and (hint == "positions" or _extra(shape, ("cash",)) or np.mean(known == 0) > 0.05):
        return "positions", "cells repeat the ones above"
    if float((known <= 0).mean()) <= detect.FEW_AT_MOST and hint == "prices":
        return "prices", "named as prices, positive but for a few cells"
    if (known < 0).any() or _is_ranks(matrix):
        return "signals", "negative values, or ranks"
    return "unknown", "no content test holds"


def _repeats(shape: Shape) -> float:
    """Share of cells that repeat the one above, from the first rows (a stride sample has no neighbours)."""
    frame = shape.table.frame[list(shape.tickers)]
    pieces = [canonical.matrix_of(frame.iloc[:400]), canonical.matrix_of(frame.iloc[-400:])]
    same = [float(np.mean(m[1:] == m[:-1])) for m in pieces if len(m) > 1]
    return float(np.mean(same)) if same else 0.0


def _is_ranks(matrix: Matrix) -> bool:
    filled = matrix[np.isfinite(matrix).any(axis=1)]
    return bool(len(filled) and np.mean(np.nanmax(filled, axis=1) == np.isfinite(filled).sum(axis=1)) > 0.9 and np.nanmin(filled) == 1)


def wide(shape: Shape, context: Context) -> Found:
    if not shape.wide or HINT_CHECK.search(stem_of(shape)):
        return
    fill, signal = dates_of(shape)
    date = signal or fill
    assert date is not None
    frame, tickers, timezone = shape.table.frame, shape.tickers, context.timezone
    role, reason = content_role(shape, _matrix(shape))
    later = fill.name if signal is not None and fill is not None and fill is not signal else None
    columns = {"date": date.name} | {ticker: column for column, ticker in tickers.items()} | ({"fill_date": later} if later else {})
    if role == "prices":
        yield from made_role(role, shape, columns, canonical.wide_prices(frame, date.name, tickers, timezone), reason)
    elif role == "positions":
        dollars = _looks_like_dollars(shape)
        made = canonical.wide_positions(frame, date.name, tickers, _extra(shape, ("cash", "cashafter", "cashbalance")), timezone, dollars)
        yield from made_role(role, shape, columns, made, reason, *(("in dollars",) if dollars else ()))
    elif role == "weights":
        made = canonical.melt(frame, date.name, tickers, "weight", timezone)
        if later:
            made["fill_date"] = canonical.column(frame, later, "date", timezone).to_numpy()[made["row"].to_numpy() - 1]
        kind = detect.weight_kind(made["date"], stem_of(shape))
        yield from made_role(role, shape, columns, canonical.finish_weights(made, kind), reason)
    elif role == "signals":
        made = canonical.wide_signals(frame, date.name, tickers, stem_of(shape), later, timezone)
        yield from made_role(role, shape, columns, made, reason)


def _looks_like_dollars(shape: Shape) -> bool:
    """Dollar holdings change every day with prices, share counts only at fills."""
    return bool(re.search(r"dollar|value|usd", stem_of(shape), re.I)) or _repeats(shape) < 0.3


def fields_and_tickers(shape: Shape, context: Context) -> Found:
    """`Close AAPL`, `Close KBB`, `Open AAPL` …: one price table."""
    if shape.date is None or len(shape.columns) < 3:
        return
    by_ticker: dict[str, dict[str, str]] = {}
    for column in shape.columns:
        if column.key in _FIELDS:
            continue  # `Adj Close` alone is a field, not the close of ADJ
        words = english(column.name).split()
        if len(words) == 2 and names.key(words[1]) in _FIELDS and names.key(words[0]) not in _FIELDS:
            words.reverse()  # grouped by ticker: `AAPL Close`
        field = next((f for f, keys in names.OHLC.items() if names.key(words[0]) in keys), None) if len(words) >= 2 else None
        if field is None and len(words) >= 3 and names.key(" ".join(words[:2])) == "adjclose":
            field, words = "adj_close", words[1:]
        if field is not None and names.looks_like_ticker(canonical_ticker(words[-1])):
            by_ticker.setdefault(canonical_ticker(words[-1]), {})[field] = column.name
    if not by_ticker or not all("close" in fields for fields in by_ticker.values()):
        return
    pieces = []
    for ticker, fields in by_ticker.items():
        piece = canonical.simple("prices", shape.table.frame, {"date": shape.date.name, **fields}, context.timezone)
        piece["ticker"] = ticker
        pieces.append(piece)
    columns = {"date": shape.date.name} | {f"{t} {f}": c for t, fields in by_ticker.items() for f, c in fields.items()}
    made = pd.concat(pieces, ignore_index=True).sort_values(["date", "ticker"], kind="stable").reset_index(drop=True)
    yield from made_role("prices", shape, columns, made, "fields × tickers across")


def grouped(shape: Shape, context: Context) -> Found:
    """Numbered column groups (`Pick k`, `Weight k`) become long: the group that holds tickers names the rows of the others."""
    groups: dict[str, dict[str, str]] = {}
    for column in shape.columns:
        match = re.fullmatch(r"(.*?)[\s_#]*(\d{1,3})", column.name.strip())
        if match and names.key(match[1]):
            groups.setdefault(match[1].strip(), {})[match[2]] = column.name
    frame, date = shape.table.frame, shape.date
    sized = {group: numbered for group, numbered in groups.items() if len(numbered) >= 2}
    picks = next(
        (g for g, numbered in sized.items() if _share_of_tickers(frame, numbered.values()) > 0.9),
        None,
    )
    if picks is None or date is None:
        return
    for group, numbered in sized.items():
        if group == picks:
            continue
        pairs = [(sized[picks][k], numbered[k]) for k in numbered if k in sized[picks]]
        pieces = [
            pd.DataFrame(
                {
                    "date": canonical.column(frame, date.name, "date", context.timezone),
                    "ticker": to_tickers(frame[pick]),
                    "cell": to_numbers(frame[cell]),
                    "row": np.arange(1, len(frame) + 1),
                }
            )
            for pick, cell in pairs
        ]
        if not pieces:
            continue
        made = (
            pd.concat(pieces, ignore_index=True)
            .dropna(subset=["date", "ticker", "cell"])
            .sort_values(["row"], kind="stable")
            .reset_index(drop=True)
        )
        columns = {"date": date.name, "ticker": f"{picks} k", group: f"{group} k"}
        if names.has(group, ("weight", "alloc", "allocation", "w")):
            yield from made_role(
                "weights",
                shape,
                columns,
                canonical.finish_weights(made.rename(columns={"cell": "weight"}), "target"),
                "numbered groups of columns",
            )
        else:
            signal = made.rename(columns={"cell": "score"}).assign(name=group, rank=np.nan)
            signal["fill_date"] = pd.Series(pd.NaT, index=signal.index, dtype="datetime64[ns]")
            yield from made_role(
                "signals",
                shape,
                columns,
                signal[["date", "ticker", "name", "score", "rank", "fill_date", "row"]],
                "numbered groups of columns",
            )


def _share_of_tickers(frame: pd.DataFrame, columns: Iterable[str]) -> float:
    kinds = dict(frame.dtypes)
    texts = [name for name in columns if not pd.api.types.is_numeric_dtype(kinds[name])]
    if len(texts) < 0.5 * len(list(columns)):
        return 0.0
    cells = [str(v) for name in texts for v in frame[name].dropna().head(20)]
    return sum(names.looks_like_ticker(cell) for cell in cells) / len(cells) if cells else 0.0


def role_tables(shape: Shape, context: Context) -> list[RoleTable]:
    """Every role that a dated or ticker-keyed table can play."""
    found = [*grouped(shape, context), *fields_and_tickers(shape, context)]
    if found:
        return found
    found = list(wide(shape, context))
    for detector in detect.LONG:
        found.extend(detector(shape, context))
    found.extend(accounts.actions(shape, context))
    if any(role.role == "equity" for role in found):
        found.extend(accounts.flow_columns(shape, context))
    for detector in () if found else (accounts.worded_signals, accounts.cash_flows, accounts.entries):
        found.extend(detector(shape, context))
    return found
