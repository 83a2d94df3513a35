"""What the gateway refuses, and that no key ever comes back."""

import json
import logging
import socket
import threading

import httpx2
import pytest
from attrs import asdict

from finassay.api.errors import BudgetError, ProviderError, ProviderRefusedError
from finassay_models_kit.testing import Served, event

PATHS = {
    "anthropic": "/v1/messages",
    "openai": "/v1/responses",
    "moonshotai": "/v1/chat/completions",
    "google": "/v1beta/models/t:generateContent",
}


def post(session, name, path=None, body=None, token=None, **more):
    transport = httpx2.HTTPTransport(uds=str(session.services[0].socket), verify=False)
    with httpx2.Client(transport=transport, timeout=20, trust_env=False) as http:
        headers = {"x-api-key": session.access.token if token is None else token}
        how = {"json": {"model": "t"} if body is None else body} if "content" not in more else {}
        base = session.access.urls.get(name) or f"http://127.0.0.1/{name}"
        return http.post(base + (PATHS[name] if path is None else path), headers=headers, **how, **more)


def message_of(name, got):
    """The error's text, from where the API's programs look for it."""
    told = got.json()
    assert isinstance(told["error"], dict)
    if name == "anthropic":
        assert told["type"] == "error"
        assert told["error"]["type"]
    elif name == "google":
        assert told["error"]["code"] == got.status_code
        assert told["error"]["status"].isupper()
    else:
        assert told["error"]["code"]
    return told["error"]["message"]


@pytest.mark.parametrize("name", PATHS)
def test_a_wrong_token(house, name):
    session, server, told = house.session(name, [Served(200, {})])
    for token in ("", "x", session.access.token[:-1], session.access.token + "a", "é" * 20, session.access.token.upper()):
        got = post(session, name, token=token.encode("utf-8"))
        assert got.status_code == 401
        assert "token" in message_of(name, got)
    assert not server.asked
    assert not told


@pytest.mark.parametrize("name", PATHS)
def test_the_budget(house, name):
    def afford():
        raise BudgetError("$1.00 of $1.00 are spent")

    session, server, told = house.session(name, [Served(200, {})], afford=afford)
    got = post(session, name)
    assert got.status_code == (402 if name == "anthropic" else 400)
    assert "$1.00" in message_of(name, got)
    assert not server.asked
    assert (told.wait(1)[0].refused, told[0].status, told[0].what) == ("budget", got.status_code, "t")
    assert isinstance(session.access.failure(), BudgetError)


def test_the_budget_knows_every_call_before(house, wire):
    spent = []

    def afford():
        if len(spent) >= 2:
            raise BudgetError("spent")

    session, server, _ = house.session("anthropic", [Served(events=wire.messages())], afford=afford, called=spent.append)
    statuses = [post(session, "anthropic").status_code for _ in range(4)]
    assert statuses == [200, 200, 402, 402]
    assert len(server.asked) == 2


def test_a_harness_that_fails_is_no_budget(house):
    def afford():
        raise RuntimeError("sk-internal-detail-0123")

    session, server, _ = house.session("anthropic", [Served(200, {})], afford=afford)
    got = post(session, "anthropic")
    assert got.status_code == 500
    assert "internal-detail" not in got.text
    assert type(session.access.failure()) is ProviderError
    assert not server.asked


@pytest.mark.parametrize("name", PATHS)
def test_models_that_are_not_allowed(house, name):
    session, server, told = house.session(name, [Served(200, {})], models=("good-1", "good-2"))
    path = "/v1beta/models/{}:generateContent" if name == "google" else PATHS[name]
    good = post(session, name, path.format("good-1"), {"model": "good-1"})
    assert good.status_code == 200
    bad = post(session, name, path.format("bad"), {"model": "bad"})
    assert bad.status_code == (400 if name in ("openai", "moonshotai") else 403)
    assert "good-1, good-2" in message_of(name, bad)
    assert len(server.asked) == 1
    assert [call.refused for call in told.wait(2)] == ["", "model"]
    assert session.access.failure() is None


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"model": None},
        {"model": ["good"]},
        {"model": "good", "models": ["bad"]},
        {"model": "good", "tools": [{"type": "advisor", "model": "bad"}]},
    ],
)
def test_ways_around_the_allowed_models(house, body):
    session, server, _ = house.session("openai", [Served(200, {})], models=("good",))
    assert post(session, "openai", body=body).status_code == 400
    assert not server.asked


@pytest.mark.parametrize(
    ("content", "code"),
    [(b'{"model": "a", "model": "b"}', "body"), (b"", "body"), (b"[1]", "body"), (b'{"model": "t", "background": true}', "background")],
)
def test_bodies_that_do_not_pass(house, content, code):
    session, server, told = house.session("openai", [Served(200, {})])
    assert post(session, "openai", content=content).status_code == 400
    assert not server.asked
    assert told.wait(1)[0].refused == code


def test_paths_upstreams_and_sizes(house):
    server = house.upstream([Served(200, {})])
    gateway = house.gateway(upstreams={"anthropic": {"url": server.url}, "openai": {"url": server.url}}, max_body_mb=1)
    told, session = house.open(gateway, upstreams=("anthropic",))
    assert post(session, "anthropic", "/v1/messages/batches").status_code == 404
    assert post(session, "openai").status_code == 404  # known to the gateway, not one of the session's
    assert post(session, "nobody", "/v1/messages").status_code == 404
    assert post(session, "channels", "/prices/mcp").status_code == 404
    assert post(session, "anthropic", content=b" " * (2**20 + 1)).status_code == 413
    assert [call.refused for call in told.wait(5)] == ["path", "upstream", "upstream", "upstream", "size"]
    assert not server.asked


def test_sessions_are_apart(house, wire):
    one, two = house.upstream([Served(events=wire.messages())]), house.upstream([Served(events=wire.chat())])
    gateway = house.gateway(upstreams={"anthropic": {"url": one.url}, "moonshotai": {"url": two.url}})
    (told_a, a), (told_b, b) = house.open(gateway, upstreams=("anthropic",)), house.open(gateway, upstreams=("moonshotai",))
    assert a.access.token != b.access.token
    assert post(a, "anthropic", token=b.access.token).status_code == 404
    assert post(b, "moonshotai", token=a.access.token).status_code == 404
    assert not one.asked
    assert not two.asked
    assert post(a, "anthropic").status_code == 200
    assert len(told_a.wait(2)) == 2
    assert [call.refused for call in told_b.wait(1)] == ["upstream"]
    a.close()
    assert post(b, "moonshotai", token=a.access.token).status_code == 401
    assert post(b, "moonshotai").status_code == 200


def test_websockets_get_a_plain_answer(house):
    session, server, told = house.session("openai", [Served(200, {})])
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(10)
        raw.connect(str(session.services[0].socket))
        raw.sendall(
            f"GET /openai/v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {session.access.token}\r\nConnection: Upgrade\r\n"
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        assert raw.recv(1000).startswith(b"HTTP/1.1 426 ")
    assert told.wait(1)[0].refused == "websocket"
    assert not server.asked


def test_redirects_are_not_followed(house):
    target = house.upstream([Served(200, {"got": "it"})])
    session, _, _ = house.session("anthropic", [Served(307, {}, {"Location": f"{target.url}/v1/messages"})])
    got = post(session, "anthropic")
    assert got.status_code == 502
    assert "location" not in got.headers
    assert not target.asked
    assert isinstance(session.access.failure(), ProviderRefusedError)


def test_an_upstream_that_repeats_the_key(house, keys, caplog):
    """In an error, in a header, in pieces, in a stream: the agent sees none of it, the record and the log hold none."""
    key = keys["ANTHROPIC_API_KEY"]

    def script(asked):
        how = asked.body["how"]
        if how == "error":
            return Served(
                401, {"error": {"type": "authentication_error", "message": f"invalid {key}, {key[:14]}..., {key[5:]}"}}, {"X-Key": key}
            )
        if how == "whole":
            return Served(200, {"content": f"your key is {key}"}, {"X-Key": key})
        half = len(key) // 2
        return Served(
            events=[event(f'{{"type": "x", "text": "{key}'[: 25 + half], "")[:-2], key[half:].encode() + b'"}\n\n' + key.encode()]
        )

    session, _, told = house.session("anthropic", script)
    with caplog.at_level(logging.DEBUG):
        for how in ("error", "whole", "stream"):
            got = post(session, "anthropic", body={"model": "t", "how": how})
            seen = got.text + repr(got.headers)
            assert not [key[i : i + 10] for i in range(len(key) - 9) if key[i : i + 10] in seen and how == "error"]
            assert key not in seen
            failure = session.access.failure()
            assert key not in f"{failure} {getattr(failure, 'hint', '')} {failure!r}"
    told.wait(3)
    assert key not in json.dumps([asdict(call) for call in told])
    ours = "\n".join(record.getMessage() for record in caplog.records if record.threadName.startswith("finassay"))
    assert key not in ours + caplog.text
    assert key not in repr(session.access) + repr(session.services)
    assert session.access.token not in repr(session.access) + ours


def test_who_is_refused_again_and_again_is_made_to_wait(house):
    session, _, told = house.session("anthropic", [Served(200, {})])
    done = threading.Event()

    def hammer():
        while not done.is_set():
            post(session, "anthropic", "/v1/files")

    threads = [threading.Thread(target=hammer) for _ in range(4)]
    for thread in threads:
        thread.start()
    told.wait(60, 30)
    done.wait(1.0)
    done.set()
    for thread in threads:
        thread.join(10)
    assert len(told) < 60 + 4 * 12


def test_too_many_requests_at_once(house):
    go = threading.Event()
    session, _, told = house.session("anthropic", lambda asked: (go.wait(20), Served(200, {"type": "message"}))[1])
    statuses = []
    threads = [threading.Thread(target=lambda: statuses.append(post(session, "anthropic").status_code)) for _ in range(70)]
    for thread in threads:
        thread.start()
    told.wait(6)
    go.set()
    for thread in threads:
        thread.join(20)
    assert statuses.count(429) == 6
    assert statuses.count(200) == 64, sorted(statuses)
