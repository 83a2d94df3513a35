"""Criteria that compare issuers: the one that is chosen is told apart, and an operand is not taken for the difference."""

import tomllib
from decimal import Decimal
from pathlib import Path

import pytest
from test_siblings_second import draft_of

from finassay_rubrics.grading.grade import Grader
from finassay_rubrics.record.reading import rubric_of

CASES = tomllib.loads((Path(__file__).parent / "siblings_comparisons.toml").read_text("utf-8"), parse_float=Decimal)["case"]


@pytest.mark.parametrize(("case", "answer"), [pytest.param(c, a, id=f"{c['name']}: {a['name']}") for c in CASES for a in c["answers"]])
def test_a_comparison_is_read_as_a_reader_would(case, answer):
    results = Grader(rubric_of(draft_of(case), case["name"])).grade(answer["text"]).score.results
    told = {r.criterion: (r.found.outcome, r.found.value, r.found.why) for r in results}
    assert {name for name, (outcome, *_) in told.items() if outcome != "met"} == set(answer["unmet"]), told
