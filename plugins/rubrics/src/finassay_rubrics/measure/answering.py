"""Generated rubrics at work: labelled answers graded by the rubric that was generated for their question, beside what people said of them.

An answer passes where the rubric's gates hold (`gated` above zero and all figures met); people say correct or not. Scores are compared too: points
of the rubric beside 100 or 0.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from finassay_rubrics.grading.grade import Grader
from finassay_rubrics.grading.score import GOOD, Score
from finassay_rubrics.measure.recall import plain, rubrics_in
from finassay_rubrics.measure.responses import PROFILES, is_right, labelled
from finassay_rubrics.measure.rows import found, rows_of
from finassay_rubrics.measure.statistics import verdict_figures
from finassay_rubrics.measure.tracking import Scores, track
from finassay_rubrics.record.rubric import Rubric


@frozen
class _Answer:
    question: str
    model: str
    text: str
    right: bool
    rubric: Rubric


def answering_json(folder: Path, made: Path) -> dict[str, Any] | str:
    """Agreement under both profiles, or why there is none. Raises `InvalidFileError`."""
    answers = list(_answers(folder, made))
    if not answers:
        return "no labelled answer to a question that a rubric with a figure was generated for"
    return {
        "answers": len(answers),
        "questions": len({a.question for a in answers}),
        **{profile: _beside_people(answers, profile) for profile in PROFILES},
    }


def _answers(folder: Path, made: Path) -> Iterator[_Answer]:
    generated = {plain(rubric.query): rubric for rubric in rubrics_in(made)}
    rubrics = {
        str(row["financebench_id"]): generated[plain(str(row["question"]))]
        for row in rows_of(found(folder, "questions"), ("financebench_id", "question"))
        if plain(str(row["question"])) in generated
    }
    for row in labelled(folder, ("financebench_id", "human_label")):
        rubric = rubrics.get(str(row["financebench_id"]))
        if rubric is not None and any(c.kind == "numeric" and c.status == "grounded" for c in rubric.criteria):
            model = f"{row.get('model', '?')} {row.get('mode') or ''}".strip()
            yield _Answer(str(row["financebench_id"]), model, str(row.get("answer") or ""), bool(is_right(row["human_label"])), rubric)


def _beside_people(answers: list[_Answer], profile: Any) -> dict[str, Any]:
    graders: dict[str, Grader] = {}
    verdicts: list[tuple[_Answer, bool]] = []
    scores: list[Scores] = []
    for number, one in enumerate(answers):
        grader = graders.setdefault(one.question, Grader(one.rubric, profile))
        score = grader.grade(one.text).score
        verdicts.append((one, _passes(one.rubric, score)))
        if score.points is not None:
            scores.append(Scores(one.question, str(number), float(score.points), 100.0 * one.right))
    figures = verdict_figures(verdicts, lambda v: v[0].question, lambda v: (v[1], v[0].right))
    return {
        **{name: None if figure is None else figure.json() for name, figure in figures.items()},
        "called_wrong_by_the_rubric_alone": sum(v[0].right and not v[1] for v in verdicts),
        "called_right_by_the_rubric_alone": sum(v[1] and not v[0].right for v in verdicts),
        "tracking": track(scores).json() if len(scores) > 1 else None,
        "undefined_scores": len(answers) - len(scores),
        "differing": [
            {"question": v[0].question, "model": v[0].model, "person": "right" if v[0].right else "wrong"}
            for v in verdicts
            if v[0].right != v[1]
        ],
    }


def _passes(rubric: Rubric, score: Score) -> bool:
    """Every grounded figure is met, on one route of each convention."""
    figures = {c.id for c in rubric.criteria if c.kind == "numeric" and c.status == "grounded"}
    return not score.failed_gates and all(r.found.outcome in GOOD for r in score.results if r.criterion in figures)
