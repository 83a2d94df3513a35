"""`make bench`: what the harness and the grading cost. Ratios are from one run on one machine; nothing here is a test.

python tests/bench/bench.py [help] [harness] [gateway] [grading] [regrading] [scale] [bank]
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import bank
import gateway
import grading
import scale

if TYPE_CHECKING:
    from finassay.api.task import Task
    from finassay.runs.folder import RunFolder

SESSIONS, TURNS = 300, 6
RUNS = Path(__file__).parents[2] / "runs"
"""Where runs lie by default, so on the disk that they are written to."""


def memory_mb() -> float:
    """Peak resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


# -- finassay --help --------------------------------------------------------------------------------------------------


def bench_help() -> None:
    """Best of ten starts of `finassay --help`."""
    command = [str(Path(sys.prefix) / "bin" / "finassay"), "--help"]
    seconds = min(timed(lambda: subprocess.run(command, check=True, capture_output=True)) for _ in range(10))
    print(f"finassay --help: {seconds * 1000:.0f} ms (aim: under 150)")


# -- the harness's own cost -------------------------------------------------------------------------------------------


def hold(folder: "RunFolder", task: "Task", number: int) -> None:
    """One session of six turns with the scripted fakes, kept as a run keeps it: written, synced, read back, graded by a null evaluator."""
    from finassay.api.scorecard import Evaluator
    from finassay.api.task import Brief
    from finassay.grading.engine import grade
    from finassay.runs.folder import SessionKey
    from finassay.runs.grade import make_package
    from finassay.session.loop import Participants, Session, Store
    from finassay.testing.fakes import ScriptedAgent, ScriptedSimulator
    from finassay.testing.samples import sample_persona

    key = SessionKey("scripted", task.id, number)
    workspace = folder.workspace(key)
    agent = ScriptedAgent(tuple(f"Reply {n}." for n in range(TURNS)), ({"note.md": b"# Note\n"},), workspace)
    who = Participants(task, sample_persona(), agent, ScriptedSimulator(), Brief("x", "", TURNS, 30, (), False), None)
    events, sealed = folder.events(key)
    Session(who, Store(events, sealed, folder.blobs, workspace)).hold({}, "")
    events.close()
    sealed.close()
    package = make_package(folder, task, folder.state(key))
    grade(package, {}, None, None, Evaluator("none", "none", ()), key.id, by_turn=False)


def hold_all(folder: "RunFolder", task: "Task") -> None:
    for number in range(SESSIONS):
        hold(folder, task, number)


def bench_harness() -> None:
    """Sessions a second, against samples a second of inspect_ai with six mock-model turns each, on the disk and in memory.

    Each session makes three folders and syncs its log once a turn, so that the disk under it decides much of its cost.
    """
    RUNS.mkdir(exist_ok=True)
    places = {"disk": RUNS, "memory": Path("/dev/shm")}
    for name, place in places.items():
        if place.is_dir():
            with tempfile.TemporaryDirectory(dir=place, prefix="finassay-bench-") as folder:
                compare_harness(name, Path(folder))


def compare_harness(name: str, place: Path) -> None:
    from finassay.runs.folder import RunFolder
    from finassay.testing.samples import sample_task

    task, folder = sample_task(max_turns=TURNS), RunFolder(place / "run")
    hold(folder, task, SESSIONS)
    before = memory_mb()
    ours = SESSIONS / timed(lambda: hold_all(folder, task))
    print(
        f"harness ({name}): {ours:.0f} sessions of {TURNS} turns a second; memory {before:.0f} -> {memory_mb():.0f} MB over {SESSIONS} sessions"
    )
    theirs = inspect_rate(place)
    if theirs is None:
        print("inspect_ai is not installed here (make bench installs it)")
    else:
        print(f"inspect_ai ({name}): {theirs:.0f} samples of {TURNS} turns a second; ratio {ours / theirs:.2f} (aim: at least 1)")


INSPECT = f"""
import sys, time
from inspect_ai import Task, eval, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser, get_model
from inspect_ai.solver import solver

@solver
def turns():
    async def solve(state, generate):
        for _ in range({TURNS}):
            state = await generate(state)
            state.messages.append(ChatMessageUser(content="go on"))
        return state
    return solve

@task
def bench():
    return Task(dataset=[Sample(input="hello", target="x") for _ in range({SESSIONS})], solver=turns())

eval(bench(), model=get_model("mockllm/model"), log_dir=sys.argv[1], display="none", limit=5)
started = time.perf_counter()
eval(bench(), model=get_model("mockllm/model"), log_dir=sys.argv[1], display="none")
print("SECONDS", time.perf_counter() - started)
"""


def inspect_rate(folder: Path) -> float | None:
    """Samples a second, logs written, measured in a process of its own; None if it is not installed."""
    done = subprocess.run(
        [sys.executable, "-c", INSPECT, str(folder / "inspect")], capture_output=True, text=True, timeout=600, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("SECONDS")]
    return SESSIONS / float(lines[0].split()[1]) if lines else None


if __name__ == "__main__":
    benches = {
        "help": bench_help,
        "harness": bench_harness,
        "gateway": gateway.bench_gateway,
        "grading": grading.bench_grading,
        "regrading": grading.bench_regrading,
        "scale": scale.bench_scale,
        "bank": bank.bench_bank,
    }
    for name in sys.argv[1:] or benches:
        benches[name]()
