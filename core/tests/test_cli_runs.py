"""Run folders with gaps, tasks that cannot be, settings that are wrong: told, and nothing lost or half-written."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from runs_on_disk import add_card, add_session, run_folder

from finassay.api.errors import InvalidFileError, NothingGradedError, PreflightError, UsageError
from finassay.catalog.catalog import Catalog
from finassay.cli.main import main
from finassay.cli.render import console
from finassay.cli.run import _print_result
from finassay.cli.tasks import parse_seeds, parse_until
from finassay.config.settings import Choice, RunSettings, load_settings
from finassay.runs.build import _Problems, build
from finassay.runs.folder import RunFolder, SessionKey
from finassay.runs.grade import Grader, scorecards
from finassay.runs.plan import Planned
from finassay.runs.view import run_view
from finassay.testing.samples import sample_task

needs_grammar = pytest.mark.skipif(
    not any(o.id == "us-long-only" for o in Catalog.installed().offers("grammar")), reason="the grammar us-long-only is not installed"
)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code: Any
    try:
        code = main([str(a) for a in arguments])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    return int(code or 0), out, err


def notes(folder: RunFolder) -> str:
    return "\n".join(run_view(folder).notes)


def test_who_acted_outside_the_sandbox_is_told(tmp_path):
    folder = run_folder(tmp_path / "run", ("one", "two"))
    box = {"id": "walls", "isolation": {"files": True, "network": True, "processes": True}}
    add_session(folder, "one", identity={"agent": {"id": "x", "identity": {"outside_sandbox": True}}, "sandbox": box})
    assert "Acted where no sandbox of this run held them: x (1 of 1 sessions)." in notes(folder)
    assert "walls" not in notes(folder)
    add_session(folder, "two", identity={"agent": {"id": "x", "identity": {"outside_sandbox": "yes"}}, "sandbox": box})
    assert "(1 of 2 sessions)" in notes(folder)
    assert "Agents ran in the sandbox 'walls'." in notes(folder)


# -- gaps -------------------------------------------------------------------------------------------------------------


def test_a_deleted_task_is_named(tmp_path, capsys):
    folder = run_folder(tmp_path / "run", ("one", "two"))
    kept, lost = add_session(folder, "one"), add_session(folder, "two")
    (folder.root / "tasks" / "two.json").unlink()
    code, _, err = run(capsys, "show", folder.root, lost.id)
    assert code == 3
    assert "tasks/two.json: not found" in err
    assert [s.id for s in run_view(folder).sessions] == [kept.id]
    assert f"Left out, because tasks/two.json is missing: 1 ({lost.id})." in notes(folder)


def test_what_is_no_session_is_named_and_left_out(tmp_path, capsys):
    folder = run_folder(tmp_path / "run")
    key = add_session(folder)
    for name in (".DS_Store", "notes", "a.b.c.d", "x.y.\x1b[2J.1", "x.sample-0.\u0661"):
        (folder.root / "sessions" / name).mkdir()
    (folder.root / "sessions" / "readme.txt").write_text("hello")
    assert folder.sessions() == [key]
    code, out, _ = run(capsys, "show", folder.root)
    assert code == 0
    assert "left out of sessions/: 6 (" in out
    assert "\x1b" not in out


def test_sessions_that_have_not_ended_or_begun_are_named(tmp_path, capsys):
    folder = run_folder(tmp_path / "run", ("one", "two"), planned=["x.one.1", "x.two.1", "x.two.2"])
    add_session(folder, "one")
    add_session(folder, "two", end=None)
    said = notes(folder)
    assert "Begun and not ended: 1 (x.two.1)." in said
    assert "Asked for and not begun: 1 (x.two.2)." in said
    for command in ("show", "report"):
        _, out, _ = run(capsys, command, folder.root)
        assert "x.two.2" in out, command


@pytest.mark.parametrize("damage", ["line removed", "sealed removed", "line changed", "events removed"])
def test_a_grading_of_another_record_is_none(tmp_path, capsys, damage):
    folder = run_folder(tmp_path / "run")
    key = add_session(folder)
    add_card(folder, key)
    (folder.session_path(key) / "feedback.txt").write_text("Accepted: yes")
    assert run_view(folder).sessions[0].scorecard is not None
    events, sealed = (log.path for log in folder.events(key))
    lines = events.read_bytes().splitlines(keepends=True)
    if damage == "line removed":
        events.write_bytes(b"".join([lines[0], *lines[2:]]))
    elif damage == "line changed":
        events.write_bytes(b"".join(lines).replace(b"Done.", b"Gone."))
    elif damage == "sealed removed":
        sealed.unlink()
    else:
        events.unlink()
    assert scorecards(folder, key) == []
    assert all(session.scorecard is None for session in run_view(folder).sessions)
    code, _, err = run(capsys, "show", folder.root, key.id, "--feedback")
    assert code == 2
    assert "has not" in err
    if damage != "events removed":
        assert f"The record was changed after the grading, which therefore does not count: 1 ({key.id})." in notes(folder)


def test_a_grading_names_the_record_that_it_was_made_from(tmp_path):
    folder = run_folder(tmp_path / "run")
    key = add_session(folder)
    grader = object.__new__(Grader)
    grader.folder, grader.tasks = folder, folder.tasks()
    card = add_card(folder, key)
    next((folder.session_path(key) / "gradings").iterdir()).unlink()
    grader._store(key, card, folder.record_digest(key))
    assert scorecards(folder, key) == [card]
    stored = json.loads(next((folder.session_path(key) / "gradings").iterdir()).read_text())
    assert stored["record"] == folder.record_digest(key)


def test_a_run_in_which_nothing_could_be_graded_fails(tmp_path, capsys):
    folder = run_folder(tmp_path / "run")
    add_session(folder, end="environment_error", detail="no sandbox")
    code, out, err = run(capsys, "grade", folder.root, "--jobs", "1")
    assert code == 9, err
    assert "not graded: environment_error (no sandbox)" in err
    assert "no session could be graded (1 session tried)" in err
    assert "vetoes failed" not in out + err


@pytest.mark.parametrize(("end", "fails"), [("environment_error", True), ("satisfied", False)])
def test_the_end_of_a_run_fails_if_nothing_could_be_graded(tmp_path, capsys, end, fails):
    folder = run_folder(tmp_path / "run [x]")
    key = add_session(folder, end=end)
    add_card(folder, key)
    plan = [Planned(key, "reuse", "")]
    for graded in (True, False):  # a run whose every session is void has come to nothing, graded or not
        with pytest.raises(NothingGradedError, match="no session counts") if fails else contextlib.nullcontext():
            _print_result(console(), folder, plan, graded=graded)
    assert f"finassay report '{folder.root}'" in capsys.readouterr().out


def test_an_unknown_judge_is_told_before_anything(tmp_path, capsys):
    folder = run_folder(tmp_path / "run")
    add_session(folder)
    code, out, err = run(capsys, "grade", folder.root, "--judge", "nope")
    assert code == 5
    assert "nope" in err
    assert out == ""


def test_settings_in_a_manifest_that_are_none_name_the_file(tmp_path, capsys):
    folder = run_folder(tmp_path / "run", settings={"agents": 3})
    code, _, err = run(capsys, "grade", folder.root)
    assert code == 3
    assert "run.json: settings.agents" in err


def test_paths_with_markup_are_paths(tmp_path, capsys):
    folder = run_folder(tmp_path / "a[" / "x]b [bold]")
    add_session(folder)
    for command in ("show", "report"):
        code, out, err = run(capsys, command, folder.root)
        assert code == 0, err
        assert "x]b [bold]" in out or command == "show"
    with pytest.raises(InvalidFileError) as told:
        RunFolder(tmp_path / "a[").manifest()
    assert f"'{tmp_path / 'a['}'" in told.value.hint


# -- tasks ------------------------------------------------------------------------------------------------------------


def test_seeds_are_counted_before_they_are_listed():
    with pytest.raises(UsageError, match="name 100,000,000,000,000,000,000 tasks"):
        parse_seeds("0-99999999999999999999")
    with pytest.raises(UsageError):
        parse_seeds("5-1")
    assert parse_seeds("1,1,3-4,1") == [1, 3, 4]


@pytest.mark.parametrize("until", ["0001-01-01", "9999-12-31", "20191231x", ""])
def test_a_cutoff_is_a_day_that_has_passed(until):
    with pytest.raises(UsageError, match="--until"):
        parse_until(until)


@needs_grammar
@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--needs", "nope"), "nope"),
        (("--needs", "prices", "--needs", "nope"), "nope"),
        (("--needs", "rates"), "no strategy can be built"),
        (("--seconds", "nan"), "turn_seconds"),
        (("--seconds", "inf"), "turn_seconds"),
        (("--turns", "0"), "max_turns"),
        (("--channel", "nope"), "nope"),
        (("--until", "2999-01-01"), "--until"),
    ],
)
def test_tasks_that_cannot_be_are_refused(tmp_path, capsys, more, says):
    code, _, err = run(capsys, "tasks", "sample", "--grammar", "us-long-only", "--seeds", "0", "--out", tmp_path / "t", *more)
    assert code in (2, 4), err
    assert says in err
    assert "internal" not in err
    assert not (tmp_path / "t").exists()


@needs_grammar
def test_another_task_is_not_overwritten(tmp_path, capsys):
    sample = ("tasks", "sample", "--grammar", "us-long-only", "--out", tmp_path / "t")
    assert run(capsys, *sample, "--seeds", "1,1,1")[1] == f"1 task in {tmp_path / 't'}\n"
    before = (tmp_path / "t" / "us-long-only-1.json").read_bytes()
    assert run(capsys, *sample, "--seeds", "1")[0] == 0
    code, _, err = run(capsys, *sample, "--seeds", "0-2", "--turns", "3")
    assert code == 2
    assert "us-long-only-1.json holds another task" in err
    assert [p.name for p in (tmp_path / "t").iterdir()] == ["us-long-only-1.json"]
    assert (tmp_path / "t" / "us-long-only-1.json").read_bytes() == before


# -- settings and preflight -------------------------------------------------------------------------------------------


def test_no_agent_is_said_in_words(tmp_path):
    with pytest.raises(UsageError, match="no agent was named") as told:
        load_settings({}, folder=tmp_path, environment={})
    assert "--agent" in told.value.hint


def test_an_unknown_table_is_refused(tmp_path):
    (tmp_path / "finassay.toml").write_text('[runn]\nagents = ["x"]\n')
    with pytest.raises(UsageError, match="runn"):
        load_settings({"agents": ["x"]}, folder=tmp_path, environment={})


@pytest.mark.parametrize("seconds", ["NaN", "Infinity", "-1", "0"])
def test_seconds_must_be_finite(tmp_path, seconds):
    with pytest.raises(UsageError, match="turn_seconds"):
        load_settings({"agents": ["x"]}, folder=tmp_path, environment={"FINASSAY_TURN_SECONDS": seconds})


@pytest.mark.parametrize("alias", ["a\nb", "a\x1b[2J", "", "a.b", "a/b", "-a", "a b", "x" * 61])
def test_an_alias_is_a_plain_word(tmp_path, alias):
    settings = RunSettings(agents={alias: Choice(id="none-such")}, grade=False)
    with pytest.raises(PreflightError) as told:
        build(Catalog([]), settings, (), tmp_path)
    assert any(problem.startswith(f"alias {alias!r}") for problem in told.value.problems)


def test_problems_of_a_part_stand_beside_the_others():
    problems = _Problems(["one"])

    def part() -> None:
        raise PreflightError("the run was not started: two; three", problems=("two", "three"))

    problems.attempt(part)
    with pytest.raises(PreflightError) as told:
        problems.raise_if_any()
    assert told.value.problems == ("one", "two", "three")


def test_a_dry_run_makes_no_folder(tmp_path, capsys, monkeypatch):
    from finassay.records.tasks import write_task

    class Runner:
        def __init__(self, *_: object) -> None:
            self.tasks: dict[str, object] = {}

        def plan(self) -> list[object]:
            return [Planned(SessionKey("x", "t", 1), "hold", "not held yet")]

    monkeypatch.setattr("finassay.runs.build.build", lambda *_: None)
    monkeypatch.setattr("finassay.runs.execute.Runner", Runner)
    write_task(tmp_path / "t" / "sample-0.json", evolve(sample_task()))
    code, out, err = run(capsys, "run", "--agent", "x", "--tasks", tmp_path / "t", "--out", tmp_path / "run", "--dry-run")
    assert code == 0, err
    assert "not held yet" in out
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a file system in which nobody can make a folder")
@pytest.mark.parametrize("command", [("new", "agent", "foo"), ("report", "RUN")])
def test_a_folder_in_which_nobody_can_write_is_one_line(tmp_path, capsys, command):
    folder = run_folder(tmp_path / "run")
    add_session(folder)
    code, _, err = run(capsys, *(folder.root if word == "RUN" else word for word in command), "--out", "/proc/none")
    assert code in (4, 8)  # 4 where no reporter is installed
    assert "/proc/none" in err or code == 4
    assert "Traceback" not in err


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path, capsys):
    folder = run_folder(tmp_path / "run")
    add_session(folder)
    (tmp_path / "file").write_text("in the way")
    code, _, err = run(capsys, "report", folder.root, "--out", tmp_path / "file")
    assert code in (4, 8)  # 4 where no reporter is installed
    assert "Traceback" not in err
    assert str(tmp_path / "file") in err or code == 4


def test_options_of_one_session_need_a_session(tmp_path, capsys):
    folder = run_folder(tmp_path / "run")
    code, _, err = run(capsys, "show", folder.root, "--failed")
    assert code == 2
    assert "one session" in err


def test_a_reader_that_goes_away_is_no_internal_error(tmp_path):
    folder = run_folder(tmp_path / "run")
    key = add_session(folder, reply="long " * 100_000)
    program = "import sys; from finassay.cli.main import main; sys.exit(main(sys.argv[1:]))"
    shown = subprocess.Popen(
        [sys.executable, "-c", program, "show", str(folder.root), key.id], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert shown.stdout is not None
    shown.stdout.close()
    assert shown.stderr is not None
    assert b"rror" not in shown.stderr.read()
    shown.stderr.close()
    assert shown.wait(60) == 141
