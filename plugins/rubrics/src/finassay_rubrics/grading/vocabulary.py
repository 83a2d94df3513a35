"""Words of finance that the program knows: what moves, what is an average, what stands for what. Data, not rules."""

import re
from collections.abc import Iterable
from typing import Final

CHANGE: Final = re.compile(
    r"\b(chang\w*|differenc\w*|delta|growth|grew|grow(?:s|ing)?|increas\w*|decreas\w*|declin\w*|fell|fall\w*|drop\w*|rose|ris\w*|slip\w*|eas(?:ed|es|ing)|lower\w*"
    r"|higher|improv\w*|worsen\w*|widen\w*|narrow\w*|contract(?:ed|ing|ion|s)?|expand\w*|up|down|less|more|added|lost|gain\w*|effect|year[- ]on[- ]year"
    r"|year[- ]over[- ]year|yoy|cagr|compound\w*)\b",
    re.IGNORECASE,
)
_BALANCE: Final = r"(?:assets?|equity|inventor\w+|receivables?|payables?|property|pp&e|capital|shares?|balances?|loans?|deposits?|debt|price|selling|revenue per|rate|tonnage)"
_OF_PERIODS: Final = r"(?:\b(?:\d{1,2}|two|three|four|five|six|seven|eight|nine|ten|multi)[\s-](?:year|yr|quarter|month)s?[’']?\s+)"
"""Before an average that is one over periods, whatever follows."""
AVERAGE: Final = re.compile(
    rf"{_OF_PERIODS}average\b|(?<!weighted )(?<!weighted-)\b(average\w*|mean)\b(?!\s+(?:of\s+)?(?:(?:total|net|common|fixed|invested|shareholders['’]?|stockholders['’]?|the|its|our)\s+){{0,3}}{_BALANCE}(?!\s+(?:turnover|turns|days|margin|growth)))",
    re.IGNORECASE,
)
"""An average over periods; `average total assets` are a denominator."""
TRAILS: Final = re.compile(
    r"^[\s)*]*(?:turns?\s+|points?\s+)?(?:(?:year[- ]on[- ]year|year[- ]over[- ]year|yoy)\s+)?(?:higher|lower|more than|less than|increase|decrease|rise|decline|drop|gain|fall|growth)\b(?!\s+(?:in|of) the)",
    re.IGNORECASE,
)
"""Behind the size of a move: `0.10x higher`, `an 8% increase`."""
ALTERNATIVE: Final = re.compile(
    r"\b(had (?:i|we)|if (?:we|i|one|you)|would (?:be|have)|alternativ\w+|without|exclud\w+|leaving out|left out|instead|on the other|under the other|otherwise)\b",
    re.IGNORECASE,
)
LOSS: Final = re.compile(r"\b(?:loss(?:es)?|deficit|outflow|shortfall|used (?:in|for|by)|burn(?:ed|t)?|negative)\b", re.IGNORECASE)
PROFIT: Final = re.compile(r"\b(?:income|profit|earnings|earned|inflow|surplus|provided by|generated|gain)\b", re.IGNORECASE)
OUTFLOW: Final = re.compile(
    r"\b(?:capex|capital (?:expenditures?|spending)|purchases? of|dividends?|repurchases?|buybacks?|repayments?|payments?|paid|expenses?|costs?|charges?|spending|taxes)\b",
    re.IGNORECASE,
)
"""What flows out anyway: brackets around it are no sign."""
LOWER_IS_BETTER: Final = frozenset(
    [
        "loss",
        "debt",
        "leverage",
        "cost",
        "expense",
        "combined",
        "churn",
        "delinquency",
        "charge-off",
        "provision",
        "dso",
        "dio",
        "inventory",
        "overdue",
        "default",
        "efficiency",
        "deficit",
        "tax",
    ]
)
"""Words of metrics that improve by falling."""
SYNONYMS: Final[dict[str, tuple[str, ...]]] = {
    "leverage": ("net", "debt", "ebitda"),
    "multiple": ("net", "debt", "ebitda"),
    "fcf": ("free", "cash", "flow"),
    "cfo": ("operating", "cash", "flow"),
    "ocf": ("operating", "cash", "flow"),
    "sale": ("revenue",),
    "turnover": ("revenue",),
    "payout": ("dividend", "share"),
    "earning": ("income", "profit"),
    "profit": ("income", "earning"),
    "income": ("profit", "earning"),
    "capex": ("capital", "expenditure", "spending"),
    "spending": ("expenditure",),
    "expenditure": ("spending",),
    "sg&a": ("selling", "general", "administrative", "expense"),
    "r&d": ("research", "development", "expense"),
    "d&a": ("depreciation", "amortization"),
    "pp&e": ("property", "plant", "equipment"),
    "ppe": ("property", "plant", "equipment"),
    "cogs": ("cost", "good", "sold"),
    "roa": ("return", "asset"),
    "roe": ("return", "equity"),
    "roic": ("return", "invested", "capital"),
    "roce": ("return", "capital", "employed"),
    "eps": ("earning", "share", "per"),
    "dso": ("day", "sale", "outstanding"),
    "dpo": ("day", "payable", "outstanding"),
    "dio": ("day", "inventory", "outstanding"),
    "ccc": ("cash", "conversion", "cycle"),
    "nim": ("net", "interest", "margin"),
    "cagr": ("compound", "annual", "growth", "rate"),
    "nii": ("net", "interest", "income"),
    "yoy": ("growth",),
    "headcount": ("employee",),
    "workforce": ("employee",),
    "runway": ("cash", "last"),
    "amortisation": ("amortization",),
    "labour": ("labor",),
    "ffo": ("fund", "operation"),
    "affo": ("adjusted", "fund", "operation"),
    "noi": ("net", "operating", "income"),
    "noplat": ("net", "operating", "profit", "tax"),
    "nopat": ("net", "operating", "profit", "tax"),
    "arr": ("annual", "recurring", "revenue"),
    "nrr": ("net", "revenue", "retention"),
    "arpu": ("average", "revenue", "user", "per"),
    "rpo": ("remaining", "performance", "obligation"),
    "aum": ("asset", "under", "management"),
    "nav": ("net", "asset"),
    "cet": ("common", "equity", "tier", "capital"),
    "nco": ("net", "charge-off"),
    "npl": ("nonperforming", "non-performing", "loan"),
    "ltv": ("loan", "to"),
    "opex": ("operating", "expense"),
    "ebit": ("operating", "income", "profit"),
    "ppop": ("pre-provision", "profit"),
    "etr": ("effective", "tax", "rate"),
    "asm": ("available", "seat", "mile", "capacity"),
    "casm": ("cost", "available", "seat", "mile"),
    "gmv": ("gross", "merchandise", "volume"),
    "cc": ("constant", "currency", "exchange", "rate"),
    "cer": ("constant", "exchange", "rate", "currency"),
    "fx": ("foreign", "currency", "exchange"),
    "forex": ("foreign", "currency", "exchange"),
}
_ALIKE: Final = (
    ("lag", "delay", "delayed", "lagged", "late"),
    ("adverse", "unfavorable", "unfavourable", "headwind"),
    ("favorable", "favourable", "tailwind"),
    ("congestion", "bottleneck"),
    ("elevated", "higher"),
    ("inflation", "inflationary"),
    ("layoff", "redundancy"),
    ("writedown", "write-down", "impairment", "writeoff", "write-off"),
    ("divestiture", "divestment", "disposal"),
    ("litigation", "lawsuit"),
    ("employee", "staff", "personnel"),
    ("wage", "salary", "compensation"),
    ("shipment", "volume"),
    ("client", "customer"),
    ("shipping", "freight"),
    ("ratified", "approved"),
)
"""Words that say the same."""
for _group in _ALIKE:
    for _word in _group:
        SYNONYMS[_word] = (*SYNONYMS.get(_word, ()), *(other for other in _group if other != _word))
"""Words that stand for others, in the stems of `words_of`."""


def stem(word: str) -> str:
    """A verb without its ending: opened and opening, closed and closing."""
    return re.sub(r"(?:ing|ed|e)$", "", word) if len(word) > 4 else word


def spread(words: Iterable[str]) -> frozenset[str]:
    """Words with their parts and those that they stand for: `capex/revenue` speaks of capital expenditure and of revenue."""
    found: set[str] = set()
    for word in words:
        for part in (word, *re.split(r"[-/]", word)) if "-" in word or "/" in word else (word,):
            if part:
                found.update((part, stem(part)))
                found.update(SYNONYMS.get(part, ()))
    return frozenset(found)


def initials_of(text: str) -> dict[str, frozenset[str]]:
    """The acronyms that a text's words can be shortened to, each with the words: `funds from operations per share` to `ffo`."""
    tokens = [t.lower() for t in re.findall(r"[A-Za-z]+", text)][:MAX_TOKENS]
    found: dict[str, frozenset[str]] = {}
    for run in (tokens, [t for t in tokens if t not in _SMALL]):
        for first in range(len(run)):
            for length in range(3, 6):
                part = run[first : first + length]
                if len(part) == length and part[0] not in _SMALL and part[-1] not in _SMALL:
                    found.setdefault("".join(t[0] for t in part), frozenset(_singular(t) for t in part if t not in _SMALL))
    return found


MAX_TOKENS: Final = 40
_SMALL: Final = frozenset(
    ["a", "an", "and", "as", "at", "by", "for", "from", "in", "of", "on", "or", "per", "states", "that", "the", "to", "was", "with"]
)


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
