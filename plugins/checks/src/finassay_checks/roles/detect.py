"""Roles that one table can play: names propose, content decides, folder and file name break ties (spec D.0.3)."""

import re
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from attrs import frozen

from finassay_checks.model import Role, RoleTable
from finassay_checks.roles import canonical, names
from finassay_checks.roles.shape import Column, Shape

_FILL_DATES = (
    "filldate",
    "filled",
    "filledon",
    "executed",
    "executedon",
    "executiondate",
    "tradedate",
    "tradedon",
    "traded",
    "dateexecuted",
    "effectivedate",
    "date",
    "timestamp",
    "datetime",
    "time",
    "datum",
    "day",
    "dt",
    "",
)
_SIGNAL_DATES = (
    "signaldate",
    "decisiondate",
    "decidedon",
    "decided",
    "signal",
    "decision",
    "asofdate",
    "asof",
    "rebalancedate",
    "formationdate",
)
_SIDES = ("side", "action", "direction", "buysell", "type", "transaction", "transactiontype", "ordertype")
_SHARES = (
    "shares",
    "quantity",
    "qty",
    "size",
    "units",
    "sharesbuysell",
    "amount",
    "filled",
    "filledqty",
    "signedshares",
    "sharestraded",
    "tradeshares",
    "delta",
    "deltashares",
)
_PRICES = ("price", "fillprice", "fillpx", "px", "executionprice", "execprice", "tradeprice", "tprice", "avgprice", "rate", "close")
_FEES = (
    "fee",
    "fees",
    "cost",
    "costs",
    "commission",
    "commissions",
    "transactioncost",
    "transactioncosts",
    "tradingcost",
    "commfee",
    "tcost",
    "ibcommission",
    "feepaid",
)
_VALUES = (
    "value",
    "notional",
    "valuetraded",
    "tradedvalue",
    "tradevalue",
    "grossvalue",
    "proceeds",
    "txndollars",
    "dollars",
    "amount",
    "turnover",
)
_REASONS = ("reason", "why", "rule", "tag", "trigger", "reasoncode", "note", "notes", "comment")
_IDS = ("tradeid", "orderid", "fillid", "id", "ref", "spell", "spell#", "order", "trade")
_DECIDED = ("decidedby", "decidingvalue", "score", "rank", "signalvalue", "signal")
_HINT_TRADES = re.compile(r"trade|fill|transaction|blotter|order|ledger|execution", re.I)
_HINT_PRICES = re.compile(r"price|close|quote|ohlc|market_?data|bars", re.I)
_HINT_WEIGHTS = re.compile(r"weight|alloc", re.I)
_HINT_POSITIONS = re.compile(r"position|share|holding|unit", re.I)
_HINT_SIGNALS = re.compile(r"signal|score|rank|factor|momentum|volatil|zscore|reversal|beta", re.I)
_HINT_CHECK = re.compile(r"check|verif|tie.?out|cross|second_?source|reconcil|audit_result|compare_source", re.I)
_HINT_UNIVERSE = re.compile(r"universe|member|constituent|tickers|names", re.I)
_HINT_EQUITY = re.compile(r"equity|nav|portfolio|curve|daily|ledger|account|returns?|value", re.I)
_HINT_RETURNS = re.compile(r"returns?(?:[^a-z]|$)", re.I)


@frozen
class Context:
    """What deciding needs besides the table."""

    timezone: str
    known: frozenset[str]


Found = Iterator[RoleTable]


def _made(role: Role, shape: Shape, columns: dict[str, str], frame: pd.DataFrame, *reasons: str) -> Found:
    if len(frame):
        yield RoleTable(role, shape.table, columns, tuple(reasons), frame)


def _name(column: Column | None) -> str | None:
    return column.name if column is not None else None


def _stem(shape: Shape) -> str:
    """The sheet or key if it has a name, else the file name without suffix: what hints are read from."""
    path, _, label = shape.table.where.partition("#")
    sheet = re.sub(r"!\d+$", "", label)
    if sheet and not re.fullmatch(r"table\d+|Sheet ?\d*", sheet):
        return sheet
    return path.rsplit("/", 1)[-1].rsplit(".", 1)[0]


def _dates(shape: Shape) -> tuple[Column | None, Column | None]:
    """(fill or only date, signal date) of a table."""
    signal = shape.find(_SIGNAL_DATES, "date")
    fill = shape.find([k for k in _FILL_DATES if k], "date")
    rest = [c for c in shape.of("date") if c is not signal and c is not fill]
    if fill is None:
        fill = next(iter(rest), None)
    if fill is None and signal is not None:
        return signal, None
    return fill, signal


def round_trips(shape: Shape, context: Context) -> Found:
    def dated(words: set[str]) -> Column | None:
        for column in shape.columns:
            named = set(column.parts) | {column.key}
            if (
                named & words
                and (column.kind == "date" or (column.kind in ("text", "empty") and "date" in named))
                and not named & {"price", "px", "bar", "signal"}
            ):
                return column
        return None

    entry = dated({"entry", "bought", "open", "opened", "enter", "entered", "entrydate", "datein", "opendt"})
    exit_ = dated({"exit", "sold", "close", "closed", "exited", "exitdate", "dateout", "closedt"})
    if entry is None or exit_ is None or entry is exit_ or entry.kind != "date":
        return
    shares = shape.find((*_SHARES, "sharesbought"), "number")
    prices = [c for c in shape.of("number") if {"price", "px", "pricein", "priceout", "rate"} & {*c.parts, c.key}]
    pnl = shape.find(("pnl", "pl", "profit", "pnlnet", "netpnl", "pl$", "pnlcomm", "profitabs", "p&l"), "number") or shape.find_part(
        ("pnl", "profit"), "number"
    )
    if pnl is None and len(prices) < 2:
        return
    entry_price = next((c for c in prices if {"entry", "buy", "open", "in", "bought", "pricein"} & {*c.parts, c.key}), None)
    exit_price = next(
        (c for c in prices if c is not entry_price and {"exit", "sell", "close", "out", "sold", "priceout"} & {*c.parts, c.key}), None
    )
    columns = {"entry_date": entry.name, "exit_date": exit_.name}
    named = {
        "ticker": shape.ticker,
        "shares": shares,
        "entry_price": entry_price,
        "exit_price": exit_price,
        "pnl": pnl,
        "fee": shape.find(_FEES, "number"),
    }
    columns |= {key: column.name for key, column in named.items() if column is not None}
    frame = canonical.simple("round_trips", shape.table.frame, columns, context.timezone)
    if "ticker" not in columns:
        frame["ticker"] = next(iter(context.known)) if len(context.known) == 1 else ""
    status = shape.find(("status", "why", "reason", "exitreason", "isopen"), "text", "bool")
    frame["open"] = frame["exit_date"].isna()
    if status is not None:
        texts = shape.table.frame[status.name].iloc[frame["row"].to_numpy() - 1].astype(str).str.lower()
        frame["open"] |= texts.str.contains(r"\bopen\b|still held|cut.?off|marked", regex=True).to_numpy()
    yield from _made("round_trips", shape, columns, frame, "an entry and an exit date in each row")


def trades(shape: Shape, context: Context) -> Found:
    fill, signal = _dates(shape)
    ticker = shape.ticker
    if fill is None or ticker is None or next(round_trips(shape, context), None) is not None:
        return
    side = shape.find(_SIDES, "text")
    if side is not None and canonical.side_signs(side.sample).notna().mean() < 0.6:
        side = None
    shares = shape.find(_SHARES, "number") or next(
        (
            c
            for c in shape.of("number")
            if c.parts[:1] in (("shares",), ("qty",), ("quantity",)) and not {"before", "after", "held"} & set(c.parts)
        ),
        None,
    )
    price = shape.find(_PRICES, "number") or shape.find_part(("price", "px"), "number")
    used = {c.name for c in (shares, price) if c is not None}
    value = next((c for k in _VALUES for c in shape.columns if c.key == k and c.kind == "number" and c.name not in used), None)
    signed = shares is not None and bool((shares.numbers < 0).any())
    hinted = bool(_HINT_TRADES.search(_stem(shape)))
    if price is None and value is None:
        return
    if shares is None and (value is None or side is None):
        return
    if side is None and not signed and not (hinted and price is not None and shares is not None and "held" not in _stem(shape)):
        return
    found = {
        "fill_date": fill,
        "signal_date": signal,
        "ticker": ticker,
        "side": side,
        "shares": shares,
        "price": price,
        "value": value,
        "fee": shape.find(_FEES, "number"),
        "reason": shape.find(_REASONS, "text"),
        "id": shape.find(_IDS),
        "weight_before": shape.find(("weightbefore", "currentweight", "oldweight", "drifted", "driftedweight", "preweight"), "number"),
        "target_weight": shape.find(("targetweight", "target", "weightafter", "newweight", "weighttarget"), "number"),
        "decided_by": shape.find(_DECIDED)
        or next((c for c in shape.of("number") if c.parts[:1] in (("signal",), ("score",), ("rank",))), None),
    }
    columns = {key: column.name for key, column in found.items() if column is not None}
    frame = canonical.trades(shape.table.frame, columns, context.timezone)
    how = "a side column" if side is not None else "signed quantities" if signed else "the file name"
    yield from _made("trades", shape, columns, frame, f"date, ticker, quantity and price in each row, with {how}")


def prices(shape: Shape, context: Context) -> Found:
    fill, _ = _dates(shape)
    if fill is None or shape.wide or shape.find(_SIDES, "text") or shape.find(("shares", "quantity", "qty"), "number"):
        return
    found: dict[str, Column | None] = {}
    for field, keys in names.OHLC.items():
        found[field] = shape.find((*keys, *(f"{k}usd" for k in keys)), "number")
    if found["close"] is None:
        found["close"], found["adj_close"] = found["adj_close"], found["adj_close"]
    if found["close"] is None or bool((found["close"].numbers <= 0).any()) or _HINT_CHECK.search(_stem(shape)):
        return
    full = sum(found[f] is not None for f in ("open", "high", "low")) == 3
    if shape.ticker is None and not full and not _HINT_PRICES.search(_stem(shape)):
        return
    if names.is_benchmark(_stem(shape)) and shape.ticker is None:
        return
    columns = {
        "date": fill.name,
        **({"ticker": shape.ticker.name} if shape.ticker else {}),
        **{k: c.name for k, c in found.items() if c is not None},
    }
    frame = canonical.simple("prices", shape.table.frame, columns, context.timezone)
    if "ticker" not in columns:
        frame["ticker"] = _ticker_of_name(shape, context)
    yield from _made("prices", shape, columns, frame, "a date, a ticker and positive closes in each row")


def _ticker_of_name(shape: Shape, context: Context) -> str:
    """The ticker of a file of one: a known one in its name, else the name itself."""
    from finassay_checks.roles.cells import canonical_ticker

    for word in re.split(r"[^A-Za-z0-9.\-]+|_", _stem(shape)):
        if canonical_ticker(word) in context.known or names.looks_like_ticker(word):
            return canonical_ticker(word)
    return next(iter(context.known)) if len(context.known) == 1 else canonical_ticker(_stem(shape).split()[0] if _stem(shape) else "?")


_NOT_SIGNALS = re.compile(
    r"^(?:fee|fees|cost|costs|commission|price|px|open|high|low|close|adjclose|volume|shares|quantity|qty|value|notional|cash|cashafter|pnl|row|id|index|"
    r"weight|targetweight|w|alloc|allocation|weightbefore|weightafter|position|positionafter|sharesafter|sharesbefore|turnover|ret|return|fwdret|forwardreturn)$"
)


def signals(shape: Shape, context: Context) -> Found:
    fill, signal = _dates(shape)
    date, ticker = signal or fill, shape.ticker
    if (
        date is None
        or ticker is None
        or shape.wide
        or _HINT_CHECK.search(_stem(shape))
        or next(round_trips(shape, context), None) is not None
    ):
        return
    rank = shape.find(("rank", "ranking"), "number")
    hinted = bool(_HINT_SIGNALS.search(_stem(shape)))
    in_log = next(trades(shape, context), None) is not None
    values = [
        c
        for c in shape.of("number")
        if c is not rank
        and not _NOT_SIGNALS.match(c.key)
        and (names.has(c.name, names.SIGNAL) or (not in_log and (hinted or names.has(c.name, names.FACTORS))))
    ]
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
        shape.table.frame, date.name, ticker.name, [c.name for c in values], _name(primary), _name(rank), _name(later), context.timezone
    )
    yield from _made("signals", shape, columns, frame, "columns of the fill log" if in_log else "a score or rank for each date and ticker")


def weights(shape: Shape, context: Context) -> Found:
    fill, signal = _dates(shape)
    date, ticker = signal or fill, shape.ticker
    column = shape.find(("targetweight", "weight", "weights", "w", "alloc", "allocation", "target", "portfolioweight"), "number")
    if date is None or ticker is None or column is None or shape.wide:
        return
    in_log = next(trades(shape, context), None) is not None
    columns = {"date": date.name, "ticker": ticker.name, "weight": column.name}
    if signal is not None and fill is not None and fill is not signal:
        columns["fill_date"] = fill.name
    frame = canonical.simple("weights", shape.table.frame, columns, context.timezone)
    if in_log and column.key != "targetweight":
        return
    frame = canonical.finish_weights(frame, "target" if in_log else _weight_kind(frame["date"], column.name + _stem(shape)))
    if not len(frame) or (frame["weight"] < -0.001).mean() > 0.02:
        return
    yield from _made("weights", shape, columns, frame, "target column of the fill log" if in_log else "a weight for each date and ticker")


def _weight_kind(dates: "pd.Series[pd.Timestamp]", name: str) -> str:
    """`held` for daily rows, unless the name says target."""
    unique = np.sort(dates.dropna().unique())
    if "target" in name.lower() or len(unique) < 3:
        return "target"
    return "held" if np.median(np.diff(unique).astype("timedelta64[D]").astype(int)) <= 1 else "target"


def positions(shape: Shape, context: Context) -> Found:
    fill, _ = _dates(shape)
    ticker = shape.ticker
    if (
        fill is None
        or ticker is None
        or shape.wide
        or next(trades(shape, context), None) is not None
        or next(round_trips(shape, context), None) is not None
    ):
        return
    shares = shape.find(("shares", "units", "holdings", "quantity", "qty", "position", "sharesheld"), "number")
    dollars = shape.find(("dollars", "marketvalue", "value", "positionvalue", "holdingvalue"), "number")
    if shares is None and not (dollars is not None and _HINT_POSITIONS.search(_stem(shape))):
        return
    columns = {
        "date": fill.name,
        "ticker": ticker.name,
        **({"shares": shares.name} if shares else {}),
        **({"dollars": dollars.name} if dollars else {}),
    }
    yield from _made(
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


def equity(shape: Shape, context: Context) -> Found:
    date = shape.date
    if date is None or shape.ticker is not None or shape.wide or len(shape.of("date")) > 2 or _HINT_CHECK.search(_stem(shape)):
        return
    if shape.rows >= 2 and date.sample.nunique() < 0.98 * date.sample.notna().sum():
        return
    own = [c for c in shape.of("number") if not names.is_benchmark(c.name)]
    value, ret = (next((c for k in keys for c in own if c.key == k), None) for keys in (_EQUITY, _RETURNS))
    if value is None and ret is None:
        value = next(
            (c for c in own if {"nav", "equity", "wealth"} & set(c.parts) and not {"before", "peak", "gross"} & set(c.parts)), None
        )
        ret = next((c for c in own if "net" in c.parts or {"ret", "return"} & set(c.parts)), None) if value is None else None
    if value is None and ret is None and len(own) == 1 and _HINT_EQUITY.search(_stem(shape)) and not names.is_benchmark(_stem(shape)):
        value, ret = (None, own[0]) if _HINT_RETURNS.search(_stem(shape)) and own[0].numbers.abs().max() < 2 else (own[0], None)
    bench = [c for c in shape.of("number") if names.is_benchmark(c.name) and not {"beta", "alpha", "rank"} & set(c.parts)]
    stem_bench = names.is_benchmark(_stem(shape))
    if stem_bench:
        columns = {"date": date.name} | {k: c.name for k, c in (("equity", value), ("ret", ret)) if c is not None}
        if value is None and ret is None:
            first = next(iter(shape.of("number")), None)
            if first is None:
                return
            columns["ret" if first.numbers.abs().max() < 1 and (first.numbers < 0).any() else "equity"] = first.name
        yield from _made(
            "benchmark",
            shape,
            columns,
            canonical.equity("benchmark", shape.table.frame, columns, context.timezone, _stem(shape)),
            "named as a benchmark",
        )
        return
    if value is not None or ret is not None:
        named = {
            "equity": value,
            "ret": ret,
            "cash": shape.find(("cash", "cashafter", "cashbalance"), "number"),
            "fees": shape.find(_FEES, "number"),
        }
        columns = {"date": date.name} | {k: c.name for k, c in named.items() if c is not None}
        yield from _made(
            "equity", shape, columns, canonical.equity("equity", shape.table.frame, columns, context.timezone), "one value or return a date"
        )
    for column in bench[:5]:
        kind = "ret" if column.numbers.abs().max() < 1 and (column.numbers < 0).any() else "equity"
        columns = {"date": date.name, kind: column.name}
        yield from _made(
            "benchmark",
            shape,
            columns,
            canonical.equity("benchmark", shape.table.frame, columns, context.timezone, column.name),
            "a column named as a benchmark",
        )


def states(shape: Shape, context: Context) -> Found:
    date = shape.find(_SIGNAL_DATES, "date") or shape.date
    if date is None or shape.ticker is not None:
        return
    bools = [c for c in shape.of("bool") if c.name not in shape.tickers]
    flags = [
        c for c in shape.of("number") if c.name not in shape.tickers and names.has(c.name, names.STATE) and not names.is_benchmark(c.name)
    ]
    named = bool(re.search(r"state|regime|timing|gate", _stem(shape), re.I))
    if named and not (bools or flags):
        flags = [c for c in shape.of("number") if c.name not in shape.tickers]
    if not bools and not flags:
        return
    inputs = (
        [c for c in shape.of("number") if c not in flags and c.name not in shape.tickers] if (bools or named) and not shape.wide else []
    )
    wanted = [c.name for c in (*bools, *flags, *inputs)][:12]
    columns = {"date": date.name, **{name: name for name in wanted}}
    yield from _made(
        "states",
        shape,
        columns,
        canonical.states(shape.table.frame, date.name, wanted, context.timezone),
        "dated on and off columns or the numbers that decide them",
    )


def fundamentals(shape: Shape, context: Context) -> Found:
    period = shape.find(("periodend", "fiscalperiodend", "period", "fiscalend", "quarterend", "fiscaldate", "fiscalquarterend"), "date")
    announced = shape.find(
        ("announced", "filed", "announcementdate", "filingdate", "reportdate", "announcedon", "filedon", "acceptancedate"), "date"
    )
    if shape.ticker is None or (period is None and announced is None) or (period is None and not shape.of("number")):
        return
    values = [c.name for c in shape.of("number") if not _NOT_SIGNALS.match(c.key) or c.key == "value"]
    if not values:
        return
    base = period or announced
    assert base is not None
    columns = {"period_end": base.name, "ticker": shape.ticker.name} | ({"announced": announced.name} if announced else {})
    frame = canonical.fundamentals(shape.table.frame, base.name, _name(announced), shape.ticker.name, values, context.timezone)
    yield from _made("fundamentals", shape, columns, frame, "values with the period they are about and when they were announced")


def events(shape: Shape, context: Context) -> Found:
    kind = shape.find(("event", "trigger", "eventtype"), "text")
    if kind is None or shape.date is None or next(trades(shape, context), None) is not None:
        return
    fill, signal = _dates(shape)
    date = signal or fill
    assert date is not None
    columns = (
        {"date": date.name, "event": kind.name}
        | ({"ticker": shape.ticker.name} if shape.ticker else {})
        | ({"fill_date": fill.name} if signal and fill else {})
    )
    yield from _made("events", shape, columns, canonical.simple("events", shape.table.frame, columns, context.timezone), "dated events")


def universe(shape: Shape, context: Context) -> Found:
    ticker = shape.ticker
    if ticker is None:
        return
    hinted = bool(_HINT_UNIVERSE.search(_stem(shape)))
    start = shape.find(("from", "start", "startdate", "added", "datefrom", "firstdate", "first", "entered"), "date")
    end = shape.find(("to", "end", "enddate", "removed", "dateto", "lastdate", "last", "left"), "date")
    others = [c for c in shape.of("date") if c not in (start, end)]
    unique = ticker.sample.nunique() >= 0.999 * ticker.sample.notna().sum()
    if (
        others
        or next(round_trips(shape, context), None) is not None
        or not (unique or (start is not None and hinted))
        or not (hinted or shape.rows >= 3)
    ):
        return
    columns = {"ticker": ticker.name} | {k: c.name for k, c in (("start", start), ("end", end)) if c is not None}
    reason = "named as a universe" if hinted else "one row a ticker without dates"
    yield from _made("universe", shape, columns, canonical.simple("universe", shape.table.frame, columns, context.timezone), reason)


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
