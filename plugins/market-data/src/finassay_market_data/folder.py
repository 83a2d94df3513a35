"""A folder of price files, whatever their shape: found by looking at names and columns, read when it is asked for."""

import logging
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from finassay_market_data.reading import PACKED, Head, UnreadableError, days_of, head_of, names_of, plausible_date, read_columns, values_of
from finassay_market_data.series import Days, MarketError, Series, Values, appended, in_order, joined
from finassay_market_data.words import DATES, PRICES, TICKERS, UNNAMED, field_of, plain, ticker_of

ENDINGS: Final = (".parquet", ".pq", ".csv", ".tsv", *(f".csv{packed}" for packed in PACKED))
MAX_FILES: Final = 20_000
MAX_DEPTH: Final = 4
MAX_TICKERS: Final = 50_000
MAX_HELD: Final = 100_000_000
"""Values held in memory of files that hold one ticker; the least recently used go first."""
MAX_TOLD: Final = 100
_PARTITION: Final = re.compile(r"(?:ticker|symbol)=(.+)", re.IGNORECASE)

Shape = Literal["wide", "long", "single"]


@frozen
class Source:
    """One file and how it is to be read."""

    path: Path
    head: Head
    shape: Shape
    date: str
    values: tuple[tuple[str, str], ...]
    """wide: (column, ticker); else (column, field)."""
    ticker: str = ""
    """long: its column of tickers; single: the ticker itself."""
    field: str = ""
    """wide: the field that all its columns hold."""


def sources_in(folder: Path) -> tuple[list[Source], list[tuple[str, str]]]:
    """The files that hold prices, and those that are not taken with the reason. Looks at headers only.

    Raises `MarketError` if the folder cannot be read or holds too many files.
    """
    taken, left = [], []
    for path in _files(folder):
        try:
            taken.append(source_of(path))
        except UnreadableError as error:
            left.append((str(path.relative_to(folder)), str(error)))
    return taken, left


def _files(folder: Path) -> Iterator[Path]:
    pending, found = [(folder, 0)], 0
    while pending:
        here, depth = pending.pop()
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError as error:
            if depth == 0:
                raise MarketError(f"the folder of prices cannot be read: {error.strerror}") from error
            continue
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False) and depth < MAX_DEPTH:
                pending.append((Path(entry.path), depth + 1))
            elif entry.name.casefold().endswith(ENDINGS):
                found += 1
                if found > MAX_FILES:
                    raise MarketError(f"the folder holds more than {MAX_FILES:,} files of prices")
                yield Path(entry.path)


def source_of(path: Path) -> Source:
    """How a file is to be read. Raises `UnreadableError` for one that holds no prices by day."""
    head = head_of(path)
    if len(set(head.columns)) != len(head.columns):
        raise UnreadableError("two of its columns have one name")
    day = _date_column(head)
    if day is None:
        raise UnreadableError("has no column of dates")
    others = [name for name in head.columns if name != day]
    tickers = next((name for name in others if plain(name) in TICKERS), None)
    fields = _fields([name for name in others if name != tickers])
    if tickers is not None and fields:
        return Source(path, head, "long", day, fields, ticker=tickers)
    if tickers is not None and tickers in head.texts:
        raise UnreadableError("has tickers and no prices")
    if 2 * len(fields) >= len(others) and {name for _, name in fields} & PRICES:
        ticker = _ticker_of_file(path)
        if ticker is None:
            raise UnreadableError("its name is no ticker")
        return Source(path, head, "single", day, fields, ticker=ticker)
    wide = tuple((name, ticker) for name in others if (ticker := ticker_of(name)) is not None and plain(name) not in UNNAMED)
    if not wide:
        raise UnreadableError("has no columns of prices")
    if len({ticker for _, ticker in wide}) != len(wide):
        raise UnreadableError("two of its columns hold one ticker")
    return Source(path, head, "wide", day, wide, field=field_of(_stem(path)) or "close")


def _date_column(head: Head) -> str | None:
    named = next((name for name in head.columns if plain(name) in DATES), None)
    if named is not None:
        return named
    unnamed = [(n, name) for n, name in enumerate(head.columns) if n == 0 or plain(name) in UNNAMED]
    if head.first:
        return next((name for n, name in unnamed if n < len(head.first) and plausible_date(head.first[n])), None)
    return next((name for name in head.dated), next((name for _, name in unnamed if plain(name) in UNNAMED), None))


def _fields(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """(column, field), each field once: the column that is called by the field itself goes first."""
    found: dict[str, str] = {}
    for name in sorted(names, key=lambda n: plain(n) != field_of(n)):
        if (known := field_of(name)) is not None:
            found.setdefault(known, name)
    return tuple((name, known) for known, name in found.items())


def _stem(path: Path) -> str:
    name = path.name
    ending = next(e for e in sorted(ENDINGS, key=len, reverse=True) if name.casefold().endswith(e))
    return name[: -len(ending)]


def _ticker_of_file(path: Path) -> str | None:
    partition = _PARTITION.fullmatch(path.parent.name)
    return ticker_of(partition[1] if partition else _stem(path))


# -- rows -------------------------------------------------------------------------------------------------------------


def load(source: Source, cutoff: np.datetime64 | None) -> dict[str, Series]:
    """Ticker to its rows as they stand there, without anything after the cutoff. Raises `UnreadableError`, `MarketError`."""
    names = [source.date, *(name for name, _ in source.values), *([source.ticker] if source.shape == "long" else [])]
    columns = read_columns(source.path, source.head, names)
    days, given = days_of(columns[source.date])
    if cutoff is not None:
        given &= days <= cutoff
    days = days[given]
    numbers: dict[str, Values] = {}
    for name, known in source.values:
        values = values_of(columns[name])
        if values is not None:
            numbers[known] = values[given]
        elif source.shape != "wide":  # in a wide file it is a column beside the tickers
            raise UnreadableError(f"its column {name[:40]!r} holds text")
    if source.shape == "long":
        return _by_ticker(columns[source.ticker], given, days, numbers)
    if source.shape == "single":
        return {source.ticker: Series(days, numbers)}
    try:
        whole = in_order(days, numbers, "a file")  # once for all of them
    except MarketError:
        whole = Series(days, numbers)  # the tickers that are in order stay of use
    return {ticker: Series(whole.days, {source.field: values}) for ticker, values in whole.fields.items()}


def _by_ticker(column: Any, given: NDArray[np.bool_], days: Days, numbers: dict[str, Values]) -> dict[str, Series]:
    coded, names = names_of(column)
    coded = coded[given]
    if len(names) > MAX_TICKERS:
        raise MarketError(f"there are more than {MAX_TICKERS:,} tickers")
    order = np.lexsort((days, coded))
    coded, days = coded[order], days[order]
    numbers = {name: values[order] for name, values in numbers.items()}
    edges = np.flatnonzero(np.concatenate(([True], coded[1:] != coded[:-1], [True]))) if len(coded) else np.zeros(1, np.int64)
    found: dict[str, Series] = {}
    for first, last in pairwise(edges.tolist()):
        ticker = ticker_of(names[coded[first]]) if coded[first] >= 0 else None
        if ticker is not None:
            part = slice(first, last)
            rows = Series(days[part], {name: values[part] for name, values in numbers.items()})
            found[ticker] = appended(found[ticker], rows) if ticker in found else rows
    return found


@define
class FolderMarket:
    """Series by ticker out of a folder's files. Safe to use from several threads."""

    sources: Sequence[Source]
    cutoff: np.datetime64 | None
    left: list[tuple[str, str]] = field(factory=list)
    """Files that turned out unreadable, with the reason: for whoever runs the server, never for an agent."""
    _lock: threading.RLock = field(init=False, factory=threading.RLock)
    _single: dict[str, list[Source]] = field(init=False, factory=dict)
    _whole: dict[str, list[Series]] | None = field(init=False, default=None)
    _mentioned: dict[str, None] | None = field(init=False, default=None)
    """Tickers that files name, whether or not anything of them lies before the cutoff."""
    _folded: dict[str, str] | None = field(init=False, default=None)
    _names: tuple[str, ...] | None = field(init=False, default=None)
    _held: "OrderedDict[str, Series]" = field(init=False, factory=OrderedDict)
    _size: int = field(init=False, default=0)
    _told: int = field(init=False, default=0)
    _wrong: dict[str, str] = field(init=False, factory=dict)
    """Tickers whose files contradict each other, with the error."""
    _calendars: dict[bytes, Days] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        for source in self.sources:
            if source.shape == "single":
                self._single.setdefault(source.ticker, []).append(source)

    def tickers(self) -> tuple[str, ...]:
        """Every ticker of which anything is known up to the cutoff, sorted."""
        with self._lock:
            if self._names is None:
                self._names = tuple(sorted(name for name in self._named() if self._usable(name)))
            return self._names

    def _usable(self, name: str) -> bool:
        try:
            return bool(len(self.series(name).days))
        except MarketError:
            return False

    def find(self, name: str) -> str | None:
        """The ticker of a name in any case, if anything is known of it up to the cutoff; reads no more than it must."""
        with self._lock:
            if self._folded is None:
                self._folded = {ticker.casefold(): ticker for ticker in sorted(self._named(), reverse=True)}
            for ticker in dict.fromkeys((name, self._folded.get(name.casefold(), name))):
                if ticker in self._named() and len(self.series(ticker).days):
                    return ticker
            return None

    def _named(self) -> dict[str, None]:
        if self._mentioned is None:
            self._mentioned = dict.fromkeys((*self._single, *self._shared()))
            if len(self._mentioned) > MAX_TICKERS:
                raise MarketError(f"there are more than {MAX_TICKERS:,} tickers")
        return self._mentioned

    def series(self, ticker: str) -> Series:
        """All that is known of a ticker; empty for an unknown one. Raises `MarketError` if files contradict each other."""
        with self._lock:
            if ticker in self._held:
                self._held.move_to_end(ticker)
                return self._held[ticker]
            if ticker in self._wrong:
                raise MarketError(self._wrong[ticker])
            parts = list(self._shared().get(ticker, ()))
            for source in self._single.get(ticker, ()):
                parts += self._load(source).values()
            made = self._made(ticker, parts)
            self._hold(ticker, made)
            return made

    def _made(self, ticker: str, parts: list[Series]) -> Series:
        if not parts:
            return Series(np.empty(0, "datetime64[D]"), {})
        try:
            return self._shared_calendar(joined(parts, ticker).trimmed())
        except MarketError as error:
            self._wrong[ticker] = str(error)
            self._tell("%s", str(error))
            raise

    def _shared(self) -> dict[str, list[Series]]:
        """What lies in files of many tickers; read once, whole."""
        if self._whole is None:
            whole: dict[str, list[Series]] = {}
            size = 0
            for source in self.sources:
                if source.shape != "single":
                    for ticker, series in self._load(source).items():
                        whole.setdefault(ticker, []).append(series)
                        size += len(series.days) * len(series.fields)
                    if size > MAX_HELD:
                        raise MarketError(f"the files of many tickers hold more than {MAX_HELD:,} values together")
            self._whole = whole
        return self._whole

    def _load(self, source: Source) -> dict[str, Series]:
        try:
            return load(source, self.cutoff)
        except UnreadableError as error:
            self.left.append((source.path.name, str(error)))
            self._tell("%r %s", source.path.name, error)
            return {}

    def _tell(self, text: str, *about: object) -> None:
        """To whoever runs the server, a bounded number of times."""
        self._told += 1
        if self._told <= MAX_TOLD:
            logging.getLogger(__package__).warning(f"not taken: {text}", *about)

    def _shared_calendar(self, series: Series) -> Series:
        """Equal calendars are one object, so that tickers of one market line up without sorting."""
        days = self._calendars.setdefault(series.days.tobytes(), series.days)
        return Series(days, series.fields)

    def _hold(self, ticker: str, series: Series) -> None:
        self._held[ticker] = series
        self._size += len(series.days) * (len(series.fields) + 1)
        while self._size > MAX_HELD and len(self._held) > 1:
            _, gone = self._held.popitem(last=False)
            self._size -= len(gone.days) * (len(gone.fields) + 1)
