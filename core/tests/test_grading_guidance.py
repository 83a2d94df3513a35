"""Guidance in sessions: the judge is told more and asked more, and nothing that counts is touched."""

import sys
import types
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel, ConfigDict
from runs_on_disk import add_session, run_folder

from finassay.api.delivery import Package
from finassay.api.errors import CatalogError, PreflightError, UsageError
from finassay.api.guidance import Guidance
from finassay.api.scorecard import Evaluator, Scorecard
from finassay.catalog.catalog import Catalog, Offer
from finassay.cli.grade import regrading
from finassay.cli.main import main
from finassay.config.settings import Choice, load_settings, recorded_settings
from finassay.grading.engine import grade
from finassay.grading.feedback import feedback, feedback_text
from finassay.grading.guidance import MAX_WORDS, SessionGuidance
from finassay.records.convert import from_json, to_json
from finassay.runs.build import build_grading
from finassay.runs.grade import describe_evaluator, lacks_its_judge
from finassay.testing.fakes import FakeJudge
from finassay.testing.samples import sample_package

EVALUATOR = Evaluator(hash="0" * 64, judge="fake", checks=())
LENDER = Guidance(
    "lender",
    "2",
    (),
    {"session-judge": "Read as a lender would.", "writer": "not for this"},
    dimensions={"repays": "Is it said what repays?"},
)
DESK = Guidance("desk", "1", (), {"session-judge": "Ask for units."}, dimensions={"units": "Has each amount a unit?"})


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return sample_package(tmp_path / "package")


@pytest.fixture
def graded(package: Package) -> Callable[..., Scorecard]:
    return lambda judge, *packs: grade(package, {}, judge, None, EVALUATOR, "s", guidance=SessionGuidance.of(packs))


def test_the_judge_is_told_and_asked_what_the_packs_say(graded):
    judge = FakeJudge(level=1)  # which needs no quote
    card = graded(judge, LENDER, DESK)
    assert {one.guidance for one in judge.asked} == {"Read as a lender would.\nAsk for units."}
    assert [(one.question, one.graded.dimension, one.graded.level) for one in card.reported] == [
        ("Is it said what repays?", "repays", 1),
        ("Has each amount a unit?", "units", 1),
    ]
    assert from_json(Scorecard, to_json(card), "here") == card


def test_what_is_reported_counts_for_nothing(graded, package):
    plain, asked = graded(FakeJudge(level=2)), graded(FakeJudge(level=2), LENDER, DESK)
    told = to_json(asked)
    assert len(told.pop("reported")) == 2
    assert told == {name: value for name, value in to_json(plain).items() if name != "reported"}
    report = feedback_text(feedback(asked, package.task))
    assert "repays" not in report
    assert "unit" not in report


def test_a_question_without_an_answer_says_why(graded):
    card = graded(FakeJudge(error=OSError("no way there")), LENDER)
    assert card.reported[0].graded.unscored is not None
    assert "no way there" in card.reported[0].graded.unscored.detail
    assert graded(None, LENDER).reported[0].graded.unscored.reason == "judge unavailable"  # type: ignore[union-attr]


def test_a_judge_out_of_reach_is_asked_again_for_a_reported_question(package):
    judge = FakeJudge(level=3)
    known = judge.answer

    def answer(request: Any) -> Any:
        if request.dimension.category == "guidance":
            raise OSError("no way there")
        return known(request)

    judge = type("Partly", (), {"id": "fake", "version": "1", "deterministic": True, "answer": staticmethod(answer)})()
    evaluator = Evaluator("0" * 64, "fake", (), judge_identity={"asked": {"m": {}}})
    card = grade(package, {}, judge, None, evaluator, "s", guidance=SessionGuidance.of([LENDER]))
    assert lacks_its_judge(card) == "repays"


def test_packs_that_do_not_go_together_are_refused():
    with pytest.raises(CatalogError, match="two guidance packs ask a question 'repays'"):
        SessionGuidance.of([LENDER, Guidance("other", "1", (), dimensions={"repays": "Who repays?"})])
    with pytest.raises(CatalogError, match="characters"):
        SessionGuidance.of([Guidance("long", "1", (), {"session-judge": "x" * (MAX_WORDS + 1)})])


class NoOptions(BaseModel):
    """Nothing to set."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class _Offered:
    """A pack as a distribution would offer it."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "a lender's guidance"
    Options = NoOptions

    def __init__(self, options: NoOptions) -> None:
        self.guidance = LENDER


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> Catalog:
    module = types.ModuleType("offered_guidance")
    module.pack = _Offered  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "offered_guidance", module)
    offer = Offer("guidance", "lender", "finassay", "1", EntryPoint("lender", "offered_guidance:pack", "finassay.guidance"))
    return Catalog([*Catalog.installed().offers(), offer])


def test_packs_are_part_of_who_graded(catalog, tmp_path):
    folder = run_folder(tmp_path / "run")
    plain = recorded_settings(folder.manifest(), folder.manifest_path).model_copy(update={"judge": Choice(id="lexical")})
    asked = regrading(plain, None, (), {}, ("lender",))
    assert regrading(asked, None, (), {}).guidance == ("lender",)
    assert regrading(asked, None, (), {}, ("none",)).guidance == ()
    first, second = (describe_evaluator(build_grading(catalog, s), "lexical") for s in (plain, asked))
    assert first.hash != second.hash
    assert second.judge_identity["guidance"] == ["lender 2"]
    assert "guidance" not in first.judge_identity


def test_an_unknown_pack_is_told_before_anything(catalog, tmp_path):
    folder = run_folder(tmp_path / "run")
    settings = recorded_settings(folder.manifest(), folder.manifest_path).model_copy(update={"guidance": ("nobody",)})
    with pytest.raises(PreflightError, match="nobody"):
        build_grading(catalog, settings)


def test_packs_are_named_in_a_file_or_the_environment(tmp_path):
    (tmp_path / "finassay.toml").write_text("[run]\nagents = ['x']\nguidance = 'lender'\n")
    assert load_settings({}, folder=tmp_path, environment={}).run.guidance == ("lender",)
    assert load_settings({}, folder=tmp_path, environment={"FINASSAY_GUIDANCE": '["a", "b"]'}).run.guidance == ("a", "b")
    (tmp_path / "finassay.toml").write_text("[run]\nagents = ['x']\nguidance = 3\n")
    with pytest.raises(UsageError, match="guidance"):
        load_settings({}, folder=tmp_path, environment={})


def test_what_is_reported_is_shown(graded, tmp_path, capsys):
    from finassay.records.files import write_json
    from finassay.runs.grade import KIND, VERSION

    folder = run_folder(tmp_path / "run")
    key = add_session(folder)
    card = graded(FakeJudge(level=1), LENDER)
    path = folder.session_path(key) / "gradings" / "0.json"
    write_json(path, {"kind": KIND, "schema_version": VERSION, "record": folder.record_digest(key), "scorecard": to_json(card)})
    assert main(["show", str(folder.root), key.id]) == 0
    shown = capsys.readouterr().out
    assert "counts for nothing" in shown
    assert "Is it said what repays?" in shown
    assert "1/4" in shown
    assert main(["show", str(folder.root), key.id, "--failed"]) == 0
    assert "what repays" not in capsys.readouterr().out
