"""Every definition of the table on one small statement, against arithmetic written down by hand."""

import json
import subprocess
import sys
from decimal import Decimal

import pytest

from finassay_rubrics.metrics.formula import Line, evaluate, lines
from finassay_rubrics.metrics.script import script
from finassay_rubrics.metrics.table import table, without

NOW = {
    "revenue": 1000, "cogs": 600, "gross_profit": 400, "sga": 150, "rnd": 50, "operating_income": 160, "interest_expense": 20, "pretax_income": 145,
    "income_tax": 29, "net_income": 112, "net_income_total": 116, "net_income_continuing": 110, "cash": 90, "short_term_investments": 40, "receivables": 120,
    "inventory": 80, "current_assets": 350, "ppe_net": 400, "goodwill": 130, "intangibles": 60, "total_assets": 1010, "accounts_payable": 70,
    "short_term_debt": 30, "current_liabilities": 200, "long_term_debt": 250, "total_liabilities": 510, "equity": 480, "equity_total": 500, "cfo": 190,
    "capex": 75, "depreciation": 55, "dividends_paid": 45, "buybacks": 60,
}  # fmt: skip
BEFORE = {
    "receivables": 100,
    "inventory": 100,
    "ppe_net": 360,
    "total_assets": 990,
    "accounts_payable": 50,
    "equity": 440,
    "current_assets": 310,
    "current_liabilities": 190,
}

BY_HAND = {
    "gross_margin": (400 / 1000, {}),
    "operating_margin": (160 / 1000, {}),
    "net_margin": (112 / 1000, {"net_income.scope:continuing": 110 / 1000, "net_income.scope:consolidated": 116 / 1000}),
    "pretax_margin": (145 / 1000, {}),
    "ebitda": (160 + 55, {"ebitda.basis:net-income": 116 + 29 + 20 + 55}),
    "ebitda_margin": (215 / 1000, {"ebitda.basis:net-income": 220 / 1000}),
    "ebitda_less_capex": (215 - 75, {}),
    "free_cash_flow": (190 - 75, {"fcf.definition:after-dividends": 190 - 75 - 45}),
    "fcf_margin": (115 / 1000, {}),
    "fcf_conversion": (115 / 112, {"fcf_conversion.denominator:ebitda": 115 / 215}),
    "cash_conversion": (190 / 112, {}),
    "cfo_margin": (190 / 1000, {}),
    "effective_tax_rate": (29 / 145, {}),
    "roa": (112 / 1000, {"roa.denominator:end": 112 / 1010}),
    "roe": (112 / 460, {"roe.denominator:end": 112 / 480}),
    "asset_turnover": (1000 / 1000, {"asset_turnover.denominator:end": 1000 / 1010}),
    "fixed_asset_turnover": (1000 / 380, {"fixed_asset_turnover.denominator:end": 1000 / 400}),
    "inventory_turnover": (600 / 90, {"inventory_turnover.denominator:end": 600 / 80}),
    "receivables_turnover": (1000 / 110, {"receivables_turnover.denominator:end": 1000 / 120}),
    "payables_turnover": (600 / 60, {"payables_turnover.denominator:end": 600 / 70}),
    "dio": (365 * 90 / 600, {"dio.denominator:end": 365 * 80 / 600}),
    "dso": (365 * 110 / 1000, {"dso.denominator:end": 365 * 120 / 1000}),
    "dpo": (365 * 60 / (600 - 20), {"dpo.denominator:cogs": 365 * 60 / 600}),
    "ccc": (54.75 + 40.15 - 365 * 60 / 580, {"dpo.denominator:cogs": 54.75 + 40.15 - 36.5}),
    "current_ratio": (350 / 200, {}),
    "quick_ratio": (250 / 200, {"quick_ratio.numerator:less-inventory": 270 / 200}),
    "cash_ratio": (90 / 200, {}),
    "operating_cash_flow_ratio": (190 / 200, {}),
    "working_capital": (150, {}),
    "working_capital_turnover": (1000 / 135, {"working_capital_turnover.denominator:end": 1000 / 150}),
    "debt_to_equity": (280 / 500, {"debt_to_equity.debt:liabilities": 510 / 500}),
    "total_debt": (280, {}),
    "net_debt": (190, {"net_debt.cash:liquid": 150}),
    "net_debt_to_ebitda": (190 / 215, {"net_debt.cash:liquid": 150 / 215}),
    "debt_to_ebitda": (280 / 215, {}),
    "debt_to_assets": (280 / 1010, {}),
    "debt_to_capital": (280 / 780, {}),
    "cfo_to_debt": (190 / 280, {}),
    "cfo_coverage_of_capex": (190 / 75, {}),
    "equity_ratio": (500 / 1010, {}),
    "liabilities_to_assets": (510 / 1010, {}),
    "equity_multiplier": (1010 / 500, {}),
    "interest_coverage": (160 / 20, {"interest_coverage.numerator:ebitda": 215 / 20}),
    "dividend_payout": (45 / 112, {}),
    "retention_ratio": (67 / 112, {}),
    "capital_intensity": (75 / 1000, {}),
    "capex_to_depreciation": (75 / 55, {}),
    "sga_ratio": (150 / 1000, {}),
    "rnd_intensity": (50 / 1000, {}),
    "roic_before_tax": (160 / 810, {}),
    "goodwill_share": (130 / 1010, {}),
    "tangible_book_value": (480 - 130 - 60, {}),
    "cash_and_investments": (130, {}),
    "shareholder_distributions": (105, {}),
}


def computed(node):
    figures = {line: Decimal((BEFORE if line.offset else NOW)[line.id]) for line in lines(node)}
    return evaluate(node, figures)


def test_each_definition_of_the_table_is_here():
    own = {metric.id for metric in table().metrics.values() if metric.id not in table().lines}
    assert own == set(BY_HAND)


@pytest.mark.parametrize("metric", BY_HAND)
def test_a_definition_and_its_conventions(metric):
    value, others = BY_HAND[metric]
    found = table().metrics[metric]
    assert float(computed(found.formula)) == pytest.approx(value)
    named = {f"{route.topic}:{route.route}": route.formula for route in found.routes[1:]}
    assert {name: float(computed(node)) for name, node in named.items()} == pytest.approx(others)


@pytest.mark.parametrize("sign", [1, -1])
def test_brackets_around_what_is_paid_change_nothing(sign):
    """Statements show charges and payments with or without brackets."""
    for metric in ("free_cash_flow", "retention_ratio", "gross_margin", "interest_coverage", "dpo"):
        node = table().metrics[metric].formula
        code = script(node, lambda line: f"{line.id}_{-line.offset}")
        given = {f"{line.id}_{-line.offset}": (BEFORE if line.offset else NOW)[line.id] for line in lines(node)}
        given = {name: str(n * (sign if table().lines[name.rpartition("_")[0]].magnitude else 1)) for name, n in given.items()}
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code], input=json.dumps(given), capture_output=True, text=True, timeout=30, check=True
        )
        assert float(json.loads(done.stdout)["value"]) == pytest.approx(float(computed(node)))


def test_offsets_are_of_this_year_and_the_one_before():
    for metric in table().metrics.values():
        for node in (metric.formula, *(route.formula for route in metric.routes)):
            assert {line.offset for line in lines(node)} <= {0, -1}
            assert all(isinstance(line, Line) for line in lines(node))


def test_liabilities_without_a_total_are_what_equity_leaves():
    node = without(table().metrics["liabilities_to_assets"].formula, frozenset(["total_liabilities"]))
    assert {line.id for line in lines(node)} == {"total_assets", "equity_total", "redeemable"}
    assert float(computed(without(node, frozenset(["redeemable"])))) == pytest.approx(510 / 1010)
