"""A task that no session can be held with is one clear line that names the file, before anything is written."""

import json
import os
from pathlib import Path

import pytest

from finassay.api.errors import InvalidFileError
from finassay.records.tasks import read_task, read_tasks, write_task
from finassay.testing.samples import sample_task


def changed(folder: Path, part: str, **values: object) -> Path:
    """A sample task's file with values of its public or sealed part, or of the conditions, put in."""
    path = folder / "task.json"
    write_task(path, sample_task())
    data = json.loads(path.read_text())
    where = data["public"]["conditions"] if part == "conditions" else data if part == "top" else data[part]
    where.update(values)
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize("name", ["../../evil", "a.b", "", "x" * 101, "a b", "a\x1b[31m", "a/b"])
def test_an_id_is_a_name(tmp_path, name):
    with pytest.raises(InvalidFileError, match=r"task\.json: id "):
        read_task(changed(tmp_path, "public", id=name))


@pytest.mark.parametrize("name", ["us-long-only-3", "Aufgabe_7", "задача-1"])
def test_letters_of_any_script_are_names(tmp_path, name):
    assert read_task(changed(tmp_path, "public", id=name)).id == name


@pytest.mark.parametrize(
    ("part", "values", "says"),
    [
        ("conditions", {"max_turns": 0}, "max_turns"),
        ("conditions", {"max_turns": -3}, "max_turns"),
        ("conditions", {"turn_seconds": -1}, "turn_seconds"),
        ("conditions", {"turn_seconds": 1e308}, "turn_seconds"),
        ("conditions", {"turn_seconds": float("nan")}, "turn_seconds"),
        ("conditions", {"turn_seconds": float("inf")}, "turn_seconds"),
        ("conditions", {"session_seconds": 0}, "session_seconds"),
        ("conditions", {"max_delivery_bytes": -1}, "max_delivery_bytes"),
        ("conditions", {"exchange": "New York"}, "exchange"),
        ("conditions", {"timezone": "Mars/Base"}, "timezone"),
        ("conditions", {"timezone": "../../etc/passwd"}, "timezone"),
        ("public", {"goals": []}, "goals"),
        ("top", {"extra": 1}, "unknown key 'extra'"),
        ("public", {"persona": "\ud800"}, "surrogate"),
    ],
)
def test_what_makes_no_session(tmp_path, part, values, says):
    with pytest.raises(InvalidFileError, match=r"task\.json[:.].*" + says):
        read_task(changed(tmp_path, part, **values))


def test_an_opening_of_unknown_items(tmp_path):
    path = tmp_path / "task.json"
    write_task(path, sample_task())
    data = json.loads(path.read_text())
    data["sealed"]["belief"]["opening"] = ["stock.factor:nothing"]
    path.write_text(json.dumps(data))
    with pytest.raises(InvalidFileError, match=r"stock\.factor:nothing"):
        read_task(path)


def test_two_tasks_of_one_id(tmp_path):
    write_task(tmp_path / "a.json", sample_task())
    write_task(tmp_path / "b.json", sample_task())
    with pytest.raises(InvalidFileError, match=r"b\.json: has the id 'sample-0' of a\.json"):
        read_tasks(tmp_path)


def test_a_pipe_is_no_task(tmp_path):
    os.mkfifo(tmp_path / "task.json")
    with pytest.raises(InvalidFileError, match="no regular file"):
        read_task(tmp_path / "task.json")
