"""What a model hands in holds, or it does not: quotes on pages, numbers in quotes, scales, years, scripts, words."""

import hashlib
from datetime import date
from decimal import Decimal

import pytest
from reading_model import BALANCE, INCOME, MARGIN, margin, taken, total, value

from finassay.api.source import Document, Page, SourceItem
from finassay.testing.research import SampleDesk, check_derivation, sample_document
from finassay_researcher_model.columns import wrong_column
from finassay_researcher_model.figures import figure_in
from finassay_researcher_model.forms import ValueForm
from finassay_researcher_model.grounding import Grounds, UngroundedError, unit_of, years_of
from finassay_researcher_model.toolbox import Toolbox

PAGE_OF = {"income": 2, "balance": 3, "cash": 4}
HEAD = "(In millions)\nYears Ended September 30,\n2022 2021 2020"


def tools(*documents, **options):
    desk = SampleDesk(documents or (sample_document(),))
    made = Toolbox(desk, 16_000, **options)
    for document in desk.documents:
        made.handle(document.item)
    return made


def ground(form, *documents, period="FY2022", **more):
    made = tools(*documents)
    found = Grounds(made, ValueForm.model_validate(form), period, **more).derivation()
    check_derivation(found, made.desk)
    return found


def refused(form, *documents, period="FY2022", **more):
    with pytest.raises(UngroundedError) as error:
        Grounds(tools(*documents), ValueForm.model_validate(form), period, **more).derivation()
    return str(error.value)


def paper(*texts):
    """A document of a few pages."""
    pages = tuple(Page(n, text, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()) for n, text in enumerate(texts, 1))
    return Document(SourceItem("shelf", "paper", "a paper", date(2022, 11, 18), "given", "Orchard"), pages, "0" * 64)


def test_a_copied_value():
    found = ground(total(3))
    assert (found.value, found.unit, found.step) == (Decimal("3598800000"), "USD", Decimal(100_000))
    assert found.quotes[0].text == BALANCE[0]
    assert (found.period.asked, found.period.end) == ("FY2022", date(2022, 9, 30))
    assert found.script is None


def test_a_computed_value():
    found = ground(margin(2))
    assert found.unit == "percent"
    assert abs(found.value - Decimal("14.2964")) < Decimal("0.0001")
    assert [one.value for one in found.inputs] == [Decimal("688000000"), Decimal("4812400000")]
    assert found.script.code == MARGIN


def test_a_charge_in_brackets_is_negative_whatever_the_model_says():
    quotes = [("D1", 4, "Dividends paid (120.4) (110.2) (101.7)"), ("D1", 4, HEAD)]
    for shown in ("120.4", "(120.4)", "-120.4"):
        assert ground(value(quotes=quotes, inputs=[taken("paid", shown)], unit="USD")).value == Decimal("-120400000")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"quotes": []}, "there is no quote"),
        ({"quotes": [("D1", 3, "Total assets $ 9,999.9"), ("D1", 3, BALANCE[1])]}, "quote 1 does not stand on page 3 of D1"),
        ({"quotes": [("D1", 2, BALANCE[0]), ("D1", 3, BALANCE[1])]}, "quote 1 does not stand on page 2"),
        ({"quotes": [("D7", 3, BALANCE[0]), ("D1", 3, BALANCE[1])]}, "there is no document 'D7'"),
        ({"quotes": [("D1", 30, BALANCE[0]), ("D1", 3, BALANCE[1])]}, "D1 has no page 30; its pages are 1 to 4"),
        ({"quotes": [("D1", 3, "3,598.8"), ("D1", 3, BALANCE[1])]}, "quote 1 holds no words"),
        ({"quotes": [("D1", 3, BALANCE[0])]}, "no quote of its document says that it is in millions"),
        ({"quotes": [("D1", 3, BALANCE[0]), ("D1", 3, "(In millions, except par value)")]}, "no quote shows the year of FY2022"),
        ({"inputs": [taken("x", "3,598.9")]}, "does not stand in the quote"),
        ({"inputs": [taken("x", "598.8")]}, "does not stand in the quote"),
        ({"inputs": [taken("x", "none")]}, "is no number"),
        ({"inputs": [taken("x", "3,598.8", quote=3)]}, "there is no quote 3"),
        ({"inputs": [taken("x", "3,598.8", quote=0)]}, "there is no quote 0"),
        ({"inputs": [taken("x", "3,598.8", scale="thousands")]}, "says that it is in thousands"),
        ({"inputs": [taken("x", "3,598.8", scale="units")]}, "is in millions by its heading"),
        ({"inputs": [taken("x", "3,598.8"), taken("y", "3,423.8")]}, "a copied value has one input, and there are 2"),
        ({"inputs": []}, "a copied value has one input, and there are 0"),
        ({"inputs": [taken("x", "3,423.8")]}, "3,423.8 stands in the column of 2021, not of 2022"),
        ({"inputs": [taken("x", "3,598.8", period="FY2021")]}, "3,598.8 stands in the column of 2022, not of 2021"),
        ({"unit": "quid"}, "the unit 'quid' is none of"),
        ({"unit": ""}, "the unit '' is none of"),
        ({"period_end": "30 September"}, "is no day"),
        ({"period_end": "2015-09-30"}, "is not of FY2022"),
    ],
)
def test_what_does_not_hold(change, said):
    form = total(3)
    change = {name: value(quotes=given)["quotes"] if name == "quotes" else given for name, given in change.items()}
    assert said in refused({**form, **change})


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ('print(\'{"value": "14.3"}\')', "does not read the input 'operating_income'"),
        (MARGIN.replace('"operating_income"', '"income"'), "does not read the input 'operating_income'"),
        ("this is no Python", "does not read the input"),
        ('import json\nx = ["operating_income", "revenue"]\nprint(json.dumps({"value": "100"}))', "the same value whatever its inputs are"),
        (MARGIN.replace('"value"', '"result"'), 'printed no "value"'),
        (
            MARGIN.replace('str(100 * x["operating_income"] / x["revenue"])', '"up" if x["operating_income"] > x["revenue"] else "down"'),
            "no number",
        ),
    ],
)
def test_scripts_that_compute_nothing(code, said):
    assert said in refused({**margin(2), "code": code})


VERDICT = """import json, sys
from decimal import Decimal
x = {name: Decimal(text) for name, text in json.load(sys.stdin).items()}
print(json.dumps({"value": "rose" if x["this"] > x["before"] else "fell"}))
"""


def test_a_verdict_is_computed_and_not_said():
    quotes = [("D1", 2, INCOME[1]), ("D1", 2, INCOME[2])]
    inputs = [taken("this", "4,812.4"), taken("before", "4,390.1")]
    found = ground(value(quotes=quotes, inputs=inputs, code=VERDICT), numeric=False, kind="categorical")
    assert (found.value, found.unit) == ("rose", "")
    said = value(quotes=quotes, words="rose")
    assert "'rose' stands in none of the quotes" in refused(said, numeric=False, kind="categorical")
    always = VERDICT.replace(
        '"rose" if x["this"] > x["before"] else "fell"', '"rose" if x["this"] == x["this"] and x["before"] else "fell"'
    )
    assert "whatever its inputs" in refused(value(quotes=quotes, inputs=inputs, code=always), numeric=False, kind="categorical")


TALK = "Net sales rose. Freight and resin cost more than the year before; the plant in Tarn closed on June 30, 2022."


@pytest.mark.parametrize(
    ("kind", "words", "found"),
    [
        ("text", "freight and resin cost more than the year before", "freight and resin cost more than the year before"),
        ("set", "Freight; resin", "Freight; resin"),
        ("date", "2022-06-30", "2022-06-30"),
        ("date", "June 30, 2022", "2022-06-30"),
        ("text", "freight and resin became dearer", None),
        ("set", "Freight; copper", None),
        ("date", "2022-06-29", None),
        ("date", "soon", None),
        ("text", "", None),
    ],
)
def test_words_stand_in_their_quote(kind, words, found):
    form = value(quotes=[("D1", 1, TALK)], words=words)
    if found is None:
        assert refused(form, paper(TALK), numeric=False, kind=kind)
    else:
        assert ground(form, paper(TALK), numeric=False, kind=kind).value == found


def test_a_page_as_extraction_leaves_it():
    """Line-end hyphens, leaders, non-breaking spaces, invisible characters: the quote is the page's own slice."""
    text = "Fiscal 2022 (in thousands)\nRestruc\ufffe\nturing ........... $\u00a01,250 $ 990\u200b\n"
    form = value(
        quotes=[("D1", 1, "Restructuring $ 1,250 $ 990"), ("D1", 1, "Fiscal 2022 (in thousands)")],
        inputs=[taken("charge", "1,250", scale="thousands")],
        unit="usd",
    )
    found = ground(form, paper(text))
    assert found.value == Decimal(1_250_000)
    assert found.quotes[0].text in text


@pytest.mark.parametrize(
    ("quote", "shown", "expected"),
    [
        ("Net sales $ 4,812.4 $ 4,390.1", "$4,812.4", "4812.4"),
        ("Loss (41.2) 38.7", "41.2", "-41.2"),
        ("Loss $ (41.2) %", "41.2", "-41.2"),
        ("fell by -3.5 %", "3.5", "-3.5"),
        ("for 2021-2022", "2022", "2022"),
        ("Other — 12", "—", "0"),
        ("earned 2.81 a share", "2.81", "2.81"),
        ("a gain of 7 and (7)", "(7)", "-7"),
        ("a gain of 7 and (7)", "7", "7"),
        ("Net sales 14,812.4", "4,812.4", None),
        ("Net sales 4,812.45", "4,812.4", None),
        ("Net sales 4,812", "812", None),
        ("Other-charges 12", "-", None),
        ("nothing", "12", None),
        ("12", "", None),
    ],
)
def test_a_number_in_its_quote(quote, shown, expected):
    found = figure_in(quote, shown)
    assert (None if isinstance(found, str) else found.value) == (None if expected is None else Decimal(expected))


@pytest.mark.parametrize(
    ("row", "shown", "heading", "year", "end", "told"),
    [
        ("Net sales $ 10 $ 20 $ 30", "20", "2022 2021 2020", 2021, None, ""),
        ("Net sales $ 10 $ 20 $ 30", "10", "2022 2021 2020", 2021, None, "column of 2022, not of 2021"),
        ("Loss (1.5) — 2.5", "1.5", "2022 2021 2020", 2020, None, "column of 2022"),
        ("Loss (1.5) — 2.5", "2.5", "2022 2021 2020", 2020, None, ""),
        ("Net sales 10 20", "10", "January 28, 2023\nJanuary 29, 2022", 2022, None, ""),  # a date a line: nobody can tell
        ("Net sales 10 20", "10", "Years ended January 28, 2023 January 29, 2022", 2022, None, ""),  # fiscal 2022 ends in 2023
        ("Net sales 10 20", "20", "Years ended January 28, 2023 January 29, 2022", 2022, date(2023, 1, 28), "column of 2022, not of 2023"),
        ("Net sales 10 10", "10", "2022 2021", 2021, None, ""),
        ("Net sales 10 20 30", "10", "2022 2021", 2021, None, ""),  # another number of columns
        ("Net sales 10 20", "10", "2020 2019", 2021, None, ""),  # the year is not there
        ("Net sales 10 20", "10", "no heading", 2021, None, ""),
    ],
)
def test_columns(row, shown, heading, year, end, told):
    found = wrong_column(row, shown, [row, heading], year, end)
    assert told in found
    assert bool(told) == bool(found)


def test_units_and_years():
    assert [unit_of(u) for u in ("$", "USD per share", "%", "pp", "x", "EUR", "GBP/share", "shells", "")] == [
        "USD", "USD/share", "percent", "percentage points", "times", "EUR", "GBP/share", "", "",
    ]  # fmt: skip
    assert years_of("FY22, fiscal 2021 and '19") == {2022, 2021, 2019}
    assert years_of("$ 2,022 and 12022") == set()


def test_documents_that_are_not_allowed_or_too_late_are_not_there():
    made = tools(allowed=("another",))
    assert "no document fits" in made.call("find_documents", {"words": "Orchard"})
    assert "nothing fits" in made.call("search", {"query": "total assets"})
    late = Toolbox(SampleDesk((sample_document(published=date(2024, 1, 1)),)), 16_000)
    assert "no document fits" in late.call("find_documents", {"words": "Orchard"})
