"""Agreement with people, value recall, answers spoilt on purpose."""

import json
import os
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner

from finassay.api.errors import FinassayError
from finassay_rubrics.cli.main import rubric as command
from finassay_rubrics.measure.agreeing import values, verdict_of
from finassay_rubrics.measure.coverage import coverage, redundancy
from finassay_rubrics.measure.spoiling import spoil
from finassay_rubrics.record.reading import rubric_json
from finassay_rubrics.record.rubric import Criterion, Obligation, Route, Rubric, Tolerance, Topic

SHARED = Path(os.environ.get("FINASSAY_SHARED", Path(__file__).parents[4] / "shared"))
WORKED = sorted(p.parent for p in (SHARED / "cases" / "rubrics").glob("*/rubric.json"))


def criterion(id, text, *routes, points=25, topic=None):
    made = tuple(
        Route(route_id=name, topic=topic, value=Decimal(str(v)), unit=unit, scale=scale, period=period, tolerance=Tolerance(rule="stated precision", abs=Decimal("0.5")))
        for name, v, unit, scale, period in routes
    )  # fmt: skip
    return Criterion(id=id, obligation_id="O1", text=text, kind="numeric", points=Decimal(points), expected=made)


def rubric(*criteria, topics=()):
    obligation = Obligation(id="O1", what="x", spans=("MET1",), frozen=Decimal(100), points=Decimal(100))
    return Rubric(query="What of Foxglove?", cutoff="2023-03-01", obligations=(obligation,), criteria=criteria, topics=tuple(topics))


OWN = rubric(
    criterion("r22", "States fiscal 2022 revenue", ("any", 418, "USD", "millions", "FY2022")),
    criterion("r21", "States fiscal 2021 revenue", ("any", 391, "USD", "millions", "FY2021")),
    criterion("e22", "States fiscal 2022 return on equity", ("avg", 12.4, "percent", "", "FY2022"), ("end", 11.8, "percent", "", "FY2022"), topic="roe"),
    criterion("e21", "States fiscal 2021 return on equity", ("avg", 10.9, "percent", "", "FY2021"), ("end", 10.2, "percent", "", "FY2021"), topic="roe"),
    topics=[Topic(id="roe", routes=("avg", "end"))],
)  # fmt: skip
RIGHT = """
Revenue was $418 million in fiscal 2022 and $391 million in fiscal 2021.

Return on equity was 12.4% in fiscal 2022 and 10.9% in fiscal 2021."""


def test_words_of_verdicts():
    assert [verdict_of(w) for w in ("met", "UNMET", "cannot assess", "")] == [True, False, None, None]


def test_values_by_any_route_and_by_the_first():
    expert = rubric(
        criterion("a", "2022 revenue", ("any", 0.418, "USD", "billions", "")),
        criterion("b", "2022 return on equity", ("any", 11.8, "percent", "", "")),
        criterion("c", "2021 revenue", ("any", 418, "USD", "millions", "")),
        criterion("d", "2021 margin", ("any", 3.3, "percent", "", "")),
    )
    found = values(OWN, expert)
    assert [m.by for m in found.recalled] == ["r22", "e22", "", ""]  # the third is another year's figure
    assert (found.share(found.recalled), found.share(found.recalled, first=True)) == (0.5, 0.25)
    assert found.share(found.precise) == 0.5
    assert found.recalled[2].nearest.startswith("r21")
    assert values(OWN, OWN).share(values(OWN, OWN).recalled, first=True) == 1


def test_what_is_spoilt_loses_and_what_is_put_differently_keeps():
    found = spoil(OWN, RIGHT)
    assert {s.how for s in found} == {
        "wrong period",
        "stale value",
        "wrong unit",
        "factor of ten",
        "sign",
        "mixed routes",
        "reordered",
        "paraphrased",
    }
    assert [s for s in found if not s.as_wanted] == []
    assert all(s.before == 100 for s in found)


def test_the_commands(tmp_path):
    (tmp_path / "rubric.json").write_text(rubric_json(OWN))
    labels = {"r22": "met", "r21": "met", "e22": "met", "e21": "unmet"}
    (tmp_path / "answers.json").write_text(json.dumps([{"id": "A1", "text": RIGHT, "verdicts": labels}]))
    run = CliRunner().invoke
    told = json.loads(run(command, ["agree", "verdicts", str(tmp_path), "--json"]).output)
    assert (told["verdicts"], told["accuracy"]["value"], [d["criterion"] for d in told["differing"]]) == (4, 0.75, ["e21"])
    own = str(tmp_path / "rubric.json")
    assert json.loads(run(command, ["agree", "values", own, own, "--json"]).output)["recall_any_route"] == 1
    done = run(command, ["agree", "spoil", own, str(tmp_path / "answers.json")])
    assert done.exit_code == 0, done.output
    assert "sign: tried 4, as wanted 4" in done.output
    (tmp_path / "answers.json").write_text("[3]")
    assert isinstance(run(command, ["agree", "verdicts", str(tmp_path)]).exception, FinassayError)


@pytest.mark.skipif(not WORKED, reason="no worked rubrics: the shared folder is not beside the checkout")
def test_worked_cases_agree_and_spoilt_answers_lose():
    told = json.loads(CliRunner().invoke(command, ["agree", "verdicts", *map(str, WORKED), "--json"]).output)
    assert told["kappa"]["value"] == 1
    for folder in WORKED:
        done = CliRunner().invoke(command, ["agree", "spoil", str(folder), str(folder / "answers.json"), "--json"])
        spoilt = json.loads(done.output)
        assert len(spoilt["not_as_wanted"]) <= 0.1 * spoilt["changed_answers"]


def test_what_covers_an_experts_criteria():
    text = Criterion(id="why", obligation_id="O1", text="Names higher input costs as a cause", kind="text", points=Decimal(0), expected=(Route(value="higher input costs"),))  # fmt: skip
    own = OWN.model_copy(update={"criteria": (*OWN.criteria, text)})
    expert = rubric(
        criterion("a", "2022 revenue", ("any", 0.418, "USD", "billions", "")),
        criterion("b", "2022 revenue", ("any", 0.5, "USD", "billions", "")),
        text.model_copy(update={"id": "c", "text": "The margin fell because of higher input costs"}),
        text.model_copy(update={"id": "d", "text": "Says that a covenant was waived", "expected": (Route(value="covenant waived"),)}),
        text.model_copy(update={"id": "x", "kind": "prohibited", "text": "Invents a covenant"}),
    )
    found = coverage(own, expert)
    assert [(c.criterion, c.how, c.by) for c in found] == [("a", "value", "r22"), ("b", "", ""), ("c", "words", "why"), ("d", "", "")]
    assert found[1].nearest.startswith("r22")


def test_what_is_tested_twice():
    again = criterion("r22b", "Gives revenue of fiscal 2022", ("any", 0.418, "USD", "billions", "FY2022"))
    other = criterion("cogs", "States fiscal 2022 cost of sales", ("any", 418, "USD", "millions", "FY2022"))
    double = rubric(*OWN.criteria, again, other)
    found = redundancy(double)
    assert [(t.first, t.second) for t in found.by_text] == [("r22", "r22b")]
    assert found.share == pytest.approx(1 / 6)
    assert redundancy(OWN).by_text == ()
    verdicts = [{"r22": a, "r21": b, "e22": "met", "e21": "unmet"} for a, b in (("met", "met"), ("unmet", "unmet"), ("met", "met"), ("unmet", "unmet"))]  # fmt: skip
    found = redundancy(OWN, verdicts)
    assert [(t.first, t.second) for t in found.by_verdict] == [("r22", "r21")]
    assert (found.always_met, found.never_met) == (("e22",), ("e21",))
    assert redundancy(OWN, verdicts[:3]).by_verdict == ()  # too few answers to tell


def test_coverage_and_redundancy_commands(tmp_path):
    own = tmp_path / "rubric.json"
    own.write_text(rubric_json(OWN))
    run = CliRunner().invoke
    told = json.loads(run(command, ["agree", "coverage", str(own), str(own), "--json"]).output)
    assert (told["covered"], told["by_value"]) == (1, 4)
    (tmp_path / "a.txt").write_text(RIGHT)
    told = json.loads(run(command, ["agree", "redundancy", str(own), str(tmp_path / "a.txt"), "--json"]).output)
    assert (told["answers"], told["repeated_share"], told["met_by_every_answer"]) == (1, 0, ["r22", "r21", "e22", "e21"])
