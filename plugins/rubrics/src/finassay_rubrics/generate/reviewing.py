"""The review: somebody of another family derives every value again, who sees neither the value nor how it was found.

The first look is blind. Where it finds something else, a second look is held to the documents that were quoted; both are recorded.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from attrs import evolve

from finassay.api.errors import FinassayError
from finassay.api.research import Derivation, Desk, DraftCriterion, Question, Researcher
from finassay_rubrics.generate.agreeing import same_words
from finassay_rubrics.generate.criteria import evidence_of, stored_value
from finassay_rubrics.generate.drafts import stops_all
from finassay_rubrics.record.rubric import Criterion, Review, Route

_POWER: Final = {"": 0, "thousands": 3, "millions": 6, "billions": 9}
_FIGURE: Final = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")


def reviewed(reviewer: Researcher, desk: Desk, criterion: Criterion, draft: DraftCriterion, instructions: str = "") -> list[Review]:
    """What the reviewer found for every route; `instructions` are those of the guidance packs. Raises what stops a whole run."""
    if draft.question is None or criterion.status != "grounded":
        return []
    found: list[Review] = []
    for route in criterion.expected:
        convention = f"{route.topic}:{route.route_id}" if route.topic else ""
        words = route.convention if route.topic else ""
        question = evolve(draft.question, convention=convention, convention_text=words, documents=(), instructions=instructions)
        if told := _given_away(question, route):
            base = Review(reviewer=reviewer.id, family=reviewer.family, route_id=route.route_id, verdict="not asked")
            found.append(base.model_copy(update={"reason": f"the question gives the value away: {told!r}"}))
            continue
        found.append(_compared(reviewer, route, _derived(reviewer, question, desk)))
        documents = tuple(dict.fromkeys(e.document for e in route.evidence if e.kind == "source" and e.document))
        if found[-1].verdict != "agrees" and documents:
            again = _compared(reviewer, route, _derived(reviewer, evolve(question, documents=documents), desk))
            found.append(again.model_copy(update={"seen_quotes": True}))
    return found


def disputes(criterion: Criterion, reviews: Sequence[Review]) -> list[str]:
    """Routes on which no look agreed, in words."""
    told = []
    for route in criterion.expected:
        looks = [r for r in reviews if r.route_id == route.route_id]
        if looks and not any(r.verdict == "agrees" for r in looks):
            how = "the families disagree" if looks[0].verdict == "differs" else "only the writer's family finds it"
            told.append(f"route {route.route_id}: {how}: the reviewer {_words(looks[0])}")
    return told


def agreed(criterion: Criterion, route: Route) -> bool:
    return any(r.verdict == "agrees" for r in criterion.review if r.route_id == route.route_id)


def _given_away(question: Question, route: Route) -> str:
    """What in a question is its answer: a figure of the value or of what it was computed from, or the words expected. Empty if nothing is."""
    told = f"{question.text} {question.definition} {question.convention_text} {question.metric}"
    if not isinstance(route.value, Decimal):
        if question.parts:
            return ""  # it is one of the names that the question must give
        words = " ".join(str(route.value).lower().split())
        return words[:60] if len(words.split()) > 3 and words in " ".join(told.lower().split()) else ""
    figures = set(_figures(route))
    return next((shown for shown in _FIGURE.findall(told) if _plain(shown) in figures or _rounded(shown, route.value)), "")


def _rounded(shown: str, value: Decimal) -> bool:
    """Whether a figure with decimals is the value, rounded to them."""
    decimals = len(shown.partition(".")[2])
    if not decimals or len(shown.replace(",", "")) < 4:
        return False
    return abs(abs(value) - Decimal(shown.replace(",", ""))) <= Decimal(5).scaleb(-decimals - 1)


def _figures(route: Route) -> Iterator[str]:
    """The figures that would give a route away. Small ones and years say nothing: they stand in questions for other reasons."""
    values = [abs(route.value)] if isinstance(route.value, Decimal) else []
    values += [abs(one.value) for e in route.evidence for one in e.inputs if isinstance(one.value, Decimal)]
    shown = [f"{value.normalize():f}" for value in values] + [_plain(one.shown) for e in route.evidence for one in e.inputs]
    yield from (s for s in shown if len(s.replace(".", "")) > 2 and not _YEAR.fullmatch(s) and s.strip("0.") not in ("", "1"))


def _plain(shown: str) -> str:
    text = "".join(c for c in shown if c.isdigit() or c == ".")
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def _derived(reviewer: Researcher, question: Question, desk: Desk) -> Derivation:
    try:
        again = reviewer.derive(question, desk)
    except FinassayError as error:
        if stops_all(error):
            raise
        return Derivation(None, reason=f"the reviewer failed: {error}"[:300])
    except Exception as error:  # somebody else's code
        return Derivation(None, reason=f"the reviewer failed: {type(error).__name__}: {error}"[:300])
    return again if isinstance(again, Derivation) else Derivation(None, reason=f"the reviewer gave {type(again).__name__}, no derivation")


def _compared(reviewer: Researcher, route: Route, again: Derivation) -> Review:
    """Agreement within half of the tolerance (R18), in the unit and scale of the route."""
    base = Review(reviewer=reviewer.id, family=reviewer.family, route_id=route.route_id, verdict="not found")
    if again.value is None:
        return base.model_copy(update={"reason": again.reason[:500]})
    try:
        value, scale = stored_value(again)
        base = base.model_copy(update={"evidence": evidence_of(again)})
    except (ValueError, ArithmeticError, IndexError, TypeError) as error:
        return base.model_copy(update={"reason": f"what it gave cannot be read: {error}"[:300]})
    if not isinstance(value, Decimal) or not isinstance(route.value, Decimal):
        how = same_words(str(value), base.evidence, route)
        return base.model_copy(update={"verdict": "agrees" if how else "differs", "value": str(value)[:500], "reason": how})
    if not value.is_finite():
        return base.model_copy(update={"reason": "what it gave is no number"})
    value = value.scaleb(_POWER.get(scale, 0) - _POWER.get(route.scale, 0))
    difference = abs(value - route.value)
    tolerance = route.tolerance
    half = max(tolerance.abs, tolerance.rel * abs(route.value)) / 2 if tolerance else Decimal(0)
    agrees = difference <= half and again.unit == route.unit
    reason = "" if again.unit == route.unit else f"its unit is {again.unit}"[:100]
    return base.model_copy(
        update={"verdict": "agrees" if agrees else "differs", "value": value, "difference": difference, "reason": reason}
    )


def _words(review: Review) -> str:
    if review.verdict == "not asked":
        return f"was not asked: {review.reason}"
    if review.verdict == "not found":
        return f"did not find it ({review.reason})" if review.reason else "did not find it"
    return f"got {review.value}" + (f" ({review.reason})" if review.reason else "")
