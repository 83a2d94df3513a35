"""Grading one session: every dimension gets a verdict, then equations (3) to (6) make the scorecard.

What a judge is asked goes to it in two lots: the questions that programs leave open, then, when programs have decided what they can, the
levels. A judge that takes many questions together sees each lot as a whole.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from attrs import evolve, frozen

from finassay.api.delivery import Package
from finassay.api.dimension import Dimension, JudgedBy
from finassay.api.grading import Answer, Check, CheckBrief, Judge, LabelQuestion, Reader
from finassay.api.scorecard import Evaluator, Graded, Reported, Scorecard, Steering, TableReading, TurnScore, Unread
from finassay.api.verdict import Measured, NotApplicable, Scored, Unscored, Verdict
from finassay.grading.asking import Asker
from finassay.grading.clock import CheckTimeoutError, Clock
from finassay.grading.dimensions import DIMENSIONS
from finassay.grading.elicitation import elicitation
from finassay.grading.guidance import NONE, SessionGuidance
from finassay.grading.measured import MEASURES
from finassay.grading.outcomes import OUTCOMES
from finassay.grading.redaction import clean
from finassay.grading.score import category_means, failed_vetoes, quality, totals

MAX_UNREAD: Final = 200
MAX_TABLES: Final = 200
MAX_COLUMNS: Final = 40


def grade(
    package: Package,
    checks: Mapping[str, Check],
    judge: Judge | None,
    reader: Reader | None,
    evaluator: Evaluator,
    session: str,
    *,
    by_turn: bool = True,
    clock: Clock | None = None,
    only: Collection[str] | None = None,
    guidance: SessionGuidance = NONE,
) -> Scorecard:
    """The scorecard of a finished session.

    `checks` may be keyed by anything; each serves the dimension that it names. Never raises because of a check, a reader or a judge:
    what failed is `Unscored` with the reason. Only `BudgetError` goes through: what is half paid for is no scorecard. `only` names the
    dimensions that are wanted: no check runs and no judge is asked for the others. `guidance` adds to what the judge is told, and questions
    of its own that count for nothing. Raises `ValueError` if the session has not ended.
    """
    if package.end_reason is None:
        raise ValueError("a session is graded when it has ended")
    clock = clock or Clock()
    by_dimension = {check.dimension: check for check in checks.values() if only is None or check.dimension in only}
    graded = OUTCOMES[package.end_reason].graded
    verdicts: dict[str, Verdict]
    steering: tuple[Steering, ...] = ()
    reported: tuple[Reported, ...] = ()
    if graded == "none":
        verdicts = {one.id: Unscored("not graded", f"the session ended with {package.end_reason}") for one in DIMENSIONS}
    else:
        wanted = tuple(one for one in DIMENSIONS if only is None or one.id in only)
        grader = _Grader(package, by_dimension, clock, *_asker(judge, reader, package, guidance.words), wanted)
        graded_now = grader.verdicts()
        verdicts = {one.id: graded_now.get(one.id, Unscored("not graded", "not asked for")) for one in DIMENSIONS}
        reported = grader.reported(guidance.questions) if only is None else ()
        steering = tuple(grader.asker.steering.values()) if grader.asker else ()
    result = totals(DIMENSIONS, verdicts, package.end_reason)
    return Scorecard(
        session=session,
        evaluator=evaluator,
        end_reason=package.end_reason,
        grading=graded,
        verdicts=tuple(Graded.of(name, verdict) for name, verdict in verdicts.items()),
        categories=result.categories,
        quality=result.quality,
        passed=result.passed,
        failed_vetoes=result.failed_vetoes,
        score=result.score,
        accepted=result.accepted,
        complete=not result.incomplete,
        incomplete=result.incomplete,
        by_turn=_trajectory(package, by_dimension.values(), verdicts, clock) if by_turn and graded != "none" else (),
        elicitation=elicitation(package.task.belief, package.conversation, verdicts, package.confirmed),
        unread=_unread(package, verdicts),
        tables=tuple(_tables(verdicts))[:MAX_TABLES],
        steering=tuple(Steering(clean(one.quote, 500), clean(one.where, 300), one.by) for one in steering),
        reported=reported,
    )


def _unread(package: Package, verdicts: Mapping[str, Verdict]) -> tuple[Unread, ...]:
    """Files that were not taken, and those that checks tell in their fact `unread`; one reason a file, bounded."""
    found = {r.path: Unread(clean(r.path, 300), f"not taken: {clean(r.reason, 200)}") for r in package.tree.rejected[:MAX_UNREAD]}
    for entry in _told(verdicts, "unread"):
        path = str(entry.get("file", ""))
        found.setdefault(path, Unread(clean(path, 300), clean(str(entry.get("reason", "")), 200)))
    return tuple(found.values())[:MAX_UNREAD]


def _tables(verdicts: Mapping[str, Verdict]) -> Iterator[TableReading]:
    """How checks tell in their fact `tables` that they read delivered tables, bounded."""
    for entry in _told(verdicts, "tables"):
        columns, reasons = entry.get("columns"), entry.get("reasons")
        mapping = list(columns.items())[:MAX_COLUMNS] if isinstance(columns, Mapping) else []
        yield TableReading(
            where=clean(str(entry.get("where", "")), 300),
            role=clean(str(entry.get("role", "")), 60),
            columns={clean(str(name), 60): clean(str(column), 100) for name, column in mapping},
            reasons=tuple(clean(str(r), 200) for r in reasons[:12]) if isinstance(reasons, list | tuple) else (),
            used=entry.get("used") is True,
            ambiguous=entry.get("ambiguous") is True,
        )


def _told(verdicts: Mapping[str, Verdict], name: str) -> Iterator[Mapping[str, object]]:
    """The entries of a fact that is a list of objects, from whichever verdicts have it."""
    for verdict in verdicts.values():
        told = verdict.facts.get(name) if isinstance(verdict, Scored) else None
        yield from (entry for entry in told if isinstance(entry, Mapping)) if isinstance(told, list | tuple) else ()


def _asker(judge: Judge | None, reader: Reader | None, package: Package, guidance: str) -> tuple[Asker | None, Unscored]:
    """The judge with its material, or what takes the place of its verdicts."""
    if judge is None:
        return None, Unscored("judge unavailable", "no judge was chosen")
    try:
        return Asker.prepare(judge, reader, package, guidance), Unscored("judge unavailable")
    except Exception as error:  # a reader is somebody else's code; without material the judge has nothing to go by
        return None, Unscored("evidence missing", f"the reader failed: {type(error).__name__}: {error}"[:500], getattr(reader, "id", ""))


@frozen
class _Grader:
    package: Package
    checks: Mapping[str, Check]
    clock: Clock
    asker: Asker | None
    unjudged: Unscored
    dimensions: tuple[Dimension, ...]

    def verdicts(self) -> dict[str, Verdict]:
        """The verdict on every dimension, whoever gives it, in the order of the dimensions."""
        briefs = {one.id: self._brief(check) for one in self.dimensions if (check := self._check(one)) is not None}
        answers = self._answers({name: brief for name, brief in briefs.items() if isinstance(brief, CheckBrief)})
        found: dict[str, Verdict] = {one.id: self._programs(one, briefs.get(one.id), answers.get(one.id, {})) for one in self.dimensions}
        judged = [one for one in self.dimensions if self._needs_a_level(one, found[one.id])]
        facts = {name: brief.facts for name, brief in briefs.items() if isinstance(brief, CheckBrief)}
        levels: list[Scored | Unscored] = [self.unjudged] * len(judged)
        if self.asker is not None:
            levels = self.asker.levels([(one, facts.get(one.id, {})) for one in judged])
        for one, level in zip(judged, levels, strict=True):
            bound, check = found[one.id], self._check(one)
            bounded = check is not None and isinstance(level, Scored) and isinstance(bound, Scored)
            found[one.id] = _lower(level, bound, check) if bounded else level  # type: ignore[arg-type]
        return found

    def reported(self, questions: Sequence[Dimension]) -> tuple[Reported, ...]:
        """The judge's answers to questions that count for nothing; asked apart, so that they change nothing that counts."""
        levels: list[Scored | Unscored] = [self.unjudged] * len(questions)
        if self.asker is not None and questions:
            levels = self.asker.levels([(one, {}) for one in questions])
        return tuple(Reported(one.looks_at, Graded.of(one.id, level)) for one, level in zip(questions, levels, strict=True))

    def _check(self, dimension: Dimension) -> Check | None:
        return None if dimension.judged_by is JudgedBy.MEASURED else self.checks.get(dimension.id)

    def _needs_a_level(self, dimension: Dimension, found: Verdict) -> bool:
        """A judge grades where there is no check, and where a check only bounds and has not settled the dimension."""
        check = self._check(dimension)
        if check is None:
            return dimension.judged_by is JudgedBy.JUDGE
        return check.role == "bounds" and isinstance(found, Scored)

    def _programs(self, dimension: Dimension, brief: CheckBrief | Unscored | None, answers: Mapping[str, Answer]) -> Verdict:
        """What programs say of a dimension, with a judge's labels for what they could not settle."""
        if dimension.judged_by is JudgedBy.MEASURED:
            return MEASURES[dimension.id](self.package)
        check = self._check(dimension)
        if check is None or isinstance(brief, Unscored):
            return brief if isinstance(brief, Unscored) else Unscored("no check installed")
        found = _guarded(check, lambda: _verdict(check.run(self.package, answers)), self.clock, check.id)
        told = {name: dict(answer.facts) for name, answer in answers.items() if answer.facts}
        return evolve(found, facts={**found.facts, "judge": told}) if told and isinstance(found, Scored) else found

    def _brief(self, check: Check) -> CheckBrief | Unscored:
        def run() -> CheckBrief:
            brief = check.brief(self.package)
            return CheckBrief(dict(brief.facts), tuple(brief.questions))

        return _guarded(check, run, self.clock, check.id)

    def _answers(self, briefs: Mapping[str, CheckBrief]) -> dict[str, dict[str, Answer]]:
        """Dimension to question to its answer; a question without an answer is left out."""
        found: dict[str, dict[str, Answer]] = {}
        asked = [(one, question) for one in self.dimensions if one.id in briefs for question in briefs[one.id].questions]
        if self.asker is None or not asked:
            return found
        if self.asker.batches:
            answers = self.asker.all_labels([(one, question, briefs[one.id].facts) for one, question in asked])
        else:
            answers = [self._answer(self.asker, one, question, briefs[one.id]) for one, question in asked]
        for (one, question), answer in zip(asked, answers, strict=True):
            if answer is not None:
                found.setdefault(one.id, {})[question.id] = answer
        return found

    def _answer(self, asker: Asker, dimension: Dimension, question: LabelQuestion, brief: CheckBrief) -> Answer | None:
        """One answer, within the time of the check that asks: a judge that is a program may be slow on hostile text, too."""
        try:
            with self.clock.limit(self.checks[dimension.id].id):
                return asker.all_labels([(dimension, question, brief.facts)])[0]
        except CheckTimeoutError:
            return None


def _lower(judged: Scored, bound: Scored, check: Check) -> Scored:
    evidence = (*judged.evidence, *bound.evidence)
    merged = evolve(judged, evidence=evidence, unverified=bound.unverified, facts={**judged.facts, **bound.facts})
    if bound.level >= judged.level:
        return merged
    raw = judged.raw_level if judged.raw_level is not None else judged.level
    return evolve(
        merged,
        level=bound.level,
        raw_level=raw,
        by=f"{judged.by}, bounded by {check.id}",
        reason=f"{judged.reason} [a program bounds the level at {bound.level}: {bound.reason}]",
    )


def _verdict(found: object) -> Verdict:
    if isinstance(found, Scored | NotApplicable | Unscored | Measured):
        return found
    raise TypeError(f"returned {type(found).__name__}, which is no verdict")


T = TypeVar("T")


def _guarded(check: Check, run: Callable[[], T], clock: Clock, shared: str = "") -> T | Unscored:
    """A check that raises, or takes longer than it may, leaves its dimension unscored: never a zero, never a pass."""
    try:
        with clock.limit(shared):
            return run()
    except Exception as error:  # a check is somebody else's code
        return Unscored("check crashed", f"{type(error).__name__}: {error}"[:500], check.id)


def _trajectory(package: Package, checks: Iterable[Check], final: Mapping[str, Verdict], clock: Clock) -> tuple[TurnScore, ...]:
    """Program scores after each turn, without a judge and without running delivered code (paper, section 3.4).

    After the last turn they are those of the session: nothing is graded twice.
    """
    cheap = [check for check in checks if check.by_turn and check.role == "scores"]
    turns = [message.turn for message in package.conversation.of("agent")]
    earlier = [_turn_score(_graded_so_far(package.until(turn), cheap, clock), turn) for turn in turns[:-1]]
    return (*earlier, *(_turn_score({c.dimension: final[c.dimension] for c in cheap if c.dimension in final}, turn) for turn in turns[-1:]))


def _graded_so_far(package: Package, checks: Iterable[Check], clock: Clock) -> dict[str, Verdict]:
    package = evolve(package, runner=None)
    return {check.dimension: _guarded(check, lambda c=check: _verdict(c.run(package, {})), clock) for check in checks}  # type: ignore[misc]


def _turn_score(verdicts: Mapping[str, Verdict], turn: int) -> TurnScore:
    levels = {name: verdict.level for name, verdict in verdicts.items() if isinstance(verdict, Scored)}
    return TurnScore(turn, levels, failed_vetoes(DIMENSIONS, verdicts), quality(category_means(DIMENSIONS, verdicts)))
