"""Rubrics in the forms of others, by property and by command: the same comes back, what is left out is told, hostile files end in one line."""

import csv
import io
import json
import os
import time
import tomllib
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finassay.api.errors import FinassayError
from finassay_rubrics.cli.main import rubric as command
from finassay_rubrics.record.exchange.finance_v2 import VALS_V2
from finassay_rubrics.record.exchange.forms import AUTORUBRIC, FORMS, HEALTHBENCH, VALS
from finassay_rubrics.record.exchange.promptfoo import PROMPTFOO
from finassay_rubrics.record.exchange.rewardkit import REWARDKIT
from finassay_rubrics.record.exchange.rubric_spec import RUBRIC_SPEC
from finassay_rubrics.record.reading import read_rubric, rubric_json, rubric_of
from finassay_rubrics.record.rubric import Criterion, Evidence, Obligation, Route, Rubric, Tolerance

SHARED = Path(os.environ.get("FINASSAY_SHARED", Path(__file__).parents[4] / "shared"))
EXPERTS = SHARED / "data" / "vals-finance-agent" / "expert_rubrics.jsonl"
DAY = date(2025, 3, 1)
SUFFIX = {
    VALS: ".jsonl",
    VALS_V2: ".csv",
    HEALTHBENCH: ".jsonl",
    AUTORUBRIC: ".yaml",
    REWARDKIT: ".toml",
    RUBRIC_SPEC: ".json",
    PROMPTFOO: ".yaml",
}
QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Texts as people write them, and those that formats trip over: braces, quotes, colons, leading dashes, other scripts.
words = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=60).filter(
    lambda t: t.strip()
)
rests = st.dictionaries(
    words, st.one_of(words, st.integers(-(10**6), 10**6), st.booleans(), st.none(), st.lists(words, max_size=2)), max_size=3
)


def invoke(*arguments):
    return CliRunner().invoke(command, ["convert", *map(str, arguments)])


def back(rubric):
    return rubric_of(json.loads(rubric_json(rubric), parse_float=Decimal), "stored")


def told(rubric):
    return [(c.text, c.points, c.kind, c.gate) for c in rubric.criteria]


# -- what others wrote ------------------------------------------------------------------------------------------------


@QUICK
@given(
    words,
    st.lists(st.tuples(st.sampled_from(("correctness", "contradiction")), words), min_size=1, max_size=5),
    rests.filter(lambda r: not {"question", "rubric"} & set(r)),
)
def test_rows_of_experts_come_back(question, criteria, rest):
    row = {**rest, "question": question, "rubric": [{"operator": "correctness", "criteria": "one"}]}
    row["rubric"] += [{"operator": operator, "criteria": text} for operator, text in criteria]
    (rubric,) = FORMS[VALS].read(json.dumps(row), DAY, "")
    assert json.loads(FORMS[VALS].write([back(rubric)])) == row
    assert sum(c.points for c in rubric.criteria) == 100


weights = st.one_of(st.integers(-10, 10), st.decimals("-9.75", "9.75", places=2).map(float))


@QUICK
@given(words, st.lists(st.tuples(words, weights, st.lists(words, max_size=2)), max_size=5), rests)
def test_items_of_healthbench_come_back(prompt, rows, rest):
    rubrics = [{"criterion": "one", "points": 5, "tags": []}, *({"criterion": t, "points": w, "tags": tags} for t, w, tags in rows)]
    item = {
        "prompt": [{"role": "user", "content": prompt}],
        **{k: v for k, v in rest.items() if k not in ("prompt", "rubrics")},
        "rubrics": rubrics,
    }
    (rubric,) = FORMS[HEALTHBENCH].read(json.dumps(item), DAY, "")
    assert json.loads(FORMS[HEALTHBENCH].write([back(rubric)])) == item
    positive = sum(Decimal(str(one["points"])) for one in rubrics if one["points"] > 0)
    for one, criterion in zip(rubrics, rubric.criteria, strict=True):
        assert (criterion.kind == "prohibited") == (one["points"] <= 0)
        assert abs(criterion.points - max(Decimal(str(one["points"])), Decimal(0)) * 100 / positive) <= Decimal("0.01")


@QUICK
@given(st.lists(st.tuples(words, weights), max_size=5))
def test_yaml_of_autorubric_comes_back(rows):
    data = [{"requirement": "one", "weight": 5}, *({"name": t[:8], "weight": w, "requirement": t} for t, w in rows)]
    (rubric,) = FORMS[AUTORUBRIC].read(yaml.safe_dump(data, allow_unicode=True), DAY, "q")
    assert yaml.safe_load(FORMS[AUTORUBRIC].write([back(rubric)])) == data


@QUICK
@given(words, st.lists(st.tuples(words, st.integers(1, 3), st.booleans()), min_size=1, max_size=5))
def test_rows_of_the_second_benchmark_come_back(question, rows):
    modifiers = [{"severity": w, **({"category": "must_pass"} if gate else {})} for _, w, gate in rows]
    rubric = [{"operator": "x", "criteria": text, "modifiers": m} for (text, _, _), m in zip(rows, modifiers, strict=True)]
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, ["Question", "Note", "Rubric"])
    writer.writeheader()
    writer.writerow({"Question": question, "Note": "n", "Rubric": json.dumps(rubric)})
    (read,) = FORMS[VALS_V2].read(out.getvalue(), DAY, "")
    (row,) = csv.DictReader(io.StringIO(FORMS[VALS_V2].write([back(read)]), newline=""))
    assert {**row, "Rubric": json.loads(row["Rubric"])} == {"Question": question, "Note": "n", "Rubric": rubric}
    assert [c.gate == "must_pass" for c in read.criteria] == [gate for _, _, gate in rows]


@QUICK
@given(st.sampled_from(sorted(FORMS)), words, st.lists(st.tuples(words, st.integers(1, 9)), min_size=1, max_size=5))
def test_every_form_written_and_read_is_the_same_from_then_on(form, query, rows):
    """Criteria in order, their points and gates: what a form keeps of a rubric it keeps for good."""
    item = {"prompt": query, "rubrics": [{"criterion": t, "points": w} for t, w in rows]}
    (rubric,) = FORMS[HEALTHBENCH].read(json.dumps(item), DAY, "")
    (first,) = FORMS[form].read(FORMS[form].write([rubric]), DAY, query)
    (second,) = FORMS[form].read(FORMS[form].write([back(first)]), DAY, query)
    assert FORMS[form].write([first]) == FORMS[form].write([second])
    assert told(first) == told(second)
    assert [c.text for c in first.criteria] == [c.text for c in rubric.criteria]
    if form not in (VALS, VALS_V2):  # which know no points, or three
        assert all(abs(a.points - b.points) <= Decimal("0.02") for a, b in zip(first.criteria, rubric.criteria, strict=True))


@pytest.mark.skipif(not EXPERTS.is_file(), reason="no experts' rubrics: the shared folder is not beside the checkout")
def test_experts_file_through_the_command_is_the_same_file(tmp_path):
    assert invoke(EXPERTS, tmp_path / "rows.jsonl", "--to", "vals").exit_code == 0
    rows = [json.loads(line) for line in EXPERTS.read_text("utf-8").splitlines() if line.strip()]
    assert [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()] == rows
    done = invoke(EXPERTS, tmp_path / "items.jsonl", "--to", "healthbench")
    assert done.exit_code == 0
    assert "rubric 1: the form healthbench has no place for 1 gates" in done.stderr


# -- our own rubrics, out and back ------------------------------------------------------------------------------------


def made(*, resolved=True):
    """A rubric as the system makes them: a figure with its ground, words, a form, and an explanation that nobody could ground."""
    evidence = Evidence(kind="source", source="corpus", document="d", page=1, quote="Revenue 412.5")
    figure = Route(
        value=Decimal("412.5"),
        unit="USD",
        scale="millions",
        tolerance=Tolerance(rule="band", abs=Decimal("0.05")),
        evidence=(evidence,),
    )
    state = {"status": "grounded"} if resolved else {"status": "unresolved"}
    criteria = (
        Criterion(id="O1.1", obligation_id="O1", text="States revenue", kind="numeric", points=Decimal(40), gate="must_pass", expected=(figure,) if resolved else (), **state),
        Criterion(id="O1.2", obligation_id="O1", text="Names the line", kind="text", points=Decimal("6.67"), expected=(Route(value="net sales"),), **state),
        Criterion(id="O2.1", obligation_id="O2", text="Says why revenue fell", kind="text", status="unresolved", reason="no source says why"),
        Criterion(id="O3.1", obligation_id="O3", text="Puts the figures into one table", kind="format", points=Decimal("33.33"), status="not_applicable" if resolved else "unresolved"),
        Criterion(id="O3.2", obligation_id="O3", text="Calls adjusted figures reported", kind="prohibited", polarity="negative", gate="must_pass", **state),
    )  # fmt: skip
    points = {"O1": ("33.34", "46.67"), "O2": ("33.33", "20.00"), "O3": ("33.33", "33.33")}
    obligations = tuple(
        Obligation(id=id, what=id, spans=("MET1",), frozen=Decimal(frozen), points=Decimal(now), graded=id != "O2")
        for id, (frozen, now) in points.items()
    )
    return Rubric(
        query="What was revenue of Foxglove, and why did it fall?",
        cutoff=DAY,
        obligations=obligations,
        criteria=criteria,
        writer={"id": "w"},
    )


@pytest.mark.parametrize("form", sorted(SUFFIX))
def test_unresolved_criteria_are_left_out_and_named(tmp_path, form):
    source = tmp_path / "rubric.json"
    source.write_text(rubric_json(made()), "utf-8")
    out, own, again = tmp_path / f"out{SUFFIX[form]}", tmp_path / "own.json", tmp_path / f"again{SUFFIX[form]}"
    done = invoke(source, out, "--to", form)
    assert done.exit_code == 0, done.output
    assert "1 of 5 criteria left out, unresolved: O2.1" in done.stderr
    assert f"the form {form} has no place for" in done.stderr
    assert "1 criteria with evidence, 1 criteria with tolerances" in done.stderr
    assert "Says why" not in out.read_text("utf-8")
    assert "412.5 millions USD" in out.read_text("utf-8")
    for arguments in ((out, own, "--from", form), (own, again, "--to", form)):
        assert invoke(*arguments).exit_code == 0
    assert out.read_bytes() == again.read_bytes()
    assert len(read_rubric(own).criteria) == (3 if form == VALS_V2 else 4)
    whole = invoke(source, tmp_path / "whole.json")
    assert whole.stderr == ""
    assert read_rubric(tmp_path / "whole.json") == read_rubric(source)


def test_what_a_form_has_no_place_for_is_counted(tmp_path):
    (tmp_path / "rubric.json").write_text(rubric_json(made()), "utf-8")
    told = {form: invoke(tmp_path / "rubric.json", tmp_path / f"{form}{SUFFIX[form]}", "--to", form).stderr for form in SUFFIX}
    assert {form for form, text in told.items() if "gates" in text} == {VALS, HEALTHBENCH, AUTORUBRIC}
    assert {form for form, text in told.items() if "share of the points" in text} == {VALS, VALS_V2}
    assert {form for form, text in told.items() if "1 faults and criteria without points" in text} == {VALS_V2}


def test_a_rubric_without_any_value_is_refused(tmp_path):
    (tmp_path / "rubric.json").write_text(rubric_json(made(resolved=False)), "utf-8")
    done = invoke(tmp_path / "rubric.json", tmp_path / "out.jsonl", "--to", "vals")
    assert isinstance(done.exception, FinassayError)
    assert "no criterion with points has a value" in str(done.exception)
    assert not (tmp_path / "out.jsonl").exists()


# -- hostile files ----------------------------------------------------------------------------------------------------

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
ROW = '"rubric": [{"operator": "correctness", "criteria": "x"}]'
HOSTILE = {
    "a yaml that unfolds": ("in.yaml", BOMB + "criteria: [{requirement: x}]\n", "unfolds into more than"),
    "a yaml that holds itself": ("in.yaml", "a: &a [*a]\ncriteria: [{requirement: x}]\n", "holds itself"),
    "a yaml of code": ("in.yaml", "!!python/object/apply:os.system ['true']\n", "not YAML"),
    "a yaml of bytes": ("in.yaml", "criteria: [{requirement: x, more: !!binary aGk=}]\n", "no plain data"),
    "a deep yaml": ("in.yaml", "[" * 50_000, "deep"),
    "a long yaml": ("in.yaml", "- {requirement: x}\n" * 600_000, "longer than"),
    "a key twice in yaml": ("in.yaml", "criteria: [{requirement: x, requirement: y}]\n", "'requirement' stands twice"),
    "no number in yaml": ("in.yaml", "criteria: [{requirement: x, weight: .nan}]\n", "nan is no number"),
    "deep json": ("in.jsonl", '{"question": "q", ' + ROW + ', "more": ' + "[" * 200_000 + "\n", "deep"),
    "a key twice in json": ("in.jsonl", '{"question": "q", "question": "r", ' + ROW + "}\n", "'question' stands twice"),
    "NaN": ("in.jsonl", '{"question": "q", "more": NaN, ' + ROW + "}\n", "NaN is no number"),
    "endless": ("in.jsonl", '{"question": "q", "more": 1e999, ' + ROW + "}\n", "1e999 is no number"),
    "a long number": ("in.jsonl", '{"question": "q", "more": ' + "9" * 6_000 + ", " + ROW + "}\n", "digits"),
    "another encoding": ("in.jsonl", ('{"question": "q", ' + ROW + "}\n").encode("utf-16"), "no text in UTF-8"),
    "half a character": ("in.csv", b"Question,Rubric\n\xe2\x82", "no text in UTF-8"),
    "a key twice in our own": ("in.json", '{"schema": "rubric/1", "schema": "rubric/1"}', "'schema' stands twice"),
    "NaN in our own": ("in.json", '{"schema": "rubric/1", "query": NaN}', "NaN is no number"),
    "deep in our own": ("in.json", '{"a":' * 100_000, "deep"),
    "a key twice in toml": ("in.toml", "a = 1\na = 2\n", "not TOML"),
    "a deep toml": ("in.toml", "a = " + "[" * 50_000, "TOML|deep"),
    "no number in toml": ("in.toml", 'x = nan\n[[criterion]]\ndescription = "x"\n', "nan is no number"),
    "a column twice": ("in.csv", "Question,Question,Rubric\nq,r,[]\n", "'Question' stands twice"),
    "more fields than columns": ("in.csv", 'Question,Rubric\nq,"[]",more\n', "more fields"),
}


@pytest.mark.parametrize("case", list(HOSTILE))
def test_a_hostile_file_ends_in_one_line(tmp_path, case):
    name, content, said = HOSTILE[case]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    started = time.monotonic()
    done = invoke(tmp_path / name, tmp_path / "out.json", "--to", "rubric")
    assert time.monotonic() - started < 20
    assert isinstance(done.exception, FinassayError), done.exception
    line = str(done.exception)
    assert "\n" not in line
    assert len(line) < 600
    assert any(word in line for word in said.split("|")), line
    assert not (tmp_path / "out.json").exists()


def test_what_is_no_file_ends_in_one_line(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    for source in (tmp_path / "pipe.jsonl", tmp_path / "none.jsonl", tmp_path, "/dev/zero"):
        for form in ("vals", "rubric"):
            done = invoke(source, tmp_path / "out.json", "--from", form, "--to", "rubric")
            assert isinstance(done.exception, FinassayError), (source, form, done.exception)
            assert "\n" not in str(done.exception)


def test_a_mark_of_order_and_halves_of_characters_are_no_reason_to_fail(tmp_path):
    row = {"question": "q", "rubric": [{"operator": "correctness", "criteria": "half \ud83d of one"}]}
    (tmp_path / "in.jsonl").write_bytes(b"\xef\xbb\xbf" + json.dumps(row).encode())
    for form, suffix in {**SUFFIX, "rubric": ".json"}.items():
        done = invoke(tmp_path / "in.jsonl", tmp_path / f"{form}{suffix}", "--to", form)
        assert done.exit_code == 0, (form, done.exception)
    assert json.loads((tmp_path / "vals.jsonl").read_text("utf-8")) == row
    assert invoke(tmp_path / "rubric.json", tmp_path / "again.jsonl", "--to", "vals").exit_code == 0
    assert json.loads((tmp_path / "again.jsonl").read_text("utf-8")) == row
    assert tomllib.loads((tmp_path / "rewardkit.toml").read_text("utf-8"))["criterion"][0]["description"] == "half \ufffd of one"
