"""Real sessions and real library exports: which roles are found. Needs the shared folder with the cases."""

import json
import os
from datetime import date
from pathlib import Path

import pytest

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.facts.late_rows import late_rows
from finassay_checks.facts.prices_in_use import price_quality

from .deliveries import make_package, make_task

CASES = Path(os.environ.get("FINASSAY_SHARED", Path(__file__).resolve().parents[4] / "shared")) / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not beside this checkout (FINASSAY_SHARED)")

CHOSEN = {
    "monthly-vol-target-no-prices": {
        "trades": "final_package.xlsx#blotter",
        "equity": "daily_nav.csv",
        "weights": "final_package.xlsx#monthly_weights",
        "prices": None,
        "signals": "final_package.xlsx#blotter",
        "states": "final_package.xlsx#monthly_weights",
        "spec": "report.md#table1",
    },
    "quarterly-trailing-stop": {
        "trades": "momentum_backtest.xlsx#Ledger",
        "equity": "momentum_backtest.xlsx#Daily",
        "prices": "momentum_backtest.xlsx#Prices",
        "positions": "momentum_backtest.xlsx#Shares",
        "weights": "momentum_backtest.xlsx#Holdings",
        "signals": "momentum_backtest.xlsx#Signals",
        "round_trips": "momentum_backtest.xlsx#Round trips",
        "benchmark": "momentum_backtest.xlsx#Daily",
    },
    "weekly-mean-variance": {
        "trades": "audit/trades.csv",
        "equity": "audit/daily_ledger.csv",
        "prices": "audit/prices.csv",
        "positions": "audit/daily_shares.csv",
        "weights": "weekly_weights.csv",
        "signals": "weekly_scores.csv",
        "round_trips": "audit/round_trips.csv",
        "benchmark": "audit/equal_weight_20_daily_ledger.csv",
        "checks": "audit/second_source_AAPL_MSFT.csv",
        "spec": "REPORT.md#table3",
    },
}
REPORTED = {
    "monthly-vol-target-no-prices": {
        "annual_return": 0.111,
        "annual_vol": 0.109,
        "sharpe": 1.02,
        "max_drawdown": -0.23,
        "trades": 1913,
        "turnover": 1.76,
        "exposure": 0.54,
        "fees": 885694,
    },
    "quarterly-trailing-stop": {"annual_return": 0.11, "annual_vol": 0.155, "sharpe": 0.75, "max_drawdown": -0.42, "trades": 995},
    "weekly-mean-variance": {
        "annual_return": 0.125,
        "annual_vol": 0.167,
        "sharpe": 0.79,
        "max_drawdown": -0.34,
        "trades": 8038,
        "turnover": 9.4,
    },
}


def package(folder: Path, name: str) -> Package:
    session = json.loads((CASES / "sessions" / name / "session.json").read_text())
    turns = sorted(session["deliveries"], key=int)
    trees = [{p: (CASES / "sessions" / name / "files" / f).read_bytes() for p, f in session["deliveries"][t].items()} for t in turns]
    task = make_task(date.fromisoformat(session["task"]["cutoff"]), ())
    return make_package(folder, trees, [m["text"] for m in session["conversation"]], task)


_READ: dict[str, Package] = {}


@pytest.fixture(params=sorted(CHOSEN))
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Package]:
    """A session is read once, whatever the order of the tests."""
    name: str = request.param
    if name not in _READ:
        _READ[name] = package(tmp_path_factory.mktemp(name), name)
    return name, _READ[name]


def test_roles_of_real_sessions(session: tuple[str, Package]) -> None:
    name, made = session
    choices = made.fact(read_delivery).choices
    found = {role: choices[role].chosen.table.where if choices[role].chosen is not None else None for role in CHOSEN[name]}  # type: ignore[index,union-attr]
    assert found == CHOSEN[name]


def test_reported_figures_of_real_sessions(session: tuple[str, Package]) -> None:
    name, made = session
    first: dict[str, float] = {}
    for figure in made.fact(read_delivery).figures:
        first.setdefault(figure.metric, figure.value)
    assert {metric: first.get(metric) for metric in REPORTED[name]} == pytest.approx(REPORTED[name])


def test_no_late_row_and_good_data(session: tuple[str, Package]) -> None:
    name, made = session
    assert made.fact(late_rows).late == 0
    measured = made.fact(price_quality)
    expected = {"monthly-vol-target-no-prices": None, "quarterly-trailing-stop": 0.00430, "weekly-mean-variance": 0.00416}[name]
    if expected is None:
        assert not measured
    else:
        (quality,) = measured.values()
        assert len(quality.kept) == 5
        assert quality.shares["s"] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    "name",
    [
        "prices_yfinance_multi.csv",
        "prices_fmp.json",
        "prices_wide_semicolon.csv",
        "prices_long_offset.csv",
        "prices_long.parquet",
        "all_in_one.xlsx",
    ],
)
def test_price_file_shapes(tmp_path: Path, name: str) -> None:
    folder = CASES / "backtest" / "file-shapes"
    truth = json.loads((folder / "expected.json").read_text())
    frame = (
        make_package(tmp_path, {name: (folder / name).read_bytes()}, task=make_task(date(2026, 1, 1), ()))
        .fact(read_delivery)
        .frame("prices")
    )
    assert frame is not None
    for ticker, closes in truth["close"].items():
        own = frame[frame["ticker"] == ticker].sort_values("date")
        assert own["close"].tolist() == pytest.approx(closes)
        assert own["date"].dt.strftime("%Y-%m-%d").tolist() == truth["sessions"]


@pytest.mark.parametrize("name", ["trades_vectorbt_orders.csv", "trades_pyfolio.csv", "trades_ibkr_activity.csv", "all_in_one.xlsx"])
def test_fill_file_shapes(tmp_path: Path, name: str) -> None:
    folder = CASES / "backtest" / "file-shapes"
    truth = json.loads((folder / "expected.json").read_text())["fills"]
    frame = (
        make_package(tmp_path, {name: (folder / name).read_bytes()}, task=make_task(date(2026, 1, 1), ()))
        .fact(read_delivery)
        .frame("trades")
    )
    assert frame is not None
    assert frame["fill_date"].dt.strftime("%Y-%m-%d").tolist() == [f["date"] for f in truth]
    assert frame["ticker"].tolist() == [f["symbol"] for f in truth]
    assert frame["shares"].tolist() == pytest.approx([f["qty"] for f in truth])
    assert frame["price"].tolist() == pytest.approx([f["price"] for f in truth])
