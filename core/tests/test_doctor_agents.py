"""What `finassay doctor --agents` says: whether each program is there, starts, and how its model calls are paid."""

import types
from importlib.metadata import EntryPoint

import pytest

from finassay.api.agent import AgentCapabilities, Diagnosis
from finassay.api.errors import PreflightError, UsageError
from finassay.catalog.catalog import Catalog, Offer
from finassay.cli.main import main
from finassay.config.settings import Choice, RunSettings
from finassay.runs.build import build
from finassay.testing.fakes import ScriptedAgent


def installed(monkeypatch, **makers):
    """A catalogue of these agents (and `standard`, a gateway), each made by a function of its options."""
    from pydantic import BaseModel, ConfigDict

    class Options(BaseModel):
        model_config = ConfigDict(frozen=True, extra="forbid")
        program: str = "none"

    module = types.ModuleType("doctored")
    offers = []
    for name, make in makers.items():
        factory = types.SimpleNamespace(api_version=1, description="made up", Options=Options)
        kind = "gateway" if name == "standard" else "agent"
        setattr(module, name, type("Factory", (), {**vars(factory), "__call__": staticmethod(make)})())
        offers.append(Offer(kind, name, "doctored", "1", EntryPoint(name, f"doctored:{name}", f"finassay.{kind}s")))
    monkeypatch.setitem(__import__("sys").modules, "doctored", module)
    monkeypatch.setattr(Catalog, "installed", classmethod(lambda cls: Catalog(offers)))


class Program(ScriptedAgent):
    """An agent with a program, so far as a doctor can see."""

    found = Diagnosis("/bin/foo", "1.2.3", "a login of its own")
    capabilities = AgentCapabilities(upstreams=("tower",))

    def diagnose(self):
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


def program(found, upstreams=()):
    def make(options):
        agent = Program()
        agent.found, agent.capabilities = found, AgentCapabilities(upstreams=upstreams)
        return agent

    return make


@pytest.fixture
def doctor(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)

    def call(fails=False, **makers):
        installed(monkeypatch, **makers)
        if fails:
            with pytest.raises(SystemExit, match="1"):
                main(["doctor", "--agents"])
        else:
            assert not main(["doctor", "--agents"])
        out, err = capsys.readouterr()
        assert bool(err) == fails
        return out.splitlines()

    return call


def test_a_line_for_each_with_what_is_wrong_and_a_hint(doctor):
    def choosy(options):
        raise UsageError("it needs a command", hint="Name one.")

    lines = doctor(
        fails=True,
        plain=lambda options: ScriptedAgent(),
        good=program(Diagnosis("/bin/foo", "1.2.3", "a login of its own")),
        gone=program(Diagnosis("foo", problem="foo was not found", hint="Install it.")),
        choosy=choosy,
        crashing=program(RuntimeError("a bug")),
    )
    assert lines == [
        "--  agent choosy: it needs a command  (Name one.)",
        "!!  agent crashing: its own check failed: RuntimeError: a bug",
        "--  agent gone: foo: foo was not found  (Install it.)",
        "ok  agent good: /bin/foo 1.2.3, starts; a login of its own",
        "ok  agent plain: version 1, comes with its distribution",
        "2 ok; 2 not set up, needed only by a run that names it (agent choosy, agent gone); 1 to mend",
    ]


def test_programs_that_are_not_here_are_no_failure_unless_the_settings_declare_one(doctor, tmp_path):
    gone = program(Diagnosis("foo", problem="foo was not found", hint="Install it."))
    assert doctor(gone=gone)[-1] == "0 ok; 1 not set up, needed only by a run that names it (agent gone); nothing to mend"
    (tmp_path / "finassay.toml").write_text("[run.agents]\nmine = 'gone'\n")
    lines = doctor(fails=True, gone=gone)
    assert lines == ["!!  agent mine (gone): foo: foo was not found  (Install it.)", "0 ok; 1 to mend"]


@pytest.mark.parametrize(("problems", "expected"), [(["no key for tower"], "--"), ([], "ok")])
def test_whether_its_model_calls_can_be_paid(doctor, problems, expected):
    gateway = types.SimpleNamespace(id="standard", problems=lambda upstreams, channels: problems, secrets=tuple, open=None, close=None)
    good = program(Diagnosis("/bin/foo", "1.2.3", "a key behind the gateway"), ("tower",))
    line, _ = doctor(good=good, standard=lambda options: gateway)
    assert line.startswith(expected)
    assert ("no key for tower" in line) == bool(problems)
    line, _ = doctor(good=good)
    assert "no gateway 'standard'" in line


def test_it_is_the_gateway_of_the_settings_file(doctor, tmp_path):
    def gateway(options):
        problems = lambda upstreams, channels: [] if options.program == "mine" else ["no key for tower"]  # noqa: E731
        return types.SimpleNamespace(id="standard", problems=problems, secrets=tuple, open=None, close=None)

    good = program(Diagnosis("/bin/foo", "1.2.3"), ("tower",))
    assert doctor(good=good, standard=gateway)[0].startswith("--")
    (tmp_path / "finassay.toml").write_text("[run.gateway]\nid = 'standard'\noptions = {program = 'mine'}\n")
    assert doctor(good=good, standard=gateway)[0].startswith("ok")
    (tmp_path / "finassay.toml").write_text("[run.gateway]\nid = 'standard'\noptions = {porgram = 'mine'}\n")
    assert "porgram" in doctor(good=good, standard=gateway)[0]


def test_options_of_the_settings_file_count(doctor, tmp_path):
    (tmp_path / "finassay.toml").write_text("[run.agents.mine]\nid = 'named'\noptions = {program = '/opt/foo'}\n")
    line, _ = doctor(named=lambda options: program(Diagnosis(options.program, "2"))(options))
    assert line == "ok  agent mine (named): /opt/foo 2, starts"


def test_two_agents_of_one_kind_are_told_apart_and_one_that_is_not_installed_is_told(doctor, tmp_path):
    (tmp_path / "finassay.toml").write_text(
        "[run.agents]\nnamed = 'named'\ngone = 'nmed'\n"
        "[run.agents.mine]\nid = 'named'\noptions = {program = '/opt/foo'}\n"
        "[run.agents.slip]\nid = 'named'\noptions = {progam = '/opt/foo'}\n"
    )
    *lines, _ = doctor(fails=True, named=lambda options: program(Diagnosis(options.program, "2"))(options))
    assert lines == [
        "ok  agent mine (named): /opt/foo 2, starts",
        "ok  agent named: none 2, starts",
        "!!  agent slip (named): has no option 'progam'  (Did you mean 'program'? Its options: program.)",
        "!!  agent gone (nmed): no agent 'nmed'  (Did you mean 'named'? Installed: named.)",
    ]


def test_none_is_installed(doctor):
    assert "none is installed" in doctor()[0]


def refused(tmp_path, agents, **more):
    with pytest.raises(PreflightError) as told:
        build(Catalog.installed(), RunSettings(agents=agents, grade=False, **more), (), tmp_path)
    return told.value.problems


def test_refusals_name_an_agent_by_its_alias(monkeypatch, tmp_path):
    def choosy(options):
        if options.program == "worse":
            raise UsageError("it needs a better program", hint="Name one.")
        return ScriptedAgent()

    installed(monkeypatch, choosy=choosy, crashing=lambda options: 1 / 0)
    agents = {
        "first": Choice(id="choosy", options={"progrm": "x"}),
        "second": Choice(id="choosy", options={"program": 3}),
        "third": Choice(id="choosy", options={"program": "worse"}),
        "fourth": Choice(id="chosy"),
        "fifth": Choice(id="crashing"),
        "choosy": Choice(id="choosy", options={"progrm": "x"}),
    }
    found = refused(tmp_path, agents)
    assert "agent 'first' (choosy): has no option 'progrm' (Did you mean 'program'? Its options: program.)" in found
    assert any(p.startswith("agent 'second' (choosy): option 'program' takes a text") and "second.program=" in p for p in found)
    assert "agent 'third': it needs a better program (Name one.)" in found
    assert any(p.startswith("agent 'fourth': no agent 'chosy'") for p in found)
    assert any(p.startswith("agent 'fifth': agent 'crashing' of doctored 1 cannot be made: ZeroDivisionError") for p in found)
    assert "agent 'choosy': has no option 'progrm' (Did you mean 'program'? Its options: program.)" in found


def test_what_the_gateway_cannot_serve_is_told_once_with_all_whom_it_concerns(monkeypatch, tmp_path):
    def problems(upstreams, channels):
        return [f"no key for {name}" for name in upstreams]

    gateway = types.SimpleNamespace(id="standard", problems=problems, secrets=tuple, open=None, close=None)

    def make(options):
        agent = ScriptedAgent()
        agent.capabilities = AgentCapabilities(upstreams=(options.program,), models=("m",))
        return agent

    installed(monkeypatch, named=make, standard=lambda options: gateway)
    agents = {
        alias: Choice(id="named", options={"program": tower}) for alias, tower in (("first", "one"), ("second", "two"), ("third", "one"))
    }
    found = refused(tmp_path, agents, budget_usd=1)
    assert "agents 'first', 'third': no key for one" in found
    assert "agent 'second': no key for two" in found
    assert [p for p in found if p.startswith("agent 'second': the price of model 'm' is unknown")]


def test_a_run_is_refused_where_an_agents_program_cannot_be_used(monkeypatch, tmp_path):
    installed(monkeypatch, gone=program(Diagnosis("foo", problem="foo was not found", hint="Install it.")))
    with pytest.raises(PreflightError) as told:
        build(Catalog.installed(), RunSettings(agents={"mine": Choice(id="gone")}, grade=False), (), tmp_path)
    assert "agent 'mine': foo was not found (Install it.)" in told.value.problems
