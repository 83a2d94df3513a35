"""Figures of a run, and the tables of a terminal."""

from collections.abc import Mapping
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from finassay.api.conversation import Conversation
from finassay.api.delivery import EndReason, TurnFacts
from finassay.api.scorecard import Elicitation, Evaluator, Graded, RunView, Scorecard, SessionView
from finassay.api.strategy import Belief, Strategy, Universe
from finassay.api.task import Conditions, Task
from finassay.api.verdict import Measured, NotApplicable, Scored, Source, Unscored, Verdict
from finassay.grading.dimensions import DIMENSIONS
from finassay.grading.score import totals
from finassay.grading.summary import AgentSummary, pass_k, summarise, workflow
from finassay.grading.tables import run_table, session_table


def scorecard(
    reason: EndReason = "satisfied",
    level: int = 4,
    *,
    judge: str = "lexical",
    code: str = "a" * 64,
    elicited: Elicitation | None = None,
    **other: Verdict | int,
) -> Scorecard:
    verdicts: dict[str, Verdict] = {one.id: Scored(level, Source.PROGRAM, "x", "y") for one in DIMENSIONS if one.scored}
    for name, found in other.items():
        verdicts[name[1:].replace("_", ".")] = Scored(found, Source.PROGRAM, "x", "y") if isinstance(found, int) else found
    result = totals(DIMENSIONS, verdicts, reason)
    return Scorecard(
        "s",
        Evaluator(code, judge, ()),
        reason,
        "full",
        tuple(Graded.of(n, v) for n, v in verdicts.items()),
        result.categories,
        result.quality,
        result.passed,
        result.failed_vetoes,
        result.score,
        result.accepted,
        not result.incomplete,
        result.incomplete,
        elicitation=elicited,
    )


def session(
    agent: str,
    task: str,
    card: Scorecard | None,
    *,
    repeat: int = 1,
    valid: bool = True,
    reason: EndReason = "satisfied",
    turns: tuple[TurnFacts, ...] = (TurnFacts(1, 10.0), TurnFacts(2, 20.0, cut=True)),
    identity: Mapping[str, object] | None = None,
) -> SessionView:
    conditions = Conditions(date(2019, 12, 31), Universe("u", "all"), ())
    made = Task(task, "g", "1", 0, "p", Strategy("g", "1", 0, {}), Belief((), ()), conditions)
    return SessionView(
        f"{agent}.{task}.{repeat}",
        agent,
        made,
        repeat,
        Conversation(),
        (),
        turns,
        (),
        (),
        card.end_reason if card else reason,
        "",
        card,
        valid,
        identity or {},
    )


def run(*sessions: SessionView) -> RunView:
    return RunView("first", sessions, DIMENSIONS, "2026-11-30", {}, "policy", "lexical")


def only(*sessions: SessionView) -> AgentSummary:
    found = summarise(run(*sessions)).agents
    assert len(found) == 1
    return found[0]


def test_counts_and_shares() -> None:
    told = Elicitation(("a",), (), ("a",), coverage=1.0, assumption_rate=None)
    half = Elicitation(("a",), (), (), coverage=0.5, assumption_rate=0.8)
    agent = only(
        session("x", "t1", scorecard(elicited=told)),
        session("x", "t1", scorecard(d1_1=0, d3_2=0, elicited=half), repeat=2),
        session("x", "t2", scorecard("user_walked_away", 0)),
        session("x", "t2", None, repeat=2, valid=False, reason="simulator_void"),
    )
    assert (agent.sessions, agent.valid, agent.graded, agent.complete) == (4, 3, 3, 3)
    assert (agent.accepted, agent.satisfied, agent.silent_failures, agent.judge_only) == (1, 2, 1, 2)
    assert agent.silent_by_veto == {"1.1": 1, "3.2": 1}
    assert agent.veto_failures["1.1"] == 2
    assert agent.acceptance_rate == pytest.approx(1 / 3)
    assert agent.coverage == 0.75
    assert agent.assumption_rate == 0.8
    assert agent.end_reasons == {"satisfied": 2, "user_walked_away": 1, "simulator_void": 1}
    assert agent.quality_by_task["t2"] == 0.0
    assert agent.pass_k == {1: 0.25}
    assert (agent.turns, agent.cut_turns, agent.seconds) == (6, 3, 30.0)


@pytest.mark.parametrize(
    ("by_task", "expected"),
    [
        ({}, {}),
        ({"a": [True, True, True]}, {1: 1.0, 2: 1.0, 3: 1.0}),
        ({"a": [True, True, False]}, {1: 2 / 3, 2: 1 / 3, 3: 0.0}),
        ({"a": [True] * 3, "b": [False] * 3}, {1: 0.5, 2: 0.5, 3: 0.5}),
        ({"a": [True, False], "b": [True, True, True]}, {1: 0.75, 2: 0.5}),
    ],
)
def test_pass_k(by_task: dict[str, list[bool]], expected: dict[int, float]) -> None:
    assert pass_k(by_task) == pytest.approx(expected)


@given(st.dictionaries(st.sampled_from("abcd"), st.lists(st.booleans(), min_size=3, max_size=5), min_size=1))
def test_pass_k_falls_with_k_and_starts_at_the_mean_rate(by_task: dict[str, list[bool]]) -> None:
    found = pass_k(by_task)
    assert found[1] == pytest.approx(sum(sum(v) / len(v) for v in by_task.values()) / len(by_task))
    assert found[1] >= found[2] - 1e-12 >= found[3] - 2e-12


def test_workflow_alone_and_in_sequence() -> None:
    cards = [
        scorecard(),
        scorecard(d2_3=1),
        scorecard(d1_1=3),
        scorecard(d3_2=1),
        scorecard(d2_2=NotApplicable("none")),
        scorecard(d2_7=Unscored("judges disagree")),
    ]
    assert [(s.alone, s.in_sequence) for s in workflow(cards)] == [(4, 4), (5, 3), (6, 3), (5, 2)]


def test_judges_evaluators_and_simulators_are_never_averaged_together() -> None:
    view = run(
        session("x", "t1", scorecard()),
        session("x", "t1", scorecard(level=0, judge="model"), repeat=2),
        session("x", "t1", scorecard(level=0, code="b" * 64), repeat=3),
        session("x", "t1", scorecard(level=0), repeat=4, identity={"simulator": {"id": "llm"}}),
    )
    summary = summarise(view)
    assert summary.mixed
    assert sorted(a.quality for a in summary.agents if a.quality is not None) == [0, 0, 0, 100]
    assert {(a.judge, a.simulator) for a in summary.agents} == {("lexical", "policy"), ("model", "policy"), ("lexical", "llm")}


def test_sessions_without_a_grading_stay_with_their_agent() -> None:
    agent = only(session("x", "t1", None), session("x", "t2", scorecard()))
    assert (agent.sessions, agent.graded, agent.accepted) == (2, 1, 1)
    assert not summarise(run(session("x", "t1", None), session("x", "t2", scorecard()))).mixed


def test_nothing_graded_gives_no_numbers() -> None:
    agent = only(session("x", "t1", None))
    assert (agent.acceptance_rate, agent.quality, agent.coverage, agent.pass_k) == (None, None, None, {})


def test_cost_is_unknown_if_one_session_does_not_know_it() -> None:
    known = Measured({"cost_usd": 2.0}, "finassay")
    assert only(session("x", "t1", scorecard(d6_2=known)), session("x", "t2", scorecard(d6_2=known))).cost_usd == 2.0
    assert only(session("x", "t1", scorecard(d6_2=known)), session("x", "t2", scorecard())).cost_usd is None


def text_of(table: object) -> str:
    console = Console(width=260, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def test_run_table_names_each_agent_and_its_figures() -> None:
    shown = text_of(run_table(summarise(run(session("careful", "t1", scorecard()), session("[red]hasty", "t1", scorecard(d1_1=0))))))
    assert "careful" in shown
    assert "[red]hasty" in shown
    assert "100 %" in shown
    assert "lexical" not in shown


def test_run_table_tells_groups_apart_when_they_differ() -> None:
    shown = text_of(run_table(summarise(run(session("x", "t1", scorecard()), session("x", "t1", scorecard(judge="model"), repeat=2)))))
    assert "model · policy · aaaaaaaa" in shown
    assert "lexical · policy · aaaaaaaa" in shown


def test_session_table_says_what_failed_and_what_to_look_at() -> None:
    shown = text_of(session_table(scorecard(d1_1=2, d4_4=Unscored("judge unparsed"))))
    assert "1.1 Point-in-time strictness: 2 of 4, needs 4" in shown
    assert "4.4 Risk disclosure: judge unparsed" in shown
    assert "36 scored" in shown
