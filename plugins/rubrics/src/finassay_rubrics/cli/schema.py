"""`finassay rubric schema`."""

import json

import click


@click.command("schema")
def command() -> None:
    """Print the JSON schema of a rubric file."""
    from finassay_rubrics.record.rubric import Rubric

    click.echo(json.dumps(Rubric.model_json_schema(by_alias=True), indent=1))
