"""3.6: code that is run again. The runner here runs a plain subprocess in a copy; real sandboxes have tests of their own."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from attrs import evolve

sys.path.insert(0, str(Path(__file__).parent))
from backtest_faults import clean_files, drop, not_applicable, package_of, say, simulated, spoiled, told, verdict

from finassay.api.delivery import Package, RunResult
from finassay_checks.checks.backtest_code import CodeReproducibility
from finassay_checks.recompute.rerun import scripts

M = simulated().metrics
EQUITY = """import csv
rows = list(csv.DictReader(open('results/trades.csv')))
prices = {}
for row in csv.DictReader(open('data/prices.csv')):
    prices.setdefault(row['date'], {})[row['ticker']] = float(row['close'])
by_day = {}
for row in rows:
    by_day.setdefault(row['fill_date'], []).append(row)
cash, held, out = 1_000_000.0, {}, []
for day in sorted(prices):
    for row in by_day.get(day, []):
        sign = 1 if row['side'] == 'BUY' else -1
        cash -= sign * float(row['value']) + float(row['fee'])
        held[row['ticker']] = held.get(row['ticker'], 0.0) + sign * float(row['shares'])
    if out or by_day.get(day):
        out.append((day, cash + sum(held[t] * prices[day][t] for t in held)))
"""
WRITE = "import csv as c\nw = c.writer(open('equity_again.csv', 'w', newline=''))\nw.writerow(['date', 'equity'])\nw.writerows(out)\n"
PRINT = "print('total return:', out[-1][1] / 1_000_000.0 - 1)\n"


class PlainRunner:
    """Runs in a copy of the files, without a sandbox."""

    def __init__(self, root: Path) -> None:
        self.root, self.runs, self.seen = root, 0, set[str]()

    def run(self, files: Mapping[str, Path], argv: tuple[str, ...], *, seconds: float) -> RunResult:
        self.runs += 1
        place = self.root / str(self.runs)
        for name, source in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(source.read_bytes())
        self.seen |= set(files)
        before = {p: p.read_bytes() for p in place.rglob("*") if p.is_file()}
        done = subprocess.run([sys.executable, *argv[1:]], cwd=place, capture_output=True, text=True, timeout=60, check=False)
        written = {p.relative_to(place).as_posix(): p for p in place.rglob("*") if p.is_file() and before.get(p) != p.read_bytes()}
        return RunResult(done.returncode, done.stdout, done.stderr, 0.1, written)


class Stopped:
    def run(self, files: Mapping[str, Path], argv: tuple[str, ...], *, seconds: float) -> RunResult:
        return RunResult(None, "", "", seconds)


def package(tmp_path: Path, code: str, name: str = "code/backtest.py") -> Package:
    files = clean_files()
    del files["code/backtest.py"]
    files[name] = code
    return evolve(package_of(tmp_path, files), runner=PlainRunner(tmp_path / "copies"), facts={})


def test_no_code_is_zero(tmp_path: Path) -> None:
    assert verdict(CodeReproducibility, spoiled(tmp_path, drop("code/backtest.py"))).level == 0


def test_without_a_runner_it_does_not_apply(tmp_path: Path) -> None:
    assert "not run here" in not_applicable(CodeReproducibility, package_of(tmp_path, clean_files())).reason


@pytest.mark.parametrize(
    ("code", "level"),
    [
        ("import nowhere_to_be_found\n", 1),
        ("def broken(:\n", 1),
        ("print('hello')\nraise ValueError('no data')\n", 2),
        ("print('hello')\n", 2),
        ("print('total return: 0.9')\n", 3),
        (EQUITY + PRINT, 4),
        (EQUITY + WRITE, 4),
    ],
)
def test_levels(tmp_path: Path, code: str, level: int) -> None:
    found = verdict(CodeReproducibility, package(tmp_path, code))
    assert found.level == level, told(found)


def test_metrics_cannot_be_copied_from_a_delivered_table(tmp_path: Path) -> None:
    copied = package(tmp_path, "print(open('results/metrics.csv').read())\n")
    assert verdict(CodeReproducibility, copied).level == 2
    runner = copied.runner
    assert isinstance(runner, PlainRunner)
    assert "results/metrics.csv" not in runner.seen
    assert "REPORT.md" not in runner.seen


def test_the_best_script_counts(tmp_path: Path) -> None:
    files = clean_files()
    files["code/backtest.py"] = "raise SystemExit(3)\n"
    files["code/run.py"] = EQUITY + PRINT
    made = evolve(package_of(tmp_path, files), runner=PlainRunner(tmp_path / "copies"), facts={})
    found = verdict(CodeReproducibility, made)
    assert found.level == 4
    assert found.facts["script"] == "code/run.py"


def test_a_run_that_is_stopped_is_level_two(tmp_path: Path) -> None:
    stopped = evolve(package_of(tmp_path, clean_files()), runner=Stopped(), facts={})
    assert verdict(CodeReproducibility, stopped).level == 2


def test_scripts_go_by_name_after_those_that_the_report_names(tmp_path: Path) -> None:
    given = ("a_helper.py", "run_all.py", "main.py", "make_tables.py", "backtest.py", "z.py", "y.py")
    from finassay_checks.delivered import read_delivery

    files = clean_files()
    del files["code/backtest.py"]
    files |= dict.fromkeys(given, "print(1)\n")
    said = say("## Limitations", "Start it with `z.py`.\n\n## Limitations")
    said(files)
    found = scripts(package_of(tmp_path, files).fact(read_delivery))
    assert found == ("z.py", "run_all.py", "main.py", "make_tables.py", "backtest.py")
