"""`finassay tasks`: sample and show."""

from datetime import date
from pathlib import Path

import click

from finassay.api.errors import InvalidFileError, UsageError


@click.group()
def tasks() -> None:
    """Sample tasks from a grammar, and show them."""


def parse_seeds(text: str) -> list[int]:
    """`0-9`, `3`, `1,4,7-9` to seeds in order. Raises `UsageError`."""
    seeds: list[int] = []
    try:
        for part in text.split(","):
            first, dash, last = part.partition("-")
            seeds += range(int(first), int(last) + 1) if dash else [int(first)]
    except ValueError:
        raise UsageError(f"seeds {text!r}: expected numbers such as 0-9 or 1,4,7") from None
    if not seeds or len(seeds) > 100_000:
        raise UsageError(f"seeds {text!r} name {len(seeds)} tasks; between 1 and 100,000 can be sampled at once")
    return seeds


@tasks.command()
@click.option("--grammar", "grammar_name", required=True, help="Id of the grammar.")
@click.option("--seeds", default="0-9", show_default=True, help="Seeds, such as 0-9 or 1,4,7.")
@click.option(
    "--needs", multiple=True, help="Kind of data that must suffice (prices, fundamentals, …); repeat for several. Default: every kind."
)
@click.option("--until", "until", default="2019-12-31", show_default=True, help="Last date whose data may be used.")
@click.option("--channel", "channels", multiple=True, help="Id of a channel through which the agent may reach data; repeat for several.")
@click.option("--turns", default=6, show_default=True, help="T: agent turns.")
@click.option("--seconds", default=300.0, show_default=True, help="Δ: seconds for each turn.")
@click.option("--network/--no-network", default=False, help="Whether agents may reach the network.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for the task files.")
def sample(
    grammar_name: str,
    seeds: str,
    needs: tuple[str, ...],
    until: str,
    channels: tuple[str, ...],
    turns: int,
    seconds: float,
    network: bool,
    out: Path,
) -> None:
    """Draw one task for each seed. A task holds the hidden strategy: keep the folder away from agents."""
    from finassay.api.task import Conditions
    from finassay.catalog.catalog import Catalog
    from finassay.records.tasks import write_task
    from finassay.runs.sampling import sample_task

    try:
        cutoff = date.fromisoformat(until)
    except ValueError:
        raise UsageError(f"--until {until!r}: expected a date such as 2019-12-31") from None
    grammar, _ = Catalog.installed().create("grammar", grammar_name)
    if turns < 1 or seconds <= 0:
        raise UsageError("--turns and --seconds must be positive")
    if out.exists() and not out.is_dir():
        raise InvalidFileError(f"{out}: is a file; expected a folder")
    numbers = parse_seeds(seeds)
    for seed in numbers:
        task = sample_task(
            grammar,
            seed,
            frozenset(needs),
            lambda universe: Conditions(cutoff, universe, channels, turns, seconds, network),
        )
        write_task(out / f"{task.id}.json", task)
    click.echo(f"{len(numbers)} tasks in {out}")


@tasks.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--reveal", is_flag=True, help="Show the hidden strategy too.")
def show(path: Path, reveal: bool) -> None:
    """Show a task: persona, opening and conditions; the hidden strategy only with --reveal."""
    from finassay.catalog.catalog import Catalog
    from finassay.cli.render import console, show_task
    from finassay.records.tasks import read_tasks

    catalog = Catalog.installed()
    for task in read_tasks(path):
        show_task(console(), task, catalog, reveal=reveal)
