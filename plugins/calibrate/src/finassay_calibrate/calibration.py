"""What the command does: the three parts, progress, tables, files."""

import os
import shlex
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from attrs import frozen
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from finassay.catalog.catalog import Catalog
from finassay.config.settings import RunSettings, parse_value, provider_settings
from finassay.models.service import ModelService
from finassay.runs.build import model_service
from finassay_agree.agreeing import Request as Labelled
from finassay_agree.agreeing import agreeing
from finassay_agree.agreeing import show as show_agreement
from finassay_agree.measure import Comparison
from finassay_calibrate.faults import FAULTS
from finassay_calibrate.measure.checks import ChecksResult, measure
from finassay_calibrate.measure.grading import BY_ID
from finassay_calibrate.measure.job import JobResult
from finassay_calibrate.measure.page import write
from finassay_calibrate.measure.result import Attack, Calibration, shortfalls


@frozen
class Party:
    """A judge or simulator to be attacked, with its options as they were typed; the rest is about judges."""

    id: str
    typed: tuple[str, ...] = ()
    deliveries: int = 4
    repeats: int = 3
    labels: str | None = None
    labelled_run: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Raises `click.BadParameter` for what is no KEY=VALUE."""
        found = {}
        for pair in self.typed:
            key, separator, value = pair.partition("=")
            if not separator or not key:
                raise click.BadParameter(f"{pair!r} is not KEY=VALUE", param_hint="--judge-option or --simulator-option")
            found[key] = parse_value(value)
        return found

    def typed_again(self, kind: str, default: str) -> list[str]:
        named = [f"--{kind} {self.id}"] if self.id != default else []
        return named + [f"--{kind}-option {shlex.quote(pair)}" for pair in self.typed]


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
    judge: Party
    simulator: Party
    out: str
    budget: float | None = None

    @property
    def line(self) -> str:
        """The command as it can be typed again."""
        parts = [f"finassay calibrate --clean {self.clean} --per-fault {self.per_fault} --seed {self.seed}"]
        parts += [f"--fault {name}" for name in self.faults]
        parts += [f"--only {self.only}"] if self.only else []
        parts += [f"--minutes {self.minutes:g}"] if self.minutes else []
        parts += self.judge.typed_again("judge", "lexical") + self.simulator.typed_again("simulator", "policy")
        return " ".join([*parts, "--out DIR"])


def calibration(request: Request) -> Calibration:
    """Run what is asked for, print it, write it. Raises `click.BadParameter` for an unknown fault."""
    unknown = [name for name in request.faults if name not in FAULTS]
    if unknown:
        raise click.BadParameter(f"no fault is called {unknown[0]!r}; known: {', '.join(sorted(FAULTS))}", param_hint="--fault")
    begun = time.monotonic()
    console = Console()
    checks = _checks(request, console) if request.only in (None, "checks") else None
    judges, agreement = _judges(request) if request.only in (None, "judges") else ((), ())
    simulators = _simulators(request) if request.only in (None, "simulators") else ()
    found = Calibration(datetime.now(), request.line, time.monotonic() - begun, checks, judges, simulators, agreement)
    show(found, console)
    data, page = write(found, Path(request.out))
    console.print(f"\nPage: {page}\nData: {data}")
    return found


def _models(request: Request) -> ModelService:
    """Models for judge and simulator; what they answer is kept under the folder of the calibration."""
    settings = RunSettings(agents={}, budget_usd=request.budget)
    settings = settings.model_copy(update={"models": provider_settings(settings, Path.cwd())})
    return model_service(Catalog.installed(), settings, Path(request.out))


def _judges(request: Request) -> tuple[tuple[Attack, ...], tuple[Comparison, ...]]:
    """Attacks on the judge, and how far it agrees with itself and with labels."""
    from finassay_calibrate.parties.judges import attack_judge

    party = request.judge
    found = attack_judge(party.id, request.seed, party.options, _models(request).to("judge"), party.deliveries, party.repeats)
    if party.labels is None or party.labelled_run is None:
        return found.attacks, found.agreement
    spec = " ".join([party.id, *map(shlex.quote, party.typed)])
    labels = agreeing(Labelled(Path(party.labelled_run), (spec,), 1, Path(party.labels), (), (), 2_000, request.seed, None))
    return found.attacks, (*found.agreement, *labels)


def _simulators(request: Request) -> tuple[Attack, ...]:
    from finassay_calibrate.parties.simulators import attack_simulator

    party = request.simulator
    return attack_simulator(party.id, request.seed, party.options, _models(request).to("simulator"))


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
    for comparison in found.agreement:
        show_agreement(comparison, console)
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
