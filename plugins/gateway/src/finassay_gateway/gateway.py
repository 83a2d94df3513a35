"""The gateway `standard`: one server for a run."""

import contextlib
import re
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from finassay.api.channel import ChannelSpec, McpServer
from finassay.api.errors import FinassayError, ProviderError, SandboxError
from finassay.api.gateway import Access, GatewaySession, GatewaySpec
from finassay.api.sandbox import Service
from finassay_gateway.options import GatewayOptions

if TYPE_CHECKING:
    from finassay_gateway.session import Session
    from finassay_gateway.upstreams import Reach, Upstream

_GRACE: Final = 15.0
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


class StandardGateway:
    """A reverse proxy on loopback for model APIs and MCP servers."""

    api_version: ClassVar = 1
    Options: ClassVar = GatewayOptions
    description: ClassVar = "a loopback reverse proxy that holds the keys, meters every call and runs the channels' servers"
    id = "standard"

    def __init__(self, options: GatewayOptions) -> None:
        from finassay_gateway.upstreams import upstreams

        self._options = options
        self._upstreams = upstreams(options)
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._keys: dict[str, str] = {}
        self._channel_secrets: dict[str, None] = {}

    def problems(self, upstreams: Sequence[str], channels: Sequence[ChannelSpec]) -> list[str]:
        found = []
        for name in dict.fromkeys(upstreams):
            upstream = self._upstreams.get(name)
            if upstream is None:
                found.append(f"the gateway knows no upstream {name!r}; it knows {', '.join(self._upstreams)}")
            elif self._key(upstream) is None:
                found.append(f"the gateway has no key for {name}: {' or '.join(upstream.keys)} is not set")
        seen: set[str] = set()
        for channel in channels:
            if channel.server is not None:
                found += self._channel_problems(channel, seen)
        return found

    def _channel_problems(self, channel: ChannelSpec, seen: set[str]) -> list[str]:
        from finassay_gateway.places import unfilled, values

        server, who = channel.server, f"channel {channel.id!r}"
        assert server is not None
        found = [f"{who}: no name for an address"] if not _NAME.fullmatch(channel.id) else []
        found += [f"{who} is there twice"] if channel.id in seen else []
        seen.add(channel.id)
        if bool(server.command) == bool(server.url):
            found.append(f"{who}: its server needs a command or a url, and not both")
        if server.command and shutil.which(server.command[0]) is None:
            found.append(f"{who}: the program {server.command[0]!r} was not found")
        if server.url and not server.url.startswith(("http://", "https://")):
            found.append(f"{who}: its url is no http or https address")
        known = values(server)
        self._channel_secrets.update(dict.fromkeys(known.values()))
        found += [f"{who}: the secret {name} is not set" for name in server.secrets if name not in known]
        found += [f"{who}: ${{{name}}} is not one of its secrets" for name in unfilled(server)]
        return found

    def _key(self, upstream: "Upstream") -> str | None:
        if upstream.name not in self._keys and (key := upstream.key()) is not None:
            self._keys[upstream.name] = key
        return self._keys.get(upstream.name)

    def secrets(self) -> tuple[str, ...]:
        keys = [self._key(upstream) for upstream in self._upstreams.values()]
        return tuple(dict.fromkeys(value for value in (*keys, *self._channel_secrets) if value))

    def open(self, spec: GatewaySpec) -> GatewaySession:
        wrong = self.problems(spec.upstreams, spec.channels)
        if wrong:
            raise ProviderError("; ".join(wrong))
        _preload(any(channel.server is not None for channel in spec.channels))
        with self._lock:
            if self._engine is None:
                self._engine = Engine(self._options, self._upstreams)
            engine = self._engine
        keys = {name: self._keys[name] for name in spec.upstreams}
        return engine.open(spec, keys, self.secrets())

    def close(self) -> None:
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()


def _preload(channels: bool) -> None:
    """Import what sessions need, here and not in the event loop, which would keep all other sessions waiting; then keep it quiet."""
    import httpx2

    import finassay_gateway.relay
    from finassay_gateway.quiet import hush

    httpx2.AsyncHTTPTransport(verify=False)  # imports what it is made of
    if channels:
        import finassay_gateway.channels  # noqa: F401
    hush()


class Engine:
    """What runs between the first session and `close`."""

    def __init__(self, options: GatewayOptions, upstreams: "dict[str, Upstream]") -> None:
        from finassay_gateway.app import App
        from finassay_gateway.server import Server
        from finassay_gateway.session import Workers

        self._options, self._upstreams = options, upstreams
        self.workers: Workers = Workers.make()
        self.app = App({name: upstream.format for name, upstream in upstreams.items()})
        self.server: Server = Server(self.app)
        self._reaches: dict[str, Reach] = {}
        self._open: set[OpenSession] = set()
        self._lock = threading.Lock()
        self.server.start()

    def open(self, spec: GatewaySpec, keys: dict[str, str], secrets: tuple[str, ...]) -> "OpenSession":
        """Raises `SandboxError`, `ProviderError`."""
        slowest = max((c.server.start_seconds for c in spec.channels if c.server is not None), default=0.0)
        try:
            session, path = self.server.call(self._make(spec, keys, secrets), slowest + _GRACE)
        except FinassayError:
            raise
        except Exception as error:
            raise SandboxError(f"the gateway cannot open a session: {type(error).__name__}: {error}") from error
        made = OpenSession(self, session, path)
        with self._lock:
            self._open.add(made)
        return made

    async def _make(self, spec: GatewaySpec, keys: dict[str, str], secrets: tuple[str, ...]) -> "tuple[Session, Path]":
        from finassay_gateway.session import Session, new_token
        from finassay_gateway.upstreams import Reach

        for name in spec.upstreams:
            if name not in self._reaches:
                self._reaches[name] = Reach(self._upstreams[name])
        session = Session(
            spec=spec,
            token=new_token(),
            reaches={name: self._reaches[name] for name in spec.upstreams},
            keys=keys,
            masker_secrets=secrets,
            workers=self.workers,
            max_body=self._options.max_body_mb * 2**20,
        )
        path = await self.server.listen()
        try:
            if any(channel.server is not None for channel in spec.channels):
                from finassay_gateway.channels import start_channels

                await start_channels(session)
        except BaseException:
            await self.server.unlisten(path)
            raise
        self.app.add(session)
        return session, path

    async def _end(self, session: "Session", path: Path) -> None:
        self.app.remove(session)
        await session.settle()
        session.closed = True
        for channel in list(session.channels.values()):
            await channel.close()
        await self.server.unlisten(path)

    def end(self, opened: "OpenSession", session: "Session", path: Path) -> None:
        """End one session."""
        with self._lock:
            if opened not in self._open:
                return
            self._open.discard(opened)
        with contextlib.suppress(TimeoutError):
            self.server.call(self._end(session, path), _GRACE)

    def close(self) -> None:
        """End all sessions and the server."""
        for opened in list(self._open):
            opened.close()
        with contextlib.suppress(Exception):
            self.server.call(self._close_reaches(), _GRACE)
        self.server.close()
        self.workers.shutdown()

    async def _close_reaches(self) -> None:
        for reach in self._reaches.values():
            await reach.close()


class OpenSession:
    """One session, seen from the harness. Implements `finassay.api.gateway.GatewaySession`."""

    def __init__(self, engine: Engine, session: "Session", path: Path) -> None:
        self._engine, self._session, self._path = engine, session, path
        base = f"http://127.0.0.1:{engine.server.port}"
        self.access = Access(
            urls={name: f"{base}/{name}" for name in session.spec.upstreams},
            token=session.token,
            servers=tuple(
                McpServer(name, f"{base}/channels/{name}/mcp", {"Authorization": f"Bearer {session.token}"}) for name in session.channels
            ),
            failure=lambda: session.failure,
        )
        self.services: tuple[Service, ...] = (Service("gateway", engine.server.port, path),)

    def settle(self, seconds: float = 5.0) -> None:
        with contextlib.suppress(TimeoutError):
            self._engine.server.call(self._session.settle(), seconds)

    def close(self) -> None:
        self._engine.end(self, self._session, self._path)
