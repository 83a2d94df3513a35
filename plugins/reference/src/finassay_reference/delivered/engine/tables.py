"""A finished run as CSV files; everything the report says stands in one of them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from .market import Array, Market
from .metrics import Metric, headline, short_row
from .quality import boundary_cases, data_quality, risk_figures
from .simulate import Backtest
from .validation import cost_sensitivity, optimiser_check, parameter_sensitivity, signal_statistics, sub_periods


@dataclass(frozen=True)
class Outcome:
    """The portfolio's series over the reported period, from the first decision's close on."""

    dates: list[str]
    equity: Array
    cash: Array
    fees: Array
    trades: pd.DataFrame


def outcome(run: Backtest) -> Outcome:
    start = run.book.start
    dates = [run.market.text(t) for t in range(start, len(run.market.dates))]
    trades = pd.DataFrame(run.book.trades)
    return Outcome(dates, run.book.equity[start:], run.book.cash[start:], run.book.fees[start:], trades)


def equal_weight(market: Market) -> Array:
    """Wealth of all names in equal parts, brought back to equal at each month's last close, without costs; 1.0 at the first session."""
    wealth = np.ones(len(market.dates))
    month = (market.dates.year * 100 + market.dates.month).to_numpy()
    base = 0
    for t in range(1, len(wealth)):
        wealth[t] = wealth[base] * np.nanmean(market.close[t] / market.close[base])
        if t + 1 < len(wealth) and month[t + 1] != month[t]:
            base = t
    return wealth


def write_all(run: Backtest, data: Path, folder: Path) -> list[Metric]:
    """Write every result table; returns the headline figures."""
    folder.mkdir(parents=True, exist_ok=True)
    found = outcome(run)
    _portfolio(run, found, folder)
    _decisions(run, folder)
    equal = equal_weight(run.market)
    _save(
        pd.DataFrame(
            {"date": [run.market.text(t) for t in range(len(equal))], "sp500_index": run.market.index, "equal_weight_universe": equal}
        ),
        folder / "benchmark.csv",
    )
    start = run.book.start
    invested = 1 - found.cash / found.equity
    metrics = headline(pd.Series(found.equity, index=found.dates), invested, found.trades)
    _save(pd.DataFrame([vars(m) for m in metrics]).rename(columns={"name": "metric"}), folder / "metrics.csv")
    _comparison(found, equal[start:], run.market.index[start:], folder)
    _save(signal_statistics(run), folder / "signal_statistics.csv")
    _save(parameter_sensitivity(run), folder / "sensitivity_parameters.csv")
    traded = np.zeros(len(found.dates))
    np.add.at(traded, [found.dates.index(d) for d in found.trades["fill_date"]], found.trades["value"].to_numpy())
    _save(cost_sensitivity(found.equity, found.fees, traded), folder / "sensitivity_costs.csv")
    _save(sub_periods(found.dates, found.equity, equal[start:], run.market.index[start:]), folder / "sub_periods.csv")
    _save(data_quality(pd.read_csv(data / "prices.csv")), folder / "data_quality.csv")
    _save(boundary_cases(run), folder / "boundary_cases.csv")
    _save(risk_figures(found.dates, found.equity, run.market.index[start:], _contribution(run, found)), folder / "risk_figures.csv")
    if run.strategy.covariance != "none":
        check = optimiser_check(run.market, run.strategy, run.signals, run.weighting, run.book.ranked)
        _save(check, folder / "optimiser_check.csv")
    return metrics


def _contribution(run: Backtest, found: Outcome) -> pd.Series:
    """Profit by name: sales less purchases and fees, plus what is still held at the last close."""
    sign = np.where(found.trades["side"] == "SELL", 1, -1)
    flow = (sign * found.trades["value"] - found.trades["fee"]).groupby(found.trades["ticker"]).sum()
    held = pd.Series(run.book.shares[-1] * run.close[-1], index=list(run.market.tickers))
    return pd.Series(flow.add(held, fill_value=0.0))


def _portfolio(run: Backtest, found: Outcome, folder: Path) -> None:
    start = run.book.start
    _save(found.trades, folder / "trades.csv")
    positions = pd.DataFrame(run.book.shares[start:], columns=list(run.market.tickers))
    positions.insert(0, "date", found.dates)
    positions["cash"] = found.cash
    _save(positions, folder / "positions.csv")
    ret = np.concatenate([[0.0], found.equity[1:] / found.equity[:-1] - 1])
    table = pd.DataFrame({"date": found.dates, "equity": found.equity, "cash": found.cash, "fees": found.fees, "ret": ret})
    _save(table, folder / "equity.csv")


def _decisions(run: Backtest, folder: Path) -> None:
    market, s = run.market, run.strategy
    rows = []
    for t in run.book.ranked:
        ranking = run.signals.at(t)
        for i, ticker in enumerate(market.tickers):
            row: dict[str, object] = {"decision_date": market.text(t), "fill_date": market.text(t + s.fill_lag), "ticker": ticker}
            row |= {name: ranking.values[k, i] for k, name in enumerate(s.factors)}
            rows.append(row | {"score": ranking.score[i], "rank": ranking.rank[i]})
    _save(pd.DataFrame(rows), folder / "signals.csv")
    _save(pd.DataFrame(run.book.targets), folder / "target_weights.csv")
    if s.combination == "ic_weighted":
        mixes = [{"decision_date": market.text(t)} | dict(zip(s.factors, run.signals.at(t).mix, strict=True)) for t in run.book.ranked]
        _save(pd.DataFrame(mixes), folder / "factor_mix.csv")
    _save_states(run, folder)
    close = pd.DataFrame(market.close, columns=list(market.tickers))
    universe = [
        {"ticker": name, "first_date": market.text(int(close[name].notna().argmax())), "closes": int(close[name].count())}
        for name in market.tickers
    ]
    _save(pd.DataFrame(universe), folder / "universe.csv")


def _save_states(run: Backtest, folder: Path) -> None:
    """Daily states that decide whether the portfolio is invested, and what decides them; no file where no rule needs one."""
    start = run.book.start
    frame = run.states.iloc[start:].copy()
    if run.strategy.risk == "drawdown_to_cash":
        frame["in_market"] = frame["in_market"] & ~run.book.cut[start:]
        frame["reference_high"] = run.book.high[start:]
        frame["drawdown"] = run.book.equity[start:] / run.book.high[start:] - 1
    if run.strategy.risk == "vol_target" and run.book.targets:
        decided = pd.DataFrame(run.book.targets).drop_duplicates("decision_date").set_index("decision_date")["volatility_estimate"]
        frame["volatility_estimate"] = decided.reindex([run.market.text(t) for t in range(start, len(run.market.dates))]).ffill().to_numpy()
    if len(frame.columns) > 1:
        frame.insert(0, "date", [str(d.date()) for d in frame.index])
        _save(frame, folder / "states.csv")


def _comparison(found: Outcome, equal: Array, index: Array, folder: Path) -> None:
    """Strategy net and gross beside the two benchmarks over the same dates. Gross adds each day's fees over equity before fees back."""
    before = found.equity[1:] + found.fees[1:]
    gross = np.concatenate([[1.0], np.cumprod(found.equity[1:] / found.equity[:-1] + found.fees[1:] / before)])
    rows = []
    net = short_row(found.equity)
    for name, curve in (
        ("strategy net", found.equity),
        ("strategy gross of fees", gross),
        ("equal-weight benchmark", equal),
        ("S&P 500 index benchmark", index),
    ):
        row: dict[str, object] = {"portfolio": name}
        row |= short_row(curve)
        row["excess_total_return_of_strategy"] = net["total_return"] - float(row["total_return"])  # type: ignore[arg-type]
        row["excess_annual_return_of_strategy"] = net["annual_return"] - float(row["annual_return"])  # type: ignore[arg-type]
        rows.append(row)
    _save(pd.DataFrame(rows), folder / "benchmark_comparison.csv")


def _save(frame: pd.DataFrame, path: Path) -> None:
    """CSV with every digit: rounded share counts would leave dust of a position that was sold."""
    frame.to_csv(path, index=False, lineterminator="\n")
