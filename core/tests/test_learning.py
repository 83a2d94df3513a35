"""What an agent that learns is told of a graded session, when, and what becomes of its failures."""

from typing import Any, ClassVar

import pytest
from attrs import define, evolve, field
from runs_on_disk import add_card, add_session, run_folder

from finassay.api.component import Origin
from finassay.api.conversation import Conversation, Message
from finassay.api.delivery import Delivery, TurnFacts
from finassay.api.learning import Learner, Lesson, TurnOutline
from finassay.api.scorecard import Graded, UserTurn
from finassay.api.verdict import Unscored
from finassay.models.serving import served
from finassay.runs.build import AgentMaker, _misplaced
from finassay.runs.identity import BEGUN_WITH, differing
from finassay.runs.learning import learn, lesson, opaque
from finassay.testing.fakes import FakeModels, ScriptedAgent
from finassay.testing.samples import sample_task


@define
class Pupil(ScriptedAgent):
    """An agent that keeps its lessons."""

    lessons: list[Lesson] = field(factory=list)
    known: set[str] = field(factory=set)
    error: Exception | None = None
    keeps: tuple[Any, ...] = ()
    reviewers: dict[str, Any] = field(factory=dict)
    serving: list[str] = field(factory=list)

    def begins_with(self) -> dict[str, Any]:
        return {}

    def has_reviewed(self, session: str) -> bool:
        return session in self.known

    def review(self, lesson: Lesson, models: Any) -> str:
        if self.error is not None:
            raise self.error
        self.serving.append(served().session)
        self.known.add(lesson.session)
        self.lessons.append(lesson)
        return "two things\x1b"


def maker(agent: Any, reviewing: Any = None) -> AgentMaker:
    class Catalog:
        def make(self, *arguments: Any) -> Any:
            return agent

    models: Any = FakeModels({})
    return AgentMaker("x", None, None, None, None, agent, models, Catalog(), reviewing or models)  # type: ignore[arg-type]


@pytest.fixture
def graded(tmp_path):
    folder = run_folder(tmp_path / "run")
    key = add_session(folder)
    add_card(folder, key)
    return folder, key


def told(graded: Any, agent: Any) -> str:
    folder, key = graded
    return learn(folder, folder.tasks()[key.task], key, maker(agent), lambda text: text.replace("hunter2", "[redacted]"))


def test_a_graded_session_is_told_once(graded):
    pupil = Pupil()
    assert isinstance(pupil, Learner)
    assert told(graded, pupil) == "learnt: two things\x1b"  # cleaned where it is shown
    assert told(graded, pupil) == ""
    (heard,) = pupil.lessons
    assert heard.feedback.startswith("End reason: satisfied")
    assert pupil.serving == [graded[1].id]
    assert graded[1].task not in heard.session


def test_failures_are_one_line_without_secrets(graded):
    assert told(graded, Pupil(error=RuntimeError("no hunter2"))) == "nothing was learnt: RuntimeError: no [redacted]"


def test_there_is_nothing_to_learn_without_a_whole_grading(tmp_path, graded):
    folder = run_folder(tmp_path / "other")
    key = add_session(folder)
    pupil = Pupil()
    assert told((folder, key), pupil) == ""  # not graded
    add_card(folder, key, lambda card: evolve(card, grading="none"))
    assert told((folder, key), pupil) == ""
    waits = Graded("4.4", unscored=Unscored("judge unavailable", "away"))
    add_card(folder, key, lambda c: evolve(c, verdicts=(waits,), evaluator=evolve(c.evaluator, judge_identity={"asked": {"m": {}}})))
    assert told((folder, key), pupil) == ""
    assert pupil.lessons == []
    folder, key = graded
    assert learn(folder, folder.tasks()[key.task], key, evolve(maker(pupil), reviewing=None), str) == ""


def test_a_lesson_tells_what_was_done_and_no_word_of_what_was_said(graded):
    folder, key = graded
    said = Conversation(
        (
            Message("u0", 0, "user", "I like parrots."),
            Message("a1", 1, "agent", "What stop? And which parrots? I will send a report."),
            Message("u1", 1, "user", "On parrots I have no preference."),
            Message("a2", 2, "agent", "One parrot, nothing to merge.", cut=True),
        )
    )
    state = folder.state(key)
    state.conversation, state.turns = said, (TurnFacts(1, 2.04), TurnFacts(2, 30, True))
    state.user_turns = (UserTurn(0, "open", 0), UserTurn(1, "clarify", 0))
    state.deliveries = (Delivery(1), Delivery(2, state.deliveries[0].files))
    state.identity = {**state.identity, BEGUN_WITH: {"memory": "a"}}
    heard = lesson(add_card(folder, key), sample_task(), "s", state)
    assert heard.outline == (TurnOutline(1, 10, 2, 0, 2.0, False, "clarify"), TurnOutline(2, 5, 0, 1, 30, True, ""))
    assert heard.begun_with == {"memory": "a"}
    assert "parrot" not in str(heard)


def test_the_name_of_a_session_rests_on_its_sealed_record(graded):
    folder, key = graded
    before = opaque(folder, key)
    _, sealed = folder.events(key)
    sealed.append({"type": "disclosure", "turn": 1, "stated": [], "undecided": []})
    sealed.close()
    assert opaque(folder, key) != before


def test_what_a_session_began_with_keeps_none_from_going_on():
    assert differing({"seed": 1, BEGUN_WITH: {"memory": "a"}}, {"seed": 1}) == []
    assert differing({"seed": 1}, {"seed": 2}) == ["seed"]


def test_parts_and_identity_of_an_agent_are_known():
    class Around(ScriptedAgent):
        parts = (Origin("agent", "inner", "finassay-inner", "1"),)
        identity: ClassVar[Any] = {"inner": {"version": "1"}}

    made = maker(Around())
    assert [part.distribution for part in made.parts] == ["finassay-inner"]
    assert made.identity["inner"] == {"version": "1"}
    assert maker(ScriptedAgent()).parts == ()


def test_what_an_agent_keeps_lies_beside_runs(tmp_path):
    run = tmp_path / "runs" / "one"
    for place, wrong in (
        (run / "memory", True),
        (run, True),
        (tmp_path / "runs", True),
        (tmp_path / "memory", False),
        (tmp_path / "runs" / "two", False),
    ):
        assert bool(_misplaced(maker(Pupil(keeps=(place,))), run)) == wrong
    assert _misplaced(maker(ScriptedAgent()), run) == []
