"""What a text states about the basis of a figure: period, annualisation, costs, benchmark, unit."""

import re
from collections.abc import Mapping

from finassay_checks.model import MetricName

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec)[a-z]*"
_DAY = (
    rf"(?:(?:19|20)\d{{2}}-\d{{2}}(?:-\d{{2}})?|(?:\d{{1,2}} )?{_MONTH}\.? (?:\d{{1,2}}, )?(?:19|20)\d{{2}}"
    rf"|\d{{1,2}}[./]\d{{1,2}}[./](?:19|20)\d{{2}}|(?:19|20)\d{{2}})"
)
_PERIOD = re.compile(rf"\b{_DAY}\s{{0,3}}(?:-|–|—|to|through|until|till|\.\.|…|→|and)\s{{0,3}}{_DAY}", re.I)
_ANNUAL = re.compile(
    r"annuali[sz]ed|\ba year\b|per year|per annum|\bp\.?\s?a\b|/yr\b|a[- ]year|\bCAGR\b|annual|yearly|(?:sqrt|√|x|×|\*"
    r"|/)\s*\(?\s*(?:252|365|52|12)\b|\b252\b|365\.25|geometric",
    re.I,
)
_NET = re.compile(
    r"\bnet\b|after (?:trading |transaction |all )*(?:costs?|fees?)|costs? (?:included|deducted)|zero[- ]cost|no (?:trading "
    r"|transaction )*(?:costs?|fees)|without (?:costs|fees)",
    re.I,
)
_GROSS = re.compile(r"\bgross\b|before (?:trading |transaction |all )*(?:costs?|fees?)", re.I)
_UNITS = re.compile(
    r"\b(?:fills?|orders?|executions?|round[- ]trips?|buys?|sells?|purchases|sales|one[- ]way|two[- ]way|closed trades"
    r"|positions? opened|one row (?:per|a|for)|rows?|"
    r"traded value|of equity|of nav|of capital|fraction|percent|usd|dollars?|share of days)\b|[$€£%]",
    re.I,
)
_BENCH = re.compile(r"\b(?:vs\.?|versus|against|relative to|benchmark|S&P ?500|index|SPY|equal[- ]weight)\b", re.I)

COSTED: frozenset[MetricName] = frozenset({"total_return", "annual_return", "annual_vol", "sharpe", "sortino", "max_drawdown"})
SCALED: frozenset[MetricName] = frozenset(
    {"annual_return", "annual_vol", "sharpe", "sortino", "turnover", "trades", "beta", "alpha", "exposure", "win_rate", "fees"}
)


def basis_of(text: str) -> dict[str, str]:
    """What a short text states, each with the words that say so."""
    text = text[:4_000]
    found = {}
    for name, pattern in (("period", _PERIOD), ("annualisation", _ANNUAL), ("unit", _UNITS), ("benchmark", _BENCH)):
        if match := pattern.search(text):
            found[name] = match[0]
    if match := _NET.search(text):
        found["costs"] = f"net: {match[0]}"
    elif match := _GROSS.search(text):
        found["costs"] = f"gross: {match[0]}"
    return found


def document_basis(text: str) -> dict[str, str]:
    """What a whole report states for all its figures: the first period, and a sentence about costs or annualisation that is about
    figures in general."""
    found = {}
    if match := _PERIOD.search(text[:200_000]):
        found["period"] = match[0]
    general = re.compile(
        r"\b(?:all|every|figures?|returns?|results?|metrics?|numbers?|performance)\b[^.\n]{0,80}?\b(?:are|is|net|gross|after|before|annuali[sz]ed)\b[^.\n]{0,120}",
        re.I,
    )
    for match in general.finditer(text[:200_000]):
        stated = basis_of(match[0])
        for name in ("costs", "annualisation"):
            if name in stated:
                found.setdefault(name, stated[name])
    return found


def formula_basis(text: str, metric: MetricName) -> dict[str, str]:
    """A definition elsewhere in the report: `Sharpe = mean daily return / st. dev. x sqrt(252)`."""
    word = {
        "sharpe": "sharpe",
        "sortino": "sortino",
        "annual_vol": "volatility|vol",
        "annual_return": "annual(?:i[sz]ed)? return|cagr",
        "turnover": "turnover",
        "trades": "trades?",
        "exposure": "exposure",
        "win_rate": "win rate|hit rate",
    }.get(metric)
    if word is None:
        return {}
    found: dict[str, str] = {}
    for match in re.finditer(
        rf"\b(?:{word})\b[^.\n|]{{0,40}}?(?:=|:|is the|is|means|uses|counts|annuali[sz]ed|\|)[^\n]{{0,160}}", text[:200_000], re.I
    ):
        stated = basis_of(match[0])
        for name in ("annualisation", "unit", "costs"):
            if name in stated:
                found.setdefault(name, stated[name])
    return found


def is_stated(metric: MetricName, basis: Mapping[str, str]) -> bool:
    """Whether a headline figure states its basis: the period; annualisation or unit where the metric has one; gross or net where
    costs move it (spec 5.4)."""
    if "period" not in basis:
        return False
    if metric in SCALED and not ("annualisation" in basis or "unit" in basis):
        return False
    return metric not in COSTED or "costs" in basis
