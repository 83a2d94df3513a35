"""The component `terminal`: whoever sits at the prompt plays the user."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, cast, get_args

from pydantic import BaseModel, ConfigDict, Field

from finassay.api.errors import UsageError
from finassay.api.simulator import Action, BlockReason, Decision, GoalStatus, Observation, Rejection, Scene
from finassay.api.task import Goal
from finassay.api.verdict import Json

if TYPE_CHECKING:
    from finassay_simulator_person.dialogue import Dialogue


class TerminalOptions(BaseModel):
    """Settings of the prompt."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    timeout_minutes: float = Field(
        default=60, gt=0, le=60 * 24 * 7, description="How long one answer is waited for; then the session waits."
    )
    player: str = Field(default="person", min_length=1, max_length=80, description="Who plays, as it stands on the results.")


class TerminalSimulator:
    """Shows each scene at the prompt and asks for the decision. Only where standard input is a terminal."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "user played by whoever sits at the terminal"
    Options: ClassVar[type[BaseModel]] = TerminalOptions
    id: ClassVar[str] = "terminal"
    version: ClassVar[str] = "1"
    deterministic: ClassVar[bool] = False
    uses_terminal: ClassVar[bool] = True
    """Whoever shows progress leaves the terminal to it."""

    def __init__(self, options: TerminalOptions) -> None:
        self.options = options
        if not sys.stdin.isatty():
            raise UsageError(
                "the simulator 'terminal' asks at a prompt, and standard input is no terminal",
                hint="Take the simulator 'mailbox' instead: it waits for files.",
            )
        self.identity: Mapping[str, Json] = {"player": options.player}

    def dialogue(self) -> "Dialogue":
        """Who is asked; tests put a script in its place."""
        from finassay_simulator_person.dialogue import TerminalDialogue

        return TerminalDialogue()

    def open(self, scene: Scene, rejections: tuple[Rejection, ...] = ()) -> str:
        """u_0, as it is typed. Raises `ProviderError` when nobody answers in time."""
        from finassay_simulator_person.dialogue import ONE_AT_A_TIME, several_lines

        with ONE_AT_A_TIME:
            talk = self.dialogue()
            self._show(talk, scene, rejections)
            return several_lines(talk, "Your first message", self._seconds)

    def decide(self, scene: Scene, rejections: tuple[Rejection, ...] = ()) -> Decision:
        """The user's turn, as it is typed. Raises `ProviderError` when nobody answers in time."""
        from finassay_simulator_person.dialogue import ONE_AT_A_TIME, several_lines

        with ONE_AT_A_TIME:
            talk = self.dialogue()
            self._show(talk, scene, rejections)
            action = cast(Action, self._choose(talk, "What do you do", get_args(Action), "clarify"))
            observations = tuple(self._observe(talk, goal) for goal in scene.task.goals)
            evidence = self._words(talk, "What shows it (a1, paths)") if action in ("challenge", "block") else ()
            reason = self._choose(talk, "Why do you leave", get_args(BlockReason), "stalled") if action == "block" else None
            message = several_lines(talk, "Your message", self._seconds)
            return Decision(action, observations, message, evidence, cast(BlockReason | None, reason))

    @property
    def _seconds(self) -> float:
        return 60 * self.options.timeout_minutes

    def _show(self, talk: "Dialogue", scene: Scene, rejections: Sequence[Rejection]) -> None:
        """The whole scene the first time; after a refusal only what was wrong."""
        from finassay_simulator_person.folder import reasons_of
        from finassay_simulator_person.sheet import as_page, sheet

        if not rejections:
            talk.page(as_page(sheet(scene), "Answer at the prompt below."))
        for reason in reasons_of(rejections, scene):
            talk.tell(f"Not sent: {reason}", "red")

    def _choose(self, talk: "Dialogue", prompt: str, known: Sequence[str], default: str) -> str:
        """One of the known words; a beginning of one that fits no other will do."""
        while True:
            typed = talk.ask(f"{prompt} [{'/'.join(known)}] ({default}):", self._seconds).lower() or default
            fitting = [word for word in known if word == typed] or [word for word in known if word.startswith(typed)]
            if len(fitting) == 1:
                return fitting[0]
            talk.tell(f"'{typed}' is not one of {', '.join(known)}.", "yellow")

    def _words(self, talk: "Dialogue", prompt: str) -> tuple[str, ...]:
        return tuple(talk.ask(f"{prompt}:", self._seconds).replace(",", " ").split())

    def _observe(self, talk: "Dialogue", goal: Goal) -> Observation:
        status = cast(GoalStatus, self._choose(talk, goal.id, get_args(GoalStatus), "missing"))
        return Observation(goal.id, status, self._words(talk, f"{goal.id}: what shows it (a1, paths)") if status == "met" else ())
