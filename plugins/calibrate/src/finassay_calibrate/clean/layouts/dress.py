"""Spellings: column names, dates, numbers and ticker symbols of a shaped table."""

import re
from typing import Any

import pandas as pd

from finassay_calibrate.clean.layouts.spec import Layout

LIBRARY: dict[str, dict[str, str]] = {
    "prices": {"date": "Date", "ticker": "Symbol", "open": "Open", "high": "High", "low": "Low", "close": "Close", "volume": "Volume"},
    "trades": {
        "trade_id": "Order Id",
        "order_id": "Order Id",
        "fill_date": "Timestamp",
        "signal_date": "Signal Timestamp",
        "ticker": "Symbol",
        "side": "Side",
        "shares": "Size",
        "quantity": "Size",
        "price": "Price",
        "value": "Notional",
        "fee": "Fees",
    },
    "round_trips": {
        "ticker": "Symbol",
        "entry_date": "Entry Timestamp",
        "exit_date": "Exit Timestamp",
        "size": "Size",
        "entry_price": "Avg Entry Price",
        "exit_price": "Avg Exit Price",
        "entry_fee": "Entry Fees",
        "exit_fee": "Exit Fees",
        "pnl": "PnL",
        "status": "Status",
    },
    "equity": {"date": "Date", "equity": "Portfolio Value", "cash": "Cash", "fees": "Commission", "ret": "Returns"},
    "positions": {"date": "Date", "ticker": "Symbol", "shares": "Quantity", "market_value": "Market Value", "close": "Close"},
    "signals": {"decision_date": "Rebalance Date", "ticker": "Symbol", "score": "Score", "rank": "Rank"},
    "targets": {"decision_date": "Rebalance Date", "fill_date": "Trade Date", "ticker": "Symbol", "target_weight": "Weight"},
    "universe": {"ticker": "Symbol"},
}
"""Headings as well-known tools write them."""
MONEY = frozenset({"value", "fee", "fees", "equity", "cash", "market_value", "pnl", "entry_fee", "exit_fee"})
SHARES_OF_ONE = frozenset({"weight", "target_weight", "exposure", "weight_before"})
SIDED = ("BUY", "SELL")


def dressed(name: str, frame: pd.DataFrame, layout: Layout, tickers: frozenset[str]) -> pd.DataFrame:
    """The frame with the layout's spellings. `tickers` are the names whose column headings are symbols."""
    made = frame.copy()
    if isinstance(made.columns, pd.MultiIndex):
        made.columns = pd.MultiIndex.from_tuples([(a, spelled(b, layout)) for a, b in made.columns], names=made.columns.names)
        return made
    weights = name in ("daily_weights",) or (name == "targets" and "target_weight" not in made)
    for column in made.columns:
        values = made[column]
        if pd.api.types.is_datetime64_any_dtype(values):
            made[column] = dates(values, layout)
        elif column == "ticker":
            made[column] = values.map(lambda t: spelled(str(t), layout))
        elif pd.api.types.is_numeric_dtype(values) and name not in ("fundamentals",):
            made[column] = numbers(str(column), values, layout, weights and column in tickers)
    return made.rename(columns=lambda c: spelled(c, layout) if c in tickers else heading(name, str(c), layout))


def spelled(ticker: str, layout: Layout) -> str:
    """BRK-B, BRK.B or BRK/B, or with the exchange's suffix."""
    if layout.symbols == "exchange-suffix":
        return f"{ticker.replace('-', '.')}.US" if ticker != "cash" else ticker
    return ticker.replace("-", {"dot": ".", "slash": "/"}.get(layout.symbols, "-"))


def heading(name: str, column: str, layout: Layout) -> str:
    if layout.names == "title":
        return column.replace("_", " ").title()
    if layout.names == "camel":
        head, *rest = column.split("_")
        return head + "".join(part.title() for part in rest)
    if layout.names == "library":
        return LIBRARY.get(name.split("/")[0], {}).get(column, column)
    return column


def dates(values: pd.Series, layout: Layout) -> pd.Series:
    form = {
        "iso": "%Y-%m-%d",
        "midnight": "%Y-%m-%d 00:00:00",
        "utc": "%Y-%m-%dT00:00:00+00:00",
        "us": "%m/%d/%Y",
        "compact": "%Y%m%d",
    }[layout.dates]
    if layout.files == "parquet" and layout.dates == "iso":
        return values
    return pd.Series(values.dt.strftime(form))


def numbers(column: str, values: pd.Series, layout: Layout, weight: bool) -> pd.Series:
    """Money with a sign and separators, weights in percent, negatives in parentheses; typed formats keep their numbers."""
    if layout.files in ("parquet", "json-split") or layout.numbers == "plain":
        return values
    if layout.numbers == "money" and column in MONEY:
        return values.map(lambda x: "" if pd.isna(x) else f"-${-x:,.6f}" if x < 0 else f"${x:,.6f}")
    if layout.numbers == "percent" and (weight or column in SHARES_OF_ONE or column == "ret"):
        return values.map(lambda x: "" if pd.isna(x) else f"{x * 100:.8f}%")
    if layout.numbers == "parentheses" and (column in MONEY or column in ("quantity", "ret")):
        return values.map(lambda x: "" if pd.isna(x) else f"({-x:,.8f})" if x < 0 else f"{x:,.8f}")
    return values


def file_safe(ticker: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", ticker)


Written = dict[str, bytes]
Cell = Any
