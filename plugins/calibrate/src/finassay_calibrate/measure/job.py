"""One job of a worker: a clean delivery, its grading, and the faults planted in it. Results are plain data."""

import tempfile
import traceback
from pathlib import Path

from attrs import Factory, frozen

from finassay.api.strategy import Strategy
from finassay_calibrate.clean.build import Builder, draft_of, reference, setup_of
from finassay_calibrate.clean.deliver import package_of
from finassay_calibrate.clean.draft import Draft
from finassay_calibrate.faults import FAULTS, plant
from finassay_calibrate.measure.grading import VETOES, Grade, grades


@frozen
class Job:
    """Which strategy, in which seed's layout, by which builder, with which faults. `grade_all` grades every dimension of the clean one."""

    strategy: Strategy
    seed: int
    builder: str = "reference"
    faults: tuple[str, ...] = ()
    limit: int = 6
    """Faults planted at most: those that a draft cannot hold do not count."""


@frozen
class CleanResult:
    """A clean delivery: what failed although nothing is wrong. `error` says why it was not made or graded."""

    id: str
    builder: str
    layout: str
    parts: tuple[str, ...]
    grades: dict[str, Grade] = Factory(dict)
    error: str = ""

    @property
    def vetoed(self) -> tuple[str, ...]:
        return tuple(d for d in VETOES if d in self.grades and self.grades[d].failed(d))

    @property
    def unscored(self) -> tuple[str, ...]:
        return tuple(d for d, g in self.grades.items() if g.outcome == "unscored")


@frozen
class FaultResult:
    """A planted fault. `found` is the expected dimension's doing, `others`, looked at only if it does nothing, are vetoes of other
    dimensions that the clean one passed."""

    fault: str
    delivery: str
    found: bool
    others: tuple[str, ...]
    level: int | None = None
    before: int | None = None
    reason: str = ""
    error: str = ""


@frozen
class JobResult:
    clean: CleanResult
    faults: tuple[FaultResult, ...] = ()


def builders() -> dict[str, Builder]:
    """The builders that can be had here: the reference engine, and other libraries where they are installed."""
    from finassay_calibrate.clean.libraries import installed

    return {"reference": reference} | installed()


def graded(draft: Draft, dimensions: frozenset[str] | None) -> dict[str, Grade]:
    with tempfile.TemporaryDirectory(prefix="finassay-calibrate-") as folder:
        return grades(package_of(draft, Path(folder)), dimensions)


def run(job: Job) -> JobResult:
    """Make, grade, plant, grade. What goes wrong on the way is told in the result, never raised."""
    from finassay_calibrate.clean.strategies import parts

    setup = setup_of(job.strategy, job.seed, job.builder)
    about = (setup.id, job.builder, setup.layout.name, tuple(sorted(parts(job.strategy))))
    try:
        draft = draft_of(setup, builders()[job.builder])
        before = graded(draft, None)
    except ValueError as error:
        return JobResult(CleanResult(*about, error=f"not made: {error}"))
    except Exception as error:  # grading may crash on anything; that is a result of the calibration
        return JobResult(CleanResult(*about, error=_told(error)))
    found: list[FaultResult] = []
    for name in job.faults:
        if len(found) >= job.limit:
            break
        made = _planted(name, draft, before, job.seed)
        if made is not None:
            found.append(made)
    return JobResult(CleanResult(*about, before), tuple(found))


def _planted(name: str, draft: Draft, before: dict[str, Grade], seed: int) -> FaultResult | None:
    """None where the draft cannot hold the fault, or where the clean delivery already fails there."""
    one = FAULTS[name]
    base = before[one.dimension]
    if one.shows == "veto" and base.failed(one.dimension):
        return None
    if one.shows != "veto" and not base.level:
        return None
    try:
        spoiled = plant(name, draft, seed)
        if spoiled is None:
            return None
        now = graded(spoiled, frozenset({one.dimension}))[one.dimension]
        lower = now.level is not None and (base.level is None or now.level < base.level)
        found = now.failed(one.dimension) if one.shows == "veto" else lower or (one.shows == "finding" and now.named and not base.named)
        others = () if found else _others(spoiled, one.dimension, before)
    except Exception as error:  # as above
        return FaultResult(name, draft.setup.id, False, (), error=_told(error))
    return FaultResult(name, draft.setup.id, found, others, now.level, base.level, now.reason[:300])


def _others(spoiled: Draft, own: str, before: dict[str, Grade]) -> tuple[str, ...]:
    """Vetoes of other dimensions that fail now and did not fail before."""
    wanted = frozenset(d for d in VETOES if d != own and not before[d].failed(d))
    return tuple(d for d, grade in graded(spoiled, wanted).items() if grade.failed(d))


def _told(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"[:300]
