"""The agent `memory`: any other agent, with notes from its earlier sessions."""

import hashlib
import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from attrs import evolve
from pydantic import BaseModel, ConfigDict, Field, field_validator

from finassay.api.agent import Agent, AgentTurn, Setting, TurnContext
from finassay.api.component import Components, Origin
from finassay.api.conversation import Conversation
from finassay.api.delivery import LogEvent
from finassay.api.errors import AgentError, UsageError
from finassay.api.learning import Learner, Lesson
from finassay.api.model import Models
from finassay.api.verdict import Json
from finassay_memory.folder import READABLE, MemoryFolder, utc_now
from finassay_memory.notes import CLOSING, FILES, MESSAGE, OPENING, Bounds, Memory, Review, Snapshot

VERSION: Final = "0.1.0"
FOLDER: Final = "memory"
"""Where the files lie in a workspace."""
RULES: Final = "rules"
NONE: Final = "none"
_WORDS: Final = hashlib.sha256("\n".join((OPENING, FILES, CLOSING, MESSAGE)).encode()).hexdigest()


class MemoryOptions(BaseModel):
    """Whose memory, where it lies, and who writes it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent: str = Field(min_length=1, max_length=200, description="The agent that gets the memory: its id, or distribution:id.")
    options: dict[str, Any] = Field(default_factory=dict, description="Options of that agent.")
    memory: str = Field(
        min_length=1, max_length=4096, description="Folder of the memory, outside of every run; it is made if it is not there."
    )
    review: str = Field(
        default=RULES,
        description="Who edits the memory after a graded session: 'rules', a chat model as PROVIDER/NAME, or 'none', which keeps it as it is.",
    )
    review_options: dict[str, Any] = Field(default_factory=dict, description="Options of the review's model.")
    tell: Literal["message", "brief"] = Field(
        default="message",
        description="Where the agent is told its notes: before the person's first message, or at the end of its briefing.",
    )
    weak: int = Field(default=2, ge=0, le=3, description="The rules note a dimension at or below this level of 4.")
    max_entries: int = Field(default=40, ge=1, le=1_000, description="Notes that are kept and told.")
    max_characters: int = Field(default=400, ge=40, le=4_000, description="Characters of a note.")
    max_files: int = Field(default=32, ge=0, le=1_000, description="Files of the memory that a session gets.")
    max_bytes: int = Field(default=200_000, ge=0, le=20_000_000, description="Bytes of all these files together.")

    @field_validator("review")
    @classmethod
    def _known(cls, review: str) -> str:
        if review not in (RULES, NONE) and not all(review.partition("/")):
            raise ValueError(f"expected '{RULES}', '{NONE}' or a model as PROVIDER/NAME")
        return review

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.max_entries, self.max_characters, self.max_files, self.max_bytes)


class MemoryAgent:
    """Implements `finassay.api.agent.Agent` and `finassay.api.learning.Learner`.

    The agent inside does all the work. It is told what the memory held when the session began, and cannot write it: only `review` does.
    """

    api_version: ClassVar[int] = 1
    takes_components: ClassVar[bool] = True
    description: ClassVar[str] = "any other agent with notes that last: written after graded sessions, told in later ones"
    Options: ClassVar[type[BaseModel]] = MemoryOptions
    id = "memory"

    def __init__(self, options: MemoryOptions, components: Components, /) -> None:
        self.options = options
        self._folder = MemoryFolder.at(options.memory, options.bounds)
        inner, origin = components.create("agent", options.agent, options.options)
        if isinstance(inner, Learner):
            raise UsageError(f"agent {options.agent!r} learns by itself", hint="Give a memory to an agent that has none.")
        self._inner: Agent = inner
        self.capabilities = inner.capabilities
        self.version = f"{origin.id} {inner.version} with memory {VERSION}"
        self.parts: tuple[Origin, ...] = (origin, *getattr(inner, "parts", ()))
        self.identity: dict[str, Any] = {"inner": self._whose(origin), "words": _WORDS}
        if self.reviewers:
            from finassay_memory.modelled import PROMPT_DIGEST

            self.identity["prompt"] = PROMPT_DIGEST
        self._snapshot = Snapshot()
        self._notes: list[str] = []

    def _whose(self, origin: Origin) -> dict[str, Any]:
        own = getattr(self._inner, "identity", None)
        told = {"identity": dict(own)} if isinstance(own, Mapping) else {}
        return {
            "id": origin.id,
            "distribution": origin.distribution,
            "version": origin.version,
            "program_version": self._inner.version,
            **told,
        }

    # -- the session --------------------------------------------------------------------------------------------------

    def begins_with(self) -> dict[str, Json]:
        """What this session is told, by its digest. The session's own number makes its record unlike any other."""
        snapshot, skipped = self._folder.take()
        inner = getattr(self._inner, "begins_with", None)
        return {
            "memory": snapshot.digest,
            "notes": len(snapshot.notes),
            "files": len(snapshot.files),
            "skipped": dict(skipped),
            "number": secrets.token_hex(8),
            **({"inner": dict(inner())} if callable(inner) else {}),
        }

    def start(self, setting: Setting) -> None:
        begun = setting.begun_with or self.begins_with()
        self._snapshot = self._folder.told(str(begun.get("memory", "")))
        self._notes = [
            f"memory {self._snapshot.digest}: {len(self._snapshot.notes)} notes, {len(self._snapshot.files)} files",
            *_left_out(begun),
        ]
        if setting.box is not None and not self._snapshot.empty:
            self._place(setting.box.workspace)
        inside = FOLDER if setting.box is not None else ""
        self._text = self._snapshot.text(inside)
        inner = begun.get("inner")
        setting = evolve(setting, begun_with=dict(inner) if isinstance(inner, Mapping) else {})
        if self._text and self.options.tell == "brief":
            setting = evolve(setting, brief=evolve(setting.brief, instructions=f"{setting.brief.instructions}\n\n{self._text}"))
        elif self._text:
            setting = evolve(setting, history=self._as_told(setting.history))
        self._inner.start(setting)

    def send(self, message: str, context: TurnContext) -> AgentTurn:
        while self._notes:
            context.log(LogEvent(context.turn, "note", {"text": self._notes.pop(0)}))
        if context.turn == 1 and self.options.tell == "message":
            message = self._before(message)
        return self._inner.send(message, context)

    def finalize(self) -> None:
        self._inner.finalize()

    def _before(self, message: str) -> str:
        return f"{self._text}\n\n{MESSAGE}\n\n{message}" if self._text else message

    def _as_told(self, history: Conversation) -> Conversation:
        """What was said as the agent inside heard it: with its notes before the first message."""
        first = next((m for m in history.messages if m.sender == "user"), None)
        return Conversation(tuple(evolve(m, text=self._before(m.text)) if m is first else m for m in history.messages))

    def _place(self, workspace: Path) -> None:
        from finassay_memory.files import place

        notes = "".join(f"- {note}\n" for note in self._snapshot.notes) or "No notes yet.\n"
        try:
            place(
                workspace,
                FOLDER,
                {READABLE: f"# Notes from earlier sessions\n\n{notes}", **{f"files/{p}": t for p, t in self._snapshot.files.items()}},
            )
        except OSError as error:
            raise AgentError(f"the memory cannot be put into the workspace: {error.strerror or type(error).__name__}") from error

    # -- learning -----------------------------------------------------------------------------------------------------

    @property
    def keeps(self) -> tuple[Path, ...]:
        return (self._folder.path,)

    @property
    def reviewers(self) -> dict[str, dict[str, Json]]:
        return {} if self.options.review in (RULES, NONE) else {self.options.review: dict(self.options.review_options)}

    def has_reviewed(self, session: str) -> bool:
        return self.options.review == NONE or session in self._folder.read().reviewed

    def review(self, lesson: Lesson, models: Models) -> str:
        """Edit the memory after a session, once. Raises `AgentError`, `ProviderError`, `BudgetError`; the session is then reviewed another time."""
        if self.has_reviewed(lesson.session):
            return "nothing: it was reviewed before"
        review = self._by_model(lesson, models) if self.reviewers else self._by_rules(lesson)
        return review.words() if review is not None else "nothing: it was reviewed before"

    def _by_rules(self, lesson: Lesson) -> Review | None:
        from finassay_memory.rules import learn

        return self._folder.update(lesson.session, lambda memory: learn(memory, lesson, self.options.bounds, self.options.weak, utc_now()))

    def _by_model(self, lesson: Lesson, models: Models) -> Review | None:
        """The model is asked without the lock: it takes its time, and other programs review meanwhile."""
        from finassay_memory.modelled import ask, made

        model = models.get(self.options.review, self.options.review_options)
        shown: Memory = self._folder.read()
        edits = ask(model, shown, lesson, self.options.bounds)
        return self._folder.update(
            lesson.session, lambda memory: made(memory, shown, edits, self.options.bounds, lesson.session, utc_now(), model.id)
        )


def _left_out(begun: Mapping[str, Json]) -> list[str]:
    skipped = begun.get("skipped")
    return (
        [f"left out of the memory's files: {json.dumps(skipped, ensure_ascii=False)[:2_000]}"]
        if isinstance(skipped, Mapping) and skipped
        else []
    )
