"""From what a person or a program wrote to the contract's words: JSON, or a simple text form."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar, get_args

from attrs import evolve
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from finassay.api.amiss import first_amiss
from finassay.api.simulator import Action, BlockReason, Decision, GoalStatus, Observation

MAX_ANSWER: Final = 1_000_000
T = TypeVar("T", bound=BaseModel)


class FormError(Exception):
    """What was written is no answer; the message says where and why."""


class ObservationForm(BaseModel):
    """What you see of one goal."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    goal: str = Field(max_length=200)
    status: GoalStatus
    citations: tuple[str, ...] = Field(default=(), max_length=100)


class DecisionForm(BaseModel):
    """An answer. A goal that is not observed counts as missing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    action: Action
    message: str
    observations: tuple[ObservationForm, ...] = Field(default=(), max_length=100)
    evidence: tuple[str, ...] = Field(default=(), max_length=100)
    block_reason: BlockReason | None = None

    def decision(self, goals: Sequence[str]) -> Decision:
        """The decision, with goals that were left out as missing."""
        seen = tuple(Observation(o.goal, o.status, o.citations) for o in self.observations)
        left_out = tuple(Observation(goal, "missing") for goal in goals if goal not in {o.goal for o in seen})
        return Decision(self.action, (*seen, *left_out), self.message.strip(), self.evidence, self.block_reason)


class OpeningForm(BaseModel):
    """The opening message."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    message: str


def opening_of(text: str, *, is_json: bool) -> str:
    """The opening in a file: an object with `message`, or the text as it is. Raises `FormError`."""
    return (_validated(OpeningForm, _json(text)).message if is_json else text).strip()


def decision_of(text: str, goals: Sequence[str], *, is_json: bool) -> Decision:
    """The decision in a file. Raises `FormError`."""
    return _validated(DecisionForm, _json(text) if is_json else fields_of(text, goals)).decision(goals)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormError(f"it is no JSON: {error}") from None


def _validated(form: type[T], value: Any) -> T:
    try:
        return form.model_validate(value)
    except ValidationError as error:
        amiss = first_amiss(error, form)
        amiss = amiss if amiss.path else evolve(amiss, path=("the answer",))
        raise FormError(f"{amiss.line()} ({amiss.hint.rstrip('.')})" if amiss.hint else amiss.line()) from None


_WORDS: Final = re.compile(r"[^\s,;]+")


def fields_of(text: str, goals: Sequence[str]) -> Mapping[str, Any]:
    """The text form: lines `name: value`, then a line of dashes, then the message. Raises `FormError`.

    Names are `action`, `evidence`, `reason`, and the goals, whose value is a status and what shows it.
    """
    head, dashes, message = _split(text)
    if not dashes:
        raise FormError("there is no line of dashes (---) between the fields and the message")
    value: dict[str, Any] = {"message": message, "observations": []}
    for number, row in enumerate(head.splitlines(), start=1):
        if not row.strip() or row.lstrip().startswith("#"):
            continue
        name, colon, rest = row.partition(":")
        name, words = name.strip().lower(), _WORDS.findall(rest)
        if not colon:
            raise FormError(f"line {number} is not 'name: value': {row.strip()[:80]!r}")
        if name in goals:
            value["observations"].append(_observation(name, words, number))
        elif name == "action":
            value["action"] = _one_of(words, get_args(Action), "action", number)
        elif name == "evidence":
            value["evidence"] = words
        elif name == "reason":
            value["block_reason"] = _one_of(words, get_args(BlockReason), "reason", number) if words else None
        else:
            raise FormError(f"line {number}: {name[:80]!r} is neither action, evidence, reason nor a goal ({', '.join(goals)})")
    if "action" not in value:
        raise FormError(f"there is no line 'action: …'; one of {', '.join(get_args(Action))}")
    return value


def _split(text: str) -> tuple[str, bool, str]:
    parts = re.split(r"^-{3,}[ \t]*$", text.replace("\r\n", "\n"), maxsplit=1, flags=re.MULTILINE)
    return (parts[0], True, parts[1]) if len(parts) == 2 else (text, False, "")


def _observation(goal: str, words: list[str], number: int) -> dict[str, Any]:
    return {"goal": goal, "status": _one_of(words[:1], get_args(GoalStatus), goal, number), "citations": words[1:]}


def _one_of(words: list[str], known: Sequence[str], name: str, number: int) -> str:
    if len(words) != 1 or words[0] not in known:
        raise FormError(f"line {number}: {name}: {' '.join(words)[:80]!r} is not one of {', '.join(known)}")
    return words[0]
