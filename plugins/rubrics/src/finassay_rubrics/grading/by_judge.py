"""What the answer means, by a judge of the core's protocol: a model or a panel. Dates and formats never reach it, nor a figure that a program found:
only where the answer gives none and does not even name what is asked is the judge shown the figure, and its quote must hold it.

Each criterion is one question; its routes are the cases. The judge holds the answer between marks and never obeys it; here a program looks up every
quote. One that stands nowhere in the answer, or only in a passage that tries to steer the grading, is asked for once more and then voids the verdict:
that is `judge failed`, never `unmet`. A case that the judge leaves out cannot be assessed.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from attrs import define, field

from finassay.api.dimension import Dimension, JudgedBy
from finassay.api.errors import BudgetError, JudgeError
from finassay.api.grading import Answer, BatchJudge, Document, Judge, JudgeRequest, LabelQuestion, Material, Quote
from finassay.api.verdict import Json
from finassay.models.serving import at_step
from finassay_rubrics.grading.score import Found
from finassay_rubrics.grading.text import MAX_ANSWER
from finassay_rubrics.record.rubric import Criterion, Route

Question = tuple[Criterion, Route]
SAYS: Final = (
    "For each case: does the answer itself say it, in whatever words? It says it only if it asserts it as its own conclusion. It contradicts it if it"
    " asserts the opposite, or both. A mention on the way to another conclusion, a question or a hedge between several is not saying it."
)
FIGURE: Final = (
    "For each case: does the answer give this figure as its answer for it, in whatever unit, scale or rounding? Only the figure that it concludes with"
    " counts: none on the way to another one, in a formula, of another period, company or metric, of a plan, in quoted text, or one that it denies or"
    " takes back. It contradicts the figure if it gives another one for the same thing, or two. Quote the words that hold the figure."
)
"""Where a program finds no figure for what the answer does not name, a model looks for it."""
FAULT: Final = "For each case: does the answer have the fault that the criterion describes?"
_LABELS: Final = ("said", "contradicted", "not said")
_FAULT_LABELS: Final = ("present", "absent")
_OUTCOMES: Final[Mapping[str, str]] = {
    "said": "met", "contradicted": "unmet", "not said": "unmet", "present": "fault present", "absent": "fault absent",
}  # fmt: skip
_QUOTED: Final = ("said", "contradicted", "present")
MAX_QUOTE: Final = 2_000
WHERE: Final = "a1"


@define
class JudgedMeaning:
    """A `Meaning` of the grader. `query` is shown as a fact; it is the rubric's, not the answer's."""

    judge: Judge
    query: str = ""
    steering: list[str] = field(init=False, factory=list)
    """Passages of answers that try to steer whoever grades. They earn and cost nothing."""

    def __call__(self, asked: list[Question], text: str) -> list[Found | None]:
        """What the answer says of each (criterion, route). Raises `BudgetError`; whatever else goes wrong is `judge failed`."""
        shown = text[:MAX_ANSWER]
        by_criterion: dict[str, list[Question]] = {}
        for criterion, route in asked:
            by_criterion.setdefault(criterion.id, []).append((criterion, route))
        material = Material((Document(WHERE, shown),), (), (), ())
        requests = [_request(questions, material, self.query) for questions in by_criterion.values()]
        answers = self._ask(requests, 1)
        again = {n: bad for n, a in enumerate(answers) if isinstance(a, Answer) and (bad := _unfounded(a, requests[n], shown))}
        if again and not self.judge.deterministic:
            numbers = list(again)
            repeated = [_again(requests[n], again[n]) for n in numbers]
            for n, answer in zip(numbers, self._ask(repeated, 2), strict=True):
                answers[n] = answer
        found: dict[tuple[str, str], Found] = {}
        for (name, questions), request, answer in zip(by_criterion.items(), requests, answers, strict=True):
            if isinstance(answer, Answer):
                self.steering += [q.text for q in answer.steering if q.text not in self.steering]
            for _, route in questions:
                found[name, route.route_id] = self._found(answer, request, route, shown)
        return [found[criterion.id, route.route_id] for criterion, route in asked]

    def _ask(self, requests: Sequence[JudgeRequest], attempt: int) -> list[Answer | JudgeError]:
        with at_step("grade", attempt):
            return self._asked(requests)

    def _asked(self, requests: Sequence[JudgeRequest]) -> list[Answer | JudgeError]:
        if isinstance(self.judge, BatchJudge):
            try:
                found = list(self.judge.answer_all(requests))
                if len(found) == len(requests):
                    return found
            except BudgetError:
                raise
            except Exception:
                pass
        return [self._one(request) for request in requests]

    def _one(self, request: JudgeRequest) -> Answer | JudgeError:
        try:
            return self.judge.answer(request)
        except BudgetError:
            raise
        except JudgeError as error:
            return error
        except Exception as error:  # the judge is somebody else's code
            return JudgeError(f"{type(error).__name__}: {error}"[:300])

    def _found(self, answer: Answer | JudgeError, request: JudgeRequest, route: Route, text: str) -> Found:
        by = f"judge {self.judge.id}"
        if not isinstance(answer, Answer):
            return Found("judge failed", str(answer)[:300], by=by)
        label = answer.labels.get(route.route_id)
        if label is None:
            return Found("cannot assess", (answer.reason or "the judge leaves it open")[:300], by=by)
        if label not in _labels(request):
            return Found("judge failed", f"it gave the label {label[:40]!r}", by=by)
        quote = answer.case_quotes.get(route.route_id)
        span = _place(quote, text) if quote else None
        if label in _QUOTED and (span is None or _steers(span, answer, text)):
            return Found(
                "judge failed", "what it quotes is no evidence: it stands nowhere in the answer, or tries to steer the grading", by=by
            )
        why = answer.reason[:300]
        return Found(_OUTCOMES[label], why, span, text[span[0] : span[1]][:400] if span else "", by=by)  # type: ignore[arg-type]


def _request(questions: Sequence[Question], material: Material, query: str) -> JudgeRequest:
    criterion = questions[0][0]
    fault = criterion.kind == "prohibited" or criterion.polarity == "negative"
    cases = {route.route_id: _case(criterion, route, fault=fault) for _, route in questions}
    dimension = Dimension(criterion.id, "criterion", criterion.text[:400], "rubric", JudgedBy.JUDGE, ())
    question = LabelQuestion(
        "meaning", FAULT if fault else FIGURE if criterion.kind == "numeric" else SAYS, cases, _FAULT_LABELS if fault else _LABELS
    )
    return JudgeRequest(dimension, question, material, {"query": query[:4_000]} if query else {})


def _case(criterion: Criterion, route: Route, *, fault: bool) -> str:
    if fault:
        return criterion.text[:600]
    unit = (
        " ".join(part for part in (route.scale if route.scale != "ones" else "", route.unit) if part) if criterion.kind == "numeric" else ""
    )
    said = f"{criterion.text}: {route.value} {unit}".rstrip()
    said += f" (under the convention: {route.convention})" if route.convention else ""
    return (said + (f"; and it names as its yardstick: {route.requires}" if route.requires else ""))[:1_200]


def _labels(request: JudgeRequest) -> tuple[str, ...]:
    return request.question.labels if isinstance(request.question, LabelQuestion) else ()


def _again(request: JudgeRequest, refused: tuple[str, ...]) -> JudgeRequest:
    return JudgeRequest(request.dimension, request.question, request.material, request.facts, request.sample + 1, refused)


def _unfounded(answer: Answer, request: JudgeRequest, text: str) -> tuple[str, ...]:
    """Quotes that are no evidence; an empty text for one that is missing."""
    bad = []
    for case, label in answer.labels.items():
        quote = answer.case_quotes.get(case)
        if label not in _QUOTED or label not in _labels(request):
            continue
        span = _place(quote, text) if quote else None
        if span is None or _steers(span, answer, text):
            bad.append(quote.text[:MAX_QUOTE] if quote else "")
    return tuple(bad)


def _place(quote: Quote, text: str) -> tuple[int, int] | None:
    """Where a quote stands in the answer, spaces and line breaks aside."""
    words = quote.text[:MAX_QUOTE].split()
    if not words:
        return None
    found = re.search(r"\s+".join(re.escape(w) for w in words), text)
    return found.span() if found else None


def _steers(span: tuple[int, int], answer: Answer, text: str) -> bool:
    """Whether a quote lies within a passage that speaks to whoever grades."""
    places = [place for q in answer.steering if (place := _place(q, text))]
    return any(start <= span[0] and span[1] <= end for start, end in places)


def identity_of(judge: Judge) -> dict[str, Json]:
    """What verdicts of a judge depend on besides the code."""
    told = getattr(judge, "identity", None)
    return {"id": judge.id, "version": judge.version, **(dict(told) if isinstance(told, Mapping) else {})}
