"""What the signals, the optimiser and the settings are worth: statistics by sub-period, sensitivities, checks against another solver."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd

from .market import Array, Market
from .metrics import annual_return, max_drawdown, short_row
from .signals import Signals, rank_correlation
from .simulate import Backtest, backtest
from .strategy import Strategy
from .weights import Weighting


def signal_statistics(run: Backtest) -> pd.DataFrame:
    """Rank IC of the score with the return from one decision close to the next in the file, over all and by half.

    `hit_rate` is the share of decisions with a positive rank IC; `spread` the mean return of the picks less the mean of all names.
    """
    sessions = run.book.ranked
    rows = []
    for here, there in itertools.pairwise(sessions):
        ahead = run.market.close[there] / run.market.close[here] - 1
        ranking = run.signals.at(here)
        known = ~np.isnan(ranking.score)
        order = np.where(known, -ranking.rank, np.nan)
        picks = run.signals.picks(here)
        rows.append((here, rank_correlation(order, ahead), float(ahead[picks].mean() - ahead[known].mean()) if picks else np.nan))
    frame = pd.DataFrame(rows, columns=["session", "ic", "spread"])
    middle = len(frame) // 2
    out = []
    for name, part in (("full period", frame), ("first half", frame[:middle]), ("second half", frame[middle:])):
        ic = part["ic"].dropna()
        if len(ic) < 2:
            continue
        out.append(
            {
                "period": name,
                "from": run.market.text(int(part["session"].iloc[0])),
                "to": run.market.text(int(part["session"].iloc[-1])),
                "decisions": len(ic),
                "mean_rank_ic": ic.mean(),
                "ic_standard_deviation": ic.std(ddof=1),
                "ic_t_value": ic.mean() / ic.std(ddof=1) * np.sqrt(len(ic)),
                "hit_rate": (ic > 0).mean(),
                "spread": part["spread"].mean(),
            }
        )
    return pd.DataFrame(out)


def variants(s: Strategy) -> list[tuple[str, str, Strategy]]:
    """Settings that were ours to choose, and the voiced thresholds, each moved on its own: parameter, value, strategy."""
    names = len(s.tickers)
    steps = (-2, 2) if s.covariance != "none" else (-2, -1, 1, 2)
    out = [("names held", str(s.slots + step), replace(s, slots=s.slots + step)) for step in steps if 2 <= s.slots + step < names]
    if {"mom_12_1", "mom_6_1", "high_52w", "low_beta"} & set(s.factors):
        out += [("long look-back", f"{n} sessions", replace(s, lookback=n)) for n in (189, 221)][: 1 if s.covariance != "none" else 2]
    if "low_vol" in s.factors or s.weighting == "inverse_vol" or s.risk == "vol_target":
        out += [("volatility window", f"{n} sessions", replace(s, vol_window=n)) for n in (40, 90)]
    if s.covariance != "none":
        out.append(("covariance window", "126 sessions", replace(s, cov_window=126)))
    if s.weighting == "mean_variance":
        out.append(("risk aversion", "10", replace(s, risk_aversion=10.0)))
    if s.timing in ("index_ma", "breadth"):
        out += [("moving average", f"{n} sessions", replace(s, ma_window=n)) for n in (150, 250)]
    if s.risk != "none":
        out += [("risk rule", f"{s.risk_value * f:.1%}", replace(s, risk_value=s.risk_value * f)) for f in (0.8, 1.25)]
        out.append(("risk rule", "off", replace(s, risk="none")))
    if s.timing != "none":
        out.append(("market timing", "off", replace(s, timing="none")))
    if s.schedule == "drift_band":
        out += [("drift band", f"{x:.1%}", replace(s, band=x)) for x in (s.band - 0.01, s.band + 0.02)]
    out.append(("fill", "one session later", replace(s, fill_lag=s.fill_lag + 1)))
    return out


def parameter_sensitivity(base: Backtest) -> pd.DataFrame:
    """One row per moved setting; the first row is the strategy as delivered."""
    rows: list[dict[str, object]] = [_variant_row("as delivered", "", base, base)]
    for parameter, value, strategy in variants(base.strategy):
        rows.append(_variant_row(parameter, value, _variant(base, strategy), base))
    return pd.DataFrame(rows)


SIGNAL_SETTINGS = ("factors", "combination", "lookback", "skip", "vol_window")
WEIGHT_SETTINGS = (*SIGNAL_SETTINGS, "slots", "weighting", "covariance", "cov_window", "risk_aversion", "max_weight")


def _variant(base: Backtest, strategy: Strategy) -> Backtest:
    """A run that takes over rankings and weights of the base where its settings do not touch them."""

    def same(names: tuple[str, ...]) -> bool:
        return all(getattr(strategy, name) == getattr(base.strategy, name) for name in names)

    signals = base.signals.sharing(strategy) if same(SIGNAL_SETTINGS) else None
    return backtest(base.market, strategy, signals, base.weighting if same(WEIGHT_SETTINGS) else None)


def _variant_row(parameter: str, value: str, run: Backtest, base: Backtest) -> dict[str, object]:
    curve = run.book.equity[base.book.start :]
    own = base.book.equity[base.book.start :]
    row: dict[str, object] = {"parameter": parameter, "value": value}
    row |= short_row(curve)
    first = base.market.text(base.book.start)
    return row | {
        "trades": sum(str(trade["fill_date"]) >= first for trade in run.book.trades),
        "annual_return_difference": annual_return(curve) - annual_return(own),
    }


def cost_sensitivity(equity: Array, fees: Array, traded: Array) -> pd.DataFrame:
    """Annual return if the same trades had cost another rate.

    Each day's return plus fees / equity before fees, less rate x traded value / equity before fees.
    """
    before = equity[1:] + fees[1:]
    gross = equity[1:] / equity[:-1] - 1 + fees[1:] / before
    rows = []
    for bps in (0, 5, 10, 15, 20, 25, 50):
        net = gross - bps / 10_000 * traded[1:] / before
        curve = np.concatenate([[1.0], np.cumprod(1 + net)])
        rows.append({"cost_bps_per_side": bps, "annual_return": annual_return(curve), "max_drawdown": max_drawdown(curve)})
    return pd.DataFrame(rows)


def sub_periods(dates: list[str], equity: Array, equal: Array, index: Array) -> pd.DataFrame:
    """The same rules by quarter of the sample and by calendar year (the first day of a part is the last close of the part before)."""
    n = len(dates) - 1
    cuts = [round(n * k / 4) for k in range(5)]
    parts = [(f"part {k + 1} of 4", a, b) for k, (a, b) in enumerate(itertools.pairwise(cuts))]
    years = pd.Series(range(len(dates))).groupby([d[:4] for d in dates]).max()
    begin = 0
    for year, end in years.items():
        if end - begin >= 60:
            parts.append((f"year {year}", begin, int(end)))
        begin = int(end)
    rows = []
    for name, a, b in parts:
        if b - a < 20:
            continue
        row: dict[str, object] = {"period": name, "from": dates[a], "to": dates[b]}
        row |= short_row(equity[a : b + 1])
        excess = equity[b] / equity[a] - equal[b] / equal[a]
        rows.append(
            row | {"excess_return_over_equal_weight": excess, "excess_return_over_sp500": equity[b] / equity[a] - index[b] / index[a]}
        )
    return pd.DataFrame(rows)


def optimiser_check(market: Market, strategy: Strategy, signals: Signals, weighting: Weighting, sessions: list[int]) -> pd.DataFrame:
    """Weights of a dozen decisions solved again with skfolio's own optimiser: largest difference of a weight."""
    from skfolio.optimization import MeanRisk, ObjectiveFunction, RiskBudgeting
    from skfolio.prior import EmpiricalPrior

    from .weights import estimator

    rows = []
    for session in sessions[:: max(1, len(sessions) // 12)][:12]:
        picks = signals.picks(session)
        if len(picks) < 2:
            continue
        prior = EmpiricalPrior(covariance_estimator=estimator(strategy.covariance))
        if strategy.weighting == "risk_parity":
            model = RiskBudgeting(prior_estimator=prior)
        else:
            cap = max(strategy.max_weight, 1 / len(picks))
            goal = ObjectiveFunction.MAXIMIZE_UTILITY
            model = MeanRisk(objective_function=goal, risk_aversion=strategy.risk_aversion, max_weights=cap, prior_estimator=prior)
        other = model.fit(weighting.window(session, picks, strategy.cov_window)).weights_
        own = weighting.shares_of_money(session, picks)
        rows.append({"decision_date": market.text(session), "names": len(picks), "largest_difference": float(np.abs(other - own).max())})
    return pd.DataFrame(rows)
