"""Rubrics in the forms of others: nothing is lost on the way and back, bad input ends in one line."""

import csv
import io
import json
import os
import re
import tomllib
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from finassay.api.errors import FinassayError, InvalidFileError
from finassay_rubrics.cli.main import rubric as command
from finassay_rubrics.record.exchange.finance_v2 import VALS_V2
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
from finassay_rubrics.record.exchange.promptfoo import PROMPTFOO, literal, plain_text
from finassay_rubrics.record.exchange.rewardkit import REWARDKIT
from finassay_rubrics.record.exchange.rubric_spec import RUBRIC_SPEC
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
            earning = [c for c in rubric.criteria if c.points]
            assert len(again.criteria) == len(earning if name == VALS_V2 else rubric.criteria)  # which has no place for faults
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
        (VALS, "["),
        (VALS, "[" * 100_000),
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
        (AUTORUBRIC, "rubric: {sections: 5}"),
        (AUTORUBRIC, "sections: [{criteria: [5]}]"),
        (VALS, ""),
        (VALS_V2, ""),
        (VALS_V2, "Question,Other\nq,1\n"),
        (VALS_V2, "Question,Rubric\nq,[\n"),
        (VALS_V2, "Question,Rubric\nq,5\n"),
        (VALS_V2, 'Question,Rubric\nq,"[{""criteria"": ""x"", ""modifiers"": 3}]"\n'),
        (VALS_V2, 'Question,Rubric\nq,"[{""criteria"": ""x"", ""modifiers"": {""severity"": ""much""}}]"\n'),
        (REWARDKIT, ""),
        (REWARDKIT, "[[criterion]"),
        (REWARDKIT, "criterion = 5"),
        (REWARDKIT, "[[criterion]]\nweight = 1\n"),
        (REWARDKIT, '[[criterion]]\ndescription = "x"\nweight = inf\n'),
        (REWARDKIT, '[[criterion]]\ndescription = "x"\nannotations = {cutoff = "soon"}\n'),
        (REWARDKIT, '[[criterion]]\ndescription = "x"\nnegate = true\n'),
        (RUBRIC_SPEC, "{"),
        (RUBRIC_SPEC, "[]"),
        (RUBRIC_SPEC, '{"version": "2"}'),
        (RUBRIC_SPEC, '{"version": "auraone-rubric-v1", "criteria": []}'),
        (RUBRIC_SPEC, '{"version": "auraone-rubric-v1", "criteria": [{"label": "x", "weight": true}]}'),
        (RUBRIC_SPEC, "[" * 100_000),
        (PROMPTFOO, "tests: 5"),
        (PROMPTFOO, "tests: [{vars: 5, assert: []}]"),
        (PROMPTFOO, "tests: [{assert: [{type: contains, value: x}]}]"),
        (PROMPTFOO, "tests: [{assert: [{type: llm-rubric, value: 5}]}]"),
        (PROMPTFOO, "- 5"),
    ],
)
def test_bad_input_ends_in_one_line(tmp_path, form, text):
    path = tmp_path / "in"
    path.write_text(text)
    with pytest.raises(InvalidFileError, match="in: "):
        read(path, DAY, form)


V2_ROW = {
    "Question": "By how much did the margin move?",
    "Question Type": "Comparables",
    "Expert time (mins)": "20",
    "Rubric": json.dumps(
        [
            {"operator": "finance_agent_v2_operator", "criteria": "2023 margin is 12.5%", "modifiers": {"severity": 3.0, "category": "must_pass"}},
            {"operator": "finance_agent_v2_operator", "criteria": "Names the cause", "modifiers": {"severity": 1.0}},
        ]
    ),
}  # fmt: skip
TOML = """[judge]
judge = "some/model"
files = ["/app/note.md"]

[[criterion]]
description = "States sales of $412 million"
weight = 3.0
annotations = {importance = "core"}

[[criterion]]
name = "cause"
description = "Names the cause"

[[criterion]]
description = "Invents a covenant"
negate = true
"""
SPEC = {
    "version": "auraone-rubric-v1",
    "rubric_id": "r",
    "label": "What drove sales?",
    "judge_prompt_contract": {"instruction": "score", "output_format": "json"},
    "provenance": {"synthetic": True},
    "criteria": [
        {"criterion_id": "a", "label": "Sales", "description": "States sales of $412 million", "scale_type": "binary", "weight": 0.75, "anchors": [{"value": 0, "label": "no"}, {"value": 1, "label": "yes"}]},
        {"criterion_id": "b", "label": "Depth of the explanation", "scale_type": "likert", "weight": 0.25, "anchors": [{"value": 1, "label": "none"}, {"value": 5, "label": "full"}]},
    ],
}  # fmt: skip
FOO = """description: mine
providers: [echo]
tests:
- vars: {question: "What drove sales?"}
  threshold: 0.5
  assert:
  - {type: llm-rubric, value: States sales of $412 million, weight: 2}
  - {type: llm-rubric, value: Names the cause}
  - {type: not-llm-rubric, value: Invents a covenant}
"""


def again(form, text):
    """A text read, kept in our own file, and written."""
    return FORMS[form].write([back(r) for r in FORMS[form].read(text, DAY, "q")])


def test_what_others_wrote_comes_back_as_it_was():
    table = FORMS[VALS_V2].write([back(r) for r in FORMS[VALS_V2].read(again(VALS_V2, _csv(V2_ROW)), DAY, "")])
    (row,) = csv.DictReader(io.StringIO(table))
    assert {**row, "Rubric": json.loads(row["Rubric"])} == {**V2_ROW, "Rubric": json.loads(V2_ROW["Rubric"])}
    assert tomllib.loads(again(REWARDKIT, TOML)) == tomllib.loads(TOML)
    assert json.loads(again(RUBRIC_SPEC, json.dumps(SPEC))) == SPEC
    assert yaml.safe_load(again(PROMPTFOO, FOO))["tests"] == yaml.safe_load(FOO)["tests"]


def _csv(row):
    out = io.StringIO()
    writer = csv.DictWriter(out, list(row))
    writer.writeheader()
    writer.writerow(row)
    return out.getvalue()


def test_weights_and_gates_of_other_forms():
    (v2,) = FORMS[VALS_V2].read(_csv(V2_ROW), DAY, "")
    assert [(c.points, c.gate, c.kind) for c in v2.criteria] == [(75, "must_pass", "numeric"), (25, "none", "text")]
    (kit,) = FORMS[REWARDKIT].read(TOML, DAY, "What drove sales?")
    assert [(c.points, c.kind) for c in kit.criteria] == [(75, "numeric"), (25, "text"), (0, "prohibited")]
    (spec,) = FORMS[RUBRIC_SPEC].read(json.dumps(SPEC), DAY, "")
    assert [(c.points, c.text) for c in spec.criteria] == [(75, "States sales of $412 million"), (25, "Depth of the explanation")]
    (foo,) = FORMS[PROMPTFOO].read(FOO, DAY, "")
    assert foo.query == "What drove sales?"
    assert [c.kind for c in foo.criteria] == ["numeric", "text", "prohibited"]
    sections = (
        "guidelines: x\nsections:\n- name: one\n  criteria: [{requirement: a, weight: 3}]\n- criteria: [{requirement: b, weight: 1}]\n"
    )
    (rubric,) = FORMS[AUTORUBRIC].read(sections, DAY, "q")
    assert [c.points for c in rubric.criteria] == [75, 25]
    assert yaml.safe_load(FORMS[AUTORUBRIC].write([rubric]))["guidelines"] == "x"


def test_what_the_other_programs_demand_of_their_files():
    """Their own rules, as their packages check them (harbor-rewardkit 0.2.3, rubric-spec 0.1.2)."""
    rubric = from_healthbench(HEALTH_ROW, DAY)
    kit = tomllib.loads(FORMS[REWARDKIT].write([rubric]))
    assert kit["scoring"] == {"aggregation": "weighted-sum"}
    assert [c["weight"] for c in kit["criterion"]] == [0.7, 0.3, -0.5]  # HealthBench's score: points of all that positive ones sum to
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", c["name"]) for c in kit["criterion"])
    own = tomllib.loads(FORMS[REWARDKIT].write([from_vals(VALS_ROW, DAY)]))
    assert own["scoring"] == {"aggregation": "weighted-mean"}
    assert [c["weight"] for c in own["criterion"]] == [33.34, 33.33, 33.33, 0]
    assert own["criterion"][-1]["negate"] is True
    spec = json.loads(FORMS[RUBRIC_SPEC].write([rubric]))
    assert sum(c["weight"] for c in spec["criteria"]) == pytest.approx(1, abs=1e-3)
    assert all(c["weight"] > 0 and len(c["anchors"]) == 2 and c["label"] for c in spec["criteria"])
    assert [c["description"] for c in spec["x-finassay"]["criteria"]] == ["Invents a covenant"]
    foo = yaml.safe_load(FORMS[PROMPTFOO].write([rubric]))
    assert [(a["type"], a["weight"]) for a in foo["tests"][0]["assert"]] == [("llm-rubric", 7), ("llm-rubric", 3), ("not-llm-rubric", 0)]


@pytest.mark.parametrize(
    "text", ["file:///etc/passwd", "{{ env.KEY }}", "{% for x in y %}", "a {% endraw %}{{ env.KEY }}", "https://x", "plain"]
)
def test_a_criterion_stays_words_in_promptfoo(text):
    told = literal(text)
    assert "://" not in told.split(" ")[0]
    inside = re.sub(r"\{% raw %\}.*\{% endraw %\}", "", told, flags=re.DOTALL)
    assert "{{" not in inside
    assert told.count("{% endraw %}") <= 1
    if "endraw" not in text:
        assert plain_text(told) == text


def test_what_cannot_be_seen_is_no_reason_to_fail():
    odd = from_autorubric([{"weight": 1, "requirement": "a\x00b\ud800c\x7f 'quote' \"two\" \\ end"}], DAY, "q\x07")
    for name, form in FORMS.items():
        text = form.write([odd])
        text.encode("utf-8", "surrogatepass")
        assert len(form.read(text, DAY, "q")[0].criteria) == 1, name


def test_the_command_reaches_every_form(tmp_path):
    source = tmp_path / "rows.jsonl"
    source.write_text(json.dumps(VALS_ROW) + "\n")
    run = CliRunner().invoke
    for form, suffix in (("rewardkit", ".toml"), ("vals-v2", ".csv"), ("promptfoo", ".yaml"), ("rubric-spec", ".json")):
        target = tmp_path / f"out{suffix}"
        done = run(command, ["convert", str(source), str(target), "--to", form])
        assert done.exit_code == 0, done.output
        done = run(command, ["convert", str(target), str(tmp_path / "own.json"), "--to", "rubric"])
        assert done.exit_code == 0, (form, done.output, done.exception)
        assert read_rubric(tmp_path / "own.json").query == VALS_ROW["question"]


def test_rows_as_one_json_list(tmp_path):
    path = tmp_path / "rows.json"
    for row, form in ((VALS_ROW, VALS), (HEALTH_ROW, HEALTHBENCH)):
        path.write_text(json.dumps([row, row], indent=1))
        assert len(read(path, DAY)) == len(read(path, DAY, form)) == 2
    path.write_text("[]")
    with pytest.raises(FinassayError):
        read(path, DAY)
