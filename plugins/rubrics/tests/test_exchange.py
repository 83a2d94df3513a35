"""Rubrics in the forms of others: nothing is lost on the way and back, bad input ends in one line."""

import json
import os
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from finassay.api.errors import FinassayError, InvalidFileError
from finassay_rubrics.cli.main import rubric as command
from finassay_rubrics.record.exchange.forms import (
    AUTORUBRIC,
    FORMS,
    HEALTHBENCH,
    VALS,
    from_autorubric,
    from_healthbench,
    from_vals,
    read,
    to_autorubric,
    to_healthbench,
    to_vals,
)
from finassay_rubrics.record.reading import read_rubric, rubric_json, rubric_of

SHARED = Path(os.environ.get("FINASSAY_SHARED", Path(__file__).parents[4] / "shared"))
EXPERTS = SHARED / "data" / "vals-finance-agent" / "expert_rubrics.jsonl"
WORKED = sorted(p.parent for p in (SHARED / "cases" / "rubrics").glob("*/rubric.json"))
DAY = date(2025, 3, 1)

VALS_ROW = {
    "id": "own-1",
    "question": "How did the margin of Foxglove move?",
    "answer": "From 12.5% to 11.0%.",
    "rubric": [
        {"operator": "correctness", "criteria": "2023 margin: 12.5%"},
        {"operator": "correctness", "criteria": "The margin fell on input costs"},
        {"operator": "correctness", "criteria": "2024 sales: $1.25 billion"},
        {"operator": "contradiction", "criteria": "From 12.5% to 11.0%."},
    ],
}
HEALTH_ROW = {
    "prompt_id": "p",
    "prompt": [{"role": "user", "content": "What is the leverage?"}],
    "rubrics": [
        {"criterion": "States net leverage of 2.4x", "points": 7, "tags": ["axis:accuracy"]},
        {"criterion": "Explains the lease treatment", "points": 3, "tags": []},
        {"criterion": "Invents a covenant", "points": -5, "tags": ["axis:harm"]},
    ],
    "example_tags": ["theme:credit"],
}
YAML_ROWS = [
    {"name": "sales", "weight": 10.0, "requirement": "States sales of $412 million"},
    {"requirement": "Names the cause", "weight": 2.5},
    {"weight": -15.0, "requirement": "Uses adjusted figures unlabelled"},
]


def back(rubric):
    return rubric_of(json.loads(rubric_json(rubric), parse_float=Decimal), "stored")


def test_each_form_and_back_through_our_own_file():
    assert to_vals(back(from_vals(VALS_ROW, DAY))) == VALS_ROW
    assert to_healthbench(back(from_healthbench(HEALTH_ROW, DAY))) == HEALTH_ROW
    assert to_autorubric(back(from_autorubric(YAML_ROWS, DAY, "q"))) == YAML_ROWS
    wrapped = {"query": "What?", "criteria": YAML_ROWS, "judge": "x"}
    rubric = from_autorubric(wrapped, DAY, "")
    assert rubric.query == "What?"
    assert to_autorubric(back(rubric)) == wrapped


def test_weights_become_points_and_faults_earn_none():
    rubric = from_healthbench(HEALTH_ROW, DAY)
    assert [c.points for c in rubric.criteria] == [Decimal("70.00"), Decimal("30.00"), Decimal("0.00")]
    assert [c.kind for c in rubric.criteria] == ["numeric", "text", "prohibited"]
    rubric = from_vals(VALS_ROW, DAY)
    assert [c.points for c in rubric.criteria] == [Decimal("33.34"), Decimal("33.33"), Decimal("33.33"), Decimal("0.00")]
    assert rubric.criteria[-1].gate == "must_pass"
    route = rubric.criteria[2].expected[0]
    assert (route.value, route.unit, route.scale) == (Decimal("1.25"), "USD", "billions")


@pytest.mark.skipif(not EXPERTS.is_file(), reason="no experts' rubrics: the shared folder is not beside the checkout")
def test_experts_rows_come_back_as_they_were():
    rows = [json.loads(line) for line in EXPERTS.read_text().splitlines() if line.strip()]
    rubrics = read(EXPERTS, DAY)
    assert [to_vals(back(r)) for r in rubrics] == rows
    assert FORMS[VALS].write(rubrics).splitlines() == [json.dumps(r, ensure_ascii=False) for r in rows]
    for rubric in rubrics:
        assert sum(c.points for c in rubric.criteria) == 100


@pytest.mark.skipif(not WORKED, reason="no worked rubrics: the shared folder is not beside the checkout")
def test_our_rubrics_in_every_form_tell_their_values(tmp_path):
    for folder in WORKED:
        rubric = read_rubric(folder)
        for name, form in FORMS.items():
            text = form.write([rubric])
            (again,) = form.read(text, rubric.cutoff, rubric.query)
            assert again.query == rubric.query, name
            assert len(again.criteria) == len(rubric.criteria)
            for criterion in rubric.criteria:
                values = [str(r.value) for r in criterion.expected] if criterion.kind == "numeric" else []
                assert all(v in text for v in values)


def test_the_command_converts_and_tells_the_form(tmp_path):
    source, own = tmp_path / "rows.jsonl", tmp_path / "own.json"
    source.write_text(json.dumps(VALS_ROW) + "\n")
    run = CliRunner().invoke
    assert run(command, ["convert", str(source), str(own), "--cutoff", "2025-03-01"]).exit_code == 0
    assert read_rubric(own).cutoff == DAY
    assert run(command, ["convert", str(own), str(tmp_path / "r.yaml")]).exit_code == 0
    assert len(yaml.safe_load((tmp_path / "r.yaml").read_text())["criteria"]) == 4
    assert run(command, ["convert", str(own), str(tmp_path / "h.jsonl"), "--to", "healthbench"]).exit_code == 0
    assert run(command, ["convert", str(own), str(tmp_path / "v.jsonl"), "--to", "vals"]).exit_code == 0
    assert json.loads((tmp_path / "v.jsonl").read_text()) == VALS_ROW
    source.write_text((json.dumps(VALS_ROW) + "\n") * 2)
    assert run(command, ["convert", str(source), str(own)]).exit_code == 0
    assert (tmp_path / "own.002.json").is_file()
    assert isinstance(run(command, ["convert", str(source), str(tmp_path / "x.txt")]).exception, FinassayError)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (VALS, "{"),
        (VALS, "[1]"),
        (VALS, "5"),
        (VALS, '{"question": "q", "rubric": [{"operator": "other", "criteria": "x"}]}'),
        (VALS, '{"question": "q", "rubric": []}'),
        (VALS, '{"question": "", "rubric": [{"operator": "correctness", "criteria": "x"}]}'),
        (VALS, '{"question": "q", "rubric": [{"operator": "correctness", "criteria": 5}]}'),
        (HEALTHBENCH, '{"prompt": "q", "rubrics": [{"criterion": "x", "points": "many"}]}'),
        (HEALTHBENCH, '{"prompt": "q", "rubrics": [{"criterion": "x", "points": NaN}]}'),
        (HEALTHBENCH, '{"prompt": "q", "rubrics": [{"criterion": "x", "points": -1}]}'),
        (HEALTHBENCH, '{"prompt": [], "rubrics": [{"criterion": "x", "points": 1}]}'),
        (AUTORUBRIC, "a: [1"),
        (AUTORUBRIC, "5"),
        (AUTORUBRIC, "- weight: 1"),
        (AUTORUBRIC, "!!python/object/apply:os.system ['true']"),
        (AUTORUBRIC, ""),
        (VALS, ""),
    ],
)
def test_bad_input_ends_in_one_line(tmp_path, form, text):
    path = tmp_path / "in"
    path.write_text(text)
    with pytest.raises(InvalidFileError, match="in: "):
        read(path, DAY, form)
