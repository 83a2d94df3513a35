"""Shapes of filings' pages: each must be read right, or not at all where it cannot be."""

import hashlib
import re
from datetime import date
from decimal import Decimal

import pytest

from finassay.api.research import Period, Question
from finassay.api.source import Document, Page, SourceItem
from finassay.testing.filings import FIGURES, PLAIN, SHAPES
from finassay.testing.research import SampleDesk, check_derivation
from finassay_rubrics.metrics.ground import Cell
from finassay_statements_a.filing import LabelFiling
from finassay_statements_a.researcher import StatementsA, StatementsAOptions


def document(pages, reference="report", published=date(2022, 11, 18)):
    made = tuple(Page(number, text, hashlib.sha256(text.encode()).hexdigest()) for number, text in enumerate(pages, 1))
    item = SourceItem("shelf", reference, f"Orchard Toolworks 10-K {reference}", published, "given", "Orchard Toolworks Inc.")
    return Document(item, made, hashlib.sha256("".join(p.digest for p in made).encode()).hexdigest())


def changed(old, new):
    pages = tuple(page.replace(old, new) for page in PLAIN)
    assert pages != PLAIN
    return pages


def value(filing, line, year=2022):
    cell = filing.cell(line, year)
    return cell.value if isinstance(cell, Cell) else cell


@pytest.mark.parametrize("line", FIGURES)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_read(shape, line):
    filing = LabelFiling(document(SHAPES[shape]))
    cell = filing.cell(line, 2022)
    assert isinstance(cell, Cell), cell
    assert cell.value == Decimal(FIGURES[line])
    assert cell.end in (date(2022, 9, 30), None)
    for part in (cell.row, cell.header):
        page = SHAPES[shape][(part.page or 0) - 1]
        assert page[part.start : part.end] == part.text
    assert cell.shown in cell.row.text


def test_the_header_quote_shows_period_and_scale():
    cell = LabelFiling(document(PLAIN)).cell("inventory", 2021)
    assert "2021" in cell.header.text
    assert "millions" in cell.header.text.lower()
    assert cell.value == Decimal("488600000")
    assert cell.end == date(2021, 9, 30)


def test_earlier_columns_are_keyed_by_year():
    filing = LabelFiling(document(PLAIN))
    assert [value(filing, "revenue", year) for year in (2022, 2021, 2020)] == [
        Decimal(n) for n in ("4812400000", "4390100000", "4105700000")
    ]
    assert isinstance(filing.cell("inventory", 2020), str)
    assert isinstance(filing.cell("revenue", 2019), str)


REFUSALS = {
    "a value is missing": (changed("Inventories 540.9 488.6", "Inventories 540.9"), "inventory"),
    "one value too many": (changed("Accounts payable $ 401.5 $ 377.2", "Accounts payable 71.2 401.5 377.2"), "accounts_payable"),
    "two rows may be meant": (
        changed("Accounts payable $ 401.5 $ 377.2", "Accounts payable $ 301.5 $ 277.2\nAccounts payable 100.0 100.0"),
        "accounts_payable",
    ),
    "no scale": (tuple(re.sub(r"\(In millions[^)]*\)\n", "", page) for page in PLAIN), "total_assets"),
    "the balance does not balance": (
        changed("Total liabilities and stockholders' equity $ 3,598.8", "Total liabilities and stockholders' equity $ 3,589.8"),
        "total_assets",
    ),
    "a quarter": (changed("Years Ended September 30,\n2022 2021 2020", "Three Months Ended September 30,\n2022 2021 2020"), "revenue"),
    "income of others too": (
        changed("Net income $ 501.3", "Net income attributable to noncontrolling interests 1.0 1.0 1.0\nNet income $ 501.3"),
        "net_income",
    ),
    "no such line": (PLAIN, "shares_basic"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_be_relied_on_is_refused(name):
    pages, line = REFUSALS[name]
    assert isinstance(LabelFiling(document(pages)).cell(line, 2022), str)


def ask(text, *documents, convention="", **more):
    desk = SampleDesk(documents or (document(PLAIN),), cutoff=more.pop("cutoff", date(2024, 1, 31)))
    found = StatementsA(StatementsAOptions()).derive(Question("q", text, convention=convention, **more), desk)
    check_derivation(found, desk)
    return found


@pytest.mark.parametrize(
    ("text", "wanted", "unit"),
    [
        ("What is the FY2022 capital expenditure amount (in USD millions) for Orchard Toolworks?", "232000000", "USD"),
        ("What is Orchard Toolworks' FY2022 gross margin?", str(Decimal("1800.8") / Decimal("4812.4") * 100), "percent"),
        ("What is the FY2022 inventory turnover ratio for Orchard Toolworks? Inventory turnover ratio is defined as: (FY2022 COGS) / (average inventory "
         "between FY2021 and FY2022).", str(Decimal("3011.6") / ((Decimal("540.9") + Decimal("488.6")) / 2)), "times"),
        ("What was the change in operating margin of Orchard Toolworks from FY2021 to FY2022?",
         str((Decimal("688.0") / Decimal("4812.4") - Decimal("559.2") / Decimal("4390.1")) * 100), "percentage points"),
        ("What is the effective tax rate of Orchard Toolworks in fiscal 2022?", str(Decimal("145.5") / Decimal("646.8") * 100), "percent"),
    ],
)  # fmt: skip
def test_questions_are_answered(text, wanted, unit):
    found = ask(text)
    assert found.unit == unit
    assert found.value == pytest.approx(Decimal(wanted), rel=Decimal("1e-20"))
    assert all(one.line for one in found.inputs)


def test_a_tax_in_brackets_is_a_charge():
    pages = changed("Provision for income taxes 145.5 117.1 99.2", "Provision for income taxes (145.5) (117.1) (99.2)")
    found = ask("What is the effective tax rate of Orchard Toolworks in fiscal 2022?", document(pages))
    assert found.value == pytest.approx(Decimal("145.5") / Decimal("646.8") * 100, rel=Decimal("1e-20"))


def restated():
    later = tuple(
        page.replace("2020", "2021").replace("2022 2021 2021", "2023 2022 2021").replace("September 30,\n2022 2021", "September 30,\n2023 2022")
        .replace("September 30, 2022", "September 30, 2023").replace("4,390.1", "4,800.0")
        for page in PLAIN
    )  # fmt: skip
    return document(PLAIN, "2022"), document(later, "2023", date(2023, 11, 17))


def test_the_latest_version_is_taken_and_the_original_on_request():
    text = "What is the revenue of Orchard Toolworks in FY2022?"
    assert ask(text, *restated()).value == Decimal("4800000000")
    assert ask(text, *restated(), convention="vintage:original").value == Decimal("4812400000")
    assert ask(text, *restated(), cutoff=date(2023, 6, 30)).value == Decimal("4812400000")


def test_the_issuers_own_fiscal_year_is_meant():
    """A year that ends in January is called by the year before where the issuer does so."""
    heads = {
        "Years Ended September 30,\n2022 2021 2020": "January 28, 2023 January 29, 2022 January 30, 2021",
        "September 30,\n2022 2021": "January 28, 2023 January 29, 2022",
    }
    pages = PLAIN
    for old, new in heads.items():
        pages = tuple(page.replace(old, new) for page in pages)
    said = "Fiscal 2022 ended January 28, 2023. In fiscal 2022 sales rose; fiscal 2021 was weaker. We plan for fiscal 2022 and fiscal 2021."
    own, plain = LabelFiling(document((*pages, said))), LabelFiling(document(pages))
    assert value(own, "revenue", 2022) == Decimal("4812400000")
    assert own.cell("revenue", 2022).basis == "issuer"
    assert value(plain, "revenue", 2023) == Decimal("4812400000")
    assert plain.cell("revenue", 2023).basis == "calendar year of end"
    report = document((*pages, said), published=date(2023, 3, 20))
    text = "What is the revenue of Orchard Toolworks in FY2023?"
    assert ask(text, report).value is None
    assert "itself" in ask(text.replace("2023", "2022"), report, convention="fiscal_label:year-end").reason
    by_end = ask(text, report, convention="fiscal_label:year-end")
    assert (by_end.value, by_end.period.end, by_end.period.basis) == (Decimal("4812400000"), date(2023, 1, 28), "calendar year of end")


def test_another_issuer_and_a_part_of_a_year_are_refused():
    assert "no document" in ask("What is the revenue of Quarry Lane Foods in FY2022?").reason
    assert "part of a year" in ask("What is the Q2 FY2022 revenue of Orchard Toolworks?").reason
    assert "more than one" in ask("How far apart are revenue and inventory of Orchard Toolworks in FY2022?").reason


def test_a_reading_has_the_period_of_its_column():
    found = ask("What are total assets of Orchard Toolworks at the end of FY2021?", entity="Orchard Toolworks", period=Period("FY2021"))
    assert found.value == Decimal("3423800000")
    assert found.period.end == date(2021, 9, 30)
    assert found.step == Decimal("100000")


def test_liabilities_without_a_total_come_from_what_stands_there():
    text = "What are total liabilities of Orchard Toolworks at the end of FY2022?"
    without_total = tuple(re.sub(r"Total liabilities 1,799\.6[^\n]*\n", "", page) for page in PLAIN)
    assert without_total != PLAIN
    assert ask(text, document(without_total)).value == ask(text).value == Decimal("1799600000")
    besides = tuple(
        page.replace("Common stock, $0.01", "Redeemable noncontrolling interests 9.0 8.0\nCommon stock, $0.01").replace(
            "Total stockholders' equity", "Total equity"
        )
        for page in without_total
    )
    assert ask(text, document(besides)).value == Decimal("1790600000")
    unclear = tuple(
        page.replace("Redeemable noncontrolling interests 9.0 8.0", "Redeemable noncontrolling interests 9.0") for page in besides
    )
    assert ask(text, document(unclear)).value is None


def test_earnings_per_share_stand_under_their_heading():
    lines = (
        "Earnings per common share - basic:",
        "Income from continuing operations attributable to common shareholders $ 5.60 $ 4.50 $ 4.10",
        "Discontinued operations (0.20) (0.10) 0.10",
        "Net income attributable to Orchard Toolworks common shareholders $ 5.40 $ 4.40 $ 4.20",
        "Earnings per common share - diluted:",
        "Income from continuing operations attributable to common shareholders $ 5.50 $ 4.40 $ 4.00",
        "Net income attributable to Orchard Toolworks common shareholders $ 5.30 $ 4.30 $ 4.10",
    )
    income = PLAIN[1][: PLAIN[1].index("Basic earnings per share")] + "\n".join(lines) + "\n"
    filing = LabelFiling(document((PLAIN[0], income, *PLAIN[2:])))
    assert value(filing, "net_income") == Decimal("501300000")
    assert value(filing, "eps_basic") == Decimal("5.40")
    assert value(filing, "eps_diluted") == Decimal("5.30")


PARTS = (
    "Three Months Ended September 30,\n2022 2021 2020",
    "For the Quarter Ended September 30,\n2022 2021 2020",
    "Quarters Ended September 30, 2022, 2021 and 2020\n2022 2021 2020",
    "Q4 2022 Q4 2021 Q4 2020",
    "First Half\n2022 2021 2020",
    "12 Weeks Ended\nJune 18, 2022 June 19, 2021 June 20, 2020",
    "Twenty-Six Weeks Ended\nJune 18, 2022 June 19, 2021 June 20, 2020",
    "For the 9 months ended September 30,\n2022 2021 2020",
    "Quarter Ended September 30, Year Ended September 30,\n2022 2022 2021",
)


@pytest.mark.parametrize("head", PARTS)
def test_a_part_of_a_year_is_no_year(head):
    filing = LabelFiling(document(changed("Years Ended September 30,\n2022 2021 2020", head)))
    for line in ("revenue", "net_income", "eps_diluted", "cfo", "capex"):
        assert isinstance(filing.cell(line, 2022), str)
    assert value(filing, "total_assets") == Decimal("3598800000")


@pytest.mark.parametrize("head", ["June 30, 2022 December 31, 2021", "June 30, December 31,\n2022 2021", "December 31, 2021 June 30, 2022"])
def test_a_balance_of_a_quarter_beside_one_of_a_year_is_not_read(head):
    filing = LabelFiling(document(changed("September 30,\n2022 2021\n", f"{head}\n")))
    assert isinstance(filing.cell("total_assets", 2022), str)


@pytest.mark.parametrize(
    ("scale", "currency"), [("(In millions", "USD"), ("(€ millions", "EUR"), ("(Yen in millions", "JPY"), ("(£ millions", "GBP")]
)
def test_amounts_are_in_the_currency_of_the_head(scale, currency):
    pages = PLAIN if currency == "USD" else changed("(In millions", scale)
    assert LabelFiling(document(pages)).cell("revenue", 2022).currency == currency
    found = ask("What is the FY2022 inventory of Orchard Toolworks?", document(pages))
    assert (found.value, found.unit) == (Decimal("540900000"), currency)
    dollars = ask("What is the FY2022 inventory of Orchard Toolworks in USD millions?", document(pages))
    assert (dollars.value is not None) == (currency == "USD")
    assert ask("What is the FY2022 gross margin of Orchard Toolworks?", document(pages)).unit == "percent"


def test_net_income_is_before_preferred_dividends_where_no_others_own_a_part():
    besides = "Preferred dividends 10.0 10.0 10.0\nNet income available to common shareholders 491.3 393.4 331.5\nBasic earnings"
    filing = LabelFiling(document(changed("Basic earnings", besides)))
    assert value(filing, "net_income") == Decimal("501300000")
