"""Endpoints that answer in another shape than was asked for: the real SDK against a server on this machine."""

import json

import pytest

from finassay.api.errors import ProviderError, ProviderRefusedError
from finassay_models_kit.suite import request
from finassay_models_kit.testing import Served, loopback
from finassay_models_openai import testing as wire
from finassay_models_openai.model import OpenAIModel
from finassay_models_openai.options import OpenAIOptions

WHOLE = wire.completion("Fine.")
CALLING = wire.completion(None, finish="tool_calls", calls=[wire.called("look_up", {"ticker": "X"})])
EVENTS = {"Content-Type": "text/event-stream"}
TEXT = {"Content-Type": "text/plain; charset=utf-8"}
HTML = Served(body=b"<html>Sign in</html>", headers={"Content-Type": "text/html"})


def stream(made):
    return b"".join(wire.chunks(made))


def asked(served, **options):
    with loopback([served]) as server:
        model = OpenAIModel(OpenAIOptions(name="kimi-k2.5", base_url=f"{server.url}/v1", **options))
        return model.complete(request())


@pytest.mark.parametrize(
    ("streaming", "served"),
    [
        (True, Served(body=WHOLE)),
        (True, Served(body=WHOLE, headers=EVENTS)),
        (True, Served(body=stream(WHOLE), headers=TEXT)),
        (True, Served(body=b": a comment first\n\n" + stream(WHOLE), headers=EVENTS)),
        (False, Served(body=stream(WHOLE), headers=EVENTS)),
        (False, Served(body=stream(WHOLE))),
        (False, Served(body=stream(WHOLE).replace(b"\n", b"\r\n"), headers=TEXT)),
        (False, Served(body=json.dumps(WHOLE).encode(), headers=TEXT)),
    ],
)
def test_an_answer_in_the_other_shape_is_the_answer(streaming, served):
    reply = asked(served, stream=streaming)
    assert (reply.text, reply.finish, reply.model) == ("Fine.", "stop", "kimi-test-1")
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (11, 7)


@pytest.mark.parametrize(("streaming", "body"), [(True, json.dumps(CALLING).encode()), (False, stream(CALLING))])
def test_calls_of_tools_come_through_in_the_other_shape(streaming, body):
    (call,) = asked(Served(body=body), stream=streaming).tool_calls
    assert (call.name, call.arguments) == ("look_up", {"ticker": "X"})


@pytest.mark.parametrize(("streaming", "api"), [(True, "chat"), (False, "chat"), (None, "responses")])
def test_an_error_in_the_other_shape_is_told(streaming, api):
    told = {"error": {"message": "no such thing", "type": "x", "code": "invalid_thing"}}
    bodies = [json.dumps(told).encode(), b"data: " + json.dumps(told).encode() + b"\n\n"]
    for body in bodies:
        with pytest.raises(ProviderRefusedError, match=r"invalid_thing.*no such thing"):
            asked(Served(body=body), stream=streaming, api=api)


@pytest.mark.parametrize(("streaming", "api"), [(True, "chat"), (False, "chat"), (None, "responses")])
@pytest.mark.parametrize(
    ("served", "said"),
    [
        (HTML, "neither an answer nor a stream"),
        (Served(body=b""), "an empty answer"),
        (Served(body=b"[" * 100_000), "neither an answer nor a stream|nested too deep"),
        (Served(body={"hello": 1}), "no choices|another kind"),
        (Served(body=b'data: {"id": \n\n'), "cannot be read"),
        (Served(body=b"data: 5\n\n"), "cannot be read|connection failed"),
        (Served(body={"choices": "x", "output": 5, "object": "response"}), "cannot be read"),
    ],
)
def test_what_is_no_answer_ends_in_one_line_with_a_hint(streaming, api, served, said):
    with pytest.raises(ProviderError, match=said) as caught:
        asked(served, stream=streaming, api=api)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert caught.value.hint


def test_a_response_that_came_whole_is_the_response():
    made = wire.response([wire.message("Fine.")])
    for headers in ({}, EVENTS):
        reply = asked(Served(body=made, headers=headers), api="responses")
        assert (reply.text, reply.finish, reply.usage.input_tokens) == ("Fine.", "stop", 11)


def test_a_stream_cut_in_the_middle_may_be_tried_again():
    body = stream(WHOLE)
    for streaming in (True, False):
        with pytest.raises(ProviderError, match="connection failed") as caught:
            asked(Served(body=body[: body.rindex(b'"finish_reason": "stop"')].rpartition(b"data:")[0]), stream=streaming)
        assert not isinstance(caught.value, ProviderRefusedError)
