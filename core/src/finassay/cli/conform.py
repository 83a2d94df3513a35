"""`finassay conform`."""

from collections.abc import Iterable
from typing import Any

import click

from finassay.api.errors import FinassayError, UsageError
from finassay.cli.words import one_line


def print_results(results: Iterable[Any]) -> bool:
    """One line a check; whether every 'must' holds."""
    passed = True
    count = 0
    for result in results:
        count += 1
        word, colour = ("ok", "green") if result.ok else (("FAILS", "red") if result.level == "must" else ("should", "yellow"))
        passed &= result.ok or result.level != "must"
        click.echo(
            f"{click.style(word, fg=colour)}  {one_line(f'{result.id}: {result.reason}')}"
            + (f"\n      {one_line(result.detail, 2_000)}" if result.detail and not result.ok else "")
        )
    if count == 0:
        raise FinassayError("nothing was checked")
    return passed


@click.command()
@click.argument("kind")
@click.argument("name")
@click.option("-o", "--option", "options", multiple=True, help="Option of the component: KEY=VALUE.")
def conform(kind: str, name: str, options: tuple[str, ...]) -> None:
    """Test an installed component of KIND called NAME against what its protocol promises; black box, whatever is installed.

    A simulator or judge that talks to a model does so here as well, and costs what it costs.
    """
    from finassay.catalog.catalog import Catalog, kind_named
    from finassay.catalog.kinds import KINDS
    from finassay.config.settings import parse_value
    from finassay.models.service import ModelService
    from finassay.testing.conformance import run_conformance

    found = kind_named(kind)
    if found is None:
        raise UsageError(f"no kind {kind!r}", hint=f"Kinds: {', '.join(KINDS)}.")
    values = {key: parse_value(value) for key, _, value in (o.partition("=") for o in options)}
    catalog = Catalog.installed()
    if not print_results(run_conformance(catalog, found.name, name, values, ModelService(catalog))):
        raise FinassayError(f"{found.name} {name!r} does not conform")
