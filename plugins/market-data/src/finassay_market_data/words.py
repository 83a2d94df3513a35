"""What columns are called, and what a field is."""

import re
import unicodedata
from typing import Final, Literal

Aggregation = Literal["first", "max", "min", "sum", "product", "last"]

FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "open": ("open", "open_price", "px_open"),
    "high": ("high", "high_price", "px_high"),
    "low": ("low", "low_price", "px_low"),
    "close": ("close", "close_price", "price", "prices", "last", "last_price", "px_last", "settle", "close_unadjusted"),
    "adj_close": ("adj_close", "adjclose", "adjusted_close", "close_adjusted", "adjusted", "close_adj", "adj_price", "adjusted_price"),
    "volume": ("volume", "vol", "px_volume"),
    "vwap": ("vwap",),
    "dividends": ("dividends", "dividend", "div_cash", "cash_dividend"),
    "splits": ("splits", "split", "stock_splits", "split_factor", "split_ratio"),
    "return": ("return", "returns", "ret"),
}
"""Field to the names that columns and files have for it, after `plain`."""
_FIELD_OF: Final = {name: field for field, names in FIELDS.items() for name in names}
DATES: Final = frozenset(
    ("date", "dates", "datetime", "timestamp", "time", "day", "trade_date", "trading_date", "tradedate", "caldt", "dt")
)
UNNAMED: Final = frozenset(("", "index", "unnamed_0", "index_level_0"))
TICKERS: Final = frozenset(
    ("ticker", "tickers", "symbol", "sym", "asset", "instrument", "security", "stock", "code", "permno", "isin", "ric")
)
PRICES: Final = frozenset(("open", "high", "low", "close", "adj_close", "vwap"))
AGGREGATIONS: Final[dict[str, Aggregation]] = {
    "open": "first",
    "high": "max",
    "low": "min",
    "volume": "sum",
    "dividends": "sum",
    "splits": "product",
}
"""How days become a week or a month; `last` for everything else."""
MAX_TICKER: Final = 40


def plain(name: str) -> str:
    """A column's name in lower case with `_` between words: `Adj Close`, `adj-close` and `AdjClose` look alike."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")


def field_of(name: str) -> str | None:
    """The field that a column's or a file's name stands for."""
    return _FIELD_OF.get(plain(name))


def ticker_of(name: object) -> str | None:
    """A ticker as it is told, or None for what cannot be one: empty, too long, with control or undecodable characters."""
    text = str(name).strip() if name is not None else ""
    wrong = any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") for c in text)
    return text if 0 < len(text) <= MAX_TICKER and not wrong else None


def aggregation_of(field: str) -> Aggregation:
    """How a field's days become one value of a week or month."""
    return AGGREGATIONS.get(field, "last")
