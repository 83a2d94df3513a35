"""`finassay rubric queue`."""

import json
from pathlib import Path
from typing import Any

import click

from finassay.api.errors import UsageError


@click.command("queue")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("item", required=False)
@click.option("--accept", "decision", flag_value="accept", help="Take it as it is.")
@click.option("--drop", "decision", flag_value="drop", help="Leave the criterion out: it earns nothing.")
@click.option("--value", help="State another value; with --document and --quote, so that it can be looked up.")
@click.option("--unit", default="", help="USD, percent, times, …; the criterion's own if left out.")
@click.option("--scale", type=click.Choice(["thousands", "millions", "billions"]), help="The criterion's own if left out.")
@click.option("--document", default="", help="Reference of the document that shows the value.")
@click.option("--page", type=int, help="Its page.")
@click.option("--quote", default="", help="Its words, as they stand there.")
@click.option("--by", default="", help="Who decides; stands in the rubric.")
@click.option("--reason", default="", help="Why; stands in the rubric.")
def command(folder: Path, item: str | None, decision: str | None, value: str | None, by: str, **more: Any) -> None:
    """List what waits for a person, show one ITEM of it, or decide it.

    The same `finassay rubric generate` then goes on from there. A file queue/ITEM.decision.json says the same as the options.
    """
    from finassay_rubrics.generate.decisions import decision_of
    from finassay_rubrics.generate.folder import RubricFolder

    held = RubricFolder(folder)
    waiting = held.queued()
    if item is None:
        for one in waiting:
            said = decision_of(held, str(one["item"]))
            click.echo(
                f"{one['item']}{f' ({said.decision} by {said.by})' if said else ''}: {'; '.join(map(str, one.get('why', ())))}"[:500]
            )
        click.echo(f"{sum(1 for one in waiting if decision_of(held, str(one['item'])) is None)} wait for a person")
    elif decision is None and value is None:
        found = next((one for one in waiting if one["item"] == item), None)
        if found is None:
            raise UsageError(f"nothing of the name {item!r} waits in {folder}")
        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        _decide(held, item, decision, value, by, more)


def _decide(held: Any, item: str, decision: str | None, value: str | None, by: str, more: dict[str, Any]) -> None:
    from pydantic import ValidationError

    from finassay.api.amiss import first_amiss
    from finassay_rubrics.generate.decisions import Decision, decide

    if not by.strip():
        raise UsageError("--by says who decides", hint="It stands in the rubric beside what was decided.")
    if decision is not None and value is not None:
        raise UsageError("--value does not go with --accept or --drop")
    data = {name: given for name, given in more.items() if given not in (None, "")}
    try:
        said = Decision(decision="value" if value is not None else decision, value=_number(value), by=by, **data)  # type: ignore[arg-type]
    except ValidationError as error:
        amiss = first_amiss(error, Decision)
        raise UsageError(amiss.line("option"), hint=amiss.hint) from error
    decide(held, item, said)
    click.echo(f"{item}: {said.decision} by {said.by}; run `finassay rubric generate` again with --out {held.root}")


def _number(value: str | None) -> Any:
    from decimal import Decimal, InvalidOperation

    if value is None:
        return None
    try:
        return Decimal(value.replace(",", ""))
    except InvalidOperation:
        return value
