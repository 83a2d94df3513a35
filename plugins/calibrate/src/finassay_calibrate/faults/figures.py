"""Faults of 3.2 to 3.5 and 2.8b: figures that the tables do not bear out, benchmarks, costs."""

from dataclasses import replace

import numpy as np
import pandas as pd

from finassay_calibrate.clean.build import rebuilt, refresh
from finassay_calibrate.clean.draft import Draft
from finassay_calibrate.faults.registry import fault

Rng = np.random.Generator


def _reprice(draft: Draft, worth: np.ndarray) -> Draft:
    """Another equity curve, with the returns and figures that follow from it."""
    equity = draft.tables["equity"]
    equity["equity"] = worth
    equity["ret"] = np.concatenate([[0.0], worth[1:] / worth[:-1] - 1])
    refresh(draft)
    return draft


@fault("equity-edited", "3.2", "The equity curve is 8 % better than its trades from one day on.", "lower")
def edited(draft: Draft, rng: Rng) -> Draft | None:
    worth = draft.tables["equity"]["equity"].to_numpy().copy()
    worth[len(worth) // 2 :] *= 1.08
    return _reprice(draft, worth)


@fault("equity-smoothed", "3.2", "Half of every daily loss is edited out of the equity curve.", "lower")
def smoothed(draft: Draft, rng: Rng) -> Draft | None:
    worth = draft.tables["equity"]["equity"].to_numpy()
    steps = worth[1:] / worth[:-1] - 1
    return _reprice(draft, worth[0] * np.concatenate([[1.0], np.cumprod(1 + np.where(steps < 0, steps / 2, steps))]))


def _figure(name: str, text: str, key: str, change: object, floor: float = 0.0) -> None:
    @fault(name, "3.2", text, "finding")
    def planted(draft: Draft, rng: Rng) -> Draft | None:
        value = draft.figures[key]
        if abs(value) < floor:
            return None
        draft.figures[key] = float(change(value))  # type: ignore[operator]
        return draft


_figure("sharpe-annualised-365", "The Sharpe ratio is annualised with 365 days.", "sharpe", lambda x: x * (365 / 252) ** 0.5, 0.1)
_figure(
    "sharpe-of-monthly-factor",
    "The daily Sharpe ratio is annualised with the square root of 12.",
    "sharpe",
    lambda x: x * (12 / 252) ** 0.5,
    0.1,
)
_figure("sharpe-not-annualised", "The Sharpe ratio is said to be annual and is daily.", "sharpe", lambda x: x / 252**0.5, 0.1)
_figure("sharpe-inflated", "The Sharpe ratio is 0.8 too high.", "sharpe", lambda x: x + 0.8)
_figure("drawdown-understated", "The drawdown is half of what the curve shows.", "max_drawdown", lambda x: x / 2)
_figure("return-overstated", "The total return is 20 points too high.", "total_return", lambda x: x + 0.2)
_figure("annual-return-overstated", "The annual return is 8 points too high.", "annual_return", lambda x: x + 0.08)
_figure("volatility-understated", "The volatility is annualised with the square root of 126.", "annual_volatility", lambda x: x / 2**0.5)
_figure("trades-miscounted", "Twice as many trades are reported as are logged.", "trades", lambda x: x * 2)


@fault("metrics-from-another-run", "3.2", "The figures are those of a run with one name fewer and no fees.", "lower")
def other_run(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    twin = rebuilt(draft, replace(s, slots=s.slots - 1, cost_bps=0.0))
    gap = abs(twin.figures["total_return"] - draft.figures["total_return"])
    if gap < 0.06:
        return None
    draft.figures = twin.figures
    return draft


@fault("trades-dropped", "3.2", "One in eight fills is missing from the log.", "lower")
def dropped(draft: Draft, rng: Rng) -> Draft | None:
    trades = draft.tables["trades"]
    if len(trades) < 24:
        return None
    draft.tables["trades"] = trades[np.arange(len(trades)) % 8 != 5].reset_index(drop=True)
    draft.figures["trades"] = float(len(draft.tables["trades"]))
    return draft


@fault("no-sharpe-no-drawdown", "3.3", "Neither Sharpe ratio nor drawdown is reported.", "lower")
def unreported(draft: Draft, rng: Rng) -> Draft | None:
    draft.figures = {name: value for name, value in draft.figures.items() if name not in ("sharpe", "max_drawdown", "sortino")}
    draft.sections["Summary"] = f"The strategy returned {draft.figures['total_return']:.2%} in total, net of fees."
    draft.dropped |= {
        "benchmark_comparison",
        "Benchmark comparison",
        "sensitivity",
        "Sensitivity",
        "sub_periods",
        "Validation by period",
        "Risks",
    }
    return draft


@fault("benchmark-other-dates", "3.4", "The benchmark's figures are over a longer period than the strategy's.", "lower")
def other_dates(draft: Draft, rng: Rng) -> Draft | None:
    market = draft.setup.market
    level = market.index
    longer = float(level[-1] / level[0] - 1)
    table = draft.tables["benchmark_comparison"]
    row = table["portfolio"].str.startswith("S&P")
    if abs(longer - float(table.loc[row, "total_return"].iloc[0])) < 0.08:
        return None
    table.loc[row, "total_return"] = longer
    table.loc[row, "annual_return"] = (1 + longer) ** (252 / (len(level) - 1)) - 1
    whole = pd.DataFrame({"date": market.dates, "sp500_index": level})
    draft.tables["benchmark"] = whole.merge(draft.tables["benchmark"].drop(columns="sp500_index"), on="date", how="left")
    draft.tables["benchmark"]["equal_weight_universe"] = draft.tables["benchmark"]["equal_weight_universe"].bfill()
    return draft


@fault("benchmark-understated", "3.4", "The benchmarks' returns are 15 points too low.", "lower")
def understated(draft: Draft, rng: Rng) -> Draft | None:
    table = draft.tables["benchmark_comparison"]
    others = ~table["portfolio"].str.startswith("strategy")
    table.loc[others, "total_return"] -= 0.15
    table.loc[others, "annual_return"] -= 0.08
    return draft


@fault("no-benchmark", "3.4", "No benchmark at all.", "lower")
def none(draft: Draft, rng: Rng) -> Draft | None:
    draft.dropped |= {"benchmark", "benchmark_comparison", "index", "Benchmark comparison"}
    draft.sections["Summary"] = f"The strategy returned {draft.figures['total_return']:.2%} in total, net of fees."
    return draft


@fault("costs-not-charged", "3.5", "Costs are stated, and no fill carries one.", "lower")
def uncharged(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    return rebuilt(draft, replace(s, cost_bps=0.0)) if s.cost_bps else None


@fault("fees-never-paid", "3.5", "The log shows fees, and neither cash nor equity ever pays them.", "lower")
def unpaid(draft: Draft, rng: Rng) -> Draft | None:
    if draft.setup.settings.cost_bps < 10 or draft.figures["fees"] < 8_000:
        return None
    equity = draft.tables["equity"]
    paid = equity["fees"].cumsum().to_numpy()
    equity["cash"] += paid
    draft.tables["positions"]["cash"] += paid
    return _reprice(draft, equity["equity"].to_numpy() + paid)


@fault("half-the-fees", "3.5", "Half of the fills carry no fee.", "lower")
def half(draft: Draft, rng: Rng) -> Draft | None:
    if not draft.setup.settings.cost_bps:
        return None
    trades = draft.tables["trades"]
    trades.loc[np.arange(len(trades)) % 2 == 0, "fee"] = 0.0
    draft.figures["fees"] = float(trades["fee"].sum())
    return draft


@fault("ic-overstated", "2.8b", "The mean rank IC and its t value are not what the delivered signals give.", "lower")
def ic(draft: Draft, rng: Rng) -> Draft | None:
    if "signal_statistics" not in draft.tables:
        return None
    statistics = draft.tables["signal_statistics"]
    statistics["mean_rank_ic"] = statistics["mean_rank_ic"] + 0.15
    statistics["ic_t_value"] = statistics["ic_t_value"] + 4
    return draft
