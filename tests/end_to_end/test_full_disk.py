"""`finassay tasks sample` on a disk that is full: one clear line, no half file, and nothing announced that is not safely there."""

import errno
import os
import resource
import subprocess
import sys

import click
import pytest

from finassay.cli.main import main
from finassay.records import files, tasks
from finassay.runs import commitments

ROOM = "hint: Make room, and give the same command again.\n"
SAMPLE = ("tasks", "sample", "--grammar", "us-long-only", "--seeds")


def sampled(folder, most, *arguments):
    """The command with files of at most so many bytes; exit code, output, complaint."""
    done = subprocess.run(
        [sys.executable, "-B", "-m", "finassay.cli.main", *SAMPLE, *arguments, "--out", "made/tasks"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def left(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def test_a_disk_that_takes_no_task(tmp_path):
    code, out, err = sampled(tmp_path, 300, "0-2")
    assert (code, out) == (8, "")
    assert err == "error: made/tasks/us-long-only-0.json: File too large\n" + ROOM
    assert left(tmp_path) == []


def test_a_disk_that_takes_no_secret(tmp_path):
    code, out, err = sampled(tmp_path, 20, "0-2", "--secret-file", "secret")
    assert (code, out) == (8, "")
    assert err == "error: secret: File too large\n" + ROOM
    assert left(tmp_path) == []
    assert "No such file" in sampled(tmp_path, 10**6, "0", "--secret-file", "nowhere/secret")[2]
    assert left(tmp_path) == []


def refusing(name, write):
    """Stands for a disk that is full when it comes to a file of that name."""

    def full(path, value, *, mode=0o644):
        if path.name == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write(path, value, mode=mode)

    return full


def test_a_disk_that_takes_the_tasks_and_not_their_commitments(tmp_path, monkeypatch, capsys):
    """Nothing is announced; with room the same command ends what it began, under the same secret."""
    monkeypatch.chdir(tmp_path)
    command = [*SAMPLE, "0-2", "--secret-file", "secret", "--out", "tasks"]
    with monkeypatch.context() as patch:
        patch.setattr(commitments, "write_json", refusing("tasks.commitments.json", commitments.write_json))
        with pytest.raises(SystemExit, match="8"):
            main(command)
    assert capsys.readouterr() == ("", "error: tasks.commitments.json: No space left on device\n" + ROOM)
    assert not [name for name in left(tmp_path) if "commitments" in name or ".tmp" in name]
    written = {p.name: p.read_bytes() for p in (tmp_path / "tasks").iterdir()}
    assert len(written) == 3
    assert not main(command)
    assert capsys.readouterr().out.splitlines() == ["commitments, to be published: tasks.commitments.json", "3 tasks in tasks"]
    assert {p.name: p.read_bytes() for p in (tmp_path / "tasks").iterdir()} == written


@pytest.mark.parametrize("there", [(), ("0",)])
def test_a_disk_that_gets_full_on_the_way_keeps_what_was_there(tmp_path, monkeypatch, capsys, there):
    monkeypatch.chdir(tmp_path)
    if there:
        assert not main([*SAMPLE, *there, "--out", "tasks"])
    before = left(tmp_path)
    monkeypatch.setattr(tasks, "write_json", refusing("us-long-only-2.json", tasks.write_json))
    capsys.readouterr()
    with pytest.raises(SystemExit, match="8"):
        main([*SAMPLE, "0-3", "--out", "tasks"])
    assert capsys.readouterr() == ("", "error: tasks/us-long-only-2.json: No space left on device\n" + ROOM)
    assert left(tmp_path) == before


def test_what_is_announced_is_on_the_disk(tmp_path, monkeypatch):
    """Every file and every folder was synced before the first word."""
    monkeypatch.chdir(tmp_path)
    synced, announced = [], []
    sync = os.fsync

    def noted(descriptor):
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        sync(descriptor)

    def echo(text):
        announced.append((str(text), len(synced), left(tmp_path)))

    monkeypatch.setattr(files.os, "fsync", noted)
    monkeypatch.setattr(click, "echo", echo)
    assert not main([*SAMPLE, "0-1", "--out", "a/tasks", "--secret-file", "secret"])
    assert len(announced) == 2
    _, number, there = announced[0]
    assert number == len(synced)  # nothing is synced after the first word
    assert {"secret", "a/tasks.commitments.json"} <= set(there)
    assert len([name for name in there if name.startswith("a/tasks/us-long-only-")]) == 2
    assert not [name for name in there if ".tmp" in name]
    assert len([name for name in synced if ".tmp" in name]) == 4  # secret, two tasks, commitments
    assert {str(tmp_path / "a" / "tasks"), str(tmp_path / "a"), str(tmp_path)} <= set(synced)


def test_a_secret_never_takes_the_place_of_a_file(tmp_path):
    from finassay.api.errors import InvalidFileError
    from finassay.runs.commitments import make_secret, read_secret

    secret = make_secret(tmp_path / "secret")
    assert read_secret(tmp_path / "secret").digest == secret.digest
    assert oct((tmp_path / "secret").stat().st_mode & 0o777) == "0o600"
    with pytest.raises(InvalidFileError, match="is there already"):
        make_secret(tmp_path / "secret")
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(InvalidFileError, match="is there already"):
        make_secret(tmp_path / "link")
    assert left(tmp_path) == ["link", "secret"]
