"""Every case of the shared folder through `finassay audit`: one fault, or one harmless convention, each."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from finassay_checks.audit.command import audit
from finassay_checks.audit.model import EXIT_CODES

CASES = Path(os.environ.get("FINASSAY_SHARED", Path(__file__).resolve().parents[4] / "shared")) / "cases" / "backtest"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not beside this checkout (FINASSAY_SHARED)")
NAMES = sorted(p.parent.name for p in CASES.glob("s*/case.json")) if CASES.is_dir() else []


def audited(source: Path, folder: Path) -> dict[str, Any]:
    """The JSON of an audit of a folder's files without what was expected of them."""
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("case.json", "expected.json"))
    result = CliRunner().invoke(audit, [str(folder), "--json"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    found = json.loads(result.output)
    assert result.exit_code == EXIT_CODES[found["verdict"]]
    return found


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """The audit of a case, once."""
    made: dict[str, dict[str, Any]] = {}

    def audit_of(name: str) -> dict[str, Any]:
        if name not in made:
            made[name] = audited(CASES / name, tmp_path_factory.mktemp("case") / "delivery")
        return made[name]

    return audit_of


def near(value: float | None, wanted: float, relative: float = 1e-6) -> bool:
    return value is not None and abs(value - wanted) <= relative * max(1.0, abs(wanted))


def has(finding: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Every key of an expected finding with its value; lists in any order."""
    for key, value in wanted.items():
        if key == "note":
            continue
        given = finding.get(key)
        if isinstance(value, list) and isinstance(given, list):
            if sorted(map(str, value)) != sorted(map(str, given)):
                return False
        elif given != value:
            return False
    return True


@pytest.mark.parametrize("name", NAMES)
def test_a_case_gives_its_verdict_metrics_and_findings(name, cases):
    expected = json.loads((CASES / name / "case.json").read_text(encoding="utf-8"))["expected"]
    found = cases(name)
    assert found["verdict"] == expected["verdict"], found["reason"]
    for metric, wanted in expected["metrics"].items():
        given = found["metrics"][metric]
        assert near(given["reported"], wanted["reported"], 5e-4), metric
        assert any(near(given["recomputed"], right) for right in (wanted["right"], *wanted.get("accept", ()))), metric
        assert given["within_tolerance"] is wanted["within_tolerance"], metric
        assert given["explained_by"] == wanted["explained_by"], metric
    for wanted in expected["findings"]:
        assert any(has(f, wanted) for f in found["findings"]), wanted
    for unwanted in expected.get("not_findings", ()):
        same = [f for f in found["findings"] if f["check"] == unwanted["check"]]
        assert not any(f.get("file") == unwanted.get("file", "-") for f in same)
        assert not any(set(unwanted.get("rows", ())) & set(f.get("rows", ())) for f in same)


@pytest.mark.parametrize("name", NAMES)
def test_a_case_raises_nothing_else(name, cases):
    expected = json.loads((CASES / name / "case.json").read_text(encoding="utf-8"))["expected"]
    found = cases(name)
    assert {f["check"] for f in found["findings"]} <= {f["check"] for f in expected["findings"]}
    reported = {m for m, v in found["metrics"].items() if v["reported"] is not None}
    assert {m for m in reported if found["metrics"][m]["matches"] is False} <= set(expected["metrics"])
