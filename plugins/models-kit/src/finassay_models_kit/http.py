"""The HTTP client that the vendors' SDKs are given. Imported when a client is made, not before."""

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx2

MAX_BYTES = 64 * 2**20
"""What an answer may weigh. The longest are a few megabytes; whoever sends more does not mean to end."""


class ClockedStream(httpx2.SyncByteStream):
    """A response's body that ends with `ReadTimeout` when its time is up, and with `ReadError` when it is too large.

    The time-out of the HTTP library is for one read; a server that sends a byte, or a ping, now and then would never run into it.
    """

    def __init__(self, inner: Any, end: float, request: httpx2.Request) -> None:
        self._inner = inner
        self._end = end
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for data in self._inner:
            yield data
            size += len(data)
            if size > MAX_BYTES:
                raise httpx2.ReadError("the answer does not end", request=self._request)
            if time.monotonic() > self._end:
                raise httpx2.ReadTimeout("the time of this try is up", request=self._request)

    def close(self) -> None:
        self._inner.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class ClockedClient(httpx2.Client):
    """A client whose read time-out holds for the whole answer as well: one try ends after twice that at the latest."""

    def send(self, request: httpx2.Request, *, stream: bool = False, **kwargs: Any) -> httpx2.Response:
        seconds = dict(request.extensions.get("timeout") or {}).get("read")
        end = time.monotonic() + seconds if seconds is not None else float("inf")
        response = super().send(request, stream=True, **kwargs)
        response.stream = ClockedStream(response.stream, end, request)
        if not stream:
            try:
                response.read()
            except BaseException:
                response.close()
                raise
        return response


def http_client(base_url: str) -> httpx2.Client:
    """A client for one provider.

    It follows no redirect, which would take the key elsewhere, and keeps no connection open between calls, which may be minutes apart. A proxy
    of the environment is used, except for this machine itself.
    """
    address = urlsplit(base_url)
    host = address.hostname or ""
    local = host in ("localhost", "::1") or host.startswith("127.")
    return ClockedClient(
        limits=httpx2.Limits(max_keepalive_connections=0),
        follow_redirects=False,
        trust_env=not local,
        verify=address.scheme != "http",  # without TLS there is nothing to verify, and loading certificates takes a quarter of a second
    )
