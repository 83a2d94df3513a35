"""What `finassay conform agents remote --url …` asks of a server, besides what it asks of every agent. Black box, over HTTP."""

import hashlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

import httpx2
from attrs import frozen

from finassay.api.credentials import credential
from finassay.testing.result import conformance, require
from finassay_remote.landing import FileOffer, RefusedFileError, read_offer, safe_path
from finassay_remote.options import RemoteOptions
from finassay_remote.protocol import ID, JSON, MAX_LINE, NDJSON, events_of, file_path, session_path, turn_path

KIND: Final = "finassay-remote:remote"
SECONDS: Final = 60.0
"""How long a turn of the checks may take."""
SOON: Final = 10.0
"""How long everything else may take."""
KNOWN: Final = frozenset(("message", "tool-call", "tool-result", "usage", "error", "note", "session", "file", "file-removed", "done"))
HELLO: Final = "Hi. I like last year's winners, skipping the latest month, refreshed once a month. Please use data up to the end of 2019."
GO: Final = "Weight them equally, no stop, no costs. No preference on the rest, you choose. Please hand over the report now."
BRIEF: Final = {
    "session": "conform",
    "instructions": "A conformance test.",
    "max_turns": 6,
    "turn_seconds": SECONDS,
    "channels": [],
    "network": True,
}


@frozen
class Told:
    """A turn as it was told."""

    events: tuple[dict[str, Any], ...]

    @property
    def reply(self) -> str:
        """The last message."""
        return next((str(e.get("text", "")) for e in reversed(self.events) if e.get("type") == "message"), "")

    @property
    def files(self) -> tuple[dict[str, Any], ...]:
        return tuple(e for e in self.events if e.get("type") == "file")


@frozen
class Tester:
    """Requests to the server under test."""

    options: RemoteOptions
    http: httpx2.Client

    def url(self, path: str) -> str:
        return f"{self.options.url.rstrip('/')}/{path}"

    def begin(self, key: str = "", **more: Any) -> str:
        told = {"protocol": 1, "key": key or uuid4().hex, "session": "conform", "brief": BRIEF, "history": [], "previous": None, **more}
        response = self.http.post(self.url("sessions"), json=told)
        require(response.status_code in (200, 201), f"POST sessions was answered {response.status_code}")
        name = response.json().get("id")
        require(isinstance(name, str) and ID.fullmatch(name), f"a session's id is {name!r}")
        return str(name)

    def post(self, session: str, turn: int, message: str = HELLO, attempt: int = 1) -> httpx2.Response:
        """One request; a turn that is not finished is asked for again."""
        until = time.monotonic() + SECONDS
        told = {"message": message, "seconds": SECONDS, "attempt": attempt}
        while True:
            response = self.http.post(self.url(turn_path(session, turn)), json=told, timeout=SECONDS)
            if response.status_code != 202 or time.monotonic() > until:
                return response
            time.sleep(0.5)

    def turn(self, session: str, turn: int, message: str = HELLO, attempt: int = 1) -> Told:
        response = self.post(session, turn, message, attempt)
        require(response.status_code == 200, f"a turn was answered {response.status_code}: {response.text[:200]!r}")
        return told_by(response)

    def end(self, session: str) -> int:
        return self.http.delete(self.url(session_path(session))).status_code


def told_by(response: httpx2.Response) -> Told:
    """The turn in an answer; a `ConformanceFailure` where it is not one."""
    kind = response.headers.get("content-type", "").split(";")[0].strip().lower()
    require(kind in (NDJSON, JSON), f"a turn has the content type {kind!r}")
    if kind == JSON:
        return Told(tuple(events_of(response.json())))
    lines = [line for line in response.content.split(b"\n") if line.strip()]
    require(all(len(line) <= MAX_LINE for line in lines), f"an event is longer than {MAX_LINE:,} bytes")
    events = [json.loads(line) for line in lines]
    for event in events:
        require(isinstance(event, dict) and event.get("type") in KNOWN, f"an event is none of the protocol: {str(event)[:200]}")
    require(events and events[-1]["type"] == "done", "the last event is not `done`")
    return Told(tuple(events))


@contextmanager
def tester(subject: Any) -> Iterator[Tester]:
    options = RemoteOptions.model_validate(dict(subject.options))
    token = credential((options.token_variable,)) if options.token_variable else None
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with httpx2.Client(headers=headers, timeout=SOON, trust_env=False) as http:
        yield Tester(options, http)


def check(name: str, reason: str, applies: Callable[[Any], bool] = lambda subject: True) -> Callable[[Callable[[Tester], None]], None]:
    """Declare a check that gets a tester."""

    def declare(call: Callable[[Tester], None]) -> None:
        def run(subject: Any) -> None:
            with tester(subject) as one:
                call(one)

        conformance(KIND, name, reason, applies=applies)(run)

    return declare


# -- sessions ---------------------------------------------------------------------------------------------------------


@check("begins-once", "a request whose answer was lost is sent again")
def _begins(t: Tester) -> None:
    key = uuid4().hex
    first, again, other = t.begin(key), t.begin(key), t.begin()
    require(first == again, "one key began two sessions")
    require(first != other, "two keys began one session")


@check("goes-on", "a session is resumed after the harness was stopped")
def _resumes(t: Tester) -> None:
    if t.http.get(t.url("")).json().get("resumes") is False:
        return
    said = [{"turn": 0, "sender": "user", "text": HELLO, "cut": False}, {"turn": 1, "sender": "agent", "text": "What stop?", "cut": False}]
    require(t.turn(t.begin(history=said, previous="gone"), 2, GO).reply.strip(), "a resumed session has no reply")


@check("ends", "a session is ended once, and perhaps told so twice")
def _ends(t: Tester) -> None:
    session = t.begin()
    require(t.end(session) in (200, 204), "DELETE of a session was refused")
    require(t.end(session) in (200, 204, 404), "DELETE of a session that is over was no success and no 404")
    require(t.post(session, 1).status_code in (404, 410), "a session that is over takes a turn")


@check("unknown-session", "an id that was never given leads nowhere")
def _unknown(t: Tester) -> None:
    nowhere = uuid4().hex
    require(t.post(nowhere, 1).status_code == 404, "a turn of an unknown session is not 404")
    require(t.http.get(t.url(file_path(nowhere, "REPORT.md"))).status_code == 404, "a file of an unknown session is not 404")


@check("asks-for-its-token", "whoever has no token gets nothing", applies=lambda s: bool(dict(s.options).get("token_variable")))
def _token(t: Tester) -> None:
    session = t.begin()
    for headers in ({"Authorization": ""}, {"Authorization": "Bearer wrong"}):
        for method, path in (("POST", "sessions"), ("POST", turn_path(session, 1)), ("DELETE", session_path(session))):
            status = t.http.request(method, t.url(path), json={}, headers=headers).status_code
            require(status in (401, 403), f"{method} {path.split('/')[0]} without the token was answered {status}")


# -- turns ------------------------------------------------------------------------------------------------------------


@check("tells-turns", "every event can be read, and files are what was announced")
def _tells(t: Tester) -> None:
    session = t.begin()
    first, second = t.turn(session, 1), t.turn(session, 2, GO)
    for told in (first, second):
        require(told.reply.strip(), "a turn has no message")
        for event in told.files:
            _check_file(t, session, event)


def _check_file(t: Tester, session: str, event: dict[str, Any]) -> None:
    try:
        offer = read_offer(event)
    except RefusedFileError as error:
        require(False, f"a file would not be taken: {error}")
        return
    if "content" in event:
        return
    data = _fetched(t, session, offer)
    require(len(data) == offer.size, f"{offer.path} has {len(data)} bytes, {offer.size} were announced")
    require(hashlib.sha256(data).hexdigest() == offer.sha256, f"{offer.path} is not the file whose digest was announced")


def _fetched(t: Tester, session: str, offer: FileOffer) -> bytes:
    response = t.http.get(t.url(file_path(session, offer.path)))
    require(response.status_code == 200, f"{offer.path} was announced and is answered {response.status_code}")
    return response.content


@check("repeats-turns", "a turn whose connection broke is asked for again, and told from its beginning")
def _repeats(t: Tester) -> None:
    session = t.begin()
    require(t.turn(session, 1).events == t.turn(session, 1).events, "the same turn was told in two ways")
    status = t.post(session, 1, "Something else.").status_code
    require(status == 409, f"another message for the same attempt was answered {status}, not 409")
    require(t.turn(session, 1, "Something else.", attempt=2).reply.strip(), "a second attempt has no reply")
    require(t.turn(session, 2, GO).reply.strip(), "the session does not go on after a second attempt")


@check("survives-broken-connections", "networks break in the middle of a turn")
def _breaks(t: Tester) -> None:
    session = t.begin()
    told = {"message": HELLO, "seconds": SECONDS, "attempt": 1}
    with t.http.stream("POST", t.url(turn_path(session, 1)), json=told, timeout=SECONDS) as response:
        for _ in response.iter_raw():
            break
    _half_a_request(t, session)
    require(t.turn(session, 1).reply.strip(), "a turn whose connection broke cannot be asked for again")


def _half_a_request(t: Tester, session: str) -> None:
    with _raw(t) as connection:
        if connection is not None:
            head = f"POST {urlsplit(t.url(turn_path(session, 1))).path} HTTP/1.1\r\nHost: x\r\nContent-Type: {JSON}\r\nContent-Length: 5000\r\n\r\n"
            connection.sendall(head.encode() + b'{"message": "')


@check("stops-turns", "the clock ends a turn, and nothing goes on behind it")
def _stops(t: Tester) -> None:
    session = t.begin()
    asked = threading.Thread(target=lambda: _quietly(lambda: t.post(session, 1)), daemon=True)
    asked.start()
    time.sleep(0.2)
    started = time.monotonic()
    for _ in range(2):
        status = t.http.delete(t.url(turn_path(session, 1))).status_code
        require(status in (200, 204), f"DELETE of a turn was answered {status}")
    asked.join(SOON)
    require(not asked.is_alive(), "a turn goes on after it was stopped")
    require(time.monotonic() - started < SOON, f"a turn took over {SOON:g} s to stop")
    require(t.turn(session, 2, GO).reply.strip(), "the session does not go on after a stopped turn")


def _quietly(call: Callable[[], object]) -> None:
    """What comes of a turn that is being stopped may be anything."""
    try:
        call()
    except httpx2.HTTPError:
        return


@check("two-at-once", "sessions never mix")
def _two(t: Tester) -> None:
    sessions = [t.begin(), t.begin()]
    marks = [f"My pet name for this is mark-{uuid4().hex}." for _ in sessions]

    def play(number: int) -> tuple[Told, Told]:
        with httpx2.Client(headers=t.http.headers, timeout=SOON, trust_env=False) as http:
            one = Tester(t.options, http)
            return one.turn(sessions[number], 1, f"{HELLO} {marks[number]}"), one.turn(sessions[number], 2, GO)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(play, range(2), timeout=3 * SECONDS))
    for number in range(2):
        other = marks[1 - number].split()[-1].rstrip(".")
        for told in found[number]:
            require(other not in json.dumps(told.events), "what was said in one session is told in the other")
            for event in told.files:
                path = safe_path(event.get("path"))
                content = t.http.get(t.url(file_path(sessions[number], path))).content
                require(other.encode() not in content, f"{path} of one session holds what was said in the other")


# -- hostile and broken clients ---------------------------------------------------------------------------------------


@check("refuses-what-it-cannot-read", "a wrong request is an error, and not the server's end")
def _wrong(t: Tester) -> None:
    session = t.begin()
    for content, kind, expected in (
        (b"{}", "text/plain", (400, 415)),
        (b"{", JSON, (400, 422)),
        (b"[]", JSON, (400, 422)),
        (b"[" * 100_000, JSON, (400, 422)),
    ):
        for path in ("sessions", turn_path(session, 1)):
            status = t.http.post(t.url(path), content=content, headers={"Content-Type": kind}).status_code
            require(status in expected, f"{kind} {content[:5]!r} to {path.split('/')[-2:][0]} was answered {status}")
    require(t.turn(session, 1).reply.strip(), "the session does not go on after wrong requests")


@check("refuses-what-is-too-large", "a request without end must not fill its memory")
def _large(t: Tester) -> None:
    session = t.begin()
    body = json.dumps({"message": "x" * (80 * 2**20), "seconds": SECONDS, "attempt": 1}).encode()
    try:
        status = t.http.post(t.url(turn_path(session, 1)), content=body, headers={"Content-Type": JSON}, timeout=SECONDS).status_code
    except httpx2.TransportError:  # it hung up, which is an answer
        status = 413
    require(status in (400, 413), f"a message of 80 MiB was answered {status}")
    require(t.turn(session, 1).reply.strip(), "the session does not go on after a message that was too large")


@check("serves-only-its-files", "a path leads to nothing but what was handed over")
def _paths(t: Tester) -> None:
    session = t.begin()
    t.turn(session, 1)
    up = ("../" * 12, "%2e%2e/" * 12, "..%2f" * 12, "..%5c" * 12, "....//" * 12, "/", "%2f", "%00/")
    for prefix in up:
        for target in ("etc/passwd", "proc/self/environ"):
            status = _status_of(t, f"{urlsplit(t.url(session_path(session))).path}/files/{prefix}{target}")
            require(status != 200, f"GET files/{prefix[:12]}…{target} was answered 200")


def _status_of(t: Tester, path: str) -> int:
    """Of a path as it is written: clients tidy paths up."""
    with _raw(t) as connection:
        if connection is None:
            return t.http.get(f"{t.options.url.split('://')[0]}://{urlsplit(t.options.url).netloc}{path}").status_code
        authorization = f"Authorization: {t.http.headers['authorization']}\r\n" if "authorization" in t.http.headers else ""
        connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {urlsplit(t.options.url).netloc}\r\n{authorization}Connection: close\r\n\r\n".encode()
        )
        answer = connection.recv(64).split(b" ")
        return int(answer[1]) if len(answer) > 1 and answer[1].isdigit() else 0


@contextmanager
def _raw(t: Tester) -> Iterator[socket.socket | None]:
    """A bare connection; None to a server behind TLS."""
    parts = urlsplit(t.options.url)
    if parts.scheme != "http":
        yield None
        return
    with socket.create_connection((parts.hostname or "", parts.port or 80), SOON) as connection:
        yield connection


@check("serves-beside-slow-clients", "one that sends or reads slowly holds up nobody")
def _slow(t: Tester) -> None:
    with _raw(t) as slow, _raw(t) as half:
        for connection in (slow, half):
            if connection is not None:
                connection.sendall(b"POST " if connection is slow else b"")
        _half_a_request(t, "none")
        started = time.monotonic()
        require(t.begin(), "no session beside a slow client")
        require(time.monotonic() - started < SOON, "a slow client holds up the others")
