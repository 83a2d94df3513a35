"""A hundred sessions at once on one machine: what the harness needs, whether deadlines hold, and whether anything is left behind."""

import os
import resource
import sys
import tempfile
import threading
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

RUNS = Path(__file__).parents[2] / "runs"
SESSIONS, AT_ONCE, TURNS, DELTA = 200, 100, 3, 20.0
STUCK = 7
"""Every so many turns hang past their time."""
MARK = "finassay-scale-4173"
PROGRAM = f"""
printf '{{"type":"message","text":"Which signal, how many names, which weights, when to trade, which costs?"}}\\n'
setsid sleep 3600.{MARK.rpartition("-")[2]} >/dev/null 2>&1 &
echo note > deliver/note.md
if [ $(( (0x$(head -c2 /dev/urandom | od -An -tx1 | tr -d ' ')) % {STUCK} )) = 0 ]; then sleep 3600.{MARK.rpartition("-")[2]}; fi
printf '{{"type":"usage","input_tokens":10,"output_tokens":5}}\\n{{"type":"done"}}\\n'
"""
"""A shell: an agent as light as one can be. It leaves a detached process behind in every turn."""


def catalog() -> Any:
    """What is installed, with the light agent."""
    from pydantic import BaseModel, ConfigDict

    from finassay.catalog.catalog import Catalog, Offer
    from finassay_cli_kit import JsonLinesAgent

    class Options(BaseModel):
        model_config = ConfigDict(frozen=True, extra="forbid")

    class Light:
        api_version, description = 1, "a shell"

        def __call__(self, options: Any) -> JsonLinesAgent:
            return JsonLinesAgent("light", ("/bin/sh", "-c", PROGRAM))

    Light.Options = Options  # type: ignore[attr-defined]
    module = types.ModuleType("scale_agents")
    module.light = Light()  # type: ignore[attr-defined]
    sys.modules["scale_agents"] = module
    offer = Offer("agent", "light", "scale", "1", EntryPoint("light", "scale_agents:light", "finassay.agents"))
    return Catalog([*Catalog.installed().offers(), offer])


def leftovers() -> list[str]:
    """Processes that the agents left behind."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"3600.{MARK.rpartition('-')[2]}".encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def things() -> set[str]:
    """What lies where a harness might leave something: temporary files and shared memory."""
    places = [Path(tempfile.gettempdir()), Path("/dev/shm")]
    return {str(p) for place in places for p in place.iterdir()}


@contextmanager
def own_temporary_folder(path: Path) -> Iterator[None]:
    """What is left in it was left by us, whatever else runs on this machine."""
    path.mkdir()
    old, tempfile.tempdir = tempfile.tempdir, str(path)
    try:
        yield
    finally:
        tempfile.tempdir = old


@contextmanager
def memory_watch() -> Iterator[list[float]]:
    """Resident memory of this process in MB, looked at every half second."""
    seen: list[float] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.5):
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            seen.append(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join()


def bench_scale() -> None:
    """`SESSIONS` sessions, `AT_ONCE` at a time, of a real task with the policy user, in the sandbox that isolates most."""
    from finassay.api.task import Conditions
    from finassay.config.settings import RunSettings
    from finassay.hooks.dispatch import Observers
    from finassay.runs.build import build
    from finassay.runs.execute import Progress, Runner
    from finassay.runs.folder import RunFolder
    from finassay.runs.sampling import sample_task

    RUNS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RUNS, prefix="finassay-bench-") as place, own_temporary_folder(Path(place) / "tmp"):
        installed = catalog()
        grammar, _ = installed.create("grammar", "us-long-only")
        task = sample_task(grammar, 3, frozenset({"prices"}), lambda u: Conditions(date(2019, 12, 31), u, (), TURNS, DELTA))
        settings = RunSettings.model_validate(
            {"agents": {"light": {"id": "light"}}, "sessions": SESSIONS, "jobs": AT_ONCE, "boxes": AT_ONCE, "grade": False, "memory_gb": 1}
        )
        folder = RunFolder(Path(place) / "run")
        built = build(installed, settings, (task,), folder.root)
        observers = Observers([])
        runner = Runner(folder, settings, {task.id: task}, built, observers)
        before, cpu = things(), resource.getrusage(resource.RUSAGE_SELF)
        started = time.monotonic()
        ignore = lambda *given: None  # noqa: E731
        with memory_watch() as memory:
            runner.run(runner.plan(), Progress(ignore, ignore, ignore), ignore, threading.Event())
        seconds, used = time.monotonic() - started, resource.getrusage(resource.RUSAGE_SELF)
        own = used.ru_utime + used.ru_stime - cpu.ru_utime - cpu.ru_stime
        time.sleep(1)
        report(folder, seconds, own, memory, things() - before)


def report(folder: Any, seconds: float, own: float, memory: list[float], left: set[str]) -> None:
    turns = [turn for key in folder.sessions() for turn in folder.state(key).turns]
    ended: dict[str, int] = {}
    for key in folder.sessions():
        reason = str(folder.state(key).ended)
        ended[reason] = ended.get(reason, 0) + 1
    late = sorted(turn.seconds - DELTA for turn in turns if turn.cut)
    quarter = len(memory) // 4
    print(
        f"scale: {SESSIONS} sessions, {AT_ONCE} at once, {len(turns)} turns in {seconds:.0f} s: {60 * SESSIONS / seconds:.0f} sessions a minute"
    )
    print(f"  ended: {', '.join(f'{reason} {number}' for reason, number in sorted(ended.items()))}")
    print(
        f"  harness: {own:.1f} s of CPU, {100 * own / (seconds * (os.cpu_count() or 1)):.0f} % of the machine, {1000 * own / max(1, len(turns)):.0f} ms a turn"
    )
    if late:
        print(f"  {len(late)} turns cut: late by {late[len(late) // 2]:.2f} s in the middle, {late[-1]:.2f} s at most (aim: 1 s)")
    if quarter:
        print(f"  memory: {max(memory[:quarter]):.0f} MB at most in the first quarter, {max(memory[-quarter:]):.0f} MB in the last")
    print(f"  left behind: {len(leftovers())} processes, {len(left)} files or folders outside the run {sorted(left)[:3] or ''}")


if __name__ == "__main__":
    bench_scale()
