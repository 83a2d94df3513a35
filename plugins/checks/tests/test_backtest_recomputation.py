"""3.2: planted faults in figures, log and curve."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from attrs import evolve

sys.path.insert(0, str(Path(__file__).parent))
from backtest_faults import (
    Fault,
    drop,
    drop_trades,
    package_of,
    say,
    shift_equity,
    simulated,
    spoiled,
    told,
    verdict,
    weights_files,
)

from finassay_checks.checks.backtest_recomputation import IndependentRecomputation, grade
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Figure, MetricMatch
from finassay_checks.recompute import exact, metric_matches, rebuilding
from finassay_checks.recompute.costs import costs
from finassay_checks.recompute.divergence import departure

M = simulated().metrics


def test_a_clean_delivery_matches_in_everything(tmp_path: Path) -> None:
    package = spoiled(tmp_path)
    found = verdict(IndependentRecomputation, package)
    assert found.level == 4
    assert found.facts["first_divergence"] is None
    near = package.fact(exact)
    assert near is not None
    assert near.share == 1.0
    assert near.findings == ()


@pytest.mark.parametrize("missing", ["data/prices.csv", "results/trades.csv"])
def test_without_prices_or_any_log_nothing_can_be_rebuilt(tmp_path: Path, missing: str) -> None:
    also = ["results/target_weights.csv", "results/positions.csv", "results/signals.csv"] if "trades" in missing else []
    found = verdict(IndependentRecomputation, spoiled(tmp_path, drop(missing, *also)))
    assert found.level == 0
    assert ("prices" if "prices" in missing else "trades") in found.reason


def test_a_drawdown_understated_costs_the_level(tmp_path: Path) -> None:
    shown, better = f"{M['max_drawdown']:.1%}", "-9.0%"
    found = verdict(IndependentRecomputation, spoiled(tmp_path, say(shown, better), say(f"{M['max_drawdown']:.2%}", better)))
    assert found.level == 2
    assert "max_drawdown does not match" in told(found)


def test_metrics_of_another_run_do_not_match(tmp_path: Path) -> None:
    def other(files: dict[str, object]) -> None:
        report = str(files["REPORT.md"])
        for name, value, shown in (
            ("annual_return", 0.31, "{:.1%}"), ("annual_return", 0.31, "{:.2%}"), ("total_return", 1.5, "{:.1%}"), ("total_return", 1.5, "{:.2%}"),
            ("annual_vol", 0.30, "{:.1%}"), ("annual_vol", 0.30, "{:.2%}"), ("sharpe", 1.9, "{:.2f}"), ("sharpe", 1.9, "{:.3f}"),
            ("max_drawdown", -0.05, "{:.1%}"), ("max_drawdown", -0.05, "{:.2%}"),
        ):  # fmt: skip
            report = report.replace(shown.format(M[name]), shown.format(value))
        files["REPORT.md"] = report
        del files["results/metrics.csv"]

    found = verdict(IndependentRecomputation, spoiled(tmp_path, other))
    assert found.level == 1
    assert "annual_return" in found.reason


def test_a_sharpe_with_365_days_is_named_inside_its_tolerance(tmp_path: Path) -> None:
    wrong = M["sharpe"] * (365 / 252) ** 0.5
    faults: tuple[Fault, ...] = (
        say(f"Sharpe {M['sharpe']:.2f}", f"Sharpe {wrong:.5f}"),
        say(f"| {M['sharpe']:.3f} |", f"| {wrong:.5f} |"),
        drop("results/metrics.csv"),
    )
    package = spoiled(tmp_path, *faults)
    found = verdict(IndependentRecomputation, package)
    assert found.level == 4
    assert "sqrt(365)" in told(found)
    near = package.fact(exact)
    assert near is not None
    assert any("sqrt(365)" in finding for finding in near.findings)


def test_an_edited_curve_is_found_by_date_and_amount(tmp_path: Path) -> None:
    package = spoiled(tmp_path, shift_equity(1.03, 400))
    found = verdict(IndependentRecomputation, package)
    day = simulated().equity["date"].iloc[400].date()
    assert f"first on {day}" in told(found)
    made = package.fact(rebuilding)
    assert made.rebuilt is not None
    assert made.rebuilt.first_divergence is not None
    assert made.rebuilt.first_divergence[1] == pytest.approx(0.03, abs=1e-3)
    near = package.fact(exact)
    assert near is not None
    assert near.findings


def test_a_curve_dated_one_row_late_is_said_to_be(tmp_path: Path) -> None:
    def later(files: dict[str, object]) -> None:
        frame = files["results/equity.csv"]
        assert isinstance(frame, pd.DataFrame)
        worth = frame["equity"].to_numpy()
        files["results/equity.csv"] = frame.assign(equity=np.concatenate(([1_000_000.0], worth[:-1]))).drop(columns=["ret", "cash", "fees"])

    found = departure(spoiled(tmp_path, later).fact(rebuilding))
    assert found is not None
    assert "one row later" in found.cause


def test_a_log_without_every_tenth_trade_does_not_match(tmp_path: Path) -> None:
    found = verdict(IndependentRecomputation, spoiled(tmp_path, drop_trades(10)))
    assert found.level < 4
    assert "trades" in found.reason


def test_a_wrong_trade_count_is_no_level_four(tmp_path: Path) -> None:
    count = int(M["trades"])
    found = verdict(
        IndependentRecomputation, spoiled(tmp_path, say(f"{count} trades", f"{count + 7} trades"), say(f"| {count} |", f"| {count + 7} |"))
    )
    assert found.level == 3
    assert "not trades" in found.reason


def test_a_report_without_metrics_stays_at_one(tmp_path: Path) -> None:
    def silent(files: dict[str, object]) -> None:
        files["REPORT.md"] = (
            "# Report\n\n" + "The rules were followed as agreed and the files hold everything that was computed on the way here. " * 3
        )
        del files["results/metrics.csv"]

    found = verdict(IndependentRecomputation, spoiled(tmp_path, silent))
    assert found.level == 1
    assert "no metric" in found.reason


def test_two_different_figures_for_one_metric_are_shown(tmp_path: Path) -> None:
    found = verdict(IndependentRecomputation, spoiled(tmp_path, say(f"| {M['sharpe']:.3f} |", "| 0.412 |")))
    assert "reported twice" in told(found)


@pytest.mark.parametrize("lag", [1, 0])
def test_weights_and_prices_rebuild_what_weights_earn_from_the_next_day(tmp_path: Path, lag: int) -> None:
    """With lag 0 a weight earns its own day: the rebuilt curve does not."""
    found = verdict(IndependentRecomputation, package_of(tmp_path, weights_files(lag)))
    assert found.facts["source"] == "weights"
    assert (found.level >= 2) == (lag == 1)


def test_a_figure_gross_of_costs_is_compared_gross(tmp_path: Path) -> None:
    clean = spoiled(tmp_path)
    read = clean.fact(read_delivery)
    gross = clean.fact(costs).gross
    assert gross is not None
    for value, basis in ((gross, {"costs": "gross: gross"}), (gross + 0.03, {"costs": "gross: gross"})):
        package = evolve(clean, facts={})
        package._facts[read_delivery] = evolve(
            read, figures=(Figure("annual_return", value, 5e-5, "REPORT.md", "annual return gross of costs", basis),)
        )
        (match_,) = package.fact(metric_matches)
        assert match_.recomputed == pytest.approx(gross, abs=1e-4)
        assert match_.matches == (value == gross)


def match(metric: str, fits: bool, recomputed: float | None = 1.0, convention: str = "") -> MetricMatch:
    return MetricMatch(metric, 1.0, recomputed, 0.1, fits, convention)


@pytest.mark.parametrize(
    ("matches", "level"),
    [
        ((), 1),
        ((match("annual_return", False), match("sharpe", True)), 1),
        ((match("annual_return", True), match("sharpe", False), match("trades", False)), 1),
        ((match("annual_return", True), match("sharpe", False)), 2),
        (
            (match("annual_return", True), match("max_drawdown", True), match("sharpe", True), match("trades", True), match("beta", False)),
            3,
        ),
        ((match("total_return", True), match("max_drawdown", True), match("sharpe", True)), 3),
        ((match("total_return", True), match("max_drawdown", True), match("sharpe", True), match("trades", True)), 4),
        (
            (
                match("total_return", True),
                match("max_drawdown", True),
                match("sharpe", False, None, "fewer than 60 returns: not compared"),
                match("trades", True),
            ),
            4,
        ),
        (
            (
                match("total_return", True),
                match("max_drawdown", True),
                match("sharpe", True),
                match("trades", True),
                match("beta", False, None, "no benchmark"),
            ),
            3,
        ),
    ],
)
def test_the_ladder(matches: tuple[MetricMatch, ...], level: int) -> None:
    assert grade(matches)[0] == level
