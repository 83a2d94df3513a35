"""Who a request belongs to, and where it leads."""

import hashlib
from collections.abc import Mapping

from finassay_gateway import asgi, wire
from finassay_gateway.options import Format
from finassay_gateway.relay import ModelCall
from finassay_gateway.session import Session


class App:
    """The ASGI application of one gateway."""

    def __init__(self, formats: Mapping[str, Format]) -> None:
        self._formats = formats
        self._sessions: dict[bytes, Session] = {}

    def add(self, session: Session) -> None:
        self._sessions[_digest(session.token)] = session

    def remove(self, session: Session) -> None:
        self._sessions.pop(_digest(session.token), None)

    async def __call__(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        if scope["type"] != "http":
            return
        name, slash, rest = scope["path"].removeprefix("/").partition("/")
        if scope["method"] == "HEAD" and name in self._formats:  # programs warm up a connection, some without a key
            await asgi.answer(send, 200, b"")
            return
        session = self._session(scope)
        if session is None:
            await asgi.answer(send, 401, wire.error(self._formats.get(name, "openai"), 401, "token", "finassay: this token is not valid."))
        elif name == "channels":
            await session.run(self._channel(session, rest, scope, receive, send))
        elif (reach := session.reaches.get(name)) is not None:
            await session.run(ModelCall(session, reach, scope, receive, send, slash + rest).run())
        else:
            await session.run(self._unknown(session, name, send))

    def _session(self, scope: asgi.Scope) -> Session | None:
        """Whose token the request carries. Looked up by digest, so that the time it takes says nothing about a token."""
        found = None
        for token in asgi.tokens(scope):
            session = self._sessions.get(_digest(token))
            if session is not None and session.holds(token):
                found = found or session
        return found

    async def _channel(self, session: Session, rest: str, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        name, _, last = rest.partition("/")
        channel = session.channels.get(name)
        if channel is None or last.rstrip("/") != "mcp":
            await self._unknown(session, f"channels/{name}", send)
        else:
            await channel.answer(scope, receive, send)

    async def _unknown(self, session: Session, name: str, send: asgi.Send) -> None:
        from finassay.api.gateway import GatewayCall

        await session.refusal_pause()
        kind = "channel" if name.startswith("channels/") else "model"
        session.tell(GatewayCall("channel" if kind == "channel" else "model", name[:60], "", 404, refused="upstream"))
        await asgi.answer(send, 404, wire.error(self._formats.get(name, "openai"), 404, "upstream", "finassay: not one of this session's."))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
