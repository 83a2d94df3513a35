"""Packs with broken rules, through the commands: each ends in one clear line or in the queue, and nothing is lost."""

import json
import shutil
import time
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from click.testing import CliRunner

from finassay.api.errors import FinassayError
from finassay_rubrics.cli.main import rubric

DEMO = Path(__file__).parents[1] / "demo"
PACK = """
from finassay.api.guidance import Guidance, Rule
from finassay_rubrics.guidance.general import NoOptions


def check(product):
    {body}


class Pack:
    api_version = 1
    description = "a pack with a broken rule"
    Options = NoOptions

    def __init__(self, options):
        self.guidance = Guidance("broken", "1", (), rules=(Rule("BR01", "{stage}", "broken", check),))
"""
BODIES = {
    "raises": "raise ZeroDivisionError('in the pack')",
    "hangs": "import time; time.sleep(600)",
    "spins": "\n    while True: pass",
    "leaves": "raise SystemExit(7)",
    "babbles": "return ['no violation']",
}


def pack(tmp_path, monkeypatch, stage, body):
    """The pack `broken`, installed for this test: a module and its metadata in a folder that Python looks into."""
    site = tmp_path / "site"
    info = site / "broken_pack-1.dist-info"
    info.mkdir(parents=True)
    name = f"broken_pack_{stage}_{abs(hash(body))}"
    (site / f"{name}.py").write_text(PACK.format(stage=stage, body=body), "utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-pack\nVersion: 1\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[finassay.guidance]\nbroken = {name}:Pack\n", "utf-8")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr("finassay_rubrics.validate.rules.RULE_SECONDS", 0.3)
    return ["--guidance", "general", "--guidance", "broken"]


def run(*arguments, code=0):
    result = CliRunner().invoke(rubric, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit | FinassayError):
        raise result.exception
    assert result.exit_code == code, result.output
    if isinstance(result.exception, FinassayError):
        assert "\n" not in str(result.exception)
        return str(result.exception)
    return result.output


@pytest.fixture
def generating(tmp_path):
    for group, name in {"finassay.sources": "corpus", "finassay.researchers": "statements-a"}.items():
        if name not in {entry.name for entry in entry_points(group=group)}:
            pytest.skip(f"{name} is not installed beside it")
    source = f"corpus:{shutil.copytree(DEMO / 'corpus', tmp_path / 'corpus')}"
    return ["generate", DEMO / "queries" / "tamarind.txt", "--cutoff", "2024-03-31", "--source", source, "--out", tmp_path / "out"]


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_rule_on_contexts_that_is_broken_is_one_line(tmp_path, monkeypatch, generating, body):
    own = pack(tmp_path, monkeypatch, "context", body)
    assert "context.json breaks rule BR01: rule: the rule itself failed" in run(*generating, *own, code=1)


@pytest.mark.parametrize("body", [BODIES["raises"], BODIES["spins"]], ids=["raises", "spins"])
def test_a_rule_on_rubrics_that_is_broken_leaves_the_rubric_to_a_person(tmp_path, monkeypatch, generating, body):
    own = pack(tmp_path, monkeypatch, "rubric", body)
    started = time.monotonic()
    said = run(*generating, *own)
    assert time.monotonic() - started < 120
    assert "2 grounded; queued" in said
    assert "whole-rubric: rule BR01: rule: the rule itself failed" in said
    out = tmp_path / "out"
    assert "BR01 rule: the rule itself failed" in run("check", out, *own, code=1)
    run("queue", out, "whole-rubric", "--accept", "--by", "desk")
    assert "2 grounded; final" in run(*generating, *own)


@pytest.mark.parametrize("body", [BODIES["raises"], BODIES["spins"]], ids=["raises", "spins"])
def test_a_rule_on_banks_or_signatures_that_is_broken(tmp_path, monkeypatch, body):
    queries = tmp_path / "queries.txt"
    queries.write_text("What was Acme Tools' net margin in FY2019?\nCompute the current ratio of Zeta Corp for FY2018.\n", "utf-8")
    own = pack(tmp_path, monkeypatch, "bank", body)
    bank = tmp_path / "bank"
    run("bank", "build", queries, "--out", bank, *own)
    run("bank", "screen", bank, "--accept")
    assert "the rule itself failed" in run("bank", "freeze", bank, *own, code=1)
    assert not (bank / "bank.json").exists()
    assert "version 1" in run("bank", "freeze", bank)


RUBRIC = {
    "schema": "rubric/1",
    "query": "What was the revenue of Acme in FY2022?",
    "cutoff": "2023-03-01",
    "obligations": [{"id": "O1", "what": "revenue", "spans": ["MET1"], "frozen": 100, "points": 100}],
    "criteria": [{"id": "O1.1", "obligation_id": "O1", "text": "States the revenue of FY2022", "kind": "numeric", "points": 100, "metric": "revenue",
                  "period": "FY2022", "expected": [{"value": 4812, "unit": "USD", "scale": "millions", "tolerance": {"rule": "exact"}}]}],
}  # fmt: skip


def test_rules_on_grades_are_asked_and_broken_ones_are_told(tmp_path, monkeypatch):
    (tmp_path / "rubric.json").write_text(json.dumps(RUBRIC), "utf-8")
    (tmp_path / "answer.txt").write_text("Revenue was USD 4,812 million in FY2022.", "utf-8")
    grading = ["grade", tmp_path, tmp_path / "answer.txt"]
    assert json.loads(run(*grading, "--json"))["answer"]["broken_rules"] == []
    own = pack(tmp_path, monkeypatch, "grade", BODIES["raises"])
    assert "answer: rule BR01: rule: the rule itself failed" in run(*grading, *own, code=1)
    told = json.loads(run(*grading, *own, "--json", code=1))["answer"]
    assert (told["points"], len(told["broken_rules"])) == ("100.00", 1)
