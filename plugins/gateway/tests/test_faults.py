"""Failures of providers, silence, broken connections, programs that go away."""

import socket
import threading
import time

import anthropic
import httpx2
import openai
import pytest
from attrs import evolve

from finassay.api.errors import BudgetError, ProviderError, ProviderRefusedError
from finassay.api.usage import Usage
from finassay_models_kit.testing import Served

PATHS = {
    "anthropic": "/v1/messages",
    "openai": "/v1/responses",
    "moonshotai": "/v1/chat/completions",
    "google": "/v1beta/models/t:streamGenerateContent",
}


def client_of(session):
    return httpx2.Client(transport=httpx2.HTTPTransport(uds=str(session.services[0].socket), verify=False), timeout=20, trust_env=False)


def post(session, name="anthropic"):
    with client_of(session) as http:
        return http.post(
            session.access.urls[name] + PATHS[name], json={"model": "t", "stream": True}, headers={"x-api-key": session.access.token}
        )


def until_it_breaks(values):
    """What came, and what it ended with."""
    seen = []
    try:
        seen.extend(iter(values))
    except Exception as error:
        return seen, error
    return seen, None


def answers(wire):
    return {"anthropic": wire.messages(), "openai": wire.responses(), "moonshotai": wire.chat(), "google": wire.generate()}


FAILURES = [
    (500, {}, {}, "passes", None),
    (529, {"error": {"type": "overloaded_error", "message": "busy"}}, {}, "passes", None),
    (503, {}, {"Retry-After": "7"}, "passes", 7.0),
    (429, {"error": {"type": "rate_limit_error"}}, {"Retry-After": "12.5"}, "passes", 12.5),
    (408, {}, {}, "passes", None),
    (401, {"error": {"type": "authentication_error", "message": "invalid x-api-key"}}, {}, "refused", None),
    (402, {}, {}, "refused", None),
    (403, {"error": {"type": "permission_error"}}, {}, "refused", None),
    (404, {"error": {"type": "not_found_error", "message": "model: t"}}, {}, "refused", None),
    (429, {"error": {"code": "insufficient_quota", "message": "You exceeded"}}, {}, "refused", None),
    (400, {"error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}}, {}, "refused", None),
    (400, {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "API key not valid."}}, {}, "refused", None),
    (400, {"error": {"type": "invalid_request_error", "message": "model 'insufficient_quota api_key': unknown"}}, {}, "program", None),
    (400, {"error": {"type": "invalid_request_error", "message": "prompt is too long"}}, {}, "program", None),
    (413, {}, {}, "program", None),
    (422, {}, {}, "program", None),
]


@pytest.mark.parametrize(("status", "body", "headers", "whose", "wait"), FAILURES)
def test_whose_failure_it_was(house, wire, status, body, headers, whose, wait):
    script = [Served(status, body, headers), Served(events=wire.messages())]
    session, _, told = house.session("anthropic", script)
    got = post(session)
    assert (got.status_code, got.json()) == (status, body)  # as the API said it
    failure = session.access.failure()
    if whose == "program":
        assert failure is None
    else:
        assert type(failure) is (ProviderError if whose == "passes" else ProviderRefusedError)
        assert failure.retry_after == wait
        assert "anthropic/t" in str(failure)
        assert str(status) in str(failure)
        assert "too low" not in str(failure)  # the vendor's words may repeat the prompt
    assert (told.wait(1)[0].status, told[0].refused, told[0].cut, told[0].usage) == (status, "", False, Usage())
    assert post(session).status_code == 200
    assert session.access.failure() is None


def test_an_upstream_that_is_not_there(house):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gateway = house.gateway(upstreams={"anthropic": {"url": f"http://127.0.0.1:{port}"}})
    told, session = house.open(gateway, upstreams=("anthropic",))
    assert post(session).status_code == 502
    assert type(session.access.failure()) is ProviderError
    assert (told.wait(1)[0].status, told[0].cut) == (502, True)


@pytest.mark.parametrize("name", PATHS)
def test_silence_before_the_answer(house, name):
    session, _, told = house.session(name, [Served(200, {}, pause=30)], stall_seconds=0.5)
    began = time.monotonic()
    got = post(session, name)
    assert time.monotonic() - began < 5
    assert got.status_code == 504
    assert "silent" in str(got.json()["error"]["message"])
    assert type(session.access.failure()) is ProviderError
    assert (told.wait(1)[0].status, told[0].cut) == (504, True)


@pytest.mark.parametrize("name", PATHS)
def test_silence_within_the_answer(house, wire, name):
    """The program gets an error of its API, then the connection ends without the regular end."""
    stop = threading.Event()

    def events():
        yield answers(wire)[name][0]
        stop.wait(20)

    session, _, told = house.session(name, lambda asked: Served(events=events()), stall_seconds=0.5)
    try:
        with client_of(session) as http:
            url, headers = session.access.urls[name] + PATHS[name], {"x-api-key": session.access.token}
            with http.stream("POST", url, json={"model": "t", "stream": True}, headers=headers) as got:
                pieces, error = until_it_breaks(got.iter_bytes())
    finally:
        stop.set()
    assert isinstance(error, httpx2.RemoteProtocolError)
    seen = b"".join(pieces)
    assert seen.startswith(answers(wire)[name][0])
    assert b"was silent for" in seen
    call = told.wait(1)[0]
    assert (call.status, call.cut) == (200, True)
    if name == "anthropic":
        assert call.usage == Usage(240, 200, 1)
    assert type(session.access.failure()) is ProviderError


def test_the_sdks_understand_an_error_within_the_answer(house, wire):
    stop = threading.Event()

    def script(name):
        def events():
            yield answers(wire)[name][0]
            stop.wait(20)

        return lambda asked: Served(events=events())

    try:
        session, _, _ = house.session("anthropic", script("anthropic"), stall_seconds=0.3)
        with anthropic.Anthropic(api_key=session.access.token, base_url=session.access.urls["anthropic"], max_retries=0) as client:
            stream = client.messages.create(model="t", max_tokens=9, messages=[{"role": "user", "content": "x"}], stream=True)
            with pytest.raises(anthropic.APIStatusError, match="silent"):
                list(stream)
        session, _, _ = house.session("openai", script("openai"), stall_seconds=0.3)
        with openai.OpenAI(api_key=session.access.token, base_url=session.access.urls["openai"] + "/v1", max_retries=0) as client:
            seen, error = until_it_breaks(client.responses.create(model="t", input="x", stream=True))
        assert isinstance(error, openai.APIConnectionError)
        assert [event.type for event in seen] == ["response.created", "error", "response.failed"]
        assert "silent" in seen[1].message
        session, _, _ = house.session("moonshotai", script("moonshotai"), stall_seconds=0.3)
        with (
            openai.OpenAI(api_key=session.access.token, base_url=session.access.urls["moonshotai"] + "/v1", max_retries=0) as client,
            pytest.raises(openai.APIError, match="silent"),
        ):
            list(client.chat.completions.create(model="t", messages=[{"role": "user", "content": "x"}], stream=True))
    finally:
        stop.set()


@pytest.mark.parametrize("name", PATHS)
def test_a_connection_that_breaks_within_the_answer(house, wire, name):
    served = Served(events=answers(wire)[name][:1], cut=True)
    session, _, told = house.session(name, [served])
    with pytest.raises(httpx2.RemoteProtocolError):
        post(session, name)
    assert (told.wait(1)[0].status, told[0].cut) == (200, True)
    assert type(session.access.failure()) is ProviderError


def test_an_answer_that_ends_politely_before_its_end(house, wire):
    session, _, told = house.session("anthropic", [Served(events=wire.messages()[:3])])
    assert post(session).status_code == 200
    assert told.wait(1)[0].cut
    assert type(session.access.failure()) is ProviderError


def test_an_error_inside_a_stream(house, wire):
    broken = [*wire.messages()[:2], *wire.sse({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}})]
    session, _, told = house.session("anthropic", [Served(events=broken)])
    assert b"overloaded_error" in post(session).content
    assert told.wait(1)[0].usage.input_tokens == 240
    assert "529" in str(session.access.failure())


def held(wire, seen, stop):
    """A script that sends one event and holds on until it notices that nobody is there."""

    def events():
        yield wire.messages()[0]
        try:
            while not stop.wait(0.05):
                yield b": still here\n\n"
        finally:
            seen.set()

    return lambda asked: Served(events=events())


def test_a_program_that_goes_away_ends_the_upstreams_request(house, wire):
    seen, stop = threading.Event(), threading.Event()
    session, _, told = house.session("anthropic", held(wire, seen, stop))
    with client_of(session) as http:
        url, headers = session.access.urls["anthropic"] + PATHS["anthropic"], {"x-api-key": session.access.token}
        with http.stream("POST", url, json={"model": "t"}, headers=headers) as got:
            next(got.iter_bytes())
    call = told.wait(1)[0]
    assert (call.status, call.cut, call.usage) == (200, True, Usage(240, 200, 1))
    try:
        assert seen.wait(10)
    finally:
        stop.set()
    assert session.access.failure() is None  # it was not the provider


@pytest.mark.parametrize("how", ["settle", "close", "gateway"])
def test_what_is_in_flight_is_broken_off_and_told(house, wire, how):
    seen, stop = threading.Event(), threading.Event()
    server = house.upstream(held(wire, seen, stop))
    gateway = house.gateway(upstreams={"anthropic": {"url": server.url}})
    told, session = house.open(gateway, upstreams=("anthropic",))
    outcome = []

    def ask():
        try:
            outcome.append(post(session))
        except httpx2.HTTPError as error:
            outcome.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while not server.asked:
        time.sleep(0.01)
    time.sleep(0.2)
    began = time.monotonic()
    {"settle": session.settle, "close": session.close, "gateway": gateway.close}[how]()
    assert time.monotonic() - began < 5
    assert len(told) == 1  # told before it returned
    assert told[0].cut
    thread.join(10)
    assert isinstance(outcome[0], httpx2.HTTPError)
    stop.set()
    if how == "settle":
        assert seen.wait(10)
        again = session.access.failure()
        assert again is None or not isinstance(again, BudgetError)
    else:
        assert not session.services[0].socket.exists()
    session.close()
    session.settle()
    gateway.close()


def test_too_many_calls_at_once_wait(house, wire):
    running, most, lock = [0], [0], threading.Lock()

    def script(asked):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.1)
        with lock:
            running[0] -= 1
        return Served(events=wire.messages())

    server = house.upstream(script)
    gateway = house.gateway(upstreams={"anthropic": {"url": server.url, "concurrency": 2}})
    sessions = [house.open(gateway, upstreams=("anthropic",))[1] for _ in range(3)]
    statuses = []
    threads = [threading.Thread(target=lambda s=s: statuses.append(post(s).status_code)) for s in sessions for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert statuses == [200] * 9
    assert most[0] == 2


def test_no_place_within_the_stall_time(house, wire):
    go = threading.Event()
    server = house.upstream(lambda asked: (go.wait(10), Served(events=wire.messages()))[1])
    gateway = house.gateway(upstreams={"anthropic": {"url": server.url}}, concurrency=1)
    _, slow = house.open(gateway, upstreams=("anthropic",))
    told, quick = house.open(gateway, upstreams=("anthropic",), stall_seconds=0.3)
    thread = threading.Thread(target=post, args=(slow,))
    thread.start()
    while not server.asked:
        time.sleep(0.01)
    assert post(quick).status_code == 503
    assert (told.wait(1)[0].refused, told[0].status) == ("busy", 503)
    assert type(quick.access.failure()) is ProviderError
    go.set()
    thread.join(10)


def test_calls_a_minute(house, wire, monkeypatch):
    monkeypatch.setattr("finassay_gateway.upstreams._MINUTE", 1.0)
    server = house.upstream([Served(events=wire.messages())])
    gateway = house.gateway(upstreams={"anthropic": {"url": server.url, "requests_per_minute": 3}})
    _, session = house.open(gateway, upstreams=("anthropic",))
    began = time.monotonic()
    assert [post(session).status_code for _ in range(7)] == [200] * 7
    assert 2.0 <= time.monotonic() - began < 6


def test_a_recorder_that_fails_does_not_fail_the_call(house, wire, caplog):
    def called(call):
        raise ValueError("disk full of sk-secrets")

    session, _, _ = house.session("anthropic", [Served(events=wire.messages())], called=called)
    assert post(session).status_code == 200
    session.settle()
    assert "ValueError" in caplog.text
    assert "sk-secrets" not in caplog.text


def test_calls_are_not_shared(house, wire):
    """What one call tells is its own, also when many run at once."""
    from finassay_gateway.meter import Told

    assert evolve(Told(), ended=True) != Told()
    session, _, told = house.session("anthropic", lambda asked: Served(events=wire.messages(asked.body["model"])))
    names = [f"m{n}" for n in range(20)]

    def ask(name):
        with client_of(session) as http:
            url = session.access.urls["anthropic"] + PATHS["anthropic"]
            got = http.post(url, json={"model": name}, headers={"x-api-key": session.access.token})
        assert f'"{name}"' in got.text

    threads = [threading.Thread(target=ask, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(call.what for call in told.wait(20)) == sorted(names)
    assert len({call.answer for call in told}) == 20
