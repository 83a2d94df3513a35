"""What an agent with a memory is told, and what it is not."""

import os
import stat

import pytest
from attrs import evolve
from wrapped import BRIEF, One, around, box, held, lesson

from finassay.api.agent import Agent, AgentCapabilities, Setting, TurnContext
from finassay.api.conversation import Conversation, Message
from finassay.api.errors import AgentError, InvalidFileError, ProviderError, UsageError
from finassay.api.learning import Learner
from finassay.testing.fakes import FakeModels, ScriptedAgent
from finassay_memory.agent import MemoryAgent, MemoryOptions
from finassay_memory.notes import CLOSING, MESSAGE

NONE = FakeModels({})


@pytest.fixture
def memory(tmp_path):
    """A memory with the lessons of one session."""
    around(tmp_path / "memory").review(lesson(), NONE)
    return tmp_path / "memory"


def test_without_notes_the_agent_hears_the_person_alone(tmp_path):
    inner = ScriptedAgent()
    log = held(around(tmp_path / "memory", inner), "I like winners.", "Go on.", box=box(tmp_path / "work"))
    assert inner.heard == ["I like winners.", "Go on."]
    assert inner.finalized
    assert not (tmp_path / "work" / "memory").exists()
    assert "0 notes" in log[0].data["text"]


def test_notes_come_before_the_first_message_and_only_there(memory):
    first, second = ScriptedAgent(), ScriptedAgent()
    log = held(around(memory, first), "I like winners.", "Go on.")
    held(around(memory, second), "I like value.")
    told = first.heard[0]
    assert told.endswith(f"{CLOSING}\n\n{MESSAGE}\n\nI like winners.")
    assert "- No look-ahead failed, which fails the whole session. Let every fill come on a later date than its signal." in told
    assert "- Risk disclosure: 1 of 4. The report names one risk, without a figure." in told
    assert first.heard[1] == "Go on."
    assert second.heard[0].replace("I like value.", "I like winners.") == told
    digest = log[0].data["text"].split()[1].rstrip(":")
    assert (len(digest), f"memory {digest[:16]}" in told) == (64, True)


def test_notes_at_the_end_of_the_briefing(memory):
    inner = _Keeping()
    held(around(memory, inner, tell="brief"), "I like winners.")
    assert inner.heard == ["I like winners."]
    assert inner.setting.brief.instructions.startswith(BRIEF.instructions)
    assert inner.setting.brief.instructions.endswith(CLOSING)


class _Keeping(ScriptedAgent):
    def start(self, setting):
        self.setting = setting
        super().start(setting)


def test_a_turn_that_is_tried_again_is_told_the_same(memory):
    inner = ScriptedAgent([AgentError("lost"), "Noted."])
    agent = around(memory, inner)
    agent.start(Setting(BRIEF, None))
    context = TurnContext(1, 30, lambda event: None, lambda: False)
    with pytest.raises(AgentError):
        agent.send("I like winners.", context)
    agent.send("I like winners.", context)
    assert inner.heard[0] == inner.heard[1]
    assert MESSAGE in inner.heard[1]


def test_a_session_reads_what_was_there_when_it_began(memory):
    before = around(memory)
    begun = before.begins_with()
    around(memory).review(lesson("s-2"), NONE)
    old, new = _Keeping(), ScriptedAgent()
    history = Conversation((Message("u0", 0, "user", "I like winners."), Message("a1", 1, "agent", "What stop?")))
    resumed = around(memory, old)
    held(resumed, "Ten percent.", history=history, begun=begun, first=2)
    held(around(memory, new), "I like winners.")
    heard_then = old.setting.history.messages[0].text
    assert heard_then.endswith(f"{MESSAGE}\n\nI like winners.")
    assert "noted after 2 sessions" not in heard_then
    assert "noted after 2 sessions" in new.heard[0]
    assert [m.text for m in old.setting.history.messages[1:]] == ["What stop?"]
    assert old.heard == ["Ten percent."]
    assert begun["memory"] != around(memory).begins_with()["memory"]


def test_what_was_told_and_is_gone_or_changed_is_not_guessed(memory):
    begun = around(memory).begins_with()
    (kept,) = (memory / "snapshots").iterdir()
    kept.write_text(kept.read_text().replace("one risk", "two risks"))
    with pytest.raises(InvalidFileError, match="was changed"):
        held(around(memory), "Hi.", begun=begun)
    kept.unlink()
    with pytest.raises(InvalidFileError, match="not found"):
        held(around(memory), "Hi.", begun=begun)
    with pytest.raises(InvalidFileError):
        held(around(memory), "Hi.", begun={"memory": "../../memory"})


def test_each_session_has_a_number_of_its_own(memory):
    one, two = around(memory).begins_with(), around(memory).begins_with()
    assert one["memory"] == two["memory"]
    assert one["number"] != two["number"]


# -- files in the workspace -------------------------------------------------------------------------------------------


def test_the_workspace_gets_copies_that_cannot_be_written(memory, tmp_path):
    (memory / "files" / "how").mkdir(parents=True)
    (memory / "files" / "how" / "costs.md").write_text("Charge both sides.")
    inner = ScriptedAgent()
    held(around(memory, inner), "Hi.", box=box(tmp_path / "work"))
    placed = tmp_path / "work" / "memory"
    assert (placed / "files" / "how" / "costs.md").read_text() == "Charge both sides."
    assert "No look-ahead" in (placed / "MEMORY.md").read_text()
    assert sorted(p.name for p in placed.rglob("*")) == ["MEMORY.md", "costs.md", "files", "how"]  # no record, no session
    assert {stat.S_IMODE(p.stat().st_mode) for p in placed.rglob("*") if p.is_file()} == {0o444}
    assert "./memory" in inner.heard[0]
    assert list((tmp_path / "work" / "deliver").iterdir()) == []


def test_an_agent_without_a_box_is_told_of_no_files(memory):
    (memory / "files").mkdir()
    (memory / "files" / "costs.md").write_text("Charge both sides.")
    inner = ScriptedAgent()
    held(around(memory, inner), "Hi.")
    assert "./memory" not in inner.heard[0]


def test_what_an_agent_does_to_its_copy_reaches_neither_memory_nor_anything_else(memory, tmp_path):
    kept = (memory / "memory.json").read_bytes()
    begun = around(memory).begins_with()
    work, outside = tmp_path / "work", tmp_path / "outside"
    outside.mkdir()
    (outside / "MEMORY.md").write_text("mine")
    place = box(work)
    held(around(memory), "Hi.", box=place, begun=begun)
    for path in (work / "memory").iterdir():
        path.unlink()
    (work / "memory").rmdir()
    (work / "memory").symlink_to(outside)
    held(around(memory), "Hi.", box=place, begun=begun)
    assert not (work / "memory").is_symlink()
    assert [p.name for p in outside.iterdir()] == ["MEMORY.md"]
    assert (outside / "MEMORY.md").read_text() == "mine"
    (work / "memory" / "inner").symlink_to(outside)
    held(around(memory), "Hi.", box=place, begun=begun)
    assert (outside / "MEMORY.md").read_text() == "mine"
    assert sorted(p.name for p in (work / "memory").iterdir()) == ["MEMORY.md"]
    _make_deep(work / "memory", 1_500)  # too deep for a function that calls itself for each folder
    held(around(memory), "Hi.", box=place, begun=begun)
    assert sorted(p.name for p in (work / "memory").iterdir()) == ["MEMORY.md"]
    _unmake_deep(work)
    assert (memory / "memory.json").read_bytes() == kept


def _make_deep(folder, levels):
    """A chain of folders, each made in the one before."""
    current = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=current)
        deeper = os.open("d", os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = deeper
    os.close(current)


def _unmake_deep(work):
    """Take the chain away, so that whoever clears up after tests need not."""
    for aside in work.glob(".memory-*/d"):
        while (aside / "d").exists():
            (aside / "d").rename(work / "next")
            aside.rmdir()
            (work / "next").rename(aside)
        aside.rmdir()


def test_hostile_files_are_left_out_and_told(tmp_path, memory):
    secret = tmp_path / "secret"
    secret.write_text("SECRET")
    files = memory / "files"
    (files / "deliver").mkdir(parents=True)
    (files / "deliver" / "trades.csv").write_text("date")
    (files / "link.md").symlink_to(secret)
    (files / "folder").symlink_to(tmp_path)
    os.link(secret, files / "hard.md")
    os.mkfifo(files / "pipe")
    (files / "huge.md").write_bytes(b"x" * 300_000)
    (files / "binary.md").write_bytes(b"\x7fELF\x00\x01")
    (files / "escape.md").write_bytes(b"\x1b[2Jgone")
    (files / ".hidden").write_text("no")
    (files / "bad\nname").write_text("no")
    (files / "good.md").write_text("Grüße")
    inner = ScriptedAgent()
    log = held(around(memory, inner), "Hi.", box=box(tmp_path / "work"))
    assert [p.name for p in (tmp_path / "work" / "memory" / "files").iterdir()] == ["good.md"]
    told = log[1].data["text"]
    for name in ("deliver", "link.md", "folder", "hard.md", "pipe", "huge.md", "binary.md", "escape.md"):
        assert name in told
    everything = b"".join(p.read_bytes() for p in (tmp_path / "work").rglob("*") if p.is_file()) + inner.heard[0].encode()
    assert b"SECRET" not in everything


def test_files_keep_within_their_bounds(tmp_path, memory):
    (memory / "files").mkdir()
    for number in range(10):
        (memory / "files" / f"{number}.md").write_text("x" * 100)
    begun = around(memory, max_files=4).begins_with()
    assert begun["files"] == 4
    assert around(memory, max_bytes=250).begins_with()["files"] == 2
    deep = memory / "files" / "/".join("abcdefgh")
    deep.mkdir(parents=True)
    (deep / "x.md").write_text("deep")
    assert "deeper" in str(around(memory).begins_with()["skipped"])


def test_a_folder_of_files_that_is_a_link_is_not_entered(tmp_path, memory):
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "a.md").write_text("SECRET")
    (memory / "files").symlink_to(tmp_path / "else")
    begun = around(memory).begins_with()
    assert begun["files"] == 0
    assert "files" in begun["skipped"]


# -- the agent inside -------------------------------------------------------------------------------------------------


def test_it_is_the_agent_inside_and_says_both(tmp_path):
    inner = ScriptedAgent(version="2.7", capabilities=AgentCapabilities(upstreams=("anthropic",), channels=True, needs_network=True))
    components = One(inner)
    agent = MemoryAgent(MemoryOptions(agent="claude", options={"model": "m"}, memory=str(tmp_path / "m")), components)
    assert components.asked == [("agent", "claude", {"model": "m"})]
    assert agent.capabilities == inner.capabilities
    assert agent.version.startswith("claude 2.7 with memory ")
    assert [part.distribution for part in agent.parts] == ["finassay-scripted"]
    assert agent.identity["inner"]["program_version"] == "2.7"
    assert isinstance(agent, Agent)
    assert isinstance(agent, Learner)


@pytest.mark.parametrize("error", [AgentError("gone"), ProviderError("busy")])
def test_failures_pass_through_as_they_are(tmp_path, error):
    with pytest.raises(type(error)) as raised:
        held(around(tmp_path / "m", ScriptedAgent([error])), "Hi.")
    assert raised.value is error


def test_what_the_inner_agent_begins_with_reaches_it_again(tmp_path):
    class Inner(_Keeping):
        def begins_with(self):
            return {"weather": "fine"}

    inner = Inner()
    begun = around(tmp_path / "m", inner).begins_with()
    assert begun["inner"] == {"weather": "fine"}
    held(around(tmp_path / "m", inner), "Hi.", begun=begun)
    assert inner.setting.begun_with == {"weather": "fine"}


def test_no_memory_around_a_memory(tmp_path):
    inside = around(tmp_path / "one")
    with pytest.raises(UsageError, match="learns by itself"):
        around(tmp_path / "two", inside)


@pytest.mark.parametrize("review", ["ruled", "/m", "provider/", ""])
def test_a_review_that_is_neither_rules_nor_a_model_is_refused(tmp_path, review):
    with pytest.raises(ValueError, match="PROVIDER/NAME"):
        MemoryOptions(agent="a", memory=str(tmp_path), review=review)


def test_bounds_hold_for_what_is_told(memory):
    inner = ScriptedAgent()
    held(around(memory, inner, max_entries=1, max_characters=40), "Hi.")
    notes = [line for line in inner.heard[0].splitlines() if line.startswith("- ")]
    assert len(notes) == 1
    assert len(notes[0]) <= 42


def test_the_setting_is_passed_on_whole(memory, tmp_path):
    inner = _Keeping()
    agent = around(memory, inner)
    setting = Setting(BRIEF, box(tmp_path / "w"), access=object())  # type: ignore[arg-type]
    agent.start(setting)
    assert evolve(inner.setting, begun_with={}) == evolve(setting, begun_with={})
