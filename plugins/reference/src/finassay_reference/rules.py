"""Each option as one executable rule in words, with the place in the delivered code."""

from attrs import frozen

from finassay_reference.request import Request

FACTOR_WORDS = {
    "mom_12_1": "last year's winners, skipping the latest month",
    "mom_6_1": "winners of the last half year, skipping the latest month",
    "high_52w": "names trading near their yearly high",
    "rev_5d": "what got hit hardest this past week",
    "rev_21d": "the biggest losers of the past month",
    "earnings_yield": "stocks that are cheap on earnings",
    "book_to_market": "stocks that are cheap on book value",
    "roe": "companies with a high return on equity",
    "gross_profitability": "companies with a strong gross profit for their assets",
    "low_vol": "the calmer stocks",
    "low_beta": "stocks that move less than the market",
    "sales_growth": "companies whose revenue grows fast",
    "eps_growth": "companies whose earnings grow fast",
    "small_size": "the smaller companies",
    "earnings_surprise": "companies that just beat earnings",
}
LABELS = {
    "zscore_mean": "averaged z-scores",
    "rank_mean": "averaged ranks",
    "screen_then_rank": "a screen on the first signal and a ranking by the second",
    "ic_weighted": "signals weighted by trailing information coefficient",
    "index_ma": "in the market only while the index is above its moving average",
    "index_abs_mom": "in the market only while the index's 12-month return is positive",
    "vol_regime": "out of the market while index volatility is in its top fifth",
    "breadth": "in the market only while more than half of the universe is above its own average",
    "yield_curve": "out of the market while the yield curve is inverted",
    "equal": "equal weights",
    "score_prop": "positions sized in proportion to their score",
    "market_cap": "market-cap weights",
    "inverse_vol": "inverse-volatility sizing",
    "risk_parity": "risk parity",
    "mean_variance": "mean-variance optimisation",
    "sample": "the plain sample covariance",
    "ewma": "an exponentially weighted covariance",
    "shrinkage": "a shrinkage covariance",
    "position_stop": "a stop-loss on each position",
    "trailing_stop": "a trailing stop on each position",
    "drawdown_to_cash": "going to cash on a portfolio drawdown",
    "sector_cap": "a limit on how much sits in one sector",
    "vol_target": "a volatility target",
    "weekly": "a weekly rebalance",
    "monthly": "a monthly rebalance",
    "quarterly": "a quarterly rebalance",
    "drift_band": "trading only when a weight has drifted outside a band",
    "on_event": "trading the day after an announcement",
}
CHECKED = "checked at every close and acted on at the next session's close"


@frozen
class Numbers:
    """Settings that are chosen by convention, not by the user and not by results."""

    slots: int
    band: float = 0.03
    lookback: int = 252
    skip: int = 21
    vol_window: int = 60
    cov_window: int = 252
    risk_aversion: float = 5.0
    max_weight: float = 0.4
    ma_window: int = 200
    capital: float = 1_000_000.0


@frozen
class Rule:
    """One row of the specification table: `rule` is a single sentence without a full stop; `source` is 'you' or 'my default'."""

    component: str
    choice: str
    rule: str
    source: str
    code: str


def _factor(name: str, n: Numbers) -> str:
    return {
        "mom_12_1": f"return from t-{n.lookback} to t-{n.skip}, high is good",
        "mom_6_1": f"return from t-{n.lookback // 2} to t-{n.skip}, high is good",
        "high_52w": f"close divided by the highest close of {n.lookback} sessions, high is good",
        "rev_5d": "return of the last 5 sessions, low is good",
        "rev_21d": f"return of the last {n.skip} sessions, low is good",
        "low_vol": f"standard deviation of daily returns over {n.vol_window} sessions, low is good",
        "low_beta": f"beta of daily returns to the S&P 500 over {n.lookback} sessions, low is good",
    }[name]


_FUNCTIONS = {
    "mom_12_1": "momentum_12_1",
    "mom_6_1": "momentum_6_1",
    "high_52w": "high_52w",
    "rev_5d": "reversal_5d",
    "rev_21d": "reversal_21d",
    "low_vol": "low_vol",
    "low_beta": "low_beta",
}


def _combination(option: str, factors: tuple[str, ...]) -> str:
    return {
        "zscore_mean": "each signal is turned into a cross-sectional z-score and the z-scores are averaged",
        "rank_mean": "the names are ranked on each signal and the ranks are averaged",
        "screen_then_rank": f"keep the better half on the first signal ({factors[0]}), then rank that half by the second ({factors[-1]})",
        "ic_weighted": (
            "each z-scored signal is weighted by its trailing information coefficient, the mean of up to 36 past rank correlations with the"
            " following calendar month's return where positive, at least 12, else all alike"
        ),
    }[option]


def _timing(option: str, n: Numbers) -> str:
    return {
        "none": "no market timing",
        "index_ma": f"be in the market only while the index (S&P 500) is above its moving average of {n.ma_window} sessions, {CHECKED}",
        "index_abs_mom": f"be in the market only while the index's 12-month return ({n.lookback} sessions) is positive, {CHECKED}",
        "vol_regime": (
            f"step out of the market while index volatility is in its top fifth, {n.skip} sessions of returns against the last {n.lookback}"
            f" values, {CHECKED}"
        ),
        "breadth": (
            f"be in the market only while more than half of the universe is above its own average of {n.ma_window} sessions, {CHECKED}"
        ),
    }[option]


def _weighting(option: str, n: Numbers) -> str:
    return {
        "equal": f"equal weights, each of the {n.slots} slots gets 1/{n.slots} of equity and an empty slot stays cash",
        "score_prop": "positions sized in proportion to their score, which is the combined value less the lowest one of the day",
        "inverse_vol": (
            f"the last {n.vol_window} sessions give the standard deviation of each pick and the weights are inverse to it,"
            " inverse-volatility sizing"
        ),
        "risk_parity": "size positions by risk parity so that each pick adds the same risk, long only, sum 1",
        "mean_variance": (
            f"size positions by mean-variance optimisation: maximise w'm - {n.risk_aversion:g} w'Cw, a risk aversion of"
            f" {n.risk_aversion:g}, m the mean daily return of {n.cov_window} sessions, long only, sum 1, each weight capped at"
            f" {n.max_weight:.0%}"
        ),
    }[option]


def _covariance(option: str, n: Numbers) -> str:
    return {
        "none": "none needed",
        "sample": f"the plain sample covariance of the picks' daily returns over {n.cov_window} sessions",
        "ewma": f"an exponentially weighted covariance of the picks' daily returns over {n.cov_window} sessions, decay 0.97 a session",
        "shrinkage": f"a shrinkage covariance (Ledoit-Wolf) of the picks' daily returns over {n.cov_window} sessions",
    }[option]


def _risk(option: str, value: float, n: Numbers) -> str:
    level = f"{value:.4%}".rstrip("%").rstrip("0").rstrip(".") + "%"
    return {
        "none": "no stop and no other risk rule",
        "position_stop": (
            f"a stop-loss on each position: sell it when its close has fallen {level} from its average entry price, {CHECKED}, and it stays"
            " out until the next rebalance"
        ),
        "trailing_stop": (
            f"a trailing stop on each position: sell it when its close has dropped {level} from its own peak close since entry, {CHECKED},"
            " and it stays out until the next rebalance"
        ),
        "drawdown_to_cash": (
            f"cut the whole portfolio to cash once the drawdown reaches {level} below the reference high, {CHECKED}, re-entry at the first"
            f" scheduled decision at least {n.skip} sessions after the cut, where the reference high restarts at the equity of that close"
        ),
        "vol_target": (
            f"scale the exposure to a volatility target of {level} a year, exposure = min(1, {level} / estimate), the estimate from the"
            f" picks at their weights over {n.vol_window} sessions"
        ),
    }[option]


def _schedule(option: str, n: Numbers) -> str:
    filled = "and filled at the next session's close"
    return {
        "weekly": f"rebalance every week, decided at the week's last close {filled}",
        "monthly": f"rebalance every month, decided at the month's last close {filled}",
        "quarterly": f"rebalance once a quarter, decided at the quarter's last close {filled}",
        "drift_band": (
            f"trade only when a weight has drifted outside a band of {n.band * 100:g} percentage points around its planned value, checked"
            f" at every close {filled}, only names outside the band are traded (others are trimmed only to pay for a purchase), and planned values are set anew on such a day and at each"
            " calendar month's last close"
        ),
    }[option]


def _cost(bps: float) -> str:
    return f"{bps:g} basis points per side on traded value" if bps else "no trading costs"


def rule_table(request: Request, n: Numbers) -> list[Rule]:
    """All six components, 'none' where so. Everything in `request` must be servable and settled."""
    said = request.quotes
    who = {
        slot: "you" if slot in said else "my default"
        for slot in ("factors", "combination", "timing", "weighting", "covariance", "risk", "schedule", "cost")
    }
    combination, timing, risk = request.combination or "none", request.timing or "none", request.risk or "none"
    rows = [
        Rule(
            "Stock selection",
            name,
            f"{FACTOR_WORDS[name]}, that is the {_factor(name, n)}",
            who["factors"],
            f"code/engine/signals.py {_FUNCTIONS[name]}",
        )
        for name in request.factors
    ]
    rows.append(
        Rule(
            "Stock selection",
            "list",
            f"hold the top {n.slots} by score, ties go to the ticker that comes first in the alphabet",
            "my default",
            "code/engine/signals.py Signals.picks",
        )
    )
    merged = _combination(combination, request.factors) if combination != "none" else "one signal, nothing to merge"
    rows.append(Rule("Stock selection", combination, merged, who["combination"], "code/engine/signals.py Signals.at"))
    rows.append(Rule("Market timing", timing, _timing(timing, n), who["timing"], "code/engine/timing.py timing_states"))
    rows.append(
        Rule(
            "Portfolio construction",
            request.weighting,
            _weighting(request.weighting, n),
            who["weighting"],
            "code/engine/weights.py Weighting.shares_of_money",
        )
    )
    covariance = request.covariance or "none"
    rows.append(
        Rule(
            "Portfolio construction",
            covariance,
            _covariance(covariance, n),
            who["covariance"],
            "code/engine/weights.py Weighting.covariance",
        )
    )
    rows.append(
        Rule(
            "Risk control",
            risk,
            _risk(risk, request.risk_value or 0.0, n),
            who["risk"],
            "code/engine/simulate.py Backtest.first_trigger, Backtest.decide",
        )
    )
    rows.append(
        Rule(
            "Execution",
            request.schedule,
            _schedule(request.schedule, n),
            who["schedule"],
            "code/engine/market.py schedule_sessions, code/engine/simulate.py Backtest.run",
        )
    )
    bps = request.cost_bps or 0.0
    rows.append(Rule("Transaction cost", "fixed_bps" if bps else "none", _cost(bps), who["cost"], "code/engine/simulate.py Backtest.fill"))
    return rows
