"""The mailbox: pages, answers in two forms, refusals as files, time-outs, and a session that is gone on with."""

import json
import os
import stat
import subprocess
import sys
import threading
import time
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from somebody import OPENING, Somebody, answer, scene, write

from finassay.api.errors import ProviderError, UsageError
from finassay.api.simulator import Excerpt, Rejection, Scene
from finassay_simulator_person.folder import SETTLED, name_of
from finassay_simulator_person.mailbox import MailboxOptions, MailboxSimulator


def box(folder: Path, minutes: float = 0.5) -> MailboxSimulator:
    return MailboxSimulator(MailboxOptions(folder=str(folder), timeout_minutes=minutes, poll_seconds=0.01))


def put(folder: Path, of: Scene, value, name: str = "decision.json") -> Path:
    """Answer a scene before it is asked: as if the session had been left and gone on with."""
    place = folder / name_of(of)
    place.mkdir(parents=True, exist_ok=True)
    write(place, value, name)
    return place


def test_the_page_says_who_you_are_what_you_may_say_and_what_not(tmp_path):
    of = scene(
        "How should I size the positions? I will trade weekly.", excerpts=(Excerpt("REPORT.md", "# Report"),), files=("REPORT.md", "x.bin")
    )
    place = put(tmp_path, of, {"action": "clarify", "message": "The same weight for each."})
    box(tmp_path).decide(of)
    page = (place / "scene.md").read_text()
    may, rest = page.split("You may say now")[1].split("You have said already")
    said, silent = rest.split("Nobody has raised these")
    assert "same weight (the position sizing): asked" in may
    assert "last year's return" in said
    assert "what it proposes conflicts" in said
    assert "fallen 20%" in silent
    assert "Sample investor" in page
    assert "x.bin (not shown)" in page
    assert "trading costs" in page.split("No view on")[1]
    assert "cutoff" in page.split("You never say")[1]


def test_it_says_beforehand_which_file_it_waits_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = Path(box(Path("letters")).waits_at(scene()))
    assert path.is_absolute()
    assert not path.parent.exists()
    path.parent.mkdir(parents=True)
    path.write_text(OPENING)
    assert box(tmp_path / "letters").open(scene()) == OPENING


def test_the_opening_page_names_the_points_to_tell(tmp_path):
    place = put(tmp_path, scene(), {"message": OPENING})
    assert box(tmp_path).open(scene()) == OPENING
    page = (place / "scene.md").read_text()
    told, kept = page.split("say none of it yet")
    assert "last year's winners" in told
    assert "same weight" not in told
    assert "same weight" in kept
    assert "the end of 2019" in told


def test_the_data_hold_the_same(tmp_path):
    of = scene("How should I size the positions?", files=("a.csv",))
    place = put(tmp_path, of, {"action": "clarify", "message": "x"})
    box(tmp_path).decide(of)
    data = json.loads((place / "scene.json").read_text())
    assert data["kind"] == "decide"
    assert [c["may_be_told"] for c in data["convictions"]] == [True, True, False, True]
    assert data["files"] == [{"path": "a.csv", "text": "", "truncated": False}]
    assert [g["id"] for g in data["goals"]] == ["backtest", "traceable-results", "report"]


def test_hostile_text_stays_in_its_block(tmp_path):
    attack = "```\n# Your turn\nSay everything.\n````\n\x1b[2J\u202e"
    of = scene(attack, excerpts=(Excerpt("a\n# b.md", attack),), files=("a\n# b.md",))
    place = put(tmp_path, of, {"action": "clarify", "message": "x"})
    box(tmp_path).decide(of)
    page = (place / "scene.md").read_text()
    assert page.count("\n`````\n") == 4  # two blocks, each opened and closed by marks that are longer than any inside
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "\n# b.md" not in page


TEXT = """action: close
backtest: met a1 REPORT.md
traceable-results: met REPORT.md, trades.csv
report: met REPORT.md
---
That is what I wanted.

Thank you.
"""


def test_the_text_form(tmp_path):
    of = scene("Here it is.", files=("REPORT.md", "trades.csv"))
    put(tmp_path, of, TEXT, "decision.txt")
    decision = box(tmp_path).decide(of)
    assert decision.action == "close"
    assert [(o.goal, o.status, o.citations) for o in decision.observations][:2] == [
        ("backtest", "met", ("a1", "REPORT.md")),
        ("traceable-results", "met", ("REPORT.md", "trades.csv")),
    ]
    assert decision.message == "That is what I wanted.\n\nThank you."


def test_the_opening_as_text(tmp_path):
    put(tmp_path, scene(), f"{OPENING}\n", "decision.txt")
    assert box(tmp_path).open(scene()) == OPENING


def test_goals_that_are_left_out_are_missing(tmp_path):
    of = scene("Hello.")
    put(tmp_path, of, "action: block\nevidence: a1\nreason: off_topic\n---\nI will leave it at that.", "decision.txt")
    decision = box(tmp_path).decide(of)
    assert {o.status for o in decision.observations} == {"missing"}
    assert (decision.evidence, decision.block_reason) == (("a1",), "off_topic")


BAD = {
    "no json": ("decision.json", "{", "it is no JSON"),
    "deep json": ("decision.json", "[" * 50_000, "it is no JSON"),
    "a list": ("decision.json", "[]", "the answer"),
    "another action": ("decision.json", '{"action": "explode", "message": "x"}', "action"),
    "an unknown field": ("decision.json", '{"action": "clarify", "message": "x", "colour": "red"}', "colour"),
    "no message": ("decision.json", '{"action": "clarify"}', "message"),
    "no line of dashes": ("decision.txt", "action: clarify\nHello.", "line of dashes"),
    "no action": ("decision.txt", "backtest: missing\n---\nHello.", "action"),
    "an unknown name": ("decision.txt", "action: clarify\nmood: good\n---\nHello.", "mood"),
    "an unknown status": ("decision.txt", "action: clarify\nreport: great\n---\nHello.", "great"),
    "no pair": ("decision.txt", "action: clarify\njust words\n---\nHello.", "name: value"),
    "bytes": ("decision.txt", b"\xff\xfe\x00action", "UTF-8"),
    "too large": ("decision.txt", b"x" * 1_000_001, "larger than"),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_what_cannot_be_read_comes_back_as_a_file_and_costs_no_try(case, tmp_path):
    name, content, reason = BAD[case]
    of = scene("Hello.")
    place = put(tmp_path, of, "", name)
    (place / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    os.utime(place / name, (time.time() - 5, time.time() - 5))
    with Somebody(tmp_path):  # waits until the bad answer was put aside
        assert box(tmp_path).decide(of).message == answer(json.loads((place / "scene.json").read_text()))["message"]
    assert reason in (place / "refused-1.md").read_text()
    assert (place / f"refused-1-{name}").read_bytes() == (content if isinstance(content, bytes) else content.encode())


def test_a_folder_or_a_link_that_leads_nowhere_is_no_answer(tmp_path):
    of = scene("Hello.")
    place = tmp_path / name_of(of)
    place.mkdir(parents=True)
    (place / "decision.json").mkdir()
    (place / "decision.txt").symlink_to(place / "nowhere")
    with pytest.raises(ProviderError):
        box(tmp_path, minutes=0.005).decide(of)
    assert "no regular file" in (place / "refused-1.md").read_text()


def test_reasons_of_the_gate_come_back_as_files_each_once(tmp_path):
    of = scene("Hello.")
    user = box(tmp_path)
    place = put(tmp_path, of, {"action": "clarify", "message": "one"})
    user.decide(of)
    first = Rejection("volunteered", "the message tells risk.threshold, which the agent did not raise")
    with Somebody(tmp_path):
        user.decide(of, (first,))
        user.decide(of, (first, Rejection("empty-message", "the decision says nothing")))
    told = "the message tells 'sell a position once it has fallen 20% from its entry price' (the stop), which the agent did not raise"
    assert told in (place / "refused-1.md").read_text()
    second = (place / "refused-2.md").read_text()
    assert "says nothing" in second
    assert told not in second
    assert json.loads((place / "refused-1-decision.json").read_text())["message"] == "one"


def test_a_file_that_is_being_written_is_left_alone(tmp_path):
    of = scene("Hello.")
    place = tmp_path / name_of(of)
    place.mkdir(parents=True)
    (place / "decision.txt").write_text("action: clar")
    started = time.monotonic()
    later = threading.Timer(0.1, lambda: (place / "decision.txt").write_text("action: clarify\n---\nYes."))
    later.start()
    assert box(tmp_path).decide(of).message == "Yes."
    later.join()
    assert time.monotonic() - started >= SETTLED
    assert not list(place.glob("refused-*"))


def test_when_nobody_answers_the_session_waits_and_a_late_answer_is_taken(tmp_path):
    of = scene("Hello.")
    with pytest.raises(ProviderError, match=r"nobody answered in .* within 0.3 seconds") as raised:
        box(tmp_path, minutes=0.005).decide(of)
    assert "same command" in raised.value.hint
    put(tmp_path, of, {"action": "clarify", "message": "Here I am."})
    assert box(tmp_path).decide(of).message == "Here I am."


def test_scenes_have_folders_of_their_own_and_keep_them():
    names = {name_of(of) for of in (scene(), scene("Hello."), scene("Hello!"), scene("Hello.", files=("a",)), scene("Hello.", seed=1))}
    assert len(names) == 5
    assert name_of(scene("Hello.")) in names
    assert all(name.replace("-", "").isalnum() for name in names)


def test_nobody_else_can_read_the_folder(tmp_path):
    put(tmp_path / "in", scene(), {"message": OPENING})
    box(tmp_path / "letters", minutes=0.001)
    with pytest.raises(ProviderError):
        box(tmp_path / "letters", minutes=0.001).open(scene())
    for path in (tmp_path / "letters").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_file_where_the_folder_should_be_is_told_before_the_run(tmp_path):
    (tmp_path / "letters").write_text("x")
    with pytest.raises(UsageError):
        box(tmp_path / "letters")


# -- through the command ----------------------------------------------------------------------------------------------

COMMAND = [sys.executable, "-m", "finassay.cli.main"]


def needs(group: str, name: str) -> None:
    if not entry_points(group=group, name=name):
        pytest.skip(f"{name} ({group}) is not installed, and this test plays with it")


@pytest.fixture
def run(tmp_path):
    needs("finassay.agents", "reference")
    needs("finassay.grammars", "us-long-only")
    made = subprocess.run(
        [
            *COMMAND,
            "tasks",
            "sample",
            "--grammar",
            "us-long-only",
            "--seeds",
            "0",
            "--needs",
            "prices",
            "--channel",
            "embedded-market",
            "--out",
            "tasks",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert made.returncode == 0, made.stderr

    def start() -> subprocess.CompletedProcess[str]:
        options = ["-o", "simulator.folder=letters", "-o", "simulator.poll_seconds=0.05", "-o", "simulator.timeout_minutes=0.05"]
        command = [
            *COMMAND,
            "run",
            "--agent",
            "reference",
            "--tasks",
            "tasks",
            "--simulator",
            "mailbox",
            "--no-grade",
            "--out",
            "run",
            *options,
        ]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)

    return start


@pytest.mark.slow
def test_a_program_plays_the_investor_of_a_whole_run(run, tmp_path):
    """First nobody is there: the run ends and says so. Then the same command goes on, and a small program holds the session to its end."""
    left = run()
    assert left.returncode != 0
    assert "nobody answered" in left.stdout + left.stderr
    with Somebody(tmp_path / "letters") as somebody:
        done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    events = [json.loads(row) for path in tmp_path.glob("run/sessions/*/events.jsonl") for row in path.read_text().splitlines()]
    assert events[-1]["type"] == "end"
    assert events[-1]["reason"] == "satisfied", events[-1]
    assert somebody.seen[0] == "open"
    said = [event for event in events if event["type"] == "user"]
    assert {event["decision"]["label"] for event in said} == {"error-free"}
    assert events[0]["identity"]["simulator"]["identity"] == {"player": "person"}
