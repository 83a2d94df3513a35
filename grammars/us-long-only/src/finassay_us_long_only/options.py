"""Factors, slots and their options, in the order in which draws and iterations run. Wording lies in `wording/`."""

from typing import Final

from attrs import frozen


@frozen
class Factor:
    """A stock-selection factor. `kind` is what the coherence rules look at; `needs` the data that it takes besides prices."""

    id: str
    family: str
    difficulty: int
    kind: str
    """`price`, `fast` (a price signal that fades within weeks), `fund` or `event`."""
    needs: frozenset[str]


@frozen
class Option:
    """One option of a slot."""

    id: str
    difficulty: int
    weight: float
    """Relative weight in the sampler's draw."""
    needs: frozenset[str] = frozenset({"prices"})


PRICES = frozenset({"prices"})
FUNDAMENTALS = frozenset({"prices", "fundamentals"})


def _factors(*rows: tuple[str, str, int, str, frozenset[str]]) -> dict[str, Factor]:
    return {row[1]: Factor(row[1], row[0], *row[2:]) for row in rows}


FACTORS: Final = _factors(
    ("momentum", "mom_12_1", 1, "price", PRICES),
    ("momentum", "mom_6_1", 1, "price", PRICES),
    ("momentum", "high_52w", 1, "price", PRICES),
    ("reversal", "rev_5d", 1, "fast", PRICES),
    ("reversal", "rev_21d", 1, "fast", PRICES),
    ("value", "earnings_yield", 3, "fund", FUNDAMENTALS),
    ("value", "book_to_market", 3, "fund", FUNDAMENTALS),
    ("quality", "roe", 3, "fund", FUNDAMENTALS),
    ("quality", "gross_profitability", 3, "fund", FUNDAMENTALS),
    ("low_risk", "low_vol", 2, "price", PRICES),
    ("low_risk", "low_beta", 2, "price", PRICES),
    ("growth", "sales_growth", 3, "fund", FUNDAMENTALS),
    ("growth", "eps_growth", 3, "fund", FUNDAMENTALS),
    ("size", "small_size", 2, "price", frozenset({"prices", "market-cap"})),
    ("event", "earnings_surprise", 3, "event", frozenset({"prices", "fundamentals", "announcements"})),
)
FAMILIES: Final = {
    family: tuple(f.id for f in FACTORS.values() if f.family == family) for family in dict.fromkeys(f.family for f in FACTORS.values())
}

N_WEIGHTS: Final = {1: 0.50, 2: 0.32, 3: 0.18}

SLOTS: Final[dict[str, tuple[Option, ...]]] = {
    "combination": (Option("zscore_mean", 1, 1), Option("rank_mean", 1, 1), Option("screen_then_rank", 2, 1), Option("ic_weighted", 3, 1)),
    "timing": (
        Option("none", 0, 0.5),
        Option("index_ma", 1, 0.1),
        Option("index_abs_mom", 1, 0.1),
        Option("vol_regime", 2, 0.1),
        Option("breadth", 2, 0.1),
        Option("yield_curve", 3, 0.1, frozenset({"prices", "rates"})),
    ),
    "weighting": (
        Option("equal", 0, 1),
        Option("score_prop", 1, 1),
        Option("market_cap", 1, 1, frozenset({"prices", "market-cap"})),
        Option("inverse_vol", 2, 1),
        Option("risk_parity", 3, 1),
        Option("mean_variance", 3, 1),
    ),
    "covariance": (Option("none", 0, 0.5), Option("sample", 1, 1 / 6), Option("ewma", 2, 1 / 6), Option("shrinkage", 2, 1 / 6)),
    "risk": (
        Option("none", 0, 0.40),
        Option("position_stop", 1, 0.12),
        Option("trailing_stop", 2, 0.12),
        Option("drawdown_to_cash", 2, 0.12),
        Option("sector_cap", 2, 0.12, frozenset({"prices", "sectors"})),
        Option("vol_target", 3, 0.12),
    ),
    "schedule": (
        Option("monthly", 1, 0.2),
        Option("quarterly", 1, 0.2),
        Option("weekly", 1, 0.2),
        Option("drift_band", 2, 0.2),
        Option("on_event", 3, 0.2, frozenset({"prices", "announcements"})),
    ),
    "cost": (Option("none", 0, 0.5), Option("fixed_bps", 1, 0.5)),
}

OPTIMISERS: Final = frozenset({"risk_parity", "mean_variance"})

VOICED_GRIDS: Final[dict[str, tuple[float, ...]]] = {
    "position_stop": (5, 8, 10, 12, 15),
    "trailing_stop": (8, 10, 12, 15),
    "drawdown_to_cash": (10, 15, 20, 25),
    "sector_cap": (20, 25, 30, 35, 40),
    "vol_target": (8, 10, 12, 15),
    "fixed_bps": (5, 10, 15, 20, 25),
}
"""Values that the belief states: percent, for `fixed_bps` basis points per side."""

UNVOICED_GRIDS: Final[dict[str, tuple[float, ...]]] = {
    "names": (10, 20, 30, 50),
    "moving_average_sessions": (100, 150, 200),
    "volatility_sessions": (20, 40, 60),
    "covariance_sessions": (126, 252, 504),
    "band_points": (2, 3, 5),
}
"""Defaults nobody is held to."""
