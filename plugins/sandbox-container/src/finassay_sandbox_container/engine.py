"""A client of a container engine: the few calls of its HTTP API that a sandbox needs, over its Unix socket."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from finassay.api.errors import SandboxError

if TYPE_CHECKING:
    import httpx2

API: Final = "v1.41"
"""Docker 20.10 and Podman 3, and everything newer."""
SECONDS: Final = 60.0
UPGRADE: Final = {"Connection": "Upgrade", "Upgrade": "tcp"}


class Engine:
    """One engine. Usable from several threads; every call raises `SandboxError` with what the engine said."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._client: httpx2.Client | None = None

    @property
    def client(self) -> httpx2.Client:
        if self._client is None:
            import httpx2

            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
            transport = httpx2.HTTPTransport(uds=str(self.path), limits=limits, retries=2)
            self._client = httpx2.Client(transport=transport, base_url=f"http://engine/{API}", timeout=SECONDS, trust_env=False)
        return self._client

    def call(self, method: str, path: str, *, body: Any = None, allow: tuple[int, ...] = (), wait: bool = False, **query: str) -> Any:
        """The decoded answer; None for an empty one or for a status in `allow`. With `wait` it may take as long as it takes."""
        import httpx2

        try:
            timeout = httpx2.Timeout(SECONDS, read=None if wait else SECONDS)
            answer = self.client.request(method, path, json=body, params=query, timeout=timeout)
        except (httpx2.HTTPError, OSError) as error:
            raise SandboxError(f"the container engine at {self.path} does not answer: {error}") from error
        if answer.status_code in allow:
            return None
        if answer.status_code >= 400:
            raise SandboxError(f"the container engine refused {method} {path.split('?')[0]}: {_message(answer.text)}")
        try:
            return answer.json() if answer.content.strip() else None
        except ValueError as error:
            raise SandboxError("the container engine's answer is no JSON") from error

    def version(self) -> Mapping[str, Any]:
        return dict(self.call("GET", "/version") or {})

    def has_image(self, image: str) -> bool:
        return self.call("GET", f"/images/{image}/json", allow=(404,)) is not None

    def create(self, config: Mapping[str, Any]) -> str:
        """Id of a new container, which does not run yet."""
        made = self.call("POST", "/containers/create", body=config)
        if not isinstance(made, Mapping) or not isinstance(made.get("Id"), str):
            raise SandboxError("the container engine made a container without an id")
        return str(made["Id"])

    def start(self, container: str) -> None:
        self.call("POST", f"/containers/{container}/start")

    def wait(self, container: str) -> int:
        """Exit code of its program, once it has ended; 137 where somebody else took the container away."""
        found = self.call("POST", f"/containers/{container}/wait", allow=(404,), wait=True)
        return int(found["StatusCode"]) if isinstance(found, Mapping) and isinstance(found.get("StatusCode"), int) else 137

    def remove(self, container: str) -> None:
        """End and remove it, whatever runs in it. Harmless when it is gone."""
        self.call("DELETE", f"/containers/{container}", allow=(404, 409), force="true", v="true")

    def labelled(self, label: str) -> list[tuple[str, dict[str, str]]]:
        """(id, labels) of every container, running or not, that has a label (`NAME` or `NAME=VALUE`)."""
        found = self.call("GET", "/containers/json", all="true", filters=json.dumps({"label": [label]}))
        return [(str(c["Id"]), dict(c.get("Labels") or {})) for c in found or ()]

    def attach(self, container: str) -> Attached:
        """Its input and output as one connection; made before it starts, so that nothing is missed."""
        import httpx2

        query = {"stream": "1", "stdin": "1", "stdout": "1", "stderr": "1"}
        request = self.client.build_request("POST", f"/containers/{container}/attach", params=query, headers=UPGRADE)
        try:
            answer = self.client.send(request, stream=True)
            if answer.status_code != 101:
                answer.read()
                raise SandboxError(f"the container engine did not attach: {_message(answer.text)}")
        except (httpx2.HTTPError, OSError) as error:
            raise SandboxError(f"the container engine at {self.path} does not attach: {error}") from error
        return Attached(answer)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


class Attached:
    """A connection to a container: raw bytes to it, frames from it."""

    def __init__(self, answer: httpx2.Response) -> None:
        self._answer = answer
        self._stream = answer.extensions["network_stream"]
        self._socket: socket.socket = self._stream.get_extra_info("socket")
        self._socket.settimeout(None)

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; none at the end."""
        import httpx2

        try:
            return bytes(self._stream.read(size))
        except (httpx2.HTTPError, OSError, _core_errors()):
            return b""

    def exactly(self, size: int) -> bytes:
        """`size` bytes, fewer only at the end."""
        found = bytearray()
        while len(found) < size and (part := self.read(size - len(found))):
            found += part
        return bytes(found)

    def write(self, data: bytes) -> None:
        """Raises `OSError`."""
        self._socket.sendall(data)

    def end_input(self) -> None:
        """Tell the container that there is no more. Raises `OSError`."""
        self._socket.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        """End it both ways; whoever reads is released."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def close(self) -> None:
        self._answer.close()


def _core_errors() -> type[Exception]:
    import httpcore2

    return httpcore2.NetworkError


def _message(text: str) -> str:
    try:
        return str(json.loads(text)["message"])[:500]
    except (ValueError, KeyError, TypeError):
        return text[:500]
