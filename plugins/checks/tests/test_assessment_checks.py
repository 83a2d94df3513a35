"""Claims and the facts for judged dimensions: planted faults are listed, clean deliveries are left alone, and what does not apply says so."""

import importlib
import json
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from attrs import evolve

from finassay.api.delivery import Package
from finassay.api.grading import Answer, Check, Quote
from finassay.api.strategy import Belief
from finassay.api.verdict import NotApplicable, Scored, Unscored
from finassay_checks.checks.assessment_citation import EvidenceCitation
from finassay_checks.checks.assessment_conclusions import GroundedConclusions, OutOfSampleValidation, SensitivityAnalysis
from finassay_checks.checks.assessment_conversation import InternalLeak, ReportReadability, ResponsivenessToObjections
from finassay_checks.checks.assessment_sources import SourceDiversity, SourceTraceability
from finassay_checks.checks.strategy_rules import CASES, BoundaryConditions
from finassay_checks.claims import claims, tokens
from finassay_checks.options import NoOptions

from .deliveries import Bytes, clean_delivery, make_package, make_task
from .test_fidelity_items import SCHEDULE, WEIGHTS

OWN = [
    target
    for target in tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]["entry-points"][
        "finassay.checks"
    ].items()
    if target[1].split(":")[0].rsplit(".", 1)[-1].startswith(("strategy_", "assessment_"))
]


def check_of(target: str) -> Check:
    module, name = target.split(":")
    made: Check = getattr(importlib.import_module(module), name)(NoOptions())
    return made


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return make_package(tmp_path_factory.mktemp("clean"), clean_delivery())


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return make_package(tmp_path_factory.mktemp("empty"), {})


@pytest.mark.parametrize(("name", "target"), OWN, ids=[name for name, _ in OWN])
def test_every_check_keeps_the_contract(clean: Package, empty: Package, name: str, target: str) -> None:
    check = check_of(target)
    assert check.id == name
    assert name.startswith(check.dimension.replace(".", "-"))
    for package in (clean, empty):
        brief = check.brief(package)
        json.dumps(dict(brief.facts))
        first = check.run(package, {})
        assert first == check.run(package, {})
        if isinstance(first, Scored):
            json.dumps(dict(first.facts))
            assert check.role == "bounds" or package is clean or first.level == 0


FILLER = "\n## About\nThis document was written for a test and says in about twenty plain words nothing else that any of the checks could look for.\n"


def report(text: str, **more: Bytes) -> dict[str, Bytes]:
    """A delivered report, long enough to be one, beside other files (`__` stands for the dot)."""
    return {"REPORT.md": text + FILLER, **{name.replace("__", "."): data for name, data in more.items()}}


def test_the_clean_delivery_is_well_cited(clean: Package) -> None:
    found = clean.fact(claims)
    assert len(found.claims) >= 10
    assert found.share is not None
    assert found.share >= 0.7
    verdict = EvidenceCitation(NoOptions()).run(clean, {})
    assert isinstance(verdict, Scored)
    assert verdict.level >= 3


def test_invented_numbers_are_untraced(tmp_path: Path) -> None:
    text = "# R\n\n## Results\nThe strategy made 37.41% a year with a Sharpe ratio of 3.927 and beat the index by 21.3 points; 61.7% of months were up.\n"
    package = make_package(tmp_path, report(text))
    assert [claim.credit for claim in package.fact(claims).claims] == [0.0] * 4
    verdict = EvidenceCitation(NoOptions()).run(package, {})
    assert isinstance(verdict, Scored)
    assert verdict.level == 0
    assert all(" ".join(e.text.split()) in " ".join(text.split()) for e in verdict.evidence)


def test_a_named_table_gives_full_credit_and_an_unnamed_one_half(tmp_path: Path) -> None:
    table = "metric,value\nSharpe ratio,1.237\nTurnover,6.41\n"
    named = make_package(tmp_path / "a", report("# R\n\n## Results\nThe Sharpe ratio is 1.237 (`stats.csv`).\n", stats__csv=table))
    unnamed = make_package(tmp_path / "b", report("# R\n\n## Results\nThe Sharpe ratio is 1.237.\n", stats__csv=table))
    other = make_package(tmp_path / "c", report("# R\n\n## Results\nThe Sharpe ratio is 1.241 (`stats.csv`).\n", stats__csv=table))
    assert [p.fact(claims).claims[0].credit for p in (named, unnamed, other)] == [1.0, 0.5, 0.0]


def test_a_match_deep_in_a_long_table_is_chance(tmp_path: Path) -> None:
    table = "day,value\n" + "".join(f"{i},{i / 1000}\n" for i in range(5000))
    package = make_package(tmp_path, report("# R\n\n## Results\nThe Sharpe ratio is 1.237.\n", long__csv=table))
    assert package.fact(claims).claims[0].credit == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "on 2014-03-02 and in 1999",
        "the S&P 500",
        "12-1 momentum",
        "top 5 of them",
        "10 bp per side",
        "3 March 2011",
        "version 2",
        "`file_12.csv`",
    ],
)
def test_dates_names_and_settings_are_no_claims(text: str) -> None:
    assert list(tokens(text)) == []


def test_rules_and_methods_are_no_claims(tmp_path: Path) -> None:
    package = make_package(tmp_path, report("# R\n\n## Method\nWe used 1.237 and 4.56.\n\n## Settings\nCap 40.5%.\n"))
    assert package.fact(claims).claims == ()


def test_mismatches_reach_the_judge(clean: Package, tmp_path: Path) -> None:
    facts = GroundedConclusions(NoOptions()).facts(clean)
    assert facts["mismatches"] == []
    assert facts["rebuilt"] is True
    files = clean_delivery()
    text = str(files["REPORT.md"])
    start = text.index("Sharpe ratio |")
    broken = text[:start] + "Sharpe ratio | 4.812 |" + text[text.index("\n", start) :]
    spoiled = {**files, "REPORT.md": broken.replace("Sharpe ", "Sharpe ratio ", 1)}
    spoiled.pop("results/metrics.csv", None)
    wrong = GroundedConclusions(NoOptions()).facts(make_package(tmp_path / "b", spoiled))
    assert "4.812" in [untraced["number"] for untraced in wrong["untraced"]] or "sharpe" in wrong["mismatches"]


def test_boundary_cases_are_scored_by_the_rule(clean: Package) -> None:
    package = clean
    check = BoundaryConditions(NoOptions())
    assert isinstance(check.run(package, {}), Unscored)
    assert set(check.brief(package).questions[0].cases) == set(CASES)
    for labels, level in (
        (dict.fromkeys(CASES, "handled"), 4),
        (dict.fromkeys(CASES, "mentioned"), 2),
        (dict.fromkeys(CASES, "absent"), 0),
        (dict.fromkeys(CASES, "not applicable"), 0),
        ({case: "handled" if n < 2 else "absent" for n, case in enumerate(CASES)}, 1),
        ({case: "not applicable" if n < 4 else "handled" for n, case in enumerate(CASES)}, 4),
    ):
        verdict = check.run(package, {"cases": Answer("", labels=labels, case_quotes={"ties": Quote("x")})})
        assert isinstance(verdict, Scored)
        assert verdict.level == level


def test_cases_whose_label_was_dropped_are_undecided_and_not_absent(clean: Package) -> None:
    labels = dict(list(dict.fromkeys(CASES, "handled").items())[:5])
    verdict = BoundaryConditions(NoOptions()).run(clean, {"cases": Answer("", labels=labels)})
    assert isinstance(verdict, Scored)
    assert (verdict.level, set(verdict.unverified)) == (4, set(CASES) - set(labels))
    assert isinstance(BoundaryConditions(NoOptions()).run(clean, {"cases": Answer("", labels={})}), Unscored)


def settled(check: Check, package: Package) -> bool:
    return isinstance(check.run(package, {}), NotApplicable)


def test_source_diversity_needs_a_second_source_in_reach(tmp_path: Path) -> None:
    one = report("# R\n\n## Data\nPrices come from skfolio: `load_sp500_dataset()`.\n")
    two = report("# R\n\n## Data\nPrices come from skfolio, compared with https://stooq.com/q.csv for two names.\n")
    check = SourceDiversity(NoOptions())
    assert settled(check, make_package(tmp_path / "a", one))
    assert not settled(check, make_package(tmp_path / "b", two))
    assert not settled(check, make_package(tmp_path / "c", report("# R\n\nNothing.\n")))
    task = make_task()
    wide = evolve(task, conditions=evolve(task.conditions, network=True))
    assert not settled(check, make_package(tmp_path / "d", one, task=wide))


def test_endpoints_with_parameters_and_vintage_are_listed(tmp_path: Path) -> None:
    text = "# R\n\n## Data\nPrices: `skfolio.datasets.load_sp500_dataset()`, start 1990-01-02, version 0.9.1.\nIndex: https://example.org/spx.csv\n"
    found = SourceTraceability(NoOptions()).facts(make_package(tmp_path, report(text)))["endpoints"]
    assert [(e["kind"], e["parameters"], e["vintage"]) for e in found] == [("loader", True, True), ("url", False, False)]


@pytest.mark.parametrize(
    ("text", "applies"),
    [
        ("We kept the rules that you gave.", False),
        ("The window was not tuned.", False),
        ("The window was tuned on the whole sample.", True),
        ("We picked the setting with the best Sharpe.", True),
        ("Out-of-sample the Sharpe ratio is 0.4.", True),
        ("The look-back was chosen because it gave the highest return.", True),
    ],
)
def test_out_of_sample_applies_where_something_was_fitted_or_claimed(tmp_path: Path, text: str, applies: bool) -> None:
    package = make_package(tmp_path, report(f"# R\n\n## Method\n{text}\n"))
    assert settled(OutOfSampleValidation(NoOptions()), package) is not applies


def test_a_rule_that_changed_without_the_user_is_fitted(tmp_path: Path) -> None:
    def turn(window: int) -> dict[str, Bytes]:
        return report(f"# R\n\n## Rules\n\n| rule | value |\n|---|---|\n| Window | {window} days |\n")

    said = ("Test it.", "First version.", "Go on.", "Second version.")
    asked = ("Test it.", "First version.", "Use 90 days.", "Second version.")
    check = OutOfSampleValidation(NoOptions())
    assert check.facts(make_package(tmp_path / "a", [turn(60), turn(90)], said))["changed_rules"] == ["window"]
    assert check.facts(make_package(tmp_path / "b", [turn(60), turn(90)], asked))["changed_rules"] == []
    assert settled(check, make_package(tmp_path / "c", [turn(60), turn(60)], said))


def objecting(tmp_path: Path, said: Sequence[str]) -> Package:
    task = evolve(make_task(), belief=Belief((WEIGHTS, SCHEDULE), (SCHEDULE.id,)))
    return make_package(
        tmp_path, [{}, report("# R\n\n## Rules\nEqual weights.\n"), report("# R\n\n## Rules\nEqual weights, always.\n")], said, task
    )


def test_objections_and_when_they_were_resolved(tmp_path: Path) -> None:
    check = ResponsivenessToObjections(NoOptions())
    assert settled(check, objecting(tmp_path / "a", ("Monthly, please.", "Ok.", "Thanks, that looks right.", "Done.")))
    fixed = objecting(
        tmp_path / "b",
        (
            "Monthly, please.",
            "I used risk parity.",
            "The position sizing is not what I want. Give every position the same weight.",
            "Now equal weights.",
        ),
    )
    assert [(o["turn"], o["resolved_turn"]) for o in check.facts(fixed)["objections"]] == [(1, 2)]
    ignored = objecting(
        tmp_path / "c", ("Monthly, please.", "I used risk parity.", "The position sizing is not what I want.", "Here is a chart.")
    )
    ignored = evolve(ignored, deliveries=ignored.deliveries[:1])
    assert [o["resolved_turn"] for o in check.facts(ignored)["objections"]] == [None]


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ("No. I want it weekly.", True),
        ("Hmm, the position sizing is off.", True),
        ("There is a discrepancy in the position sizing.", True),
        ("Give every position the same weight.", True),
        ("No preference, you choose.", False),
        ("No ambiguity on my side: ten names.", False),
        ("No view on leverage and the rest: up to you.", False),
        ("Good, please go on.", False),
    ],
)
def test_what_is_an_objection(tmp_path: Path, text: str, objects: bool) -> None:
    made = objecting(tmp_path, ("Monthly, please.", "I plan to use risk parity.", text, "Done."))
    assert settled(ResponsivenessToObjections(NoOptions()), made) is not objects


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("See /home/agent/work/out.csv for it.", ["path"]),
        ('Traceback (most recent call last):\n  File "x.py", line 3', ["trace", "trace"]),
        ("The key is sk-abcdefghijklmnopqrstuvwxyz0123.", ["credential"]),
        ("<tool_call>run</tool_call>", ["tool-call"]),
        ("A risk-free rate of 0; see results/equity.csv and https://example.org/home/page.", []),
        ("Use task-abcdefghijklmnopqrstuvwx.", []),
    ],
)
def test_leaks_are_listed_and_relative_paths_are_none(tmp_path: Path, text: str, kinds: list[str]) -> None:
    package = make_package(tmp_path, report("# R\n\nFine.\n"), ("Hi.", text))
    found = InternalLeak(NoOptions()).facts(package)["candidates"]
    assert sorted(c["kind"] for c in found) == kinds
    assert not any(c["in_code"] for c in found)


def test_leaks_in_code_are_marked_as_such(tmp_path: Path) -> None:
    package = make_package(tmp_path, report("# R\n\nFine.\n", run__py="#!/usr/bin/env python\npath = '/home/agent/x.csv'\n"))
    assert [(c["text"], c["in_code"]) for c in InternalLeak(NoOptions()).facts(package)["candidates"]] == [("/home/agent/x.csv", True)]


def test_variant_tables_and_sections_are_facts(tmp_path: Path) -> None:
    package = make_package(
        tmp_path,
        {**clean_delivery(), "sensitivity.csv": "variant,sharpe,annual_return\ncost 5bp,0.8,0.11\ncost 20bp,0.7,0.10\ntop 5,0.75,0.1\n"},
    )
    assert [t["table"] for t in SensitivityAnalysis(NoOptions()).facts(package)["variants"]] == ["sensitivity.csv"]
    assert ReportReadability(NoOptions()).facts(package)["sections"] == {
        "summary": True,
        "method": True,
        "result": True,
        "limitation": True,
    }


def test_a_line_of_numbers_beside_many_tables_is_bounded(tmp_path: Path) -> None:
    rows = "metric,value\n" + "\n".join(f"m{j},{j / 7:.4f}" for j in range(20)) + "\n"
    files = {f"t{i}.csv": rows for i in range(25)} | {"REPORT.md": "# Report\n\n## Results\n" + "12.3% " * 170_000 + "\n"}
    package = make_package(tmp_path, files)
    started = time.monotonic()
    found = package.fact(claims)
    assert time.monotonic() - started < 30  # it took minutes once
    assert 0 < len(found.claims) < 1_000
