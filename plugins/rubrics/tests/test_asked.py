"""What of a query is asked for: words that combine years belong to it, names of statements and inputs of a formula do not."""

from datetime import date

import pytest

from finassay.api.research import Assignment, Derivation, Question
from finassay_rubrics.context.contextualize import contextualize
from finassay_rubrics.metrics.draft import draft
from finassay_rubrics.metrics.entities import entities


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("What is the FY2020 capital expenditure of Foxglove? Use the cash flow statement.", ["capital expenditure"]),
        ("How much cash did Foxglove hold at the end of FY2020?", ["cash"]),
        ("According to the statement of cash flows, what is the free cash flow of Foxglove for FY2020?", ["free cash flow"]),
        ("What is the 3 year average net profit margin of Foxglove over FY2018 - FY2020?", ["3 year average net profit margin"]),
        ("What is the FY2018 - FY2020 three year average of gross margin for Foxglove?", ["three year average of gross margin"]),
        (
            "Report revenue of Foxglove for FY2020 and the change in operating margin from FY2019.",
            ["revenue", "change in operating margin"],
        ),
        ("What is Foxglove's 2 year total revenue CAGR from FY2018 to FY2020?", ["total revenue CAGR"]),
        ("What is Foxglove's year-over-year change in net income from FY2019 to FY2020?", ["year-over-year change in net income"]),
        (
            "What is the FY2020 dividend payout ratio of Foxglove (using total cash dividends paid and net income)?",
            ["dividend payout ratio"],
        ),
        ("What is Foxglove's FY2020 COGS % margin?", ["COGS % margin"]),
        (
            "What is the three year average of cost of goods sold as a % of revenue for Foxglove over FY2018 to FY2020?",
            ["three year average of cost of goods sold as a % of revenue"],
        ),
        ("Calculate the net debt of Foxglove for FY2020 using total debt and cash, and the gross margin.", ["net debt", "gross margin"]),
    ],
)
def test_what_is_asked(query, asked):
    context = contextualize(query, date(2023, 3, 1), today=date(2026, 1, 1))
    assert [one["what"] for one in context["obligations"]] == asked
    for binding in (b for several in context["bindings"].values() for b in several):
        assert query[binding["start"] : binding["end"]] == binding["span"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("What is the FY2018 revenue of 3M?", ("3M",)),
        ("What is the 2-Year growth of 3m in the books of Foxglove for FY2018?", ("Foxglove",)),
    ],
)
def test_a_name_that_begins_with_a_digit(query, names):
    assert entities(Question("q", query)) == names


def test_years_of_a_definition_are_not_asked_for():
    query = "What is the FY2019 asset turnover of Foxglove? Asset turnover is defined as: FY2019 revenue / (average assets of FY2018 and FY2019)."
    context = contextualize(query, date(2023, 3, 1), today=date(2026, 1, 1))
    assert [b["span"] for b in context["bindings"]["periods"]] == ["FY2019"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("What is Foxglove's year-over-year change in revenue from FY2019 to FY2020 (in units of percents)?", "growth of revenue"),
        ("What is Foxglove's change in revenue from FY2019 to FY2020 in USD millions?", "change in revenue"),
        ("What is Foxglove's FY2020 COGS % margin?", "cogs as a percentage of revenue"),
    ],
)
def test_what_the_offline_families_make_of_it(query, text):
    context = contextualize(query, date(2023, 3, 1), today=date(2026, 1, 1))
    one = context["obligations"][0]
    assignment = Assignment(one["id"], one["what"], context, bindings=tuple(one["spans"]))
    made = draft(assignment, lambda question: Derivation(None, reason="not looked for"))
    assert text in made.criteria[0].text


def test_an_average_and_the_years_that_it_is_taken_over():
    query = "What was Foxglove's average net profit margin over FY2018 - FY2020? Show the margin of each of the three fiscal years."
    context = contextualize(query, date(2023, 3, 1), today=date(2026, 1, 1))
    one = context["obligations"][0]
    assignment = Assignment(one["id"], one["what"], context, bindings=tuple(one["spans"]))
    made = draft(assignment, lambda question: Derivation(None, reason="not looked for"))
    assert [c.text.split(" of ")[-1].split(" over ")[-1] for c in made.criteria] == ["FY2018", "FY2019", "FY2020", "FY2018 - FY2020"]
