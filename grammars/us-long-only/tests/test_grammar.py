"""Golden values of the grammar, from the specification."""

import random
import time

import pytest

from finassay.api.strategy import Observable
from finassay.testing.cases import ComponentConformance
from finassay_us_long_only.counting import SLOT_NAMES, _alike, _features, count, factor_sets
from finassay_us_long_only.grammar import GrammarOptions, UsLongOnly
from finassay_us_long_only.options import FACTORS, SLOTS, VOICED_GRIDS

GRAMMAR = UsLongOnly(GrammarOptions())

GOLDEN = """
0 | low_beta | - | index_abs_mom | score_prop / none | none | monthly | fixed_bps | 6 | 5 | factor:low_beta schedule:monthly
1 | roe, mom_12_1 | screen_then_rank | yield_curve | equal / none | none | quarterly | none | 10 | 6 | factor:roe option:yield_curve weighting:equal schedule:quarterly
2 | mom_6_1, book_to_market, low_vol | zscore_mean | none | market_cap / none | drawdown_to_cash | quarterly | none | 11 | 8 | factor:mom_6_1 weighting:market_cap schedule:quarterly
3 | low_beta, small_size, earnings_yield | zscore_mean | none | equal / none | none | drift_band | fixed_bps | 11 | 7 | factor:low_beta factor:earnings_yield schedule:drift_band
4 | earnings_surprise, eps_growth | ic_weighted | none | equal / none | vol_target | on_event | none | 15 | 7 | factor:earnings_surprise factor:eps_growth option:vol_target schedule:on_event
5 | earnings_surprise | - | none | risk_parity / sample | none | drift_band | fixed_bps | 10 | 5 | factor:earnings_surprise schedule:drift_band
6 | gross_profitability, rev_5d | ic_weighted | index_abs_mom | inverse_vol / none | position_stop | drift_band | none | 13 | 8 | factor:gross_profitability weighting:inverse_vol schedule:drift_band
7 | eps_growth, low_beta | screen_then_rank | breadth | inverse_vol / none | sector_cap | quarterly | fixed_bps | 15 | 9 | factor:eps_growth weighting:inverse_vol option:sector_cap schedule:quarterly
8 | roe, earnings_yield | ic_weighted | index_ma | market_cap / none | none | drift_band | fixed_bps | 14 | 7 | factor:roe option:index_ma schedule:drift_band
9 | high_52w | - | none | equal / none | sector_cap | quarterly | none | 4 | 5 | factor:high_52w option:sector_cap schedule:quarterly
"""


class TestConformance(ComponentConformance):
    kind = "grammar"
    id = "us-long-only"


@pytest.mark.parametrize("row", [r.strip() for r in GOLDEN.strip().splitlines()], ids=lambda r: f"seed-{r[0]}")
def test_golden_strategies(row):
    seed, factors, combination, timing, sizing, risk, schedule, cost, difficulty, items, opening = (cell.strip() for cell in row.split("|"))
    weighting, covariance = sizing.split(" / ")
    strategy = GRAMMAR.sample(int(seed))
    assert strategy.choices["factor"] == tuple(factors.split(", "))
    assert strategy.choices.get("combination", ("-",)) == (combination,)
    chosen = [strategy.choices[slot][0] for slot in ("timing", "weighting", "covariance", "risk", "schedule", "cost")]
    assert chosen == [timing, weighting, covariance, risk, schedule, cost]
    assert strategy.difficulty == int(difficulty)
    belief = GRAMMAR.belief(strategy)
    assert len(belief.items) == int(items)
    assert [name.split(".", 1)[1] for name in belief.opening] == opening.split()


def test_golden_totals():
    beliefs = [GRAMMAR.belief(GRAMMAR.sample(seed)) for seed in range(10)]
    assert sum(len(b.items) for b in beliefs) == 67
    assert sum(len(b.opening) for b in beliefs) == 31


def test_the_order_of_items():
    belief = GRAMMAR.belief(GRAMMAR.sample(7))
    assert [item.id for item in belief.items] == [
        "stock.factor:eps_growth",
        "stock.factor:low_beta",
        "stock.combination:screen_then_rank",
        "timing.option:breadth",
        "portfolio.weighting:inverse_vol",
        "risk.option:sector_cap",
        "risk.threshold",
        "execution.schedule:quarterly",
        "cost.rate",
    ]


def test_exact_counts():
    counted = count()
    assert counted["total"] == {"coherent": 3_808_700, "factor sets": 465, "raw": 15_681_600}
    assert counted["factors"] == {"1": 36_820, "2": 1_004_920, "3": 2_766_960}
    assert [sum(1 for members in factor_sets() if len(members) == n) for n in (1, 2, 3)] == [15, 97, 353]
    assert counted["weighting"] == {
        "equal": 388_080,
        "score_prop": 388_080,
        "market_cap": 388_080,
        "inverse_vol": 315_980,
        "risk_parity": 1_164_240,
        "mean_variance": 1_164_240,
    }
    assert counted["schedule"] == {
        "monthly": 1_004_780,
        "quarterly": 637_560,
        "weekly": 950_180,
        "drift_band": 1_004_780,
        "on_event": 211_400,
    }
    assert counted["combination"] == {
        "zscore_mean": 1_173_550,
        "rank_mean": 1_173_550,
        "screen_then_rank": 251_230,
        "ic_weighted": 1_173_550,
        "none": 36_820,
    }
    assert counted["rejected"] == {
        "R2": 3_049_920,
        "R3": 9_147_600,
        "R4": 2_464_128,
        "R5": 1_164_672,
        "R6": 148_608,
        "R7": 435_600,
        "R8": 485_280,
    }
    assert GRAMMAR.size().total == 3_808_700


def test_counting_takes_under_a_second():
    count.cache_clear()
    factor_sets.cache_clear()
    started = time.process_time()
    count()
    assert time.process_time() - started < 1


def test_population_figures():
    """20,000 draws, as the specification measured them."""
    strategies = [GRAMMAR.sample(seed) for seed in range(20_000)]
    levels = [s.difficulty for s in strategies]
    assert sum(levels) / len(levels) == pytest.approx(10.7, abs=0.06)
    assert min(levels) == 2
    assert 24 <= max(levels) <= 25  # 24 here; the specification's own draws reached 25
    assert sum(level <= 10 for level in levels) / len(levels) == pytest.approx(0.497, abs=0.006)
    assert sum(level >= 15 for level in levels) / len(levels) == pytest.approx(0.165, abs=0.006)
    assert sum(11 <= level <= 14 for level in levels) / len(levels) == pytest.approx(0.338, abs=0.006)
    voiced = [
        len(s.choices["factor"])
        + ("combination" in s.choices)
        + sum(s.choices[slot] != ("none",) for slot in ("timing", "covariance", "cost"))
        + 2 * (s.choices["risk"] != ("none",))
        + 2
        for s in strategies
    ]
    assert sum(voiced) / len(voiced) == pytest.approx(6.65, abs=0.03)
    assert (min(voiced), max(voiced)) == (3, 11)
    for slot, share in (("timing", 0.50), ("risk", 0.59), ("cost", 0.50)):
        assert sum(s.choices[slot] != ("none",) for s in strategies) / len(strategies) == pytest.approx(share, abs=0.01)


def test_the_opening_leaves_two_items_untold():
    told = []
    for seed in range(2_000):
        belief = GRAMMAR.belief(GRAMMAR.sample(seed))
        told.append(len(belief.opening))
        assert 2 <= len(belief.opening) <= 4
        assert len(belief.items) - len(belief.opening) >= min(2, len(belief.items) - 2)
    assert sum(told) / len(told) == pytest.approx(2.93, abs=0.05)


def _raw_combinations(count_of: int):
    """Combinations drawn evenly over the raw space, coherent or not, from a fixed seed."""
    chance = random.Random(7)
    for _ in range(count_of):
        members = chance.choice(factor_sets())
        choices = {"factor": members}
        for slot, options in SLOTS.items():
            if slot != "combination" or len(members) > 1:
                choices[slot] = (chance.choice(options).id,)
        yield choices


def test_the_classes_of_the_count_are_alike_to_every_rule():
    """Counting takes one option for all that no rule tells apart, and one factor set for all of the same features."""
    stand_in = {option: first for slot in SLOT_NAMES for first, alike in _alike(slot) for option in alike}
    by_features = {_features(members): members for members in factor_sets()}
    for choices in _raw_combinations(5_000):
        broken = [violation.rule for violation in GRAMMAR.check(choices)]
        other = {slot: (stand_in[chosen[0]],) for slot, chosen in choices.items() if slot != "factor"}
        for slot, chosen in other.items():
            swapped = {**choices, slot: chosen}
            assert [violation.rule for violation in GRAMMAR.check(swapped)] == broken, (choices, swapped)
        assert [v.rule for v in GRAMMAR.check({**choices, "factor": by_features[_features(choices["factor"])]})] == broken


def test_observables_carry_the_drawn_values():
    seen = set()
    for seed in range(600):
        strategy = GRAMMAR.sample(seed)
        found = GRAMMAR.observables(strategy)
        assert set(found) == {item.id for item in GRAMMAR.belief(strategy).items}
        seen.update(observable.test for observable in found.values())
        if "risk.threshold" in found:
            (value,) = found["risk.threshold"].arguments.values()
            assert value == strategy.parameters[strategy.choices["risk"][0]] / 100
        if "cost.rate" in found:
            assert found["cost.rate"] == Observable("fee-rate", {"bps": strategy.parameters["fixed_bps"]})
    assert seen == {
        *("factor", "combination", "timing", "equal-weights", "score-weights", "market-cap-weights", "inverse-vol-weights"),
        *("optimised-weights", "covariance", "position-stop", "trailing-stop", "drawdown-to-cash", "sector-cap", "vol-target"),
        *("schedule", "drift-band", "on-event", "fee-rate"),
    }


def test_what_the_belief_leaves_open_can_be_asked():
    for seed in range(200):
        strategy = GRAMMAR.sample(seed)
        names = {topic.name for topic in GRAMMAR.belief(strategy).open_topics}
        for slot, name in (("timing", "market timing"), ("risk", "risk control"), ("cost", "trading costs")):
            assert (name in names) == (strategy.choices[slot] == ("none",))
        assert {"the number of names", "the benchmark", "the starting capital", "the width of the band"} <= names
        ids = [topic.id for topic in GRAMMAR.belief(strategy).open_topics]
        assert len(ids) == len(set(ids))


def test_every_factor_and_voiced_value_is_reachable():
    factors, values = set(), {name: set() for name in VOICED_GRIDS}
    for seed in range(3_000):
        strategy = GRAMMAR.sample(seed)
        factors.update(strategy.choices["factor"])
        for name in VOICED_GRIDS:
            if name in strategy.parameters:
                values[name].add(strategy.parameters[name])
    assert factors == set(FACTORS)
    assert {name: sorted(found) for name, found in values.items()} == {
        name: [float(v) for v in grid] for name, grid in VOICED_GRIDS.items()
    }


def test_prices_alone_serve_only_what_they_can():
    beyond = {name for name, factor in FACTORS.items() if factor.needs != {"prices"}} | {
        "yield_curve",
        "market_cap",
        "sector_cap",
        "on_event",
    }
    for seed in range(500):
        strategy = GRAMMAR.sample(seed, frozenset({"prices"}))
        assert not beyond & {option for options in strategy.choices.values() for option in options}
        assert not GRAMMAR.check(strategy.choices)
        assert GRAMMAR.universe(strategy, frozenset({"prices"})).id in ("basket", "covered")


def test_data_that_serve_nothing_are_an_error():
    with pytest.raises(ValueError, match="rates"):
        GRAMMAR.sample(0, frozenset({"rates"}))


def test_personas_and_universes_go_round():
    assert [GRAMMAR.persona_for(seed) for seed in range(4)] == [
        "retail-investor",
        "generalist-analyst",
        "biotech-specialist",
        "retail-investor",
    ]
    assert GRAMMAR.universe(GRAMMAR.sample(0)).id == "basket"
    assert GRAMMAR.universe(GRAMMAR.sample(9)).id == "sector"
    three = next(s for s in map(GRAMMAR.sample, range(0, 400, 4)) if len(s.choices["factor"]) == 3)
    assert GRAMMAR.universe(three).id == "sector"
