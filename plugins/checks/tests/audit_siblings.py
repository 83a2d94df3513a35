"""Siblings of the shared cases: the same kinds of fault on other tickers, sizes, frequencies, layouts and names, each beside its clean twin.

Every function takes a random generator and yields (what it is, files, expected). Numbers are computed here in plain loops, not by the
package.
"""

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from attrs import Factory, frozen

from finassay_checks.sessions import sessions_between

Files = dict[str, bytes]
ADJ = ("csv", "csv", "json", "xlsx", "parquet", "semicolon", "md")


@frozen
class Expected:
    """`metrics` maps a name to (own value or None, within tolerance or None, explained_by or ...)."""

    verdict: str
    metrics: dict[str, tuple[Any, ...]] = Factory(dict)
    findings: tuple[dict[str, Any], ...] = ()
    never: tuple[str, ...] = ()


Sibling = tuple[str, Files, Expected]


def letters(rng: np.random.Generator, size: int = 3) -> str:
    return "".join(rng.choice(list("BCDFGHJKLMNPQRSTVWXZ"), size))


def days(rng: np.random.Generator, n: int, exchange: str = "XNYS") -> pd.DatetimeIndex:
    start = pd.Timestamp("2012-01-03") + pd.Timedelta(days=int(rng.integers(0, 3600)))
    return sessions_between(exchange, start, start + pd.Timedelta(days=2 * n + 20))[:n]


def walk(rng: np.random.Generator, n: int, start: float = 100.0, vol: float = 0.012, drift: float = 0.0004) -> np.ndarray:
    return np.round(start * np.cumprod(np.concatenate(([1.0], 1 + rng.normal(drift, vol, n - 1)))), 4)


def table(rng: np.random.Generator, frame: pd.DataFrame, stem: str, formats: tuple[str, ...] = ADJ) -> Files:
    """A frame in one of several layouts; dates as ISO text."""
    frame = frame.copy()
    for name in frame.columns:
        if pd.api.types.is_datetime64_any_dtype(frame[name].dtype):
            frame[name] = frame[name].dt.strftime("%Y-%m-%d")
    kind = str(rng.choice(formats))
    if kind == "json":
        orient = str(rng.choice(["records", "split", "columns", "list"]))
        if orient == "list":
            return {f"{stem}.json": json.dumps({c: json.loads(frame[c].to_json(orient="values")) for c in frame.columns}).encode()}
        return {f"{stem}.json": frame.to_json(orient=orient).encode()}  # type: ignore[call-overload]
    if kind == "xlsx":
        buffer = io.BytesIO()
        frame.to_excel(buffer, index=False, sheet_name=stem[:28], startrow=int(rng.integers(0, 3)))
        return {f"{stem}.xlsx": buffer.getvalue()}
    if kind == "parquet":
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        return {f"{stem}.parquet": buffer.getvalue()}
    if kind == "semicolon":
        return {f"{stem}.csv": frame.to_csv(index=False, sep=";", decimal=",").encode()}
    if kind == "md" and len(frame) <= 300:
        lines = ["| " + " | ".join(frame.columns) + " |", "|" + "---|" * len(frame.columns)]
        lines += ["| " + " | ".join("" if v != v or v is None else str(v) for v in row) + " |" for row in frame.itertuples(index=False)]
        return {f"{stem}.md": ("# " + stem + "\n\n" + "\n".join(lines) + "\n").encode()}
    return {f"{stem}.csv": frame.to_csv(index=False).encode()}


def report(
    rng: np.random.Generator, figures: dict[str, Any], formats: tuple[str, ...] = ("json", "csv", "md", "xlsx", "headless")
) -> Files:
    """Name-value pairs in one of several layouts."""
    kind = str(rng.choice(formats))
    if kind == "json":
        return {"report.json": json.dumps(figures).encode()}
    if kind == "headless":
        return {"stats.csv": "\n".join(f"{k},{v}" for k, v in figures.items()).encode()}
    frame = pd.DataFrame({"Metric": list(figures), "Value": [str(v) for v in figures.values()]})
    if kind == "md":
        return {
            "REPORT.md": (
                "# Results\n\n| Metric | Value |\n|---|---|\n" + "\n".join(f"| {k} | {v} |" for k, v in figures.items()) + "\n"
            ).encode()
        }
    if kind == "xlsx":
        buffer = io.BytesIO()
        frame.to_excel(buffer, index=False, sheet_name="Metrics")
        return {"summary.xlsx": buffer.getvalue()}
    return {"metrics.csv": frame.to_csv(index=False).encode()}


def pick(rng: np.random.Generator, *names: str) -> str:
    return str(rng.choice(names))


def mdd(wealth: np.ndarray) -> float:
    peak, worst = wealth[0], 0.0
    for value in wealth:
        peak = max(peak, value)
        worst = min(worst, value / peak - 1)
    return worst


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


def entry_fees(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(5, 40))
    dates = days(rng, 10 * n)
    rows = []
    for k in range(n):
        size, entry = int(rng.integers(10, 600)), round(float(rng.uniform(10, 300)), 2)
        leave = round(entry * (1 + rng.normal(0.004, 0.02)), 2)
        fees = [round(float(0.004 * size * p), 2) for p in (entry, leave)]
        rows.append([letters(rng), dates[10 * k], dates[10 * k + int(rng.integers(2, 9))], size, entry, leave, *fees])
    columns = [
        pick(rng, "symbol", "ticker"),
        pick(rng, "entry_date", "Entry Date", "date_in"),
        pick(rng, "exit_date", "Exit Date"),
        pick(rng, "shares", "quantity", "size"),
        pick(rng, "entry_price", "Entry Price", "avg_entry_price"),
        pick(rng, "exit_price", "Exit Price", "avg_exit_price"),
        pick(rng, "entry_fee", "Entry Fees", "entry_commission"),
        pick(rng, "exit_fee", "Exit Fees", "exit_commission"),
    ]
    if columns[1] == "date_in":
        columns[2] = "date_out"
    log = pd.DataFrame(rows, columns=columns)
    gross = log[columns[3]] * (log[columns[5]] - log[columns[4]])
    for label, pnl in (("clean", gross - log[columns[6]] - log[columns[7]]), ("wrong", gross - log[columns[7]])):
        net = (gross - log[columns[6]] - log[columns[7]]).round(2)
        pnl = pnl.round(2)
        trades = table(rng, log.assign(**{pick(rng, "pnl", "PnL", "profit"): pnl}), pick(rng, "trades", "closed_trades"))
        figures = {"number_of_trades": n, "win_rate": round(float((pnl > 0).mean()), 8), "net_profit": round(float(pnl.sum()), 2)}
        if (pnl < 0).any():
            figures["profit_factor"] = round(float(pnl[pnl > 0].sum() / -pnl[pnl < 0].sum()), 8)
        files = {**trades, **report(rng, {**figures, "initial_capital": 50000})}
        own = {"net_profit": (float(net.sum()), label == "clean"), "number_of_trades": (n, True)}
        if label == "clean":
            yield label, files, Expected("pass", {**own, "win_rate": (float((net > 0).mean()), True)})
        else:
            yield label, files, Expected("wrong", own, ({"check": "pnl_column_gross_of_entry_fee", "rows": n},))


def end_of_data(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(4, 15))
    dates = days(rng, 8 * n)
    rows = [[100, dates[8 * k], dates[8 * k + 5], 30 + k, round(float(30 + k + rng.normal(0.3, 2)), 2)] for k in range(n)]
    log = pd.DataFrame(rows, columns=["Size", "EntryTime", "ExitTime", "EntryPrice", "ExitPrice"])
    log["PnL"] = (log["Size"] * (log["ExitPrice"] - log["EntryPrice"])).round(2)
    for label, tag in (("clean", None), ("forced", pick(rng, "end_of_data", "forced close", "end of backtest", "finalize"))):
        frame = log.assign(Tag=[None] * (n - 1) + [tag])
        buffer = io.BytesIO()
        with pd.ExcelWriter(buffer) as writer:
            pd.DataFrame({"Strategy": ["Initial cash"], "demo": ["10,000"]}).to_excel(writer, index=False, sheet_name="Summary")
            frame.assign(EntryTime=frame["EntryTime"].dt.strftime("%Y-%m-%d"), ExitTime=frame["ExitTime"].dt.strftime("%Y-%m-%d")).to_excel(
                writer, index=False, sheet_name="Trades", startrow=2
            )
            wins = float((log["PnL"] > 0).mean())
            pd.DataFrame({"Metric": ["# Trades", "Win Rate [%]"], "Value": [n, round(100 * wins, 4)]}).to_excel(
                writer, index=False, sheet_name="Metrics"
            )
        files = {"backtest.xlsx": buffer.getvalue()}
        if tag is None:
            yield (
                label,
                files,
                Expected(
                    "pass", {"number_of_trades": (n, True, None), "win_rate": (wins, True, None)}, (), ("trade_closed_on_last_session",)
                ),
            )
        else:
            metrics = {"number_of_trades": (n, True, "open_position_closed_at_last_bar"), "win_rate": (wins, True, None)}
            yield label, files, Expected("pass_with_note", metrics, ({"check": "trade_closed_on_last_session", "count": 1},))


def partial_exits(rng: np.random.Generator) -> Iterator[Sibling]:
    rows, count = [], int(rng.integers(2, 6))
    dates = days(rng, 12 * count)
    wins_exit = wins_pos = exits = 0
    for k in range(count):
        name, entry = letters(rng, 4), round(float(rng.uniform(20, 80)), 2)
        parts = [int(p) for p in rng.integers(10, 60, int(rng.integers(2, 5)))]
        rows.append([name, dates[12 * k], "BUY", sum(parts), entry])
        total = 0.0
        for j, part in enumerate(parts):
            price = round(entry + float(rng.choice([-1.5, 0.8, 1.7])) - 0.1 * j, 2)
            rows.append([name, dates[12 * k + 1 + j], "SELL", part, price])
            wins_exit += price > entry
            exits += 1
            total += part * (price - entry)
        wins_pos += total > 0
    log = pd.DataFrame(
        rows,
        columns=[
            "ticker",
            pick(rng, "time", "date", "fill_date"),
            pick(rng, "side", "action"),
            pick(rng, "quantity", "shares", "qty"),
            "price",
        ],
    )
    fills = table(rng, log, pick(rng, "fills", "trades", "transactions"))
    if exits == count or wins_exit / exits == wins_pos / count:
        return
    yield (
        "clean",
        {**fills, **report(rng, {"total_trades": count, "win_rate_pct": round(100 * wins_pos / count, 3)})},
        Expected("pass", {"number_of_trades": (count, True, None), "win_rate": (wins_pos / count, True, None)}),
    )
    wrong_rate = wins_exit / exits
    expected = Expected("pass_with_note", {"number_of_trades": (count, False, "one_trade_per_closing_fill")})
    if abs(wrong_rate - wins_pos / count) > 0.02:
        expected = Expected(
            "pass_with_note",
            {
                "number_of_trades": (count, False, "one_trade_per_closing_fill"),
                "win_rate": (wins_pos / count, False, "counted_per_closing_fill"),
            },
        )
    yield "per exit", {**fills, **report(rng, {"total_trades": exits, "win_rate_pct": round(100 * wrong_rate, 3)})}, expected
    yield (
        "wrong",
        {**fills, **report(rng, {"total_trades": 7 * count + 31, "win_rate_pct": 99.2})},
        Expected("wrong", {"number_of_trades": (count, False, None)}),
    )


def fractional(rng: np.random.Generator) -> Iterator[Sibling]:
    dates = days(rng, 60)
    rows, profit = [], 0.0
    names = [letters(rng, 3), letters(rng, 4)]
    for k, name in enumerate(names):
        a, b = round(float(rng.uniform(0.3, 0.9)), 2), round(float(rng.uniform(0.2, 3.6)), 2)
        p = [round(float(rng.uniform(50, 200)), 2) for _ in range(3)]
        rows += [[dates[3 * k], name, a, p[0]], [dates[3 * k + 8], name, b, p[1]], [dates[3 * k + 20], name, -round(a + b, 2), p[2]]]
        profit += (a + b) * p[2] - a * p[0] - b * p[1]
    log = pd.DataFrame(rows, columns=[pick(rng, "dt", "date"), "symbol", pick(rng, "amount", "quantity"), "price"]).sort_values(
        "symbol", kind="stable"
    )
    fills = table(rng, log, "transactions", ("csv", "json", "parquet", "xlsx"))
    label = pick(rng, "total_profit", "net_profit", "Net Profit", "total_pnl")
    yield (
        "clean",
        {**fills, **report(rng, {"round_trips": 2, label: round(profit, 2)})},
        Expected("pass", {"net_profit": (profit, True), "number_of_trades": (2, True)}),
    )
    wrong = round(profit + float(rng.choice([-3.5, 6.25, 11.0])), 2)
    yield "wrong", {**fills, **report(rng, {"round_trips": 2, label: wrong})}, Expected("wrong", {"net_profit": (profit, False)})


def signal_bar(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(40, 120))
    dates, name = days(rng, n), letters(rng, 4)
    close = walk(rng, n, 60, 0.02)
    opened = np.round(close * (1 + rng.normal(0, 0.006, n)), 4)
    prices = table(rng, pd.DataFrame({"date": dates, "ticker": name, "open": opened, "close": close}), "prices")
    at = np.sort(rng.choice(np.arange(2, n - 3), 6, replace=False))
    at = at[np.concatenate(([True], np.diff(at) > 1))]
    at = at[: len(at) // 2 * 2]
    sides = ["BUY", "SELL"] * (len(at) // 2)
    clock = pick(rng, " 16:00", "T16:00:00", " 16:00:00")
    words = {"based_on": "close of the same session"} if rng.random() < 0.5 else {}
    signals = pd.DataFrame(
        {
            pick(rng, "signal_time", "signal_date"): [f"{d.date()}{clock}" for d in dates[at]],
            "ticker": name,
            "signal": sides,
            **words,
        }
    )
    for label, lag, price in (("clean", 1, opened), ("wrong", 0, close)):
        fills = pd.DataFrame(
            {
                pick(rng, "fill_date", "date", "trade_date"): dates[at + lag],
                "ticker": name,
                pick(rng, "action", "side"): sides,
                "shares": 100,
                pick(rng, "fill_price", "price"): price[at + lag],
            }
        )
        total = sum((1 if s == "SELL" else -1) * 100 * price[i + lag] for s, i in zip(sides, at, strict=True)) / 10000
        files = {
            **prices,
            **table(rng, fills, "fills"),
            **table(rng, signals, "signals", ("csv", "json")),
            **report(rng, {"total_return": round(total, 8), "initial_cash": 10000}),
        }
        if label == "clean":
            yield label, files, Expected("pass", {"total_return": (total, True)}, (), ("fill_not_after_signal",))
        else:
            found = {"check": "fill_not_after_signal", "count": len(at), "rows": [str(d.date()) for d in dates[at]]}
            yield label, files, Expected("wrong", {"total_return": (total, True, None)}, (found,))


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


def announcements(rng: np.random.Generator) -> Iterator[Sibling]:
    count = int(rng.integers(4, 20))
    names = [letters(rng, 4) for _ in range(count)]
    period = pd.Timestamp("2018-03-31") + pd.DateOffset(years=int(rng.integers(0, 5)))
    announced = [period + pd.Timedelta(days=int(d)) for d in rng.integers(20, 60, count)]
    facts = table(
        rng,
        pd.DataFrame(
            {
                "ticker": names,
                pick(rng, "fiscal_period_end", "period_end"): period,
                pick(rng, "announced", "announcement_date", "filing_date"): announced,
                "eps": np.round(rng.normal(1, 0.5, count), 2),
            }
        ),
        "fundamentals",
        ("csv", "json", "parquet", "xlsx"),
    )
    early, same = names[1], names[2]
    for label in ("clean", "wrong"):
        entry = [a + pd.Timedelta(days=int(d)) for a, d in zip(announced, rng.integers(1, 20, count), strict=True)]
        if label == "wrong":
            entry[1], entry[2] = announced[1] - pd.Timedelta(days=9), announced[2]
        frame = pd.DataFrame(
            {
                "ticker": names,
                pick(rng, "entry_date", "buy_date", "Entry Date"): entry,
                "entry_price": np.round(rng.uniform(10, 90, count), 2),
            }
        )
        files = {
            **facts,
            **table(rng, frame, pick(rng, "entries", "trades"), ("csv", "json", "xlsx")),
            "report.json": json.dumps({"rule": "buy on eps of the last quarter"}).encode(),
        }
        if label == "clean":
            yield label, files, Expected("pass", {}, (), ("entry_before_announcement", "entry_on_announcement_day"))
        else:
            found = ({"check": "entry_before_announcement", "rows": [early]}, {"check": "entry_on_announcement_day", "rows": [same]})
            yield label, files, Expected("wrong", {}, found)


def cutoff(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(30, 200))
    dates = days(rng, n)
    last = dates[n - 4]
    frame = pd.DataFrame({"date": dates, "close": walk(rng, n)})
    task = {"task.json": json.dumps({"data_cutoff": str(last.date()), "exchange_timezone": "America/New_York"}).encode()}
    night = pd.Timestamp(last) + pd.Timedelta(hours=24, minutes=30)
    news = {
        "news.csv": f"published,headline\n{(last - pd.Timedelta(days=1)).date()}T14:00:00Z,guidance kept\n{night:%Y-%m-%dT%H:%M:%SZ},buyback widened\n".encode()
    }
    snap = {
        "ticker": letters(rng),
        pick(rng, "retrieved_at", "fetched_at", "as_of"): f"{(last - pd.Timedelta(days=3)).date()}T15:00:00Z",
        "marketCap": 512000,
    }
    yield (
        "clean",
        {**table(rng, frame.iloc[: n - 3], "prices"), **task, **news, "snapshot.json": json.dumps(snap).encode()},
        Expected("pass", {}, (), ("future_row",)),
    )
    late = [str(d.date()) for d in dates[n - 3 :]]
    key = next(k for k in snap if k not in ("ticker", "marketCap"))
    stamp = f"{(last + pd.Timedelta(days=400)).date()}T08:02:11Z"
    made = table(rng, frame, "prices")
    files = {**made, **task, **news, "snapshot.json": json.dumps({**snap, key: stamp}).encode()}
    yield (
        "wrong",
        files,
        Expected(
            "wrong",
            {},
            (
                {"check": "future_row", "file": next(iter(made)), "rows": late},
                {"check": "future_row", "file": "snapshot.json", "field": key, "rows": [stamp]},
            ),
        ),
    )


def splits(rng: np.random.Generator) -> Iterator[Sibling]:
    n, ratio = int(rng.integers(25, 150)), int(rng.choice([2, 3, 4, 5, 10, 20]))
    dates, at = days(rng, n), int(rng.integers(14, n - 6))
    true = walk(rng, n, 128, 0.012)
    raw = np.round(np.where(np.arange(n) < at, true, true / ratio), 4)
    name = {"Ticker": letters(rng)} if rng.random() < 0.3 else {}
    actions = {
        "actions.csv": f"Date,Action,Value\n{dates[at].date()},SPLIT,{pick(rng, f'{ratio}:1', f'{ratio}-for-1', f'{ratio}', f'{ratio}/1')}\n".encode()
    }
    volume = rng.integers(1_000_000, 4_000_000, n)
    right, wrong = true[-1] / true[0] - 1, raw[-1] / raw[0] - 1
    label = pick(rng, "buy_and_hold_return", "Buy & Hold Return", "total_return")
    frame = pd.DataFrame({"Date": dates, **name, "Close": raw, "Volume": volume})
    yield (
        "clean",
        {**table(rng, frame, "prices"), **actions, **report(rng, {label: round(right, 6), "symbol": "one"})},
        Expected("pass", {"total_return": (right, True)}, (), ("inconsistent_adjustment",)),
    )
    smooth = pd.DataFrame({"Date": dates, **name, "Close": np.round(true / ratio, 4), "Volume": volume})
    yield (
        "adjusted",
        {**table(rng, smooth, "prices"), **actions, **report(rng, {label: round(right, 6), "symbol": "one"})},
        Expected("pass", {"total_return": (right, True)}, (), ("inconsistent_adjustment", "split_jump")),
    )
    off = int(rng.integers(3, at - 3))
    bad = raw.copy()
    bad[off] = round(bad[off] / ratio, 4)
    found = (
        {"check": "split_jump", "date": str(dates[at].date()), "ratio": ratio},
        {"check": "inconsistent_adjustment", "date": str(dates[off].date()), "ratio": ratio},
    )
    files = {**table(rng, frame.assign(Close=bad), "prices"), **actions, **report(rng, {label: round(wrong, 6), "symbol": "one"})}
    yield "wrong", files, Expected("data_problem", {"total_return": (right, False, None)}, found)


def duplicates(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(8, 120))
    dates, close = days(rng, n), np.round(walk(rng, n, 15), 2)
    frame = pd.DataFrame(
        {"Date": dates, "Open": close, "High": close + 0.2, "Low": close - 0.2, "Close": close, "Volume": rng.integers(1000, 90000, n)}
    )
    yield "clean", table(rng, frame, "prices"), Expected("pass", {}, (), ("duplicate_date",))
    a, b = int(rng.integers(1, n // 2)), n - 1
    other = frame.iloc[[a]].assign(Close=lambda f: f["Close"] + 0.15, Volume=12)
    made = pd.concat([frame.iloc[: a + 1], other, frame.iloc[a + 1 :], frame.iloc[[b]]])
    found = (
        {"check": "duplicate_date", "date": str(dates[b].date()), "identical": True},
        {"check": "duplicate_date", "date": str(dates[a].date()), "identical": False},
    )
    yield "wrong", table(rng, made, "prices"), Expected("data_problem", {}, found)


def dividends(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(40, 200))
    dates, close = days(rng, n), np.round(walk(rng, n, 50, 0.006), 2)
    at = np.sort(rng.choice(np.arange(5, n - 3), int(rng.integers(2, 4)), replace=False))
    paid = [round(float(rng.uniform(0.5, 1.0)), 2) for _ in at]
    adjusted = close.astype(float).copy()
    for i, d in zip(at, paid, strict=True):
        adjusted[:i] *= 1 - d / close[i - 1]
    prices = table(
        rng,
        pd.DataFrame({"date": dates, "close": close, pick(rng, "adj_close", "Adj Close", "adjusted_close"): np.round(adjusted, 6)}),
        "prices",
    )
    cash = table(
        rng,
        pd.DataFrame({pick(rng, "ex_date", "date"): dates[at], pick(rng, "per_share", "dividend", "amount"): paid}),
        "dividends",
        ("csv", "json"),
    )
    right = adjusted[-1] / adjusted[0] - 1
    double = right + sum(paid) / adjusted[0]
    yield (
        "clean",
        {**prices, **cash, **report(rng, {"total_return": round(right, 8), "basis": "adj_close"})},
        Expected("pass", {"total_return": (right, True)}, (), ("dividend_double_count",)),
    )
    raw = close[-1] / close[0] - 1 + sum(paid) / close[0]
    yield (
        "close and dividends",
        {**prices, **cash, **report(rng, {"total_return": round(raw, 8), "basis": "close plus dividends"})},
        Expected("pass", {"total_return": (None, True)}, (), ("dividend_double_count",)),
    )
    yield (
        "wrong",
        {**prices, **cash, **report(rng, {"total_return": round(double, 8), "basis": "adj_close plus dividends"})},
        Expected("wrong", {"total_return": (right, False, None)}, ({"check": "dividend_double_count", "amount": round(sum(paid), 9)},)),
    )


def midnight(rng: np.random.Generator) -> Iterator[Sibling]:
    exchange, zone, suffix = [
        ("XPAR", "Europe/Paris", ".PA"),
        ("XETR", "Europe/Berlin", ".DE"),
        ("XTKS", "Asia/Tokyo", ".T"),
        ("XHKG", "Asia/Hong_Kong", ".HK"),
    ][int(rng.integers(0, 4))]
    n = int(rng.integers(15, 60))
    dates = days(rng, n, exchange)
    local = dates.tz_localize(zone)
    name = letters(rng) + suffix if suffix not in (".T", ".HK") else str(int(rng.integers(1000, 9999))) + suffix
    close = np.round(walk(rng, n, 63, 0.01), 2)
    meta = (
        {"meta.json": json.dumps({"exchange": exchange, "timezone": zone}).encode()}
        if rng.random() < 0.6 or suffix in (".T", ".HK")
        else {}
    )
    utc = local.tz_convert("UTC")

    def bars(stamps: list[str]) -> Files:
        return {
            "bars.csv": pd.DataFrame({pick(rng, "time", "timestamp", "date"): stamps, "symbol": name, "close": close})
            .to_csv(index=False)
            .encode(),
            **meta,
        }

    offsets = [t.isoformat() for t in local]
    for label, stamps in (("clean offset", offsets), ("clean dates", [str(d.date()) for d in dates])):
        yield label, bars(stamps), Expected("pass", {}, (), ("utc_date_is_previous_day", "missing_session", "row_on_no_session"))
    sundays = int((utc.tz_localize(None).normalize().day_of_week == 6).sum())
    found: tuple[dict[str, Any], ...] = ({"check": "utc_date_is_previous_day", "rows": n},)
    if sundays:
        found += ({"check": "rows_on_sunday_if_cut_in_utc", "value": sundays},)
    yield "wrong", bars([f"{t:%Y-%m-%dT%H:%M:%SZ}" for t in utc]), Expected("data_problem", {}, found, ("missing_session",))


CLOSURES = ("2018-12-05", "2012-10-29", "2012-10-30", "2007-01-02", "2025-01-09", "2004-06-11")


def closures(rng: np.random.Generator) -> Iterator[Sibling]:
    day = pd.Timestamp(pick(rng, *CLOSURES))
    dates = sessions_between("XNYS", day - pd.Timedelta(days=int(rng.integers(8, 60))), day + pd.Timedelta(days=int(rng.integers(8, 60))))
    close = np.round(walk(rng, len(dates), 25), 2)
    shape = pick(rng, "%Y%m%d", "%Y-%m-%d", "%m/%d/%Y")
    frame = pd.DataFrame({"date": dates.strftime(shape), "close": close})
    yield "clean", {"prices.csv": frame.to_csv(index=False).encode()}, Expected("pass", {}, (), ("missing_session",))
    gone = int(rng.integers(1, len(dates) - 1))
    found = ({"check": "missing_session", "rows": [str(dates[gone].date())]},)
    yield "wrong", {"prices.csv": frame.drop(index=gone).to_csv(index=False).encode()}, Expected("data_problem", {}, found)


def halted(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(25, 90))
    dates, names = days(rng, n), [letters(rng, 3), letters(rng, 4)]
    close = np.column_stack([walk(rng, n, 10, 0.02, 0.01), walk(rng, n, 20, 0.006)]).round(2)
    start, length = int(rng.integers(8, n - 14)), int(rng.integers(5, 9))
    shares, cash = [int(rng.integers(100, 500)), int(rng.integers(80, 300))], 4000.0
    given = close.copy()
    given[start : start + length, 0] = np.nan
    carried = pd.DataFrame(given).ffill().to_numpy()
    equity = carried @ np.array(shares) + cash
    wrong = equity.copy()
    wrong[start + 3 : start + length] = equity[start + 3 : start + length] - shares[0] * (carried[start, 0] - close[0, 0])
    held = pd.DataFrame(
        [(dates[0], names[0], shares[0]), (dates[0], names[1], shares[1]), (dates[0], "CASH", cash)], columns=["date", "symbol", "shares"]
    )
    positions = table(rng, held, "positions", ("csv", "json", "xlsx"))
    prices = {
        "prices.csv": pd.DataFrame({"date": dates.strftime("%Y-%m-%d"), names[0]: given[:, 0], names[1]: given[:, 1]})
        .to_csv(index=False)
        .encode()
    }
    whole = {
        "prices.csv": pd.DataFrame({"date": dates.strftime("%Y-%m-%d"), names[0]: close[:, 0], names[1]: close[:, 1]})
        .to_csv(index=False)
        .encode()
    }

    def curve(values: np.ndarray) -> Files:
        return table(
            rng,
            pd.DataFrame({"date": dates, pick(rng, "equity", "portfolio_value"): np.round(values, 4)}),
            "equity",
            ("csv", "json", "parquet"),
        )

    straight = close @ np.array(shares) + cash
    yield (
        "clean",
        {**positions, **whole, **curve(straight)},
        Expected("pass", {"max_drawdown": (mdd(straight), True)}, (), ("missing_price_while_held", "equity_mismatch")),
    )
    stale = {
        "check": "missing_price_while_held",
        "symbol": names[0],
        "rows": length,
        "first": str(dates[start].date()),
        "last": str(dates[start + length - 1].date()),
    }
    yield (
        "carried",
        {**positions, **prices, **curve(equity)},
        Expected("pass_with_note", {"max_drawdown": (mdd(equity), True)}, (stale,), ("equity_mismatch",)),
    )
    if abs(carried[start, 0] - close[0, 0]) * shares[0] > 0.01 * equity.max():
        rows = [str(d.date()) for d in dates[start + 3 : start + length]]
        yield (
            "wrong",
            {**positions, **prices, **curve(wrong)},
            Expected("wrong", {"total_return": (equity[-1] / equity[0] - 1, True)}, (stale, {"check": "equity_mismatch", "rows": rows})),
        )


def membership(rng: np.random.Generator) -> Iterator[Sibling]:
    names = [letters(rng, 4) for _ in range(6)]
    start = [f"201{int(rng.integers(0, 5))}-0{int(rng.integers(1, 9))}-15" for _ in names]
    start[1], end = "2021-09-20", ["", "", "2020-03-23", "", "", ""]
    columns = {
        pick(rng, "ticker", "symbol"): names,
        pick(rng, "date_added", "added", "start_date", "from"): start,
        pick(rng, "date_removed", "removed", "end_date"): end,
    }
    if "from" in columns:
        columns = dict(zip([*list(columns)[:2], "to"], columns.values(), strict=True))
    members = {pick(rng, "membership.csv", "index_members.csv", "constituents.csv"): pd.DataFrame(columns).to_csv(index=False).encode()}
    good = [
        (names[0], "2019-05-01"),
        (names[1], "2021-09-20"),
        (names[2], "2019-05-01"),
        (names[3], "2022-02-01"),
        (names[2], "2020-03-20"),
    ]
    bad = [*good, (names[1], "2019-05-01"), (names[2], "2020-06-01")]
    for label, rows in (("clean", good), ("wrong", bad)):
        frame = pd.DataFrame(rows, columns=["ticker", pick(rng, "entry_date", "buy_date")])
        if rng.random() < 0.5:
            frame = pd.DataFrame([(d, t, "BUY", 100, 50.0) for t, d in rows], columns=["date", "ticker", "side", "shares", "price"])
        files = {**members, **table(rng, frame, "trades", ("csv", "json", "xlsx"))}
        if label == "clean":
            yield label, files, Expected("pass", {}, (), ("traded_before_membership", "traded_after_removal"))
        else:
            found = (
                {"check": "traded_before_membership", "rows": [[names[1], "2019-05-01"]]},
                {"check": "traded_after_removal", "rows": [[names[2], "2020-06-01"]]},
            )
            yield label, files, Expected("wrong", {}, found)


def deposits(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(40, 160))
    dates = days(rng, n)
    r = rng.normal(0.001, 0.008, n - 1)
    at = np.sort(rng.choice(np.arange(4, n - 4), 3, replace=False))
    amount = [float(rng.integers(3, 9)) * 1000, float(rng.integers(3, 9)) * 1000, -2000.0]
    value = [10000.0]
    for i in range(1, n):
        value.append(value[-1] * (1 + r[i - 1]) + sum(a for j, a in zip(at, amount, strict=True) if j == i))
    money = np.round(value, 2)
    chained = [1.0]
    for i in range(1, n):
        flow = sum(a for j, a in zip(at, amount, strict=True) if j == i)
        chained.append(chained[-1] * (money[i] - flow) / money[i - 1])
    right, wrong = chained[-1] - 1, money[-1] / money[0] - 1
    shape = pick(rng, "%d-%b-%Y", "%Y-%m-%d", "%m/%d/%Y")
    curve = {
        "account_value.csv": pd.DataFrame({"date": dates.strftime(shape), "value": [f"{m:,.2f}" for m in money]})
        .to_csv(index=False)
        .encode()
    }
    kinds = ["deposit", "deposit", "withdrawal"]
    signed = rng.random() < 0.5
    flows = pd.DataFrame({"date": dates[at].strftime(shape), "type": kinds, "amount": [f"{a if signed else abs(a):,.2f}" for a in amount]})
    if rng.random() < 0.5:
        flows["timing"] = "after close"
    cash = {pick(rng, "cash_flows.csv", "deposits_withdrawals.csv", "flows.csv"): flows.to_csv(index=False).encode()}
    dates_found = {"check": "external_cash_flow", "rows": [str(d.date()) for d in dates[at]]}
    fall = mdd(np.array(chained))
    yield (
        "clean",
        {**curve, **cash, **report(rng, {"total_return": round(right, 7), "max_drawdown": round(fall, 7)})},
        Expected("pass", {"total_return": (right, True), "max_drawdown": (fall, True)}, (dates_found,)),
    )
    if abs(wrong - right) > 0.03:
        yield (
            "wrong",
            {**curve, **cash, **report(rng, {"total_return": round(wrong, 6), "max_drawdown": round(mdd(money), 8)})},
            Expected("wrong", {"total_return": (right, False, None)}, (dates_found,)),
        )


def units(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(12, 90))
    dates = days(rng, n, "XLON")
    close = np.round(walk(rng, n, float(rng.uniform(150, 3000)), 0.01), 2)
    at = int(rng.integers(4, n - 4))
    up = rng.random() < 0.4
    given = np.round(np.where(np.arange(n) < at, close, close * 100 if up else close / 100), 4)
    name = letters(rng) + ".L"
    shape = pick(rng, "%d/%m/%Y", "%Y-%m-%d")

    def prices(values: np.ndarray) -> Files:
        return {
            "prices.csv": pd.DataFrame({"Date": dates.strftime(shape), pick(rng, "Price", "Close"): values, "Symbol": name})
            .to_csv(index=False)
            .encode()
        }

    right, wrong = close[-1] / close[0] - 1, given[-1] / given[0] - 1
    label = pick(rng, "buy_and_hold_return", "total_return")
    yield (
        "clean",
        {**prices(close), **report(rng, {label: round(right, 7)}, ("json",))},
        Expected("pass", {"total_return": (right, True)}, (), ("unit_switch", "missing_session", "row_on_no_session")),
    )
    found = ({"check": "unit_switch", "date": str(dates[at].date()), "factor": 100},)
    yield (
        "wrong",
        {**prices(given), **report(rng, {label: round(wrong, 8)}, ("json",))},
        Expected("data_problem", {"total_return": (right, False, None)}, found),
    )


FAMILIES: dict[str, Callable[[np.random.Generator], Iterator[Sibling]]] = {
    "s01": year_length,
    "s02": first_day,
    "s03": sortino,
    "s04": scaled,
    "s05": year_of_365,
    "s06": notation,
    "s07": turnover,
    "s08": between_rebalances,
    "s09": entry_fees,
    "s10": end_of_data,
    "s11": partial_exits,
    "s12": fractional,
    "s13": signal_bar,
    "s14": own_day,
    "s15": announcements,
    "s16": cutoff,
    "s17": splits,
    "s18": duplicates,
    "s19": dividends,
    "s20": midnight,
    "s21": closures,
    "s22": halted,
    "s23": membership,
    "s24": deposits,
    "s25": units,
}


def faults_of(found: dict[str, Any], expected: Expected) -> list[str]:
    """What of an audit's JSON is not as expected; empty if all is."""
    wrong = []
    if found["verdict"] != expected.verdict:
        wrong.append(f"verdict {found['verdict']} for {expected.verdict}: {found['reason']}")
    for name, (own, within, *explained) in expected.metrics.items():
        metric = found["metrics"].get(name)
        if metric is None or metric["reported"] is None:
            wrong.append(f"{name} was not read as reported")
            continue
        if own is not None and (metric["recomputed"] is None or abs(metric["recomputed"] - own) > 5e-3 * max(1.0, abs(own))):
            wrong.append(f"{name} recomputed as {metric['recomputed']} for {own}")
        if within is not None and metric["within_tolerance"] is not within:
            wrong.append(f"{name} within tolerance: {metric['within_tolerance']}")
        if explained and metric["explained_by"] != explained[0]:
            wrong.append(f"{name} explained by {metric['explained_by']} for {explained[0]}")
    for wanted in expected.findings:
        same = [f for f in found["findings"] if f["check"] == wanted["check"]]
        if not any(all(_equal(f.get(k), v) for k, v in wanted.items()) for f in same):
            wrong.append(f"no finding {wanted}; there is {same}")
    wrong += [f"raised {check}" for check in expected.never if any(f["check"] == check for f in found["findings"])]
    return wrong


def _equal(given: Any, wanted: Any) -> bool:
    if isinstance(wanted, list) and isinstance(given, (list, tuple)):
        return sorted(map(str, map(list, given) if given and isinstance(given[0], (list, tuple)) else given)) == sorted(map(str, wanted))
    return bool(given == wanted)
