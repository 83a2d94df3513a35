"""Feedback over strategies of a real grammar: nothing of a belief gets through, and evidence about results does."""

import re
from datetime import date
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finassay.api.scorecard import Evaluator, Graded, Scorecard
from finassay.api.strategy import Item, Unit
from finassay.api.task import Conditions, Task
from finassay.api.verdict import Evidence, EvidenceKind, Measured, Scored, Source
from finassay.grading.dimensions import DIMENSIONS
from finassay.grading.feedback import feedback, feedback_text
from finassay.grading.redaction import Redactor

grammar_module = pytest.importorskip("finassay_us_long_only.grammar", reason="the grammar us-long-only is not installed beside the core")


@cache
def grammar() -> Any:
    factory = next(v for v in vars(grammar_module).values() if isinstance(v, type) and hasattr(v, "Options") and hasattr(v, "sample"))
    return factory(factory.Options())


@cache
def task(seed: int) -> Task:
    strategy = grammar().sample(seed)
    conditions = Conditions(date(2019, 12, 31), grammar().universe(strategy), ())
    return Task(f"t{seed}", "us-long-only", "1", seed, "p", strategy, grammar().belief(strategy), conditions)


def notations(item: Item) -> list[str]:
    """A voiced value as people and programs write it."""
    if item.number is None:
        return []
    percent = item.number.value if item.number.unit is Unit.PERCENT else item.number.value / 100
    return [
        f"{percent:g}%",
        f"{percent:g} %",
        f"{percent:g} percent",
        f"{percent:g} per cent",
        f"{percent / 100:g}",
        f"{percent / 100:.4f}",
        f"{percent * 100:g} bp",
        f"{percent * 100:g}bps",
        f"{percent * 100:g} basis points",
    ]


def secrets(of: Task) -> list[str]:
    belief, strategy = of.belief, of.strategy
    options = [o for chosen in strategy.choices.values() for o in chosen if o != "none"]
    found = [text for i in belief.items for text in (i.id, i.sentence, i.opening, *notations(i))]
    found += [
        text for name in (*options, *strategy.parameters) for text in (name, name.replace("_", " "), name.replace("_", "-"), name.upper())
    ]
    return found


def evidence_of(said: str) -> str:
    """Reasons and evidence only: the frame holds dimension titles, levels and the cutoff."""
    return "\n".join(line for line in said.splitlines() if line.startswith("      "))


def told(of: Task, text: str) -> str:
    evidence = (
        Evidence(
            EvidenceKind.QUOTE, f"The delivery says: {text}", f"out/{text}.csv", (f"2019-01-02 {text}",), expected=text, found=f"={text}"
        ),
    )
    verdicts = tuple(
        Graded.of(
            one.id,
            Measured({text: 3.0}, "finassay")
            if one.category == "cost"
            else Scored(2, Source.PROGRAM, "check", f"It has {text} in it. All {text}", evidence),
        )
        for one in DIMENSIONS
    )
    card = Scorecard("s", Evaluator("a" * 64, "lexical", ()), "satisfied", "full", verdicts, {}, 1.0, False, (), 0.0, False, False, (text,))
    return evidence_of(feedback_text(feedback(card, of)))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 100_000), data=st.data())
def test_nothing_of_a_belief_gets_through(seed: int, data: st.DataObject) -> None:
    secret = data.draw(st.sampled_from(secrets(task(seed))))
    said = told(task(seed), secret)
    assert not re.search(rf"(?<![\w.]){re.escape(secret)}(?![\w.%])", said, re.IGNORECASE), (secret, said[:500])


@pytest.mark.parametrize("seed", range(10))
def test_no_sentence_of_the_released_set_gets_through_in_any_dimension(seed: int) -> None:
    of = task(seed)
    said = told(of, " ".join(f"{item.sentence}." for item in of.belief.items)).casefold()
    for item in of.belief.items:
        assert item.sentence.casefold() not in said


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 100_000))
def test_evidence_about_results_gets_through(seed: int) -> None:
    text = "Maximum drawdown recomputes to -21.91%, the report says -18.96%. The Sharpe ratio is 0.87 against 1.43; 3 of 412 fills have no price."
    assert Redactor.of(task(seed)).text(text) == text
