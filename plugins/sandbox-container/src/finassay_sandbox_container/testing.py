"""A server that speaks a container engine's protocol, for tests where there is no engine: its containers are made by bubblewrap.

The image is this machine's `/usr`. What a container's configuration asks for is done, so that a client is tested by what its programs can do.
"""

import contextlib
import json
import os
import re
import secrets
import socketserver
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from finassay_sandbox_local.calls import INET, INET6, NETLINK, UNIX, Sockets, instructions, supported
from finassay_sandbox_local.cgroup import ProcessGroup
from finassay_sandbox_local.sweep import end, family

IMAGE: Final = "test@sha256:" + "0" * 64
LINKS: Final = ("/bin", "/sbin", "/lib", "/lib64")
MASKED: Final = ("kcore", "keys", "key-users", "kmsg", "latency_stats", "sched_debug", "timer_list")
READ_ONLY: Final = ("acpi", "asound", "bus", "fs", "irq", "scsi", "sys")
SOCKETS: Final = (Sockets(UNIX), Sockets(INET), Sockets(INET6), Sockets(NETLINK))
OUT, ERR = 1, 2


class Container:
    """A configuration, and once it was started its program."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config
        self.id = secrets.token_hex(32)
        self.process: subprocess.Popen[bytes] | None = None
        self.group: ProcessGroup | None = None
        self.started, self.ended = threading.Event(), threading.Event()
        self.code = 0

    def start(self) -> None:
        limit = self.config["HostConfig"].get("PidsLimit")
        self.group = ProcessGroup.create(limit + 2) if limit and os.geteuid() == 0 else None
        join = ["/bin/sh", "-c", 'echo 0 > "$0/cgroup.procs" && exec "$@"', str(self.group.path)] if self.group else []
        pipe, described = subprocess.PIPE, os.memfd_create("container")
        calls = os.memfd_create("calls")
        os.write(calls, instructions(SOCKETS, apart=True) if supported() else b"")
        arguments, program = self.command(calls)
        os.write(described, b"".join(os.fsencode(argument) + b"\0" for argument in arguments))
        for descriptor in (calls, described):
            os.lseek(descriptor, 0, os.SEEK_SET)
        self.process = subprocess.Popen(
            [*join, "bwrap", "--args", str(described), "--", *program],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            bufsize=0,
            start_new_session=True,
            pass_fds=(calls, described),
        )
        os.close(calls)
        os.close(described)
        self.started.set()
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        assert self.process is not None
        code = self.process.wait()
        self.code = 128 - code if code < 0 else code
        self.ended.set()

    def command(self, calls: int) -> tuple[list[str], list[str]]:
        """The container as bubblewrap takes it, with what engines do by themselves: a filter of calls, parts of /proc masked or read-only."""
        host = self.config["HostConfig"]
        found = [
            *(["--seccomp", str(calls)] if supported() else []),
            "--as-pid-1",
            "--unshare-all",
            "--new-session",
            "--clearenv",
            "--hostname",
            self.config["Hostname"],
        ]
        found += ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--dir", "/run"]
        for entry in sorted(os.scandir("/proc"), key=lambda entry: entry.name):
            if entry.name in MASKED and entry.is_file():
                found += ["--ro-bind", "/dev/null", entry.path]
            elif entry.name in READ_ONLY or (entry.is_file(follow_symlinks=False) and entry.stat().st_mode & 0o222):
                found += ["--ro-bind", entry.path, entry.path]
        for name in LINKS:
            if os.path.islink(name):
                found += ["--symlink", os.readlink(name), name]
        found += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
        for place, how in {**(host.get("Tmpfs") or {}), "/dev/shm": f"size={host.get('ShmSize') or 2**26}"}.items():
            size = dict(part.partition("=")[::2] for part in how.split(","))["size"]
            found += ["--size", size, "--perms", "1777", "--tmpfs", place]
        for mount in sorted(host.get("Mounts") or (), key=lambda mount: mount["Target"].count("/")):
            found += ["--ro-bind" if mount["ReadOnly"] else "--bind", mount["Source"], mount["Target"]]
        for pair in self.config.get("Env") or ("PATH=/usr/bin:/bin",):
            found += ["--setenv", *pair.split("=", 1)]
        found += [part for name in host.get("CapDrop") or () for part in ("--cap-drop", name)]
        found += ["--chdir", self.config.get("WorkingDir") or "/", *(["--remount-ro", "/"] if host.get("ReadonlyRootfs") else [])]
        limits = [f"--{limit['Name']}={limit['Soft']}:{limit['Hard']}" for limit in host.get("Ulimits") or ()]
        limits += [f"--as={host['Memory']}"] if host.get("Memory") else []
        return found, ["/usr/bin/prlimit", *limits, "--", *self.config["Cmd"]]

    def remove(self) -> None:
        if self.process is not None:
            if self.process.poll() is None:
                pid = self.process.pid
                end(lambda: [pid, *family(pid)])
            self.ended.wait(10)
            for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
                if stream is not None:
                    with contextlib.suppress(OSError, ValueError):
                        stream.close()
        if self.group is not None:
            self.group.remove()


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 128
    block_on_close = False

    def __init__(self, path: str, engine: "EngineServer") -> None:
        self.engine = engine
        super().__init__(path, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no failure of the server."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def address_string(self) -> str:
        return "client"

    def log_message(self, format: str, *args: Any) -> None:
        """Not on standard error."""

    def answer(self, status: int, body: Any = None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Api-Version", "1.50")
        self.send_header("Ostype", "linux")
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        path = re.sub(r"^/v[0-9.]+", "", parts.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        engine = self.server.engine
        engine.requests.append((self.command, path, query, json.loads(body) if body else None))
        if path in engine.broken:
            self.answer(500, {"message": engine.broken[path]})
            return
        found = re.fullmatch(r"/containers/([0-9a-f]+)(?:/(\w+))?", path)
        if path == "/_ping":
            self.answer(200, "OK")
        elif path == "/version":
            self.answer(200, {"Version": "0-test", "ApiVersion": "1.50", "MinAPIVersion": "1.24", "Os": "linux", "Arch": "amd64"})
        elif path.startswith("/images/"):
            self.answer(*((200, {"Id": IMAGE}) if IMAGE in path else (404, {"message": "No such image"})))
        elif path == "/containers/create":
            self._create(json.loads(body))
        elif path == "/containers/json":
            self.answer(200, engine.listing(query.get("filters", "{}")))
        elif found is None:
            self.answer(404, {"message": "page not found"})
        elif found[1] not in engine.containers:
            self.answer(404, {"message": f"No such container: {found[1]}"})
        else:
            self._of_container(engine.containers[found[1]], found[2] or "")

    do_GET = do_POST = do_DELETE = do_HEAD = _serve

    def _create(self, config: Mapping[str, Any]) -> None:
        container = Container(config)
        self.server.engine.containers[container.id] = container
        self.answer(201, {"Id": container.id, "Warnings": []})

    def _of_container(self, container: Container, what: str) -> None:
        if what == "start":
            container.start()
            self.answer(204)
        elif what == "wait":
            self._wait(container)
        elif what == "attach":
            self._attach(container)
        elif what == "resize":
            self.answer(200)
        elif self.command == "DELETE":
            self.server.engine.containers.pop(container.id, None)
            container.remove()
            self.answer(204)
        else:
            self.answer(404, {"message": "page not found"})

    def _wait(self, container: Container) -> None:
        """The head at once, which clients wait for before they start the container; the rest when it has ended."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        container.ended.wait()
        data = json.dumps({"StatusCode": container.code}).encode()
        self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data))

    def _attach(self, container: Container) -> None:
        self.wfile.write(
            b"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.multiplexed-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
        )
        self.close_connection = True
        container.started.wait(60)
        process = container.process
        if process is None or process.stdout is None or process.stderr is None:
            return
        lock = threading.Lock()
        outputs = [
            threading.Thread(target=self._frames, args=(kind, stream.fileno(), lock), daemon=True)
            for kind, stream in ((OUT, process.stdout), (ERR, process.stderr))
        ]
        for output in outputs:
            output.start()
        threading.Thread(target=self._input, args=(process,), daemon=True).start()
        for output in outputs:
            output.join()

    def _frames(self, kind: int, descriptor: int, lock: threading.Lock) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(descriptor, 32_768):
                with lock:
                    self.connection.sendall(bytes([kind, 0, 0, 0]) + len(data).to_bytes(4, "big") + data)

    def _input(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            while data := self.rfile.read1(65_536):
                view = memoryview(data)
                while view:
                    view = view[process.stdin.write(view) :]
        with contextlib.suppress(OSError, ValueError):
            process.stdin.close()


class EngineServer:
    """The engine. `requests` are what clients asked for; `broken` holds paths that fail, with the message."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.containers: dict[str, Container] = {}
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self.broken: dict[str, str] = {}

    def listing(self, filters: str) -> list[dict[str, Any]]:
        wanted = [label.partition("=") for label in json.loads(filters).get("label", [])]
        return [
            {"Id": c.id, "Labels": dict(c.config.get("Labels") or {})}
            for c in list(self.containers.values())
            if all(
                (c.config.get("Labels") or {}).get(name, None) == value or (not sep and name in c.config["Labels"])
                for name, sep, value in wanted
            )
        ]


@contextlib.contextmanager
def engine_server() -> Iterator[EngineServer]:
    """A running engine on a Unix socket of its own."""
    with tempfile.TemporaryDirectory(prefix="finassay-engine-") as folder:
        engine = EngineServer(Path(folder, "engine.sock"))
        server = _Server(str(engine.path), engine)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield engine
        finally:
            server.shutdown()
            thread.join(5)
            server.server_close()
            for container in list(engine.containers.values()):
                container.remove()


__all__ = ["IMAGE", "EngineServer", "engine_server"]
