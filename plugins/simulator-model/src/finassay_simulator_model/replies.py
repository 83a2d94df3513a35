"""What the model must answer with, and how it becomes the contract's words. A reply is data: what does not fit is no decision."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast, get_args

from finassay.api.errors import SimulatorError
from finassay.api.model import ChatReply
from finassay.api.simulator import Action, BlockReason, Decision, DisclosureVerdict, GoalStatus, Observation
from finassay.api.strategy import Item
from finassay.api.task import Goal

MAX_TEXT: Final = 20_000
MAX_LIST: Final = 60
_STRINGS: Final[dict[str, Any]] = {"type": "array", "items": {"type": "string"}}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


OPENING_SCHEMA: Final = _object(message={"type": "string"})
SUMMARY_SCHEMA: Final = _object(summary={"type": "string"})
CHECK_SCHEMA: Final = _object(
    verdicts={
        "type": "array",
        "items": _object(
            statement={"type": "string"},
            told={"type": "boolean"},
            told_words={"type": "string"},
            raised={"type": "boolean"},
            raised_words={"type": "string"},
        ),
    }
)


def decision_schema(goals: Sequence[Goal]) -> dict[str, Any]:
    """The schema of a decision: one observation for each goal, then what is done and said."""
    observation = _object(
        goal={"type": "string", "enum": [goal.id for goal in goals]},
        status={"type": "string", "enum": list(get_args(GoalStatus))},
        citations=_STRINGS,
    )
    return _object(
        observations={"type": "array", "items": observation},
        action={"type": "string", "enum": list(get_args(Action))},
        message={"type": "string"},
        evidence=_STRINGS,
        block_reason={"anyOf": [{"type": "string", "enum": list(get_args(BlockReason))}, {"type": "null"}]},
    )


def value_of(reply: ChatReply) -> Mapping[str, Any]:
    """The structured value of a reply. Raises `SimulatorError` for a refusal, an empty, cut or unusable reply."""
    reasons = {
        "refusal": "the model refused",
        "empty": "the model's reply was empty",
        "length": "the model's reply was cut at its length limit",
        "invalid": "the model's reply did not have the form that was asked for",
    }
    if reply.finish in reasons:
        raise SimulatorError(f"{reasons[reply.finish]} ({reply.model})")
    if not isinstance(reply.value, Mapping):
        raise SimulatorError(f"the model's reply held no object ({reply.model})")
    return reply.value


def text_of(reply: ChatReply, field: str) -> str:
    """One text of a reply's value. Raises `SimulatorError`."""
    text = value_of(reply).get(field)
    if not isinstance(text, str):
        raise SimulatorError(f"the model's reply held no {field} ({reply.model})")
    return text.strip()[:MAX_TEXT]


def decision(reply: ChatReply) -> Decision:
    """The decision in a reply. Raises `SimulatorError` where it has none; what a decision gets wrong is the program's to refuse."""
    value = value_of(reply)
    action, reason = value.get("action"), value.get("block_reason")
    if action not in get_args(Action) or not (reason is None or reason in get_args(BlockReason)):
        raise SimulatorError(f"the model's reply held no known action ({reply.model})")
    return Decision(
        cast(Action, action), _observations(value.get("observations")), text_of(reply, "message"), _strings(value.get("evidence")), reason
    )


def _observations(value: object) -> tuple[Observation, ...]:
    listed = value[:MAX_LIST] if isinstance(value, list | tuple) else ()
    statuses = get_args(GoalStatus)
    fitting = (one for one in listed if isinstance(one, Mapping) and isinstance(one.get("goal"), str) and one.get("status") in statuses)
    return tuple(Observation(one["goal"], one["status"], _strings(one.get("citations"))) for one in fitting)


def _strings(value: object) -> tuple[str, ...]:
    return tuple(text for text in value[:MAX_LIST] if isinstance(text, str)) if isinstance(value, list | tuple) else ()


def verdict(reply: ChatReply, items: Sequence[Item]) -> DisclosureVerdict:
    """What the small check found, by item. Raises `SimulatorError`."""
    listed = value_of(reply).get("verdicts")
    if not isinstance(listed, list | tuple):
        raise SimulatorError(f"the model's reply held no verdicts ({reply.model})")
    names = {f"S{number}": item.id for number, item in enumerate(items, start=1)}
    found: dict[str, dict[str, str]] = {"told": {}, "raised": {}}
    for one in listed[:MAX_LIST]:
        name = names.get(str(one.get("statement", "")).strip().rstrip(":.")) if isinstance(one, Mapping) else None
        for side, words in found.items():
            quote = one.get(f"{side}_words") if name and one.get(side) is True else None
            if name and isinstance(quote, str) and quote.strip():
                words[name] = quote.strip()[:MAX_TEXT]
    return DisclosureVerdict(found["told"], found["raised"])
