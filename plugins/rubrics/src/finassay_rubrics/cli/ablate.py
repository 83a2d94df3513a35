"""`finassay rubric ablate`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from finassay.api.errors import UsageError

if TYPE_CHECKING:
    from finassay.api.guidance import Guidance
    from finassay.api.research import Researcher
    from finassay.api.source import Source
    from finassay.catalog.catalog import Catalog
    from finassay_rubrics.bank.bank import Bank
    from finassay_rubrics.measure.ablating import Arm, Item

ARM_NAMES = ("full", "no bank", "no reviewer", "no validator", "same family", "neither")
FAULT_NAMES = ("previous year", "wrong scale", "wrong sign", "neighbour line", "typed figure", "invented quote")


@click.command("ablate")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Where the rubrics of every arm are made; gone on with.")
@click.option("--source", "sources", multiple=True, help="Source, as ID or ID:FOLDER; the folder's own corpus/ if left out.")
@click.option("--writer", default="statements-a", show_default=True, help="Who writes: a researcher's id, or PROVIDER/MODEL.")
@click.option("--reviewer", default="statements-b", show_default=True, help="Who reviews, of another family.")
@click.option("--guidance", "packs", multiple=True, default=("general",), show_default=True, help="Guidance pack; repeat to add one.")
@click.option("--bank", type=click.Path(path_type=Path, exists=True), help="A frozen bank; one of these queries is built if left out.")
@click.option("--arm", "arms", multiple=True, type=click.Choice(ARM_NAMES), help="This arm alone; repeat. All if left out.")
@click.option("--limit", type=click.IntRange(1, 10_000), help="The first so many queries.")
@click.option("--faults", is_flag=True, help="Let the writer be wrong on purpose, each figure in one of the stated ways.")
@click.option("--fault", "kinds", multiple=True, type=click.Choice(FAULT_NAMES), help="With --faults: this way alone; repeat.")
@click.option("--every", default=1, show_default=True, type=click.IntRange(1, 100), help="With --faults: every so many figures.")
@click.option("--repairs", is_flag=True, help="With --faults: the writer is right once something comes back; else it insists.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(folder: Path, out: Path, arms: tuple[str, ...], limit: int | None, as_json: bool, **given: Any) -> None:
    """What is each check worth? Rubrics for the queries of FOLDER, made with everything, then with one thing left out.

    FOLDER holds questions.jsonl with experts' answers (metric questions count) and corpus/, or cases: folders with an expert's rubric.json,
    whose queries are taken and whose values are looked for. Printed are counts: resolved, right, wrong, rules that the finished rubrics
    break, what came back from validator and reviewer, seconds, dollars.
    """
    from finassay_rubrics.measure.ablating import ARMS, items_in, summary

    items = items_in(folder, limit)
    chosen = [arm for arm in ARMS if not arms or arm.name in arms]
    ablation = _ablation(folder, out, items, chosen, given)
    told = [summary(arm, ablation.run(arm)) for arm in chosen]
    if as_json:
        click.echo(json.dumps({"queries": len(items), "arms": told}, indent=1, ensure_ascii=False))
        return
    _print(told, len(items))


def _ablation(folder: Path, out: Path, items: "Sequence[Item]", arms: "Sequence[Arm]", given: Mapping[str, Any]) -> Any:
    from finassay.catalog.catalog import Catalog
    from finassay_rubrics.bank.bank import bank_criteria
    from finassay_rubrics.cli.guidance import guidance_of
    from finassay_rubrics.measure.ablating import Ablation

    catalog = Catalog.installed()
    guidance = guidance_of(catalog, given["packs"])
    needs_bank = any(arm.bank for arm in arms)
    return Ablation(
        items,
        _sources(catalog, folder, given["sources"]),
        guidance,
        lambda place: _writer(catalog, place, given),
        lambda place: _researcher(catalog, place, "reviewer", given["reviewer"]),
        out,
        _bank(catalog, out, items, guidance, given["bank"]) if needs_bank else None,
        bank_criteria,
        cost_of,
        lambda words: click.echo(words, err=True),
    )


def _sources(catalog: "Catalog", folder: Path, names: Sequence[str]) -> "Mapping[str, Source]":
    from finassay_rubrics.cli.generate import open_sources
    from finassay_rubrics.measure.statements import FolderSource

    if names:
        return open_sources(catalog, names)
    if not (folder / "corpus").is_dir():
        raise UsageError(f"{folder} has no corpus/", hint="Name where to look: --source corpus:FOLDER.")
    return {"corpus": FolderSource(folder)}


def _researcher(catalog: "Catalog", place: Path, role: str, name: str) -> "Researcher":
    from finassay_rubrics.cli.generate import models_of

    options = {"model": name} if "/" in name else {}
    made: Researcher = catalog.create("researcher", "model" if options else name, options, models_of(catalog, place).to(role))[0]
    return made


def _writer(catalog: "Catalog", place: Path, given: Mapping[str, Any]) -> "Researcher":
    from finassay_rubrics.measure.faulty import FAULTS, Faulty

    inner = _researcher(catalog, place, "writer", given["writer"])
    if not given["faults"]:
        return inner
    return Faulty(inner, given["kinds"] or tuple(FAULTS), given["every"], repairs=given["repairs"])


def _bank(catalog: "Catalog", out: Path, items: "Sequence[Item]", guidance: "Guidance", path: Path | None) -> "Bank":
    """The bank that is named, else one of these very queries by the rule-based families, every proposal taken."""
    from finassay_rubrics.bank.bank import FILE, read_bank
    from finassay_rubrics.bank.build import Builder
    from finassay_rubrics.bank.criteria import writers
    from finassay_rubrics.bank.screen import freeze, propose, read_screen, settled, write_screen
    from finassay_rubrics.bank.sign import RuleSigner
    from finassay_rubrics.cli.generate import models_of

    if path is not None:
        return read_bank(path)
    folder = out / "bank"
    if not (folder / FILE).is_file():
        embedding = catalog.create("embedding", "tfidf")[0]
        both = writers("templates-a", "templates-b", models_of(catalog, folder))
        Builder(folder, [item.query for item in items], RuleSigner(), embedding, both, guidance).run()
        propose(folder, embedding)
        write_screen(folder, settled(read_screen(folder)))
        freeze(folder, "ablation", guidance)
    return read_bank(folder)


def cost_of(folder: Path) -> float | None:
    """Dollars of the model calls for one rubric; None where a call's price is not known, 0 where none was made."""
    from finassay.models.ledger import read_ledger, sums

    path = folder / "ledger.jsonl"
    spent = [one.cost_usd for one in sums(read_ledger(path))] if path.is_file() else []
    return None if any(cost is None for cost in spent) else sum(float(cost or 0) for cost in spent)


def _print(told: Sequence[Mapping[str, Any]], queries: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    out = Console()
    names = ["figures", "resolved", "right", "wrong", "final", "queued", "failed", "returned_by_validator", "returned_by_reviewer"]
    if any(one["expert_values"] for one in told):
        names[1:4] = ["expert_values", "recalled", "matched_figures"]
    if any(one["faults_made"] for one in told):
        names += ["faults_made", "faults_passed"]
    table = Table(title=Text(f"{queries} queries"), title_justify="left")
    for head in ("", *(one["arm"] for one in told)):
        table.add_column(head)
    for name in names:
        table.add_row(*(Text(str(cell)) for cell in (name.replace("_", " "), *(one[name] for one in told))))
    rules = sorted({rule for one in told for rule in one["broken_rules"]})
    for rule in rules:
        table.add_row(*(Text(str(cell)) for cell in (f"breaks {rule}", *(one["broken_rules"].get(rule, 0) for one in told))))
    table.add_row("seconds", *(f"{one['seconds']:.1f}" for one in told))
    table.add_row("dollars", *("unknown" if one["dollars"] is None else f"{one['dollars']:.4f}" for one in told))
    out.print(table)
    for one in told:
        for kind, count in one["faults"].items():
            out.print(Text(f"{one['arm']}: {kind}: {count['passed']} of {count['made']} passed"))
        for line in one["failures"]:
            out.print(Text(f"{one['arm']}: failed: {line}"))
