"""Stored records: strict, versioned, one clear line when something is wrong."""

import json
import stat

import pytest
from attrs import evolve

from finassay.api.errors import InvalidFileError, RunLockedError, UsageError
from finassay.records.convert import from_json, to_json
from finassay.records.events import EventLog, restore
from finassay.records.tasks import read_task, read_tasks, write_task
from finassay.runs.folder import RunFolder, SessionKey
from finassay.testing.samples import sample_task


def test_a_task_survives_writing_and_reading(tmp_path):
    task = sample_task()
    write_task(tmp_path / "t.json", task)
    assert read_task(tmp_path / "t.json") == task


def test_a_task_file_is_for_its_owner_only(tmp_path):
    write_task(tmp_path / "t.json", sample_task())
    assert stat.S_IMODE((tmp_path / "t.json").stat().st_mode) == 0o600


def test_the_public_part_holds_no_belief(tmp_path):
    write_task(tmp_path / "t.json", sample_task())
    public = json.dumps(json.loads((tmp_path / "t.json").read_text())["public"])
    for secret in ("mom_12_1", "same weight", "20", "risk"):
        assert secret not in public.replace("2019", "")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d.update(schema_version=99), "schema version 99"),
        (lambda d: d.update(kind="x"), "expected a finassay-task"),
        (lambda d: d["public"].update(extra=1), "unknown key 'extra'"),
        (lambda d: d["public"].pop("persona"), "'persona' is missing"),
        (lambda d: d["public"]["conditions"].update(cutoff="soon"), "a date such as"),
        (lambda d: d["public"]["conditions"].update(max_turns="six"), "expected a whole number"),
        (lambda d: d["sealed"].update(belief=[]), "expected an object"),
        (lambda d: d.pop("sealed"), "'public' and 'sealed'"),
    ],
)
def test_a_malformed_task_names_file_and_place(tmp_path, change, says):
    path = tmp_path / "t.json"
    write_task(path, sample_task())
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    with pytest.raises(InvalidFileError) as caught:
        read_task(path)
    assert says in str(caught.value)
    assert "t.json" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"null", b'"text"'])
def test_a_file_that_is_no_task_is_one_line(tmp_path, content):
    (tmp_path / "t.json").write_bytes(content)
    with pytest.raises(InvalidFileError, match=r"t\.json"):
        read_task(tmp_path / "t.json")


def test_missing_files_and_empty_folders(tmp_path):
    with pytest.raises(InvalidFileError, match="not found"):
        read_tasks(tmp_path / "none.json")
    with pytest.raises(InvalidFileError, match="no task files"):
        read_tasks(tmp_path)


def test_a_torn_last_line_is_ignored_and_cut_off(tmp_path):
    log = EventLog(tmp_path / "e.jsonl")
    log.append({"type": "resumed", "after_turn": 0})
    log.close()
    with open(tmp_path / "e.jsonl", "ab") as stream:
        stream.write(b'{"type": "us')
    again = EventLog(tmp_path / "e.jsonl")
    assert len(list(again.read())) == 1
    again.append({"type": "resumed", "after_turn": 1})
    assert [e["after_turn"] for e in again.read()] == [0, 1]
    again.close()


def test_a_malformed_line_in_the_middle_is_named(tmp_path):
    (tmp_path / "e.jsonl").write_bytes(b'{"type":"resumed"}\nnot json\n{"type":"resumed"}\n')
    with pytest.raises(InvalidFileError, match="line 2"):
        list(EventLog(tmp_path / "e.jsonl").read())


def test_an_unknown_event_is_refused(tmp_path):
    (tmp_path / "e.jsonl").write_bytes(b'{"type":"surprise"}\n')
    with pytest.raises(InvalidFileError, match="surprise"):
        restore(EventLog(tmp_path / "e.jsonl"), EventLog(tmp_path / "s.jsonl"))


def test_two_programs_cannot_write_one_run(tmp_path):
    with RunFolder(tmp_path / "run").locked(), pytest.raises(RunLockedError), RunFolder(tmp_path / "run").locked():
        pass


def test_a_run_keeps_its_tasks(tmp_path):
    folder = RunFolder(tmp_path)
    folder.write_tasks((sample_task(),))
    folder.write_tasks((sample_task(),))
    other = sample_task()
    with pytest.raises(UsageError, match="another task"):
        folder.write_tasks((evolve(other, seed=7),))


def test_session_ids():
    assert SessionKey.parse("reference.us-long-only-3.2") == SessionKey("reference", "us-long-only-3", 2)
    with pytest.raises(UsageError):
        SessionKey.parse("../../x")


def test_a_folder_that_is_no_run(tmp_path):
    with pytest.raises(InvalidFileError, match="no run folder"):
        RunFolder(tmp_path).manifest()


def test_conversion_is_strict_about_types():
    task = to_json(sample_task())
    task["seed"] = True
    with pytest.raises(InvalidFileError):
        from_json(type(sample_task()), task)
