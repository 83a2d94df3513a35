"""`finassay new`."""

import shlex
from pathlib import Path

import click

from finassay.cli.words import one_line


@click.command()
@click.argument("kind")
@click.argument("name")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("."),
    show_default=True,
    help="Folder in which the distribution's folder is made.",
)
def new(kind: str, name: str, out: Path) -> None:
    """Start a distribution for a component: a small one that already passes conformance, to be changed into yours."""
    from finassay.testing.template import make_distribution

    folder = make_distribution(kind, name, out)
    click.echo(one_line(f"made {folder}"))
    click.echo(one_line(f"next: pip install -e {shlex.quote(str(folder))}, then: finassay conform {kind} {name}"))
    if kind in ("agent", "agents"):
        click.echo("(conform starts agents in a sandbox: finassay-sandbox-local or finassay-sandbox-bubblewrap must be installed)")
