"""`finassay rubric agree`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from finassay.api.errors import InvalidFileError

if TYPE_CHECKING:
    from finassay_rubrics.measure.agreeing import Interval, Pair


@click.group("agree")
def command() -> None:
    """Agreement with people: verdicts, values of an expert's rubric, answers spoilt on purpose."""


@command.command("verdicts")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path, file_okay=False))
@click.option("--profile", type=click.Choice(["strict", "lenient"]), default="strict", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def verdicts(folders: tuple[Path, ...], profile: Any, as_json: bool) -> None:
    """Grade the answers of FOLDERS and compare with people's verdicts: kappa and macro F1, with intervals over queries.

    Each folder holds rubric.json and answers.json, a list of objects with `text` and `verdicts` (criterion to met or unmet).
    """
    from finassay_rubrics.measure.agreeing import kappa, macro_f1, with_interval

    pairs = [pair for folder in folders for pair in _pairs(folder, profile)]
    if not pairs:
        raise InvalidFileError("no verdicts of people in these folders")
    differing = [p for p in pairs if p.program != p.person]
    told = {
        "queries": len({p.query for p in pairs}),
        "verdicts": len(pairs),
        "accuracy": 1 - len(differing) / len(pairs),
        "kappa": _interval(with_interval(pairs, kappa)),
        "macro_f1": _interval(with_interval(pairs, macro_f1)),
        "differing": [
            {"query": p.query, "answer": p.answer, "criterion": p.criterion, "program": p.program, "person": p.person} for p in differing
        ],
    }
    _tell(told, as_json)


def _pairs(folder: Path, profile: Any) -> "list[Pair]":
    from finassay_rubrics.grading.grade import Grader
    from finassay_rubrics.measure.agreeing import Pair, verdict_of
    from finassay_rubrics.record.reading import read_rubric

    rubric, path = read_rubric(folder), folder / "answers.json"
    try:
        rows = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidFileError(f"{path}: cannot be read: {error}") from error
    if not isinstance(rows, list) or not all(isinstance(r, dict) and isinstance(r.get("text"), str) for r in rows):
        raise InvalidFileError(f"{path}: expected a list of objects with text and verdicts")
    grader, found = Grader(rubric, profile), []
    for number, row in enumerate(rows, start=1):
        labels = row.get("verdicts")
        kinds = {c.id: c.kind for c in rubric.criteria}
        for result in grader.grade(row["text"]).score.results:
            person = verdict_of(str((labels if isinstance(labels, dict) else {}).get(result.criterion, "")))
            program = verdict_of(result.found.outcome)
            if person is not None and program is not None and kinds[result.criterion] != "prohibited":
                found.append(Pair(rubric.query, str(row.get("id") or number), result.criterion, program, person))
    return found


def _interval(one: "Interval | None") -> dict[str, float | None] | None:
    return None if one is None else {"value": one.value, "low": one.low, "high": one.high}


@command.command("values")
@click.argument("generated", type=click.Path(path_type=Path))
@click.argument("expert", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def values(generated: Path, expert: Path, as_json: bool) -> None:
    """Value recall and precision of GENERATED against EXPERT, by any route and by the first; EXPERT may be in a foreign form."""
    from datetime import UTC, datetime

    from finassay_rubrics.measure.agreeing import Values
    from finassay_rubrics.measure.agreeing import values as compared
    from finassay_rubrics.record.exchange.forms import read
    from finassay_rubrics.record.reading import read_rubric

    own = read_rubric(generated)
    rubrics = read(expert, datetime.now(UTC).date())
    chosen = next(
        (r for r in rubrics if " ".join(r.query.split()) == " ".join(own.query.split())), rubrics[0] if len(rubrics) == 1 else None
    )
    if chosen is None:
        raise InvalidFileError(f"{expert}: none of its {len(rubrics)} rubrics is of this query")
    found = compared(own, chosen)
    told = {
        "expert_values": len(found.recalled),
        "generated_values": len(found.precise),
        "recall_any_route": Values.share(found.recalled),
        "recall_first_route": Values.share(found.recalled, first=True),
        "precision": Values.share(found.precise),
        "unmatched": [{"criterion": m.criterion, "value": m.value, "nearest": m.nearest} for m in found.recalled if not m.by],
    }
    _tell(told, as_json)


@command.command("spoil")
@click.argument("rubric", type=click.Path(path_type=Path))
@click.argument("answers", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def spoil(rubric: Path, answers: tuple[Path, ...], as_json: bool) -> None:
    """Change right ANSWERS by program: wrong period, unit, sign, entity, convention must lose points, other words and order must not."""
    from finassay_rubrics.measure.spoiling import HARMFUL, HARMLESS
    from finassay_rubrics.measure.spoiling import spoil as spoilt
    from finassay_rubrics.record.answers import read_answers
    from finassay_rubrics.record.reading import read_rubric

    read = read_rubric(rubric)
    found = [(answer.name, one) for path in answers for answer in read_answers(path) for one in spoilt(read, answer.text)]
    told: dict[str, Any] = {"changed_answers": len(found)}
    for how in (*HARMFUL, *HARMLESS):
        own = [one for _, one in found if one.how == how]
        if own:
            told[how.replace(" ", "_")] = {"tried": len(own), "as_wanted": sum(one.as_wanted for one in own)}
    told["not_as_wanted"] = [
        {"answer": name, "how": one.how, "changed": one.changed, "before": f"{one.before:f}", "after": f"{one.after:f}"}
        for name, one in found
        if not one.as_wanted
    ]
    _tell(told, as_json)


def _tell(told: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(told, indent=1, ensure_ascii=False))
        return
    for name, value in told.items():
        if isinstance(value, list):
            for row in value:
                click.echo(f"  {name.replace('_', ' ')}: {', '.join(f'{k} {v}' for k, v in row.items())}")
        elif isinstance(value, dict):
            cells = [f"{key.replace('_', ' ')} {_short(cell)}" for key, cell in value.items()]
            click.echo(f"{name.replace('_', ' ')}: {', '.join(cells)}")
        else:
            click.echo(f"{name.replace('_', ' ')}: {_short(value)}")


def _short(value: Any) -> str:
    return "undefined" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
