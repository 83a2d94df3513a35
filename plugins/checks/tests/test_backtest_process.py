"""3.8, 2.12 and 3.5: the chain, the explanations, the costs."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from backtest_faults import (
    Fault,
    Files,
    add,
    clean_files,
    drop,
    drop_columns,
    no_fees,
    package_of,
    say,
    shift_equity,
    simulated,
    spoiled,
    told,
    verdict,
)

from finassay.testing.samples import sample_package
from finassay_checks.checks.backtest_costs import CostModel
from finassay_checks.checks.backtest_explainability import DecisionExplainability
from finassay_checks.checks.backtest_process import ProcessCompleteness
from finassay_checks.options import NoOptions
from finassay_checks.recompute.costs import costs

M = simulated().metrics
TRADES = "results/trades.csv"


def headline_gone(files: Files) -> None:
    report = files["REPORT.md"]
    files["REPORT.md"] = report[: report.index("| metric | strategy |")] + report[report.index("All figures can be") :]
    del files["results/metrics.csv"]


def without_signals(files: Files) -> None:
    del files["results/signals.csv"]
    files[TRADES] = files[TRADES].drop(columns="decided_by")


def without_targets(files: Files) -> None:
    for path in ("results/target_weights.csv", "results/positions.csv"):
        del files[path]
    files[TRADES] = files[TRADES].drop(columns=["target_weight", "weight_before"])


def without_equity(files: Files) -> None:
    del files["results/equity.csv"]
    del files["results/benchmark.csv"]


def without_prices(files: Files) -> None:
    del files["data/prices.csv"]


LADDER: list[tuple[tuple[Fault, ...], int]] = [
    ((), 4),
    ((without_signals,), 3),
    ((without_signals, without_targets), 2),
    ((without_signals, without_targets, without_equity), 1),
    ((without_signals, without_targets, without_equity, without_prices, headline_gone), 0),
]


@pytest.mark.parametrize(("faults", "level"), LADDER)
def test_levels_count_parts(tmp_path: Path, faults: tuple[Fault, ...], level: int) -> None:
    found = verdict(ProcessCompleteness, spoiled(tmp_path, *faults))
    assert found.level == level, found.reason


def test_a_missing_price_table_fails_and_its_links_are_not_counted(tmp_path: Path) -> None:
    found = verdict(ProcessCompleteness, spoiled(tmp_path, without_prices))
    assert found.level == 3
    assert found.facts["missing"] == ["prices"]
    assert found.facts["broken"] == []


def test_an_edited_curve_breaks_the_link_of_the_equity(tmp_path: Path) -> None:
    found = verdict(ProcessCompleteness, spoiled(tmp_path, shift_equity(1.02, 500)))
    assert found.level == 3
    assert "equity" in found.facts["broken"]


def test_metrics_of_another_run_break_their_link(tmp_path: Path) -> None:
    better = (say(f"{M['annual_return']:.1%}", "14.0%"), say(f"{M['annual_return']:.2%}", "14.00%"))
    found = verdict(ProcessCompleteness, spoiled(tmp_path, *better))
    assert found.facts["broken"] == ["metrics"]


def test_positions_that_the_fills_do_not_give_break_the_targets(tmp_path: Path) -> None:
    def other(files: Files) -> None:
        positions = files["results/positions.csv"]
        names = [c for c in positions.columns if c not in ("date", "cash")]
        files["results/positions.csv"] = positions.assign(**{c: positions[names[i - 1]] for i, c in enumerate(names)})
        files["results/target_weights.csv"]["target_weight"] = 0.1
        files[TRADES]["target_weight"] = 0.1

    assert "target weights or positions" in verdict(ProcessCompleteness, spoiled(tmp_path, other)).facts["broken"]


def test_a_purchase_without_a_signal_breaks_the_signals(tmp_path: Path) -> None:
    def thin(files: Files) -> None:
        signals = files["results/signals.csv"]
        files["results/signals.csv"] = signals[signals["rank"] > 1]

    found = verdict(ProcessCompleteness, spoiled(tmp_path, thin))
    assert "signals" in found.facts["broken"]


def test_a_held_day_without_a_price_is_named_and_breaks_nothing_alone(tmp_path: Path) -> None:
    def gap(files: Files) -> None:
        prices = files["data/prices.csv"]
        held = (prices["date"] == "2014-06-18") & prices["ticker"].isin(["AAPL", "AMD", "BAC", "CVX", "GE", "HD", "JNJ", "KO"])
        files["data/prices.csv"] = prices[~held]

    found = verdict(ProcessCompleteness, spoiled(tmp_path, gap))
    assert found.level == 4

    def long_gap(files: Files) -> None:
        prices = files["data/prices.csv"]
        files["data/prices.csv"] = prices[~((prices["ticker"] == "AMD") & (prices["date"] == pd.Timestamp("2014-06-18")))]

    named = verdict(ProcessCompleteness, spoiled(tmp_path / "one", long_gap))
    holding = simulated().positions.set_index("date")["AMD"]
    assert ("AMD held on 2014-06-18" in told(named)) == (holding.loc["2014-06-18"] > 0)


@pytest.mark.parametrize("source", ["universe", "text", "signals"])
def test_a_universe_may_be_a_table_a_list_or_a_cross_section(tmp_path: Path, source: str) -> None:
    gone: list[Fault] = [] if source == "universe" else [drop("data/universe.csv")]
    if source == "text":
        gone += [add("The eight names are AAPL, AMD, BAC, CVX, GE, HD, JNJ and KO."), drop("results/signals.csv")]
    found = verdict(ProcessCompleteness, spoiled(tmp_path, *gone))
    assert "universe" in found.facts["present"]


def test_traded_names_outside_a_dated_universe_break_its_link(tmp_path: Path) -> None:
    def dated(files: Files) -> None:
        files["data/universe.csv"] = files["data/universe.csv"].assign(start="2016-06-01", end="2016-12-31")

    assert "universe" in verdict(ProcessCompleteness, spoiled(tmp_path, dated)).facts["broken"]


def unexplained(share: float) -> Fault:
    """Take signal date, reason and weights from the first part of the log."""

    def fault(files: Files) -> None:
        trades = files[TRADES]
        rows = trades.index[: int(len(trades) * share)]
        for column in ("signal_date", "reason", "decided_by", "weight_before", "target_weight"):
            trades[column] = trades[column].astype(object)
            trades.loc[rows, column] = None
        files["results/signals.csv"] = files["results/signals.csv"].drop(columns="fill_date")
        files["results/target_weights.csv"] = files["results/target_weights.csv"].drop(columns="fill_date")

    return fault


@pytest.mark.parametrize(("share", "level"), [(0.0, 4), (0.15, 3), (0.6, 2), (0.9, 1)])
def test_explained_fills(tmp_path: Path, share: float, level: int) -> None:
    faults = (unexplained(share),) if share else ()
    found = verdict(DecisionExplainability, spoiled(tmp_path, *faults))
    assert found.level == level, found.reason


def test_no_log_explains_nothing(tmp_path: Path) -> None:
    assert verdict(DecisionExplainability, spoiled(tmp_path, drop(TRADES))).level == 0


def test_deciding_values_that_disagree_are_no_level_four(tmp_path: Path) -> None:
    def wrong(files: Files) -> None:
        files[TRADES]["decided_by"] = pd.to_numeric(files[TRADES]["decided_by"]) * 1.5 + 0.1

    found = verdict(DecisionExplainability, spoiled(tmp_path, wrong))
    assert found.level == 3
    assert "values agree" in found.reason


def test_date_and_reason_alone_are_half(tmp_path: Path) -> None:
    half = (drop_columns(TRADES, "decided_by"), drop("results/signals.csv"))
    found = verdict(DecisionExplainability, spoiled(tmp_path, *half))
    assert found.facts["share"] == 0.5
    assert found.level == 2


def uncosted(files: Files) -> None:
    no_fees(files)
    del files["results/metrics.csv"]


def wordless(files: Files) -> None:
    """Not a word about costs."""
    uncosted(files)
    report = (
        files["REPORT.md"].replace("| cost | 10 bp of traded value per side |\n", "").replace(f"| Total fees | ${M['fees']:,.2f} |\n", "")
    )
    files["REPORT.md"] = report.replace(" net of costs", "").replace("Net of costs, ", "")


def half_charged(files: Files) -> None:
    files[TRADES].loc[files[TRADES].index[::2], "fee"] = 0.0


def test_costs_never_mentioned(tmp_path: Path) -> None:
    assert verdict(CostModel, spoiled(tmp_path, wordless)).level == 0


def test_costs_stated_but_not_charged(tmp_path: Path) -> None:
    assert verdict(CostModel, spoiled(tmp_path, uncosted)).level == 1


def test_costs_in_some_fills(tmp_path: Path) -> None:
    assert verdict(CostModel, spoiled(tmp_path, half_charged)).level == 2


def test_costs_in_all_fills_without_gross(tmp_path: Path) -> None:
    assert verdict(CostModel, spoiled(tmp_path)).level == 3


def gross(tmp_path: Path) -> float:
    value = spoiled(tmp_path).fact(costs).gross
    assert value is not None
    return value


def test_gross_and_net_that_recompute(tmp_path: Path) -> None:
    value = gross(tmp_path / "own")
    returns = simulated().equity.set_index("date")
    before = returns["equity"].shift(1)
    plain = (returns["ret"] + returns["fees"] / before).iloc[1:]
    assert value == pytest.approx((1 + plain).prod() ** (252 / len(plain)) - 1, abs=1e-4)
    found = verdict(CostModel, spoiled(tmp_path, add(f"Gross of costs the annual return is {value:.2%}.")))
    assert found.level == 4


@pytest.mark.parametrize(("offset", "level"), [(0.0, 4), (0.02, 3)])
def test_a_gross_figure_must_recompute(tmp_path: Path, offset: float, level: int) -> None:
    value = gross(tmp_path / "own")
    assert verdict(CostModel, spoiled(tmp_path, add(f"Before costs the strategy made {value + offset:.2%} a year."))).level == level


def test_a_yearly_drag_will_do(tmp_path: Path) -> None:
    own = spoiled(tmp_path / "own").fact(costs)
    assert own.gross is not None
    assert own.net is not None
    drag = own.gross - own.net
    assert verdict(CostModel, spoiled(tmp_path, add(f"The cost drag is {drag:.2%} a year."))).level == 4


def free(files: Files) -> None:
    """A backtest without costs that says so: fees neither logged nor charged."""
    wordless(files)
    equity = files["results/equity.csv"]
    made = simulated()
    paid = made.equity["fees"].cumsum()
    equity["equity"], equity["cash"] = made.equity["equity"] + paid, made.equity["cash"] + paid
    equity["ret"] = equity["equity"].pct_change().fillna(0.0)
    files["results/positions.csv"]["cash"] += paid.to_numpy()
    files["REPORT.md"] = files["REPORT.md"].replace("## Limitations", "There are no transaction costs, as you asked.\n\n## Limitations")


def test_explicitly_without_costs(tmp_path: Path) -> None:
    assert verdict(CostModel, spoiled(tmp_path, free)).level == 3


def test_a_sensitivity_that_recomputes(tmp_path: Path) -> None:
    package = spoiled(tmp_path / "own", free)
    from finassay_checks.recompute.rebuilt import rebuilding

    made = package.fact(rebuilding)
    assert made.rebuilt is not None
    assert made.fills is not None
    worth = made.rebuilt.equity
    traded = (made.fills["shares"] * made.fills["price"]).abs().groupby(made.fills["date"]).sum().reindex(worth.index).fillna(0.0)
    returns = (worth.pct_change() - 0.001 * traded / worth.shift(1)).dropna()
    value = float(np.prod(1 + returns)) ** (252 / len(returns)) - 1
    for shown, level in ((value, 4), (value + 0.03, 3)):
        said = add(f"At 10 bp on each traded dollar the annual return would be {shown:.2%}.")

        def plain(files: Files, said: Fault = said) -> None:
            free(files)
            said(files)

        found = package_of(tmp_path / f"{level}", _made(plain))
        assert verdict(CostModel, found).level == level


def _made(fault: Fault) -> Files:
    files = clean_files()
    fault(files)
    return files


def test_files_that_cannot_be_looked_into_are_told_beside_the_parts(tmp_path):
    files = {"model.pkl": b"\x80\x04", "all.zip": b"PK\x03\x04", "bad.parquet": b"no parquet", "good.csv": b"date,close\n2019-01-02,1\n"}
    package = sample_package(tmp_path, files, (("user", "Hi."), ("agent", "Done.")))
    told = ProcessCompleteness(NoOptions()).run(package, {}).facts["unread"]
    assert {entry["file"] for entry in told} == {"model.pkl", "all.zip", "bad.parquet"}
    assert all(entry["reason"] for entry in told)
