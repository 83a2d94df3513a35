"""A gateway in front of loopback upstreams."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from finassay.api.gateway import GatewayCall, GatewaySession, GatewaySpec
from finassay_gateway.gateway import StandardGateway
from finassay_gateway.options import GatewayOptions
from finassay_models_kit.testing import Loopback, Script, loopback

KEYS = {
    "ANTHROPIC_API_KEY": "sk-ant-api03-REALKEYREALKEY-0a1b2c3d",
    "OPENAI_API_KEY": "sk-proj-REALKEYREALKEY-4e5f6a7b",
    "GEMINI_API_KEY": "AIzaREALKEYREALKEY8c9d0e1f",
    "MOONSHOT_API_KEY": "sk-moon-REALKEYREALKEY-2a3b4c5d",
}


class Told(list[GatewayCall]):
    """What a session's `called` was told; safe from several threads."""

    def __init__(self) -> None:
        super().__init__()
        self._more = threading.Condition()

    def __call__(self, call: GatewayCall) -> None:
        with self._more:
            self.append(call)
            self._more.notify_all()

    def wait(self, count: int, seconds: float = 10.0) -> "Told":
        with self._more:
            assert self._more.wait_for(lambda: len(self) >= count, seconds), f"{len(self)} calls told, not {count}"
        return self


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    for name in ("GOOGLE_API_KEY", "KIMI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    return dict(KEYS)


class House:
    """Upstreams and gateways of one test, closed at its end."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def upstream(self, script: Script) -> Loopback:
        return self._stack.enter_context(loopback(script))

    def gateway(self, **options: Any) -> StandardGateway:
        gateway = StandardGateway(GatewayOptions(**options))
        self._stack.callback(gateway.close)
        return gateway

    def session(self, name: str, script: Script, **spec: Any) -> tuple[GatewaySession, Loopback, Told]:
        """One session at one upstream."""
        server = self.upstream(script)
        gateway = self.gateway(upstreams={name: {"url": server.url}})
        told = Told()
        return gateway.open(GatewaySpec(**{"session": "s", "upstreams": (name,), "called": told, **spec})), server, told


@pytest.fixture
def house(keys: dict[str, str]) -> Iterator[House]:
    with ExitStack() as stack:
        yield House(stack)


Opened = Callable[..., GatewaySession]
