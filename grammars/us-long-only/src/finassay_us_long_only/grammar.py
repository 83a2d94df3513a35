"""The grammar `us-long-only`: the entry point, and what a strategy means for its universe and its trades."""

from collections.abc import Mapping
from typing import ClassVar, Final

from pydantic import BaseModel, ConfigDict

from finassay.api.strategy import Belief, Observable, RuleViolation, SpaceSize, Strategy, Universe
from finassay_us_long_only.belief import belief_of
from finassay_us_long_only.counting import SLOT_NAMES, count
from finassay_us_long_only.naming import choices_of
from finassay_us_long_only.options import OPTIMISERS
from finassay_us_long_only.rules import REJECTED, broken_rules
from finassay_us_long_only.sampler import difficulty, draw_choices, draw_parameters

PERSONAS: Final = ("retail-investor", "generalist-analyst", "biotech-specialist")
BASKET: Final = ("AAPL", "JNJ", "JPM", "KO", "MSFT", "PG", "WMT", "XOM")
UNIVERSES: Final = (
    Universe("basket", f"these eight names: {', '.join(BASKET[:-1])} and {BASKET[-1]}", BASKET),
    Universe("sector", "the US health care sector"),
    Universe("large-caps", "the members of the large-cap US index"),
    Universe("whole-market", "the whole US stock market"),
)
COVERED: Final = Universe("covered", "the large US companies that your price data covers")
"""What takes the place of a universe that prices alone cannot define."""


TIMING_ARGUMENTS: Final[Mapping[str, Mapping[str, float]]] = {
    "index_ma": {},
    "index_abs_mom": {"sessions": 252, "above": 0.0},
    "vol_regime": {"quantile": 0.8},
    "breadth": {"share": 0.5},
    "yield_curve": {"below": 0.0},
}
"""What the sentence of a timing rule says in numbers. Lengths of averages and estimates are open and taken from the delivery."""


class GrammarOptions(BaseModel):
    """Nothing to set."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class UsLongOnly:
    """Long-only US equity strategies in six components; implements `finassay.api.strategy.Grammar`."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "long-only US equity strategies, 3,808,700 before parameter values"
    Options: ClassVar[type[BaseModel]] = GrammarOptions
    id = "us-long-only"
    version = "1"
    components = ("stock", "timing", "portfolio", "risk", "execution", "cost")

    def __init__(self, options: GrammarOptions) -> None:
        self.options = options

    def sample(self, seed: int, needs: frozenset[str] = frozenset()) -> Strategy:
        """The strategy of a seed. Raises `ValueError` if the named kinds of data serve none."""
        choices = draw_choices(seed, needs)
        return Strategy(self.id, self.version, seed, choices, draw_parameters(seed, choices), difficulty(choices))

    def strategy_of(self, items: Mapping[str, float | None], seed: int = 0) -> Strategy:
        """The strategy that voices these items, with the values of those that have one; what is not voiced is drawn from the seed.

        Raises `ValueError` for ids that are none of this grammar's and for choices that break a coherence rule.
        """
        choices, values = choices_of(items)
        broken = broken_rules(choices)
        if broken:
            raise ValueError(f"the items break rule {broken[0].id}: {broken[0].text}")
        return Strategy(self.id, self.version, seed, choices, {**draw_parameters(seed, choices), **values}, difficulty(choices))

    def check(self, choices: Mapping[str, tuple[str, ...]]) -> tuple[RuleViolation, ...]:
        return tuple(RuleViolation(rule.id, rule.text) for rule in broken_rules(choices))

    def size(self) -> SpaceSize:
        counted = count()
        return SpaceSize(counted["total"]["coherent"], {name: counted[name] for name in ("factors", *SLOT_NAMES)})

    def belief(self, strategy: Strategy) -> Belief:
        return belief_of(strategy)

    def persona_for(self, seed: int) -> str:
        """The persona paired with a seed."""
        return PERSONAS[seed % len(PERSONAS)]

    def universe(self, strategy: Strategy, needs: frozenset[str] = frozenset()) -> Universe:
        """pool[seed mod 4]; a basket is too small for breadth, sector caps and three factors, which take the next one."""
        index = strategy.seed % len(UNIVERSES)
        small = (
            strategy.choices.get("timing") == ("breadth",)
            or strategy.choices.get("risk") == ("sector_cap",)
            or len(strategy.choices["factor"]) == 3
        )
        if index == 0 and small:
            index = 1
        chosen = UNIVERSES[index]
        return COVERED if needs and "sectors" not in needs and chosen.id != "basket" else chosen

    def observables(self, strategy: Strategy) -> Mapping[str, Observable]:
        """Item id to the test by which trades can show it."""
        found = {f"stock.factor:{name}": Observable("factor", {"factor": name}) for name in strategy.choices["factor"]}
        for slot, prefix in (
            ("combination", "stock.combination"),
            ("timing", "timing.option"),
            ("weighting", "portfolio.weighting"),
            ("risk", "risk.option"),
        ):
            option = strategy.choices.get(slot, ("none",))[0]
            if option != "none":
                found[f"{prefix}:{option}"] = self._observable(slot, option, strategy)
        risk = strategy.choices.get("risk", ("none",))[0]
        if risk != "none":
            found["risk.threshold"] = self._observable("risk", risk, strategy)
        covariance = strategy.choices.get("covariance", ("none",))[0]
        if covariance != "none":
            found[f"portfolio.covariance:{covariance}"] = Observable(
                "covariance", {"estimator": covariance, "weighting": strategy.choices["weighting"][0]}
            )
        schedule = strategy.choices["schedule"][0]
        plain = {"drift_band": Observable("drift-band"), "on_event": Observable("on-event")}
        found[f"execution.schedule:{schedule}"] = plain.get(schedule, Observable("schedule", {"period": schedule}))
        if strategy.choices["cost"] == ("fixed_bps",):
            found["cost.rate"] = Observable("fee-rate", {"bps": strategy.parameters["fixed_bps"]})
        return found

    def _observable(self, slot: str, option: str, strategy: Strategy) -> Observable:
        if slot == "combination":
            return Observable("combination", {"method": option})
        if slot == "timing":
            return Observable("timing", {"rule": option, **TIMING_ARGUMENTS[option]})
        if slot == "weighting":
            covariance = strategy.choices.get("covariance", ("none",))[0]
            if option in OPTIMISERS:
                return Observable("optimised-weights", {"weighting": option, "covariance": covariance})
            names = {
                "equal": "equal-weights",
                "score_prop": "score-weights",
                "market_cap": "market-cap-weights",
                "inverse_vol": "inverse-vol-weights",
            }
            return Observable(names[option])
        value = strategy.parameters[option] / 100
        names = {
            "position_stop": "position-stop",
            "trailing_stop": "trailing-stop",
            "drawdown_to_cash": "drawdown-to-cash",
            "sector_cap": "sector-cap",
            "vol_target": "vol-target",
        }
        argument = {"sector_cap": "cap", "vol_target": "target"}.get(option, "threshold")
        return Observable(names[option], {argument: value})

    def rejected_examples(self) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        return REJECTED
