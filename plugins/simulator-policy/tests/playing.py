"""A session without an agent program: a test speaks for the agent, and every message of the user passes what the core checks."""

from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib.metadata import entry_points
from typing import Any

import pytest
from attrs import evolve

from finassay.api.conversation import Conversation, Message
from finassay.api.matching import raised, stated
from finassay.api.persona import Persona
from finassay.api.simulator import Decision, Excerpt, Scene
from finassay.api.strategy import Belief
from finassay.api.task import Conditions, Task
from finassay.session.disclosure import Disclosure
from finassay.session.validation import validate, validate_opening
from finassay.testing.samples import sample_persona, sample_task
from finassay_simulator_policy.simulator import PolicyOptions, PolicySimulator

PERSONAS = ("retail-investor", "generalist-analyst", "biotech-specialist")


def component(group: str, name: str) -> Any:
    found = entry_points(group=group, name=name)
    if not found:
        pytest.skip(f"{name} is not installed, and this test plays with it")
    factory = next(iter(found)).load()
    return factory(factory.Options())


@cache
def grammar() -> Any:
    return component("finassay.grammars", "us-long-only")


@cache
def persona(name: str) -> Persona:
    return component("finassay.personas", name).persona


@cache
def real_task(seed: int, last: date = date(2019, 12, 31)) -> Task:
    strategy = grammar().sample(seed)
    belief = grammar().belief(strategy)
    conditions = Conditions(last, grammar().universe(strategy), ())
    return Task(f"t{seed}", grammar().id, grammar().version, seed, PERSONAS[seed % 3], strategy, belief, conditions)


class Play:
    """One conversation. `told_too_much` and `withheld` count what the disclosure policy forbids."""

    def __init__(self, task: Task | None = None, who: Persona | None = None, seed: int = 0, patience: int = 3) -> None:
        self.simulator = PolicySimulator(PolicyOptions(patience=patience))
        self.scene = Scene(task or sample_task(), who or sample_persona(), Conversation(), turns_left=6, seed=seed)
        self.gate = Disclosure(self.belief)
        self.told_too_much: list[str] = []
        self.opening = self.simulator.open(self.scene)
        assert not validate_opening(self.opening, self.scene)
        assert not self.gate.check_opening(self.opening)
        self.gate = self.gate.after(self.opening, "")
        self._say(Message("u0", 0, "user", self.opening))

    @classmethod
    def real(cls, seed: int) -> "Play":
        task = real_task(seed)
        return cls(task, persona(task.persona), seed)

    @property
    def belief(self) -> Belief:
        return self.scene.task.belief

    def _say(self, message: Message) -> None:
        self.scene = evolve(self.scene, conversation=self.scene.conversation.with_message(message))

    def reply(self, text: str, files: Mapping[str, str] | None = None, *, cut: bool = False, truncated: bool = False) -> Decision:
        """The agent's next turn, with the whole tree of delivered files; the user's decision on it, checked."""
        turn = len(self.scene.conversation.of("agent")) + 1
        self._say(Message(f"a{turn}", turn, "agent", text, cut))
        delivered = {} if files is None else files
        shown = tuple(Excerpt(path, body[:8000], truncated) for path, body in delivered.items() if body)
        self.scene = evolve(
            self.scene, excerpts=shown, files=tuple(delivered), cut=cut, stated=self.gate.stated, turns_left=self.scene.turns_left - 1
        )
        decision = self.simulator.decide(self.scene)
        problems = [*validate(decision, self.scene), *self.gate.check(decision.message, text)]
        assert not problems, f"{text[:300]!r} -> {decision.message!r}: {[p.reason for p in problems]}"
        self.told_too_much += sorted(stated(self.belief.items, decision.message) - self.gate.stated - raised(self.belief.items, text))
        self.gate = self.gate.after(decision.message, text)
        self._say(Message(f"u{turn}", turn, "user", decision.message))
        return decision

    def tells(self, decision: Decision, item_id: str) -> bool:
        return item_id in stated(self.belief.items, decision.message)


TRADES = "date,ticker,side,shares,price\n2015-02-02,AAA,buy,100,31.20\n2015-03-02,AAA,sell,100,33.10\n"


def report(rules: str, figures: str = "") -> str:
    """A report that reads well, with the given rules."""
    figures = figures or "The strategy returned 8.1% a year with a Sharpe ratio of 0.62 and a maximum drawdown of 31%, in 412 trades."
    return (
        f"# Backtest\n\n## Summary\n{figures}\n\n## Method\n{rules}\n\n## Results\nSee the table of trades with dates and prices.\n\n"
        "## Limitations\nOne data source; fills at the close cannot always be had.\n"
    )


def right_rules(belief: Belief) -> str:
    return "\n".join(f"- We {item.sentence}." for item in belief.items)


def files(rules: str, **more: str) -> dict[str, str]:
    return {"REPORT.md": report(rules), "trades.csv": TRADES, **more}
