"""The personas against the conformance kit, and against every wording of the grammar where it is installed."""

import pytest
from attrs import asdict

from finassay.api.matching import contains_term
from finassay.testing.cases import ComponentConformance
from finassay_investors.loading import load_persona

IDS = ("retail-investor", "generalist-analyst", "biotech-specialist")


class TestRetail(ComponentConformance):
    kind = "persona"
    id = "retail-investor"


class TestAnalyst(ComponentConformance):
    kind = "persona"
    id = "generalist-analyst"


class TestSpecialist(ComponentConformance):
    kind = "persona"
    id = "biotech-specialist"


@pytest.mark.parametrize("name", IDS)
def test_enough_variants(name):
    voice = asdict(load_persona(name).voice)
    assert all(len(set(variants)) >= 3 for variants in voice.values())
    assert len(voice["go_aheads"]) >= 6
    assert len(voice["missing"]) >= 6


def test_the_voices_differ():
    said = [{text for variants in asdict(load_persona(name).voice).values() for text in variants} for name in IDS]
    assert not said[0] & said[1]
    assert not said[1] & said[2]


@pytest.mark.parametrize("name", IDS)
def test_the_stock_phrases_state_nothing_of_any_strategy(name):
    """A voice that happens to say an option would tell it whatever the belief is."""
    from finassay.api.matching import Polarity, mentions

    grammar = pytest.importorskip("finassay_us_long_only.grammar", reason="the grammar is not installed")
    found = grammar.UsLongOnly(grammar.GrammarOptions())
    texts = [text for variants in asdict(load_persona(name).voice).values() for text in variants]
    for seed in range(60):
        for item in found.belief(found.sample(seed)).items:
            wrong = [text for text in texts if any(m.polarity is Polarity.ACCEPTS for m in mentions(item, text))]
            assert not wrong, item.id


@pytest.mark.parametrize("name", IDS)
def test_no_item_sentence_holds_a_forbidden_term(name):
    grammar = pytest.importorskip("finassay_us_long_only.grammar", reason="the grammar is not installed")
    found, persona = grammar.UsLongOnly(grammar.GrammarOptions()), load_persona(name)
    for seed in range(300):
        strategy = found.sample(seed)
        belief = found.belief(strategy)
        for item in (*belief.items, *belief.absent):
            assert (
                contains_term(persona.forbidden, f"{item.sentence}. {item.opening}. {item.piece}. {found.universe(strategy).text}") is None
            )
