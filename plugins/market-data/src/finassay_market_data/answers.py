"""What the tools answer: bounded pages of rows, each with its source, its adjustment and a digest."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Final, Literal

import numpy as np
from attrs import frozen
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from finassay_market_data.market import Market
from finassay_market_data.series import Block, Frequency, MarketError, Series, Values, block, coarser
from finassay_market_data.words import FIELDS, aggregation_of

MAX_ROWS: Final = 10_000
MAX_CELLS: Final = 100_000
"""Of one page, whatever is asked for."""
DEFAULT_CELLS: Final = 5_000
"""Of one page where the number of rows is left open: some 40 kB."""
MAX_TICKERS: Final = 1_000


def _iso(value: object) -> object:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value.strip())
        except ValueError:
            pass
    if value is None or isinstance(value, date):
        return value
    raise ValueError("takes a date written YYYY-MM-DD")


def _listed(value: object) -> object:
    """Models often write one text with commas."""
    return [part for part in value.replace(";", ",").split(",") if part.strip()] if isinstance(value, str) else value


Day = Annotated[date | None, BeforeValidator(_iso)]
Names = Annotated[list[Annotated[str, Field(min_length=1, max_length=60)]], BeforeValidator(_listed)]


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Nothing(Arguments):
    """A tool without arguments."""


class Page(Arguments):
    page: int = Field(default=1, ge=1, le=1_000_000, description="Which page, from 1; the answer says how many there are.")
    rows: int | None = Field(default=None, ge=1, le=MAX_ROWS, description="Rows of a page; as many as read well if left out.")
    format: Literal["json", "csv"] = Field(
        default="json", description="json: columns and rows; csv: a text to be written to a file as it is, after a line about it."
    )


class ListTickers(Page):
    search: str = Field(default="", max_length=60, description="Only tickers that hold this text, in any case.")


class Range(Page):
    start: Day = Field(default=None, description="First day, inclusive, YYYY-MM-DD; from the beginning if left out.")
    end: Day = Field(default=None, description="Last day, inclusive, YYYY-MM-DD; to the end if left out.")
    frequency: Frequency = Field(
        default="daily",
        description="weekly (Monday to Sunday) and monthly rows are dated by the last trading day in them and hold only days of the range.",
    )


class GetPrices(Range):
    tickers: Names = Field(min_length=1, max_length=MAX_TICKERS, description="The tickers, as list_tickers tells them.")
    fields: Names | None = Field(
        default=None,
        max_length=len(FIELDS),
        description="As describe tells them; close, or adj_close where there is no close, if left out.",
    )


class GetIndex(Range):
    pass


@frozen
class Answer:
    """`about` is JSON; `text` is the CSV where that was asked for."""

    about: Mapping[str, Any]
    text: str | None = None


Cell = str | int | float | None
Row = Sequence[Cell]


def list_tickers(market: Market, arguments: ListTickers) -> Answer:
    """Tickers with their first and last day."""
    wanted = arguments.search.casefold().strip()
    names = [name for name in market.prices.tickers() if wanted in name.casefold()]
    first, last, pages = _page(len(names), arguments.rows or DEFAULT_CELLS // 10, arguments.page)
    rows = []
    for name in names[first:last]:
        days = market.prices.series(name).days
        rows.append((name, str(days[0]), str(days[-1]), len(days)))
    about = {"source": market.source, "adjustment": _adjustments(market, market.fields()), "tickers": len(names)}
    return _answer(about, ("ticker", "first_date", "last_date", "days"), rows, arguments, pages)


def describe(market: Market, arguments: Nothing) -> Answer:
    """What there is."""
    series = [market.prices.series(name) for name in market.prices.tickers()]
    rows = []
    for name in market.fields():
        having = [s for s in series if name in s.fields]
        first, last = min(s.days[0] for s in having), max(s.days[-1] for s in having)
        rows.append((name, len(having), str(first), str(last), market.adjustment(name), aggregation_of(name)))
    columns = ("field", "tickers", "first_date", "last_date", "adjustment", "aggregation")
    about: dict[str, Any] = {
        "source": market.source,
        "tickers": len(series),
        "frequency": "daily",
        "index": _index(market),
        "cutoff": None if market.cutoff is None else market.cutoff.isoformat(),
        "notes": list(market.notes),
        "sha256": digest(columns, rows),
        "fields": [dict(zip(columns, row, strict=True)) for row in rows],
    }
    return Answer(about)


def get_prices(market: Market, arguments: GetPrices) -> Answer:
    """Prices of some tickers: one column a ticker for one field, else rows of date, ticker and the fields."""
    series = market.series(arguments.tickers)
    fields = _fields(market, series, arguments.fields)
    given = _rows(series, fields, arguments)
    about = {"source": market.source, "adjustment": _adjustments(market, fields), **_how(fields, arguments)}
    if len(fields) == 1:
        return _wide(about, given, [ticker for ticker, _ in given.columns], arguments)
    return _long(about, given, tuple(series), fields, arguments)


def get_index(market: Market, arguments: GetIndex) -> Answer:
    """The level of the market's index."""
    series = market.index_series()
    ((ticker, one),) = series.items()
    field = next(name for name in ("close", "adj_close", *one.fields) if name in one.fields)
    given = _rows(series, (field,), arguments)
    about = {"source": market.source, "adjustment": {field: "an index level"}, **_how((field,), arguments)}
    return _wide(about, given, [ticker], arguments)


# -- inside -----------------------------------------------------------------------------------------------------------


def _fields(market: Market, series: Mapping[str, Series], asked: Sequence[str] | None) -> tuple[str, ...]:
    held = {name for one in series.values() for name in one.fields}
    if asked is None:
        return (next((name for name in ("close", "adj_close", *FIELDS) if name in held), "close"),)
    names = tuple(dict.fromkeys(name.strip().casefold() for name in asked))
    unknown = [name for name in names if name not in held]
    if unknown:
        known = market.fields()
        if not set(unknown) <= set(known):
            raise MarketError(f"there is no field {unknown[0][:40]!r}; there are {', '.join(known) or 'none'}")
    return names


def _rows(series: Mapping[str, Series], fields: Sequence[str], arguments: Range) -> Block:
    if arguments.start and arguments.end and arguments.start > arguments.end:
        raise MarketError("start lies after end")
    start, end = (None if day is None else np.datetime64(day, "D") for day in (arguments.start, arguments.end))
    return coarser(block(series, fields, start, end), arguments.frequency)


def _how(fields: Sequence[str], arguments: Range) -> dict[str, Any]:
    if arguments.frequency == "daily":
        return {"frequency": "daily"}
    return {"frequency": arguments.frequency, "aggregation": {name: aggregation_of(name) for name in fields}}


def _wide(about: Mapping[str, Any], given: Block, names: Sequence[str], arguments: Page) -> Answer:
    first, last, pages = _page(len(given.days), _size(arguments, len(names) + 1), arguments.page)
    days, values = given.days[first:last].astype(str).tolist(), _cells(given.values[first:last])
    rows = [(day, *row) for day, row in zip(days, values, strict=True)]
    return _answer({**about, "total_rows": len(given.days)}, ("date", *names), rows, arguments, pages)


def _long(about: Mapping[str, Any], given: Block, tickers: Sequence[str], fields: Sequence[str], arguments: Page) -> Answer:
    cube = given.values.reshape(len(given.days), len(tickers), len(fields))
    at_day, at_ticker = np.nonzero(np.isfinite(cube).any(axis=2))
    first, last, pages = _page(len(at_day), _size(arguments, len(fields) + 2), arguments.page)
    at_day, at_ticker, total = at_day[first:last], at_ticker[first:last], len(at_day)
    days, values = given.days[at_day].astype(str).tolist(), _cells(cube[at_day, at_ticker])
    rows = [(day, tickers[t], *row) for day, t, row in zip(days, at_ticker.tolist(), values, strict=True)]
    return _answer({**about, "total_rows": total}, ("date", "ticker", *fields), rows, arguments, pages)


def _size(arguments: Page, width: int) -> int:
    most = max(1, MAX_CELLS // width)
    return min(arguments.rows, most) if arguments.rows else max(1, min(500, DEFAULT_CELLS // width))


def _page(count: int, size: int, page: int) -> tuple[int, int, int]:
    """First row, row after the last, number of pages. Raises `MarketError` for a page that is not there."""
    pages = max(1, -(-count // size))
    if page > pages:
        raise MarketError(f"there is no page {page}: there {'is' if pages == 1 else 'are'} {pages}")
    return (page - 1) * size, min(count, page * size), pages


def _cells(values: Values) -> list[list[Cell]]:
    """Missing is None; a whole number is written without a point."""
    cells: list[list[Cell]] = values.tolist()
    with np.errstate(invalid="ignore"):
        special = np.isnan(values) | ((values == np.floor(values)) & (np.abs(values) < 1e15))
    for row, column in zip(*(part.tolist() for part in np.nonzero(special)), strict=True):
        value = float(values[row, column])
        cells[row][column] = None if value != value else int(value)
    return cells


def csv_text(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Comma, `\\n`, a header; numbers as the shortest decimal that reads back as the same double; missing is empty."""
    lines = [",".join(map(_quoted, columns))]
    lines += [",".join(map(_written, row)) for row in rows]
    return "\n".join(lines) + "\n"


def _written(cell: Cell) -> str:
    if cell.__class__ is float:
        return repr(cell)
    return "" if cell is None else _quoted(str(cell))


def _quoted(text: str) -> str:
    if not any(mark in text for mark in ',"\n\r'):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def digest(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """SHA-256 of the rows as CSV, whatever the format they are told in."""
    return hashlib.sha256(csv_text(columns, rows).encode()).hexdigest()


def _answer(about: Mapping[str, Any], columns: Sequence[str], rows: Sequence[Row], arguments: Page, pages: int) -> Answer:
    text = csv_text(columns, rows)
    told = {**about, "page": arguments.page, "pages": pages, "rows_here": len(rows), "sha256": hashlib.sha256(text.encode()).hexdigest()}
    if arguments.format == "csv":
        return Answer(told, text)
    return Answer({**told, "columns": list(columns), "rows": rows})


def _adjustments(market: Market, fields: Sequence[str]) -> dict[str, str]:
    return {name: words for name in fields if (words := market.adjustment(name))}


def _index(market: Market) -> dict[str, Any] | None:
    try:
        ((ticker, series),) = market.index_series().items()
    except MarketError:
        return None
    return {"ticker": ticker, "first_date": str(series.days[0]), "last_date": str(series.days[-1])}


def as_json(about: Mapping[str, Any]) -> str:
    """One line."""
    return json.dumps(about, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
