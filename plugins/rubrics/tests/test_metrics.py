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
from finassay_rubrics.metrics.formula import FormulaError, Line, evaluate, lines, outcome, parse
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
    if done.returncode != 0:
        return done.stderr
    shown = json.loads(done.stdout)["value"]
    return shown if shown[:1].isalpha() else Decimal(shown)


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
        ("By what percentage did revenue grow between FY2019 and FY2022 at Orchard?", "revenue", "percent", (2019, 2022), "growth"),
        ("By how much did inventory fall at Orchard in FY2022?", "inventory", "amount", (2021, 2022), "change"),
        ("What percent of revenue was SG&A for Orchard in FY2022?", "own", "percent", (2022,), ""),
        ("What share of Orchard's FY2022 total assets was goodwill?", "own", "percent", (2022,), ""),
        ("What was Orchard's capex as a percent of operating cash flow in FY2022?", "own", "percent", (2022,), ""),
        ("What is Orchard's FY2022 long-term debt to total assets ratio?", "own", "times", (2022,), ""),
        ("What was the ratio of inventory to revenue at Orchard in FY2021?", "own", "times", (2021,), ""),
        ("What is the difference between current assets and current liabilities of Orchard in FY2022?", "own", "amount", (2022,), ""),
        ("What is the sum of dividends paid and share repurchases of Orchard in FY2022?", "own", "amount", (2022,), ""),
        ("What is the 3-year average capex/revenue of Orchard for FY2020 - FY2022?", "own", "percent", (2020, 2021, 2022), "mean"),
        ("What was Orchard's three-year average net margin ending FY2022?", "net_margin", "percent", (2020, 2021, 2022), "mean"),
        ("What was Orchard's average annual growth in revenue from FY2019 to FY2022?", "revenue", "percent", (2019, 2020, 2021, 2022), "yearly"),
        ("What is the cumulative free cash flow from FY2020 to FY2022 of Orchard?", "free_cash_flow", "amount", (2020, 2021, 2022), "sum"),
        ("What was the compound annual growth rate of revenue between FY2018 and FY2022 at Orchard?", "revenue", "percent", (2018, 2022), "compound"),
        ("In which fiscal year between FY2019 and FY2022 was Orchard's operating margin the highest?", "operating_margin", "words", (2019, 2020, 2021, 2022), "year"),
        ("Among operations, investing, and financing activities, which brought in the most (or lost the least) cash flow for Orchard in FY2023?", "own", "words", (2023,), ""),
        ("Which was larger in FY2022 at Orchard, accounts payable or accounts receivable?", "own", "words", (2022,), ""),
        ("Did Orchard's gross margin improve from FY2021 to FY2022?", "gross_margin", "words", (2021, 2022), "direction"),
        ("Does Orchard have an improving gross margin profile as of FY2023? If gross margin is not a useful metric, then explain why.", "gross_margin", "words", (2022, 2023), "direction"),
        ("Say whether operating income rose or fell from FY2021 to FY2022 at Orchard.", "operating_income", "words", (2021, 2022), "direction"),
        ("Does Orchard have positive working capital based on FY2022 data?", "working_capital", "words", (2022,), "side"),
        ("Roughly how many times has Orchard sold its inventory in FY2022? Calculate inventory turnover ratio for the FY2022.", "inventory_turnover", "times", (2022,), ""),
        ("How much cash did Orchard have at the end of FY2022?", "cash", "amount", (2022,), ""),
        ("How much revenue was generated by Orchard in FY2022?", "revenue", "amount", (2022,), ""),
        ("What is the FY2020 - FY2022 3 year average of G&A expense as a % of revenue for Orchard?", "own", "percent", (2020, 2021, 2022), "mean"),
        ("What is Orchard's FY2022 cash conversion ratio? Round your answer to two decimal places.", "cash_conversion", "times", (2022,), ""),
        ("What is Orchard's FY2022 cash conversion ratio in percent? Round to two decimals.", "cash_conversion", "percent", (2022,), ""),
    ],
)  # fmt: skip
def test_questions_are_understood(text, metric, kind, years, mode):
    found = ask(text)
    assert (found.metric, found.kind, found.years, found.mode) == (metric, kind, years, mode)
    assert found.entities[0] == "Orchard"


def test_debt_is_not_counted_twice_where_its_current_portion_is_named_besides():
    text = "What is Orchard's net debt in FY2022? Net debt is defined as: short-term debt + current portion of long-term debt + long-term debt - cash."
    taken = {line.id for line in lines(ask(text).formula)}
    assert taken == {"short_term_borrowings", "current_portion", "long_term_debt", "cash"}


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
        ("What was revenue from services of Orchard in FY2022?", "services"),
        ("What was revenue in Europe for Orchard in FY2022?", "Europe"),
        ("What were net sales by the Tools group of Orchard in FY2022?", "Tools"),
        ("How many times did Orchard turn over its inventory in FY2022?", "how often"),
        ("Did Orchard's operating margin rise by more than 1 percentage point in FY2022?", "threshold"),
        ("Is Orchard a capital-intensive business based on FY2022 data?", "judgement"),
        ("Does Orchard have a healthy liquidity profile based on its quick ratio for FY22?", "judgement"),
        ("What drove the change of Orchard's operating margin as of FY2022?", "reasons"),
        ("What is Orchard's price to sales ratio in FY2022?", "something else"),
        ("What were dividends per share of Orchard in FY2022?", "something else"),
        ("What was the revenue backlog of Orchard in FY2022?", "something else"),
        ("What is Orchard's enterprise value to EBITDA for FY2022?", "in relation"),
        ("Did Orchard's wages expense as a percent of net sales increase or decrease in FY2023?", "in relation"),
        ("How much cash did Orchard pay for acquisitions in FY2022?", "flow of cash"),
        ("What was the FY2020 - FY2022 average of rent expense as a % of revenue for Orchard?", "in relation"),
        ("Which segment of Orchard had the highest revenue in FY2022?", "segment"),
        ("What is the average annual growth of gross margin at Orchard from FY2019 to FY2022?", "no amount"),
        ("In which year had Orchard the highest revenue? Use FY2022.", "without naming"),
    ],
)
def test_what_is_not_clear_is_refused(text, reason):
    with pytest.raises(AskError, match=reason):
        ask(text)


@pytest.mark.parametrize(
    ("text", "figures", "wanted"),
    [
        ("Did Orchard's gross margin improve from FY2021 to FY2022?", {"gross_profit_0": 30, "revenue_0": 100, "gross_profit_1": 33, "revenue_1": 100}, "declined"),
        ("Did revenue of Orchard grow from FY2021 to FY2022?", {"revenue_0": 100, "revenue_1": 100}, "did not change"),
        ("Does Orchard have positive working capital based on FY2022 data?", {"current_assets_0": 5, "current_liabilities_0": 7}, "negative"),
        ("Which year from FY2020 to FY2022 had the lowest free cash flow at Orchard?",
         {"cfo_0": 9, "capex_0": -2, "cfo_1": 8, "capex_1": 3, "cfo_2": 8, "capex_2": -2}, "FY2021"),
        ("Among operations, investing, and financing activities, which brought in the most (or lost the least) cash flow for Orchard in FY2023?",
         {"cfo_0": -3, "cfi_0": -2, "cff_0": 4}, "financing activities"),
        ("Which was larger in FY2022 at Orchard, accounts payable or accounts receivable?", {"accounts_payable_0": 3, "receivables_0": 2}, "accounts payable"),
    ],
)  # fmt: skip
def test_words_come_out_of_figures_by_a_script(text, figures, wanted):
    found = ask(text)
    code = script(found.formula, lambda line: f"{line.id}_{-line.offset}", found.times)
    assert script_problems(code) == []
    assert run(code, {name: str(number) for name, number in figures.items()}) == wanted
    by_line = {Line(name.rpartition("_")[0], -int(name[-1])): Decimal(number) for name, number in figures.items()}
    sized = {line: abs(number) if table().lines[line.id].magnitude else number for line, number in by_line.items()}
    assert outcome(found.formula, sized) == wanted


def test_two_that_are_equal_are_no_answer():
    found = ask("Which was larger in FY2022 at Orchard, accounts payable or accounts receivable?")
    code = script(found.formula, lambda line: line.id)
    assert "equal" in run(code, {"accounts_payable": "3", "receivables": "3"})
    with pytest.raises(ArithmeticError):
        outcome(found.formula, {line: Decimal(3) for line in lines(found.formula)})


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
    return Derivation("increased" if found.kind == "words" else Decimal(found.year - 2000), found.unit)


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
    "what",
    [
        "why net margin fell in FY2022",
        "one table of net margin",
        "net margin and inventory side by side, as a ratio of fleets, in FY2022",
        "whether net margin rose in FY2022 and why",
    ],
)
def test_words_and_relations_are_left_to_others(what):
    made = draft(assignment(what, "Explain Orchard's net margin in FY2022.", entities=["Orchard"], metrics=["net margin"]), answered)
    assert [(one.kind, bool(one.routes), bool(one.reason)) for one in made.criteria] == [("text", False, True)]


def test_a_relation_of_two_lines_is_a_figure():
    made = draft(
        assignment("share of free cash flow paid out as dividends", "Show it.", entities=["Orchard"], periods=["FY2021", "FY2022"]),
        answered,
    )
    assert [one.text for one in made.criteria] == [
        f"States the dividends as a percentage of free cash flow of FY{year}" for year in (2021, 2022)
    ]
    assert [(one.kind, one.routes[0].derivation.unit, one.question.metric) for one in made.criteria] == [("numeric", "percent", "")] * 2


def test_a_direction_rests_on_the_two_figures():
    def told(question):
        found = understand(evolve(question, convention=""))
        return Derivation("increased" if found.kind == "words" else Decimal(found.year), found.unit)

    what = "whether net margin rose or fell from FY2021 to FY2022"
    made = draft(assignment(what, "Say so for Orchard.", entities=["Orchard"], metrics=["net margin"]), told)
    assert [(one.kind, one.depends_on, one.must_pass) for one in made.criteria] == [
        ("numeric", (), True), ("numeric", (), False), ("categorical", ("O1.1", "O1.2"), False),
    ]  # fmt: skip
    assert made.criteria[2].routes[0].derivation.value == "increased"


def test_a_direction_that_was_bound_as_words_is_still_answered_by_figures():
    given = assignment("say whether its net margin rose or fell from FY2021 to FY2022", "Say so for Orchard.", entities=["Orchard"])
    context = dict(given.context)
    context["bindings"] = {**context["bindings"], "deliverables": [{"id": "DEL1", "span": "say whether", "type": "explain"}]}
    made = draft(evolve(given, context=context, bindings=("DEL1",)), answered)
    assert [one.kind for one in made.criteria][:2] == ["numeric", "numeric"]
    why = draft(evolve(given, what="say whether net margin rose or fell, and why", context=context, bindings=("DEL1",)), answered)
    assert [(one.kind, bool(one.reason)) for one in why.criteria] == [("text", True)]


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
