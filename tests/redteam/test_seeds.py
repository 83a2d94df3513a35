"""Drawing the strategy again from the public grammar: it works for plain tasks, and not for those that were drawn under a secret."""

import time

import pytest
import ways

from finassay.api.task import Conditions
from finassay.catalog.catalog import Catalog
from finassay.runs.commitments import make_secret, secret_task
from finassay.runs.sampling import sample_task

NEEDS = frozenset({"prices"})
SEARCHED = 400
"""Seeds that the search tries. People number their seeds from 0."""


@pytest.fixture(scope="module")
def grammar():
    return Catalog.installed().create("grammar", "us-long-only")[0]


def conditions(universe) -> Conditions:
    from datetime import date

    return Conditions(date(2019, 12, 31), universe, ("embedded-market",))


@pytest.fixture(scope="module")
def drawn(grammar):
    """What an attacker makes once, with nothing but the grammar: seed to belief; and how many he makes in a second."""
    started = time.monotonic()
    beliefs = {seed: grammar.belief(grammar.sample(seed, NEEDS)) for seed in range(SEARCHED)}
    return beliefs, SEARCHED / (time.monotonic() - started)


def told(belief, names):
    """What the user has said of some items, in the words of the opening or of the item."""
    return {belief.item(name).sentence for name in names}


def fitting(beliefs, said, opening):
    """Seeds whose opening is the one that was heard and which hold everything that was said."""
    found = []
    for seed, belief in beliefs.items():
        clauses = {belief.item(name).opening for name in belief.opening}
        if clauses == opening and said <= {item.sentence for item in belief.items}:
            found.append(seed)
    return found


def test_the_seed_of_a_plain_task_is_found_from_the_opening_and_an_answer_or_two(grammar, drawn):
    beliefs, rate = drawn
    assert rate > ways.MEASURED["rate"] / 20, "the page's figure is far too high"
    found = 0
    for seed in range(0, 60, 6):
        task = sample_task(grammar, seed, NEEDS, conditions)
        opening = {task.belief.item(name).opening for name in task.belief.opening}
        candidates = fitting(beliefs, set(), opening)
        assert seed in candidates
        rest = [item.id for item in task.belief.items if item.id not in task.belief.opening]
        for heard in range(3):
            candidates = fitting(beliefs, told(task.belief, rest[:heard]), opening)
            if candidates == [seed]:
                found += 1
                break
    assert found >= 8, "the search finds fewer strategies than the page says"


def test_under_a_secret_the_same_search_is_guessing(grammar, drawn, tmp_path):
    """The number of the task is public, and among the seeds that are tried; now and then a strategy fits that is the same by chance."""
    beliefs, _ = drawn
    secret = make_secret(tmp_path / "secret")
    guessed = 0
    for number in range(10):
        task = secret_task(secret, grammar, number, NEEDS, conditions)
        assert task.seed > 2**40
        everything = {item.sentence for item in task.belief.items}
        opening = {task.belief.item(name).opening for name in task.belief.opening}
        guessed += any(beliefs[seed].items == task.belief.items for seed in fitting(beliefs, everything, opening))
        assert str(task.seed) not in task.id
        assert {i.sentence for i in beliefs[number].items} != everything
    assert guessed <= 2
