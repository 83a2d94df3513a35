"""Small deliveries for tests: a package in memory and an own simulator of a correct long-only monthly strategy.

Independent of the reference agent and of what the checks compute: plain loops, next-session fills, fees on traded value.
"""

import hashlib
import io
import itertools
import warnings
from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from attrs import evolve, frozen

from finassay.api.conversation import Conversation, Message
from finassay.api.delivery import DeliveredFile, Delivery, LogEvent, Package, TurnFacts
from finassay.api.strategy import Belief, Strategy, Universe
from finassay.api.task import Conditions, Task

TICKERS = ("AAPL", "AMD", "BAC", "CVX", "GE", "HD", "JNJ", "KO")
CAPITAL = 1_000_000.0
FEE_RATE = 0.001
CUTOFF = date(2016, 12, 30)
PICKS = 3
Bytes = bytes | str | pd.DataFrame


@frozen
class FolderBlobs:
    """Delivered bytes in a folder, by hash."""

    root: Path

    def path(self, sha256: str) -> Path:
        path = self.root / sha256
        if not path.is_file():
            raise KeyError(sha256)
        return path

    def add(self, data: bytes) -> str:
        self.root.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(data).hexdigest()
        (self.root / name).write_bytes(data)
        return name


def to_bytes(path: str, content: Bytes) -> bytes:
    """A file's bytes; a frame is written in the format that the path's suffix names."""
    if isinstance(content, bytes):
        return content
    if isinstance(content, str):
        return content.encode()
    if path.endswith(".parquet"):
        buffer = io.BytesIO()
        content.to_parquet(buffer, index=False)
        return buffer.getvalue()
    if path.endswith(".xlsx"):
        buffer = io.BytesIO()
        content.to_excel(buffer, index=False)
        return buffer.getvalue()
    if path.endswith(".json"):
        return content.to_json(orient="records", date_format="iso").encode()
    return content.to_csv(index=False, sep="\t" if path.endswith(".tsv") else ",").encode()


def make_task(cutoff: date = CUTOFF, tickers: Sequence[str] = TICKERS) -> Task:
    """A task whose belief is empty: tests of reading do not need one."""
    universe = Universe("basket", f"these names: {', '.join(tickers)}", tuple(tickers))
    return Task(
        id="test-task",
        grammar="test",
        grammar_version="1",
        seed=0,
        persona="retail-investor",
        strategy=Strategy("test", "1", 0, {}),
        belief=Belief((), ()),
        conditions=Conditions(cutoff=cutoff, universe=universe, channels=()),
    )


def make_package(
    tmp_path: Path,
    files: Mapping[str, Bytes] | Sequence[Mapping[str, Bytes]],
    messages: Sequence[str] = ("Test this strategy for me.", "Done. See REPORT.md."),
    task: Task | None = None,
    log: Sequence[LogEvent] = (),
) -> Package:
    """A package of one delivery, or of one a turn if a sequence is given. `messages` alternate, the user first."""
    turns = [files] if isinstance(files, Mapping) else list(files)
    blobs = FolderBlobs(tmp_path / "blobs")
    deliveries = []
    for turn, tree in enumerate(turns, start=1):
        stored = []
        for path, content in tree.items():
            data = to_bytes(path, content)
            stored.append(DeliveredFile(path, blobs.add(data), len(data)))
        deliveries.append(Delivery(turn, tuple(stored)))
    said = []
    for index, text in enumerate(messages):
        turn = (index + 1) // 2
        sender = "agent" if index % 2 else "user"
        said.append(Message(f"{'a' if index % 2 else 'u'}{turn}", turn, sender, text))
    return Package(
        task=task or make_task(),
        conversation=Conversation(tuple(said)),
        deliveries=tuple(deliveries),
        blobs=blobs,
        log=tuple(log),
        turns=tuple(TurnFacts(d.turn, 1.0) for d in deliveries),
        end_reason="satisfied",
    )


@frozen
class Simulated:
    """What the tests' own simulator gives; frames as the reference agent lays them out."""

    prices: pd.DataFrame
    signals: pd.DataFrame
    targets: pd.DataFrame
    trades: pd.DataFrame
    positions: pd.DataFrame
    equity: pd.DataFrame
    benchmark: pd.DataFrame
    metrics: Mapping[str, float]


def sessions(start: str = "2013-01-02", end: str = "2016-12-30") -> pd.DatetimeIndex:
    """NYSE sessions of the sample years (holidays of 2013 to 2016)."""
    import exchange_calendars

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the calendar package uses what newer versions of pandas deprecate
        calendar = exchange_calendars.get_calendar("XNYS", start="2012-01-01", end="2017-12-29")
    return pd.DatetimeIndex(calendar.sessions_in_range(start, end)).tz_localize(None)


def simulate(seed: int = 0) -> Simulated:
    """A run of `_simulated` with frames of its own, so that a test may change them."""
    made = _simulated(seed)
    frames = {
        name: value.copy()
        for name in ("prices", "signals", "targets", "trades", "positions", "equity", "benchmark")
        for value in [getattr(made, name)]
    }
    return evolve(made, metrics=dict(made.metrics), **frames)


@lru_cache(maxsize=8)
def _simulated(seed: int) -> Simulated:
    """Equal weight in the three best of eight by six-month momentum, ranked at month end, filled at the next close, 10 bp a side."""
    generator = np.random.default_rng(seed)
    days = sessions()
    steps = generator.normal(0.0004, 0.014, (len(days), len(TICKERS)))
    closes = pd.DataFrame((50 * np.exp(np.cumsum(steps, axis=0))).round(4), index=days, columns=list(TICKERS))
    ends = [d for d, n in itertools.pairwise(days) if d.month != n.month and days.get_loc(d) >= 130]
    fills = {days[days.get_loc(d) + 1]: d for d in ends}
    cash, held = CAPITAL, dict.fromkeys(TICKERS, 0.0)
    signal_rows, target_rows, trade_rows, position_rows, equity_rows = [], [], [], [], []
    for day in days[days >= ends[0]]:
        at = closes.loc[day]
        fees = 0.0
        if day in fills:
            decision = fills[day]
            base = closes.index.get_loc(decision)
            score = closes.iloc[base - 21] / closes.iloc[base - 126] - 1
            order = score.sort_values(ascending=False).index
            value = cash + sum(held[t] * at[t] for t in TICKERS)
            budget = value / (1 + 2 * FEE_RATE)
            for rank, ticker in enumerate(order, start=1):
                signal_rows.append((decision, day, ticker, score[ticker], score[ticker], rank))
                target = 1 / PICKS if rank <= PICKS else 0.0
                if target:
                    target_rows.append((decision, day, ticker, target))
                wanted = target * budget / at[ticker]
                change = wanted - held[ticker]
                if abs(change) * at[ticker] < 1.0:
                    continue
                traded = abs(change) * at[ticker]
                fee = FEE_RATE * traded
                reason = "entry" if held[ticker] == 0 else "exit" if wanted == 0 else "rebalance"
                trade_rows.append(
                    (
                        len(trade_rows) + 1,
                        decision,
                        day,
                        ticker,
                        "BUY" if change > 0 else "SELL",
                        abs(change),
                        at[ticker],
                        traded,
                        fee,
                        reason,
                        f"{score[ticker]:.12g}",
                        held[ticker] * at[ticker] / value,
                        target,
                    )
                )
                cash -= change * at[ticker] + fee
                fees += fee
                held[ticker] = wanted
        worth = cash + sum(held[t] * at[t] for t in TICKERS)
        previous = equity_rows[-1][1] if equity_rows else CAPITAL
        equity_rows.append((day, worth, cash, fees, worth / previous - 1))
        position_rows.append((day, *(held[t] for t in TICKERS), cash))
    equity = pd.DataFrame(equity_rows, columns=["date", "equity", "cash", "fees", "ret"])
    span = closes.loc[ends[0] :]
    index = (span / span.iloc[0]).mean(axis=1)
    return Simulated(
        prices=closes.rename_axis("date").reset_index().melt("date", var_name="ticker", value_name="close").sort_values(["date", "ticker"]),
        signals=pd.DataFrame(signal_rows, columns=["decision_date", "fill_date", "ticker", "mom_6_1", "score", "rank"]),
        targets=pd.DataFrame(target_rows, columns=["decision_date", "fill_date", "ticker", "target_weight"]),
        trades=pd.DataFrame(
            trade_rows,
            columns=[
                "trade_id",
                "signal_date",
                "fill_date",
                "ticker",
                "side",
                "shares",
                "price",
                "value",
                "fee",
                "reason",
                "decided_by",
                "weight_before",
                "target_weight",
            ],
        ),
        positions=pd.DataFrame(position_rows, columns=["date", *TICKERS, "cash"]),
        equity=equity,
        benchmark=pd.DataFrame({"date": span.index, "benchmark_equity": (CAPITAL * index).to_numpy()}),
        metrics=_metrics(equity, len(trade_rows), sum(row[8] for row in trade_rows)),
    )


def _metrics(equity: pd.DataFrame, trades: int, fees: float) -> dict[str, float]:
    returns, wealth = equity["ret"].iloc[1:], equity["equity"]
    total = wealth.iloc[-1] / CAPITAL - 1
    peak = np.maximum.accumulate(np.concatenate([[CAPITAL], wealth]))
    return {
        "total_return": total,
        "annual_return": (1 + total) ** (252 / len(returns)) - 1,
        "annual_vol": returns.std() * 252**0.5,
        "sharpe": returns.mean() / returns.std() * 252**0.5,
        "max_drawdown": float((np.concatenate([[CAPITAL], wealth]) / peak - 1).min()),
        "trades": float(trades),
        "fees": fees,
        "exposure": float((1 - equity["cash"] / wealth).mean()),
    }


_BASIS = {
    "total_return": "net of costs, whole period",
    "annual_return": "net of costs, geometric, 252 days a year",
    "annual_vol": "net of costs, daily, x sqrt(252)",
    "sharpe": "net of costs, daily, rf 0, x sqrt(252)",
    "max_drawdown": "net of costs, daily closes",
    "trades": "fills, one row a fill",
    "fees": "sum of the fee column, dollars",
    "exposure": "average daily share of equity invested, fraction of equity",
}


def report_text(made: Simulated) -> str:
    """A plain report with the four sections, a rules table and a results table."""
    m = made.metrics
    first, last = made.equity["date"].iloc[0].date(), made.equity["date"].iloc[-1].date()
    return f"""# Six-month momentum in eight large caps

## Summary
From {first} to {last} the strategy returned {m["annual_return"]:.1%} a year net of costs (total return {m["total_return"]:.1%}, volatility
{m["annual_vol"]:.1%}, Sharpe {m["sharpe"]:.2f}) with a maximum drawdown of {m["max_drawdown"]:.1%} over {int(m["trades"])} trades (fills in `results/trades.csv`).

## Method

| component | definition |
|---|---|
| universe | the eight names in `data/universe.csv` |
| signal | return from 126 to 21 sessions before the decision |
| weighting | equal weight in the best three |
| schedule | monthly, decided at the last close of a month, filled at the next close |
| cost | 10 bp of traded value per side |

Annual figures use 252 days; the Sharpe ratio is mean daily return over standard deviation, annualised by sqrt(252), with rf = 0.

## Results

Net of costs, {first} to {last}:

| metric | strategy |
|---|---|
| Total return | {m["total_return"]:.2%} |
| Annual return | {m["annual_return"]:.2%} |
| Annual volatility | {m["annual_vol"]:.2%} |
| Sharpe ratio | {m["sharpe"]:.3f} |
| Max drawdown | {m["max_drawdown"]:.2%} |
| Number of trades | {int(m["trades"])} |
| Average exposure | {m["exposure"]:.1%} |
| Total fees | ${m["fees"]:,.2f} |

All figures can be recomputed from `results/equity.csv` and `results/trades.csv`.

## Limitations
The names were chosen today and survived; a price gap between decision and fill is not modelled beyond the next close.
"""


def clean_delivery(seed: int = 0) -> dict[str, Bytes]:
    """A small right delivery in the reference agent's layout, as files for `make_package`."""
    made = simulate(seed)
    metrics = pd.DataFrame([(name, value, _BASIS[name]) for name, value in made.metrics.items()], columns=["metric", "value", "basis"])
    return {
        "REPORT.md": report_text(made),
        "data/prices.csv": made.prices,
        "data/universe.csv": pd.DataFrame({"ticker": TICKERS}),
        "results/signals.csv": made.signals,
        "results/target_weights.csv": made.targets,
        "results/trades.csv": made.trades,
        "results/positions.csv": made.positions,
        "results/equity.csv": made.equity,
        "results/benchmark.csv": made.benchmark,
        "results/metrics.csv": metrics,
        "code/backtest.py": "import csv\n\nprint(sum(1 for _ in csv.reader(open('results/trades.csv'))) - 1)\n",
    }


def with_task(package: Package, task: Task) -> Package:
    """The same package under another task, with no facts computed."""
    return evolve(package, task=task, facts={})
