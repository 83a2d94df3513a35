"""Siblings of the shared cases about figures, each beside its clean twin."""

import json
from collections.abc import Iterator

import numpy as np
import pandas as pd

from .audit_siblings_base import Expected, Sibling, days, letters, mdd, pick, report, table, walk


def year_length(rng: np.random.Generator) -> Iterator[Sibling]:
    freq, periods = [("W-FRI", 52), ("ME", 12), ("QE", 4)][int(rng.integers(0, 3))]
    n = int(rng.integers(30, 90)) if periods != 4 else int(rng.integers(16, 40))
    dates = pd.date_range("2011-01-07", periods=n, freq=freq)
    value = walk(rng, n, float(rng.choice([1.0, 100.0, 10000.0, 2.5e6])), 0.02, 0.006)
    equity = table(
        rng,
        pd.DataFrame(
            {pick(rng, "Date", "week_ending", "date", "asof"): dates, pick(rng, "Equity", "nav", "portfolio_value", "Account Value"): value}
        ),
        pick(rng, "equity", "nav", "equity_curve"),
    )
    total, span = value[-1] / value[0] - 1, (dates[-1] - dates[0]).days
    label, name = (
        pick(rng, "cagr", "CAGR", "annual_return", "Annualized Return", "annualised_return"),
        pick(rng, "total_return", "Total Return", "cumulative_return"),
    )
    right = (1 + total) ** (365.25 / span) - 1
    wrong = (1 + total) ** ((52 if periods != 52 else 252 if rng.random() < 0.3 else 52) / span) - 1
    yield (
        "clean",
        {**equity, **report(rng, {name: round(total, 8), label: round(right, 8)})},
        Expected("pass", {"annual_return": (right, True)}),
    )
    by_periods = (1 + total) ** (periods / (n - 1)) - 1
    yield "by periods", {**equity, **report(rng, {label: round(by_periods, 8)})}, Expected("pass", {"annual_return": (by_periods, True)})
    if abs(wrong - right) > 0.025:
        yield (
            "wrong",
            {**equity, **report(rng, {name: round(total, 8), label: round(wrong, 8)})},
            Expected("wrong", {"annual_return": (right, False), "total_return": (total, True)}),
        )


def first_day(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(20, 200))
    returns = np.round(rng.normal(0.002, 0.004, n), 5)
    returns[0], returns[1] = -round(float(rng.uniform(0.05, 0.12)), 4), -0.01
    frame = table(
        rng,
        pd.DataFrame(
            {pick(rng, "date", "Date", "day"): days(rng, n), pick(rng, "ret", "return", "daily_return", "strategy_return"): returns}
        ),
        pick(rng, "returns", "daily_returns"),
    )
    wealth = np.concatenate(([1.0], np.cumprod(1 + returns)))
    right, wrong, total = mdd(wealth), mdd(wealth[1:]), wealth[-1] - 1
    label = pick(rng, "max_drawdown", "Max Drawdown", "MaxDD", "maximum_drawdown")
    yield (
        "clean",
        {**frame, **report(rng, {"total_return": round(total, 8), label: round(right, 8)})},
        Expected("pass", {"max_drawdown": (right, True)}),
    )
    percent = report(rng, {label + " [%]": round(-100 * right, 6)})
    yield "positive percent", {**frame, **percent}, Expected("pass", {"max_drawdown": (right, True, "positive_percent")})
    if abs(wrong - right) > 0.022:
        yield (
            "wrong",
            {**frame, **report(rng, {"total_return": round(total, 8), label: round(wrong, 8)})},
            Expected("wrong", {"max_drawdown": (right, False, None)}),
        )


def sortino(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(80, 300))
    loss = round(float(rng.uniform(0.001, 0.01)), 4)
    returns = np.round(np.abs(rng.normal(0.003, 0.002, n)), 5)
    losing = rng.random(n) < 0.35
    returns[losing] = -loss
    frame = table(rng, pd.DataFrame({"date": days(rng, n), pick(rng, "strategy_return", "ret", "return"): returns}), "daily_returns")
    right = returns.mean() * 252 / (np.sqrt(np.mean(np.minimum(returns, 0) ** 2)) * np.sqrt(252))
    label = pick(rng, "sortino_ratio", "Sortino", "sortino", "Sortino Ratio")
    yield "clean", {**frame, **report(rng, {label: round(right, 6), "annualization": 252})}, Expected("pass", {"sortino": (right, True)})
    absurd = float(rng.choice([4.1e14, 8.2e12, 99999.0, 3e15]))
    yield (
        "wrong",
        {**frame, **report(rng, {label: absurd, "annualization": 252})},
        Expected("wrong", {"sortino": (right, False)}, ({"check": "implausible_metric", "metric": "sortino"},)),
    )


def scaled(rng: np.random.Generator) -> Iterator[Sibling]:
    kind = int(rng.integers(0, 3))
    freq, periods, name = [("ME", 12, "monthly"), ("W-FRI", 52, "weekly"), ("QE", 4, "quarterly")][kind]
    n = int(rng.integers(24, 80))
    dates = pd.date_range("2008-01-31", periods=n, freq=freq)
    returns = np.round(rng.normal(0.01, 0.03, n), 4)
    if kind == 0:
        shape = pick(rng, "%b %Y", "%Y-%m", "%B %Y", "%m/%Y")
        labels = dates.strftime(shape)
        cells = [f"{100 * r:.2f}%" for r in returns] if rng.random() < 0.6 else returns
        frame = {
            "monthly.csv": pd.DataFrame({pick(rng, "Month", "month", "Period"): labels, pick(rng, "Return", "Strategy", "ret"): cells})
            .to_csv(index=False)
            .encode()
        }
    else:
        frame = table(rng, pd.DataFrame({"date": dates, "return": returns}), f"{name}_returns")
    vol, mean = returns.std(ddof=1), returns.mean()
    right = {"sharpe": mean / vol * np.sqrt(periods), "volatility": vol * np.sqrt(periods)}
    yield (
        "clean",
        {**frame, **report(rng, {"sharpe": round(right["sharpe"], 7), "annual_volatility": f"{100 * right['volatility']:.4f}%"})},
        Expected("pass", {"sharpe": (right["sharpe"], True), "volatility": (right["volatility"], True)}),
    )
    wrong = {k: v * np.sqrt(252 / periods) for k, v in right.items()}
    files = {**frame, **report(rng, {"sharpe": round(wrong["sharpe"], 7), "annual_volatility": f"{100 * wrong['volatility']:.2f}%"})}
    yield (
        "wrong",
        files,
        Expected(
            "wrong", {"volatility": (right["volatility"], False)}, ({"check": "frequency", "value": name, "periods_per_year": periods},)
        ),
    )


def year_of_365(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(90, 400))
    seven = rng.random() < 0.4
    dates = pd.date_range("2021-02-01", periods=n, freq="D") if seven else days(rng, n)
    value = walk(rng, n, float(rng.choice([140.0, 1e5])), 0.011, 0.0015)
    frame = table(rng, pd.DataFrame({pick(rng, "timestamp", "Date", "date"): dates, pick(rng, "value", "equity", "nav"): value}), "equity")
    r = value[1:] / value[:-1] - 1
    total = value[-1] / value[0] - 1
    base = r.mean() / r.std(ddof=1)
    figures = {
        p: {
            "Total Return [%]": round(100 * total, 8),
            "Annualized Return [%]": round(100 * ((1 + total) ** (p / len(r)) - 1), 8),
            "Sharpe Ratio": round(base * np.sqrt(p), 8),
        }
        for p in (252, 365)
    }
    if seven:
        yield (
            "crypto",
            {**frame, **report(rng, figures[365])},
            Expected("pass", {"sharpe": (base * np.sqrt(365), True)}, (), ("annualisation_basis",)),
        )
        return
    yield (
        "clean",
        {**frame, **report(rng, figures[252])},
        Expected("pass", {"sharpe": (base * np.sqrt(252), True)}, (), ("annualisation_basis",)),
    )
    if abs(base) * (np.sqrt(365) - np.sqrt(252)) > 0.02:
        finding = {"check": "annualisation_basis", "value": "365 periods a year on 5-day-week data"}
        yield "wrong", {**frame, **report(rng, figures[365])}, Expected("wrong", {"sharpe": (base * np.sqrt(252), None)}, (finding,))


def notation(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(70, 260))
    money = walk(rng, n, 1_000_000.0, 0.012, 0.003)
    dates = days(rng, n)
    sign = pick(rng, "$", "€", "")
    frame = {
        "equity.csv": pd.DataFrame(
            {"Date": dates.strftime(pick(rng, "%m/%d/%Y", "%d-%b-%Y", "%Y-%m-%d")), "Portfolio Value": [f"{sign}{m:,.2f}" for m in money]}
        )
        .to_csv(index=False)
        .encode()
    }
    money = np.round(money, 2)
    r = money[1:] / money[:-1] - 1
    total, fall, vol = money[-1] / money[0] - 1, mdd(money), r.std(ddof=1) * np.sqrt(252)
    annual = (1 + total) ** (252 / len(r)) - 1
    right = {
        "Total Return": round(total, 6),
        "Max Drawdown (%)": f"{-100 * fall:.2f}",
        "Annual Volatility": f"{100 * vol:.2f}%",
        "Annual Return": f"{100 * annual:.2f}%",
    }
    yield (
        "clean",
        {**frame, **report(rng, right)},
        Expected("pass", {"max_drawdown": (fall, True, "positive_percent"), "annual_return": (annual, True, None)}),
    )
    brackets = {"Total Return": f"{100 * total:.3f} %", "Max Drawdown": f"({-100 * fall:.2f}%)", "Volatility": round(vol, 5)}
    yield "brackets", {**frame, **report(rng, brackets)}, Expected("pass", {"max_drawdown": (fall, True), "volatility": (vol, True)})
    if annual > 0.05:
        wrong = {**right, "Annual Return": f"{annual:.4f}%"}
        yield "wrong", {**frame, **report(rng, wrong)}, Expected("wrong", {"annual_return": (annual, False, None)})


def turnover(rng: np.random.Generator) -> Iterator[Sibling]:
    count, n = int(rng.integers(2, 6)), int(rng.integers(60, 130))
    names = [letters(rng, 4) for _ in range(count)]
    dates = days(rng, n)
    close = np.column_stack([walk(rng, n, float(rng.uniform(10, 200)), 0.02) for _ in names])
    prices = table(rng, pd.DataFrame({"date": dates} | {k: close[:, i] for i, k in enumerate(names)}), pick(rng, "prices", "close_prices"))
    at = np.unique(np.concatenate(([0], np.sort(rng.choice(np.arange(5, n - 5), 4, replace=False)))))
    goal = np.round(rng.dirichlet(np.ones(count), len(at)), 4)
    goal[:, -1] = np.round(1 - goal[:, :-1].sum(axis=1), 4)
    if (goal < 0).any():
        return
    weights = table(
        rng,
        pd.DataFrame({pick(rng, "rebalance_date", "date", "Date"): dates[at]} | {k: goal[:, i] for i, k in enumerate(names)}),
        pick(rng, "weights", "target_weights"),
    )
    two = []
    for k in range(1, len(at)):
        grown = goal[k - 1] * close[at[k]] / close[at[k - 1]]
        two.append(np.abs(goal[k] - grown / grown.sum()).sum())
    two_way, one_way = float(np.mean(two)), float(np.mean(two)) / 2
    label = pick(rng, "one_way_turnover_per_rebalance", "mean_one_way_turnover", "One-way turnover per rebalance", "avg one-way turnover")
    note = {"note": pick(rng, "initial purchase not counted", "first purchase excluded", "excluding the initial purchase")}
    name = "turnover_one_way_mean_ex_initial"
    yield "clean", {**prices, **weights, **report(rng, {label: round(one_way, 8), **note})}, Expected("pass", {name: (one_way, True)})
    yield (
        "wrong",
        {**prices, **weights, **report(rng, {label: round(two_way, 8), **note})},
        Expected("wrong", {name: (one_way, False, None)}),
    )
    both = pick(rng, "two_way_turnover_per_rebalance", "mean two-way turnover")
    yield (
        "two-way",
        {**prices, **weights, **report(rng, {both: round(two_way, 8), **note})},
        Expected("pass", {"turnover_two_way_mean_ex_initial": (two_way, True)}),
    )


def between_rebalances(rng: np.random.Generator) -> Iterator[Sibling]:
    count, n = int(rng.integers(2, 5)), int(rng.integers(60, 140))
    names = [letters(rng, 3) for _ in range(count)]
    dates = days(rng, n)
    close = np.column_stack([walk(rng, n, float(rng.uniform(10, 200)), 0.02, 0.002) for _ in names])
    first = [i for i in range(n) if i == 0 or dates[i].month != dates[i - 1].month]
    share = np.full(count, 1 / count) if rng.random() < 0.5 or count > 2 else np.array([0.6, 0.4])
    prices = table(rng, pd.DataFrame({"Date": dates} | {k: close[:, i] for i, k in enumerate(names)}), "prices")
    nested = {str(dates[i].date()): {k: float(share[j]) for j, k in enumerate(names)} for i in first}
    weights = {"weights.json": json.dumps(nested).encode()}
    if rng.random() < 0.5:
        long = pd.DataFrame([(dates[i], k, share[j]) for i in first for j, k in enumerate(names)], columns=["date", "ticker", "weight"])
        weights = table(rng, long, "target_weights")
    money, held = 1.0, np.zeros(count)
    for i in range(n):
        value = float(held @ close[i]) if i else money
        if i in first:
            held = share * value / close[i]
    total = float(held @ close[-1]) - 1
    r = close[1:] / close[:-1] - 1
    summed = np.array([(share @ r[i]) if i in first else r[i].sum() for i in range(n - 1)])
    wrong = float(np.prod(1 + summed) - 1)
    extra = {"execution": "close of the dated session"}
    yield (
        "clean",
        {**prices, **weights, **report(rng, {"total_return": round(total, 8), **extra})},
        Expected("pass", {"total_return": (total, True)}),
    )
    if abs(wrong - total) > 0.03:
        yield (
            "wrong",
            {**prices, **weights, **report(rng, {"total_return": round(wrong, 8), **extra})},
            Expected("wrong", {"total_return": (total, False)}),
        )


def own_day(rng: np.random.Generator) -> Iterator[Sibling]:
    count, n = int(rng.integers(1, 4)), int(rng.integers(90, 200))
    names = [letters(rng, 4) for _ in range(count)]
    dates = days(rng, n)
    close = np.column_stack([walk(rng, n, 100, 0.015) for _ in names])
    mean = pd.DataFrame(close).rolling(3).mean().to_numpy()
    weight = np.round(np.where(close > mean, 1.0 / count, 0.0), 6)
    prices = table(
        rng, pd.DataFrame({"date": dates} | {k: close[:, i] for i, k in enumerate(names)}), pick(rng, "prices_wide", "close_prices")
    )
    cash = {"CASH": np.round(1 - weight.sum(axis=1), 6)}
    weights = table(
        rng, pd.DataFrame({"date": dates} | {k: weight[:, i] for i, k in enumerate(names)} | cash), pick(rng, "weights_wide", "weights")
    )
    r = np.vstack([np.zeros((1, count)), close[1:] / close[:-1] - 1])
    late = np.concatenate(([0.0], (weight[:-1] * r[1:]).sum(axis=1)))
    same = (weight * r).sum(axis=1)
    for label, series in (("clean", late), ("wrong", same)):
        figures = {
            "sharpe": round(series.mean() / series.std(ddof=1) * np.sqrt(252), 8),
            "total_return": round(float(np.prod(1 + series) - 1), 8),
        }
        total = float(np.prod(1 + late) - 1)
        files = {**prices, **weights, **report(rng, figures)}
        if label == "clean":
            yield label, files, Expected("pass", {"total_return": (total, True)}, (), ("weight_uses_same_day_return",))
        else:
            yield label, files, Expected("wrong", {"total_return": (total, False)}, ({"check": "weight_uses_same_day_return"},))
