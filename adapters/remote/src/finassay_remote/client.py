"""The harness's side of the remote protocol. Everything that comes back is bounded before it is read."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
from attrs import field, frozen

from finassay.api.errors import AgentError, FinassayError, ProviderError, ProviderRefusedError
from finassay_remote.landing import Incoming, RefusedFileError
from finassay_remote.protocol import (
    BYTES,
    JSON,
    MAX_ANSWER,
    MAX_JSON,
    MAX_LINE,
    MAX_TURN,
    NDJSON,
    About,
    events_of,
    file_path,
    read_about,
    read_session,
    session_path,
    turn_path,
)

TRIES: Final = 4
"""Of one request that the network broke, each after a longer pause."""
PAUSE: Final = 0.5
MAX_WAIT: Final = 10.0
"""Seconds between two questions for a turn that is not finished."""
MASK: Final = "[secret]"
_PASSING: Final = frozenset((408, 425, 429, 502, 503, 504))
Take = Callable[[bytes], Awaitable[bool]]
"""Takes an event; whether it was the last."""


class BrokenError(Exception):
    """The connection broke in a turn, again and again."""


@frozen
class Server:
    """A remote agent's address."""

    url: str
    token: str = field(default="", repr=False)
    loopback: bool = False
    seconds: float = 10.0
    """How long it may take to connect, and to answer everything but a turn."""

    @asynccontextmanager
    async def connect(self) -> AsyncIterator["Connection"]:
        """One client for some requests. Proxies of the environment are used, but not to this machine; redirects are never followed."""
        headers = {"Accept-Encoding": "identity", "User-Agent": "finassay-remote", **self._authorization()}
        timeout = httpx2.Timeout(self.seconds, read=None)
        secure = urlsplit(self.url).scheme == "https"  # certificates take long to read and are of no use elsewhere
        async with httpx2.AsyncClient(
            headers=headers, timeout=timeout, follow_redirects=False, trust_env=not self.loopback, verify=secure
        ) as http:
            yield Connection(self, http)

    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def mask(self, line: bytes) -> bytes:
        """Without the token, should the server repeat it."""
        return line.replace(self.token.encode(), MASK.encode()) if self.token else line


@frozen
class Connection:
    """Requests to one server."""

    server: Server
    http: httpx2.AsyncClient

    async def about(self) -> About:
        """Raises `AgentError`, `ProviderError`."""
        return read_about(await self._ask("GET", ""))

    async def begin(self, told: Mapping[str, Any]) -> str:
        """Begin a session; repeated until it is answered, which its key makes harmless. Raises `AgentError`, `ProviderError`."""
        return read_session(await self._ask("POST", "sessions", told))

    async def end(self, session: str) -> None:
        """Raises what `_ask` raises; there is nothing to be done about it."""
        await self._ask("DELETE", session_path(session), tries=1)

    async def stop(self, session: str, turn: int) -> None:
        """Give up a turn. As `end`."""
        await self._ask("DELETE", turn_path(session, turn), tries=1)

    async def turn(self, session: str, turn: int, told: Mapping[str, Any], take: Take) -> None:
        """Send a message and take in the turn's events to the last one.

        A connection that breaks is made anew and the request repeated: the server tells the turn from its beginning, and what was taken already
        is passed over. Raises `BrokenError` if that does not help, `AgentError`, `ProviderError`.
        """
        taken = _Taken(take)
        for attempt in range(TRIES):
            if attempt:
                await asyncio.sleep(PAUSE * 2 ** (attempt - 1))
            taken.again()
            try:
                while (wait := await self._turn_once(turn_path(session, turn), told, taken)) is not None:
                    await asyncio.sleep(wait)
                return
            except httpx2.TransportError as error:
                broken = error
        raise BrokenError(_cause(broken)) from None

    async def _turn_once(self, path: str, told: Mapping[str, Any], taken: "_Taken") -> float | None:
        """None when the turn is over, else the seconds after which to ask again."""
        headers = {"Accept": f"{NDJSON}, {JSON}"}
        async with self.http.stream("POST", self._url(path), json=told, headers=headers) as response:
            if response.status_code == 202:
                return min(MAX_WAIT, max(0.1, _retry_after(response) or 1.0))
            await self._check(response, 200)
            kind = _content_type(response)
            if kind == NDJSON:
                async for line in _lines(response):
                    if line.strip() and await taken(self.server.mask(line)):
                        return None
                raise AgentError("the agent's server ended the turn without its final event")
            if kind != JSON:
                raise AgentError(f"the server answered a turn with {kind[:100] or 'no content type'}, not with {NDJSON} or {JSON}")
            for event in events_of(_json(await _body(response, MAX_JSON))):
                if await taken(self.server.mask(json.dumps(event).encode())):
                    return None
            return None

    async def fetch(self, session: str, incoming: Incoming) -> None:
        """The bytes of a file that was announced. Raises `RefusedFileError`."""
        path = incoming.offer.path
        try:
            async with self.http.stream("GET", self._url(file_path(session, path)), headers={"Accept": BYTES}) as response:
                if response.status_code != 200:
                    raise RefusedFileError(f"{path!r} was announced, and asked for it the server answered {response.status_code}")
                async for data in response.aiter_raw():
                    incoming.write(data)
        except httpx2.HTTPError as error:
            raise RefusedFileError(f"{path!r} could not be fetched: {_cause(error)}") from error

    async def _ask(self, method: str, path: str, told: Mapping[str, Any] | None = None, tries: int = TRIES) -> Any:
        for attempt in range(tries):
            if attempt:
                await asyncio.sleep(PAUSE * 2 ** (attempt - 1))
            try:
                async with asyncio.timeout(self.server.seconds), self.http.stream(method, self._url(path), json=told) as response:
                    await self._check(response, 200, 201, 204, *((404,) if method == "DELETE" else ()))
                    return _json(await _body(response, MAX_ANSWER)) if method != "DELETE" else None
            except (httpx2.TransportError, TimeoutError) as error:
                broken = error
        raise ProviderError(f"no answer from the agent's server: {_cause(broken)}") from None

    def _url(self, path: str) -> str:
        return f"{self.server.url.rstrip('/')}/{path}"

    async def _check(self, response: httpx2.Response, *expected: int) -> None:
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise AgentError("the server's answer is packed, which was not asked for")
        if response.status_code not in expected:
            body = self.server.mask(await _body(response, MAX_ANSWER, whole=False))
            raise _refusal(response, body.decode("utf-8", "replace"))


class _Taken:
    """Takes each event once, however often the turn is told."""

    def __init__(self, take: Take) -> None:
        self._take, self._count, self._skip = take, 0, 0

    def again(self) -> None:
        self._skip = self._count

    async def __call__(self, line: bytes) -> bool:
        if self._skip:
            self._skip -= 1
            return False
        last = await self._take(line)
        self._count += 1
        return last


async def _lines(response: httpx2.Response) -> AsyncIterator[bytes]:
    """Lines of bounded length and number of bytes. Raises `AgentError` for more."""
    rest, size = bytearray(), 0
    async for data in response.aiter_raw():
        size += len(data)
        if size > MAX_TURN:
            raise AgentError(f"the server sent more than {MAX_TURN:,} bytes in one turn")
        rest += data
        if b"\n" in data:
            *lines, last = bytes(rest).split(b"\n")
            rest = bytearray(last)
            for line in lines:
                yield line
        if len(rest) > MAX_LINE:
            raise AgentError(f"the server sent an event of more than {MAX_LINE:,} bytes")
    if rest:
        yield bytes(rest)


async def _body(response: httpx2.Response, most: int, *, whole: bool = True) -> bytes:
    """The bytes of an answer; without `whole` its beginning will do. Raises `AgentError` for more than `most`."""
    body = bytearray()
    async for data in response.aiter_raw():
        body += data
        if len(body) > most:
            if whole:
                raise AgentError(f"the server's answer is longer than {most:,} bytes")
            break
    return bytes(body[:most])


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise AgentError("the server's answer is no JSON") from error


def _refusal(response: httpx2.Response, body: str) -> FinassayError:
    """Whose failure a status tells of: that of the agent, of the way to it, or of whoever wrote down its key."""
    status = response.status_code
    said = _said(body)
    if status in (401, 403):
        return ProviderRefusedError(f"the agent's server refuses the key ({status}){said}", any_request=True)
    if status in _PASSING:
        return ProviderError(f"the agent's server cannot answer now ({status}){said}", retry_after=_retry_after(response))
    if 300 <= status < 400:
        return AgentError(f"the agent's server redirects ({status}), which is not followed", hint="Give the address that it leads to.")
    return AgentError(f"the agent's server answered {status}{said}")


def _said(body: str) -> str:
    """What the server says went wrong, as one line."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    text = data.get("error") if isinstance(data, dict) else None
    return f": {re.sub(r'[^ -~]+', ' ', text)[:300]}" if isinstance(text, str) and text.strip() else ""


def _content_type(response: httpx2.Response) -> str:
    return str(response.headers.get("content-type", "")).split(";")[0].strip().lower()


def _retry_after(response: httpx2.Response) -> float | None:
    text = str(response.headers.get("retry-after", ""))
    return float(text) if re.fullmatch(r"\d{1,6}(\.\d{1,3})?", text) else None


def _cause(error: BaseException) -> str:
    """The kind of a failure of the network; its words may hold the address."""
    return type(error).__name__
