"""Runs whose agent reaches its model and its data through the gateway: metered, paid for, without a key and without a lasting token."""

import json

import pytest
from attrs import evolve
from test_models_in_runs import HOLD, KEY, PRICES, bench, leaks  # noqa: F401  (a fixture)

from finassay.api.delivery import LogEvent
from finassay.models.ledger import read_ledger
from finassay.records.tasks import read_task, write_task
from finassay.runs.view import run_view

CHANNEL = "[run.channels]\nprices = 'tap'\n"
TOLD = 1.1
"""Dollars of one call: 1000 tokens in and 100 out, at the prices of `PRICES`."""


@pytest.fixture
def desk(bench):  # noqa: F811
    settings = PRICES.replace("[run]", "[run]\ngateway = 'fakery:standard'", 1)  # another one may be installed
    bench.settings(settings.replace("[run.models.fakery]", CHANNEL + "[run.models.fakery]", 1))
    bench.tasks("one")
    path = bench.folder / "tasks" / "one.json"
    task = read_task(path)
    path.unlink()
    write_task(path, evolve(task, conditions=evolve(task.conditions, channels=("prices",))))
    return bench


def run(desk, *more, options=()):
    hold = (*HOLD, "--no-grade", *(x for o in options for x in ("-o", o)))
    return desk.run(*more, agent="caller", hold=hold)


def test_calls_are_metered_priced_and_kept_without_key_and_token(desk):
    code, said = run(desk)
    assert code == 0, said
    key = desk.run_folder.sessions()[0]
    state = desk.run_folder.state(key)
    usage = [e.data for e in state.log if e.kind == "usage"]
    assert [u["input_tokens"] for u in usage] == [2000, 2000]  # two calls in each of two turns, not what the program says
    assert usage[0]["cost_usd"] == pytest.approx(2 * TOLD)
    calls = [json.loads(line) for line in (desk.run_folder.session_path(key) / "gateway.jsonl").read_text().splitlines()]
    assert [c["kind"] for c in calls] == ["other", "channel", "model"] * 4
    assert {c["turn"] for c in calls} == {1, 2}
    assert calls[1]["what"] == "get_prices"
    lines = [e for e in read_ledger(desk.run_folder.root / "ledger.jsonl") if e.role == "agent"]
    assert [(e.model, e.turn, e.cost_usd) for e in lines] == [("fakery/m", turn, pytest.approx(TOLD)) for turn in (1, 1, 2, 2)]
    spent = {s.role: s.cost_usd for s in run_view(desk.run_folder).spending}
    assert spent["agent"] == pytest.approx(4 * TOLD)
    reply = state.conversation.of("agent")[0].text
    assert "throwaway" not in reply
    assert "['prices']" in reply
    assert not leaks(desk.run_folder.root, (KEY, "throwaway-"), sealed=False)
    assert not leaks(desk.run_folder.root, (KEY, "throwaway-"), sealed=True)


def test_the_briefing_names_the_server_and_its_digest_stands_on_the_result(desk):
    assert run(desk)[0] == 0
    session = run_view(desk.run_folder).sessions[0]
    assert len(session.briefing) == 64
    code, said = desk.finassay("show", desk.run_folder.root)
    code, said = desk.finassay("show", desk.run_folder.root, session.id)
    assert code == 0
    for words in ("2,000 tokens in, 200 out, $2.2000", "metered on the way to its models", "program version 1", session.briefing[:16]):
        assert words in said


@pytest.mark.parametrize(("how", "code"), [("", 11), ("refused", 11)])
def test_an_upstream_that_is_away_leaves_the_session_to_the_same_command(desk, how, code):
    (desk.switches / "away").write_text(how)
    said = run(desk)
    assert said[0] == code, said[1]
    assert list(desk.ended().values()) == [None]
    (desk.switches / "away").unlink()
    assert run(desk)[0] == 0
    assert None not in desk.ended().values()
    failed = [e.failed for e in read_ledger(desk.run_folder.root / "ledger.jsonl") if e.role == "agent" and e.failed]
    assert failed == ["HTTP 401" if how else "HTTP 529"]


def test_a_session_budget_holds_for_agents(desk):
    code, said = run(desk, "--session-budget", "3.5")
    assert code == 10, said
    assert list(desk.ended().values()) == [None]
    assert run(desk, "--session-budget", "50")[0] == 0


def test_what_no_budget_can_be_kept_for_is_told_before_anything_is_spent(desk):
    code, said = run(desk, "--budget", "5", options=("caller.model=",))
    assert (code, "name its model" in said) == (5, True)
    code, said = run(desk, "--budget", "5", options=("caller.model=other",))
    assert (code, "price of model 'other' is unknown" in said) == (5, True)
    code, said = run(desk, options=("caller.upstream=elsewhere",))
    assert (code, "no upstream 'elsewhere'" in said) == (5, True)


def test_what_is_measured_is_what_was_metered(desk):
    """Not the sum of a program's running totals."""
    from finassay.runs.grade import make_package

    assert run(desk)[0] == 0
    key = desk.run_folder.sessions()[0]
    state = desk.run_folder.state(key)
    told = LogEvent(1, "usage", {"input_tokens": 70_000, "output_tokens": 9, "running_total": True})
    state.log = (*(e for e in state.log if e.kind != "usage"), told, told)
    package = make_package(desk.run_folder, desk.run_folder.tasks()[key.task], state)
    usage = [e.data for e in package.log if e.kind == "usage"]
    assert [u["input_tokens"] for u in usage] == [2000, 2000]
    assert sum(u["cost_usd"] for u in usage) == pytest.approx(4 * TOLD)


def test_an_agent_of_the_settings_is_named_by_its_alias(desk):
    path = desk.folder / "finassay.toml"
    path.write_text(path.read_text() + "\n[run.agents.mine]\nid = 'caller'\noptions = {model = 'm'}\n[run.agents.other]\nid = 'worker'\n")
    code, said = desk.run(agent="mine", hold=(*HOLD, "--no-grade"))
    assert code == 0, said
    assert {key.agent for key in desk.run_folder.sessions()} == {"mine"}
