"""The JSON shape in which a session held elsewhere comes in: a pydantic model at the edge; its JSON Schema is the documentation."""

import re
import unicodedata
from datetime import date
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from finassay.api.delivery import EndReason

FILE = "session.json"
FILES = "files"
MAX_TURNS = 1_000
MAX_TEXT = 4 * 2**20
MAX_FILES = 5_000
MAX_PATH = 300
MAX_DEPTH = 12


def _relative(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not path or path.startswith("/") or "\\" in path or "//" in path or path.endswith("/") or ".." in parts or "." in path.split("/"):
        raise ValueError(f"{shown(path)!r} is no relative path with '/'")
    if len(path) > MAX_PATH or len(parts) > MAX_DEPTH:
        raise ValueError(f"{shown(path)!r} is longer than {MAX_PATH} characters or deeper than {MAX_DEPTH} folders")
    if any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co") for c in path):
        raise ValueError(f"{shown(path)!r} has control or undecodable characters")
    return path


def shown(text: str) -> str:
    """Text as an error line may show it."""
    return "".join("�" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co") else c for c in text[:120])


def _universe(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


RelativePath = Annotated[str, AfterValidator(_relative)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 _-]{0,79}$")]


class _Part(BaseModel):
    """Keys that are not known are kept with the sealed record, named when the session comes in, and not read."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)


class ImportedUniverse(_Part):
    """What the strategy may hold."""

    text: str = Field(default="", max_length=2_000, description="As the user said it: 'these eight names: …'.")
    tickers: tuple[str, ...] = Field(default=(), max_length=20_000, description="The tickers, where they were named.")


class ImportedTask(_Part):
    """What the user wanted, and under which conditions."""

    cutoff: date = Field(description="Last date whose data may be used, inclusive, in the exchange's time zone.")
    items: tuple[str, ...] = Field(
        default=(),
        max_length=100,
        description="Ids of the hidden strategy's items in the words of the grammar, a value in parentheses: 'risk.threshold(12%)'. "
        "Empty: there was no hidden strategy, and dimensions 2.1 to 2.6 do not apply.",
    )
    grammar: str | None = Field(default=None, max_length=200, description="Id of the grammar that the items belong to.")
    grammar_seed: int = Field(
        default=0,
        ge=0,
        lt=2**53,
        validation_alias=AliasChoices("grammar_seed", "seed"),
        description="Seed of that grammar, for what the items do not tell.",
    )
    persona: str = Field(default="imported", max_length=200, description="Who the user was: a persona's id, or any name.")
    belief: tuple[str, ...] = Field(default=(), max_length=200, description="The strategy in the user's words; kept with the record.")
    universe: Annotated[ImportedUniverse, BeforeValidator(_universe)] = Field(
        default=ImportedUniverse(), description="What the strategy may hold: a sentence, or an object."
    )
    channels: tuple[str, ...] = Field(default=(), max_length=20, description="Ids of installed data channels that the agent could reach.")
    max_turns: int | None = Field(default=None, ge=1, le=MAX_TURNS, description="Agent turns that were allowed.")
    turn_seconds: float | None = Field(default=None, gt=0, description="Seconds that a turn was allowed.")
    exchange: str = Field(default="XNYS", pattern=r"^[A-Z0-9]{4}$", description="ISO 10383 code of the exchange.")
    timezone: str = Field(default="America/New_York", max_length=64, description="The exchange's time zone.")


class ImportedMessage(_Part):
    """One message. The user opens in turn 0; then agent 1, user 1, agent 2, …; the last reply of the user may be absent."""

    turn: int = Field(ge=0, le=MAX_TURNS)
    sender: Literal["user", "agent"] = Field(validation_alias=AliasChoices("from", "sender", "role"), serialization_alias="from")
    text: str = Field(max_length=MAX_TEXT)
    cut: bool = Field(default=False, description="The agent's reply was stopped by the clock.")
    seconds: float | None = Field(default=None, ge=0, description="Wall-clock time of the turn, where it was measured.")


class ImportedEvent(_Part):
    """One entry of the agent's execution log."""

    turn: int = Field(ge=1, le=MAX_TURNS)
    kind: Literal["tool-call", "tool-result", "usage", "error", "note"]
    data: dict[str, Any] = Field(
        default_factory=dict,
        description="tool-call: id, name, input. tool-result: id, output, is_error, exit_code. usage: token counts, cost_usd.",
    )
    seconds: float = Field(default=0.0, ge=0, description="Since the start of the turn.")


class ImportedEnd(_Part):
    """How the session ended."""

    reason: EndReason = Field(validation_alias=AliasChoices("end_reason", "reason"), serialization_alias="end_reason")
    why: str = Field(default="", max_length=20_000, description="In words.")
    stated_by_turn: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="What the user says they told in each turn; kept beside what the program reads from the words."
    )


class ImportedSession(_Part):
    """A whole session: what was wanted, what was said, what was delivered in each turn, how it ended."""

    task: ImportedTask
    conversation: tuple[ImportedMessage, ...] = Field(min_length=1, max_length=2 * MAX_TURNS + 1)
    deliveries: dict[str, RelativePath | dict[str, RelativePath]] = Field(
        description="Agent turn to the whole tree that the user had after it: {path: file below 'files/'}, or the name of a folder "
        "below 'files/' that holds the tree. A turn that is not named left the tree as it was."
    )
    end: ImportedEnd
    id: Name | None = Field(default=None, description="Name of the session; the folder's name where it is not given.")
    agent: Name = Field(default="imported", description="Name under which the agent's results are listed.")
    agent_version: str = Field(default="unknown", max_length=200)
    log: tuple[ImportedEvent, ...] = Field(default=(), max_length=200_000, description="What the agent did, where it was logged.")

    @model_validator(mode="after")
    def _in_order(self) -> "ImportedSession":
        for place, message in enumerate(self.conversation):
            wanted = ("agent" if place % 2 else "user", (place + 1) // 2)
            if (message.sender, message.turn) != wanted:
                raise ValueError(
                    f"message {place + 1} is {message.sender} in turn {message.turn}; expected {wanted[0]} in turn {wanted[1]}: "
                    "the user opens in turn 0, then agent and user take turns"
                )
        turns = {str(m.turn) for m in self.conversation if m.sender == "agent"}
        for turn, tree in self.deliveries.items():
            if turn not in turns:
                raise ValueError(f"deliveries name turn {shown(turn)!r}, in which no agent spoke")
            if isinstance(tree, dict):
                _plausible(turn, tree)
        if any(str(event.turn) not in turns for event in self.log):
            raise ValueError("the log names a turn in which no agent spoke")
        return self


def _plausible(turn: str, tree: dict[str, str]) -> None:
    if len(tree) > MAX_FILES:
        raise ValueError(f"turn {turn} delivers more than {MAX_FILES:,} files")
    folders = {str(parent) for path in tree for parent in PurePosixPath(path).parents}
    for path in tree:
        _relative(path)
        if path in folders:
            raise ValueError(f"turn {turn} delivers {shown(path)!r} as a file and as a folder")


_VALUE = re.compile(r"^(?P<id>[^()]+?)\s*\(\s*(?P<value>[-+]?\d+(?:\.\d+)?)\s*(?:%|percent|bps?|basis points)?\s*\)$")


def item_value(text: str) -> tuple[str, float | None]:
    """`risk.threshold(12%)` to ("risk.threshold", 12.0); an id without parentheses has no value. Raises `ValueError`."""
    match = _VALUE.match(text)
    if match:
        return match["id"], float(match["value"])
    if "(" in text or ")" in text:
        raise ValueError(f"item {shown(text)!r}: expected an id, or an id with a number in parentheses such as risk.threshold(12%)")
    return text, None


def unknown(part: BaseModel, place: str = "") -> dict[str, Any]:
    """What was given under keys that are not known, by place (`end.remarks`); of several parts of one kind the first counts."""
    found: dict[str, Any] = {f"{place}{name}": value for name, value in (part.model_extra or {}).items()}
    for name in type(part).model_fields:
        value = getattr(part, name)
        for inner in value if isinstance(value, tuple) else (value,):
            if isinstance(inner, BaseModel):
                found = {**unknown(inner, f"{place}{name}."), **found}
    return found
