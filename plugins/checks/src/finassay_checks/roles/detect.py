"""Roles that one table can play: names propose, content decides, folder and file name break ties (spec D.0.3)."""

import re
from collections.abc import Callable

import numpy as np
import pandas as pd

from finassay_checks.roles import canonical, names
from finassay_checks.roles.cells import canonical_ticker
from finassay_checks.roles.context import Context, Found, dates_of, made, name_of, stem_of
from finassay_checks.roles.logs import round_trip_columns, round_trips, trade_columns, trades
from finassay_checks.roles.shape import Column, Shape
from finassay_checks.roles.vocabulary import (
    ANNOUNCED,
    FEES,
    HINT_CHECK,
    HINT_EQUITY,
    HINT_NO_CURVE,
    HINT_POSITIONS,
    HINT_PRICES,
    HINT_RETURNS,
    HINT_SIGNALS,
    HINT_UNIVERSE,
    MEMBER_FROM,
    MEMBER_TO,
    PERIOD_ENDS,
    SIDES,
    SIGNAL_DATES,
)

_PAID = ("dividends", "dividend", "stocksplits", "splitfactor", "divcash", "splits")
"""Columns of actions that price files of vendors carry."""


def prices(shape: Shape, context: Context) -> Found:
    fill, _ = dates_of(shape)
    if fill is None or shape.wide or shape.find(SIDES, "text") or shape.find(("shares", "quantity", "qty"), "number"):
        return
    # A log's own fill prices are never the price table (spec D.0.6).
    if trade_columns(shape) or round_trip_columns(shape):
        return
    found: dict[str, Column | None] = {}
    for field, keys in names.OHLC.items():
        found[field] = shape.find((*keys, *(f"{k}usd" for k in keys)), "number")
    letters = {f: shape.find((f[0],), "number") for f in ("open", "high", "low", "close", "volume")}
    if found["close"] is None and all(letters[f] is not None for f in ("open", "high", "low", "close")):
        found |= letters
    if found["close"] is None:
        found["close"], found["adj_close"] = found["adj_close"], found["adj_close"]
    if found["close"] is None or float((found["close"].numbers <= 0).mean()) > FEW_AT_MOST or HINT_CHECK.search(stem_of(shape)):
        return
    full = sum(found[f] is not None for f in ("open", "high", "low")) == 3
    of_ticker = canonical_ticker(stem_of(shape)) in context.known
    closes = {c.key for c in shape.of("number")} <= {*names.OHLC["close"][:1], *names.OHLC["adj_close"], *names.OHLC["volume"], *_PAID}
    if shape.ticker is None and not full and not of_ticker and not closes and not HINT_PRICES.search(stem_of(shape)):
        return
    if names.is_benchmark(stem_of(shape)) and shape.ticker is None:
        return
    columns = {
        "date": fill.name,
        **({"ticker": shape.ticker.name} if shape.ticker else {}),
        **{k: c.name for k, c in found.items() if c is not None},
    }
    frame = canonical.simple("prices", shape.table.frame, columns, context.timezone)
    if "ticker" not in columns:
        frame["ticker"] = _ticker_of_name(shape, context)
    yield from made("prices", shape, columns, frame, "a date, a ticker and positive closes in each row")


def _ticker_of_name(shape: Shape, context: Context) -> str:
    """The ticker of a file of one: a known one in its name, else the name itself."""
    stem = stem_of(shape)
    if (whole := canonical_ticker(stem)) in context.known or re.fullmatch(r"[A-Z]{1,4}[_.-][A-Z]", stem):
        return whole
    for word in re.split(r"[^A-Za-z0-9.\-]+|_", stem):
        if canonical_ticker(word) in context.known or names.looks_like_ticker(word):
            return canonical_ticker(word)
    return next(iter(context.known)) if len(context.known) == 1 else canonical_ticker(stem.split()[0] if stem else "?")


FEW_AT_MOST = 0.05
"""Share of closes at or below zero up to which a table is one of prices with wrong cells."""
_NOT_SIGNALS = re.compile(
    r"^(?:fee|fees|cost|costs|commission|price|px|open|high|low|close|adjclose|volume|shares|quantity|qty|value|notional|cash|cashafter|pnl|row|id|index|"
    r"weight|targetweight|w|alloc|allocation|weightbefore|weightafter|position|positionafter|sharesafter|sharesbefore|turnover|ret|return|fwdret|forwardreturn)$"
)


def signals(shape: Shape, context: Context) -> Found:
    fill, signal = dates_of(shape)
    date, ticker = signal or fill, shape.ticker
    if date is None or ticker is None or shape.wide or HINT_CHECK.search(stem_of(shape)) or round_trip_columns(shape):
        return
    rank = shape.find(("rank", "ranking"), "number")
    hinted = bool(HINT_SIGNALS.search(stem_of(shape)))
    in_log = bool(trade_columns(shape))
    values = [
        c
        for c in shape.of("number")
        if c is not rank
        and not _NOT_SIGNALS.match(c.key)
        and (names.has(c.name, names.SIGNAL) or (not in_log and (hinted or names.has(c.name, names.FACTORS))))
    ]
    values = [c for c in values if hinted or names.has(c.name, names.SIGNAL) or _differs_by_name(shape, date, c)]
    if not values and rank is None:
        return
    primary = next(
        (c for k in ("score", "composite", "combined", "signal", "totalscore", "zscore") for c in values if c.key == k),
        values[-1] if values else None,
    )
    columns = {
        "date": date.name,
        "ticker": ticker.name,
        **({"rank": rank.name} if rank else {}),
        **({"score": primary.name} if primary else {}),
    }
    later = fill if signal is not None and fill is not signal else None
    if later is not None:
        columns["fill_date"] = later.name
    frame = canonical.long_signals(
        shape.table.frame,
        date.name,
        ticker.name,
        [c.name for c in values],
        name_of(primary),
        name_of(rank),
        name_of(later),
        context.timezone,
    )
    yield from made("signals", shape, columns, frame, "columns of the fill log" if in_log else "a score or rank for each date and ticker")


def _differs_by_name(shape: Shape, date: Column, column: Column) -> bool:
    """Whether the names of a date have values of their own: what all of them share (an exposure, a volatility of the portfolio) ranks
    nothing. Undecided, and therefore true, with fewer than three dates of several names."""
    by_date = column.numbers.groupby(date.sample.reindex(column.numbers.index).to_numpy())
    counts = by_date.agg(["count", "nunique"])
    several = counts[counts["count"] >= 3]
    return len(several) < 3 or bool((several["nunique"] > 1).mean() > 0.1)


def weights(shape: Shape, context: Context) -> Found:
    fill, signal = dates_of(shape)
    date, ticker = signal or fill, shape.ticker
    column = shape.find(("targetweight", "weight", "weights", "w", "alloc", "allocation", "target", "portfolioweight"), "number")
    if date is None or ticker is None or column is None or shape.wide:
        return
    in_log = bool(trade_columns(shape))
    columns = {"date": date.name, "ticker": ticker.name, "weight": column.name}
    if signal is not None and fill is not None and fill is not signal:
        columns["fill_date"] = fill.name
    frame = canonical.simple("weights", shape.table.frame, columns, context.timezone)
    if in_log and column.key != "targetweight":
        return
    frame = canonical.finish_weights(frame, "target" if in_log else weight_kind(frame["date"], column.name + stem_of(shape)))
    if not len(frame) or (frame["weight"] < -0.001).mean() > 0.02:
        return
    yield from made("weights", shape, columns, frame, "target column of the fill log" if in_log else "a weight for each date and ticker")


def weight_kind(dates: "pd.Series[pd.Timestamp]", name: str) -> str:
    """`held` for daily rows, unless the name says target."""
    unique = np.sort(dates.dropna().unique())
    if "target" in name.lower() or len(unique) < 3:
        return "target"
    return "held" if np.median(np.diff(unique).astype("timedelta64[D]").astype(int)) <= 1 else "target"


def positions(shape: Shape, context: Context) -> Found:
    fill, _ = dates_of(shape)
    ticker = shape.ticker
    if fill is None or ticker is None or shape.wide or trade_columns(shape) or round_trip_columns(shape):
        return
    shares = shape.find(("shares", "units", "holdings", "quantity", "qty", "position", "sharesheld"), "number")
    dollars = shape.find(("dollars", "marketvalue", "value", "positionvalue", "holdingvalue"), "number")
    if shares is None and not (dollars is not None and HINT_POSITIONS.search(stem_of(shape))):
        return
    columns = {
        "date": fill.name,
        "ticker": ticker.name,
        **({"shares": shares.name} if shares else {}),
        **({"dollars": dollars.name} if dollars else {}),
    }
    yield from made(
        "positions",
        shape,
        columns,
        canonical.simple("positions", shape.table.frame, columns, context.timezone),
        "a holding for each date and ticker",
    )


_EQUITY = (
    "equity",
    "nav",
    "portfoliovalue",
    "portfolioequity",
    "totalequity",
    "totalvalue",
    "accountvalue",
    "netassetvalue",
    "netliquidationvalue",
    "netliquidation",
    "netliq",
    "nlv",
    "strategyequity",
    "wealth",
    "balance",
    "growth",
    "portfolio",
    "value",
    "strategynav",
    "strategy",
    "total",
    "equitycurve",
)
_RETURNS = (
    "ret",
    "return",
    "returns",
    "dailyreturn",
    "dailyret",
    "strategyreturn",
    "portfolioreturn",
    "netreturn",
    "netret",
    "retnet",
    "returnnet",
    "pnlpct",
    "strategyret",
)


_STATES = re.compile(r"state|regime|timing|gate", re.I)
_COMPARED = frozenset(
    {"needed", "required", "threshold", "hurdle", "minimum", "min", "limit", "level", "trailing", "past", "prior", "forward", "lookback"}
)
_WINDOW = re.compile(r"\d+\s?_?(?:d|w|m|y|days?|weeks?|months?|years?)(?![a-z])", re.I)


def _is_own_return(column: Column) -> bool:
    """The portfolio's return of a day; neither one that a rule compares with nor one over a look-back (`return_needed`, `ret_12m`)."""
    words = set(column.parts)
    if not {"net", "ret", "return"} & words or words & _COMPARED or _WINDOW.search(column.name):
        return False
    # `net` alone may stand before a value as well (`Net Liquidation`): a portfolio's return of a day is no hundred.
    return bool({"ret", "return"} & words) or float(column.numbers.abs().median()) < 100


def equity(shape: Shape, context: Context) -> Found:
    date = shape.date
    if date is None or shape.ticker is not None or shape.wide or len(shape.of("date")) > 2 or HINT_CHECK.search(stem_of(shape)):
        return
    if HINT_NO_CURVE.search(stem_of(shape)):
        return
    if shape.rows >= 2 and date.sample.nunique() < 0.98 * date.sample.notna().sum():
        return
    own = [c for c in shape.of("number") if not names.is_benchmark(c.name)]
    value, ret = (next((c for k in keys for c in own if c.key == k), None) for keys in (_EQUITY, _RETURNS))
    if value is None and ret is None:
        value = next(
            (c for c in own if {"nav", "equity", "wealth"} & set(c.parts) and not {"before", "peak", "gross"} & set(c.parts)), None
        )
        ret = next((c for c in own if _is_own_return(c)), None) if value is None and not _STATES.search(stem_of(shape)) else None
    if value is None and ret is None and len(own) == 1 and HINT_EQUITY.search(stem_of(shape)) and not names.is_benchmark(stem_of(shape)):
        value, ret = (None, own[0]) if HINT_RETURNS.search(stem_of(shape)) and own[0].numbers.abs().max() < 2 else (own[0], None)
    bench = [c for c in shape.of("number") if names.is_benchmark(c.name) and not {"beta", "alpha", "rank"} & set(c.parts)]
    stem_bench = names.is_benchmark(stem_of(shape))
    if stem_bench:
        columns = {"date": date.name} | {k: c.name for k, c in (("equity", value), ("ret", ret)) if c is not None}
        if value is None and ret is None:
            first = next(iter(shape.of("number")), None)
            if first is None:
                return
            columns["ret" if first.numbers.abs().max() < 1 and (first.numbers < 0).any() else "equity"] = first.name
        yield from made(
            "benchmark",
            shape,
            columns,
            canonical.equity("benchmark", shape.table.frame, columns, context.timezone, stem_of(shape)),
            "named as a benchmark",
        )
        return
    if value is not None or ret is not None:
        named = {
            "equity": value,
            "ret": ret,
            "cash": shape.find(("cash", "cashafter", "cashbalance"), "number"),
            "fees": shape.find(FEES, "number"),
        }
        columns = {"date": date.name} | {k: c.name for k, c in named.items() if c is not None}
        yield from made(
            "equity", shape, columns, canonical.equity("equity", shape.table.frame, columns, context.timezone), "one value or return a date"
        )
    for column in bench[:5]:
        kind = "ret" if column.numbers.abs().max() < 1 and (column.numbers < 0).any() else "equity"
        columns = {"date": date.name, kind: column.name}
        yield from made(
            "benchmark",
            shape,
            columns,
            canonical.equity("benchmark", shape.table.frame, columns, context.timezone, column.name),
            "a column named as a benchmark",
        )


def states(shape: Shape, context: Context) -> Found:
    date = shape.find(SIGNAL_DATES, "date") or shape.date
    if date is None or shape.ticker is not None:
        return
    bools = [c for c in shape.of("bool") if c.name not in shape.tickers]
    flags = [
        c for c in shape.of("number") if c.name not in shape.tickers and names.has(c.name, names.STATE) and not names.is_benchmark(c.name)
    ]
    named = bool(_STATES.search(stem_of(shape)))
    if named and not (bools or flags):
        flags = [c for c in shape.of("number") if c.name not in shape.tickers]
    if not bools and not flags:
        return
    inputs = (
        [c for c in shape.of("number") if c not in flags and c.name not in shape.tickers] if (bools or named) and not shape.wide else []
    )
    wanted = [c.name for c in (*bools, *flags, *inputs)][:12]
    columns = {"date": date.name, **{name: name for name in wanted}}
    yield from made(
        "states",
        shape,
        columns,
        canonical.states(shape.table.frame, date.name, wanted, context.timezone),
        "dated on and off columns or the numbers that decide them",
    )


def fundamentals(shape: Shape, context: Context) -> Found:
    period = shape.find(PERIOD_ENDS, "date")
    announced = shape.find(ANNOUNCED, "date")
    if shape.ticker is None or (period is None and announced is None) or (period is None and not shape.of("number")):
        return
    values = [c.name for c in shape.of("number") if not _NOT_SIGNALS.match(c.key) or c.key == "value"]
    if not values:
        return
    base = period or announced
    assert base is not None
    columns = {"period_end": base.name, "ticker": shape.ticker.name} | ({"announced": announced.name} if announced else {})
    frame = canonical.fundamentals(shape.table.frame, base.name, name_of(announced), shape.ticker.name, values, context.timezone)
    yield from made("fundamentals", shape, columns, frame, "values with the period they are about and when they were announced")


def events(shape: Shape, context: Context) -> Found:
    kind = shape.find(("event", "trigger", "eventtype"), "text")
    if kind is None or shape.date is None or trade_columns(shape):
        return
    fill, signal = dates_of(shape)
    date = signal or fill
    assert date is not None
    columns = (
        {"date": date.name, "event": kind.name}
        | ({"ticker": shape.ticker.name} if shape.ticker else {})
        | ({"fill_date": fill.name} if signal and fill else {})
    )
    yield from made("events", shape, columns, canonical.simple("events", shape.table.frame, columns, context.timezone), "dated events")


def universe(shape: Shape, context: Context) -> Found:
    ticker = shape.ticker
    if ticker is None:
        return
    hinted = bool(HINT_UNIVERSE.search(stem_of(shape)))
    start = shape.find(MEMBER_FROM, "date")
    end = shape.find(MEMBER_TO, "date")
    others = [c for c in shape.of("date") if c not in (start, end)]
    if hinted and len(others) == 1 and start is None and end is None and not trade_columns(shape):
        yield from _snapshots(shape, context, others[0], ticker)
        return
    unique = ticker.sample.nunique() >= 0.999 * ticker.sample.notna().sum()
    spans = start is not None and (hinted or any(c.key in MEMBER_TO for c in shape.columns))
    if others or round_trip_columns(shape) or not (unique or spans) or not (hinted or spans or shape.rows >= 3):
        return
    columns = {"ticker": ticker.name} | {k: c.name for k, c in (("start", start), ("end", end)) if c is not None}
    reason = "named as a universe" if hinted else "one row a ticker without dates"
    yield from made("universe", shape, columns, canonical.simple("universe", shape.table.frame, columns, context.timezone), reason)


def _snapshots(shape: Shape, context: Context, date: Column, ticker: Column) -> Found:
    """Lists of members by date as spans: a member of the first list may have been one before; one that a list lacks left by its date."""
    columns = {"ticker": ticker.name, "date": date.name}
    rows = canonical.simple("events", shape.table.frame, columns, context.timezone)
    lists = rows.groupby("date")["ticker"].agg(set)
    if not 2 <= len(lists) <= 5_000 or len(rows) > 500_000:
        return
    open_: dict[str, tuple[pd.Timestamp | None, int]] = {}
    first_row = dict(rows.groupby("ticker")["row"].min())
    spans: list[tuple[str, pd.Timestamp | None, pd.Timestamp | None, int]] = []
    for k, (day, members) in enumerate(lists.items()):
        stamp = pd.Timestamp(str(day))
        gone = {name: open_.pop(name) for name in [n for n in open_ if n not in members]}
        spans += [(name, since, stamp, row) for name, (since, row) in gone.items()]
        for name in members - set(open_):
            open_[name] = (None if k == 0 else stamp, int(first_row[name]))
    spans += [(name, since, None, row) for name, (since, row) in open_.items()]
    spans.sort(key=lambda span: (span[3], span[0]))
    frame = pd.DataFrame(spans, columns=["ticker", "start", "end", "row"])
    for name in ("start", "end"):
        frame[name] = pd.to_datetime(frame[name]).astype("datetime64[ns]")
    yield from made("universe", shape, columns, frame, "lists of members by date")


LONG: tuple[Callable[[Shape, Context], Found], ...] = (
    round_trips,
    trades,
    prices,
    signals,
    weights,
    positions,
    equity,
    states,
    fundamentals,
    events,
    universe,
)
