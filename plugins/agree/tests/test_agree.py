"""The command: stored gradings, judges that grade here, a judge with itself, labels from a file."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import define, evolve, field, frozen

from finassay.api.conversation import Message
from finassay.api.delivery import Delivery, TurnFacts
from finassay.api.errors import InvalidFileError, JudgeError, UsageError
from finassay.api.grading import Answer, Document, JudgeRequest, LabelQuestion, Material, Quote
from finassay.api.scorecard import Evaluator, UserTurn
from finassay.api.usage import Usage
from finassay.cli.main import main
from finassay.config.settings import Choice, RunSettings
from finassay.grading.dimensions import DIMENSIONS
from finassay.grading.engine import grade
from finassay.records.convert import to_json
from finassay.records.events import agent_event, end_event, user_event
from finassay.records.files import write_json
from finassay.runs.build import GradingParts
from finassay.runs.folder import RunFolder, SessionKey
from finassay.runs.grade import KIND, VERSION, make_package
from finassay.testing.samples import sample_task
from finassay_agree import gradings
from finassay_agree.agreeing import Request, agreeing
from finassay_agree.gradings import FAR, JUDGED, parse_judge, repeated
from finassay_agree.ratings import of_file, of_scorecards

REPLY = "Here is the report."
Level = Callable[[JudgeRequest], int | None]


@define
class Judge:
    """Gives levels by a function of the request; None is no verdict."""

    level: Level
    id: str = "scripted"
    version: str = "1"
    deterministic: bool = False
    asked: list[JudgeRequest] = field(factory=list)

    def answer(self, request: JudgeRequest) -> Answer:
        self.asked.append(request)
        if isinstance(request.question, LabelQuestion):
            raise JudgeError("no labels here")
        level = self.level(request)
        if level is None:
            raise JudgeError("no verdict")
        return Answer("as scripted", level=level, quotes=(Quote(REPLY),))


class BatchJudge(Judge):
    def answer_all(self, requests: Sequence[JudgeRequest]) -> list[Answer | JudgeError]:
        return [self.answer(r) for r in requests]


@frozen
class Reader:
    id: str = "reader"

    def read(self, package: Any) -> Material:
        return Material(tuple(Document(m.id, m.text) for m in package.conversation.messages), (), (), ())


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run of four ended sessions, and one that has not ended."""
    folder = RunFolder(tmp_path / "run")
    folder.root.mkdir()
    names = ("one", "two", "three", "four", "open")
    folder.write_tasks(tuple(evolve(sample_task(), id=name) for name in names))
    settings = RunSettings(agents={"x": Choice(id="x")}, judge=Choice(id="none"), reader=Choice(id="none"))
    folder.write_manifest({"created": "2026-01-02T03:04:05+00:00", "settings": settings.model_dump(mode="json")})
    for name in names:
        events, sealed = folder.events(SessionKey("x", name, 1))
        events.append({"type": "session", "schema_version": 1, "identity": {"agent": {"id": "x"}}, "digest": "d"})
        events.append(user_event(Message("u0", 0, "user", "Test an idea."), UserTurn(0, "open", 0), 0.0))
        events.append(agent_event(Message("a1", 1, "agent", REPLY), Delivery(1), TurnFacts(1, 1.0), (), Usage()))
        if name != "open":
            events.append(end_event("satisfied", "", ""))
        events.close()
        sealed.close()
    return folder


def store(folder: RunFolder, judge: Judge, hash_: str) -> None:
    """Gradings of every ended session by that judge."""
    for key in folder.sessions():
        state = folder.state(key)
        if state.ended is None:
            continue
        card = grade(make_package(folder, folder.tasks()[key.task], state), {}, judge, Reader(), Evaluator(hash_ * 8, judge.id, ()), key.id)
        record = {"kind": KIND, "schema_version": VERSION, "record": folder.record_digest(key), "scorecard": to_json(card)}
        write_json(folder.session_path(key) / "gradings" / f"{hash_}.json", record)


def use(monkeypatch: pytest.MonkeyPatch, judges: dict[str, Judge]) -> None:
    """Let the command find these judges."""

    def build(catalog: Any, settings: RunSettings, models: Any = None) -> GradingParts:
        return GradingParts({}, judges[settings.judge.id], Reader(), (), {"options": settings.judge.options})

    monkeypatch.setattr(gradings, "build_grading", build)


def asked(folder: RunFolder, *judges: str, **more: Any) -> Any:
    request = Request(folder.root, judges, 1, None, (), (), 0, 0, None)
    return agreeing(evolve(request, **more))


def test_stored_gradings_with_each_other(folder: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    store(folder, Judge(lambda r: 2, id="first"), "aaaaaaaa")
    store(folder, Judge(lambda r: None if r.dimension.id == "4.4" else 3, id="second"), "bbbbbbbb")
    (found,) = asked(folder)
    assert {found.first, found.second} == {"first [aaaaaaaa]", "second [bbbbbbbb]"}
    by_id = {a.dimension: a for a in found.by_dimension}
    assert by_id["4.5"].adjacent == 1.0
    assert abs(by_id["4.5"].bias) == 1.0
    assert by_id["4.4"].pairs == 0
    assert by_id["4.4"].first_abstained + by_id["4.4"].second_abstained == 4
    assert "Sensitivity analysis" in capsys.readouterr().out
    assert not (folder.root / ".lock").exists()


def test_two_judges_grade_here_and_a_stored_grading_is_not_made_again(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    judges = {"a": Judge(lambda r: 2), "b": BatchJudge(lambda r: 2 if r.dimension.id == "2.7" else 3)}
    use(monkeypatch, judges)
    (found,) = asked(folder, "a", "b mode=2", dimensions=("2.7", "4.4"))
    assert (found.first, found.second) == ("a", "b mode=2")
    assert [(a.dimension, a.pairs, a.exact) for a in found.by_dimension] == [("2.7", 4, 1.0), ("4.4", 4, 0.0)]
    assert {r.dimension.id for r in judges["a"].asked} == {"2.7", "4.4"}
    before = len(judges["a"].asked)
    assert asked(folder, "a", "b mode=2", sessions=("x.one.1",), dimensions=("4.4",))[0].overall.pairs == 1
    assert len(judges["a"].asked) == before + 1
    rater = gradings.raters(folder, RunSettings(agents={}), ["a"], 1)[0]
    key = SessionKey("x", "one", 1)
    card = rater.card(make_package(folder, folder.tasks()["one"], folder.state(key)), key.id, ("4.4",))
    monkeypatch.setattr(gradings, "scorecards", lambda folder, key: [card])
    before = len(judges["a"].asked)
    asked(folder, "a", "a", sessions=(key.id,), dimensions=("4.4",))
    assert len(judges["a"].asked) == before


def test_a_judge_with_itself(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    wavering = BatchJudge(lambda r: 2 + (r.sample // FAR) % 2 if r.dimension.id == "4.4" else 3)
    use(monkeypatch, {"a": wavering})
    found = asked(folder, "a", repeats=3, dimensions=("4.4", "4.5", "2.7"))
    assert [(c.first, c.second) for c in found] == [
        ("a, repeat 1", "a, repeat 2"),
        ("a, repeat 1", "a, repeat 3"),
        ("a, repeat 2", "a, repeat 3"),
    ]
    assert [[a.exact for a in c.by_dimension] for c in found] == [[0.0, 1.0, 1.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    samples = {r.sample for r in wavering.asked if r.dimension.id == "2.7"}
    assert samples == {repeat * FAR + n for repeat in range(3) for n in range(3)}


def labels(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(("session,dimension,level,rater", *rows)) + "\n", encoding="utf-8")
    return path


def test_labels_of_people(folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = labels(
        tmp_path / "l.csv", "x.one.1,2.7,3,ann", "x.two.1,2.7,1,ann", "x.three.1,2.7,,ann", "x.one.1,2.7,2,ben", "x.two.1,2.7,2,ben"
    )
    use(monkeypatch, {"a": Judge(lambda r: 2)})
    out = tmp_path / "figures.json"
    found = asked(folder, "a", labels=file, out=out)
    assert [(c.first, c.second) for c in found] == [("a", "ann"), ("a", "ben"), ("ann", "ben")]
    assert [(c.overall.pairs, c.overall.exact, c.overall.bias) for c in found] == [(2, 0.0, 0.0), (2, 1.0, 0.0), (2, 0.0, 0.0)]
    assert found[0].overall.second_abstained == 1
    written = json.loads(out.read_text("utf-8"))
    assert written["kind"] == "finassay-agreement"
    assert [c["second"] for c in written["comparisons"]] == ["ann", "ben", "ben"]
    store(folder, Judge(lambda r: 3, id="stored"), "cccccccc")
    assert asked(folder, labels=file)[0].first == "stored [cccccccc]"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (("x.none.1,2.7,3,a",), "no session"),
        (("x.one.1,9.9,3,a",), "no dimension"),
        (("x.one.1,2.7,5,a",), "not between 0 and 4"),
        (("x.one.1,2.7,2.5,a",), "not between 0 and 4"),
        (("x.one.1,2.7,3,a", "x.one.1,2.7,3,a"), "twice"),
        ((), "no labels"),
    ],
)
def test_labels_that_cannot_be_used(tmp_path: Path, rows: tuple[str, ...], told: str) -> None:
    with pytest.raises(InvalidFileError, match=told):
        of_file(labels(tmp_path / "l.csv", *rows), ["x.one.1"])


def test_a_file_without_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("session,grade\nx,1\n", "utf-8")
    with pytest.raises(InvalidFileError, match="dimension, level"):
        of_file(path, ["x"])
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidFileError):
        of_file(path, ["x"])


def test_a_bounded_level_counts_as_the_judge_gave_it(folder: RunFolder) -> None:
    store(folder, Judge(lambda r: 4), "aaaaaaaa")
    key = SessionKey("x", "one", 1)
    card = gradings.scorecards(folder, key)[0]
    changed = [
        evolve(g, scored=evolve(g.scored, level=1, raw_level=4, by=by)) if g.scored and g.dimension == name else g
        for g in card.verdicts
        for name, by in [("4.4", "model") if g.dimension == "4.4" else ("4.5", "model, bounded by c")]
    ]
    levels = of_scorecards("a", {"s": evolve(card, verdicts=tuple(changed))}).levels
    assert (levels["s", "4.4"], levels["s", "4.5"]) == (1, 4)


@pytest.mark.parametrize(
    ("judges", "more", "told"),
    [
        (("a",), {}, "nobody"),
        (("a", "b"), {"repeats": 2}, "itself"),
        ((), {"repeats": 2}, "itself"),
        ((), {"dimensions": ("8.8",)}, "no dimension"),
        ((), {}, "nothing that two rated"),
        (("a x",), {"repeats": 2}, "KEY=VALUE"),
        (("a 'x",), {"repeats": 2}, "KEY=VALUE"),
    ],
)
def test_questions_without_an_answer(folder: RunFolder, judges: tuple[str, ...], more: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        asked(folder, *judges, **more)


def test_judges_are_written_with_their_options() -> None:
    assert parse_judge("model model=a/b isolate=true groups='[[\"4.1\"]]' parallel=2") == Choice(
        id="model", options={"model": "a/b", "isolate": True, "groups": [["4.1"]], "parallel": 2}
    )
    assert parse_judge("lexical") == Choice(id="lexical")


def test_a_repeat_takes_many_only_where_the_judge_does() -> None:
    assert not callable(repeated(Judge(lambda r: 1), 1).answer_all)  # type: ignore[attr-defined]
    assert callable(repeated(BatchJudge(lambda r: 1), 1).answer_all)  # type: ignore[attr-defined]
    assert set(JUDGED) <= {d.id for d in DIMENSIONS}


def test_from_the_command_line(folder: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    store(folder, Judge(lambda r: 2, id="first"), "aaaaaaaa")
    store(folder, Judge(lambda r: 3, id="second"), "bbbbbbbb")
    main(["agree", str(folder.root), "--draws", "50"])
    assert "kappa with quadratic weights" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["agree", str(folder.root), "--judge", "lexical"])
    assert stop.value.code == 2
