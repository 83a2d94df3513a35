"""What calibration found in 3.4 and 2.8b: figures of a benchmark and of a signal that their own series deny, beside others that are right."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from backtest_faults import Fault, Files, add, simulated, spoiled, verdict

from finassay_checks.checks.backtest_benchmark import BenchmarkComparison
from finassay_checks.checks.backtest_signal_validation import SignalValidation
from finassay_checks.recompute.benchmark import comparison
from finassay_checks.recompute.benchmark_said import family


def _totals() -> tuple[float, float]:
    made = simulated()
    both = pd.concat([made.equity.set_index("date")["equity"], made.benchmark.set_index("date")["benchmark_equity"]], axis=1).dropna()
    growth = both.iloc[-1] / both.iloc[0] - 1
    return float(growth.iloc[0]), float(growth.iloc[1])


def _compared(shift: float, name: str, across: bool) -> Fault:
    """The series is called an index of 500; a table compares both, the benchmark's total return moved by `shift`."""
    mine, other = _totals()

    def change(files: Files) -> None:
        series = files["results/benchmark.csv"]
        assert isinstance(series, pd.DataFrame)
        files["results/benchmark.csv"] = series.assign(sp500_index=series["benchmark_equity"])
        lines = (
            f"| Metric | Strategy | {name} |\n|---|---|---|\n| Total return | {mine:.2%} | {other + shift:.2%} |"
            if across
            else f"| Portfolio | Total return |\n|---|---|\n| Strategy | {mine:.2%} |\n| {name} | {other + shift:.2%} |"
        )
        add(lines)(files)

    return change


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize(
    ("shift", "name", "wrong"),
    [
        (0.0, "S&P 500 index", False),
        (0.3, "S&P 500 index", True),
        (-0.3, "SPY", True),
        (0.3, "60/40 portfolio", False),
        (0.3, "S&P 500 with a 12% stop", False),
    ],
)
def test_a_stated_return_of_the_benchmark_that_its_series_denies(
    tmp_path: Path, shift: float, name: str, wrong: bool, across: bool
) -> None:
    said = add("The S&P 500 benchmark is compared with the strategy: 12.0 % for the index.")
    package = spoiled(tmp_path, _compared(shift, name, across), said)
    found = package.fact(comparison)
    assert (found.denied is not None) is wrong, found.denied
    assert (verdict(BenchmarkComparison, package).level <= 2) is wrong


def _rank_ic() -> float:
    made = simulated()
    closes = made.prices.pivot(index="date", columns="ticker", values="close")
    scores = made.signals.pivot(index="decision_date", columns="ticker", values="score")
    at = closes.reindex(scores.index)
    forward = at.shift(-1) / at - 1
    return float(np.mean([scores.loc[d].rank().corr(forward.loc[d].rank()) for d in scores.index[:-1]]))


def test_names_of_one_benchmark_alone() -> None:
    plain = ("S&P 500 index benchmark", "SPY buy and hold", "sp500_index", "equal_weight_universe", "Equal-weighted basket of all names")
    assert [family(name) for name in plain] == ["index", "index", "index", "equal", "equal"]
    assert not any(
        family(name) for name in ("Equal weight 20 + 12% stop", "SPY/AGG 60/40", "S&P 500 equal weight", "strategy", "spy_momentum")
    )


PARTS = "| period | signal rank IC | hit rate |\n|---|---|---|\n| first half | 0.02 | 50 % |\n| second half | {0:.3f} | 50 % |"


@pytest.mark.parametrize(
    ("said", "level"),
    [
        ("The signal has a mean rank IC of {0:.3f}, a score autocorrelation of {1:.2f} and a coverage of 100 %.", 4),
        ("The signal has a mean rank IC of {2:.3f}, a score autocorrelation of {1:.2f} and a coverage of 100 %.", 3),
        ("The signal has a rank IC standard deviation of 0.9, a score autocorrelation of {1:.2f} and a coverage of 100 %.", 4),
        ("In the crisis the signal had a rank IC of 0.9. It has a score autocorrelation of {1:.2f} and a coverage of 100 %.", 4),
    ],
)
def test_an_ic_that_the_delivered_signals_deny(tmp_path: Path, said: str, level: int) -> None:
    ic, steady = _rank_ic(), _steady()
    found = verdict(SignalValidation, spoiled(tmp_path, add(said.format(ic, steady, ic + 0.5)), add(PARTS.format(ic))))
    assert found.level == level, found.reason


def _steady() -> float:
    made = simulated()
    scores = made.signals.pivot(index="decision_date", columns="ticker", values="score")
    return float(np.mean([scores.iloc[i].rank().corr(scores.iloc[i + 1].rank()) for i in range(len(scores) - 1)]))
