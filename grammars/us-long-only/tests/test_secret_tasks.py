"""Tasks drawn under a secret: nobody draws them from the grammar alone, and what was published of them proves them later."""

import json
import os

import pytest
from attrs import evolve

from finassay.cli.main import main
from finassay.records.tasks import read_task, read_tasks, write_task


def finassay(*arguments):
    try:
        return main([str(a) for a in arguments])
    except SystemExit as stop:
        return stop.code


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not sample("key")
    return tmp_path


def sample(key, *more, out="tasks"):
    return finassay(
        "tasks", "sample", "--grammar", "us-long-only", "--seeds", "0-2", "--needs", "prices", "--secret-file", key, "--out", out, *more
    )


def reveal(key="key", tasks="tasks"):
    return finassay("tasks", "reveal", "tasks.commitments.json", "--secret-file", key, "--tasks", tasks)


def test_the_same_secret_draws_the_same_tasks_and_another_draws_others(drawn):
    assert (drawn / "key").stat().st_mode & 0o077 == 0
    assert not sample("key", out="again")
    assert not sample("other", out="others")
    tasks, again, others = (read_tasks(drawn / name) for name in ("tasks", "again", "others"))
    assert tasks == again
    assert {t.seed for t in tasks}.isdisjoint(t.seed for t in others)


def test_what_is_published_tells_neither_seed_nor_strategy_nor_secret(drawn):
    text = (drawn / "tasks.commitments.json").read_text()
    assert (drawn / "key").read_text().strip() not in text
    for task in read_tasks(drawn / "tasks"):
        assert str(task.seed) not in text
        assert str(task.seed) not in task.id
        assert not [item.id for item in task.belief.items if item.id in text]
    assert finassay("tasks", "sample", "--grammar", "us-long-only", "--seeds", "0-200", "--needs", "prices", "--out", "plain") == 0
    plain = {t.seed for t in read_tasks(drawn / "plain")}
    assert plain.isdisjoint(t.seed for t in read_tasks(drawn / "tasks"))


def test_revealing_opens_all_of_them(drawn, capsys):
    assert not reveal()
    assert "3 tasks opened, all as committed" in capsys.readouterr().out


@pytest.mark.parametrize("change", ["strategy", "missing", "conditions"])
def test_a_task_that_is_not_what_was_committed_to_is_found(drawn, capsys, change):
    path = sorted((drawn / "tasks").glob("*.json"))[1]
    task = read_task(path)
    path.unlink()
    if change == "strategy":
        write_task(path, evolve(task, strategy=read_tasks(drawn / "tasks")[0].strategy))
    if change == "conditions":
        write_task(path, evolve(task, conditions=evolve(task.conditions, max_turns=3)))
    assert reveal() == 3
    assert f"{task.id}: NOT as committed" in capsys.readouterr().out


def test_limits_that_a_run_overrode_are_told_and_break_no_commitment(drawn, capsys):
    for path in sorted((drawn / "tasks").glob("*.json")):
        write_task(path, read_task(path).held_under(max_turns=2, turn_seconds=1200.0).held_under(max_turns=3))
    assert not reveal()
    out = capsys.readouterr().out
    assert "as committed, drawn again: the same; held with max_turns 3 instead of 6, turn_seconds 1200 instead of 300" in out
    assert read_tasks(drawn / "tasks")[0].held_under(6, 300.0) == read_tasks(drawn / "tasks")[0].as_drawn


def test_another_secret_opens_nothing(drawn, capsys):
    assert not sample("other", out="others")
    assert reveal("other") == 2
    assert "another secret" in capsys.readouterr().err


def test_of_another_version_of_the_grammar_only_the_commitment_is_held_to(drawn, monkeypatch, capsys):
    from finassay_us_long_only import grammar as module

    (kind,) = [c for c in vars(module).values() if isinstance(c, type) and getattr(c, "id", "") == "us-long-only"]
    monkeypatch.setattr(kind, "version", "99")
    assert not reveal()
    assert "not drawn again: grammar us-long-only in version 1 is not installed" in capsys.readouterr().out


@pytest.mark.parametrize("what", ["short", "open", "folder"])
def test_a_secret_that_is_none_is_refused_in_one_line(tmp_path, monkeypatch, capsys, what):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "key"
    if what == "folder":
        path.mkdir()
    else:
        path.write_text("x" * (5 if what == "short" else 64))
        os.chmod(path, 0o600 if what == "short" else 0o644)
    assert sample("key") == 3
    assert len(capsys.readouterr().err.strip().splitlines()) <= 2
    assert not (tmp_path / "tasks").exists()


def test_commitments_that_may_have_been_published_are_not_written_over(drawn):
    before = (drawn / "tasks.commitments.json").read_text()
    assert (
        finassay(
            "tasks", "sample", "--grammar", "us-long-only", "--seeds", "5", "--needs", "prices", "--secret-file", "key", "--out", "tasks"
        )
        == 2
    )
    assert (drawn / "tasks.commitments.json").read_text() == before
    (drawn / "tasks.commitments.json").write_text(json.dumps({"kind": "finassay-commitments", "schema_version": 1, "tasks": [1]}))
    assert reveal() == 3


def test_tasks_slipped_in_and_commitments_to_nothing_are_told(drawn, capsys):
    assert finassay("tasks", "sample", "--grammar", "us-long-only", "--seeds", "7", "--needs", "prices", "--out", "tasks") == 0
    assert reveal() == 2
    assert "nothing was committed to for 1 of the tasks" in capsys.readouterr().err
    (drawn / "tasks" / "us-long-only-7.json").unlink()
    made = json.loads((drawn / "tasks.commitments.json").read_text())
    for tasks in ([], [made["tasks"][0], made["tasks"][0]]):
        (drawn / "tasks.commitments.json").write_text(json.dumps({**made, "tasks": tasks}))
        assert reveal() == 3
