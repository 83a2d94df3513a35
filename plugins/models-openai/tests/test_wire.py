"""What is sent has the shape that the SDK declares, and what the test server answers is what the SDK reads."""

import pytest

from finassay.api.model import ChatMessage, ChatRequest, Tool, ToolCall, WebSearch
from finassay_models_kit.shapes import misfits
from finassay_models_kit.testing import events_in
from finassay_models_openai import chat, responses, testing
from finassay_models_openai.options import OpenAIOptions

SCHEMA = {"type": "object", "properties": {"level": {"type": "integer"}, "why": {"type": "string"}}, "required": ["level"]}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "Z2g="}
CALL = ToolCall("c1", "look_up", {"a": 1}, {"before": [THOUGHT]})
MESSAGES = (
    ChatMessage("system", "s"),
    ChatMessage("user", ""),
    ChatMessage("assistant", "t", (CALL,)),
    ChatMessage("tool", "", tool_call_id="c1"),
)
OPTIONS = OpenAIOptions(name="m", effort="low")
TOOLS = (Tool("look_up", "d", SCHEMA),)


@pytest.mark.parametrize("more", [{"schema": SCHEMA}, {"tools": TOOLS}, {"search": WebSearch(fetch=True, domains=("a.example",))}])
def test_requests_of_responses(more):
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    asked = responses.parameters(ChatRequest(MESSAGES, temperature=0.5, **more), OPTIONS)
    assert misfits({**asked, "model": "m", "stream": True}, ResponseCreateParamsStreaming) == []


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("more", [{"schema": SCHEMA}, {"tools": TOOLS}])
def test_requests_of_chat(more, own):
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

    asked = chat.parameters(ChatRequest(MESSAGES, temperature=0.5, **more), OPTIONS, own=own)
    assert misfits({**asked, "model": "m"}, CompletionCreateParamsNonStreaming) == []


def test_answers():
    from openai.types.chat import ChatCompletion, ChatCompletionChunk
    from openai.types.responses import ResponseStreamEvent
    from pydantic import TypeAdapter

    note = {"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 1}
    made = testing.response([testing.message("x", annotations=[note]), testing.function_call("f", {})])
    adapter = TypeAdapter(ResponseStreamEvent)
    assert len([adapter.validate_python(data) for data in events_in(testing.stream(made))]) == 6
    completion = testing.completion("x", calls=[testing.called("f", {})])
    ChatCompletion.model_validate(completion)
    assert len([ChatCompletionChunk.model_validate(data) for data in events_in(testing.chunks(completion))]) > 4
