"""Web pages, opened from addresses that a model's search gave: hostile addresses, hostile answers, so everything is bounded and checked."""

import ipaddress
import socket
import time
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from attrs import define, frozen

from finassay.api.source import Page

MAX_BYTES: Final = 8 * 2**20
"""Of one page, unpacked."""
MAX_REDIRECTS: Final = 5
MAX_ADDRESSES: Final = 3
PORTS: Final = (80, 443)
TYPES: Final = ("text/html", "application/xhtml+xml", "text/plain")
HEADERS: Final = {
    "User-Agent": "finassay-source-web (opens pages that a search cites)",
    "Accept": "text/html, application/xhtml+xml, text/plain",
    "Accept-Encoding": "gzip, deflate",
}


class UnopenedError(Exception):
    """Why a page was not taken, in words."""


@frozen
class WebPage:
    """A page as it was read. `url` is where redirects led."""

    url: str
    pages: tuple[Page, ...]
    title: str
    published: date | None
    modified: date | None
    available: date | None
    """From when it may be read as it is now; None for a page that tells no day of publication."""


def public(address: str, port: int) -> bool:
    """Whether a server may be asked: on the public internet, at a port of the web. What leads to another network through an address is not."""
    if port not in PORTS:
        return False
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return public(str(ip.ipv4_mapped), port)
        if ip.sixtofour is not None or ip.teredo is not None or ip in ipaddress.ip_network("64:ff9b::/96"):
            return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def addresses(host: str, port: int) -> Sequence[str]:
    """The addresses of a host. Raises `OSError`."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]).split("%")[0] for entry in found]


@define
class Opener:
    """Opens pages. `allowed` says which servers, by address and port; every redirect is asked about again. No cookies, no proxy, no credentials."""

    seconds: float = 20.0
    """For one page in all, redirects included."""
    domains: Sequence[str] = ()
    """Only these and what is below them; empty is everything."""
    allowed: Callable[[str, int], bool] = public
    resolve: Callable[[str, int], Sequence[str]] = addresses
    clock: Callable[[], float] = time.monotonic

    def open(self, url: str) -> WebPage:
        """Raises `UnopenedError`."""
        until = self.clock() + self.seconds
        for _ in range(MAX_REDIRECTS + 1):
            status, headers, body = self._get(url, until)
            if status in (301, 302, 303, 307, 308) and headers.get("location"):
                url = urljoin(url, headers["location"][:2_000])
                continue
            if status != 200:
                raise UnopenedError(f"status {status}")
            return _read(url, headers.get("content-type", ""), body)
        raise UnopenedError(f"leads on more than {MAX_REDIRECTS} times")

    def _get(self, url: str, until: float) -> tuple[int, dict[str, str], bytes]:
        host, port, addresses = self._server(url)
        for place, address in enumerate(addresses):
            try:
                return self._ask(url, host, port, address, until)
            except UnopenedError as error:
                if place + 1 == len(addresses) or "ConnectError" not in str(error):
                    raise
        raise UnopenedError("no answer")

    def _ask(self, url: str, host: str, port: int, address: str, until: float) -> tuple[int, dict[str, str], bytes]:
        import httpx2

        target = httpx2.URL(url).copy_with(host=address, fragment=None)
        # The connection goes to the address that was checked, whatever the name says a moment later; the name is kept for TLS and the server.
        extensions = {"sni_hostname": host}
        named = host if port == (443 if target.scheme == "https" else 80) else f"{host}:{port}"
        left = until - self.clock()
        if left <= 0:
            raise UnopenedError(f"took longer than {self.seconds:g} s")
        try:
            with (
                httpx2.Client(timeout=min(10.0, left), follow_redirects=False, trust_env=False) as client,
                client.stream("GET", target, headers={**HEADERS, "Host": named}, extensions=extensions) as answer,
            ):
                if answer.is_redirect or answer.status_code != 200:
                    return answer.status_code, _lower(answer.headers), b""
                _typed(answer.headers.get("content-type", ""))
                body = bytearray()
                for piece in answer.iter_bytes(65_536):
                    body += piece
                    if len(body) > MAX_BYTES:
                        raise UnopenedError(f"more than {MAX_BYTES} bytes")
                    if self.clock() > until:
                        raise UnopenedError(f"took longer than {self.seconds:g} s")
                return answer.status_code, _lower(answer.headers), bytes(body)
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise UnopenedError(f"no answer: {type(error).__name__}") from error

    def _server(self, url: str) -> tuple[str, int, list[str]]:
        """Host, port and the addresses to connect to. Every address of the host must be one that may be asked."""
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
            host = (parts.hostname or "").encode("idna").decode("ascii")
        except (ValueError, UnicodeError) as error:
            raise UnopenedError("no address") from error
        if parts.scheme not in ("http", "https") or not host or parts.username is not None or len(url) > 2_000:
            raise UnopenedError("no address of the web")
        if self.domains and not any(
            host == domain or host.endswith(f".{domain}") for domain in (d.lower().strip(".") for d in self.domains)
        ):
            raise UnopenedError(f"{host} is not among the domains")
        try:
            found = self.resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise UnopenedError(f"{host} is not known") from error
        if not found or not all(self.allowed(address, port) for address in found):
            raise UnopenedError(f"{host} is not on the public web")
        return host, port, list(dict.fromkeys(found))[:MAX_ADDRESSES]


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _typed(kind: str) -> None:
    if kind.split(";")[0].strip().lower() not in TYPES:
        raise UnopenedError(f"is no page of text: {kind[:60] or 'no type'}")


def _read(url: str, kind: str, data: bytes) -> WebPage:
    from finassay_source_corpus.html import pages_of_html
    from finassay_source_corpus.text import UnreadableError, pages_of_text
    from finassay_source_web.dates import Told, told_by

    plain = kind.split(";")[0].strip().lower() == "text/plain"
    try:
        raw = pages_of_text(data) if plain else pages_of_html(data)
    except UnreadableError as error:
        raise UnopenedError(str(error)) from error
    told = Told() if plain else told_by(data)
    pages = tuple(Page(page.number, page.text, _digest(page.text)) for page in raw if page.text.strip())
    if not pages:
        raise UnopenedError("holds no text")
    return WebPage(url, pages, "" if plain else _title(data), told.published, told.modified, told.available)


def _title(data: bytes) -> str:
    from lxml import etree

    try:
        root = etree.fromstring(data[:200_000], etree.HTMLParser(no_network=True, huge_tree=False))
        found = root.find(".//title") if root is not None else None
    except (etree.XMLSyntaxError, ValueError):
        return ""
    return " ".join((found.text or "").split())[:300] if found is not None else ""


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
