"""What an agent may be told about its session. The only place that writes feedback (paper, section 3.4).

Scores, sources and evidence of every dimension go out. For the data and strategy categories, whose evidence would reveal the hidden
strategy, there are scores without reasons, except for 1.1, which depends only on the cutoff. Everything else passes the redactor.
"""

from typing import Final

from attrs import frozen

from finassay.api.delivery import EndReason
from finassay.api.dimension import Dimension
from finassay.api.persona import Persona
from finassay.api.scorecard import Graded, Scorecard, TurnScore
from finassay.api.task import Task
from finassay.api.verdict import Evidence, Measured, NotApplicable, Scored
from finassay.grading.dimensions import CATEGORIES, DIMENSIONS
from finassay.grading.outcomes import OUTCOMES
from finassay.grading.redaction import PLACEHOLDER, Redactor, clean

WITHHELD: Final = frozenset({"data", "strategy"})
OPEN: Final = frozenset({"1.1"})
"""Dimensions of a withheld category whose reason may be read."""
MAX_EVIDENCE: Final = 8
MAX_ROWS: Final = 6
MAX_UNREAD: Final = 50


@frozen
class FeedbackRow:
    """One dimension. `level` is None where there is none; `reason` and `evidence` are empty where they are withheld."""

    dimension: str
    title: str
    category: str
    level: int | None
    veto: int | None
    failed: bool
    source: str
    by: str
    status: str
    """`scored`, `measured`, or `no score`, which does not tell a dimension that does not apply from one without a verdict."""
    reason: str = ""
    evidence: tuple[str, ...] = ()
    withheld: bool = False
    to_pass: str = ""
    """What passes a failed veto; the same for every strategy."""


@frozen
class Feedback:
    """A leak-free report on one session."""

    header: tuple[str, ...]
    end_reason: EndReason
    meaning: str
    score: float
    quality: float | None
    accepted: bool
    categories: dict[str, float | None]
    failed_vetoes: tuple[str, ...]
    rows: tuple[FeedbackRow, ...]
    by_turn: tuple[TurnScore, ...]
    unjudged: tuple[str, ...] = ()
    """Scored dimensions without a verdict, or with items that nobody could decide."""
    unread: tuple[tuple[str, str], ...] = ()
    """(file, reason) of delivered files that grading could not look into."""


def feedback(card: Scorecard, task: Task, persona: Persona | None = None) -> Feedback:
    """The feedback of a graded session. `persona`, where given, names who was served; nothing else of it goes out."""
    redactor = Redactor.of(task)
    header = (
        f"evaluator {card.evaluator.hash[:16]}, judge {card.evaluator.judge or 'none'}",
        *((f"user: {persona.name}",) if persona else ()),
        f"data allowed until {task.conditions.cutoff.isoformat()}",
    )
    rows = tuple(_row(one, card.graded(one.id), card, redactor) for one in DIMENSIONS)
    scored = {one.id for one in DIMENSIONS if one.scored}
    return Feedback(
        header=header,
        end_reason=card.end_reason,
        meaning=OUTCOMES[card.end_reason].meaning,
        score=card.score,
        quality=card.quality,
        accepted=card.accepted,
        categories=dict(card.categories),
        failed_vetoes=card.failed_vetoes,
        rows=rows,
        by_turn=card.by_turn,
        unjudged=tuple(
            g.dimension
            for g in card.verdicts
            if g.dimension in scored and (g.unscored is not None or (g.scored is not None and g.scored.unverified))
        ),
        unread=tuple((redactor.name(one.file), redactor.text(one.reason)) for one in card.unread[:MAX_UNREAD]),
    )


def _row(one: Dimension, graded: Graded | None, card: Scorecard, redactor: Redactor) -> FeedbackRow:
    verdict = graded.verdict if graded else None
    shown = one.category not in WITHHELD or one.id in OPEN
    level, source, by, status, reason = None, "", "", "no score", ""
    evidence: tuple[str, ...] = ()
    if isinstance(verdict, Scored):
        level, source, by, status = verdict.level, verdict.source.value, clean(verdict.by, 120), "scored"
        if shown:
            reason = redactor.text(verdict.reason)
            evidence = tuple(_evidence(e, redactor) for e in verdict.evidence[:MAX_EVIDENCE])
    elif isinstance(verdict, Measured):
        source, by, status = "measured", clean(verdict.by, 120), "measured"
        reason = ", ".join(f"{clean(k, 120)} {_measure(v)}" for k, v in verdict.values.items() if redactor.name(k) != PLACEHOLDER)
    elif isinstance(verdict, NotApplicable) and shown:
        reason = redactor.text(f"not applicable: {verdict.reason}")
    return FeedbackRow(
        one.id,
        one.title,
        one.category,
        level,
        one.veto,
        one.id in card.failed_vetoes,
        source,
        by,
        status,
        reason,
        evidence,
        withheld=not shown,
        to_pass=one.to_pass if one.id in card.failed_vetoes else "",
    )


def _measure(value: float | str | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:.6g}" if isinstance(value, int | float) else clean(value, 120)


def _evidence(evidence: Evidence, redactor: Redactor) -> str:
    """One line: what, where, which rows, expected and found."""
    parts = [redactor.text(evidence.text)]
    if evidence.where:
        parts.append(f"in {redactor.name(evidence.where)}")
    if evidence.rows:
        rows = "; ".join(redactor.text(row) for row in evidence.rows[:MAX_ROWS])
        parts.append(f"rows: {rows}" + ("; …" if len(evidence.rows) > MAX_ROWS else ""))
    if evidence.expected:
        parts.append(f"expected {redactor.text(evidence.expected)}")
    if evidence.found:
        parts.append(f"found {redactor.text(evidence.found)}")
    return f"{evidence.kind.value}: " + " · ".join(part for part in parts if part)


def feedback_text(report: Feedback) -> str:
    """The feedback as plain text."""
    quality = "-" if report.quality is None else f"{report.quality:.1f}"
    lines = [
        f"End reason: {report.end_reason}. {report.meaning}",
        f"Accepted: {'yes' if report.accepted else 'no'}   Score: {report.score:.1f}   Quality before vetoes: {quality}",
        *report.header,
    ]
    if report.failed_vetoes:
        lines.append("Failed vetoes: " + ", ".join(report.failed_vetoes))
    if report.unjudged:
        lines.append("Grading incomplete: no full verdict on " + ", ".join(report.unjudged))
    if report.unread:
        lines += ["", "Delivered files that could not be looked into", *(f"  {file}: {reason}" for file, reason in report.unread)]
    for category in CATEGORIES:
        mean = report.categories.get(category)
        lines += ["", category.capitalize() + (f" {mean:.0f} of 100" if mean is not None else "")]
        lines += [line for row in report.rows if row.category == category for line in _row_lines(row)]
    lines += ["", *_turn_lines(report.by_turn)]
    return "\n".join(lines).rstrip() + "\n"


def _row_lines(row: FeedbackRow) -> list[str]:
    score = f"{row.level} of 4" if row.level is not None else row.status
    source = f" [{row.source}, {row.by}]" if row.source else ""
    failed = f"  VETO FAILED, needs {row.veto}" if row.failed else ""
    lines = [f"  {row.dimension} {row.title}: {score}{source}{failed}"]
    if row.to_pass:
        lines.append(f"      To pass: {row.to_pass}")
    if row.reason:
        lines.append(f"      {row.reason}")
    return lines + [f"      - {line}" for line in row.evidence]


def _turn_lines(by_turn: tuple[TurnScore, ...]) -> list[str]:
    if not by_turn:
        return []
    lines = ["Program scores by turn"]
    for score in by_turn:
        quality = "-" if score.quality is None else f"{score.quality:.0f}"
        failed = ", ".join(score.failed_vetoes) or "none"
        lines.append(f"  turn {score.turn}: mean {quality} of 100, failed vetoes: {failed}")
        lines.append("    " + " ".join(f"{name}={level}" for name, level in score.levels.items()))
    return lines
