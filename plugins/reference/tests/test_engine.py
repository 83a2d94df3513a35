"""The engine against cases worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markets import market, noise, run, strategy

from finassay_reference.delivered.engine import metrics
from finassay_reference.delivered.engine.market import schedule_sessions
from finassay_reference.delivered.engine.signals import Signals, rank_correlation
from finassay_reference.delivered.engine.simulate import spells
from finassay_reference.delivered.engine.tables import equal_weight
from finassay_reference.delivered.engine.validation import cost_sensitivity
from finassay_reference.delivered.engine.weights import mean_variance, risk_parity


def two_names(path: list[float]):
    """A loser that is always bought first, with `path` from session 21 on (the last decision of January is session 21, a Friday), and a flat name."""
    falling = list(np.linspace(100, 90, 22))
    return market({"AAA": falling + path, "BBB": [50.0] * (22 + len(path))})


def test_an_order_is_filled_at_the_next_close_and_pays_its_fee():
    made = two_names([80.0] + [88.0] * 10)
    found = run(made, cost_bps=100.0)
    first = found.book.trades[0]
    assert first["signal_date"] == "2015-01-30"
    assert first["fill_date"] == "2015-02-02"
    assert (first["price"], first["side"]) == (80.0, "BUY")
    bought = 1000 / 1.01
    assert first["value"] == pytest.approx(bought)
    assert first["fee"] == pytest.approx(bought * 0.01)
    start = found.book.start
    assert found.book.equity[start] == 1000.0
    assert found.book.equity[start + 1] == pytest.approx(bought)
    assert found.book.equity[-1] == pytest.approx(bought * 88 / 80)
    assert found.book.cash[-1] == pytest.approx(0.0, abs=1e-9)


def test_a_position_stop_sells_at_the_next_close_and_waits_for_the_rebalance():
    path = [80.0, 79.0, 71.9, 70.0] + [60.0] * 30
    found = run(two_names(path), risk="position_stop", risk_value=0.10)
    sale = found.book.trades[1]
    assert (sale["reason"], sale["side"]) == ("position stop", "SELL")
    assert (sale["decided_value"], sale["compared_with"], sale["price"]) == (71.9, 80.0, 70.0)
    sold = found.market.days.index(str(sale["fill_date"]))
    again = found.market.days.index(str(found.book.trades[2]["signal_date"]))
    assert again == found.due[1]
    assert (found.book.shares[sold:again] == 0).all()


def test_a_fall_just_short_of_the_stop_sells_nothing():
    found = run(two_names([80.0, 72.01] + [75.0] * 8), risk="position_stop", risk_value=0.10)
    assert [trade["side"] for trade in found.book.trades] == ["BUY"]


def test_a_trailing_stop_follows_the_peak_since_entry():
    found = run(two_names([80.0, 100.0, 95.0, 90.0, 89.0] + [89.0] * 5), risk="trailing_stop", risk_value=0.10)
    sale = found.book.trades[1]
    assert (sale["decided_value"], sale["compared_with"], sale["price"]) == (90.0, 100.0, 89.0)


def test_the_drawdown_rule_goes_to_cash_and_comes_back_at_a_scheduled_decision():
    path = [80.0, 100.0, 79.0, 78.0] + [70.0] * 60
    found = run(two_names(path), risk="drawdown_to_cash", risk_value=0.20)
    cut = found.book.trades[1]
    assert (cut["reason"], cut["price"]) == ("drawdown exit", 78.0)
    assert cut["decided_value"] == pytest.approx(79 / 100 - 1)
    decided = found.market.days.index(str(cut["signal_date"]))
    back = found.market.days.index(str(found.book.trades[2]["signal_date"]))
    assert back == next(t for t in found.due if t - decided >= 21)
    assert found.book.high[back] == pytest.approx(found.book.equity[back])
    assert found.book.cut[decided:back].all()
    assert not found.book.cut[back]


def test_a_drift_band_trades_names_outside_the_band_only():
    flat = [100.0] * 23
    made = market({"AAA": [*flat, 100.0, 130.0, 130.0, 130.0], "BBB": flat + [100.0] * 4, "CCC": flat + [100.0] * 4})
    found = run(made, schedule="drift_band", slots=3, band=0.05)
    later = [trade for trade in found.book.trades if str(trade["signal_date"]) > "2015-01-30"]
    assert [(trade["ticker"], trade["side"]) for trade in later] == [("AAA", "SELL")]
    assert later[0]["weight_before"] == pytest.approx(130 / 330)
    assert later[0]["target_weight"] == pytest.approx(1 / 3)


def test_timing_leaves_and_enters_at_the_next_close():
    index = [100.0] * 30 + [90.0] * 10 + [130.0] * 20
    made = market({"AAA": [50.0] * 60, "BBB": [40.0] * 60}, index)
    found = run(made, timing="index_ma", ma_window=10, slots=2, warm_up=20, factors=("rev_5d",))
    for session in range(found.book.start + 1, 60):
        invested = (found.book.shares[session] > 0).any()
        assert invested == bool(found.invest[session - 1])
    assert {trade["reason"].split(":")[0] for trade in found.book.trades} == {"timing re-entry", "timing exit"}


def test_a_volatility_target_scales_down_and_never_up():
    made = noise(sessions=500)
    found = run(made, risk="vol_target", risk_value=0.08, slots=3, vol_window=40, warm_up=100)
    for row in found.book.targets:
        assert row["exposure"] == pytest.approx(min(1.0, 0.08 / row["volatility_estimate"]))


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(["weekly", "monthly", "quarterly", "drift_band"]),
    st.sampled_from([("none", 0.0), ("position_stop", 0.08), ("trailing_stop", 0.1), ("drawdown_to_cash", 0.1), ("vol_target", 0.1)]),
    st.sampled_from(["none", "index_ma", "breadth"]),
    st.sampled_from([0.0, 10.0, 50.0]),
    st.integers(0, 1000),
)
def test_the_ledger_holds_together(schedule, risk, timing, bps, seed):
    """No short, no borrowing, no fill at the decision's close, cash moves by fills and fees only, trades add up to positions."""
    made = noise(sessions=400, seed=seed)
    found = run(
        made,
        schedule=schedule,
        risk=risk[0],
        risk_value=risk[1],
        timing=timing,
        ma_window=50,
        cost_bps=bps,
        slots=3,
        warm_up=80,
        vol_window=40,
    )
    book, start = found.book, found.book.start
    assert (book.shares >= 0).all()
    assert (book.cash[start:] >= -1e-6).all()
    shares, cash = np.zeros(6), 1000.0
    trades = {}
    for trade in book.trades:
        assert trade["signal_date"] < trade["fill_date"]
        trades.setdefault(trade["fill_date"], []).append(trade)
    for session in range(start, len(made.dates)):
        for trade in trades.get(made.text(session), []):
            sign = 1 if trade["side"] == "BUY" else -1
            i = made.tickers.index(trade["ticker"])
            assert trade["price"] == made.close[session, i]
            assert trade["fee"] == pytest.approx(trade["value"] * bps / 1e4)
            shares[i] += sign * trade["shares"]
            cash -= sign * trade["value"] + trade["fee"]
        assert book.shares[session] == pytest.approx(shares, abs=1e-9)
        assert book.cash[session] == pytest.approx(cash, abs=1e-6)
        assert book.equity[session] == pytest.approx(cash + shares @ made.close[session])


def test_nothing_that_is_known_later_changes_what_was_decided_before():
    made = noise(sessions=500)
    short = type(made)(made.dates[:400], made.tickers, made.close[:400], made.index[:400])
    options = {
        "factors": ("mom_6_1", "low_vol"),
        "combination": "zscore_mean",
        "slots": 3,
        "warm_up": 260,
        "lookback": 200,
        "risk": "trailing_stop",
        "risk_value": 0.1,
    }
    long, cut = run(made, **options).book, run(short, **options).book
    upto = made.text(398)
    assert [t for t in long.trades if t["fill_date"] <= upto] == [t for t in cut.trades if t["fill_date"] <= upto]


def test_signals_are_the_definitions():
    made = noise(sessions=400)
    t, close = 350, made.close
    options = {"lookback": 252, "skip": 21, "vol_window": 60}

    def value(factor):
        return Signals(made, strategy(made.tickers, factors=(factor,), **options)).values[0, t]

    assert value("mom_12_1") == pytest.approx(close[t - 21] / close[t - 252] - 1)
    assert value("mom_6_1") == pytest.approx(close[t - 21] / close[t - 126] - 1)
    assert value("high_52w") == pytest.approx(close[t] / close[t - 251 : t + 1].max(axis=0))
    assert value("rev_5d") == pytest.approx(close[t] / close[t - 5] - 1)
    assert value("rev_21d") == pytest.approx(close[t] / close[t - 21] - 1)
    returns = close[1:] / close[:-1] - 1
    market_returns = made.index[1:] / made.index[:-1] - 1
    assert value("low_vol") == pytest.approx(returns[t - 60 : t].std(axis=0, ddof=1) * np.sqrt(252))
    window = slice(t - 252, t)
    beta = [np.cov(returns[window, i], market_returns[window])[0, 1] / market_returns[window].var(ddof=1) for i in range(6)]
    assert value("low_beta") == pytest.approx(beta)


def test_screen_then_rank_picks_inside_the_better_half():
    made = noise(sessions=400)
    signals = Signals(made, strategy(made.tickers, factors=("mom_6_1", "low_vol"), combination="screen_then_rank", slots=2, lookback=252))
    momentum, calm = signals.values[0, 350], signals.values[1, 350]
    better = set(np.argsort(-momentum)[:3])
    assert signals.picks(350) == sorted(better, key=lambda i: calm[i])[:2]


def test_ic_weights_use_past_coefficients_only():
    made = noise(sessions=700)
    options = {"factors": ("mom_6_1", "low_vol"), "combination": "ic_weighted", "lookback": 126}
    signals = Signals(made, strategy(made.tickers, **options))
    session = 600
    past = signals._ics[signals._known <= session][-36:]
    positive = np.maximum(past.mean(axis=0), 0)
    expected = positive / positive.sum() if positive.sum() else [0.5, 0.5]
    assert signals.at(session).mix == pytest.approx(tuple(expected))
    short = type(made)(made.dates[: session + 1], made.tickers, made.close[: session + 1], made.index[: session + 1])
    assert Signals(short, strategy(made.tickers, **options)).at(session).mix == pytest.approx(tuple(expected))


def test_risk_parity_gives_equal_contributions():
    rng = np.random.default_rng(3)
    for n in (2, 3, 5, 8):
        a = rng.normal(size=(60, n)) * rng.uniform(0.005, 0.03, n)
        cov = np.cov(a, rowvar=False)
        w = risk_parity(cov)
        parts = w * (cov @ w)
        assert w.sum() == pytest.approx(1)
        assert parts == pytest.approx(np.full(n, parts.mean()))


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 7), st.integers(0, 10_000), st.sampled_from([0.25, 0.4, 1.0]), st.sampled_from([1.0, 5.0, 20.0]))
def test_mean_variance_is_optimal(n, seed, cap, aversion):
    """The first-order conditions of the capped simplex: names at neither bound share one slope, those at 0 have less, those at the cap more."""
    rng = np.random.default_rng(seed)
    sample = rng.normal(0.0005, 0.015, (120, n)) + rng.normal(0, 0.01, (120, 1))
    mean, cov = sample.mean(axis=0), np.cov(sample, rowvar=False)
    w = mean_variance(mean, cov, aversion, cap)
    cap = max(cap, 1 / n)
    assert w.sum() == pytest.approx(1)
    assert (w >= 0).all()
    assert (w <= cap + 1e-9).all()
    slope = mean - 2 * aversion * cov @ w
    free = (w > 1e-9) & (w < cap - 1e-9)
    low, high = slope[w <= 1e-9], slope[w >= cap - 1e-9]
    level_from = max([*low, *slope[free]], default=-np.inf)
    level_to = min([*high, *slope[free]], default=np.inf)
    assert level_from <= level_to + 1e-9


def test_metrics_against_formulas_written_out():
    equity = np.array([100.0, 90.0, 99.0, 120.0, 108.0])
    r = [-0.1, 0.1, 120 / 99 - 1, -0.1]
    mean = sum(r) / 4
    spread = (sum((x - mean) ** 2 for x in r) / 3) ** 0.5
    assert metrics.total_return(equity) == pytest.approx(0.08)
    assert metrics.annual_return(equity) == pytest.approx(1.08 ** (252 / 4) - 1)
    assert metrics.annual_volatility(equity) == pytest.approx(spread * 252**0.5)
    assert metrics.sharpe_ratio(equity) == pytest.approx(mean / spread * 252**0.5)
    assert metrics.sortino_ratio(equity) == pytest.approx(mean / (0.02 / 4) ** 0.5 * 252**0.5)
    assert metrics.max_drawdown(equity) == pytest.approx(-0.1)


def test_the_first_loss_counts_in_the_drawdown():
    assert metrics.max_drawdown(np.array([100.0, 80.0, 90.0])) == pytest.approx(-0.2)


def test_turnover_and_win_rate_by_hand():
    trades = pd.DataFrame(
        [
            ("A", "BUY", 1.0, 100.0, 1.0, "d1"),
            ("A", "SELL", 1.0, 103.0, 1.0, "d2"),
            ("B", "BUY", 2.0, 50.0, 1.0, "d2"),
            ("B", "SELL", 2.0, 51.0, 1.0, "d3"),
        ],
        columns=["ticker", "side", "shares", "value", "fee", "fill_date"],
    )
    assert spells(trades)["profit"].tolist() == [1.0, -1.0]
    equity = pd.Series([100.0, 100.0, 200.0, 100.0], index=["d0", "d1", "d2", "d3"])
    assert metrics.turnover(trades, equity) == pytest.approx((1.0 + 153 / 200 + 0.51) / 2 / (3 / 252))


def test_schedules_end_with_their_period():
    dates = pd.bdate_range("2019-12-02", "2020-04-03")
    ends = {name: [str(dates[t].date()) for t in schedule_sessions(dates, name)] for name in ("weekly", "monthly", "quarterly")}
    assert ends["quarterly"] == ["2019-12-31", "2020-03-31", "2020-04-03"]
    assert ends["monthly"] == ["2019-12-31", "2020-01-31", "2020-02-28", "2020-03-31", "2020-04-03"]
    assert "2020-01-03" in ends["weekly"]
    assert "2019-12-31" not in ends["weekly"]


def test_rank_correlation_counts_common_names_only():
    assert rank_correlation(np.array([1.0, 2.0, 3.0, np.nan]), np.array([2.0, 4.0, 9.0, -5.0])) == pytest.approx(1.0)
    assert np.isnan(rank_correlation(np.array([1.0, 2.0]), np.array([1.0, 2.0])))


def test_cost_sensitivity_gives_the_run_itself_at_its_own_rate():
    found = run(noise(sessions=400), cost_bps=10.0, slots=3, warm_up=80)
    start = found.book.start
    equity, fees = found.book.equity[start:], found.book.fees[start:]
    table = cost_sensitivity(equity, fees, fees / 0.001).set_index("cost_bps_per_side")
    assert table.loc[10, "annual_return"] == pytest.approx(metrics.annual_return(equity))
    assert table["annual_return"].is_monotonic_decreasing


def test_the_equal_weight_benchmark_is_reset_at_month_ends():
    made = market({"AAA": [100.0] * 22 + [110.0] * 3, "BBB": [100.0] * 21 + [120.0] * 4})
    wealth = equal_weight(made)
    assert wealth[21] == pytest.approx(1.1)
    assert wealth[24] == pytest.approx(1.1 * (1.1 + 1.0) / 2)


def test_a_table_that_is_too_short_is_refused():
    with pytest.raises(ValueError, match="too short"):
        run(market({"AAA": [1.0] * 12, "BBB": [2.0] * 12}), warm_up=320)
