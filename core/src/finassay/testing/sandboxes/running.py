"""What every box must do: start programs, hand over input and output, tell how they end, and bound them."""

import os
import signal
import threading
import time
from pathlib import Path

from finassay.api.errors import SandboxError
from finassay.api.sandbox import MAX_LINE_BYTES, Limits
from finassay.testing.sandboxes.boxes import SandboxSubject, ask, opened, python, require, runs, scratch

VARIABLE = "FINASSAY_CONFORMANCE_SECRET"


@runs("runs", "a program starts, reads its input and its exit code is told")
def _runs(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        process = box.spawn([python(box), "-c", "import sys; print(sys.stdin.read()[::-1]); sys.exit(7)"], stdin="grün".encode())
        lines = list(process.lines())
        require(lines == ["nürg".encode()], f"output {lines!r}")
        require(process.wait(10) == 7, "the exit code is lost")


@runs("exit-codes", "an adapter judges a program by how it ended")
def _codes(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        for code in (0, 1, 127, 255):
            found = box.spawn(["/bin/sh", "-c", f"exit {code}"]).wait(30)
            require(found == code, f"exit code {code} is told as {found}")
        process = box.spawn(["/bin/sh", "-c", "sleep 60"])
        require(process.wait(0.05) is None, "a program that runs has an exit code")


@runs("signals-are-told", "a program that was killed did not end by itself")
def _signals(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV):
            found = box.spawn([python(box), "-c", f"import os; os.kill(os.getpid(), {int(number)})"]).wait(30)
            require(found == -number, f"{number.name} is told as {found}")


@runs("missing-program", "a program that is not there is told by its name")
def _missing(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        try:
            process = box.spawn(["no-such-program-here"])
        except SandboxError as error:
            require("no-such-program-here" in str(error), f"says only {error}")
            return
        list(process.lines())
        code = process.wait(30)
        require(code in (126, 127), f"exit code {code}")
        require("no-such-program-here" in process.stderr_tail(), f"says only {process.stderr_tail()[-200:]!r}")


@runs("clean-environment", "no variable reaches an agent that was not named")
def _environment(subject: SandboxSubject) -> None:
    os.environ[VARIABLE] = "1"
    try:
        with opened(subject) as box:
            names = ask(box, "answer = sorted(os.environ)")
            require(VARIABLE not in names, f"sees {names}")
            require(
                VARIABLE not in ask(box, "answer = [read(f'/proc/{n}/environ') for n in (os.getpid(), os.getppid())]"), "a parent shows it"
            )
    finally:
        del os.environ[VARIABLE]


@runs("named-environment", "the variables that were named reach a program, those of one start before those of the box")
def _named(subject: SandboxSubject) -> None:
    with opened(subject, environment={"ONE": "box", "TWO": "box"}) as box:
        process = box.spawn([python(box), "-c", "import os; print(os.environ['ONE'], os.environ['TWO'])"], environment={"TWO": "start"})
        require(list(process.lines()) == [b"box start"], process.stderr_tail()[-300:])


@runs("home-and-temporary-folder", "HOME lies in the workspace and lasts, TMPDIR can be written, PATH finds a shell")
def _home(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        code = """
home, temporary = os.path.expanduser("~"), os.environ["TMPDIR"]
open(os.path.join(home, "kept"), "w").write("1")
open(os.path.join(temporary, "scratch"), "w").write("1")
import shutil
answer = [os.path.realpath(home).startswith(os.path.realpath(V["inside"]) + os.sep), shutil.which("sh") is not None]"""
        require(ask(box, code, inside=box.inside) == [True, True], "HOME lies elsewhere, or there is no shell")
        require(ask(box, "answer = read(os.path.expanduser('~/kept'))") == "1", "HOME does not last from program to program")


@runs("shared-workspace", "what a program writes is read by the harness, and the other way round")
def _shared(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        (box.workspace / "given").write_text("in")
        require(ask(box, "answer = read('given')\nos.mkdir('made'); open('made/out', 'w').write('out')") == "in", "a file is not seen")
        require((box.workspace / "made" / "out").read_text() == "out", "a file does not come out")
        (box.workspace / "made" / "out").unlink()  # the harness owns it


@runs("working-folder", "a program starts where it was told, never outside the workspace")
def _cwd(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        (box.workspace / "deliver").mkdir()
        process = box.spawn(["/bin/sh", "-c", "pwd"], cwd="deliver")
        require([Path(os.fsdecode(line)).name for line in process.lines()] == ["deliver"], "it started elsewhere")
        for folder in ("..", "/", "../.."):
            try:
                process = box.spawn(["/bin/sh", "-c", "pwd"], cwd=folder)
            except SandboxError:
                continue
            require(process.wait(30) not in (0, None), f"started in {folder!r}")


@runs("open-input", "an agent that speaks a protocol gets its requests one by one")
def _open(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        process = box.spawn([python(box), "-c", "import sys\nfor line in sys.stdin: print(line.strip()[::-1], flush=True)"], stdin=None)
        lines = process.lines()
        for text in (b"one", b"two", b"x" * 100_000):
            process.write(text + b"\n")
            require(next(lines, None) == text[::-1], f"no answer to {text[:10]!r}")
        process.close_input()
        process.close_input()
        require(list(lines) == [] and process.wait(30) == 0, "it did not end with its input")
        try:
            process.write(b"late")
        except SandboxError:
            return
        require(False, "writing to a program that is gone was not refused")


@runs("no-input", "several agents wait for ever at an input that is left open")
def _none(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        process = box.spawn([python(box), "-c", "import sys; print(len(sys.stdin.read()))"])
        require(list(process.lines()) == [b"0"] and process.wait(30) == 0, "the input has no end")


@runs("large-streams", "5 MB each way, and nobody waits for the other")
def _large(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        code = "import sys; data = sys.stdin.buffer.read(); sys.stderr.write('e' * 5_000_000); sys.stdout.buffer.write(data)"
        process = box.spawn([python(box), "-c", code], stdin=b"z" * 5_000_000)
        require(sum(map(len, process.lines())) == 5_000_000, "not all of it came back")
        require(process.wait(30) == 0 and 0 < len(process.stderr_tail()) < 1_000_000, "standard error is kept whole, or not at all")
        ignored = box.spawn(["/bin/sh", "-c", "exit 0"], stdin=b"z" * 5_000_000)
        require(ignored.wait(30) == 0, "an input that nobody reads keeps the program")


@runs("huge-lines", "a line without end must not fill the harness's memory")
def _huge(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        code = "import sys\nfor _ in range(20): sys.stdout.write('x' * 2**20)\nprint(); print('next')"
        lines = list(box.spawn([python(box), "-c", code]).lines())
        require(lines[-1:] == [b"next"] and len(lines) == 2, f"{len(lines)} lines")
        require(len(lines[0]) <= MAX_LINE_BYTES, f"a line of {len(lines[0])} bytes was handed over")


@runs("odd-bytes", "output comes as it is: escape codes, zeros, bytes that are no text, a last line without an end")
def _odd(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        code = r"import sys; sys.stdout.buffer.write(b'\x1b[2J\x00a\r\n\n\xff\xfe\nlast')"
        lines = list(box.spawn([python(box), "-c", code]).lines())
        require(lines == [b"\x1b[2J\x00a", b"", b"\xff\xfe", b"last"], f"{lines!r}")


@runs("no-descriptors", "an open file of the harness is a way around every wall")
def _descriptors(subject: SandboxSubject) -> None:
    with scratch() as folder, open(folder / "secret", "w") as secret, opened(subject) as box:
        os.set_inheritable(secret.fileno(), True)
        code = "answer = [os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd') if int(n) > 2 and os.path.lexists(f'/proc/self/fd/{n}')]"
        require(ask(box, code) == [], f"inherited: {ask(box, code)}")
        folders = ask(
            box, "import stat\nanswer = [n for n in range(3) if stat.S_ISDIR(os.fstat(n).st_mode) or stat.S_ISREG(os.fstat(n).st_mode)]"
        )
        require(folders == [], f"descriptors {folders} are files or folders of the harness")


@runs("no-terminal", "characters put into the harness's terminal would be commands")
def _terminal(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        code = "answer = [done(os.open, '/dev/tty', os.O_RDWR), *(os.isatty(n) for n in range(3))]"
        require(not any(ask(box, code)), "it has the harness's terminal")


@runs("held-output", "a child that keeps the output open must not keep the reader")
def _held(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        started = time.monotonic()
        lines = list(box.spawn(["/bin/sh", "-c", "sleep 50 & echo done"]).lines())
        require(lines == [b"done"] and time.monotonic() - started < 20, f"{lines!r} after {time.monotonic() - started:.0f} s")


@runs("two-at-once", "two boxes, and two programs in one, never get each other's output")
def _two(subject: SandboxSubject) -> None:
    with opened(subject) as first, opened(subject) as second:
        code = "import sys, time\nfor _ in range(20): print(sys.argv[1], flush=True); time.sleep(0.01)"
        started = [(str(n), box.spawn([python(box), "-c", code, str(n)])) for n, box in enumerate((first, first, second, second) * 2)]
        found: dict[str, set[bytes]] = {}
        readers = [threading.Thread(target=lambda n=n, p=p: found.update({n: set(p.lines())})) for n, p in started]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(60)
        require(found == {n: {n.encode()} for n, _ in started}, f"{found}")


# -- limits -----------------------------------------------------------------------------------------------------------


@runs("memory-limit", "one agent must not take the machine down")
def _memory(subject: SandboxSubject) -> None:
    with opened(subject, Limits(memory_bytes=512 * 2**20)) as box:
        process = box.spawn([python(box), "-c", "x = bytearray(2 * 2**30); print('got it')"])
        require(b"got it" not in list(process.lines()), f"2 GB were given under a limit of 512 MB (exit {process.wait(30)})")


@runs("file-size-limit", "one file must not fill the disk")
def _file_size(subject: SandboxSubject) -> None:
    with opened(subject, Limits(file_bytes=2**20)) as box:
        box.spawn([python(box), "-c", "f = open('big', 'wb')\nfor _ in range(64): f.write(bytes(2**17)); f.flush()"]).wait(30)
        big = box.workspace / "big"
        require(not big.exists() or big.stat().st_size <= 2**20, "a file of over 1 MB was written")


@runs("process-limit", "a fork bomb is bounded")
def _processes(subject: SandboxSubject) -> None:
    with opened(subject, Limits(processes=40)) as box:
        code = (
            "import subprocess, sys\nn = 0\ntry:\n"
            " for _ in range(200): subprocess.Popen(['sleep', '20']); n += 1\n"
            "except OSError: pass\nprint(n, flush=True)\n"
        )
        lines = list(box.spawn([python(box), "-c", code]).lines())
        require(not lines or not lines[0].isdigit() or int(lines[0]) < 200, f"{lines!r} processes were started under a limit of 40")


@runs("no-core-files", "a crash must not write the program's memory, keys in it, onto the disk")
def _core(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        soft, hard = ask(box, "import resource\nanswer = list(resource.getrlimit(resource.RLIMIT_CORE))")
        require((soft, hard) == (0, 0), f"core files of {soft} bytes are allowed, {hard} at most")


@runs("limits-stay", "a program must not raise its own limits")
def _raise(subject: SandboxSubject) -> None:
    with opened(subject, Limits(memory_bytes=2**31, file_bytes=2**20)) as box:
        code = """
import resource
try:
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**30, 2**30))
except (OSError, ValueError):
    pass
answer = resource.getrlimit(resource.RLIMIT_FSIZE)"""
        found = ask(box, code)
        require(0 < found[0] <= 2**20, f"has a limit of file size of {found[0]} where 1 MB was given")


@runs("bounded-temporary-folder", "temporary files must not fill the machine's disk", level="should")
def _bounded(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        code = "s = os.statvfs(os.environ['TMPDIR']); answer = [os.stat(os.environ['TMPDIR']).st_dev == os.stat(V['inside']).st_dev, s.f_blocks * s.f_frsize]"
        same, size = ask(box, code, inside=box.inside)
        require(not same, f"TMPDIR lies on the workspace's disk, which has {size / 2**30:.0f} GiB")
