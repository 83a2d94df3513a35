"""First process of a container: `python -I -S leash.py SOCKET PROGRAM ARGUMENT…`.

It holds a connection to the harness's socket, runs the program as its child, adopts and buries what that leaves behind, and ends with the
program's exit code. When the harness dies, however it dies, the connection breaks and the leash ends; the kernel then ends everything in the
container, which cannot kill its first process. Started by path in whatever Python the image has, so it imports only what every one has in C.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import os
import select
import sys

FAILED = 126


def main(path: str, argv: list[str]) -> int:
    held = _socket.socket(_socket.AF_UNIX)
    try:
        held.connect(path)
    except OSError as error:
        os.write(2, f"the harness cannot be reached: {error}\n".encode("utf-8", "replace"))
        return FAILED
    child = os.fork()
    if child == 0:
        become(argv)
    for number in range(3):  # or the program's input and output would stay open with us
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    poll = select.poll()
    poll.register(held.fileno(), select.POLLIN | select.POLLHUP)
    poll.register(os.pidfd_open(child), select.POLLIN)
    while True:
        ready = [descriptor for descriptor, _ in poll.poll(1000)]
        if held.fileno() in ready:
            return 128 + int(_signal.SIGKILL)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
                return 128 - code if code < 0 else code
            if pid == 0:
                break


def become(argv: list[str]) -> None:
    os.setsid()
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # which Python ignores, and what is ignored stays so
        _signal.signal(number, _signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode("utf-8", "replace"))
    os._exit(127)


if __name__ == "__main__":
    os._exit(main(sys.argv[1], sys.argv[2:]))
