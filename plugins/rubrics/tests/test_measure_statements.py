"""Measuring the offline families: a folder made here, and the question set where it is."""

import gzip
import json
from decimal import Decimal
from pathlib import Path

import pytest

from finassay.testing.filings import PLAIN
from finassay_rubrics.measure.statements import BOTH, Measurement, agrees, figures, halves

DATA = Path(__file__).parents[4] / "shared" / "data" / "financebench"


def families():
    a = pytest.importorskip("finassay_statements_a.researcher", reason="the family statements-a is not installed")
    b = pytest.importorskip("finassay_statements_b.researcher", reason="the family statements-b is not installed")
    return [a.StatementsA(a.StatementsAOptions(remembered=64)), b.StatementsB(b.StatementsBOptions(remembered=64))]


def question(id, text, answer, document="ORCHARD_2022_10K", kind="metrics-generated"):
    return {
        "financebench_id": id,
        "company": "Orchard Toolworks",
        "doc_name": document,
        "question_type": kind,
        "question": text,
        "answer": answer,
    }


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "corpus").mkdir()
    lines = []
    for name, signed in (("ORCHARD_2022_10K", "2022-11-18"), ("ORCHARD_2021_10K", None)):
        with gzip.open(tmp_path / "corpus" / f"{name}.jsonl.gz", "wt", encoding="utf-8") as out:
            for number, text in enumerate(PLAIN, 1):
                out.write(json.dumps({"page": number, "text": text}) + "\n")
        lines.append({"doc_name": name, "company": "Orchard Toolworks", "form": "10k", "period": int(name.split("_")[1]), "signed": signed})
    lines.append({"doc_name": "ORCHARD_2019_10K", "company": "Orchard Toolworks", "form": "10k", "period": 2019, "signed": "2019-11-18"})
    asked = [
        question("right", "What are the FY2022 total assets of Orchard Toolworks in USD millions?", "$3599.00"),
        question("exact", "What is the FY2022 current ratio of Orchard Toolworks? Round to two decimal places.", "2.28"),
        question("wrong", "What is the FY2022 inventory of Orchard Toolworks in USD millions?", "$77.00"),
        question("undated", "What are the FY2018 total assets of Orchard Toolworks in USD millions?", "$1.00", "ORCHARD_2021_10K"),
        question("absent", "What are the FY2019 total assets of Orchard Toolworks in USD millions?", "$1.00", "ORCHARD_2019_10K"),
        question("words", "Explain FY2022.", "Because.", kind="domain-relevant"),
    ]
    (tmp_path / "documents.jsonl").write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    (tmp_path / "questions.jsonl").write_text("\n".join(json.dumps(line) for line in asked), encoding="utf-8")
    return tmp_path


def test_each_question_has_a_record_of_each_family_and_of_both(folder):
    records = list(Measurement(folder, families()).records())
    found = {(one.question, one.family): one for one in records}
    assert len(found) == 15
    for family in ("statements-a", "statements-b", BOTH):
        assert [found[id, family].outcome for id in ("right", "exact", "wrong", "undated", "absent")] == [
            "right",
            "right",
            "wrong",
            "unresolved",
            "unresolved",
        ]
    assert found["right", "statements-a"].value == Decimal("3598.8")
    assert found["right", "statements-a"].coincides is True
    assert found["undated", "statements-a"].reachable == "the expert's document is undated"
    assert found["absent", "statements-a"].reachable == "the expert's document is not in the corpus"
    assert all(one.reason for one in records if one.outcome == "unresolved")
    assert [(f.questions, f.resolved, f.right, f.wrong) for f in figures(records)] == [(5, 3, 2, 1)] * 3


def test_an_empty_folder_has_nothing_to_measure(tmp_path):
    assert list(Measurement(tmp_path, families()).records()) == []
    assert figures([]) == []


@pytest.mark.parametrize(
    ("value", "answer", "unit", "right"),
    [
        ("8738", "$8738.00", "USD", True),
        ("8.738", "$8.70", "USD", True),
        ("8.76", "$8.70", "USD", False),
        ("3215.4", "$3215.00", "USD", True),
        ("3216", "$3215.00", "USD", False),
        ("0.664", "0.66", "times", True),
        ("0.666", "0.66", "times", False),
        ("65.387", "65.4%", "percent", True),
        ("-3.701", "-3.7", "days", True),
        ("0.0182", "1.8%", "times", True),
        ("1.82", "0.02", "percent", True),
        ("-0.02", "0.02", "times", False),
        ("5", "there is none", "times", False),
    ],
)
def test_agreement_is_within_the_experts_rounding(value, answer, unit, right):
    assert agrees(Decimal(value), answer, unit) is right


def test_halves_are_by_company_in_alphabetical_order():
    assert halves(["b", "A", "c", "b", "D"]) == (["A", "c"], ["b", "D"])


def test_the_question_set():
    """Of the half on which the rules were tuned, a few issuers: what is resolved is right."""
    if not DATA.is_dir():
        pytest.skip("the question set is not here")
    measurement = Measurement(DATA, families())
    tuned, _ = halves([q["company"] for q in measurement.questions()])
    records = list(measurement.records(tuned[:3]))
    assert len(records) >= 9
    assert {one.outcome for one in records} == {"right"}
