"""`finassay tasks`: sample and show."""

import contextlib
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from finassay.api.errors import InvalidFileError, UsageError
from finassay.cli.words import one_line

if TYPE_CHECKING:
    from finassay.api.strategy import Universe
    from finassay.api.task import Conditions, Task
    from finassay.runs.commitments import Commitments, Secret


@click.group()
def tasks() -> None:
    """Sample tasks from a grammar, and show them."""


MAX_SEEDS = 100_000


def parse_seeds(text: str) -> list[int]:
    """`0-9`, `3`, `1,4,7-9` to seeds in order, each once. Raises `UsageError`."""
    ranges: list[range] = []
    try:
        for part in text.split(","):
            first, dash, last = part.partition("-")
            ranges.append(range(int(first), int(last if dash else first) + 1))
    except ValueError:
        raise UsageError(f"seeds {text!r}: expected numbers such as 0-9 or 1,4,7") from None
    named = sum(max(0, r.stop - r.start) for r in ranges)  # counted before anything is listed; len() of a huge range fails
    if not 0 < named <= MAX_SEEDS:
        raise UsageError(f"seeds {text!r} name {named:,} tasks; between 1 and {MAX_SEEDS:,} can be sampled at once")
    return list(dict.fromkeys(seed for r in ranges for seed in r))


def parse_until(text: str) -> date:
    """The cutoff: a day that has passed. Raises `UsageError`."""
    try:
        cutoff = date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--until {text!r}: expected a date such as 2019-12-31") from None
    if not FIRST_DAY <= cutoff <= date.today():
        raise UsageError(f"--until {text!r}: expected a day from {FIRST_DAY} to today, because there must be data until then")
    return cutoff


FIRST_DAY = date(1900, 1, 1)


@tasks.command()
@click.option("--grammar", "grammar_name", required=True, help="Id of the grammar.")
@click.option("--seeds", default="0-9", show_default=True, help="Seeds, such as 0-9 or 1,4,7; under a secret, numbers of tasks.")
@click.option(
    "--needs", multiple=True, help="Kind of data that must suffice (prices, fundamentals, …); repeat for several. Default: every kind."
)
@click.option("--until", "until", default="2019-12-31", show_default=True, help="Last date whose data may be used.")
@click.option(
    "--channel",
    "channels",
    multiple=True,
    help="Channel through which the agent may reach data, installed or declared in finassay.toml; repeat for several.",
)
@click.option("--turns", default=6, show_default=True, help="T: agent turns.")
@click.option("--seconds", default=300.0, show_default=True, help="Δ: seconds for each turn.")
@click.option("--network/--no-network", default=False, help="Whether agents may reach the network.")
@click.option(
    "--secret-file",
    type=click.Path(path_type=Path),
    help="Draw under the secret in this file (made if it is not there), so that nobody can draw the same tasks from the grammar.",
)
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
    secret_file: Path | None,
    out: Path,
) -> None:
    """Draw one task for each seed. A task holds the hidden strategy: keep the folder away from agents.

    With --secret-file, commitments that can be published now lie in OUT.commitments.json; `finassay tasks reveal` opens them later.
    """
    from finassay.api.task import Conditions
    from finassay.catalog.catalog import Catalog
    from finassay.cli.words import count
    from finassay.config.settings import declared_channels
    from finassay.records.files import sync_folder
    from finassay.records.tasks import problems, read_task
    from finassay.runs.commitments import check_commitments, write_commitments

    cutoff, numbers = parse_until(until), parse_seeds(seeds)
    catalog = Catalog.installed()
    grammar, _ = catalog.create("grammar", grammar_name)
    declared = declared_channels(Path.cwd())
    for channel in channels:
        catalog.find("channel", declared.get(channel, channel))
    if out.exists() and not out.is_dir():
        raise InvalidFileError(f"{out}: is a file; expected a folder")
    secret = _secret(secret_file)
    drawn = _draw(grammar, numbers, frozenset(needs), lambda u: Conditions(cutoff, u, channels, turns, seconds, network), secret)
    for task in drawn:
        for problem in problems(task):
            raise UsageError(f"task {task.id}: {problem}", hint="Its conditions come from --turns and --seconds.")
        path = out / f"{task.id}.json"
        if path.exists() and read_task(path) != task:
            raise UsageError(f"{path} holds another task", hint="Choose another --out: a run may have been made with it.")
    made = None if secret is None else _commitments(grammar, needs, secret, numbers, drawn)
    if made is not None:
        check_commitments(_beside(out), made)
    _write(out, drawn)
    if made is not None:  # nothing may be published that could get lost here
        write_commitments(_beside(out), made)
        sync_folder(out.parent)
        click.echo(one_line(f"commitments, to be published: {_beside(out)}"))
    click.echo(one_line(f"{count(len(drawn), 'task')} in {out}"))


def _secret(path: Path | None) -> "Secret | None":
    from finassay.runs.commitments import make_secret, read_secret

    if path is None:
        return None
    return read_secret(path) if path.exists() else make_secret(path)


def _draw(
    grammar: Any, numbers: list[int], needs: frozenset[str], conditions: "Callable[[Universe], Conditions]", secret: "Secret | None"
) -> "list[Task]":
    from finassay.runs.commitments import secret_task
    from finassay.runs.sampling import sample_task

    if secret is None:
        return [sample_task(grammar, seed, needs, conditions) for seed in numbers]
    return [secret_task(secret, grammar, number, needs, conditions) for number in numbers]


def _write(out: Path, drawn: "list[Task]") -> None:
    """All the tasks on the disk, or, if it refuses one of them, no new one. Raises `OSError`."""
    from finassay.records.files import sync_folder
    from finassay.records.tasks import write_task

    begun = [folder for folder in (out, *out.parents) if not folder.exists()]
    new = [path for task in drawn if not (path := out / f"{task.id}.json").exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
        for task in drawn:
            write_task(out / f"{task.id}.json", task)
        for folder in (out, *(f.parent for f in begun)):
            sync_folder(folder)
    except BaseException:
        for path in new:
            path.unlink(missing_ok=True)
        for folder in begun:
            with contextlib.suppress(OSError):  # somebody else may have put something there
                folder.rmdir()
        raise


def _beside(out: Path) -> Path:
    """Where the commitments to the tasks of a folder lie."""
    return out.parent / f"{out.name}.commitments.json"


def _commitments(grammar: Any, needs: tuple[str, ...], secret: "Secret", numbers: list[int], drawn: "list[Task]") -> "Commitments":
    from finassay.runs.commitments import Commitments, Committed

    committed = tuple(Committed(task.id, n, secret.commitment(n, task)) for n, task in zip(numbers, drawn, strict=True))
    return Commitments(grammar.id, grammar.version, tuple(sorted(set(needs))), secret.digest, committed)


@tasks.command()
@click.argument("commitments", type=click.Path(path_type=Path))
@click.option("--secret-file", type=click.Path(path_type=Path), required=True, help="The secret that the tasks were drawn under.")
@click.option(
    "--tasks", "tasks_path", type=click.Path(path_type=Path), required=True, help="The tasks: their folder, or the tasks/ of a run."
)
def reveal(commitments: Path, secret_file: Path, tasks_path: Path) -> None:
    """Open published commitments: hold the tasks against them, and draw the tasks again from the grammar.

    Whoever was given the secret and the tasks can do the same. Ends with an error if a task is not the one that was committed to.
    """
    from finassay.api.errors import CatalogError
    from finassay.catalog.catalog import Catalog
    from finassay.cli.words import count
    from finassay.records.tasks import read_tasks
    from finassay.runs.commitments import open_commitments, read_commitments, read_secret

    made, secret = read_commitments(commitments), read_secret(secret_file)
    try:
        grammar = Catalog.installed().create("grammar", made.grammar)[0]
    except CatalogError:
        grammar = None
    given = {task.id: task for task in read_tasks(tasks_path)}
    opened = open_commitments(made, secret, given, grammar)
    words = {
        True: "drawn again: the same",
        False: "drawn again: ANOTHER",
        None: f"not drawn again: grammar {made.grammar} in version {made.grammar_version} is not installed",
    }
    for one in opened:
        what = words[one.drawn] if one.id in given else "its file is missing"
        held = f"; held with {', '.join(one.overridden)}" if one.overridden else ""
        click.echo(one_line(f"{one.id}: {'as committed' if one.kept else 'NOT as committed'}, {what}{held}"))
    broken = [one.id for one in opened if not one.kept or one.drawn is False]
    if broken:
        raise InvalidFileError(f"{count(len(broken), 'task')} of {len(opened)} are not what was committed to: {', '.join(broken[:8])}")
    click.echo(one_line(f"{count(len(opened), 'task')} opened, all as committed; the secret is {secret.key.decode('utf-8', 'replace')}"))


@tasks.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--reveal", is_flag=True, help="Show the hidden strategy too.")
def show(path: Path, reveal: bool) -> None:
    """Show a task: persona, what the opening tells and conditions; the hidden strategy only with --reveal."""
    from finassay.cli.render import console, show_task
    from finassay.records.tasks import read_tasks

    for task in read_tasks(path):
        show_task(console(), task, reveal=reveal)
