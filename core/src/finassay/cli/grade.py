"""`finassay grade`."""

import os
from pathlib import Path

import click

from finassay.api.errors import FinassayError


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--session", help="Only this session.")
@click.option("--judge", help="Grade with another judge than the run was made with.")
@click.option("--jobs", type=int, default=0, help="Gradings at the same time.  [default: one for each processor]")
def grade(run: Path, session: str | None, judge: str | None, jobs: int) -> None:
    """Grade stored sessions again. Nothing is held again; earlier gradings by other evaluators stay beside the new one."""
    from finassay.api.scorecard import Scorecard
    from finassay.cli.progress import RunProgress
    from finassay.cli.render import console, print_run
    from finassay.config.settings import Choice, RunSettings
    from finassay.runs.folder import RunFolder, SessionKey
    from finassay.runs.grade import grade_all
    from finassay.runs.view import run_view

    folder = RunFolder(run)
    settings = RunSettings.model_validate(folder.manifest()["settings"])
    if judge:
        settings = settings.model_copy(update={"judge": Choice(id=judge)})
    failed = []
    with folder.locked():
        keys = [folder.find(session)] if session else folder.sessions()
        ended = [key for key in keys if folder.state(key).ended is not None]
        with RunProgress(len(ended)) as progress:

            def done(key: SessionKey, card: Scorecard | None, problem: str) -> None:
                if card is None:
                    failed.append(key)
                    progress.problem(key, problem)
                else:
                    progress.graded(key, card)

            grade_all(folder.root, settings, ended, jobs or os.cpu_count() or 1, done)
        if len(ended) < len(keys):
            click.echo(f"{len(keys) - len(ended)} sessions have not ended and were left alone", err=True)
        print_run(console(), run_view(folder))
    if failed:
        raise FinassayError(f"{len(failed)} of {len(ended)} sessions could not be graded", hint="Their lines above say why.")
