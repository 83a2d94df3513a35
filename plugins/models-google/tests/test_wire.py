"""What is sent has the shape that the SDK declares, and what the test server answers is what the SDK reads."""

import pytest

from finassay.api.model import ChatMessage, ChatRequest, Tool, ToolCall, WebSearch
from finassay_models_google import testing, wire
from finassay_models_google.options import GoogleOptions
from finassay_models_kit.testing import events_in

SCHEMA = {"type": "object", "properties": {"level": {"type": "integer"}}, "required": ["level"]}
CALL = ToolCall("f1", "look_up", {"a": 1}, {"thought_signature": "c2ln"})
MESSAGES = (
    ChatMessage("system", "s"),
    ChatMessage("user", ""),
    ChatMessage("assistant", "t", (CALL,)),
    ChatMessage("tool", "", tool_call_id="f1"),
)


@pytest.mark.parametrize(
    "more", [{"schema": SCHEMA}, {"schema": SCHEMA, "tools": (Tool("look_up", "d", SCHEMA),)}, {"search": WebSearch(fetch=True)}]
)
def test_requests(more):
    from google.genai import types

    options = GoogleOptions(name="gemini-3.8-flash", effort="low", thinking_budget=-1)
    contents, config = wire.parameters(ChatRequest(MESSAGES, temperature=0.5, **more), options)
    assert types.GenerateContentConfig.model_config["extra"] == "forbid"
    types.GenerateContentConfig.model_validate(config)
    assert [types.Content.model_validate(content).role for content in contents] == ["user", "model", "user"]


def test_answers():
    from google.genai.types import GenerateContentResponse

    stream = testing.stream([{"text": "x"}, testing.call("f", {}, "1", "c2ln")])
    assert len([GenerateContentResponse.model_validate(data) for data in events_in(stream)]) == 3
