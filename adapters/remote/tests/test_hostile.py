"""What a remote server may do to the harness, and what comes of it."""

import asyncio
import base64
import hashlib
import json
import os
import socket
import threading
import time

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from finassay.api.errors import AgentError, FinassayError, ProviderError, ProviderRefusedError
from finassay.api.usage import Usage
from finassay_remote import client, landing, protocol
from finassay_remote.agent import RemoteAgent
from finassay_remote.options import RemoteOptions

TOKEN = "t0ken-0f-the-test"
DONE = {"type": "done"}


def said(text="Here it is."):
    return {"type": "message", "text": text}


def offered(path, data=b"x", **more):
    return {"type": "file", "path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest(), **more}


def inline(path, data=b"x", **more):
    return offered(path, data, **{"content": base64.b64encode(data).decode(), **more})


class Hostile:
    """A server that answers what a test says; it keeps what it was asked."""

    def __init__(self, turn=None, *, about=None, begin=None, file=None):
        self.turns, self.asked, self.stopped, self.ended = [], [], [], []
        self._turn, self._about, self._begin, self._file = turn, about, begin, file

    async def about(self, request):
        return self._about(request) if self._about else JSONResponse({"protocol": 1, "name": "hostile", "version": "0"})

    async def begin(self, request):
        self.asked.append(await request.json())
        return self._begin(request) if self._begin else JSONResponse({"id": "s-1"}, 201)

    async def turn(self, request):
        self.turns.append(await request.json())
        answer = self._turn
        if callable(answer):
            answer = answer(len(self.turns))
        return answer if isinstance(answer, Response) else events(*answer)

    async def stop(self, request):
        self.stopped.append(request.path_params["n"])
        return Response(status_code=204)

    async def end(self, request):
        self.ended.append(request.path_params["s"])
        return Response(status_code=204)

    async def file(self, request):
        return self._file(request.path_params["path"]) if self._file else Response(status_code=404)

    def app(self):
        return Starlette(
            routes=[
                Route("/", self.about),
                Route("/sessions", self.begin, methods=["POST"]),
                Route("/sessions/{s}", self.end, methods=["DELETE"]),
                Route("/sessions/{s}/turns/{n:int}", self.turn, methods=["POST"]),
                Route("/sessions/{s}/turns/{n:int}", self.stop, methods=["DELETE"]),
                Route("/sessions/{s}/files/{path:path}", self.file),
            ]
        )


def events(*listed, end=b""):
    lines = [e if isinstance(e, bytes) else json.dumps(e).encode() for e in listed]
    return Response(b"".join(line + b"\n" for line in lines) + end, media_type="application/x-ndjson")


@pytest.fixture
def played(session, serve, monkeypatch):
    """One turn of a hostile server: (session, reply or error, server)."""
    monkeypatch.setattr(client, "PAUSE", 0.01)

    def play(turn, seconds=20.0, cut=lambda: False, **more):
        server = Hostile(turn, **more)
        with serve(server.app()) as url:
            one = session(url)
            try:
                came = one.send("Hi.", seconds=seconds, cut=cut)
            except FinassayError as error:
                came = error
            one.agent.finalize()
        return one, came, server

    return play


def test_a_turn_with_everything(played):
    one, reply, server = played(
        [
            {"type": "note", "text": "thinking"},
            {"type": "tool-call", "id": "1", "name": "python", "input": {"code": "1"}},
            inline("data/prices.csv", b"date,A\n"),
            offered("REPORT.md", b"fetched"),
            {"type": "tool-result", "id": "1", "output": "ok", "exit_code": 0},
            {"type": "usage", "input_tokens": 5, "output_tokens": 2, "cost_usd": 0.5},
            said(),
            DONE,
        ],
        file=lambda path: Response(b"fetched"),
    )
    assert (reply.text, reply.usage) == ("Here it is.", Usage(input_tokens=5, output_tokens=2, cost_usd=0.5))
    assert one.files() == {"data/prices.csv": b"date,A\n", "REPORT.md": b"fetched"}
    assert [e.kind for e in one.log] == ["note", "tool-call", "tool-result", "usage"]
    assert server.turns == [{"message": "Hi.", "seconds": 20.0, "attempt": 1}]
    assert server.asked[0]["brief"]["channels"] == ["prices"]
    assert server.ended == ["s-1"]


def test_a_turn_as_one_object(played):
    answer = {
        "text": "Here it is.",
        "events": [{"type": "tool-call", "id": "1", "name": "python", "input": {}}, said("before"), DONE],
        "files": [inline("a.csv"), inline("b.csv"), 7],
        "removed": ["b.csv"],
        "usage": {"output_tokens": 2},
    }
    one, reply, _ = played(lambda asked: JSONResponse(answer))
    assert (reply.text, reply.usage.output_tokens) == ("Here it is.", 2)
    assert list(one.files()) == ["a.csv"]


def test_a_server_that_needs_time_is_asked_again(played):
    def turn(asked):
        return Response(status_code=202, headers={"Retry-After": "0"}) if asked < 3 else [said(), DONE]

    _, reply, server = played(turn)
    assert reply.text == "Here it is."
    assert server.turns == [server.turns[0]] * 3


# -- files ------------------------------------------------------------------------------------------------------------

PATHS = [
    *("../evil", "a/../../evil", "/etc/evil", "a//b", "a/./b", "./a", "a/", "", "..", ".", "a\\..\\b", "C:\\evil", "x" * 301),
    *("/".join("abcdefghijklm"), "n" * 256, "a\x00b", "a\nb", "a\u202eb", "\x1b[2J", 7, None, ["a"]),
]


@pytest.mark.parametrize("path", PATHS, ids=lambda p: repr(p)[:20])
def test_names_that_lead_astray_are_refused_and_the_turn_goes_on(played, path):
    one, reply, _ = played([{**inline("a"), "path": path}, inline("good.csv"), {"type": "file-removed", "path": path}, said(), DONE])
    assert reply.text == "Here it is."
    assert list(one.files()) == ["good.csv"]
    assert sorted(os.listdir(one.workspace.parent)) == ["w"]
    assert len([n for n in one.notes if "not taken" in n]) == 2
    assert all(n.isprintable() for n in one.notes)


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (inline("a", size=0), "longer than the 0 bytes"),
        (inline("a", size=5), "ended after 1 of 5"),
        (inline("a", size=-1), "no size"),
        (inline("a", size=True), "no size"),
        (inline("a", size=2**40), "larger than"),
        (inline("a", sha256="0" * 64), "not the file whose digest"),
        (inline("a", sha256="x"), "no SHA-256"),
        (offered("a", content="?"), "not base64"),
        (offered("a", content=7), "not base64"),
        (offered("a"), "answered 404"),
    ],
)
def test_files_that_are_not_what_was_announced_are_not_taken(played, event, why):
    one, reply, _ = played([inline("b"), event, said(), DONE])
    assert reply.text == "Here it is."
    assert list(one.files()) == ["b"]
    assert any(why in note for note in one.notes), one.notes
    assert not list((one.workspace / landing.INCOMING).iterdir())


def test_a_file_without_end_is_left_after_its_announced_size(played):
    sent = []

    async def endless():
        while True:
            sent.append(1)
            yield b"x" * 65_536
            await asyncio.sleep(0)

    one, _, _ = played([offered("a", b"x" * 1000), said(), DONE], file=lambda path: StreamingResponse(endless()))
    assert one.files() == {}
    assert any("longer than the 1,000 bytes" in note for note in one.notes)
    assert len(sent) < 1_000


def test_a_packed_file_is_not_unpacked(played):
    import gzip

    bomb = gzip.compress(b"x" * 10_000_000)
    one, _, _ = played([offered("a", bomb), said(), DONE], file=lambda path: Response(bomb, headers={"Content-Encoding": "gzip"}))
    assert one.files() == {"a": bomb}


def test_counts_and_sums_are_bounded(played, monkeypatch):
    monkeypatch.setattr(landing, "MAX_FILES", 3)
    monkeypatch.setattr(landing, "MAX_TOTAL", 100)
    one, _, _ = played(
        [*(inline(f"{n}") for n in range(6)), inline("0", b"y" * 99), {"type": "file-removed", "path": "1"}, inline("9"), said(), DONE]
    )
    assert sorted(one.files()) == ["0", "2", "9"]
    assert one.files()["0"] == b"x"
    assert any("one file too many" in note for note in one.notes)
    assert any("100 bytes may be delivered" in note for note in one.notes)


def test_links_in_the_workspace_lead_nowhere(session, serve, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").write_text("mine")
    server = Hostile(
        [inline("link/evil"), inline("file/evil"), inline("direct"), {"type": "file-removed", "path": "link/keep"}, said(), DONE]
    )
    with serve(server.app()) as url:
        one = session(url)
        deliver = one.workspace / "deliver"
        (deliver / "link").symlink_to(outside)
        (deliver / "file").write_text("a file")
        (deliver / "direct").symlink_to(outside / "keep")
        one.send("Hi.")
        assert (deliver / "direct").read_bytes() == b"x"
        assert not (deliver / "direct").is_symlink()
        one.agent.finalize()
    assert [p.name for p in outside.iterdir()] == ["keep"]
    assert (outside / "keep").read_text() == "mine"
    assert len([n for n in one.notes if "not taken" in n]) == 3


def test_a_deliver_folder_that_is_a_link_gets_nothing(session, serve, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    with serve(Hostile([inline("a"), said(), DONE]).app()) as url:
        one = session(url)
        (one.workspace / "deliver").rmdir()
        (one.workspace / "deliver").symlink_to(outside)
        one.send("Hi.")
        one.agent.finalize()
    assert not list(outside.iterdir())


# -- words ------------------------------------------------------------------------------------------------------------


def test_lines_that_mean_nothing_do_no_harm(played):
    junk = [
        b"junk",
        b"[1]",
        b"{}",
        b'{"type": 7}',
        b"[" * 50_000,
        b"\xff\xfe",
        b'{"type":"message","text":7}',
        b'{"type":"session","id":"../../x"}',
        b"",
    ]
    one, reply, _ = played([*junk, said("Gr\u00fc\u00dfe \x1b[2J"), DONE])
    assert reply.text.startswith("Gr\u00fc\u00dfe")
    assert len(one.notes) >= 5


def test_what_follows_the_final_event_is_not_heard(played):
    one, reply, _ = played([said(), DONE, said("evil"), inline("late")])
    assert reply.text == "Here it is."
    assert one.files() == {}


def test_the_token_stands_nowhere(session, serve, monkeypatch):
    monkeypatch.setenv("THE_TOKEN", TOKEN)
    given = []

    def about(request):
        given.append(request.headers["authorization"])
        return JSONResponse({"protocol": 1, "name": "n", "version": "1"})

    server = Hostile(
        [{"type": "note", "text": TOKEN}, {"type": "tool-call", "id": TOKEN, "name": TOKEN, "input": {TOKEN: TOKEN}}, said(TOKEN), DONE],
        about=about,
    )
    with serve(server.app()) as url:
        one = session(url, token_variable="THE_TOKEN")
        reply = one.send("Hi.")
        one.agent.finalize()
    assert given == [f"Bearer {TOKEN}"]
    everything = (
        f"{reply} {one.log} {one.agent!r} {one.agent._server!r} {one.agent.options!r} {one.agent.diagnose()!r} {one.agent.identity!r}"
    )
    assert TOKEN not in everything
    assert all(TOKEN not in p.read_text("utf-8", "replace") for p in one.workspace.rglob("*") if p.is_file())


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (Response("hello", media_type="text/html"), AgentError, "text/html"),
        (Response("hello"), AgentError, "no content type"),
        (Response("{", media_type="application/json"), AgentError, "no JSON"),
        (Response("[" * 100_000, media_type="application/json"), AgentError, "no JSON"),
        (JSONResponse([]), AgentError, "no object with a text"),
        (JSONResponse({"text": "a", "files": 7}), AgentError, "is no list"),
        (events(said()), AgentError, "without its final event"),
        (events({"type": "error", "kind": "agent", "text": "out of ideas"}), AgentError, "out of ideas"),
        (events({"type": "error", "kind": "provider", "text": "overloaded"}), ProviderError, "overloaded"),
        (RedirectResponse("http://127.0.0.1:1/"), AgentError, "redirects"),
        (JSONResponse({"error": "bug\n\x1b[2J"}, 500), AgentError, "500: bug"),
        (JSONResponse({}, 404), AgentError, "404"),
        (JSONResponse({}, 409), AgentError, "409"),
        (JSONResponse({}, 413), AgentError, "413"),
        (JSONResponse({"error": 7}, 401), ProviderRefusedError, "refuses the key"),
        (JSONResponse({}, 403), ProviderRefusedError, "refuses the key"),
        (JSONResponse({}, 429, {"Retry-After": "7"}), ProviderError, "cannot answer now"),
        (JSONResponse({}, 503, {"Retry-After": "nonsense"}), ProviderError, "cannot answer now"),
        (Response(b"\x1f\x8b", media_type="application/json", headers={"Content-Encoding": "gzip"}), AgentError, "packed"),
    ],
)
def test_whose_failure_it_was(played, answer, kind, words):
    _, error, server = played(lambda asked: answer)
    assert type(error) is kind
    assert words in str(error)
    assert str(error).isprintable()
    assert len(server.turns) == 1


def test_sizes_of_answers_are_bounded(played, monkeypatch):
    for name, value in (("MAX_LINE", 10_000), ("MAX_TURN", 50_000), ("MAX_JSON", 10_000)):
        monkeypatch.setattr(client, name, value)

    async def endless():
        while True:
            yield b"x" * 1000
            await asyncio.sleep(0)

    async def many():
        while True:
            yield b'{"type":"note","text":"a"}\n' * 100
            await asyncio.sleep(0)

    def streamed(body):
        return lambda asked: StreamingResponse(body(), media_type="application/x-ndjson")

    assert "an event of more than" in str(played(streamed(endless))[1])
    assert "in one turn" in str(played(streamed(many))[1])
    assert "longer than" in str(played(lambda asked: JSONResponse({"text": "x" * 20_000}))[1])


@pytest.mark.parametrize(
    "about",
    [
        JSONResponse({"protocol": 2, "name": "a", "version": "1"}),
        JSONResponse({"protocol": 1, "name": "", "version": "1"}),
        JSONResponse({"protocol": 1, "name": "a\nb", "version": "1"}),
        JSONResponse([]),
        Response("hello"),
        Response(b"x" * (protocol.MAX_ANSWER + 1)),
        JSONResponse({}, 404),
    ],
)
def test_what_is_no_agent_is_told_before_a_run(serve, about):
    with serve(Hostile(about=lambda request: about).app()) as url, pytest.raises(AgentError):
        RemoteAgent(RemoteOptions(url=url))


@pytest.mark.parametrize(
    "begin", [JSONResponse({"id": "../x"}), JSONResponse({"id": 7}), JSONResponse({}), Response("no"), JSONResponse({}, 500)]
)
def test_a_session_that_cannot_begin(session, serve, begin):
    with serve(Hostile(begin=lambda request: begin).app()) as url, pytest.raises(AgentError):
        session(url)


# -- time, and broken connections -------------------------------------------------------------------------------------


def hanging(*first, then=lambda: None):
    async def body():
        for event in first:
            yield json.dumps(event).encode() + b"\n"
        for beat in range(1_000):
            yield b"\n"
            await asyncio.sleep(0.1)
            if beat == 3:
                then()

    return StreamingResponse(body(), media_type="application/x-ndjson")


def test_a_turn_that_is_cut_keeps_what_came_and_is_stopped(played):
    cut = threading.Event()
    sent = ({"type": "note", "text": "a"}, inline("early"), said("So far."))
    one, reply, server = played(lambda asked: hanging(*sent, then=cut.set), cut=cut.is_set)
    assert reply.text == "So far."
    assert list(one.files()) == ["early"]
    assert server.stopped == [1]


def test_a_file_that_is_cut_is_not_delivered(played):
    cut = threading.Event()

    async def slow():
        for beat in range(1_000):
            yield b"x"
            await asyncio.sleep(0.1)
            if beat == 3:
                cut.set()

    one, reply, _ = played([offered("a", b"x" * 1000), said(), DONE], cut=cut.is_set, file=lambda path: StreamingResponse(slow()))
    assert (reply.text, one.files()) == ("", {})
    assert not list((one.workspace / landing.INCOMING).iterdir())


def test_a_turn_ends_with_its_time_also_if_nobody_cuts_it(played):
    started = time.monotonic()
    _, reply, server = played(lambda asked: hanging(said("So far.")), seconds=0.3)
    assert time.monotonic() - started < 10
    assert reply.text == "So far."
    assert server.stopped == [1]


class Raw:
    """A server that breaks connections: each accepted one gets the next of `answers`, then the connection ends."""

    def __init__(self, *answers):
        self.answers, self.heads = list(answers), []

    def __enter__(self):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        return f"http://127.0.0.1:{self.listening.getsockname()[1]}"

    def __exit__(self, *error):
        self.listening.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for a connection
        self.listening.close()
        self.thread.join(10)

    def run(self):
        for answer in self.answers:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(10)
                received = b""
                while b"\r\n\r\n" not in received:
                    received += connection.recv(65_536)
                self.heads.append(received.split(b"\r\n")[0].decode())
                connection.sendall(answer)


def ok(content, kind="application/json"):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


def chunks(*listed, whole=False):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    lines = [json.dumps(event).encode() + b"\n" for event in listed]
    return head + b"".join(f"{len(line):x}\r\n".encode() + line + b"\r\n" for line in lines) + (b"0\r\n\r\n" if whole else b"")


BEGUN = (ok({"protocol": 1, "name": "raw", "version": "0"}), ok({"id": "s-1"}))


def test_a_connection_that_breaks_is_made_anew_and_nothing_is_taken_twice(session, monkeypatch):
    monkeypatch.setattr(client, "PAUSE", 0.01)
    turn = [{"type": "note", "text": "one"}, {"type": "usage", "output_tokens": 3}, {"type": "note", "text": "two"}, said(), DONE]
    raw = Raw(*BEGUN, chunks(*turn[:1]), b"", chunks(*turn[:2]), chunks(*turn, whole=True), ok(b""))
    with raw as url:
        one = session(url)
        reply = one.send("Hi.")
        one.agent.finalize()
    assert (reply.text, reply.usage.output_tokens) == ("Here it is.", 3)
    assert one.notes == ["one", "two"]
    assert raw.heads[2:6] == ["POST /sessions/s-1/turns/1 HTTP/1.1"] * 4


def test_a_server_that_dies_in_the_turn_is_the_agents_failure(session, monkeypatch):
    monkeypatch.setattr(client, "PAUSE", 0.01)
    with Raw(*BEGUN, *[chunks({"type": "note", "text": "one"})] * client.TRIES) as url:
        one = session(url)
        with pytest.raises(AgentError, match="broke off"):
            one.send("Hi.")
    assert one.notes == ["one"]


def test_a_beginning_that_got_lost_is_asked_for_again_with_the_same_key(session, monkeypatch):
    monkeypatch.setattr(client, "PAUSE", 0.01)
    with Raw(BEGUN[0], b"", BEGUN[1], ok([said()]), ok(b"")) as url:
        assert session(url).agent._session == "s-1"


def test_no_server_at_all_is_not_the_agents_failure(monkeypatch):
    monkeypatch.setattr(client, "PAUSE", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ProviderError, match="no answer"):
        RemoteAgent(RemoteOptions(url=f"http://127.0.0.1:{port}"))


def test_a_server_that_is_silent_is_not_waited_for_without_end(serve, monkeypatch):
    monkeypatch.setattr(client, "PAUSE", 0.01)

    class Silent(Hostile):
        async def about(self, request):
            await asyncio.sleep(60)

    started = time.monotonic()
    with serve(Silent().app()) as url, pytest.raises(ProviderError, match="no answer"):
        RemoteAgent(RemoteOptions(url=url, seconds=0.3))
    assert time.monotonic() - started < 30
