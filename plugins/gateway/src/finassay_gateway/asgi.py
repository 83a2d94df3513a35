"""The few pieces of ASGI that the gateway needs."""

import asyncio
import json
import zlib
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final
from urllib.parse import parse_qsl

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

BODY_PAUSE: Final = 60.0
"""How long a program may be silent within the body of its request."""


class ClientGoneError(Exception):
    """The program hung up."""


class RefusedError(Exception):
    """The gateway does not pass a request on. `code` is a short word for the record, the message goes to the program."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def header(scope: Scope, name: bytes) -> str:
    """A header's value, empty if there is none."""
    return next((value.decode("latin-1").strip() for key, value in scope["headers"] if key == name), "")


def query(scope: Scope) -> list[tuple[str, str]]:
    """The pairs of the query."""
    try:
        return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return []


def tokens(scope: Scope) -> Iterable[str]:
    """Every place where a program may put what it takes for its key."""
    yield header(scope, b"x-api-key")
    yield header(scope, b"x-goog-api-key")
    kind, _, value = header(scope, b"authorization").partition(" ")
    if kind.lower() == "bearer":
        yield value.strip()
    yield from (value for name, value in query(scope) if name == "key")


async def answer(send: Send, status: int, body: Any, headers: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    """A whole answer; `body` is JSON, or bytes as they are. Returns the bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    base = [(b"content-length", str(len(data)).encode())]
    if not any(name == b"content-type" for name, _ in headers):
        base.append((b"content-type", b"application/json"))
    await send({"type": "http.response.start", "status": status, "headers": [*base, *headers]})
    await send({"type": "http.response.body", "body": data, "more_body": False})
    return data


async def read_body(receive: Receive, most: int, hold: Callable[[int], None]) -> bytes:
    """The body of a request. `hold` is told of every byte that is kept, and may refuse. Raises `RefusedError`, `ClientGoneError`."""
    parts: list[bytes] = []
    size = 0
    while True:
        try:
            async with asyncio.timeout(BODY_PAUSE):
                message = await receive()
        except TimeoutError:
            raise RefusedError(408, "slow", "The request did not come to its end.") from None
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise RefusedError(413, "size", f"The request is larger than {most // 2**20} MB.")
        hold(len(part))
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def decoded(body: bytes, encoding: str, most: int) -> bytes:
    """A body without its compression. Raises `RefusedError` where it is unknown, broken or larger than `most` inside."""
    match encoding.lower():
        case "" | "identity":
            return body
        case "gzip" | "x-gzip" | "deflate":
            unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
        case _:
            raise RefusedError(415, "encoding", "The gateway reads requests as they are, or with gzip or deflate.")
    try:
        data = unpacker.decompress(body, most + 1)
    except zlib.error:
        raise RefusedError(400, "encoding", "The compressed request cannot be read.") from None
    if len(data) > most or unpacker.unconsumed_tail:
        raise RefusedError(413, "size", f"The request is larger than {most // 2**20} MB.")
    return data


async def gone(receive: Receive) -> None:
    """Returns when the program hung up, or when the answer is complete."""
    while (await receive())["type"] != "http.disconnect":
        pass
