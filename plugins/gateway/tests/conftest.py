"""A gateway in front of loopback upstreams."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from finassay.api.gateway import GatewayCall, GatewaySession, GatewaySpec
from finassay_gateway.gateway import StandardGateway
from finassay_gateway.options import GatewayOptions
from finassay_models_kit.testing import Loopback, Script, event, loopback

KEYS = {
    "ANTHROPIC_API_KEY": "sk-ant-api03-REALKEYREALKEY-0a1b2c3d",
    "OPENAI_API_KEY": "sk-proj-REALKEYREALKEY-4e5f6a7b",
    "GEMINI_API_KEY": "AIzaREALKEYREALKEY8c9d0e1f",
    "MOONSHOT_API_KEY": "sk-moon-REALKEYREALKEY-2a3b4c5d",
}


class Told(list[GatewayCall]):
    """What a session's `called` was told; safe from several threads."""

    def __init__(self) -> None:
        super().__init__()
        self._more = threading.Condition()

    def __call__(self, call: GatewayCall) -> None:
        with self._more:
            self.append(call)
            self._more.notify_all()

    def wait(self, count: int, seconds: float = 10.0) -> "Told":
        with self._more:
            assert self._more.wait_for(lambda: len(self) >= count, seconds), f"{len(self)} calls told, not {count}"
        return self


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    for name in ("GOOGLE_API_KEY", "KIMI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    return dict(KEYS)


def sse(*values: Any, done: bool = False) -> list[bytes]:
    """Server-sent events in their wire form, named by their type."""
    made = [event(value, str(value.get("type", ""))) for value in values]
    return [*made, event("[DONE]")] if done else made


def messages(text: str = "Good morning.") -> list[bytes]:
    """A streamed answer of the Messages API."""
    begun = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude-t",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }
    used = {"input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30, "output_tokens": 1}
    return sse(
        {"type": "message_start", "message": {**begun, "usage": used}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 55}},
        {"type": "message_stop"},
    )


def responses(text: str = "Good morning.") -> list[bytes]:
    """A streamed answer of the Responses API."""
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"id": "i", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    base = {"id": "r", "object": "response", "created_at": 1, "model": "gpt-t", "tools": [], "tool_choice": "auto"}
    base |= {"parallel_tool_calls": True, "output": []}
    used = {"input_tokens": 240, "input_tokens_details": {"cached_tokens": 200}, "total_tokens": 295}
    used |= {"output_tokens": 55, "output_tokens_details": {"reasoning_tokens": 20}}
    return sse(
        {"type": "response.created", "sequence_number": 0, "response": {**base, "status": "in_progress"}},
        {"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.content_part.added", "sequence_number": 2, "output_index": 0, "content_index": 0, "item_id": "i", "part": part},
        {"type": "response.output_text.delta", "sequence_number": 3, "output_index": 0, "content_index": 0, "item_id": "i", "delta": text},
        {"type": "response.completed", "sequence_number": 4, "response": {**base, "status": "completed", "output": [item], "usage": used}},
    )


def chat(text: str = "Good morning.", usage: bool = True) -> list[bytes]:
    """A streamed chat completion; with its usage only where it was asked for."""
    base: dict[str, Any] = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "kimi-t"}
    used = {"prompt_tokens": 240, "completion_tokens": 55, "total_tokens": 295, "prompt_tokens_details": {"cached_tokens": 200}}
    values = [
        {**base, "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}]},
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    return sse(*values, *([{**base, "choices": [], "usage": used}] if usage else []), done=True)


def generate(text: str = "Good morning.") -> list[bytes]:
    """A streamed answer of generateContent."""
    used = {"promptTokenCount": 240, "cachedContentTokenCount": 200, "candidatesTokenCount": 35, "thoughtsTokenCount": 20}
    return sse(
        {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": text}]}}]},
        {"candidates": [{"index": 0, "content": {"role": "model", "parts": []}, "finishReason": "STOP"}], "usageMetadata": used},
    )


class House:
    """Upstreams and gateways of one test, closed at its end."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def close(self) -> None:
        """End all of it before the test does."""
        self._stack.close()

    def upstream(self, script: Script) -> Loopback:
        return self._stack.enter_context(loopback(script))

    def gateway(self, **options: Any) -> StandardGateway:
        gateway = StandardGateway(GatewayOptions(**options))
        self._stack.callback(gateway.close)
        return gateway

    def open(self, gateway: StandardGateway, **spec: Any) -> tuple[Told, GatewaySession]:
        """A session of a gateway and what it tells."""
        told = Told()
        return told, gateway.open(GatewaySpec(**{"session": "s", "called": told, **spec}))

    def session(self, name: str, script: Script, **spec: Any) -> tuple[GatewaySession, Loopback, Told]:
        """One session at one upstream."""
        server = self.upstream(script)
        gateway = self.gateway(upstreams={name: {"url": server.url}})
        told = Told()
        return gateway.open(GatewaySpec(**{"session": "s", "upstreams": (name,), "called": told, **spec})), server, told


@pytest.fixture
def house(keys: dict[str, str]) -> Iterator[House]:
    with ExitStack() as stack:
        yield House(stack)


class Wire:
    """Answers in their wire forms."""

    sse, messages, responses, chat, generate = map(staticmethod, (sse, messages, responses, chat, generate))


@pytest.fixture(scope="session")
def wire() -> type[Wire]:
    return Wire
