"""The session loop, with the scripted fakes: ends, limits, retries, crashes, resuming."""

import json
import time
from pathlib import Path

import pytest

from finassay.api.agent import AgentCapabilities
from finassay.api.delivery import LogEvent
from finassay.api.errors import AgentError, BudgetError, IntegrityError, ProviderError, ProviderRefusedError, SimulatorError
from finassay.api.simulator import Decision, Observation, Scene
from finassay.api.task import Brief
from finassay.records.blobs import BlobStore
from finassay.records.events import EventLog, restore
from finassay.session import turns
from finassay.session.loop import NullObserver, Participants, Session, Store, Unfinished
from finassay.testing.fakes import MemorySandbox, ScriptedAgent, ScriptedSimulator, met
from finassay.testing.samples import sample_persona, sample_task

REPORT = b"# Report\nSummary. The return was 8%, the Sharpe ratio 0.7, the drawdown 20%, in 120 trades, the first on 2015-02-02 at 31.20.\nMethod. Results. Limitations.\n"
GOALS = ("backtest", "traceable-results", "report")
CLOSE = Decision("close", met(GOALS, "REPORT.md"), "That settles it, thanks.")


def make(folder: Path, agent: ScriptedAgent, simulator: ScriptedSimulator | None = None, *, task=None, probe=lambda: True) -> Session:
    workspace = folder / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    agent.workspace = workspace
    task = task or sample_task()
    brief = Brief("abc", "Work in ./deliver.", task.conditions.max_turns, task.conditions.turn_seconds, (), False)
    who = Participants(task, sample_persona(), agent, simulator or ScriptedSimulator(), brief, None, probe)
    return Session(who, Store(EventLog(folder / "events.jsonl"), EventLog(folder / "sealed.jsonl"), BlobStore(folder / "blobs"), workspace))


def state(folder: Path):
    return restore(EventLog(folder / "events.jsonl"), EventLog(folder / "sealed.jsonl"))


def test_a_satisfied_user_ends_the_session(tmp_path):
    agent = ScriptedAgent(("Here is the report.",), ({"REPORT.md": REPORT},))
    ending = make(tmp_path, agent, ScriptedSimulator((CLOSE,))).hold({"task": "t"}, "d")
    recorded = state(tmp_path)
    assert ending.reason == recorded.ended == "satisfied"
    assert [m.id for m in recorded.conversation.messages] == ["u0", "a1", "u1"]
    assert recorded.deliveries[0].files[0].path == "REPORT.md"
    assert recorded.log[0].kind == "tool-call"
    assert agent.finalized


def test_whoever_watches_is_told_whom_a_session_waits_for(tmp_path):
    class Watching(NullObserver):
        def __init__(self) -> None:
            self.seen: list[object] = []

        def turn_started(self, turn: int) -> None:
            self.seen.append(turn)

        def user_asked(self, turn: int, tries: int, where: str) -> None:
            self.seen.append((turn, tries, where))

    class Elsewhere(ScriptedSimulator):
        def waits_at(self, scene: Scene) -> str:
            return f"box/{len(scene.conversation.messages)}"

    session = make(tmp_path, ScriptedAgent(), Elsewhere())
    session.observer = watching = Watching()
    session.hold({}, "d")
    assert watching.seen[:3] == [(0, 0, "box/0"), 1, (1, 0, "box/2")]


def test_a_simulator_that_cannot_say_where_it_waits_is_asked_all_the_same(tmp_path):
    class Broken(ScriptedSimulator):
        def waits_at(self, scene: Scene) -> str:
            raise ValueError(scene.task.id)

    assert make(tmp_path, ScriptedAgent(), Broken()).hold({}, "d").reason != "simulator_void"


def test_the_opening_states_the_opening_items(tmp_path):
    make(tmp_path, ScriptedAgent()).hold({}, "d")
    assert state(tmp_path).stated >= {"stock.factor:mom_12_1", "execution.schedule:monthly"}


def test_the_turn_limit(tmp_path):
    ending = make(tmp_path, ScriptedAgent(), task=sample_task(max_turns=3)).hold({}, "d")
    assert ending.reason == "turn_limit"
    assert state(tmp_path).turn == 3


@pytest.mark.parametrize(
    ("reason", "expected"), [("off_topic", "user_walked_away"), ("gave_up", "agent_gave_up"), ("refused", "agent_gave_up")]
)
def test_a_block_ends_without_satisfaction(tmp_path, reason, expected):
    observations = tuple(Observation(goal, "missing") for goal in GOALS)
    block = Decision("block", observations, "I will stop here.", ("a1",), reason)
    assert make(tmp_path, ScriptedAgent(), ScriptedSimulator((block,))).hold({}, "d").reason == expected


def test_an_invalid_decision_is_regenerated_six_times_then_void(tmp_path):
    simulator = ScriptedSimulator((Decision("close", met(GOALS, "a1"), "Thanks."),))  # nothing of the results is in a1
    ending = make(tmp_path, ScriptedAgent(("Hello.",)), simulator).hold({}, "d")
    assert ending.reason == "simulator_void"
    refused = [e for e in EventLog(tmp_path / "sealed.jsonl").read() if e["type"] == "refused"]
    assert len(refused) == 7
    assert "close-without-results" in refused[0]["reasons"][0]["rule"]


def test_a_volunteered_item_is_never_sent(tmp_path):
    observations = tuple(Observation(goal, "missing") for goal in GOALS)
    simulator = ScriptedSimulator((Decision("follow_up", observations, "Give every position the same weight."),))
    ending = make(tmp_path, ScriptedAgent(("Working on it.",)), simulator).hold({}, "d")
    assert ending.reason == "simulator_void"
    assert "same weight" not in (tmp_path / "events.jsonl").read_text()
    assert "portfolio.weighting:equal" in (tmp_path / "sealed.jsonl").read_text()


def test_the_events_hold_nothing_of_the_belief(tmp_path):
    make(tmp_path, ScriptedAgent()).hold({}, "d")
    text = (tmp_path / "events.jsonl").read_text()
    for secret in ("portfolio.weighting", "same weight", "risk.threshold", "20%"):
        assert secret not in text


def test_a_crashing_simulator_voids(tmp_path):
    assert make(tmp_path, ScriptedAgent(), ScriptedSimulator((RuntimeError("boom"),))).hold({}, "d").reason == "simulator_void"


def test_the_end_of_a_void_session_quotes_no_belief(tmp_path):
    sentence = sample_task().belief.items[2].sentence
    ending = make(tmp_path, ScriptedAgent(), ScriptedSimulator((RuntimeError(f"bad reply to: {sentence}"),))).hold({}, "d")
    assert ending.reason == "simulator_void"
    assert ending.detail.startswith("RuntimeError: bad reply to:")
    assert "fallen 20%" in sentence
    assert "fallen 20%" not in (tmp_path / "events.jsonl").read_text()


@pytest.mark.parametrize("error", [ProviderError("down"), BudgetError("spent"), SimulatorError("no decision")])
def test_a_user_whose_model_is_away_leaves_the_session_to_be_gone_on_with(tmp_path, error):
    if isinstance(error, SimulatorError):
        error.__cause__ = ProviderError("down")
    with pytest.raises(Unfinished) as told:
        make(tmp_path, ScriptedAgent(), ScriptedSimulator((error,))).hold({}, "d")
    assert str(told.value) in ("down", "spent")
    assert state(tmp_path).ended is None
    assert state(tmp_path).turn == 1
    make(tmp_path, ScriptedAgent()).hold({}, "d")
    assert state(tmp_path).ended is not None


def test_an_agent_error_is_retried_once_in_the_turn(tmp_path):
    calls = []

    def flaky(message, context):
        calls.append(message)
        if len(calls) == 1:
            raise AgentError("lost its protocol")
        return "Recovered."

    agent = ScriptedAgent((flaky,))
    make(tmp_path, agent, task=sample_task(max_turns=1)).hold({}, "d")
    recorded = state(tmp_path)
    assert recorded.conversation.messages[1].text == "Recovered."
    assert recorded.turns[0].failed_attempts == 1


@pytest.mark.parametrize("error", [ProviderError("down"), ProviderRefusedError("wrong key", any_request=True), BudgetError("spent")])
def test_an_agent_whose_model_is_away_goes_on_later(tmp_path, error):
    with pytest.raises(Unfinished) as told:
        make(tmp_path, ScriptedAgent(("One.", error))).hold({}, "d")
    assert told.value.of_agent
    assert (state(tmp_path).ended, state(tmp_path).turn) == (None, 1)
    make(tmp_path, ScriptedAgent(("Two.",))).hold({}, "d")
    assert [m.text for m in state(tmp_path).conversation.of("agent")][:2] == ["One.", "Two."]


@pytest.mark.parametrize(
    ("error", "working", "expected"),
    [
        (AgentError("x"), True, "agent_error"),
        (AgentError("x"), False, "environment_error"),
        (ProviderRefusedError("the one request"), True, "environment_error"),
        (IntegrityError("x"), True, "integrity_violation"),
        (ValueError("a bug of the adapter"), True, "environment_error"),
    ],
)
def test_whose_failure_it_was(tmp_path, error, working, expected):
    ending = make(tmp_path, ScriptedAgent((error,)), probe=lambda: working).hold({}, "d")
    assert ending.reason == expected


def test_a_turn_over_its_time_is_cut_and_the_session_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "GRACE_SECONDS", 1.0)

    def slow(message, context):
        while not context.cut():
            time.sleep(0.01)
        return "this far"

    agent = ScriptedAgent((slow, "Done."), ({"half.csv": b"date\n"},))
    make(tmp_path, agent, task=sample_task(max_turns=2, turn_seconds=0.2)).hold({}, "d")
    recorded = state(tmp_path)
    assert [t.cut for t in recorded.turns] == [True, False]
    assert recorded.conversation.messages[1].text == "this far"
    assert recorded.conversation.messages[1].cut
    assert recorded.deliveries[0].files[0].path == "half.csv"


def test_an_adapter_that_ignores_its_deadline_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "GRACE_SECONDS", 0.1)
    agent = ScriptedAgent((lambda m, c: time.sleep(3) or "late", "Done."))
    started = time.monotonic()
    make(tmp_path, agent, task=sample_task(max_turns=1, turn_seconds=0.1)).hold({}, "d")
    assert time.monotonic() - started < 2
    assert state(tmp_path).turns[0].cut


class Killed(BaseException):
    """Stands for kill -9: nothing is caught, nothing is cleaned up."""


@pytest.mark.parametrize("at", range(1, 14))
def test_a_kill_at_any_write_loses_no_finished_turn(tmp_path, at, monkeypatch):
    """The n-th append of the session dies half-written; the same session then goes on and ends like an undisturbed one."""
    script = tuple(f"Reply {n}." for n in range(1, 4))
    files = tuple({"data.csv": f"turn,{n}\n".encode()} for n in range(1, 4))
    real, count = EventLog.append, [0]

    def dying(self, *events, **how):
        count[0] += 1
        if count[0] == at:
            self._open()
            with open(self.path, "ab") as stream:
                stream.write(json.dumps(events[0]).encode()[:20])
            raise Killed
        real(self, *events, **how)

    monkeypatch.setattr(EventLog, "append", dying)
    task = sample_task(max_turns=3)
    try:
        make(tmp_path, ScriptedAgent(script, files), task=task).hold({}, "d")
        killed = False
    except Killed:
        killed = True
    monkeypatch.setattr(EventLog, "append", real)
    before = state(tmp_path)
    assert killed or before.ended == "turn_limit"
    ending = make(tmp_path, ScriptedAgent(script, files), task=task).hold({}, "d")
    after = state(tmp_path)
    assert ending.reason == after.ended == "turn_limit"
    assert after.conversation.messages[: len(before.conversation.messages)] == before.conversation.messages
    assert [m.text for m in after.conversation.of("agent")] == list(script)
    assert len(after.deliveries) == 3
    assert after.stated >= before.stated


def test_a_finished_session_is_not_held_again(tmp_path):
    make(tmp_path, ScriptedAgent(), task=sample_task(max_turns=1)).hold({}, "d")
    agent = ScriptedAgent()
    make(tmp_path, agent, task=sample_task(max_turns=1)).hold({}, "d")
    assert agent.heard == []


def test_resuming_puts_the_delivery_back(tmp_path):
    make(tmp_path, ScriptedAgent(("One.",), ({"a.csv": b"1\n"},)), task=sample_task(max_turns=2)).hold({}, "d")
    log = (tmp_path / "events.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "events.jsonl").write_bytes(b"".join(log[:3]))  # session, u0, a1: killed before the user's reply
    (tmp_path / "workspace" / "deliver" / "a.csv").write_bytes(b"half-written by the turn that was killed")
    make(tmp_path, ScriptedAgent(("Two.",)), task=sample_task(max_turns=2)).hold({}, "d")
    first, second = state(tmp_path).deliveries
    assert first.files == second.files


def test_a_box_is_stopped_when_the_time_is_up(tmp_path):
    from finassay.api.sandbox import BoxSpec

    box = MemorySandbox().open(BoxSpec(tmp_path))
    agent = ScriptedAgent((lambda m, c: ([time.sleep(0.01) for _ in iter(c.cut, True)] and "x") or "x",))
    agent.capabilities = AgentCapabilities(uses_box=True)
    outcome = turns.run_turn(agent, box, "hello", 1, 0.1, lambda text: text, turns.AgentThread())
    assert outcome.cut
    assert box.stopped == 1


def test_secrets_are_taken_out_of_what_is_stored(tmp_path):
    from attrs import evolve

    session = make(tmp_path, ScriptedAgent(("My key is sk-secret.",)), task=sample_task(max_turns=1))
    session.who = evolve(session.who, redact=lambda text: text.replace("sk-secret", "[redacted]"))
    session.hold({}, "d")
    assert "sk-secret" not in (tmp_path / "events.jsonl").read_text()


def test_what_still_runs_when_an_agent_ends_its_turn_is_stopped_before_the_delivery_is_taken():
    stops: list[str] = []

    class Box:
        def stop(self):
            stops.append("stopped")

    outcome = turns.run_turn(ScriptedAgent(("done",)), Box(), "hello", 1, 5, lambda text: text, turns.AgentThread())
    assert (outcome.text, outcome.cut, stops) == ("done", False, ["stopped"])


def test_the_log_of_a_turn_is_bounded_as_a_whole(monkeypatch):
    monkeypatch.setattr(turns, "MAX_LOG_CHARACTERS", 50_000)

    def flood(message, context):
        for _ in range(100):
            context.log(LogEvent(1, "tool-result", {"output": "x" * 10_000, "more": [{"k": "y"}, 7, None]}, 0.0))
        return "done"

    outcome = turns.run_turn(ScriptedAgent((flood,)), None, "hello", 1, 5, lambda text: text, turns.AgentThread())
    assert len(outcome.log) == 101
    assert sum(len(str(event.data)) for event in outcome.log) < 60_000
    assert outcome.log[-1].data == {"left_out": "the log of this turn is full"}
