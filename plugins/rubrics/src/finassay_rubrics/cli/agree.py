"""`finassay rubric agree`."""

from pathlib import Path
from typing import Any

import click

from finassay.api.errors import InvalidFileError
from finassay_rubrics.cli.blind import blind
from finassay_rubrics.cli.telling import tell

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
PROFILE = click.option("--profile", type=click.Choice(["strict", "lenient"]), default="strict", show_default=True)


@click.group("agree")
def command() -> None:
    """Agreement with people and experts: verdicts, scores, values, coverage, answers spoilt on purpose, blind preference."""


@command.command("verdicts")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@PROFILE
@AS_JSON
def verdicts(paths: tuple[Path, ...], profile: Any, as_json: bool) -> None:
    """Verdicts beside people's: accuracy, kappa and macro F1, each with a bootstrap interval over queries.

    A PATH is a folder with rubric.json and answers.json (a list of objects with `text` and `verdicts`, criterion to met or unmet), whose
    answers are graded; or a table (.csv, .jsonl, .json) with the columns query, answer, criterion, program, person.
    """
    from finassay_rubrics.measure.agreeing import agreement_json
    from finassay_rubrics.measure.material import pairs_of

    found = [pairs_of(path, profile) for path in paths]
    pairs = [pair for own, _ in found for pair in own]
    if not pairs:
        raise InvalidFileError("no verdicts of people in what was given")
    told = agreement_json(pairs)
    for side in ("program", "person"):
        told[f"no_verdict_by_{side}"] = sum(left[side] for _, left in found)
    told["differing"] = [
        {"query": p.query, "answer": p.answer, "criterion": p.criterion, "program": p.program, "person": p.person}
        for p in pairs
        if p.program != p.person
    ]
    tell(told, as_json)


@command.command("track")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--first", default="generated", show_default=True, help="Column of a table with the scores that are measured.")
@click.option("--second", default="expert", show_default=True, help="Column of a table with the scores of experts or people.")
@PROFILE
@AS_JSON
def track(paths: tuple[Path, ...], first: str, second: str, profile: Any, as_json: bool) -> None:
    """Do two rubrics, or a rubric and people, score the same answers alike: correlations, order of pairs, with intervals over queries.

    A PATH is a folder with rubric.json, answers.json (or .jsonl) and an expert's rubric in any form (expert.json, .jsonl, .yaml), by which the
    answers are graded too; without one, the answers' own `points` or `score` are the people's. Or a table (.csv, .jsonl, .json) with the
    columns query, answer and two of scores.
    """
    from finassay_rubrics.measure.material import scores_of
    from finassay_rubrics.measure.tracking import track as tracked

    found = [scores_of(path, profile, first, second) for path in paths]
    rows = [row for own, _ in found for row in own]
    if len(rows) < 2:
        raise InvalidFileError(f"{len(rows)} answers with two scores: at least two are needed")
    told = tracked(rows).json()
    told["undefined_scores"] = sum(left for _, left in found)
    tell(told, as_json)


@command.command("values")
@click.argument("generated", type=click.Path(path_type=Path))
@click.argument("expert", type=click.Path(path_type=Path))
@AS_JSON
def values(generated: Path, expert: Path, as_json: bool) -> None:
    """Value recall and precision of GENERATED against EXPERT, by any route and by the first; EXPERT may be in a foreign form."""
    from finassay_rubrics.measure.agreeing import Values
    from finassay_rubrics.measure.agreeing import values as compared
    from finassay_rubrics.measure.material import expert_of
    from finassay_rubrics.record.reading import read_rubric

    own = read_rubric(generated)
    found = compared(own, expert_of(expert, own.query))
    told = {
        "expert_values": len(found.recalled),
        "generated_values": len(found.precise),
        "recall_any_route": Values.share(found.recalled),
        "recall_first_route": Values.share(found.recalled, first=True),
        "precision": Values.share(found.precise),
        "unmatched": [{"criterion": m.criterion, "value": m.value, "nearest": m.nearest} for m in found.recalled if not m.by],
    }
    tell(told, as_json)


@command.command("coverage")
@click.argument("generated", type=click.Path(path_type=Path))
@click.argument("expert", type=click.Path(path_type=Path))
@AS_JSON
def coverage(generated: Path, expert: Path, as_json: bool) -> None:
    """Which criteria of EXPERT are covered by GENERATED: by a value within tolerance, by words, or not; every one listed."""
    from finassay_rubrics.measure.coverage import coverage as covered
    from finassay_rubrics.measure.material import expert_of
    from finassay_rubrics.record.reading import read_rubric

    own = read_rubric(generated)
    rows = covered(own, expert_of(expert, own.query))
    told: dict[str, Any] = {
        "expert_criteria": len(rows),
        "covered": sum(bool(row.by) for row in rows) / len(rows) if rows else None,
        "by_value": sum(row.how == "value" for row in rows),
        "by_words": sum(row.how == "words" for row in rows),
        "criteria": [
            {"criterion": r.criterion, "covered": r.how or "no", "by": r.by, "share_of_words": round(r.share, 2), "nearest": r.nearest}
            for r in rows
        ],
    }
    tell(told, as_json)


@command.command("redundancy")
@click.argument("rubric", type=click.Path(path_type=Path))
@click.argument("answers", nargs=-1, type=click.Path(path_type=Path))
@PROFILE
@AS_JSON
def redundancy(rubric: Path, answers: tuple[Path, ...], profile: Any, as_json: bool) -> None:
    """What RUBRIC tests twice: near-duplicates; over graded ANSWERS criteria whose verdicts fall together, and those that tell nothing."""
    from attrs import asdict

    from finassay_rubrics.grading.grade import Grader
    from finassay_rubrics.measure.coverage import redundancy as measured
    from finassay_rubrics.record.answers import read_answers
    from finassay_rubrics.record.reading import read_rubric

    own = read_rubric(rubric)
    grader = Grader(own, profile)
    graded = [grader.grade(answer.text).score for path in answers for answer in read_answers(path)]
    found = measured(own, [{r.criterion: r.found.outcome for r in score.results} for score in graded])
    told: dict[str, Any] = {
        "criteria": found.criteria,
        "answers": found.answers,
        "repeated_share": found.share,
        "near_duplicates": [asdict(twice) for twice in found.by_text],
        "verdicts_together": [asdict(twice) for twice in found.by_verdict],
        "met_by_every_answer": list(found.always_met),
        "met_by_no_answer": list(found.never_met),
    }
    tell(told, as_json)


@command.command("spoil")
@click.argument("rubric", type=click.Path(path_type=Path))
@click.argument("answers", nargs=-1, required=True, type=click.Path(path_type=Path))
@AS_JSON
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
        told[how.replace(" ", "_")] = {"tried": len(own), "as_wanted": sum(one.as_wanted for one in own)}
    told["not_as_wanted"] = [
        {"answer": name, "how": one.how, "changed": one.changed, "before": f"{one.before:f}", "after": f"{one.after:f}"}
        for name, one in found
        if not one.as_wanted
    ]
    tell(told, as_json)


command.add_command(blind)
