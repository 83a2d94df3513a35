"""What the columns of delivered tables are called: word parts, any case (spec D.0.3)."""

import re
from functools import lru_cache

from finassay_checks.roles.languages import english

_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[%#$&]")

DATE = frozenset({"date", "datetime", "day", "timestamp", "time", "datum", "dt", "asof", "session", "t", "ts", "epoch"})
TICKER = ("ticker", "symbol", "symbols", "asset", "security", "sid", "instrument", "stock", "name", "column", "pair")
OHLC = {
    "open": ("open",),
    "high": ("high",),
    "low": ("low",),
    "close": ("close", "price", "px", "last", "settle"),
    "adj_close": ("adjclose", "adjustedclose", "closeadj", "closeadjusted"),
    "volume": ("volume", "vol"),
}
BENCHMARK = frozenset({"bench", "benchmark", "index", "spy", "sp500", "spx", "market", "buyhold", "buyandhold", "equalweight", "s"})
VARIANT = frozenset(
    {
        "sensitivity",
        "variant",
        "variants",
        "scenario",
        "scenarios",
        "grid",
        "knob",
        "sweep",
        "ladder",
        "comparison",
        "robustness",
        "bootstrap",
        "sensitivities",
    }
)
PERIOD = frozenset(
    {"subperiod", "subperiods", "annual", "yearly", "monthly", "decade", "decades", "year", "years", "periods", "calendar", "byyear"}
)
FACTORS = frozenset(
    {
        "momentum",
        "mom",
        "reversal",
        "rev",
        "value",
        "quality",
        "roe",
        "beta",
        "growth",
        "size",
        "surprise",
        "earnings",
        "yield",
        "zscore",
        "lowvol",
        "volatility",
        "high",
        "profitability",
        "composite",
        "combined",
        "ic",
    }
)
SIGNAL = frozenset({"signal", "score", "rank", "z", "zscore", "alpha", "factor"})
STATE = frozenset(
    {"on", "regime", "invested", "cut", "off", "state", "stopped", "riskoff", "riskon", "exposure", "gate", "breadth", "timing"}
)
CASH = frozenset({"cash"})


@lru_cache(maxsize=20_000)
def parts(name: str) -> tuple[str, ...]:
    """Lower-case word parts: `adjClose` gives adj, close; `Shares (+buy/-sell)` gives shares, buy, sell; `Einstiegskurs` entry, price."""
    return tuple(part.lower() for part in _PARTS.findall(english(name[:200])))


@lru_cache(maxsize=20_000)
def key(name: str) -> str:
    """The word parts joined: `Trade Date`, `trade_date` and `tradeDate` are one."""
    return "".join(parts(name))


def has(name: str, words: frozenset[str] | tuple[str, ...]) -> bool:
    return any(part in words for part in parts(name)) or key(name) in words


def is_benchmark(name: str) -> bool:
    """Whether a table, row or column name speaks of a benchmark: `spy`, `S&P 500`, `ew20`, `equal_weight_20`, `all_20`, `buy_hold`."""
    joined = key(name)
    if (
        re.search(r"(?<![a-z])(?:bench(?:mark)?|spy|sp500|spx|s&p|s&p500|buyhold|buyandhold|index|market)", joined)
        and "marketcap" not in joined
    ):
        return not re.search(r"marketing|markettiming", joined)
    return bool(re.search(r"(?:^|[^a-z])ew\d*(?:$|[^a-z])|equalweight(?:ed)?\d|equalweightbench|(?:^|[^a-z])all\d+", joined)) or (
        joined.startswith(("ew", "equalweight"))
        and (
            joined in ("ew", "equalweight", "equalweighted")
            or bool(re.match(r"(?:ew|equalweight(?:ed)?)(?:\d|net|gross|nav|equity|return|ret)", joined))
        )
    )


def is_variant(name: str) -> bool:
    """Whether a table or row name speaks of a variant of the strategy."""
    return has(name, VARIANT) or bool(re.search(r"nostop|without(?:the|a|any)?stop|gross|zerocost|0bp$|nocost", key(name)))


def is_period(name: str) -> bool:
    return has(name, PERIOD) or bool(re.search(r"byyear|bymonth|subperiod|bydecade", key(name)))


def is_date_name(name: str) -> bool:
    named = parts(name)
    if any(part in DATE and (len(part) > 1 or len(named) == 1) for part in named):  # `t` is a stamp, `T001` a ticker
        return True
    return bool(named) and named[-1] in ("on", "at", "end", "from", "to", "start", "announced", "filed")


def is_ticker_name(name: str) -> bool:
    return any(part in TICKER[:9] for part in parts(name)) or key(name) in ("column", "pair", "security")


TICKER_TEXT = re.compile(r"\^?[A-Z][A-Z0-9]{0,5}(?:[.\-/ ](?:[A-Z]{1,2}|US))?|[A-Z0-9]{2,6}-USD")
_NO_TICKERS = frozenset(
    {
        "OPEN",
        "HIGH",
        "LOW",
        "CLOSE",
        "VOLUME",
        "DATE",
        "CASH",
        "NAV",
        "TOTAL",
        "RET",
        "CAGR",
        "VOL",
        "SHARPE",
        "MAXDD",
        "MDD",
        "ID",
        "BUY",
        "SELL",
        "PNL",
        "FEE",
        "YEAR",
        "NAME",
        "VALUE",
        "EQUITY",
        "RANK",
        "SCORE",
        "Z",
        "N",
        "ON",
        "OFF",
        "YES",
        "NO",
        "LONG",
        "SHORT",
        "NET",
        "GROSS",
        "START",
        "END",
        "TYPE",
        "NONE",
        "USD",
        "FILL",
        "HOLD",
        "ENTRY",
        "EXIT",
        "IC",
        "DD",
        "PRICE",
        "MIN",
        "MAX",
        "MEAN",
        "STD",
        "OK",
        "EW",
        "ROW",
        "RETURN",
    }
)


def looks_like_ticker(text: str) -> bool:
    text = text.strip()
    return bool(TICKER_TEXT.fullmatch(text)) and text not in _NO_TICKERS
