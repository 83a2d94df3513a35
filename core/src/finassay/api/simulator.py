"""Simulators of the user, and the decision that each of their turns is."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable

from attrs import Factory, frozen

from finassay.api.conversation import Conversation
from finassay.api.persona import Persona
from finassay.api.strategy import Item
from finassay.api.task import Task

Action = Literal["clarify", "follow_up", "challenge", "close", "block"]
GoalStatus = Literal["met", "missing", "uncertain", "not_applicable"]
BlockReason = Literal["stalled", "repeated", "ignored_objection", "refused", "gave_up", "off_topic"]


@frozen
class Observation:
    """What the user sees of one goal. `citations` are ids of agent messages (`a2`) or paths of delivered files."""

    goal: str
    status: GoalStatus
    citations: tuple[str, ...] = ()


@frozen
class Decision:
    """A user's turn. `evidence` backs a challenge or a block, like an observation's citations."""

    action: Action
    observations: tuple[Observation, ...]
    message: str
    evidence: tuple[str, ...] = ()
    block_reason: BlockReason | None = None


@frozen
class Excerpt:
    """The beginning of a delivered file as the user sees it; hostile text."""

    path: str
    text: str
    truncated: bool = False


@frozen
class Scene:
    """What the simulated user knows when it speaks.

    `excerpts` are bounded as in appendix D of the paper (20 files, 8,000 characters each, 12,000 in all, newest first); `files` are all
    delivered paths; `stated` is S_t, the items said so far; `cut` is true when the agent's last reply was stopped by the clock.
    """

    task: Task
    persona: Persona
    conversation: Conversation
    excerpts: tuple[Excerpt, ...] = ()
    files: tuple[str, ...] = ()
    stated: frozenset[str] = frozenset()
    cut: bool = False
    turns_left: int = 0
    seed: int = 0


@frozen
class Rejection:
    """Why the program refused a decision. Shown to the simulator, never to the agent."""

    rule: str
    reason: str


@runtime_checkable
class Simulator(Protocol):
    """Plays the user. What it returns is validated before anything is sent; at most six regenerations, then the session is void.

    A simulator may also carry `identity`, a mapping that JSON can hold, of all that decides what it says (model, options, digest of the
    prompt): it stands on the session. One that asks at the terminal says so with `uses_terminal = True`, and progress is shown in plain
    lines beside it. One that waits for somebody elsewhere may say where with `waits_at(scene) -> str` (a path or an address): progress then
    names it for as long as the answer is waited for. It may be a `DisclosureChecker` as well. `SimulatorError` is a try without a decision, and is
    regenerated like an invalid one; `ProviderError` leaves the session waiting.
    """

    id: str
    version: str
    deterministic: bool

    def open(self, scene: Scene, rejections: tuple[Rejection, ...] = ()) -> str:
        """u_0: one vague idea that states the belief's opening items, the universe and the last date of data."""
        ...

    def decide(self, scene: Scene, rejections: tuple[Rejection, ...] = ()) -> Decision:
        """The user's turn after the agent's last message. `rejections` say what was wrong with all tries before.

        One that asks a model puts their number into `ChatRequest.repeat`: a try is otherwise answered like the one that was refused.
        """
        ...


@frozen
class DisclosureVerdict:
    """What a second check found: item id to the words that show it. Words that do not stand in the message count for nothing."""

    told: Mapping[str, str] = Factory(dict)
    """Items that the user's message states, with its words."""
    raised: Mapping[str, str] = Factory(dict)
    """Items that the agent's message asks about or proposes, with its words."""


@runtime_checkable
class DisclosureChecker(Protocol):
    """A simulator that can also decide what the phrase matcher leaves open (paper, section 3.3). Asked only where something is left open."""

    def check_disclosure(self, items: Sequence[Item], user_message: str, agent_message: str, seed: int = 0) -> DisclosureVerdict:
        """Which of the items the user's message states, and which the agent's message raised. `agent_message` is empty at the opening.

        Raises `SimulatorError` where no verdict comes: the matcher alone then decides.
        """
        ...
