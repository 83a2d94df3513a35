"""What a text shows its reader of a backtest, by words (spec-completions E7). Whether it is right is not the reader's to know.

The validation of closing decisions and simulators without a model ask the same questions here.
"""

import re
from typing import Final

from finassay.api.matching import MAX_TEXT, normalise

RESULTS: Final = {
    "return": r"\breturn(?:s|ed)?\b|\bcagr\b",
    "Sharpe ratio": r"\bsharpe\b",
    "maximum drawdown": r"\bdraw[ -]?downs?\b|\bmax(?:imum)? dd\b|\bmdd\b",
    "number of trades": r"\b(?:trades?|fills?|transactions?|orders|trades\.\w+)\b",
}
SECTIONS: Final = {
    "summary": r"\b(?:summary|overview|in short|key (?:findings|points)|headline|abstract|bottom line)\b",
    "method": r"\b(?:method\w*|approach|rules?|procedure|how it (?:works|was (?:done|built)|is built)|set ?up|specification)\b",
    "results": r"\b(?:results?|performance|outcome|findings|metrics)\b",
    "limitations": r"\b(?:limit\w*|caveats?|weakness\w*|risks?|shortcomings|assumptions|good to know|drawbacks)\b",
}
_TRADE_DATE = re.compile(
    r"\b(?:19|20)\d\d[-/.](?:0?[1-9]|1[0-2])(?:[-/.]\d{1,2})?\b"
    r"|\b(?:\w{3,9} \d{1,2}|\d{1,2}[ /.](?:\w{3,9}|\d{1,2}))[ /.,]+(?:19|20)\d\d\b"
)
_PRICE = re.compile(r"\b(?:prices?|px|close|fill price)\b|[$€£]\s?\d|@\s?\d|\bat \d+\.\d\d\b")


def missing_results(text: str) -> tuple[str, ...]:
    """Which of return, Sharpe ratio, maximum drawdown and number of trades a text does not name."""
    return _missing(RESULTS, text)


def missing_sections(text: str) -> tuple[str, ...]:
    """Which of summary, method, results and limitations a text does not hold."""
    return _missing(SECTIONS, text)


def shows_trades(text: str) -> bool:
    """Whether a text holds a date and a price, as a list of trades does."""
    norm = normalise(text[:MAX_TEXT])
    return bool(_TRADE_DATE.search(norm) and _PRICE.search(norm))


def _missing(wanted: dict[str, str], text: str) -> tuple[str, ...]:
    norm = normalise(text[:MAX_TEXT])
    return tuple(name for name, pattern in wanted.items() if not re.search(pattern, norm))
