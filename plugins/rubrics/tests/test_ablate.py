"""Ablations: faults are made as stated, what nobody checks passes, what is checked does not."""

import json
import shutil
from datetime import date
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from click.testing import CliRunner

from finassay.api.errors import FinassayError
from finassay.api.research import Period, Question
from finassay.catalog.catalog import Catalog
from finassay_rubrics.cli.ablate import ARM_NAMES, FAULT_NAMES, cost_of
from finassay_rubrics.cli.main import rubric as command
from finassay_rubrics.measure.ablating import ARMS, items_in
from finassay_rubrics.measure.faulty import FAULTS, Faulty
from finassay_rubrics.measure.statements import FolderDesk, FolderSource

DEMO = Path(__file__).parents[1] / "demo" / "corpus"
ISSUER = "Tamarind Grocers Corporation"
QUESTIONS = [
    (f"What is the FY2023 operating income (in USD thousands) of {ISSUER}?", "$65400"),
    (f"What is the FY2023 net profit margin of {ISSUER}? Answer in percent.", "4.1%"),
]
pytestmark = pytest.mark.skipif(
    "statements-a" not in {entry.name for entry in entry_points(group="finassay.researchers")},
    reason="the offline families are not installed beside it",
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """The demo's filings in the shape of a labelled set."""
    folder = tmp_path_factory.mktemp("bench")
    (folder / "corpus").mkdir()
    rows = []
    for line in (DEMO / "documents.jsonl").read_text().splitlines():
        one = json.loads(line)
        if not one.get("published"):
            continue
        shutil.copy(DEMO / one["file"], folder / "corpus" / f"{one['reference']}.jsonl")
        rows.append(
            {"doc_name": one["reference"], "company": one["publisher"], "form": "10k", "period": one["period"], "signed": one["published"]}
        )
    (folder / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    questions = [{"financebench_id": f"q{n}", "question": q, "answer": a} for n, (q, a) in enumerate(QUESTIONS)]
    (folder / "questions.jsonl").write_text("".join(json.dumps(q) + "\n" for q in questions))
    return folder


def asked(metric, text):
    return Question("q", text, metric, entity=ISSUER, period=Period("FY2023"))


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize(
    ("metric", "name"), [("operating_income", "operating income"), ("net_margin", "net profit margin")], ids=["amount", "ratio"]
)
def test_each_fault_is_made_as_stated(bench, kind, metric, name):
    inner = Catalog.installed().create("researcher", "statements-a")[0]
    desk = FolderDesk(FolderSource(bench), date(2024, 3, 31))
    question = asked(metric, f"States the {name} of FY2023")
    honest, false = inner.derive(question, desk), Faulty(inner, (kind,)).derive(question, desk)
    assert honest.value is not None
    assert false.value != honest.value
    assert false.unit == honest.unit
    before = inner.derive(asked(metric, f"States the {name} of FY2022"), desk) if kind == "previous year" else None
    expected = {
        "previous year": lambda: false.quotes and false.period == honest.period and before is not None,
        "wrong scale": lambda: abs(false.value / honest.value) in (1000, pytest.approx(1000), pytest.approx(1 / 1000)),
        "wrong sign": lambda: false.value == -honest.value,
        "neighbour line": lambda: {i.line for i in false.inputs} != {i.line for i in honest.inputs},
        "typed figure": lambda: false.script == honest.script and false.quotes == honest.quotes,
        "invented quote": lambda: false.quotes != honest.quotes,
    }
    assert expected[kind]()


def test_faults_are_drawn_by_the_question_and_mended_when_told():
    assert set(FAULT_NAMES) == set(FAULTS)
    assert set(ARM_NAMES) == {arm.name for arm in ARMS}
    inner = Catalog.installed().create("researcher", "statements-a")[0]
    one, two = Faulty(inner), Faulty(inner)
    questions = [asked("revenue", f"States the revenue of FY{year}") for year in range(1930, 2020)]
    assert [one._kind(q) for q in questions] == [two._kind(q) for q in questions]
    assert len({one._kind(q) for q in questions}) == len(FAULTS)
    some = Faulty(inner, every=3)
    assert 0 < sum(bool(some._kind(q)) for q in questions) < 90
    assert Faulty(inner).version != Faulty(inner, repairs=True).version


def run(*arguments):
    done = CliRunner().invoke(command, ["ablate", *map(str, arguments)])
    if done.exception and not isinstance(done.exception, (FinassayError, SystemExit)):
        raise done.exception
    return done


def told(done):
    assert done.exit_code == 0, (done.output, done.exception)
    return {one["arm"]: one for one in json.loads(done.stdout)["arms"]}


def test_what_nobody_checks_passes(bench, tmp_path):
    both = ("--arm", "full", "--arm", "neither", "--json")
    honest = told(run(bench, "--out", tmp_path / "honest", *both))
    assert [(one["right"], one["wrong"]) for one in honest.values()] == [(2, 0), (2, 0)]
    assert honest["full"]["dollars"] == 0
    faulty = told(run(bench, "--out", tmp_path / "faulty", "--faults", "--fault", "wrong sign", *both))
    assert (faulty["full"]["right"], faulty["full"]["wrong"], faulty["full"]["faults_passed"]) == (0, 0, 0)
    assert faulty["full"]["queued"] == 2
    assert (faulty["neither"]["wrong"], faulty["neither"]["faults_passed"], faulty["neither"]["faults_made"]) == (2, 2, 2)
    mended = told(run(bench, "--out", tmp_path / "mended", "--faults", "--fault", "wrong sign", "--repairs", "--arm", "full", "--json"))
    assert (mended["full"]["right"], mended["full"]["returned_by_reviewer"] > 0) == (2, True)
    again = run(bench, "--out", tmp_path / "faulty", "--faults", "--fault", "wrong sign", "--arm", "full")  # nothing is made anew
    assert "full: wrong sign: 0 of 2 passed" in again.output
    other = run(bench, "--out", tmp_path / "faulty", "--arm", "full")  # another writer in the same folder
    assert "failed" in other.output


def test_bad_folders_end_in_one_line(tmp_path):
    for prepare in (lambda: None, lambda: (tmp_path / "questions.jsonl").write_text("{")):
        prepare()
        done = run(tmp_path, "--out", tmp_path / "out")
        assert isinstance(done.exception, FinassayError)
        assert "\n" not in str(done.exception)


def test_cases_with_an_experts_rubric_are_items_too(tmp_path):
    from test_agree import OWN

    from finassay_rubrics.record.reading import rubric_json

    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "rubric.json").write_text(rubric_json(OWN))
    (item,) = items_in(tmp_path)
    assert (item.id, item.query, item.expert) == ("one", OWN.query, OWN)


def test_cost_is_unknown_where_a_price_is(tmp_path):
    assert cost_of(tmp_path) == 0
