"""What all checks of the backtest keep: strangers' bytes never crash them, verdicts hold JSON, quotes stand where they say, imports stay light."""

import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from backtest_faults import Files, add, clean_files, package_of, really_spoiled, weights_files

from finassay.api.delivery import Package
from finassay.api.verdict import EvidenceKind, NotApplicable, Scored
from finassay_checks.checks import (
    backtest_audit,
    backtest_benchmark,
    backtest_code,
    backtest_costs,
    backtest_explainability,
    backtest_process,
    backtest_recomputation,
    backtest_signal_validation,
    backtest_timing,
)
from finassay_checks.options import NoOptions

CHECKS: tuple[type[Any], ...] = (
    backtest_explainability.DecisionExplainability,
    backtest_signal_validation.SignalValidation,
    backtest_timing.PointInTimeCorrectness,
    backtest_recomputation.IndependentRecomputation,
    backtest_benchmark.BenchmarkComparison,
    backtest_costs.CostModel,
    backtest_code.CodeReproducibility,
    backtest_audit.VerifierAudit,
    backtest_process.ProcessCompleteness,
)


def run_all(package: Package) -> list[Scored | NotApplicable]:
    found = []
    for check in CHECKS:
        made = check(NoOptions())
        made.brief(package)
        verdict = made.run(package, {})
        assert isinstance(verdict, Scored | NotApplicable)
        found.append(verdict)
    return found


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.id)
def test_registered_under_its_dimension(check: type[Any]) -> None:
    registered = {e.name: e.value for e in entry_points(group="finassay.checks")}
    assert registered[check.id] == f"{check.__module__}:{check.__name__}"
    assert check.id.startswith(check.dimension.replace(".", "-") + "-")
    assert check.description


def test_entry_modules_import_light() -> None:
    modules = [check.__module__ for check in CHECKS]
    code = f"import sys, importlib; [importlib.import_module(m) for m in {modules!r}]; print([m for m in ('pandas', 'numpy', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Package, list[Scored | NotApplicable]]:
    package = really_spoiled(
        tmp_path_factory.mktemp("told"),
        add("The benchmark, the S&P 500, returned 7.5% a year. Signal rank IC was 0.02 in 2014. Cost drag is 0.8% a year."),
    )
    return package, run_all(package)


def test_verdicts_hold_json(verdicts: tuple[Package, list[Scored | NotApplicable]]) -> None:
    for verdict in verdicts[1]:
        if isinstance(verdict, Scored):
            json.dumps(dict(verdict.facts), allow_nan=False)
            assert verdict.reason
            assert verdict.evidence


def test_quotes_stand_verbatim_where_they_say(verdicts: tuple[Package, list[Scored | NotApplicable]]) -> None:
    package, found = verdicts
    texts = {f.path: " ".join(package.path(f).read_text(errors="replace").split()) for f in package.tree.files}
    quotes = [e for v in found if isinstance(v, Scored) for e in v.evidence if e.kind is EvidenceKind.QUOTE]
    assert quotes
    for quote in quotes:
        assert " ".join(quote.text.split()) in texts[quote.where]


def nothing(files: Files) -> None:
    files.clear()


def empty_tables(files: Files) -> None:
    for path, content in files.items():
        if isinstance(content, pd.DataFrame):
            files[path] = content.head(0)


def one_row(files: Files) -> None:
    for path, content in files.items():
        if isinstance(content, pd.DataFrame):
            files[path] = content.head(1)


def not_numbers(files: Files) -> None:
    generator = np.random.default_rng(7)
    for path in ("data/prices.csv", "results/trades.csv", "results/equity.csv", "results/signals.csv", "results/target_weights.csv"):
        frame = files[path]
        for column in frame.select_dtypes("number"):
            spoilt = frame[column].astype(float).to_numpy().copy()
            spoilt[generator.integers(0, len(spoilt), 25)] = np.nan
            spoilt[generator.integers(0, len(spoilt), 5)] = np.inf
            spoilt[generator.integers(0, len(spoilt), 5)] = -1e300
            files[path] = frame = frame.assign(**{column: spoilt})


def zeros(files: Files) -> None:
    for path in ("data/prices.csv", "results/equity.csv"):
        frame = files[path]
        files[path] = frame.assign(**dict.fromkeys(frame.select_dtypes("number"), 0.0))


def strange_dates(files: Files) -> None:
    for path, column in (("results/trades.csv", "fill_date"), ("results/equity.csv", "date"), ("data/prices.csv", "date")):
        frame = files[path].astype({column: object})
        frame.iloc[3:9, frame.columns.get_loc(column)] = ["1492-01-01", "2999-12-31", "yesterday", "", None, "0000-00-00"]
        files[path] = frame


def doubled(files: Files) -> None:
    for path, content in files.items():
        if isinstance(content, pd.DataFrame):
            files[path] = pd.concat([content, content.sample(frac=0.3, random_state=1)])


def hollow(files: Files) -> None:
    """Only the log, without prices, sizes or reasons."""
    log = files["results/trades.csv"][["fill_date", "ticker", "side"]]
    files.clear()
    files["trades.csv"] = log


def ruined(files: Files) -> None:
    """A portfolio that loses more than everything."""
    files["results/trades.csv"] = files["results/trades.csv"].assign(shares=lambda f: f["shares"] * 50, value=np.nan)


def insults(files: Files) -> None:
    files["REPORT.md"] = (
        files["REPORT.md"] + ("| a | b |\n" * 3000) + "start " * 4000 + "costs " * 4000 + "9" * 5000 + "%" * 500 + " gross " * 500
    )


@pytest.mark.parametrize("fault", [nothing, empty_tables, one_row, not_numbers, zeros, strange_dates, doubled, hollow, ruined, insults])
def test_whatever_is_delivered_there_is_a_verdict(tmp_path: Path, fault: Any) -> None:
    for verdict in run_all(really_spoiled(tmp_path, fault)):
        if isinstance(verdict, Scored):
            json.dumps(dict(verdict.facts), allow_nan=False)


def test_weights_alone_have_verdicts_too(tmp_path: Path) -> None:
    levels = {v.by: v.level for v in run_all(package_of(tmp_path, weights_files())) if isinstance(v, Scored)}
    assert levels["3-2-independent-recomputation"] >= 2
    assert levels["3-1-point-in-time-correctness"] == 2


def test_a_clean_delivery_keeps_every_veto(tmp_path: Path) -> None:
    levels = {v.by: v.level for v in run_all(package_of(tmp_path, clean_files())) if isinstance(v, Scored)}
    assert levels["3-1-point-in-time-correctness"] == 4
    assert levels["3-2-independent-recomputation"] == 4
    assert levels["3-7-verifier-audit"] == 4
    assert levels["3-8-process-completeness"] == 4
