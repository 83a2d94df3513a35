"""What a person does with a rubric, through the command line: read the queue, decide, state values that are quoted or computed, and err."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from click.testing import CliRunner

from finassay.api.errors import FinassayError
from finassay_rubrics.cli.main import rubric

DEMO = Path(__file__).parents[1] / "demo"
QUERY = DEMO / "queries" / "larkspur.txt"
REPORT = {"document": "larkspur-2023", "page": 3}
SALES, PROFIT = "Net sales $ 2,248.3 $ 2,105.7 $ 1,964.2", "Operating income 317.0 265.3 284.8"
INPUTS = [
    {"name": "profit", "shown": "317.0", "scale": "millions", **REPORT, "quote": PROFIT},
    {"name": "before", "shown": "265.3", "scale": "millions", **REPORT, "quote": PROFIT},
    {"name": "sales", "shown": "2,248.3", "scale": "millions", **REPORT, "quote": SALES},
    {"name": "sales_before", "shown": "2,105.7", "scale": "millions", **REPORT, "quote": SALES},
]
MOVED = "(profit / sales - before / sales_before) * 100"
COMPUTED = {"decision": "value", "by": "desk", "unit": "percentage points", "period": "FY2023", "formula": MOVED, "inputs": INPUTS}
SCRIPT = """import json
import sys
from decimal import Decimal

x = {name: Decimal(text) for name, text in json.load(sys.stdin).items()}
print(json.dumps({"value": "up" if x["profit"] / x["sales"] > x["before"] / x["sales_before"] else "down"}))
"""


def run(*arguments, code=0):
    result = CliRunner().invoke(rubric, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit | FinassayError):
        raise result.exception
    assert result.exit_code == code, result.output
    if isinstance(result.exception, FinassayError):
        assert "\n" not in str(result.exception)
        return f"{result.exception} hint: {result.exception.hint}"
    return result.output


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    for group, name in {"finassay.sources": "corpus", "finassay.researchers": "statements-a"}.items():
        if name not in {entry.name for entry in entry_points(group=group)}:
            pytest.skip(f"{name} is not installed beside it")
    folder = tmp_path_factory.mktemp("person")
    shutil.copytree(DEMO / "corpus", folder / "corpus")
    run(*generating(folder, folder / "made"))
    return folder


def generating(whole, out):
    return ["generate", QUERY, "--cutoff", "2024-03-31", "--source", f"corpus:{whole / 'corpus'}", "--out", out]


@pytest.fixture
def made(whole, tmp_path):
    shutil.copytree(whole / "made", tmp_path / "made")
    return tmp_path / "made"


@pytest.fixture
def again(whole, made):
    return lambda: run(*generating(whole, made))


def stored(made):
    return json.loads((made / "rubric.json").read_text())


def criterion(made, name):
    return next(c for c in stored(made)["criteria"] if c["id"] == name)


def decide(made, item, data):
    (made / "queue" / f"{item}.decision.json").write_text(data if isinstance(data, str) else json.dumps(data))


def test_the_queue_shows_what_is_needed_and_takes_the_names_that_it_shows(made):
    listed = run("queue", made)
    assert listed.splitlines()[0] == "O4: Explain why operating margin moved [20.00 points]"
    for name in ("O4", "o4", "O4.1", "O4.json", "queue/O4.decision.json"):
        shown = run("queue", made, name)
        assert shown.startswith("O4  Explain why operating margin moved, 20.00 of 100 points")
        for part in ("Using only filings", "2024-03-31", "asks for words", "queue/O4.decision.json", "--drop --by", "drafts/O4"):
            assert part in shown
    entry = json.loads(run("queue", made, "O4", "--json"))
    assert entry["decide"]["file"] == "queue/O4.decision.json"
    assert [e["decision"] for e in entry["decide"]["examples"]] == ["value", "drop"]
    assert json.loads(run("queue", made, "--json"))[0]["decided"] is None


@pytest.mark.parametrize("how", ["--accept", "--drop"])
def test_a_rubric_with_points_outside_any_criterion_is_not_final(made, again, how):
    told = run("queue", made, "O4", how, "--by", "desk")
    assert "its 20.00 points stand in no criterion" in told
    said = again()
    assert "; queued" in said
    assert "not final: 80.00 of 100 points stand in criteria that can be graded; those of O4 do not" in said
    assert f"O4: {how.strip('-')} by desk; its 20.00 points stand in no criterion" in said
    assert stored(made)["status"] == "queued"
    assert f"O4 ({how.strip('-')} by desk)" in run("queue", made)
    run(
        "queue",
        made,
        "O4",
        "--value",
        "freight and resin",
        "--document",
        "larkspur-2023",
        "--quote",
        "freight and resin cost more",
        "--by",
        "desk",
    )
    assert "; final" in again()
    assert sum(float(c["points"]) for c in stored(made)["criteria"]) == 100


def test_a_dropped_criterion_leaves_its_points_to_its_siblings(made, again):
    decide(made, "O2.2", {"decision": "drop", "by": "desk"})
    again()
    assert (criterion(made, "O2.1")["points"], criterion(made, "O2.2")["points"]) == ("25.00", "0")


def test_a_computed_value_is_run_and_bound_to_quotes(whole, made, again, tmp_path):
    inputs = tmp_path / "inputs.json"
    inputs.write_text(json.dumps(INPUTS))
    run("queue", made, "O4", "--formula", MOVED, "--inputs", inputs, "--unit", "percentage points", "--period", "FY2023", "--by", "desk")
    assert "; final" in again()
    (route,) = criterion(made, "O4.1")["expected"]
    assert route["value"] == pytest.approx(317.0 / 22.483 - 265.3 / 21.057, abs=1e-9)
    kinds = [e["kind"] for e in route["evidence"]]
    assert kinds == ["source", "source", "script"]  # both figures of a line stand in one quote
    source = f"corpus:{whole / 'corpus'}"
    assert "0 faults in 10 criteria" in run("check", made, "--source", source)
    assert '"who": "person"' in (made / "sources.jsonl").read_text()
    script = made / route["evidence"][-1]["script"]
    script.write_text(script.read_text().replace("* ", "* 100 * "))
    assert "is another script now" in run("check", made, "--source", source, code=1)


def test_what_does_not_wait_can_be_decided_too(made, again):
    assert "candidate  2,248.3 millions USD" in run("queue", made, "O1.2")
    told = run("queue", made, "O1.2", "--drop", "--by", "desk")
    assert "stands in no criterion" not in told
    assert "its 20.00 points stand in no criterion" in run("queue", made, "O1", "--drop", "--by", "desk")
    (made / "queue" / "O1.decision.json").unlink()
    again()
    assert (criterion(made, "O1.1")["points"], criterion(made, "O1.2")["points"]) == ("20.00", "0")
    run("queue", made, "O1.2", "--value", "2,248.3", "--document", "larkspur-2023", "--quote", SALES, "--by", "desk")
    again()
    assert criterion(made, "O1.2")["points"] == "10.00"


def test_a_script_and_a_file_say_the_same(whole, made, again, tmp_path):
    code = tmp_path / "calc.py"
    code.write_text(SCRIPT)
    (tmp_path / "inputs.json").write_text(json.dumps(INPUTS))
    run("queue", made, "O4", "--script", code, "--inputs", tmp_path / "inputs.json", "--by", "desk", "--value", "up")
    decide(made, "O2.2", {**COMPUTED, "formula": "profit / sales * 100", "unit": "percent", "value": "14.1"})
    decide(made, "O1.2", {"decision": "value", "by": "desk", "value": "2,248.3", **REPORT, "quote": SALES})
    said = again()
    assert "; final" in said, said
    assert criterion(made, "O4.1")["expected"][0]["value"] == "up"
    assert (criterion(made, "O2.2")["kind"], criterion(made, "O1.2")["expected"][0]["value"]) == ("numeric", 2248.3)
    assert "0 faults" in run("check", made, "--source", f"corpus:{whole / 'corpus'}")
    (made / "queue" / "O2.2.decision.json").unlink()  # a decision that is taken back leaves nothing behind
    again()
    assert not any("by desk" in c["notes"] for c in stored(made)["criteria"] if c["id"] == "O2.2")


BAD = {
    "O1.1": ("{", "not JSON"),
    "O1.2": ({**COMPUTED, "formula": "profit / turnover"}, "names 'turnover', which is no input"),
    "O2.1": ({**COMPUTED, "formula": "", "script": "import socket"}, "imports socket"),
    "O2.2": ({**COMPUTED, "inputs": [{**INPUTS[0], "shown": "318.0"}], "formula": "profit"}, "does not show 318.0"),
    "O3.1": ({**COMPUTED, "inputs": [{**INPUTS[0], "document": "larkspur-2024"}], "formula": "profit"}, "is not there as of the cutoff"),
    "O3.2": ({**COMPUTED, "value": 2.5}, "the computation gives 1.5"),
    "O4.1": ({"decision": "value", "by": "desk", "value": "x", **REPORT, "quote": "nowhere at all"}, "does not stand in page 3"),
    "O5.1": ({"decision": "drop", "by": "desk", "reasn": "typo"}, "reasn"),
    "O9": ({"decision": "drop", "by": "desk"}, "there is no O9 in this rubric"),
}


def test_bad_decisions_are_a_line_each_and_stop_nothing_else(made, again):
    for item, (data, _) in BAD.items():
        decide(made, item, data)
    decide(made, "O5.2", {"decision": "drop", "by": "desk"})
    said = again().splitlines()
    for item, (_, words) in BAD.items():
        (line,) = [one for one in said if one.startswith(f"queue/{item}.decision.json is not taken: ")]
        assert words in line
        assert "(hint: " in line
    assert stored(made)["status"] == "queued"
    assert criterion(made, "O5.2")["reason"] == "dropped by desk"
    assert {c["id"] for c in stored(made)["criteria"] if c["status"] == "grounded"} == {f"O{n}.{m}" for n in (1, 2, 3) for m in (1, 2)}
    waiting = {one["item"] for one in json.loads(run("queue", made, "--json"))}
    assert waiting >= set(BAD) - {"O9"}
    for item in BAD:
        (made / "queue" / f"{item}.decision.json").unlink()
    again()
    assert {one["item"] for one in json.loads(run("queue", made, "--json"))} == {"O4"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["O4", "--accept"], "--by says who decides"),
        (["O4", "--accept", "--value", "1", "--by", "x"], "does not go with"),
        (["O4", "--value", "7", "--by", "x"], "document and quote"),
        (["O4", "--value", "7", "--document", "d", "--quote", "eight", "--by", "x"], "does not show 7"),
        (["O4", "--formula", "a", "--by", "x"], "needs inputs"),
        (["O4", "--formula", "a", "--inputs", "nowhere.json", "--by", "x"], "cannot be read"),
        (["--accept", "--by", "x"], "needs the ITEM"),
        (["O9", "--drop", "--by", "x"], "nothing of the name 'O9' waits"),
    ],
)
def test_what_cannot_be_decided_is_refused_at_once(made, options, said):
    result = CliRunner().invoke(rubric, ["queue", str(made), *options])
    assert isinstance(result.exception, FinassayError)
    assert said in str(result.exception)
    assert result.exception.hint
    assert not list((made / "queue").glob("*.decision.json"))


CHILD = "import sys; from finassay_rubrics.cli.main import rubric; rubric(sys.argv[1:])"


def traces(folder):
    return {(str(p), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()} if folder.exists() else set()


def killed(command, folder, changes):
    """Whether a process was killed (SIGKILL) as it had changed the folder for the n-th time; it may have ended before."""
    child = subprocess.Popen([sys.executable, "-c", CHILD, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    before, deadline = traces(folder), time.monotonic() + 60
    while child.poll() is None and changes and time.monotonic() < deadline:
        try:
            now = traces(folder)
        except OSError:  # a file went while it was looked at: a change
            now = before ^ {("", 0)}
        changes -= now != before
        before = now
        time.sleep(0.001)
    done = child.poll() is not None
    if not done:
        os.kill(child.pid, signal.SIGKILL)
    child.wait(timeout=30)
    return not done


def test_killed_with_decisions_halfway_applied_the_same_command_goes_on(whole, made, again, tmp_path):
    decided = {
        "O4": COMPUTED,
        "O2.2": {**COMPUTED, "formula": "profit / sales * 100", "unit": "percent"},
        "O1.1": {"decision": "drop", "by": "desk"},
    }
    for item, data in decided.items():
        decide(made, item, data)
    shutil.copytree(made, tmp_path / "whole")
    run(*generating(whole, tmp_path / "whole"))
    expected = stored(tmp_path / "whole")
    assert expected["status"] == "final"
    kills = sum(killed(generating(whole, made), made, changes) for changes in (1, 2, 4, 7))
    assert kills >= 2
    assert "; final" in again()
    assert stored(made) == expected
    assert {p.name for p in (made / "scripts").iterdir()} == {p.name for p in (tmp_path / "whole" / "scripts").iterdir()}
    assert {p.name for p in (made / "queue").iterdir() if not p.name.startswith(".")} >= {f"{item}.decision.json" for item in decided}


def test_killed_from_the_start_nothing_is_lost(whole, tmp_path):
    out = tmp_path / "made"
    kills = sum(killed(generating(whole, out), out, changes) for changes in (2, 5, 9, 14))
    assert kills >= 2
    run(*generating(whole, out))
    assert stored(out) == stored(whole / "made")
