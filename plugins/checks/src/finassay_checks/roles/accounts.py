"""Tables beside a backtest: money paid in and out, corporate actions, and lists of entries that have no size."""

import re
from typing import Any

import numpy as np
import pandas as pd

from finassay_checks.roles import canonical
from finassay_checks.roles.cells import parse_number, to_dates, to_numbers, to_tickers
from finassay_checks.roles.context import Context, Found, dates_of, made, stem_of
from finassay_checks.roles.logs import round_trip_columns, trade_columns
from finassay_checks.roles.shape import Column, Shape

_FLOW_NAME = re.compile(r"cash_?-? ?flow|deposit|withdraw|contribution|subscription|redemption|capital_?-? ?flow|external_?-? ?flow", re.I)
_OUT = re.compile(r"withdraw|redem|outflow|\bout\b|paid out|transfer out|distribution", re.I)
_IN = re.compile(r"deposit|contribut|subscri|inflow|\bin\b|paid in|transfer in|top.?up|addition", re.I)
_ACTION_NAME = re.compile(r"dividend|split|corporate|action|distribution", re.I)
_RATIO = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(?::|/|-?\s*(?:for|by|to)\s*-?)\s*(\d+(?:\.\d+)?)\s*$", re.I)
_AMOUNTS = (
    "amount",
    "flow",
    "cashflow",
    "value",
    "cash",
    "netflow",
    "deposit",
    "contribution",
    "money",
    "sum",
    "withdrawal",
    "withdrawals",
    "deposits",
)
_DIVIDENDS = (
    "dividend",
    "dividends",
    "pershare",
    "amountpershare",
    "dividendpershare",
    "divcash",
    "dividendamount",
    "cashdividend",
    "dps",
    "dividendrate",
    "distribution",
)
_SPLITS = ("split", "splits", "stocksplit", "stocksplits", "splitfactor", "splitcoefficient", "splitratio", "ratio")
_ENTRY_DATES = (
    "entrydate",
    "entry",
    "entrytime",
    "entered",
    "enteredon",
    "buydate",
    "bought",
    "boughton",
    "purchasedate",
    "opendate",
    "opened",
    "tradedate",
    "date",
)
_ENTRIES = re.compile(r"entr|trade|buy|bought|purchase|position|pick|selection|holding|fill|order", re.I)


def cash_flows(shape: Shape, context: Context) -> Found:
    """Deposits positive, withdrawals negative; `timing` is `before` or `after` the day's valuation, empty where it is not said."""
    date = shape.date
    if date is None or shape.ticker is not None or shape.wide or not (_FLOW_NAME.search(stem_of(shape)) or _flow_words(shape)):
        return
    amount = shape.find(_AMOUNTS, "number") or next(iter(shape.of("number")), None)
    if amount is None:
        return
    frame = pd.DataFrame({"date": to_dates(shape.table.frame[date.name], context.timezone)})
    frame["amount"] = to_numbers(shape.table.frame[amount.name]).to_numpy()
    frame["timing"], frame["row"] = "", np.arange(1, len(frame) + 1)
    columns = {"date": date.name, "amount": amount.name}
    for column in shape.of("text"):
        texts = shape.table.frame[column.name].astype(str)
        out, into = texts.str.contains(_OUT), texts.str.contains(_IN)
        if (out | into).mean() > 0.8:
            columns["type"] = column.name
            size = frame["amount"].abs()
            frame["amount"] = size.where(~out.to_numpy(), -size)
        elif texts.str.contains(r"before|after|open|close|start|end", case=False).mean() > 0.8:
            columns["timing"] = column.name
            early = texts.str.contains(r"before|open|start", case=False).to_numpy()
            frame["timing"] = np.where(early, "before", "after")
    frame = frame[frame["date"].notna() & frame["amount"].notna() & (frame["amount"] != 0)].reset_index(drop=True)
    yield from made("cash_flows", shape, columns, frame, "dated money paid in or out")


_INTO = (
    "netdeposits",
    "netdeposit",
    "deposits",
    "deposit",
    "contributions",
    "contribution",
    "netcontributions",
    "netflow",
    "netflows",
    "cashflow",
    "cashflows",
    "netcashflow",
    "externalflow",
    "externalflows",
    "externalcashflow",
    "capitalflow",
    "flow",
    "flows",
    "inflow",
    "inflows",
)
_OUT_OF = ("withdrawals", "withdrawal", "netwithdrawals", "outflow", "outflows", "redemptions")


def flow_columns(shape: Shape, context: Context) -> Found:
    """Money paid in and out as columns of a table of values: zero on most dates, or added up from the first one on."""
    date = shape.date
    into, out = shape.find(_INTO, "number"), shape.find(_OUT_OF, "number")
    if date is None or shape.wide or shape.ticker is not None or (into is None and out is None):
        return
    amount = np.zeros(len(shape.table.frame))
    columns = {"date": date.name}
    for column, sign in ((into, 1.0), (out, -1.0)):
        if column is None:
            continue
        columns["amount" if column is into else "withdrawn"] = column.name
        cells = to_numbers(shape.table.frame[column.name]).fillna(0.0).to_numpy(dtype=float)
        cells = np.abs(cells) if column is out else cells
        steps = np.diff(cells, prepend=cells[:1])
        if np.mean(cells != 0) > 0.5:  # added up: what is there from the start is capital, not a flow
            if np.mean(steps != 0) > 0.2:
                return
            cells = steps
        amount += sign * cells
    frame = pd.DataFrame({"date": to_dates(shape.table.frame[date.name], context.timezone), "amount": amount, "timing": ""})
    frame["row"] = np.arange(1, len(frame) + 1)
    frame = frame[frame["date"].notna() & (frame["amount"] != 0)].reset_index(drop=True)
    yield from made("cash_flows", shape, columns, frame, "a column of money paid in or out beside the values")


def _flow_words(shape: Shape) -> bool:
    for column in shape.of("text"):
        texts = column.texts.head(200)
        if (
            len(texts)
            and (texts.str.contains(_OUT) | texts.str.contains(_IN)).mean() > 0.8
            and column.key in ("type", "kind", "flow", "description")
        ):
            return bool(texts.str.contains(r"deposit|withdraw|contribut|subscri|redem", case=False).any())
    return False


def actions(shape: Shape, context: Context) -> Found:
    """Splits (new shares for one old) and cash dividends a share; a price table's own columns of them count as well."""
    date = shape.find(("exdate", "effectivedate", "date", "datetime", "timestamp"), "date") or shape.date
    if date is None or shape.wide or trade_columns(shape) or round_trip_columns(shape):
        return
    kind = next((c for c in shape.of("text") if _speaks_of_actions(c)), None)
    pieces, columns = [], {"date": date.name}
    if kind is not None:
        value = shape.find(("value", "amount", "ratio", "factor", "rate", "details", "detail", "pershare", "cash")) or _other(
            shape, kind, date
        )
        if value is None:
            return
        columns |= {"kind": kind.name, "value": value.name}
        texts = shape.table.frame[kind.name].astype(str).str.lower()
        pieces = [
            (texts.str.contains("split").to_numpy(), "split", value),
            (texts.str.contains("div|distrib").to_numpy(), "dividend", value),
        ]
    else:
        named = bool(_ACTION_NAME.search(stem_of(shape)))
        split, paid = shape.find(_SPLITS), shape.find(_DIVIDENDS, "number")
        if split is not None and (split.key != "ratio" or named):
            columns["split"] = split.name
            pieces.append((np.ones(len(shape.table.frame), dtype=bool), "split", split))
        if paid is None and named and "dividend" in stem_of(shape).lower():
            paid = shape.find(("amount", "value", "cash", "rate"), "number")
        if paid is not None:
            columns["dividend"] = paid.name
            pieces.append((np.ones(len(shape.table.frame), dtype=bool), "dividend", paid))
    made_frames = [_action(shape, date, mask, what, value, context) for mask, what, value in pieces]
    if not made_frames:
        return
    if shape.ticker is not None:
        columns["ticker"] = shape.ticker.name
    frame = pd.concat(made_frames, ignore_index=True).sort_values(["date", "row"], kind="stable").reset_index(drop=True)
    yield from made("actions", shape, columns, frame, "dated splits or dividends")


def _speaks_of_actions(column: Column) -> bool:
    texts = column.texts.head(200)
    return bool(len(texts)) and float(texts.str.contains(r"split|div", case=False).mean()) > 0.8


def _other(shape: Shape, kind: Column, date: Column) -> Column | None:
    return next((c for c in shape.columns if c not in (kind, date, shape.ticker) and c.kind in ("number", "text")), None)


def _action(shape: Shape, date: Column, mask: Any, kind: str, value: Column, context: Context) -> pd.DataFrame:
    source = shape.table.frame
    cells = source[value.name]
    numbers = cells.map(split_ratio).astype("float64") if kind == "split" else to_numbers(cells)
    frame = pd.DataFrame(
        {
            "date": to_dates(source[date.name], context.timezone).to_numpy(),
            "ticker": to_tickers(source[shape.ticker.name]).to_numpy() if shape.ticker is not None else None,
            "kind": kind,
            "value": numbers.to_numpy(),
            "row": np.arange(1, len(source) + 1),
        }
    )
    neutral = frame["value"].isna() | (frame["value"] <= 0) | ((frame["value"] == 1) if kind == "split" else False)
    kept: pd.DataFrame = frame[mask & frame["date"].notna() & ~neutral]
    return kept


def split_ratio(cell: Any) -> float:
    """New shares for one old: `4:1`, `4-for-1` and `4` are 4, `1:10` is 0.1; NaN for anything else."""
    text = str(cell)
    match = _RATIO.match(text.lower().replace("split", "").strip())
    if match and float(match[2]) > 0:
        return float(match[1]) / float(match[2])
    number = parse_number(text)
    return number if number is not None and 0 < number < 1e4 else float("nan")


def entries(shape: Shape, context: Context) -> Found:
    """Dates on which tickers were bought, without sizes: enough for membership and announcements."""
    if shape.ticker is None or shape.wide:
        return
    date = shape.find(_ENTRY_DATES, "date")
    if date is None or (date.key == "date" and not _ENTRIES.search(stem_of(shape))):
        return
    side = shape.find(("side", "action", "direction", "buysell", "type"), "text")
    price = next((c for c in shape.of("number") if {"price", "px"} & set(c.parts)), None)
    source = shape.table.frame
    frame = pd.DataFrame({"date": to_dates(source[date.name], context.timezone), "ticker": to_tickers(source[shape.ticker.name])})
    frame["price"] = to_numbers(source[price.name]) if price is not None else np.nan
    frame["side"] = canonical.side_signs(source[side.name]) if side is not None else 1.0
    frame["row"] = np.arange(1, len(frame) + 1)
    columns = {"date": date.name, "ticker": shape.ticker.name} | {k: c.name for k, c in (("price", price), ("side", side)) if c is not None}
    frame = frame[frame["date"].notna() & frame["ticker"].notna()].reset_index(drop=True)
    yield from made("entries", shape, columns, frame, "a ticker and the date of its entry in each row")


def worded_signals(shape: Shape, context: Context) -> Found:
    """Signals in words (`BUY`, `SELL`, `HOLD`) with the time at which they were known."""
    word = shape.find(("signal", "action", "side", "decision", "recommendation"), "text")
    signal = shape.find(
        ("signaltime", "signaldate", "signaldatetime", "decisiontime", "decisiondate", "generatedat", "signaltimestamp"), "date"
    )
    fill, decided = dates_of(shape)
    date = signal or decided or fill
    if word is None or date is None or trade_columns(shape) or canonical.side_signs(word.sample).notna().mean() < 0.3:
        return
    if signal is None and not re.search(r"signal|decision", stem_of(shape), re.I):
        return
    source = shape.table.frame
    ticker = shape.ticker if shape.ticker is not word else None
    frame = pd.DataFrame({"date": to_dates(source[date.name], context.timezone)})
    frame["ticker"] = (
        to_tickers(source[ticker.name]) if ticker is not None else (next(iter(context.known), "") if len(context.known) == 1 else "")
    )
    frame["name"], frame["score"] = word.name, canonical.side_signs(source[word.name])
    frame["rank"], frame["fill_date"] = np.nan, pd.Series(pd.NaT, index=frame.index, dtype="datetime64[ns]")
    frame["row"] = np.arange(1, len(frame) + 1)
    columns = {"date": date.name, "score": word.name} | ({"ticker": ticker.name} if ticker is not None else {})
    frame = frame[frame["date"].notna()].reset_index(drop=True)
    yield from made("signals", shape, columns, frame, "dated signals in words")
