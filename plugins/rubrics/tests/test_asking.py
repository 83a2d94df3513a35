"""Queries as a desk writes them: several issuers, years that are asked for, relations, parts of years; each to its criteria, or to a reason."""

import json
import subprocess
import sys
from datetime import date
from decimal import Decimal
from typing import ClassVar

import pytest
from asking import drafted, texts

from finassay.api.research import Derivation, Period, Question, Script, ScriptError
from finassay.api.source import Document, Page, SourceItem
from finassay_rubrics.generate.criteria import criteria_of
from finassay_rubrics.generate.reviewing import reviewed
from finassay_rubrics.generate.scripts import digest, script_problems
from finassay_rubrics.metrics.ask import understand
from finassay_rubrics.metrics.ends import other_end
from finassay_rubrics.metrics.ground import Cell, Slice, derive
from finassay_rubrics.metrics.times import lacks_year, times_in
from finassay_rubrics.validate.wording import wording_problem


def test_an_aside_and_the_name_of_a_statement_are_no_metrics():
    query = "What is the FY2015 depreciation and amortization (D&A from cash flow statement) % margin of Orchard?"
    assert list(texts(query).values()) == [["States the depreciation and amortization as a percentage of revenue of FY2015"]]


def test_what_a_relation_is_called_in_brackets_is_no_second_obligation():
    query = "What is Orchard's FY2021 unadjusted operating income + depreciation and amortization from the cash flow statement (unadjusted EBITDA)?"
    assert list(texts(query).values()) == [["States the sum of operating income and depreciation and amortization of FY2021"]]


# -- several issuers --------------------------------------------------------------------------------------------------


def of(name, *issuers, when="in FY2021"):
    return [f"States the {name} of {issuer} {when}" for issuer in issuers]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        (
            "Compare the gross margin of Orchard and Best Hill in fiscal 2021.",
            [[*of("gross margin", "Orchard", "Best Hill"), "Says which of Orchard and Best Hill had the higher gross margin in FY2021"]],
        ),
        (
            "Which had the lower current ratio at the end of fiscal 2021, Orchard or Larkspur, and by how much?",
            [
                [
                    *of("current ratio", "Orchard", "Larkspur"),
                    "Names the issuer with the lower current ratio in FY2021 among Orchard and Larkspur",
                    "States by how much the current ratio in FY2021 differs between Orchard and Larkspur",
                ]
            ],
        ),
        (
            "For each of Orchard, Larkspur and Tamarind Works, report revenue and capital expenditures in FY2021.",
            [of("revenue", "Orchard", "Larkspur", "Tamarind Works"), of("capex", "Orchard", "Larkspur", "Tamarind Works")],
        ),
        (
            "Rank Orchard, Larkspur and Tamarind by operating margin for fiscal 2021.",
            [
                [
                    *of("operating margin", "Orchard", "Larkspur", "Tamarind"),
                    "Says which of Orchard, Larkspur and Tamarind had the highest operating margin in FY2021",
                    "Names the issuer with the lowest operating margin in FY2021 among Orchard, Larkspur and Tamarind",
                ]
            ],
        ),
        (
            "What was the difference between Orchard's and Larkspur's inventory turnover in FY2021?",
            [
                [
                    *of("inventory turnover", "Orchard", "Larkspur"),
                    "States by how much the inventory turnover in FY2021 differs between Orchard and Larkspur",
                ]
            ],
        ),
        (
            "What was the combined revenue of Orchard and Larkspur in FY2021?",
            [[*of("revenue", "Orchard", "Larkspur"), "States the sum of the revenue in FY2021 over Orchard and Larkspur"]],
        ),
        (
            "Did revenue of Orchard or of Larkspur grow faster from fiscal 2019 to fiscal 2021?",
            [
                [
                    "States the growth of revenue of Orchard from FY2019 to FY2021, in units of percents",
                    "States the growth of revenue of Larkspur from FY2019 to FY2021, in units of percents",
                    "Says which of Orchard and Larkspur had the higher growth of revenue from FY2019 to FY2021",
                ]
            ],
        ),
        ("Report Orchard's revenue and Larkspur's net income in FY2021.", [of("revenue", "Orchard"), of("net income", "Larkspur")]),
        (
            "Report the revenue of Orchard and the net income of Larkspur in FY2021.",
            [of("revenue", "Orchard"), of("net income", "Larkspur")],
        ),
        (
            "Report revenue and net income of Orchard and of Larkspur for 2021.",
            [of("revenue", "Orchard", "Larkspur"), of("net income", "Orchard", "Larkspur")],
        ),
        (
            "What was Orchard's revenue in 2020, and how does it compare with Larkspur's in 2021?",
            [
                [
                    *of("revenue", "Orchard", when="in FY2020"),
                    *of("revenue", "Larkspur"),
                    "Says which of Orchard in FY2020 or Larkspur in FY2021 had the higher revenue",
                ]
            ],
        ),
        (
            "By how much did Orchard's FY2020 revenue exceed Larkspur's FY2021 revenue?",
            [
                [
                    *of("revenue", "Orchard", when="in FY2020"),
                    *of("revenue", "Larkspur"),
                    "States by how much the revenue differs between Orchard in FY2020 and Larkspur in FY2021",
                ]
            ],
        ),
        (
            "Our committee wants, for Orchard and Larkspur at year-end 2022 and 2021 respectively, total debt.",
            [[*of("total debt", "Orchard", when="in FY2022"), *of("total debt", "Larkspur")]],
        ),
        (
            "Is Orchard's inventory turnover better than Larkspur's for fiscal 2021? Show the calculation for both.",
            [
                [
                    *of("inventory turnover", "Orchard", "Larkspur"),
                    "Says which of Orchard and Larkspur had the higher inventory turnover in FY2021",
                ]
            ],
        ),
        (
            "Whose tax rate was lower in FY2021: Orchard's or Larkspur's?",
            [
                [
                    *of("effective tax rate", "Orchard", "Larkspur"),
                    "Names the issuer with the lower effective tax rate in FY2021 among Orchard and Larkspur",
                ]
            ],
        ),
        (
            "Report the ratio of inventories to revenue for Orchard and Larkspur in FY2021. Which company's is higher?",
            [
                [
                    *of("ratio of inventory to revenue", "Orchard", "Larkspur"),
                    "Says which of Orchard and Larkspur had the higher ratio of inventory to revenue in FY2021",
                ]
            ],
        ),
    ],
)
def test_each_issuer_has_its_criterion_and_a_comparison_its_own(query, wanted):
    found = [[c.text.replace(" for ", " of ") for c in several if c.routes] for several in drafted(query).values()]
    one = "Report Orchard's revenue and Larkspur's net income"
    if query.startswith((one, "Report the revenue of Orchard and the net")):
        wanted = [[text.replace(" of Orchard in", " of").replace(" of Larkspur in", " of") for text in several] for several in wanted]
    assert found == wanted
    for several in drafted(query).values():
        figures = [c for c in several if c.question and not c.question.parts]
        together = [c for c in several if c.question and c.question.parts]
        assert all(c.question.entity for c in figures)
        assert all(set(c.depends_on) == {f.id for f in figures} and not c.must_pass for c in together)
        assert not [c.text for c in several if wording_problem(c.text)]
        assert [c.text for c in several if c.must_pass] == [c.text for c in several[:1]]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("Report revenue of Orchard, net income of Larkspur and inventory in FY2021.", "which of them it belongs to cannot be told"),
        ("Compare Orchard in FY2020 and Larkspur in FY2021 and Tamarind on revenue.", "which belong together cannot be told"),
    ],
)
def test_an_issuer_that_cannot_be_told_is_not_guessed(query, said):
    reasons = [c.reason for several in drafted(query).values() for c in several if not c.routes]
    assert any(said in reason for reason in reasons)


def test_a_name_that_no_source_knows_before_the_metric_may_be_a_part():
    def known(question):
        named = question.entity == "Orchard"
        return Derivation(1, "USD") if named else Derivation(None, reason=f"no document of {question.entity} is dated in time")

    ((one,),) = drafted("For Orchard, report Greater Plains revenue in FY2021.", known).values()
    assert not one.routes
    assert "may be only a part of another issuer's" in one.reason
    several = drafted("Compare the revenue of Orchard and Larkspur in FY2021.", known)["revenue"]
    assert [bool(c.routes) for c in several] == [True, False, False]


# -- a comparison on real filings' terms ------------------------------------------------------------------------------


class Table:
    """A filing of revenue and cost of sales; implements `Filing`."""

    def __init__(self, text):
        self.text = text
        self.rows = {line.split()[0]: [Decimal(n) for n in line.split()[1:]] for line in text.splitlines()[1:]}
        self.years = [int(year) for year in text.splitlines()[0].split()]

    def cell(self, line, year):
        if line not in self.rows:
            return f"the income statement has no such line: {line}"
        value = self.rows[line][self.years.index(year)]
        row = next(one for one in self.text.splitlines() if one.startswith(line))
        part = Slice(1, self.text.index(row), self.text.index(row) + len(row), row, "d")
        head = Slice(1, 0, len(self.text.splitlines()[0]), self.text.splitlines()[0], "d")
        return Cell(line, year, value, str(value), Decimal(1), Decimal(1), line, part, head, date(year, 12, 31), "issuer")


class Bench:
    """A desk with one annual report of each company."""

    cutoff = date(2023, 1, 1)
    reports: ClassVar = {
        "Orchard": "2021 2020 2019\nrevenue 400 300 500\ncogs 100 90 200\n",
        "Best Hill": "2021 2020 2019\nrevenue 200 200 200\ncogs 80 80 80\n",
    }

    def find(self, query, limit=50):
        return [
            SourceItem("s", name, f"annual report of {name}", date(2022, 2, 1), "given", name) for name in self.reports if name == query
        ]

    def open(self, source, reference):
        item = self.find(reference)[0]
        return Document(item, (Page(1, self.reports[reference], "d"),), "d")

    def run(self, code, inputs):
        assert script_problems(code) == []
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code], input=json.dumps(inputs), capture_output=True, text=True, timeout=30, check=False
        )
        if done.returncode:
            raise ScriptError(done.stderr.splitlines()[-1])
        return Script(code, digest(code.encode()), json.loads(done.stdout), "o")


def read(document):
    return Table(document.pages[0].text)


def found(query):
    """Texts to values of a query's only obligation."""
    (several,) = drafted(query, lambda question: derive(question, Bench(), read)).values()
    return {c.text: c.routes[0].derivation.value if c.routes else c.reason for c in several}, several


def test_issuers_are_compared_by_a_script_over_both_filings():
    values, several = found("Compare the gross margin of Orchard and Best Hill in FY2021. What is the difference?")
    assert values == {
        "States the gross margin of Orchard in FY2021": 75,
        "States the gross margin of Best Hill in FY2021": 60,
        "Says which of Orchard and Best Hill had the higher gross margin in FY2021": "Orchard",
        "States by how much the gross margin in FY2021 differs between Orchard and Best Hill": 15,
    }
    difference = several[-1].routes[0].derivation
    assert difference.unit == "percentage points"
    assert {quote.reference for quote in difference.quotes} == {"Orchard", "Best Hill"}
    assert [one.name for one in difference.inputs][:1] == ["revenue_2021_1_orchard"]
    values, several = found("What was the combined revenue of Best Hill and Orchard in FY2021?")
    assert list(values.values()) == [200, 400, 600]
    values, _ = found("What was the difference between the revenue of Best Hill and Orchard in FY2021?")
    assert list(values.values()) == [200, 400, 200]  # by how much, whoever is ahead


def test_an_issuer_without_filings_leaves_the_others_grounded():
    _, several = found("Compare the revenue of Orchard and Larkspur in FY2021.")
    assert [bool(c.routes) for c in several] == [True, False, False]
    assert "no document of Larkspur" in several[1].reason
    assert several[2].reason.startswith("Larkspur: ")


def test_the_year_that_had_the_most_is_computed_from_all_years():
    values, several = found("In which fiscal year between 2019 and 2021 was Best Hill's revenue highest, and what was it?")
    assert "several are equal" in next(iter(values.values()))
    values, several = found("In which fiscal year between 2019 and 2021 was Orchard's gross margin lowest, and how high was it?")
    assert values == {
        "Says in which fiscal year from FY2019 to FY2021 the gross margin was lowest": "FY2019",
        "States the lowest gross margin of the fiscal years FY2019 - FY2021": 60,
    }
    assert [(c.kind, c.optional) for c in several] == [("categorical", False), ("numeric", False)]
    assert several[1].routes[0].derivation.period == Period("FY2019", date(2019, 12, 31), label="FY2019", basis="issuer")
    assert len(several[0].routes[0].derivation.inputs) == 6
    values, several = found("Which of the years 2019 and 2021 had the higher revenue for Orchard?")
    assert values == {
        "Says in which of the fiscal years FY2019 and FY2021 the revenue was highest": "FY2019",
        "States the highest revenue of the fiscal years FY2019 and FY2021": 500,
    }
    assert several[1].optional


class Other:
    id = family = "other"
    version = "1"

    def __init__(self, bench):
        self.bench = bench

    def derive(self, question, desk):
        return derive(question, self.bench, read)


def test_a_reviewer_is_asked_the_same_comparison_and_another_name_is_no_agreement():
    _, several = found("Compare the gross margin of Orchard and Best Hill in FY2021.")
    draft = several[-1]
    (made,) = criteria_of(type("D", (), {"criteria": (draft,)}), "O1")
    assert [r.verdict for r in reviewed(Other(Bench()), None, made, draft)] == ["agrees"]

    class Wrong(Bench):
        reports: ClassVar = {**Bench.reports, "Best Hill": "2021 2020 2019\nrevenue 200 200 200\ncogs 10 80 80\n"}

    assert {r.verdict for r in reviewed(Other(Wrong()), None, made, draft)} == {"differs"}


# -- parts of a company -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("Which segment of Orchard had the largest operating income in 2021?", "asks which segment it was"),
        ("What geographic region contributed the most revenue at Orchard in 2021?", "asks which region it was"),
        ("Which of its product lines had the highest sales in fiscal 2021 at Orchard?", "asks which product line"),
        ("Report Orchard's revenue by segment for FY2021.", "of a segment"),
        ("What was the operating income of the Pruning Tools segment of Orchard in 2021?", "of a segment"),
        ("Report Orchard's subscription revenue for FY2021.", "'subscription' revenue, which may be only a part"),
        ("What was Orchard's revenue per store in FY2021?", "of a store"),
        ("What was Orchard's total debt as a multiple of backlog in FY2021?", "relates 'total debt' to 'backlog'"),
        ("What was the ratio of order backlog to revenue at Orchard in FY2021?", "only the last is a line"),
        ("What was Orchard's operating income excluding impairments in FY2021?", "'excluding' something"),
    ],
)
def test_what_statements_do_not_show_ends_in_a_reason(query, said):
    (several,) = drafted(query).values()
    assert not any(c.routes for c in several)
    assert any(said in c.reason for c in several), [c.reason for c in several]
    assert all("\n" not in c.reason for c in several)


def test_a_part_that_is_asked_for_does_not_spoil_what_is_asked_besides():
    found = texts("Which segment of Orchard was largest in 2021, and what was total revenue in 2021?")
    assert list(found.values()) == [[], ["States the revenue of FY2021"]]


def test_each_mention_of_a_metric_is_asked_for_itself():
    (several,) = drafted("Report Orchard's revenue by segment for 2021 and total revenue for 2021 and 2020.").values()
    assert [(c.text, bool(c.routes)) for c in several] == [
        ("States the revenue of FY2020", True),
        ("States the revenue of FY2021", True),
        ("revenue", False),
    ]
    assert "of a segment" in several[-1].reason
    (several, _) = drafted(
        "For the quarter ended June 30, 2022, report Orchard's net income and inventory; also give FY2021 net income."
    ).values()
    assert [(c.question.period.asked, bool(c.routes)) for c in several] == [("quarter ended June 30, 2022", False), ("FY2021", True)]


def test_what_no_metric_stands_for_is_not_lost():
    found = drafted("What was Orchard's backlog conversion in fiscal 2019? And what was Orchard's revenue in fiscal 2019?")
    assert list(found) == ["What was Orchard's backlog conversion in fiscal 2019", "revenue"]
    ((one,), (revenue,)) = found.values()
    assert "names no metric of the table" in one.reason
    assert not one.routes
    assert revenue.routes
    asked = "Report revenue of Orchard for FY2019. Cite the page of each figure of Orchard. Is Orchard's larger than a year before?"
    assert list(drafted(asked)) == ["revenue"]


def test_what_is_to_be_explained_is_not_swallowed_by_a_choice():
    found = texts("Identify the year with the lowest quick ratio for Orchard from 2020 through 2022 and explain what changed.")
    assert list(found) == ["the year with the lowest quick ratio for Orchard from 2020 through 2022", "explain what changed"]


def test_a_move_that_is_asked_after_it_is_told():
    found = texts("Revenue of Orchard grew from FY2020 to FY2021. By what percentage, and did gross margin rise or fall?")
    assert next(iter(found.values()))[-1] == "States the growth of revenue from FY2020 to FY2021, in units of percents"
    assert list(found.values())[1][-1] == "Says whether the gross margin increased or declined from FY2020 to FY2021"


def test_the_year_of_a_document_is_no_period():
    found = texts("Using Orchard's FY2022 10-K, compute net debt and current ratio for 2021 versus 2020.")
    assert [[text[-6:] for text in several] for several in found.values()] == [["FY2020", "FY2021"]] * 2


# -- relations --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("total debt as a multiple of net income", "ratio of total debt to net income"),
        ("research and development expense per dollar of sales", "ratio of r&d to revenue"),
        ("inventory over accounts payable", "ratio of inventory to accounts payable"),
        ("long-term debt to total assets ratio", "ratio of long-term debt to total assets"),
        ("long-term debt-to-total assets", "ratio of long-term debt to total assets"),
        ("ratio between cash and current liabilities", "cash ratio"),
        ("ratio of capital expenditures to depreciation and amortization", "capex to depreciation"),
        ("operating cash flow coverage of dividends", "ratio of cash from operations to dividends"),
        ("coverage of interest expense by operating cash flow", "ratio of cash from operations to interest expense"),
        ("share of total assets that is goodwill", "goodwill as a % of total assets"),
        ("difference between current assets and total liabilities", "difference between total current assets and total liabilities"),
        ("operating cash flow less dividends paid", "difference between cash from operations and dividends"),
        ("sum of dividends paid and interest expense", "sum of dividends and interest expense"),
        ("SG&A expense as a percentage of gross profit", "sg&a as a percentage of gross profit"),
    ],
)
def test_a_relation_of_two_lines_is_one_obligation_with_one_criterion(asked, said):
    assert list(texts(f"What was the {asked} of Orchard in FY2021?").values()) == [[f"States the {said} of FY2021"]]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            "How many times did operating income cover interest expense at Orchard in FY2021?",
            "ratio of operating income to interest expense",
        ),
        (
            "How many times was Orchard's interest expense covered by operating income in FY2021?",
            "ratio of operating income to interest expense",
        ),
        ("How many times could Orchard's cash repay its short-term debt in FY2021?", "ratio of cash to short-term debt"),
        ("What share of Orchard's total assets was property, plant and equipment in FY2021?", "ppe as a percentage of total assets"),
        ("What percentage of Orchard's revenue did SG&A represent in FY2021?", "sg&a as a % of revenue"),
        ("How large were Orchard's inventories relative to its revenue in FY2021?", "ratio of inventory to revenue"),
    ],
)
def test_relations_in_whole_questions(query, said):
    assert list(texts(query).values()) == [[f"States the {said} of FY2021"]]


# -- parts of years ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("Q2 of FY2023", ["Q2 FY2023"]),
        ("the second quarter of fiscal 2024 and fiscal 2023", ["FY2023", "Q2 FY2024"]),
        ("three months ended July 2, 2023 and 2022", ["three months ended July 2, 2022", "three months ended July 2, 2023"]),
        ("Q4 2021 and Q4 2022", ["Q4 FY2021", "Q4 FY2022"]),
        ("2Q23", ["Q2 FY2023"]),
        ("fiscal 2023's third quarter", ["Q3 FY2023"]),
        ("first half of 2023", ["H1 FY2023"]),
        ("quarterly revenue for 2022", ["each quarter of FY2022"]),
        ("FY2019-FY2021", ["FY2019", "FY2020", "FY2021"]),
    ],
)
def test_times_of_a_text(text, labels):
    assert [time.label for time in times_in(text)] == labels
    assert not lacks_year(text)


def test_a_quarter_is_passed_through_as_its_own_period_and_is_no_year():
    ((one,),) = drafted("What was Orchard's quick ratio as of Q2 of FY2023?").values()
    assert (one.question.period, one.question.metric) == (Period("Q2 FY2023"), "quick_ratio")
    assert not one.routes
    assert "asks for a part of a year, 'q2 fy2023'" in one.reason
    (several,) = drafted("What was Orchard's inventory at the end of Q2 2024 and at the end of fiscal 2023?").values()
    assert [(c.question.period.asked, bool(c.routes)) for c in several] == [("Q2 FY2024", False), ("FY2023", True)]
    ((one,),) = drafted("What was Orchard's revenue last quarter?").values()
    assert not one.routes


def test_a_question_of_one_issuer_is_not_led_astray_by_its_name():
    asked = Question(
        "q", "States the revenue of Core Sales Guidance in FY2021", "revenue", entity="Core Sales Guidance", period=Period("FY2021")
    )
    assert understand(asked).metric == "revenue"


# -- the day on which a period ends ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("when", "value"),
    [
        ("as of December 31, 2021", 400),
        ("for the year ended December 31, 2021", 400),
        ("for the year ended June 30, 2021", None),
        ("for the twelve months ended 30 June 2021", None),
        ("at the end of September 2021", None),
        ("in the first half of 2021", None),
    ],
)
def test_a_figure_of_another_day_is_no_answer(when, value):
    """Also from the text alone, as a reviewer derives it."""
    values, _ = found(f"What was the revenue of Orchard {when}?")
    assert [one if value else isinstance(one, str) for one in values.values()] == [value or True]
    alone = derive(Question("q", f"What was the revenue of Orchard {when}?", entity="Orchard"), Bench(), read)
    assert alone.value == value


def test_a_year_of_weeks_may_miss_its_day():
    assert not other_end("the year ended January 2, 2022", [date(2021, 12, 31)])
    assert other_end("the year ended January 2, 2022", [date(2021, 9, 30)]).startswith("asks for what ended January 2")


def test_a_day_of_knowledge_is_no_end_of_a_period():
    values, _ = found("As of June 30, 2022, what was the revenue of Orchard in fiscal 2021?")
    assert list(values.values()) == [400]
