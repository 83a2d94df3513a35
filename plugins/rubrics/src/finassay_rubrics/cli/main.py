"""The group of commands."""

import importlib
from typing import Any, Final

import click

COMMANDS: Final = {
    "bank": ("bank", "Make a task bank from analysts' queries: build it, screen it, freeze it."),
    "context": ("context", "Take a query apart: signature, bindings, obligations, cutoff; nothing is looked up."),
    "generate": ("generate", "Make a rubric from a query, guidance and sources; resumable."),
    "show": ("show", "Read a rubric: criteria, values, sources, gates; as a table, Markdown or a page."),
    "check": ("check", "Verify a rubric again: every source, quote, script and rule; exit code 1 for a fault."),
    "queue": ("queue", "What waits for a person: list it, show it, decide it."),
    "grade": ("grade", "Grade answers by a rubric: points, gated points, all-pass, every verdict with its evidence."),
    "measure": ("measure", "Measure on labelled material: values found, grading beside people's labels, experts' rubrics."),
    "ablate": ("ablate", "Leave out bank, reviewer, validator or the other family in turn, and count what passes."),
    "convert": ("convert", "Turn rubrics into other formats and back."),
    "agree": ("agree", "Agreement with people: verdicts, values of an expert's rubric, answers spoilt on purpose."),
    "schema": ("schema", "Print the JSON schema of a rubric file."),
}
"""Name to (module of this package, one line of help)."""


class Lazy(click.Group):
    """Imports a command when it runs; help needs none of them."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"finassay_rubrics.cli.{COMMANDS[name][0]}")
        command: Any = module.command
        return command if isinstance(command, click.Command) else None

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=Lazy)
def rubric() -> None:
    """Rubrics for research queries: make them from experts' guidance, check them, grade answers with them."""
