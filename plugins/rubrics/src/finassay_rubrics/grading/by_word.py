"""Words, verdicts and sets by stated rules, where no judge of meaning is asked."""

import re
from collections.abc import Sequence
from typing import Final

from attrs import evolve

from finassay_rubrics.grading.locate import words_of
from finassay_rubrics.grading.reading import Read
from finassay_rubrics.grading.score import Found, Outcome
from finassay_rubrics.grading.view import RubricView
from finassay_rubrics.grading.words import ENOUGH, QUALIFIERS, Said, clause_of, contrary, denied, names, negated, opposite, side
from finassay_rubrics.record.rubric import Criterion, Route

RULES: Final = "stated rules"
_LEGAL: Final = re.compile(r"\b(?:inc|co|corp|ltd|llc|plc|n\.?a|s\.?a|ag|company)\b\.?", re.IGNORECASE)
_YES_NO: Final = re.compile(r"^\W*(yes|no)\b", re.IGNORECASE)


def grade_word(view: RubricView, criterion: Criterion, route: Route, read: Read) -> Found:
    """Whether the answer says what a route expects in words."""
    value = str(route.value)
    items = _items(value) if criterion.kind == "set" else []
    if len(items) > 1:
        return _all_of(view, criterion, route, items, read)
    said = _named(view, criterion, route, value, read)
    found = _decided(view, criterion, value, said, read)
    for other in _same_verdict(value) if criterion.kind == "categorical" and found.outcome == "unmet" else ():
        said = _named(view, criterion, route, other, read)
        found = _decided(view, criterion, other, said, read)
        if found.outcome == "met":
            break
    if found.outcome == "met" and route.requires and not _requires(view, criterion, route, said, read):
        return evolve(found, outcome="unmet", why=f"it does not say what this route requires: {route.requires[:120]}")
    return found


def _same_verdict(value: str) -> list[str]:
    """The parts of a verdict that is put both ways: `weak, not adequate`."""
    parts = [p.strip() for p in re.split(r",|;|\bi\.e\.", value) if p.strip()]
    return parts if len(parts) == 2 and negated(parts[0]) != negated(parts[1]) and not _YES_NO.match(value) else []


def _named(view: RubricView, criterion: Criterion, route: Route, value: str, read: Read) -> Said:
    siblings = [
        str(r.value)
        for c in view.rubric.criteria
        if c.obligation_id == criterion.obligation_id and c.id != criterion.id and c.kind == criterion.kind
        for r in c.expected
        if isinstance(r.value, str)
    ]
    siblings += [str(r.value) for r in criterion.expected if r.route_id != route.route_id]
    return names(read.answer, value, siblings, view.entity_words, hint=criterion.text)


def _decided(view: RubricView, criterion: Criterion, value: str, said: Said, read: Read) -> Found:
    why = f"{said.share:.0%} of the words that tell {value[:80]!r} apart"
    if not said.enough or said.sentence is None:
        if criterion.kind == "categorical" and (first := _first_word(value, read)):
            return read.placed(first)
        return Found("unmet", why, said.span, said.text[:400], by=RULES)
    otherwise = _otherwise(view, value, said) if criterion.kind == "categorical" else _denied(value, said)
    if criterion.kind == "derivation" and (lacking := words_of(value) & QUALIFIERS - said.sentence.words):
        otherwise = otherwise or f"it does not say {', '.join(sorted(lacking))}"
    outcome: Outcome = "unmet" if otherwise else "met"
    return read.placed(Found(outcome, otherwise or why, said.span, said.text[:400], by=RULES))


def _first_word(value: str, read: Read) -> Found | None:
    """An answer that begins with yes or no, where that is what is expected."""
    wanted, sentences = _YES_NO.match(value), read.answer.sentences
    told = _YES_NO.match(sentences[0].text) if sentences else None
    if not wanted or not told:
        return None
    right = wanted[1].lower() == told[1].lower()
    one = sentences[0]
    return Found(
        "met" if right else "unmet", f"it says {told[1].lower()}", (one.start, one.start + len(one.text)), one.text[:400], by=RULES
    )


def _denied(value: str, said: Said) -> str:
    if not negated(value) and denied(said.text, said.matched):
        return f"it denies {value[:80]!r}"
    if negated(value) and not re.search(r"\b(?:no|not|never|none|nil|zero|without|neither|nor)\b|n['’]t\b", said.text, re.IGNORECASE):
        return f"it asserts what is denied in {value[:80]!r}"
    return f"it says the opposite of {value[:80]!r}" if opposite(value, said.text, said.matched) else ""


def _otherwise(view: RubricView, value: str, said: Said) -> str:
    """Why a sentence with the words of a verdict says another: it denies what is expected or asserts what is denied, or names another entity first."""
    clause = clause_of(said.text, said.matched)
    answer = _YES_NO.match(said.text) or re.search(r"\|\W*(yes|no)\b", said.text, re.IGNORECASE)
    denies = negated(clause) or (answer is not None and answer[1].lower() == "no")
    sides = side(value), side(clause) or side(said.text)
    if all(sides) and sides[0] != sides[1]:
        return f"it says {sides[1]} what is {sides[0]} in {value[:80]!r}"
    if contrary(value, clause, frozenset(said.matched) & words_of(value)):
        return f"it compares the other way round than {value[:80]!r}"
    if negated(value) != denies and not all(sides):
        return f"it {'denies' if denies else 'asserts'} what is {'not ' if denies else ''}denied in {value[:80]!r}"
    if other := _another(value, said.text):
        return other
    wanted, told = (next((e for text in texts for e in _entities_in(view, text)), "") for texts in ((value,), (clause, said.text)))
    return f"expected {wanted}, said {told}" if wanted and told and told != wanted else ""


_SUBJECT: Final = re.compile(
    r"^\W*(?!(?:It|This|That|These|Those|There|The|They|Which|What|He|She)\b)(?P<name>[A-Z][\w&’'-]{2,}(?: [A-Z][\w&’'-]+)*) (?:is|was|are|were|has|had)\b"
)
_FIRST_OF_SEVERAL: Final = re.compile(
    r"\b(?:largest|biggest|highest|greatest|best|strongest|fastest|smallest|lowest|least|worst|weakest|slowest|most)\b", re.IGNORECASE
)


def _another(value: str, text: str) -> str:
    """Why a sentence gives the first place among several to another name: `Cosendra was the largest`, where `Entrova` is; empty if it does not."""
    wanted, told = _SUBJECT.match(value), _SUBJECT.match(text)
    if not wanted or not told or not (_FIRST_OF_SEVERAL.search(value) and _FIRST_OF_SEVERAL.search(text)):
        return ""
    stem = wanted["name"].lower()[:4]
    return "" if re.search(rf"\b{re.escape(stem)}", text.lower()) else f"expected {wanted['name']}, said {told['name']}"


def _entities_in(view: RubricView, text: str) -> list[str]:
    """Entities in the order in which a text names them, by words that no other entity has."""
    words = {e: set(re.findall(r"\w+", e.lower())) for e in view.entities}
    places = []
    for entity, own in words.items():
        shared = set().union(*(w for other, w in words.items() if other != entity)) if len(words) > 1 else set()
        hits = [m.start() for w in (own - shared or own) for m in [re.search(rf"\b{re.escape(w)}\b", text.lower())] if m]
        if hits:
            places.append((min(hits), entity))
    return [entity for _, entity in sorted(places)]


def _requires(view: RubricView, criterion: Criterion, route: Route, said: Said, read: Read) -> bool:
    """Whether what a route requires, its yardstick, stands in the paragraph of the verdict."""
    one = said.sentence
    if one is None:
        return False
    near = [s for s in read.answer.sentences if s.paragraph == one.paragraph] if one.paragraph >= 0 else list(read.answer.sentences)
    others = [r.requires for r in criterion.expected if r.route_id != route.route_id]
    return names(read.answer, route.requires, others, view.entity_words, within=near).share >= ENOUGH


def _items(value: str) -> list[str]:
    """The members of a set: parted by semicolons or lines, or by commas where each is short and none is a firm's name."""
    parts = [p.strip(" .") for p in re.split(r"[;\n]", value) if p.strip(" .")]
    if len(parts) > 1 or _LEGAL.search(value):
        return parts
    short = [p.strip(" .") for p in re.split(r",|\band\b", value) if p.strip(" .")]
    return short if len(short) > 1 and all(len(p.split()) <= 4 for p in short) else parts


def _all_of(view: RubricView, criterion: Criterion, route: Route, items: Sequence[str], read: Read) -> Found:
    """Every member must be named somewhere, none of them denied."""
    entities = view.entity_words
    found = {item: names(read.answer, item, [o for o in items if o != item], entities, hint=criterion.text) for item in items}
    missing = [item for item, said in found.items() if not said.enough or denied(said.text, said.matched)]
    first = next((said for said in found.values() if said.sentence), Said())
    why = f"not named: {'; '.join(missing)}"[:300] if missing else f"all {len(items)} are named"
    return read.placed(Found("unmet" if missing else "met", why, first.span, first.text[:400], by=RULES))
