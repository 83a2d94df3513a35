"""Metrics: the table, what questions ask for, definitions in words, scripts."""

import json
import subprocess
import sys
from datetime import date
from decimal import Decimal

import pytest
from attrs import evolve

from finassay.api.research import Assignment, Derivation, Period, Question
from finassay_rubrics.generate.scripts import script_problems
from finassay_rubrics.metrics.ask import AskError, understand
from finassay_rubrics.metrics.draft import draft
from finassay_rubrics.metrics.formula import FormulaError, Line, evaluate, lines, parse
from finassay_rubrics.metrics.script import script
from finassay_rubrics.metrics.table import UNITS, table, without
from finassay_rubrics.metrics.terms import fold, names_in


def ask(text, **more):
    return understand(Question("q", text, **more))


def value(node, **figures):
    """A formula with figures by `line` for the base year and `line_1` for the year before."""
    given = {}
    for name, number in figures.items():
        head, _, tail = name.rpartition("_")
        given[Line(head, -int(tail)) if tail.isdigit() else Line(name)] = Decimal(str(number))
    return evaluate(node, given)


def test_the_table_is_large_enough_and_every_name_leads_somewhere():
    metrics = [one for one in table().metrics.values() if one.id not in table().lines]
    assert len(metrics) >= 40
    for metric in table().metrics.values():
        assert metric.unit in UNITS
        for name in metric.names:
            found = names_in(fold(name))
            assert [one.id for one in found[:1]] == [metric.id], (metric.id, name, found)


def test_no_name_means_two_things():
    seen = {}
    for metric in table().metrics.values():
        for name in metric.names:
            assert seen.setdefault(fold(name), metric.id) == metric.id, name


def test_routes_name_topics_and_their_first_is_the_formula():
    for metric in table().metrics.values():
        if metric.routes:
            assert metric.routes[0].formula == metric.formula
            assert all(route.convention for route in metric.routes)
            assert metric.by(f"{metric.routes[-1].topic}:{metric.routes[-1].route}") == metric.routes[-1].formula
    with pytest.raises(FormulaError):
        table().metrics["roa"].by("roa.denominator:median")


@pytest.mark.parametrize("metric", sorted(table().metrics))
def test_every_formula_runs_as_a_script_and_holds_no_figure(metric):
    for node in (table().metrics[metric].formula, *(r.formula for r in table().metrics[metric].routes)):
        code = script(node, lambda line: f"{line.id}_{-line.offset}")
        assert script_problems(code) == []


def run(code, inputs):
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], input=json.dumps(inputs), capture_output=True, text=True, timeout=30, check=False
    )
    return Decimal(json.loads(done.stdout)["value"]) if done.returncode == 0 else done.stderr


def test_a_script_gives_what_the_formula_gives():
    wanted = ask("What is the 2 year total revenue CAGR from FY2020 to FY2022?")
    code = script(wanted.formula, lambda line: f"{line.id}_{-line.offset}", wanted.times)
    assert run(code, {"revenue_2": "400", "revenue_0": "441"}) == pytest.approx(Decimal(5))
    assert "not positive" in run(code, {"revenue_2": "-400", "revenue_0": "441"})
    code = script(parse("1 - dividends_paid / net_income"), lambda line: line.id)
    assert run(code, {"dividends_paid": "-25", "net_income": "100"}) == Decimal("0.75")


@pytest.mark.parametrize(
    ("text", "metric", "kind", "years", "mode"),
    [
        ("What is the FY2018 capital expenditure amount (in USD millions) for Orchard?", "capex", "amount", (2018,), ""),
        ("What is the year end FY2018 net PPNE for Orchard? Answer in USD billions.", "ppe_net", "amount", (2018,), ""),
        ("What was Orchard's three-year average return on equity over FY2019-FY2021?", "roe", "times", (2019, 2020, 2021), "mean"),
        ("What is Orchard's year-over-year change in revenue from FY2016 to FY2017 (in units of percents)?", "revenue", "percent", (2016, 2017), "growth"),
        ("What is the FY2018 - FY2019 change in unadjusted operating income % margin for Orchard?", "operating_margin", "points", (2018, 2019), "change"),
        ("By how many percentage points did gross margin change between fiscal 2021 and fiscal 2022 at Orchard?", "gross_margin", "points", (2021, 2022), "change"),
        ("What is Orchard's 2 year total revenue CAGR from FY2020 to FY2022?", "revenue", "percent", (2020, 2022), "compound"),
        ("What is Orchard's four year revenue CAGR to FY2022?", "revenue", "percent", (2018, 2022), "compound"),
        ("How much did net sales grow at Orchard: what was the growth in FY2022, in percent?", "revenue", "percent", (2021, 2022), "growth"),
        ("What was the change in inventory at Orchard in fiscal year 2022?", "inventory", "amount", (2021, 2022), "change"),
        ("What's Orchard's FY2022 COGS?", "cogs", "amount", (2022,), ""),
        ("What is the FY22 quick ratio of Orchard?", "quick_ratio", "times", (2022,), ""),
        ("What were total current assets of Orchard at the end of 2019?", "current_assets", "amount", (2019,), ""),
        ("Using the statement of cash flows, what is the FY2020 free cash flow (FCF) for Orchard?", "free_cash_flow", "amount", (2020,), ""),
        ("What is the FY2015 depreciation and amortization (D&A from cash flow statement) % margin for Orchard?", "own", "percent", (2015,), ""),
        ("What is the average cost of goods sold as a % of revenue from FY2016 to FY2018 at Orchard?", "own", "percent", (2016, 2017, 2018), "mean"),
        ("What is Orchard's FY2022 ROA, as a percent?", "roa", "percent", (2022,), ""),
    ],
)  # fmt: skip
def test_questions_are_understood(text, metric, kind, years, mode):
    found = ask(text)
    assert (found.metric, found.kind, found.years, found.mode) == (metric, kind, years, mode)
    assert found.entities[0] == "Orchard"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("What is the FY2022 adjusted EBITDA of Orchard?", "adjusted"),
        ("What was Orchard's FY2022 subscription revenue?", "subscription"),
        ("What was the operating income of the Garden segment of Orchard in FY2022?", "segment"),
        ("What was Orchard's Cloud revenue in FY2022?", "cloud"),
        ("What will the expected revenue of Orchard be in FY2025?", "expected"),
        ("What was Orchard's revenue?", "no fiscal year"),
        ("What was Orchard's revenue in Q3 FY2022?", "part of a year"),
        ("Who audits Orchard in FY2022?", "no metric"),
        ("What were revenue and net income of Orchard in FY2022?", "more than one"),
        ("What was revenue of Orchard in FY2020, FY2021 and FY2022?", "several years"),
        ("", "no fiscal year"),
    ],
)
def test_what_is_not_clear_is_refused(text, reason):
    with pytest.raises(AskError, match=reason):
        ask(text)


def test_units_decimals_and_scale():
    found = ask("What is the FY2022 working capital of Orchard in USD billions? Round your answer to two decimal places.")
    assert (found.unit, found.decimals, found.scale) == ("USD", 2, Decimal(10) ** 9)
    assert ask("What is the FY2022 gross margin of Orchard (in units of percents and round to one decimal place)?").decimals == 1
    assert ask("What is the FY2022 current ratio of Orchard?").shown == 2


FIGURES = {"net_income": 12, "total_assets": 110, "total_assets_1": 90, "accounts_payable": 30, "accounts_payable_1": 10, "cogs": 200, "inventory": 40, "inventory_1": 35,
           "current_assets": 50, "current_liabilities": 20, "cfo": 33, "capex": 3, "operating_income": 15, "depreciation": 5, "revenue": 300, "receivables": 16, "receivables_1": 14}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("What is the FY2022 ROA for Orchard? ROA is defined as: FY2022 net income / (average total assets between FY2021 and FY2022).", Decimal(12) / 100),
        ("What is Orchard's FY2022 DPO? DPO is defined as: 365 * (average accounts payable between FY2021 and FY2022) / (FY2022 COGS + change in inventory between FY2021 "
         "and FY2022). Round to two decimals.", Decimal(365 * 20) / 205),
        ("What is Orchard's FY2022 operating income + depreciation and amortization from the cash flow statement (unadjusted EBITDA) in USD millions?", Decimal(20)),
        ("What is Orchard's FY2022 total current assets less total current liabilities?", Decimal(30)),
        ("What is the FY2022 DPO of Orchard? Define DPO as 365 * average accounts payable divided by COGS.", Decimal(365 * 20) / 200),
        ("What is Orchard's FY2022 net working capital? Define net working capital as total current assets less total current liabilities.", Decimal(30)),
        ("What is the FY2022 free cash flow (FCF) for Orchard? FCF here is defined as: (cash from operations - capex).", Decimal(30)),
        ("What is the FY2022 liquidity gauge of Orchard? Liquidity gauge is defined as: (total current assets - inventories) / total current liabilities.", Decimal("0.5")),
        ("What is the FY2022 unadjusted EBITDA % margin for Orchard? Define unadjusted EBITDA as unadjusted operating income + depreciation and amortization from the cash "
         "flow statement.", Decimal(20) / 300),
        ("What is the FY2022 cash conversion cycle (CCC) for Orchard? CCC is defined as: DIO + DSO - DPO. DIO is defined as: 365 * (average inventory between FY2021 and "
         "FY2022) / (FY2022 COGS). DSO is defined as: 365 * (average accounts receivable between FY2021 and FY2022) / (FY2022 Revenue). DPO is defined as: 365 * (average "
         "accounts payable between FY2021 and FY2022) / (FY2022 COGS).", Decimal(365) * (Decimal("37.5") / 200 + Decimal(15) / 300 - Decimal(20) / 200)),
        ("What is the FY2022 return on assets of Orchard? Return on assets = FY2022 net income / ((FY2021 total assets + FY2022 total assets) / 2).", Decimal(12) / 100),
    ],
)  # fmt: skip
def test_definitions_in_the_query_count(text, wanted):
    assert value(ask(text).formula, **FIGURES) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("What is the FY2022 strength of Orchard? Strength is defined as: goodwill of heroes / revenue.", "goodwill of heroes"),
        ("What is the FY2022 ROA of Orchard? ROA is defined as: net income / 417.", "figure 417"),
        ("What is the FY2022 ROA of Orchard? ROA is defined as: net income / (total assets.", "bracket|too soon"),
        ("What is the FY2022 alpha of Orchard? Alpha is defined as: beta / revenue. Beta is defined as: alpha * 2.", "takes"),
    ],
)
def test_a_definition_that_cannot_be_followed_is_refused(text, reason):
    with pytest.raises(FormulaError, match=reason):
        ask(text)


def test_a_formula_refuses_what_it_does_not_know():
    for text in ("revenue +", "revenue ) 2", "3 * revenue", "sum(revenue)", "revenue ?", "(revenue"):
        with pytest.raises(FormulaError):
            parse(text)


def test_a_missing_line_is_made_of_others_where_the_table_says_so():
    node = without(parse("gross_profit / revenue"), frozenset(["gross_profit"]))
    assert {line.id for line in lines(node)} == {"revenue", "cogs"}
    assert without(parse("goodwill"), frozenset(["goodwill"])) == Line("goodwill")


# -- drafts -----------------------------------------------------------------------------------------------------------


def assignment(what, query, **bindings):
    context = {
        "query": query,
        "bindings": {
            kind: [{"id": f"{kind[:3].upper()}{n}", "span": span} for n, span in enumerate(spans, 1)] for kind, spans in bindings.items()
        },
    }
    return Assignment("O1", what, context, principles=("P01 Grounded: values come from filings",))


def answered(question):
    found = understand(evolve(question, convention=""))
    return Derivation(Decimal(found.year - 2000), found.unit)


def test_one_criterion_for_each_year():
    query = "Show Orchard's net margin for FY2020 - FY2022 and its average."
    made = draft(
        assignment("net margin of each year", query, entities=["Orchard"], metrics=["net margin"], periods=["FY2020 - FY2022"]), answered
    )
    assert [one.text for one in made.criteria] == [f"States the net profit margin of FY{year}" for year in (2020, 2021, 2022)]
    assert [one.routes[0].derivation.value for one in made.criteria] == [20, 21, 22]
    assert all(one.bindings and one.principles == ("P01",) for one in made.criteria)
    assert [one.must_pass for one in made.criteria] == [True, False, False]


def test_one_criterion_for_a_mean():
    query = "Show Orchard's net margin for FY2020 - FY2022 and its average."
    made = draft(
        assignment("average net margin", query, entities=["Orchard"], metrics=["net margin"], periods=["FY2020 - FY2022"]), answered
    )
    assert len(made.criteria) == 1
    assert understand(made.criteria[0].question).mode == "mean"


def test_the_obligations_own_bindings_are_taken():
    query = "Show Orchard's net margin of FY2021 and its inventory at the end of FY2022."
    given = assignment("the second figure", query, entities=["Orchard"], metrics=["net margin", "inventory"], periods=["FY2021", "FY2022"])
    made = draft(evolve(given, bindings=("MET2", "PER2")), answered)
    assert [one.text for one in made.criteria] == ["States the inventory of FY2022"]
    assert made.criteria[0].bindings == ("MET2", "PER2")


@pytest.mark.parametrize(
    "what", ["why net margin fell in FY2022", "one table of net margin", "share of free cash flow paid out as dividends in FY2022"]
)
def test_words_and_relations_are_left_to_others(what):
    made = draft(assignment(what, "Explain Orchard's net margin in FY2022.", entities=["Orchard"], metrics=["net margin"]), answered)
    assert [(one.kind, bool(one.routes), bool(one.reason)) for one in made.criteria] == [("text", False, True)]


def test_conventions_become_routes_of_one_topic():
    def by_convention(question):
        return Derivation(Decimal(2 if question.convention.endswith(":end") else 1), "times")

    made = draft(assignment("ROA of FY2022", "What is the ROA of Orchard in FY2022?", entities=["Orchard"]), by_convention)
    assert [(one.topic, one.route) for one in made.criteria[0].routes] == [("roa.denominator", "average"), ("roa.denominator", "end")]


def test_a_restated_value_is_a_route_of_its_vintage():
    def restated(question):
        return Derivation(Decimal(2 if question.convention == "vintage:original" else 1), "USD")

    made = draft(assignment("revenue of FY2022", "What is the revenue of Orchard in FY2022?", entities=["Orchard"]), restated)
    assert [(one.topic, one.route) for one in made.criteria[0].routes] == [("vintage", "latest"), ("vintage", "original")]


@pytest.mark.parametrize(
    ("what", "query"),
    [("explain the strategy", "Explain Orchard's strategy in FY2022."), ("revenue", "What is the revenue of Orchard?"), ("", "")],
)
def test_what_no_statement_shows_stays_unresolved_with_the_reason(what, query):
    made = draft(assignment(what, query, entities=["Orchard"]), lambda question: pytest.fail("nothing to derive"))
    assert len(made.criteria) == 1
    assert made.criteria[0].reason
    assert not made.criteria[0].routes


def test_a_question_of_a_criterion_takes_its_period_from_its_field():
    found = ask("States the revenue", metric="revenue", entity="Orchard", period=Period("FY2021", date(2021, 9, 30)))
    assert found.years == (2021,)
    assert found.entities == ("Orchard",)
