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


FILLS = pd.DataFrame(
    [
        (str(DAYS[a + (10 if s == "SELL" else 0)].date()), "QXY", s, 100, CLOSE[a + (10 if s == "SELL" else 0)])
        for a in range(5, 140, 20)
        for s in ("BUY", "SELL")
    ],
    columns=["date", "ticker", "side", "qty", "price"],
)
PRICES = pd.DataFrame({"date": DAYS.strftime("%Y-%m-%d"), "ticker": "QXY", "close": CLOSE})
WORDS = "The strategy buys one stock on a fixed timetable and holds it for ten sessions each time."


def values(fee: float = 0.0) -> pd.DataFrame:
    """The portfolio's value day by day in a plain loop; `fee` is a share of the traded value."""
    cash, held, rows = 20_000.0, 0, []
    for day, close in zip(DAYS.strftime("%Y-%m-%d"), CLOSE, strict=True):
        for _, _, side, size, price in FILLS[FILLS["date"] == day].itertuples(index=False):
            sign = 1 if side == "BUY" else -1
            held, cash = held + sign * size, cash - sign * size * price - fee * size * price
        rows.append((day, round(cash + held * close, 2)))
    return pd.DataFrame(rows, columns=["date", "equity"])


@pytest.mark.parametrize(("paid", "charged"), [(0.0, False), (0.001, True)])
def test_costs_that_are_stated_are_paid_or_not(tmp_path, paid, charged):
    words = f"# Report\n\n{WORDS} Transaction costs: 10 bps per trade are included in all results.\n"
    found = audited(tmp_path, fills_csv=FILLS, prices_csv=PRICES, equity_csv=values(paid), report_md=words)
    assert ("costs_not_charged" in checks(found)) is not charged
    assert (found.verdict == "wrong") is not charged


@pytest.mark.parametrize(("words", "verdict"), [("A long-only book.", "wrong"), ("A book of one stock.", "pass")])
def test_a_short_position_is_wrong_where_the_delivery_denies_it(tmp_path, words, verdict):
    fills = FILLS.assign(qty=[150 if side == "SELL" else 100 for side in FILLS["side"]])
    found = audited(tmp_path, fills_csv=fills, prices_csv=PRICES, README_md=words)
    assert found.verdict == verdict
    assert "short_position" in checks(found)


def test_borrowing_is_wrong_where_the_delivery_denies_it(tmp_path):
    report = {"initial_capital": 5_000, "note": "no leverage is used"}
    assert "negative_cash" in checks(audited(tmp_path, fills_csv=FILLS, prices_csv=PRICES, report_json=report))


def test_without_a_starting_capital_a_return_cannot_be_told(tmp_path):
    found = audited(tmp_path, fills_csv=FILLS, prices_csv=PRICES, report_json={"total_return": 0.5})
    assert (found.verdict, metric(found, "total_return").recomputed) == ("unverifiable", None)


def test_deposits_in_a_column_beside_the_values_are_no_gain(tmp_path):
    paid = np.where(np.arange(len(DAYS)) == 80, 4_000.0, 0.0)
    level = np.round(500 * CLOSE + np.cumsum(paid), 2)
    curve = pd.DataFrame({"date": DAYS.strftime("%Y-%m-%d"), "account_value": level, "net_deposits": paid})
    found = audited(tmp_path, account_csv=curve, report_json={"total_return": level[-1] / level[0] - 1, "profit": level[-1] - level[0]})
    assert found.verdict == "wrong"
    assert metric(found, "total_return").fault == metric(found, "net_profit").fault == "external_flows_counted_as_return"


def test_lists_of_members_by_date_are_spans(tmp_path):
    lists = (("2018-01-02", "AAX CCX"), ("2018-07-02", "AAX"), ("2019-07-01", "AAX BBX"))
    members = pd.DataFrame([(day, t) for day, names in lists for t in names.split()], columns=["date", "ticker"])
    rows = [("2018-08-01", "BBX"), ("2018-09-03", "CCX"), ("2017-02-01", "AAX"), ("2019-08-01", "BBX")]
    fills = pd.DataFrame([(d, t, "BUY", 10, 50.0) for d, t in rows], columns=["date", "ticker", "side", "shares", "price"])
    found = {f.check: f.facts["rows"] for f in audited(tmp_path, index_members_csv=members, fills_csv=fills).findings if "rows" in f.facts}
    assert found == {"traded_before_membership": [["BBX", "2018-08-01"]], "traded_after_removal": [["CCX", "2018-09-03"]]}


@pytest.mark.parametrize(("shift", "lag", "fault"), [(1, 1, False), (0, 0, True)])
def test_long_and_short_weights_earn_from_the_next_session(tmp_path, shift, lag, fault):
    other = walk(9, len(DAYS), 50)
    close = np.column_stack([CLOSE, other])
    weights = np.round(np.nan_to_num(np.sign(close - pd.DataFrame(close).rolling(5).mean().to_numpy())) / 2, 3)
    returns = close[1:] / close[:-1] - 1
    own = np.concatenate(([0.0], (weights[1 - shift : len(weights) - shift] * returns).sum(axis=1)))
    dates = {"Date": DAYS.strftime("%Y-%m-%d")}
    prices, table = (pd.DataFrame(dates | {"QXY": m[:, 0], "QZZ": m[:, 1]}) for m in (close, weights))
    found = audited(tmp_path, close_csv=prices, weights_csv=table, returns_csv=pd.DataFrame(dates | {"return": own}))
    assert ("weight_uses_same_day_return" in checks(found)) is fault


def test_rows_that_repeat_a_date_of_the_values(tmp_path):
    curve = pd.concat([values().iloc[:50], values().iloc[[49]], values().iloc[50:]])
    found = audited(tmp_path, equity_csv=curve)
    assert [(f.severity, f.facts["identical"]) for f in found.findings if f.check == "duplicate_date"] == [("note", True)]


def test_closes_carried_over_weekends_are_noted(tmp_path):
    every = pd.date_range(DAYS[0], DAYS[-1])
    frame = pd.DataFrame({"date": DAYS, "close": CLOSE}).set_index("date").reindex(every).ffill()
    found = audited(tmp_path, prices_csv=pd.DataFrame({"date": every.strftime("%Y-%m-%d"), "close": frame["close"].to_numpy()}))
    assert (found.verdict, "row_on_no_session" in checks(found)) == ("pass_with_note", True)


def test_candles_and_rows_of_json(tmp_path):
    days = pd.date_range("2022-01-01", periods=160)
    candles = [[int(d.timestamp() * 1000), f"{c}", f"{c * 1.01}", f"{c * 0.99}", f"{c}", "10.0"] for d, c in zip(days, CLOSE, strict=True)]
    found = audited(tmp_path, BTCUSDT_json=candles)
    assert [(t.role, t.rows) for t in found.tables] == [("prices", 160)]


def test_epoch_stamps_of_a_midnight_in_paris_fall_on_the_day_before(tmp_path):
    days = sessions_between("XPAR", pd.Timestamp("2024-03-04"), pd.Timestamp("2024-05-01"))[:40]
    stamps = days.tz_localize("Europe/Paris").tz_convert("UTC").tz_localize(None).astype("datetime64[s]").astype("int64")
    frame = pd.DataFrame({"t": stamps, "symbol": "MC.PA", "close": CLOSE[:40]})
    assert "utc_date_is_previous_day" in checks(audited(tmp_path, bars_csv=frame))


def test_a_brokers_xml_is_read_and_no_entity_is_followed(tmp_path):
    rows = "".join(
        f'<Trade symbol="QXY" tradeDate="{d.replace("-", "")}" buySell="{s}" quantity="{q if s == "BUY" else -q}" tradePrice="{p}" ibCommission="-1"/>'
        for d, _, s, q, p in FILLS.itertuples(index=False)
    )
    earned = sum((1 if s == "SELL" else -1) * q * p - 1 for _, _, s, q, p in FILLS.itertuples(index=False))
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.mkdir()
    bad.mkdir()
    found = audited(good, flex_xml=f"<Flex><Trades>{rows}</Trades></Flex>", report_json={"net_profit": earned, "initial_capital": 20_000})
    assert metric(found, "net_profit").recomputed == pytest.approx(earned)
    hostile = f'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]><Flex><Trades>{rows}</Trades></Flex>'
    assert "unreadable_file" in checks(audited(bad, flex_xml=hostile))


def test_a_fraction_with_a_percent_sign_is_a_fault_inside_the_tolerance(tmp_path):
    total = values()["equity"].iloc[-1] / 20_000 - 1
    assert abs(total) > 0.002
    found = audited(tmp_path, equity_csv=values(), report_md=f"| Metric | Value |\n|---|---|\n| Total return | {total:.5f}% |\n")
    assert metric(found, "total_return").fault == "fraction_with_a_percent_sign"


def test_values_named_as_an_index_are_what_the_figures_are_about(tmp_path):
    days = pd.date_range("2010-03-31", periods=41, freq="QE")
    level = walk(3, 41)
    frame = pd.DataFrame({"quarter_end": days.strftime("%Y-%m-%d"), "index_level": level})
    found = audited(tmp_path, q_csv=frame, m_json={"total_return": level[-1] / level[0] - 1})
    assert (found.verdict, metric(found, "total_return").accepted) == ("pass", True)


def test_a_platforms_own_summary_beside_its_trades(tmp_path):
    trade = {"pair": "ABC/USDT", "amount": 2.0, "open_date": "2022-06-01 00:00:00+00:00", "close_date": "2022-06-03 00:00:00+00:00"}
    trade |= {"open_rate": 100.0, "close_rate": 110.0, "fee_open": 0.001, "fee_close": 0.001, "profit_abs": 19.58, "is_open": False}
    trades = [trade, trade | {"open_date": "2022-06-05 00:00:00+00:00", "close_date": "2022-06-08 00:00:00+00:00"}]
    files = {"result_json": {"strategy": {"S": {"trades": trades, "total_trades": 2, "profit_total_abs": 55.0}}}}
    assert (metric(audited(tmp_path, **files), "net_profit").accepted, audited(tmp_path, **files).verdict) == (False, "wrong")


def one_table(moved_on: bool) -> tuple[pd.DataFrame, float]:
    """Close, average, position and what it earned in one table, the position of a row earning that row's return unless moved on."""
    average = pd.Series(CLOSE).rolling(10).mean().to_numpy()
    held = (average < CLOSE).astype(float)
    earned = np.concatenate(([0.0], CLOSE[1:] / CLOSE[:-1] - 1)) * (np.concatenate(([0.0], held[:-1])) if moved_on else held)
    frame = {"Date": DAYS.strftime("%Y-%m-%d"), "Close": CLOSE, "SMA10": average, "position": held, "strategy_return": earned}
    return pd.DataFrame(frame), float(np.prod(1 + earned) - 1)


@pytest.mark.parametrize(("moved_on", "verdict"), [(True, "pass"), (False, "wrong")])
def test_a_backtest_in_one_table_earns_from_the_next_row(tmp_path, moved_on, verdict):
    frame, total = one_table(moved_on)
    found = audited(tmp_path, backtest_csv=frame, report_json={"total_return": total})
    assert (found.verdict, "weight_uses_same_day_return" in checks(found)) == (verdict, not moved_on)


def test_a_position_that_may_have_been_moved_on_is_only_noted(tmp_path):
    frame, total = one_table(False)
    found = audited(
        tmp_path, backtest_csv=frame.drop(columns="SMA10").rename(columns={"position": "pos"}), report_json={"total_return": total}
    )
    assert [f.severity for f in found.findings if f.check == "weight_uses_same_day_return"] == ["note"]


def test_tickers_in_lower_case_across(tmp_path):
    prices = pd.DataFrame({"date": DAYS.strftime("%Y-%m-%d"), "aapl": CLOSE, "msft": walk(9, len(DAYS), 50)})
    weights = {str(DAYS[0].date()): {"aapl": 0.6, "msft": 0.4, "cash": 0.0}, str(DAYS[60].date()): {"aapl": 0.0, "msft": 0.5, "cash": 0.5}}
    roles = {t.role for t in audited(tmp_path, prices_csv=prices, weights_json=weights).tables}
    assert {"prices", "weights"} <= roles


@pytest.mark.parametrize("cell", ["101.234,56 €", "101.234,56 EUR", "CHF 101'234.56", "¥101,234.56", "R$ 101.234,56"])
def test_currency_signs_stand_before_or_behind(cell):
    from finassay_checks.roles.cells import to_numbers

    assert to_numbers(pd.Series([cell, cell])).tolist() == pytest.approx([101_234.56] * 2)


def test_a_header_of_another_language_is_no_ticker(tmp_path):
    log = pd.DataFrame(
        {
            "Símbolo": ["AAX", "BBX"],
            "Fecha de entrada": [d.strftime("%d/%m/%Y") for d in DAYS[[10, 20]]],
            "Fecha de salida": [d.strftime("%d/%m/%Y") for d in DAYS[[30, 40]]],
            "Cantidad": [10, 20],
            "Precio de entrada": CLOSE[[10, 20]],
            "Precio de salida": CLOSE[[30, 40]],
        }
    )
    assert {t.role for t in audited(tmp_path, operaciones_csv=log).tables} == {"round_trips"}
