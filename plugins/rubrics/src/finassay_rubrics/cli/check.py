"""`finassay rubric check`."""

from pathlib import Path

import click

from finassay_rubrics.cli.generate import open_sources


@click.command("check")
@click.argument("path", metavar="RUBRIC", type=click.Path(path_type=Path))
@click.option("--source", "sources", multiple=True, help="Source to open documents in again, as ID or ID:FOLDER; repeat for several.")
@click.option(
    "--guidance", "packs", multiple=True, default=("general",), show_default=True, help="Guidance pack whose rules it is held to."
)
def command(path: Path, sources: tuple[str, ...], packs: tuple[str, ...]) -> None:
    """Verify a rubric again: every document opened, every quote found, every script run, every rule.

    One line for each criterion and for each fault; exit code 1 if there is one.
    """
    from finassay.catalog.catalog import Catalog
    from finassay_rubrics.cli.guidance import guidance_of
    from finassay_rubrics.generate.assembly import reading_desk
    from finassay_rubrics.generate.checking import check_criterion, count
    from finassay_rubrics.generate.folder import beside
    from finassay_rubrics.record.reading import read_rubric
    from finassay_rubrics.validate.rules import violations

    rubric = read_rubric(path)
    root = path if path.is_dir() else path.parent
    catalog = Catalog.installed()
    guidance = guidance_of(catalog, packs)
    data = rubric.model_dump(mode="json", by_alias=True)
    found = [*violations(data, "rubric", guidance.rules), *(violations(data, "review", guidance.rules) if rubric.reviewer else ())]
    ungraded = {f"obligation {o.id}" for o in rubric.obligations if not o.graded}
    opened = [v for v in found if v.rule == "R14" and v.place in ungraded]
    faults = [f"{v.rule} {v.place}: {v.reason}" for v in found if v not in opened]
    with reading_desk(rubric.cutoff, open_sources(catalog, sources)) as desk:
        for criterion in rubric.criteria:
            own = [f"{v.rule} {v.place}: {v.reason}" for v in check_criterion(criterion, desk, lambda name: beside(root, name))]
            faults += own
            if criterion.expected and not own:
                click.echo(f"ok  {criterion.id}: {count(criterion)}")
    for v in opened:
        click.echo(f"open  {v.place.removeprefix('obligation ')}: {v.reason}; its points leave the denominator")
    for fault in dict.fromkeys(faults):
        click.echo(fault)
    click.echo(f"{len(dict.fromkeys(faults))} faults in {len(rubric.criteria)} criteria" + ("" if sources else "; no source was given"))
    if faults:
        raise SystemExit(1)
