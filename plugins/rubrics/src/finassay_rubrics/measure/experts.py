"""What experts' rubrics with an answer of their own tell about the grader, without a single model.

The expert's answer must meet the expert's criteria; the answer to another question must not.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from finassay_rubrics.grading.grade import Grader
from finassay_rubrics.measure.rows import left_out, rows_of
from finassay_rubrics.record.exchange.common import original_of
from finassay_rubrics.record.exchange.forms import VALS, from_vals
from finassay_rubrics.record.rubric import Rubric


def experts_in(path: Path | None) -> list[Rubric]:
    """The rubrics of a file of experts' rows. Raises `InvalidFileError` for a row that is none, unless those are left out."""
    today, found = datetime.now(UTC).date(), []
    for number, row in enumerate(rows_of(path, ("question",)), start=1):
        try:
            found.append(from_vals(row, today))
        except (ValueError, TypeError, ArithmeticError) as error:
            left_out(f"{path}: row {number}", f"is no expert's rubric: {' '.join(str(error).split())}")
    return found


def experts_json(path: Path | None) -> dict[str, Any] | str:
    """Counts over the criteria that can earn points, or why there are none. Raises `InvalidFileError`."""
    rubrics = experts_in(path)
    if not rubrics:
        return "no row is an expert's rubric"
    answers = [str(original_of(r, VALS).get("rest", {}).get("answer", "")) for r in rubrics]
    own, other = [0, 0], [0, 0]
    own_numeric, other_numeric = [0, 0], [0, 0]
    for index, rubric in enumerate(rubrics):
        grader = Grader(rubric)
        for text, all_kinds, numeric in (
            (answers[index], own, own_numeric),
            (answers[(index + 1) % len(answers)], other, other_numeric),
        ):
            for kind, met in _verdicts(rubric, grader, text):
                all_kinds[met] += 1
                if kind == "numeric":
                    numeric[met] += 1
    return {
        "questions": len(rubrics),
        "criteria": sum(own),
        "numeric_criteria": sum(own_numeric),
        "met_by_the_experts_own_answer": own[True] / max(1, sum(own)),
        "numeric_met_by_the_experts_own_answer": own_numeric[True] / max(1, sum(own_numeric)),
        "met_by_the_answer_to_another_question": other[True] / max(1, sum(other)),
        "numeric_met_by_the_answer_to_another_question": other_numeric[True] / max(1, sum(other_numeric)),
    }


def _verdicts(rubric: Rubric, grader: Grader, text: str) -> list[tuple[str, bool]]:
    kinds = {c.id: c.kind for c in rubric.criteria if c.points}
    return [(kinds[r.criterion], r.found.outcome == "met") for r in grader.grade(text).score.results if r.criterion in kinds]
