"""Bad input on the command line: one clear line, its own exit code, nothing half-written."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


def finassay(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "finassay.cli.main", *map(str, arguments)], capture_output=True, text=True, timeout=120, cwd=cwd, check=False
    )


def one_line(done: subprocess.CompletedProcess[str], code: int, *says: str) -> None:
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for text in says:
        assert text in done.stderr, done.stderr


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    done = finassay(
        "tasks",
        "sample",
        "--grammar",
        "us-long-only",
        "--seeds",
        "0-2",
        "--needs",
        "prices",
        "--channel",
        "embedded-market",
        "--out",
        folder,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_sampling_is_reproducible(tasks, tmp_path):
    finassay(
        "tasks",
        "sample",
        "--grammar",
        "us-long-only",
        "--seeds",
        "0-2",
        "--needs",
        "prices",
        "--channel",
        "embedded-market",
        "--out",
        tmp_path,
    )
    for path in tasks.glob("*.json"):
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()


def test_show_keeps_the_strategy_sealed(tasks):
    path = sorted(tasks.glob("*.json"))[0]
    task = json.loads(path.read_text())
    hidden = [i for i in task["sealed"]["belief"]["items"] if i["id"] not in task["sealed"]["belief"]["opening"]]
    shown, revealed = finassay("tasks", "show", path).stdout, finassay("tasks", "show", path, "--reveal").stdout
    assert "sealed" in shown
    for item in hidden:
        assert item["id"] not in shown
        assert item["id"] in revealed.replace("\n", "").replace(" ", "") or item["id"].split(":")[-1] in revealed


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("tasks", "sample", "--grammar", "us-long-onli", "--out", "x"), 4, ("us-long-onli", "Did you mean 'us-long-only'")),
        (("tasks", "sample", "--grammar", "us-long-only", "--seeds", "a-b", "--out", "x"), 2, ("expected numbers",)),
        (("tasks", "sample", "--grammar", "us-long-only", "--until", "soon", "--out", "x"), 2, ("expected a date",)),
        (("run", "--agent", "reference", "--out", "x"), 2, ("no tasks were named", "finassay tasks sample")),
        (("grade", "no-such-run"), 3, ("no-such-run",)),
        (("report", "no-such-run"), 3, ("no-such-run",)),
        (("show", "no-such-run"), 3, ("no-such-run",)),
        (("conform", "agnet", "x"), 2, ("no kind 'agnet'", "agent")),
        (("conform", "agent", "no-such"), 4, ("no-such",)),
        (("new", "agent", "Bad Name"), 2, ("kebab-case",)),
        (("grammar", "size", "nope"), 4, ("nope",)),
    ],
)
def test_a_mistake_is_one_line_and_a_hint(tmp_path, arguments, code, says):
    one_line(finassay(*arguments, cwd=tmp_path), code, *says)
    assert list(tmp_path.iterdir()) == []


def test_preflight_tells_every_problem_and_writes_nothing(tasks, tmp_path):
    done = finassay(
        "run",
        "--agent",
        "no-such-agent",
        "--simulator",
        "no-such-simulator",
        "--judge",
        "no-such-judge",
        "--tasks",
        tasks,
        "--out",
        tmp_path / "run",
    )
    one_line(done, 5, "no-such-agent", "no-such-simulator", "no-such-judge")
    assert not (tmp_path / "run").exists()


def test_an_unknown_option_names_the_known_ones(tasks, tmp_path):
    done = finassay("run", "--agent", "reference", "-o", "reference.colour=red", "--tasks", tasks, "--out", tmp_path / "run")
    one_line(done, 5, "colour", "reference")


def test_a_malformed_task_names_the_file(tasks, tmp_path):
    folder = tmp_path / "tasks"
    folder.mkdir()
    for path in tasks.glob("*.json"):
        (folder / path.name).write_bytes(path.read_bytes())
    victim = sorted(folder.glob("*.json"))[1]
    victim.write_text(victim.read_text()[:-200])
    one_line(finassay("run", "--agent", "reference", "--tasks", folder, "--out", tmp_path / "run"), 3, victim.name)
    assert not (tmp_path / "run").exists()


def test_a_file_in_the_way_of_the_run_folder(tasks, tmp_path):
    (tmp_path / "run").write_text("I was here first")
    done = finassay("run", "--agent", "reference", "--tasks", tasks, "--out", tmp_path / "run")
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert (tmp_path / "run").read_text() == "I was here first"


def test_settings_from_a_file_are_checked(tasks, tmp_path):
    (tmp_path / "finassay.toml").write_text("[run]\nsesions = 3\n")
    done = finassay("run", "--agent", "reference", "--tasks", tasks, "--out", "run", cwd=tmp_path)
    one_line(done, 2, "finassay.toml", "sesions")
    (tmp_path / "finassay.toml").write_text("[run\n")
    one_line(finassay("run", "--agent", "reference", "--tasks", tasks, "--out", "run", cwd=tmp_path), 3, "not valid TOML")
