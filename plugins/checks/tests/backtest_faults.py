"""A clean delivery and ways to spoil it, for the tests of the backtest checks. Figures are those of the tests' own simulator."""

import importlib.util
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, get_args

import numpy as np
import pandas as pd
from attrs import evolve

from finassay.api.delivery import Package
from finassay.api.grading import Check
from finassay.api.verdict import NotApplicable, Scored
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Choice, Delivered, Document, Role, RoleTable, Table
from finassay_checks.options import NoOptions


def _sibling(name: str) -> ModuleType:
    """A module beside this file under a name of its own: several distributions have a `deliveries.py`."""
    unique = f"finassay_checks_tests_{name}"
    if unique not in sys.modules:
        spec = importlib.util.spec_from_file_location(unique, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[unique] = module
        spec.loader.exec_module(module)
    return sys.modules[unique]


deliveries = _sibling("deliveries")
Files = dict[str, Any]
Fault = Callable[[Files], None]


@lru_cache(maxsize=1)
def _clean() -> Mapping[str, Any]:
    return deliveries.clean_delivery()


@lru_cache(maxsize=1)
def simulated() -> Any:
    return deliveries.simulate()


def clean_files() -> Files:
    """The clean delivery, free to be changed."""
    return {path: content.copy() if isinstance(content, pd.DataFrame) else content for path, content in _clean().items()}


def package_of(tmp_path: Path, files: Files, **options: Any) -> Package:
    """A package whose files are really read."""
    return deliveries.make_package(tmp_path, files, **options)


LAYOUT: Mapping[str, tuple[Role, Mapping[str, str]]] = {
    "data/prices.csv": ("prices", {}),
    "data/universe.csv": ("universe", {}),
    "results/signals.csv": ("signals", {"decision_date": "date"}),
    "results/target_weights.csv": ("weights", {"decision_date": "date", "target_weight": "weight"}),
    "results/trades.csv": ("trades", {"trade_id": "id"}),
    "results/positions.csv": ("positions", {}),
    "results/equity.csv": ("equity", {}),
    "results/benchmark.csv": ("benchmark", {"benchmark_equity": "equity"}),
}
"""The clean delivery's tables: role, and the columns that are named otherwise than in the canonical frame."""
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "prices": ("date", "ticker", "open", "high", "low", "close", "adj_close", "volume"),
    "universe": ("ticker", "start", "end"),
    "signals": ("date", "ticker", "name", "score", "rank", "fill_date"),
    "weights": ("date", "fill_date", "ticker", "weight"),
    "trades": (
        "fill_date",
        "signal_date",
        "ticker",
        "shares",
        "price",
        "fee",
        "value",
        "reason",
        "id",
        "weight_before",
        "target_weight",
        "decided_by",
    ),
    "positions": ("date", "ticker", "shares", "dollars"),
    "equity": ("date", "equity", "ret", "cash", "fees"),
    "benchmark": ("date", "equity", "ret", "name"),
}
_TEXT = frozenset({"ticker", "name", "reason", "id", "decided_by"})


def canonical(role: Role, frame: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """The canonical frame of one of the clean delivery's tables, also when it was spoiled."""
    made = frame.rename(columns=names).reset_index(drop=True)
    if role == "positions":
        made = made.melt("date", var_name="ticker", value_name="shares").replace({"ticker": {"cash": "$CASH"}})
        cash = made["ticker"] == "$CASH"
        made = made.assign(dollars=made["shares"].where(cash), shares=made["shares"].where(~cash))
    if role == "trades":
        made["shares"] = made["shares"] * np.where(made["side"] == "BUY", 1.0, -1.0)
    for column in _COLUMNS[role]:
        dated = "date" in column or column in ("start", "end")
        if column not in made:
            made[column] = pd.NaT if dated else None if column in _TEXT else np.nan
        if dated:
            made[column] = pd.to_datetime(made[column], errors="coerce")
        elif column not in _TEXT:
            made[column] = pd.to_numeric(made[column], errors="coerce")
    made["row"] = np.arange(1, len(made) + 1)
    return made.assign(kind="target") if role == "weights" else made


@lru_cache(maxsize=64)
def _texts(report: str, metrics: str) -> Delivered:
    """What is read from the report and the metrics table, which need the real reader."""
    files = {"REPORT.md": report} | ({"results/metrics.csv": metrics} if metrics else {})
    with TemporaryDirectory() as folder:
        return read_delivery(package_of(Path(folder), files))


def read_by_layout(files: Files) -> Delivered:
    """The spoiled clean delivery as the reader would give it, its tables taken by their known layout: reading has tests of its own."""
    metrics = files.get("results/metrics.csv")
    texts = _texts(files.get("REPORT.md", ""), "" if metrics is None else metrics.to_csv(index=False))
    choices = {role: Choice(role, "missing", None, (), ()) for role in get_args(Role)} | {
        role: choice for role, choice in texts.choices.items() if role in ("metrics", "spec")
    }
    tables = list(texts.role_tables)
    for path, (role, names) in LAYOUT.items():
        if path in files:
            table = Table(path, path, 1, True, files[path])
            tables.append(RoleTable(role, table, {}, (), canonical(role, files[path], names)))
            choices[role] = Choice(role, "found", tables[-1], (tables[-1],), ())
    code = tuple(Document(path, text, 1, True) for path, text in files.items() if path.endswith(".py"))
    return evolve(texts, role_tables=tuple(tables), tables=tuple(t.table for t in tables), choices=choices, code=code)


def spoiled(tmp_path: Path, *faults: Fault, **options: Any) -> Package:
    """The clean delivery with faults planted in it, its tables taken by their layout."""
    files = clean_files()
    for fault in faults:
        fault(files)
    texts = {path: content for path, content in files.items() if isinstance(content, str)}
    package = package_of(tmp_path, texts, **options)
    read = read_by_layout(files)
    package._facts[read_delivery] = read
    return package


def really_spoiled(tmp_path: Path, *faults: Fault, **options: Any) -> Package:
    """The same, every file really read."""
    files = clean_files()
    for fault in faults:
        fault(files)
    return package_of(tmp_path, files, **options)


def verdict(check: type[Any], package: Package, answers: Mapping[str, Any] | None = None) -> Scored:
    """The verdict of a check, which must be a level."""
    made: Check = check(NoOptions())
    found = made.run(package, answers or {})
    assert isinstance(found, Scored), found
    return found


def not_applicable(check: type[Any], package: Package) -> NotApplicable:
    found = check(NoOptions()).run(package, {})
    assert isinstance(found, NotApplicable), found
    return found


def told(found: Scored) -> str:
    """Everything that a verdict says, as one text."""
    pieces = [found.reason]
    for e in found.evidence:
        pieces += [e.text, e.where, *e.rows, e.expected, e.found]
    return "\n".join(pieces)


def say(old: str, new: str) -> Fault:
    """Change words of the report; they must stand in it."""

    def fault(files: Files) -> None:
        assert old in files["REPORT.md"], old
        files["REPORT.md"] = files["REPORT.md"].replace(old, new)

    return fault


def add(text: str) -> Fault:
    """Add a paragraph to the results."""
    return say("## Limitations", f"{text}\n\n## Limitations")


def drop(*paths: str) -> Fault:
    def fault(files: Files) -> None:
        for path in paths:
            del files[path]

    return fault


def drop_columns(path: str, *columns: str) -> Fault:
    def fault(files: Files) -> None:
        files[path] = files[path].drop(columns=list(columns))

    return fault


def shift_equity(factor: float = 1.03, start: int = 400) -> Fault:
    """An equity curve that is better than the trades from one day on."""

    def fault(files: Files) -> None:
        equity = files["results/equity.csv"]
        worth = equity["equity"].to_numpy().copy()
        worth[start:] *= factor
        equity["equity"] = worth
        equity["ret"] = worth / np.concatenate(([deliveries.CAPITAL], worth[:-1])) - 1

    return fault


def signal_on_fill(files: Files) -> None:
    """Every fill on its signal's own bar, and scores that use that bar's close."""
    trades = files["results/trades.csv"]
    trades["signal_date"] = trades["fill_date"]
    del files["results/signals.csv"]
    del files["results/target_weights.csv"]


def signal_after_fill(files: Files) -> None:
    signal_on_fill(files)
    files["results/trades.csv"]["signal_date"] += pd.Timedelta(days=4)


def drop_trades(every: int) -> Fault:
    def fault(files: Files) -> None:
        trades = files["results/trades.csv"]
        files["results/trades.csv"] = trades[np.arange(len(trades)) % every != every - 1]

    return fault


def no_fees(files: Files) -> None:
    """A log whose fees are zero, though the report states a rate and the curve is net."""
    files["results/trades.csv"]["fee"] = 0.0
    files["results/equity.csv"]["fees"] = 0.0


def uncharged_fees(files: Files) -> None:
    """Fees stand in the log, and neither cash nor equity ever pays them."""
    equity = files["results/equity.csv"]
    paid = equity["fees"].cumsum()
    equity["equity"] += paid
    equity["cash"] += paid
    files["results/positions.csv"]["cash"] += paid.to_numpy()
    worth = equity["equity"].to_numpy()
    equity["ret"] = worth / np.concatenate(([deliveries.CAPITAL], worth[:-1])) - 1


def weights_files(lag: int = 1, rate: float = 0.0) -> Files:
    """A delivery by weights alone: daily held weights, prices, equity. With lag 0 a weight earns its own day."""
    made = simulated()
    closes = made.prices.pivot(index="date", columns="ticker", values="close")
    generator = np.random.default_rng(1)
    raw = generator.dirichlet(np.full(closes.shape[1], 0.4), len(closes))
    weights = pd.DataFrame(raw, index=closes.index, columns=closes.columns).round(6)
    earned = (weights.shift(lag) * closes.pct_change()).sum(axis=1)
    equity = pd.DataFrame({"date": closes.index, "equity": (1.0 + earned).cumprod().to_numpy()})
    long = weights.rename_axis("date").reset_index().melt("date", var_name="ticker", value_name="weight")
    total, growth = equity["equity"].iloc[-1] - 1, equity["equity"].iloc[-1]
    annual = growth ** (252 / (len(equity) - 1)) - 1
    sharpe = earned.iloc[1:].mean() / earned.iloc[1:].std() * 252**0.5
    worst = (equity["equity"] / equity["equity"].cummax() - 1).min()
    report = (
        f"# Weights\n\n## Results\n\n| metric | strategy |\n|---|---|\n| Total return | {total:.2%} |\n| Annual return | {annual:.2%} |\n"
        f"| Sharpe ratio | {sharpe:.2f} |\n| Max drawdown | {worst:.2%} |\n"
    )
    return {"REPORT.md": report, "prices.csv": made.prices, "weights.csv": long, "equity.csv": equity}
