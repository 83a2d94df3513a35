"""Stage 3 with researchers that do as they are told: what is grounded, what comes back, what waits for a person, what goes on after a crash."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from attrs import evolve
from rubric_team import GENERAL, PAGE, QUERY, SCRIPT, TWO, Scripted, Shelf, criterion, digest, found, honest, made, script_runner, working

from finassay.api.errors import FinassayError, ProviderError, UsageError
from finassay.api.guidance import Rule, Violation
from finassay.api.research import Derivation, Draft, DraftRoute, ScriptError
from finassay_rubrics.generate.decisions import Decision, decide
from finassay_rubrics.generate.folder import RubricFolder
from finassay_rubrics.record.reading import content_digest, read_rubric


@pytest.fixture(autouse=True)
def scripts_run_here(monkeypatch):
    """Sandboxes are tried in test_scripts.py; starting two for every rubric would take most of the time here."""
    monkeypatch.setattr("finassay_rubrics.generate.assembly.script_runner", script_runner)


def lines(out, name):
    return list(RubricFolder(out).lines(name))


def queued(out):
    return {one["item"]: one for one in RubricFolder(out).queued()}


def test_a_value_that_two_found_is_grounded_and_final(tmp_path):
    out = tmp_path / "r"
    rubric = made(out)
    (one,) = rubric.criteria
    assert (one.status, one.points, one.gate) == ("grounded", Decimal(100), "must_pass")
    assert (one.expected[0].value, one.expected[0].scale) == (Decimal(4812), "millions")
    assert [r.verdict for r in one.review] == ["agrees"]
    assert rubric.status == "final"
    assert read_rubric(out) == rubric
    assert content_digest(rubric) == rubric.content_digest
    assert {entry["who"] for entry in lines(out, "sources.jsonl")} == {"writer", "reviewer"}


def test_the_writer_sees_no_points_and_the_reviewer_no_value(tmp_path):
    writer, reviewer = Scripted("one"), Scripted("other")
    rubric = made(tmp_path / "r", writer, reviewer, query=TWO)
    assert not any(f"{o.points}" in repr(writer.asked) for o in rubric.obligations)
    assert "4812" not in repr(reviewer.asked)
    assert "4,812" not in repr(reviewer.asked)


def test_made_again_nothing_is_asked_and_nothing_changes(tmp_path):
    out = tmp_path / "r"
    made(out, query=TWO)
    before = digest(out)
    silent = Scripted("one", writes=lambda a, d: pytest.fail("asked again"))
    made(out, silent, Scripted("other", derives=lambda q, d: pytest.fail("asked again")), query=TWO)
    assert digest(out) == before


def test_one_family_is_refused_unless_that_is_tried_out(tmp_path):
    with pytest.raises(UsageError, match="of one family"):
        made(tmp_path / "r", Scripted("one"), Scripted("one"))
    assert made(tmp_path / "s", Scripted("one"), Scripted("one"), same_family=True).status == "queued"  # R18 still says it


@pytest.mark.parametrize(
    "nonsense",
    [
        None,
        "a rubric",
        Draft(()),
        Draft(("x",)),
        Draft((None,) * 100),
        Draft((criterion("x" * 5_000, Derivation(None)),)),
        Draft((criterion("a", Derivation(Decimal("NaN"), "USD")),)),
        Draft((criterion("a", Derivation(Decimal("1e400"), "USD")),)),
        Draft((criterion("../../../escape", Derivation(Decimal(1), "USD")),)),
        Draft((criterion("O1.1", Derivation(Decimal(1), "USD"), text="States everything; and is good"),)),
    ],
)
def test_nonsense_for_ever_ends_in_the_queue(tmp_path, nonsense):
    out = tmp_path / "r"
    rubric = made(out, Scripted("one", writes=lambda a, d: nonsense))
    assert rubric.status == "queued"
    assert rubric.queued
    assert all(c.status == "unresolved" for c in rubric.criteria)
    assert not rubric.obligations[0].graded
    assert lines(out, "violations.jsonl")
    assert not [p for p in tmp_path.iterdir() if p != out]


def raising(error):
    def write(assignment, desk):
        raise error

    return write


@pytest.mark.parametrize("error", [ValueError("broken"), KeyError("x"), RecursionError(), ScriptError("the script failed")])
def test_a_writer_that_fails_ends_in_the_queue(tmp_path, error):
    rubric = made(tmp_path / "r", Scripted("one", writes=raising(error)))
    assert rubric.status == "queued"
    assert "the writer failed" in rubric.queued[0]


def test_a_provider_that_is_away_stops_the_run_which_goes_on_later(tmp_path):
    class AwayError(ProviderError):
        retry = True

    with pytest.raises(AwayError):
        made(tmp_path / "r", Scripted("one", writes=raising(AwayError("away"))))
    assert made(tmp_path / "r").status == "final"


def test_a_reviewer_that_finds_something_else_sends_it_back_and_then_to_a_person(tmp_path):
    out = tmp_path / "r"
    reviewer = Scripted("other", derives=lambda q, d: found(d, add=7_000_000))
    writer = Scripted("one", writes=lambda a, d: evolve(honest(a, d), notes=str(len(a.returned)) + "x" * len(writer.asked)))
    rubric = made(out, writer, reviewer)
    assert len(writer.asked) == 3  # bounded
    assert "the reviewer got 4819" in writer.asked[1].returned[0]
    (one,) = rubric.criteria
    assert (one.status, one.expected) == ("unresolved", ())
    waiting = queued(out)["O1.1"]
    assert waiting["criteria"][0]["expected"][0]["value"] == 4812
    assert [r["verdict"] for r in waiting["criteria"][0]["review"]] == ["differs", "differs"]
    assert waiting["criteria"][0]["review"][1]["seen_quotes"] is True


@pytest.mark.parametrize("answer", [None, "4812", Derivation(Decimal("NaN"), "USD"), Derivation(Decimal(4812), "EUR"), ValueError("x")])
def test_a_reviewer_that_answers_nonsense_agrees_with_nothing(tmp_path, answer):
    def derives(question, desk):
        if isinstance(answer, Exception):
            raise answer
        return answer

    rubric = made(tmp_path / "r", reviewer=Scripted("other", derives=derives))
    assert rubric.status == "queued"
    assert rubric.criteria[0].status == "unresolved"


def test_a_repaired_draft_stands(tmp_path):
    def writes(assignment, desk):
        return Draft((criterion("O1.1", found(desk, "revenue" if assignment.returned else "net_income")),))

    rubric = made(tmp_path / "r", Scripted("one", writes=writes))
    assert (rubric.status, rubric.criteria[0].expected[0].value) == ("final", Decimal(4812))
    assert len(list((tmp_path / "r" / "drafts" / "O1").glob("[0-9].json"))) == 2


def forged(**change):
    def writes(assignment, desk):
        one = found(desk)
        return Draft((criterion("O1.1", evolve(one, quotes=(evolve(one.quotes[0], **change),))),))

    return writes


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"text": "Net sales $ 9,999 $ 4,812"}, "does not stand on page 1"),
        ({"reference": "memo"}, "not there as of the cutoff"),
        ({"page": 7}, "has no page 7"),
        ({"page_digest": "0" * 64}, "is another text now"),
        ({"start": 0, "end": 5}, "does not stand at its place"),
        ({"published": date(2020, 1, 1)}, "was published 2023-02-01"),
    ],
)
def test_a_quote_that_does_not_hold_comes_back(tmp_path, change, said):
    out = tmp_path / "r"
    rubric = made(out, Scripted("one", writes=forged(**change)))
    assert rubric.status == "queued"
    assert any(said in entry["reason"] for entry in lines(out, "violations.jsonl"))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("while True:\n    pass\n", "ran longer"),
        ("import socket\n", "imports socket"),
        ("open('x', 'w')\n", "uses open"),
        ("print(4812)\nx = 4812\n", "holds the figure 4812"),
        ("import json, sys\nprint(json.dumps([]))\n", "no JSON object"),
    ],
)
def test_a_script_that_loops_writes_or_reaches_out_ends_in_the_queue(tmp_path, code, said):

    def writes(assignment, desk):
        desk.desk.runner = evolve(desk.desk.runner, seconds=1.0)
        return Draft((criterion("O1.1", found(desk, script=code)),))

    rubric = made(tmp_path / "r", Scripted("one", writes=writes))
    assert rubric.status == "queued"
    assert said in rubric.queued[0]


@pytest.mark.parametrize("who", ["writer", "reviewer"])
def test_who_never_returns_costs_the_obligation_and_not_the_run(tmp_path, who):
    late, ended = threading.Event(), threading.Event()

    def waits(asked, desk):
        late.wait(60)
        try:
            desk.find("Orchard Toolworks")
        except FinassayError as error:
            ended.said = str(error)
        ended.set()

    team = {who: Scripted(who, writes=waits, derives=waits)}
    out = tmp_path / "r"
    started = time.monotonic()
    rubric = made(out, query=TWO, seconds=2.0, **team)
    assert time.monotonic() - started < 20
    assert rubric.status == "queued"
    assert all(c.status == "unresolved" for c in rubric.criteria)
    told = " ".join(rubric.queued)
    assert "did not come back within" in told
    assert "from an earlier call, and still has not" in told
    before = len(lines(out, "sources.jsonl"))
    late.set()
    assert ended.wait(10)
    assert "the time for this is over" in ended.said
    assert len(lines(out, "sources.jsonl")) == before


@pytest.mark.parametrize("figure", ["4,812", "4812", "4,812.0", "13.18", "13.184"])
def test_a_question_that_gives_its_answer_away_is_not_asked(tmp_path, figure):
    def writes(assignment, desk):
        value = found(desk)
        if not figure.startswith("4"):
            script = SCRIPT.replace('Decimal(x["shown"])', 'Decimal(x["shown"]) / 365 / 100 / 100 / 100')
            value = evolve(found(desk, script=script), value=Decimal("13.1835616438"), unit="percent")
        one = criterion("O1.1", value)
        return Draft((evolve(one, question=evolve(one.question, text=f"States the revenue of FY2022, {figure} million")),))

    reviewer = Scripted("other")
    rubric = made(tmp_path / "r", Scripted("one", writes=writes), reviewer)
    assert not reviewer.asked
    assert rubric.criteria[0].status == "unresolved"
    assert f"gives the value away: '{figure}'" in rubric.queued[0]


@pytest.mark.parametrize(
    ("said", "agrees"),
    [
        ("resin cost more than in 2021", True),
        ("Resin, which cost more than in 2021", True),
        ("resin cost less than in 2021", False),
        ("resin did not cost more than in 2021", False),
        ("a new warehouse was opened", False),
    ],
)
def test_words_that_two_found_agree_where_they_say_the_same(tmp_path, said, agrees):
    def words(desk, text):
        return evolve(found(desk), value=text, unit="", script=None, inputs=(), quotes=())

    def writes(assignment, desk):
        return Draft((evolve(criterion("O1.1", words(desk, "resin cost more than in 2021")), kind="text", must_pass=False),))

    team = Scripted("one", writes=writes), Scripted("other", derives=lambda q, d: words(d, said))
    pack = evolve(GENERAL, rules=tuple(r for r in GENERAL.rules if r.id != "R08"))  # without evidence here, which would be the same passage
    rubric = made(tmp_path / "r", *team, guidance=pack)
    verdict = rubric.criteria[0].review[0].verdict if rubric.criteria[0].review else "none"
    assert verdict == ("agrees" if agrees else "differs")


def test_a_source_without_dates_shows_nothing(tmp_path):
    rubric = made(tmp_path / "r", source=Shelf(memo=(None, [PAGE]), later=(date(2023, 3, 2), [PAGE])))
    assert rubric.criteria[0].status == "unresolved"
    assert "no document as of the cutoff" in rubric.queued[0]


def broken(product):
    raise ZeroDivisionError("in the pack")


@pytest.mark.parametrize("check", [broken, lambda product: ["no violation"], lambda product: None])
@pytest.mark.parametrize("stage", ["rubric", "context"])
def test_a_pack_with_a_broken_rule_ends_in_one_line_or_in_the_queue(tmp_path, check, stage):
    pack = evolve(GENERAL, rules=(*GENERAL.rules, Rule("CR01", stage, "broken", check)))
    if stage == "context":
        with pytest.raises(UsageError, match="CR01: rule: the rule itself failed"):
            made(tmp_path / "r", guidance=pack)
        return
    rubric = made(tmp_path / "r", guidance=pack)
    assert "CR01" in rubric.queued[0]
    assert rubric.criteria[0].status == "grounded"  # the writer is not blamed


def test_a_rule_of_a_pack_rejects_what_breaks_it(tmp_path):
    def no_revenue(product):
        return tuple(Violation("CR02", f"criterion {c['id']}", "revenue is not wanted") for c in product["criteria"] if c["expected"])

    pack = evolve(GENERAL, rules=(*GENERAL.rules, Rule("CR02", "rubric", "no revenue", no_revenue)))
    writer = Scripted("one")
    assert made(tmp_path / "r", writer, guidance=pack).criteria[0].status == "unresolved"
    assert "revenue is not wanted" in writer.asked[-1].returned[0]


def test_an_unresolved_obligation_waits_and_its_points_stand_on_nothing(tmp_path):
    rubric = made(tmp_path / "r", query=TWO)
    by_id = {o.what: o for o in rubric.obligations}
    assert [o.graded for o in by_id.values()] == [True, True, False]
    assert sum(c.points for c in rubric.criteria) == sum(o.points for o in rubric.obligations if o.graded)
    assert list(queued(tmp_path / "r")) == ["O3"]


def test_routes_that_nobody_can_tell_apart_are_merged(tmp_path):
    def writes(assignment, desk):
        one = found(desk)
        routes = tuple(DraftRoute(name, "basis", "", evolve(one, value=one.value + add)) for name, add in (("a", 0), ("b", 300_000)))
        return Draft((criterion("O1.1", one, routes=routes),))

    rubric = made(tmp_path / "r", Scripted("one", writes=writes))
    assert rubric.status == "final"
    assert not rubric.topics
    assert rubric.criteria[0].merged_routes == ("basis:b",)
    assert [r.route_id for r in rubric.criteria[0].expected] == ["any"]


def test_what_the_whole_shows_comes_back_and_then_waits(tmp_path):
    """Two obligations with one criterion: neither shows it alone."""

    def writes(assignment, desk):
        return Draft((criterion(f"{assignment.obligation}.1", found(desk)),))

    out = tmp_path / "r"
    writer = Scripted("one", writes=writes)
    rubric = made(out, writer, query="Report revenue and net income of Orchard Toolworks for FY2022.")
    assert [c.status for c in rubric.criteria] == ["grounded", "unresolved"]
    assert "tests the same as O1.1" in " ".join(queued(out)["O2.1"]["why"])
    assert any("tests the same" in words for a in writer.asked for words in a.returned)


# -- a person ---------------------------------------------------------------------------------------------------------


def disputed(out, **more):
    return made(out, reviewer=Scripted("other", derives=lambda q, d: Derivation(None, reason="not there")), **more)


@pytest.mark.parametrize(
    ("decision", "status", "value"),
    [
        ({"decision": "accept"}, "grounded", Decimal(4812)),
        ({"decision": "drop"}, "unresolved", None),
        ({"decision": "value", "value": 4390, "document": "report", "quote": "Net sales $ 4,812 $ 4,390"}, "grounded", Decimal(4390)),
    ],
)
def test_what_a_person_decides_holds(tmp_path, decision, status, value):
    out = tmp_path / "r"
    assert disputed(out).status == "queued"
    decide(RubricFolder(out), "O1.1", Decision(by="a reviewer", reason="looked it up", **decision))
    rubric = disputed(out)
    assert rubric.status == ("queued" if value is None else "final"), rubric.queued  # a final one holds the 100 points
    assert all("100.00 points stand in no criterion" in why for why in rubric.queued)
    (one,) = rubric.criteria
    assert one.status == status
    assert [r.value for r in one.expected] == ([] if value is None else [value])
    assert "a reviewer" in one.notes + one.reason
    assert disputed(out) == rubric


def test_a_persons_quote_must_stand_in_its_document(tmp_path):
    out = tmp_path / "r"
    disputed(out)
    decide(RubricFolder(out), "O1.1", Decision(decision="value", value=1, document="report", quote="nowhere 1", by="x"))
    rubric = disputed(out)
    assert rubric.status == "queued"
    assert "does not stand in report" in rubric.queued[0]


def test_decisions_that_say_nothing_are_one_line(tmp_path):
    out = tmp_path / "r"
    disputed(out)
    with pytest.raises(UsageError, match="nothing of the name"):
        decide(RubricFolder(out), "../x", Decision(decision="accept", by="x"))
    (out / "queue" / "O1.1.decision.json").write_text('{"decision": "perhaps"}')
    told = []
    rubric = disputed(out, told=told.append)
    assert any(line.startswith("queue/O1.1.decision.json is not taken: decision") and "(hint: " in line for line in told)
    assert rubric.status == "queued"
    assert "is not taken" in " ".join(queued(out)["O1.1"]["why"])


# -- another folder, another process, a crash ---------------------------------------------------------------------------


def test_another_rubrics_folder_is_left_alone(tmp_path):
    out = tmp_path / "r"
    made(out)
    with pytest.raises(UsageError, match="another context"):
        made(out, query=TWO)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("x")
    with pytest.raises(UsageError, match="holds something else"):
        made(tmp_path / "mine")


def test_two_at_once_are_refused(tmp_path):
    with working(tmp_path / "r") as first:
        with pytest.raises(UsageError, match="another process works on"):
            made(tmp_path / "r")
        first.make()


@pytest.mark.parametrize(
    ("query", "cutoff", "said"),
    [
        ("  ", date(2023, 3, 1), "the query is empty"),
        ("Good morning.", date(2023, 3, 1), "asks for nothing"),
        (QUERY, date(2099, 1, 1), "lies ahead"),
    ],
)
def test_queries_and_cutoffs_that_cannot_be(tmp_path, query, cutoff, said):
    with pytest.raises(UsageError, match=said):
        made(tmp_path / "r", query=query, cutoff=cutoff)
    assert not (tmp_path / "r").exists()


CHILD = """
import sys, time
sys.path.insert(0, {tests!r})
import rubric_team as scripted
from finassay_rubrics.generate import assembly
assembly.script_runner = scripted.script_runner
from pathlib import Path
def slow(assignment, desk):
    time.sleep(0.05)
    return scripted.honest(assignment, desk)
scripted.made(Path(sys.argv[1]), scripted.Scripted("one", writes=slow), query=scripted.TWO)
"""


def test_killed_anywhere_it_goes_on_to_the_same_rubric(tmp_path):
    whole, out = tmp_path / "whole", tmp_path / "killed"
    expected = made(whole, query=TWO)
    code = CHILD.format(tests=str(Path(__file__).parent))
    chance = random.Random(7)
    kills = 0
    for _ in range(8):
        child = subprocess.Popen([sys.executable, "-c", code, str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        before = sum(1 for _ in out.rglob("*")) if out.exists() else 0
        while child.poll() is None and time.monotonic() < deadline:
            if out.exists() and sum(1 for _ in out.rglob("*")) > before + chance.randrange(6):
                time.sleep(chance.random() / 20)
                break
            time.sleep(0.002)
        if child.poll() is None:
            os.kill(child.pid, signal.SIGKILL)
            kills += 1
        child.wait(timeout=10)
        if (out / "rubric.json").exists():
            break
    assert kills
    assert made(out, query=TWO) == expected
    kept = {name: text for name, text in digest(out).items() if not name.startswith("violations")}
    assert kept == {name: text for name, text in digest(whole).items() if not name.startswith("violations")}
    assert json.loads((out / "budget.json").read_text())["digest"] == json.loads((whole / "budget.json").read_text())["digest"]
