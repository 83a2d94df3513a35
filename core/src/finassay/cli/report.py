"""`finassay report`."""

from pathlib import Path

import click

from finassay.cli.words import one_line


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the page.  [default: RUN/report]")
@click.option("--format", "reporter", default="html", show_default=True, help="Id of the reporter.")
@click.option("--judge", help="Report the gradings of this judge, or of the evaluator whose hash begins like this.  [default: the newest]")
def report(run: Path, out: Path | None, reporter: str, judge: str | None) -> None:
    """Print the table of a run, and write its page."""
    from finassay.catalog.catalog import Catalog
    from finassay.cli.render import console, print_run
    from finassay.hooks.dispatch import Observers
    from finassay.runs.folder import RunFolder
    from finassay.runs.view import run_view

    folder = RunFolder(run)
    writer, _ = Catalog.installed().create("reporter", reporter)
    view = run_view(folder, judge=judge)
    sections = tuple(s for found in Observers().call("finassay_add_report_sections", run=view) for s in found)
    view = run_view(folder, sections, judge) if sections else view
    print_run(console(), view)
    page = writer.write(view, out or folder.root / "report")
    click.echo(one_line(f"page: {page}"))
