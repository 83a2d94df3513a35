"""What reaches a terminal: nothing that acts on it, one line where a line is meant, errors that are told and not thrown."""

import sys
import types
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from pydantic import BaseModel
from rich.console import Console
from runs_on_disk import HOSTILE, add_card, add_session, run_folder

from finassay.api.delivery import Rejected
from finassay.api.errors import CatalogError, PreflightError
from finassay.api.scorecard import Graded, Unread
from finassay.api.verdict import Evidence, EvidenceKind, Measured, Scored, Source
from finassay.catalog.catalog import BrokenComponentError, Catalog, Offer
from finassay.cli import main as entry
from finassay.cli.main import main
from finassay.cli.progress import RunProgress
from finassay.cli.render import measure, show_task
from finassay.cli.words import clean, count, one_line
from finassay.hooks.dispatch import Observers
from finassay.runs.build import best_sandbox, probed
from finassay.runs.folder import SessionKey
from finassay.session.loop import Ending
from finassay.testing.samples import sample_task


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """(exit code, output, errors) of a command line."""
    code: Any
    try:
        code = main([str(a) for a in arguments])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    return int(code or 0), out, err


def harmless(text: str) -> bool:
    return not any(c in text for c in "\x1b\x07\u202e\r")


# -- words ------------------------------------------------------------------------------------------------------------


def test_acting_characters_are_replaced_and_lines_joined():
    assert harmless(clean(HOSTILE))
    assert clean(HOSTILE).count("\n") == 1
    joined = one_line("a\r\n b\tc\u2028d\x1b[31m")
    assert joined == "a b c d�[31m"
    assert len(one_line("x" * 10_000, 50)) == 50
    assert one_line("x" * 50, 50) == "x" * 50


def test_counts_agree_with_their_noun():
    assert (count(1, "task"), count(2, "task"), count(0, "session")) == ("1 task", "2 tasks", "0 sessions")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(10.164000000000001, "10.164"), (1234567.0, "1,234,567"), (0.000123456, "0.000123"), (0, "0"), (None, "unknown"), ("a", "a")],
)
def test_measures_are_for_people(value, shown):
    assert measure(value) == shown


# -- progress and show ------------------------------------------------------------------------------------------------


def test_an_agents_error_stays_on_its_line(capsys):
    progress = RunProgress(1)
    key = SessionKey("x", "t", 1)
    progress._ended(key, Ending("agent_error", HOSTILE, None))
    progress.problem(key, HOSTILE)
    shown = capsys.readouterr().err
    assert harmless(shown)
    assert shown.count("\n") == 2


def test_a_session_that_is_not_graded_says_so(tmp_path, capsys):
    folder = run_folder(tmp_path / "run")
    key = add_session(folder, end="environment_error", detail="the sandbox\nis gone")
    card = add_card(folder, key)
    progress = RunProgress(1)
    progress.graded(key, card, "the sandbox\nis gone")
    shown = capsys.readouterr().err
    assert "not graded: environment_error (the sandbox is gone)" in shown
    assert "accepted" not in shown
    _, out, _ = run(capsys, "show", folder.root)
    assert "not graded" in out
    assert "Could not be graded, because of how they ended (environment_error): 1 of 1 sessions." in out


def hostile_card(card):
    values = Measured({f"name{HOSTILE}": HOSTILE}, "by")
    scored = Scored(1, Source.PROGRAM, HOSTILE, HOSTILE, (Evidence(EvidenceKind.NOTE, HOSTILE, HOSTILE, (HOSTILE,), HOSTILE, HOSTILE),))
    replaced = {"6.1": Graded("6.1", measured=values), "1.1": Graded("1.1", scored=scored)}
    kept = tuple(replaced.pop(g.dimension, g) for g in card.verdicts)
    return evolve(card, verdicts=(*kept, *replaced.values()), failed_vetoes=("1.1",), unread=(Unread(HOSTILE, HOSTILE),))


def test_show_prints_nothing_that_acts(tmp_path, capsys):
    folder = run_folder(tmp_path / "run")
    key = add_session(folder, reply=HOSTILE, detail=HOSTILE, path="a\x1b[2J.csv", rejected=(Rejected("b", HOSTILE),))
    add_card(folder, key, hostile_card)
    (folder.session_path(key) / "feedback.txt").write_text(HOSTILE)
    for more in ((key.id,), (), (key.id, "--failed"), (key.id, "--feedback"), (key.id, "--file", "a\x1b[2J.csv")):
        code, out, err = run(capsys, "show", folder.root, *more)
        assert code == 0, err
        assert harmless(out), more
    assert "VETO FAILED" in run(capsys, "show", folder.root, key.id)[1]


def test_the_same_thing_is_shown_once(tmp_path, capsys):
    def repeated(card):
        quotes = tuple(Evidence(EvidenceKind.QUOTE, "one quote", "a1", expected=f"item{i}") for i in range(4))
        scored = Graded("1.1", scored=Scored(2, Source.PROGRAM, "check", "reason", quotes))
        return evolve(card, verdicts=tuple(scored if g.dimension == "1.1" else g for g in card.verdicts))

    folder = run_folder(tmp_path / "run")
    key = add_session(folder)
    add_card(folder, key, repeated)
    _, out, _ = run(capsys, "show", folder.root, key.id)
    assert out.count("one quote") == 1
    assert "expected item0; expected item1" in out


def test_failed_shows_only_what_went_wrong(tmp_path, capsys):
    def graded(card):
        levels = {"1.1": 4, "1.2": 3, "1.3": 1, "3.7": 2}
        made = {n: Graded(n, scored=Scored(level, Source.PROGRAM, "check", f"reason of {n}")) for n, level in levels.items()}
        return evolve(card, verdicts=tuple(made.get(g.dimension, g) for g in card.verdicts), failed_vetoes=("3.7",))

    folder = run_folder(tmp_path / "run")
    key = add_session(folder)
    add_card(folder, key, graded)
    code, out, _ = run(capsys, "show", folder.root, key.id, "--failed")
    assert code == 0
    assert "reason of 1.3" in out
    assert "reason of 3.7" in out
    assert "To pass: Let one run write every file" in out
    assert "reason of 1.1" not in out
    assert "reason of 1.2" not in out
    assert "Test an idea." not in out
    assert "2.1 Stock selection: no verdict" in out


def test_what_was_not_read_stands_beside_the_files(tmp_path, capsys):
    folder = run_folder(tmp_path / "run")
    key = add_session(folder, path="prices.pkl", rejected=(Rejected("link", "is a link"),))
    card = add_card(folder, key, lambda c: evolve(c, unread=(*c.unread, Unread("prices.pkl", "is a serialised object"))))
    assert Unread("link", "not taken: is a link") in card.unread
    _, out, _ = run(capsys, "show", folder.root, key.id)
    assert any("prices.pkl" in line and "is a serialised object" in line for line in out.splitlines())
    assert out.count("not taken: is a link") == 1


def test_a_task_is_shown_without_a_wording_that_no_session_will_use(capsys):
    show_task(Console(width=150), sample_task(), reveal=False)
    shown = capsys.readouterr().out
    assert "last year's winners, skipping the latest month; a monthly refresh" in shown
    assert "drawn for each session" in shown
    assert "20%" not in shown


# -- errors -----------------------------------------------------------------------------------------------------------


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(entry.cli, "main", fail)


def test_an_unwritable_file_is_one_line_with_its_own_code(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    code, _, err = run(capsys, "new", "agent", "foo", "--out", tmp_path / "file")
    assert code == 8
    assert err.startswith("error: ")
    assert str(tmp_path / "file") in err
    assert "Traceback" not in err
    assert err.count("\n") == 1


def test_a_full_disk_is_one_line(monkeypatch, capsys):
    failing(monkeypatch, OSError(28, "No space left on device", "a/b"))
    code, _, err = run(capsys, "tasks")
    assert (code, err) == (8, "error: a/b: No space left on device\nhint: Make room, and give the same command again.\n")


def test_an_unexpected_error_is_one_line_and_a_traceback_only_on_demand(monkeypatch, capsys):
    failing(monkeypatch, ValueError(HOSTILE))
    code, _, err = run(capsys, "tasks")
    assert code == 1
    assert err.startswith("internal error: ValueError: ")
    assert "--debug" in err
    assert "Traceback" not in err
    assert harmless(err)
    for arguments in (("--debug", "tasks"), ("tasks", "show", "--debug")):
        code, _, err = run(capsys, *arguments)
        assert code == 1
        assert "Traceback" in err
        assert harmless(err)


def test_debug_may_stand_anywhere(tmp_path, capsys):
    code, _, err = run(capsys, "tasks", "show", tmp_path / "none", "--debug")
    assert code == 3
    assert "Traceback" in err


def test_errors_of_plugins_are_escaped_and_on_one_line(monkeypatch, capsys):
    failing(monkeypatch, CatalogError(f"agent of x: {HOSTILE}", hint=HOSTILE))
    code, _, err = run(capsys, "run")
    assert code == 4
    assert harmless(err)
    assert err.count("\n") == 2
    failing(monkeypatch, PreflightError("no", problems=("one", HOSTILE)))
    code, _, err = run(capsys, "run")
    assert code == 5
    assert harmless(err)
    assert err.count("\n") == 3


def test_a_part_that_ends_the_program_is_named(monkeypatch, capsys):
    failing(monkeypatch, SystemExit(3))
    code, _, err = run(capsys, "doctor")
    assert code == 1
    assert "ended the program" in err
    failing(monkeypatch, SystemExit(130))
    assert run(capsys, "run") == (130, "", "")


# -- plugins that call sys.exit ---------------------------------------------------------------------------------------


class NoOptions(BaseModel):
    pass


@pytest.fixture
def quitting(monkeypatch):
    """A module that ends the program when it is imported, and one whose component does when it is made."""

    class Quits:
        api_version, description, Options = 1, "quits", NoOptions
        id, isolation = "quits", None

        def __init__(self, options: NoOptions) -> None:
            sys.exit(5)

    class Probes(Quits):
        def __init__(self, options: NoOptions) -> None:
            pass

        def probe(self) -> None:
            sys.exit(6)

        def open(self, spec: object) -> None:
            return None

    module = types.ModuleType("quitting_plugin")
    module.Quits, module.Probes = Quits, Probes
    monkeypatch.setitem(sys.modules, "quitting_plugin", module)

    def offer(value: str, kind: str = "sandbox") -> Offer:
        return Offer(kind, "quits", "finassay-quits", "1", EntryPoint("quits", value, f"finassay.{kind}s"))

    return offer


def write_module(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    (folder / f"{name}.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.syspath_prepend(folder)
    return name


def test_a_plugin_that_exits_at_import_is_broken_and_not_silence(tmp_path, monkeypatch, quitting):
    name = write_module(tmp_path, "exits_at_import", monkeypatch)
    catalog = Catalog([quitting(f"{name}:X")])
    with pytest.raises(BrokenComponentError, match="SystemExit"):
        catalog.create("sandbox", "quits")
    assert "SystemExit" in catalog.health()[0].problem


def test_a_component_that_exits_when_made_is_broken(quitting):
    with pytest.raises(BrokenComponentError, match="cannot be made: SystemExit: 5"):
        Catalog([quitting("quitting_plugin:Quits")]).create("sandbox", "quits")


def test_a_sandbox_whose_probe_exits_does_not_work(quitting):
    catalog = Catalog([quitting("quitting_plugin:Probes")])
    sandbox, _ = catalog.create("sandbox", "quits")
    assert not probed(sandbox).ok
    with pytest.raises(CatalogError, match="its probe failed: SystemExit: 6"):
        best_sandbox(catalog)


def test_an_observer_that_exits_is_muted(tmp_path, monkeypatch):
    name = write_module(tmp_path, "exits_as_observer", monkeypatch)
    observers = Observers([EntryPoint("quits", name, "finassay.plugins")])
    assert "SystemExit" in observers.muted["quits"]


def test_a_command_that_exits_at_import_is_named(tmp_path, monkeypatch, capsys):
    name = write_module(tmp_path, "exits_as_command", monkeypatch)
    monkeypatch.setattr(entry, "_offered", lambda: {"quits": EntryPoint("quits", f"{name}:x", "finassay.commands")})
    code, _, err = run(capsys, "quits")
    assert code == 4
    assert "cannot be loaded: SystemExit" in err


def test_what_a_plugin_says_is_on_its_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "hostile_plugin.py").write_text(f"raise ValueError({HOSTILE!r})\n")
    monkeypatch.syspath_prepend(tmp_path)
    offer = Offer("sandbox", "bad", "finassay-bad", "1", EntryPoint("bad", "hostile_plugin:X", "finassay.sandboxes"))
    monkeypatch.setattr(Catalog, "installed", classmethod(lambda cls: cls([offer])))
    for arguments in (("plugins", "--check"), ("doctor",), ("conform", "sandbox", "bad")):
        code, out, err = run(capsys, *arguments)
        assert code in (1, 4)
        assert harmless(out + err), arguments
        assert "second" not in [line.split(" ")[0] for line in (out + err).splitlines()]
    assert run(capsys, "doctor")[2].startswith("error: 1 installed component cannot be used")


def test_doctor_of_the_core_alone_advises_what_helps(monkeypatch, capsys):
    monkeypatch.setattr(Catalog, "installed", classmethod(lambda cls: cls([])))
    code, out, _ = run(capsys, "doctor")
    assert code == 1  # no run can be held
    assert "install the plugin finassay-sandbox-bubblewrap" in out
    assert "apt-get" not in out
    assert "!!  grammars: none is installed\n" in out
    assert "--  channels: none is installed\n" in out


def test_a_new_agent_is_told_what_conformance_needs(tmp_path, capsys):
    code, out, _ = run(capsys, "new", "agent", "foo", "--out", tmp_path)
    assert code == 0
    assert "sandbox" in out
    assert "finassay-sandbox-local" in (tmp_path / "foo" / "README.md").read_text()


def test_lost_bytes_are_named(tmp_path, capsys):
    folder = run_folder(tmp_path / "run")
    key = add_session(folder)
    next(p for p in folder.blobs.root.rglob("*") if p.is_file()).unlink()
    code, _, err = run(capsys, "show", folder.root, key.id, "--file", "report.md")
    assert code == 3
    assert "report.md" in err
