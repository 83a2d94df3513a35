"""What a box without network must not reach, and what it must: the harness's services."""

import contextlib
import os
import select
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from finassay.api.sandbox import Service
from finassay.testing.sandboxes.boxes import SandboxSubject, ask, isolates, opened, python, require, runs, until

REACH = """
def reach(address, family=socket.AF_INET, kind=socket.SOCK_STREAM, data=b"x"):
    try:
        with socket.socket(family, kind) as s:
            s.settimeout(3)
            s.connect(address)
            s.sendall(data)
            return True
    except OSError:
        return False
"""


@contextlib.contextmanager
def _echo() -> Iterator[Service]:
    """A service that answers each chunk at once, on a port of this machine and on a Unix socket in a folder of its own."""
    folder = tempfile.mkdtemp(prefix="conform-")
    path = Path(folder, "service.sock")
    ends: list[socket.socket] = [socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)]
    ends[1].bind(str(path))
    os.chmod(path, 0o600)
    ends[1].listen()
    over = threading.Event()

    def answer(stream: socket.socket) -> None:
        with stream, contextlib.suppress(OSError):
            stream.settimeout(30)
            while data := stream.recv(65536):
                stream.sendall(data)

    def serve() -> None:
        while not over.is_set():
            for end in select.select(ends, (), (), 0.1)[0]:
                threading.Thread(target=answer, args=(end.accept()[0],), daemon=True).start()

    worker = threading.Thread(target=serve, daemon=True)
    worker.start()
    try:
        yield Service("echo", ends[0].getsockname()[1], path)
    finally:
        over.set()
        worker.join(5)
        for end in ends:
            end.close()
        path.unlink()
        os.rmdir(folder)


@runs("services-are-reachable", "without network an agent still reaches the gateway, at the address that it was given")
def _services(subject: SandboxSubject) -> None:
    with _echo() as one, _echo() as two, opened(subject, services=(one, two)) as box:
        code = """
answer = []
for port in V["ports"]:
    with socket.create_connection(("127.0.0.1", port), 10) as s:
        s.sendall(b"a" * 100_000)
        s.shutdown(socket.SHUT_WR)
        answer.append(sum(len(data) for data in iter(lambda: s.recv(65536), b"")))"""
        for _ in range(2):  # of every program in the box
            require(ask(box, code, ports=[one.port, two.port]) == [100_000, 100_000], "not all came back")


@runs("services-stream", "a model's answer is read as it comes; a second connection does not wait for the first")
def _stream(subject: SandboxSubject) -> None:
    with _echo() as service, opened(subject, services=(service,)) as box:
        code = """
first, second = (socket.create_connection(("127.0.0.1", V["port"]), 10) for _ in range(2))
answer = []
for number in range(50):
    for stream in (first, second):
        stream.sendall(b"%d" % number)
        answer.append(stream.recv(100) == b"%d" % number)
started = time.perf_counter()
for _ in range(100):
    first.sendall(b"x"); first.recv(1)
answer.append((time.perf_counter() - started) / 100)"""
        *all_of_them, seconds = ask(box, code, port=service.port)
        require(all(all_of_them), "an answer came late or mixed up")
        require(seconds < 0.05, f"{seconds * 1000:.0f} ms for a byte there and back")


@runs("services-with-network", "with network, the services are at the same address")
def _with_network(subject: SandboxSubject) -> None:
    with _echo() as service, opened(subject, network=True, services=(service,)) as box:
        require(ask(box, f"{REACH}\nanswer = reach(('127.0.0.1', V['port']))", port=service.port), "the service is out of reach")
        require(not box.isolation.network, "a box with network claims to isolate it")


@isolates("network", "services-and-no-more", "the gateway's port is no hole for the others")
def _no_more(subject: SandboxSubject) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, _echo() as service, opened(subject, services=(service,)) as box:
        ports = [other.getsockname()[1], service.port]
        require(
            ask(box, f"{REACH}\nanswer = [reach(('127.0.0.1', p)) for p in V['ports']]", ports=ports) == [False, True],
            "another port is open",
        )
        others = [a for a in _addresses() if a != "127.0.0.1"]
        seen = ask(box, f"{REACH}\nanswer = [a for a in V['others'] if reach((a, V['port']))]", port=service.port, others=others)
        require(not seen, f"the service's port leads to {seen} as well")


def _addresses() -> list[str]:
    """Of this machine, besides loopback, and one that answers nobody."""
    found, last = {"192.0.2.1"}, ""
    with contextlib.suppress(OSError), open("/proc/net/fib_trie", encoding="ascii") as stream:
        for line in stream:
            if "host LOCAL" in line and not last.startswith("127."):
                found.add(last)
            last = line.rpartition("-- ")[2].strip() if "-- " in line else last
    return sorted(found)


@isolates("network", "no-loopback-tcp", "servers of the machine that trust whoever is on it")
def _tcp(subject: SandboxSubject) -> None:
    with contextlib.ExitStack() as stack:
        targets = []
        for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::1")):
            with contextlib.suppress(OSError):
                server = stack.enter_context(socket.create_server((address, 0), family=family))
                targets.append((int(family), (address if address != "0.0.0.0" else _addresses()[-1], server.getsockname()[1])))
        box = stack.enter_context(opened(subject))
        seen = ask(box, f"{REACH}\nanswer = [a for f, a in V['targets'] if reach(tuple(a), f)]", targets=targets)
        require(not seen, f"a server of the host answers at {seen}")


@isolates("network", "no-loopback-udp", "name servers and metrics")
def _udp(subject: SandboxSubject) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server, opened(subject) as box:
        server.bind(("127.0.0.1", 0))
        server.settimeout(0.5)
        ask(box, f"{REACH}\nanswer = reach(('127.0.0.1', V['port']), kind=socket.SOCK_DGRAM)", port=server.getsockname()[1])
        with contextlib.suppress(TimeoutError):
            server.recv(10)
            require(False, "a packet came to a server of the host")


@isolates("network", "no-way-out", "no address outside has a way to it, for no protocol")
def _out(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        code = f"""{REACH}
def way(family, kind, address, protocol=0):
    with socket.socket(family, kind, protocol) as s:
        s.settimeout(2); s.connect(address); return s.getsockname()
answer = []
for kind, protocol in ((socket.SOCK_DGRAM, 0), (socket.SOCK_STREAM, 0), (socket.SOCK_STREAM, 262), (socket.SOCK_STREAM, 132)):
    for family, address in ((socket.AF_INET, ("192.0.2.1", 443)), (socket.AF_INET, ("8.8.8.8", 53)), (socket.AF_INET6, ("2001:db8::1", 443))):
        if done(way, family, kind, address, protocol): answer.append([str(kind), protocol, address[0]])"""
        seen = ask(box, code)
        require(not seen, f"there is a way: {seen}")


@isolates("network", "no-names", "asking for a name is a message to whoever answers for it")
def _names(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        code = "answer = done(socket.getaddrinfo, 'finassay-conformance.example.org', 443)"
        require(not ask(box, code), "a name was resolved")


@isolates("network", "no-abstract-sockets", "servers that have a name instead of a path or a port")
def _abstract(subject: SandboxSubject) -> None:
    with socket.socket(socket.AF_UNIX) as stream, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as packets, opened(subject) as box:
        names = [f"\0finassay-conformance-{os.getpid()}-{n}" for n in range(2)]
        stream.bind(names[0])
        stream.listen()
        packets.bind(names[1])
        code = f"{REACH}\nanswer = [reach(V['names'][0], socket.AF_UNIX), reach(V['names'][1], socket.AF_UNIX, socket.SOCK_DGRAM)]"
        require(ask(box, code, names=names) == [False, False], "an abstract socket of the host answers")


@isolates("network", "no-raw-sockets", "packets of one's own making, and other's packets")
def _raw(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        code = """
kinds = [(socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_INET6, socket.SOCK_RAW, 58), (17, socket.SOCK_RAW, 768), (17, socket.SOCK_DGRAM, 768)]
answer = [str(k) for k in kinds if done(socket.socket, *k)]"""
        seen = ask(box, code)
        require(not seen, f"makes {seen}")


@isolates("network", "no-vsock", "a virtual machine's host is one socket away", level="should")
def _vsock(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        code = "answer = [cid for cid in (1, 2) if done(lambda: socket.socket(40, socket.SOCK_STREAM))]"
        require(not ask(box, code), "sockets to the host of a virtual machine can be made")


@isolates("network", "nothing-comes-in", "what a program offers on its ports is not offered on the machine's")
def _incoming(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        code = (
            "import socket, time\nports = []\nfor address in ('127.0.0.1', '0.0.0.0'):\n    try:\n        s = socket.create_server((address, 0)); ports.append(s)\n"
            "    except OSError: pass\ntry:\n    s = socket.socket(); s.listen(); ports.append(s)\nexcept OSError: pass\n"
            "print(*[s.getsockname()[1] for s in ports], flush=True)\ntime.sleep(20)"
        )
        process = box.spawn([python(box), "-c", code])
        ports = [int(port) for port in next(process.lines(), b"").split()]
        open_ports = []
        for port in ports:
            with socket.socket() as probe:
                probe.settimeout(2)
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    open_ports.append(port)
        require(not open_ports, f"{len(open_ports)} of its {len(ports)} ports are reached from the host")


@isolates("network", "hides-interfaces", "addresses, open ports and connections of the machine", level="should")
def _interfaces(subject: SandboxSubject) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, opened(subject) as box:
        code = """
tables = "".join(read(f"/proc/{who}/net/{name}", 2**20) for who in ("self", *numbered()) for name in ("tcp", "tcp6"))
answer = [f":{V['port']:04X} " in tables, [line.split(":")[0].strip() for line in read("/proc/net/dev").splitlines() if ":" in line]]"""
        listed, interfaces = ask(box, code, port=server.getsockname()[1])
        require(not listed, "a port that the host listens on is listed")
        require(set(interfaces) <= {"lo"}, f"interfaces {interfaces}")


@runs("services-end-with-the-box", "a service that went away gives an error, not a wait, and the box can still be stopped")
def _gone(subject: SandboxSubject) -> None:
    with _echo() as service, opened(subject, services=(service,)) as box:
        process = box.spawn(
            [
                python(box),
                "-c",
                f"import socket, time\ns = socket.create_connection(('127.0.0.1', {service.port}), 10)\nprint('up', flush=True)\ntime.sleep(600)",
            ]
        )
        require(next(process.lines(), b"") == b"up", "the service is out of reach")
        started = time.monotonic()
        box.stop()
        require(time.monotonic() - started < 15 and until(lambda: process.wait(0) is not None, 5), "an open connection delays the stop")
