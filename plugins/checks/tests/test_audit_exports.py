"""Exports of real backtest libraries, and one backtest in many file layouts, through the audit."""

import itertools
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from finassay_checks.audit.folder import open_folder
from finassay_checks.audit.run import audit_folder
from finassay_checks.audit.shown import as_json

CASES = Path(os.environ.get("FINASSAY_SHARED", Path(__file__).resolve().parents[4] / "shared")) / "cases" / "backtest"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not beside this checkout (FINASSAY_SHARED)")
EXPORTS = {
    "backtestingpy_goog_sma": {
        "volatility": "compounded_volatility",
        "sharpe": "geometric_annual_return_over_compounded_volatility",
        "sortino": "geometric_annual_return_over_downside",
        "annual_return": None,
        "max_drawdown": None,
        "win_rate": None,
    },
    "backtrader_ibm_long": {
        "sharpe": "yearly_returns_risk_free_1_ddof_0",
        "total_return": "log_return",
        "max_drawdown": "positive_percent",
        "number_of_trades": "closed_plus_open",
        "annual_return": None,
    },
    "bt_ew5_monthly": {"total_return": None, "sharpe": None, "max_drawdown": None, "annual_return": None},
    "vectorbt_3stocks_sma": {
        "sharpe": "sqrt_365_on_trading_days",
        "sortino": "sqrt_365_on_trading_days",
        "calmar": "365_periods_on_trading_days",
        "max_drawdown": "positive_percent",
        "number_of_trades": "closed_plus_open",
        "win_rate": None,
    },
}
OWN = {
    "total_return": "total_return",
    "max_drawdown": "max_drawdown",
    "sharpe": "sharpe_252_ddof1_rf0",
    "annual_return": "annual_return_252",
    "volatility": "volatility_252",
    "sortino": "sortino_252",
    "calmar": "calmar",
}


def audited(folder: Path) -> dict[str, Any]:
    return as_json(audit_folder(open_folder(folder)))


@pytest.mark.parametrize("name", sorted(EXPORTS))
def test_a_library_export_is_rebuilt_and_its_figures_explained(name, tmp_path):
    source = CASES / "library-exports" / name
    shutil.copytree(source, tmp_path / "d", ignore=shutil.ignore_patterns("expected.json"))
    expected = json.loads((source / "expected.json").read_text(encoding="utf-8"))
    found = audited(tmp_path / "d")
    rebuilt, metrics = found["rebuilt"], found["metrics"]
    for key in ("n_fills", "n_round_trips", "n_positions_open_at_end", "n_closing_fills", "n_returns", "win_rate_net", "win_rate_gross"):
        assert rebuilt[key] == pytest.approx(expected[key], abs=1e-7), key
    assert rebuilt["equity_end"] == pytest.approx(expected["equity_end"], rel=1e-6)
    for metric, key in OWN.items():
        assert metrics[metric]["recomputed"] == pytest.approx(expected[key], abs=1e-4), metric
    for metric, convention in EXPORTS[name].items():
        assert metrics[metric]["explained_by"] == convention, metric
        assert metrics[metric]["matches"] is True, metric
    assert not [m for m in metrics.values() if m["matches"] is False]
    # 365 periods a year on trading days is the only thing that any of them does wrong.
    wrong = [f["check"] for f in found["findings"] if f["severity"] == "wrong"]
    assert wrong == (["annualisation_basis"] if name.startswith("vectorbt") else [])
    assert not [f for f in found["findings"] if f["severity"] == "data"]


SHAPES = CASES / "file-shapes"
PRICES = ("prices_fmp.json", "prices_long.parquet", "prices_long_offset.csv", "prices_wide_semicolon.csv", "prices_yfinance_multi.csv")
TRADES = ("trades_ibkr_activity.csv", "trades_pyfolio.csv", "trades_quantconnect_closed.csv", "trades_vectorbt_orders.csv")


@pytest.mark.parametrize(("prices", "trades"), [*itertools.product(PRICES, TRADES), ("all_in_one.xlsx", None)])
def test_every_layout_tells_the_same_backtest(prices, trades, tmp_path):
    truth = json.loads((SHAPES / "expected.json").read_text(encoding="utf-8"))
    expected = truth["expected"]
    for name in (prices, trades):
        if name is not None:
            shutil.copy(SHAPES / name, tmp_path)
    if trades is not None:
        (tmp_path / "report.json").write_text(json.dumps({"initial_cash": truth["initial_cash"]}), encoding="utf-8")
    found = audited(tmp_path)
    rebuilt = found["rebuilt"]
    assert found["verdict"] in ("pass", "pass_with_note"), found["reason"]
    fees = trades != "trades_pyfolio.csv"
    assert rebuilt["equity_end"] == pytest.approx(expected["equity_end" if fees else "equity_end_without_fees"], abs=0.006)
    for key in ("n_fills", "n_round_trips", "n_closing_fills", "win_rate_net"):
        assert rebuilt[key] == expected[key], key
    if fees:
        for metric, key in (("total_return", "total_return"), ("max_drawdown", "max_drawdown"), ("sharpe", "sharpe_252_ddof1_rf0")):
            # The export of closed trades has one fee a row: how it was shared between the two fills is not in it.
            assert found["metrics"][metric]["recomputed"] == pytest.approx(expected[key], abs=1e-3 if metric == "sharpe" else 1e-6)
