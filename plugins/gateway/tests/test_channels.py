"""Channels: MCP servers that the gateway runs or reaches, seen by an agent's program through the official SDK."""

import asyncio
import hashlib
import json
import sys
import threading
import time
from pathlib import Path

import httpx2
import pytest
import uvicorn
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

from finassay.api.channel import ChannelSpec, ServerSpec
from finassay.api.errors import ProviderError
from finassay.api.gateway import GatewaySpec

HERE = Path(__file__).parent
SERVER = str(HERE / "plain_server.py")
SECRET = "pk-secret-0a1b2c3d4e5f"


@pytest.fixture
def secret(monkeypatch):
    monkeypatch.setenv("PRICE_KEY", SECRET)
    monkeypatch.setenv("SOMETHING_ELSE", "of the harness")


def stdio(how="well", program=SERVER, **more):
    more = {"secrets": ("PRICE_KEY",), "start_seconds": 30.0, **more}
    return ChannelSpec("prices", "Prices.", frozenset({"prices"}), server=ServerSpec(command=(sys.executable, program, how), **more))


def use(session, *calls, mode="legacy", which=0):
    """What `list` and calls of tools answer, as an agent's program asks."""

    async def work():
        server, results = session.access.servers[which], []
        transport = httpx2.AsyncHTTPTransport(verify=False)
        async with (
            httpx2.AsyncClient(headers=dict(server.headers), transport=transport, timeout=30) as http,
            Client(streamable_http_client(server.url, http_client=http), mode=mode, cache=None) as client,
        ):
            for call in calls:
                try:
                    if call == "list":
                        results.append(sorted(tool.name for tool in (await client.list_tools()).tools))
                    else:
                        results.append(await client.call_tool(*call))
                except MCPError as error:
                    results.append(error)
        return results

    return asyncio.run(work())


def alive(pid):
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def value(result):
    return result.content[0].text


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_server_on_stdin_and_stdout(house, secret, mode):
    told, session = house.open(house.gateway(), channels=(stdio(program=str(HERE / "stdio_server.py")),))
    server = session.access.servers[0]
    assert (server.name, server.headers) == ("prices", {"Authorization": f"Bearer {session.access.token}"})
    tools, price, variables = use(session, "list", ("get_price", {"ticker": "AAA"}), ("environment", {}), mode=mode)
    assert tools == ["environment", "get_price"]
    assert price.structured_content == {"AAA": 12.5}
    names, _, key = value(variables).partition(" key=")
    assert set(names.split()) - {"LC_CTYPE"} == {"FINASSAY_SERVER", "HOME", "LANG", "PATH", "PRICE_KEY"}
    assert key == "[key]"  # the server has it, and telling it helps nobody
    calls = told.wait(2)
    asked = json.dumps({"name": "get_price", "arguments": {"ticker": "AAA"}}, sort_keys=True).encode()
    assert (calls[0].kind, calls[0].to, calls[0].what, calls[0].status) == ("channel", "prices", "get_price", 200)
    assert calls[0].digest == hashlib.sha256(asked).hexdigest()
    assert len(calls[0].answer) == 64
    assert not calls[0].cut
    assert SECRET not in repr(calls)


def test_one_process_a_session_and_none_after_it(house, secret):
    gateway = house.gateway()
    (_, one), (_, two) = house.open(gateway, channels=(stdio(),)), house.open(gateway, channels=(stdio(),))
    pids = [int(value(result)) for session in (one, one, two) for result in use(session, ("pid", {}))]
    assert pids[0] == pids[1] != pids[2]
    child = int(value(use(one, ("leave_child", {}))[0]))
    home = Path(f"/proc/{pids[0]}/environ").read_bytes().split(b"HOME=")[1].split(b"\0")[0].decode()
    assert Path(home).is_dir()
    assert alive(child)
    one.close()
    assert not alive(pids[0])
    assert not alive(child)
    assert not Path(home).exists()
    assert alive(pids[2])
    gateway.close()
    assert not alive(pids[2])


def test_only_the_tools_that_are_allowed(house, secret):
    told, session = house.open(house.gateway(), channels=(stdio(tools=("get_price", "nothing")),))
    tools, refused, passed = use(session, "list", ("pid", {}), ("get_price", {"ticker": "A"}))
    assert tools == ["get_price"]
    assert "Unknown tool" in str(refused)
    assert not passed.is_error
    assert [(call.what, call.refused) for call in told.wait(2)] == [("pid", "tool"), ("get_price", "")]


@pytest.mark.parametrize(("how", "seconds", "words"), [("breaks", 20.0, "no licence for [key]"), ("silent", 1.0, "within 1 s")])
def test_a_server_that_does_not_start(house, secret, how, seconds, words):
    began = time.monotonic()
    with pytest.raises(ProviderError, match="channel 'prices'") as caught:
        house.open(house.gateway(), channels=(stdio(how, start_seconds=seconds),))
    assert words in str(caught.value)
    assert SECRET not in str(caught.value)
    assert time.monotonic() - began < 15
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if SERVER.encode() in _read(p) and how.encode() in _read(p)]


def _read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_server_of_an_old_version_without_any_library(house, secret):
    """Its tools come in pages, and it prints what is no message."""
    told, session = house.open(house.gateway(), channels=(stdio(),))
    tools, price = use(session, "list", ("get_price", {"ticker": "A"}))
    assert tools == ["die", "environment", "get_price", "leave_child", "long_line", "pid", "slow"]
    assert json.loads(value(price)) == {"A": 12.5}
    assert len(told.wait(1)) == 1


def test_a_server_that_does_not_want_to_end(house, secret):
    _, session = house.open(house.gateway(), channels=(stdio("stubborn"),))
    pid = int(value(use(session, ("pid", {}))[0]))
    began = time.monotonic()
    session.close()
    assert time.monotonic() - began < 6
    assert not alive(pid)


def test_a_line_without_end_is_not_kept(house, secret):
    _, session = house.open(house.gateway(), channels=(stdio(),), stall_seconds=20.0)
    ended, after = use(session, ("long_line", {}), ("pid", {}))
    assert isinstance(ended, MCPError)
    assert int(value(after))


def test_a_server_that_dies_is_started_again(house, secret, monkeypatch):
    monkeypatch.setattr("finassay_gateway.channels.MAX_STARTS", 3)
    told, session = house.open(house.gateway(), channels=(stdio(),))
    first, died, second = use(session, ("pid", {}), ("die", {}), ("pid", {}))
    assert isinstance(died, MCPError)
    assert value(first) != value(second)
    assert [(call.what, call.cut) for call in told.wait(3)] == [("pid", False), ("die", True), ("pid", False)]
    for _ in range(3):
        last = use(session, ("die", {}))[0]
    assert "has ended" in str(last)  # not for ever


def test_a_call_that_takes_too_long(house, secret, tmp_path):
    told, session = house.open(house.gateway(), channels=(stdio(),), stall_seconds=1.0)
    began = time.monotonic()
    late = use(session, ("slow", {"seconds": 20.0, "begun": str(tmp_path / "begun")}))[0]
    assert time.monotonic() - began < 10
    assert isinstance(late, MCPError)
    assert told.wait(1)[0].cut


def test_a_call_in_flight_is_broken_off_and_told(house, secret, tmp_path):
    told, session = house.open(house.gateway(), channels=(stdio(),))
    outcome, begun = [], tmp_path / "begun"
    thread = threading.Thread(target=lambda: outcome.append(use(session, ("slow", {"seconds": 30.0, "begun": str(begun)}))))
    thread.start()
    while not begun.exists():
        time.sleep(0.02)
    assert not told
    began = time.monotonic()
    session.settle()
    assert time.monotonic() - began < 3
    assert told[0].cut
    session.close()
    thread.join(30)
    assert not thread.is_alive()


class Remote:
    """An MCP server over HTTP on loopback that wants a key."""

    def __init__(self):
        server = MCPServer("remote")
        self.asked = []

        @server.tool()
        def echo(text: str) -> str:
            """Says what it was told, and its key."""
            return f"{text} {SECRET}"

        app = server.streamable_http_app()

        async def guarded(scope, receive, send):
            if scope["type"] == "http":
                headers = dict(scope["headers"])
                self.asked.append(
                    (scope["query_string"].decode(), headers.get(b"x-price-key", b"").decode(), headers.get(b"authorization", b""))
                )
            await app(scope, receive, send)

        config = uvicorn.Config(
            guarded, host="127.0.0.1", port=0, log_config=None, log_level="critical", ws="none", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run)

    def __enter__(self):
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        self.url = f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}/mcp"
        return self

    def __exit__(self, *how):
        self._server.should_exit = True
        self._thread.join(10)


def test_a_server_over_http(house, secret):
    with Remote() as remote:
        spec = ServerSpec(url=remote.url + "?apikey=${PRICE_KEY}", headers={"X-Price-Key": "key ${PRICE_KEY}"}, secrets=("PRICE_KEY",))
        told, session = house.open(house.gateway(), channels=(ChannelSpec("remote", "x", frozenset(), server=spec),))
        tools, said = use(session, "list", ("echo", {"text": "hello"}))
        session.close()
    assert tools == ["echo"]
    assert value(said) == "hello [key]"
    assert {(query, header) for query, header, _ in remote.asked} == {(f"apikey={SECRET}", f"key {SECRET}")}
    assert not [sent for _, _, sent in remote.asked if sent]  # the session's token stays here
    assert SECRET not in repr(told.wait(1))
    assert SECRET not in repr(session.access)


def test_a_server_over_http_that_is_not_there(house, secret):
    spec = ServerSpec(url="http://127.0.0.1:9/mcp?apikey=${PRICE_KEY}", secrets=("PRICE_KEY",), start_seconds=5.0)
    with pytest.raises(ProviderError, match="channel 'remote'") as caught:
        house.open(house.gateway(), channels=(ChannelSpec("remote", "x", frozenset(), server=spec),))
    assert SECRET not in f"{caught.value} {caught.value.__cause__}"


def test_channels_need_their_sessions_token(house, secret):
    gateway = house.gateway()
    (_, one), (_, two) = house.open(gateway, channels=(stdio(),)), house.open(gateway)
    url = one.access.servers[0].url
    with httpx2.Client(transport=httpx2.HTTPTransport(verify=False)) as http:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        accept = {"accept": "application/json, text/event-stream"}
        assert http.post(url, json=body, headers=accept).status_code == 401
        assert http.post(url, json=body, headers={**accept, "authorization": f"Bearer {two.access.token}"}).status_code == 404
        mine = {**accept, "authorization": f"Bearer {one.access.token}"}
        assert http.get(url, headers=mine).status_code == 405
        assert http.post(url, content=b" " * (5 * 2**20), headers=mine).status_code == 413
        assert http.post(url, content=b"{", headers=mine).status_code == 400


def test_what_stands_against_a_channel(house, monkeypatch):
    monkeypatch.delenv("PRICE_KEY", raising=False)
    gateway = house.gateway()

    def problems(id="a", **server):
        return gateway.problems((), (ChannelSpec(id, "x", frozenset(), server=ServerSpec(**server)),))

    assert "PRICE_KEY is not set" in problems(command=(sys.executable,), secrets=("PRICE_KEY",))[0]
    assert "'no-such-program' was not found" in problems(command=("no-such-program",))[0]
    assert "and not both" in problems(command=(sys.executable,), url="http://127.0.0.1")[0]
    assert "and not both" in problems()[0]
    assert "${OTHER}" in problems(url="http://127.0.0.1/?k=${OTHER}")[0]
    assert "no http or https" in problems(url="file:///etc/passwd")[0]
    assert "no name" in problems("a/b", command=(sys.executable,))[0]
    assert not problems(command=(sys.executable,))
    spec = ChannelSpec("a", "x", frozenset(), server=ServerSpec(command=(sys.executable,)))
    assert "twice" in gateway.problems((), (spec, spec))[0]
    assert not gateway.problems((), (ChannelSpec("plain", "x", frozenset()),))


def test_a_channels_secret_is_masked_wherever_text_is_stored(house, secret, monkeypatch):
    gateway = house.gateway()
    assert SECRET not in gateway.secrets()
    gateway.problems((), (stdio(),))
    assert SECRET in gateway.secrets()
    monkeypatch.delenv("PRICE_KEY")
    with pytest.raises(ProviderError, match="not set"):
        gateway.open(GatewaySpec("s", channels=(stdio(),)))
