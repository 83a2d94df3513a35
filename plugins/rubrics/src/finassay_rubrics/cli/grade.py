"""`finassay rubric grade`."""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from finassay.api.errors import UsageError

if TYPE_CHECKING:
    from finassay.api.grading import Judge
    from finassay.api.guidance import Rule
    from finassay_rubrics.grading.score import Score


@click.command("grade")
@click.argument("rubric", type=click.Path(path_type=Path))
@click.argument("answers", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--profile", type=click.Choice(["strict", "lenient"]), default="strict", show_default=True, help="How figures are compared.")
@click.option(
    "--guidance", "packs", multiple=True, default=("general",), show_default=True, help="Guidance pack whose rules on grades are held to."
)
@click.option(
    "--judge",
    "judges",
    multiple=True,
    help="PROVIDER/NAME of a model that judges what is no figure, date or format; repeat for a panel of different families.",
)
@click.option("-o", "--judge-option", "options", multiple=True, help="An option of the judge, as KEY=VALUE: isolate=false, effort=low.")
@click.option("--keep", type=click.Path(path_type=Path), help="Folder that keeps the judge's replies and costs: nothing is paid for twice.")
@click.option("--budget", type=click.FloatRange(min=0, min_open=True), help="Dollars that the judge may cost in all.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--details/--no-details", default=True, help="Print every criterion.")
def command(
    rubric: Path,
    answers: tuple[Path, ...],
    profile: Any,
    packs: tuple[str, ...],
    judges: tuple[str, ...],
    options: tuple[str, ...],
    keep: Path | None,
    budget: float | None,
    as_json: bool,
    details: bool,
) -> None:
    """Grade answers by a rubric: points, gated points, all-pass; every verdict with what it rests on.

    ANSWERS are text files, or JSON files with a list of objects that have `text`. Exit code 1 where verdicts break a rule of the guidance.
    Without --judge, words are graded by stated rules.
    """
    from finassay.catalog.catalog import Catalog
    from finassay_rubrics.cli.guidance import guidance_of
    from finassay_rubrics.grading.by_judge import JudgedMeaning, identity_of
    from finassay_rubrics.grading.grade import Grader
    from finassay_rubrics.grading.score import topic_of
    from finassay_rubrics.record.answers import read_answers
    from finassay_rubrics.record.reading import read_rubric

    read = read_rubric(rubric)
    given = [answer for path in answers for answer in read_answers(path)]
    meaning = JudgedMeaning(judge_of(judges, options, keep, budget), read.query) if judges else None
    grader = Grader(read, profile, meaning)
    graded: dict[str, Score] = {}
    steering: dict[str, list[str]] = {}
    for answer in given:
        name = _name(answer.name, graded)
        graded[name] = grader.grade(answer.text).score
        if meaning is not None:
            steering[name], meaning.steering = meaning.steering, []
    rules, topics = guidance_of(Catalog.installed(), packs).rules, {c.id: topic_of(c) for c in read.criteria}
    broken = {name: _broken(score_json(one), topics, rules) for name, one in graded.items()}
    if as_json:
        judged = {} if meaning is None else {"judge": identity_of(meaning.judge)}
        told = {
            name: {**score_json(one), "broken_rules": broken[name], **judged, **({"steering": steering[name]} if judged else {})}
            for name, one in graded.items()
        }
        click.echo(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        _print(graded, {c.id: c.text for c in read.criteria}, details)
        for name, lines in broken.items():
            for line in lines:
                click.echo(f"{name}: {line}")
        for name, passages in steering.items():
            if passages:
                click.echo(f"{name}: {len(passages)} passages try to steer the grading; they earned and cost nothing")
    if any(broken.values()):
        raise SystemExit(1)


def _name(name: str, taken: "Mapping[str, Score]") -> str:
    """The name of an answer, told apart from others of the same name."""
    return name if name not in taken else next(f"{name} ({n})" for n in range(2, len(taken) + 3) if f"{name} ({n})" not in taken)


def judge_of(names: tuple[str, ...], options: tuple[str, ...], keep: Path | None, budget: float | None) -> "Judge":
    """The judge `model` over one model or a panel, each criterion asked alone. Raises `UsageError` or `CatalogError`."""
    from finassay.catalog.catalog import Catalog
    from finassay_rubrics.cli.generate import affordable, models_of

    chosen: dict[str, Any] = {"isolate": True, **({"model": names[0]} if len(names) == 1 else {"panel": list(names)})}
    for pair in options:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--judge-option {pair!r}: expected KEY=VALUE")
        chosen[key] = _value(value)
    catalog = Catalog.installed()
    models = models_of(catalog, keep, budget)
    judge: Judge = catalog.create("judge", "model", chosen, models.to("judge"))[0]
    affordable(models)
    return judge


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _broken(score: dict[str, Any], topics: dict[str, str | None], rules: "Sequence[Rule]") -> list[str]:
    """What the verdicts on an answer break."""
    from finassay_rubrics.validate.rules import violations

    return [f"rule {v.rule}: {v.place}: {v.reason}" for v in violations({**score, "topics": topics}, "grade", rules)]


def score_json(score: "Score") -> dict[str, Any]:
    """A graded answer as JSON data."""
    return {
        "points": _text(score.points),
        "gated_points": _text(score.gated),
        "all_pass": score.all_pass,
        "assessable": _text(score.assessable),
        "failed_gates": list(score.failed_gates),
        "routes": dict(score.routes),
        "mixed": list(score.mixed),
        "open": list(score.open),
        "criteria": [
            {
                "id": r.criterion,
                "outcome": r.found.outcome,
                "route": r.route,
                "points": _text(r.points),
                "earned": _text(r.earned),
                "by": r.found.by,
                "why": r.found.why,
                "value": r.found.value,
                "quote": r.found.quote,
                "span": r.found.span,
                "consistent_with_error": r.found.consistent_with_error,
            }
            for r in score.results
        ],
    }


def _text(value: Decimal | None) -> str | None:
    return None if value is None else f"{value:f}"


def _print(graded: "dict[str, Score]", texts: dict[str, str], details: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    out = Console()
    if details:
        for name, score in graded.items():
            table = Table(title=Text(name), title_justify="left")
            for head in ("criterion", "outcome", "earned", "by", "why"):
                table.add_column(head)
            for r in score.results:
                style = {"met": "green", "fault absent": "green", "unmet": "red", "fault present": "red"}.get(r.found.outcome, "yellow")
                why = f"{r.found.value}: {r.found.why}" if r.found.value else r.found.why
                table.add_row(
                    Text(f"{r.criterion} {texts[r.criterion]}"[:100]),
                    Text(r.found.outcome, style),
                    f"{r.earned} of {r.points}",
                    Text(r.found.by),
                    Text(why[:160]),
                )
            out.print(table)
    table = Table()
    for head in ("answer", "points", "gated", "all pass", "routes", "mixed", "failed gates", "open"):
        table.add_column(head)
    for name, s in graded.items():
        routes = ", ".join(f"{t}: {r}" for t, r in s.routes.items())
        passed = "open" if s.all_pass is None else "yes" if s.all_pass else "no"
        shown = [_text(s.points) or "undefined", _text(s.gated) or "undefined", passed]
        table.add_row(
            *(Text(cell) for cell in (name, *shown, routes, ", ".join(s.mixed), ", ".join(s.failed_gates), str(len(s.open) or "")))
        )
    out.print(table)
