"""Wrong verdicts that a reader has seen, each put right."""

from decimal import Decimal

import pytest

from finassay.api.errors import InvalidFileError
from finassay_rubrics.grading.grade import Grader
from finassay_rubrics.grading.score import score
from finassay_rubrics.record.answers import read_answers
from finassay_rubrics.record.rubric import Criterion, Obligation, Route, Rubric, Tolerance


def rubric(text="States fiscal 2019 net income", value="4029", unit="USD", scale="millions", period="FY2019", entity="Nike"):
    route = Route(
        value=Decimal(value), unit=unit, scale=scale, period=period, tolerance=Tolerance(rule="stated precision", abs=Decimal("0.5"))
    )
    criterion = Criterion(id="C1", obligation_id="O1", text=text, kind="numeric", points=Decimal(100), expected=(route,), entity=entity)
    obligation = Obligation(id="O1", what=text, spans=("?",), frozen=Decimal(100), points=Decimal(100))
    return Rubric(query="What was it?", cutoff="2022-03-01", obligations=(obligation,), criteria=(criterion,))


def outcome(answer, **asked):
    return Grader(rubric(**asked)).grade(answer).score.outcome("C1")


FY2021 = {"text": "States fiscal 2021 net income", "value": "5727", "period": "FY2021"}


@pytest.mark.parametrize(
    ("answer", "verdict", "asked"),
    [
        ("Net income in fiscal 2019 was not $4,029 million.", "unmet", {}),
        ("Net income in fiscal 2019 wasn't $4,029 million but $4,240 million.", "unmet", {}),
        ("Net income in fiscal 2019 was not $4,240 million but $4,029 million.", "met", {}),
        ("Some sources claim $4,029 million, but the correct figure is $4,240 million.", "unmet", {}),
        ("Some sources claim net income of $4,240 million in fiscal 2019, but the correct figure is $4,029 million.", "met", {}),
        ("Net income in fiscal 2019 was $4,029 million, which is wrong.", "unmet", {}),
        ("Net income was $5,727 million in fiscal 2021. Correction: the FY2021 figure above is wrong; it was $6,046 million.", "unmet", FY2021),
        ("Net income was $6,046 million in fiscal 2021. Correction: the FY2021 figure above is wrong; it was $5,727 million.", "met", FY2021),
        ("Net income was $4,029 million in fiscal 2019 and not restated.", "met", {}),
    ],
)  # fmt: skip
def test_what_is_denied_or_taken_back_is_not_given(answer, verdict, asked):
    assert outcome(answer, **asked) == verdict


REVENUE = {"text": "States fiscal 2019 revenue", "value": "39117"}


@pytest.mark.parametrize(
    ("answer", "verdict", "asked"),
    [
        *((f"{name} was $4,029 million in fiscal 2019.", "unmet", {}) for name in ("Operating income", "Income before income taxes", "Total assets", "Gross profit")),
        ("| | FY2019 |\n|---|---|\n| Operating income | $4,029 million |", "unmet", {}),
        ("| | FY2019 |\n|---|---|\n| Net earnings | $4,029 million |", "met", {}),
        ("Nike earned $4,029 million in operating income in fiscal 2019.", "unmet", {}),
        ("Net earnings came to $4,029 million in fiscal 2019.", "met", {}),
        ("Nike earned $4,029 million in fiscal 2019.", "met", {}),
        ("Income from continuing operations was $4,029 million in fiscal 2019.", "met", {}),
        ("Management targets revenue of $39,117 million in fiscal 2019.", "unmet", REVENUE),
        ("Net sales of $39,117 million were reported for fiscal 2019.", "met", REVENUE),
        ("EBIT was $4,029 million in fiscal 2019.", "met", {"text": "States fiscal 2019 operating income"}),
        ("Contract liabilities were $4,029 million in fiscal 2019.", "met", {"text": "States fiscal 2019 deferred revenue"}),
        ("Purchases of PP&E were $4,029 million in fiscal 2019.", "met", {"text": "States fiscal 2019 capital expenditures"}),
    ],
)  # fmt: skip
def test_the_figure_of_another_metric_or_of_a_plan_is_no_answer(answer, verdict, asked):
    assert outcome(answer, **asked) == verdict


def test_nothing_judged_is_no_pass():
    one = rubric()
    left = one.model_copy(update={"criteria": (one.criteria[0].model_copy(update={"status": "unresolved"}),)})
    assert score(left, {}).all_pass is None
    assert score(one, {}).all_pass is None


@pytest.mark.parametrize("content", [b"Net income\0was $4,029 million", b"\x89PNG\r\n\x1a\n\xff\xfe", "net income".encode("utf-16")])
def test_a_binary_file_is_no_answer(tmp_path, content):
    (tmp_path / "answer.md").write_bytes(content)
    with pytest.raises(InvalidFileError, match="no text"):
        read_answers(tmp_path / "answer.md")


@pytest.mark.parametrize(
    ("answer", "verdict", "asked"),
    [
        ("Adidas's net income was $4,029 million in fiscal 2019.", "unmet", {}),
        ("For Apple Inc., net income was $4,029 million in fiscal 2019.", "unmet", {}),
        ("Adidas reported net income of $4,029 million in fiscal 2019.", "unmet", {}),
        ("Unlike Adidas's, Nike's net income was $4,029 million in fiscal 2019.", "met", {}),
        ("Nike's net income was $4,029 million in fiscal 2019.", "met", {}),
        ("NKE's net income was $4,029 million in fiscal 2019.", "met", {}),
        ("The Company's net income was $4,029 million in fiscal 2019.", "met", {}),
        ("Management's discussion shows net income of $4,029 million for fiscal 2019.", "met", {}),
        ("For fiscal 2019, net income was $4,029 million.", "met", {}),
        ("Adidas's net income was $4,029 million in fiscal 2019.", "met", {"entity": ""}),
    ],
)  # fmt: skip
def test_the_figure_of_another_company_is_no_answer(answer, verdict, asked):
    assert outcome(answer, **asked) == verdict


@pytest.mark.parametrize(
    ("answer", "verdict", "asked"),
    [
        ("All figures in thousands of USD.\n\nNet income FY2019: 4,029,000", "met", {}),
        ("All figures in thousands of USD.\n\nNet income FY2019: 4,029", "unmet", {}),
        ("Net income (in thousands of USD): FY2019 4,029,000; FY2018 1,933,000", "met", {}),
        ("Net income (USD in millions): FY2019 4,029; FY2018 1,933", "met", {}),
        ("All figures in thousands of USD.\n\nNet income FY2019: $4,029,000. Again, net income FY2019: $4,029,000.", "met", {}),
        ("All amounts are in thousands.\n\n| | FY2019 |\n|---|---|\n| Net income | 4,029,000 |", "met", {}),
        ("All figures in millions.\n\nDiluted EPS FY2019: $2.49", "met", {"text": "States fiscal 2019 diluted EPS", "value": "2.49", "scale": "", "unit": "USD per share"}),
    ],
)  # fmt: skip
def test_a_scale_is_stated_once_in_front(answer, verdict, asked):
    assert outcome(answer, **asked) == verdict


def test_what_stands_behind_the_part_that_is_read_is_not_unmet():
    long = "Nothing is said here of the matter at hand. " * 4_000
    assert outcome(f"{long}\n\nNet income in fiscal 2019 was $4,029 million.") == "cannot assess"
    assert outcome(f"Net income in fiscal 2019 was $4,029 million.\n\n{long}") == "met"
    assert outcome(f"Net income in fiscal 2019 was $4,240 million.\n\n{long}") == "unmet"
    assert outcome("Nothing is said here of the matter at hand.") == "unmet"


MARGIN = {"text": "States fiscal 2019 operating margin", "value": "12.6", "unit": "percent", "scale": ""}


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("Operating margin: 1,260 basis points", "met"),
        ("Operating margin in fiscal 2019 was 1,260 bps.", "met"),
        ("Operating margin in fiscal 2019 was 1,160 bps.", "unmet"),
        ("Operating margin in fiscal 2019 rose 1,260 basis points.", "unmet"),
        ("Operating margin in fiscal 2019 was 1,260 bps higher.", "unmet"),
    ],
)
def test_a_level_in_basis_points(answer, verdict):
    assert outcome(answer, **MARGIN) == verdict


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("Net income candidates: 4,029; 2,539; 5,727", "unmet"),
        ("Net income in fiscal 2019: $4,029 million, $2,539 million, $5,727 million", "unmet"),
        ("Possible values of net income are $4,029 million or $2,539 million.", "unmet"),
        ("Net income in 2019, 2020 and 2021 was 4,029, 2,539 and 5,727.", "met"),
        ("Net income, FY2019: 4,029; others are 2,539; 5,727", "met"),
        ("Net income: FY2019 4,029; FY2020 2,539; FY2021 5,727", "met"),
        ("Net income in fiscal 2019 was $4,029 million, $4.029 billion.", "met"),
    ],
)
def test_a_bare_list_of_candidates_earns_nothing(answer, verdict):
    assert outcome(answer) == verdict
