"""Runs whose user and judge are models: kept, gone on with, paid for, and with nothing in the open that should be sealed."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from finassay.api.usage import Usage
from finassay.catalog.catalog import Catalog
from finassay.cli.main import main
from finassay.models.ledger import read_ledger
from finassay.records.tasks import write_task
from finassay.runs.folder import RunFolder, SessionKey
from finassay.runs.grade import Grader, scorecards
from finassay.runs.view import run_view
from finassay.testing.samples import sample_belief, sample_task

KEY = "sk-planted-0123456789abcdef"
MARKER = "QZMARKERQZ"
HOLD = ("--simulator", "talker", "-o", "simulator.model=fakery/m", "--sandbox", "nowhere", "--jobs", "2", "--turns", "2")
JUDGE = ("--judge", "reader-aloud", "-o", "judge.model=fakery/m")
PRICES = "[run]\nreader = 'none'\n[run.models.fakery]\npatience_seconds = 0\n[run.models.fakery.prices.m]\ninput = 1000\noutput = 1000\n"
CALL = 1.1
"""Dollars of one call at those prices."""


class Bench:
    """A working folder with tasks, the distribution `fakery` on the path, and its switches."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        self.switches = folder / "switches"
        self.switches.mkdir()
        self.run_folder = RunFolder(folder / "run")

    def tasks(self, *names: str) -> None:
        belief = sample_belief()
        for name in names:
            sentence = f"give every position the same weight, which is called {MARKER} by the family of task {name}"
            marked = evolve(belief.items[1], sentence=sentence)
            task = sample_task(evolve(belief, items=(belief.items[0], marked, *belief.items[2:])))
            write_task(self.folder / "tasks" / f"{name}.json", evolve(task, id=name))

    def settings(self, text: str) -> None:
        (self.folder / "finassay.toml").write_text(text)

    def down(self, down: bool = True, only: str = "") -> None:
        if down:
            (self.switches / "down").write_text(only)
        else:
            (self.switches / "down").unlink()

    def calls(self) -> Counter[str]:
        path = self.switches / "calls"
        return Counter(path.read_text().split()) if path.exists() else Counter()

    def finassay(self, *arguments: object) -> tuple[int, str]:
        """Exit code and everything that was printed."""
        code: Any
        try:
            code = main([str(a) for a in arguments])
        except SystemExit as stop:
            code = stop.code
        out, err = self.capsys.readouterr()
        return int(code or 0), out + err

    def run(self, *more: object, agent: str = "worker", hold: tuple[str, ...] = HOLD) -> tuple[int, str]:
        return self.finassay("run", "--agent", agent, "--tasks", self.folder / "tasks", "--out", self.run_folder.root, *hold, *more)

    def ended(self) -> dict[str, str | None]:
        return {key.id: self.run_folder.state(key).ended for key in self.run_folder.sessions()}


@pytest.fixture
def bench(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "offered"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAKERY_SWITCHES", str(tmp_path / "switches"))
    monkeypatch.setenv("FAKERY_API_KEY", KEY)
    one = Bench(tmp_path, capsys)
    one.settings(PRICES)
    return one


@pytest.fixture
def quick(bench, monkeypatch):
    """Nothing else is installed, and gradings happen in this process: neither checks nor new processes cost time."""
    everything = Catalog.installed().offers()
    alone = Catalog(o for o in everything if o.distribution == "fakery")
    monkeypatch.setattr(Catalog, "installed", classmethod(lambda cls: alone))

    @contextmanager
    def here(root: Path, settings: Any, processes: int) -> Iterator[Any]:
        made: list[Grader] = []

        def submit(key: SessionKey) -> "Future[Any]":
            future: Future[Any] = Future()
            try:
                made[:] = made or [Grader(root, settings)]
                future.set_result(made[0].grade(key))
            except Exception as error:
                future.set_exception(error)
            return future

        yield submit

    monkeypatch.setattr("finassay.runs.grade.grading_pool", here)


def leaks(root: Path, words: tuple[str, ...], *, sealed: bool) -> list[str]:
    """Files of a run that hold one of the words, of the sealed ones or of the open ones."""
    folder = RunFolder(root)
    files = [p for p in root.rglob("*") if p.is_file() and folder.is_sealed(p) == sealed]
    return [str(p.relative_to(root)) for p in files if any(w.encode() in p.read_bytes() for w in words)]


# -- a run from its beginning to its end ------------------------------------------------------------------------------


def test_a_run_is_played_and_graded_by_models_and_says_so(bench):
    bench.tasks("one")
    code, said = bench.run(*JUDGE)
    assert code == 0, said
    key = bench.run_folder.sessions()[0]
    simulator = bench.run_folder.state(key).identity["simulator"]["identity"]
    assert simulator == {"prompt": "0" * 64, "asked": {"fakery/m": {"family": "fakery", "options": {}}}}
    (card,) = scorecards(bench.run_folder, key)
    assert card.evaluator.judge_identity["asked"] == {"fakery/m": {"family": "fakery", "options": {}}}
    assert card.evaluator.judge_identity["prompt"] == "1" * 64
    assert card.evaluator.judge_identity["options"] == {"model": "fakery/m"}
    assert "reader-aloud (fakery/m)" in run_view(bench.run_folder).judge
    assert bench.run_folder.manifest()["versions"]["fakery"] == "1.0"
    assert "User and judge are models of one family (fakery)" in "\n".join(run_view(bench.run_folder).notes)

    lines = list(read_ledger(bench.run_folder.root / "ledger.jsonl"))
    simulated = [(e.turn, e.cost_usd) for e in lines if e.role == "simulator"]
    assert [turn for turn, _ in simulated] == [None, 1, 2][: len(simulated)]
    assert {e.session for e in lines} == {key.id}
    assert {e.about for e in lines if e.role == "judge"} >= {"4.1", "5.1"}
    assert [e.cost_usd for e in lines if e.role in ("simulator", "judge")] == pytest.approx([CALL] * sum(bench.calls().values()))
    assert {e.prices for e in lines if e.role == "judge"} == {"settings"}
    agents = [e for e in lines if e.role == "agent"]
    assert [(e.turn, e.model, e.cost_usd) for e in agents] == [(1, "worker", 0.25), (2, "worker", 0.25)]

    for command in ("show", "report"):
        said = bench.finassay(command, bench.run_folder.root)[1]
        if "no reporter" not in said:
            assert "fakery/m" in said, command
            assert "settings" in said, command


def test_what_was_answered_is_not_asked_again(quick, bench):
    bench.tasks("one")
    assert bench.run(*JUDGE)[0] == 0
    before = bench.calls()
    assert bench.finassay("grade", bench.run_folder.root)[0] == 0
    assert bench.calls() == before
    (spent, *_) = [s for s in run_view(bench.run_folder).spending if s.role == "judge"]
    assert spent.stored == spent.calls == before["judge"]


def test_another_judge_lies_beside_the_first(quick, bench):
    bench.tasks("one")
    assert bench.run(*JUDGE)[0] == 0
    before = bench.calls()
    code, said = bench.finassay("grade", bench.run_folder.root, "-o", "judge.effort=high")
    assert code == 0, said
    assert bench.calls()["judge"] == 2 * before["judge"], "other options are another judge, which is asked anew"
    code, said = bench.finassay("grade", bench.run_folder.root, "--judge", "none")
    assert code == 0, said
    cards = scorecards(bench.run_folder, bench.run_folder.sessions()[0])
    assert len({card.evaluator.hash for card in cards}) == len(cards) == 3
    options = [card.evaluator.judge_identity.get("options") for card in cards]
    assert options == [None, {"model": "fakery/m", "effort": "high"}, {"model": "fakery/m"}]
    said = bench.finassay("show", bench.run_folder.root)[1]
    assert "Also graded by reader-aloud (fakery/m), evaluator" in said
    for name in ("reader-aloud", "reader-aloud (fakery/m)", cards[2].evaluator.hash[:12]):
        view = run_view(bench.run_folder, judge=name)
        assert view.judge == "reader-aloud (fakery/m)"
        assert view.sessions[0].scorecard == (cards[2] if name in cards[2].evaluator.hash else cards[1])
        code, said = bench.finassay("show", bench.run_folder.root, view.sessions[0].id, "--judge", name)
        assert code == 0
        assert "fakery/m" in said[said.rindex("stored") :], "what this session cost"
    code, said = bench.finassay("show", bench.run_folder.root, "--judge", "nobody")
    assert code == 2
    assert "'nobody' has graded no session" in said


def test_an_option_of_another_part_is_no_option_of_a_grading(quick, bench):
    bench.tasks("one")
    assert bench.run("--no-grade")[0] == 0
    code, said = bench.finassay("grade", bench.run_folder.root, "-o", "simulator.model=x")
    assert code == 2
    assert "'simulator'" in said


def test_a_model_under_an_agent_is_metered_and_never_answered_from_the_store(quick, bench):
    bench.tasks("one", "two")
    more = ("--no-grade", "-o", "asker.model=fakery/m")
    code, said = bench.run(*more, agent="asker")
    assert code == 0, said
    lines = [e for e in read_ledger(bench.run_folder.root / "ledger.jsonl") if e.role == "agent"]
    assert {e.model for e in lines} == {"fakery/m"}
    assert len(lines) == 4
    assert not any(e.stored for e in lines)
    assert {e.session for e in lines} == set(bench.ended())
    assert sorted(e.turn or 0 for e in lines) == [1, 1, 2, 2]
    for session in run_view(bench.run_folder).sessions:  # a turn's usage is what was metered, though the agent told nothing
        costs = [e.cost_usd for e in lines if e.session == session.id]
        assert [used for _, used in session.usage] == [Usage(1000, 0, 100, 0, cost) for cost in costs]
        assert all(costs)
    assert "[redacted]" in (bench.run_folder.session_path(bench.run_folder.sessions()[0]) / "events.jsonl").read_text()


# -- providers that are away ------------------------------------------------------------------------------------------


def test_sessions_wait_for_a_provider_and_the_same_command_finishes_them(quick, bench):
    bench.tasks("one", "two")
    bench.down()
    code, said = bench.run(*JUDGE)
    assert code == 11, said
    assert bench.ended() == {"worker.one.1": None, "worker.two.1": None}
    assert "waits: overloaded" in said
    assert "Begun and not ended: 2 (worker.one.1, worker.two.1)." in said
    assert "simulator_void" not in said
    bench.down(False)
    code, said = bench.run(*JUDGE)
    assert code == 0, said
    assert set(bench.ended().values()) == {"turn_limit"}
    failed = [e for e in read_ledger(bench.run_folder.root / "ledger.jsonl") if e.failed]
    assert {e.failed for e in failed} == {"ProviderError"}
    assert len(failed) == 2


def test_other_sessions_go_on_while_one_waits(quick, bench):
    bench.tasks("one", "two", "three")
    bench.down(only="of task two")
    code, said = bench.run(*JUDGE)
    assert code == 11, said
    assert bench.ended() == {"worker.one.1": "turn_limit", "worker.two.1": None, "worker.three.1": "turn_limit"}
    assert "1 session could not go on (worker.two.1): overloaded" in said
    bench.down(False)
    before = bench.calls()["simulator"]
    code, said = bench.run(*JUDGE)
    assert code == 0, said
    assert set(bench.ended().values()) == {"turn_limit"}
    assert bench.calls()["simulator"] == before + 3, "only the waiting session was gone on with: its opening and a reply to each turn"
    assert all(scorecards(bench.run_folder, key) for key in bench.run_folder.sessions())


def test_a_resumed_session_pays_for_nothing_twice(quick, bench):
    bench.tasks("one")
    hold = (*HOLD[:-1], "1")
    assert bench.run("--no-grade", hold=hold)[0] == 0
    key = SessionKey("worker", "one", 1)
    log = bench.run_folder.session_path(key) / "events.jsonl"
    log.write_text("".join(line for line in log.read_text().splitlines(keepends=True) if '"type":"session"' in line))
    before = bench.calls()["simulator"]
    assert bench.run("--no-grade", hold=hold)[0] == 0
    assert bench.calls()["simulator"] == before, "the opening came from the store"
    assert bench.ended() == {key.id: "turn_limit"}


def test_a_session_that_is_held_again_is_asked_anew(quick, bench):
    """What the model answered when the session was void must not make it void again."""
    bench.tasks("one")
    (bench.switches / "void").write_text("")
    said = bench.run("--no-grade")[1]
    assert bench.ended() == {"worker.one.1": "simulator_void"}, said
    assert len(list((bench.run_folder.root / "invalid").iterdir())) == 2
    assert bench.calls()["simulator"] == 3 * 2, "three times an opening and a reply, none from the store"
    assert leaks(bench.run_folder.root, (MARKER,), sealed=False) == []


def test_a_judge_without_its_provider_leaves_its_dimensions_unscored(quick, bench):
    bench.tasks("one")
    assert bench.run("--no-grade")[0] == 0
    bench.down()
    code, said = bench.finassay("grade", bench.run_folder.root, *JUDGE)
    assert code == 11, said
    (card,) = scorecards(bench.run_folder, bench.run_folder.sessions()[0])
    unscored = {g.dimension: g.unscored.reason for g in card.verdicts if g.unscored}
    assert unscored["4.1"] == "judge unavailable"
    bench.down(False)
    assert bench.finassay("grade", bench.run_folder.root, *JUDGE)[0] == 0
    (card,) = scorecards(bench.run_folder, bench.run_folder.sessions()[0])
    assert "4.1" not in {g.dimension for g in card.verdicts if g.unscored}


def test_the_same_command_grades_again_what_its_judge_could_not(quick, bench):
    bench.tasks("one", "two")
    assert bench.run("--no-grade")[0] == 0
    bench.down()
    code, said = bench.run(*JUDGE)
    assert code == 11, said
    assert "the judge's models were out of reach for" in said
    bench.down(False)
    code, said = bench.run(*JUDGE)
    assert code == 0, said
    keys = bench.run_folder.sessions()
    assert len(keys) == 2
    for key in keys:
        (card,) = scorecards(bench.run_folder, key)
        assert "judge unavailable" not in {g.unscored.reason for g in card.verdicts if g.unscored}
    asked = bench.calls()
    assert bench.run(*JUDGE)[0] == 0
    assert bench.calls() == asked, "what is graded in whole is left alone"


# -- money ------------------------------------------------------------------------------------------------------------


def test_a_run_stops_at_its_budget_and_goes_on_with_more(quick, bench):
    bench.tasks("one", "two", "three")
    hold = (*HOLD[:-3], "1", *HOLD[-2:])  # one at a time
    code, said = bench.run("--no-grade", "--budget", "4", hold=hold)
    assert code == 10, said
    assert "budget of $4.00 is spent" in said
    assert "not finished: " in said
    ended = bench.ended()
    assert list(ended.values()).count("turn_limit") == 1
    assert "Asked for and not begun" in said
    calls = sum(bench.calls().values())
    code, again = bench.run("--no-grade", "--budget", "4", hold=hold)
    assert code == 10, again
    assert sum(bench.calls().values()) == calls, "nothing more is spent"
    code, said = bench.run("--no-grade", "--budget", "100", hold=hold)
    assert code == 0, said
    assert set(bench.ended().values()) == {"turn_limit"}
    assert len(bench.ended()) == 3


def test_the_budget_of_a_session_stops_that_session(quick, bench):
    bench.tasks("one", "two")
    code, said = bench.run("--no-grade", "--session-budget", "1.3")
    assert code == 10, said
    assert set(bench.ended().values()) == {None}
    assert "--session-budget" in said


def test_an_agent_on_the_runs_models_stops_at_the_budget_as_well(quick, bench):
    bench.tasks("one")
    more = ("--no-grade", "-o", "asker.model=fakery/m", "--budget")
    code, said = bench.run(*more, "3.5", agent="asker")  # u0, a1, u1, then the money is short of u2
    assert code == 10, said
    assert bench.ended() == {"asker.one.1": None}
    code, said = bench.run(*more, "100", agent="asker")
    assert code == 0, said
    assert bench.ended() == {"asker.one.1": "turn_limit"}
    assert not (bench.run_folder.root / "invalid").exists()


def test_a_grading_without_money_is_none(quick, bench):
    bench.tasks("one")
    assert bench.run("--no-grade")[0] == 0
    code, said = bench.finassay("grade", bench.run_folder.root, *JUDGE, "--budget", "5")
    assert code == 10, said
    assert scorecards(bench.run_folder, bench.run_folder.sessions()[0]) == []
    code, said = bench.finassay("grade", bench.run_folder.root, *JUDGE, "--budget", "500")
    assert code == 0, said
    assert len(scorecards(bench.run_folder, bench.run_folder.sessions()[0])) == 1


def test_a_budget_needs_prices(quick, bench):
    bench.tasks("one")
    bench.settings("[run]\nreader = 'none'\n")
    code, said = bench.run(*JUDGE, "--budget", "5")
    assert code == 5
    assert "the price of model 'fakery/m' is unknown" in said
    assert not bench.run_folder.exists()
    code, said = bench.run(*JUDGE)
    assert code == 0, said
    spent = {(s.role, s.model): s for s in run_view(bench.run_folder).spending}
    assert spent["judge", "fakery/m"].cost_usd is None
    assert spent["judge", "fakery/m"].unknown == spent["judge", "fakery/m"].calls
    assert "unknown" in bench.finassay("show", bench.run_folder.root)[1]


def test_what_is_free_needs_no_price(quick, bench):
    bench.tasks("one")
    bench.settings("[run]\nreader = 'none'\n")
    hold = tuple(word.replace("fakery/m", "fakery-local/m") for word in HOLD)
    code, said = bench.run("--no-grade", "--budget", "5", hold=hold)
    assert code == 0, said
    assert {s.cost_usd for s in run_view(bench.run_folder).spending if s.role == "simulator"} == {0.0}


# -- before anything is spent -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("simulator.model=nobody/m", "no model 'nobody'"),
        ("simulator.model=fakery", "expected PROVIDER/NAME"),
        ("simulator.model=fakery/", "expected"),
    ],
)
def test_a_model_that_cannot_be_is_told_first(quick, bench, option, says):
    bench.tasks("one")
    code, said = bench.run(hold=("--simulator", "talker", "-o", option, "--sandbox", "nowhere"))
    assert code == 5
    assert says in said
    assert not bench.run_folder.exists()


def test_a_missing_key_is_told_first_and_beside_other_problems(quick, bench, monkeypatch):
    bench.tasks("one")
    monkeypatch.delenv("FAKERY_API_KEY")
    code, said = bench.run(*JUDGE, "--budget", "5", agent="none-such")
    assert code == 5
    assert said.count("fakery: no key") == 2
    assert "none-such" in said
    assert not bench.run_folder.exists()


def test_a_key_among_the_settings_is_refused(quick, bench):
    """Also for a provider that takes no part: all settings stand in the record."""
    bench.tasks("one")
    bench.settings(PRICES + "[run.models.other]\napi_key = 'sk-1'\n")
    code, said = bench.run()
    assert code == 2
    assert "'api_key' would put a key into the run's record" in said
    bench.settings(PRICES)
    code, said = bench.run("-o", f"simulator.effort={KEY}")
    assert code == 5
    assert "'effort' would put a key into the run's record" in said
    assert KEY not in said
    assert not bench.run_folder.exists()


def test_a_model_must_not_change_within_a_session(quick, bench):
    bench.tasks("one")
    bench.down()
    bench.run("--no-grade")
    bench.down(False)
    code, said = bench.run("--no-grade", "-o", "simulator.effort=high")
    assert code == 2
    assert "what differs: simulator" in said


# -- what must not be seen --------------------------------------------------------------------------------------------


def test_neither_key_nor_belief_stands_in_the_open(quick, bench):
    """Of a run that was played, failed, was gone on with and was graded; the provider quotes key and prompt in its errors."""
    bench.tasks("one", "two")
    bench.down()
    said = bench.run(*JUDGE)[1]
    bench.down(False)
    said += bench.run(*JUDGE)[1]
    bench.down()
    said += bench.finassay("grade", bench.run_folder.root, "-o", "judge.effort=high")[1]
    said += bench.finassay("show", bench.run_folder.root)[1]
    root = bench.run_folder.root
    assert leaks(root, (KEY, MARKER), sealed=False) == []
    assert leaks(root, (KEY,), sealed=True) == []
    assert any(path.startswith("sealed/exchanges/") for path in leaks(root, (MARKER,), sealed=True)), "the search finds what is there"
    assert any(path.startswith("tasks/") for path in leaks(root, (MARKER,), sealed=True))
    assert KEY not in said
    assert MARKER not in said
    for path in root.rglob("*"):
        if path.is_file() and bench.run_folder.is_sealed(path) and "limits" not in path.parts:
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert stat.S_IMODE((root / "sealed").stat().st_mode) == 0o700


def test_waiting_for_a_provider_ends_at_once_when_interrupted(bench):
    bench.tasks("one")
    bench.settings(PRICES.replace("patience_seconds = 0", "patience_seconds = 600"))
    bench.down()
    arguments = ["run", "--agent", "worker", "--tasks", "tasks", "--out", "run", *HOLD, "--no-grade"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent / "offered")}
    with subprocess.Popen(
        [sys.executable, "-m", "finassay.cli.main", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as program:
        assert program.stderr is not None
        assert any(" waits for " in line for line in program.stderr)
        program.send_signal(signal.SIGINT)
        started = time.monotonic()
        said = program.stderr.read()
        assert program.wait(30) == 130, said
    assert time.monotonic() - started < 10
    assert bench.ended() == {"worker.one.1": None}
    bench.down(False)
    assert bench.run("--no-grade")[0] == 0


def test_the_ledger_holds_no_words(quick, bench):
    bench.tasks("one")
    bench.run(*JUDGE)
    for line in (bench.run_folder.root / "ledger.jsonl").read_text().splitlines():
        texts = [v for v in json.loads(line).values() if isinstance(v, str)]
        assert all(len(text) <= 60 for text in texts), line
