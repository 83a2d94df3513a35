"""Layouts and faults as other people and vendors write them, through the whole audit: headers in other languages, other column names."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from finassay_checks.audit.folder import open_folder
from finassay_checks.audit.model import Audit, AuditMetric
from finassay_checks.audit.run import audit_folder
from finassay_checks.recompute.metrics import annual_return
from finassay_checks.roles.languages import english
from finassay_checks.sessions import sessions_between

DAYS = sessions_between("XNYS", pd.Timestamp("2022-06-01"), pd.Timestamp("2023-02-28"))[:160]


def walk(seed: int, n: int, start: float = 100.0) -> np.ndarray:
    return np.round(start * np.cumprod(np.concatenate(([1.0], 1 + np.random.default_rng(seed).normal(0.0006, 0.011, n - 1)))), 4)


CLOSE = walk(1, len(DAYS))


def audited(folder: Path, **files: Any) -> Audit:
    """Keyword `prices_csv` is the file `prices.csv`; frames become CSV, dictionaries JSON, text stays."""
    for name, content in files.items():
        stem, _, suffix = name.rpartition("_")
        text = content if isinstance(content, str) else content.to_csv(index=False) if suffix == "csv" else json.dumps(content)
        (folder / f"{stem}.{suffix}").write_text(text, encoding="utf-8")
    return audit_folder(open_folder(folder))


def checks(audit: Audit) -> set[str]:
    return {f.check for f in audit.findings}


def metric(audit: Audit, name: str) -> AuditMetric:
    return next(m for m in audit.metrics if m.name == name)


@pytest.mark.parametrize(
    ("label", "wanted"),
    [
        ("Einstiegskurs", "entry price"),
        ("Stück", "shares"),
        ("Gebühr (EUR)", "fee (EUR)"),
        ("Volatilité annualisée", "volatility"),
        ("Fecha de entrada", "entry date"),
        ("收盘价", "close"),
        ("勝率", "win rate"),
        ("close", "close"),
        ("DATO", "DATO"),
    ],
)
def test_headers_of_other_languages_are_read_as_english(label, wanted):
    assert english(label) == wanted


def test_a_german_log_and_french_values_are_audited(tmp_path):
    entry, leave = CLOSE[:100:10], CLOSE[5:105:10]
    profit = np.round(20 * (leave - entry), 2)
    log = pd.DataFrame(
        {
            "Wertpapier": [f"Q{chr(65 + k)}X" for k in range(10)],
            "Einstieg": DAYS[:100:10].strftime("%d.%m.%Y"),
            "Ausstieg": DAYS[5:105:10].strftime("%d.%m.%Y"),
            "Stück": 20,
            "Einstiegskurs": entry,
            "Ausstiegskurs": leave,
            "Gewinn": profit,
        }
    )
    found = audited(tmp_path, handel_csv=log, kennzahlen_json={"Anzahl Trades": 10, "Trefferquote": f"{100 * (profit > 0).mean():.0f}%"})
    assert found.verdict == "pass"
    assert metric(found, "win_rate").recomputed == pytest.approx((profit > 0).mean())


def test_french_values_and_figures_are_audited(tmp_path):
    cells = [f"{v:.2f}".replace(".", ",") for v in 1000 * CLOSE]
    curve = pd.DataFrame({"Date": DAYS.strftime("%d/%m/%Y"), "Valeur liquidative": cells}).to_csv(index=False, sep=";")
    total = CLOSE[-1] / CLOSE[0] - 1
    found = audited(tmp_path, courbe_csv=curve, rapport_csv=f"Indicateur;Valeur\nRendement total;{100 * total:.2f} %\n".replace(".", ","))
    assert found.verdict == "pass"
    assert metric(found, "total_return").recomputed == pytest.approx(total, abs=1e-5)


def test_sales_of_a_column_b_s_are_no_purchases(tmp_path):
    members = pd.DataFrame({"Ticker": ["CCX", "DDX"], "Start": ["2012-01-03", "2010-01-04"], "End": ["2018-03-19", ""]})
    rows = [("2017-02-01", "CCX", "B", 10, 50.0), ("2018-05-01", "CCX", "S", 10, 51.0)]
    fills = pd.DataFrame(rows, columns=["Trade Date", "Ticker", "B/S", "Qty", "Px"])
    assert "traded_after_removal" not in checks(audited(tmp_path, constituents_csv=members, fills_csv=fills))


def test_net_liquidation_is_a_value_and_deposits_are_taken_off(tmp_path):
    value = 500 * CLOSE
    value[80:] += 4_000
    curve = pd.DataFrame({"Date": DAYS.strftime("%Y-%m-%d"), "Net Liquidation Value": np.round(value, 2)})
    flows = pd.DataFrame({"Date": [str(DAYS[80].date())], "Description": ["Deposit"], "Amount": [4_000]})
    right = np.prod((value[1:] - np.where(np.arange(1, len(value)) == 80, 4_000, 0)) / value[:-1]) - 1
    found = audited(tmp_path, account_csv=curve, transfers_csv=flows, report_json={"time_weighted_return": right})
    assert (found.verdict, metric(found, "total_return").accepted) == ("pass", True)


def test_vendor_names_of_announcements(tmp_path):
    names = ["AAP1", "BBP", "CCP"]
    facts = pd.DataFrame({"Symbol": names, "fiscalDateEnding": "2022-03-31", "reportedDate": "2022-05-10", "reportedEPS": [1.0, 2.0, 3.0]})
    rows = {"symbol": names, "side": "BUY", "date": ["2022-05-12", "2022-05-09", "2022-05-12"], "shares": 10, "price": 10.0}
    found = audited(tmp_path, earnings_csv=facts, fills_csv=pd.DataFrame(rows), report_json={"rule": "buy on the last EPS"})
    assert next(f.rows for f in found.findings if f.check == "entry_before_announcement") == ("BBP",)


def test_a_net_profit_column_is_held_against_shares_and_prices(tmp_path):
    entry, leave = CLOSE[:100:10], CLOSE[5:105:10]
    profit = np.round(20 * (leave - entry), 2)
    profit[4] += 37.5
    columns = {"Entry Time": DAYS[:100:10], "Exit Time": DAYS[5:105:10], "Qty": 20, "Entry Price": entry, "Exit Price": leave}
    found = audited(tmp_path, trades_csv=pd.DataFrame({"Symbol": "QXY", **columns, "Net P&L": profit}))
    assert "pnl_column_mismatch" in checks(found)


def test_a_price_file_of_date_and_close_needs_no_telling_name(tmp_path):
    frame = pd.DataFrame({"date": DAYS.delete(77).strftime("%Y-%m-%d"), "close": np.delete(CLOSE, 77)})
    assert "missing_session" in checks(audited(tmp_path, p_csv=frame))


def test_adjusted_close_is_no_ticker_and_a_column_of_dividends_counts(tmp_path):
    paid = np.zeros(len(DAYS))
    paid[[30, 70, 120]] = 0.45
    adjusted = CLOSE.copy()
    for row in (30, 70, 120):
        adjusted[:row] *= 1 - 0.45 / CLOSE[row - 1]
    frame = pd.DataFrame({"Date": DAYS.strftime("%Y-%m-%d"), "Close": CLOSE, "Adj Close": adjusted, "Dividends": paid})
    double = adjusted[-1] / adjusted[0] - 1 + 3 * 0.45 / adjusted[0]
    assert "dividend_double_count" in checks(audited(tmp_path, px_csv=frame, report_json={"total_return": double}))


def test_an_order_at_the_closing_auction_may_be_stated_in_any_document(tmp_path):
    prices = pd.DataFrame(
        {"Date": DAYS.strftime("%Y-%m-%d"), "Open": CLOSE * 1.01, "High": CLOSE * 1.02, "Low": CLOSE * 0.98, "Close": CLOSE}
    )
    at = [10, 20, 30, 40]
    rows = {"signal_date": DAYS[at].strftime("%Y-%m-%d"), "trade_date": DAYS[at].strftime("%Y-%m-%d"), "symbol": "ZQX"}
    fills = pd.DataFrame({**rows, "side": ["buy", "sell"] * 2, "quantity": 50, "price": CLOSE[at]})
    words = "# Notes\n\nSignals use data up to 15:45; orders are market-on-close on the same day.\n"
    found = audited(tmp_path, ZQX_csv=prices, orders_csv=fills, README_md=words)
    assert [f.severity for f in found.findings if f.check == "fill_not_after_signal"] == ["note"]


def test_an_annual_return_beyond_any_float_is_infinite():
    assert annual_return(np.array([1e6, 1e6]), 252.0) == np.inf


def beside_a_benchmark() -> tuple[dict[str, Any], dict[str, float]]:
    """Daily returns with a benchmark; beta, alpha a year and information ratio by hand."""
    market = np.diff(np.log(CLOSE))
    own = 0.6 * market + np.random.default_rng(4).normal(0.0003, 0.004, len(market))
    dates = DAYS[1:].strftime("%Y-%m-%d")
    files = {
        "returns_csv": pd.DataFrame({"date": dates, "return": own}),
        "benchmark_csv": pd.DataFrame({"date": dates, "benchmark": CLOSE[1:]}),
    }
    r, b = own[1:], CLOSE[2:] / CLOSE[1:-1] - 1
    beta = np.cov(r, b)[0, 1] / np.var(b, ddof=1)
    active = r - b
    ratio = active.mean() / active.std(ddof=1) * np.sqrt(252)
    return files, {"beta": beta, "alpha": (r.mean() - beta * b.mean()) * 252, "information_ratio": ratio}


@pytest.mark.parametrize(("name", "off"), [("beta", 0.5), ("alpha", 0.3), ("information_ratio", 2.5)])
def test_a_figure_beside_a_benchmark_is_right_or_wrong(tmp_path, name, off):
    files, right = beside_a_benchmark()
    honest, wrong = tmp_path / "honest", tmp_path / "wrong"
    honest.mkdir()
    wrong.mkdir()
    found = audited(honest, **files, report_json={name: right[name]})
    assert (found.verdict, metric(found, name).accepted) == ("pass", True)
    assert metric(found, name).recomputed == pytest.approx(right[name], rel=1e-6)
    assert audited(wrong, **files, report_json={name: right[name] + off}).verdict == "wrong"


def test_a_beta_without_a_benchmark_cannot_be_told(tmp_path):
    files, _right = beside_a_benchmark()
    del files["benchmark_csv"]
    found = audited(tmp_path, **files, report_json={"total_return": np.prod(1 + files["returns_csv"]["return"]) - 1, "beta": 3.0})
    assert (found.verdict, metric(found, "beta").recomputed) == ("pass_with_note", None)


@pytest.mark.parametrize(("off", "verdict"), [(0.0, "pass"), (0.3, "wrong")])
def test_exposure_is_right_or_wrong(tmp_path, off, verdict):
    rows = [(DAYS[20], "BUY", 100), (DAYS[60], "SELL", 100), (DAYS[90], "BUY", 50), (DAYS[120], "SELL", 50)]
    fills = pd.DataFrame(
        [(d.date(), "QXY", s, q, CLOSE[DAYS.get_loc(d)]) for d, s, q in rows], columns=["date", "ticker", "side", "qty", "price"]
    )
    prices = pd.DataFrame({"date": DAYS.strftime("%Y-%m-%d"), "ticker": "QXY", "close": CLOSE})
    days = (40 + 30) / len(DAYS)
    report = {"exposure_time": days + off, "initial_capital": 20_000}
    found = audited(tmp_path, fills_csv=fills, prices_csv=prices, report_json=report)
    assert metric(found, "exposure").accepted is (off == 0)
    assert found.verdict == verdict or (verdict, found.verdict) == ("pass", "pass_with_note")
