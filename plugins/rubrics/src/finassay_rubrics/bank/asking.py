"""What a query asks, clause by clause, as parts of a signature: kind of deliverable, metric, and how the figure is wanted.

A clause that asks and that nothing of the vocabulary names becomes `{other}`, so that what was not understood is never taken for something else.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from finassay_rubrics.bank.vocabulary import FALLBACK, vocabulary
from finassay_rubrics.metrics.terms import STATEMENTS, definitions, fold, names_in
from finassay_rubrics.validate.context_rules import sentences

Bindings = Mapping[str, Sequence[Mapping[str, Any]]]
ALONE: Final = ("table", "chart", "comparability", "relevance", "disclose_method")
"""Kinds that are about the whole answer, not about a metric."""
WEAK: Final = ("yes_or_no", "compute", "report", "summarize", "list_items", "compare_periods", "compute_change")
"""Kinds that only say how something is asked, where another says what."""
_ORDER: Final[tuple[str, ...]] = ("compute_change", "compare_periods", "list_items", "summarize", "compute", "yes_or_no")
_SUBJECTS: Final = ("person", "litigation", "transaction", "terms", "strategy", "classify", "event_date", "count", "risk", "valuation")
"""Kinds that have a matter of their own, and do not go on about the metric before."""
_WHO: Final = re.compile(r"\bwho\b")
"""Where somebody is asked for, `CFO` is an officer and no cash flow."""
_VERBS: Final = (
    "report|compute|calculate|compare|explain|say|state|list|show|give|provide|present|put|set|estimate|forecast|project|assess|evaluate|judge|determine|"
    "identify|describe|discuss|summari[sz]e|rank|recommend|name|quantify|tell|comment|draw|chart|plot|bridge|reconcile|disclose|classify|verify|confirm"
)
_ASKS: Final = r"what|why|how|who|whether|when|is|are|was|were|did|does|do|has|have"
_BREAK: Final = re.compile(
    rf";\s+|(?:,\s*)?\s(?:and|then|but)\s+(?:also\s+|then\s+)?(?=(?:{_VERBS}|{_ASKS}|which)\b)|,\s+(?=(?:{_VERBS}|what|why|how|whether)\b)|:\s+(?=(?:{_ASKS}|which)\b)"
)
"""Where something new begins to be asked within a sentence."""
_ASKING: Final = re.compile(rf"\b(?:{_VERBS}|{_ASKS}|which|find|answer|write|draft|prepare|need|want)\b")
_PRONOUN: Final = re.compile(
    r"\b(?:it|they|them|so)\b|\b(?:this|that|these|those|both|each)\b(?=\W*$|\s+(?:is|was|are|were|has|have|had|did|fell|rose|changed|moved|in|for|of|over)\b)"
    r"|\b(?:its|their|this|that|these|those|both|each|the)\s+(?:\w+ )?(?:figures?|metrics?|numbers?|ratios?|margins?|movements?|changes?|trends?|values?|amounts?"
    r"|increases?|decreases?|declines?|fall|rise|growth|years?|periods?|quarters?|two|three|results?)\b"
)
"""What goes on about the metrics before; `its` and a thing of its own do not."""
_ANSWER: Final = re.compile(
    r"^\W*(?:please )?(?:answer|respond|reply|round|use|assume|note|express|format)\b"
    r"|\b(?:the|your|an?|this|our|following) (?:answers?|questions?|response|solution)\b|\bwhat (?:was|is) asked\b"
)
"""What is about the answer or the question itself, and asks for nothing more."""
_SHARE_OF: Final = re.compile(
    r"§+ (?:was |were |is |are )?as an? (?:%|percent(?:age)?|share|proportion|fraction|multiple) of (?:\w+ ){0,2}§"
)
_OF_WHICH: Final = re.compile(
    r"\b(?:percentage|percent|%|share|proportion|fraction) of (?:\w+ ){0,3}§+ (?:\w+ ){0,4}?(?:is|was|were|are|came|goes|went|represent\w*|due)\b"
)
_TOTAL_OVER: Final = re.compile(r"\btotal\b[^.;?!]{0,80}?\b(?:over|across)\s+(?:the\s+)?(?:fy|fiscal|both|last|past|\d|two|three)")
"""A total of periods, where `total` may be a word of the metric's name."""
_NO_NAME: Final = re.compile(rf"[qh][1-4](?:\s*(?:fy)?\s?'?\d{{2,4}})?|{_VERBS}|{_ASKS}|hello|hi|thanks?", re.IGNORECASE)
_CHATS: Final = re.compile(
    r"^\W*(?:hello|hi|hey|thanks?|thank you|good (?:morning|afternoon|evening|day)|bye|goodbye|great|cheers|dear)\b[^.?!]*"
)
_ELSE: Final = re.compile(
    r"\b(?:jokes?|poems?|poetry|haikus?|songs?|lyrics|limericks?|riddles?|fairy[- ]?tales?|recipes?|translate|(?:system|hidden) prompt"
    r"|(?:previous|prior|above|earlier|your|all) instructions)\b"
)


@frozen(order=True)
class Part:
    """One thing that is asked: a kind of deliverable, about a metric, wanted in some way."""

    deliverable: str
    metric: str = ""
    """Id of the table; `other:NOUN` with a noun of the vocabulary, or `other`; empty where a deliverable stands alone."""
    ways: tuple[str, ...] = ()
    """How the figure is wanted: ids of the vocabulary's ways, in their order."""

    def __str__(self) -> str:
        kind = ":".join((self.deliverable, "+".join(self.ways))) if self.ways else self.deliverable
        return f"{kind} {{{self.metric}}}" if self.metric else kind


@frozen
class _Text:
    """A query in three states of the same length, so that places stay."""

    query: str
    hidden: str
    """Folded, without forms of the answer, assumptions, definitions and names of statements."""
    bare: str
    """The same without entities."""


def parts_of(query: str, bindings: Bindings, issuers: int, periods: int) -> Iterator[Part]:
    """Everything that is asked, clause by clause; sentences that ask nothing and name nothing give none."""
    folded = STATEMENTS.sub(lambda m: " " * len(m[0]), definitions(fold(query)).rest)
    hidden = _masked(folded, bindings, ("output_constraints", "assumptions"))
    text = _Text(query, hidden, _masked(hidden, bindings, ("entities",)))
    several = issuers > 1 and periods <= 1
    before: list[str] = []
    for start, end, _ in sentences(query):
        whole = text.hidden[start:end]
        if "relevance" in _kinds(_asked(whole)):
            yield Part("relevance")
            before = _metrics(whole) or before
            breaks = [(m.start(), m.end()) for m in _BREAK.finditer(whole)]
            clauses = [(start, start + breaks[0][0])] if breaks else []
            clauses = [
                c for c in clauses if "relevance" not in _kinds(_asked(text.hidden[slice(*c)])) and not whole.lstrip().startswith("if")
            ]
        else:
            clauses = list(_clauses(whole, start, end))
        for number, (a, b) in enumerate(clauses):
            found, about = _clause(text, a, b, bindings, before, first=number == 0)
            before = about or before
            yield from (_between(part, several=several) for part in found)


def _clauses(whole: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    at = 0
    for match in _BREAK.finditer(whole):
        if whole[at : match.start()].strip(" ,"):
            yield start + at, start + match.start()
            at = match.end()
    yield start + at, end


def _clause(text: _Text, start: int, end: int, bindings: Bindings, before: Sequence[str], *, first: bool) -> tuple[list[Part], list[str]]:
    """The parts of a clause, and the metrics that it names."""
    clause = text.hidden[start:end]
    metrics = _metrics(clause)
    asking = _asked(clause)
    kinds = _kinds(asking)
    asks = bool(metrics) or bool(kinds)
    if not asks or (_CHATS.match(clause) and not _ASKING.search(clause)):
        return [], []
    chosen = _chosen(kinds, has_metric=bool(metrics) or bool(before))
    about = metrics or _about(text.bare[start:end], clause, chosen, before)
    if not metrics and _of_the_answer(clause, about, chosen, asked=not first or "?" in text.query[start:end]):
        return [], []
    if metrics and all(kind in ALONE for kind in chosen):
        chosen = [*chosen, FALLBACK]
    ways = _ways(asking, text, start, end, bindings)
    roles = _roles(asking, list(dict.fromkeys(n.id for n in names_in(clause))), bindings, start, end)
    found = [
        Part(kind) if kind in ALONE else Part(kind, metric, ordered((*ways, *roles.get(metric, ()))))
        for kind in chosen
        for metric in ([""] if kind in ALONE else about)
    ]
    return found, metrics


def _of_the_answer(clause: str, about: Sequence[str], chosen: Sequence[str], *, asked: bool) -> bool:
    """Whether a clause without a metric asks nothing: it is about the answer's form, or has no word that asks."""
    if about != ["other"] or any(kind in ALONE for kind in chosen):
        return False
    return _ANSWER.search(clause) is not None or (chosen == [FALLBACK] and not asked and not _ASKING.search(clause))


def _metrics(clause: str) -> list[str]:
    return sorted({n.id for n in names_in(clause) if not (_WHO.search(clause) and clause[n.start : n.end] == "cfo")})


def _asked(clause: str) -> str:
    """A clause with each name of a metric as one run of §, so that a word in a name is not read as what is asked."""
    letters = list(clause)
    for name in names_in(clause):
        if not (_WHO.search(clause) and clause[name.start : name.end] == "cfo"):
            letters[name.start : name.end] = "§" * (name.end - name.start)
    return "".join(letters).strip()


def _kinds(asking: str) -> list[str]:
    return [d.id for d in vocabulary().deliverables.values() if any(w.search(asking) for w in d.words)]


def _chosen(kinds: Sequence[str], *, has_metric: bool) -> list[str]:
    fitting = [k for k in kinds if has_metric or not vocabulary().deliverables[k].needs_metric]
    strong = [k for k in fitting if k not in WEAK]
    if strong:
        return strong
    return [k for k in _ORDER if k in fitting][:1] or [FALLBACK]


def _about(bare: str, clause: str, chosen: Sequence[str], before: Sequence[str]) -> list[str]:
    """What a clause without a metric is about: a noun, the metrics before where it goes on about them, or something else."""
    goes_on = not any(kind in _SUBJECTS for kind in chosen)
    other = _other(bare)
    plain = list(chosen) == [FALLBACK] and other == "other" and len(clause.split()) > 5
    if before and goes_on and not plain and (_PRONOUN.search(clause) or len(clause.split()) <= 3):
        return list(before)
    return [other]


def _between(part: Part, *, several: bool) -> Part:
    """Issuers are compared, not periods, where there are several and at most one period."""
    if several and part.deliverable == "compare_periods":
        return Part("compare_entities", part.metric, part.ways)
    return part


def _other(text: str) -> str:
    """`other:NOUN` with the first noun of the vocabulary after which something new begins: the head of what is asked about."""
    nouns = vocabulary().nouns
    found = re.findall(r"[a-z]+(?:-[a-z]+)*|[.,?;:]", text)
    for place, word in enumerate(found):
        if word in nouns and (place + 1 == len(found) or found[place + 1] not in nouns):
            return f"other:{word}"
    return "other"


# -- ways -------------------------------------------------------------------------------------------------------------


def _ways(asking: str, text: _Text, start: int, end: int, bindings: Bindings) -> list[str]:
    masked = _asked(text.bare[start:end])
    found = [way.id for way in vocabulary().ways.values() if any(w.search(masked) for w in way.words)]
    if "direction" in found and re.search(r"\b(?:by )?how much\b|\bby what\b", asking):
        found.remove("direction")
    if "total" not in found and _TOTAL_OVER.search(text.hidden, start, end):
        found.append("total")
    if "part" not in found and _of_part(text.hidden, start, end, bindings):
        found.append("part")
    return found


def _of_part(hidden: str, start: int, end: int, bindings: Bindings) -> bool:
    """Whether a figure is of a place that is named beside the issuer: `revenue in Europe`."""
    names = {str(b.get("canonical") or b["span"]) for b in bindings["entities"]}
    placed = (b for b in bindings["entities"] if start <= b["start"] < end and not no_issuer(str(b["span"])))
    return len(names) > 1 and any(stands_in(hidden, b["start"]) for b in placed)


def no_issuer(name: str) -> bool:
    """Whether a name in capitals is a quarter or a verb that a sentence begins with."""
    return _NO_NAME.fullmatch(name) is not None


def stands_in(text: str, start: int) -> bool:
    """Whether what begins there is a place rather than an issuer, by the word before it."""
    return re.search(r"\b(?:in|from|within|across|outside)\s+(?:the\s+)?$", text[max(0, start - 24) : start].lower()) is not None


def _roles(asking: str, order: Sequence[str], bindings: Bindings, start: int, end: int) -> dict[str, tuple[str, ...]]:
    """Which of two metrics is divided by which."""
    relation = next((str(b["relation"]) for b in bindings["metrics"] if b.get("relation") and start <= b["start"] < end), "")
    over, _, under = relation.partition(" / ")
    if not relation and len(order) == 2:
        if _OF_WHICH.search(asking):
            under, over = order
        elif _SHARE_OF.search(asking):
            over, under = order
    return {over: ("numerator",), under: ("denominator",)} if over and under and over != under else {}


def ordered(ways: Sequence[str]) -> tuple[str, ...]:
    """Each way once, in the vocabulary's order; what it does not have comes last."""
    known = list(vocabulary().ways)
    return tuple(sorted(dict.fromkeys(ways), key=lambda way: (known.index(way) if way in known else len(known), way)))


def _masked(folded: str, bindings: Bindings, arrays: Sequence[str]) -> str:
    letters = list(folded)
    for array in arrays:
        for binding in bindings[array]:
            for part in binding.get("parts") or [binding]:
                start, end = part["start"], part["end"]
                letters[start:end] = " " * (end - start)
    return "".join(letters)


# -- whether anything is asked at all ---------------------------------------------------------------------------------


def asks_nothing(query: str, parts: Sequence[Part]) -> str:
    """Why a query holds no ask of financial research, in words; empty if it does."""
    folded = fold(query)
    if not parts:
        return "asks nothing"
    if found := _ELSE.search(folded):
        return f"asks for something else than financial research: {found[0]!r}"
    if any(part.metric and part.metric != "other" for part in parts):
        return ""
    known = vocabulary()
    matter = known.subjects.search(folded) or not known.nouns.isdisjoint(re.findall(r"[a-z]+", folded))
    if matter and _ASKING.search(folded):
        return ""
    return "names no metric, and no matter of financial research that the vocabulary knows"
