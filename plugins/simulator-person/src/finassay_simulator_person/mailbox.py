"""The component `mailbox`: each turn of the user is a folder that waits for a decision file."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from finassay.api.errors import UsageError
from finassay.api.simulator import Decision, Rejection, Scene
from finassay.api.verdict import Json

T = TypeVar("T")


class MailboxOptions(BaseModel):
    """Settings of the mailbox."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: str = Field(min_length=1, description="Where scenes are written and answers are waited for. It holds the hidden strategy.")
    timeout_minutes: float = Field(
        default=24 * 60, gt=0, le=60 * 24 * 365, description="How long one answer is waited for; then the session waits for the next run."
    )
    poll_seconds: float = Field(default=1.0, ge=0.01, le=3_600, description="How often the folder is looked at.")
    player: str = Field(default="person", min_length=1, max_length=80, description="Who plays, as it stands on the results.")


class MailboxSimulator:
    """Writes each scene as a page and as data, and takes the decision that somebody writes beside it.

    What is written passes the same gate as any simulator's decision; why it was refused comes back as a file. A folder is named after the
    scene, so that a session that is gone on with finds the answer that was given meanwhile.
    """

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "user played by a person or a program: scenes and decisions as files in a folder"
    Options: ClassVar[type[BaseModel]] = MailboxOptions
    id: ClassVar[str] = "mailbox"
    version: ClassVar[str] = "1"
    deterministic: ClassVar[bool] = False

    def __init__(self, options: MailboxOptions) -> None:
        self.options = options
        self.root = Path(options.folder).expanduser()
        if self.root.exists() and not self.root.is_dir():
            raise UsageError(f"{self.root} is no folder", hint="Name one with: -o simulator.folder=FOLDER")
        self.identity: Mapping[str, Json] = {"player": options.player}

    def open(self, scene: Scene, rejections: tuple[Rejection, ...] = ()) -> str:
        """u_0, as somebody writes it. Raises `ProviderError` when nobody does in time."""
        from finassay_simulator_person.forms import opening_of

        return self._answer(scene, rejections, lambda text, is_json: opening_of(text, is_json=is_json))

    def decide(self, scene: Scene, rejections: tuple[Rejection, ...] = ()) -> Decision:
        """The user's turn, as somebody writes it. Raises `ProviderError` when nobody does in time."""
        from finassay_simulator_person.forms import decision_of

        goals = tuple(goal.id for goal in scene.task.goals)
        return self._answer(scene, rejections, lambda text, is_json: decision_of(text, goals, is_json=is_json))

    def waits_at(self, scene: Scene) -> str:
        """The file that is waited for; what is asked stands in `scene.md` beside it."""
        from finassay_simulator_person.folder import name_of

        return str(self.root.absolute() / name_of(scene) / "decision.txt")

    def _answer(self, scene: Scene, rejections: tuple[Rejection, ...], read: Callable[[str, bool], T]) -> T:
        from finassay_simulator_person.folder import SceneFolder, reasons_of

        folder = SceneFolder.of(self.root, scene)
        if rejections:
            folder.refuse(reasons_of(rejections, scene))
        return folder.wait(read, 60 * self.options.timeout_minutes, self.options.poll_seconds)
