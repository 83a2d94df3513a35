"""All jobs over a pool of processes, and the rates."""

import multiprocessing
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed

from attrs import frozen

from finassay_calibrate.clean.strategies import strategies
from finassay_calibrate.faults import FAULTS
from finassay_calibrate.measure.grading import VETOES
from finassay_calibrate.measure.job import CleanResult, FaultResult, Job, JobResult, builders, run

GOAL = 0.99


def jobs(clean: int, per_fault: int, seed: int) -> list[Job]:
    """One job for each clean delivery; one in three of those that a library can hold is built by one that is installed.

    Every job is offered all faults in an order of its own and takes as many as its share of the whole; kinds that few strategies can hold
    are taken first.
    """
    others = [name for name in builders() if name != "reference"]
    share = -(-per_fault * len(FAULTS) // max(clean, 1))
    made = []
    for k, strategy in enumerate(strategies(seed, clean)):
        # These rules look at the portfolio's own path, and a library's path is not the one on which the decisions were made.
        own_path = ("position_stop", "trailing_stop", "drawdown_to_cash")
        whole = strategy.choices["schedule"] != ("drift_band",) and strategy.choices["risk"][0] not in own_path
        builder = others[k % len(others)] if others and whole and k % 3 == 2 else "reference"
        made.append(Job(strategy, seed, builder, (), share))
    return made


@frozen
class Tally:
    """Of one kind of fault."""

    fault: str
    dimension: str
    shows: str
    planted: int
    found: int
    others: int
    """Not found by its own dimension, but another veto failed."""
    none: int
    errors: int
    misses: tuple[FaultResult, ...] = ()

    @property
    def rate(self) -> float:
        return self.found / self.planted if self.planted else float("nan")

    @property
    def good(self) -> bool:
        return self.planted > 0 and self.rate >= GOAL


@frozen
class ChecksResult:
    clean: tuple[CleanResult, ...]
    tallies: tuple[Tally, ...]

    @property
    def made(self) -> tuple[CleanResult, ...]:
        return tuple(c for c in self.clean if c.grades)

    @property
    def vetoed(self) -> tuple[CleanResult, ...]:
        return tuple(c for c in self.made if c.vetoed)

    def false_vetoes(self) -> dict[str, tuple[int, int]]:
        """Dimension to (false vetoes, clean deliveries in which it has a level)."""
        return {
            d: (sum(d in c.vetoed for c in self.made), sum(d in c.grades and c.grades[d].level is not None for c in self.made))
            for d in VETOES
        }


def measure(
    clean: int, per_fault: int, seed: int, processes: int, done: Callable[[JobResult], None], only: Iterable[str] = (), minutes: float = 0
) -> ChecksResult:
    """Grade everything. Jobs are handed out one by one, each with the faults that are still wanted most; none after `minutes`, if given."""
    wanted = dict.fromkeys(only or FAULTS, per_fault)
    planted: dict[str, list[FaultResult]] = defaultdict(list)
    results: list[CleanResult] = []
    until = time.monotonic() + minutes * 60 if minutes else float("inf")
    for result in _pooled(jobs(clean, per_fault, seed), wanted, processes, until):
        results.append(result.clean)
        for fault in result.faults:
            planted[fault.fault].append(fault)
        done(result)
    return ChecksResult(tuple(results), tuple(tally(name, planted[name]) for name in wanted))


def _pooled(todo: list[Job], wanted: dict[str, int], processes: int, until: float) -> Iterator[JobResult]:
    from attrs import evolve

    left = dict(wanted)
    waiting = list(reversed(todo))
    if processes <= 1:
        while waiting and time.monotonic() < until:
            result = run(evolve(waiting.pop(), faults=_order(left, len(waiting))))
            _count(result, left)
            yield result
        return
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"), max_tasks_per_child=40) as pool:
        running: set[Future[JobResult]] = set()
        while (waiting and time.monotonic() < until) or running:
            while waiting and time.monotonic() < until and len(running) < processes:
                running.add(pool.submit(run, evolve(waiting.pop(), faults=_order(left, len(waiting)))))
            future = next(as_completed(running))
            running.remove(future)
            result = future.result()
            _count(result, left)
            yield result


def _order(left: dict[str, int], turn: int) -> tuple[str, ...]:
    """Kinds that are still wanted, those that are missing most first; jobs that run side by side begin at other places."""
    names = [name for name, count in left.items() if count > 0]
    begin = turn * 37 % len(names) if names else 0
    return tuple(sorted(names[begin:] + names[:begin], key=lambda name: -left[name]))


def _count(result: JobResult, left: dict[str, int]) -> None:
    for fault in result.faults:
        left[fault.fault] -= 1


def tally(name: str, results: list[FaultResult]) -> Tally:
    found = [r for r in results if r.found]
    missed = [r for r in results if not r.found and not r.error]
    others = [r for r in missed if r.others]
    one = FAULTS[name]
    return Tally(
        name,
        one.dimension,
        one.shows,
        len(results),
        len(found),
        len(others),
        len(missed) - len(others),
        sum(bool(r.error) for r in results),
        tuple(r for r in results if not r.found),
    )
