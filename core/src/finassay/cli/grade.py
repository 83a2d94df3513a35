"""`finassay grade`."""

import os
from pathlib import Path

import click

from finassay.api.errors import FinassayError, NothingGradedError


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--session", help="Only this session.")
@click.option("--judge", help="Grade with another judge than the run was made with.")
@click.option("--jobs", type=click.IntRange(min=0), default=0, help="Gradings at the same time.  [default: one for each processor]")
def grade(run: Path, session: str | None, judge: str | None, jobs: int) -> None:
    """Grade stored sessions again. Nothing is held again; earlier gradings by other evaluators stay beside the new one."""
    from finassay.api.scorecard import Scorecard
    from finassay.catalog.catalog import Catalog
    from finassay.cli.progress import RunProgress
    from finassay.cli.render import console, is_graded, print_run
    from finassay.cli.words import count
    from finassay.config.settings import Choice, recorded_settings
    from finassay.runs.build import build_grading
    from finassay.runs.folder import RunFolder, SessionKey
    from finassay.runs.grade import grade_all
    from finassay.runs.view import run_view

    folder = RunFolder(run)
    settings = recorded_settings(folder.manifest(), folder.manifest_path)
    if judge:
        settings = settings.model_copy(update={"judge": Choice(id=judge)})
    build_grading(Catalog.installed(), settings)  # every problem of judge and checks is told before anything is graded
    failed: list[SessionKey] = []
    graded: list[SessionKey] = []
    with folder.locked():
        keys = [folder.find(session)] if session else folder.sessions()
        ended = [key for key in keys if folder.state(key).ended is not None]
        with RunProgress(len(ended)) as progress:

            def done(key: SessionKey, card: Scorecard | None, problem: str) -> None:
                if card is None:
                    failed.append(key)
                    progress.problem(key, problem)
                else:
                    if is_graded(card):
                        graded.append(key)
                    progress.graded(key, card, "" if is_graded(card) else folder.state(key).end_detail)

            grade_all(folder.root, settings, ended, jobs or os.cpu_count() or 1, done)
        if len(ended) < len(keys):
            click.echo(f"left alone, because not ended: {count(len(keys) - len(ended), 'session')}", err=True)
        print_run(console(), run_view(folder))
    if failed:
        raise FinassayError(f"{len(failed)} of {count(len(ended), 'session')} could not be graded", hint="Their lines above say why.")
    if ended and not graded:
        raise NothingGradedError(
            f"no session could be graded ({count(len(ended), 'session')} tried)", hint="Their lines above say how each ended."
        )
