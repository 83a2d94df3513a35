"""From a strategy to words: the items H, the opening O, the absent items, and what stays open."""

from collections.abc import Iterator, Mapping

from attrs import evolve

from finassay.api.strategy import Belief, Item, Number, OpenTopic, Strategy, Unit
from finassay_us_long_only.sampler import opening_ids
from finassay_us_long_only.wording import portfolio, rules, stock
from finassay_us_long_only.wording.model import Asking, Words
from finassay_us_long_only.wording.open import OPEN_TOPICS

Table = Mapping[str, Words]


def _item(
    item_id: str, slot: str, asking: Asking, words: Words, others: Table, value: float | None = None, unit: Unit = Unit.PERCENT
) -> Item:
    shown = "" if value is None else f"{value:g}"
    return Item(
        id=item_id,
        component=item_id.split(".")[0],
        slot=slot,
        piece=asking.piece,
        sentence=words.sentence.format(value=shown) if shown else words.sentence,
        opening=words.opening.format(value=shown) if shown else words.opening,
        topics=asking.topics,
        accept=words.says,
        reject=tuple(pattern for other in others.values() if other is not words for pattern in other.against_others),
        number=None if value is None else Number(value, unit),
    )


def _factors(strategy: Strategy) -> Iterator[Item]:
    chosen = strategy.choices["factor"]
    others = {name: words for name, words in stock.FACTORS.items() if name not in chosen}
    for name in chosen:
        yield _item(f"stock.factor:{name}", "factor", stock.FACTOR_ASKING, stock.FACTORS[name], others)


def _chosen(strategy: Strategy, slot: str) -> str:
    return strategy.choices.get(slot, ("none",))[0]


def items_of(strategy: Strategy) -> tuple[Item, ...]:
    """H in the order of the specification (A.7)."""
    found = list(_factors(strategy))
    for slot, prefix, asking, table in (
        ("combination", "stock.combination", stock.COMBINATION_ASKING, stock.COMBINATIONS),
        ("timing", "timing.option", rules.TIMING_ASKING, rules.TIMINGS),
        ("weighting", "portfolio.weighting", portfolio.WEIGHTING_ASKING, portfolio.WEIGHTINGS),
        ("covariance", "portfolio.covariance", portfolio.COVARIANCE_ASKING, portfolio.COVARIANCES),
        ("risk", "risk.option", rules.RISK_ASKING, rules.RISKS),
    ):
        option = _chosen(strategy, slot)
        if option != "none":
            item = _item(f"{prefix}:{option}", slot, asking, table[option], table)
            found.append(_with_reject(item, {"timing": rules.TIMING_NONE, "risk": rules.RISK_NONE}.get(slot, ())))
    risk = _chosen(strategy, "risk")
    if risk != "none":
        found.append(_item("risk.threshold", "threshold", rules.THRESHOLD_ASKING, rules.THRESHOLDS[risk], {}, strategy.parameters[risk]))
    schedule = _chosen(strategy, "schedule")
    found.append(_item(f"execution.schedule:{schedule}", "schedule", rules.SCHEDULE_ASKING, rules.SCHEDULES[schedule], rules.SCHEDULES))
    if _chosen(strategy, "cost") == "fixed_bps":
        rate = strategy.parameters["fixed_bps"]
        cost = _item("cost.rate", "cost", rules.COST_ASKING, rules.COST, {}, rate, Unit.BASIS_POINTS)
        found.append(_with_reject(cost, rules.COST_NONE))
    return tuple(found)


def _with_reject(item: Item, patterns: tuple[str, ...]) -> Item:
    return evolve(item, reject=(*item.reject, *patterns))


def absent_of(strategy: Strategy) -> tuple[Item, ...]:
    """A possible session item for each component that the belief does not voice."""
    found = []
    for slot, item_id, asking, says, sentence, others in (
        ("timing", "timing.option:none", rules.TIMING_ASKING, rules.TIMING_NONE, "stay fully invested at all times", rules.TIMINGS),
        ("risk", "risk.option:none", rules.RISK_ASKING, rules.RISK_NONE, "do without any stop", rules.RISKS),
        ("cost", "cost.option:none", rules.COST_ASKING, rules.COST_NONE, "ignore costs", {"fixed_bps": rules.COST}),
    ):
        if _chosen(strategy, slot) == "none":
            found.append(_item(item_id, slot, asking, Words(sentence, sentence, says), others))
    return tuple(found)


def open_topics_of(strategy: Strategy) -> tuple[OpenTopic, ...]:
    """What the belief leaves open: the unvoiced components first, then parameters and practicalities."""
    unvoiced = {
        "timing": ("market timing", rules.TIMING_ASKING),
        "risk": ("risk control", rules.RISK_ASKING),
        "cost": ("trading costs", rules.COST_ASKING),
    }
    components = tuple(
        OpenTopic(slot, name, asking.topics) for slot, (name, asking) in unvoiced.items() if _chosen(strategy, slot) == "none"
    )
    covariance = (
        ()
        if _chosen(strategy, "covariance") != "none"
        else (OpenTopic("covariance", "the covariance estimate", portfolio.COVARIANCE_ASKING.topics),)
    )
    combination = (
        () if "combination" in strategy.choices else (OpenTopic("combination", "how to combine signals", stock.COMBINATION_ASKING.topics),)
    )
    return (*components, *covariance, *combination, *OPEN_TOPICS)


def belief_of(strategy: Strategy) -> Belief:
    """The hidden strategy in words."""
    items = items_of(strategy)
    opening = opening_ids(strategy.seed, [(item.id, item.slot) for item in items])
    return Belief(items, opening, absent_of(strategy), open_topics_of(strategy))
