"""Grading one session: every dimension gets a verdict, then equations (3) to (6) make the scorecard."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from attrs import evolve, frozen

from finassay.api.delivery import Package
from finassay.api.dimension import Dimension, JudgedBy
from finassay.api.grading import Check, Judge, Reader
from finassay.api.scorecard import Evaluator, Graded, Scorecard, TableReading, TurnScore, Unread
from finassay.api.verdict import Measured, NotApplicable, Scored, Unscored, Verdict
from finassay.grading.asking import Asker, NoVerdictError
from finassay.grading.clock import Clock
from finassay.grading.dimensions import DIMENSIONS
from finassay.grading.elicitation import elicitation
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
) -> Scorecard:
    """The scorecard of a finished session.

    `checks` may be keyed by anything; each serves the dimension that it names. Never raises because of a check, a reader or a judge:
    what failed is `Unscored` with the reason. Raises `ValueError` if the session has not ended.
    """
    if package.end_reason is None:
        raise ValueError("a session is graded when it has ended")
    clock = clock or Clock()
    by_dimension = {check.dimension: check for check in checks.values()}
    graded = OUTCOMES[package.end_reason].graded
    verdicts: dict[str, Verdict]
    if graded == "none":
        verdicts = {one.id: Unscored("not graded", f"the session ended with {package.end_reason}") for one in DIMENSIONS}
    else:
        grader = _Grader(package, by_dimension, clock, *_asker(judge, reader, package))
        verdicts = {one.id: grader.verdict(one) for one in DIMENSIONS}
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
        elicitation=elicitation(package.task.belief, package.conversation, verdicts),
        unread=_unread(package, verdicts),
        tables=tuple(_tables(verdicts))[:MAX_TABLES],
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


def _asker(judge: Judge | None, reader: Reader | None, package: Package) -> tuple[Asker | None, Unscored]:
    """The judge with its material, or what takes the place of its verdicts."""
    if judge is None:
        return None, Unscored("judge unavailable", "no judge was chosen")
    try:
        return Asker.prepare(judge, reader, package), Unscored("judge unavailable")
    except Exception as error:  # a reader is somebody else's code; without material the judge has nothing to go by
        return None, Unscored("evidence missing", f"the reader failed: {type(error).__name__}: {error}"[:500], getattr(reader, "id", ""))


@frozen
class _Grader:
    package: Package
    checks: Mapping[str, Check]
    clock: Clock
    asker: Asker | None
    unjudged: Unscored

    def verdict(self, dimension: Dimension) -> Verdict:
        """The verdict on one dimension, whoever gives it."""
        if dimension.judged_by is JudgedBy.MEASURED:
            return MEASURES[dimension.id](self.package)
        check = self.checks.get(dimension.id)
        if check is not None:
            return self._scores(dimension, check) if check.role == "scores" else self._bounded(dimension, check)
        if dimension.judged_by is JudgedBy.JUDGE:
            return self._judged(dimension, {})
        return Unscored("no check installed")

    def _scores(self, dimension: Dimension, check: Check) -> Verdict:
        """A program's verdict, with a judge's labels for what the program could not settle."""

        def run() -> Verdict:
            brief = check.brief(self.package)
            answers = self.asker.labels(dimension, brief.questions, brief.facts) if self.asker and brief.questions else {}
            return _verdict(check.run(self.package, answers))

        return _guarded(check, run, self.clock)

    def _bounded(self, dimension: Dimension, check: Check) -> Verdict:
        """A judge's verdict that a program settles or bounds from above: s = min(s_L, s_P)."""
        facts: dict[str, object] = {}

        def run() -> Verdict:
            brief = check.brief(self.package)
            facts.update(brief.facts)
            answers = self.asker.labels(dimension, brief.questions, brief.facts) if self.asker and brief.questions else {}
            return _verdict(check.run(self.package, answers))

        bound = _guarded(check, run, self.clock)
        if not isinstance(bound, Scored):
            return bound
        judged = self._judged(dimension, facts)
        return _lower(judged, bound, check) if isinstance(judged, Scored) else judged

    def _judged(self, dimension: Dimension, facts: Mapping[str, object]) -> Verdict:
        if self.asker is None:
            return self.unjudged
        try:
            return self.asker.level(dimension, facts)
        except NoVerdictError as error:
            return error.unscored


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


def _guarded(check: Check, run: Callable[[], Verdict], clock: Clock) -> Verdict:
    """A check that raises, or takes longer than it may, leaves its dimension unscored: never a zero, never a pass."""
    try:
        with clock.limit():
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
