"""What calibration found in 2.1 to 2.6: stated choices against words, exits of another rule, look-backs, plans, sector caps, calendars by chance."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from attrs import evolve

from finassay.api.strategy import Observable, Stance
from finassay_checks.checks.strategy_fidelity import Execution
from finassay_checks.fidelity.execution import calendar_kept
from finassay_checks.fidelity.observe import observations
from finassay_checks.fidelity.places import newest_entry
from finassay_checks.recompute.curve_said import curve_facts

from .deliveries import make_package
from .fidelity_market import Rules, Run, market, momentum, run, z_mean
from .test_fidelity_items import ASKED, RULES, package, verdict
from .test_fidelity_observables import show

SUPPORTS, CONTRADICTS, CANNOT_TELL = Stance.SUPPORTS, Stance.CONTRADICTS, Stance.CANNOT_TELL


def test_a_table_that_states_another_choice_fails_although_the_trades_are_right(tmp_path: Path) -> None:
    wrong = run(Rules()).files(RULES.replace("monthly,", "weekly,"))
    found = verdict(Execution, package(tmp_path, wrong))
    assert found.level <= 1
    assert found.facts["items"]["execution.schedule:monthly"]["test"] == "supports"


@pytest.mark.parametrize("in_report", [True, False])
def test_a_choice_that_is_taken_back_fails_although_the_trades_are_right(tmp_path: Path, in_report: bool) -> None:
    back = "One correction: I did not rebalance monthly. Instead I chose to trade weekly."
    text = f"{RULES}\n{back}\n" if in_report else RULES
    said = ASKED if in_report else (*ASKED[:3], f"Done. See REPORT.md. {back}")
    found = verdict(Execution, package(tmp_path, run(Rules()).files(text), said))
    assert found.level <= 1
    assert "retraction" in found.facts["items"]["execution.schedule:monthly"]["place"]


@pytest.mark.parametrize(("look_back", "skip"), [(40, 1), (63, 0), (190, 21)])
def test_another_look_back_than_the_usual(tmp_path: Path, look_back: int, skip: int) -> None:
    shown = show(tmp_path, run(Rules(ranking=momentum(look_back, skip))), "factor", factor="mom_6_1")
    assert shown.stance is CONTRADICTS
    assert "sessions" in shown.note


def test_names_drawn_by_lot(tmp_path: Path) -> None:
    draw = np.random.default_rng(3).normal(size=(2_000, 10))
    made = run(Rules(ranking=lambda closes, at: pd.Series(draw[at], closes.columns)))
    assert show(tmp_path, made, "factor", factor="mom_12_1").stance is CONTRADICTS


def test_prices_and_a_delivered_figure_are_combined(tmp_path: Path) -> None:
    closes = market()
    size = pd.Series(np.linspace(5e9, 4e11, len(closes.columns)), closes.columns).sample(frac=1.0, random_state=2)

    def small(panel: pd.DataFrame, at: int) -> pd.Series:
        return -size.reindex(panel.columns)

    made = run(Rules(ranking=z_mean(momentum(126, 21), small)))
    dates = pd.DatetimeIndex(made.trades["signal_date"].unique())
    signals = pd.DataFrame([(day, name, size[name]) for day in dates for name in size.index], columns=["date", "ticker", "market_cap"])
    others = {
        "a": Observable("factor", {"factor": "mom_6_1"}),
        "b": Observable("factor", {"factor": "small_size"}),
        "c": Observable("combination", {"method": "zscore_mean"}),
    }
    made_package = make_package(tmp_path, made.files(extra={"signals.csv": signals}))
    seen = evolve(made_package, task=evolve(made_package.task, observables=others)).fact(observations)
    assert [seen.show(o).stance for o in others.values()] == [SUPPORTS] * 3


def _timed(index: pd.Series, rule: str) -> pd.Series:
    if rule == "index_ma":
        return index > index.rolling(200).mean()
    return ~(index.pct_change().rolling(20).std() > index.pct_change().rolling(20).std().expanding(252).quantile(0.8))


@pytest.fixture(scope="module")
def indexed() -> tuple[pd.DataFrame, pd.Series]:
    closes = market(seed=5, days=1_000)
    return closes, (closes / closes.iloc[0]).mean(axis=1) * 100


@pytest.mark.parametrize("traded", ["index_ma", "vol_regime"])
def test_exits_from_the_market_follow_one_rule(tmp_path: Path, indexed: tuple[pd.DataFrame, pd.Series], traded: str) -> None:
    closes, index = indexed
    made = run(Rules(state=_timed(index, traded)), closes)
    extra = {"index.csv": pd.DataFrame({"date": index.index, "sp500_index": index.to_numpy()})}
    for rule in ("index_ma", "vol_regime"):
        files = made.files("Average of 200 sessions." if rule == "index_ma" else "Volatility of 20 sessions.", extra)
        assert show(tmp_path / rule, files, "timing", rule=rule).stance is (SUPPORTS if rule == traded else CONTRADICTS)


def test_a_state_that_is_followed_is_no_witness_for_another_rule(tmp_path: Path) -> None:
    made = run(Rules(drawdown=0.10))
    exposure = _exposure(made)
    states = pd.DataFrame({"date": exposure.index, "in_market": exposure.to_numpy() > 0.01})
    files = made.files("Breadth against averages of 200 sessions.", {"states.csv": states})
    assert show(tmp_path, files, "timing", rule="breadth").stance is CONTRADICTS


def _exposure(made: Run) -> pd.Series:
    signed = made.trades.assign(change=made.trades["shares"].where(made.trades["side"] == "BUY", -made.trades["shares"]))
    held = signed.pivot_table(index="fill_date", columns="ticker", values="change", aggfunc="sum").fillna(0.0).cumsum()
    held = held.reindex(made.equity.index).ffill().fillna(0.0)
    return (held * made.closes.reindex(held.index)[held.columns]).sum(axis=1) / made.equity


def _with_targets(made: Run) -> pd.DataFrame:
    trades = made.trades.copy()
    worth = made.equity.reindex(pd.DatetimeIndex(trades["fill_date"])).to_numpy()
    signed = trades["shares"].where(trades["side"] == "BUY", -trades["shares"])
    held = signed.groupby(trades["ticker"]).cumsum()
    return trades.assign(target_weight=(held * trades["price"] / worth).clip(lower=0).round(6))


def test_targets_in_the_log_are_kept_for_names_that_are_not_traded(tmp_path: Path) -> None:
    made = run(Rules(band=0.05))
    trades = _with_targets(made)
    files = made.files("Trade when a weight is off its target by a band of 5 percentage points.") | {"trades.csv": trades}
    package_ = make_package(tmp_path, files)
    targets = package_.fact(observations).ledger.targets
    assert targets is not None
    last = trades[trades["fill_date"] < trades["fill_date"].max()].drop_duplicates("ticker", keep="last").set_index("ticker")
    kept = [name for name in last.index if name not in set(trades.loc[trades["fill_date"] == trades["fill_date"].max(), "ticker"])]
    assert all(targets[name].iloc[-1] == pytest.approx(last.loc[name, "target_weight"]) for name in kept)


def test_a_few_dates_on_edges_of_months_are_no_calendar(tmp_path: Path) -> None:
    made = run(Rules())
    whole = make_package(tmp_path / "whole", made.files())
    assert calendar_kept(whole.fact(observations).ledger) == "monthly"
    days = made.trades["fill_date"].unique()[:3]
    few = make_package(tmp_path / "few", made.files() | {"trades.csv": made.trades[made.trades["fill_date"].isin(days)]})
    assert calendar_kept(few.fact(observations).ledger) is None


def _sectored(made: Run) -> Mapping[str, object]:
    sector = pd.DataFrame({"ticker": made.closes.columns, "sector": [f"S{k % 5}" for k in range(10)]})
    return made.files("Hold at most 40% in any one sector.", {"universe.csv": sector})


def _capped(closes: pd.DataFrame, at: int, names: list[str], scores: pd.Series) -> np.ndarray:
    sector = {name: k % 5 for k, name in enumerate(closes.columns)}
    weights = np.full(len(names), 1 / len(names))
    for one in range(5):
        inside = np.array([sector[name] == one for name in names])
        if weights[inside].sum() > 0.4:
            weights[inside] *= 0.4 / weights[inside].sum()
    return weights


def test_a_sector_cap_is_kept_or_not(tmp_path: Path) -> None:
    kept = run(Rules(weighting=_capped))
    assert show(tmp_path / "kept", _sectored(kept), "sector-cap", cap=0.4).stance is SUPPORTS
    broken = run(Rules(picks=2))
    assert show(tmp_path / "broken", _sectored(broken), "sector-cap", cap=0.4).stance is CONTRADICTS


def test_one_order_of_scripts(tmp_path: Path) -> None:
    files = {
        "REPORT.md": f"# R\n\n## Rules\n\n{RULES}\nThe tables were made by `make_tables.py`, which is started first.\n",
        "settings.py": "WINDOW = 20\n",
        "run_all.py": "import engine\nengine.main('a')\n",
        "make_tables.py": "import engine\nengine.main('b')\n",
        "engine.py": "def main(x):\n    return x\n",
    }
    found = newest_entry(make_package(tmp_path, files).fact(observations).ledger.delivered)
    assert found is not None
    assert found.where == "make_tables.py"


def test_what_the_curve_says(tmp_path: Path) -> None:
    made = run(Rules())
    bench = pd.DataFrame({"date": made.equity.index, "sp500_index": np.linspace(100, 400, len(made.equity))})
    facts = curve_facts(make_package(tmp_path, made.files(extra={"benchmark.csv": bench})))
    months = made.equity.groupby(made.equity.index.to_period("M")).last().pct_change().dropna()
    assert facts["losing_months"] == pytest.approx((months < -5e-4).sum(), abs=1)
    assert facts["worst_drawdown"] == pytest.approx((made.equity / made.equity.cummax() - 1).min(), abs=1e-6)
    (other,) = facts["benchmarks"]  # type: ignore[misc]
    assert other["benchmark"] == pytest.approx(3.0)  # type: ignore[index,call-overload]


def test_exits_before_the_average_is_full_say_nothing(tmp_path: Path, indexed: tuple[pd.DataFrame, pd.Series]) -> None:
    closes, index = indexed
    state = _timed(index, "index_ma")
    made = run(Rules(state=state), closes)
    exits = made.trades.loc[made.trades["reason"] == "timing off", "fill_date"].unique()
    late = index[index.index >= pd.Timestamp(exits[-1]) - pd.Timedelta(days=340)]
    states = pd.DataFrame({"date": state.index, "in_market": state.to_numpy()})
    files = made.files(
        "Average of 200 sessions.", {"states.csv": states, "index.csv": late.rename("sp500_index").rename_axis("date").reset_index()}
    )
    assert show(tmp_path, files, "timing", rule="index_ma").stance is SUPPORTS


@pytest.mark.parametrize(("target", "stance"), [(0.08, SUPPORTS), (None, CONTRADICTS)])
def test_a_volatility_target_that_partial_trades_hide(tmp_path: Path, target: float | None, stance: Stance) -> None:
    made = run(Rules(target=target, picks=2, weighting=lambda c, at, n, s: np.full(len(n), (1.0 if target else 0.97) / len(n))))
    assert show(tmp_path, made, "vol-target", target=0.08).stance is stance


def test_capitalisations_stand_in_a_table_of_their_own(tmp_path: Path) -> None:
    closes = market()
    shares = np.linspace(1e8, 9e9, len(closes.columns))

    def by_size(panel: pd.DataFrame, at: int, names: list[str], scores: pd.Series) -> np.ndarray:
        caps = (panel.iloc[at] * shares)[names].to_numpy()
        return caps / caps.sum()

    made = run(Rules(weighting=by_size, picks=4))
    caps = (closes * shares).rename_axis("date").reset_index().melt("date", var_name="ticker", value_name="marketCap")
    assert show(tmp_path, made.files(extra={"data/caps.csv": caps}), "market-cap-weights").stance is SUPPORTS


def test_a_yield_curve_rule_by_delivered_rates(tmp_path: Path) -> None:
    closes = market()
    slope = pd.Series(np.sin(np.arange(len(closes)) / 40.0), closes.index)
    rates = pd.DataFrame({"date": closes.index, "y10": 3.0 + slope.to_numpy(), "y2": 3.0})
    for obey, stance in ((True, SUPPORTS), (False, CONTRADICTS)):
        made = run(Rules(state=slope >= 0, obey=obey), closes)
        files = made.files("Cash while the curve is inverted.", {"rates.csv": rates})
        assert show(tmp_path / str(obey), files, "timing", rule="yield_curve").stance is stance


def test_a_few_short_exits_are_no_staying_invested(tmp_path: Path) -> None:
    closes = market()
    state = pd.Series(True, closes.index)
    for begin in (400, 520, 640):
        state.iloc[begin : begin + 6] = False
    others = {"risk": Observable("drawdown-to-cash", {"threshold": 0.5})}
    out = run(Rules(state=state), closes)
    assert show(tmp_path / "out", out, "always-invested", others).stance is CONTRADICTS
    assert show(tmp_path / "in", run(Rules(), closes), "always-invested", others).stance is SUPPORTS


def test_scores_under_the_factors_name_that_are_something_else(tmp_path: Path) -> None:
    draw = np.random.default_rng(4).normal(size=(2_000, 10))
    made = run(Rules(ranking=lambda closes, at: pd.Series(draw[at], closes.columns), schedule="quarterly"))
    rows = [
        (day, name, draw[made.closes.index.get_loc(day)][k])
        for day in pd.DatetimeIndex(made.trades["signal_date"].unique())
        for k, name in enumerate(made.closes.columns)
    ]
    signals = pd.DataFrame(rows, columns=["date", "ticker", "high_52w"])
    shown = show(tmp_path, made.files(extra={"signals.csv": signals}), "factor", factor="high_52w")
    assert shown.stance is CONTRADICTS
