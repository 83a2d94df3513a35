"""Agents with a memory in whole runs: what the second session knows, what no memory ever holds, and deaths in between."""

import json
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from finassay.catalog.catalog import Catalog
from finassay.cli.main import main
from finassay.models.ledger import read_ledger
from finassay.records.tasks import write_task
from finassay.runs.execute import Runner
from finassay.runs.folder import RunFolder, SessionKey
from finassay.runs.grade import Grader, scorecards
from finassay.testing.samples import sample_belief, sample_task

MARKER = "QZ"
NEEDED = {"parrotry", "finassay-memory", "finassay-simulator-policy", "finassay-checks"}
CHECKS = ("1-1-", "1-2-", "3-3-", "3-8-", "4-4-", "5-1-", "5-2-", "7-3-")
"""Beginnings of the ids of checks that most tests grade with: all of them take their time."""


class Desk:
    """A working folder with one task, and a memory that all runs share."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        self.memory, self.log = folder / "memory", folder / "heard"

    def run(self, out: str, *more: str, agent: str = "parrot", **options: Any) -> tuple[int, str]:
        chosen = {"agent": agent, "memory": str(self.memory), **options}
        given = [x for name, value in chosen.items() for x in ("-o", f"x.{name}={value if isinstance(value, str) else json.dumps(value)}")]
        fixed = ["--tasks", "tasks", "--simulator", "policy", "--sandbox", "nowhere", "--judge", "none", "--turns", "3", "--jobs", "1"]
        try:
            code: Any = main(["run", "--agent", "x=memory", *fixed, "--out", out, *given, *more])
        except SystemExit as stop:
            code = stop.code
        said = self.capsys.readouterr()
        return int(code or 0), said.out + said.err

    def heard(self, who: str) -> list[dict[str, Any]]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in map(json.loads, lines) if line["who"] == who]

    def state(self, out: str) -> Any:
        folder = RunFolder(self.folder / out)
        (key,) = folder.sessions()
        return folder.state(key)

    def remembered(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.memory / "memory.json").read_text())
        return found

    def edits(self, value: Any) -> None:
        self.log.with_name("heard.edits").write_text(json.dumps(value))


@pytest.fixture
def desk(request, tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "offered"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARROTRY_HEARD", str(tmp_path / "heard"))
    (tmp_path / "finassay.toml").write_text("[run]\nreader = 'none'\n[run.models.parrotry]\npatience_seconds = 0\n")
    offers = [o for o in Catalog.installed().offers() if o.distribution in NEEDED]
    wanted = CHECKS if "thorough" not in request.fixturenames else ("",)
    few = Catalog(o for o in offers if o.kind != "check" or o.id.startswith(wanted))
    monkeypatch.setattr(Catalog, "installed", classmethod(lambda cls: few))
    monkeypatch.setattr("finassay.runs.grade.grading_pool", graded_here)
    one = Desk(tmp_path, capsys)
    write_task(tmp_path / "tasks" / "one.json", marked_task())
    return one


@pytest.fixture
def thorough():
    """Asks `desk` for every check."""


@contextmanager
def graded_here(root: Path, settings: Any, processes: int) -> Iterator[Any]:
    """Gradings in this process: a new one costs seconds."""
    made: list[Grader] = []

    def submit(key: SessionKey) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            made[:] = made or [Grader(root, settings)]
            future.set_result(made[0].grade(key))
        except Exception as error:
            future.set_exception(error)
        return future

    yield submit


def marked_task() -> Any:
    """The sample task with a marker in everything that is hidden of it."""
    belief = sample_belief()
    items = tuple(
        evolve(
            item,
            sentence=f"{item.sentence}, which {MARKER}S{n}{MARKER} calls the {MARKER}R{n}{MARKER} rule",
            opening=item.opening if item.id in belief.opening else f"{item.opening} in the way of {MARKER}O{n}{MARKER}",
            accept=(*item.accept, f"{MARKER}A{n}{MARKER}".casefold()),
            topics=(*item.topics, f"{MARKER}T{n}{MARKER}".casefold()),
        )
        for n, item in enumerate(belief.items)
    )
    task = sample_task(evolve(belief, items=items))
    strategy = evolve(task.strategy, choices={"factor": ("qzoptionqz",)}, parameters={"qzparameterqz": 20.0}, seed=7751)
    return evolve(task, id="qztask-7751", seed=7751, strategy=strategy)


def folded(text: str) -> str:
    return text.casefold()


# -- from session to session ------------------------------------------------------------------------------------------


def test_the_second_session_knows_what_the_first_taught(desk):
    code, said = desk.run("first")
    assert code == 0, said
    assert "learnt: " in said
    assert "noted" in said
    code, said = desk.run("second")
    assert code == 0, said
    first, second = (m["message"] for m in desk.heard("agent") if m["turn"] == 1)
    veto = "which fails the whole session. Cut every series at the last allowed date before anything is computed"
    assert veto not in first
    assert veto in second
    assert second.endswith(first)
    begun = [desk.state(out).identity["begun_with"] for out in ("first", "second")]
    assert begun[0]["memory"] != begun[1]["memory"]
    assert (begun[0]["notes"], begun[1]["notes"] > 3) == (0, True)
    notes = [e.data["text"] for e in desk.state("second").log if e.kind == "note"]
    assert notes[0].startswith(f"memory {begun[1]['memory']}: ")
    identity = desk.state("second").identity["agent"]
    assert identity["program_version"].startswith("parrot 3.1 with memory ")
    assert identity["identity"]["inner"]["identity"] == {"feathers": "green"}
    manifest = json.loads((desk.folder / "second" / "run.json").read_text())
    assert {"parrotry", "finassay-memory"} <= manifest["versions"].keys()
    seen = {e["id"]: e["seen"] for e in desk.remembered()["entries"]}
    assert seen["1.1-veto"] == 2


def test_sessions_of_one_run_begin_with_the_same(desk):
    code, said = desk.run("run", "--sessions", "3")
    assert code == 0, said
    folder = RunFolder(desk.folder / "run")
    begun = [folder.state(key).identity["begun_with"] for key in folder.sessions()]
    assert len({b["memory"] for b in begun}) == 1
    assert len({b["number"] for b in begun}) == 3
    assert {e["seen"] for e in desk.remembered()["entries"] if e["id"] == "1.1-veto"} == {3}


def test_the_same_command_learns_nothing_twice(desk):
    desk.run("run")
    once = desk.remembered()
    code, said = desk.run("run")
    assert (code, "learnt" in said) == (0, False)
    assert desk.remembered() == once


@pytest.mark.parametrize("dies", ["before", "after"])
def test_a_death_around_the_review_is_made_good_by_the_same_command(desk, monkeypatch, dies):
    learn = Runner.learn

    def die(self, key):
        if dies == "after":
            learn(self, key)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Runner, "learn", die)
        assert desk.run("run")[0] == 130
    assert (desk.memory / "memory.json").exists() == (dies == "after")
    graded = scorecards(RunFolder(desk.folder / "run"), SessionKey("x", "qztask-7751", 1))
    assert desk.run("run")[0] == 0
    assert len(desk.remembered()["history"]) == 1
    assert len(desk.remembered()["reviewed"]) == 1
    assert {e["seen"] for e in desk.remembered()["entries"]} == {1}
    assert scorecards(RunFolder(desk.folder / "run"), SessionKey("x", "qztask-7751", 1)) == graded


def test_a_session_that_is_gone_on_with_is_told_what_it_was_told(desk):
    desk.run("teacher")
    away = desk.log.with_name("heard.away")
    away.touch()
    assert desk.run("run")[0] == 11
    begun = desk.state("run").identity["begun_with"]
    desk.run("other", "--turns", "1")
    assert desk.remembered()["history"][-1]["changes"]
    away.unlink()
    code, said = desk.run("run")
    assert code == 0, said
    assert desk.state("run").identity["begun_with"] == begun
    told = [s["history"][0] for s in desk.heard("start") if len(s["history"]) > 1]
    first = next(m["message"] for m in desk.heard("agent") if m["turn"] == 1 and begun["memory"][:16] in m["message"])
    assert told == [first]
    notes = [e.data["text"] for e in desk.state("run").log if e.kind == "note"]
    assert {n.split()[1] for n in notes} == {f"{begun['memory']}:"}


def test_nothing_is_learnt_where_nothing_is_graded(desk):
    assert desk.run("run", "--no-grade")[0] == 0
    assert not (desk.memory / "memory.json").exists()


# -- reviews by a model -----------------------------------------------------------------------------------------------


def test_a_model_reviews_and_its_calls_are_paid_for(desk):
    desk.edits([{"op": "add", "id": "", "text": "Ask for the stop before you build.", "dimension": ""}])
    code, said = desk.run("run", review="parrotry/m")
    assert code == 0, said
    assert "learnt: 1 noted" in said
    assert [e["text"] for e in desk.remembered()["entries"]] == ["Ask for the stop before you build."]
    (line,) = [e for e in read_ledger(desk.folder / "run" / "ledger.jsonl") if e.role == "learner"]
    assert (line.model, line.session, line.cost_usd) == ("parrotry/m", "x.qztask-7751.1", 0.02)
    identity = desk.state("run").identity["agent"]["identity"]
    assert set(identity["reviewers"]) == {"parrotry/m"}
    assert len(identity["prompt"]) == 64


def test_a_review_that_fails_is_one_line_and_changes_no_grade(desk):
    code, said = desk.run("run", review="parrotry/m")
    assert code == 0, said
    assert [line for line in said.splitlines() if "nothing was learnt: " in line and "overloaded" in line]
    key = SessionKey("x", "qztask-7751", 1)
    graded = scorecards(RunFolder(desk.folder / "run"), key)
    assert graded
    desk.edits([{"op": "add", "id": "", "text": "Ask first.", "dimension": ""}])
    code, said = desk.run("run", review="parrotry/m")
    assert (code, "learnt: 1 noted" in said) == (0, True)
    assert scorecards(RunFolder(desk.folder / "run"), key) == graded


def test_the_agent_inside_may_have_a_model_too(desk):
    desk.edits([])
    code, said = desk.run("run", agent="asking", options={"model": "parrotry/m"}, review="parrotry/m")
    assert code == 0, said
    assert "learnt: nothing to note" in said
    lines = list(read_ledger(desk.folder / "run" / "ledger.jsonl"))
    assert {e.role for e in lines} == {"agent", "learner"}
    assert set(desk.state("run").identity["agent"]["options"]["models"]) == {"parrotry/m"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"review": "parrotry2/m"}, "parrotry2"),
        ({"agent": "parot"}, "no agent 'parot'"),
        ({"options": {"colour": "red"}}, "colour"),
        ({"memory": "run/memory"}, "run's folder"),
        ({"memory": "."}, "holds"),
        ({"agent": "memory", "options": {"agent": "parrot", "memory": "m2"}}, "learns by itself"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_spent(desk, options, told):
    code, said = desk.run("run", **options)
    assert (code, told in said) == (5, True), said
    assert not desk.heard("agent")


def test_a_broken_memory_is_told_before_anything_is_spent(desk):
    desk.memory.mkdir()
    (desk.memory / "memory.json").write_text("{}")
    code, said = desk.run("run")
    assert (code, "memory.json" in said) == (5, True), said


# -- what no memory holds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("review", ["rules", "parrotry/m"])
def test_nothing_that_is_hidden_reaches_memory_prompts_or_logs(thorough, desk, review):
    """The user tells markers, the agent repeats them all in messages and report, and the model notes whatever it is shown."""
    desk.edits("repeat")
    for out in ("first", "second"):
        code, said = desk.run(out, review=review)
        assert code == 0, said
        assert "learnt: " in said
    told = "\n".join(m.text for m in desk.state("first").conversation.messages)
    assert MARKER in told  # it was said, so that it could have leaked
    assert MARKER in " ".join(m.text for m in desk.state("first").conversation.of("agent"))
    assert desk.remembered()["entries"]
    kept = [p for p in desk.memory.rglob("*") if p.is_file()]
    assert {"memory.json", "MEMORY.md"} <= {p.name for p in kept}
    prompts = [m["prompt"] for m in desk.heard("model")]
    assert len(prompts) == (0 if review == "rules" else 2)
    second_run = [line for line in map(json.loads, desk.log.read_text().splitlines()) if line["who"] == "agent" and line["turn"] == 1][1]
    beginning = second_run["message"].partition("End of your notes.")[0]
    assert len(beginning) > 200
    logged = [json.dumps(dict(e.data)) for e in desk.state("second").log if e.kind == "note"]
    placed = [p.read_text() for p in (desk.folder / "second" / "work").rglob("memory/**/*") if p.is_file()]
    assert placed
    for text in (*(p.read_text() for p in kept), *prompts, beginning, *logged, *placed):
        for hidden in (MARKER, "7751", "mom_12_1", "x.qztask", "20%", "fallen", "same weight"):
            assert folded(hidden) not in folded(text), (hidden, text[:3000])
    for path in kept:  # nor under its name
        assert MARKER.casefold() not in path.name.casefold()
