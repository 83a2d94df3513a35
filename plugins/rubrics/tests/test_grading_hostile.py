"""Answers that nobody wrote to be read: no text raises, none takes long, and what is told of a place stands there."""

import time
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finassay_rubrics.grading.grade import Grader
from finassay_rubrics.grading.score import GOOD
from finassay_rubrics.grading.text import plain
from finassay_rubrics.record.rubric import Criterion, Obligation, Route, Rubric, Tolerance, Topic

SIZE = 1_000_000
SECONDS = 8.0
"""Of computing for one answer of a megabyte; it takes one to three on one core."""


def criterion(id, text, kind, *values, unit="percent", **more):
    tolerance = Tolerance(rule="stated precision", decimals=1)
    routes = tuple(
        Route(route_id=f"r{n}" if len(values) > 1 else "any", topic="t" if len(values) > 1 else None, value=v)
        if isinstance(v, str)
        else Route(route_id=f"r{n}" if len(values) > 1 else "any", topic="t" if len(values) > 1 else None, value=v, unit=unit, period="FY2022", tolerance=tolerance)
        for n, v in enumerate(values)
    )  # fmt: skip
    return Criterion(id=id, obligation_id="O1", text=text, kind=kind, points=Decimal(10), expected=routes, **more)


CRITERIA = (
    criterion("margin", "States the fiscal 2022 operating margin", "numeric", Decimal("13.3"), Decimal("14.8")),
    criterion("old", "States the fiscal 2021 operating margin", "numeric", Decimal("14.0")),
    criterion(
        "change",
        "States the change in operating margin",
        "numeric",
        Decimal("-0.7"),
        unit="percentage points",
        depends_on=("margin", "old"),
    ),
    criterion("stores", "States the number of stores", "numeric", Decimal(1385), unit="stores"),
    criterion("months", "States how many months the cash lasts", "numeric", Decimal("24.6"), unit="months"),
    criterion("end", "States the end of fiscal 2022", "date", "2022-12-31"),
    criterion("down", "Says that operating margin fell", "categorical", "fell", depends_on=("margin", "old")),
    criterion("why", "Names higher deposit costs as a cause", "text", "higher deposit costs"),
    criterion("all", "Names the segments", "set", "Freight; Storage; Air"),
    criterion("table", "Puts the figures in one table with one decimal", "format", "1 table"),
    criterion("fault", "Takes fiscal years shifted by one", "prohibited", "fault absent", polarity="negative"),
)
OBLIGATION = Obligation(id="O1", what="the margin", spans=("MET1",), frozen=Decimal(110), points=Decimal(110))
RUBRIC = Rubric(
    query="The fiscal 2022 margin?",
    cutoff="2024-12-31",
    obligations=(OBLIGATION,),
    criteria=CRITERIA,
    topics=(Topic(id="t", routes=("r0", "r1")),),
)
GRADER = Grader(RUBRIC)

PIECES = (
    "operating margin", "fiscal 2022", "FY2021", "13.3%", "14.0 %", "0.7 percentage points", "(1,385)", "1.385,5", "twelve stores", "24.6 months", "fell", "rose",
    "not", "from", "to", "between", "and", "or", "either", "|", "|---|---|", "\n", "\n\n", "; ", ": ", "= ", "/ ", "+", "-", "−", "**", "$", "\\frac{", "}{", "}",
    "\\(", "\\text{", "{,}", "\\%", "$$", "€", "CHF ", "million", "bn", "k", "x", "×", "January 28, 2023", "31.12.2022", "02/30/2022", "(year ended", ")", "[", "\t",
    "  ", "\u00a0", "\ufffe", "\ud800", "\x00", "٣", "１２", "²", "9" * 50, "1e999", "NaN", "0.0000001", "Q2", "1Q22", "a year earlier", "average", "Freight", "no,",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=60).map(" ".join) | st.lists(
    st.sampled_from(PIECES), max_size=80
).map("".join)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS)
def test_no_answer_raises_and_every_place_stands_in_it(text):
    score = GRADER.grade(text).score
    assert {r.criterion for r in score.results} == {c.id for c in CRITERIA}
    for result in score.results:
        if result.found.span is not None:
            start, end = result.found.span
            assert 0 <= start <= end <= len(text)
            if result.found.outcome in GOOD and result.found.value:
                digits = [c for c in result.found.value if c.isdigit()]
                assert [c for c in text[start:end] if c.isdigit()] == digits or not any(c.isdigit() for c in text[start:end])


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_places_in_the_plain_text_lead_back_in_order(text):
    made = plain(text, spelled=True)
    places = [made.origin(at) for at in range(len(made.text) + 1)]
    assert places == sorted(places)
    assert all(0 <= place <= len(text) for place in places)


def long(unit):
    return (unit * (SIZE // len(unit) + 1))[:SIZE]


@pytest.mark.parametrize(
    "unit",
    [
        "9", "1,2 ", "| a | 1 | 2 |\n", "()", "Operating margin in fiscal 2022 was 13.3%. ", "operating margin in fiscal 2022 was 13.3% and ", "2022 ", "a = 1 / 2 = 3, ",
        "January 3, 2022 ", "\\frac{", "2% or 3% or ", "1.", "|a|b|\n|-|-|\n|1|2|\n\n", "a;b\n", "\n \n", "fiscal 2022 (year ended ",
    ],
    ids=range(16),
)  # fmt: skip
def test_a_megabyte_ends_in_time_and_earns_little(unit):
    begun = time.process_time()
    GRADER.grade(long(unit))
    assert time.process_time() - begun < SECONDS


def test_twice_the_answer_takes_no_more_than_about_twice_the_time():
    def seconds(size):
        begun = time.process_time()
        GRADER.grade("Operating margin in fiscal 2022 was 13.3%, in Freight 12.1%. Costs of deposits rose.\n"[:90] * (size // 85))
        return time.process_time() - begun

    seconds(5_000)
    assert seconds(80_000) < 12 * max(seconds(20_000), 0.05)
