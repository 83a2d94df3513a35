"""`finassay rubric queue`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from finassay.api.errors import InvalidFileError, UsageError

if TYPE_CHECKING:
    from finassay_rubrics.generate.decisions import Decision
    from finassay_rubrics.generate.folder import RubricFolder

MAX_FILE = 1_000_000


@click.command("queue")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("item", required=False)
@click.option("--json", "as_json", is_flag=True, help="As data: the entries of the queue, with what was decided.")
@click.option("--accept", "decision", flag_value="accept", help="Take it as it is: sources must show it.")
@click.option("--drop", "decision", flag_value="drop", help="Leave the criterion out: it earns nothing.")
@click.option("--value", help="State another value; with --document and --quote, so that it can be looked up.")
@click.option("--unit", default="", help="USD, percent, times, …; the criterion's own if left out.")
@click.option("--scale", type=click.Choice(["thousands", "millions", "billions"]), help="The criterion's own if left out.")
@click.option("--period", default="", help="What the value belongs to, FY2023 say; the criterion's own if left out.")
@click.option("--document", default="", help="Reference of the document that shows the value.")
@click.option("--page", type=int, help="Its page.")
@click.option("--quote", default="", help="Its words, as they stand there.")
@click.option("--formula", default="", help="Compute the value: names of --inputs with + - * / ( ) and abs, such as 'part / total * 100'.")
@click.option("--script", type=click.Path(path_type=Path), help='Compute the value: Python that prints a JSON object with "value".')
@click.option(
    "--inputs", type=click.Path(path_type=Path), help="JSON list of what is computed from: name, shown, scale, document, page, quote."
)
@click.option("--by", default="", help="Who decides; stands in the rubric.")
@click.option("--reason", default="", help="Why; stands in the rubric.")
def command(folder: Path, item: str | None, as_json: bool, decision: str | None, value: str | None, by: str, **more: Any) -> None:
    """List what waits for a person, show one ITEM of it with everything needed to decide, or decide it.

    The same `finassay rubric generate` then goes on from there: it looks every quote up and runs every computation. A file
    queue/ITEM.decision.json says the same as the options.
    """
    from finassay_rubrics.cli import queued
    from finassay_rubrics.generate.decisions import item_named, items_of
    from finassay_rubrics.generate.folder import RubricFolder

    held = RubricFolder(folder)
    if not held.has("manifest.json"):
        raise UsageError(f"{folder} is no folder of a rubric that was generated", hint="Give the --out of finassay rubric generate.")
    stating = decision is not None or value is not None or any(more[name] for name in ("formula", "script", "inputs"))
    if item is None:
        if stating:
            raise UsageError("a decision needs the ITEM that it is of", hint=f"What waits: finassay rubric queue {folder}")
        queued.listed(held, as_json=as_json)
    elif stating:
        _decide(held, item, decision, value, by, more)
    else:
        name = item_named(held, item)
        queued.shown(held, items_of(held)[name], as_json=as_json)


def _decide(held: "RubricFolder", item: str, decision: str | None, value: str | None, by: str, more: Mapping[str, Any]) -> None:
    from finassay_rubrics.cli import queued
    from finassay_rubrics.generate.decisions import decide

    if not by.strip():
        raise UsageError("--by says who decides", hint="It stands in the rubric beside what was decided.")
    if decision is not None and (value is not None or more["formula"] or more["script"] or more["inputs"]):
        raise UsageError("a value does not go with --accept or --drop", hint="To state a value, leave them out.")
    said = _said(decision or "value", value, by, more)
    name = decide(held, item, said)
    click.echo(f"{name}: {said.decision} by {said.by}; run `finassay rubric generate` again with --out {held.root}")
    for line in queued.left_open(held, name, said):
        click.echo(line)


def _said(decision: str, value: str | None, by: str, more: Mapping[str, Any]) -> "Decision":
    """The decision that the options are. Raises `UsageError`."""
    from pydantic import ValidationError

    from finassay.api.amiss import first_amiss
    from finassay_rubrics.generate.decisions import Decision

    data = {name: given for name, given in more.items() if given not in (None, "")}
    if "script" in data:
        data["script"] = _text(data["script"])
    if "inputs" in data:
        try:
            data["inputs"] = json.loads(_text(data["inputs"]))
        except (ValueError, RecursionError) as error:
            hint = "A list of objects; an example: finassay rubric queue FOLDER ITEM"
            raise InvalidFileError(f"{more['inputs']}: is not JSON: {error}", hint=hint) from error
    try:
        return Decision.model_validate({"decision": decision, "value": value, "by": by, **data})
    except ValidationError as error:
        amiss = first_amiss(error, Decision)
        raise UsageError(amiss.line("option"), hint=amiss.hint or "What it may hold: finassay rubric queue FOLDER ITEM") from error


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE:
            raise InvalidFileError(f"{path}: larger than {MAX_FILE:,} bytes")
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or "no text in UTF-8"
        raise InvalidFileError(f"{path}: cannot be read: {said}", hint="What it may hold: finassay rubric queue FOLDER ITEM") from error
