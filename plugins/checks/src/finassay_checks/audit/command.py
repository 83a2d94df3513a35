"""`finassay audit`."""

from datetime import datetime
from pathlib import Path

import click


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--cutoff", type=click.DateTime(["%Y-%m-%d"]), help="Last date whose data may be used, inclusive.")
@click.option("--market", metavar="ID", help="Exchange whose sessions count, as an ISO 10383 code (XNYS, XLON, XTKS).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def audit(context: click.Context, folder: Path, cutoff: datetime | None, market: str | None, as_json: bool) -> None:
    """Check a folder of backtest files: every reported metric recomputed, data, timing and logs looked at.

    A task.json in the folder may state data_cutoff, exchange_timezone and market. Ends with 0 for pass and pass_with_note, 20 for
    wrong, 21 for data_problem, 22 for unverifiable.
    """
    from finassay_checks.audit.folder import open_folder
    from finassay_checks.audit.model import EXIT_CODES
    from finassay_checks.audit.run import audit_folder
    from finassay_checks.audit.shown import json_text, print_audit

    found = audit_folder(open_folder(folder, cutoff.date() if cutoff else None, market))
    if as_json:
        click.echo(json_text(found))
    else:
        print_audit(found, str(folder))
    context.exit(EXIT_CODES[found.verdict])
