"""Conventions that a query states in words bind the formula, are refused, or are found missing by a rule that reads nothing but words."""

from datetime import date
from decimal import Decimal

import pytest

from finassay.api.research import Period, Question
from finassay_rubrics.context.bind import bind
from finassay_rubrics.metrics.ask import understand
from finassay_rubrics.metrics.conventions import bound, stated, words_for
from finassay_rubrics.metrics.formula import parse
from finassay_rubrics.metrics.table import table
from finassay_rubrics.metrics.terms import fold
from finassay_rubrics.metrics.when import AskError
from finassay_rubrics.record.rubric import BoundInput, Criterion, Evidence, Obligation, Route, Rubric
from finassay_rubrics.validate.convention_rules import conventions


@pytest.mark.parametrize(
    ("query", "metric", "formula"),
    [
        (
            "net debt to EBITDA, counting short-term investments as cash",
            "net_debt_to_ebitda",
            "(short_term_debt + long_term_debt - (cash + short_term_investments)) / (operating_income + depreciation)",
        ),
        ("Treat marketable securities as cash.", "cash_ratio", "(cash + short_term_investments) / current_liabilities"),
        ("the current ratio excluding inventory", "current_ratio", "(current_assets - inventory) / current_liabilities"),
        ("the quick ratio with receivables left out", "quick_ratio", "(cash + short_term_investments) / current_liabilities"),
        ("ROE using year-end balances", "roe", "net_income / equity"),
        ("the current ratio based on average balances", "current_ratio", "avg(current_assets) / avg(current_liabilities)"),
        ("asset turnover, using average total assets", "asset_turnover", "revenue / avg(total_assets)"),
        ("DIO, based on ending inventory", "dio", "365 * inventory / cogs"),
        ("net margin, continuing operations only", "net_margin", "net_income_continuing / revenue"),
        ("total assets excluding goodwill and intangible assets", "total_assets", "total_assets - intangibles - goodwill"),
        ("total debt counting the current portion of long-term debt as debt", "total_debt", "short_term_debt + long_term_debt"),
        ("the gross margin, counting short-term investments as cash", "gross_margin", "gross_profit / revenue"),
        ("ROA, including the calculation and a table", "roa", "net_income / avg(total_assets)"),
    ],
)
def test_a_convention_binds_the_formula(query, metric, formula):
    assert bound(table().metrics[metric].formula, stated(fold(query))) == parse(formula)


@pytest.mark.parametrize(
    ("query", "metric"),
    [
        ("net debt to EBITDA, treating operating lease liabilities as debt", "net_debt_to_ebitda"),
        ("EBITDA excluding stock-based compensation", "ebitda"),
        ("EBITDA margin excluding restructuring charges", "ebitda_margin"),
        ("Count restricted cash as cash.", "net_debt"),
        ("free cash flow with capital leases treated as capex", "free_cash_flow"),
        ("revenue excluding goodwill and passthrough costs", "revenue"),
    ],
)
def test_what_is_stated_and_not_understood_is_refused(query, metric):
    with pytest.raises(AskError, match="the query"):
        bound(table().metrics[metric].formula, stated(fold(query)))


def test_a_convention_goes_into_the_criterions_text_where_it_bears():
    query = (
        "State Orchard's FY2022 revenue. Compare its quick ratio and net debt to EBITDA, counting short-term investments as cash. "
        "What was the current ratio excluding inventory?"
    )
    assert words_for(query, ["net_debt_to_ebitda"]) == "counting short-term investments as cash"
    assert words_for(query, ["current_ratio"]) == "excluding inventory"
    assert words_for(query, ["revenue"]) == words_for(query, ["net_margin"]) == ""
    everywhere = "Use year-end balances. What was the ROA of Orchard in FY2022, and what its revenue?"
    assert words_for(everywhere, ["roa"]) == "Use year-end balances"
    assert words_for(everywhere, ["revenue"]) == ""


def test_a_question_is_understood_with_its_convention():
    asked = Question("q", "States the net debt of FY2022 (counting short-term investments as cash)", "net_debt", period=Period("FY2022"))
    assert understand(asked).formula == parse("short_term_debt + long_term_debt - (cash + short_term_investments)")
    adjusted = Question("q", "What was the adjusted EBITDA of FY2022?", entity="Orchard")
    with pytest.raises(AskError, match="adjusted"):
        understand(adjusted)


def test_what_a_convention_names_is_not_asked_for():
    made = bind("What was Orchard's net debt at the end of FY2022? Count short-term investments as cash.")
    assert [b["canonical"] for b in made["metrics"]] == ["net_debt"]
    assert [b["span"] for b in made["assumptions"]] == ["Count short-term investments as cash"]


def test_a_share_of_it_is_a_relation_to_what_stands_before():
    made = bind("Compute Orchard's free cash flow in FY2022 and the share of it paid out as cash dividends.")
    assert [b.get("relation", "") for b in made["metrics"]] == ["", "dividends_paid / free_cash_flow"]
    assert made["metrics"][1]["asked"] == "share of free cash flow paid as cash dividends"


def rubric(query: str, lines, metric="net_debt_to_ebitda", quotes=()):
    inputs = tuple(BoundInput(name=f"{line}_{year}", value=Decimal(1), shown="1", quote_sha256="0", line=line, period=f"FY{year}") for line, year in lines)  # fmt: skip
    evidence = (Evidence(kind="script", script="s", inputs=inputs), *(Evidence(kind="source", document="D", quote=q) for q in quotes))
    route = Route(value=Decimal("2.5"), unit="times", evidence=evidence)
    criterion = Criterion(
        id="O1.1",
        obligation_id="O1",
        text="States it",
        kind="numeric",
        status="grounded",
        metric=metric,
        expected=(route,),
        points=Decimal(100),
    )
    one = Obligation(id="O1", what="it", spans=("MET1",), frozen=Decimal(100), points=Decimal(100))
    return Rubric(query=query, cutoff=date(2023, 3, 1), obligations=(one,), criteria=(criterion,)).model_dump(mode="json", by_alias=True)


CASH = "Compare net debt to EBITDA in fiscal 2022, counting short-term investments as cash."
PLAIN = [("cash", 2022), ("long_term_debt", 2022), ("operating_income", 2022)]


@pytest.mark.parametrize(
    ("query", "lines", "metric", "quotes", "broken"),
    [
        (CASH, PLAIN, "net_debt_to_ebitda", (), "counts 'short-term investments' as cash"),
        (CASH, [*PLAIN, ("short_term_investments", 2022)], "net_debt_to_ebitda", (), ""),
        (CASH, [], "net_debt_to_ebitda", ("Cash and cash equivalents $ 4,954", "Short-term investments 394"), ""),
        (CASH, [], "net_debt_to_ebitda", ("Cash and cash equivalents $ 4,954", "Long-term debt 35,657"), "counts 'short-term investments' as cash"),
        (CASH, [("revenue", 2022)], "revenue", (), ""),
        ("State net debt to EBITDA, treating lease liabilities as debt.", PLAIN, "net_debt_to_ebitda", (), "counts 'lease liabilities' as debt"),
        ("State the current ratio excluding inventory.", [("current_assets", 2022)], "current_ratio", (), "leaves out 'inventory'"),
        ("State the current ratio excluding inventory.", [("current_assets", 2022), ("inventory", 2022)], "current_ratio", (), ""),
        ("State ROA using average balances.", [("net_income", 2022), ("total_assets", 2022)], "roa", (), "average balances"),
        ("State ROA using average balances.", [("net_income", 2022), ("total_assets", 2022), ("total_assets", 2021)], "roa", (), ""),
        ("State ROA using year-end balances.", [("net_income", 2022), ("total_assets", 2022), ("total_assets", 2021)], "roa", (), "year-end"),
    ],
)  # fmt: skip
def test_a_rule_finds_a_convention_that_the_evidence_does_not_follow(query, lines, metric, quotes, broken):
    found = conventions(rubric(query, lines, metric, quotes))
    assert [v.rule for v in found] == (["R22"] if broken else [])
    assert all(broken in v.reason for v in found)
