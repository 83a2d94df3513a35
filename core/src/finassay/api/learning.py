"""Agents that learn from one session for later ones: what they are told after a session was graded.

Everything in a `Lesson` is leak-free. It may be kept for as long as an agent likes, and shown in sessions about the same task: it holds nothing
of the belief, the persona, the task's name and seed, or other sessions.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from attrs import Factory, frozen

from finassay.api.delivery import EndReason
from finassay.api.model import Models
from finassay.api.scorecard import TurnScore
from finassay.api.verdict import Json


@frozen
class Finding:
    """A dimension as the feedback tells it. `reason` and `evidence` are empty where they would tell something of the hidden strategy."""

    dimension: str
    title: str
    category: str
    level: int | None
    """0 to 4; None without a score."""
    failed: bool
    """A veto, and it failed."""
    to_pass: str = ""
    """What passes a failed veto; the same words for every strategy."""
    reason: str = ""
    evidence: tuple[str, ...] = ()


@frozen
class TurnOutline:
    """A turn without its words."""

    turn: int
    words: int
    """Of the agent's message."""
    questions: int
    """Sentences of it that ask."""
    files: int
    """Delivered when it ended."""
    seconds: float
    cut: bool
    answer: str = ""
    """What the person then did: `clarify`, `follow_up`, `challenge`, `close`, `block`; empty if nothing."""


@frozen
class Lesson:
    """One graded session, for the agent that held it."""

    session: str
    """Tells sessions apart, and nothing else: nobody can work out from it which session it was."""
    end_reason: EndReason
    accepted: bool
    feedback: str
    """The whole feedback as text."""
    findings: tuple[Finding, ...]
    by_turn: tuple[TurnScore, ...]
    outline: tuple[TurnOutline, ...] = ()
    """The turns, without what was said in them: who explains what was built, or has no preference, tells the strategy to a later session about the
    same one, in words that no rule can find."""
    begun_with: Mapping[str, Json] = Factory(dict)
    """What the agent said when the session began (`Agent.begins_with`)."""


@runtime_checkable
class Learner(Protocol):
    """An agent that is shown its graded sessions.

    `review` is called on a fresh agent that never holds a session, in the program that holds the run, once all its sessions are held. It is called
    again for a session, also by another run of the same command, until `has_reviewed` says so; several programs may do so at once.
    """

    keeps: tuple[Path, ...]
    """Where it keeps what it learns, on the host: outside of every run's folder, and in sight of no box."""
    reviewers: Mapping[str, Mapping[str, Json]]
    """Models that `review` asks, `PROVIDER/NAME` to options: checked before a run starts. Empty where it asks none."""

    def has_reviewed(self, session: str) -> bool:
        """Whether the session of that `Lesson.session` was reviewed. Raises `InvalidFileError`."""
        ...

    def review(self, lesson: Lesson, models: Models) -> str:
        """Learn, and say in one line what was learnt. An error is told in one line; no grade depends on it."""
        ...
