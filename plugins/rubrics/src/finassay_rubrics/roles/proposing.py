"""How a model in a role is asked: it proposes, code looks, what is wrong goes back, a bounded number of times."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final, Generic, TypeVar

from attrs import frozen

from finassay.api.model import ChatMessage, ChatModel, ChatReply, ChatRequest
from finassay.api.verdict import Json
from finassay.models.serving import at_step

T = TypeVar("T")
MAX_TRIES: Final = 3
"""Proposals: the first, and those after what was wrong went back."""
MAX_PROBLEMS: Final = 20
MAX_PROBLEM: Final = 400
MAX_SAID: Final = 60_000
"""Characters of a reply that are shown to its model again."""
MAX_OUTPUT: Final = 16_000
UNUSABLE: Final = {
    "refusal": "the model refused to answer",
    "length": "the answer was cut at the token limit",
    "empty": "the answer was empty",
    "invalid": "the answer does not fit the form",
    "tool": "the model called a tool instead of answering",
}


@frozen
class Proposal(Generic[T]):
    """What came of asking."""

    value: T | None
    """What held of the last reply of which anything did; None where nothing did."""
    returned: tuple[tuple[str, ...], ...]
    """What was wrong with each reply that was sent back, or given up on."""
    held: bool
    """Whether nothing was wrong with the last reply."""

    @property
    def last(self) -> str:
        """What was wrong in the end, on one line; empty where nothing was."""
        if self.held or not self.returned:
            return ""
        first, *more = self.returned[-1]
        return f"{first} (and {len(more)} more)" if more else first


@frozen
class Ask(Generic[T]):
    """One question to a model."""

    system: str
    user: str
    schema: Mapping[str, Json]
    read: Callable[[Mapping[str, Any]], tuple[T | None, list[str]]]
    """What a reply's value comes to, and what is wrong with it."""
    role: str
    about: str
    stage: str
    """Of a bank's or a rubric's making, as the ledger calls it."""

    def put(self, model: ChatModel) -> Proposal[T]:
        """Asks until a reply holds, at most `MAX_TRIES` times. Raises `ProviderError`, `BudgetError`."""
        messages = [ChatMessage("system", self.system), ChatMessage("user", self.user)]
        returned: list[tuple[str, ...]] = []
        value: T | None = None
        for number in range(1, MAX_TRIES + 1):
            request = ChatRequest(tuple(messages), schema=self.schema, max_output_tokens=MAX_OUTPUT, role=self.role, about=self.about)
            with at_step(self.stage, number):
                reply = model.complete(request)
            found, problems = self._looked_at(reply)
            value = found if found is not None else value
            if not problems:
                return Proposal(value, tuple(returned), True)
            told = tuple(" ".join(p.split())[:MAX_PROBLEM] for p in problems[:MAX_PROBLEMS])
            returned.append(told)
            messages += _sent_back(reply, told)
        return Proposal(value, tuple(returned), False)

    def _looked_at(self, reply: ChatReply) -> tuple[T | None, list[str]]:
        if reply.finish != "stop" or not isinstance(reply.value, Mapping):
            return None, [UNUSABLE.get(reply.finish, "there is no value in the answer")]
        try:
            return self.read(reply.value)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:  # whatever a model puts there
            return None, [f"the answer cannot be read: {type(error).__name__}: {line(error, 200)}"]


def _sent_back(reply: ChatReply, problems: Sequence[str]) -> tuple[ChatMessage, ChatMessage]:
    said = reply.text or (json.dumps(reply.value, ensure_ascii=False) if reply.value is not None else "(nothing)")
    wrong = "\n".join(f"- {problem}" for problem in problems)
    return ChatMessage("assistant", said[:MAX_SAID]), ChatMessage(
        "user", f"That does not hold:\n{wrong}\nGive the whole answer again, mended."
    )


def closed(**properties: Any) -> dict[str, Any]:
    """JSON Schema of an object with these properties, all of them required, as the vendors' structured outputs want it."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def many(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(items)}


def one_of(values: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def as_text(data: Mapping[str, Any]) -> str:
    """JSON for a model to read."""
    return json.dumps(data, ensure_ascii=False, indent=1)


@cache
def prompt(role: str) -> str:
    """The packaged text of a role's prompt."""
    return (resources.files("finassay_rubrics.roles") / "prompts" / f"{role}.md").read_text("utf-8").strip()


def prompt_digest(role: str, schema: Mapping[str, Any], *own: str) -> str:
    """SHA-256 over the text of a role's prompt, what a guidance pack adds to it, and the form of its answer."""
    return hashlib.sha256(json.dumps([prompt(role), list(own), schema], sort_keys=True).encode()).hexdigest()


def line(text: Any, most: int = 400) -> str:
    """A model's words on one line, bounded, without what nobody sees."""
    from finassay_rubrics.roles.fence import shown

    return " ".join(shown(str(text)).replace("\ufffd", "").split())[:most]
