"""The engine: who is asked what, whose quotes hold, and that what fails is never a number."""

from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

import pytest
from attrs import evolve, frozen

from finassay.api.conversation import Conversation, Message
from finassay.api.delivery import Delivery, LogEvent, Package, Rejected, TurnFacts
from finassay.api.errors import JudgeError, ProviderError
from finassay.api.grading import Answer, CheckBrief, Document, JudgeRequest, LabelQuestion, LevelQuestion, Material, Quote, TableView
from finassay.api.matching import contains_quote
from finassay.api.scorecard import Evaluator, Scorecard, Unread
from finassay.api.strategy import Belief, Item, Number, Strategy, Unit, Universe
from finassay.api.task import Conditions, Task
from finassay.api.verdict import Measured, NotApplicable, Scored, Source, Unscored, Verdict
from finassay.grading.dimensions import DIMENSIONS
from finassay.grading.elicitation import assumption_rate, elicitation
from finassay.grading.engine import grade
from finassay.records.convert import from_json, to_json
from finassay.testing.samples import sample_package

EVALUATOR = Evaluator(hash="0" * 64, judge="fake", checks=())


class NoBlobs:
    def path(self, sha256: str) -> Path:
        raise KeyError(sha256)


def item(item_id: str, accept: str, reject: str, *, topics: tuple[str, ...] = (), number: Number | None = None, sentence: str = "") -> Item:
    component, slot = item_id.split(":")[0].split(".")
    return Item(item_id, component, slot, f"the {slot}", sentence or f"I want {accept}.", accept, topics, (accept,), (reject,), number)


MONTHLY = item("execution.schedule:monthly", "monthly", "weekly", topics=("how often",))
WINNERS = item("stock.factor:winners", "past winners", "losers", topics=("which stocks",))
EQUAL = item("portfolio.weighting:equal", r"equal\w* weight\w*", "market cap weight", topics=("weighting",))
NO_COST = item("cost.option:none", "ignore costs", "charge costs", topics=("costs",))
BELIEF = Belief((WINNERS, EQUAL, MONTHLY), ("stock.factor:winners",), absent=(NO_COST,))


def package(*texts: str, **changes: object) -> Package:
    """A package with alternating messages, the user first."""
    messages, turn = [], 0
    for index, text in enumerate(texts):
        if index % 2:
            turn += 1
        messages.append(Message(f"{'a' if index % 2 else 'u'}{turn}", turn, "agent" if index % 2 else "user", text))
    strategy = Strategy("test", "1", 0, {"factor": ("winners",), "schedule": ("monthly",)})
    conditions = Conditions(date(2019, 12, 31), Universe("all", "all stocks"), ())
    task = Task("t1", "test", "1", 0, "plain", strategy, BELIEF, conditions)
    made = Package(task, Conversation(tuple(messages)), tuple(Delivery(t + 1) for t in range(turn)), NoBlobs(), end_reason="satisfied")
    return evolve(made, **changes)  # type: ignore[arg-type]


DEFAULT = package("I like past winners.", "I used monthly trades. The return is 12.3 %.", "Thanks, all good.")


@frozen
class FakeCheck:
    dimension: str
    verdict: Callable[[Package, Mapping[str, Answer]], Verdict] | Verdict
    role: str = "scores"
    by_turn: bool = False
    questions: tuple[LabelQuestion, ...] = ()
    facts: Mapping[str, object] = {}

    @property
    def id(self) -> str:
        return f"check-{self.dimension}"

    def brief(self, package: Package) -> CheckBrief:
        return CheckBrief(self.facts, self.questions)

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        return self.verdict(package, answers) if callable(self.verdict) else self.verdict


class FakeJudge:
    id = "fake"
    version = "1"

    def __init__(self, answer: Callable[[JudgeRequest], Answer], deterministic: bool = True) -> None:
        self.reply, self.deterministic = answer, deterministic
        self.requests: list[JudgeRequest] = []

    def answer(self, request: JudgeRequest) -> Answer:
        self.requests.append(request)
        return self.reply(request)


class FakeReader:
    id = "reader"

    def read(self, package: Package) -> Material:
        messages = tuple(Document(m.id, m.text) for m in package.conversation.messages)
        table = TableView("prices.csv", "prices", ("date", "close"), 2, "2019-01-02 1.5")
        return Material(messages, (Document("report.md", "The method is\n  simple."),), (table,), (Document("run.py", "x = 1"),))


def level(value: int, *quotes: str) -> Callable[[JudgeRequest], Answer]:
    return lambda request: Answer("seen", level=value, quotes=tuple(Quote(q) for q in quotes))


def scored(value: int, **more: object) -> Scored:
    return Scored(value, Source.PROGRAM, "check", "why", **more)  # type: ignore[arg-type]


def graded(judge: FakeJudge | None = None, *checks: FakeCheck, on: Package = DEFAULT, by_turn: bool = False) -> Scorecard:
    made = {check.id: check for check in checks}
    return grade(on, made, judge, FakeReader() if judge else None, EVALUATOR, "s1", by_turn=by_turn)  # type: ignore[arg-type]


def verdict(card: Scorecard, name: str) -> Verdict:
    found = card.graded(name)
    assert found is not None
    return found.verdict


def test_without_checks_and_judge_nothing_is_scored_and_nothing_is_zero() -> None:
    card = graded()
    assert {g.dimension for g in card.verdicts} == {one.id for one in DIMENSIONS}
    assert verdict(card, "1.1") == Unscored("no check installed")
    assert verdict(card, "2.3") == Unscored("no check installed")
    assert isinstance(verdict(card, "5.1"), Unscored)
    assert card.quality is None
    assert (card.accepted, card.complete, card.failed_vetoes) == (False, False, ())


def test_everything_in_place_is_accepted_and_survives_storage() -> None:
    checks = [FakeCheck(one.id, scored(4)) for one in DIMENSIONS if one.judged_by.value in ("P", "H", "L/P")]
    checks.append(FakeCheck("5.4", scored(3), role="bounds"))
    card = graded(FakeJudge(level(4, "monthly trades")), *checks)
    assert card.accepted
    assert card.complete
    assert card.quality == pytest.approx(100 - 25 / 6 / 5)
    assert from_json(Scorecard, to_json(card)) == card


def test_a_check_that_raises_is_no_verdict() -> None:
    def crash(package: Package, answers: Mapping[str, Answer]) -> Verdict:
        raise ZeroDivisionError("no prices")

    assert verdict(graded(None, FakeCheck("3.2", crash)), "3.2") == Unscored("check crashed", "ZeroDivisionError: no prices", "check-3.2")
    assert isinstance(verdict(graded(None, FakeCheck("3.2", lambda p, a: 3)), "3.2"), Unscored)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    ("quotes", "expected"),
    [
        (("The return is 12.3 %.",), 3),
        (("The  return\nis 12.3 %.",), 3),
        (("The method is simple.",), 3),
        (("2019-01-02 1.5",), 3),
        (("The return is 99 %.",), 1),
        (("The return is 12.3 %.", "never said"), 1),
        ((), 1),
        (("   ",), 1),
        (("I like past winners.",), 1),
        (("I like past winners.", "x = 1"), 3),
    ],
)
def test_quotes_carry_the_level(quotes: tuple[str, ...], expected: int) -> None:
    found = verdict(graded(FakeJudge(level(3, *quotes))), "4.4")
    assert isinstance(found, Scored)
    assert found.level == expected
    assert found.raw_level == (None if expected == 3 else 3)
    assert ("lowered" in found.reason) == (expected == 1)


def test_low_levels_need_no_quote() -> None:
    found = verdict(graded(FakeJudge(level(0))), "4.4")
    assert isinstance(found, Scored)
    assert (found.level, found.reason) == (0, "seen")


def test_the_corpus_finds_what_contains_quote_finds() -> None:
    text = "The  return\n is 12.3 %."
    assert contains_quote("return is 12.3", text)
    found = verdict(graded(FakeJudge(level(4, "return is 12.3")), on=package("Hi", text)), "4.4")
    assert isinstance(found, Scored)
    assert found.evidence[0].where == "a1"


@pytest.mark.parametrize("answer", [Answer("no level"), Answer("too much", level=5), Answer("bool", level=True)])
def test_an_unreadable_level_is_no_verdict(answer: Answer) -> None:
    found = verdict(graded(FakeJudge(lambda r: answer)), "4.4")
    assert isinstance(found, Unscored)
    assert found.reason == "judge unparsed"


def test_judge_failures_are_told_apart() -> None:
    def unparsed(request: JudgeRequest) -> Answer:
        raise JudgeError("no JSON")

    def down(request: JudgeRequest) -> Answer:
        raise JudgeError("no answer") from ProviderError("529")

    def bug(request: JudgeRequest) -> Answer:
        raise KeyError("x")

    reasons = [verdict(graded(FakeJudge(reply)), "4.4") for reply in (unparsed, down, bug)]
    assert [r.reason for r in reasons if isinstance(r, Unscored)] == ["judge unparsed", "judge unavailable", "judge unavailable"]


def test_a_bound_lowers_and_keeps_the_raw_level() -> None:
    card = graded(FakeJudge(level(4, "x = 1")), FakeCheck("5.4", scored(2, facts={"share": 0.5}), role="bounds", facts={"seen": 1}))
    found = verdict(card, "5.4")
    assert isinstance(found, Scored)
    assert (found.level, found.raw_level, found.source) == (2, 4, Source.JUDGE)
    assert found.facts["share"] == 0.5
    assert "check-5.4" in found.by


def test_a_bound_never_raises() -> None:
    found = verdict(graded(FakeJudge(level(1)), FakeCheck("5.4", scored(4), role="bounds")), "5.4")
    assert isinstance(found, Scored)
    assert (found.level, found.raw_level) == (1, None)


def test_a_bound_that_does_not_apply_settles_without_asking() -> None:
    judge = FakeJudge(level(4, "x = 1"))
    card = graded(judge, FakeCheck("5.3", NotApplicable("no objection"), role="bounds"))
    assert verdict(card, "5.3") == NotApplicable("no objection")
    assert "5.3" not in {r.dimension.id for r in judge.requests}


def test_a_bounded_dimension_without_its_check_has_no_verdict() -> None:
    assert verdict(graded(FakeJudge(level(4, "x = 1"))), "5.4") == Unscored("no check installed")


def test_the_judge_gets_the_facts() -> None:
    judge = FakeJudge(level(2, "x = 1"))
    graded(judge, FakeCheck("4.1", scored(4), role="bounds", facts={"mismatches": ["return"]}))
    assert next(r.facts for r in judge.requests if r.dimension.id == "4.1") == {"mismatches": ["return"]}


def sequence(*levels: int) -> FakeJudge:
    return FakeJudge(lambda r: Answer("seen", level=levels[r.sample], quotes=(Quote("x = 1"),)), deterministic=False)


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ((2, 2, 3), 2),
        ((3, 2, 3), 3),
        ((1, 3, 3, 3), 3),
        ((0, 1, 2, 1), 1),
        ((2, 0, 2, 2), 2),
        ((4, 2, 3, 3), 3),
    ],
)
def test_sampled_vetoes_take_the_median(levels: tuple[int, ...], expected: int) -> None:
    judge = sequence(*levels)
    found = verdict(graded(judge), "2.7")
    assert isinstance(found, Scored)
    assert found.level == expected
    assert sum(r.dimension.id == "2.7" for r in judge.requests) == len(levels)
    assert sum(r.dimension.id == "4.4" for r in judge.requests) == 1


@pytest.mark.parametrize("levels", [(0, 2, 4, 2), (0, 4, 0, 4), (0, 1, 3, 4)])
def test_judges_that_disagree_give_no_verdict(levels: tuple[int, ...]) -> None:
    found = verdict(graded(sequence(*levels)), "5.6")
    assert isinstance(found, Unscored)
    assert found.reason == "judges disagree"


def test_a_deterministic_judge_is_asked_once() -> None:
    judge = FakeJudge(level(2, "x = 1"))
    graded(judge)
    assert sum(r.dimension.id == "2.7" for r in judge.requests) == 1


QUESTION = LabelQuestion("cases", "How is each case handled?", {"ties": "", "halts": "", "warm-up": "", "other": ""}, ("handled", "absent"))


def test_labels_without_a_quote_in_the_delivery_are_dropped() -> None:
    seen: dict[str, Mapping[str, str]] = {}

    def run(package: Package, answers: Mapping[str, Answer]) -> Verdict:
        seen["labels"] = answers["cases"].labels
        return scored(2)

    def reply(request: JudgeRequest) -> Answer:
        if isinstance(request.question, LevelQuestion):
            return Answer("seen", level=0)
        labels = {"ties": "handled", "halts": "handled", "warm-up": "absent", "other": "perhaps", "unasked": "handled"}
        return Answer("seen", labels=labels, case_quotes={"ties": Quote("x = 1"), "halts": Quote("invented"), "unasked": Quote("x = 1")})

    graded(FakeJudge(reply), FakeCheck("2.10", run, questions=(QUESTION,)))
    assert seen["labels"] == {"ties": "handled", "warm-up": "absent"}


def test_a_question_that_cannot_be_answered_stays_undecided() -> None:
    def reply(request: JudgeRequest) -> Answer:
        if request.dimension.id == "2.10":
            raise JudgeError("no JSON")
        return Answer("seen", level=0)

    found = verdict(
        graded(
            FakeJudge(reply),
            FakeCheck("2.10", lambda p, a: scored(0, unverified=tuple(QUESTION.cases) if not a else ()), questions=(QUESTION,)),
        ),
        "2.10",
    )
    assert isinstance(found, Scored)
    assert found.unverified


def test_a_reader_that_fails_leaves_the_judged_dimensions_unscored() -> None:
    class Broken:
        id = "broken"

        def read(self, package: Package) -> Material:
            raise OSError("disk")

    card = grade(DEFAULT, {}, FakeJudge(level(4)), Broken(), EVALUATOR, "s1")
    found = verdict(card, "5.1")
    assert isinstance(found, Unscored)
    assert found.reason == "evidence missing"


def test_without_a_reader_the_judge_reads_the_conversation() -> None:
    card = grade(DEFAULT, {}, FakeJudge(level(3, "monthly trades")), None, EVALUATOR, "s1")
    found = verdict(card, "5.1")
    assert isinstance(found, Scored)
    assert found.level == 3


def test_sessions_that_are_not_graded_hold_no_scores() -> None:
    judge = FakeJudge(level(4, "x = 1"))
    card = graded(judge, on=evolve(DEFAULT, end_reason="environment_error"))
    assert card.grading == "none"
    assert all(isinstance(g.verdict, Unscored) and g.verdict.reason == "not graded" for g in card.verdicts)
    assert (card.quality, card.score, judge.requests) == (None, 0.0, [])


def test_an_unfinished_session_is_refused() -> None:
    with pytest.raises(ValueError, match="ended"):
        graded(on=evolve(DEFAULT, end_reason=None))


def test_scores_by_turn_see_only_what_was_there() -> None:
    told = package("Hi", "one", "go on", "two", "fine")

    def run(package: Package, answers: Mapping[str, Answer]) -> Verdict:
        assert not answers
        return scored(len(package.conversation.of("agent")))

    def crash(package: Package, answers: Mapping[str, Answer]) -> Verdict:
        raise ValueError

    checks = (FakeCheck("1.1", run, by_turn=True), FakeCheck("3.2", crash, by_turn=True), FakeCheck("3.7", scored(4)))
    card = graded(None, *checks, on=told, by_turn=True)
    assert [(t.turn, dict(t.levels), t.failed_vetoes, t.quality) for t in card.by_turn] == [
        (1, {"1.1": 1}, ("1.1",), 25.0),
        (2, {"1.1": 2}, ("1.1",), 50.0),
    ]


def test_measured_costs() -> None:
    turns = (TurnFacts(1, 10.0), TurnFacts(2, 30.0, cut=True, failed_attempts=1))
    log = (
        LogEvent(1, "usage", {"input_tokens": 100, "cost_usd": 0.5}),
        LogEvent(1, "tool-call", {"name": "fetch", "input": {"t": "A"}}),
        LogEvent(1, "tool-call", {"name": "fetch", "input": {"t": "A"}}),
        LogEvent(1, "tool-result", {"is_error": True}),
        LogEvent(2, "usage", {"input_tokens": 50, "cost_usd": None}),
    )
    card = graded(on=package("Hi", "one", "go", "two", turns=turns, log=log))
    time, tokens, tools = (verdict(card, name) for name in ("6.1", "6.2", "6.3"))
    assert isinstance(time, Measured)
    assert isinstance(tokens, Measured)
    assert isinstance(tools, Measured)
    assert time.values == {
        "turns": 2,
        "seconds": 40,
        "seconds_per_turn": 20,
        "longest_turn_seconds": 30,
        "cut_turns": 1,
        "failed_attempts": 1,
    }
    assert tokens.values["input_tokens"] == 150
    assert tokens.values["cost_usd"] is None
    assert tokens.values["output_tokens"] is None
    assert tools.values == {"calls": 2, "failed": 1, "distinct": 1, "calls.fetch": 2}


def test_unlogged_tools_are_unknown() -> None:
    found = verdict(graded(), "6.3")
    assert isinstance(found, Measured)
    assert found.values["calls"] is None


def test_elicitation_is_measured_from_what_was_said() -> None:
    told = package(
        "I like past winners.",
        "How often should it trade? I would use equal weights.",
        "Monthly. And ignore costs.",
        "Done.",
        "No preference on the rest.",
    )
    found = elicitation(BELIEF, told.conversation, {})
    assert found.opening == ("stock.factor:winners",)
    assert found.stated == ("stock.factor:winners", "execution.schedule:monthly")
    assert found.session_items == ("cost.option:none",)
    assert found.coverage == 0.5
    assert found.assumption_rate is None


def test_assumption_rate_counts_what_is_not_matched() -> None:
    def facts(**conditions: str) -> Scored:
        return scored(
            2, facts={"items": {name: {"condition": c.split("/")[0], "test": [*c.split("/"), ""][1]} for name, c in conditions.items()}}
        )

    verdicts: dict[str, Verdict] = {"2.1": facts(a="matched", b="missing"), "2.5": facts(c="matched/contradicts", d="undecided")}
    assert assumption_rate(["a"], verdicts) == 0.0
    assert assumption_rate(["a", "b"], verdicts) == 0.5
    assert assumption_rate(["c"], verdicts) == 1.0
    assert assumption_rate(["d"], verdicts) is None
    assert assumption_rate([], verdicts) is None


def test_numbers_with_units_need_their_value() -> None:
    stop = item("risk.threshold:x", "{number} drawdown", "stop", number=Number(20, Unit.PERCENT))
    found = elicitation(Belief((stop,), ()), package("Cash at a fifth drawdown", "ok").conversation, {})
    assert found.opening == ("risk.threshold:x",)
    assert found.coverage is None


def test_files_that_checks_could_not_read_stand_on_the_scorecard(tmp_path):
    told = [{"file": "a.pkl", "reason": "is a serialised object"}, {"file": "a.pkl", "reason": "again"}, "nonsense"]
    read = {"where": "t.csv", "role": "trades", "columns": {"price": "Px\x1b"}, "reasons": ["has fills"], "used": True}
    tables = [read, {"where": "u.csv", "role": "trades", "columns": 7, "reasons": None}, None]

    class Telling:
        id, dimension, role, by_turn = "telling", "3.8", "scores", False

        def brief(self, package):
            return CheckBrief()

        def run(self, package, answers):
            return Scored(4, Source.PROGRAM, self.id, "all there", facts={"unread": told, "tables": tables})

    package = sample_package(tmp_path, {"a.pkl": b"\x80"}, (("user", "Hi."), ("agent", "Done.")))
    package = evolve(package, deliveries=(evolve(package.deliveries[0], rejected=(Rejected("l", "is a link"),)),))
    card = grade(package, {"telling": Telling()}, None, None, Evaluator("h", "none", ()), "s")
    assert card.unread == (Unread("l", "not taken: is a link"), Unread("a.pkl", "is a serialised object"))
    assert [(t.where, t.used, t.reasons) for t in card.tables] == [("t.csv", True, ("has fills",)), ("u.csv", False, ())]
    assert "\x1b" not in card.tables[0].columns["price"]
    assert from_json(Scorecard, to_json(card), "") == card
