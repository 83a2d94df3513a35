"""Runs whose models are refused by their provider, speak nonsense, or are exchanged for others when the run is graded again."""

import stat

import pytest
import test_models_in_runs as runs
from attrs import evolve

from finassay.api.errors import ProviderRefusedError, UsageError
from finassay.cli.grade import regrading
from finassay.config.settings import RunSettings
from finassay.models.ledger import read_ledger
from finassay.models.limits import Limiter
from finassay.runs.grade import scorecards
from finassay.runs.view import by_judge, run_view

bench, quick = runs.bench, runs.quick
HOLD, JUDGE = runs.HOLD, runs.JUDGE
ONE_AT_A_TIME = (*HOLD[:-3], "1", *HOLD[-2:])


def refusals(bench: runs.Bench) -> int:
    path = bench.switches / "refusals"
    return len(path.read_text().split()) if path.exists() else 0


# -- refused ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("what", "tried"), [("", 1), ("one", 2)])
def test_sessions_are_not_tried_in_vain(quick, bench, what, tried):
    """A wrong key is known at once; what may be about one request is when it is said of a second session."""
    bench.tasks("one", "two", "three", "four")
    (bench.switches / "refused").write_text(what)
    code, said = bench.run(*JUDGE, hold=ONE_AT_A_TIME)
    assert code == 11, said
    assert refusals(bench) == tried
    assert len(bench.ended()) == tried
    assert "4 sessions could not go on" in said
    assert "HTTP 401\nhint: The key in FAKERY_API_KEY is wrong. With that mended, the same command goes on." in said
    assert "When the provider answers" not in said
    (bench.switches / "refused").unlink()
    code, said = bench.run(*JUDGE, hold=ONE_AT_A_TIME)
    assert code == 0, said
    assert set(bench.ended().values()) == {"turn_limit"}


@pytest.mark.parametrize("command", ["run", "grade"])
def test_a_refused_judge_is_asked_once_and_says_why_once(quick, bench, command):
    bench.tasks("one", "two")
    assert bench.run("--no-grade")[0] == 0
    (bench.switches / "refused").write_text("")
    code, said = bench.run(*JUDGE) if command == "run" else bench.finassay("grade", bench.run_folder.root, *JUDGE)
    assert code == 11, said
    assert refusals(bench) == 1
    assert said.count("HTTP 401 (The key in FAKERY_API_KEY is wrong.)") == 1
    assert sum(bool(e.failed) for e in read_ledger(bench.run_folder.root / "ledger.jsonl")) == 1


# -- a user that says nothing that can be sent ------------------------------------------------------------------------


@pytest.mark.parametrize("more", [("--no-grade",), JUDGE])
def test_a_run_that_holds_no_valid_session_says_why_and_fails(quick, bench, more):
    bench.tasks("one")
    (bench.switches / "garbage").write_text("")
    code, said = bench.run(*more)
    assert code == 9, said
    assert "no session counts (1 held): simulator_void: no valid decision after" in said
    assert "the answer does not fit the form" in said
    assert "take another model" in said
    assert "Not graded yet" not in said
    assert runs.MARKER not in said
    assert runs.leaks(bench.run_folder.root, (runs.MARKER,), sealed=False) == []


# -- another judge ----------------------------------------------------------------------------------------------------


def test_a_named_judge_stands_alone_and_options_amend_the_runs_own():
    own = {"id": "model", "options": {"model": "fakery/m", "isolate": True}}
    settings = RunSettings.model_validate({"agents": {}, "judge": own, "budget_usd": 5})

    def judge(name: str | None, *options: str, **money: float) -> dict:
        return regrading(settings, name, options, money).judge.model_dump()

    assert judge(None) == own
    assert judge(None, "judge.effort=high")["options"] == {"model": "fakery/m", "isolate": True, "effort": "high"}
    assert judge("model", 'judge.panel=["a/b", "c/d"]')["options"] == {"panel": ["a/b", "c/d"]}
    assert judge("model") == {"id": "model", "options": {}}
    assert regrading(settings, None, (), {"budget_usd": None}).budget_usd == 5
    assert regrading(settings, None, (), {"budget_usd": 0.0}).budget_usd is None


@pytest.mark.parametrize("nothing", ["0", "none"])
def test_a_grading_may_drop_the_budget_of_the_run_and_says_where_it_comes_from(quick, bench, nothing):
    bench.tasks("one")
    assert bench.run("--no-grade", "--budget", "4")[0] == 0
    code, said = bench.finassay("grade", bench.run_folder.root, *JUDGE)
    assert code == 10, said
    assert "the run was begun with --budget 4, which holds here as well" in said
    bench.settings("[run]\nreader = 'none'\n")
    unpriced = tuple(word.replace("fakery/m", "fakery/other") for word in JUDGE)
    code, said = bench.finassay("grade", bench.run_folder.root, *unpriced)
    assert code == 5, said
    assert "the run was begun with --budget 4" in said
    code, said = bench.finassay("grade", bench.run_folder.root, *unpriced, "--budget", nothing)
    assert code == 0, said
    code, said = bench.finassay("grade", bench.run_folder.root, *unpriced, "--budget", "-3")
    assert code == 2, said
    assert "'-3' is no amount of dollars" in said


def test_a_judge_that_did_not_grade_is_told_wherever_it_is_named(quick, bench):
    bench.tasks("one")
    assert bench.run(*JUDGE)[0] == 0
    key = bench.run_folder.sessions()[0]
    (card,) = scorecards(bench.run_folder, key)
    code, said = bench.finassay("show", bench.run_folder.root, key.id, "--judge", "nonsense")
    assert code == 2, said
    assert f"'nonsense' has not graded session {key.id}" in said
    assert f"Gradings: reader-aloud (fakery/m), evaluator {card.evaluator.hash[:12]}." in said
    short = card.evaluator.hash[:4]
    assert bench.finassay("show", bench.run_folder.root, key.id, "--judge", short)[0] == 0
    assert run_view(bench.run_folder, judge=short).sessions[0].scorecard == card
    assert by_judge([card], short[:3]) == []
    alike = evolve(card, evaluator=evolve(card.evaluator, hash=short + "0" * 60))
    with pytest.raises(UsageError, match="more than one evaluator"):
        by_judge([card, alike], short)


# -- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("-o", "judge.modle=x"), "has no option 'modle' (Did you mean 'model'?"),
        ((), "needs the option 'model' (For example: -o judge.model=VALUE "),
        (("-o", "judge.model=[1]"), "option 'model' takes a text, and is [1]"),
    ],
)
def test_a_wrong_option_is_told_in_plain_words(quick, bench, options, says):
    bench.tasks("one")
    code, said = bench.run("--judge", "reader-aloud", *options)
    assert code == 5, said
    assert says in said
    assert "Input should" not in said


def test_a_budget_that_is_none_is_told_by_its_own_name(quick, bench, monkeypatch):
    bench.tasks("one")
    code, said = bench.run("--budget", "-3")
    assert code == 2
    assert "--budget" in said
    monkeypatch.setenv("FINASSAY_BUDGET_USD", "-3")
    code, said = bench.run()
    assert code == 2
    assert "hint: budget_usd: What the run may cost." in said


def test_the_folder_of_the_limits_is_the_owners(tmp_path):
    with Limiter("p", concurrency=1, folder=tmp_path / "sealed" / "limits").place():
        assert stat.S_IMODE((tmp_path / "sealed" / "limits").stat().st_mode) == 0o700


def test_a_refusal_of_one_request_is_not_taken_for_all():
    assert not ProviderRefusedError("too long").any_request
    assert not ProviderRefusedError("too long").retry
