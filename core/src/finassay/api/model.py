"""Chat models: what simulators, judges and rubric writers talk to. Agents bring their own."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable

from attrs import Factory, frozen

from finassay.api.agent import Usage
from finassay.api.verdict import Json


@frozen
class ChatMessage:
    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_call_id: str = ""


@frozen
class Tool:
    name: str
    description: str
    schema: Mapping[str, Json]


@frozen
class ToolCall:
    id: str
    name: str
    arguments: Mapping[str, Json]


@frozen
class ChatRequest:
    """One exchange. `schema` asks for a structured value; `repeat` tells cached repeats of one request apart."""

    messages: Sequence[ChatMessage]
    tools: Sequence[Tool] = ()
    schema: Mapping[str, Json] | None = None
    max_output_tokens: int = 4096
    temperature: float | None = None
    repeat: int = 0
    role: str = ""
    """Who asks, for the ledger: `simulator`, `judge`, `writer`, `reviewer`."""


@frozen
class ChatReply:
    """`finish` tells a refusal and a truncation apart from a normal end."""

    text: str
    finish: Literal["stop", "length", "tool", "refusal", "empty"]
    model: str
    value: Json = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    meta: Mapping[str, Json] = Factory(dict)


@runtime_checkable
class ChatModel(Protocol):
    """One model of one provider. `family` lets rules about different families be enforced."""

    id: str
    family: str

    def complete(self, request: ChatRequest) -> ChatReply:
        """Raises `ProviderError`."""
        ...
