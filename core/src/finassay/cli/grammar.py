"""`finassay grammar`: size and check."""

import time

import click

from finassay.api.errors import FinassayError


@click.group()
def grammar() -> None:
    """Count and check a grammar."""


@grammar.command()
@click.argument("name")
def size(name: str) -> None:
    """Count the coherent strategies of a grammar, exactly, before parameter values are drawn."""
    from rich.table import Table

    from finassay.catalog.catalog import Catalog
    from finassay.cli.render import console, line

    found, origin = Catalog.installed().create("grammar", name)
    started = time.perf_counter()
    counted = found.size()
    seconds = time.perf_counter() - started
    out = console()
    out.print(
        line(f"{origin}: ")
        .append(f"{counted.total:,}", style="bold")
        .append(" coherent strategies ")
        .append(f"(counted in {seconds * 1000:.0f} ms)", style="dim")
    )
    table = Table("slot", "option", "strategies", box=None)
    table.columns[2].justify = "right"
    for slot, options in counted.by.items():
        for index, (option, count) in enumerate(options.items()):
            table.add_row(line(slot) if index == 0 else "", line(option), f"{count:,}")
    out.print(table)


@grammar.command()
@click.argument("name")
@click.option("--seeds", default="0-199", show_default=True, help="Seeds to draw.")
def check(name: str, seeds: str) -> None:
    """Run the conformance checks of grammars over many seeds, and print what is found."""
    from finassay.catalog.catalog import Catalog
    from finassay.cli.conform import print_results
    from finassay.cli.tasks import parse_seeds
    from finassay.testing.grammars import check_grammar

    found, _ = Catalog.installed().create("grammar", name)
    if not print_results(check_grammar(found, parse_seeds(seeds))):
        raise FinassayError(f"grammar {name!r} does not conform")
