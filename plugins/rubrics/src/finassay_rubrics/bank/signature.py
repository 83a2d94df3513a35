"""Queries to value-free signatures: what is asked, in ids of a closed vocabulary, and how many issuers and periods it is about.

Nothing of the query's own words gets into a signature, so nothing can leak: each part is an id of a table, or a word of a fixed frame. Rule R02
looks at the result all the same, since a model may write it.
"""

import re
from collections.abc import Sequence
from typing import Final

from attrs import frozen

from finassay_rubrics.bank.asking import Bindings, Part, no_issuer, parts_of, stands_in
from finassay_rubrics.bank.vocabulary import FALLBACK, metric_title, vocabulary
from finassay_rubrics.metrics.table import table
from finassay_rubrics.metrics.terms import definitions, fold
from finassay_rubrics.metrics.when import NUMBERS, is_part

ISSUERS: Final = ("no named issuer", "one issuer", "several issuers")
PERIODS: Final = ("no stated period", "one period", "two periods", "several periods")
FORMS: Final = ("stated form", "stated length", "stated sources", "stated audience")
FRAMES: Final = ("own definition", "stated assumption", *FORMS, "population", "part of a year")
MAX_PARTS: Final = 24
_LISTED: Final = re.compile(r"\((?:[A-Z]{2,8}\s*:\s*)?[A-Z][A-Z.]{0,5}\)")
"""A ticker after a name, with or without its exchange: no issuer of its own."""
_PAST: Final = re.compile(
    rf"\b(?:last|past|previous|prior) (\d{{1,2}}|{'|'.join(NUMBERS)}) (?:fiscal )?(?:years?|quarters?)\b", re.IGNORECASE
)
"""Periods that are counted back, not named."""
_FORMS: Final = (
    ("stated sources", re.compile(r"\busing only\b", re.IGNORECASE)),
    ("stated length", re.compile(r"\b(?:words|pages|sentences|paragraphs?|bullets?)\b", re.IGNORECASE)),
    ("stated audience", re.compile(r"^for\b", re.IGNORECASE)),
)
"""Constraints on the answer that are criteria of their own kind; others are of its units and digits."""
_RELATIVE: Final = re.compile(r"\b(?:both|each|those|these|the two|the three|all) ", re.IGNORECASE)
_RANGE: Final = re.compile(r"(\d{4}|\d{2})\s*(?:-|–|to|through)\s*(?:fy\s?'?)?(\d{4}|\d{2})\b", re.IGNORECASE)


@frozen
class Signature:
    """A query without its values."""

    parts: tuple[Part, ...]
    issuers: int
    """Place in `ISSUERS`."""
    periods: int
    """Place in `PERIODS`."""
    conventions: tuple[str, ...] = ()
    """Topics that the query leaves open."""
    frame: tuple[str, ...] = ()
    """Words of `FRAMES`."""

    @property
    def text(self) -> str:
        """The whole in one canonical line, by which signatures are the same or not."""
        head = f"For {ISSUERS[self.issuers]} and {PERIODS[self.periods]}: {'; '.join(str(part) for part in self.parts)}"
        open_ = (f"with open conventions {{{', '.join(self.conventions)}}}",) if self.conventions else ()
        return "; ".join((head, *open_, *(f"with a {word}" for word in self.frame))) + "."

    @property
    def about(self) -> str:
        """What it is compared by: deliverables and metrics by id and in words, the frame once."""
        parts = [f"{p.deliverable} {' '.join(p.ways)} {p.metric} {metric_title(p.metric) if p.metric else ''}" for p in self.parts]
        return f"{'; '.join(parts)}; {ISSUERS[self.issuers]}; {PERIODS[self.periods]}; {', '.join(self.frame)}"

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.metric for part in self.parts if part.metric))

    @property
    def mode(self) -> str:
        """What kinds of things are asked and how, of one issuer or several and in which frame, whatever they are about."""
        kinds = sorted({":".join((part.deliverable, *part.ways)) for part in self.parts})
        return "; ".join((ISSUERS[self.issuers], *kinds, *self.frame))

    @property
    def ways(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(way for part in self.parts for way in part.ways))

    @property
    def deliverables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.deliverable for part in self.parts))


def signature_of(query: str, bindings: Bindings) -> Signature:
    """The signature of a query with its bindings, by rule."""
    listed = {word for match in _LISTED.finditer(query) for word in re.findall(r"[A-Za-z.]+", match[0])}
    named = [(str(b.get("canonical") or b["span"]), b["start"]) for b in bindings["entities"] if not no_issuer(str(b["span"]))]
    # Behind `in` or `from` stands a place, unless nothing else is named.
    issuing = {name for name, start in named if not stands_in(query, start)} or {name for name, _ in named}
    issuers = min(len({name.casefold() for name in issuing if name not in listed}), 2)
    periods = _periods(query, bindings)
    parts = tuple(sorted(set(parts_of(query, bindings, issuers, periods))))
    if len(parts) > MAX_PARTS:  # what is left out must not fit a task that asks for the rest alone
        parts = (*parts[: MAX_PARTS - 1], Part(FALLBACK, "other"))
    return framed(query, bindings, parts or (Part(FALLBACK, "other"),), issuers, periods)


def framed(query: str, bindings: Bindings, parts: tuple[Part, ...], issuers: int, periods: int) -> Signature:
    """A signature whose conventions and frame follow from the bindings, whoever found its parts."""
    defined = bool(definitions(fold(query)).bodies)
    topics = set() if defined else {str(b.get("canonical")) for b in bindings["convention_topics"]}
    known = {r.topic for m in {part.metric for part in parts} if m in table().metrics for r in table().metrics[m].routes}
    forms = [next((name for name, word in _FORMS if word.search(str(b["span"]))), "stated form") for b in bindings["output_constraints"]]
    words = (
        ("own definition", defined),
        ("stated assumption", any(not re.search(r"\bdefined as\b", str(b["span"])) for b in bindings["assumptions"])),
        *((name, name in forms) for name in FORMS),
        ("population", bool(bindings["populations"])),
        ("part of a year", any(is_part(str(b["span"])) for b in bindings["periods"]) or _interim(query, bindings)),
    )
    frame = tuple(word for word, holds in words if holds)
    return Signature(parts, issuers, periods, tuple(sorted(topics & known)), frame)


def _interim(query: str, bindings: Bindings) -> bool:
    letters = list(query)
    for binding in bindings["entities"]:
        letters[binding["start"] : binding["end"]] = " " * (binding["end"] - binding["start"])
    return is_part("".join(letters))


def _periods(query: str, bindings: Bindings) -> int:
    years: set[str] = set()
    for binding in bindings["periods"]:
        span = str(binding["span"])
        if _RELATIVE.match(span):
            continue
        if match := _RANGE.search(span):
            first, last = (int(y[-2:]) for y in match.groups())
            years |= {str(year % 100) for year in range(first, first + min((last - first) % 100, 12) + 1)}
        else:
            quarter = re.search(r"q([1-4])", span, re.IGNORECASE)
            years |= {f"{quarter[0].lower() if quarter else ''}{int(y[-2:])}" for y in re.findall(r"\d{4}|\d{2}(?!\d)", span)}
    counted = [NUMBERS.get(m[1].lower()) or int(m[1]) for m in _PAST.finditer(query)]
    return min(max(len(years), *counted, 0), 3)


def checked(parts: Sequence[Part]) -> list[str]:
    """What is not of the vocabulary, in words; for signatures that somebody else wrote."""
    known = vocabulary()
    wrong = [f"no deliverable {p.deliverable!r}" for p in parts if p.deliverable not in known.deliverables]
    wrong += [f"no way {way!r}" for p in parts for way in p.ways if way not in known.ways]
    for part in parts:
        noun = part.metric.partition(":")[2]
        other = part.metric == "other" or (part.metric.startswith("other:") and noun in known.nouns)
        if part.metric and not other and part.metric not in table().metrics:
            wrong.append(f"no metric {part.metric!r}")
    return wrong
