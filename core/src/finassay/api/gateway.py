"""The gateway: how agents reach model APIs and channels without ever holding a key.

A gateway is a reverse proxy of the harness. Each session gets an address, a throw-away token and a list of what may be called; the gateway
adds the real keys on the way out, meters what comes back, and forgets the token when the session ends.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable

from attrs import field, frozen

from finassay.api.channel import ChannelSpec, McpServer
from finassay.api.errors import BudgetError, ProviderError
from finassay.api.sandbox import Service
from finassay.api.usage import Usage


@frozen
class GatewayCall:
    """A request that passed the gateway, or that it refused. Holds no prompt, no answer and no key."""

    kind: Literal["model", "channel", "other"]
    """`model` asks a model for an answer and is metered; `other` is what programs ask besides: lists of models, counts of tokens."""
    to: str
    """The upstream's name, or the channel's."""
    what: str
    """The model, or the channel's tool; empty where the request names none."""
    status: int
    """HTTP status that the agent's program saw; 0 where the connection ended before one."""
    digest: str = ""
    """SHA-256 of the request's body."""
    answer: str = ""
    """SHA-256 of the answer's body as far as it came: what data an agent really got."""
    usage: Usage = Usage()
    cache_write_tokens: int | None = None
    """Those among the input tokens that were written to the provider's cache, which costs more; None where it does not tell."""
    searches: int | None = None
    """Searches on the provider's side, which cost extra; None where it does not tell."""
    cut: bool = False
    """The answer did not come to its end: stalled, broken off, or the program went away."""
    refused: str = ""
    """Why the gateway itself refused it: token, model, budget, upstream, size; empty if it was passed on."""
    seconds: float = 0.0
    first_byte_seconds: float | None = None


@frozen
class GatewaySpec:
    """What one session may reach."""

    session: str
    upstreams: tuple[str, ...] = ()
    """Names of model APIs, as the gateway knows them or its options declare them."""
    channels: tuple[ChannelSpec, ...] = ()
    """Those whose `server` is not None are served."""
    models: tuple[str, ...] = ()
    """Models that may be named; any if it is empty."""
    stall_seconds: float = 300.0
    """How long an upstream may be silent, before its answer begins or within it."""
    afford: Callable[[], None] = lambda: None
    """Asked before each model call is passed on, from several threads. Raises `BudgetError`."""
    called: Callable[[GatewayCall], None] = lambda call: None
    """Told of each call when it is over, from several threads."""


@frozen
class Access:
    """A session's way through the gateway, as its agent gets it. Everything here may be shown to the agent's program."""

    urls: Mapping[str, str]
    """Upstream to the base URL that takes the place of the vendor's own, without its version path: `http://127.0.0.1:PORT/UPSTREAM`."""
    token: str = field(repr=False)
    """Goes where the vendor's key would: into the header or parameter that its API has for it."""
    servers: tuple[McpServer, ...] = ()
    failure: Callable[[], ProviderError | BudgetError | None] = lambda: None
    """Why the last model call of this session failed; None if it went well. Tells a failure of the provider from one of the program."""


class GatewaySession(Protocol):
    """One session at the gateway."""

    access: Access
    services: tuple[Service, ...]
    """For the box."""

    def settle(self, seconds: float = 5.0) -> None:
        """Break off what is still in flight (its program is gone) and wait until it was told to `called`."""
        ...

    def close(self) -> None:
        """Forget the token, end the channels' servers. Harmless when repeated."""
        ...


@runtime_checkable
class Gateway(Protocol):
    """A reverse proxy on loopback. One instance serves a run, from several threads; it starts with the first session."""

    id: str

    def problems(self, upstreams: Sequence[str], channels: Sequence[ChannelSpec]) -> list[str]:
        """What stands against serving these: an unknown upstream, a key or secret that is not there. Nothing is spent."""
        ...

    def secrets(self) -> tuple[str, ...]:
        """The keys that it adds, to be masked wherever text is stored."""
        ...

    def open(self, spec: GatewaySpec) -> GatewaySession:
        """Raises `SandboxError` if it cannot listen, `ProviderError` if a channel's server does not start."""
        ...

    def close(self) -> None:
        """End everything. Harmless when repeated."""
        ...
