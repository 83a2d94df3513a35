"""Conformance of grammars."""

from collections.abc import Iterable, Iterator
from typing import Any

from attrs import frozen

from finassay.api.matching import Polarity, contains_term, mentions, proposed
from finassay.api.strategy import Grammar, Item
from finassay.testing.result import Result, conformance, require, run_checks


@frozen
class GrammarSubject:
    grammar: Grammar
    seeds: tuple[int, ...] = tuple(range(200))
    forbidden: tuple[str, ...] = ("point-in-time", "cutoff", "cut-off", "look-ahead", "rubric", "veto", "grader")


def check_grammar(grammar: Grammar, seeds: Iterable[int]) -> Iterator[Result]:
    """Run every check over these seeds."""
    yield from run_checks("grammar", GrammarSubject(grammar, tuple(seeds)))


def _beliefs(subject: GrammarSubject) -> Iterator[Any]:
    for seed in subject.seeds:
        strategy = subject.grammar.sample(seed)
        yield strategy, subject.grammar.belief(strategy)


@conformance("grammar", "same-seed-same-strategy", "a task must be reproducible from its seed")
def _reproducible(subject: GrammarSubject) -> None:
    for seed in subject.seeds:
        require(subject.grammar.sample(seed) == subject.grammar.sample(seed), f"seed {seed} gives two strategies")


@conformance("grammar", "samples-are-coherent", "an incoherent strategy cannot be built")
def _coherent(subject: GrammarSubject) -> None:
    for strategy, _ in _beliefs(subject):
        broken = subject.grammar.check(strategy.choices)
        require(not broken, f"seed {strategy.seed} breaks {', '.join(v.rule for v in broken)}")


@conformance("grammar", "size-is-consistent", "the count is stated beside results")
def _size(subject: GrammarSubject) -> None:
    size = subject.grammar.size()
    require(size.total > 0, "the space is empty")
    for slot, options in size.by.items():
        require(all(count >= 0 for count in options.values()), f"negative count in {slot}")
        require(not options or max(options.values()) <= size.total, f"an option of {slot} is counted more often than there are strategies")


@conformance("grammar", "every-rule-rejects", "a rule that rejects nothing is no rule")
def _rules(subject: GrammarSubject) -> None:
    for rule, example in subject.grammar.rejected_examples().items():
        broken = [v.rule for v in subject.grammar.check(example)]
        require(broken == [rule], f"the example of {rule} is rejected by {broken or 'nothing'}")


@conformance("grammar", "opening-is-a-part", "|O| ≪ |H|: the agent must have something to ask")
def _opening(subject: GrammarSubject) -> None:
    for strategy, belief in _beliefs(subject):
        known = {item.id for item in belief.items}
        require(len(known) == len(belief.items), f"seed {strategy.seed}: item ids repeat")
        require(set(belief.opening) <= known, f"seed {strategy.seed}: the opening names unknown items")
        require(
            0 < len(belief.opening) < len(known), f"seed {strategy.seed}: the opening tells {len(belief.opening)} of {len(known)} items"
        )


@conformance("grammar", "items-match-themselves", "what the user says must be recognised as said, and as nothing else")
def _matching(subject: GrammarSubject) -> None:
    for strategy, belief in _beliefs(subject):
        for item in belief.items:
            said = mentions(item, item.sentence)
            require(said and said[-1].polarity is Polarity.ACCEPTS, f"seed {strategy.seed}: {item.id} is not found in its own sentence")
            _only(belief.items, item, strategy.seed)


def _only(items: tuple[Item, ...], item: Item, seed: int) -> None:
    for text in (item.sentence, item.opening):
        others = [i for i, polarity in proposed(items, text).items() if i != item.id and polarity is Polarity.ACCEPTS]
        pair = {i for i in others if i.split(":")[0].split(".")[0] == item.component and {i, item.id} & {"risk.threshold"}}
        wrong = [i for i in others if i not in pair]
        require(not wrong, f"seed {seed}: the words of {item.id} also say {', '.join(wrong)}")


@conformance("grammar", "no-evaluation-vocabulary", "a user never talks like an evaluation")
def _vocabulary(subject: GrammarSubject) -> None:
    for strategy, belief in _beliefs(subject):
        for item in (*belief.items, *belief.absent):
            term = contains_term(subject.forbidden, f"{item.sentence} {item.opening} {item.piece}")
            require(term is None, f"seed {strategy.seed}: {item.id} says {term!r}")


@conformance("grammar", "observables-name-items", "a test of something nobody holds is never run")
def _observables(subject: GrammarSubject) -> None:
    for strategy, belief in _beliefs(subject):
        known = {item.id for item in belief.items}
        extra = set(subject.grammar.observables(strategy)) - known - {"long-only"}
        require(not extra, f"seed {strategy.seed}: observables for {', '.join(sorted(extra))}")
