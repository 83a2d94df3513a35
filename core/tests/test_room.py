"""How much an agent may keep in its workspace: counted while it works and when its turn is over; beyond it the session ends and says so."""

import os
import time

import pytest
from attrs import evolve
from test_session import REPORT, make, state

from finassay.api.errors import ResourceLimitError
from finassay.session import turns
from finassay.session.room import DEEP, Lookout, Room, excess
from finassay.testing.fakes import ScriptedAgent

FEW = Room(entries=20, size=2**20)


def filled(folder, number, *, inside=""):
    (folder / inside).mkdir(parents=True, exist_ok=True)
    for n in range(number):
        (folder / inside / f"f{n}").touch()
    return folder


def test_files_folders_and_links_count_as_entries(tmp_path):
    assert excess(filled(tmp_path, 18, inside="a"), FEW) == ""  # and the folder
    os.symlink("/", tmp_path / "link")
    assert excess(tmp_path, FEW) == ""
    (tmp_path / "more").mkdir()
    assert excess(tmp_path, FEW) == "more than 20 files and folders in the workspace"
    assert excess(tmp_path, Room()) == ""
    assert excess(tmp_path / "nowhere", FEW) == ""


def test_bytes_count_as_the_disk_holds_them(tmp_path):
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 2**40)
    (tmp_path / "half").write_bytes(os.urandom(600 * 1024))
    os.link(tmp_path / "half", tmp_path / "same")
    assert excess(tmp_path, FEW) == ""
    (tmp_path / "other").write_bytes(os.urandom(600 * 1024))
    assert excess(tmp_path, FEW) == "more than 0.000977 GiB in the workspace"


def test_depth_is_no_hiding_place(tmp_path):
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(DEEP + 1):
        os.mkdir("d" * 40, dir_fd=here)
        deeper = os.open("d" * 40, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    assert "deep" in excess(tmp_path, Room())


def test_paths_that_get_too_long_before_they_get_too_deep(tmp_path):
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(40):
        os.mkdir("d" * 200, dir_fd=here)
        deeper = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    assert "deep" in excess(tmp_path, Room())


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is locked for root")
def test_a_locked_folder_is_counted_when_nothing_runs(tmp_path):
    filled(tmp_path, 30, inside="locked")
    (tmp_path / "locked").chmod(0)
    assert excess(tmp_path, FEW) == ""
    assert "more than 20" in excess(tmp_path, FEW, quiet=True)


class Box:
    def __init__(self, workspace=None):
        self.workspace, self.inside, self.stopped = workspace, "/workspace", 0

    def stop(self):
        self.stopped += 1

    def close(self):
        self.stop()


def test_a_turn_whose_workspace_gets_too_full_is_stopped_while_it_runs(tmp_path):
    box = Box()

    def fill(message, context):
        filled(tmp_path, 30)
        while not box.stopped:
            time.sleep(0.01)
        return "I made a mess."

    started = time.monotonic()
    lookout = Lookout(lambda: excess(tmp_path, FEW), every=0.05)
    outcome = turns.run_turn(ScriptedAgent((fill,)), box, "hello", 1, 60, lambda text: text, turns.AgentThread(), lookout)
    assert time.monotonic() - started < 10
    assert isinstance(outcome.error, ResourceLimitError)
    assert str(outcome.error) == "more than 20 files and folders in the workspace"
    assert (outcome.text, outcome.cut) == ("I made a mess.", False)


def test_looking_takes_little_and_never_outlasts_the_turn():
    slow = Lookout(lambda: time.sleep(0.1) or "", every=0.01)
    assert slow.pause(100) == 0.01
    slow.excess()
    assert slow.pause(100) >= 2
    assert slow.pause(2.1) == 2.1  # no count that would end after the turn's time


def test_the_clock_of_a_turn_is_kept_beside_the_looks(tmp_path):
    box, looks = Box(), []

    def wait(message, context):
        while not context.cut():
            time.sleep(0.005)
        return "late"

    started = time.monotonic()
    lookout = Lookout(lambda: looks.append(1) or "", every=0.05)
    outcome = turns.run_turn(ScriptedAgent((wait,)), box, "hello", 1, 0.4, lambda text: text, turns.AgentThread(), lookout)
    assert outcome.cut
    assert time.monotonic() - started < 3
    assert looks


def holding(tmp_path, *replies, files=()):
    """A session in a box, with little room."""
    made = make(tmp_path, ScriptedAgent(replies, files))
    made.who = evolve(made.who, box=Box(tmp_path / "workspace"))
    made.store = evolve(made.store, room=FEW)
    return made


def test_a_session_that_goes_beyond_ends_and_the_record_says_why(tmp_path):
    def fill(message, context):
        filled(tmp_path / "workspace", 30, inside="many")
        return "Here is the report."

    ending = holding(tmp_path, fill, files=({"REPORT.md": REPORT},)).hold({}, "d")
    recorded = state(tmp_path)
    assert ending.reason == recorded.ended == "resource_limit"
    assert ending.detail == recorded.end_detail == "more than 20 files and folders in the workspace"
    assert ending.blame == "agent"
    assert [m.text for m in recorded.conversation.of("agent")] == ["Here is the report."]
    assert [f.path for f in recorded.deliveries[0].files] == ["REPORT.md"]  # what was delivered is recorded all the same


def test_an_agent_that_fails_and_goes_beyond_is_not_tried_again(tmp_path):
    from finassay.api.errors import AgentError

    calls = []

    def fail(message, context):
        calls.append(message)
        filled(tmp_path / "workspace", 30)
        raise AgentError("out of space")

    assert holding(tmp_path, fail).hold({}, "d").reason == "resource_limit"
    assert len(calls) == 1


def test_without_a_box_nothing_is_counted(tmp_path):
    made = make(tmp_path, ScriptedAgent(("Done.",)))
    made.store = evolve(made.store, room=Room(entries=1, size=1))
    filled(tmp_path / "workspace", 5)
    assert made.hold({}, "d").reason != "resource_limit"
