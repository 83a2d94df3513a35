"""What the meter reads out of answers, whole, in pieces and cut."""

import json

import pytest

from finassay.api.usage import Usage
from finassay_gateway.meter import Events, Meter, trouble_in


def sse(*values, names=True):
    made = []
    for value in values:
        name = value.get("type") if isinstance(value, dict) and names else None
        made.append((f"event: {name}\n" if name else "") + "data: " + (value if isinstance(value, str) else json.dumps(value)) + "\n\n")
    return "".join(made).encode()


MESSAGES = [
    {
        "type": "message_start",
        "message": {"usage": {"input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30, "output_tokens": 1}},
    },
    {"type": "ping"},
    {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hello"}},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 55, "output_tokens_details": {"thinking_tokens": 20}},
    },
    {"type": "message_stop"},
]
RESPONSES = [
    {"type": "response.created", "response": {"status": "in_progress", "usage": None, "output": []}},
    {"type": "response.output_text.delta", "delta": "Hello"},
    {
        "type": "response.completed",
        "response": {
            "status": "completed",
            "output": [{"type": "web_search_call"}, {"type": "message"}],
            "usage": {
                "input_tokens": 240,
                "input_tokens_details": {"cached_tokens": 200, "cache_write_tokens": 5},
                "output_tokens": 55,
                "output_tokens_details": {"reasoning_tokens": 20},
            },
        },
    },
]
CHAT_USAGE = {
    "prompt_tokens": 240,
    "completion_tokens": 55,
    "prompt_tokens_details": {"cached_tokens": 200},
    "completion_tokens_details": {"reasoning_tokens": 20},
}
CHAT = [
    {"choices": [{"index": 0, "delta": {"content": "Hello"}}], "usage": None},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": None},
    {"choices": [], "usage": CHAT_USAGE},
    "[DONE]",
]
GENERATE = [
    {"candidates": [{"content": {"parts": [{"text": "Hel"}]}}], "usageMetadata": {"promptTokenCount": 230, "totalTokenCount": 230}},
    {
        "candidates": [{"content": {"parts": [{"text": "lo"}]}, "finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": 230,
            "toolUsePromptTokenCount": 10,
            "candidatesTokenCount": 35,
            "thoughtsTokenCount": 20,
            "cachedContentTokenCount": 200,
        },
    },
]
STREAMS = {"messages": MESSAGES, "responses": RESPONSES, "chat": CHAT, "generate": GENERATE}
FULL = Usage(input_tokens=240, cached_tokens=200, output_tokens=55, reasoning_tokens=20)


def read(api, data, size=None, events=True):
    meter = Meter(api, events)
    step = size or len(data) or 1
    for start in range(0, len(data), step):
        meter.feed(data[start : start + step])
    return meter.finish()


@pytest.mark.parametrize("size", [None, 1, 7, 64])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("api", STREAMS)
def test_a_stream_in_pieces_of_any_size(api, line_end, size):
    told = read(api, sse(*STREAMS[api]).replace(b"\n", line_end), size)
    assert told.usage == FULL
    assert told.ended
    assert told.trouble is None


@pytest.mark.parametrize("api", STREAMS)
def test_a_stream_without_a_word_of_usage_says_nothing_of_it(api):
    bare = {
        "messages": [{"type": "message_start", "message": {}}, {"type": "message_stop"}],
        "responses": [{"type": "response.completed", "response": {"status": "completed"}}],
        "chat": [{"choices": [{"finish_reason": "stop"}]}, "[DONE]"],
        "generate": [{"candidates": [{"finishReason": "STOP"}]}],
    }
    told = read(api, sse(*bare[api]))
    assert told.usage == Usage()
    assert told.ended


def test_a_cut_answer_keeps_what_it_told():
    told = read("messages", sse(*MESSAGES[:3]))
    assert told.usage == Usage(input_tokens=240, cached_tokens=200, output_tokens=1)
    assert told.cache_write_tokens == 30
    assert not told.ended
    told = read("generate", sse(*GENERATE[:1]))
    assert told.usage == Usage(input_tokens=230)
    assert not told.ended
    for api in ("responses", "chat"):
        assert read(api, sse(*STREAMS[api][:1])).usage == Usage()
        assert not read(api, sse(*STREAMS[api][:1])).ended


@pytest.mark.parametrize("api", STREAMS)
def test_a_stream_that_ends_within_an_event(api):
    told = read(api, sse(*STREAMS[api])[:-30] if api != "chat" else sse(*CHAT[:1])[:-5])
    assert not told.ended


def test_whole_answers():
    messages = {
        "type": "message",
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 230, "output_tokens": 55, "server_tool_use": {"web_search_requests": 2}},
    }
    told = read("messages", json.dumps(messages).encode(), 10, events=False)
    assert told.usage == Usage(input_tokens=240, cached_tokens=230, output_tokens=55)
    assert told.searches == 2
    told = read("responses", json.dumps(RESPONSES[-1]["response"]).encode(), events=False)
    assert (told.usage, told.searches, told.cache_write_tokens, told.ended) == (FULL, 1, 5, True)
    told = read("chat", json.dumps({"choices": [{"finish_reason": "stop"}], "usage": CHAT_USAGE}).encode(), events=False)
    assert (told.usage, told.ended) == (FULL, True)
    told = read("generate", json.dumps(GENERATE[-1]).encode(), events=False)
    assert (told.usage, told.ended) == (FULL, True)
    told = read("generate", json.dumps(GENERATE).encode(), events=False)  # a stream without events is a list
    assert (told.usage, told.ended) == (FULL, True)


def test_where_others_put_the_usage_of_chat_completions():
    in_choice = [
        {"choices": [{"delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": 9, "completion_tokens": 3, "cached_tokens": 4}}]}
    ]
    assert read("chat", sse(*in_choice)).usage == Usage(input_tokens=9, cached_tokens=4, output_tokens=3)
    elsewhere = [{"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3, "prompt_cache_hit_tokens": 2}}]
    assert read("chat", sse(*elsewhere)).usage == Usage(input_tokens=9, cached_tokens=2, output_tokens=3)


@pytest.mark.parametrize("api", STREAMS)
@pytest.mark.parametrize(
    "junk",
    [b"", b"\0\xff\xfe", b"<html>login</html>", b"data: {", b"data: [1,2]\n\n", b"data: null\n\n", b'data: {"usage": 3, "choices": 4, "candidates": "x"}\n\n',
     b'data: {"usage": {"input_tokens": "many", "prompt_tokens": -4, "output_tokens": true}, "usageMetadata": {"promptTokenCount": 1.5}}\n\n',
     b"data: " + b"[" * 100_000 + b"\n\n"],
)  # fmt: skip
def test_junk_is_unknown_and_never_an_end(api, junk):
    for events in (True, False):
        told = read(api, junk, 1000, events)
        assert told.usage == Usage()
        assert not told.ended


def test_errors_inside_an_answer():
    told = read("messages", sse(*MESSAGES[:2], {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}))
    assert (told.trouble.status, told.trouble.passes, told.usage.input_tokens) == (529, True, 240)
    failed = {"type": "response.failed", "response": {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow"}}}
    assert read("responses", sse(failed)).trouble.status == 429
    assert read("chat", sse({"error": {"message": "no", "type": "server_error"}})).trouble.status == 500
    assert read("generate", sse({"error": {"code": 503, "status": "UNAVAILABLE", "message": "no"}})).trouble.status == 503
    assert read("chat", b"not json", events=False).trouble.kind == "unreadable"


def test_errors_as_a_status():
    trouble = trouble_in(400, b'{"error": {"message": "Your credit balance is too low", "type": "invalid_request_error"}}', {"a": "b"})
    assert (trouble.status, trouble.code, trouble.words) == (400, "invalid_request_error", "Your credit balance is too low")
    assert trouble_in(502, b"<html>", {}).status == 502
    assert (
        trouble_in(400, b'[{"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "API key not valid"}}]', {}).words
        == "API key not valid"
    )


def test_an_event_without_end_does_not_grow():
    events = Events()
    got = b""
    for _ in range(40):
        got += b"".join(events.feed(b"x" * 2**20))
    assert len(got) >= 16 * 2**20
    assert len(got) + len(events.rest()) == 40 * 2**20
