"""The demo's steps, with the installed families, source and sandbox; and the commands around a rubric."""

import json
import re
import shutil
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from click.testing import CliRunner

from finassay.api.errors import FinassayError
from finassay_rubrics.cli.main import rubric

DEMO = Path(__file__).parents[1] / "demo"
NEEDED = {"finassay.sources": "corpus", "finassay.researchers": "statements-a"}
CUTOFF = ["--cutoff", "2024-03-31"]


def run(*arguments, code=0):
    result = CliRunner().invoke(rubric, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit | FinassayError):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output if code == 0 or isinstance(result.exception, SystemExit) else str(result.exception)


@pytest.fixture(scope="module")
def rubrics(tmp_path_factory):
    for group, name in NEEDED.items():
        if name not in {entry.name for entry in entry_points(group=group)}:
            pytest.skip(f"{name} is not installed beside it")
    folder = tmp_path_factory.mktemp("demo")
    shutil.copytree(DEMO / "corpus", folder / "corpus")
    for query in ("larkspur", "tamarind"):
        source = f"corpus:{folder / 'corpus'}"
        run("generate", DEMO / "queries" / f"{query}.txt", *CUTOFF, "--source", source, "--out", folder / query)
    return folder


def graded(rubrics, query):
    return json.loads(run("grade", "--json", rubrics / query, DEMO / "answers" / f"{query}.json"))


@pytest.mark.parametrize("query", ["larkspur", "tamarind"])
def test_right_answers_on_either_convention_and_wrong_ones(rubrics, query):
    right, other, wrong = graded(rubrics, query).values()
    assert (right["points"], right["all_pass"]) == ("100.00", True)
    assert (other["points"], other["all_pass"]) == ("100.00", True)
    assert right["routes"] != other["routes"]
    assert float(wrong["points"]) < 50
    assert wrong["gated_points"] == "0.00"


def test_what_cannot_be_grounded_waits(rubrics):
    made = json.loads((rubrics / "larkspur" / "rubric.json").read_text())
    assert [o["what"] for o in made["obligations"] if not o["graded"]] == ["Explain why operating margin moved"]
    assert "O4: " in run("queue", rubrics / "larkspur")
    assert made["status"] == "queued"
    assert json.loads((rubrics / "tamarind" / "rubric.json").read_text())["status"] == "final"


def test_nothing_undated_or_later_was_seen(rubrics):
    for query in ("larkspur", "tamarind"):
        log = (rubrics / query / "sources.jsonl").read_text()
        assert "larkspur-2023" in log or "tamarind-2023" in log
        assert "larkspur-2024" not in log
        assert "draft" not in log


def test_checked_again_it_holds_until_something_changes(rubrics, tmp_path):
    made = tmp_path / "tamarind"
    shutil.copytree(rubrics / "tamarind", made)
    shutil.copytree(rubrics / "corpus", tmp_path / "corpus")
    source = f"corpus:{tmp_path / 'corpus'}"
    assert "0 faults in 2 criteria" in run("check", made, "--source", source)
    assert "no source was given" in run("check", made)
    script = next((made / "scripts").glob("*.py"))
    script.write_text(script.read_text() + "\n# changed\n")
    assert "is another script now" in run("check", made, "--source", source, code=1)
    page = tmp_path / "corpus" / "tamarind-2023.jsonl"
    page.write_text(page.read_text().replace("776,035", "776,036"))
    assert "does not stand on page" in run("check", made, "--source", source, code=1)


@pytest.mark.parametrize(
    ("file", "change", "told"),
    [
        ("larkspur-2023.jsonl", None, "larkspur-2023 is in no source any more"),
        ("documents.jsonl", ("2024-02-16", "2024-06-01"), "larkspur-2023 is dated 2024-06-01 now, after the cutoff 2024-03-31"),
        ("documents.jsonl", ("2024-02-16", "2024-02-20"), "larkspur-2023 was published 2024-02-20, not 2024-02-16"),
        ("documents.jsonl", ('"published": "2024-02-16", ', ""), "larkspur-2023 is undated now"),
        (
            "larkspur-2023.jsonl",
            ("CONSOLIDATED STATEMENTS", "Consolidated statements"),
            "is another text now; the quote still stands there",
        ),
    ],
)
def test_what_became_of_a_source_is_told_in_one_line(rubrics, tmp_path, file, change, told):
    shutil.copytree(rubrics / "corpus", tmp_path / "corpus", ignore=shutil.ignore_patterns(".finassay-index"))
    path = tmp_path / "corpus" / file
    if change is None:
        path.unlink()
    else:
        before = path.read_text()
        path.write_text(before.replace(*change))
        assert path.read_text() != before
    shown = run("check", rubrics / "larkspur", "--source", f"corpus:{tmp_path / 'corpus'}", code=1)
    lines = [line for line in shown.splitlines() if told in line]
    assert lines
    if "another text" not in told:
        assert len(lines) == 1
        assert all(f"O{n}.1" in lines[0] for n in (1, 2, 3))
        assert "1 fault in 10 criteria" in shown


def test_a_person_decides_from_the_command_line(rubrics, tmp_path):
    made = tmp_path / "larkspur"
    shutil.copytree(rubrics / "larkspur", made)
    assert "wait for a person" in run("queue", made)
    assert json.loads(run("queue", made, "O4", "--json"))["item"] == "O4"
    assert "--by says who" in run("queue", made, "O4", "--accept", code=1)
    assert "nothing of the name" in run("queue", made, "O9", "--drop", "--by", "desk", code=1)
    quote = "freight and resin cost more than the year before"
    told = ["--value", "freight and resin costs", "--document", "larkspur-2023", "--quote", quote, "--by", "desk"]
    run("queue", made, "O4.1", *told)
    again = run("generate", DEMO / "queries" / "larkspur.txt", *CUTOFF, "--source", f"corpus:{rubrics / 'corpus'}", "--out", made)
    assert "; final" in again
    said = next(c for c in json.loads((made / "rubric.json").read_text())["criteria"] if c["id"] == "O4.1")
    assert (said["status"], said["points"], said["expected"][0]["value"]) == ("grounded", "20.00", "freight and resin costs")


def test_pages_show_everything_and_run_nothing(rubrics, tmp_path):
    assert "rubric.html" in run("show", rubrics / "tamarind")
    page = (rubrics / "tamarind" / "rubric.html").read_text()
    assert "inventory turnover" in page
    assert "7.3908 times" in page
    hostile = json.loads((rubrics / "tamarind" / "rubric.json").read_text())
    hostile["query"] = "<script>alert(1)</script> \u202eright to left [link](javascript:x)"
    (tmp_path / "rubric.json").write_text(json.dumps(hostile))
    shown = run("show", "--format", "html", tmp_path)
    assert "<script" not in shown
    assert "\u202e" not in shown
    told = run("show", "--format", "markdown", tmp_path)
    assert not re.search(r"(?<!\\)\]\(javascript", told)
    assert "\\<script" in told
    assert not (tmp_path / "rubric.html").exists()  # only a folder of our own is written to


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["", "--cutoff", "2024-03-31"], "the query is empty"),
        (["What was the revenue of X in FY2023?", "--cutoff", "2999-01-01"], "lies ahead"),
        (["What was the revenue of X in FY2023?", "--cutoff", "soon"], "expected a date"),
    ],
)
def test_what_cannot_be_asked_is_one_line(rubrics, tmp_path, arguments, said):
    out = tmp_path / "r"
    assert said in run("generate", *arguments, "--source", f"corpus:{rubrics / 'corpus'}", "--out", out, code=1)
    assert not out.exists()
