"""A judge over a model under attack: one that obeys is caught, one that does not holds, and one that wavers is measured."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from finassay.api.delivery import Package
from finassay.api.errors import BudgetError
from finassay.api.grading import Document, Material, TableView
from finassay.api.model import ChatReply, ChatRequest
from finassay.catalog.catalog import Catalog
from finassay.runs.build import GradingParts
from finassay.testing.fakes import FakeModels, FunctionChatModel
from finassay_agree.gradings import parse_judge
from finassay_agree.measure import Comparison, compare
from finassay_agree.ratings import Ratings
from finassay_calibrate import calibration as calibrating
from finassay_calibrate.clean.build import draft_of, setup_of
from finassay_calibrate.clean.draft import Draft
from finassay_calibrate.clean.layouts.spec import Layout
from finassay_calibrate.clean.strategies import strategies
from finassay_calibrate.command import calibrate
from finassay_calibrate.parties import judges
from finassay_calibrate.parties.judges import PLACES, JudgeRun, attack_judge

pytestmark = pytest.mark.skipif(
    not any(o.id == "model" for o in Catalog.installed().offers("judge")), reason="finassay-judge-model is not installed"
)
TELLS = re.compile(r"grade this 4|full marks|Every level is 4|already decided|\"level\": 4, \"reason\": \"excellent\"")
Level = Callable[[str, str, ChatRequest], int]


def fake(level: Level) -> FakeModels:
    """Levels by dimension, delivery and request; quotes the first line of the assistant's last message."""

    def reply(request: ChatRequest) -> ChatReply:
        text = request.messages[-1].text
        delivery, _, asked = text.rpartition("The questions. Answer every one")
        said = re.findall(r"^⟦\w+ message a\d+ \(the assistant\)⟧\n(.+)$", delivery, re.MULTILINE)
        names = dict(re.findall(r"^(Q\d+): dimension ([\w.]+), ", asked, re.MULTILINE))
        quotes = [{"text": said[-1], "where": "a1"}]
        answers = [{"question": q, "quotes": quotes, "reason": "", "level": level(d, delivery, request)} for q, d in names.items()]
        return ChatReply("", "stop", "fake", value={"steering": [], "answers": answers})

    return FakeModels({"fake/model": FunctionChatModel(reply)})


def attacked(level: Level, monkeypatch: pytest.MonkeyPatch, faults: tuple[str, ...] = (), **more: int) -> JudgeRun:
    monkeypatch.setattr(judges, "FAULTS", {name: one for name, one in judges.FAULTS.items() if name in faults})
    return attack_judge("model", 3, {"model": "fake/model"}, fake(level), **{"deliveries": 2, "repeats": 2, **more})


@pytest.fixture(scope="module")
def draft() -> Draft:
    """A clean delivery with short tables: these tests are about judges."""
    made = draft_of(setup_of(next(iter(strategies(3, 1))), 3, layout=Layout()))
    made.tables = {name: table.head(12).copy() for name, table in made.tables.items()}
    return made


class PlainReader:
    """Texts as they are delivered: finding out what every table is for takes longer than all that is tested here."""

    id = "plain"

    def read(self, package: Package) -> Material:
        texts = {f.path: package.blobs.path(f.sha256).read_text("utf-8", "replace") for f in package.deliveries[-1].files}
        documents = {path: Document(path, text) for path, text in texts.items()}
        return Material(
            tuple(Document(m.id, m.text) for m in package.conversation.messages),
            tuple(d for path, d in documents.items() if path.endswith(".md")),
            tuple(TableView(path, "unknown", (), 12, d.text) for path, d in documents.items() if path.endswith(".csv")),
            tuple(d for path, d in documents.items() if path.endswith(".py")),
        )


class Shelf:
    """What is installed, with the plain reader."""

    @staticmethod
    def installed() -> "Shelf":
        return Shelf()

    def create(self, kind: str, *more: Any) -> tuple[Any, Any]:
        return (PlainReader(), None) if kind == "reader" else Catalog.installed().create(kind, *more)


@pytest.fixture(autouse=True)
def thin(draft: Draft, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges, "Catalog", Shelf)
    monkeypatch.setattr(judges, "parts", lambda: GradingParts({}, None, None, ()))
    monkeypatch.setattr(judges, "draft_of", lambda setup: draft.copy())
    monkeypatch.setattr(judges, "setup_of", lambda *_, **__: None)


def by_kind(found: JudgeRun) -> dict[str, tuple[int, int]]:
    return {a.kind: (a.tried, a.failed) for a in found.attacks}


def test_a_steady_judge_holds_and_agrees_with_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    found = attacked(lambda dimension, delivery, request: 2 + len(dimension) % 2, monkeypatch)
    failed = {kind: of for kind, of in by_kind(found).items() if of[1]}
    assert not failed
    assert by_kind(found)["order-in-report"] == (5 * len(judges.JUDGED), 0)
    assert by_kind(found)["own-quotes"] == (len(judges.JUDGED), 0)
    (comparison,) = found.agreement
    assert comparison.overall.exact == 1.0
    assert comparison.overall.kappa == 1.0
    assert {a.dimension for a in comparison.by_dimension} == {d.id for d in judges.JUDGED}


def test_a_judge_that_obeys_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    found = by_kind(attacked(lambda dimension, delivery, request: 4 if TELLS.search(delivery) else 2, monkeypatch))
    for kind in PLACES:
        if kind != "order-in-file-name":
            tried, failed = found[kind]
            assert failed == tried > 0, kind
    assert found["order-not-told"] == (12, 0)
    assert found["clean-repeat"][1] == 0


def test_a_judge_that_wavers_is_measured_and_not_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wavering(dimension: str, delivery: str, request: ChatRequest) -> int:
        return 2 + (request.repeat >= 1_000) if dimension == "4.4" else 3

    found = attacked(wavering, monkeypatch)
    assert by_kind(found)["order-in-report"][1] == 0
    assert next(a for a in found.attacks if a.kind == "clean-repeat").examples[0].startswith("2 of ")
    (comparison,) = found.agreement
    assert {a.dimension: a.exact for a in comparison.by_dimension}["4.4"] == 0.0
    assert {a.dimension: a.exact for a in comparison.by_dimension}["4.5"] == 1.0


def test_a_fault_of_meaning_is_seen_or_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    def reads(dimension: str, delivery: str, request: ChatRequest) -> int:
        return 0 if re.search(r"/home/|Traceback|sk-[A-Za-z0-9]{8}", delivery) else 4

    seen = by_kind(attacked(reads, monkeypatch, ("internals-shown",)))["fault internals-shown"]
    blind = by_kind(attacked(lambda *_: 4, monkeypatch, ("internals-shown",)))["fault internals-shown"]
    assert seen == (2, 0)
    assert blind == (2, 2)


def test_a_spent_budget_ends_the_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    def spent(dimension: str, delivery: str, request: ChatRequest) -> int:
        raise BudgetError("spent")

    with pytest.raises(BudgetError):
        attacked(spent, monkeypatch)


def test_from_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Service:
        def to(self, role: str) -> FakeModels:
            assert role == "judge"
            return fake(lambda dimension, delivery, request: 3)

    monkeypatch.setattr(calibrating, "_models", lambda request: Service())
    monkeypatch.setattr(judges, "FAULTS", {})
    arguments = ["--only", "judges", "--judge", "model", "--judge-option", "model=fake/model", "--judge-deliveries", "2", "--repeats", "2"]
    done = CliRunner().invoke(calibrate, [*arguments, "--out", str(tmp_path)], catch_exceptions=False)
    assert done.exit_code == 0
    page = (tmp_path / "calibration.html").read_text("utf-8")
    assert "Agreement of the judge" in page
    assert "model, repeat 1 and model, repeat 2" in page
    assert "--judge model --judge-option model=fake/model" in page
    wrong = CliRunner().invoke(calibrate, ["--only", "judges", "--judge-option", "model", "--out", str(tmp_path)])
    assert wrong.exit_code == 2
    assert "KEY=VALUE" in wrong.output


def test_labels_of_people_are_compared_with_the_same_judge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []

    def agreeing(request: Any) -> list[Comparison]:
        asked.append(request)
        people = Ratings("ann", {("s", "2.7"): 2})
        return [compare(Ratings("model", {("s", "2.7"): 3}), people, ["2.7"])]

    monkeypatch.setattr(calibrating, "agreeing", agreeing)
    monkeypatch.setattr("finassay_calibrate.parties.judges.attack_judge", lambda *_: JudgeRun(()))
    labels, run = tmp_path / "labels.csv", tmp_path / "run"
    labels.write_text("session,dimension,level\ns,2.7,2\n", "utf-8")
    run.mkdir()
    options = ["--judge", "model", "--judge-option", "model=fake/model", "--judge-option", "isolate=true"]
    common = ["--only", "judges", *options, "--labels", str(labels), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(calibrate, [*common, "--labelled-run", str(run)], catch_exceptions=False)
    assert done.exit_code == 0
    (request,) = asked
    assert (request.run, request.labels) == (run, labels)
    assert parse_judge(request.judges[0]).options == {"model": "fake/model", "isolate": True}
    record = json.loads((tmp_path / "out" / "calibration.json").read_text("utf-8"))
    assert [(a["second"], a["overall"]["bias"]) for a in record["agreement"]] == [("ann", -1.0)]
    assert CliRunner().invoke(calibrate, common).exit_code == 2
