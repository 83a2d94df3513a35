"""The server itself: where it listens, how it begins and ends, many sessions, programs that mean it ill."""

import contextlib
import socket
import stat
import threading
import time
from pathlib import Path

import httpx2
import pytest

from finassay.api.errors import ProviderError, SandboxError
from finassay.api.gateway import Gateway, GatewaySpec
from finassay_gateway import server as server_module
from finassay_gateway.gateway import StandardGateway
from finassay_gateway.options import GatewayOptions
from finassay_models_kit.testing import Served


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "finassay-gateway"]


def connect(session):
    raw = socket.socket(socket.AF_UNIX)
    for _ in range(500):
        try:
            raw.connect(str(session.services[0].socket))
        except BlockingIOError:  # more are waiting to be accepted than may
            time.sleep(0.01)
        else:
            raw.settimeout(15)
            return raw
    raw.close()
    raise AssertionError("no connection is accepted")


def test_it_starts_with_the_first_session_and_ends_with_close(house):
    gateway = house.gateway(upstreams={"mine": {"url": "http://127.0.0.1:9", "format": "openai", "key": ""}})
    assert isinstance(gateway, Gateway)
    assert not gateway.problems(("mine",), ())
    assert not threads()
    _, session = house.open(gateway, upstreams=("mine",))
    assert len(threads()) == 1
    path = session.services[0].socket
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]
    assert session.access.urls == {"mine": f"http://127.0.0.1:{session.services[0].port}/mine"}
    gateway.close()
    assert not threads()
    assert not path.parent.parent.exists()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", session.services[0].port), 2)
    gateway.close()
    _, again = house.open(gateway, upstreams=("mine",))  # it may begin anew
    assert again.access.token != session.access.token


def test_it_listens_on_loopback_only(house):
    _, session = house.open(house.gateway())
    port = session.services[0].port
    assert listening_at(port) == {"0100007F"}  # 127.0.0.1, as the kernel writes it


def listening_at(port):
    """Addresses on which anybody listens at a port, as /proc/net tells them."""
    found = set()
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            address, _, at = local.partition(":")
            if state == "0A" and int(at, 16) == port:
                found.add(address)
    return found


def test_problems_before_anything_is_spent(house, monkeypatch):
    gateway = house.gateway()
    assert gateway.problems(("anthropic", "openai", "google", "moonshotai"), ()) == []
    monkeypatch.delenv("OPENAI_API_KEY")
    gateway = house.gateway()
    found = gateway.problems(("openai", "nobody", "openai"), ())
    assert len(found) == 2
    assert "OPENAI_API_KEY is not set" in found[0]
    assert "'nobody'" in found[1]
    with pytest.raises(ProviderError, match="OPENAI_API_KEY"):
        gateway.open(GatewaySpec("s", upstreams=("openai",)))
    assert not threads()


def test_secrets_are_the_keys(house, keys, monkeypatch):
    assert set(house.gateway().secrets()) == set(keys.values())
    monkeypatch.setenv("MY_KEY", "my-own-key-0123")
    gateway = house.gateway(upstreams={"mine": {"url": "http://127.0.0.1:9", "format": "google", "key": ["NO_KEY", "MY_KEY"]}})
    assert "my-own-key-0123" in gateway.secrets()


@pytest.mark.parametrize(
    "upstreams",
    [{"x": {"url": "http://a"}}, {"x": {"format": "openai"}}, {"channels": {"url": "http://a", "format": "openai"}}, {"x/y": {"url": "http://a", "format": "openai"}},
     {"x": {"url": "ftp://a", "format": "openai"}}, {"x": {"url": "http://u:p@a", "format": "openai"}}, {"x": {"url": "http://a?b", "format": "openai"}}],
)  # fmt: skip
def test_options_that_make_no_sense(upstreams):
    with pytest.raises(ValueError, match="upstreams"):
        GatewayOptions(upstreams=upstreams)


def test_no_place_for_a_socket(house, monkeypatch):
    monkeypatch.setattr(server_module, "_LONGEST_PATH", 10)
    with pytest.raises(SandboxError, match="short enough"):
        house.open(house.gateway())
    assert not threads()


def test_a_temporary_folder_with_a_long_path(house, tmp_path, monkeypatch):
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    _, session = house.open(house.gateway())
    assert not session.services[0].socket.is_relative_to(deep)
    connect(session).close()


def test_what_a_killed_harness_left_is_taken_away(house, monkeypatch):
    import os
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp") as parent:
        monkeypatch.setattr("tempfile.tempdir", parent)
        _, session = house.open(house.gateway())
        live = session.services[0].socket
        made = {}
        for name in ("dead", "young", "heard"):
            folder = Path(parent) / f"finassay-gateway-{name}"
            (folder / "1").mkdir(parents=True)
            made[name] = socket.socket(socket.AF_UNIX)
            made[name].bind(str(folder / "1" / "gateway.sock"))
            if name != "young":
                os.utime(folder / "1" / "gateway.sock", (1e9, 1e9))
        made["heard"].listen(1)
        os.utime(live, (1e9, 1e9))
        (Path(parent) / "finassay-gateway-empty").mkdir()
        house.open(house.gateway())
        left = {path.name for path in Path(parent).iterdir()}
        assert {"finassay-gateway-young", "finassay-gateway-heard", "finassay-gateway-empty", live.parent.parent.name} <= left
        assert "finassay-gateway-dead" not in left
        for one in made.values():
            one.close()
        house.close()


def test_a_hundred_sessions(house, wire):
    """Each with calls of its own, at once; nobody sees another one's, and nothing stays."""
    server = house.upstream(lambda asked: Served(events=wire.messages(asked.body["model"])))
    gateway = house.gateway(upstreams={"anthropic": {"url": server.url}})
    opened = [house.open(gateway, session=f"s{n}", upstreams=("anthropic",), models=(f"m{n}",)) for n in range(100)]
    assert len({session.access.token for _, session in opened}) == 100
    assert len({session.services[0].socket for _, session in opened}) == 100
    wrong = []

    def play(numbers):
        for n in numbers:
            _, session = opened[n]
            transport = httpx2.HTTPTransport(uds=str(session.services[0].socket), verify=False)
            with httpx2.Client(transport=transport, timeout=30, trust_env=False) as http:
                url, headers = session.access.urls["anthropic"] + "/v1/messages", {"x-api-key": session.access.token}
                for _ in range(3):
                    got = http.post(url, json={"model": f"m{n}"}, headers=headers)
                    if f'"m{n}"' not in got.text:
                        wrong.append(got.text)
                if http.post(url, json={"model": f"m{n + 1}"}, headers=headers).status_code != 403:
                    wrong.append("another one's model")

    players = [threading.Thread(target=play, args=(range(start, 100, 8),)) for start in range(8)]
    for player in players:
        player.start()
    for player in players:
        player.join(120)
    assert not wrong
    for n, (told, session) in enumerate(opened):
        session.settle()
        assert [call.what for call in told] == [f"m{n}"] * 3 + [f"m{n + 1}"]
        assert sum(call.usage.output_tokens or 0 for call in told) == 3 * 55
        session.close()
    assert not list(opened[0][1].services[0].socket.parent.parent.iterdir())


def test_connections_of_a_session_are_bounded_and_others_do_not_suffer(house, wire, monkeypatch):
    monkeypatch.setattr(server_module, "MAX_CONNECTIONS", 20)
    server = house.upstream([Served(events=wire.messages())])
    gateway = house.gateway(upstreams={"anthropic": {"url": server.url}})
    (_, bad), (_, good) = house.open(gateway, upstreams=("anthropic",)), house.open(gateway, upstreams=("anthropic",))
    held = []
    try:
        for _ in range(60):
            held.append(connect(bad))  # noqa: PERF401 - those that were made are closed in any case
        ended = 0
        for raw in held:
            raw.settimeout(0.2)
            try:
                ended += raw.recv(1) == b""
            except TimeoutError:
                pass
            except ConnectionError:
                ended += 1
        assert ended == 40
        with connect(good) as raw:
            raw.sendall(b"HEAD /anthropic/ HTTP/1.1\r\nHost: x\r\n\r\n")
            assert raw.recv(100).startswith(b"HTTP/1.1 200 ")
    finally:
        for raw in held:
            raw.close()
    time.sleep(0.2)
    with connect(bad) as raw:  # there is room again
        raw.sendall(b"HEAD /anthropic/ HTTP/1.1\r\nHost: x\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 200 ")


def test_who_connects_and_says_nothing_is_hung_up_on(house, monkeypatch):
    monkeypatch.setattr(server_module, "HEAD_SECONDS", 0.3)
    _, session = house.open(house.gateway())
    with connect(session) as raw:
        raw.sendall(b"POST /anthropic HTTP/1.1\r\n")
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            assert raw.recv(10) == b""
        assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "junk", [b"\0" * 200_000, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 40_000, b"GET " + b"a" * 300_000, b"\x16\x03\x01\x02\x00\x01\x00"]
)
def test_what_is_no_request(house, wire, junk):
    session, _, _ = house.session("anthropic", [Served(events=wire.messages())])
    with connect(session) as raw:
        try:
            raw.sendall(junk)
            raw.shutdown(socket.SHUT_WR)
            while raw.recv(65536):
                pass
        except OSError:
            pass
    with connect(session) as raw:
        raw.sendall(b"HEAD /anthropic/ HTTP/1.1\r\nHost: x\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 200 ")


def test_a_gateway_that_nobody_closed_does_not_hold_up_the_program():
    import subprocess
    import sys

    code = (
        "from finassay_gateway.gateway import StandardGateway\nfrom finassay_gateway.options import GatewayOptions\n"
        "from finassay.api.gateway import GatewaySpec\n"
        "s = StandardGateway(GatewayOptions()).open(GatewaySpec('s'))\nprint(s.services[0].socket)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert not Path(done.stdout.strip()).exists()


LOUD = """
import logging, os, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
import httpx2
from finassay.api.channel import ChannelSpec, ServerSpec
from finassay.api.gateway import GatewaySpec
from finassay_gateway.gateway import StandardGateway
from finassay_gateway.options import GatewayOptions
from finassay_models_kit.testing import Served, loopback

key = os.environ["ANTHROPIC_API_KEY"]
with loopback([Served(200, {"type": "message"}, {"X-Key": key})]) as server:
    spec = ServerSpec(url=server.url + "/mcp?apikey=${ANTHROPIC_API_KEY}", secrets=("ANTHROPIC_API_KEY",), start_seconds=5.0)
    gateway = StandardGateway(GatewayOptions(upstreams={"anthropic": {"url": server.url}}))
    session = gateway.open(GatewaySpec("s", upstreams=("anthropic",)))
    with httpx2.Client(trust_env=False, verify=False) as http:
        http.post(session.access.urls["anthropic"] + "/v1/messages", json={"model": "t"}, headers={"x-api-key": session.access.token})
    try:
        gateway.open(GatewaySpec("s", channels=(ChannelSpec("c", "x", frozenset(), server=spec),)))
    except Exception as error:
        print(error)
    gateway.close()
    assert len(server.asked) >= 2
"""


def test_nothing_is_logged_that_holds_a_key(keys):
    """In a program of its own that logs everything, from the first call on."""
    import os
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-c", LOUD], capture_output=True, text=True, timeout=120, check=True, env=dict(os.environ))
    assert "httpx2" in done.stderr  # the client of the program itself logs as before
    assert "does not start" in done.stdout
    assert keys["ANTHROPIC_API_KEY"] not in done.stdout + done.stderr


def test_making_one_imports_nothing_heavy():
    import subprocess
    import sys

    code = (
        "import sys, finassay_gateway.gateway as g\nfrom finassay_gateway.options import GatewayOptions\ng.StandardGateway(GatewayOptions())\n"
        "bad = [m for m in ('httpx2', 'uvicorn', 'mcp', 'starlette', 'anyio') if m in sys.modules]\nassert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_name_is_public():
    assert StandardGateway.id == "standard"
