"""The desk's rules in code: each looks at a rubric's criteria and tells which break it, where and why."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from finassay.api.guidance import Rule, Violation
from finassay.api.verdict import Json

LEVERAGE: Final = re.compile(
    r"\bleverage\b|\bnet debt\b|\bdebt\s*(?:to|/|over)\s*(?:\w+\s+)?(?:ebitda|ebitdar|ffo|capital|equity)\b|\bgearing\b", re.IGNORECASE
)
COVERAGE: Final = re.compile(r"\b(?:interest|fixed[- ]charge|debt[- ]service)\s+cover(?:age)?\b|\btimes interest earned\b", re.IGNORECASE)
HEADROOM: Final = re.compile(r"\bheadroom\b|\bcovenant\b", re.IGNORECASE)
LIQUIDITY: Final = re.compile(r"\bliquidity\b(?!\s+ratio)", re.IGNORECASE)
RATING: Final = re.compile(
    r"\b(?:up|down)grad(?:e[sd]?|ing)\b|\brating (?:trigger|action|outlook|pressure)\b|\b(?:credit )?rating\b.*\b(?:moves?|changes?|at risk)\b",
    re.IGNORECASE,
)
_CASH: Final = re.compile(r"\bcash\b|\bgross\b|\bshort-term investments\b", re.IGNORECASE)
_LEASES: Final = re.compile(r"\bleas(?:e|es|ing)\b|\brents?\b", re.IGNORECASE)
_EARNINGS: Final = re.compile(
    r"\bebitd?ar?\b|\boperating (?:income|profit|cash flow)\b|\bfunds from operations\b|\bffo\b|\bcash from operations\b|\bcash flow\b",
    re.IGNORECASE,
)
_THRESHOLD: Final = re.compile(r"\d")
_DEFINED: Final = re.compile(
    r"\b(?:agreement|definition|defined|indenture|test(?:ed|ing)?|facility|maximum|minimum|threshold)\b", re.IGNORECASE
)
_SOURCES: Final = re.compile(
    r"\bcash\b|\bundrawn\b|\bcommitted\b|\bavailab(?:le|ility)\b|\brevolv(?:er|ing)\b|\bcredit (?:line|facility)\b", re.IGNORECASE
)
_HORIZON: Final = re.compile(
    r"\b(?:12|twelve|18|eighteen|24)[- ]months?\b|\bwithin\b|\bby (?:the end of )?(?:fiscal )?\d{4}\b|\b(?:fiscal |fy)\s?\d{4}\b|\b(?:19|20)\d\d\b"
    r"|\bmaturit(?:y|ies)\b|\byear-end\b",
    re.IGNORECASE,
)
_TRIGGER: Final = re.compile(
    r"\btriggers?\b|\bthresholds?\b|\b(?:above|below|over|under|exceeds?|at least|more than|less than)\b", re.IGNORECASE
)
GRADED: Final = ("numeric", "categorical", "text", "derivation")


def _criteria(product: Mapping[str, Json]) -> Iterator[tuple[str, str, str]]:
    """(id, text, text with everything that the routes say) of graded criteria; what is no criterion is passed over."""
    rows = product.get("criteria")
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, Mapping) or row.get("status") == "unresolved" or row.get("kind") not in GRADED:
            continue
        text = str(row.get("text", ""))
        yield str(row.get("id", "?")) or "?", text, " ".join([text, str(row.get("notes", "")), *_of_routes(row.get("expected"))])


def _of_routes(routes: Json) -> Iterator[str]:
    for route in routes if isinstance(routes, list) else ():
        if isinstance(route, Mapping):
            yield str(route.get("convention", ""))
            yield str(route.get("requires", ""))
            value = route.get("value")
            yield value if isinstance(value, str) else ""


def _rule(id: str, title: str, about: re.Pattern[str], wanted: tuple[tuple[str, re.Pattern[str]], ...]) -> Rule:
    """A rule: criteria whose text is about something must say certain things, in their text or in their conventions."""

    def check(product: Mapping[str, Json]) -> tuple[Violation, ...]:
        found = []
        for name, text, everything in _criteria(product):
            missing = [what for what, pattern in wanted if not pattern.search(everything)]
            if about.search(text) and missing:
                found.append(Violation(id, f"criterion {name}", f"does not say {' nor '.join(missing)}"))
        return tuple(found)

    return Rule(id, "rubric", title, check)


def _one_treatment(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """Leases counted in one leverage criterion and left out in another, without either being a route."""
    sides: dict[str, list[str]] = {"in": [], "out": []}
    for name, text, everything in _criteria(product):
        if LEVERAGE.search(text) and (side := _side(everything)):
            sides[side].append(name)
    if not (sides["in"] and sides["out"]):
        return ()
    return (Violation("CR-R6", f"criterion {sides['out'][0]}", f"leaves leases out, criterion {sides['in'][0]} counts them"),)


_OUT: Final = re.compile(r"\b(?:exclud\w+|without|before|leav\w+ out|not counting|less)\b[^.;]{0,40}\bleas\w+|\bleas\w+(?: \w+){0,2} (?:excluded|left out|not counted)\b", re.IGNORECASE)  # fmt: skip
_IN: Final = re.compile(r"\b(?:includ\w+|with|count\w+|plus|and)\b[^.;]{0,40}\bleas\w+|\bleas\w+(?: \w+){0,2} (?:included|counted)\b", re.IGNORECASE)  # fmt: skip


def _side(text: str) -> str:
    """Empty where the text is silent on leases, or says both as two conventions."""
    out, within = bool(_OUT.search(text)), bool(_IN.search(_OUT.sub(" ", text)))
    return "" if out == within else "out" if out else "in"


RULES: Final = (
    _rule("CR-R1", "leverage says which cash and whether leases count", LEVERAGE, (("which cash it takes off", _CASH), ("how it treats leases", _LEASES))),
    _rule("CR-R2", "coverage names its earnings", COVERAGE, (("which earnings cover", _EARNINGS),)),
    _rule("CR-R3", "headroom has a threshold and a definition", HEADROOM, (("the threshold", _THRESHOLD), ("whose definition or test", _DEFINED))),
    _rule("CR-R4", "liquidity has sources and a horizon", LIQUIDITY, (("which sources", _SOURCES), ("over which horizon", _HORIZON))),
    _rule("CR-R5", "a view on ratings names its trigger", RATING, (("the trigger", _TRIGGER), ("its number", _THRESHOLD))),
    Rule("CR-R6", "rubric", "leases are treated alike throughout", _one_treatment),
)  # fmt: skip
"""All look at the rubric; what a criterion's routes say counts as said."""
