"""What people ask and say, in many natural wordings: found by what it means, and by nothing else."""

import tomllib
from pathlib import Path

import pytest

from finassay.api.matching import Polarity, asks_about, mentions, proposed, raised, sentences
from finassay.api.patterns import phrase
from finassay.api.strategy import Item, Unit
from finassay_us_long_only.belief import _item
from finassay_us_long_only.grammar import GrammarOptions, UsLongOnly
from finassay_us_long_only.wording import portfolio, rules, stock
from finassay_us_long_only.wording.open import OPEN_TOPICS

GRAMMAR = UsLongOnly(GrammarOptions())
TABLES = {
    "factor": (stock.FACTOR_ASKING, stock.FACTORS),
    "combination": (stock.COMBINATION_ASKING, stock.COMBINATIONS),
    "timing": (rules.TIMING_ASKING, rules.TIMINGS),
    "weighting": (portfolio.WEIGHTING_ASKING, portfolio.WEIGHTINGS),
    "covariance": (portfolio.COVARIANCE_ASKING, portfolio.COVARIANCES),
    "risk": (rules.RISK_ASKING, rules.RISKS),
    "schedule": (rules.SCHEDULE_ASKING, rules.SCHEDULES),
}
TOPICS = {slot: asking.topics for slot, (asking, _) in TABLES.items()} | {
    "threshold": rules.THRESHOLD_ASKING.topics,
    "cost": rules.COST_ASKING.topics,
}


def item(slot: str, option: str) -> Item:
    asking, table = TABLES[slot]
    return _item(f"x.{slot}:{option}", slot, asking, table[option], table)


def threshold(option: str, value: float) -> Item:
    return _item("risk.threshold", "threshold", rules.THRESHOLD_ASKING, rules.THRESHOLDS[option], {}, value)


def cost(value: float) -> Item:
    return _item("cost.rate", "cost", rules.COST_ASKING, rules.COST, {}, value, Unit.BASIS_POINTS)


def polarity(of: Item, text: str) -> Polarity | None:
    found = mentions(of, text)
    return found[-1].polarity if found else None


DATA = tomllib.loads((Path(__file__).parent / "phrases.toml").read_text(encoding="utf-8"))
SAID = {(slot, option): texts for slot, options in DATA["said"].items() for option, texts in options.items()}
LEVELS, COSTS, ASKED, LEFT_OPEN = DATA["levels"], DATA["costs"]["fifteen_basis_points"], DATA["asked"], DATA["left_open"]


@pytest.mark.parametrize(("slot", "option"), SAID, ids=lambda v: v)
def test_said_in_eight_ways_and_by_no_other_slot(slot, option):
    assert len(SAID[slot, option]) >= 8
    assert [t for t in SAID[slot, option] if polarity(item(slot, option), t) is not Polarity.ACCEPTS] == []
    wrong = []
    for other_slot, (_, table) in TABLES.items():
        for other in table:
            if (other_slot, other) != (slot, option):
                named = "roe" if other == "roe" else "\0"  # a text that names a factor on purpose
                wrong += [
                    (other, t)
                    for t in SAID[slot, option]
                    if named not in t.casefold() and polarity(item(other_slot, other), t) is Polarity.ACCEPTS
                ]
    assert wrong == []


def test_every_option_is_said():
    assert set(SAID) == {(slot, option) for slot, (_, table) in TABLES.items() for option in table}
    assert set(LEVELS) == set(rules.RISKS)


@pytest.mark.parametrize("option", LEVELS)
def test_levels(option):
    value, other = (30, 25) if option == "sector_cap" else (15, 12)
    for text in (template.format(v=value) for template in LEVELS[option]):
        assert polarity(threshold(option, value), text) is Polarity.ACCEPTS, text
        assert polarity(threshold(option, other), text) is Polarity.CONTRADICTS, text


@pytest.mark.parametrize("text", COSTS)
def test_costs(text):
    assert polarity(cost(15), text) is Polarity.ACCEPTS
    assert polarity(cost(10), text) is Polarity.CONTRADICTS


@pytest.mark.parametrize("slot", ASKED)
def test_asked_in_ten_ways(slot):
    assert len(ASKED[slot]) >= 10
    assert [text for text in ASKED[slot] if not asks_about(TOPICS[slot], text)] == []


@pytest.mark.parametrize("topic", [t for t in OPEN_TOPICS if t.id in LEFT_OPEN], ids=lambda t: t.id)
def test_open_topics_are_understood(topic):
    assert [text for text in LEFT_OPEN[topic.id] if not asks_about(topic.topics, text)] == []


COMPOUND = [
    "How do you rank the stocks, how are positions sized, how often do we rebalance, is there a stop, do you time the market and what costs apply?",
    "Before I start I need a few things from you:\n- the ranking rule\n- position sizing\n- rebalancing frequency\n- market timing, if any\n- risk control\n- trading costs",
    "Please specify:\n1. Stock selection criteria\n2. Weighting\n3. Schedule\n4. Going to cash or always invested\n5. Stops\n6. Commission",
    "| Question | Options |\n|---|---|\n| Which factor | open |\n| Position weights | open |\n| Rebalancing | open |\n| Market filter | open |\n| Risk rule | open |\n| Costs | open |",
    "Could you tell me how you select stocks and weight them? Also, when do we trade, do we ever leave the market, what risk limits are there, and are fees included?",
]


@pytest.mark.parametrize("text", COMPOUND)
def test_compound_questions_and_lists_raise_everything(text):
    missed = [slot for slot in ("factor", "weighting", "schedule", "timing", "risk", "cost") if not asks_about(TOPICS[slot], text)]
    assert missed == []


@pytest.mark.parametrize(
    ("of", "text"),
    [
        (threshold("position_stop", 10), "Each position is capped at a 10% weight."),
        (threshold("position_stop", 10), "We hold 10 names with a stop."),
        (threshold("drawdown_to_cash", 20), "The top 20% of names are held."),
        (threshold("vol_target", 10), "The costs are 10 bp and the band is 10%."),
        (cost(10), "Trade when a weight is off by a 10% band."),
        (cost(10), "Costs are charged on the top 10 names."),
        (item("factor", "low_vol"), "Weights are proportional to inverse volatility."),
        (item("factor", "low_vol"), "We scale to a volatility target."),
        (item("factor", "low_vol"), "Out of the market when volatility is in its top fifth."),
        (item("factor", "mom_12_1"), "Winners of the last half year, skipping the latest month."),
        (item("factor", "mom_6_1"), "Last year's winners, skipping the latest month."),
        (item("factor", "mom_12_1"), "Be in the market only while the index's 12-month return is positive."),
        (item("timing", "index_abs_mom"), "Rank stocks by 12-1 momentum."),
        (item("factor", "small_size"), "Positions are weighted by market cap."),
        (item("weighting", "market_cap"), "Rank by market cap, smallest first."),
        (item("weighting", "equal"), "The benchmark is an equal-weighted index of the same names: equal-weight benchmark."),
        (item("factor", "high_52w"), "The drawdown is measured from the portfolio's high."),
        (item("risk", "position_stop"), "A trailing stop-loss from the peak."),
        (item("risk", "drawdown_to_cash"), "The maximum drawdown was 31%."),
        (item("schedule", "monthly"), "The table shows monthly returns and the monthly volatility."),
    ],
)
def test_what_belongs_elsewhere_is_not_said(of, text):
    assert polarity(of, text) is not Polarity.ACCEPTS


def test_a_calendar_word_in_a_report_contradicts_nothing():
    weekly = item("schedule", "weekly")
    for text in ("The best monthly return was 8%.", "Monthly win rate | 61%", "Figures by month and quarter are in the annex."):
        assert polarity(weekly, text) is None, text
    for text in (
        "Rebalancing: monthly",
        "I rebalance at month-end.",
        "Monthly.",
        "It trades once a quarter.",
        "We refresh on a monthly basis.",
    ):
        assert polarity(weekly, text) is Polarity.CONTRADICTS, text


def test_the_words_for_none():
    for seed in range(60):
        belief = GRAMMAR.belief(GRAMMAR.sample(seed))
        for text, component in (
            ("Stay always fully invested, no market timing.", "timing"),
            ("No stop-loss and no risk control, please.", "risk"),
            ("Ignore trading costs.", "cost"),
            ("No fees.", "cost"),
        ):
            for found in (*belief.items, *belief.absent):
                if found.component == component and found.id != "risk.threshold":
                    expected = Polarity.ACCEPTS if found.id.endswith(":none") else Polarity.CONTRADICTS
                    assert polarity(found, text) is expected, (found.id, text)


def test_ids_as_agents_write_them():
    table = "| Component | Choice |\n|---|---|\n| Factor | `{factor}` |\n| Weighting | `{weighting}` |\n| Rebalancing | `{schedule}` |\n"
    for seed in range(80):
        strategy = GRAMMAR.sample(seed)
        names = {slot: chosen[0] for slot, chosen in strategy.choices.items()}
        said = proposed(GRAMMAR.belief(strategy).items, table.format(**names))
        for name in (
            f"stock.factor:{names['factor']}",
            f"portfolio.weighting:{names['weighting']}",
            f"execution.schedule:{names['schedule']}",
        ):
            assert said[name] is Polarity.ACCEPTS, name


def test_an_agents_plan_raises_what_it_names_right_or_wrong():
    for seed in range(40):
        belief = GRAMMAR.belief(GRAMMAR.sample(seed))
        if any(found.id == "stock.factor:mom_12_1" for found in belief.items):
            continue  # then the plan names one of the factors, and says nothing of the others
        plan = "I will rank by 12-1 momentum, use equal weights, rebalance monthly, no market timing, no stop-loss and no trading costs."
        found = raised((*belief.items, *belief.absent), plan)
        first = belief.items[0].id
        missed = {first, *(i.id for i in belief.items if i.slot in ("weighting", "timing", "risk", "schedule", "cost"))} - found
        assert not missed


def test_a_needle_never_hides_a_match():
    """The quick test before a pattern runs must be true for every text in which the pattern stands."""
    patterns: set[str] = set()
    for seed in range(40):
        belief = GRAMMAR.belief(GRAMMAR.sample(seed))
        for found in (*belief.items, *belief.absent):
            patterns.update((*found.accept, *found.topics))
    texts = [t for ts in (*SAID.values(), *ASKED.values(), *LEFT_OPEN.values()) for t in ts]
    norms = {sentence.norm for text in texts for sentence in sentences(text)}
    for known in map(phrase, patterns):
        hidden = [norm for norm in norms if not known.may_stand_in(norm) and known.expression.search(norm)]
        assert hidden == [], known.expression.pattern


@pytest.mark.parametrize(
    ("slot", "option", "text", "expected"),
    [
        ("schedule", "monthly", "We do not rebalance monthly.", Polarity.CONTRADICTS),
        ("schedule", "weekly", "Weekly, not monthly.", Polarity.ACCEPTS),
        ("schedule", "monthly", "Weekly instead of monthly.", Polarity.CONTRADICTS),
        ("weighting", "equal", "Positions are sized by risk parity rather than equal weights.", Polarity.CONTRADICTS),
        ("covariance", "sample", "The covariance is shrunk (Ledoit-Wolf).", Polarity.CONTRADICTS),
    ],
)
def test_negation_and_alternatives(slot, option, text, expected):
    assert polarity(item(slot, option), text) is expected
