"""`finassay show`."""

import shlex
from pathlib import Path

import click

from finassay.api.errors import InvalidFileError, UsageError


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("session", required=False)
@click.option("--feedback", is_flag=True, help="Show only what the agent may be told.")
@click.option("--failed", is_flag=True, help="Show only what went wrong: failed vetoes, levels below 3, vetoes without a verdict.")
@click.option("--file", "file", help="Print one delivered file, control characters replaced.")
@click.option("--judge", help="Show the gradings of this judge, or of the evaluator whose hash begins like this.  [default: the newest]")
def show(run: Path, session: str | None, feedback: bool, failed: bool, file: str | None, judge: str | None) -> None:
    """Show one session: conversation, files, every score with source and evidence. Without SESSION: list them."""
    from finassay.cli.render import console, list_sessions, print_spending, show_failed, show_file, show_session
    from finassay.cli.words import clean
    from finassay.models.ledger import NAME, read_ledger, sums
    from finassay.runs.folder import RunFolder
    from finassay.runs.view import run_view, session_view

    folder = RunFolder(run)
    if session is None and (feedback or failed or file):
        raise UsageError("--feedback, --failed and --file are about one session", hint="Name it behind the run.")
    if session is None:
        list_sessions(console(), run_view(folder, judge=judge))
        return
    key = folder.find(session)
    tasks = folder.tasks()
    if key.task not in tasks:
        raise InvalidFileError(f"{folder.task_path(key.task)}: not found; expected the task of session {key.id}")
    view = session_view(folder, key, tasks[key.task], judge)
    if view is None:
        raise UsageError(f"session {key.id} has not ended", hint="The command that began the run goes on with it: finassay run")
    if file:
        show_file(folder, view, file)
    elif feedback:
        path = folder.session_path(key) / "feedback.txt"
        if view.scorecard is None or not path.exists():
            raise UsageError(
                f"session {key.id} has not been graded as it is recorded now", hint=f"Grade it: finassay grade {shlex.quote(str(run))}"
            )
        click.echo(clean(path.read_text(encoding="utf-8", errors="replace")))
    elif failed:
        show_failed(console(), view)
    else:
        show_session(console(), view)
        print_spending(console(), tuple(sums(e for e in read_ledger(folder.root / NAME) if e.session == key.id)))
