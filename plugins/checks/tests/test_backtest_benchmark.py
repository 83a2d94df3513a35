"""3.4 and 2.8b: the comparison with a benchmark, the statistics of the signal."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from backtest_faults import Fault, Files, add, drop, simulated, spoiled, told, verdict

from finassay.api.grading import Answer, Quote
from finassay.api.verdict import Source
from finassay_checks.checks.backtest_benchmark import QUESTION, BenchmarkComparison
from finassay_checks.checks.backtest_signal_validation import SignalValidation
from finassay_checks.recompute.benchmark import comparison
from finassay_checks.recompute.signal_statistics import signal_statistics

BENCHMARK = "results/benchmark.csv"
NO_SERIES = drop(BENCHMARK)


def own() -> dict[str, float]:
    made = simulated()
    both = pd.concat([made.equity.set_index("date")["equity"], made.benchmark.set_index("date")["benchmark_equity"]], axis=1).dropna()
    growth = both.iloc[-1] / both.iloc[0]
    annual = growth ** (252 / (len(both) - 1)) - 1
    return {"strategy": float(annual.iloc[0]), "benchmark": float(annual.iloc[1])}


OWN = own()
NUMBERS = add(
    f"The benchmark, an equal-weight basket of all eight names, returned {OWN['benchmark']:.1%} a year, the strategy {OWN['strategy']:.1%}."
)


def answered(**labels: str) -> dict[str, Answer]:
    return {
        QUESTION.id: Answer(
            reason="read", labels=labels, case_quotes={k: Quote("benchmark", "REPORT.md") for k, v in labels.items() if v == "yes"}
        )
    }


FITS = answered(**{"named": "yes", "claim": "yes", "numbers": "yes", "fits-universe": "yes"})


@pytest.mark.parametrize(
    ("faults", "level"),
    [
        ((NO_SERIES,), 0),
        ((NO_SERIES, add("The strategy beat the S&P 500 clearly.")), 0),
        ((NO_SERIES, add("The S&P 500 serves as the benchmark.")), 1),
        ((NO_SERIES, NUMBERS), 2),
        ((NUMBERS,), 3),
    ],
)
def test_levels_that_a_program_can_tell(tmp_path: Path, faults: tuple[Fault, ...], level: int) -> None:
    found = verdict(BenchmarkComparison, spoiled(tmp_path, *faults))
    assert found.level == level, found.reason
    assert found.source is Source.PROGRAM


def test_a_judge_settles_whether_it_fits(tmp_path: Path) -> None:
    package = spoiled(tmp_path, NUMBERS)
    assert verdict(BenchmarkComparison, package, FITS).level == 4
    assert verdict(BenchmarkComparison, package, FITS).source is Source.HYBRID
    assert verdict(BenchmarkComparison, package, answered(**{"named": "yes", "numbers": "yes", "fits-universe": "no"})).level == 3
    open_ = verdict(BenchmarkComparison, package)
    assert open_.unverified == ("benchmark fits the universe",)


def test_a_judges_no_lowers_what_a_program_believed(tmp_path: Path) -> None:
    package = spoiled(tmp_path, NUMBERS)
    assert verdict(BenchmarkComparison, package, answered(named="yes", claim="no", numbers="no")).level == 1
    assert verdict(BenchmarkComparison, package, answered(named="yes", claim="yes", numbers="no")).level == 0


def other_dates(files: Files) -> None:
    files[BENCHMARK] = files[BENCHMARK].assign(date=pd.to_datetime(files[BENCHMARK]["date"]) - pd.DateOffset(years=2))


def coarser(files: Files) -> None:
    frame = files[BENCHMARK]
    files[BENCHMARK] = frame[pd.to_datetime(frame["date"]).dt.to_period("M").ne(pd.to_datetime(frame["date"]).shift(-1).dt.to_period("M"))]


@pytest.mark.parametrize("fault", [other_dates, coarser])
def test_a_series_on_other_dates_or_a_coarser_one_is_level_two(tmp_path: Path, fault: Fault) -> None:
    assert verdict(BenchmarkComparison, spoiled(tmp_path, NUMBERS, fault), FITS).level == 2


def test_an_excess_that_does_not_recompute_is_level_three(tmp_path: Path) -> None:
    wrong = add("The benchmark, an equal-weight basket of all eight names, returned 1.0% a year, so we were ahead by 40%.")
    package = spoiled(tmp_path, wrong)
    assert package.fact(comparison).excess is None
    assert verdict(BenchmarkComparison, package, FITS).level == 3


def test_a_stated_excess_will_do(tmp_path: Path) -> None:
    gap = OWN["benchmark"] - OWN["strategy"]
    package = spoiled(tmp_path, add(f"The strategy was {gap:.1%} a year behind the benchmark."))
    assert package.fact(comparison).excess is not None
    assert verdict(BenchmarkComparison, package, FITS).level == 4


def test_the_brief_asks_one_question_and_shows_facts(tmp_path: Path) -> None:
    from finassay_checks.options import NoOptions

    brief = BenchmarkComparison(NoOptions()).brief(spoiled(tmp_path))
    assert brief.questions == (QUESTION,)
    assert brief.facts["benchmark_series"] is True
    assert brief.facts["overlap"] == pytest.approx(1.0)


def rank_ic() -> tuple[float, float]:
    """Mean rank correlation of score and return to the next decision, and of each ranking with the next; by plain pandas."""
    made = simulated()
    closes = made.prices.pivot(index="date", columns="ticker", values="close")
    scores = made.signals.pivot(index="decision_date", columns="ticker", values="score")
    at = closes.reindex(scores.index)
    forward = at.shift(-1) / at - 1
    ics = [scores.loc[d].rank().corr(forward.loc[d].rank()) for d in scores.index[:-1]]
    steps = [scores.iloc[i].rank().corr(scores.iloc[i + 1].rank()) for i in range(len(scores) - 1)]
    return float(np.mean(ics)), float(np.mean(steps))


IC, STEADY = rank_ic()


@pytest.mark.parametrize(
    ("faults", "level"),
    [
        ((drop("results/signals.csv"),), 0),
        ((), 1),
        ((add(f"The signal's mean rank IC is {IC:.3f}."),), 2),
        ((add(f"The signal has a rank IC of {IC + 0.3:.3f} and a score autocorrelation of {STEADY + 0.1:.2f}."),), 2),
        ((add(f"The signal has a rank IC of {IC:.3f} and a score autocorrelation of {STEADY + 0.1:.2f}."),), 3),
        ((add(f"The signal has a rank IC of {IC:.3f} and a score autocorrelation of {STEADY:.2f}."),), 3),
        (
            (
                add(f"The signal has a rank IC of {IC:.3f} and a score autocorrelation of {STEADY:.2f}."),
                add("| period | signal rank IC |\n|---|---|\n| 2013-2014 | 0.02 |\n| 2015-2016 | 0.05 |"),
            ),
            4,
        ),
    ],
)
def test_levels_of_signal_validation(tmp_path: Path, faults: tuple[Fault, ...], level: int) -> None:
    found = verdict(SignalValidation, spoiled(tmp_path, *faults))
    assert found.level == level, told(found)


def test_own_statistics_are_those_of_plain_pandas(tmp_path: Path) -> None:
    package = spoiled(tmp_path, add(f"The signal has a rank IC of {IC:.4f} and a score autocorrelation of {STEADY:.4f}."))
    own_values: dict[str, Any] = {s.kind: s.own for s in package.fact(signal_statistics).stated}
    assert own_values["rank IC"] == pytest.approx(IC, abs=1e-3)
    assert own_values["autocorrelation"] == pytest.approx(STEADY, abs=1e-3)
