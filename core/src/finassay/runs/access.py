"""What the program of an agent reaches through the gateway: opened for one session, metered call by call."""

import threading
from collections.abc import Callable
from typing import Any, Final

from attrs import asdict, define, evolve, field, fields

from finassay.api.agent import AgentCapabilities
from finassay.api.channel import ChannelSpec
from finassay.api.gateway import Gateway, GatewayCall, GatewaySession, GatewaySpec
from finassay.api.usage import Usage
from finassay.config.settings import ProviderSettings, RunSettings
from finassay.models.ledger import Entry, Ledger, now
from finassay.models.prices import PriceTable, table_for
from finassay.models.service import AGENT
from finassay.models.serving import Serving
from finassay.records.convert import to_json
from finassay.records.events import EventLog

LOG: Final = "gateway.jsonl"


def served_channels(capabilities: AgentCapabilities, channels: tuple[ChannelSpec, ...]) -> tuple[ChannelSpec, ...]:
    """Those of a task's channels that an agent gets as servers."""
    return tuple(c for c in channels if c.server is not None) if capabilities.channels else ()


def needs_gateway(capabilities: AgentCapabilities, channels: tuple[ChannelSpec, ...]) -> bool:
    return bool(capabilities.upstreams or served_channels(capabilities, channels))


def prices_of(settings: RunSettings, upstream: str) -> PriceTable:
    """What models of an upstream cost; rates that the settings state under its name come first."""
    return table_for(upstream, settings.models.get(upstream, ProviderSettings()).prices, {})


@define
class Meter:
    """Takes down the calls of one session: each in its `gateway.jsonl`, those of models in the run's ledger too."""

    log: EventLog
    ledger: Ledger
    serving: Serving
    prices: Callable[[str], PriceTable]
    _lock: threading.Lock = field(init=False, factory=threading.Lock)
    _turn: list[Usage] = field(init=False, factory=list)
    _closed: bool = field(init=False, default=False)

    def called(self, call: GatewayCall) -> None:
        """Take a call down. Safe from several threads; one that comes after `close` counts for the ledger alone."""
        with self._lock:
            if not self._closed:
                self.log.append({"type": "call", "turn": self.serving.turn, "when": now(), **_plain(call)}, sync=False)
            if call.kind == "model" and not call.refused:
                self._count(call)

    def _count(self, call: GatewayCall) -> None:
        prices = self.prices(call.to)
        failed = f"HTTP {call.status}" if call.status >= 400 else "no answer" if call.status == 0 else ""
        cost = None if failed else prices.cost_of(call.what, call.usage, searches=call.searches or 0, written=call.cache_write_tokens or 0)
        usage = evolve(call.usage, cost_usd=cost)
        self.ledger.add(
            Entry(
                AGENT,
                f"{call.to}/{call.what}",
                self.serving.session,
                self.serving.turn,
                **asdict(usage),
                prices="" if cost is None else prices.source(call.what),
                finish="cut" if call.cut else "",
                failed=failed,
                seconds=round(call.seconds, 3),
                when=now(),
            )
        )
        if not failed:
            self._turn.append(usage)

    def turn(self, own: Usage) -> Usage:
        """What the turn used since the last question: what passed the gateway; what the program itself says where nothing did."""
        with self._lock:
            calls, self._turn = self._turn, []
        return summed(calls) if calls else own

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self.log.close()


def _plain(call: GatewayCall) -> dict[str, Any]:
    """Without what is empty."""
    return {name: value for name, value in to_json(call).items() if value not in ("", None, False)}


def summed(calls: list[Usage]) -> Usage:
    """The sum, count by count; unknown as soon as one of them is."""

    def total(name: str) -> Any:
        values = [getattr(usage, name) for usage in calls]
        return None if any(value is None for value in values) else sum(values)

    return Usage(**{f.name: total(f.name) for f in fields(Usage)})


@define
class SessionAccess:
    """One session's way through the gateway, with its meter."""

    session: GatewaySession
    meter: Meter

    def metered(self, own: Usage) -> Usage:
        """At the end of a turn, when the agent's processes are stopped."""
        self.session.settle()
        return self.meter.turn(own)

    def close(self) -> None:
        self.session.close()
        self.meter.close()


def open_access(
    gateway: Gateway,
    capabilities: AgentCapabilities,
    channels: tuple[ChannelSpec, ...],
    settings: RunSettings,
    meter: Meter,
    afford: Callable[[], None],
) -> SessionAccess:
    """Let a session through. Raises `SandboxError`, `ProviderError`."""
    spec = GatewaySpec(
        session=meter.serving.session,
        upstreams=capabilities.upstreams,
        channels=served_channels(capabilities, channels),
        models=capabilities.models,
        stall_seconds=settings.stall_seconds,
        afford=afford,
        called=meter.called,
    )
    return SessionAccess(gateway.open(spec), meter)
