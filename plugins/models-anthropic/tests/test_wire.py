"""What is sent has the shape that the SDK declares, and what the test server answers is what the SDK reads."""

import pytest

from finassay.api.model import ChatMessage, ChatRequest, Tool, ToolCall, WebSearch
from finassay_models_anthropic import testing, wire
from finassay_models_anthropic.options import AnthropicOptions
from finassay_models_kit.shapes import misfits
from finassay_models_kit.testing import events_in

SCHEMA = {"type": "object", "properties": {"level": {"type": "integer"}}, "required": ["level"]}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
CALL = ToolCall("t1", "look_up", {"a": 1}, {"before": [THOUGHT]})
MESSAGES = (
    ChatMessage("system", "s"),
    ChatMessage("user", ""),
    ChatMessage("assistant", "t", (CALL,)),
    ChatMessage("tool", "", tool_call_id="t1"),
)


@pytest.mark.parametrize(
    "more",
    [
        {"schema": SCHEMA},
        {"schema": SCHEMA, "tools": (Tool("look_up", "d", SCHEMA),)},
        {"search": WebSearch(fetch=True, domains=("a.example",))},
    ],
)
def test_requests(more):
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    options = AnthropicOptions(name="m", effort="low", thinking="adaptive", cache_prompt=True)
    asked = wire.parameters(ChatRequest(MESSAGES, **more), options)
    assert misfits({**asked, "model": "m", "stream": True}, MessageCreateParamsStreaming) == []


def test_answers():
    from anthropic.types import RawMessageStreamEvent
    from pydantic import TypeAdapter

    cited = {"type": "web_search_result_location", "url": "u", "title": "t", "cited_text": "c", "encrypted_index": "e"}
    adapter = TypeAdapter(RawMessageStreamEvent)
    stream = testing.stream([testing.text("hello", [cited]), testing.tool_use("x", {"a": 1}), THOUGHT])
    assert len([adapter.validate_python(data) for data in events_in(stream) if data["type"] != "ping"]) > 10
