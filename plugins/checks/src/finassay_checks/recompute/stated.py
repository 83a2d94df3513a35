"""What the delivered text states about the mechanics of a backtest: start capital, cost rate, risk-free rate, timing of fills, thresholds.

Bounded patterns over the last report, the last message and the specification table; nothing is executed. Every statement keeps its
sentence.
"""

import re
from collections.abc import Iterator

from attrs import frozen

from finassay_checks.model import Delivered

MAX_TEXT = 400_000
"""Characters of one document that are searched."""
MAX_LINE = 4000


@frozen
class Statement:
    """A number or choice read from the text."""

    value: float
    where: str
    text: str


def lines(delivered: Delivered) -> Iterator[tuple[str, str]]:
    """(where, line) of the last report, the last message, and the specification as `key: value` lines. Wrapped lines of a paragraph are
    joined; headings, list items and rows of tables stand alone."""
    documents = list(delivered.reports)
    if delivered.last_message is not None and all(d.where != delivered.last_message.where for d in documents):
        documents.append(delivered.last_message)
    for document in documents:
        for line in _joined(document.text[:MAX_TEXT]):
            yield document.where, line[:MAX_LINE]
    for table in delivered.role_tables:
        if table.role in ("spec", "metrics") and table.table.current:
            for row in table.frame.head(500).itertuples(index=False):
                yield table.table.where, ": ".join(str(cell) for cell in row if cell is not None and str(cell) != "nan")[:MAX_LINE]


_ALONE = re.compile(r"\s*(?:[|#>]|[-*+•]\s|\d{1,3}[.)]\s)")


def _joined(text: str) -> Iterator[str]:
    held: list[str] = []
    for raw in text.splitlines():
        line = raw.strip()
        if held and (not line or _ALONE.match(raw)):
            yield " ".join(held)
            held = []
        if line and line[0] in "|#":
            yield line
        elif line:
            held.append(line)
    if held:
        yield " ".join(held)


_CAPITAL = re.compile(
    r"\b(?:start(?:ing|ed)?|initial|begin(?:ning)?|opening)[\s_-]*(?:with\s+)?(?:the\s+)?"
    r"(?:capital|cash|value|equity|nav|portfolio(?:\s+value)?|amount|investment|balance|wealth|account|money)?"
    r"[^\d$€£\n]{0,25}(?P<sign>[$€£]?)\s?(?P<number>\d[\d,_ ]*(?:\.\d+)?)\s*(?P<scale>k|thousand|m|mm|mn|million|bn|billion)?\b",
    re.IGNORECASE,
)
_CAPITAL_AFTER = re.compile(
    r"(?P<sign>[$€£])\s?(?P<number>\d[\d,_ ]*(?:\.\d+)?)\s*(?P<scale>k|thousand|m|mm|mn|million|bn|billion)?[\s*_-]{0,4}"
    r"(?:of\s+)?(?:start(?:ing)?|initial|beginning|opening|at the start)\b",
    re.IGNORECASE,
)
_SCALES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "mm": 1e6, "mn": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9}


def start_capitals(delivered: Delivered) -> tuple[Statement, ...]:
    """Starting capitals that the text names, in order. Years and bare small numbers are none."""
    found: list[Statement] = []
    for where, line in lines(delivered):
        for pattern in (_CAPITAL, _CAPITAL_AFTER):
            for match in pattern.finditer(line):
                digits = match["number"].strip()
                value = float(re.sub(r"[,_ ]", "", digits)) * _SCALES.get((match["scale"] or "").lower(), 1.0)
                dated = not match["sign"] and not match["scale"] and "," not in digits and 1900 <= value <= 2100
                if value >= 1 and not dated and (match["sign"] or match["scale"] or value >= 1000 or value in (1.0, 100.0)):
                    found.append(Statement(value, where, line))
    return tuple(found)


_COST_WORDS = (
    r"(?:costs?|fees?|commissions?|slippage|spread|charged?|per side|per trade|each way|one[- ]way"
    r"|of (?:the )?(?:traded|notional|value traded))"
)
_RATE = r"(?P<bps>\d+(?:\.\d+)?)\s*(?:bps?\b|basis[\s-]points?)|(?P<percent>0?\.\d+|[01](?:\.\d+)?)\s*(?:%|percent)"
_BETWEEN = r"(?:(?!net of|after|before|gross|return|year|annual|\bp\.?a\.?\b|volatil|drawdown|sharpe|[%;]).){0,45}?"
_COST = re.compile(rf"\b{_COST_WORDS}\b{_BETWEEN}(?<![\d.])(?:{_RATE})(?!\s*(?:a|per) (?:year|annum))", re.IGNORECASE)
_COST_BEFORE = re.compile(rf"(?<![\d.])(?:{_RATE})(?!\s*(?:a|per) (?:year|annum)){_BETWEEN}\b{_COST_WORDS}\b", re.IGNORECASE)
_SUPPOSED = re.compile(r"\bwould\b|\bif\b|sensitiv|break-?even|suppos|instead of|\bdoubl|\bhalv", re.IGNORECASE)
_ZERO_COST = re.compile(
    r"\b(?:no|zero|without(?:\s+any)?|ignor(?:es?|ed|ing)|exclud(?:es?|ed|ing)|free of)\s+(?:all\s+|any\s+)?"
    r"(?:transaction\s+|trading\s+)?(?:costs?|fees?|commissions?)\b"
    r"|\bcosts?\**\s*(?:[:=|]|are|is|of)\s*(?:none|zero|0(?:\.0+)?\b(?!\.?\d))|\bcost[- ]free\b",
    re.IGNORECASE,
)
_COST_MENTION = re.compile(r"\b(?:transaction|trading)\s+costs?\b|\bcommissions?\b|\bfees?\b|\bcosts?\b|\bslippage\b", re.IGNORECASE)


def cost_rates(delivered: Delivered) -> tuple[Statement, ...]:
    """Rates of cost per traded value as fractions, in the order in which the text names them; 2 % and more is no such rate. Sentences about what
    would be at another rate are left out."""
    found: list[Statement] = []
    for where, line in lines(delivered):
        for sentence in re.split(r"(?<=[.;])\s+", line):
            if _SUPPOSED.search(sentence):
                continue
            for pattern in (_COST_BEFORE, _COST):
                for match in pattern.finditer(sentence):
                    value = float(match["bps"]) / 1e4 if match["bps"] else float(match["percent"]) / 1e2
                    if 0 <= value < 0.02:
                        found.append(Statement(value, where, sentence))
    return tuple(found)


def zero_cost(delivered: Delivered) -> Statement | None:
    """Where the text says that costs are none."""
    return _first(delivered, _ZERO_COST)


def cost_mention(delivered: Delivered) -> Statement | None:
    """Where the text speaks of costs at all."""
    return _first(delivered, _COST_MENTION)


_RISK_FREE = re.compile(r"risk[\s_-]*free|\brf\b|t-bill|treasury bill", re.IGNORECASE)
_RISK_FREE_RATE = re.compile(r"(?:risk[\s_-]*free|\brf\b|t-bill|treasury bill)[^\d%\n]{0,40}(\d+(?:\.\d+)?)\s*(%|percent)?", re.IGNORECASE)


def risk_free(delivered: Delivered) -> Statement | None:
    """The risk-free rate that the text states, as a fraction; NaN where it names one without a number."""
    for where, line in lines(delivered):
        match = _RISK_FREE_RATE.search(line)
        if match:
            value = float(match[1])
            return Statement(value / 100 if match[2] or value > 0.2 else value, where, line)
        if _RISK_FREE.search(line):
            return Statement(float("nan"), where, line)
    return None


_NEXT = re.compile(
    r"\b(?:next|following|subsequent)\s+(?:trading\s+|business\s+|market\s+)?(?:day|session|open|close|bar|morning)"
    r"|\bday after\b|\bone[- ](?:day|session|bar)[- ](?:lag|later|after|delay)|\bt\s*\+\s*1\b"
    r"|\blag(?:ged)?\s+(?:by\s+)?(?:one|1)\b|\bshift(?:ed)?\(1\)"
    r"|\bfirst session (?:after|of the (?:next|following))",
    re.IGNORECASE,
)
_SAME = re.compile(
    r"\bsame[- ](?:day|close|bar|session)|\bat (?:that|the same|the signal(?:'s)?(?: day's)?) close\b"
    r"|\bclose of the (?:signal|decision) (?:day|date|bar)\b"
    r"|\bfilled at the (?:signal|decision)(?: day)?'s (?:own )?close",
    re.IGNORECASE,
)
_FILL = re.compile(
    r"\b(?:filled|fills? (?:at|on|in|happen|come|take)|trade[ds]? (?:at|on|in)|traded|execut\w+|orders? (?:are|is|go)|buy|bought|sold|entered|placed"
    r"|rebalanc\w+|known|decided|take effect|acted|shift\w*|lag\w*)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:not|never|no)\b|n't\b", re.IGNORECASE)


def next_session(delivered: Delivered) -> Statement | None:
    """Where the text says that what is known at one close is traded in a later session."""
    return _first(delivered, _NEXT, _FILL)


def same_session(delivered: Delivered) -> Statement | None:
    """Where the text says that fills happen at the close that decided them."""
    return _first(delivered, _SAME, _FILL)


_STOP = (
    re.compile(
        r"(\d+(?:\.\d+)?)\s*(?:%|percent|per cent)[^.;\n]{0,40}?(trailing|stop|drawdown|from (?:its |the )?(?:peak|high|entry))",
        re.IGNORECASE,
    ),
    re.compile(r"(trailing|stop|drawdown)[^.;\n\d]{0,60}?(\d+(?:\.\d+)?)\s*(?:%|percent|per cent)", re.IGNORECASE),
)


@frozen
class Threshold:
    """A level of a control named in the text, as a fraction."""

    control: str
    """`position_stop`, `trailing_stop` or `drawdown_to_cash`."""
    value: float
    where: str
    text: str


def thresholds(delivered: Delivered, reasons: tuple[str, ...] = ()) -> tuple[Threshold, ...]:
    """Stop and drawdown levels in the text or in the log's reasons. Sentences about results (a drawdown of -34 %) name no control."""
    found: dict[tuple[str, float], Threshold] = {}
    for where, line in (*lines(delivered), *(("trades", reason) for reason in reasons[:200])):
        for pattern in _STOP:
            for match in pattern.finditer(line):
                number = next(float(g) for g in match.groups() if g and g[0].isdigit()) / 100
                context = line[max(0, match.start() - 60) : match.end() + 60].lower()
                control = _control_of(context)
                if control is not None and 0.005 <= number <= 0.6:
                    found.setdefault((control, number), Threshold(control, number, where, line))
    return tuple(found.values())


def _control_of(context: str) -> str | None:
    acts = any(word in context for word in ("stop", "sell", "exit", "sold", "cash", "close out", "liquidat"))
    if "trail" in context or ("stop" in context and ("peak" in context or "high" in context)):
        return "trailing_stop"
    if "stop" in context and "portfolio" not in context and "drawdown" not in context:
        return "position_stop"
    if "drawdown" in context and acts and "max" not in context:
        return "drawdown_to_cash"
    return None


def _first(delivered: Delivered, pattern: "re.Pattern[str]", also: "re.Pattern[str] | None" = None) -> Statement | None:
    for where, line in lines(delivered):
        for sentence in re.split(r"(?<=[.;])\s+", line):
            if pattern.search(sentence) and (also is None or (also.search(sentence) and not _DENIED.search(sentence))):
                return Statement(float("nan"), where, sentence)
    return None


_SCHEDULE = (
    (
        "drift_band",
        re.compile(
            r"drift[- ]?band|\bdrift(?:s|ed)?\b.{0,40}(?:band|target|%)|off (?:its )?target by|away from (?:its )?target|tolerance band",
            re.I,
        ),
    ),
    (
        "on_event",
        re.compile(r"(?:day|session) after (?:an? |each |the |every )?(?:announcement|report|earnings)|event[- ]driven|on[_ ]event", re.I),
    ),
    (
        "weekly",
        re.compile(r"\bweekly\b|every week|each week|once a week|end of (?:the|each|every) week|week'?s (?:last|first|final)", re.I),
    ),
    (
        "monthly",
        re.compile(
            r"\bmonthly\b|every month|each month|once a month|month[- ]end|end of (?:the|each|every|a) month"
            r"|start of (?:the|each|every) month"
            r"|(?:first|last) (?:trading )?(?:day|session|close) of (?:the|each|every|a) month",
            re.I,
        ),
    ),
    (
        "quarterly",
        re.compile(r"\bquarterly\b|every quarter|each quarter|once a quarter|quarter[- ]end|end of (?:the|each|every|a) quarter", re.I),
    ),
)
_TRADES = re.compile(r"rebalanc|schedule|re-?rank|review|traded?\b|refresh|decid|form(?:ed|s)|frequency|re-?weight", re.I)
_MARKED = re.compile(r"^\W*(?:rebalanc|schedule|execution|frequency|trading)", re.I)


def schedule(delivered: Delivered) -> "tuple[str, Statement] | None":
    """How often the text says that the portfolio is rebalanced: the rule table's own row first, else the reading named in most
    sentences."""
    counts: dict[str, list[Statement]] = {}
    for where, line in lines(delivered):
        for sentence in re.split(r"(?<=[.;])\s+", line):
            if not _TRADES.search(sentence):
                continue
            for name, pattern in _SCHEDULE:
                if pattern.search(sentence):
                    if _MARKED.search(line.lstrip("|* -")):
                        return name, Statement(float("nan"), where, line)
                    counts.setdefault(name, []).append(Statement(float("nan"), where, sentence))
    if not counts:
        return None
    best = max(counts, key=lambda name: len(counts[name]))
    return best, counts[best][0]
