"""The observable tests on backtests whose rules are known: each supports its own option and denies the one that was planted instead."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest
from attrs import evolve

from finassay.api.strategy import Observable, Stance
from finassay_checks.fidelity.observe import Observations, observations
from finassay_checks.fidelity.shown import Shown

from .deliveries import make_package
from .fidelity_market import (
    Rules,
    Run,
    calm,
    equal,
    inverse_vol,
    market,
    minimum_variance,
    momentum,
    risk_parity,
    run,
    score_share,
    z_mean,
)

SUPPORTS, CONTRADICTS, CANNOT_TELL = Stance.SUPPORTS, Stance.CONTRADICTS, Stance.CANNOT_TELL


def show(
    tmp_path: Path,
    made: Run | Mapping[str, object],
    test: str,
    others: Mapping[str, Observable] | None = None,
    text: str = "",
    **arguments: str | float,
) -> Shown:
    own = Observable(test, arguments)
    package = make_package(tmp_path, made.files(text) if isinstance(made, Run) else dict(made))  # type: ignore[arg-type]
    package = evolve(package, task=evolve(package.task, observables={"own": own, **(others or {})}))
    return package.fact(observations).show(own)


@pytest.mark.parametrize(
    ("ranking", "held", "stance"),
    [
        (momentum(126, 21), "mom_6_1", SUPPORTS),
        (momentum(126, 21), "mom_12_1", CONTRADICTS),
        (momentum(252, 21), "mom_12_1", SUPPORTS),
        (calm(63), "low_vol", SUPPORTS),
        (calm(63), "mom_6_1", CONTRADICTS),
        (momentum(126, 21), "rev_5d", CONTRADICTS),
    ],
)
def test_one_factor(tmp_path: Path, ranking: object, held: str, stance: Stance) -> None:
    assert show(tmp_path, run(Rules(ranking=ranking)), "factor", factor=held).stance is stance  # type: ignore[arg-type]


def test_two_factors_and_their_combination(tmp_path: Path) -> None:
    made = run(Rules(ranking=z_mean(momentum(126, 21), calm(60))))
    others = {
        "a": Observable("factor", {"factor": "mom_6_1"}),
        "b": Observable("factor", {"factor": "low_vol"}),
        "c": Observable("combination", {"method": "zscore_mean"}),
    }
    package = make_package(tmp_path, made.files())
    package = evolve(package, task=evolve(package.task, observables=others))
    seen = package.fact(observations)
    assert [seen.show(o).stance for o in others.values()] == [SUPPORTS] * 3
    assert seen.show(Observable("combination", {"method": "screen_then_rank"})).stance is CONTRADICTS


def test_a_factor_that_was_left_out(tmp_path: Path) -> None:
    others = {"a": Observable("factor", {"factor": "low_vol"}), "c": Observable("combination", {"method": "zscore_mean"})}
    made = run(Rules(ranking=calm(60), picks=2))
    assert show(tmp_path, made, "factor", others, factor="mom_6_1").stance is not SUPPORTS


def test_factors_that_prices_cannot_serve(tmp_path: Path) -> None:
    assert show(tmp_path, run(Rules()), "factor", factor="roe").stance is CANNOT_TELL


@pytest.mark.parametrize(
    ("weighting", "test", "stance"),
    [
        (equal, "equal-weights", SUPPORTS),
        (inverse_vol, "equal-weights", CONTRADICTS),
        (inverse_vol, "inverse-vol-weights", SUPPORTS),
        (equal, "inverse-vol-weights", CONTRADICTS),
        (score_share, "score-weights", SUPPORTS),
        (equal, "score-weights", CONTRADICTS),
        (equal, "market-cap-weights", CANNOT_TELL),
    ],
)
def test_weights_by_formula(tmp_path: Path, weighting: object, test: str, stance: Stance) -> None:
    others = {"f": Observable("factor", {"factor": "mom_6_1"})}
    assert show(tmp_path, run(Rules(weighting=weighting)), test, others).stance is stance  # type: ignore[arg-type]


def test_weights_with_exposure_below_one(tmp_path: Path) -> None:
    assert show(tmp_path, run(Rules(weighting=inverse_vol, target=0.08)), "inverse-vol-weights").stance is SUPPORTS


RISK_PARITY = {
    "w": Observable("optimised-weights", {"weighting": "risk_parity", "covariance": "sample"}),
    "c": Observable("covariance", {"estimator": "sample"}),
}


@pytest.mark.parametrize(
    ("weighting", "stance"),
    [(risk_parity(), SUPPORTS), (equal, CONTRADICTS), (minimum_variance(), CANNOT_TELL)],
    ids=["parity", "equal", "minimum"],
)
def test_risk_parity_is_solved_again(tmp_path: Path, weighting: object, stance: Stance) -> None:
    made = run(Rules(weighting=weighting, picks=5))  # type: ignore[arg-type]
    assert show(tmp_path, made, "optimised-weights", RISK_PARITY, weighting="risk_parity", covariance="sample").stance is stance


@pytest.mark.parametrize(("kind", "stance"), [("sample", SUPPORTS), ("ewma", CONTRADICTS)])
def test_the_covariance_estimator(tmp_path: Path, kind: str, stance: Stance) -> None:
    made = run(Rules(weighting=minimum_variance(kind), picks=6))
    others = {"w": Observable("optimised-weights", {"weighting": "mean_variance", "covariance": "sample"})}
    text = "| sizing | minimum variance, long only |\n|---|---|\n| covariance | of the last 126 days |\n"
    assert show(tmp_path, made, "covariance", others, text, estimator="sample", weighting="mean_variance").stance is stance


def test_an_estimator_without_stated_inputs_is_read_from_the_code(tmp_path: Path) -> None:
    made = run(Rules(weighting=minimum_variance(), picks=4))
    for code, stance in (
        ("from sklearn.covariance import LedoitWolf\nC = LedoitWolf().fit(r)\n", SUPPORTS),
        ("import numpy as np\nC = np.cov(r)\n", CONTRADICTS),
    ):
        files = {**made.files(), "code/run_backtest.py": code}
        shown = show(
            tmp_path,
            files,
            "covariance",
            {"w": Observable("optimised-weights", {"weighting": "mean_variance"})},
            estimator="shrinkage",
            weighting="mean_variance",
        )
        assert shown.stance is stance


@pytest.mark.parametrize(
    ("schedule", "held", "stance"),
    [
        ("monthly", "monthly", SUPPORTS),
        ("weekly", "weekly", SUPPORTS),
        ("quarterly", "quarterly", SUPPORTS),
        ("monthly", "weekly", CONTRADICTS),
        ("weekly", "quarterly", CONTRADICTS),
    ],
)
def test_schedules(tmp_path: Path, schedule: str, held: str, stance: Stance) -> None:
    assert show(tmp_path, run(Rules(schedule=schedule)), "schedule", period=held).stance is stance


@pytest.mark.parametrize(("band", "stance"), [(0.05, SUPPORTS), (None, CONTRADICTS)])
def test_drift_band(tmp_path: Path, band: float | None, stance: Stance) -> None:
    text = "| rebalancing | when a weight is more than 5 % off its target (drift band 5 %) |\n|---|---|\n"
    assert show(tmp_path, run(Rules(band=band)), "drift-band", text=text).stance is stance


@pytest.mark.parametrize(("rate", "bps", "stance"), [(0.001, 10.0, SUPPORTS), (0.001, 15.0, CONTRADICTS), (0.0, 10.0, CONTRADICTS)])
def test_fee_rate(tmp_path: Path, rate: float, bps: float, stance: Stance) -> None:
    assert show(tmp_path, run(Rules(rate=rate)), "fee-rate", bps=bps).stance is stance


@pytest.mark.parametrize(
    ("stop", "obey", "test", "stance"),
    [
        (("position", 0.08), True, "position-stop", SUPPORTS),
        (("trailing", 0.08), True, "trailing-stop", SUPPORTS),
        (("trailing", 0.08), True, "position-stop", CONTRADICTS),
        (("position", 0.08), False, "position-stop", CONTRADICTS),
        (None, True, "trailing-stop", CONTRADICTS),
    ],
)
def test_stops(tmp_path: Path, stop: tuple[str, float] | None, obey: bool, test: str, stance: Stance) -> None:
    made = run(Rules(stop=stop, obey=obey, schedule="quarterly", picks=4))
    text = "| risk control | 8 % stop |\n|---|---|\n"
    assert show(tmp_path, made, test, text=text, threshold=0.08).stance is stance


def test_a_stop_that_was_never_reached(tmp_path: Path) -> None:
    assert show(tmp_path, run(Rules()), "position-stop", threshold=0.9).stance is CANNOT_TELL


@pytest.mark.parametrize(("obey", "stance"), [(True, SUPPORTS), (False, CONTRADICTS)])
def test_drawdown_to_cash(tmp_path: Path, obey: bool, stance: Stance) -> None:
    assert show(tmp_path, run(Rules(drawdown=0.10, obey=obey)), "drawdown-to-cash", threshold=0.10).stance is stance


@pytest.mark.parametrize(("target", "stance"), [(0.10, SUPPORTS), (None, CONTRADICTS)])
def test_vol_target(tmp_path: Path, target: float | None, stance: Stance) -> None:
    assert show(tmp_path, run(Rules(target=target)), "vol-target", target=0.10).stance is stance


def index_of(closes: pd.DataFrame) -> pd.Series:
    return 100 * (closes / closes.iloc[0]).mean(axis=1)


def states(closes: pd.DataFrame, rule: str) -> pd.Series:
    index = index_of(closes)
    if rule == "index_ma":
        return index > index.rolling(100).mean()
    if rule == "index_abs_mom":
        return index / index.shift(252) > 1
    return ((closes > closes.rolling(100).mean()).mean(axis=1)) > 0.5


@pytest.mark.parametrize("rule", ["index_ma", "index_abs_mom", "breadth"])
@pytest.mark.parametrize("obey", [True, False])
def test_timing(tmp_path: Path, rule: str, obey: bool) -> None:
    closes = market()
    made = run(Rules(state=states(closes, rule), obey=obey), closes)
    benchmark = pd.DataFrame({"date": closes.index, "benchmark_equity": index_of(closes).to_numpy()})
    files = {**made.files("| timing | 100-day average |\n|---|---|\n"), "benchmark.csv": benchmark}
    shown = show(tmp_path, files, "timing", rule=rule)
    assert shown.stance is (SUPPORTS if obey else CONTRADICTS), shown


def test_sector_cap(tmp_path: Path) -> None:
    made = run(Rules(picks=5))
    apart = pd.DataFrame({"ticker": made.closes.columns, "sector": [f"s{i}" for i in range(10)]})
    together = apart.assign(sector="one")
    for table, stance in ((apart, SUPPORTS), (together, CONTRADICTS)):
        assert show(tmp_path, {**made.files(), "sectors.csv": table}, "sector-cap", cap=0.25).stance is stance
    assert show(tmp_path, made, "sector-cap", cap=0.25).stance is CANNOT_TELL


@pytest.mark.parametrize(
    ("rules", "test", "stance"),
    [
        (Rules(rate=0.0), "no-cost", SUPPORTS),
        (Rules(), "no-cost", CONTRADICTS),
        (Rules(), "always-invested", SUPPORTS),
        (Rules(), "no-control", SUPPORTS),
        (Rules(stop=("trailing", 0.08), schedule="quarterly"), "no-control", CONTRADICTS),
        (Rules(), "long-only", SUPPORTS),
    ],
)
def test_session_items(tmp_path: Path, rules: Rules, test: str, stance: Stance) -> None:
    assert show(tmp_path, run(rules), test, text="| stop | 8 % trailing stop |\n|---|---|\n" if rules.stop else "").stance is stance


ALL = (
    "factor",
    "combination",
    "timing",
    "equal-weights",
    "score-weights",
    "inverse-vol-weights",
    "market-cap-weights",
    "optimised-weights",
    "covariance",
    "position-stop",
    "trailing-stop",
    "drawdown-to-cash",
    "sector-cap",
    "vol-target",
    "schedule",
    "drift-band",
    "on-event",
    "fee-rate",
    "long-only",
    "no-cost",
    "always-invested",
    "no-control",
)
ARGUMENTS = {
    "factor": "mom_6_1",
    "method": "zscore_mean",
    "rule": "index_ma",
    "weighting": "risk_parity",
    "covariance": "sample",
    "estimator": "sample",
    "threshold": 0.1,
    "cap": 0.3,
    "target": 0.1,
    "period": "monthly",
    "bps": 10.0,
}


def test_nothing_delivered_tells_nothing(tmp_path: Path) -> None:
    seen = seen_by(tmp_path, {})
    assert {seen.show(Observable(test, ARGUMENTS)).stance for test in (*ALL, "no such test")} == {CANNOT_TELL}


def seen_by(tmp_path: Path, files: Mapping[str, object]) -> Observations:
    return make_package(tmp_path, dict(files)).fact(observations)  # type: ignore[arg-type]


def test_broken_tables_never_raise(tmp_path: Path) -> None:
    trades = "date,ticker,side,shares,price\n2015-01-05,AAPL,BUY,nan,inf\n,,,,\n2015-01-06,AAPL,SELL,1e308,0\n"
    seen = seen_by(tmp_path, {"trades.csv": trades, "prices.csv": "date,ticker,close\n2015-01-05,AAPL,1e400\n"})
    assert all(seen.show(Observable(test, ARGUMENTS)).stance is not SUPPORTS for test in ALL if test not in ("long-only", "no-control"))


def test_wrong_arguments_tell_nothing(tmp_path: Path) -> None:
    seen = seen_by(tmp_path, run(Rules()).files())
    needy = ("factor", "timing", "covariance", "schedule", "fee-rate", "position-stop", "vol-target", "sector-cap")
    assert {test: seen.show(Observable(test)).stance for test in needy} == dict.fromkeys(needy, CANNOT_TELL)
