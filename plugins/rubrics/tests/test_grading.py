"""Answers graded by program and stated rules."""

import json
import os
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner

from finassay_rubrics.cli.main import rubric as command
from finassay_rubrics.grading.answer import Answer
from finassay_rubrics.grading.cells import cell_of, given
from finassay_rubrics.grading.compare import Expected, accepts
from finassay_rubrics.grading.grade import Grader
from finassay_rubrics.grading.locate import Target, locate, words_of
from finassay_rubrics.grading.numbers import numbers
from finassay_rubrics.record.reading import read_rubric
from finassay_rubrics.record.rubric import Tolerance

SHARED = Path(os.environ.get("FINASSAY_SHARED", Path(__file__).parents[4] / "shared"))
WORKED = sorted(p.parent for p in (SHARED / "cases" / "rubrics").glob("*/rubric.json"))
needs_cases = pytest.mark.skipif(not WORKED, reason="no worked rubrics: the shared folder is not beside the checkout (set FINASSAY_SHARED)")


@needs_cases
def test_the_worked_answers_get_their_points():
    for folder in WORKED:
        grader = Grader(read_rubric(folder))
        for answer in json.loads((folder / "answers.json").read_text()):
            score = grader.grade(answer["text"]).score
            assert (f"{score.points:f}", f"{score.gated:f}") == (answer["points"], answer["gated_points"]), (folder.name, answer["id"])
            assert {r.criterion for r in score.results if r.found.outcome == "unmet"} == set(answer["unmet"])
            assert list(score.failed_gates) == answer["failed_gates"]
            assert score.all_pass is answer["all_pass"]


@needs_cases
def test_the_command_grades_files_and_lists(tmp_path):
    folder = WORKED[0]
    first = json.loads((folder / "answers.json").read_text())[0]
    (tmp_path / "answer.md").write_text(first["text"])
    done = CliRunner().invoke(command, ["grade", str(folder), str(folder / "answers.json"), str(tmp_path / "answer.md"), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["answer"]["points"] == first["points"]
    assert len(told) == 5
    assert CliRunner().invoke(command, ["grade", str(folder), str(tmp_path / "answer.md")]).exit_code == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$1,577 million", [("1577", 1_000_000, "amount")]),
        ("$(4,625) million or $4.625 billion", [("4625", 1_000_000, "amount"), ("4.625", 10**9, "amount")]),
        ("-0.0153 or -1.53%", [("-0.0153", None, "plain"), ("-1.53", None, "percent")]),
        ("5%-6%", [("5", None, "percent"), ("6", None, "percent")]),
        ("72 basis points, 0.7 percentage points, 2.4x, 93.86 days", [("72", None, "basis points"), ("0.7", None, "points"), ("2.4", None, "times"), ("93.86", None, "days")]),
        ("In FY2018 (note 5, page 34), on December 31, 2018, the 3 year figure of the 10-K, 53rd week\n1. first", []),
        ("3M sold 12", [("12", None, "plain")]),
        ("１２", [("12", None, "plain")]),
    ],
)  # fmt: skip
def test_numbers_of_a_text(text, expected):
    found = [(str(n.value), None if n.scale is None else int(n.scale), n.kind) for n in numbers(text, frozenset({"3M"}))]
    assert found == expected


def expected(value, kind="times", scale=1, decimals=None):
    return Expected(Decimal(value), kind, Decimal(scale), Tolerance(rule="stated precision"), decimals)


@pytest.mark.parametrize(
    ("text", "wanted", "strict", "lenient"),
    [
        ("24.26", expected("24.26"), True, True),
        ("24.3", expected("24.26"), True, True),
        ("24.25", expected("24.26"), False, True),
        ("24.2", expected("24.26"), False, False),
        ("1.42%", expected("0.01"), True, True),
        ("-1.4%", expected("-0.02"), False, False),
        ("1,577", expected("1577", "amount", 10**6), True, True),
        ("$1.577 billion", expected("1577", "amount", 10**6), True, True),
        ("$1,577,000,000", expected("1577", "amount", 10**6), True, True),
        ("$1,576 million", expected("1577", "amount", 10**6), False, True),
        ("(1,577)", expected("1577", "amount", 10**6), True, True),
        ("-$1,577 million", expected("1577", "amount", 10**6), False, True),
        ("72 basis points", expected("-0.72", "points"), False, False),
        ("2", expected("2.36", decimals=1), False, False),
        ("2.4x", expected("2.36", decimals=1), True, True),
    ],
)
def test_figures_by_two_profiles(text, wanted, strict, lenient):
    (number,) = numbers(text)
    assert (accepts(number, wanted, "strict"), accepts(number, wanted, "lenient")) == (strict, lenient)


@pytest.mark.parametrize(
    ("answer", "figure"),
    [
        ("Capex was $1,577 million in 2018, up from $1,373 million in 2017.", "$1,577 million"),
        ("Ratio = 6,489 / 267.5 = 24.26\n\nRounded, the fixed asset turnover ratio is 24.3.", "24.3"),
        ("I cannot compute it: total assets of $12 million are not provided.", None),
        ("For example, if capex is $10,000 the ratio is 0.5.", None),
        ("The average is (2.0 + 4.0) / 2", None),
        ("**42.7**", "42.7"),
        ("", None),
    ],
)
def test_which_figure_is_the_answer(answer, figure):
    target = Target(words_of("capex capital expenditure amount fixed asset turnover ratio average"))
    found = locate(answer, target)
    assert (found.figures[0].text if found.figures else None) == figure


TABLE = "| USD millions | FY2022 | FY2021 |\n|---|---|---|\n| Net revenue | 86,392 | 79,474 |\n| Net debt | (33) | 34 |\n| Net debt / EBITDA, x | 2.4 | 2.5 |\n"


@pytest.mark.parametrize(
    ("text", "asked", "figure"),
    [
        (TABLE, "States fiscal 2021 net revenue", "79,474"),
        (TABLE, "States net debt at the fiscal 2022 year-end", "(33)"),
        (TABLE, "States net debt to EBITDA at the fiscal 2021 year-end", "2.5"),
        ("Margins were 3.1%, 2.0% and 3.2% for FY2015, FY2016 and FY2017.", "States the margin of FY2016", "2.0%"),
        ("Margin: FY2015 3.1%, FY2016 2.3%; on average 2.7%.", "States the margin of FY2016", "2.3%"),
        ("Margin: FY2015 3.1%, FY2016 2.3%; on average 2.7%.", "States the average margin", "2.7%"),
        ("Operating margin fell by 0.7 percentage points to 13.3%.", "States the change in operating margin", "0.7 percentage points"),
        ("Nothing of the kind.", "States the margin of FY2016", None),
    ],
)
def test_the_figure_of_a_cell(text, asked, figure):
    found = given(Answer(text), cell_of(asked, ""))
    assert (found.figures[0].text if found.figures else None) == figure


def test_a_hostile_answer_ends_in_time_and_earns_nothing():
    grader = Grader(read_rubric(WORKED[0])) if WORKED else None
    if grader is None:
        pytest.skip("no worked rubrics: the shared folder is not beside the checkout (set FINASSAY_SHARED)")
    for text in ("", "|" * 20_000, "9" * 200_000, "1,2 " * 50_000, "(" * 50_000 + ")" * 50_000, "\x00\ud800 NaN inf"):
        score = grader.grade(text).score
        assert score.points is None or score.points < 30
