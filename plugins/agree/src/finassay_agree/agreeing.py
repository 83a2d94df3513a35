"""What the command does: who is compared with whom, tables, file."""

import json
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import combinations, product
from pathlib import Path
from typing import Any

from attrs import frozen
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from finassay.api.errors import UsageError
from finassay.config.settings import provider_settings, recorded_settings
from finassay.grading.dimensions import DIMENSIONS
from finassay.records.files import write_atomically
from finassay.runs.folder import RunFolder, SessionKey
from finassay_agree.gradings import JUDGED, SHARED, graded, raters, stored_ratings
from finassay_agree.measure import Agreement, Comparison, compare
from finassay_agree.ratings import Ratings, of_file

KIND = "finassay-agreement"
SCHEMA = 1
MAX_COMPARISONS = 12
WIDTH = 22
"""Characters of a title, so that a table fits a terminal of 80."""


@frozen
class Request:
    """The options of the command."""

    run: Path
    judges: tuple[str, ...]
    repeats: int
    labels: Path | None
    sessions: tuple[str, ...]
    dimensions: tuple[str, ...]
    draws: int
    seed: int
    out: Path | None


def agreeing(request: Request) -> list[Comparison]:
    """Measure, print, write. Raises `UsageError` for options that do not fit together, and what grading raises."""
    if request.repeats > 1 and (len(request.judges) != 1 or request.labels):
        raise UsageError("--repeats is about one judge and itself", hint="Name it with --judge, without --labels.")
    if len(request.judges) == 1 and request.repeats == 1 and not request.labels:
        raise UsageError("--judge alone is compared with nobody", hint="Add --repeats or --labels, or name two with --judges.")
    dimensions = _dimensions(request.dimensions)
    folder = RunFolder(request.run)
    settings = recorded_settings(folder.manifest(), folder.manifest_path)
    settings = settings.model_copy(update={"models": provider_settings(settings, Path.cwd())})
    keys = [folder.find(name) for name in request.sessions] or folder.sessions()
    keys = [key for key in keys if folder.state(key).ended is not None]
    console = Console()
    with folder.locked() if request.judges else nullcontext():  # asking a model writes into the run
        pairs = _pairs(request, folder, settings, keys, dimensions, console)
    found = [
        c for first, second in pairs if (c := compare(first, second, dimensions, draws=request.draws, seed=request.seed)).by_dimension
    ][:MAX_COMPARISONS]
    if not found:
        raise UsageError("there is nothing that two rated", hint="Grade the run with a second judge, or name judges with --judges.")
    for one in found:
        show(one, console)
    if request.out:
        data = {"kind": KIND, "schema_version": SCHEMA, "run": request.run.name, "draws": request.draws, "seed": request.seed}
        data["comparisons"] = [one.json() for one in found]
        write_atomically(request.out, (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode())
        console.print(f"Data: {request.out}", markup=False)
    return found


def _dimensions(wanted: tuple[str, ...]) -> tuple[str, ...]:
    known = {d.id for d in DIMENSIONS}
    wrong = [name for name in wanted if name not in known]
    if wrong:
        raise UsageError(f"{wrong[0]!r} is no dimension", hint=f"Dimensions: {', '.join(d.id for d in DIMENSIONS)}.")
    return wanted or JUDGED


def _pairs(
    request: Request, folder: RunFolder, settings: Any, keys: Sequence[SessionKey], dimensions: tuple[str, ...], console: Console
) -> list[tuple[Ratings, Ratings]]:
    if request.judges:
        made = raters(folder, settings, request.judges, request.repeats)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task("grading", total=len(keys) * len(made))
            own = graded(folder, keys, made, dimensions, lambda session, judge: progress.advance(task))
    else:
        own = stored_ratings(folder, keys)
        own = own[:1] if request.labels else own
    if request.labels is None:
        return list(combinations(own, 2))
    people = of_file(request.labels, [key.id for key in keys])
    return [*product(own, people), *combinations(people, 2)]


def show(found: Comparison, console: Console) -> None:
    """One table: a line a dimension, and one for all."""
    table = Table(title=Text(f"{found.first}  ~  {found.second}"), title_justify="left", box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("dimension", no_wrap=True)
    for name in ("pairs", "exact", "+-1", "kappa", "95 %", "bias", "missing"):
        table.add_column(name, justify="right", no_wrap=True)
    titles = {d.id: d.title for d in DIMENSIONS}
    for one in found.by_dimension:
        mark = " *" if one.dimension in SHARED else ""
        table.add_row(f"{one.dimension} {titles[one.dimension][:WIDTH]}{mark}", *_cells(one))
    table.add_section()
    table.add_row(f"all, {found.overall.sessions} sessions", *_cells(found.overall), style="bold")
    console.print(table)
    console.print(
        "+-1: levels at most one apart; kappa with quadratic weights and its interval; bias: the second's level minus the first's;\n"
        "missing: no verdict of the first, of the second, of both",
        markup=False,
    )
    if any(one.dimension in SHARED for one in found.by_dimension):
        console.print("* programs decide most of it, so agreement there is theirs", markup=False)
    if found.uncommon:
        console.print(f"left out: {found.uncommon} that only one of them rated or that apply to one only", markup=False)


def _cells(one: Agreement) -> tuple[str, ...]:
    return (
        str(one.pairs),
        _number(one.exact, ".0%"),
        _number(one.adjacent, ".0%"),
        _number(one.kappa, ".2f"),
        f"{one.kappa_interval[0]:.2f}, {one.kappa_interval[1]:.2f}" if one.kappa_interval else "",
        _number(one.bias, "+.2f"),
        f"{one.first_abstained}/{one.second_abstained}/{one.both_abstained}",
    )


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"
