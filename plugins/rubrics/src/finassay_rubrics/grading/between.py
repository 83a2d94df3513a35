"""Criteria that compare issuers: which of them is chosen, and by how much they differ.

They are told by what they depend on: figures of two or more issuers. Other criteria are none of this module's.
"""

import re
from typing import Final

from attrs import evolve

from finassay_rubrics.grading.compare import accepts
from finassay_rubrics.grading.numbers import Number, numbers
from finassay_rubrics.grading.reading import Read
from finassay_rubrics.grading.score import Found
from finassay_rubrics.grading.view import RubricView, numeric_routes
from finassay_rubrics.record.rubric import Criterion, Route

RULES: Final = "stated rules"
_HIGH: Final = (
    r"higher|highest|greater|greatest|larger|largest|bigger|biggest|stronger|strongest|exceed\w*|beats?|outperform\w*|tops|topped|ahead|above"
    r"|leads|led|wins|won|surpass\w*|faster|fastest|superior|better"
)
_LOW: Final = r"lower|lowest|smaller|smallest|weaker|weakest|below|behind|trail\w*|lags?|lagg\w+|slower|slowest|inferior|worse|short of"
_COMPARES: Final = re.compile(
    rf"\b(?:(?P<high>{_HIGH})|(?P<low>{_LOW}))\b(?! than (?:in\b|a year|the (?:prior|previous|year)|last\b))", re.IGNORECASE
)
_MOST: Final = re.compile(r"\b(?:\w{3,}est|leads|tops|topped)\b", re.IGNORECASE)
_YARDSTICK: Final = re.compile(
    r"\b(?:vs\.?|versus|than|against|over|above|below|behind|unlike|(?:compared|relative|next) (?:to|with))\s+(?:that of\s+)?(?:the\s+)?$",
    re.IGNORECASE,
)
_NOT: Final = re.compile(r"\b(?:not|never|no)\b|n['’]t\b", re.IGNORECASE)
_NEAR_NOT: Final = 20
_ASKS_LOW: Final = re.compile(r"\b(?:lower|lowest|smaller|smallest|slower|slowest)\b", re.IGNORECASE)
_DIFFERS: Final = re.compile(r"\bby how much\b.*\bdiffers?\b|\bdifference\b", re.IGNORECASE)
_SAID: Final = re.compile(
    rf"\b(?:by|gap|difference|spread|differ(?:s|ed)?(?: by)?|lead|advantage|margin)\b[^.;:|\d]{{0,60}}[|\s]*(?:of|was|is|:)?[^.;:\d]{{0,12}}$|\b(?:{_HIGH}|{_LOW})\s+by\b[^.;:\d]*$",
    re.IGNORECASE,
)
_SAID_AFTER: Final = re.compile(
    rf"^\W*(?:percentage |basis )?(?:points?|pp|ppts?|bps?)?\s*(?:{_HIGH}|{_LOW}|apart|difference|gap)\b", re.IGNORECASE
)
_POINTS: Final = re.compile(r"^[\s-]?points?\b", re.IGNORECASE)
_IN_POINTS: Final = re.compile(r"\b(?:points?|pp|ppts?)\b", re.IGNORECASE)
_RANKS: Final = frozenset(["best", "most", "first", "next", "last"])
"""Words of names that are said of anybody."""
_ANSWER: Final = re.compile(r"^\W*(?:the )?answer\b(?: is)?[\s:*]*", re.IGNORECASE)


def compared(view: RubricView, criterion: Criterion) -> list[Criterion]:
    """The figures of two or more issuers that a criterion compares; nothing where it is about one issuer."""
    if criterion.entity:
        return []
    own = [c for c in view.rubric.criteria if c.id in criterion.depends_on and c.kind == "numeric" and c.entity]
    return own if len({c.entity for c in own}) > 1 else []


def grade_chosen(view: RubricView, criterion: Criterion, route: Route, read: Read) -> Found | None:
    """Whether an answer chooses the issuer that is expected; None where the criterion asks for no choice among issuers."""
    issuers = list(dict.fromkeys(c.entity for c in compared(view, criterion)))
    if route.value not in issuers:
        return None
    low = bool(_ASKS_LOW.search(criterion.text))
    said = [
        (chosen, one)
        for one in (*read.answer.sentences, *read.answer.rows)
        if (chosen := _chosen(one.text, issuers, low=low)) or (chosen := _bare(one.text, issuers))
    ]
    if not said:
        return Found("unmet", f"it says of none of {', '.join(issuers)} that it is the one asked for"[:300], by=RULES)
    other = next(((c, s) for c, s in said if c != route.value), None)
    chosen, one = other or said[0]
    why = f"expected {route.value}, said {chosen}" if other else f"it says {chosen}"
    return read.placed(Found("unmet" if other else "met", why, (one.start, one.start + len(one.text)), one.text[:400], by=RULES))


def _chosen(text: str, issuers: list[str], *, low: bool) -> str:
    """The issuer that a sentence calls the highest, or with `low` the lowest; empty where it says of none."""
    places = _places(text, issuers)
    masked = list(text)
    for start, end, _ in places:
        masked[start:end] = "§" * (end - start)  # one called Best is not called the best
    plain = "".join(masked)
    for hit in _COMPARES.finditer(plain):
        before = [(s, who) for s, e, who in places if e <= hit.start() and not _YARDSTICK.search(plain[:s])]
        after = [(s, who) for s, _, who in places if s >= hit.end() and not _YARDSTICK.search(plain[:s])]
        against = {who for s, _, who in places if _YARDSTICK.search(plain[:s]) or s > hit.end()}
        subject = before[-1][1] if before else after[0][1] if after and hit["low" if low else "high"] else ""
        if len(issuers) > 2:
            if subject and bool(hit["low"]) == low and _MOST.fullmatch(hit[0]):
                return subject
            continue
        if not subject and len(against) == 1:
            subject = _other(issuers, next(iter(against)))
        if subject:
            turned = (bool(hit["low"]) != low) != bool(_NOT.search(plain[max(0, hit.start() - _NEAR_NOT) : hit.start()]))
            return _other(issuers, subject) if turned else subject
    return ""


def _other(issuers: list[str], one: str) -> str:
    return next(i for i in issuers if i != one)


def _bare(text: str, issuers: list[str]) -> str:
    """The issuer of a sentence that only names it: `Nike.`, `Answer: Nike, by 3 points`."""
    lead = _ANSWER.match(text)
    begin = lead.end() if lead else 0
    first = next(iter(_places(text, issuers)), None)
    if first is None or text[begin : first[0]].strip(" *_\"'("):
        return ""
    rest = text[first[1] :].strip(" *_\"'),\n")
    return first[2] if rest in (".", "!") or (lead and not rest) or re.match(r"by\b", rest) else ""


def _places(text: str, issuers: list[str]) -> list[tuple[int, int, str]]:
    """Where issuers are named: by their whole name, or by a word of it that no other has."""
    found: list[tuple[int, int, str]] = []
    for who in issuers:
        shared = {w for other in issuers if other != who for w in other.split()}
        telling = [w for w in who.split() if w not in shared and len(w) > 3 and not _COMPARES.search(w) and w.lower() not in _RANKS]
        names = [rf"(?i:{re.escape(who)})", *map(re.escape, telling)]
        found += [(m.start(), m.end(), who) for m in re.finditer(rf"(?<!\w)(?:{'|'.join(names)})(?!\w)", text)]
    return sorted(found)


def grade_difference(view: RubricView, criterion: Criterion, route: Route, read: Read, found: Found) -> Found:
    """A difference of issuers' figures that was found unmet: looked for again where figures are said as differences, operands left aside."""
    parts = compared(view, criterion)
    if found.outcome != "unmet" or not parts or not _DIFFERS.search(criterion.text):
        return found
    wanted = evolve(view.expected(route), value=abs(view.expected(route).value))
    operands = [view.expected(r) for c in parts for r in numeric_routes(c)]
    fits: list[tuple[int, Number, str]] = []
    others: list[Number] = []
    for one in (*read.answer.sentences, *read.answer.rows):
        for n in one.numbers or numbers(one.text):
            at = n.start - (one.start if one.numbers else 0)
            end = at + n.end - n.start
            if not _said(one.text, at, end, n) or any(accepts(n, o, view.profile) for o in operands):
                continue
            number = evolve(n, value=abs(n.value))
            if number.kind == "plain" and wanted.kind == "points" and (_POINTS.match(one.text[end:]) or _IN_POINTS.search(one.text[:at])):
                number = evolve(number, kind="points")
            if accepts(number, wanted, view.profile):
                fits.append((one.start + at, n, one.text))
            elif _said_apart(one.text, at, end):
                others.append(n)
    if not fits or others:
        return found
    start, number, text = fits[0]
    why = f"expected {route.value} {route.unit}".strip()
    return read.placed(Found("met", why, (start, start + len(number.text)), text[:400], number.text, "program"))


def _said(text: str, start: int, end: int, number: Number) -> bool:
    return number.kind in ("points", "basis points") or bool(_POINTS.match(text[end : end + 40])) or _said_apart(text, start, end)


def _said_apart(text: str, start: int, end: int) -> bool:
    """Whether the words around a figure call it a difference; points alone may as well be a change over time."""
    return bool(_SAID.search(text[max(0, start - 120) : start])) or bool(_SAID_AFTER.match(text[end : end + 40]))
