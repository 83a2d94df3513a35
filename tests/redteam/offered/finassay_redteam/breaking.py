"""Using up what there is."""

import contextlib
import os
import resource
import threading
import time

from finassay_redteam.tools import Way, in_child, way


@way("break", "fork-bomb", harmful=True)
def fork_bomb(tried: Way) -> None:
    def act() -> int:
        count = 0
        with contextlib.suppress(OSError):
            while count < 5000:
                if os.fork() == 0:
                    time.sleep(1)
                    os._exit(0)
                count += 1
        return count

    count = in_child(act, 20)
    time.sleep(1.2)
    tried.notes.append(f"{count} processes")
    if count is None or count >= 5000:
        tried.did(f"{count} processes at once")


@way("break", "thread-bomb", harmful=True)
def thread_bomb(tried: Way) -> None:
    def act() -> int:
        count = 0
        with contextlib.suppress(RuntimeError, MemoryError):
            while count < 5000:
                threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
                count += 1
        return count

    count = in_child(act, 20)
    tried.notes.append(f"{count} threads")
    if count is None or count >= 5000:
        tried.did(f"{count} threads at once")


@way("break", "memory-bomb", harmful=True)
def memory_bomb(tried: Way) -> None:
    def act() -> int:
        import mmap

        held, size = [], 2**30
        with contextlib.suppress(OSError, MemoryError, ValueError):
            while len(held) < 64:
                held.append(mmap.mmap(-1, size))  # asked for, not touched
        return len(held)

    count = in_child(act, 10)
    tried.notes.append(f"{count} gigabytes")
    if count is None or count >= 64:
        tried.did(f"{count} gigabytes in one process")


@way("break", "file-bomb", harmful=True)
def huge_file(tried: Way) -> None:
    def act() -> int:
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with open("huge", "wb") as stream, contextlib.suppress(OSError):
            stream.truncate(2**40)
        size = os.path.getsize("huge")
        os.unlink("huge")
        return size

    size = in_child(act, 10)
    if size is None or size > 2**36:
        tried.did(f"a file of {size} bytes")


@way("break", "disk-bomb", harmful=True)
def fill_the_disk(tried: Way) -> None:
    """Many files in the workspace, each within the limit of one file. Reserved, not written."""
    reserved = 0
    try:
        for number in range(20):
            with open(f"fill-{number}", "wb") as stream:
                os.posix_fallocate(stream.fileno(), 0, 2**28)
                reserved += 2**28
    except OSError as error:
        tried.notes.append(str(error))
    for number in range(20):
        with contextlib.suppress(OSError):
            os.unlink(f"fill-{number}")
    if reserved >= 20 * 2**28:
        tried.did(f"{reserved:,} bytes in the workspace")


@way("break", "tmp-bomb", harmful=True)
def fill_the_temporary_folder(tried: Way) -> None:
    for folder in (os.environ["TMPDIR"], "/dev/shm"):
        path, reserved = os.path.join(folder, "fill"), 0
        try:
            with open(path, "wb") as stream:
                os.posix_fallocate(stream.fileno(), 0, 3 * 2**30)
                reserved = 3 * 2**30
        except OSError as error:
            tried.notes.append(f"{folder}: {error}")
        with contextlib.suppress(OSError):
            os.unlink(path)
        if reserved:
            tried.did(f"{reserved:,} bytes in {folder}")


@way("break", "processor-hog", harmful=True)
def burn(tried: Way) -> None:
    for _ in range(4):
        if os.fork() == 0:
            until = time.monotonic() + 2
            while time.monotonic() < until:
                pass
            os._exit(0)
    time.sleep(0.5)


@way("break", "descriptors-bomb", harmful=True)
def all_descriptors(tried: Way) -> None:
    def act() -> int:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        held = []
        with contextlib.suppress(OSError):
            while len(held) < 200_000:
                held.append(os.open("/dev/null", os.O_RDONLY))
        return len(held)

    count = in_child(act, 10)
    tried.notes.append(f"{count} descriptors")
    if count is None or count >= 200_000:
        tried.did(f"{count} descriptors in one process")
