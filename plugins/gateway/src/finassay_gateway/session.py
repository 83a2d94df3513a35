"""One session at the gateway: what it may reach, what is in flight, why its last model call failed."""

import asyncio
import hmac
import logging
import secrets
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from attrs import define, field, frozen

from finassay.api.errors import BudgetError, ProviderError
from finassay.api.gateway import GatewayCall, GatewaySpec
from finassay_gateway.masking import Masker
from finassay_gateway.upstreams import Reach

MAX_INFLIGHT: Final = 64
"""Requests of one session at once. The busiest programs make a handful."""
FREE_REFUSALS: Final = 50
"""So many refused calls are answered at once; who goes on is made to wait, so that no program fills the record by trying."""

_log = logging.getLogger("finassay.gateway")


@frozen
class Workers:
    """Threads in which the harness is asked and told, so that it never holds up the loop. Apart, so that neither waits for the other."""

    asking: ThreadPoolExecutor
    telling: ThreadPoolExecutor

    @classmethod
    def make(cls) -> "Workers":
        return cls(ThreadPoolExecutor(32, "finassay-gateway-ask"), ThreadPoolExecutor(8, "finassay-gateway-tell"))

    def shutdown(self) -> None:
        for pool in (self.asking, self.telling):
            pool.shutdown(wait=False, cancel_futures=True)


def new_token() -> str:
    """A token that nobody guesses, and that can be told from a key."""
    return "finassay-" + secrets.token_hex(24)


@define(eq=False)
class Session:
    """Lives in the gateway's event loop; `failure` and `token` are read from elsewhere."""

    spec: GatewaySpec
    token: str = field(repr=False)
    reaches: Mapping[str, Reach]
    keys: Mapping[str, str] = field(repr=False)
    masker_secrets: tuple[str, ...] = field(repr=False)
    workers: Workers
    max_body: int
    channels: dict[str, Any] = field(factory=dict)
    """Name to what answers its requests."""
    failure: ProviderError | BudgetError | None = None
    refusals: int = 0
    buffered: int = 0
    """Bytes of requests that are held now."""
    closed: bool = False
    inflight: set["asyncio.Task[Any]"] = field(factory=set)
    _pending: set["asyncio.Future[None]"] = field(factory=set)

    def holds(self, token: str) -> bool:
        """Whether a token is this session's; takes the same time for every wrong one."""
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())

    def masker(self) -> Masker:
        """Takes this gateway's keys out of one answer."""
        return Masker(self.masker_secrets)

    async def afford(self) -> None:
        """Ask the harness whether a call may be paid, once it knows what the ones before cost. Raises what it raises."""
        await self.told()
        await asyncio.get_running_loop().run_in_executor(self.workers.asking, self.spec.afford)

    def tell(self, call: GatewayCall) -> "asyncio.Future[None]":
        """Tell the harness of a call, in a thread."""
        future = asyncio.get_running_loop().run_in_executor(self.workers.telling, self._called, call)
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        return future

    def _called(self, call: GatewayCall) -> None:
        try:
            self.spec.called(call)
        except Exception as error:  # somebody else's code; the agent's call must not fail for it
            _log.error("session %s: a call could not be recorded: %s", self.spec.session, type(error).__name__)

    async def told(self) -> None:
        """Wait until the harness was told of every call that is over."""
        while self._pending:
            await asyncio.wait(set(self._pending))

    async def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Do a request's work as one that is in flight."""
        task = asyncio.current_task()
        assert task is not None
        self.inflight.add(task)
        try:
            await work
        finally:
            self.inflight.discard(task)

    async def refusal_pause(self) -> None:
        """A moment's wait for who is refused again and again."""
        self.refusals += 1
        if self.refusals > FREE_REFUSALS:
            await asyncio.sleep(min(2.0, (self.refusals - FREE_REFUSALS) * 0.02))

    async def settle(self) -> None:
        """Break off what is in flight and wait until it was told."""
        current = asyncio.current_task()
        while tasks := {task for task in self.inflight if task is not current}:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        await self.told()
