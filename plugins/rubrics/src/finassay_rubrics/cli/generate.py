"""`finassay rubric generate`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from finassay.api.errors import UsageError
from finassay_rubrics.cli.context import day_of, query_of

if TYPE_CHECKING:
    from finassay.api.research import Researcher
    from finassay.api.source import Source
    from finassay.catalog.catalog import Catalog


@click.command("generate")
@click.argument("query")
@click.option("--cutoff", required=True, help="Last day whose sources count, inclusive: 2023-03-01.")
@click.option("--guidance", "packs", multiple=True, default=("general",), show_default=True, help="Guidance pack; repeat to add one.")
@click.option("--source", "sources", multiple=True, required=True, help="Source, as ID or ID:FOLDER; repeat for several.")
@click.option("--writer", default="statements-a", show_default=True, help="Who writes: a researcher's id, or PROVIDER/MODEL.")
@click.option(
    "--reviewer", default="statements-b", show_default=True, help="Who derives every value again, of another family; 'none' tries without."
)
@click.option(
    "--bank", type=click.Path(path_type=Path), help="A frozen task bank, whose criteria guide the writer where a task of it fits."
)
@click.option("--no-validator", is_flag=True, help="Try what the validator is worth.")
@click.option("--same-family", is_flag=True, help="Try what another family is worth.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The rubric's folder; an existing one is gone on with.")
def command(
    query: str,
    cutoff: str,
    packs: tuple[str, ...],
    sources: tuple[str, ...],
    writer: str,
    reviewer: str,
    bank: Path | None,
    no_validator: bool,
    same_family: bool,
    out: Path,
) -> None:
    """Make a rubric: every expected value sourced or computed, derived again by another family, fixed as of the cutoff. Resumable."""
    from finassay.catalog.catalog import Catalog
    from finassay_rubrics.bank.bank import bank_criteria, read_bank
    from finassay_rubrics.cli.guidance import guidance_of
    from finassay_rubrics.cli.show import write_pages
    from finassay_rubrics.context.contextualize import contextualize
    from finassay_rubrics.generate.assembly import at_work

    catalog = Catalog.installed()
    held = read_bank(bank) if bank else None
    context = contextualize(query_of(query), day_of(cutoff), bank=held.document if held else None)
    guidance = guidance_of(catalog, packs)
    who = _researcher(catalog, writer), None if reviewer == "none" else _researcher(catalog, reviewer)
    with at_work(
        out, context, guidance, who, open_sources(catalog, sources), validate=not no_validator, same_family=same_family, told=click.echo
    ) as orchestrator:
        orchestrator.bank_criteria = bank_criteria(held, context)
        rubric = orchestrator.make()
        write_pages(out, rubric)
    grounded = sum(1 for c in rubric.criteria if c.status == "grounded")
    click.echo(f"{out}: {len(rubric.criteria)} criteria, {grounded} grounded; {rubric.status}")
    for line in rubric.queued[:10]:
        click.echo(f"  waits for a person: {line}")


def _researcher(catalog: "Catalog", name: str) -> "Researcher":
    if "/" in name:
        raise UsageError(f"{name!r}: researchers that are models are not built yet", hint="Offline families: statements-a, statements-b.")
    made: Researcher = catalog.create("researcher", name)[0]
    return made


def open_sources(catalog: "Catalog", names: Sequence[str]) -> dict[str, "Source"]:
    """Sources by id. Raises `UsageError` for two of one id."""
    found: dict[str, Source] = {}
    for name in names:
        source = _source(catalog, name)
        if source.id in found:
            raise UsageError(f"two sources have the id {source.id!r}", hint="Put their documents into one folder.")
        found[source.id] = source
    return found


def _source(catalog: "Catalog", given: str) -> "Source":
    name, _, folder = given.partition(":")
    options: dict[str, Any] = {"folder": folder} if folder else {}
    made: Source = catalog.create("source", name, options)[0]
    return made
