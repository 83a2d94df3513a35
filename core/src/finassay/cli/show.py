"""`finassay show`."""

from pathlib import Path

import click

from finassay.api.errors import UsageError


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("session", required=False)
@click.option("--feedback", is_flag=True, help="Show only what the agent may be told.")
@click.option("--file", "file", help="Print one delivered file, control characters replaced.")
def show(run: Path, session: str | None, feedback: bool, file: str | None) -> None:
    """Show one session: conversation, files, every score with source and evidence. Without SESSION: list them."""
    from finassay.cli.render import console, list_sessions, show_file, show_session
    from finassay.runs.folder import RunFolder
    from finassay.runs.view import run_view, session_view

    folder = RunFolder(run)
    if session is None:
        list_sessions(console(), run_view(folder))
        return
    key = folder.find(session)
    view = session_view(folder, key, folder.tasks()[key.task])
    if view is None:
        raise UsageError(f"session {key.id} has not ended", hint="Run the same command again to resume it.")
    if file:
        show_file(folder, view, file)
    elif feedback:
        path = folder.session_path(key) / "feedback.txt"
        if not path.exists():
            raise UsageError(f"session {key.id} has not been graded", hint=f"Grade it: finassay grade {run}")
        click.echo(path.read_text(encoding="utf-8"))
    else:
        show_session(console(), view)
