"""What adapters have in common: errors of model calls, blocks of content, flags, logins, the way to models."""

import json
from typing import ClassVar

import pytest

from finassay.api.errors import AgentError, ProviderError, ProviderRefusedError
from finassay_cli_kit import (
    Command,
    Done,
    Ending,
    Failed,
    InstalledAgent,
    ProgramOptions,
    ProgramSpec,
    Said,
    ToolOptions,
    UserFile,
    content_text,
    failed_call,
    flags,
)
from finassay_cli_kit.testing.standin import OPEN_BRIEF, TOKEN, held_by, way


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (failed_call("x", 500), Failed("x", True)),
        (failed_call("x", 429), Failed("x", True)),
        (failed_call("x", 401), Failed("x", True, True)),
        (failed_call("x", 404), Failed("x", True, True)),
        (failed_call("x", 400, provider=True), Failed("x", False)),
        (failed_call("x", 413), Failed("x", False)),
        (failed_call("x"), Failed("x", False)),
        (failed_call("x", provider=True), Failed("x", True)),
        (failed_call("x", refused=True), Failed("x", True, True)),
    ],
)
def test_a_status_says_whose_failure_it_was(told, expected):
    assert told == expected


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        (None, ""),
        ([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}], "a\n(image)\nb"),
        ([{"text": 5}], "5"),
        ([], ""),
        ({"code": 3}, '{"code": 3}'),
        ([1, "é"], '[1, "é"]'),
    ],
)
def test_content_as_text(content, text):
    assert content_text(content) == text


def test_only_what_is_set_becomes_a_flag():
    assert flags(model="m", effort="", max_turns=None, steps=0, dry=False) == ["--model", "m", "--steps", "0", "--dry", "False"]


PROGRAM = """#!/bin/sh
test "$1" = --version && echo 1.2.3 && exit
cat > heard
echo '{"say": "'"$LOGIN_TOKEN|$MODEL_URL|$MODEL_KEY"'"}'
echo
echo 'no json'
echo '{"done": true}'
"""


class Told(InstalledAgent[ToolOptions]):
    api_version = 1
    description = "made up"
    Options = ToolOptions
    id = "told"
    spec = ProgramSpec("told", install="make it", tried=("1.2.3",), oldest="1")
    upstream = "openai"
    login_variables = ("FINASSAY_TEST_TOKEN",)
    login_files: ClassVar = {"told/auth.json": UserFile("TOLD_HOME", "~/.told", "auth.json")}

    def models(self):
        return tuple(f"exact-{name}" for name in super().models())

    def command(self, turn):
        found = self.way(turn)
        environment = {"MODEL_URL": found.url, "MODEL_KEY": found.token} if found else {}
        return Command(self.program.argv, f"{turn.words} é\ud800", environment | {"LOGIN_TOKEN": ""}, files_once={"told/config": b""})

    def read(self, data):
        if "say" in data:
            yield Said(data["say"])
        else:
            yield Done()


@pytest.fixture
def begin(tmp_path, monkeypatch):
    monkeypatch.delenv("FINASSAY_TEST_TOKEN", raising=False)
    program = tmp_path / "told"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    with held_by(lambda **o: Told(ToolOptions(program=str(program), **o)), tmp_path / "workspace", way("openai")) as begin:
        yield begin


def test_lines_of_json_are_read_blank_ones_are_nothing_and_others_are_noted(begin):
    session = begin(model="m", upstream="mine")
    assert session.agent.capabilities.models == ("exact-m",)
    assert session.agent.options.model == "m"
    assert session.send("/help").text == "|http://127.0.0.1:9/mine|[secret]"
    assert (session.workspace / "heard").read_bytes().endswith("The person's first message:\n\n/help é?".encode())
    assert [note["text"].partition(":")[0] for note in session.told("note")] == ["unreadable output (JSONDecodeError)"]
    assert session.home("told/config").read_bytes() == b""


def test_a_login_goes_into_the_command_without_the_adapter(begin, tmp_path, monkeypatch):
    monkeypatch.setenv("TOLD_HOME", str(tmp_path / "user"))
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "auth.json").write_text(json.dumps({"token": "secret-of-a-person-0123456789"}))
    session = begin(login=True, model="m", brief=OPEN_BRIEF)
    assert session.agent.capabilities.models == session.agent.capabilities.upstreams == ()
    assert session.send("Hello.").text == "||"
    assert "secret-of-a-person" in session.home("told/auth.json").read_text()
    monkeypatch.setenv("FINASSAY_TEST_TOKEN", "token-of-a-person-0123456789")
    session = begin(login=True)
    seen = session.spy(monkeypatch)
    session.send("Hello.")
    assert seen[0][1]["environment"]["FINASSAY_TEST_TOKEN"] == "token-of-a-person-0123456789"


def test_the_stand_ins_session_can_be_cut_and_watched(begin, monkeypatch):
    session = begin()
    seen = session.spy(monkeypatch)
    session.send("Hello.")
    assert seen[0][0] == [*session.agent.program.argv]
    assert seen[0][1]["environment"]["MODEL_KEY"] == TOKEN
    with pytest.raises(AgentError, match="no way to its models"):
        begin(access=None)


def test_an_adapter_that_reads_nothing_says_so():
    class Silent(InstalledAgent[ProgramOptions]):
        spec = ProgramSpec("silent", install="make it", tried=(), oldest="1")
        upstream = ""

        def command(self, turn):
            return Command(("true",))

    with pytest.raises(TypeError, match="`read`, or `events`"):
        list(Silent(ProgramOptions(program="true")).events(b"{}"))


def test_failures_as_errors():
    agent = Told(ToolOptions(program="true"))
    told = [type(agent.failure(Ending(0, "", (failed_call("x", status),)))) for status in (500, 401, 400)]
    assert told == [ProviderError, ProviderRefusedError, AgentError]
