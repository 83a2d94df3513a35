"""Memories in a temporary folder, and agents around scripted ones."""

from pathlib import Path
from typing import Any

from attrs import define, field

from finassay.api.agent import Setting, TurnContext
from finassay.api.component import Origin
from finassay.api.conversation import Conversation
from finassay.api.learning import Finding, Lesson
from finassay.api.scorecard import TurnScore
from finassay.api.task import Brief
from finassay.testing.fakes import MemoryBox, ScriptedAgent
from finassay_memory.agent import MemoryAgent, MemoryOptions

BRIEF = Brief("s1", "You are working for a person.", 6, 30, (), False)


@define
class One:
    """`Components` of one agent."""

    agent: Any = field(factory=ScriptedAgent)
    asked: list[tuple[str, str, dict[str, Any]]] = field(factory=list)

    def create(self, kind: str, id: str, options: Any = None) -> tuple[Any, Origin]:
        self.asked.append((kind, id, dict(options or {})))
        return self.agent, Origin(kind, id, "finassay-scripted", "9.1")


def around(folder: Path, agent: Any = None, **options: Any) -> MemoryAgent:
    return MemoryAgent(MemoryOptions(agent="scripted", memory=str(folder), **options), One(agent or ScriptedAgent()))


def held(
    agent: MemoryAgent, *messages: str, box: Any = None, history: Conversation = Conversation(), begun: Any = None, first: int = 1
) -> list[Any]:
    """Hold turns; gives the log."""
    log: list[Any] = []
    agent.start(Setting(BRIEF, box, history, begun_with=begun or {}))
    for turn, message in enumerate(messages, start=first):
        agent.send(message, TurnContext(turn, 30, log.append, lambda: False))
    agent.finalize()
    return log


def box(workspace: Path) -> MemoryBox:
    (workspace / "deliver").mkdir(parents=True, exist_ok=True)
    return MemoryBox(workspace, {})


RISKS = Finding("4.4", "Risk disclosure", "assessment", 1, False, reason="The report names one risk, without a figure.")
FILLS = Finding(
    "3.2", "No look-ahead", "backtest", 0, True, "Let every fill come on a later date than its signal.", reason="12 of 40 fills are early."
)
FINE = Finding("4.5", "Limits", "assessment", 4, False, reason="All there.")


def lesson(session: str = "s-1", *findings: Finding, **more: Any) -> Lesson:
    told: dict[str, Any] = {
        "end_reason": "satisfied",
        "accepted": False,
        "feedback": "End reason: satisfied. The user closed the session.\nAccepted: no\n",
        "by_turn": (),
        **more,
    }
    return Lesson(session=session, findings=findings or (RISKS, FILLS, FINE), **told)


def score(turn: int, **levels: int) -> TurnScore:
    return TurnScore(turn, {name.replace("_", "."): level for name, level in levels.items()}, (), 50.0)
