"""What can be done at the gateway with a token of one's own."""

import contextlib
import http.client
import json
import os
import socket
import time
from urllib.parse import urlsplit

from finassay_redteam.tools import Way, way

URL, TOKEN = os.environ.get("GATEWAY_URL", ""), os.environ.get("GATEWAY_TOKEN", "")
BODY = json.dumps({"model": "model-a", "max_tokens": 5, "messages": [{"role": "user", "content": "hello"}]}).encode()


def _raw(data: bytes, seconds: float = 3.0, pause: float = 0.0) -> bytes:
    """What the gateway answers to bytes, until it closes or is silent."""
    address = urlsplit(URL)
    told = b""
    with contextlib.suppress(OSError), socket.create_connection((address.hostname, address.port), seconds) as stream:
        stream.settimeout(seconds)
        for first in range(0, len(data), 2**16):
            stream.sendall(data[first : first + 2**16])
            time.sleep(pause)
        while chunk := stream.recv(65536):
            told += chunk
            if b"\r\n\r\n" in told and len(told) > 2**20:
                break
    return told


def _ask(
    path: str, *, token: str = TOKEN, body: bytes = BODY, method: str = "POST", more: str = "", seconds: float = 3.0
) -> tuple[int, bytes]:
    """Status and everything of one request."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: gateway\r\nx-api-key: {token}\r\ncontent-type: application/json\r\nconnection: close\r\n{more}"
    )
    told = _raw(head.encode("latin-1", "replace") + f"content-length: {len(body)}\r\n\r\n".encode() + body, seconds)
    return (int(told.split(b" ", 2)[1]) if told.startswith(b"HTTP/") else 0), told


def _prefix() -> str:
    return urlsplit(URL).path


def _expect_refusal(tried: Way, what: str, answer: tuple[int, bytes]) -> None:
    tried.look(answer[1], "an answer of the gateway")
    tried.notes.append(f"{what}: {answer[0]}")
    if 200 <= answer[0] < 300:
        tried.did(what)


@way("gateway", "gateway-key")
def the_key(tried: Way) -> None:
    """The upstream of the test sends back, in headers and body, whatever it was sent: the key among it."""
    for more in ("", "accept-encoding: gzip\r\n", "x-echo: 1\r\n"):
        status, told = _ask(f"{_prefix()}/v1/messages", more=more)
        tried.look(told, "an answer")
        tried.notes.append(f"{status}")
        if status != 200:
            tried.notes.append(f"an honest call failed: {told[:200]!r}")


@way("gateway", "gateway-tokens")
def tokens(tried: Way) -> None:
    for token in ("", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), TOKEN.swapcase(), "0" * len(TOKEN), "\0", "null", f"{TOKEN}, {TOKEN}"):
        _expect_refusal(tried, f"a token of {len(token)} characters", _ask(f"{_prefix()}/v1/messages", token=token))


@way("gateway", "gateway-upstreams")
def other_upstreams(tried: Way) -> None:
    for name in ("anthropic", "openai", "google", "moonshotai", "", "http:", "127.0.0.1", "other"):
        for path in ("v1/messages", "v1/chat/completions", "v1/models"):
            _expect_refusal(tried, f"upstream {name!r}", _ask(f"/{name}/{path}", method="GET" if path.endswith("models") else "POST"))


@way("gateway", "gateway-models")
def other_models(tried: Way) -> None:
    for body in (
        b'{"model":"model-b","messages":[],"max_tokens":1}',
        b'{"model":"model-a","model":"model-b","messages":[],"max_tokens":1}',
        b'{"model":"model-a","Model":"model-b","messages":[],"max_tokens":1}',
        b'{"messages":[],"max_tokens":1}',
        b'{"model":["model-a","model-b"],"messages":[],"max_tokens":1}',
        b'{"model":"model-a","fallbacks":[{"model":"model-b"}],"messages":[],"max_tokens":1}',
    ):
        _expect_refusal(tried, body.decode()[:60], _ask(f"{_prefix()}/v1/messages", body=body))


@way("gateway", "gateway-paths")
def paths(tried: Way) -> None:
    prefix = _prefix()
    for path in (
        *(
            f"{prefix}/../openai/v1/models",
            f"{prefix}/%2e%2e/admin",
            f"{prefix}/v1/files",
            f"{prefix}/v1/messages/batches",
            f"{prefix}//v1/messages",
        ),
        *(
            "/../../etc/passwd",
            "/%2e%2e/%2e%2e/etc/passwd",
            f"{prefix}/v1/organizations/keys",
            "/channels/x/mcp",
            "/docs",
            "/openapi.json",
            "/metrics",
        ),
        *(f"{prefix}/v1/messages%0d%0aX-Evil:%201", "http://169.254.169.254/latest/meta-data", f"{prefix}@127.0.0.1/v1/messages"),
    ):
        for method in ("GET", "POST", "PUT", "DELETE", "CONNECT", "TRACE"):
            if method in ("GET", "POST") or path.startswith("http"):
                _expect_refusal(tried, f"{method} {path}", _ask(path, method=method))


@way("gateway", "gateway-smuggling")
def smuggling(tried: Way) -> None:
    """Two readers that disagree where a request ends would let a second one pass unseen."""
    inner = b"GET /admin HTTP/1.1\r\nHost: smuggled\r\n\r\n"
    head = f"POST {_prefix()}/v1/messages HTTP/1.1\r\nHost: gateway\r\nx-api-key: {TOKEN}\r\ncontent-type: application/json\r\n".encode()
    for ending in (
        b"content-length: %d\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n%s" % (len(inner) + 5, inner),
        b"transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n" + inner,
        b"transfer-encoding: xchunked\r\ncontent-length: 4\r\n\r\nabcd" + inner,
        b"content-length: 4\r\ncontent-length: 40\r\n\r\nabcd" + inner,
        b"content-length: %d\r\nx-evil: a\r\n b\r\nhost: two\r\n\r\n" % len(BODY) + BODY + inner,
    ):
        tried.look(_raw(head + ending, 0.7), "an answer")


@way("gateway", "gateway-bodies")
def bodies(tried: Way) -> None:
    _expect_refusal(
        tried,
        "a body of 5 megabytes",
        _ask(f"{_prefix()}/v1/messages", body=b'{"model":"model-a","x":"' + b"x" * (5 * 2**20) + b'"}', seconds=10),
    )
    for body in (b"[" * 100_000, b"\xff\xfe", b"", b"{}" * 10, b'{"model":' + b"1" * 10_000 + b"}"):
        _expect_refusal(tried, f"a body that begins {body[:10]!r}", _ask(f"{_prefix()}/v1/messages", body=body))


class _Channel:
    """A client of the session's data channel, as far as it is needed."""

    def __init__(self) -> None:
        self.headers = {
            **json.loads(os.environ["CHANNEL_HEADERS"]),
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
        }
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "red-team", "version": "1"}}
        self.ask("initialize", hello)
        self.ask("notifications/initialized", None)

    def ask(self, method: str, given: object, *, path: str = "", headers: dict[str, str] | None = None) -> str:
        """Everything that comes back."""
        address = urlsplit(os.environ["CHANNEL_URL"])
        body = {"jsonrpc": "2.0", "method": method, **({"id": 1} if given is not None else {}), **({"params": given} if given else {})}
        link = http.client.HTTPConnection(str(address.hostname), address.port, timeout=20)
        link.request("POST", path or address.path, json.dumps(body).encode(), self.headers if headers is None else headers)
        answer = link.getresponse()
        if session := answer.headers.get("mcp-session-id"):
            self.headers["mcp-session-id"] = session
        text = answer.read(2**22).decode("utf-8", "replace")
        link.close()
        return f"{answer.status} {text}"

    def call(self, tool: str, **given: object) -> str:
        return self.ask("tools/call", {"name": tool, "arguments": given})


LATE = "424242"
"""A price of a day after the cutoff, as the test planted it."""


@way("channel", "channel-cutoff")
def after_the_cutoff(tried: Way) -> None:
    channel = _Channel()
    honest = channel.call("get_prices", tickers=["AAA"], start="2019-12-01", end="2019-12-31")
    if "101.5" not in honest:
        tried.notes.append(f"an honest call failed: {honest[:300]}")
        tried.did("no price came at all, so that this shows nothing")
    for given in (
        {"tickers": ["AAA"], "end": "2099-01-01"},
        {"tickers": ["AAA"], "start": "2020-01-02", "end": "2020-12-31"},
        {"tickers": ["AAA"], "start": "2019-12-01", "end": "2020-12-31", "frequency": "monthly"},
        {"tickers": ["AAA"], "end": "2099-01-01", "page": 2},
        {"tickers": ["AAA"], "cutoff": "2099-01-01"},
        {"tickers": ["BBB"]},
    ):
        told = channel.call("get_prices", **given)
        tried.look(told, "an answer of the channel")
        if LATE in told:
            tried.did(f"a price after the cutoff by {given}")


@way("channel", "channel-files")
def files_of_the_server(tried: Way) -> None:
    channel = _Channel()
    for name in (
        "../notes",
        "notes.txt",
        "/etc/passwd",
        "../../etc/passwd",
        "%2e%2e/notes",
        "\0",
        "*",
        "AAA.csv",
        "${PATH}",
        "$(id)",
        "'; SELECT 1",
    ):
        for tool in ("get_prices", "list_tickers", "describe", "get_index"):
            told = channel.call(
                tool, **({"tickers": [name]} if tool == "get_prices" else {"search": name} if tool == "list_tickers" else {})
            )
            tried.look(told, f"{tool} {name}")
            if "root:x:" in told or "uid=" in told:
                tried.did(f"{tool} {name} read a file")


@way("channel", "channel-misuse")
def methods_of_the_server(tried: Way) -> None:
    channel = _Channel()
    for method, given in (
        ("resources/list", {}),
        ("resources/read", {"uri": "file:///etc/passwd"}),
        ("prompts/list", {}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": "b"}}),
        ("logging/setLevel", {"level": "debug"}),
        ("tools/call", {"name": "execute", "arguments": {"code": "open('/etc/passwd').read()"}}),
        ("tools/call", {"name": "get_prices", "arguments": {"tickers": ["x" * 10_000] * 100}}),
        ("tools/call", {"name": "get_prices", "arguments": {"tickers": [{"$ref": "file:///etc/passwd"}]}}),
        ("roots/list", {}),
        ("sampling/createMessage", {"messages": [], "maxTokens": 5}),
    ):
        told = channel.ask(method, given)
        tried.look(told, method)
        if "root:x:" in told:
            tried.did(f"{method} read a file")
    strange = {k: v for k, v in channel.headers.items() if TOKEN not in v}
    for what, path, headers in (
        ("without a token", "", strange),
        ("another channel", "/channels/embedded-market/mcp", None),
        ("no channel", "/channels/../mcp", None),
    ):
        told = channel.ask("tools/list", {}, path=path, headers=headers)
        tried.look(told, what)
        if told.startswith("2"):
            tried.did(f"the channel answers {what}")


@way("gateway", "gateway-slow")
def slow(tried: Way) -> None:
    """Connections that say little for long must keep nobody else waiting."""
    address = urlsplit(URL)
    held = []
    for _ in range(100):
        with contextlib.suppress(OSError):
            stream = socket.create_connection((address.hostname, address.port), 2)
            stream.sendall(b"POST / HTTP/1.1\r\nHost: x\r\ncontent-length: 1000\r\n")
            held.append(stream)
    started = time.monotonic()
    status, _ = _ask(f"{_prefix()}/v1/messages", seconds=10)
    if status != 200 or time.monotonic() - started > 5:
        tried.did(f"{len(held)} slow connections kept an honest call from its answer: {status}, {time.monotonic() - started:.1f} s")
    for stream in held:
        stream.close()
