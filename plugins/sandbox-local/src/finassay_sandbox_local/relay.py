"""Starts a program where the network was taken away, and keeps it a way to the harness's servers.

`python -I -S relay.py PORT PATH … -- PROGRAM ARGUMENT…`: it listens on `127.0.0.1:PORT` of the network namespace that it is started in, leaves
behind a small process that passes every connection on to the Unix socket at PATH, and becomes the program itself. So input, output, exit code
and signals are the program's own, and it has no child that it did not start. A program that kills the relay, whose namespaces it shares, only
loses its way out. The relay ends with the program.

It is started by path, in a fresh interpreter, with every program of a box. Hence it imports nothing but modules of the interpreter that are
written in C: `socket`, `signal`, `json` and the like would triple the time that it takes.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import fcntl
import itertools
import os
import resource
import select
import struct
import sys

CONNECTIONS = 128
"""At once; more wait in the queue of the listening socket."""
CHUNK = 65_536
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
FAILED = 126
"""Exit code of a program that could not be given its way out."""
READ, WRITE = select.EPOLLIN, select.EPOLLOUT


class Side:
    """One end of a connection, and what was read there but not yet handed on: at most one chunk."""

    def __init__(self, stream: _socket.socket) -> None:
        self.stream = stream
        self.pending = b""
        self.ended = False
        self.told = False
        """Whether the other end knows that this one ended."""
        self.events = 0
        """What the relay waits for here."""


class Connection:
    """A connection from the box and its continuation to the harness; bytes are passed on as they come, each way for itself."""

    def __init__(self, inner: _socket.socket, outer: _socket.socket) -> None:
        self.sides = (Side(inner), Side(outer))

    def read(self, number: int) -> None:
        """What came at one side. Only called while nothing of it is pending, so that a slow reader slows the writer down."""
        side = self.sides[number]
        try:
            side.pending = side.stream.recv(CHUNK)
        except BlockingIOError:
            return
        side.ended = not side.pending
        self.write(number)

    def write(self, number: int) -> None:
        """Hand on what one side said; its end too, once everything before it is told."""
        side, other = self.sides[number], self.sides[1 - number]
        try:
            while side.pending:
                side.pending = side.pending[other.stream.send(side.pending) :]
        except BlockingIOError:
            return
        if side.ended and not side.told:
            side.told = True
            other.stream.shutdown(_socket.SHUT_WR)

    def wanted(self, number: int) -> int:
        """What to wait for at one side."""
        side, other = self.sides[number], self.sides[1 - number]
        return (READ if not side.pending and not side.ended else 0) | (WRITE if other.pending else 0)

    def serve(self, number: int) -> bool:
        """Do what can be done at one side; whether that was the last."""
        if self.sides[1 - number].pending:
            self.write(1 - number)
        if self.wanted(number) & READ:
            self.read(number)
        return all(side.told for side in self.sides)


class Relay:
    """Passes connections on until the program is gone."""

    def __init__(self, listening: dict[int, tuple[_socket.socket, str]], program: int) -> None:
        self.listening = listening
        self.program = program
        self.poll = select.epoll()
        self.at: dict[int, tuple[Connection, int]] = {}
        self.accepting = False
        self.most = max(2, min(2 * CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 32))
        """Open ends of connections, at once."""

    def run(self) -> None:
        self.poll.register(self.program, READ)
        while True:
            self.accept_if(len(self.at) < self.most)
            for descriptor, _ in self.poll.poll():
                if descriptor == self.program:
                    return
                if descriptor in self.listening:
                    self.accept(*self.listening[descriptor])
                elif descriptor in self.at:  # and was not dropped by an earlier event of this round
                    self.serve(*self.at[descriptor])

    def accept_if(self, free: bool) -> None:
        if free != self.accepting:
            self.accepting = free
            for descriptor in self.listening:
                if free:
                    self.poll.register(descriptor, READ)
                else:
                    self.poll.unregister(descriptor)

    def accept(self, server: _socket.socket, path: str) -> None:
        try:
            inner = _socket.socket(fileno=server._accept()[0])  # type: ignore[attr-defined]
        except OSError:
            return
        outer = _socket.socket(_socket.AF_UNIX)
        try:
            outer.connect(path)
            inner.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
        except OSError:
            inner.close()
            outer.close()
            return
        connection = Connection(inner, outer)
        for number, side in enumerate(connection.sides):
            side.stream.setblocking(False)
            self.at[side.stream.fileno()] = connection, number
        self.await_more(connection)

    def serve(self, connection: Connection, number: int) -> None:
        try:
            over = connection.serve(number)
        except OSError:
            over = True
        if over:
            for side in connection.sides:
                del self.at[side.stream.fileno()]
                side.stream.close()  # which also ends the waiting
        else:
            self.await_more(connection)

    def await_more(self, connection: Connection) -> None:
        """A side of which nothing is wanted must not be waited for: its hang-up would wake us for ever."""
        for number, side in enumerate(connection.sides):
            before, side.events = side.events, connection.wanted(number)
            if side.events and before:
                if side.events != before:
                    self.poll.modify(side.stream.fileno(), side.events)
            elif side.events:
                self.poll.register(side.stream.fileno(), side.events)
            elif before:
                self.poll.unregister(side.stream.fileno())


def bring_up() -> None:
    """Bring the loopback interface up where it is not, and where we may."""
    try:
        probe = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
        (flags,) = struct.unpack_from("h", fcntl.ioctl(probe.fileno(), SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0)), 16)
        if not flags & IFF_UP:
            fcntl.ioctl(probe.fileno(), SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))
        probe.close()
    except OSError:
        pass  # then listening fails, and says why


def listen(port: int) -> _socket.socket:
    server = _socket.socket(_socket.AF_INET)
    server.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", port))
    server.listen(CONNECTIONS)
    server.setblocking(False)
    return server


def leave_behind(listening: dict[int, tuple[_socket.socket, str]]) -> None:
    """The relay as a process of its own that is nobody's child: a program must not find it when it waits for its own."""
    program = os.pidfd_open(os.getpid())
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        os.close(program)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            _signal.signal(_signal.SIGPIPE, _signal.SIG_IGN)
            quiet = os.open(os.devnull, os.O_RDWR)
            for descriptor in range(3):
                os.dup2(quiet, descriptor)
            kept = sorted((2, program, *listening, resource.getrlimit(resource.RLIMIT_NOFILE)[0]))
            for low, high in itertools.pairwise(kept):
                os.closerange(low + 1, high)
            Relay(listening, program).run()
    finally:
        os._exit(0)


def main(arguments: list[str]) -> int:
    end = arguments.index("--")
    ways, argv = arguments[:end], arguments[end + 1 :]
    try:
        bring_up()
        servers = [(listen(int(port)), path) for port, path in zip(ways[::2], ways[1::2], strict=True)]
        leave_behind({server.fileno(): (server, path) for server, path in servers})
    except OSError as error:
        os.write(2, f"the way to the harness's servers could not be made: {error}\n".encode("utf-8", "replace"))
        return FAILED
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # which Python ignores, and what is ignored stays so
        _signal.signal(number, _signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode("utf-8", "replace"))
    return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
