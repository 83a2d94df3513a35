"""`finassay rubric convert`."""

from datetime import UTC, datetime
from pathlib import Path

import click

from finassay.api.errors import InvalidFileError, UsageError

FORMS = ("rubric", "vals", "vals-v2", "healthbench", "autorubric", "rewardkit", "rubric-spec", "promptfoo")
"""Names of the forms; `record.exchange.forms.FORMS` holds how each is read and written."""
BY_SUFFIX = {".json": "rubric", ".yaml": "autorubric", ".yml": "autorubric", ".toml": "rewardkit", ".csv": "vals-v2"}


@click.command("convert")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--from", "source_form", type=click.Choice(FORMS), help="Form of the source; told from the file where it can be.")
@click.option(
    "--to",
    "target_form",
    type=click.Choice(FORMS),
    help="Form of the target. By its name .json is ours, .yaml autorubric's, .toml rewardkit's, .csv vals-v2.",
)
@click.option("--cutoff", help="Of rubrics in forms that state none: 2023-03-01. Today, if not given.")
@click.option("--query", default="", help="Of a rubric in a form that states none.")
def command(source: Path, target: Path, source_form: str | None, target_form: str | None, cutoff: str | None, query: str) -> None:
    """Turn rubrics into another form and back.

    \b
    rubric       ours: one JSON file, or a folder that holds it
    vals         experts' rows of the Finance Agent benchmark, JSON lines
    vals-v2      its second version: CSV with severities and must-pass
    healthbench  HealthBench items, JSON lines
    autorubric   autorubric's YAML
    rewardkit    a judge's TOML of harbor-rewardkit
    rubric-spec  rubric-spec's portable JSON
    promptfoo    promptfoo's YAML, a test for each rubric

    Conventions, tolerances and evidence are in our form alone; in others the accepted values are told in words, and unresolved criteria are
    left out. What was left out or has no place is told on standard error.
    """
    from finassay_rubrics.cli.context import day_of
    from finassay_rubrics.record.exchange.forms import exported, left_behind, read, write

    day = day_of(cutoff) if cutoff else datetime.now(UTC).date()
    form = target_form or BY_SUFFIX.get(target.suffix)
    if form is None:
        raise UsageError(f"{target}: in which form?", hint=f"--to {' or '.join(FORMS)}")
    rubrics = read(source, day, source_form or "", query)
    try:
        written = write(rubrics, target, form)
    except OSError as error:
        raise InvalidFileError(f"{target}: cannot be written: {error.strerror}") from error
    for number, rubric in enumerate(rubrics, start=1):
        where = f"rubric {number}: " if len(rubrics) > 1 else ""
        kept, unresolved = exported(rubric, form)
        if unresolved:
            ids = ", ".join(c.id for c in unresolved[:10])
            click.echo(f"{where}{len(unresolved)} of {len(rubric.criteria)} criteria left out, unresolved: {ids}", err=True)
        if lost := left_behind(kept, form):
            click.echo(f"{where}the form {form} has no place for {', '.join(lost)}", err=True)
    click.echo(f"{len(rubrics)} rubric{'s' if len(rubrics) != 1 else ''}: {written[0]}{' and on' if len(written) > 1 else ''}")
