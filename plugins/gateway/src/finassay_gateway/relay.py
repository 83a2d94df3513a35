"""One call of a model: checked, passed on with the key, streamed back, metered, told."""

import asyncio
import contextlib
import hashlib
import json
import time
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from attrs import frozen

from finassay.api.errors import BudgetError, ProviderError
from finassay.api.gateway import GatewayCall
from finassay_gateway import asgi, wire
from finassay_gateway.asgi import ClientGoneError, RefusedError
from finassay_gateway.failures import provider_failure
from finassay_gateway.meter import Events, Meter, Told, data_of, trouble_in
from finassay_gateway.options import Format
from finassay_gateway.routes import Endpoint, OddBodyError, endpoint, models_named, query_passed, read_json
from finassay_gateway.session import MAX_INFLIGHT, Session
from finassay_gateway.upstreams import Reach, headers_returned, headers_sent
from finassay_models_kit import Trouble

if TYPE_CHECKING:
    import httpx2

MAX_ERROR: Final = 2**20
_READABLE: Final = frozenset({"", "identity", "gzip", "deflate"})
BUDGET_STATUS: Final[Mapping[Format, int]] = {"anthropic": 402, "openai": 400, "google": 400}
MODEL_STATUS: Final[Mapping[Format, int]] = {"anthropic": 403, "openai": 400, "google": 403}
"""Statuses at which the programs stop at once: Claude Code asks three times after a 400, Codex goes on for seconds after a 402 or a 403."""


@frozen
class Outgoing:
    """A request as it goes to the upstream."""

    endpoint: Endpoint
    url: str
    body: bytes
    usage_added: bool = False
    """The gateway asked for the usage of a stream, the program did not."""


class ModelCall:
    """One request of a session to an upstream."""

    def __init__(self, session: Session, reach: Reach, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send, rest: str) -> None:
        self._session, self._reach, self._upstream = session, reach, reach.upstream
        self._scope, self._receive, self._send_raw, self._rest = scope, receive, send, rest
        self._begun = time.monotonic()
        self._stall = session.spec.stall_seconds
        self._model = self._digest = self._refused = ""
        self._api = ""
        self._metered = True
        self._status = 0
        self._first_byte: float | None = None
        self._answer = hashlib.sha256()
        self._answered = self._whole = self._broken = self._sending = False
        self._told = Told()
        self._telling: asyncio.Future[None] | None = None
        self._held = 0

    @property
    def _who(self) -> str:
        return f"{self._upstream.name}/{self._model}" if self._model else self._upstream.name

    async def run(self) -> None:
        """Everything, from the first byte of the request until the harness was told."""
        try:
            outgoing = await self._admit()
            await self._watched(outgoing)
        except RefusedError as refused:
            await self._refuse(refused)
        except ClientGoneError:
            if self._told.ended:
                self._note(None)  # it hung up after the last word
            else:
                self._broken = True
        except asyncio.CancelledError:
            self._broken = not self._told.ended
            raise
        finally:
            self._session.buffered -= self._held
            self._tell()

    # -- before --------------------------------------------------------------------------------------------------------

    async def _admit(self) -> Outgoing:
        """Read and check the request. Raises `RefusedError`, `ClientGoneError`."""
        method, format = self._scope["method"], self._upstream.format
        if "websocket" in asgi.header(self._scope, b"upgrade").lower():
            raise RefusedError(426, "websocket", "The gateway speaks HTTP with server-sent events only.")
        if len(self._session.inflight) > MAX_INFLIGHT:
            raise RefusedError(429, "concurrency", f"More than {MAX_INFLIGHT} requests of one session at once.")
        target = endpoint(format, method, self._rest)
        if target is None:
            raise RefusedError(404, "path", f"The gateway does not pass {method} on to this path of {self._upstream.name}.")
        self._metered, self._api = target.metered, target.api
        pairs = query_passed(format, asgi.query(self._scope))
        if pairs is None:
            raise RefusedError(400, "query", "The gateway does not pass this query on.")
        raw = await asgi.read_body(self._receive, self._session.max_body, self._hold)
        self._digest = hashlib.sha256(raw).hexdigest()
        encoding = asgi.header(self._scope, b"content-encoding")
        body = await asyncio.to_thread(asgi.decoded, raw, encoding, self._session.max_body) if encoding else raw
        url = self._upstream.url + target.path + (f"?{urlencode(pairs)}" if pairs else "")
        if method != "POST":
            return Outgoing(target, url, b"")
        return self._checked(target, url, body)

    def _checked(self, target: Endpoint, url: str, body: bytes) -> Outgoing:
        try:
            value = read_json(body)
        except OddBodyError as error:
            raise RefusedError(400, "body", f"{str(error).capitalize()}.") from None
        named = [target.model] if target.model else models_named(value)
        self._model = named[0][:200] if named else ""
        allowed = self._session.spec.models
        if allowed and any(name.removeprefix("models/") not in allowed for name in named or [""]):
            wrong = next((name for name in named if name.removeprefix("models/") not in allowed), "none")
            raise RefusedError(
                MODEL_STATUS[self._upstream.format], "model", f"The model {wrong[:200]} is not one of this session's: {', '.join(allowed)}."
            )
        if value.get("background"):
            raise RefusedError(400, "background", "The gateway takes no requests that run in the background.")
        options = value.get("stream_options")
        asks = isinstance(options, dict) and options.get("include_usage")
        if target.api == "chat" and value.get("stream") is True and not asks and self._upstream.stream_usage:
            value["stream_options"] = {**(options if isinstance(options, dict) else {}), "include_usage": True}
            return Outgoing(target, url, json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"), usage_added=True)
        return Outgoing(target, url, body)

    def _hold(self, size: int) -> None:
        self._held += size
        self._session.buffered += size
        if self._session.buffered > 2 * self._session.max_body:
            raise RefusedError(429, "size", "The requests of this session that are under way are too large together.")

    async def _refuse(self, refused: RefusedError) -> None:
        self._refused = refused.code
        self._metered = True  # so that it is told
        await self._session.refusal_pause()
        await self._fail(refused.status, refused.code, f"finassay: {refused}")

    async def _fail(self, status: int, code: str, message: str) -> None:
        """An answer of the gateway itself."""
        self._status = status
        self._tell()
        self._answered = self._whole = True
        await asgi.answer(self._send_raw, status, wire.error(self._upstream.format, status, code, message))

    # -- under way -----------------------------------------------------------------------------------------------------

    async def _watched(self, outgoing: Outgoing) -> None:
        """Pass it on, unless the program hangs up."""
        work = asyncio.ensure_future(self._pay_and_pass(outgoing))
        watch = asyncio.ensure_future(asgi.gone(self._receive))
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and not self._whole:
                raise ClientGoneError
            await work
        finally:
            for task in (work, watch):
                task.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)

    async def _pay_and_pass(self, outgoing: Outgoing) -> None:
        place = self._reach.places.place(self._stall)
        try:
            await place.__aenter__()
        except TimeoutError:
            self._session.failure = ProviderError(f"{self._who}: no place was free within {self._stall:.0f} s")
            raise RefusedError(503, "busy", "Too many calls at once: no place was free in time.") from None
        try:
            if outgoing.endpoint.metered:
                await self._afford()
            await self._exchange(outgoing)
        finally:
            await place.__aexit__(None, None, None)

    async def _afford(self) -> None:
        try:
            await self._session.afford()
        except BudgetError as error:
            self._session.failure = error
            raise RefusedError(BUDGET_STATUS[self._upstream.format], "budget", f"The budget is spent: {error}") from None
        except Exception as error:  # somebody else's code
            self._session.failure = ProviderError(f"{self._who}: the budget could not be asked: {type(error).__name__}")
            raise RefusedError(500, "harness", "The harness failed.") from None

    async def _exchange(self, outgoing: Outgoing) -> None:
        import httpx2

        upstream, client = self._upstream, self._reach.client
        headers = headers_sent(self._scope["headers"], self._session.token)
        headers += [(name.encode(), value.encode()) for name, value in upstream.key_headers(self._session.keys.get(upstream.name, ""))]
        headers.append((b"accept-encoding", b"identity"))
        request = client.build_request(self._scope["method"], outgoing.url, headers=headers, content=outgoing.body or None)
        try:
            async with asyncio.timeout(self._stall):
                response = await client.send(request, stream=True)
        except (TimeoutError, httpx2.TimeoutException):
            await self._stalled()
            return
        except httpx2.HTTPError as error:
            await self._unreachable(error)
            return
        try:
            encodings = {part.strip().lower() for part in response.headers.get("content-encoding", "").split(",")}
            if not encodings <= _READABLE:  # what cannot be read cannot be metered, nor looked through for keys
                self._note(Trouble("unreadable"))
                await self._fail(502, "encoding", f"finassay: {upstream.name} answers in a compression that it was not asked for.")
            elif response.status_code >= 300:
                await self._pass_error(response)
            else:
                await self._pass_answer(response, outgoing)
        finally:
            await response.aclose()

    async def _stalled(self) -> None:
        self._broken = True
        self._note(Trouble("timeout"))
        message = f"finassay: {self._upstream.name} was silent for {self._stall:.0f} s."
        if not self._answered:
            await self._fail(504, "timeout", message)

    async def _unreachable(self, error: Exception) -> None:
        self._broken = True
        self._note(Trouble("connection"))
        if not self._answered:
            await self._fail(502, "connection", f"finassay: {self._upstream.name} cannot be reached ({type(error).__name__}).")

    def _note(self, trouble: Trouble | None) -> None:
        """Keep why this call failed, or that it went well. A request that was wrong itself says nothing about the provider."""
        if self._metered:
            self._session.failure = None if trouble is None else provider_failure(trouble, self._who, self._upstream.keys)

    async def _pass_error(self, response: "httpx2.Response") -> None:
        data = bytearray()
        try:
            async with asyncio.timeout(self._stall):
                async for chunk in response.aiter_bytes():
                    data += chunk
                    if len(data) > MAX_ERROR:
                        break
        except Exception:  # broken off or silent: what there is will do
            pass
        body, status = bytes(data[:MAX_ERROR]), response.status_code
        self._note(trouble_in(status, body, dict(response.headers)))
        if status < 400:
            await self._fail(502, "redirect", f"finassay: {self._upstream.name} answered with HTTP {status}; redirects are not followed.")
            return
        masker = self._session.masker()
        body = masker.strictly(body)
        self._status, self._first_byte = status, time.monotonic() - self._begun
        self._answer.update(body)
        self._told = Told(ended=True)
        await self._tell_and_wait()
        self._answered = self._whole = True
        headers = [(n, masker.strictly(v)) for n, v in headers_returned(response.headers.raw)]
        await asgi.answer(self._send_raw, status, body, headers)

    async def _pass_answer(self, response: "httpx2.Response", outgoing: Outgoing) -> None:
        import httpx2

        events = response.headers.get("content-type", "").startswith("text/event-stream")
        meter = Meter(outgoing.endpoint.api, events) if outgoing.endpoint.metered else None
        stream = Passage(meter, Events() if events and outgoing.usage_added else None)
        masker = self._session.masker()
        headers = [(n, masker.whole(v)) for n, v in headers_returned(response.headers.raw)]
        self._status, loop = response.status_code, asyncio.get_running_loop()
        try:
            async with contextlib.aclosing(response.aiter_bytes()) as chunks, asyncio.timeout(self._stall) as clock:
                async for chunk in chunks:
                    data = masker.feed(stream.feed(chunk))
                    self._told = stream.told
                    if data:
                        await self._send(data, headers)
                    clock.reschedule(loop.time() + self._stall)
        except TimeoutError:
            if self._sending:  # a program that does not read must not hold a place of the upstream
                raise ClientGoneError from None
            await self._stalled()
            if events and self._answered:
                text = f"finassay: {self._upstream.name} was silent for {self._stall:.0f} s."
                await self._in_time(self._send(wire.error_event(outgoing.endpoint.api, 504, "timeout", text), headers))
            return
        except httpx2.HTTPError as error:
            await self._unreachable(error)
            return
        await self._finish(masker.feed(stream.rest()) + masker.rest(), headers, stream)

    async def _finish(self, last: bytes, headers: list[tuple[bytes, bytes]], stream: "Passage") -> None:
        """The regular end: the harness is told before the program hears it, so that its next call is measured against a true account."""
        self._told = told = stream.finish()
        if last:
            await self._in_time(self._send(last, headers))
        elif not self._answered:
            await self._in_time(self._start(headers))
        broken = None if told.ended else Trouble("connection")
        self._note(told.trouble or broken)
        await self._tell_and_wait()
        self._whole = True
        await self._in_time(self._put({"type": "http.response.body", "body": b"", "more_body": False}))

    async def _start(self, headers: list[tuple[bytes, bytes]]) -> None:
        self._answered = True
        await self._put({"type": "http.response.start", "status": self._status, "headers": headers})

    async def _send(self, data: bytes, headers: list[tuple[bytes, bytes]]) -> None:
        if not self._answered:
            await self._start(headers)
        if self._first_byte is None:
            self._first_byte = time.monotonic() - self._begun
        self._answer.update(data)
        await self._put({"type": "http.response.body", "body": data, "more_body": True})

    async def _put(self, message: dict[str, Any]) -> None:
        self._sending = True
        await self._send_raw(message)
        self._sending = False

    async def _in_time(self, sending: Coroutine[Any, Any, None]) -> None:
        try:
            async with asyncio.timeout(self._stall):
                await sending
        except TimeoutError:
            raise ClientGoneError from None

    # -- after ---------------------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        if self._telling is None and self._metered and not self._session.closed:
            self._telling = self._session.tell(self._call())

    async def _tell_and_wait(self) -> None:
        self._tell()
        if self._telling is not None:
            await asyncio.shield(self._telling)

    def _call(self) -> GatewayCall:
        told = self._told
        return GatewayCall(
            kind="model",
            to=self._upstream.name,
            what=self._model,
            status=self._status,
            digest=self._digest,
            answer=self._answer.hexdigest() if self._first_byte is not None else "",
            usage=told.usage,
            cache_write_tokens=told.cache_write_tokens,
            searches=told.searches,
            cut=not self._refused and (self._broken or not told.ended),
            refused=self._refused,
            seconds=time.monotonic() - self._begun,
            first_byte_seconds=self._first_byte,
        )


class Passage:
    """An answer on its way to the program: read by the meter, and without the usage that only the gateway asked for."""

    def __init__(self, meter: Meter | None, taking_apart: Events | None) -> None:
        self._meter, self._events = meter, taking_apart

    @property
    def told(self) -> Told:
        return self._meter.told if self._meter is not None else Told(ended=True)

    def feed(self, data: bytes) -> bytes:
        if self._events is None or self._meter is None:
            if self._meter is not None:
                self._meter.feed(data)
            return data
        return b"".join(self._passed(event) for event in self._events.feed(data))

    def _passed(self, event: bytes) -> bytes:
        assert self._meter is not None
        self._meter.event(event)
        value = data_of(event)
        only_usage = isinstance(value, dict) and value.get("choices") == [] and isinstance(value.get("usage"), dict)
        return b"" if only_usage else event

    def rest(self) -> bytes:
        return self._passed(rest) if self._events is not None and (rest := self._events.rest()) else b""

    def finish(self) -> Told:
        return self._meter.finish() if self._meter is not None else Told(ended=True)
