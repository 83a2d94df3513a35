"""Requests to the SEC's public interfaces: named, slow enough, bounded, and kept in a cache."""

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from attrs import define, field

from finassay.api.source import NotThereError, SourceError

MAX_BYTES: Final = 96 * 2**20
"""Of one answer, unpacked."""
TRIES: Final = 3
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


@define
class Pace:
    """At most so many requests a second, over all threads."""

    rate: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _next: float = field(init=False, default=0.0)
    _lock: threading.Lock = field(init=False, factory=threading.Lock)

    def wait(self) -> None:
        with self._lock:
            now = self.clock()
            turn = max(now, self._next)
            self._next = turn + 1 / self.rate
        if turn > now:
            self.sleep(turn - now)


@define
class Client:
    """Gets JSON and documents. What was got is kept in `cache`, for `seconds` or for ever; a stale answer serves where the SEC is out of reach."""

    user_agent: str
    cache: Path
    pace: Pace
    hosts: frozenset[str]
    """The only ones that are asked, also after a redirect."""
    timeout: float = 30.0
    _http: Any = field(init=False, default=None)
    _lock: threading.Lock = field(init=False, factory=threading.Lock)

    def json(self, url: str, seconds: float | None) -> Any:
        """Raises `NotThereError`, `SourceError`."""
        data = self.fetch(url, seconds)
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise SourceError(f"edgar: {urlsplit(url).path} is no JSON") from error

    def fetch(self, url: str, seconds: float | None) -> bytes:
        """The body of a page; `seconds` is how old a kept one may be, None any age. Raises `NotThereError`, `SourceError`."""
        file = self.cache / hashlib.sha256(url.encode()).hexdigest()
        kept = self._kept(file)
        if kept is not None and (seconds is None or time.time() - kept < seconds):
            return file.read_bytes()
        try:
            data = self._asked(url)
        except NotThereError:
            raise
        except SourceError:
            if kept is not None:
                return file.read_bytes()
            raise
        self._keep(file, data)
        return data

    def _kept(self, file: Path) -> float | None:
        try:
            return file.stat().st_mtime
        except OSError:
            return None

    def _keep(self, file: Path, data: bytes) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(f"{file.name}.{os.getpid()}.{threading.get_ident()}")
        part.write_bytes(data)
        part.replace(file)

    def _asked(self, url: str) -> bytes:
        problem = ""
        for number in range(TRIES):
            if number:
                self.pace.sleep(2.0**number)
            status, data, problem = self._once(url)
            if status == 200:
                return data
            if status in (404, 410):
                raise NotThereError(f"edgar: there is no {urlsplit(url).path}")
            if status in (401, 403):
                raise SourceError(
                    f"edgar: refused ({status}): the SEC wants a User-Agent with name and address, and at most ten requests a second"
                )
            if 300 <= status < 500 and status != 429:
                break
        raise SourceError(f"edgar: {urlsplit(url).path}: {problem}")

    def _once(self, url: str) -> tuple[int, bytes, str]:
        """(status, body, problem); status 0 where there was no answer."""
        import httpx2

        self.pace.wait()
        try:
            with self._client().stream("GET", url) as answer:
                if answer.is_redirect:
                    return 300, b"", "leads elsewhere"
                body = bytearray()
                for piece in answer.iter_bytes():
                    body += piece
                    if len(body) > MAX_BYTES:
                        return 400, b"", f"more than {MAX_BYTES} bytes"
                return answer.status_code, bytes(body), f"status {answer.status_code}"
        except httpx2.HTTPError as error:
            return 0, b"", f"no answer: {type(error).__name__}"

    def _client(self) -> Any:
        import httpx2

        with self._lock:
            if self._http is None:
                headers = {"User-Agent": self.user_agent, "Accept-Encoding": "gzip, deflate"}
                hooks: Mapping[str, list[Callable[..., Any]]] = {"request": [self._allowed]}
                self._http = httpx2.Client(headers=headers, timeout=self.timeout, follow_redirects=False, event_hooks=hooks, trust_env=True)
            return self._http

    def _allowed(self, request: Any) -> None:
        if request.url.host not in self.hosts:
            raise SourceError(f"edgar: {request.url.host} is not asked")

    def close(self) -> None:
        with self._lock:
            if self._http is not None:
                self._http.close()
                self._http = None
