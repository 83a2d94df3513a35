"""Writing answers to a connection, with all that can go wrong on the way."""

import json
import socket
import struct
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler

from finassay_cli_kit.testing.answer import Answer
from finassay_cli_kit.testing.faults import CutStream, EmptyStream, Reset, Silence, Status
from finassay_cli_kit.testing.wires import WireFormat


class GoneError(Exception):
    """The connection is to be closed."""


class Connection:
    """One request's way back."""

    def __init__(self, handler: BaseHTTPRequestHandler, closing: threading.Event) -> None:
        self._handler = handler
        self._closing = closing

    def send(self, answer: Answer, wire: WireFormat) -> bool:
        """Write `answer`; whether it was sent to its end.

        Raises `GoneError` where the connection must close, `OSError` where the client has gone.
        """
        match answer.fault:
            case Silence(headers=False, seconds=seconds):
                self._wait(seconds)
            case Reset():
                self._reset()
            case Status(headers=headers):
                return self._json(answer.status, wire.error(answer.status, answer.message), headers)
        if answer.reply is None:
            return self._json(answer.status, answer.json if answer.json is not None else wire.error(answer.status, answer.message), {})
        if not answer.stream:
            if answer.fault is not None:
                self._broken(answer, (json.dumps(wire.whole(answer.reply)).encode(),))
            return self._json(200, wire.whole(answer.reply), {})
        if answer.fault is not None:
            self._broken(answer, tuple(wire.frames(answer.reply)))
        self._start()
        for frame in wire.frames(answer.reply):
            self._chunk(frame)
            if answer.drip:
                self._pause(answer.drip)
        self._chunk(b"")
        return True

    def _broken(self, answer: Answer, frames: tuple[bytes, ...]) -> None:
        """An answer that does not come to its end. Always raises."""
        self._start("text/event-stream" if answer.stream else "application/json")
        match answer.fault:
            case EmptyStream():
                self._chunk(b"")
            case Silence(seconds=seconds):
                if answer.stream:
                    self._chunk(frames[0])
                self._wait(seconds)
            case CutStream():
                whole = b"".join(frames)
                self._chunk(whole[: len(whole) // 2])
        raise GoneError

    def _json(self, status: int, body: Mapping[str, object], headers: Mapping[str, str]) -> bool:
        raw = json.dumps(body).encode()
        self._handler.send_response(status)
        for name, value in {
            "content-type": "application/json",
            "content-length": str(len(raw)),
            "request-id": "req_scripted",
            **headers,
        }.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()
        if self._handler.command != "HEAD":
            self._handler.wfile.write(raw)
        return True

    def _start(self, kind: str = "text/event-stream") -> None:
        self._handler.send_response(200)
        for name, value in {"content-type": kind, "cache-control": "no-cache", "transfer-encoding": "chunked"}.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()

    def _chunk(self, data: bytes) -> None:
        self._handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _pause(self, seconds: float) -> None:
        if self._closing.wait(seconds):
            raise GoneError

    def _wait(self, seconds: float) -> None:
        """Silence until the time is over, the server closes or the client has gone. Always raises."""
        end = time.monotonic() + seconds
        connection = self._handler.connection
        connection.settimeout(0.1)
        while time.monotonic() < end and not self._closing.is_set():
            try:
                if connection.recv(1, socket.MSG_PEEK) == b"":
                    break
                time.sleep(0.1)
            except TimeoutError:
                continue
        raise GoneError

    def _reset(self) -> None:
        """Close so that the client sees a reset. Always raises."""
        self._handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._handler.connection.close()
        raise GoneError
