"""`finassay grade`."""

import os
from pathlib import Path
from typing import Any

import click

from finassay.api.errors import BudgetError, FinassayError, NothingGradedError, PreflightError, UsageError

DROPPED = 0.0
"""A budget that is given as `0` or `none`: the run's own no longer holds."""


class Dollars(click.ParamType[float]):
    """An amount of dollars, or `0` or `none` for no limit."""

    name = "dollars"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if str(value).strip().lower() in ("none", "off"):
            return DROPPED
        try:
            amount = float(value)
        except ValueError:
            amount = -1.0
        if not 0 <= amount < float("inf"):
            self.fail(f"{value!r} is no amount of dollars: expected a number above 0, or 'none' for no limit", param, ctx)
        return amount


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--session", help="Only this session.")
@click.option(
    "--judge", help="Grade with this judge and the options given here; it takes over none of the run's.  [default: the run's judge]"
)
@click.option("--guidance", multiple=True, help="Guidance pack for the judge in place of the run's own; 'none' for none. Repeatable.")
@click.option("--jobs", type=click.IntRange(min=0), default=0, help="Gradings at the same time.  [default: one for each processor]")
@click.option(
    "-o", "--option", "options", multiple=True, help="Option of the judge: judge.KEY=VALUE. Without --judge it amends the run's judge."
)
@click.option(
    "--budget", type=Dollars(), help="Dollars that the run may cost, with what it has cost already; 0 or 'none' drops the run's budget."
)
@click.option("--session-budget", type=Dollars(), help="The same for one session.")
def grade(
    run: Path,
    session: str | None,
    judge: str | None,
    guidance: tuple[str, ...],
    jobs: int,
    options: tuple[str, ...],
    budget: float | None,
    session_budget: float | None,
) -> None:
    """Grade stored sessions again. Nothing is held again; earlier gradings by other evaluators stay beside the new one.

    Without --judge and -o the run's own judge grades, with its own options. A judge is another one also if only its options differ. What a
    model has answered once for this run is not asked again.
    """
    from finassay.api.scorecard import Scorecard
    from finassay.catalog.catalog import Catalog
    from finassay.cli.progress import RunProgress
    from finassay.cli.render import console, is_graded, print_run
    from finassay.cli.run import raise_unfinished
    from finassay.cli.words import count
    from finassay.config.settings import recorded_settings
    from finassay.runs.folder import RunFolder, SessionKey
    from finassay.runs.grade import grade_all, unreached
    from finassay.runs.view import run_view

    folder = RunFolder(run)
    recorded = recorded_settings(folder.manifest(), folder.manifest_path)
    settings = regrading(recorded, judge, options, {"budget_usd": budget, "session_budget_usd": session_budget}, guidance)
    whose = whose_budget(recorded, {"budget_usd": budget, "session_budget_usd": session_budget})
    _refuse_early(Catalog.installed(), settings, run, whose)
    failed: list[SessionKey] = []
    graded: list[SessionKey] = []
    spent: dict[SessionKey, Exception] = {}
    lost: dict[SessionKey, Exception] = {}
    with folder.locked():
        keys = [folder.find(session)] if session else folder.sessions()
        ended = [key for key in keys if folder.state(key).ended is not None]
        with RunProgress(len(ended)) as progress:

            def done(key: SessionKey, card: Scorecard | None, problem: Exception | None) -> None:
                if card is None:
                    if isinstance(problem, BudgetError):
                        spent[key] = problem
                    else:
                        failed.append(key)
                    progress.problem(key, f"not graded: {type(problem).__name__}: {problem}")
                else:
                    if is_graded(card):
                        graded.append(key)
                    if (lacking := unreached(card)) is not None:
                        lost[key] = lacking
                    progress.graded(key, card, "" if is_graded(card) else folder.state(key).end_detail)

            grade_all(folder.root, settings, ended, jobs or os.cpu_count() or 1, done)
        if len(ended) < len(keys):
            click.echo(f"left alone, because not ended: {count(len(keys) - len(ended), 'session')}", err=True)
        print_run(console(), run_view(folder))
    if spent and whose:
        first = next(iter(spent.values()))
        raise BudgetError(f"{first}; not graded: {count(len(spent), 'session')}", hint=whose)
    raise_unfinished({**spent, **lost})
    if failed:
        raise FinassayError(f"{len(failed)} of {count(len(ended), 'session')} could not be graded", hint="Their lines above say why.")
    if ended and not graded:
        raise NothingGradedError(
            f"no session could be graded ({count(len(ended), 'session')} tried)", hint="Their lines above say how each ended."
        )


def _refuse_early(catalog: Any, settings: Any, run: Path, whose: str) -> None:
    """Every problem of judge, checks and budget is told before anything is graded. Raises `PreflightError`; `whose` explains the budget."""
    from finassay.runs.build import build_grading, model_service

    service = model_service(catalog, settings, run)
    try:
        build_grading(catalog, settings, service)
    except PreflightError as error:
        if not whose or not service.problems():
            raise
        problems = (*error.problems, whose)
        raise PreflightError("the run was not graded: " + "; ".join(problems), problems=problems) from error


def whose_budget(recorded: Any, given: dict[str, float | None]) -> str:
    """Which budgets are those that the run was begun with, in words; empty if none is."""
    own = [
        f"{option} {getattr(recorded, name):g}"
        for name, option in (("budget_usd", "--budget"), ("session_budget_usd", "--session-budget"))
        if given.get(name) is None and getattr(recorded, name) is not None
    ]
    return f"the run was begun with {' and '.join(own)}, which holds here as well: give another amount, or 0 for none" if own else ""


def regrading(
    settings: Any, judge: str | None, options: tuple[str, ...], money: dict[str, float | None], guidance: tuple[str, ...] = ()
) -> Any:
    """A run's settings with another judge, other options, guidance or budgets, and the providers' settings as they are now.

    A judge that is named has the options that are given, and no others, also if it is the run's own; where none is named, they amend those
    of the run's judge. Raises `UsageError`.
    """
    from pydantic import ValidationError

    from finassay.api.amiss import first_amiss
    from finassay.config.settings import RunSettings, parse_options, provider_settings

    given = parse_options(options)
    if given.keys() - {"judge"}:
        raise UsageError(f"option for {min(given.keys() - {'judge'})!r}, which takes no part in grading", hint="Expected judge.KEY=VALUE.")
    kept = {} if judge else settings.judge.options
    chosen = {"id": judge or settings.judge.id, "options": {**kept, **given.get("judge", {})}}
    limits = {name: value or None for name, value in money.items() if value is not None}
    packs = {"guidance": tuple(dict.fromkeys(name for name in guidance if name != "none"))} if guidance else {}
    merged = {**settings.model_dump(), "models": provider_settings(settings, Path.cwd()), "judge": chosen, **packs, **limits}
    try:
        return RunSettings.model_validate(merged)
    except ValidationError as error:
        amiss = first_amiss(error, RunSettings)
        raise UsageError(amiss.line("setting"), hint=amiss.hint) from error
