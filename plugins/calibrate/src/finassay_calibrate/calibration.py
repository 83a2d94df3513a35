"""What the command does: the three parts, progress, tables, files."""

import os
import time
from datetime import datetime
from pathlib import Path

import click
from attrs import frozen
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from finassay_calibrate.faults import FAULTS
from finassay_calibrate.measure.checks import ChecksResult, measure
from finassay_calibrate.measure.grading import BY_ID
from finassay_calibrate.measure.job import JobResult
from finassay_calibrate.measure.result import Attack, Calibration, shortfalls, write


@frozen
class Request:
    """The options of the command."""

    clean: int
    per_fault: int
    faults: tuple[str, ...]
    seed: int
    jobs: int
    only: str | None
    minutes: float
    judge: str
    simulator: str
    out: str

    @property
    def line(self) -> str:
        """The command as it can be typed again."""
        parts = [f"finassay calibrate --clean {self.clean} --per-fault {self.per_fault} --seed {self.seed}"]
        parts += [f"--fault {name}" for name in self.faults]
        parts += [f"--only {self.only}"] if self.only else []
        parts += [f"--minutes {self.minutes:g}"] if self.minutes else []
        return " ".join([*parts, "--out DIR"])


def calibration(request: Request) -> Calibration:
    """Run what is asked for, print it, write it. Raises `click.BadParameter` for an unknown fault."""
    unknown = [name for name in request.faults if name not in FAULTS]
    if unknown:
        raise click.BadParameter(f"no fault is called {unknown[0]!r}; known: {', '.join(sorted(FAULTS))}", param_hint="--fault")
    begun = time.monotonic()
    console = Console()
    checks = _checks(request, console) if request.only in (None, "checks") else None
    judges: tuple[Attack, ...] = ()
    simulators: tuple[Attack, ...] = ()
    if request.only in (None, "judges"):
        from finassay_calibrate.parties.judges import attack_judge

        judges = attack_judge(request.judge, request.seed)
    if request.only in (None, "simulators"):
        from finassay_calibrate.parties.simulators import attack_simulator

        simulators = attack_simulator(request.simulator, request.seed)
    found = Calibration(datetime.now(), request.line, time.monotonic() - begun, checks, judges, simulators)
    show(found, console)
    data, page = write(found, Path(request.out))
    console.print(f"\nPage: {page}\nData: {data}")
    return found


def _checks(request: Request, console: Console) -> ChecksResult:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # many small matrices: threads only get into each other's way
    processes = request.jobs or max(1, os.cpu_count() or 1)
    columns = (TextColumn("clean deliveries"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[told]}"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=request.clean, told="")
        counts = {"vetoed": 0, "planted": 0, "found": 0}

        def done(result: JobResult) -> None:
            counts["vetoed"] += bool(result.clean.vetoed)
            counts["planted"] += len(result.faults)
            counts["found"] += sum(f.found for f in result.faults)
            told = f"{counts['vetoed']} vetoed, {counts['found']} of {counts['planted']} faults found"
            progress.update(task, advance=1, told=told)
            if not console.is_terminal:
                _log(result, told)

        return measure(request.clean, request.per_fault, request.seed, processes, done, request.faults, request.minutes)


def _log(result: JobResult, told: str) -> None:
    """A line a delivery where there is no bar: what was vetoed, what was missed."""
    clean = result.clean
    missed = [f"{f.fault} ({f.before} to {f.level}; {','.join(f.others)})" for f in result.faults if not f.found]
    click.echo(f"{clean.id}: {clean.error or ', '.join(clean.vetoed) or 'clean'}; missed: {', '.join(missed) or 'none'}; so far {told}")


def show(found: Calibration, console: Console) -> None:
    """The tables of the terminal."""
    if found.checks is not None:
        _show_clean(found.checks, console)
        _show_faults(found.checks, console)
    for title, attacks in (("Judges", found.judges), ("Simulators", found.simulators)):
        if attacks:
            table = Table(title=title, title_justify="left")
            for name, justify in (("who", "left"), ("attack", "left"), ("tried", "right"), ("failed", "right")):
                table.add_column(name, justify=justify)  # type: ignore[arg-type]
            for a in attacks:
                table.add_row(a.party, a.kind, str(a.tried), str(a.failed), style="red" if a.failed else None)
            console.print(table)
    short = shortfalls(found)
    console.print("[green]Every goal holds.[/]" if not short else f"[yellow]{len(short)} goals are missed:[/]")
    for line in short:
        console.print(f"  {line}", markup=False)


def _show_clean(checks: ChecksResult, console: Console) -> None:
    table = Table(title=f"{len(checks.made)} clean deliveries, {len(checks.vetoed)} vetoed", title_justify="left")
    table.add_column("veto dimension")
    table.add_column("false vetoes", justify="right")
    table.add_column("of", justify="right")
    for dimension, (bad, of) in checks.false_vetoes().items():
        table.add_row(f"{dimension} {BY_ID[dimension].title}", str(bad), str(of), style="red" if bad else None)
    console.print(table)


def _show_faults(checks: ChecksResult, console: Console) -> None:
    table = Table(title="Planted faults", title_justify="left")
    for name in ("fault", "dimension"):
        table.add_column(name)
    for name in ("planted", "found", "other veto", "none", "rate"):
        table.add_column(name, justify="right")
    for t in checks.tallies:
        rate = f"{t.rate:.1%}" if t.planted else "-"
        row = (t.fault, t.dimension, str(t.planted), str(t.found), str(t.others), str(t.none), rate)
        table.add_row(*row, style=None if t.good else "red")
    console.print(table)
