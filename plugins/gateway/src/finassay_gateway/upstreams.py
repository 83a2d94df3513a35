"""A model API as the gateway reaches it: address, key, places."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from attrs import frozen

from finassay.api.credentials import credential
from finassay_gateway.options import AUTH_OF, PRESETS, Format, GatewayOptions, UpstreamOptions

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS: Final = 30.0
_IDLE_SECONDS: Final = 15.0
_MINUTE: Final = 60.0

HOP_BY_HOP: Final = frozenset(
    {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "proxy-authenticate"}
)
_NOT_SENT: Final = HOP_BY_HOP | {
    "host",
    "content-length",
    "content-encoding",
    "accept-encoding",
    "expect",
    "cookie",
    "authorization",
    "x-api-key",
    "x-goog-api-key",
    "x-goog-user-project",
    "x-http-method-override",
    "x-method-override",
    "x-http-method",
    "openai-organization",
    "openai-project",
    "forwarded",
    "via",
    "x-real-ip",
    "origin",
    "referer",
}
_NOT_RETURNED: Final = HOP_BY_HOP | {
    "content-length",
    "content-encoding",
    "set-cookie",
    "alt-svc",
    "location",
    "strict-transport-security",
    "openai-organization",
    "openai-project",
    "anthropic-organization-id",
}


@frozen
class Upstream:
    """One model API; a preset, changed or declared."""

    name: str
    url: str
    format: Format
    keys: tuple[str, ...]
    auth: str
    stream_usage: bool
    concurrency: int | None
    requests_per_minute: int | None

    def key(self) -> str | None:
        """The key, None if there is none, empty if none is needed."""
        return credential(self.keys) if self.keys else ""

    def key_headers(self, key: str) -> list[tuple[str, str]]:
        """The header that carries the key."""
        if not key:
            return []
        return [("authorization", f"Bearer {key}")] if self.auth == "bearer" else [(self.auth, key)]


def upstreams(options: GatewayOptions) -> dict[str, Upstream]:
    """All upstreams by name."""
    found = {}
    for name in (*PRESETS, *options.upstreams):
        preset, stated = PRESETS.get(name, UpstreamOptions()), options.upstreams.get(name, UpstreamOptions())
        format = stated.format or preset.format
        assert format is not None  # the options have checked it
        keys = preset.key if stated.key is None else stated.key
        names = (keys,) if isinstance(keys, str) else (keys or ())
        found[name] = Upstream(
            name=name,
            url=stated.url or preset.url,
            format=format,
            keys=tuple(n for n in names if n),
            auth=stated.auth or AUTH_OF[format],
            stream_usage=stated.stream_usage is not False,
            concurrency=stated.concurrency or options.concurrency,
            requests_per_minute=stated.requests_per_minute or options.requests_per_minute,
        )
    return found


class Places:
    """Bounds calls at once and calls a minute; who finds no place waits in line."""

    def __init__(self, concurrency: int | None, per_minute: int | None) -> None:
        self._places = asyncio.Semaphore(concurrency) if concurrency else None
        self._per_minute = per_minute
        self._begun: deque[float] = deque()
        self._line = asyncio.Lock()

    @asynccontextmanager
    async def place(self, seconds: float) -> AsyncIterator[None]:
        """A place for one call. Raises `TimeoutError` if none is free within `seconds`."""
        async with asyncio.timeout(seconds):
            if self._places is not None:
                await self._places.acquire()
            try:
                await self._begin()
            except BaseException:
                if self._places is not None:
                    self._places.release()
                raise
        try:
            yield
        finally:
            if self._places is not None:
                self._places.release()

    async def _begin(self) -> None:
        if self._per_minute is None:
            return
        loop = asyncio.get_running_loop()
        async with self._line:
            while self._begun and self._begun[0] <= loop.time() - _MINUTE:
                self._begun.popleft()
            if len(self._begun) >= self._per_minute:
                await asyncio.sleep(self._begun[0] + _MINUTE - loop.time())
                self._begun.popleft()
            self._begun.append(loop.time())


class Reach:
    """An upstream with its connections, in one event loop."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        self.places = Places(upstream.concurrency, upstream.requests_per_minute)
        self._client: httpx2.AsyncClient | None = None

    @property
    def client(self) -> "httpx2.AsyncClient":
        self._client = self._client or http_client(self.upstream.url)
        return self._client

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()


def http_client(url: str) -> "httpx2.AsyncClient":
    """A client for one address. It follows no redirect, which would take the key elsewhere, and keeps no cookies.

    A proxy of the environment is used, except for this machine itself. Nothing times out but connecting: whoever uses it watches the clock.
    """
    from http.cookiejar import CookieJar, DefaultCookiePolicy

    import httpx2

    address = urlsplit(url)
    host = address.hostname or ""
    local = host in ("localhost", "::1") or host.startswith("127.")
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=_IDLE_SECONDS),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        follow_redirects=False,
        trust_env=not local,
        verify=address.scheme != "http",  # without TLS there is nothing to verify, and loading certificates takes a quarter of a second
    )


def headers_sent(headers: Iterable[tuple[bytes, bytes]], token: str) -> list[tuple[bytes, bytes]]:
    """What of a program's headers goes to the upstream: nothing that belongs to the connection, names an account or holds the token."""
    pairs = [(name.lower(), value) for name, value in headers]
    dropped = _NOT_SENT | _named_by_connection(pairs)
    return [
        (name, value)
        for name, value in pairs
        if name.decode("latin-1") not in dropped
        and not name.startswith((b"x-forwarded", b"proxy-", b"sec-websocket"))
        and token.encode() not in value
    ]


def headers_returned(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """What of the upstream's headers comes back: nothing that belongs to the connection or names an account."""
    pairs = [(name.lower(), value) for name, value in headers]
    dropped = _NOT_RETURNED | _named_by_connection(pairs)
    return [(name, value) for name, value in pairs if name.decode("latin-1") not in dropped]


def _named_by_connection(pairs: Iterable[tuple[bytes, bytes]]) -> set[str]:
    return {part.strip().lower() for name, value in pairs if name == b"connection" for part in value.decode("latin-1").split(",")}
