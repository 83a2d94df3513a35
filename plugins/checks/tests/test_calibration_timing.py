"""What calibration found in the timing, costs and audit: series that are dated too early, fees that nobody pays, sales of what is not held."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from finassay.api.strategy import Stance
from finassay_checks.fidelity.shown import Shown
from finassay_checks.model import Table
from finassay_checks.recompute.audit import audit
from finassay_checks.recompute.audit_statements import by_rule
from finassay_checks.recompute.costs import costs
from finassay_checks.recompute.information import information_of
from finassay_checks.recompute.outcome import Outcome
from finassay_checks.recompute.panel import Panel
from finassay_checks.recompute.reaching import _is_daily, _of_state, _shifted
from finassay_checks.roles.context import Context
from finassay_checks.roles.shape import shape_of
from finassay_checks.roles.wide import role_tables

from .deliveries import clean_delivery, make_package, simulate

DAYS = pd.bdate_range("2018-01-01", periods=700, name="date")
INDEX = pd.Series(1500 * np.exp(np.cumsum(np.random.default_rng(4).normal(0.0003, 0.01, len(DAYS)))), index=DAYS)


def shifted(values: "pd.Series[float]") -> list[str]:
    known = values.dropna()
    rows = pd.DataFrame({"date": known.index, "value": known.to_numpy(), "row": np.arange(1, len(known) + 1)})
    return [a.formula for a in _shifted([_of_state("x", rows, DAYS)], INDEX.to_numpy()[:, None], DAYS, pd.Index(["index"]))]


@pytest.mark.parametrize("reach", [1, 10, 21])
def test_a_timing_series_of_later_sessions_is_found_whatever_its_unit(reach: int) -> None:
    momentum = INDEX / INDEX.shift(252) - 1
    volatility = INDEX.pct_change().rolling(21).std() * np.sqrt(252) * 100
    for honest in (momentum, volatility, INDEX.rolling(200).mean(), momentum.round(4)):
        assert shifted(honest) == []
        assert f"{reach} sessions later" in shifted(honest.shift(-reach))[0]


def test_only_a_series_on_the_sessions_themselves_is_compared_with_later_ones() -> None:
    def series(dates: pd.DatetimeIndex) -> bool:
        rows = pd.DataFrame({"date": dates, "value": 1.0, "row": 1})
        return _is_daily(_of_state("x", rows, DAYS), DAYS)

    assert series(DAYS[100:])
    assert not series(DAYS[100:] - pd.Timedelta(days=1))
    assert not series(DAYS[::21])


@pytest.mark.parametrize("window", [45, 110, 180, 195, 205, 250])
def test_a_window_that_nobody_tries_is_no_later_one(window: int) -> None:
    assert shifted(INDEX.rolling(window).mean()) == []
    assert shifted(INDEX.ewm(span=window).mean()) == []
    assert shifted(INDEX.rolling(window).mean().shift(1)) == []


def panel() -> Panel:
    moves = np.random.default_rng(2).normal(0.0003, 0.015, (len(DAYS), 8))
    return Panel(DAYS, pd.Index(list("ABCDEFGH")), 50 * np.exp(np.cumsum(moves, axis=0)))


@pytest.mark.parametrize(("back", "end"), [(21, 5), (231, 5), (5, 10), (21, 0), (252, -21)])
def test_a_ranking_of_later_prices_has_its_information_date(back: int, end: int) -> None:
    made = panel()
    at = np.arange(300, 650, 20)
    last = at + end
    first = last - back if end > 0 else at - back
    score = made.close[last] / made.close[first] - 1
    signals = pd.DataFrame(
        [(DAYS[t], n, "score", score[k, c]) for k, t in enumerate(at.tolist()) for c, n in enumerate(made.tickers)],
        columns=["date", "ticker", "name", "score"],
    )
    (found,) = information_of(signals, made)
    assert list(found.last_price) == list(DAYS[last])


def test_what_all_names_share_is_no_signal_of_a_stock() -> None:
    frame = pd.DataFrame({"date": np.repeat(DAYS[:30].strftime("%Y-%m-%d"), 4), "ticker": list("ABCD") * 30, "weight": 0.25})
    frame["volatility_estimate"] = np.repeat(np.linspace(0.1, 0.3, 30), 4)
    assert "signals" not in _roles("targets.csv", frame)
    assert "signals" in _roles("picks.csv", frame.assign(signal=1)), "a list of what was picked is one"
    frame["volatility_estimate"] += np.tile([0.0, 0.01, 0.02, 0.03], 30)
    assert "signals" in _roles("targets.csv", frame)


def _roles(where: str, frame: pd.DataFrame) -> set[str]:
    known = frozenset("ABCDEFGH")
    return {str(r.role) for r in role_tables(shape_of(Table(where, where, 1, True, frame), known, "UTC"), Context("UTC", known))}


@pytest.mark.parametrize("form", ["wide", "own file"])
def test_prices_with_a_few_closes_below_zero_are_still_prices(form: str) -> None:
    closes = pd.DataFrame(panel().close, columns=list("ABCDEFGH"))
    closes.iloc[::97] *= -1
    closes.insert(0, "date", DAYS.strftime("%Y-%m-%d"))
    if form == "wide":
        assert _roles("prices.csv", closes) == {"prices"}
    else:
        assert "prices" in _roles("prices/A.csv", closes[["date", "A"]].rename(columns={"A": "close"}))


def test_fees_that_the_equity_never_pays_are_no_costs(tmp_path: Path) -> None:
    files = clean_delivery()
    equity, trades = simulate().equity, simulate().trades
    assert costs(make_package(tmp_path / "paid", files)).treatment == "all fills"
    fees = trades.groupby("fill_date")["fee"].sum().reindex(equity["date"]).fillna(0.0).cumsum().to_numpy()
    unpaid = equity.assign(equity=equity["equity"] + fees)
    found = costs(make_package(tmp_path / "unpaid", files | {"results/equity.csv": unpaid}))
    assert found.treatment == "stated only"
    assert "never pays" in found.text


def test_a_sale_of_what_is_not_held_shows_beside_a_table_of_holdings(tmp_path: Path) -> None:
    files, trades = clean_delivery(), simulate().trades
    sold = trades.index[trades["side"].str.upper().str.startswith("S")][3]
    trades.loc[sold, "shares"] = trades.loc[sold, "shares"] * 10
    by_letter = {o.letter: o for o in audit(make_package(tmp_path, files | {"results/trades.csv": trades}))}
    assert by_letter["c"].status == "fail"
    assert by_letter["c"].rows
    assert {o.letter: o.status for o in audit(make_package(tmp_path / "clean", files))}["c"] == "pass"


def test_a_rule_that_never_came_up_is_not_unverifiable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from finassay_checks.fidelity import execution

    package = make_package(tmp_path, clean_delivery())
    for note, status in (
        ("no rebalance after the first", "n/a"),
        ("a drift band needs the band in words, trades and prices", "unverifiable"),
    ):
        monkeypatch.setattr(execution, "drift_band_test", lambda ledger, note=note: Shown(Stance.CANNOT_TELL, None, 0, note))
        assert by_rule(package, "drift_band", Outcome("h", "schedule", "unverifiable")).status == status
