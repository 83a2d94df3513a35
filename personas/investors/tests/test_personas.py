"""The personas against the conformance kit, and their voices around every wording of a grammar where one is installed."""

import pytest
from attrs import asdict
from pydantic import ValidationError

from finassay.api.matching import contains_term, stated
from finassay.testing.cases import ComponentConformance
from finassay_investors.loading import PersonaFile, common_forbidden, load_persona
from finassay_investors.personas import BiotechSpecialist, GeneralistAnalyst, NoOptions, RetailInvestor

IDS = ("retail-investor", "generalist-analyst", "biotech-specialist")
LEAVES_OPEN = ("no preference", "you choose", "your call", "up to you", "no view", "no opinion", "no strong view")
PARTS = "the trade log and the report"


class TestRetail(ComponentConformance):
    kind = "persona"
    id = "retail-investor"


class TestAnalyst(ComponentConformance):
    kind = "persona"
    id = "generalist-analyst"


class TestSpecialist(ComponentConformance):
    kind = "persona"
    id = "biotech-specialist"


def test_each_factory_holds_its_persona():
    made = [factory(NoOptions()) for factory in (RetailInvestor, GeneralistAnalyst, BiotechSpecialist)]
    assert [source.persona.id for source in made] == list(IDS)


@pytest.mark.parametrize("name", IDS)
def test_enough_variants(name):
    voice = asdict(load_persona(name).voice)
    assert all(len(set(variants)) >= 3 for variants in voice.values())
    assert len(set(voice["go_aheads"])) >= 6
    assert len(set(voice["missing"])) >= 6


def test_a_file_that_lacks_something_is_refused():
    with pytest.raises(ValidationError, match="background"):
        PersonaFile.model_validate({"name": "Nobody"})


def test_the_voices_differ():
    said = [{text for variants in asdict(load_persona(name).voice).values() for text in variants} for name in IDS]
    assert not said[0] & said[1]
    assert not said[1] & said[2]
    assert not said[0] & said[2]


@pytest.mark.parametrize("name", IDS)
def test_what_is_left_open_is_said_outright(name):
    for text in load_persona(name).voice.no_preferences:
        assert any(words in text.casefold() for words in LEAVES_OPEN), text


@pytest.mark.parametrize(
    "term", ["point-in-time", "cutoff", "look-ahead", "rubric", "veto", "belief", "persona", "let me lock a few things", "as an ai"]
)
def test_words_that_give_the_game_away_are_forbidden(term):
    assert term in common_forbidden()


@pytest.fixture(scope="module")
def beliefs():
    """A belief and a universe of each of 45 seeds, drawn with and without every kind of data."""
    module = pytest.importorskip("finassay_us_long_only.grammar", reason="the grammar is not installed")
    grammar = module.UsLongOnly(module.GrammarOptions())
    found = []
    for seed in range(45):
        needs = frozenset({"prices"}) if seed % 2 else frozenset()
        strategy = grammar.sample(seed, needs)
        found.append((grammar.belief(strategy), grammar.universe(strategy, needs)))
    return found


@pytest.mark.parametrize("name", IDS)
def test_no_wording_of_a_strategy_holds_a_forbidden_term(name, beliefs):
    persona = load_persona(name)
    for belief, universe in beliefs:
        texts = [universe.text, *(topic.name for topic in belief.open_topics)]
        texts += [text for item in (*belief.items, *belief.absent) for text in (item.sentence, item.opening, item.piece)]
        assert [text for text in texts if contains_term(persona.forbidden, text)] == []


@pytest.mark.parametrize("name", IDS)
def test_a_phrase_tells_its_sentence_and_nothing_else(name, beliefs):
    voice = load_persona(name).voice
    for belief, _ in beliefs:
        sayable = (*belief.items, *belief.absent)
        for item in belief.items:
            related = {item.id} | ({i.id for i in belief.items if i.component == "risk"} if item.id == "risk.threshold" else set())
            for template in (*voice.answers, *voice.confirmations, *voice.objections):
                told = stated(sayable, template.format(sentence=item.sentence))
                assert item.id in told <= related, (template, item.id, told)


@pytest.mark.parametrize("name", IDS)
def test_an_opening_tells_exactly_its_items(name, beliefs):
    voice = load_persona(name).voice
    for belief, universe in beliefs:
        clauses = [belief.item(item_id).opening for item_id in belief.opening]
        idea = clauses[0] if len(clauses) == 1 else f"{', '.join(clauses[:-1])} and {clauses[-1]}"
        for template in voice.opening:
            text = template.format(idea=idea, universe=universe.text, until="up to the end of 2019")
            assert stated((*belief.items, *belief.absent), text) == set(belief.opening), text


@pytest.mark.parametrize("name", IDS)
def test_all_other_phrases_tell_nothing(name, beliefs):
    voice = load_persona(name).voice
    for belief, _ in beliefs:
        sayable = (*belief.items, *belief.absent)
        plan = " ".join(f"I propose to {item.sentence}." for item in belief.items)
        texts = [
            template.format(parts=PARTS) for template in (*voice.go_aheads, *voice.missing, *voice.cut, *voice.closings, *voice.leavings)
        ]
        texts += [template.format(topic=topic.name) for template in voice.no_preferences for topic in belief.open_topics]
        assert [text for text in texts if stated(sayable, text)] == []
        pieces = [template.format(piece=item.piece) for template in voice.off_pieces for item in belief.items]
        assert [text for text in pieces if stated(sayable, text, plan)] == []
