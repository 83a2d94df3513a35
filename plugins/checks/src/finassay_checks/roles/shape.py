"""What a table looks like: kinds of its columns from a sample, its date and ticker columns, its columns that are tickers."""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from attrs import define, field, frozen

from finassay_checks.model import Table
from finassay_checks.roles import names
from finassay_checks.roles.cells import DATE_SHARE, is_blank, strings_of, to_dates, to_numbers
from finassay_checks.shared import once

Kind = Literal["date", "number", "text", "bool", "empty"]
SAMPLE = 600
_HINT_WIDE = re.compile(r"weight|alloc|price|close|position|share|holding", re.I)
_BOOLS = frozenset({"true", "false", "yes", "no", "on", "off"})


@frozen(eq=False)
class Column:
    """One column: `key` is its joined word parts."""

    name: str
    key: str
    kind: Kind
    _sampled: pd.DataFrame = field(repr=False)
    _place: int = 0

    @property
    def parts(self) -> tuple[str, ...]:
        return names.parts(self.name)

    @cached_property
    def sample(self) -> "pd.Series[Any]":
        """Its cells in the sampled rows."""
        return self._sampled.iloc[:, self._place]

    @cached_property
    def texts(self) -> "pd.Series[Any]":
        return strings_of(self.sample)

    @cached_property
    def numbers(self) -> "pd.Series[float]":
        return to_numbers(self.sample).dropna()


def sample_positions(rows: int) -> np.ndarray[Any, Any]:
    """Head, tail and an even stride between them, at most `SAMPLE` positions."""
    if rows <= SAMPLE:
        return np.arange(rows)
    third = SAMPLE // 3
    stride = np.linspace(0, rows - 1, third).astype(int)
    return np.unique(np.concatenate([np.arange(third), stride, np.arange(rows - third, rows)]))


def _kind(series: "pd.Series[Any]", name: str, timezone: str) -> Kind:
    filled = int(series.notna().sum())
    if not filled:
        return "empty"
    if pd.api.types.is_bool_dtype(series.dtype):
        return "bool"
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return "date"
    if pd.api.types.is_numeric_dtype(series.dtype) and name and not names.is_date_name(name):
        return "number"
    texts = strings_of(series)
    if set(texts.str.lower().head(5)) <= _BOOLS and set(texts.str.lower()) <= _BOOLS:
        return "bool"
    blank = [cell for cell, text in texts.items() if is_blank(text)]
    if blank:  # 'NaN' and 'inf' written out are holes, and say nothing about the kind
        filled -= int(series.isin(blank).sum())
        if not filled:
            return "empty"
    named = names.is_date_name(name)
    numbers = int(to_numbers(series).notna().sum())
    if named or numbers < filled:
        dates = int(to_dates(series, timezone, named or not name).notna().sum())
        if dates >= DATE_SHARE * filled:
            return "date"
    return "number" if numbers >= 0.9 * filled else "text"


@define(eq=False)
class Shape:
    """A table's shape. `tickers` maps columns that are tickers to their canonical spelling."""

    table: Table
    columns: tuple[Column, ...]
    tickers: dict[str, str]
    rows: int
    memo: dict[str, dict[str, str]] = field(factory=dict)
    """What detectors found out about its columns."""

    @property
    def name(self) -> str:
        """Path and sheet, what a person would call the table."""
        return self.table.where

    @cached_property
    def by_kind(self) -> dict[Kind, list[Column]]:
        kinds: dict[Kind, list[Column]] = {"date": [], "number": [], "text": [], "bool": [], "empty": []}
        for column in self.columns:
            kinds[column.kind].append(column)
        return kinds

    def of(self, *kinds: Kind) -> list[Column]:
        return [column for column in self.columns if column.kind in kinds]

    def find(self, keys: Iterable[str], *kinds: Kind) -> Column | None:
        """The column whose key is one of `keys`, in the order of `keys`; of any kind if none is named."""
        for wanted in keys:
            for column in self.columns:
                if column.key == wanted and (not kinds or column.kind in kinds) and column.kind != "empty":
                    return column
        return None

    def find_part(self, words: Iterable[str], *kinds: Kind) -> Column | None:
        """The first column one of whose word parts is in `words`."""
        wanted = frozenset(words)
        for column in self.columns:
            if wanted & frozenset(column.parts) and (not kinds or column.kind in kinds) and column.kind != "empty":
                return column
        return None

    @cached_property
    def date(self) -> Column | None:
        """The only or first date column; an unnamed first column counts."""
        dates = self.of("date")
        return dates[0] if dates else None

    @cached_property
    def ticker(self) -> Column | None:
        """The column that holds tickers: by name with text cells, else by content."""
        for column in self.of("text"):
            if column.key in ("ticker", "tickers", "symbol", "symbols"):
                return column
        candidates = [c for c in self.of("text") if names.is_ticker_name(c.name) and _ticker_share(c) >= 0.8]
        candidates += [
            c for c in self.of("text") if c not in candidates and _ticker_share(c) >= 0.95 and len(c.texts) > 1 and "side" not in c.parts
        ]
        if candidates:
            return candidates[0]
        return next((c for c in self.columns if c.key in ("ticker", "symbol", "asset", "security") and c.kind == "text"), None)

    @property
    def wide(self) -> bool:
        """Dates down, tickers across. One ticker is enough where the table's name says what it holds."""
        if self.date is None or len(self.tickers) < 0.5 * (len(self.columns) - 1):
            return False
        return len(self.tickers) >= 2 or (len(self.tickers) == 1 and bool(_HINT_WIDE.search(self.table.where)) and self._alone)

    @property
    def _alone(self) -> bool:
        """Nothing beside the date and the ticker but cash or exposure."""
        others = [c.key for c in self.columns if c is not self.date and c.name not in self.tickers]
        return all(key in ("cash", "cashweight", "exposure", "invested", "total") for key in others)


_LOWER = re.compile(r"[a-z]{1,5}(?:[.\-][a-z]{1,2})?")
_SUMS = frozenset({"cash", "total", "sum", "net", "gross"})
_WORDS = (
    frozenset(key for keys in names.OHLC.values() for key in keys)
    | names.DATE
    | names.SIGNAL
    | names.STATE
    | names.FACTORS
    | names.BENCHMARK
    | frozenset(
        {"ret", "return", "nav", "equity", "fee", "fees", "cost", "pnl", "qty", "size", "side", "id", "row", "year", "month", "mean", "std"}
    )
)


def _lower_case(columns: list[Column]) -> dict[str, str]:
    """Tickers written in lower case across, where every column of numbers is one, besides sums, and none is a word of the field."""
    across = [c for c in columns if c.kind in ("number", "empty") and c.key not in _SUMS]
    if len(across) < 2 or not all(_LOWER.fullmatch(c.name) and c.key not in _WORDS for c in across):
        return {}
    return {c.name: c.name.upper().replace(".", "-") for c in across}


def _ticker_share(column: Column) -> float:
    texts = column.texts
    return float(np.mean([names.looks_like_ticker(_bare(str(text))) for text in texts])) if len(texts) else 0.0


def _bare(text: str) -> str:
    """`Equity(0 [AAPL])` as `AAPL`."""
    return text[text.rindex("[") + 1 : -2] if "[" in text and text.endswith("])") else text


def _sampled_kinds(frame: pd.DataFrame, timezone: str) -> tuple[pd.DataFrame, tuple[Kind, ...]]:
    """The sampled rows of a frame, and the kind of each column by them: found once, as long as the rows are the same."""
    sample = frame.iloc[sample_positions(len(frame))]  # by places: a copy, which does not hold the frame
    kept: list[tuple[pd.DataFrame, tuple[Kind, ...]]] = once(frame, ("kinds", timezone), list)
    if not kept or not kept[0][0].equals(sample):
        kept[:] = [(sample, _kinds(sample, timezone))]
    return kept[0]


def _kinds(sample: pd.DataFrame, timezone: str) -> tuple[Kind, ...]:
    labels, types = [str(name) for name in sample.columns], list(sample.dtypes)
    decimal = [p for p, t in enumerate(types) if t == np.float64 and labels[p] and not names.is_date_name(labels[p])]
    void = np.isnan(sample.iloc[:, decimal].to_numpy()).all(axis=0) if decimal else []
    known: dict[int, Kind] = {p: "empty" if empty else "number" for p, empty in zip(decimal, void, strict=True)}
    return tuple(known[p] if p in known else _kind(sample.iloc[:, p], labels[p], timezone) for p in range(len(labels)))


def shape_of(table: Table, known: frozenset[str], timezone: str) -> Shape:
    """The shape of a table; `known` are tickers that other tables and the task name."""
    from finassay_checks.roles.cells import canonical_ticker

    frame = table.frame
    sample, kinds = _sampled_kinds(frame, timezone)
    columns: list[Column] = []
    tickers: dict[str, str] = {}
    for position, name in enumerate(frame.columns):
        label = str(name)
        kind = kinds[position]
        columns.append(Column(label, names.key(label), kind, sample, position))
        if kind in ("number", "empty"):
            ticker = canonical_ticker(label)
            if ticker in known or (names.looks_like_ticker(label) and not label.isdigit()):
                tickers[label] = ticker
    if not tickers and _HINT_WIDE.search(table.where):
        tickers = _lower_case(columns)
    if known and sum(t in known for t in tickers.values()) < 0.5 * len(tickers) and len(tickers) < 5:
        tickers = {label: t for label, t in tickers.items() if t in known}
    return Shape(table, tuple(columns), tickers, len(frame))
