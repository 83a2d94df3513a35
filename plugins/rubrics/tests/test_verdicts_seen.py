"""Wrong verdicts that a reader has seen, each put right."""

from decimal import Decimal

import pytest

from finassay_rubrics.grading.grade import Grader
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
