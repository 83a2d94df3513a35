"""The rubric record: what can be read, and that what was written reads the same."""

import json
import os
import time
from decimal import Decimal
from pathlib import Path

import pytest

from finassay.api.errors import InvalidFileError
from finassay_rubrics.record.quotes import located
from finassay_rubrics.record.reading import content_digest, read_rubric, rubric_json, rubric_of

SHARED = Path(os.environ.get("FINASSAY_SHARED", Path(__file__).parents[4] / "shared"))
CASES = SHARED / "cases" / "rubrics"
WORKED = sorted(p.parent for p in CASES.glob("*/rubric.json")) if CASES.is_dir() else []


@pytest.mark.skipif(not WORKED, reason="no worked rubrics: the shared folder is not beside the checkout (set FINASSAY_SHARED)")
def test_worked_rubrics_are_read_and_read_the_same_when_written():
    for folder in WORKED:
        rubric = read_rubric(folder)
        assert sum(o.points for o in rubric.obligations) == Decimal("100.00")
        assert sum(o.frozen for o in rubric.obligations) == Decimal("100.00")
        assert sum(c.points for c in rubric.criteria) == Decimal("100.00")
        again = rubric_of(json.loads(rubric_json(rubric), parse_float=Decimal), "again")
        assert again == rubric
        assert content_digest(again) == content_digest(rubric)


def small(**changes):
    criterion = {"id": "O1.a", "obligation_id": "O1", "text": "States revenue", "kind": "numeric", "points": "100.00"}
    obligation = {"id": "O1", "what": "revenue", "spans": ["MET1"], "frozen": "100.00", "points": "100.00"}
    return {"schema": "rubric/1", "query": "q", "cutoff": "2023-03-01", "obligations": [obligation], "criteria": [criterion], **changes}


@pytest.mark.parametrize(
    "broken",
    [
        [],
        {"schema": "rubric/2"},
        small(criteria=[{"id": "x"}]),
        small(criteria=small()["criteria"] * 2),
        small(criteria=[{**small()["criteria"][0], "obligation_id": "O9"}]),
        small(surprise=1),
        small(cutoff="soon"),
        {"schema": "rubric/draft", "query": "q"},
    ],
)
def test_what_is_no_rubric_is_refused_in_one_line(broken):
    with pytest.raises(InvalidFileError) as told:
        rubric_of(broken, "here")
    assert str(told.value).startswith("here")
    assert "\n" not in str(told.value)


def test_a_slip_in_a_rubric_is_told_in_plain_words():
    with pytest.raises(InvalidFileError, match=r"here: unknown key 'cutof'") as told:
        rubric_of(small(cutof="2024-01-01"), "here")
    assert "Did you mean 'cutoff'?" in told.value.hint
    with pytest.raises(InvalidFileError, match=r"here: cutoff takes a date, and is 'soon'"):
        rubric_of(small(cutoff="soon"), "here")


def test_values_stay_exact():
    assert rubric_of(small(), "here").criteria[0].points == Decimal("100.00")
    assert '"points": "100.00"' in rubric_json(rubric_of(small(), "here"))


PRINTED = "A \u200bhead\nNet sales ........... $ 1,097,645\u00a0$ 1,021,302\nrecon\ufffe\nciliation of “free” cash–flow ﬁgures\n312 and 12 and 1,2"


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("Net sales $ 1,097,645 $ 1,021,302", "Net sales ........... $ 1,097,645\u00a0$ 1,021,302"),
        ("Net sales ... $ 1,097,645", "Net sales ........... $ 1,097,645"),
        ('reconciliation of "free" cash-flow figures', "recon\ufffe\nciliation of “free” cash–flow ﬁgures"),
        ("A head", "A \u200bhead"),
        ("A h\ufffdead", "A \u200bhead"),
        ("12 and", "12 and"),
        ("097,645", None),
        ("1,097", None),
        ("$ 1,0", None),
        ("Net profit", None),
        (" \n", None),
        ("...", None),
    ],
)
def test_a_quote_is_located_where_it_stands(quote, found):
    place = located(PRINTED, quote)
    assert (None if place is None else PRINTED[slice(*place)]) == found


def test_the_first_whole_number_counts():
    assert located(PRINTED, "12") == (PRINTED.index(" 12 ") + 1, PRINTED.index(" 12 ") + 3)


def test_a_large_page_is_searched_quickly():
    page = "((((9 " * 60_000 + "\u00ad\n" * 60_000 + "." * 60_000 + "the end of it"
    started = time.monotonic()
    assert located(page, "the end of it") is not None
    assert located(page, "9 ((((9 (((( 9") is None
    assert time.monotonic() - started < 10
