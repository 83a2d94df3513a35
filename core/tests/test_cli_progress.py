"""What is shown of a run while it goes on, and how an incomplete grading is marked."""

import io
import time
from concurrent.futures import Future

import pytest
from attrs import evolve
from rich.console import Console
from runs_on_disk import add_card, add_session, run_folder

from finassay.api.errors import ProviderError
from finassay.api.verdict import Unscored
from finassay.cli.progress import RunProgress, _State, span
from finassay.cli.render import list_sessions, print_run, show_session
from finassay.models.ledger import NAME, Entry, Ledger
from finassay.models.patience import wait_words
from finassay.models.serving import serving
from finassay.runs.folder import SessionKey
from finassay.runs.plan import Planned
from finassay.runs.view import run_view

KEY = SessionKey("x", "t", 1)


def begun(*, live: bool = True) -> RunProgress:
    progress = RunProgress(1, live=live)
    progress._started(KEY, Planned(KEY, "hold", ""))
    return progress


def rows(progress: RunProgress) -> str:
    return "\n".join(row.plain for row in progress.rows())


def shown(print_it, view, width=120) -> str:
    out = Console(file=io.StringIO(), width=width, color_system=None)
    print_it(out, view)
    return out.file.getvalue()


def test_the_present_state_is_shown_with_its_time():
    progress = begun()
    progress._now(KEY, "turn 1: the agent works", "")
    progress._running[KEY.id].since -= 11
    assert "x.t.1  turn 1: the agent works, 11 s" in rows(progress)
    progress._turn(KEY, 1, "agent, 11 s, 34 files")
    progress._now(KEY, "turn 1: the user decides", "")
    assert "turn 1: the user decides, 0 s  [turn 1: agent, 11 s, 34 files]" in rows(progress)


def test_a_person_who_is_waited_for_is_told_where_in_whole(capsys):
    path = "/" + "/".join(["a-long-folder"] * 60) + "/decision.txt"
    progress = begun()
    progress._now(KEY, "the user opens", path)
    assert f"waits for a person, who writes {path}\n" in capsys.readouterr().err
    assert path in rows(progress)


def test_a_model_that_is_asked_is_shown_until_it_answers():
    progress = begun()
    with serving(KEY.id):
        progress.called("acme/big", True, "")
        assert "acme/big is asked, 0 s" in rows(progress)
        progress.waits("acme/big", 30, ProviderError("acme/big: HTTP 529"))
        assert "waits for acme/big: HTTP 529, retry in 30 s" in rows(progress)
        progress.called("acme/big", False, "")
    assert "acme/big" not in rows(progress)


def test_a_wait_names_model_and_session_once_and_is_told_again_for_another_session(capsys):
    progress = begun()
    for session in (KEY.id, KEY.id, "x.t.2"):
        with serving(session):
            progress.waits("acme/big", 2.4, ProviderError("acme/big: HTTP 529"))
    assert capsys.readouterr().err.splitlines() == [f"{s}: waits for acme/big: HTTP 529; asked again in 2 s" for s in (KEY.id, "x.t.2")]
    assert wait_words("a/b", 0.2, ProviderError("")) == "waits for a/b: ProviderError; asked again at once"


def test_a_model_that_hangs_is_told_into_a_pipe(capsys):
    with begun() as progress:
        progress._running[KEY.id].calls[1, "acme/big"] = (time.monotonic() - 25, "")
        ends = time.monotonic() + 10
        said = ""
        while "acme/big" not in said and time.monotonic() < ends:
            time.sleep(0.1)
            said += capsys.readouterr().err
    assert "x.t.1: acme/big has not answered for 2" in said


def test_a_grading_is_shown_until_it_is_over():
    progress = RunProgress(1)
    future = progress.grading(KEY, Future())
    assert "x.t.1  is graded, 0 s" in rows(progress)
    future.set_result(None)
    assert rows(progress) == ""


def test_an_agent_that_learns_is_shown_meanwhile():
    progress = RunProgress(1)
    with progress.learning(KEY):
        assert "x.t.1  learns, 0 s" in rows(progress)
    assert rows(progress) == ""


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0 s"), (119, "119 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")])
def test_spans(seconds, words):
    assert span(seconds) == words


def test_what_a_model_or_file_is_called_acts_on_nothing():
    progress = begun()
    progress._running[KEY.id] = _State("\x1b[2Jx[red]", time.monotonic(), "a\nb")
    text = rows(progress)
    assert "\x1b" not in text
    assert "[red]" in text


# -- what is incomplete ---------------------------------------------------------------------------------------------


def in_part(card):
    lacking = {"4.1", "4.4"}
    verdicts = tuple(
        evolve(g, scored=None, measured=None, not_applicable=None, unscored=Unscored("judge unavailable")) if g.dimension in lacking else g
        for g in card.verdicts
    )
    return evolve(
        card, verdicts=verdicts, quality=10.44, complete=False, incomplete=("4.1 x: judge unavailable", "4.4 x: judge unavailable")
    )


def test_an_incomplete_grading_is_marked_everywhere(tmp_path, capsys):
    folder = run_folder(tmp_path / "run")
    key = add_session(folder)
    card = add_card(folder, key, in_part)
    RunProgress(1).graded(key, card)
    assert "graded in part (2 dimensions without a full verdict), quality 10.4 of what was judged" in capsys.readouterr().err
    view = run_view(folder)
    table = shown(print_run, view)
    assert "10.4*" in table
    assert "incom-" in table
    assert "* of incomplete gradings" in table
    listed = shown(list_sessions, view)
    assert "10.4*" in listed
    assert "2 dimensions without a full verdict" in listed


def test_a_complete_grading_bears_no_mark(tmp_path):
    folder = run_folder(tmp_path / "run")
    add_card(folder, add_session(folder), lambda card: evolve(card, complete=True, incomplete=(), quality=50.0))
    for print_it in (print_run, list_sessions):
        assert "*" not in shown(print_it, run_view(folder))


def test_columns_fit_120(tmp_path):
    folder = run_folder(tmp_path / "run")
    add_card(folder, add_session(folder), in_part)
    assert "…" not in shown(print_run, run_view(folder))


def test_what_models_cost_is_shown_before_a_session_has_ended(tmp_path):
    folder = run_folder(tmp_path / "run")
    Ledger(folder.root / NAME).add(Entry("simulator", "acme/big", "x.t.1", 0, cost_usd=0.5))
    said = shown(print_run, run_view(folder))
    assert "no session has ended yet" in said
    assert "acme/big" in said


def test_who_plays_stands_with_its_models(tmp_path):
    folder = run_folder(tmp_path / "run")
    key = add_session(folder)
    add_card(folder, key)
    path = folder.session_path(key) / "events.jsonl"
    played = '"simulator": {"id": "model", "identity": {"asked": {"acme/big": {"family": "acme"}}}}, "agent"'
    path.write_text(path.read_text().replace('"agent"', played, 1))
    view = run_view(folder)
    assert view.simulator == "model (acme/big)"
    for print_it in (print_run, list_sessions):
        assert "user played by model (acme/big)" in shown(print_it, view)
    assert "user played by: model (acme/big)" in shown(show_session, view.sessions[0])
    by_hand = evolve(view.sessions[0], identity={"simulator": {"id": "mailbox", "identity": {"player": "person"}}})
    assert by_hand.simulator_name == "mailbox (person)"
    assert evolve(by_hand, identity={"simulator": "theirs"}).simulator_name == "theirs"
    assert evolve(by_hand, identity={}).simulator_name == ""
