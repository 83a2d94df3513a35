"""Items in words, who raised them, and the levels of 2.1 to 2.6 (equation 6)."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from attrs import evolve

from finassay.api.delivery import Package
from finassay.api.grading import Answer, Quote
from finassay.api.strategy import Belief, Item, Number, Observable, Unit
from finassay.api.verdict import EvidenceKind, NotApplicable, Scored
from finassay_checks.checks.assessment_conversation import ClarificationQuality, ConversationExperience, ResponsivenessToObjections
from finassay_checks.checks.strategy_fidelity import (
    QUESTION,
    Execution,
    FidelityCheck,
    PortfolioConstruction,
    RiskControl,
    StockSelection,
    TransactionCost,
)
from finassay_checks.fidelity.elicitation import elicitation
from finassay_checks.fidelity.items import elicitation_facts, fidelity
from finassay_checks.options import NoOptions

from .deliveries import Bytes, make_package, make_task
from .fidelity_market import Rules, run

FACTOR = Item(
    "stock.factor:mom_6_1",
    "stock",
    "factor",
    "the ranking",
    "rank stocks by the return of the last half year, skipping the latest month",
    "winners of the last half year",
    (r"rank\w*", r"signal", r"(?:which|what) ~ (?:factor|signal|stocks)"),
    (r"6 1 momentum", r"half year ~ skipping", r"return from 126 to 21"),
    (r"past week", r"book to market"),
)
WEIGHTS = Item(
    "portfolio.weighting:equal",
    "portfolio",
    "weighting",
    "the position sizing",
    "give every position the same weight",
    "equal positions",
    (r"(?:weight|siz|allocat)\w*",),
    (r"same weight", r"equal(?:ly)? weight\w*"),
    (r"inverse vol\w*", r"risk parity", r"mean variance"),
)
STOP = Item(
    "risk.option:trailing_stop",
    "risk",
    "risk",
    "the exit rule",
    "sell a stock after a fall from its peak",
    "a trailing stop",
    (r"stops?", r"risk control"),
    (r"trailing stop",),
    (r"vol\w* target", r"stop from entry"),
)
THRESHOLD = Item(
    "risk.threshold",
    "risk",
    "threshold",
    "the stop level",
    "sell at 8% below the peak",
    "8% below the peak",
    (r"stop ~ (?:level|threshold)",),
    (r"{number} trailing stop", r"{number} below the peak"),
    (),
    Number(8, Unit.PERCENT),
)
SCHEDULE = Item(
    "execution.schedule:monthly",
    "execution",
    "schedule",
    "the rebalancing",
    "rebalance once a month",
    "a monthly refresh",
    (r"how often", r"rebalanc\w*", r"schedule"),
    (r"once a month", r"monthly", r"every month"),
    (r"weekly", r"quarterly"),
)
COST = Item(
    "cost.rate",
    "cost",
    "cost",
    "the costs",
    "count 10bp of traded value per side",
    "10bp",
    (r"costs?",),
    (r"costs? ~ {number}", r"{number} ~ per side"),
    (r"no costs?",),
    Number(10, Unit.BASIS_POINTS),
)
NO_COST = Item(
    "cost.option:none",
    "cost",
    "cost",
    "the costs",
    "ignore costs",
    "no costs",
    (r"costs?",),
    (r"ignore costs?", r"no costs?"),
    (r"costs? ~ {number}",),
)
OBSERVABLES = {
    FACTOR.id: Observable("factor", {"factor": "mom_6_1"}),
    WEIGHTS.id: Observable("equal-weights"),
    SCHEDULE.id: Observable("schedule", {"period": "monthly"}),
    COST.id: Observable("fee-rate", {"bps": 10.0}),
    STOP.id: Observable("trailing-stop", {"threshold": 0.08}),
    THRESHOLD.id: Observable("trailing-stop", {"threshold": 0.08}),
}
RULES = """| rule | setting |
|---|---|
| Signal | return from 126 to 21 sessions ago, best 3 |
| Weighting | equal weights |
| Schedule | monthly, filled at the next close |
| Cost | 10 bp per side |
"""
ASKED = (
    "I like winners of the last half year, skipping the latest month.",
    "How should positions be sized, and how often should it be rebalanced? What costs?",
    "Equal weights, monthly, 10bp per side.",
    "Done. See REPORT.md.",
)


def package(
    tmp_path: Path,
    files: Mapping[str, Bytes] | Sequence[Mapping[str, Bytes]],
    messages: Sequence[str] = ASKED,
    items: Sequence[Item] = (FACTOR, WEIGHTS, SCHEDULE, COST),
    absent: Sequence[Item] = (),
) -> Package:
    known = {item.id: OBSERVABLES[item.id] for item in items}
    task = evolve(make_task(), belief=Belief(tuple(items), (FACTOR.id,), tuple(absent)), observables=known)
    return make_package(tmp_path, files, messages, task)


def verdict(check: type[FidelityCheck], made: Package, answers: Mapping[str, Answer] | None = None) -> Scored:
    found = check(NoOptions()).run(made, answers or {})
    assert isinstance(found, Scored)
    return found


def test_a_right_delivery_is_level_four_with_quotes_and_shares(tmp_path: Path) -> None:
    made = package(tmp_path, run(Rules()).files(RULES))
    for check in (StockSelection, PortfolioConstruction, Execution, TransactionCost):
        found = verdict(check, made)
        assert found.level == 4, found.reason
        assert not found.unverified
        assert all(facts["test"] == "supports" and facts["condition"] == "matched" for facts in found.facts["items"].values())
        report = " ".join(made.path(made.tree.files[0]).read_text().split())
        quotes = [e.text for e in found.evidence if e.kind is EvidenceKind.QUOTE and e.where == "REPORT.md"]
        assert all(" ".join(quote.split()) in report for quote in quotes)


def test_words_without_trades_are_level_three(tmp_path: Path) -> None:
    assert verdict(Execution, package(tmp_path, {"REPORT.md": f"# R\n\n## Rules\n\n{RULES}"})).level == 3


def test_a_stated_item_decided_otherwise_fails_and_an_unstated_one_is_capped(tmp_path: Path) -> None:
    wrong = run(Rules(schedule="weekly")).files(RULES.replace("monthly", "weekly"))
    assert verdict(Execution, package(tmp_path / "a", wrong)).level == 0
    silent = ("I like winners of the last half year, skipping the latest month.", "Done. See REPORT.md.")
    assert verdict(Execution, package(tmp_path / "b", wrong, silent)).level == 2


def test_one_of_two_stated_items_missing_is_level_one(tmp_path: Path) -> None:
    said = (*ASKED[:2], "Equal weights, monthly, 10bp per side, and an 8% trailing stop.", ASKED[3])
    made = package(tmp_path, run(Rules()).files(f"{RULES}| Risk | trailing stop of 15% from the peak |\n"), said, (FACTOR, STOP, THRESHOLD))
    found = verdict(RiskControl, made)
    assert found.level <= 1
    assert "risk.threshold" in found.reason


def test_trades_overrule_words(tmp_path: Path) -> None:
    found = verdict(Execution, package(tmp_path, run(Rules(schedule="weekly")).files(RULES)))
    assert found.level == 0
    assert found.facts["items"][SCHEDULE.id]["test"] == "contradicts"


def test_a_control_must_move_positions(tmp_path: Path) -> None:
    said = (*ASKED[:2], "Equal weights, monthly, 10bp per side, and an 8% trailing stop.", ASKED[3])
    text = f"{RULES}| Risk | 8% trailing stop |\n"
    items = (FACTOR, STOP, THRESHOLD)
    acted = package(tmp_path / "a", run(Rules(stop=("trailing", 0.08), schedule="quarterly")).files(text), said, items)
    ignored = package(tmp_path / "b", run(Rules(schedule="quarterly")).files(text), said, items)
    unseen = package(tmp_path / "c", {"REPORT.md": f"# R\n\n## Rules\n\n{text}"}, said, items)
    assert verdict(RiskControl, acted).level == 4
    assert verdict(RiskControl, ignored).level <= 1
    assert verdict(RiskControl, unseen).level == 1


def test_nothing_delivered_is_zero(tmp_path: Path) -> None:
    made = package(tmp_path, {}, ("I like winners of the last half year, skipping the latest month.", "I am thinking."))
    assert [verdict(check, made).level for check in (StockSelection, PortfolioConstruction, Execution, TransactionCost)] == [0, 0, 0, 0]


def test_no_item_is_not_applicable_and_a_decided_none_is_a_session_item(tmp_path: Path) -> None:
    items = (FACTOR, WEIGHTS, SCHEDULE)
    free = run(Rules(rate=0.0)).files(RULES.replace("10 bp per side", "no costs"))
    assert isinstance(TransactionCost(NoOptions()).run(package(tmp_path / "a", free, items=items, absent=(NO_COST,)), {}), NotApplicable)
    said = (ASKED[0], "What costs should I use?", "Ignore costs.", "Done. See REPORT.md.")
    right = package(tmp_path / "b", free, said, items, (NO_COST,))
    assert verdict(TransactionCost, right).level == 4
    assert right.fact(elicitation).session_items == (NO_COST.id,)
    assert NO_COST.id not in right.fact(elicitation).s
    charged = package(tmp_path / "c", run(Rules()).files(RULES), said, items, (NO_COST,))
    assert verdict(TransactionCost, charged).level <= 1


UNCLEAR = RULES.replace("| Weighting | equal weights |", "| Weighting | weights by the house formula |")


def test_undecided_words_go_to_a_judge_and_stay_unverified_without_one(tmp_path: Path) -> None:
    made = package(tmp_path, {"REPORT.md": f"# R\n\n## Rules\n\n{UNCLEAR}"})
    brief = PortfolioConstruction(NoOptions()).brief(made)
    assert [question.cases for question in brief.questions] == [{WEIGHTS.id: WEIGHTS.sentence}]
    assert verdict(PortfolioConstruction, made).unverified == (WEIGHTS.id,)
    quote = Quote("| Weighting | weights by the house formula |", "REPORT.md")
    matched = Answer("", labels={WEIGHTS.id: "matched"}, case_quotes={WEIGHTS.id: quote})
    assert verdict(PortfolioConstruction, made, {QUESTION: matched}).level == 3
    missing = Answer("", labels={WEIGHTS.id: "missing"})
    failed = verdict(PortfolioConstruction, made, {QUESTION: missing})
    assert (failed.level, failed.unverified) == (1, ())
    unquoted = Answer("", labels={WEIGHTS.id: "matched"})
    assert verdict(PortfolioConstruction, made, {QUESTION: unquoted}).unverified == (WEIGHTS.id,)


def test_variants_benchmarks_and_questions_are_not_the_strategy(tmp_path: Path) -> None:
    text = f"# R\n\n## Rules\n\n{RULES}\n## Sensitivity\nA weekly schedule earns less.\n\n## Benchmark\nRisk parity over all names.\nWould you prefer quarterly?\n"
    assert verdict(Execution, package(tmp_path, {"REPORT.md": text})).level == 3


def test_a_retraction_in_the_last_message_counts(tmp_path: Path) -> None:
    said = (*ASKED[:3], "I have now switched the schedule to weekly. See REPORT.md.")
    found = verdict(Execution, package(tmp_path, {"REPORT.md": f"# R\n\n## Rules\n\n{RULES}"}, said))
    assert found.level == 0
    assert "retraction" in found.facts["items"][SCHEDULE.id]["place"]


def test_superseded_files_say_nothing(tmp_path: Path) -> None:
    files = {"old/REPORT.md": f"# R\n\n## Rules\n\n{RULES}", "REPORT.md": "# R\n\n## Rules\n\n| Schedule | weekly |\n|---|---|\n"}
    assert verdict(Execution, package(tmp_path, files)).level == 0


def test_who_raised_what_and_the_rates(tmp_path: Path) -> None:
    made = package(tmp_path, [{}, run(Rules()).files(RULES)])
    raised = made.fact(elicitation)
    assert raised.o == (FACTOR.id,)
    assert raised.s == raised.h
    assert {i: r.by for i, r in raised.raised.items()} == {
        FACTOR.id: "user",
        WEIGHTS.id: "question",
        SCHEDULE.id: "question",
        COST.id: "question",
    }
    assert raised.coverage == 1.0
    facts = made.fact(elicitation_facts)
    assert set(facts["raised_before_last_build"]) == {WEIGHTS.id, SCHEDULE.id, COST.id}
    assert facts["assumption_rate"] is None


def test_assumptions_raise_only_if_right_and_count_in_the_rate(tmp_path: Path) -> None:
    said = (
        "I like winners of the last half year, skipping the latest month.",
        "I assumed weekly rebalancing and equal weights. See REPORT.md.",
    )
    made = package(tmp_path, run(Rules(schedule="weekly")).files(RULES.replace("monthly", "weekly")), said)
    raised = made.fact(elicitation)
    assert raised.raised[WEIGHTS.id].by == "assumption"
    assert raised.raised[SCHEDULE.id].by == "nobody"
    assert raised.coverage == 0.0
    assert made.fact(fidelity).assumption_rate() == pytest.approx(1 / 3)


def test_what_the_user_volunteers_was_raised_by_the_user(tmp_path: Path) -> None:
    said = ("I like winners of the last half year, skipping the latest month.", "Noted.", "And rebalance once a month.", "Done.")
    assert package(tmp_path, {}, said).fact(elicitation).raised[SCHEDULE.id].by == "user"


def test_a_judge_of_the_conversation_is_shown_no_item_that_the_user_has_not_told(tmp_path: Path) -> None:
    said = (
        "I like winners of the last half year, skipping the latest month.",
        "Which schedule do you want?",
        "No, that is wrong.",
        "Done.",
    )
    made = package(tmp_path, {}, said)
    for check in (ConversationExperience, ClarificationQuality, ResponsivenessToObjections):
        told = json.dumps(check(NoOptions()).facts(made), default=str)
        assert not [item.id for item in (WEIGHTS, SCHEDULE, COST) if item.id in told], check
    facts = ClarificationQuality(NoOptions()).facts(made)
    assert (facts["items"], facts["told_by_user"], facts["untold"], facts["raised_by_agent"]) == (4, 1, 3, 1)


def test_what_the_second_check_found_told_is_told(tmp_path: Path) -> None:
    said = ("I like winners of the last half year, skipping the latest month.", "Which schedule do you want?", "Every so often.", "Done.")
    made = evolve(package(tmp_path, {}, said), confirmed=frozenset({SCHEDULE.id}))
    assert SCHEDULE.id in made.fact(elicitation).s
    assert made.fact(elicitation).stated_turn[SCHEDULE.id] == 1
