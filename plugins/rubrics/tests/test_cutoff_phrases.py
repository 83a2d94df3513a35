"""Dates in a query: those of knowledge are held against the cutoff, those of a balance sheet or a fiscal period are not."""

from datetime import date

import pytest

from finassay.api.errors import UsageError
from finassay_rubrics.context.bind import bind
from finassay_rubrics.context.cutoff import cutoff_of, phrases

TODAY = date(2026, 1, 1)


@pytest.mark.parametrize(
    ("query", "day"),
    [
        ("Using information available through March 31, 2023, report Orchard's revenue for fiscal 2022.", date(2023, 3, 31)),
        ("Report Orchard's revenue for fiscal 2022, based only on filings available by 31 March 2023.", date(2023, 3, 31)),
        ("As known on February 1st, 2023, what was Orchard's FY2021 net income?", date(2023, 2, 1)),
        ("As of June 2022, what was Orchard's total debt at the end of fiscal 2022?", date(2022, 6, 30)),
        ("As of March 2023, which of its ratios worsened?", date(2023, 3, 31)),
        ("What was Orchard's FY2021 revenue, as of February 2022?", date(2022, 2, 28)),
        ("What was Orchard's FY2021 revenue (as of 2022-02-10)?", date(2022, 2, 10)),
        ("Report revenue of Orchard for FY2022. Use only reports published before March 2023.", date(2023, 2, 28)),
        ("Report revenue of Orchard for FY2022. Use only documents dated on or before March 1, 2023.", date(2023, 3, 1)),
        ("Report revenue of Orchard for FY2022. Knowledge cutoff: 15 April 2023.", date(2023, 4, 15)),
        ("Report revenue of Orchard for FY2022. Information cut-off date is 2023-04-15.", date(2023, 4, 15)),
        ("Ignore anything published after May 5, 2023. What was Orchard's FY2022 revenue?", date(2023, 5, 5)),
        ("Assume today is May 5, 2023. What was Orchard's FY2022 revenue?", date(2023, 5, 5)),
        ("With what was publicly known by the end of May 2023, what was Orchard's FY2022 revenue?", date(2023, 5, 31)),
        ("Using data available at the end of 2022, what was Orchard's FY2021 revenue?", date(2022, 12, 31)),
        ("Relying on 10-Ks filed no later than Sept. 30, 2022, report Orchard's revenue for fiscal 2021.", date(2022, 9, 30)),
    ],
)
def test_a_date_of_knowledge_is_held_against_the_cutoff(query, day):
    assert [one.date for one in phrases(query)] == [day]
    held = cutoff_of(query, day, TODAY)
    assert held.agrees is True
    assert held.phrase in query
    with pytest.raises(UsageError, match=f"{day}; the cutoff given is 2024-01-31") as error:
        cutoff_of(query, date(2024, 1, 31), TODAY)
    assert error.value.hint
    assert not any(phrases(query)[0].start <= p["start"] < phrases(query)[0].end for p in bind(query)["periods"])


@pytest.mark.parametrize(
    "query",
    [
        "What was Orchard's total debt as of fiscal year end 2022?",
        "What did Orchard's balance sheet as of Dec 31, 2021 show for inventories?",
        "What were Orchard's inventories as of December 31, 2021?",
        "As of December 31, 2021, what was Orchard's total debt?",
        "As of December 31, 2021 and 2020, what were Orchard's inventories?",
        "Report Orchard's revenue for the fiscal year ended May 31, 2021 and the three months ended August 31, 2021.",
        "Report Orchard's cash at May 31, 2021, and its growth in FY2021.",
        "How much of Orchard's debt reported in fiscal 2021 falls due by December 2025?",
        "What shares were outstanding as of July 15, 2021 at Orchard, and what was FY2021 net income?",
        "For the period ending June 30, 2022, what was Orchard's revenue? Compare it with FY2021.",
        "What was Orchard's quick ratio as of Q2 of FY2023?",
        "Report Orchard's revenue from January 2020 through December 2021.",
        "What did the annual report say on Orchard's revenue in 2021?",
    ],
)
def test_the_end_of_a_period_is_no_cutoff(query):
    assert phrases(query) == []
    assert cutoff_of(query, date(2024, 1, 31), TODAY).agrees is None


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("Using Orchard's FY2022 10-K, report revenue for fiscal 2022.", "'FY2022 10-K', which is from 2022-01-01 or later"),
        ("Using the annual report for fiscal 2022, report Orchard's revenue.", "from 2022-01-01 or later"),
        ("Report Orchard's revenue from the 10-K filed on February 8, 2022.", "from 2022-02-08 or later"),
    ],
)
def test_a_document_after_the_cutoff_stops_with_both_dates(query, said):
    with pytest.raises(UsageError, match=f"{said}; the cutoff given is 2021-06-30"):
        cutoff_of(query, date(2021, 6, 30), TODAY)
    assert cutoff_of(query, date(2023, 6, 30), TODAY).agrees is None
