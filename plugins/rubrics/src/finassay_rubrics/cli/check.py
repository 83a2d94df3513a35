"""`finassay rubric check`."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from finassay_rubrics.cli.generate import models_of, open_sources, options_of

if TYPE_CHECKING:
    from finassay.api.guidance import Violation
    from finassay.api.source import Source


@click.command("check")
@click.argument("path", metavar="RUBRIC", type=click.Path(path_type=Path))
@click.option("--source", "sources", multiple=True, help="Source to open documents in again, as ID or ID:FOLDER; repeat for several.")
@click.option(
    "--guidance", "packs", multiple=True, default=("general",), show_default=True, help="Guidance pack whose rules it is held to."
)
@click.option("-o", "--option", "options", multiple=True, help="Option of a source: SOURCE.KEY=VALUE.")
def command(path: Path, sources: tuple[str, ...], packs: tuple[str, ...], options: tuple[str, ...]) -> None:
    """Verify a rubric again: every document opened, every quote found, every script run, every rule.

    One line for each criterion that holds and for each fault, with the criteria that it touches; exit code 1 if there is one.
    """
    from finassay.catalog.catalog import Catalog
    from finassay_rubrics.cli.guidance import guidance_of
    from finassay_rubrics.generate.assembly import reading_desk
    from finassay_rubrics.generate.checking import check_criterion, count, kept_as_made
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
    text = (path / "rubric.json" if path.is_dir() else path).read_text("utf-8")
    faults = [*kept_as_made(rubric, text, lambda name: beside(root, name)), *(v for v in found if v not in opened)]
    own = options_of(options, tuple(name.partition(":")[0] for name in sources))
    found_in = open_sources(catalog, sources, own, models_of(catalog, None))
    with reading_desk(rubric.cutoff, found_in) as desk:
        for criterion in rubric.criteria:
            held = list(check_criterion(criterion, desk, lambda name: beside(root, name)))
            faults += held
            if criterion.expected and not held:
                click.echo(f"ok  {criterion.id}: {count(criterion)}")
    for v in opened:
        click.echo(f"open  {v.place.removeprefix('obligation ')}: {v.reason}; its points leave the denominator")
    lines = _lines(faults, lambda document: gone(document, found_in.values(), rubric.cutoff))
    for line in lines:
        click.echo(line)
    click.echo(
        f"{len(lines)} fault{'' if len(lines) == 1 else 's'} in {len(rubric.criteria)} criteria"
        + ("" if sources else "; no source was given")
    )
    if faults:
        raise SystemExit(1)


_GONE: Final = re.compile(r"(?P<document>.+) is not there as of the cutoff")


def _lines(faults: Sequence["Violation"], why: Callable[[str], str]) -> list[str]:
    """A line for each fault, with all that it touches: one document that is gone is one fault. `why` tells what became of a document."""
    touched: dict[tuple[str, str], dict[str, None]] = {}
    for v in faults:
        reason = re.sub(r"^route [^:]+: ", "", v.reason)
        if match := _GONE.fullmatch(reason):
            reason = why(match["document"])
        touched.setdefault((v.rule, reason), {})[v.place] = None
    return [f"{rule} {_joined(list(places))}: {reason}" for (rule, reason), places in touched.items()]


def _joined(places: list[str]) -> str:
    """`criteria O1.1, O1.2 and O2.1`."""
    kind = "criterion "
    if len(places) == 1 or not all(place.startswith(kind) for place in places):
        return ", ".join(places)
    names = [place.removeprefix(kind) for place in places]
    return f"criteria {', '.join(names[:-1])} and {names[-1]}"


def gone(document: str, sources: Iterable["Source"], cutoff: date) -> str:
    """What became of a document that no source lets through as of the cutoff, for whoever checks: researchers are not told.

    Each source is asked without a cutoff.
    """
    from finassay.api.errors import FinassayError

    for source in sources:
        try:
            published = source.open(document, date.max).item.published
        except FinassayError:
            unseen = getattr(source, "unseen", None)
            if callable(unseen) and document in unseen():
                return f"{document} is undated now, or dated before it can have been written, and so not there"
            continue
        except Exception as error:  # somebody else's code
            return f"{document} cannot be opened: {type(error).__name__}: {error}"[:300]
        if published is None:
            return f"{document} is undated now, and so not there"
        if published > cutoff:
            return f"{document} is dated {published} now, after the cutoff {cutoff}"
        return f"{document} is there, dated {published}, but that day cannot be believed"
    return f"{document} is in no source any more"
