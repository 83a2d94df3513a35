"""What is wrong with what a person wrote: one line in plain words, with the name that was probably meant."""

from datetime import date
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from finassay.api.amiss import first_amiss, nearest
from finassay.api.errors import FinassayError
from finassay.catalog.options import option_problem
from finassay.cli.main import main
from finassay.config.settings import FILE, configured_agents, declared_channels, load_settings, provider_settings, recorded_settings
from finassay.records.convert import from_json


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    depth: int = Field(default=1, ge=1, description="How deep it goes.")
    colour: Literal["red", "green"] = "red"


class Other(BaseModel):
    model_config = ConfigDict(extra="forbid")
    length: float


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: str = Field(description="What it is called.")
    many: dict[str, Inner] = Field(default_factory=dict)
    row: tuple[Inner, ...] = ()
    pair: tuple[int, Inner] | None = None
    word: str | tuple[str, ...] = ""
    either: Inner | Other | None = None
    since: date | None = None
    numbers: list[Annotated[int, Field(ge=0)]] = Field(default_factory=list)
    api_key: str = ""
    shown: int = Field(default=0, alias="shown-as")

    @field_validator("title")
    @classmethod
    def _titled(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("it needs\na title")
        return value


def amiss(**data):
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate({"title": "x", **data})
    return first_amiss(caught.value, Outer)


@pytest.mark.parametrize(
    ("data", "line", "hint"),
    [
        ({"titel": "x"}, "unknown setting 'titel'", "Did you mean 'title'? Known here: title, many, row,"),
        ({"TITLE": "x"}, "unknown setting 'TITLE'", "Did you mean 'title'?"),
        ({"zzz": "x"}, "unknown setting 'zzz'", "Known here: title"),
        ({"shown-az": 1}, "unknown setting 'shown-az'", "Did you mean 'shown-as'?"),
        ({"many": {"one": {"dept": 3}}}, "many.one: unknown setting 'dept'", "Did you mean 'depth'? Known here: depth, colour."),
        ({"row": [{}, {"color": "red"}]}, "row.1: unknown setting 'color'", "Did you mean 'colour'?"),
        ({"pair": [1, {"dept": 1}]}, "pair.1: unknown setting 'dept'", "Did you mean 'depth'?"),
        ({"many": []}, "many takes a table, and is []", 'For example: {"KEY": "VALUE"}'),
        ({"many": {"one": 3}}, "many.one takes a table, and is 3", "For example"),
        ({"row": "x"}, "row takes a list, and is 'x'", "For example"),
        (
            {"many": {"one": {"depth": "deep"}}},
            "many.one.depth takes a whole number, and is 'deep'",
            "depth: How deep it goes. For example: 3",
        ),
        ({"many": {"one": {"depth": 0.5}}}, "many.one.depth takes a whole number, and is 0.5", "depth: How deep it goes."),
        ({"many": {"one": {"depth": 0}}}, "many.one.depth should be greater than or equal to 1, and is 0", "depth: How deep it goes."),
        ({"many": {"one": {"colour": "blue"}}}, "many.one.colour should be 'red' or 'green', and is 'blue'", ""),
        ({"word": 3}, "word takes a text or a list, and is 3", "For example"),
        ({"either": {"dept": 3}}, "either: unknown setting 'dept'", "Did you mean 'depth'?"),
        ({"since": "soon"}, "since takes a date, and is 'soon'", "For example: 2019-12-31"),
        ({"numbers": [1, -1]}, "numbers.1 should be greater than or equal to 0, and is -1", ""),
        ({"title": " "}, "title: it needs a title", "title: What it is called."),
        ({"title": 3}, "title takes a text, and is 3", "title: What it is called. For example"),
        ({"many": {"on\ne": {"x\x1b[31m": 1}}}, "many.on\\ne: unknown setting 'x\\\\x1b[31m'", ""),
    ],
)
def test_in_plain_words(data, line, hint):
    found = amiss(**data)
    assert found.line("setting") == line
    assert found.hint.startswith(hint)
    assert "\n" not in found.line() + found.hint


def test_what_is_missing_and_what_may_be_a_key():
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate({})
    found = first_amiss(caught.value, Outer)
    assert (found.line(), found.hint) == ("key 'title' is missing", "title: What it is called.")
    assert amiss(api_key=["sk-secret"]).line() == "api_key takes a text"
    assert len(amiss(numbers="x" * 10_000).line()) < 120


def test_an_unknown_name_comes_first_because_it_leaves_a_needed_one_out():
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate({"titl": "x", "row": 3})
    assert first_amiss(caught.value, Outer).line() == "unknown key 'titl'"
    assert nearest("nothing", ("like", "it")) == ""


SETTINGS = [
    ("jbos = 3", "finassay.toml: unknown setting 'jbos'", "Did you mean 'jobs'?"),
    ("jobs = 'many'", "finassay.toml: jobs takes a whole number, and is 'many'", "Sessions held at the same time"),
    ("sessions = 0", "finassay.toml: sessions should be greater than or equal to 1, and is 0", "sessions: Independent"),
    ("judge = {id = 'x', optoins = {}}", "finassay.toml: judge: unknown setting 'optoins'", "Did you mean 'options'?"),
    ("judge = 3", "finassay.toml: judge takes a table, and is 3", "judge: Who grades meaning."),
    ("[run.agents.mine]\nidd = 'x'", "finassay.toml: agents.mine: unknown setting 'idd'", "Did you mean 'id'? Known here: id, options."),
    ("[run.channels.prices]\nid = 3", "finassay.toml: channels.prices.id takes a text, and is 3", "id: Component id"),
    ("[run.models.m]\npatience_seconds = 'x'", "finassay.toml: models.m.patience_seconds takes a number, and is 'x'", ""),
    (
        "[run.models.m.prices.n]\ninput = 1\noutptu = 2",
        "finassay.toml: models.m.prices.n: unknown setting 'outptu'",
        "Did you mean 'output'?",
    ),
]


@pytest.mark.parametrize(("told", "line", "hint"), SETTINGS)
def test_settings(tmp_path, told, line, hint):
    (tmp_path / FILE).write_text(f"[run]\n{told}\n")
    with pytest.raises(FinassayError) as caught:
        load_settings({} if "agents" in told else {"agents": {"a": {"id": "a"}}}, folder=tmp_path, environment={})
    assert str(caught.value) == line
    assert hint in caught.value.hint


@pytest.mark.parametrize(("told", "line", "hint"), SETTINGS[5:])
def test_settings_that_are_read_apart(tmp_path, told, line, hint):
    (tmp_path / FILE).write_text(f"[run]\n{told}\n")
    recorded = load_settings({"agents": {"a": {"id": "a"}}}, folder=tmp_path.parent, environment={}).run
    read = {
        "agents": configured_agents,
        "channels": declared_channels,
        "models": lambda folder: provider_settings(recorded, folder),
    }[line.split(" ")[1].partition(".")[0]]
    with pytest.raises(FinassayError) as caught:
        read(tmp_path)
    assert str(caught.value) == line
    assert hint in caught.value.hint


def test_settings_of_other_places(tmp_path):
    with pytest.raises(FinassayError) as caught:
        load_settings({"agents": {"a": {"id": "a"}}}, folder=tmp_path, environment={"FINASSAY_JOBS": "many"})
    assert str(caught.value) == "environment: jobs takes a whole number, and is 'many'"
    with pytest.raises(FinassayError, match=r"run.json: settings: unknown setting 'agent'") as caught:
        recorded_settings({"settings": {"agents": {}, "agent": 1}}, tmp_path / "run.json")
    assert "Did you mean 'agents'?" in caught.value.hint
    (tmp_path / FILE).write_text("[runn]\n")
    with pytest.raises(FinassayError, match="unknown table or key 'runn'") as caught:
        configured_agents(tmp_path)
    assert "Did you mean [run]?" in caught.value.hint


def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / FILE).write_text("[run]\nturn_secnds = 3\n")
    with pytest.raises(SystemExit, match="2"):
        main(["run", "--agent", "a", "--tasks", "none", "--out", "out"])
    assert capsys.readouterr().err.splitlines()[0] == "error: finassay.toml: unknown setting 'turn_secnds'"


def test_stored_things_name_the_near_key():
    from finassay.api.usage import Usage

    with pytest.raises(FinassayError, match=r"unknown key 'input_token' \(did you mean 'input_tokens'\?\)"):
        from_json(Usage, {"input_token": 3}, "place")
    with pytest.raises(FinassayError, match=r"place\.input_tokens: expected a whole number, found 'x'"):
        from_json(Usage, {"input_tokens": "x"}, "place")


def option(kind, name, beside=(), **data):
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate({"title": "x", **data})
    return option_problem(caught.value, Outer, kind, name, beside)


def test_options_of_components():
    assert option("agent", "mine", titl=3) == (
        "has no option 'titl'",
        "Did you mean 'title'? Its options: title, many, row, pair, word, either, since, numbers, api_key, shown-as.",
    )
    assert option("gateway", "standard", many={"one": {"dept": 1}}) == (
        "has no option 'many.one.dept'",
        "Did you mean 'depth'? Known here: depth, colour.",
    )
    assert option("agent", "mine", numbers="x") == (
        "option 'numbers' takes a list, and is 'x'",
        """For example: -o 'mine.numbers=["FIRST", "SECOND"]'""",
    )
    assert option("channel", "prices", numbers="x")[1] == 'For example: ["FIRST", "SECOND"]'
    assert option("agent", "mine", title=" ")[0] == "option 'title': it needs a title"
    assert option("model", "m", ("patience_seconds",), pateince_seconds=3)[1].startswith("Did you mean 'patience_seconds'?")
