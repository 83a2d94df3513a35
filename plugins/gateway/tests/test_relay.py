"""Model calls through the gateway: the vendors' own SDKs, streamed and whole."""

import gzip
import hashlib
import json
import socket
import threading
import time

import anthropic
import httpx2
import openai
import pytest
from google import genai
from google.genai import types as genai_types

from finassay.api.errors import ProviderError
from finassay.api.usage import Usage
from finassay_models_kit.testing import Served

FULL = Usage(input_tokens=240, cached_tokens=200, output_tokens=55)


def over_socket(session):
    """A client on the session's Unix socket, as a box's relay is."""
    transport = httpx2.HTTPTransport(uds=str(session.services[0].socket), verify=False)
    return httpx2.Client(transport=transport, timeout=20, trust_env=False)


def chat_body(**more):
    return {"model": "kimi-t", "messages": [{"role": "user", "content": "Hello"}], **more}


def test_anthropic(house, keys, wire):
    session, server, told = house.session("anthropic", [Served(events=wire.messages())])
    said = [{"role": "user", "content": "Hello"}]
    with (
        anthropic.Anthropic(api_key=session.access.token, base_url=session.access.urls["anthropic"], max_retries=0) as client,
        client.messages.stream(model="claude-t", max_tokens=9, messages=said) as stream,
    ):
        assert stream.get_final_text() == "Good morning."
    assert server.last.headers["x-api-key"] == keys["ANTHROPIC_API_KEY"]
    assert server.last.headers["accept-encoding"] == "identity"
    assert session.access.token not in repr(server.last)
    call = told.wait(1)[0]
    assert (call.kind, call.to, call.what, call.status, call.cut, call.refused) == ("model", "anthropic", "claude-t", 200, False, "")
    assert call.usage == FULL
    assert call.cache_write_tokens == 30
    assert call.answer == hashlib.sha256(b"".join(wire.messages())).hexdigest()
    assert 0 < call.first_byte_seconds <= call.seconds
    assert session.access.failure() is None


def test_openai_responses(house, keys, wire):
    session, server, told = house.session("openai", [Served(events=wire.responses())])
    with openai.OpenAI(api_key=session.access.token, base_url=session.access.urls["openai"] + "/v1", max_retries=0) as client:
        stream = client.responses.create(model="gpt-t", input="Hello", stream=True)
        assert [e.response.output_text for e in stream if e.type == "response.completed"] == ["Good morning."]
    assert server.last.path == "/v1/responses"
    assert server.last.headers["authorization"] == f"Bearer {keys['OPENAI_API_KEY']}"
    assert told.wait(1)[0].usage == Usage(240, 200, 55, 20)


def test_a_chat_that_does_not_ask_for_its_usage_gets_none_and_is_metered_all_the_same(house, keys, wire):
    def script(asked):
        return Served(events=wire.chat(usage=bool(asked.body.get("stream_options", {}).get("include_usage"))))

    session, server, told = house.session("moonshotai", script)
    with openai.OpenAI(api_key=session.access.token, base_url=session.access.urls["moonshotai"] + "/v1", max_retries=0) as client:
        plain = list(client.chat.completions.create(**chat_body(), stream=True))
        asked = list(client.chat.completions.create(**chat_body(), stream=True, stream_options={"include_usage": True}))
    assert [bool(chunk.choices) for chunk in plain] == [True, True]
    assert [bool(chunk.choices) for chunk in asked] == [True, True, False]
    assert all(one.body["stream_options"]["include_usage"] for one in server.asked)
    assert [call.usage for call in told.wait(2)] == [FULL, FULL]
    assert told[0].answer == hashlib.sha256(b"".join(wire.chat(usage=False))).hexdigest()
    assert server.last.headers["authorization"] == f"Bearer {keys['MOONSHOT_API_KEY']}"


def test_a_chat_upstream_that_takes_no_stream_options(house, wire):
    server = house.upstream([Served(events=wire.chat(usage=False))])
    gateway = house.gateway(upstreams={"mine": {"url": server.url, "format": "openai", "key": "", "stream_usage": False}})
    told, session = house.open(gateway, upstreams=("mine",))
    with over_socket(session) as http:
        body = chat_body(stream=True)
        http.post(
            session.access.urls["mine"] + "/v1/chat/completions", json=body, headers={"authorization": f"Bearer {session.access.token}"}
        )
    assert server.last.body == body
    assert "authorization" not in server.last.headers
    assert told.wait(1)[0].usage == Usage()
    assert not told[0].cut


def test_google(house, keys, wire):
    session, server, told = house.session("google", [Served(events=wire.generate())])
    options = genai_types.HttpOptions(base_url=session.access.urls["google"])
    client = genai.Client(api_key=session.access.token, http_options=options)
    chunks = list(client.models.generate_content_stream(model="gemini-t", contents="Hello"))
    client.close()
    assert "".join(chunk.text or "" for chunk in chunks) == "Good morning."
    assert server.last.path.endswith("/models/gemini-t:streamGenerateContent?alt=sse")
    assert server.last.headers["x-goog-api-key"] == keys["GEMINI_API_KEY"]
    call = told.wait(1)[0]
    assert (call.what, call.usage) == ("gemini-t", Usage(240, 200, 55, 20))


def test_googles_key_in_the_query(house, keys, wire):
    session, server, _ = house.session("google", [Served(events=wire.generate())])
    with over_socket(session) as http:
        path = "/v1beta/models/gemini-t:streamGenerateContent"
        url = f"{session.access.urls['google']}{path}?alt=sse&key={session.access.token}"
        assert http.post(url, json={"contents": []}).status_code == 200
    assert server.last.path == f"{path}?alt=sse"
    assert server.last.headers["x-goog-api-key"] == keys["GEMINI_API_KEY"]


WHOLE = [
    ("anthropic", "/v1/messages", {"usage": {"input_tokens": 10, "cache_read_input_tokens": 230, "output_tokens": 55}}, Usage(240, 230, 55)),
    ("openai", "/v1/responses", {"status": "completed", "usage": {"input_tokens": 240, "output_tokens": 55}}, Usage(240, None, 55)),
    ("openai", "/v1/chat/completions", {"choices": [], "usage": {"prompt_tokens": 240, "completion_tokens": 55}}, Usage(240, None, 55)),
    ("google", "/v1beta/models/t:generateContent", {"usageMetadata": {"promptTokenCount": 240, "candidatesTokenCount": 55}}, Usage(240, None, 55)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "path", "body", "usage"), WHOLE, ids=[w[1] for w in WHOLE])
def test_whole_answers(house, name, path, body, usage):
    session, server, told = house.session(name, [Served(200, body, {"Request-Id": "r1", "Set-Cookie": "a=b", "Openai-Organization": "me"})])
    with over_socket(session) as http:
        got = http.post(session.access.urls[name] + path, json={"model": "t", "x": "é"}, headers={"x-api-key": session.access.token})
    assert (got.status_code, got.json(), got.headers["request-id"]) == (200, body, "r1")
    assert not {"set-cookie", "openai-organization"} & set(got.headers)
    assert server.last.body == {"model": "t", "x": "é"}
    assert told.wait(1)[0].usage == usage
    assert told[0].digest == hashlib.sha256(got.request.content).hexdigest()


def test_counting_and_lists_are_no_model_calls(house):
    session, server, told = house.session("anthropic", [Served(200, {"input_tokens": 3})])
    url, headers = session.access.urls["anthropic"], {"x-api-key": session.access.token}
    with over_socket(session) as http:
        assert http.post(url + "/v1/messages/count_tokens", json={"model": "t"}, headers=headers).json() == {"input_tokens": 3}
        assert http.get(url + "/v1/models", headers=headers).status_code == 200
        assert http.head(url + "/api/hello").status_code == 200
        assert http.head(url + "/", headers=headers).status_code == 200
    session.settle()
    assert [one.path for one in server.asked] == ["/v1/messages/count_tokens", "/v1/models"]
    assert not told


def test_a_compressed_answer_is_read_and_passed_on_plain(house, wire):
    data = gzip.compress(b"".join(wire.messages()))
    session, _, told = house.session("anthropic", [Served(200, data, {"Content-Type": "text/event-stream", "Content-Encoding": "gzip"})])
    with over_socket(session) as http:
        got = http.post(session.access.urls["anthropic"] + "/v1/messages", json={"model": "t"}, headers={"x-api-key": session.access.token})
    assert got.content == b"".join(wire.messages())
    assert "content-encoding" not in got.headers
    assert told.wait(1)[0].usage == FULL


def test_an_answer_in_a_compression_that_nobody_asked_for(house):
    session, _, told = house.session("anthropic", [Served(200, b"\x1b\x03\x00", {"Content-Encoding": "br"})])
    with over_socket(session) as http:
        got = http.post(session.access.urls["anthropic"] + "/v1/messages", json={"model": "t"}, headers={"x-api-key": session.access.token})
    assert got.status_code == 502
    assert told.wait(1)[0].cut
    assert type(session.access.failure()) is ProviderError


def test_a_compressed_request_goes_on_plain(house, wire):
    session, server, _ = house.session("anthropic", [Served(events=wire.messages())])
    headers = {"x-api-key": session.access.token, "content-encoding": "gzip"}
    with over_socket(session) as http:
        url = session.access.urls["anthropic"] + "/v1/messages"
        assert http.post(url, content=gzip.compress(json.dumps({"model": "t"}).encode()), headers=headers).status_code == 200
        assert http.post(url, content=gzip.compress(b" " * (70 * 2**20)), headers=headers).status_code == 413
        assert http.post(url, content=b"no", headers=headers).status_code == 400
        assert http.post(url, content=b"no", headers={**headers, "content-encoding": "zstd"}).status_code == 415
    assert [one.body for one in server.asked] == [{"model": "t"}]
    assert "content-encoding" not in server.last.headers


def test_headers_that_are_not_passed_on(house, wire):
    session, server, _ = house.session("anthropic", [Served(events=wire.messages())])
    headers = {
        "x-api-key": session.access.token, "authorization": f"Bearer {session.access.token}", "cookie": "a=b", "x-forwarded-for": "1.2.3.4",
        "x-http-method-override": "DELETE", "connection": "keep-alive, x-mine", "x-mine": "1", "anthropic-beta": "b1", "user-agent": "agent/1",
        "x-other": f"see {session.access.token}",
    }  # fmt: skip
    with over_socket(session) as http:
        http.post(session.access.urls["anthropic"] + "/v1/messages?beta=true", json={"model": "t"}, headers=headers)
    sent = server.last.headers
    assert (sent["anthropic-beta"], sent["user-agent"], server.last.path) == ("b1", "agent/1", "/v1/messages?beta=true")
    assert not {"cookie", "authorization", "x-forwarded-for", "x-http-method-override", "x-mine", "x-other"} & set(sent)
    assert session.access.token not in repr(server.last)


def test_chunks_pass_as_they_come(house, wire):
    go = threading.Event()

    def events():
        for number, one in enumerate(wire.messages()):
            if number == 3:
                assert go.wait(10)
            yield one

    session, _, told = house.session("anthropic", lambda asked: Served(events=events()))
    with over_socket(session) as http:
        url, headers = session.access.urls["anthropic"] + "/v1/messages", {"x-api-key": session.access.token}
        with http.stream("POST", url, json={"model": "t"}, headers=headers) as got:
            pieces = got.iter_bytes()
            early = b""
            while early.count(b"\n\n") < 3:
                early += next(pieces)
            assert not told  # the upstream has said no more yet
            go.set()
            assert early + b"".join(pieces) == b"".join(wire.messages())


def test_a_program_that_reads_slowly_gets_everything_and_memory_stays_flat(house):
    size, count = 2**16, 200

    def events():
        for _ in range(count):
            yield b"data: " + b"x" * size + b"\n\n"

    session, _, _ = house.session("anthropic", lambda asked: Served(events=events()))
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(str(session.services[0].socket))
        head = f"POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\nx-api-key: {session.access.token}\r\nContent-Length: 13\r\n\r\n"
        raw.sendall(head.encode() + b'{"model":"t"}')
        time.sleep(0.3)  # nobody reads
        total = 0
        while part := raw.recv(2**20):
            total += len(part)
    assert total >= size * count
