"""Judges that make quotes up and simulators that talk too much are caught; the shipped ones hold."""

from attrs import evolve

from finassay.api.simulator import Decision, Observation
from finassay.catalog.catalog import Catalog
from finassay.testing.fakes import ScriptedSimulator
from finassay_calibrate.clean.build import draft_of, setup_of
from finassay_calibrate.clean.deliver import task_of
from finassay_calibrate.clean.layouts.spec import Layout
from finassay_calibrate.clean.strategies import GRAMMAR
from finassay_calibrate.parties.simulators import RAMBLE, Talk, _rambles, _withheld


def talk_with(message: str) -> tuple[Talk, object]:
    draft = draft_of(setup_of(GRAMMAR.sample(3), 1, layout=Layout()))
    task = evolve(task_of(draft), persona=GRAMMAR.persona_for(3))
    persona = Catalog.installed().create("persona", task.persona)[0].persona
    said = message.format(*[i.sentence for i in task.belief.items if i.id not in task.belief.opening])
    goals = tuple(Observation(goal.id, "missing") for goal in task.goals)
    talk = Talk(ScriptedSimulator((Decision("follow_up", goals, said),)), task, persona, 1)
    talk.open()
    return talk, draft


def test_a_user_who_volunteers_is_counted():
    talk, draft = talk_with("I want to {0}.")
    assert _rambles(talk, draft).errors


def test_a_user_who_keeps_still_withholds():
    talk, draft = talk_with("Please go on.")
    seen = _withheld(talk, draft)
    assert seen.tried > 0
    assert len(seen.errors) == seen.tried


def test_the_policy_user_says_nothing_to_a_ramble():
    talk, draft = talk_with("Please go on.")
    policy = Catalog.installed().create("simulator", "policy")[0]
    quiet = Talk(policy, talk.task, talk.persona, 1)
    quiet.open()
    assert not _rambles(quiet, draft).errors
    assert RAMBLE in [m.text for m in quiet.conversation.of("agent")]
