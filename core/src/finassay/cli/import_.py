"""`finassay import`."""

import json
from pathlib import Path

import click

from finassay.api.errors import UsageError


@click.command("import")
@click.argument("sessions", nargs=-1, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Run folder; sessions are added to an existing one.")
@click.option("--agent", help="List the results under this name.  [default: the file's]")
@click.option("--grammar", help="Grammar of the items.  [default: the file's, else the only one installed]")
@click.option("--channel", "channels", multiple=True, help="Id of a channel through which the agent could reach data; repeat for several.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of session.json, and stop.")
def import_(
    sessions: tuple[Path, ...], out: Path | None, agent: str | None, grammar: str | None, channels: tuple[str, ...], schema: bool
) -> None:
    """Bring sessions that were held elsewhere into a run folder, to grade, report and show them like any other.

    Each of SESSIONS is a folder with session.json (what was wanted, said and delivered) and files/ (the delivered bytes). A session is
    taken whole or not at all; nothing of it is executed.
    """
    from finassay.catalog.catalog import Catalog
    from finassay.records.imported import ImportedSession
    from finassay.runs.importing import import_session, installed

    if schema:
        click.echo(json.dumps(ImportedSession.model_json_schema(by_alias=True), indent=2))
        return
    if not sessions or out is None:
        raise UsageError("name at least one session folder, and a run folder with --out", hint="finassay import FOLDER --out RUN")
    catalog = Catalog.installed()
    chosen = installed(catalog, channels)
    for source in sessions:
        found = import_session(source, out, catalog, agent=agent, grammar=grammar, channels=chosen)
        click.echo(f"{found.key.id}: {found.turns} turns, {found.files} files, {found.reason}")
        if found.ignored:
            click.echo(f"  kept, and not read: {', '.join(found.ignored)}", err=True)
    click.echo(f"grade them: finassay grade {out}")
