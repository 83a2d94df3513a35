"""Reads a user's message: which options, numbers, dates and names it states. Plain words in many paraphrases; no model."""

import calendar
import re
from collections.abc import Iterator
from datetime import date

from finassay_reference.phrases import FACTORS, SLOTS
from finassay_reference.request import COVERED, Request

_COST_NONE = (
    r"(?:ignor|leav|neglect|forget)\w* (?:out |about )?(?:the |any |all )?(?:trading |transaction )?(?:costs?|fees?|commissions?)",
    r"(?:no|zero|without) (?:any )?(?:trading |transaction )?(?:costs?|fees?|commissions?)",
    r"cost[- ]free",
    r"frictionless",
    r"costs? (?:are |can be |is )?(?:zero|ignored|nil|none)",
)
_COST = re.compile(r"(\d+(?:\.\d+)?|\w+(?:[- ]\w+)?)\s*(basis points?|bps?\b|bips?\b)", re.I)
_COST_PERCENT = re.compile(
    r"(?:cost|fee|commission|slippage|per side|per trade)\w*.{0,40}?(\d*\.\d+)\s*(?:%|per ?cent)|(\d*\.\d+)\s*(?:%|per"
    r" ?cent).{0,30}(?:cost|fee|commission|per side|per trade)",
    re.I,
)
_WORDS = {
    w: n
    for n, w in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
} | {"twenty-five": 25, "thirty": 30, "thirty-five": 35, "forty": 40, "fifty": 50}
_FRACTIONS = {"a fifth": "20%", "one fifth": "20%", "a quarter of": "25% of", "a tenth": "10%", "one tenth": "10%"}
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*(?:%|per ?cent\b|pct\b)")
_NEGATED = re.compile(
    r"\b(?:not|no|never|without|don't|do not|doesn't|isn't|rather than|instead of|other than|neither|nor|avoid\w*|forget|drop)\b(?:(?!\bbut\b)[^,;:()])*$"
)

PIECES: dict[str, str] = {
    "factors": r"\b(?:ranking|stock selection|stock picks?|picks|factors?|signals?|selection)\b",
    "combination": r"\b(?:way the signals|signals are (?:put|combined|blended)|combination|blend)\b",
    "timing": r"\b(?:market timing|in the market|timing)\b",
    "weighting": r"\b(?:position siz\w+|sizing|weights?|weighting)\b",
    "covariance": r"\bcovarianc\w+\b",
    "risk": r"\b(?:risk (?:rule|control|management)|stops?|level of the risk)\b",
    "schedule": r"\b(?:how often|rebalanc\w+|schedule|frequency|execution)\b",
    "cost": r"\b(?:trading costs?|costs?|fees?)\b",
}
_OBJECTS = re.compile(
    r"\b(?:off|wrong|not (?:right|what|how|quite|my)|isn't (?:right|what|how)|doesn't (?:match|look|fit)|does not"
    r" (?:match|look|fit)|mismatch|fix|change|instead|deviates?|differs?|incorrect|mistake)\b",
    re.I,
)

NAMES = {
    "apple": "AAPL",
    "bank of america": "BAC",
    "best buy": "BBY",
    "chevron": "CVX",
    "general electric": "GE",
    "home depot": "HD",
    "johnson & johnson": "JNJ",
    "jpmorgan": "JPM",
    "jp morgan": "JPM",
    "coca-cola": "KO",
    "coca cola": "KO",
    "eli lilly": "LLY",
    "merck": "MRK",
    "microsoft": "MSFT",
    "pepsico": "PEP",
    "pepsi": "PEP",
    "pfizer": "PFE",
    "procter & gamble": "PG",
    "procter and gamble": "PG",
    "range resources": "RRC",
    "unitedhealth": "UNH",
    "walmart": "WMT",
    "exxon": "XOM",
}
_LIST = re.compile(r"\b[A-Z]{1,5}\b(?:(?:,\s*(?:and\s+)?|\s+and\s+|\s*/\s*)\b[A-Z]{1,5}\b)+")
_UNIVERSE = re.compile(
    r"(?:\bthe (?:whole |entire |broad |US |U\.S\. )+(?:\w+[- ]){0,3}(?:market|sector|index)\b|large(?:st)? (?:US|U\.S\.)"
    r" (?:compan\w+|stocks|names)[^.,;]*|members of [^.,;]*|[^.,;]{0,30}\bsector\b)",
    re.I,
)
_MONTHS = {name.lower(): n for n, name in enumerate(calendar.month_name) if name} | {
    name.lower(): n for n, name in enumerate(calendar.month_abbr) if name
}
_MONTH = r"(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_DATES = (
    re.compile(r"\b(?P<year>20\d\d|19\d\d)-(?P<m>\d\d)-(?P<day>\d\d)\b"),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH},? (?P<year>\d{{4}})\b", re.I),
    re.compile(rf"\b{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})\b", re.I),
    re.compile(rf"\b(?:end|close|last (?:trading )?day) of {_MONTH},? (?P<year>\d{{4}})\b", re.I),
    re.compile(
        r"\b(?:(?:end|close|last (?:trading )?day) of(?: the year)?|year[- ]end|end|through(?: to)?|until|up to|till)"
        r" (?P<year>(?:19|20)\d\d)\b(?!-\d)",
        re.I,
    ),
    re.compile(rf"\b(?:until|through|up to|till|by) {_MONTH} (?P<year>\d{{4}})\b", re.I),
)
_BOUND = re.compile(
    r"\b(?:up to|until|till|through|end|before|no later|nothing after|not? (?:look|go|use)\w* (?:past|beyond|after)|data|stop|last|as"
    r" of|latest)\b",
    re.I,
)
_START = re.compile(r"\b(?:from|since|start\w*|begin\w*)\b[^.]{0,12}$", re.I)


_CHARACTERS = str.maketrans("’‘“”–—‑\xa0", "''\"\"--- ")


def sentences(text: str) -> list[str]:
    """Sentences and list lines; decimals and tickers are not cut."""
    return [s.strip(" -*\t") for s in re.split(r"(?<=[.!?;])\s+|\n+", text[:20_000]) if s.strip(" -*\t")]


def plain(sentence: str) -> str:
    """Lower case, plain quotes and dashes, small number words and fractions as digits before a percent or basis-point unit."""
    text = sentence.translate(_CHARACTERS).lower()
    for words, digits in _FRACTIONS.items():
        text = re.sub(rf"\b{words}\b(?! of (?:a |the )?year)", digits, text) if "vol" not in text or "top" not in text else text
    numbers = "|".join(sorted(_WORDS, key=len, reverse=True))
    return re.sub(rf"\b({numbers})(?=[ -](?:%|per ?cent|percent|basis|bps?\b))", lambda m: str(_WORDS[m[1]]), text)


def _hit(patterns: tuple[str, ...], text: str) -> re.Match[str] | None:
    """The first hit that no negation governs."""
    for pattern in patterns:
        for match in re.finditer(pattern, text):
            if not _NEGATED.search(text[max(0, match.start() - 60) : match.start()]):
                return match
    return None


def factors_in(text: str) -> list[str]:
    """Factors that a plain sentence names, in the order of their mention."""
    found: dict[str, tuple[int, int]] = {}
    for name, patterns in FACTORS.items():
        match = _hit(patterns, text)
        if match:
            found[name] = match.span()
    if "mom_6_1" in found and "mom_12_1" in found and not re.search(r"\b12[-/ ]1\b|twelve|12[- ]?month", text):
        del found["mom_12_1"]
    if "high_52w" in found and "mom_12_1" in found and not re.search(r"winn|momentum|skip", text):
        del found["mom_12_1"]
    if "rev_5d" in found and "rev_21d" in found and not re.search(r"month", text):
        del found["rev_21d"]
    return sorted(found, key=lambda name: found[name][0])


def option_in(slot: str, text: str) -> str:
    """The option of a slot that a plain sentence states; the later one if two are named without a negation; empty if none is."""
    best = (-1, -1, "")
    for order, (option, patterns) in enumerate(SLOTS[slot].items()):
        if option == "none":
            match = next((m for p in patterns if (m := re.search(p, text))), None)
        else:
            match = _hit(patterns, text)
        if match and (match.start(), -order) > (best[0], best[1]):
            best = (match.start(), -order, option)
    return best[2]


def cost_in(text: str) -> float | None:
    """Basis points per side; 0 for 'ignore costs'; None if costs are not decided."""
    if any(re.search(pattern, text) for pattern in _COST_NONE):
        return 0.0
    match = _COST.search(text)
    if match:
        word = match[1].split(" ")[-1]
        number = float(word) if re.fullmatch(r"\d+(?:\.\d+)?", word) else _WORDS.get(word)
        return None if number is None else float(number)
    match = _COST_PERCENT.search(text)
    return float(match[1] or match[2]) * 100 if match else None


def last_date(text: str) -> str:
    """The last date of data that a text allows, ISO; empty if it names none."""
    found: list[tuple[bool, int, str]] = []
    for pattern in _DATES:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            year = int(parts["year"])
            month = int(parts["m"]) if parts.get("m") else _MONTHS[parts["month"].lower()] if parts.get("month") else 12
            before = text[max(0, match.start() - 80) : match.start()]
            if not 1 <= month <= 12 or _START.search(before):
                continue
            longest = calendar.monthrange(year, month)[1]
            day = min(int(parts["day"]), longest) if parts.get("day") else longest
            bounded = bool(_BOUND.search(f"{before} {match[0]}"))
            found.append((bounded, match.end() - match.start(), date(year, month, max(day, 1)).isoformat()))
    return max(found)[2] if found else ""


def tickers_in(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(covered tickers, tickers of a list that the market does not cover), in the order of their mention."""
    named: list[str] = []
    unknown: list[str] = []
    for run in _LIST.finditer(text):
        tokens = re.findall(r"\b[A-Z]{1,5}\b", run[0])
        if sum(token in COVERED for token in tokens) >= 2:
            named += [token for token in tokens if token in COVERED]
            unknown += [token for token in tokens if token not in COVERED]
    if not named:
        lower = text.lower()
        spots = sorted((lower.find(name), ticker) for name, ticker in NAMES.items() if name in lower)
        named = [ticker for _, ticker in spots] if len({t for _, t in spots}) >= 3 else []
    return tuple(dict.fromkeys(named)), tuple(dict.fromkeys(unknown))


def _slots(sentence: str, text: str) -> Iterator[tuple[str, str | float, str]]:
    for slot in SLOTS:
        option = option_in(slot, text)
        if option:
            yield slot, option, sentence
    cost = cost_in(text)
    if cost is not None:
        yield "cost_bps", cost, sentence


def read(message: str) -> Request:
    """Everything that a message states. Questions of the user state nothing."""
    fields: dict[str, object] = {}
    factors: list[str] = []
    quotes: dict[str, str] = {}
    for sentence in sentences(message):
        if sentence.endswith("?"):
            continue
        text = plain(sentence)
        for factor in factors_in(text):
            factors.append(factor)
            quotes.setdefault("factors", "")
            if sentence not in quotes["factors"]:
                quotes["factors"] = f"{quotes['factors']} {sentence}".strip()
        for name, value, quote in _slots(sentence, text):
            fields[name] = value
            quotes["cost" if name == "cost_bps" else name] = quote
        percent = _level(text, str(fields.get("risk", "")))
        if percent is not None:
            fields["risk_value"] = percent / 100
            quotes.setdefault("risk", sentence)
    named, unknown = tickers_in(message)
    universe = _UNIVERSE.search(message)
    return Request(
        factors=tuple(dict.fromkeys(factors)),
        cutoff=last_date(message),
        tickers=named,
        unknown_tickers=unknown,
        universe=universe[0].strip() if universe and not named else "",
        quotes=quotes,
        **fields,  # type: ignore[arg-type]
    )


def _level(text: str, risk: str) -> float | None:
    """A percentage that belongs to a risk rule: in a sentence about one, or of a plausible size on its own."""
    match = _PERCENT.search(text)
    if not match or re.search(r"\b(?:cost|fee|commission|per side|basis)\b", text) or re.search(r"(?:top|highest|upper) 20 ?%", text):
        return None
    value = float(match[1])
    about = re.search(r"stop|drawdown|trail|fall|fell|drop|peak|entry|vol|sector|threshold|level|cut|loss|risk|decline", text)
    return value if (about or (risk and len(text) < 40)) and 1 <= value <= 60 else None


def objections(message: str) -> list[str]:
    """Components that the user says are off."""
    found = []
    for sentence in sentences(message):
        text = plain(sentence)
        if _OBJECTS.search(text):
            found += [component for component, pattern in PIECES.items() if re.search(pattern, text)]
    return list(dict.fromkeys(found))
