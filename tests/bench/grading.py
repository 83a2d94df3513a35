"""What program grading costs: one large delivery, the curve over its size, and stored sessions graded again in parallel processes.

Each measurement is made in a process of its own, so that its peak memory is its own and no cache of another helps it.

python tests/bench/grading.py measure FILLS
python tests/bench/grading.py regrade RUN PROCESSES
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

FILLS_A_DAY = 400
CURVE = (10_000, 100_000, 1_000_000, 3_000_000)
LARGE = 1_000_000
SESSIONS = 150
"""Stored sessions that are graded again."""
SESSION_DAYS, SESSION_TICKERS, SESSION_FILLS = 750, 20, 4
"""One stored delivery: 3,000 fills at most, three years of 20 prices."""


def large_delivery(
    folder: Path, days: int = LARGE // FILLS_A_DAY, tickers: int = 500, per_day: int = FILLS_A_DAY, seed: int = 7
) -> dict[str, Path]:
    """`days` · `per_day` fills, less those of no shares, at `days` × `tickers` closes, with equity and a report; synthetic."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(seed)
    dates = pd.bdate_range(end="2019-08-02", periods=days)
    names = np.array([f"T{n:03}" for n in range(tickers)])
    close = 50 * np.exp(np.cumsum(rng.normal(0.0002, 0.015, (days, tickers)), axis=0))
    pd.DataFrame(close, index=dates.strftime("%Y-%m-%d"), columns=names).rename_axis("date").to_csv(
        folder / "prices.csv", float_format="%.6f"
    )
    rows = np.repeat(np.arange(days), per_day)
    columns = np.concatenate([rng.permutation(tickers)[:per_day] for _ in range(days)])
    held = np.zeros(tickers)
    shares, cash, equity = np.empty(rows.size), 1e8, np.empty(days)
    for day in range(days):
        picked = columns[day * per_day : (day + 1) * per_day]
        wanted = np.round(1e8 / tickers / close[day, picked] * rng.uniform(0.5, 0.9, per_day))
        change = wanted - held[picked]
        shares[day * per_day : (day + 1) * per_day] = change
        held[picked] = wanted
        cash -= float((change * close[day, picked]).sum())
        equity[day] = cash + float((held * close[day]).sum())
    kept = shares != 0
    before = (dates[0] - pd.offsets.BDay(1)).strftime("%Y-%m-%d")
    labels = dates.strftime("%Y-%m-%d").to_numpy()
    trades = pd.DataFrame(
        {
            "signal_date": np.where(rows > 0, labels[np.maximum(rows - 1, 0)], before),
            "fill_date": labels[rows],
            "ticker": names[columns],
            "side": np.where(shares > 0, "buy", "sell"),
            "shares": np.abs(shares),
            "price": close[rows, columns].round(6),
            "fee": 0.0,
        }
    )[kept]
    trades.to_csv(folder / "trades.csv", index=False)
    pd.DataFrame({"date": labels, "equity": equity}).to_csv(folder / "equity.csv", index=False, float_format="%.4f")
    total = equity[-1] / 1e8 - 1
    (folder / "REPORT.md").write_text(f"# Report\n\n## Summary\n\nThe total return was {total:.2%} over {len(trades):,} trades (fills).\n")
    return {path.name: path for path in folder.iterdir() if path.is_file()}


# -- one delivery -----------------------------------------------------------------------------------------------------


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _package(folder: Path, files: Mapping[str, Path]) -> Any:
    from attrs import evolve

    from finassay.testing.samples import sample_package, sample_task

    said = (("user", "I like momentum."), ("agent", "Everything is in the folder."))
    package = sample_package(folder, {name: path.read_bytes() for name, path in files.items()}, said, task=sample_task())
    return evolve(package, runner=None)


def measure(fills: int) -> dict[str, float]:
    """Seconds that pandas and the checks need for one delivery, wall and CPU. A small delivery is graded first, which imports what the
    checks need; how long that takes, once a process, is told apart."""
    import pandas as pd

    from finassay.catalog.catalog import Catalog

    with tempfile.TemporaryDirectory() as scratch:
        places = [Path(scratch) / name for name in ("source", "store", "warm", "warm-store")]
        for place in places:
            place.mkdir()
        subprocess.run([sys.executable, __file__, "write", str(places[0]), str(fills)], check=True)  # its memory is not ours
        files = {path.name: path for path in places[0].iterdir()}
        started, catalog = _clocks(), Catalog.installed()
        checks = [catalog.create("check", offer.qualified)[0] for offer in catalog.offers("check")]
        warm = _package(places[3], large_delivery(places[2], 60, 20, 4))
        for check in checks:
            check.run(warm, {})
        start = time.perf_counter() - started[0]
        tables = [path for path in files.values() if path.suffix == ".csv"]
        read = [_timed(lambda: [pd.read_csv(path) for path in tables]) for _ in range(3)]
        package = _package(places[1], files)
        wall, cpu = _timed(lambda: [check.run(package, {}) for check in checks])
    return {
        "fills": fills,
        "checks": len(checks),
        "start": start,
        "read_wall": min(r[0] for r in read),
        "read_cpu": min(r[1] for r in read),
        "wall": wall,
        "cpu": cpu,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def _timed(call: Any) -> tuple[float, float]:
    """(wall, CPU) seconds."""
    wall, cpu = _clocks()
    call()
    ended = _clocks()
    return ended[0] - wall, ended[1] - cpu


def _apart(*arguments: object) -> dict[str, float]:
    """What this file prints as JSON, run in a process of its own."""
    done = subprocess.run([sys.executable, __file__, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2_000:])
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def bench_grading() -> None:
    """The large delivery against merely reading its files with pandas, and seconds a million rows of deliveries of other sizes.

    Ratios are of CPU time: Arrow reads with several threads, and other programs may hold the processors.
    """
    for fills in CURVE:
        m = _apart("measure", fills)
        print(
            f"grading {fills:>9,} fills: {m['cpu']:6.2f} s of CPU ({m['wall']:.2f} s), {m['cpu'] / fills * 1e6:6.2f} s a million fills; "
            f"reading with pandas {m['read_cpu']:.3f} s of CPU; peak {m['peak_gb']:.2f} GB"
        )
        if fills == LARGE:
            print(
                f"  the large delivery: {m['checks']:.0f} program checks take {m['cpu'] / m['read_cpu']:.1f} times as long as reading"
                f" (aim: at most 2), peak memory {m['peak_gb']:.2f} GB (aim: under 3); starting the checks, once a process: {m['start']:.1f} s"
            )


# -- stored sessions --------------------------------------------------------------------------------------------------


def stored_run(root: Path, count: int = SESSIONS) -> None:
    """A run of `count` sessions held with the scripted fakes, each with a small delivery of its own."""
    from attrs import evolve

    from finassay.api.task import Brief
    from finassay.runs.folder import RunFolder, SessionKey
    from finassay.session.loop import Participants, Session, Store
    from finassay.testing.fakes import ScriptedAgent, ScriptedSimulator
    from finassay.testing.samples import sample_persona, sample_task

    folder = RunFolder(root)
    task = sample_task(max_turns=1)
    task = evolve(task, conditions=evolve(task.conditions, cutoff=date(2019, 8, 2)))
    folder.write_tasks((task,))
    for number in range(1, count + 1):
        key = SessionKey("scripted", task.id, number)
        with tempfile.TemporaryDirectory() as place:
            made = large_delivery(Path(place), SESSION_DAYS, SESSION_TICKERS, SESSION_FILLS, seed=number)
            files = {name: path.read_bytes() for name, path in made.items()}
        agent = ScriptedAgent(("Everything is in REPORT.md.",), (files,), folder.workspace(key))
        who = Participants(task, sample_persona(), agent, ScriptedSimulator(), Brief("x", "", 1, 30, (), False), None)
        events, sealed = folder.events(key)
        Session(who, Store(events, sealed, folder.blobs, folder.workspace(key))).hold({}, "")
        events.close()
        sealed.close()


def regrade(root: Path, processes: int) -> dict[str, float]:
    """Grade every stored session again, with the checks and the judge that a run has by default."""
    from finassay.config.settings import RunSettings
    from finassay.runs.folder import RunFolder
    from finassay.runs.grade import grade_all

    failed: list[str] = []
    keys = RunFolder(root).sessions()

    def done(key: Any, card: Any, error: str) -> None:
        if card is None:
            failed.append(f"{key.id}: {error}")

    wall, _ = _timed(lambda: grade_all(root, RunSettings(agents={}), keys, processes, done))
    if failed:
        raise RuntimeError(f"{len(failed)} of {len(keys)} sessions were not graded; the first: {failed[0]}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"sessions": len(keys), "seconds": wall, "cpu": used.ru_utime + used.ru_stime}


def bench_regrading() -> None:
    """150 stored sessions in one process and in two; starting the processes is part of it."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "run"
        stored_run(root)
        one, two = (_apart("regrade", root, n) for n in (1, 2))
    for name, m in (("one process", one), ("two processes", two)):
        rate = m["sessions"] / m["seconds"]
        print(f"regrading {m['sessions']:.0f} stored sessions, {name}: {rate:.2f} a second ({m['seconds']:.0f} s, {m['cpu']:.0f} s of CPU)")
    print(f"  two processes to one: {one['seconds'] / two['seconds']:.2f} times as fast (on {os.cpu_count()} processors)")


def main(argv: list[str]) -> None:
    if argv[0] == "write":
        large_delivery(Path(argv[1]), int(argv[2]) // FILLS_A_DAY)
    elif argv[0] == "measure":
        print(json.dumps(measure(int(argv[1]))))
    elif argv[0] == "regrade":
        print(json.dumps(regrade(Path(argv[1]), int(argv[2]))))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main(sys.argv[1:])
