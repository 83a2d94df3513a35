"""Strategies over the whole grammar: seeds drawn so that every factor and option comes up early, with the settings of a run."""

from collections import Counter
from collections.abc import Iterator

from finassay.api.strategy import Strategy
from finassay_reference.delivered.engine.strategy import Strategy as Settings
from finassay_us_long_only.grammar import GrammarOptions, UsLongOnly

GRAMMAR = UsLongOnly(GrammarOptions())
BEST_OF = 24
"""Candidates from which the next strategy is taken."""


def parts(strategy: Strategy) -> frozenset[str]:
    """`slot:option` for every choice."""
    return frozenset(f"{slot}:{option}" for slot, options in strategy.choices.items() for option in options)


def strategies(seed: int, count: int) -> Iterator[Strategy]:
    """`count` strategies: of each handful of seeds the one whose rarest option has come up least so far."""
    seen: Counter[str] = Counter()
    following = seed * 100_003
    for _ in range(count):
        handful = [GRAMMAR.sample(following + k) for k in range(BEST_OF)]
        following += BEST_OF
        chosen = min(handful, key=lambda one: (sorted(seen[part] for part in parts(one)), one.seed))
        seen.update(parts(chosen))
        yield chosen


def settings_of(strategy: Strategy, tickers: tuple[str, ...], start: str, cutoff: str) -> Settings:
    """What the reference engine runs: the voiced values of the strategy, and conventions for the rest."""

    def one(slot: str) -> str:
        return strategy.choices.get(slot, ("none",))[0]

    risk, cost = one("risk"), one("cost")
    return Settings(
        factors=strategy.choices["factor"],
        tickers=tickers,
        start=start,
        cutoff=cutoff,
        combination=one("combination"),
        timing=one("timing"),
        weighting=one("weighting"),
        covariance=one("covariance"),
        risk=risk,
        risk_value=strategy.parameters[risk] / 100 if risk != "none" else 0.0,
        schedule=one("schedule"),
        cost_bps=strategy.parameters["fixed_bps"] if cost == "fixed_bps" else 0.0,
        slots=5 if len(tickers) >= 12 else 3,
        cov_window=126,
    )
