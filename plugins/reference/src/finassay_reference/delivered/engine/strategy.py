"""What is backtested: the strategy's choices and numbers, as `run_backtest.py` states them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Strategy:
    """One strategy. Option ids are those of the specification table; percentages are fractions, costs basis points per side."""

    factors: tuple[str, ...]
    tickers: tuple[str, ...]
    start: str
    """First date of the price table."""
    cutoff: str
    """Last date of data that may be used, inclusive."""
    combination: str = "none"
    timing: str = "none"
    weighting: str = "equal"
    covariance: str = "none"
    risk: str = "none"
    risk_value: float = 0.0
    """Threshold of a stop or drawdown rule, or the volatility target."""
    schedule: str = "monthly"
    cost_bps: float = 0.0
    slots: int = 5
    """Names held at most."""
    band: float = 0.03
    """Drift band: distance of a weight from its target that triggers a trade."""
    lookback: int = 252
    """Long window: 12-month momentum, 52-week high, beta (sessions)."""
    skip: int = 21
    """Sessions left out at the end of a momentum window."""
    vol_window: int = 60
    """Window of volatility: factor, inverse volatility, volatility target (sessions)."""
    cov_window: int = 252
    """Window of the covariance matrix and the expected returns (sessions)."""
    risk_aversion: float = 5.0
    """Mean-variance: utility = w'm - risk_aversion * w'Cw on daily values."""
    max_weight: float = 0.4
    """Mean-variance: largest weight of a name."""
    ma_window: int = 200
    """Moving average of timing and breadth (sessions)."""
    ic_months: int = 36
    ic_months_min: int = 12
    reentry_sessions: int = 21
    """Drawdown rule: sessions in cash before a scheduled decision may re-enter."""
    warm_up: int = 320
    """Sessions of the price table before the first decision."""
    fill_lag: int = 1
    """Sessions between the decision's close and the fill's close."""
    capital: float = 1_000_000.0

    @property
    def first_session(self) -> int:
        """Index of the first session at which a decision may be taken: every window is full there."""
        if self.combination == "ic_weighted":
            return max(self.warm_up, self.lookback + self.skip * (self.ic_months_min + 2))
        return self.warm_up
