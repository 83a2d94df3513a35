"""`finassay rubric bank`: build, screen, freeze."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from finassay.api.errors import UsageError

if TYPE_CHECKING:
    from finassay_rubrics.bank.screen import Screened


@click.group("bank")
def command() -> None:
    """Make a task bank from analysts' queries: build it, screen it, freeze it."""


@command.command("build")
@click.argument("queries", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Folder of the bank; the same command goes on where it was stopped."
)
@click.option("--tasks", default=200, show_default=True, type=click.IntRange(1, 5000), help="How many tasks at most.")
@click.option(
    "--writer", "writer", default="templates-a", show_default=True, help="Who writes criteria: a rule-based family, or PROVIDER/NAME."
)
@click.option("--second", default="templates-b", show_default=True, help="Who writes criteria besides, of another family.")
@click.option("--signer", default="rules", show_default=True, help="Who makes signatures: rules, or PROVIDER/NAME.")
@click.option("--embedding", default="tfidf", show_default=True, help="By what signatures are compared.")
@click.option("--guidance", "packs", multiple=True, default=("general",), show_default=True, help="A guidance pack; may be given again.")
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    help="Dollars that the bank's models may cost in all; it then stops and can be gone on with.",
)
def build(
    queries: Path,
    out: Path,
    tasks: int,
    writer: str,
    second: str,
    signer: str,
    embedding: str,
    packs: tuple[str, ...],
    budget: float | None,
) -> None:
    """Signatures, clusters and criteria from QUERIES: a text file with one a line, JSON lines, or a JSON list."""
    from finassay.catalog.catalog import Catalog
    from finassay_rubrics.bank.build import Builder, amiss
    from finassay_rubrics.bank.criteria import writers
    from finassay_rubrics.bank.queries import read_queries
    from finassay_rubrics.bank.screen import open_proposals, propose, read_screen
    from finassay_rubrics.bank.sign import ModelSigner, RuleSigner
    from finassay_rubrics.cli.generate import affordable, models_of, told_spending
    from finassay_rubrics.cli.guidance import guidance_of
    from finassay_rubrics.cli.roles import refuse_one_family

    catalog = Catalog.installed()
    found, guidance, models = read_queries(queries), guidance_of(catalog, packs), models_of(catalog, out, budget)
    refuse_one_family(models, writer, {"second": second})
    both = writers(writer, second, models.to("writer"))
    rules = [rule for rule in guidance.rules if rule.stage == "signature"]
    signs = RuleSigner(rules) if signer == "rules" else ModelSigner(models.to("writer").get(signer), guidance)
    affordable(models)
    comparing = catalog.create("embedding", embedding)[0]
    builder = Builder(out, found, signs, comparing, both, guidance, tasks, _told)
    try:
        made = builder.run()
    finally:
        told_spending(models)
    path = propose(out, comparing)
    screened = read_screen(out)
    took = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in builder.seconds.items())
    click.echo(f"{len(found)} queries, {sum(len(t.members) for t in made)} different signatures, {len(made)} tasks ({took})")
    for line in amiss(out, made):
        click.echo(line)
    click.echo(f"{sum(len(s.rows) for s in screened)} criteria, {open_proposals(screened)} proposed as duplicates: {path}")


def _told(what: str, done: int, of: int) -> None:
    if done == of or done % 1000 == 0:
        click.echo(f"{what}: {done} of {of}", err=True)


@command.command("screen")
@click.argument("bank", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--accept", is_flag=True, help="Take every proposal as it is, without asking.")
@click.option("--open", "only_open", is_flag=True, help="Show only tasks with proposals that nobody decided.")
def screen(bank: Path, accept: bool, only_open: bool) -> None:
    """Go through the criteria of each task. What is decided stands in screen.txt at once, which can be edited as well."""
    from finassay_rubrics.bank.bank import FILE
    from finassay_rubrics.bank.screen import SCREEN, open_proposals, read_screen, settled, write_screen

    if (bank / FILE).exists():
        raise UsageError(f"{bank} is frozen", hint="A frozen bank is never changed: build, screen and freeze another in another folder.")
    screened = read_screen(bank)
    if accept:
        write_screen(bank, settled(screened))
        click.echo(f"{open_proposals(screened)} proposals taken: {bank / SCREEN}")
        return
    places = [n for n, one in enumerate(screened) if not only_open or open_proposals([one])]
    for count, place in enumerate(places, start=1):
        for changed in _decided(bank, screened[place], f"{count} of {len(places)}"):
            if changed is None:
                click.echo(f"{open_proposals(screened)} proposals are open: {bank / SCREEN}")
                return
            screened[place] = changed
            write_screen(bank, screened)
    click.echo(f"{open_proposals(screened)} proposals are open: {bank / SCREEN}")


def _decided(bank: Path, one: "Screened", where: str) -> Iterator["Screened | None"]:
    """A task after each thing that a person says about it, until they go on; None where they stop."""
    from attrs import evolve

    while True:
        _show(bank, one, where)
        said = click.prompt(
            "ids to keep or drop, `ok` for the proposals, `task` to drop or keep it, Enter for the next, `q`",
            default="",
            show_default=False,
        )
        words = said.replace(",", " ").split()
        if words == ["q"]:
            yield None
        if not words:
            return
        if words == ["ok"]:
            one = evolve(one, rows=tuple(evolve(r, mark="drop", note="") if r.mark == "same" else r for r in one.rows))
        elif words == ["task"]:
            one = evolve(one, mark="drop" if one.mark == "keep" else "keep")
        else:
            unknown = [word for word in words if word not in {row.id for row in one.rows}]
            if unknown:
                click.echo(f"no criterion {unknown[0]}")
            turned = {word for word in words if word not in unknown}
            one = evolve(one, rows=tuple(evolve(r, mark="drop" if r.mark == "keep" else "keep") if r.id in turned else r for r in one.rows))
        yield one


def _show(bank: Path, one: "Screened", where: str) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from finassay_rubrics.bank.build import read_tasks

    task = next(task for task in read_tasks(bank) if task.id == one.id)
    title = f"{where}  {one.id}  {'' if one.mark == 'keep' else '(dropped) '}asked {task.queries} times\n{task.signature.text}"
    table = Table(title=Text(title), title_justify="left")
    for head in ("", "id", "principles", "criterion", ""):
        table.add_column(head)
    for row in one.rows:
        style = {"keep": "green", "drop": "red", "same": "yellow"}[row.mark]
        table.add_row(Text(row.mark, style), Text(row.id), Text(" ".join(row.principles)), Text(row.text), Text(row.note))
    Console().print(table)


@command.command("freeze")
@click.argument("bank", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--version", "version", default="1", show_default=True, help="What the bank is called from now on.")
@click.option(
    "--guidance", "packs", multiple=True, default=("general",), show_default=True, help="The guidance packs that it was built with."
)
def freeze(bank: Path, version: str, packs: tuple[str, ...]) -> None:
    """Give a screened bank its version and digest. It is never changed after that."""
    from finassay.catalog.catalog import Catalog
    from finassay_rubrics.bank.bank import FILE, read_bank
    from finassay_rubrics.bank.screen import freeze as frozen
    from finassay_rubrics.cli.guidance import guidance_of

    digest = frozen(bank, version, guidance_of(Catalog.installed(), packs))
    made = read_bank(bank)
    click.echo(
        f"version {version}, {len(made.tasks)} tasks, {sum(len(t.criteria) for t in made.tasks)} criteria, digest {digest}: {bank / FILE}"
    )
