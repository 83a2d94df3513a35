"""`finassay rubric show`."""

import errno
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from finassay_rubrics.pages.render import CameBack
    from finassay_rubrics.record.rubric import Rubric


@click.command("show")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(["table", "markdown", "html"]), default="table", show_default=True)
def command(path: Path, form: str) -> None:
    """Read a rubric: criteria, points, expected values, gates, status. PATH is a rubric's file or folder.

    Beside a rubric in a folder of its own rubric.md and rubric.html are written anew.
    """
    from finassay_rubrics.record.reading import read_rubric

    rubric = read_rubric(path)
    if form == "table":
        _table(rubric)
        for file in write_pages(path, rubric):
            click.echo(file)
        return
    from finassay_rubrics.pages.render import html, markdown

    history = came_back(path)
    click.echo(html(rubric, history) if form == "html" else markdown(rubric, history))


def write_pages(folder: Path, rubric: "Rubric") -> list[Path]:
    """Write both pages into a folder that we made; into no other, and not where it cannot be written to."""
    from finassay.records.files import write_atomically
    from finassay_rubrics.pages.render import html, markdown

    if not (folder / "manifest.json").is_file():
        return []
    history = came_back(folder)
    pages = {"rubric.md": markdown(rubric, history), "rubric.html": html(rubric, history)}
    try:
        for name, text in pages.items():
            write_atomically(folder / name, text.encode("utf-8", "replace"))
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return []
        raise
    return [folder / name for name in pages]


def came_back(folder: Path) -> "list[CameBack]":
    """What was sent back while the rubric of a folder was made, in order; nothing where no folder of ours is."""
    from finassay_rubrics.generate.folder import RubricFolder
    from finassay_rubrics.pages.render import CameBack

    if not (folder / "manifest.json").is_file():
        return []
    lines = RubricFolder(folder).lines("violations.jsonl")
    return [CameBack(*(str(one.get(name, "")) for name in ("obligation", "place", "rule", "reason"))) for one in lines]


def _table(rubric: "Rubric") -> None:
    from rich.table import Table
    from rich.text import Text

    from finassay.cli.render import console
    from finassay_rubrics.pages.render import value_of, visible

    out, held = console(), sum((c.points for c in rubric.criteria), Decimal(0))
    out.print(Text(visible(rubric.query)))
    left = "" if rubric.status == "final" else f": {held} of 100 points stand in criteria that can be graded"
    out.print(Text(f"cutoff {rubric.cutoff}, {rubric.status}{left}; * must pass"))
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name, justify in (
        ("criterion", "left"),
        ("points", "right"),
        ("expected", "right"),
        ("period", "left"),
        ("kind", "left"),
        ("status", "left"),
    ):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for c in rubric.criteria:
        values = "\n".join(dict.fromkeys(value_of(r)[:60] for r in c.expected))
        gate = " *" if c.gate == "must_pass" else ""
        period = c.period or next((r.period for r in c.expected), "")
        status = c.status.replace("_", " ")
        table.add_row(Text(visible(f"{c.id}{gate}  {c.text}")), f"{c.points}", Text(values), Text(visible(period)), c.kind, status)
    out.print(table)
    for line in rubric.queued:
        out.print(Text(f"waits for a person: {visible(line)}"))
