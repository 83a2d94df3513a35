"""Dimensions 7.1 to 7.5, the standard reader, and what the entry points say."""

import json
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from finassay.api.delivery import LogEvent, Package, TurnFacts
from finassay.api.grading import Check, Reader
from finassay.api.verdict import Scored
from finassay_checks.checks.process_transparency import (
    ClaimActionConsistency,
    DataLineage,
    ExecutionTrace,
    FailureDisclosure,
    LogCompleteness,
)
from finassay_checks.material import StandardReader
from finassay_checks.options import NoOptions

from .deliveries import clean_delivery, make_package, simulate

MINE = ("data_point_in_time", "data_quality", "data_core_metrics", "data_stated_basis", "process_transparency", "material")


def call(
    turn: int, number: int, name: str, given: object, output: str = "ok", exit_code: int | None = 0, error: bool = False
) -> list[LogEvent]:
    return [
        LogEvent(turn, "tool-call", {"id": f"c{number}", "name": name, "input": given}),
        LogEvent(turn, "tool-result", {"id": f"c{number}", "output": output, "is_error": error, "exit_code": exit_code}),
    ]


def grade(check: type, package: Package) -> Scored:
    verdict = check(NoOptions()).run(package, {})
    assert isinstance(verdict, Scored)
    return verdict


def package(tmp_path: Path, log: list[LogEvent], message: str = "Done. See REPORT.md.", turns: int = 1) -> Package:
    messages = [m for _ in range(turns) for m in ("Go.", message)]
    return make_package(tmp_path, [clean_delivery(0)] * turns, messages=messages, log=log)


FETCH = {"command": "python -c \"load_prices().to_csv('data/prices.csv')\" && ls data/prices.csv results/benchmark.csv"}


def test_a_complete_log_has_the_highest_levels(tmp_path: Path) -> None:
    log = call(1, 1, "bash", FETCH) + call(1, 2, "bash", {"command": "python code/backtest.py"})
    made = package(tmp_path, log, "I downloaded the prices and ran the backtest.")
    for check in (LogCompleteness, DataLineage, ExecutionTrace, ClaimActionConsistency, FailureDisclosure):
        assert grade(check, made).level == 4, check.id


def test_code_that_a_script_imports_ran_with_it(tmp_path: Path) -> None:
    files = {**clean_delivery(0), "code/engine/steps.py": "def step():\n    return 1\n", "code/engine/unused.py": "x = 1\n"}
    files["code/backtest.py"] += "\nfrom engine.steps import step\n"
    log = call(1, 1, "bash", {"command": "python code/backtest.py"})
    found = grade(ExecutionTrace, make_package(tmp_path, [files], messages=["Go.", "Done."], log=log))
    assert [e.where for e in found.evidence if e.text.startswith("not run")] == ["code/engine/unused.py"]


def test_a_write_that_only_mentions_a_script_does_not_change_it(tmp_path: Path) -> None:
    script = clean_delivery(0)["code/backtest.py"]
    log = call(1, 1, "write_file", {"path": "code/backtest.py", "content": script}, exit_code=None)
    log += call(1, 2, "write_file", {"path": "README.md", "content": "Run code/backtest.py."}, exit_code=None)
    log += call(1, 3, "bash", {"command": "python code/backtest.py"})
    assert grade(ExecutionTrace, package(tmp_path, log)).level == 4


def test_no_log(tmp_path: Path) -> None:
    made = package(tmp_path, [], "I downloaded the prices and ran the backtest.")
    assert [grade(c, made).level for c in (LogCompleteness, DataLineage, ExecutionTrace, ClaimActionConsistency)] == [0, 0, 0, 0]


@pytest.mark.parametrize(("broken", "level"), [(0, 4), (1, 2), (2, 1), (4, 0)])
def test_turns_without_results_or_exit_codes(tmp_path: Path, broken: int, level: int) -> None:
    log: list[LogEvent] = []
    for turn in range(1, 6):
        events = call(turn, 1, "bash", {"command": "ls"}, exit_code=None if turn == 1 and broken else 0)
        log += events[:1] if 1 < turn <= broken else events
    assert grade(LogCompleteness, package(tmp_path, log, turns=5)).level == level


def test_a_cut_turn_may_end_in_an_open_call(tmp_path: Path) -> None:
    from attrs import evolve

    log = call(1, 1, "bash", {"command": "ls"}) + call(1, 2, "bash", {"command": "sleep 999"})[:1]
    made = package(tmp_path, log)
    assert grade(LogCompleteness, made).level == 0
    assert grade(LogCompleteness, evolve(made, turns=(TurnFacts(1, 300.0, cut=True),), facts={})).level == 4


def test_rows_in_a_result_are_lineage(tmp_path: Path) -> None:
    prices = simulate(0).prices
    output = "\n".join(f"{d.date()} {t} {c}" for d, t, c in prices.itertuples(index=False))
    log = [*call(1, 1, "fetch_prices", {"tickers": "all"}, output=output, exit_code=None)]
    verdict = grade(DataLineage, package(tmp_path, log))
    assert verdict.level == 2
    assert {e.where: e.text for e in verdict.evidence}["data/prices.csv"].endswith("holds its rows")


def test_code_that_failed_or_was_changed_afterwards_is_not_traced(tmp_path: Path) -> None:
    failed = call(1, 1, "bash", {"command": "python code/backtest.py"}, exit_code=1)
    assert grade(ExecutionTrace, package(tmp_path / "a", failed)).level == 0
    changed = call(1, 1, "bash", {"command": "python code/backtest.py"}) + call(
        1, 2, "write", {"path": "code/backtest.py", "content": "other"}
    )
    assert grade(ExecutionTrace, package(tmp_path / "b", changed)).level == 0
    source = clean_delivery(0)["code/backtest.py"]
    written = call(1, 1, "write", {"path": "code/backtest.py", "content": source}) + call(
        1, 2, "bash", {"command": "python code/backtest.py"}
    )
    assert grade(ExecutionTrace, package(tmp_path / "c", written)).level == 4


def test_claims_need_an_event_in_the_same_or_an_earlier_turn(tmp_path: Path) -> None:
    late = call(2, 1, "bash", {"command": "python check.py"})
    made = make_package(tmp_path, [clean_delivery(0)] * 2, messages=("u", "I ran the backtest.", "u", "I checked all fills."), log=late)
    verdict = grade(ClaimActionConsistency, made)
    assert verdict.facts["claims"] == 2
    assert verdict.level == 1
    assert verdict.evidence[0].where == "a1"


def test_failures_have_to_be_told(tmp_path: Path) -> None:
    log = call(1, 1, "fetch", {"url": "x"}, output="HTTP 500 error", exit_code=None, error=True)
    assert grade(FailureDisclosure, package(tmp_path / "a", log, "All done, everything is fine.")).level == 0
    assert grade(FailureDisclosure, package(tmp_path / "b", log, "The first download failed, so I used the package's data.")).level == 4


def test_material_is_the_conversation_reports_tables_and_code(tmp_path: Path) -> None:
    first = clean_delivery(0) | {"REPORT.md": "# Old report\n\n" + "An earlier version of the text. " * 20}
    made = make_package(tmp_path, [first, clean_delivery(0)], messages=("Go.", "v1", "More.", "v2, see REPORT.md"))
    material = StandardReader(NoOptions()).read(made)
    assert [m.where for m in material.messages] == ["u0", "a1", "u1", "a2"]
    assert [r.where for r in material.reports] == ["REPORT.md", "REPORT.md (turn 1)"]
    tables = {t.where: t for t in material.tables}
    assert tables["results/trades.csv"].role == "trades, weights"
    assert tables["results/trades.csv"].rows == len(simulate(0).trades)
    assert len(tables["results/trades.csv"].head.splitlines()) == 9
    assert [c.where for c in material.code] == ["code/backtest.py"]


@pytest.mark.parametrize("group", ["finassay.checks", "finassay.readers"])
def test_entry_points_are_components(group: str) -> None:
    found = [e for e in entry_points(group=group) if e.value.split(":")[0].rsplit(".", 1)[-1] in MINE]
    assert len(found) == (9 if group == "finassay.checks" else 1)
    for entry in found:
        factory = entry.load()
        assert factory.api_version == 1
        assert factory.description
        component = factory(factory.Options())
        if group == "finassay.readers":
            assert isinstance(component, Reader)
            assert component.id == entry.name == "standard"
            continue
        assert isinstance(component, Check)
        assert component.id == entry.name
        assert entry.name.startswith(component.dimension.replace(".", "-") + "-")


def test_entry_point_modules_import_light(tmp_path: Path) -> None:
    import subprocess
    import sys

    modules = [
        e.value.split(":")[0]
        for g in ("finassay.checks", "finassay.readers")
        for e in entry_points(group=g)
        if e.value.split(":")[0].rsplit(".", 1)[-1] in MINE
    ]
    code = f"import sys, json, importlib; [importlib.import_module(m) for m in {modules!r}]; print(json.dumps([m for m in ('pandas', 'numpy', 'pyarrow') if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout) == []
