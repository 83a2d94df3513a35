"""What `finassay doctor` says of a machine, and with which exit code: 1 only where a run with the defaults would fail."""

import types
from importlib.metadata import EntryPoint

import pytest
from pydantic import BaseModel, ConfigDict

from finassay.api.sandbox import Isolation, Probe
from finassay.catalog.catalog import Catalog, Offer
from finassay.cli import doctor as module
from finassay.cli.main import main

KINDS = {
    "agent": "worker",
    "grammar": "words",
    "persona": "someone",
    "simulator": "policy",
    "judge": "lexical",
    "check": "counts",
    "reader": "standard",
}


class Options(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    wide: bool = False


class Component:
    api_version = 1
    description = "made up"
    Options = Options

    def __init__(self, options):
        pass


class Box(Component):
    id = "box"
    isolation = Isolation(files=True, network=True, processes=True)
    found = Probe(True, "works")
    open = None

    def probe(self):
        return self.found


class Open(Box):
    isolation = Isolation(files=False, network=False, processes=False)


class Away(Box):
    found = Probe(False, "no such program", "Install it.")


class Old(Component):
    api_version = 0


@pytest.fixture
def doctor(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    made = types.ModuleType("doctored_parts")
    made.__dict__.update(Component=Component, Box=Box, Open=Open, Away=Away, Old=Old)
    monkeypatch.setitem(__import__("sys").modules, "doctored_parts", made)

    def offer(kind, name, what):
        return Offer(kind, name, "doctored", "1", EntryPoint(name, f"doctored_parts:{what}", f"finassay.{kind}s"))

    def call(sandboxes=("Box",), without=(), more=(), settings=""):
        offers = [offer(kind, name, "Component") for kind, name in KINDS.items() if kind not in without]
        offers += [offer("sandbox", what.lower(), what) for what in sandboxes] + [offer(*one) for one in more]
        monkeypatch.setattr(Catalog, "installed", classmethod(lambda cls: cls(offers)))
        (tmp_path / "finassay.toml").write_text(settings)
        try:
            code = main(["doctor"]) or 0
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        return code, out.splitlines(), err

    return call


def marked(lines, mark):
    return [line[4:] for line in lines if line.startswith(mark)]


def test_a_machine_on_which_a_run_works_is_well_whatever_optional_is_not_here(doctor):
    code, lines, err = doctor(sandboxes=("Box", "Away"))
    assert (code, err) == (0, "")
    assert marked(lines, "--")[0] == "sandbox away: no such program  (Install it.)"
    assert not marked(lines, "!!")
    assert lines[-1].startswith("10 ok; 5 not set up, needed only by a run that names it (sandbox away, reporters, channels,")
    assert lines[-1].endswith("; nothing to mend")


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_that_a_run_needs_and_nobody_offers(doctor, kind):
    code, lines, err = doctor(without=(kind,))
    assert code == 1
    assert marked(lines, "!!") == [f"{kind}s: none is installed"]
    assert err == f"error: a run would fail: {kind}s\n"


def test_that_nothing_isolates_is_told_and_that_nothing_works_is_a_failure(doctor):
    code, lines, _ = doctor(sandboxes=("Open", "Away"))
    assert code == 0
    assert any(line.startswith("isolation: ") and "on every result" in line for line in marked(lines, "--"))
    code, lines, _ = doctor(sandboxes=("Away",))
    assert code == 1
    assert [line.partition(":")[0] for line in marked(lines, "!!")] == ["isolation"]


def test_an_installed_component_that_is_broken(doctor):
    code, lines, err = doctor(more=(("channel", "tap", "Old"), ("sandbox", "older", "Old")))
    assert code == 1
    assert [line.partition(":")[0] for line in marked(lines, "!!")] == ["sandbox older", "channel tap"]
    assert err.startswith("error: 2 installed components cannot be used, and a run would fail: sandbox older, channel tap")


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ("[run]\njudge = 'lexicl'\n", "judge lexicl: no judge 'lexicl'"),
        ("[run]\nsandbox = {id = 'box', options = {wid = true}}\n", "sandbox box: sandbox 'box': has no option 'wid'"),
        ("[run.agents.mine]\nid = 'worker'\noptions = {wid = true}\n", "agent mine: agent 'mine' (worker): has no option 'wid'"),
        ("[run]\njobs = 'many'\n", "settings: "),
        ("[rum]\n", "settings: "),
    ],
)
def test_what_the_settings_of_the_folder_choose_counts(doctor, settings, what):
    code, lines, _ = doctor(settings=settings)
    assert code == 1
    (line,) = marked(lines, "!!")
    assert line.startswith(what)
    assert doctor(settings="[run]\njudge = 'none'\nsandbox = 'box'\nagents = ['worker']\n")[0] == 0


def test_a_full_disk(doctor, monkeypatch):
    for free, code in ((10 * 2**30, 0), (2**30, 0), (2**20, 1)):
        monkeypatch.setattr(module.shutil, "disk_usage", lambda path, free=free: types.SimpleNamespace(free=free))
        assert doctor()[0] == code
