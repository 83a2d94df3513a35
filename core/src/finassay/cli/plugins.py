"""`finassay plugins`: from metadata alone unless asked to check."""

import click

from finassay.cli.words import one_line


@click.command()
@click.argument("kind", required=False)
@click.option("--check", is_flag=True, help="Load each one and say whether it can be used.")
def plugins(kind: str | None, check: bool) -> None:
    """List what is installed, by kind. With --check every plugin is imported, and the broken ones are named."""
    from finassay.api.errors import CatalogError, UsageError
    from finassay.catalog.catalog import Catalog
    from finassay.catalog.kinds import KINDS, kind_named

    chosen = None
    if kind is not None:
        found = kind_named(kind)
        if found is None:
            raise UsageError(f"no kind {kind!r}", hint=f"Kinds: {', '.join(KINDS)}.")
        chosen = found.name
    catalog = Catalog.installed()
    offers = catalog.offers(chosen)
    if not check:
        width = max((len(o.id) for o in offers), default=0)
        for name in KINDS:
            rows = [o for o in offers if o.kind == name]
            if rows:
                click.secho(f"{name}", bold=True)
                for offer in rows:
                    click.echo("  " + one_line(f"{offer.id:{width}}  {offer.distribution} {offer.version}"))
        if not offers:
            click.echo("nothing is installed" + (f" of kind {chosen}" if chosen else ""))
        return
    health = [h for h in catalog.health() if chosen in (None, h.offer.kind)]
    for entry in health:
        mark = click.style("ok", fg="green") if not entry.problem else click.style("broken", fg="red")
        offer = entry.offer
        said = f"{offer.kind} {offer.id} ({offer.distribution} {offer.version}): {entry.problem or entry.description}"
        click.echo(f"{mark}  {one_line(said)}")
    broken = sum(1 for entry in health if entry.problem)
    if broken:
        raise CatalogError(f"{broken} of {len(health)} cannot be used")
