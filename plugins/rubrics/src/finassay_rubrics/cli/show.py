"""`finassay rubric show`."""

from pathlib import Path

import click


@click.command("show")
@click.argument("path", type=click.Path(path_type=Path))
def command(path: Path) -> None:
    """Read a rubric: criteria, points, expected values, gates, status."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from finassay_rubrics.record.reading import read_rubric

    rubric = read_rubric(path)
    table = Table(title=Text(rubric.query[:200]), title_justify="left")
    for name, justify in (("criterion", "left"), ("points", "right"), ("kind", "left"), ("expected", "left"), ("status", "left")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for c in rubric.criteria:
        values = "; ".join(dict.fromkeys(f"{r.value} {r.scale} {r.unit}".replace("  ", " ").strip() for r in c.expected))
        gate = " *" if c.gate == "must_pass" else ""
        table.add_row(Text(f"{c.id}{gate}  {c.text}"), f"{c.points}", c.kind, Text(values[:120]), c.status)
    Console().print(table)
