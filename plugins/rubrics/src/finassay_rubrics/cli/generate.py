"""`finassay rubric generate`."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from finassay.api.errors import PreflightError, UsageError
from finassay_rubrics.cli.context import day_of, query_of

if TYPE_CHECKING:
    from finassay.api.research import Researcher
    from finassay.api.source import Source
    from finassay.catalog.catalog import Catalog
    from finassay.models.service import ModelService
    from finassay_rubrics.record.rubric import Rubric

ROLES = ("writer", "reviewer", "contextualizer", "composer", "global-reviewer")
"""Who may be given options of its own."""


@click.command("generate")
@click.argument("query")
@click.option("--cutoff", required=True, help="Last day whose sources count, inclusive: 2023-03-01.")
@click.option("--guidance", "packs", multiple=True, default=("general",), show_default=True, help="Guidance pack; repeat to add one.")
@click.option("--source", "--sources", "sources", multiple=True, required=True, help="Source, as ID or ID:FOLDER; repeat for several.")
@click.option("--writer", default="statements-a", show_default=True, help="Who writes: a researcher's id, or PROVIDER/MODEL.")
@click.option(
    "--reviewer", default="statements-b", show_default=True, help="Who derives every value again, of another family; 'none' tries without."
)
@click.option(
    "--bank", type=click.Path(path_type=Path), help="A frozen task bank, whose criteria guide the writer where a task of it fits."
)
@click.option("--contextualizer", default="rules", show_default=True, help="Who takes the query apart: rules, or PROVIDER/MODEL.")
@click.option("--composer", default="rules", show_default=True, help="Who moves points after research: rules, or PROVIDER/MODEL.")
@click.option(
    "--global-reviewer",
    default="rules",
    show_default=True,
    help="Who looks at the whole: rules alone, or PROVIDER/MODEL of another family besides.",
)
@click.option("--no-validator", is_flag=True, help="Try what the validator is worth.")
@click.option("--same-family", is_flag=True, help="Try what another family is worth.")
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    help="Dollars that the rubric's models may cost in all; it then stops and can be gone on with.",
)
@click.option(
    "--researcher-seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=1_800,
    show_default=True,
    help="How long a researcher may take for one obligation or value; then it waits for a person.",
)
@click.option("-o", "--option", "options", multiple=True, help="Option of a role or source: writer.KEY=VALUE, SOURCE.KEY=VALUE.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The rubric's folder; an existing one is gone on with.")
def command(
    query: str,
    cutoff: str,
    packs: tuple[str, ...],
    sources: tuple[str, ...],
    writer: str,
    reviewer: str,
    bank: Path | None,
    contextualizer: str,
    composer: str,
    global_reviewer: str,
    no_validator: bool,
    same_family: bool,
    budget: float | None,
    researcher_seconds: float,
    options: tuple[str, ...],
    out: Path,
) -> None:
    """Make a rubric: every expected value sourced or computed, derived again by another family, fixed as of the cutoff. Resumable."""
    from finassay.catalog.catalog import Catalog
    from finassay_rubrics.bank.bank import bank_criteria, read_bank
    from finassay_rubrics.cli.guidance import guidance_of
    from finassay_rubrics.cli.roles import refuse_one_family, roles_of
    from finassay_rubrics.cli.show import write_pages
    from finassay_rubrics.context.contextualize import context_for
    from finassay_rubrics.generate.assembly import at_work
    from finassay_rubrics.generate.work import told_apart

    catalog = Catalog.installed()
    models, own = models_of(catalog, out, budget), options_of(options, (*ROLES, *(name.partition(":")[0] for name in sources)))
    held, day, guidance = read_bank(bank) if bank else None, day_of(cutoff), guidance_of(catalog, packs)
    if not same_family:
        refuse_one_family(models, writer, {"reviewer": reviewer, "global-reviewer": global_reviewer}, own)
    roles = roles_of(models, guidance, {"contextualizer": contextualizer, "composer": composer, "global-reviewer": global_reviewer}, own)
    who = _researchers(catalog, models, (writer, reviewer), own)
    opened = open_sources(catalog, sources, own, models)
    affordable(models)
    if not same_family:
        told_apart(*who, roles.global_reviewer)
    try:
        context = context_for(out, query_of(query), day, held.document if held else None, roles.contextualizer, guidance.rules)
        with at_work(
            out,
            context,
            guidance,
            who,
            opened,
            validate=not no_validator,
            same_family=same_family,
            told=click.echo,
            besides=roles.besides,
            seconds=researcher_seconds,
            composer=roles.composer,
            global_reviewer=roles.global_reviewer,
        ) as orchestrator:
            orchestrator.bank_criteria = bank_criteria(held, context)
            rubric = orchestrator.make()
            write_pages(out, rubric)
    except KeyboardInterrupt:
        click.echo("stopped; the same command goes on where it was", err=True)
        raise SystemExit(130) from None
    finally:
        told_spending(models)
    _told(out, rubric)
    for line in left_out(opened.values()):
        click.echo(line)


def _told(out: Path, rubric: "Rubric") -> None:
    grounded = sum(1 for c in rubric.criteria if c.status == "grounded")
    click.echo(f"{out}: {len(rubric.criteria)} criteria, {grounded} grounded; {rubric.status}")
    if rubric.status == "final":
        return
    held, open_ = sum((c.points for c in rubric.criteria), Decimal(0)), [o.id for o in rubric.obligations if not o.graded]
    click.echo(
        f"  not final: {held} of 100 points stand in criteria that can be graded"
        + (f"; those of {', '.join(open_)} do not" if open_ else "")
    )
    for line in rubric.queued[:10]:
        click.echo(f"  waits for a person: {line}")
    if len(rubric.queued) > 10:
        click.echo(f"  and {len(rubric.queued) - 10} more")
    click.echo(f"  to decide: finassay rubric queue {out}")


def left_out(sources: "Iterable[Source]") -> Iterator[str]:
    """What lies in sources and was there for nobody, a line each: what a rubric may lack because of it."""
    for source in sources:
        for name, words in (("unseen", "undated, or dated before they can have been written"), ("problems", "not to be read")):
            tell = getattr(source, name, None)
            if not callable(tell):
                continue
            try:
                lost = [str(one) for one in tell()]
            except Exception:  # somebody else's code, asked for a courtesy
                continue
            if lost:
                shown = f"{'; '.join(lost[:3])}{f' and {len(lost) - 3} more' if len(lost) > 3 else ''}"
                yield f"  {source.id}: {len(lost)} document{'' if len(lost) == 1 else 's'} there for nobody, because {words}: {shown}"[:500]


def models_of(catalog: "Catalog", out: Path | None, budget: float | None = None) -> "ModelService":
    """The chat models of one rubric, by `PROVIDER/NAME`, with what `finassay.toml` says of their providers. Contacts nobody.

    In `out` each reply is kept, so that nothing is paid for twice, and each call stands in `ledger.jsonl` with its role and cost; without it
    nothing is kept. `budget` is in dollars, over everything that the ledger holds: then `BudgetError` is raised. `models_of(...).to(ROLE)`
    are the models of a component.
    """
    from finassay.config.settings import RunSettings, provider_settings
    from finassay.models.ledger import Budget
    from finassay.models.service import ModelService

    settings = provider_settings(RunSettings(agents={}), Path.cwd())
    return ModelService(catalog, settings, out, Budget(budget), waits=_waits)


def _waits(model: str, seconds: float, error: Exception) -> None:
    click.echo(f"{model} is waited for, {seconds:.0f} s: {error}", err=True)


def affordable(models: "ModelService") -> None:
    """Raises `PreflightError` where no budget can be kept, because a model's price is unknown. For when all models were asked for."""
    if problems := models.problems():
        raise PreflightError("; ".join(problems), problems=tuple(problems))


def told_spending(models: "ModelService", *, aside: bool = False) -> None:
    """Shows what models have cost until now, by stage and role; nothing where none was asked. `aside` is on standard error, beside data."""
    from rich.console import Console

    from finassay.cli.render import WIDE, console, print_spending
    from finassay.models.ledger import sums

    beside = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else WIDE)
    print_spending(beside if aside else console(), tuple(sums(models.ledger.entries())))


def options_of(pairs: Sequence[str], roles: Sequence[str] = ROLES) -> dict[str, dict[str, Any]]:
    """`ROLE.KEY=VALUE` by role. Raises `UsageError` for another role."""
    from finassay.config.settings import parse_options

    found = parse_options(tuple(pairs))
    unknown = [role for role in found if role not in roles]
    if unknown:
        raise UsageError(f"option of {unknown[0]!r}, which is no role here", hint=f"Roles that take options: {', '.join(roles)}.")
    return found


def _researchers(
    catalog: "Catalog", models: "ModelService", names: tuple[str, str], options: Mapping[str, dict[str, Any]]
) -> tuple["Researcher", "Researcher | None"]:
    """Writer and reviewer; `none` is no reviewer."""
    writer, reviewer = names
    first = _researcher(catalog, models, "writer", writer, options)
    return first, None if reviewer == "none" else _researcher(catalog, models, "reviewer", reviewer, options)


def _researcher(catalog: "Catalog", models: "ModelService", role: str, name: str, options: Mapping[str, dict[str, Any]]) -> "Researcher":
    """A researcher by its id, or the one that is a chat model by `PROVIDER/NAME`."""
    own = dict(options.get(role, {}))
    if "/" in name:
        name, own = "model", {"model": name, **own}
    if name == "model" and not any(offer.id == name for offer in catalog.offers("researcher")):
        raise UsageError("no researcher that is a model is installed", hint="Install finassay-researcher-model, or take an offline one.")
    made: Researcher = catalog.create("researcher", name, own, models.to(role))[0]
    return made


def open_sources(
    catalog: "Catalog",
    names: Sequence[str],
    options: Mapping[str, Mapping[str, Any]] | None = None,
    models: "ModelService | None" = None,
) -> dict[str, "Source"]:
    """Sources by id, with their options by id; one that searches through a model has it of `models`. Raises `UsageError` for two of one id."""
    found: dict[str, Source] = {}
    for name in names:
        source = _source(catalog, name, options or {}, models)
        if source.id in found:
            raise UsageError(f"two sources have the id {source.id!r}", hint="Put their documents into one folder.")
        found[source.id] = source
    return found


def _source(catalog: "Catalog", given: str, options: Mapping[str, Mapping[str, Any]], models: "ModelService | None") -> "Source":
    name, _, folder = given.partition(":")
    chosen = {**({"folder": folder} if folder else {}), **options.get(name, {})}
    made: Source = catalog.create("source", name, chosen, models.to("source") if models is not None else None)[0]
    return made
