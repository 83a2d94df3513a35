"""Dimensions, end reasons and the equations of the score."""

from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from finassay.api.delivery import EndReason
from finassay.api.dimension import JudgedBy
from finassay.api.verdict import NotApplicable, Scored, Source, Unscored, Verdict
from finassay.grading.dimensions import DIMENSIONS, SCORED_CATEGORIES, dimension
from finassay.grading.evaluator import evaluator_hash
from finassay.grading.outcomes import INVALID, OUTCOMES
from finassay.grading.score import category_mean, fidelity_cap, totals


def scored(level: int, **more: object) -> Scored:
    return Scored(level, Source.PROGRAM, "test", "because", **more)  # type: ignore[arg-type]


def all_at(level: int, **other: Verdict) -> dict[str, Verdict]:
    verdicts: dict[str, Verdict] = {one.id: scored(level) for one in DIMENSIONS if one.scored}
    verdicts.update({name.removeprefix("d").replace("_", "."): verdict for name, verdict in other.items()})
    return verdicts


def test_totals_of_table_7() -> None:
    kinds = Counter(one.judged_by for one in DIMENSIONS)
    assert kinds[JudgedBy.PROGRAM] == 17
    assert kinds[JudgedBy.JUDGE] + kinds[JudgedBy.JUDGE_BOUNDED] + kinds[JudgedBy.JUDGE_BY_RULE] == 19
    assert kinds[JudgedBy.HYBRID] == 6
    assert kinds[JudgedBy.MEASURED] == 3
    assert len(DIMENSIONS) == len({one.id for one in DIMENSIONS}) == len({one.name for one in DIMENSIONS}) == 45
    assert Counter(one.category for one in DIMENSIONS if one.scored) == {
        "data": 6,
        "strategy": 12,
        "backtest": 8,
        "assessment": 5,
        "experience": 6,
    }
    assert Counter(one.category for one in DIMENSIONS if not one.scored) == {"cost": 3, "transparency": 5}


def test_vetoes_and_thresholds() -> None:
    assert {one.id: one.veto for one in DIMENSIONS if one.veto is not None} == {
        "1.1": 4,
        "2.1": 2,
        "2.2": 2,
        "2.3": 2,
        "2.4": 2,
        "2.5": 2,
        "2.6": 2,
        "2.7": 2,
        "3.1": 2,
        "3.2": 1,
        "3.7": 4,
        "3.8": 4,
        "4.1": 2,
        "5.1": 2,
        "5.6": 2,
    }
    assert [one.id for one in DIMENSIONS if one.bonus] == ["3.6"]
    assert dimension("5.4").judged_by is JudgedBy.JUDGE_BOUNDED
    assert {one.id for one in DIMENSIONS if one.judged_by is JudgedBy.JUDGE_BY_RULE} == {"2.10", "3.4"}


def test_every_dimension_tells_a_person_what_is_looked_at_and_has_its_anchors() -> None:
    for one in DIMENSIONS:
        assert one.looks_at.endswith("."), one.id
        assert len(one.anchors) == (0 if one.judged_by is JudgedBy.MEASURED else 5), one.id
        assert len(set(one.anchors)) == len(one.anchors)


def test_unknown_dimension() -> None:
    with pytest.raises(KeyError):
        dimension("9.9")


def test_every_end_reason_has_its_outcome() -> None:
    assert set(OUTCOMES) == set(get_args(EndReason))
    assert {r for r, o in OUTCOMES.items() if o.can_be_accepted} == {"satisfied"}
    assert {r for r, o in OUTCOMES.items() if o.graded == "diagnostic"} == {"turn_limit", "resource_limit"}
    assert {"simulator_void", "environment_error", "cancelled"} == INVALID == {r for r, o in OUTCOMES.items() if o.graded == "none"}
    assert OUTCOMES["agent_error"].graded == "full"


@pytest.mark.parametrize(("stated", "unstated", "cap"), [(0, 0, 4), (0, 1, 2), (0, 5, 2), (1, 0, 1), (2, 3, 1)])
def test_equation_6(stated: int, unstated: int, cap: int) -> None:
    assert fidelity_cap(stated, unstated) == cap


def test_perfect_and_satisfied_is_accepted() -> None:
    result = totals(DIMENSIONS, all_at(4), "satisfied")
    assert (result.quality, result.score, result.accepted, result.failed_vetoes, result.incomplete) == (100.0, 100.0, True, (), ())


def test_equation_3_gives_each_category_the_same_weight() -> None:
    verdicts = all_at(0) | {one.id: scored(4) for one in DIMENSIONS if one.category == "assessment"}
    result = totals(DIMENSIONS, verdicts, "satisfied")
    assert result.quality == pytest.approx(20.0)
    assert result.categories == {name: (100.0 if name == "assessment" else 0.0) for name in SCORED_CATEGORIES}
    assert result.score == 0.0


def test_a_failed_veto_zeroes_the_score_and_keeps_quality() -> None:
    result = totals(DIMENSIONS, all_at(4, d1_1=scored(3)), "satisfied")
    assert result.failed_vetoes == ("1.1",)
    assert not result.passed
    assert result.score == 0.0
    assert not result.accepted
    assert result.quality == pytest.approx(25 / 5 * (4 * 4 + (5 * 4 + 3) / 6))


def test_threshold_is_the_lowest_level_that_passes() -> None:
    assert totals(DIMENSIONS, all_at(4, d3_2=scored(1)), "satisfied").passed
    assert totals(DIMENSIONS, all_at(4, d3_2=scored(0)), "satisfied").failed_vetoes == ("3.2",)


def test_not_applicable_leaves_the_mean_and_its_veto_passes() -> None:
    result = totals(DIMENSIONS, all_at(4, d2_2=NotApplicable("no item")), "satisfied")
    assert result.accepted
    assert result.categories["strategy"] == 100.0


def test_unscored_veto_is_no_failed_veto_and_never_a_pass() -> None:
    result = totals(DIMENSIONS, all_at(4, d4_1=Unscored("judge unavailable", "quota")), "satisfied")
    assert result.failed_vetoes == ()
    assert not result.passed
    assert not result.accepted
    assert result.score == 0.0
    assert result.categories["assessment"] == 100.0
    assert result.incomplete == ("4.1 Grounded conclusions: judge unavailable (quota)",)


def test_unscored_elsewhere_leaves_the_grading_incomplete() -> None:
    result = totals(DIMENSIONS, all_at(4, d4_4=Unscored("judge unparsed")), "satisfied")
    assert result.passed
    assert result.score == 100.0
    assert not result.accepted


def test_unverified_items_leave_the_grading_incomplete() -> None:
    result = totals(DIMENSIONS, all_at(4, d2_1=scored(4, unverified=("stock.combination:x",))), "satisfied")
    assert not result.accepted
    assert "stock.combination:x" in result.incomplete[0]


def test_a_missing_verdict_is_not_a_zero() -> None:
    verdicts = all_at(4)
    del verdicts["1.4"]
    result = totals(DIMENSIONS, verdicts, "satisfied")
    assert result.categories["data"] == 100.0
    assert result.incomplete == ("1.4 Delivered data quality: not graded",)


@pytest.mark.parametrize(("bonus", "mean"), [(0, 50.0), (2, 50.0), (4, 25 * 18 / 8), (3, 25 * 17 / 8)])
def test_the_bonus_counts_only_if_it_raises_the_mean(bonus: int, mean: float) -> None:
    backtest = [one for one in DIMENSIONS if one.category == "backtest"]
    verdicts: dict[str, Verdict] = {one.id: scored(2) for one in backtest}
    assert category_mean(backtest, verdicts | {"3.6": scored(bonus)}) == pytest.approx(mean)


def test_a_bonus_that_cannot_be_tried_here_is_forgone() -> None:
    assert totals(DIMENSIONS, all_at(4, d3_6=Unscored("evidence missing", "no sandbox")), "satisfied").accepted
    assert not totals(DIMENSIONS, all_at(4, d3_6=Unscored("check crashed", "boom")), "satisfied").accepted


def test_reported_dimensions_do_not_touch_score_or_completeness() -> None:
    assert totals(DIMENSIONS, all_at(4, d7_1=Unscored("check crashed"), d7_2=scored(0)), "satisfied").accepted


@pytest.mark.parametrize("reason", ["turn_limit", "resource_limit", "integrity_violation"])
def test_limits_keep_quality_and_score_nothing(reason: EndReason) -> None:
    result = totals(DIMENSIONS, all_at(4), reason)
    assert (result.quality, result.score, result.accepted) == (100.0, 0.0, False)


@pytest.mark.parametrize("reason", ["user_walked_away", "agent_gave_up", "agent_error"])
def test_other_ends_keep_the_score_and_are_never_accepted(reason: EndReason) -> None:
    result = totals(DIMENSIONS, all_at(4), reason)
    assert (result.score, result.accepted) == (100.0, False)


def test_invalid_sessions_have_no_quality() -> None:
    result = totals(DIMENSIONS, all_at(4), "simulator_void")
    assert (result.quality, result.score, result.passed, result.accepted) == (None, 0.0, False, False)
    assert result.incomplete


def test_a_category_without_verdicts_leaves_the_quality() -> None:
    verdicts = all_at(4) | {one.id: Unscored("judge unavailable") for one in DIMENSIONS if one.category == "experience"}
    result = totals(DIMENSIONS, verdicts, "satisfied")
    assert result.categories["experience"] is None
    assert result.quality == 100.0
    assert not result.accepted


def test_hash_follows_content_and_not_place_order_or_caches(tmp_path: Path) -> None:
    for place in ("a", "b"):
        for name in ("one", "two"):
            folder = tmp_path / place / name
            (folder / "__pycache__").mkdir(parents=True)
            (folder / "code.py").write_text(f"# {name}\n")
            (folder / "__pycache__" / "code.pyc").write_bytes(place.encode())
    first, second = tmp_path / "a", tmp_path / "b"
    before = evaluator_hash([first / "one", first / "two"])
    assert before == evaluator_hash([second / "two", second / "one"])
    assert before != evaluator_hash([first / "one"])
    (first / "one" / "code.py").write_text("# changed\n")
    assert before != evaluator_hash([first / "one", first / "two"])
    assert len(before) == 64
