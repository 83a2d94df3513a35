"""Ratings of a run's sessions: from stored gradings, or by judges that grade them here."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import define, evolve, field, frozen

from finassay.api.delivery import Package
from finassay.api.dimension import JudgedBy
from finassay.api.errors import JudgeError, UsageError
from finassay.api.grading import Answer, Judge, JudgeRequest
from finassay.api.scorecard import Evaluator, Scorecard
from finassay.catalog.catalog import Catalog
from finassay.config.settings import Choice, RunSettings, parse_value
from finassay.grading.dimensions import DIMENSIONS
from finassay.grading.engine import grade
from finassay.models.serving import serving
from finassay.runs.build import GradingParts, build_grading, model_service
from finassay.runs.folder import RunFolder, SessionKey
from finassay.runs.grade import describe_evaluator, make_package, scorecards
from finassay_agree.ratings import Ratings, of_scorecards

JUDGED = tuple(d.id for d in DIMENSIONS if d.judged_by in (JudgedBy.JUDGE, JudgedBy.JUDGE_BOUNDED))
"""Dimensions whose level a judge gives."""
SHARED = tuple(d.id for d in DIMENSIONS if d.judged_by in (JudgedBy.HYBRID, JudgedBy.JUDGE_BY_RULE))
"""Dimensions of which a judge decides a part."""
FAR = 1_000
"""Samples of one repeat lie below: repeats never share an answer."""


def parse_judge(text: str) -> Choice:
    """`ID KEY=VALUE …` to a choice. Raises `UsageError`."""
    try:
        name, *pairs = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"judge {text!r}: expected ID KEY=VALUE …") from error
    options: dict[str, Any] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise UsageError(f"judge {text!r}: {pair!r} is not KEY=VALUE", hint="For example: --judges 'model model=PROVIDER/NAME' lexical")
        options[key] = parse_value(value)
    return Choice(id=name, options=options)


@define
class Repeat:
    """The same judge, drawn again: its samples have numbers of their own."""

    judge: Any
    number: int
    id: str = field(init=False)
    version: str = field(init=False)
    deterministic: bool = field(init=False)
    answer_all: Any = field(init=False, default=None)
    """Only where the judge has it."""

    def __attrs_post_init__(self) -> None:
        self.id, self.version, self.deterministic = self.judge.id, self.judge.version, self.judge.deterministic
        if callable(getattr(self.judge, "answer_all", None)):
            self.answer_all = self._answer_all

    def answer(self, request: JudgeRequest) -> Answer:
        answer: Answer = self.judge.answer(self._moved(request))
        return answer

    def _answer_all(self, requests: Sequence[JudgeRequest]) -> Sequence[Answer | JudgeError]:
        answers: Sequence[Answer | JudgeError] = self.judge.answer_all([self._moved(r) for r in requests])
        return answers

    def _moved(self, request: JudgeRequest) -> JudgeRequest:
        return evolve(request, sample=request.sample + FAR * self.number)


def repeated(judge: Judge, number: int) -> Judge:
    """The judge itself for 0, else a repeat of it."""
    return Repeat(judge, number) if number else judge


@frozen
class Rater:
    """A judge that grades here."""

    name: str
    parts: GradingParts
    evaluator: Evaluator
    number: int = 0

    def card(self, package: Package, session: str, dimensions: Sequence[str]) -> Scorecard:
        """A scorecard of those dimensions. `BudgetError` goes through."""
        parts = self.parts
        judge = repeated(parts.judge, self.number) if parts.judge else None
        with serving(session):
            return grade(package, parts.checks, judge, parts.reader, self.evaluator, session, by_turn=False, only=dimensions)


def raters(folder: RunFolder, settings: RunSettings, judges: Sequence[str], repeats: int) -> list[Rater]:
    """A rater for each judge, or for each repeat of the one. Raises `UsageError`, `CatalogError`, `PreflightError`."""
    catalog = Catalog.installed()
    made = []
    for text in judges:
        chosen = settings.model_copy(update={"judge": parse_judge(text)})
        parts = build_grading(catalog, chosen, model_service(catalog, chosen, folder.root))
        made.append(Rater(text, parts, describe_evaluator(parts, chosen.judge.id)))
    if repeats > 1:
        (one,) = made
        return [evolve(one, name=f"{one.name}, repeat {number + 1}", number=number) for number in range(repeats)]
    return made


def graded(
    folder: RunFolder, keys: Sequence[SessionKey], made: Sequence[Rater], dimensions: Sequence[str], done: Callable[[str, str], None]
) -> list[Ratings]:
    """What each rater says of each session; gradings that the run already holds are taken from there."""
    tasks = folder.tasks()
    cards: list[dict[str, Scorecard]] = [{} for _ in made]
    for key in keys:
        stored = {card.evaluator.hash: card for card in scorecards(folder, key)}
        package: Package | None = None
        for rater, own in zip(made, cards, strict=True):
            known = stored.get(rater.evaluator.hash) if rater.number == 0 else None
            if known is None:
                package = package or make_package(folder, tasks[key.task], folder.state(key))
                known = rater.card(package, key.id, dimensions)
            own[key.id] = known
            done(key.id, rater.name)
    return [of_scorecards(rater.name, own) for rater, own in zip(made, cards, strict=True)]


def stored_ratings(folder: RunFolder, keys: Sequence[SessionKey]) -> list[Ratings]:
    """A `Ratings` for each evaluator whose gradings the run holds, those of most sessions first."""
    found: dict[str, dict[str, Scorecard]] = {}
    for key in keys:
        for card in scorecards(folder, key):
            found.setdefault(card.evaluator.hash, {})[key.id] = card
    ordered = sorted(found.items(), key=lambda item: -len(item[1]))
    return [of_scorecards(_named(next(iter(cards.values())).evaluator), cards) for _, cards in ordered]


def _named(evaluator: Evaluator) -> str:
    options = evaluator.judge_identity.get("options")
    told = " ".join(f"{k}={v}" for k, v in options.items()) if isinstance(options, Mapping) else ""
    return " ".join(part for part in (evaluator.judge_name or "no judge", told, f"[{evaluator.hash[:8]}]") if part)
