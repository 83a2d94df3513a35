"""Queries to value-free signatures: what is asked, in ids of a closed vocabulary, and how many issuers and periods it is about.

Nothing of the query's own words gets into a signature, so nothing can leak: each part is an id of a table, or a word of a fixed frame. Rule R02
looks at the result all the same, since a model may write it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from finassay_rubrics.bank.vocabulary import FALLBACK, metric_title, vocabulary
from finassay_rubrics.metrics.table import table
from finassay_rubrics.metrics.terms import STATEMENTS, definitions, fold, names_in
from finassay_rubrics.validate.context_rules import sentences

Bindings = Mapping[str, Sequence[Mapping[str, Any]]]
ISSUERS: Final = ("no named issuer", "one issuer", "several issuers")
PERIODS: Final = ("no stated period", "one period", "two periods", "several periods")
MAX_PARTS: Final = 24
_LISTED: Final = re.compile(r"\((?:[A-Z]{2,8}\s*:\s*)?[A-Z][A-Z.]{0,5}\)")
"""A ticker after a name, with or without its exchange: no issuer of its own."""
_WHO: Final = re.compile(r"\bwho\b")
"""Where somebody is asked for, `CFO` is an officer and no cash flow."""
_RELATIVE: Final = re.compile(r"\b(?:both|each|those|these|the two|the three|all) ", re.IGNORECASE)
_RANGE: Final = re.compile(r"(\d{4}|\d{2})\s*(?:-|–|to|through)\s*(?:fy\s?'?)?(\d{4}|\d{2})\b", re.IGNORECASE)


@frozen(order=True)
class Part:
    """One thing that is asked: a kind of deliverable, about a metric."""

    deliverable: str
    metric: str = ""
    """Id of the table; `other:NOUN` with a noun of the vocabulary, or `other`; empty where a deliverable stands alone."""

    def __str__(self) -> str:
        return f"{self.deliverable} {{{self.metric}}}" if self.metric else self.deliverable


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
    """Words of a fixed list: `own definition`, `stated assumption`, `stated form`, `population`."""

    @property
    def text(self) -> str:
        """The whole in one canonical line, by which signatures are the same or not."""
        head = f"For {ISSUERS[self.issuers]} and {PERIODS[self.periods]}: {'; '.join(str(part) for part in self.parts)}"
        open_ = (f"with open conventions {{{', '.join(self.conventions)}}}",) if self.conventions else ()
        return "; ".join((head, *open_, *(f"with a {word}" for word in self.frame))) + "."

    @property
    def about(self) -> str:
        """What it is compared by: deliverables and metrics by id and in words, the frame once."""
        parts = [f"{p.deliverable} {p.metric} {metric_title(p.metric) if p.metric else ''}" for p in self.parts]
        return f"{'; '.join(parts)}; {ISSUERS[self.issuers]}; {PERIODS[self.periods]}; {', '.join(self.frame)}"

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.metric for part in self.parts if part.metric))

    @property
    def deliverables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.deliverable for part in self.parts))


def signature_of(query: str, bindings: Bindings) -> Signature:
    """The signature of a query with its bindings, by rule."""
    parts = tuple(sorted(set(_parts(query, bindings))))[:MAX_PARTS]
    listed = {word for match in _LISTED.finditer(query) for word in re.findall(r"[A-Za-z.]+", match[0])}
    names = {str(b.get("canonical") or b["span"]) for b in bindings["entities"]}
    issuers = min(len({name.casefold() for name in names if name not in listed}), 2)
    return framed(query, bindings, parts or (Part(FALLBACK, "other"),), issuers, _periods(bindings))


def framed(query: str, bindings: Bindings, parts: tuple[Part, ...], issuers: int, periods: int) -> Signature:
    """A signature whose conventions and frame follow from the bindings, whoever found its parts."""
    defined = bool(definitions(fold(query)).bodies)
    topics = set() if defined else {str(b.get("canonical")) for b in bindings["convention_topics"]}
    known = {r.topic for m in {part.metric for part in parts} if m in table().metrics for r in table().metrics[m].routes}
    words = (
        ("own definition", defined),
        ("stated assumption", any(not re.search(r"\bdefined as\b", str(b["span"])) for b in bindings["assumptions"])),
        ("stated form", bool(bindings["output_constraints"])),
        ("population", bool(bindings["populations"])),
    )
    frame = tuple(word for word, holds in words if holds)
    return Signature(parts, issuers, periods, tuple(sorted(topics & known)), frame)


def _periods(bindings: Bindings) -> int:
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
    return min(len(years), 3)


def _parts(query: str, bindings: Bindings) -> Iterator[Part]:
    """What each sentence asks; sentences that ask nothing and name nothing, and definitions, give none."""
    folded = STATEMENTS.sub(lambda m: " " * len(m[0]), definitions(fold(query)).rest)
    hidden = _masked(folded, bindings, ("output_constraints", "assumptions"))
    for start, end, _ in sentences(query):
        text = hidden[start:end]
        names = [name for name in names_in(text) if not (_WHO.search(text) and text[name.start : name.end] == "cfo")]
        metrics = sorted({name.id for name in names})
        asking = _without(text, [(name.start, name.end) for name in names]).strip()
        kinds = [d.id for d in vocabulary().deliverables.values() if any(w.search(asking) for w in d.words)]
        asks = bool(kinds) or bool(metrics)
        if not asks:
            continue
        chosen = _chosen(kinds, bool(metrics))
        about = metrics or [_other(_masked(folded, bindings, ("output_constraints", "assumptions", "entities"))[start:end])]
        if not metrics and chosen == [FALLBACK] and "?" not in query[start:end] and about == ["other"]:
            continue
        if metrics and all(kind in ALONE for kind in chosen) and "relevance" not in chosen:
            chosen = [*chosen, FALLBACK]
        for kind in chosen:
            yield from ([Part(kind)] if kind in ALONE else [Part(kind, metric) for metric in about])


ALONE: Final = ("table", "chart", "comparability", "relevance", "disclose_method")
"""Kinds that are about the whole answer, not about a metric."""
WEAK: Final = ("yes_or_no", "compute", "report", "summarize", "list_items", "compare_periods", "compute_change")
"""Kinds that only say how something is asked, where another says what."""


def _chosen(kinds: list[str], has_metric: bool) -> list[str]:
    fitting = [k for k in kinds if has_metric or not vocabulary().deliverables[k].needs_metric]
    if "relevance" in fitting:
        return ["relevance"]
    strong = [k for k in fitting if k not in WEAK]
    if strong:
        return strong[:3]
    asked: tuple[str, ...] = ("compute_change", "compare_periods", "list_items", "summarize", "compute", "yes_or_no")
    order = [k for k in asked if k in fitting]
    return order[:1] or [FALLBACK]


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with the names of metrics replaced, so that a word in a name is not read as what is asked."""
    letters = list(text)
    for start, end in spans:
        letters[start:end] = "§" * (end - start)
    return "".join(letters)


def _masked(folded: str, bindings: Bindings, arrays: Sequence[str]) -> str:
    letters = list(folded)
    for array in arrays:
        for binding in bindings[array]:
            for part in binding.get("parts") or [binding]:
                start, end = part["start"], part["end"]
                letters[start:end] = " " * (end - start)
    return "".join(letters)


def _other(text: str) -> str:
    """`other:NOUN` with the first noun of the vocabulary after which something new begins: the head of what is asked about."""
    nouns = vocabulary().nouns
    words = re.findall(r"[a-z]+(?:-[a-z]+)*|[.,?;:]", text)
    for place, word in enumerate(words):
        if word in nouns and (place + 1 == len(words) or words[place + 1] not in nouns):
            return f"other:{word}"
    return "other"


def checked(parts: Sequence[Part]) -> list[str]:
    """What is not of the vocabulary, in words; for signatures that somebody else wrote."""
    known = vocabulary()
    wrong = [f"no deliverable {p.deliverable!r}" for p in parts if p.deliverable not in known.deliverables]
    for part in parts:
        noun = part.metric.partition(":")[2]
        other = part.metric == "other" or (part.metric.startswith("other:") and noun in known.nouns)
        if part.metric and not other and part.metric not in table().metrics:
            wrong.append(f"no metric {part.metric!r}")
    return wrong
