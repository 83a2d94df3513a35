"""What an agent is told of a session that it held and that was graded, so that it can learn from it."""

import hashlib
from collections.abc import Callable
from typing import Final

from finassay.api.learning import Finding, Learner, Lesson, TurnOutline
from finassay.api.scorecard import Scorecard
from finassay.api.task import Task
from finassay.api.text import sentences
from finassay.grading.feedback import Feedback, feedback, feedback_text
from finassay.models.serving import serving
from finassay.records.events import SessionState
from finassay.runs.build import AgentMaker
from finassay.runs.folder import RunFolder, SessionKey
from finassay.runs.grade import lacks_its_judge, scorecards
from finassay.runs.identity import BEGUN_WITH

MAX_SAID: Final = 300
"""Characters of what an agent says it learnt."""


def learn(folder: RunFolder, task: Task, key: SessionKey, maker: AgentMaker, redact: Callable[[str], str]) -> str:
    """Let the agent of a graded session learn from it: a line about it, or about what kept it from learning.

    Empty if there is nothing to do: the agent does not learn, or has learnt this already; the session is not graded in whole.
    """
    if maker.reviewing is None:
        return ""
    try:
        with serving(key.id):
            said = _review(folder, task, key, maker)
    except Exception as error:  # somebody else's code, or a model out of reach; the grade stands
        return redact(f"nothing was learnt: {type(error).__name__}: {error}")
    return redact(f"learnt: {said[:MAX_SAID]}") if said else ""


def _review(folder: RunFolder, task: Task, key: SessionKey, maker: AgentMaker) -> str:
    cards = scorecards(folder, key)
    if not cards or cards[0].grading == "none" or lacks_its_judge(cards[0]):
        return ""
    agent, session = maker.make(), opaque(folder, key)
    if maker.reviewing is None or not isinstance(agent, Learner) or agent.has_reviewed(session):
        return ""
    return str(agent.review(lesson(cards[0], task, session, folder.state(key)), maker.reviewing)) or "nothing"


def opaque(folder: RunFolder, key: SessionKey) -> str:
    """A name for a session that says nothing of it. It rests on the sealed record, so that no guess at the session can be confirmed."""
    return hashlib.sha256(f"learnt {key.id} {folder.record_digest(key)}".encode()).hexdigest()[:32]


def lesson(card: Scorecard, task: Task, session: str, state: SessionState) -> Lesson:
    """What may be known of a session for good."""
    report = feedback(card, task)
    return Lesson(
        session=session,
        end_reason=card.end_reason,
        accepted=card.accepted,
        feedback=feedback_text(report),
        findings=_findings(report),
        by_turn=card.by_turn,
        outline=_outline(state),
        begun_with=state.identity.get(BEGUN_WITH, {}),
    )


def _outline(state: SessionState) -> tuple[TurnOutline, ...]:
    answers = {said.turn: said.action for said in state.user_turns}
    files = {delivery.turn: len(delivery.files) for delivery in state.deliveries}
    facts = {turn.turn: turn for turn in state.turns}
    return tuple(
        TurnOutline(
            turn=m.turn,
            words=len(m.text.split()),
            questions=sum(sentence.question for sentence in sentences(m.text)),
            files=files.get(m.turn, 0),
            seconds=round(facts[m.turn].seconds, 1) if m.turn in facts else 0.0,
            cut=m.cut,
            answer=answers.get(m.turn, ""),
        )
        for m in state.conversation.of("agent")
    )


def _findings(report: Feedback) -> tuple[Finding, ...]:
    return tuple(
        Finding(row.dimension, row.title, row.category, row.level, row.failed, row.to_pass, row.reason, row.evidence) for row in report.rows
    )
