"""`finassay grade`."""

import os
from pathlib import Path
from typing import Any

import click

from finassay.api.errors import BudgetError, FinassayError, NothingGradedError, UsageError


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--session", help="Only this session.")
@click.option("--judge", help="Grade with another judge than the run was made with.")
@click.option("--jobs", type=click.IntRange(min=0), default=0, help="Gradings at the same time.  [default: one for each processor]")
@click.option("-o", "--option", "options", multiple=True, help="Option of the judge: judge.KEY=VALUE.")
@click.option("--budget", type=float, help="Dollars that the run may cost, with what it has cost already.")
@click.option("--session-budget", type=float, help="Dollars that one session may cost, with what it has cost already.")
def grade(
    run: Path,
    session: str | None,
    judge: str | None,
    jobs: int,
    options: tuple[str, ...],
    budget: float | None,
    session_budget: float | None,
) -> None:
    """Grade stored sessions again. Nothing is held again; earlier gradings by other evaluators stay beside the new one.

    A judge is another one also if only its options differ. What a model has answered once for this run is not asked again.
    """
    from finassay.api.scorecard import Scorecard
    from finassay.catalog.catalog import Catalog
    from finassay.cli.progress import RunProgress
    from finassay.cli.render import console, is_graded, print_run
    from finassay.cli.run import raise_unfinished
    from finassay.cli.words import count
    from finassay.config.settings import recorded_settings
    from finassay.runs.build import build_grading, model_service
    from finassay.runs.folder import RunFolder, SessionKey
    from finassay.runs.grade import grade_all
    from finassay.runs.view import run_view

    folder = RunFolder(run)
    settings = recorded_settings(folder.manifest(), folder.manifest_path)
    settings = regrading(settings, judge, options, {"budget_usd": budget, "session_budget_usd": session_budget})
    catalog = Catalog.installed()
    build_grading(
        catalog, settings, model_service(catalog, settings, run)
    )  # every problem of judge and checks is told before anything is graded
    failed: list[SessionKey] = []
    graded: list[SessionKey] = []
    spent: dict[SessionKey, Exception] = {}
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
                    progress.graded(key, card, "" if is_graded(card) else folder.state(key).end_detail)

            grade_all(folder.root, settings, ended, jobs or os.cpu_count() or 1, done)
        if len(ended) < len(keys):
            click.echo(f"left alone, because not ended: {count(len(keys) - len(ended), 'session')}", err=True)
        print_run(console(), run_view(folder))
    raise_unfinished(spent)
    if failed:
        raise FinassayError(f"{len(failed)} of {count(len(ended), 'session')} could not be graded", hint="Their lines above say why.")
    if ended and not graded:
        raise NothingGradedError(
            f"no session could be graded ({count(len(ended), 'session')} tried)", hint="Their lines above say how each ended."
        )


def regrading(settings: Any, judge: str | None, options: tuple[str, ...], money: dict[str, float | None]) -> Any:
    """A run's settings with another judge, other options or budgets, and the providers' settings as they are now.

    Options of the run's own judge stay where no other is named. Raises `UsageError`.
    """
    from pydantic import ValidationError

    from finassay.config.settings import RunSettings, parse_options, provider_settings

    given = parse_options(options)
    if given.keys() - {"judge"}:
        raise UsageError(f"option for {min(given.keys() - {'judge'})!r}, which takes no part in grading", hint="Expected judge.KEY=VALUE.")
    same = judge is None or judge == settings.judge.id
    chosen = {"id": judge or settings.judge.id, "options": {**(settings.judge.options if same else {}), **given.get("judge", {})}}
    limits = {name: value for name, value in money.items() if value is not None}
    merged = {**settings.model_dump(), "models": provider_settings(settings, Path.cwd()), "judge": chosen, **limits}
    try:
        return RunSettings.model_validate(merged)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
