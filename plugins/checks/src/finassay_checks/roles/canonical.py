"""Canonical frames of the roles, from a table and the mapping of canonical to delivered columns."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from finassay_checks.roles import names
from finassay_checks.roles.cells import strings_of, to_dates, to_numbers, to_tickers
from finassay_checks.roles.languages import BUY_WORDS, SELL_WORDS
from finassay_checks.shared import factorized

Frame = pd.DataFrame
_BUY = frozenset({"buy", "b", "bot", "bought", "long", "bto", "buytoopen", "open", "entry", "enter", "add", "increase", "buytocover", "in"})
_SELL = frozenset(
    {"sell", "s", "sld", "sold", "short", "stc", "selltoclose", "close", "exit", "reduce", "trim", "decrease", "out", "sellshort"}
)

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "prices": {
        "date": "date",
        "ticker": "ticker",
        "open": "number",
        "high": "number",
        "low": "number",
        "close": "number",
        "adj_close": "number",
        "volume": "number",
    },
    "trades": {
        "fill_date": "date",
        "signal_date": "date",
        "ticker": "ticker",
        "shares": "number",
        "price": "number",
        "fee": "number",
        "value": "number",
        "reason": "text",
        "id": "text",
        "weight_before": "number",
        "target_weight": "number",
        "decided_by": "any",
    },
    "round_trips": {
        "entry_date": "date",
        "exit_date": "date",
        "ticker": "ticker",
        "shares": "number",
        "entry_price": "number",
        "exit_price": "number",
        "pnl": "number",
        "fee": "number",
        "entry_fee": "number",
        "exit_fee": "number",
        "open": "bool",
    },
    "weights": {"date": "date", "fill_date": "date", "ticker": "ticker", "weight": "number"},
    "positions": {"date": "date", "ticker": "ticker", "shares": "number", "dollars": "number"},
    "equity": {"date": "date", "equity": "number", "ret": "number", "cash": "number", "fees": "number"},
    "benchmark": {"date": "date", "equity": "number", "ret": "number"},
    "events": {"date": "date", "ticker": "ticker", "event": "text", "fill_date": "date"},
    "universe": {"ticker": "ticker", "start": "date", "end": "date"},
}


def column(frame: Frame, name: str | None, kind: str, timezone: str) -> "pd.Series[Any]":
    """One canonical column; a missing one is empty."""
    if name is None:
        empty: Any = pd.NaT if kind == "date" else np.nan if kind in ("number", "any") else None
        dtype = {"date": "datetime64[ns]", "number": "float64", "any": "float64", "bool": "bool"}.get(kind, object)
        return pd.Series(False if kind == "bool" else empty, index=frame.index, dtype=dtype)
    series = frame[name]
    if kind == "date":
        return to_dates(series, timezone)
    if kind == "number":
        return to_numbers(series)
    if kind == "ticker":
        return to_tickers(series)
    if kind == "any":
        numbers = to_numbers(series)
        return numbers if numbers.notna().sum() >= 0.95 * series.notna().sum() else series.astype(object)
    return series


def simple(role: str, frame: Frame, mapping: Mapping[str, str], timezone: str) -> Frame:
    """A canonical frame column by column, with 1-based rows; rows without a date or ticker that the role needs are left out."""
    cells = {name: column(frame, mapping.get(name), kind, timezone) for name, kind in COLUMNS[role].items()}
    made = pd.DataFrame(cells, index=frame.index, copy=False)  # columns are made for this frame, or never written
    made["row"] = np.arange(1, len(frame) + 1)
    needed = [name for name in (next(iter(COLUMNS[role])), "ticker") if name in mapping]
    missing = made[needed].isna().any(axis=1) if needed else pd.Series(False, index=made.index)
    return made[~missing].reset_index(drop=True) if missing.any() else made.reset_index(drop=True)


def side_signs(series: "pd.Series[Any]") -> "pd.Series[float]":
    """+1 for a buy, -1 for a sale, NaN for anything else (`BUY`, `Sell to close`, `B`, `SLD`)."""
    texts = strings_of(series)
    signs: dict[Any, float] = {}
    for cell, text in texts.items():
        joined = names.key(text)
        first = names.parts(text)[0] if names.parts(text) else ""
        if joined in _BUY or first in _BUY or text.strip().lower() in BUY_WORDS:
            signs[cell] = 1.0
        elif joined in _SELL or first in _SELL or text.strip().lower() in SELL_WORDS:
            signs[cell] = -1.0
    codes, uniques = factorized(series)
    values = np.array([signs.get(u, np.nan) for u in uniques] + [np.nan])
    return pd.Series(values[codes], index=series.index)


def trades(frame: Frame, mapping: Mapping[str, str], timezone: str) -> Frame:
    """Fills: shares signed (the sign of the quantity wins over the side), fee ≥ 0 in money, value = |shares|·price unless delivered."""
    work = frame
    if "side" in mapping:
        signs = side_signs(frame[mapping["side"]])
        numbers = to_numbers(frame[mapping["shares"]]) if "shares" in mapping else pd.Series(np.nan, index=frame.index)
    made = simple("trades", work, mapping, timezone)
    kept = made["row"].to_numpy() - 1
    shares = made["shares"]
    if "bought" in mapping:
        apart = to_numbers(frame[mapping["bought"]]).fillna(0.0) - to_numbers(frame[mapping["sold"]]).abs().fillna(0.0)
        shares = pd.Series(apart.to_numpy()[kept], index=made.index)
    elif "shares" not in mapping:
        amount = made["value"].abs() / made["price"].where(made["price"] > 0)
        shares = amount if "side" in mapping else made["value"] / made["price"].where(made["price"] > 0)
    if "side" in mapping and not (numbers < 0).any():
        shares = shares.abs() * signs.to_numpy()[kept]
    made["shares"] = shares
    made["fee"] = made["fee"].abs()
    computed = (made["shares"] * made["price"]).abs()
    made["value"] = made["value"].abs().where(made["value"].notna(), computed)
    traded = made["shares"].notna() & (made["shares"] != 0)
    return made if traded.all() else made[traded].reset_index(drop=True)


def matrix_of(frame: Frame) -> "np.ndarray[Any, Any]":
    """Cells as float64, rows × columns; what is no finite number is NaN."""
    if all(pd.api.types.is_numeric_dtype(t) and not pd.api.types.is_bool_dtype(t) for t in set(frame.dtypes)):
        matrix = frame.to_numpy(dtype="float64", na_value=np.nan)
        return np.where(np.isfinite(matrix), matrix, np.nan)
    return np.column_stack([to_numbers(frame.iloc[:, i]).to_numpy() for i in range(len(frame.columns))])


def melt(frame: Frame, date: str, tickers: Mapping[str, str], value: str, timezone: str, keep_empty: bool = False) -> Frame:
    """Dates × tickers to `date, ticker, <value>, row`, row by row; empty cells are left out unless `keep_empty`."""
    dates = to_dates(frame[date], timezone).to_numpy()
    matrix = matrix_of(frame[list(tickers)])
    count = len(tickers)
    labels = pd.array(list(tickers.values()), dtype="str")
    values = matrix.ravel()
    long_dates = np.repeat(dates, count)
    rows = np.repeat(np.arange(1, len(frame) + 1), count)
    codes = np.tile(np.arange(count), len(frame))
    keep = ~np.isnat(long_dates)
    if not keep_empty:
        keep &= ~np.isnan(values)
    if not keep.all():
        values, long_dates, rows, codes = values[keep], long_dates[keep], rows[keep], codes[keep]
    return pd.DataFrame({"date": long_dates, "ticker": labels.take(codes), value: values, "row": rows})


def wide_prices(frame: Frame, date: str, tickers: Mapping[str, str], timezone: str) -> Frame:
    """A closes table; empty cells stay, because they are what data quality counts."""
    made = melt(frame, date, tickers, "close", timezone, keep_empty=True)
    for name in ("open", "high", "low", "adj_close", "volume"):
        made[name] = np.nan
    return made[["date", "ticker", "open", "high", "low", "close", "adj_close", "volume", "row"]]


def wide_positions(frame: Frame, date: str, tickers: Mapping[str, str], cash: str | None, timezone: str, dollars: bool = False) -> Frame:
    made = melt(frame, date, tickers, "dollars" if dollars else "shares", timezone)
    made["shares" if dollars else "dollars"] = np.nan
    if cash is not None:
        money = melt(frame, date, {cash: "$CASH"}, "dollars", timezone)
        money["shares"] = np.nan
        made = pd.concat([made, money], ignore_index=True)
    return made[["date", "ticker", "shares", "dollars", "row"]]


def weight_scale(weights: "pd.Series[float]", dates: "pd.Series[Any]") -> float:
    """0.01 if rows sum to about 100 (percent written as numbers), else 1: no book of fractions holds more than three times its value."""
    sums = weights.groupby(dates).sum()
    sums = sums[sums > 0]
    return 0.01 if len(sums) and sums.median() > 3.0 and sums.max() <= 101 and weights.max() > 1.001 else 1.0


def finish_weights(made: Frame, kind: str) -> Frame:
    made = made[made["weight"].notna()].copy()
    made["weight"] *= weight_scale(made["weight"], made["date"])
    made["kind"] = kind
    if "fill_date" not in made:
        made["fill_date"] = pd.Series(pd.NaT, index=made.index, dtype="datetime64[ns]")
    return made[["date", "ticker", "weight", "kind", "fill_date", "row"]].reset_index(drop=True)


def equity(role: str, frame: Frame, mapping: Mapping[str, str], timezone: str, label: str = "") -> Frame:
    """Equity in money or as an index, returns as fractions: percent returns written as numbers are scaled."""
    made = simple(role, frame, mapping, timezone)
    if "ret" in mapping:
        spread = made["ret"].abs().median()
        if (
            "%" in mapping["ret"]
            or "pct" in names.parts(mapping["ret"])
            or (np.isfinite(spread) and made["ret"].abs().max() > 1.5 and spread > 0.05)
        ):
            texts = frame[mapping["ret"]]
            if pd.api.types.is_numeric_dtype(texts.dtype) or not strings_of(texts.head(50)).str.contains("%").any():
                made["ret"] = made["ret"] / 100
    if role == "benchmark":
        made["name"] = label
        made = made[["date", "equity", "ret", "name", "row"]]
    return made


def long_signals(
    frame: Frame, date: str, ticker: str, values: Sequence[str], primary: str | None, rank: str | None, fill: str | None, timezone: str
) -> Frame:
    """One row a (date, ticker, signal name); the rank belongs to the primary signal."""
    dates, tickers = to_dates(frame[date], timezone), to_tickers(frame[ticker])
    fills = column(frame, fill, "date", timezone)
    ranks = column(frame, rank, "number", timezone)
    rows = np.arange(1, len(frame) + 1)
    pieces = []
    for name in values or ([rank] if rank is not None else []):
        belongs = name == primary or len(values) <= 1
        pieces.append(
            pd.DataFrame(
                {
                    "date": dates,
                    "ticker": tickers,
                    "name": name,
                    "score": to_numbers(frame[name]) if values else np.nan,
                    "rank": ranks if belongs else np.nan,
                    "fill_date": fills,
                    "row": rows,
                }
            )
        )
    made = pd.concat(pieces, ignore_index=True) if len(pieces) > 1 else pieces[0]
    return made[made["date"].notna() & made["ticker"].notna()].reset_index(drop=True)


def wide_signals(frame: Frame, date: str, tickers: Mapping[str, str], name: str, fill: str | None, timezone: str) -> Frame:
    made = melt(frame, date, tickers, "score", timezone)
    made["name"], made["rank"] = name, np.nan
    made["fill_date"] = column(frame, fill, "date", timezone).to_numpy()[made["row"].to_numpy() - 1]
    return made[["date", "ticker", "name", "score", "rank", "fill_date", "row"]]


def states(frame: Frame, date: str, values: Sequence[str], timezone: str) -> Frame:
    """`date, name, value, row`; value is a bool where the column is one, else the number."""
    dates = to_dates(frame[date], timezone)
    rows = np.arange(1, len(frame) + 1)
    pieces = []
    for name in values:
        series = frame[name]
        if pd.api.types.is_bool_dtype(series.dtype):
            cells = series.astype(object)
        else:
            lowered = {cell: text.lower() for cell, text in strings_of(series).items()}
            if lowered and set(lowered.values()) <= {"true", "false", "yes", "no", "on", "off"}:
                cells = series.map({cell: text in ("true", "yes", "on") for cell, text in lowered.items()}).astype(object)
            else:
                cells = to_numbers(series).astype(object)
        pieces.append(pd.DataFrame({"date": dates, "name": name, "value": cells, "row": rows}))
    made = pd.concat(pieces, ignore_index=True)
    return made[made["date"].notna() & made["value"].notna()].reset_index(drop=True)


def fundamentals(frame: Frame, period: str, announced: str | None, ticker: str, values: Sequence[str], timezone: str) -> Frame:
    pieces = [
        pd.DataFrame(
            {
                "period_end": column(frame, period, "date", timezone),
                "announced": column(frame, announced, "date", timezone),
                "ticker": to_tickers(frame[ticker]),
                "name": name,
                "value": to_numbers(frame[name]),
                "row": np.arange(1, len(frame) + 1),
            }
        )
        for name in values
    ]
    made = pd.concat(pieces, ignore_index=True)
    return made[made["value"].notna()].reset_index(drop=True)
