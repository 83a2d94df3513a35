"""`finassay rubric context`."""

import json
import re
from datetime import date
from pathlib import Path
from typing import Final

import click

from finassay.api.errors import InvalidFileError, UsageError

MAX_FILE: Final = 1_000_000
_PATH: Final = re.compile(r"\S*[/\\]\S*|\S+\.(?:txt|md)", re.IGNORECASE)
"""One word with a slash, or with the ending of a text file, is no query."""


def query_of(given: str) -> str:
    """The query: the text of a file of that name if there is one, else the argument itself.

    Raises `InvalidFileError`, and `UsageError` for what can only be meant as a file and is none.
    """
    path = Path(given)
    try:
        is_file, is_folder = len(given) < 4096 and path.is_file(), len(given) < 4096 and path.is_dir()
    except (OSError, ValueError):  # no name of a file, by its length or a zero byte
        is_file, is_folder = False, False
    if not is_file:
        if is_folder and given.strip():
            raise UsageError(f"{given} is a folder", hint="Give the name of a file with the query, or the query itself in quotes.")
        if _PATH.fullmatch(given):
            raise UsageError(
                f"{given}: there is no such file", hint="Give the name of a file with the query, or the query itself in quotes."
            )
        return given
    hint = "Give a file of plain text in UTF-8, or the query itself in quotes."
    try:
        if path.stat().st_size > MAX_FILE:
            raise InvalidFileError(f"{path}: larger than {MAX_FILE:,} bytes", hint=hint)
        text = path.read_text("utf-8")
    except OSError as error:
        raise InvalidFileError(f"{path}: cannot be read: {error.strerror}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise InvalidFileError(f"{path}: is no text in UTF-8: {error}", hint=hint) from error
    if "\0" in text:
        raise InvalidFileError(f"{path}: is no text: it holds zero bytes", hint=hint)
    return text


def day_of(text: str) -> date:
    """Raises `UsageError`."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"--cutoff {text!r}: expected a date such as 2023-03-01", hint="The last day whose sources count, inclusive."
        ) from None


@click.command("context")
@click.argument("query")
@click.option("--cutoff", required=True, help="Last day whose sources count, inclusive: 2023-03-01.")
@click.option("--bank", type=click.Path(path_type=Path), help="A frozen task bank.")
@click.option(
    "--contextualizer",
    default="rules",
    show_default=True,
    help="Who reads the query: rules, or a model as PROVIDER/NAME, held to the rules.",
)
@click.option("--guidance", "packs", multiple=True, default=("general",), show_default=True, help="Guidance pack; repeat to add one.")
def command(query: str, cutoff: str, bank: Path | None, contextualizer: str, packs: tuple[str, ...]) -> None:
    """Take a query apart: signature, verbatim bindings, obligations, cutoff. Nothing is looked up.

    QUERY is the text, or a file that holds it. Rules that the context breaks, and what a model cost, are told on standard error; no rubric is
    made of a context that breaks rules.
    """
    from finassay.catalog.catalog import Catalog
    from finassay_rubrics.bank.bank import read_bank
    from finassay_rubrics.cli.generate import models_of, told_spending
    from finassay_rubrics.cli.guidance import guidance_of
    from finassay_rubrics.cli.roles import roles_of
    from finassay_rubrics.context.contextualize import STAGES, contextualize
    from finassay_rubrics.validate.rules import violations

    held = read_bank(bank).document if bank else None
    catalog = Catalog.installed()
    guidance, models = guidance_of(catalog, packs), models_of(catalog, None)
    reader = roles_of(models, guidance, {"contextualizer": contextualizer}).contextualizer
    try:
        made = contextualize(query_of(query), day_of(cutoff), bank=held, contextualizer=reader, rules=guidance.rules)
        click.echo(json.dumps(made, indent=1, ensure_ascii=False))
        for v in (v for stage in STAGES for v in violations(made, stage, guidance.rules)):
            click.echo(f"rule {v.rule}: {v.place}: {v.reason}", err=True)
    finally:
        told_spending(models, aside=True)
