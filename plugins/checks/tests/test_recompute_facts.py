"""Control fills, schedules, lags, information dates, states, and what the text states."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from backtest_faults import add, clean_files, deliveries, package_of, say, signal_on_fill, simulated, spoiled

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute import control, control_fills, information, lags, metric_matches, rebuilt, schedule, stated, why_not
from finassay_checks.recompute.announced import announcements
from finassay_checks.recompute.calendar import period_numbers, schedule_share
from finassay_checks.recompute.information import information_of
from finassay_checks.recompute.panel import panel_of
from finassay_checks.recompute.portfolio import rebuild_from_fills
from finassay_checks.recompute.reported_period import edge, periods_in
from finassay_checks.recompute.sizing import sizing
from finassay_checks.recompute.states import exposure_by_date
from finassay_checks.recompute.triggers import drawdown_triggers, spells, stop_triggers


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return package_of(tmp_path_factory.mktemp("clean"), clean_files())


def test_the_rebuilt_curve_is_the_delivered_one(clean: Package) -> None:
    made = clean.fact(rebuilt)
    assert made is not None
    assert made.start_capital == deliveries.CAPITAL
    assert made.first_divergence is None
    given = simulated().equity.set_index("date")["equity"]
    common = given.index.intersection(made.equity.index)
    assert np.allclose(made.equity.loc[common], given.loc[common])
    assert why_not(clean) == ""


def test_every_reported_figure_matches(clean: Package) -> None:
    matches = clean.fact(metric_matches)
    assert {"total_return", "annual_return", "sharpe", "max_drawdown", "trades"} <= {m.metric for m in matches}
    assert all(m.matches for m in matches)


def test_only_the_first_purchases_are_control_fills(clean: Package) -> None:
    mask = clean.fact(control_fills)
    trades = clean.fact(read_delivery).frame("trades")
    assert trades is not None
    assert len(mask) == len(trades)
    assert mask.sum() == (trades["fill_date"] == trades["fill_date"].min()).sum()


def test_the_month_is_kept(clean: Package) -> None:
    found = clean.fact(schedule)
    assert found is not None
    assert found.kept == "monthly"
    assert found.off("monthly") == ()


def test_the_score_is_computed_again_to_its_last_price(clean: Package) -> None:
    found = clean.fact(information)
    assert {i.name for i in found} >= {"mom_6_1"}
    assert found[0].formula == "return from t-126 to t-21"
    lag = clean.fact(lags)
    assert lag is not None
    assert set(lag.how) == {"row"}
    assert lag.sessions.min() >= 20


def test_a_label_that_is_early_does_not_hide_a_later_price() -> None:
    """Scores dated a session before the price they need."""
    made = simulated()
    closes = made.prices.pivot(index="date", columns="ticker", values="close")
    future = closes.shift(-1) / closes.shift(20) - 1
    rows = future.iloc[100:200].rename_axis("date").reset_index().melt("date", var_name="ticker", value_name="score")
    panel = panel_of(made.prices.assign(adj_close=np.nan))
    assert panel is not None
    found = information_of(rows.assign(name="rev", rank=np.nan), panel)
    assert [i.formula[-3:] for i in found] == ["t+1"]
    assert (found[0].last_price > found[0].dates).all()


def test_lags_without_signal_dates_come_from_the_row_that_explains_the_fill(tmp_path: Path) -> None:
    def undated(files: dict[str, object]) -> None:
        frame = files["results/trades.csv"]
        assert isinstance(frame, pd.DataFrame)
        files["results/trades.csv"] = frame.drop(columns="signal_date")

    found = spoiled(tmp_path, undated).fact(lags)
    assert found is not None
    assert set(found.how) == {"join"}
    assert (found.sessions > 0).all()


def test_lags_of_fills_on_the_signal_bar(tmp_path: Path) -> None:
    found = spoiled(tmp_path, signal_on_fill).fact(lags)
    assert found is not None
    assert (found.sessions == 0).all()


def _book() -> tuple[pd.DataFrame, object]:
    days = pd.bdate_range("2020-01-01", periods=8)
    close = [10.0, 10, 12, 11, 10.5, 10.2, 9, 9]
    panel = panel_of(pd.DataFrame({"date": days, "ticker": "A", "close": close, "adj_close": np.nan}))
    made = pd.DataFrame({"date": [days[1], days[6]], "ticker": "A", "shares": [10.0, -10.0], "price": [10.0, 9.0], "fee": 0.0})
    assert panel is not None
    return made, rebuild_from_fills(made, panel, 100.0)


def test_stops_are_due_by_entry_and_by_peak() -> None:
    made, book = _book()
    own = spells(book, made)  # type: ignore[arg-type]
    assert own.peak[5, 0] == 12
    assert own.entry[5, 0] == 10
    assert np.flatnonzero(stop_triggers(book, own.peak, 0.12)[:, 0]).tolist() == [4, 5]  # type: ignore[arg-type]
    assert not stop_triggers(book, own.entry, 0.05).any()  # type: ignore[arg-type]


def test_a_drawdown_is_due_against_the_reference_high() -> None:
    equity = np.array([100.0, 110, 98, 98, 97, 80])
    invested = np.array([True, True, True, False, True, True])
    assert np.flatnonzero(drawdown_triggers(equity, invested, 0.1, restart=False)).tolist() == [2, 4, 5]
    assert np.flatnonzero(drawdown_triggers(equity, invested, 0.1, restart=True)).tolist() == [2, 5]


def test_stop_exits_are_control_fills_whatever_their_tag(tmp_path: Path) -> None:
    """Sales off schedule at the first close 8 % below the peak since entry, tagged like any other sale."""
    days = deliveries.sessions("2014-01-02", "2014-12-31")
    steps = np.random.default_rng(4).normal(0.0002, 0.02, len(days))
    close = 50 * np.exp(np.cumsum(steps))
    rows, held, peak = [], False, 0.0
    for i in range(1, len(days)):
        first = days[i].month != days[i - 1].month
        if held and close[i - 1] <= peak * 0.92:
            rows.append((days[i - 1], days[i], "AMD", "SELL", 10.0, close[i], "trim"))
            held = False
        elif not held and first:
            rows.append((days[i - 1], days[i], "AMD", "BUY", 10.0, close[i], "rank"))
            held, peak = True, close[i]
        peak = max(peak, close[i]) if held else 0.0
    trades = pd.DataFrame(rows, columns=["signal_date", "fill_date", "ticker", "side", "shares", "price", "reason"])
    rules = "Monthly. Sell at the next close after an 8 % trailing stop from its peak. Starting capital $10,000."
    files = {
        "prices.csv": pd.DataFrame({"date": days, "ticker": "AMD", "close": close}),
        "trades.csv": trades,
    }
    package = package_of(tmp_path, files, messages=("Test it.", rules))
    found = package.fact(control)
    sold = (trades["side"] == "SELL").to_numpy()
    assert sold.sum() >= 3
    assert found.mask[sold].all()
    assert all("trailing_stop" in cause for cause in found.causes[sold])
    assert not found.mask[~sold][1:].any()


def test_reasons_decide_what_cannot_be_recomputed(tmp_path: Path) -> None:
    def tagged(files: dict[str, object]) -> None:
        frame = files["results/trades.csv"]
        assert isinstance(frame, pd.DataFrame)
        frame.loc[frame.index[50:53], "reason"] = ["stop-loss", "risk-off", "re-entry after timing"]

    assert spoiled(tmp_path, tagged).fact(control_fills)[50:53].all()


def test_periods_are_weeks_months_and_quarters() -> None:
    dates = pd.DatetimeIndex(["2020-12-27", "2020-12-28", "2021-01-03", "2021-01-04"])
    assert np.diff(period_numbers(dates, "weekly")).tolist() == [1, 0, 1]
    assert np.diff(period_numbers(dates, "monthly")).tolist() == [0, 1, 0]
    assert np.diff(period_numbers(dates, "quarterly")).tolist() == [0, 1, 0]


def test_a_schedule_is_not_kept_by_two_dates_a_period() -> None:
    monthly = pd.date_range("2020-01-31", periods=12, freq="ME")
    fills = np.full(12, 3)
    assert schedule_share(monthly, fills, "monthly") == 1.0
    assert schedule_share(monthly, fills, "quarterly") == 0.0
    doubled = monthly.append(pd.DatetimeIndex(["2020-03-10"])).sort_values()
    assert schedule_share(doubled, np.full(13, 3), "monthly") == pytest.approx(11 / 13)
    assert schedule_share(monthly[:1], fills[:1], "monthly") == 0.0


def test_targets_are_multiplied_by_states_only_once() -> None:
    dates = pd.bdate_range("2020-01-01", periods=4)
    on = pd.DataFrame({"date": dates, "name": "invested", "value": [True, False, False, True]})
    assert exposure_by_date(on, dates, np.ones(4)) is not None
    assert exposure_by_date(on, dates, np.array([1.0, 0.0, 0.0, 1.0])) is None
    off = on.assign(name="risk_off")
    found = exposure_by_date(off, dates, np.ones(4))
    assert found is not None
    assert found.tolist() == [0, 1, 1, 0]


def test_fundamentals_used_before_they_were_announced(tmp_path: Path) -> None:
    days = deliveries.sessions("2014-01-02", "2014-06-30")
    announced = pd.DataFrame(
        {"ticker": ["AAPL", "AMD"], "period_end": ["2013-12-31"] * 2, "announced": ["2014-02-10", "2014-04-20"], "eps": [1.5, 2.5]}
    )
    signals = pd.DataFrame({"decision_date": ["2014-03-03"] * 2, "ticker": ["AAPL", "AMD"], "score": [1.5, 2.5]})
    prices = pd.DataFrame({"date": np.repeat(days, 2), "ticker": ["AAPL", "AMD"] * len(days), "close": 10.0})
    package = package_of(tmp_path, {"fundamentals.csv": announced, "signals.csv": signals, "prices.csv": prices})
    found = package.fact(announcements)
    assert found is not None
    assert found.uses == found.dated == 2
    assert [e.ticker for e in found.early] == ["AMD"]


def test_sizing_at_the_fill_close_is_told_with_its_effect(tmp_path: Path) -> None:
    made = simulated()
    closes = made.prices.pivot(index="date", columns="ticker", values="close")
    for end, expected in ((0, True), (-1, False)):
        rows = []
        for at in range(130, len(closes), 21):
            span = closes.iloc[at + end - 60 : at + end + 1].pct_change().iloc[1:].std()
            weight = (1 / span) / (1 / span).sum()
            rows += [
                (closes.index[at - 1], closes.index[at], t, "BUY" if at == 130 else "SELL", 1.0, closes.iloc[at][t], weight[t])
                for t in closes.columns
            ]
        trades = pd.DataFrame(rows, columns=["signal_date", "fill_date", "ticker", "side", "shares", "price", "target_weight"])
        found = package_of(tmp_path / str(end), {"trades.csv": trades, "prices.csv": made.prices}).fact(sizing)
        assert found is not None
        assert found.at_fill is expected
        assert found.effect is not None
        assert 0 <= found.effect < 0.02


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("Costs are 10 bp per side.", 0.001), ("| cost | 15 basis points of traded value |", 0.0015), ("Commission: 0.05% per trade.", 0.0005),
        ("The strategy earned 1.7% a year net of costs.", None), ("Costs took 0.9% a year.", None), ("Volatility is 1.2%.", None),
    ],
)  # fmt: skip
def test_cost_rates_are_read_and_returns_are_not(tmp_path: Path, text: str, rate: float | None) -> None:
    found = stated.cost_rates(package_of(tmp_path, {"notes.csv": "a,b\n1,2\n"}, messages=("Test it.", text)).fact(read_delivery))
    assert (found[0].value if found else None) == rate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("We start with $100,000.", 100_000), ("Initial capital: 1,000,000 dollars", 1e6), ("A starting portfolio value of $2.5 million.", 2.5e6),
        ("Starting in 2010 the index rose.", None), ("The $50,000 initial stake", 50_000),
    ],
)  # fmt: skip
def test_start_capital_in_words(tmp_path: Path, text: str, value: float | None) -> None:
    found = stated.start_capitals(package_of(tmp_path, {"notes.csv": "a,b\n1,2\n"}, messages=("Test it.", text)).fact(read_delivery))
    assert (found[0].value if found else None) == value


@pytest.mark.parametrize(
    ("text", "control_", "value"),
    [
        ("Each name has a 10% stop below its entry.", "position_stop", 0.10), ("A trailing stop of 12 % from the peak.", "trailing_stop", 0.12),
        ("Everything is sold to cash at a 15% drawdown.", "drawdown_to_cash", 0.15), ("The maximum drawdown was 34%.", None, 0.0),
    ],
)  # fmt: skip
def test_thresholds_of_controls_are_told_from_results(tmp_path: Path, text: str, control_: str | None, value: float) -> None:
    found = stated.thresholds(package_of(tmp_path, {"notes.csv": "a,b\n1,2\n"}, messages=("Test it.", text)).fact(read_delivery))
    assert [(t.control, t.value) for t in found] == ([(control_, pytest.approx(value))] if control_ else [])


def test_printed_dates_keep_their_granularity() -> None:
    kinds = [edge(text) for text in ("2013-07-31", "2013-07", "July 2013", "31 Jan 1991", "January 31, 1991", "2013")]
    assert [k.kind if k else None for k in kinds] == ["day", "month", "month", "day", "day", "year"]
    assert [k.date.month for k in kinds if k] == [7, 7, 7, 1, 1, 1]
    found = list(periods_in("from 31 Jan 1991 to 30 Dec 2016, and 2001-2005", "a1"))
    assert [(p.first.date.year, p.last.date.year) for p in found] == [(1991, 2016), (2001, 2005)]


def test_a_stated_start_capital_wins_over_an_index(tmp_path: Path) -> None:
    def index(files: dict[str, object]) -> None:
        frame = files["results/equity.csv"]
        assert isinstance(frame, pd.DataFrame)
        files["results/equity.csv"] = frame.assign(equity=frame["equity"] / deliveries.CAPITAL).drop(columns=["cash", "fees"])

    made = spoiled(tmp_path, index, add("The starting capital is $1,000,000.")).fact(rebuilt)
    assert made is not None
    assert made.start_capital == deliveries.CAPITAL
    assert made.first_divergence is None


def test_no_price_for_most_holdings_is_no_price_table(tmp_path: Path) -> None:
    def thin(files: dict[str, object]) -> None:
        frame = files["data/prices.csv"]
        assert isinstance(frame, pd.DataFrame)
        trades = files["results/trades.csv"]
        assert isinstance(trades, pd.DataFrame)
        files["data/prices.csv"] = frame[frame["date"].isin(trades["fill_date"])]

    package = spoiled(tmp_path, thin, say("| Total fees", "| Sum of fees"))
    made = package.fact(rebuilt)
    assert made is None or len(made.equity) < 60
