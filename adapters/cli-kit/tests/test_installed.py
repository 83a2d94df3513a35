"""Programs that are found on the machine, their homes, and what they are told."""

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from finassay.api.agent import Diagnosable, Setting, TurnContext
from finassay.api.channel import McpServer
from finassay.api.conversation import Conversation, Message
from finassay.api.errors import AgentError, BudgetError, ProviderError, UsageError
from finassay.api.gateway import Access
from finassay.api.sandbox import BoxSpec
from finassay.api.task import Brief
from finassay.api.usage import Usage
from finassay_cli_kit import (
    Command,
    Done,
    Ending,
    Failed,
    InstalledAgent,
    KitEvent,
    Login,
    ProgramOptions,
    ProgramSession,
    ProgramSpec,
    Said,
    UsageReported,
    brief_and_message,
    find_program,
    http_servers,
    python_runtime,
    read_login,
)
from finassay_cli_kit.home import HomeFiles
from finassay_cli_kit.prompt import MAX_SAID
from finassay_sandbox_local.sandbox import LocalOptions, LocalSandbox

SPEC = ProgramSpec("tool", install="get it somewhere", tried=("1.4.0",), oldest="1.2", below="2", native=("@maker/tool-*/tool",))


def script(path: Path, text: str, interpreter: str = "/bin/sh") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{interpreter}\n{text}\n")
    path.chmod(0o755)
    return path


# -- finding ------------------------------------------------------------------------------------------------------------


def test_a_program_on_path_and_one_that_is_named(tmp_path, monkeypatch):
    tool = script(tmp_path / "bin" / "tool", "echo tool 1.4.0")
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    assert find_program(SPEC).argv == find_program(SPEC, str(tool)).argv == (str(tool),)
    found = find_program(SPEC)
    assert (found.version, found.problem, found.hint, found.readable) == ("1.4.0", "", "", (tool,))


@pytest.mark.parametrize(
    ("says", "problem"),
    [
        ("echo 1.1.9", "too old"),
        ("echo 2.0.0", "not supported"),
        ("echo hello", "tells no version"),
        ("echo 1.4.0; exit 3", "tells no version"),
        ("echo 1.10.0", ""),
        ("echo v1.2", ""),
    ],
)
def test_versions(tmp_path, says, problem):
    found = find_program(SPEC, str(script(tmp_path / "tool", says)))
    assert problem in found.problem
    assert bool(found.problem) == bool(problem)
    assert "1.4.0" in found.hint


def test_one_that_is_missing_names_its_cure(tmp_path):
    found = find_program(SPEC, str(tmp_path / "nothing"))
    assert "was not found" in found.problem
    assert "get it somewhere" in found.hint


def test_the_version_is_asked_in_an_empty_home_without_the_users_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_USER", "x")
    tool = script(tmp_path / "tool", 'test -z "$SECRET_OF_THE_USER" && test -z "$(ls -A "$HOME")" && echo 1.4.0')
    assert find_program(SPEC, str(tool)).version == "1.4.0"


def test_a_wrapper_of_npm_is_left_aside_for_the_binary(tmp_path):
    modules = tmp_path / "lib" / "node_modules"
    wrapper = script(modules / "@maker" / "tool" / "bin" / "tool.js", "", "/usr/bin/env node")
    binary = script(modules / "@maker" / "tool-linux" / "tool", "echo 1.4.0")
    (modules / "@maker" / "tool-linux" / "package.json").write_text("{}")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool").symlink_to(wrapper)
    found = find_program(SPEC, str(tmp_path / "bin" / "tool"))
    assert found.argv == (str(binary),)
    assert found.readable == (binary.parent,)


def test_a_program_in_javascript_runs_by_the_node_beside_it(tmp_path):
    spec = ProgramSpec("tool", install="npm", tried=("1.4.0",), oldest="1", node="22.19")
    modules = tmp_path / "lib" / "node_modules"
    entry = script(modules / "@maker" / "tool" / "main.mjs", "", "/usr/bin/env node")
    node = script(tmp_path / "bin" / "node", 'test "$1" = --version && echo v24.1.0 || echo 1.4.0')
    (tmp_path / "bin" / "tool").symlink_to(entry)
    found = find_program(spec, str(tmp_path / "bin" / "tool"))
    assert (found.argv[0], found.argv[-1], found.version, found.problem) == (str(node), str(entry), "1.4.0", "")
    assert set(found.readable) == {node, modules}
    old = script(tmp_path / "old" / "node", "echo v20.1.0")
    assert "needs Node.js 22.19" in find_program(spec, str(tmp_path / "bin" / "tool"), str(old)).problem
    assert "was not found" in find_program(spec, str(tmp_path / "bin" / "tool"), str(tmp_path / "none")).problem


# -- a Python for the shell -----------------------------------------------------------------------------------------------


def test_the_runtime_is_this_interpreter_another_one_or_none(tmp_path):
    own = python_runtime()
    assert own.path == str(Path(sys.executable).parent)
    assert own.environment["PATH"].startswith(f"{own.path}:")
    assert any(Path(sys.executable).is_relative_to(folder) for folder in own.readable)
    other = python_runtime(sys.executable)
    assert set(other.readable) == set(own.readable)
    assert python_runtime("none").environment == {}
    with pytest.raises(UsageError, match="was not found"):
        python_runtime(str(tmp_path / "python"))
    with pytest.raises(UsageError, match="no Python"):
        python_runtime(str(script(tmp_path / "fake", "exit 1")))


# -- logins -----------------------------------------------------------------------------------------------------------------


def test_a_login_is_a_variable_else_a_file_and_never_shown(tmp_path, monkeypatch):
    monkeypatch.delenv("FINASSAY_TEST_LOGIN", raising=False)
    file = tmp_path / "auth.json"
    assert read_login(("FINASSAY_TEST_LOGIN",), {"x/auth.json": file}) == Login()
    file.write_text(json.dumps({"mode": "chat", "tokens": [{"access": "a-long-secret-0123456789"}]}))
    login = read_login(("FINASSAY_TEST_LOGIN",), {"x/auth.json": file})
    assert login.files == {"x/auth.json": file.read_bytes()}
    assert login.secrets() == ("a-long-secret-0123456789",)
    assert "secret" not in repr(login)
    monkeypatch.setenv("FINASSAY_TEST_LOGIN", "another-secret")
    login = read_login(("FINASSAY_TEST_LOGIN",), {"x/auth.json": file})
    assert (login.environment, login.files) == ({"FINASSAY_TEST_LOGIN": "another-secret"}, {})
    assert login.found == "FINASSAY_TEST_LOGIN in the environment"
    assert login.secrets() == ("another-secret",)


# -- files in the home --------------------------------------------------------------------------------------------------------


def test_files_are_written_kept_and_taken_away(tmp_path):
    home = HomeFiles(tmp_path)
    home.write({"a/b/settings.json": b"1", "c": b"2"}, {"login": b"3"})
    root = tmp_path / ".home"
    assert (root / "a" / "b" / "settings.json").stat().st_mode & 0o777 == 0o600
    (root / "login").write_bytes(b"refreshed")
    (root / "c").write_bytes(b"spoilt")
    (root / "own").write_bytes(b"the program's")
    home.write({"c": b"4"}, {"login": b"3"})
    assert {p.name: p.read_bytes() for p in root.iterdir() if p.is_file()} == {
        "c": b"4",
        "login": b"refreshed",
        "own": b"the program's",
    }
    assert not (root / "a" / "b" / "settings.json").exists()
    home.clear()
    home.clear()
    assert [p.name for p in root.iterdir() if p.is_file()] == ["own"]


@pytest.mark.parametrize("what", ["link", "dangling", "file", "folder", "hard"])
def test_nothing_that_an_agent_puts_in_the_way_leads_out(tmp_path, what):
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    (workspace / ".home").mkdir(parents=True)
    outside.mkdir()
    (outside / "settings.json").write_text("untouched")
    if what == "link":
        (workspace / ".home" / "conf").symlink_to(outside)
    elif what == "file":
        (workspace / ".home" / "conf").write_text("in the way")
    else:
        (workspace / ".home" / "conf").mkdir()
        place = workspace / ".home" / "conf" / "settings.json"
        if what == "dangling":
            place.symlink_to(outside / "new.json")
        elif what == "hard":
            os.link(outside / "settings.json", place)
        else:
            (place / "deep").mkdir(parents=True)
    HomeFiles(workspace).write({"conf/settings.json": b"mine"}, {})
    assert (workspace / ".home" / "conf" / "settings.json").read_bytes() == b"mine"
    assert [(p.name, p.read_text()) for p in outside.iterdir()] == [("settings.json", "untouched")]


def test_a_home_that_is_a_link_is_replaced(tmp_path):
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    outside.mkdir()
    (workspace / ".home").symlink_to(outside)
    HomeFiles(workspace).write({"a": b"1"}, {"b": b"2"})
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", ""])
def test_a_path_out_of_the_home_is_a_fault_of_the_adapter(tmp_path, path):
    with pytest.raises(ValueError):
        HomeFiles(tmp_path).write({path: b""}, {})


# -- what a program is told -----------------------------------------------------------------------------------------------------


def test_the_briefing_stands_before_the_first_message_and_before_a_transcript():
    brief = Brief("s", "Work well.", 6, 30, (), False)
    assert brief_and_message(brief, Conversation(), "Hi.") == "Work well.\n\nThe person's first message:\n\nHi."
    said = Conversation((Message("u0", 0, "user", "Hi."), Message("a1", 1, "agent", "y" * (MAX_SAID + 9))))
    again = brief_and_message(brief, said, "More.")
    assert again.startswith("Work well.")
    assert again.endswith("The person's new message:\n\nMore.")
    assert "The person:\nHi.\n\nYou:\nyyy" in again
    assert len(again) < MAX_SAID + 500


def test_servers_take_the_shape_of_the_programs_configuration():
    access = Access({}, "t", (McpServer("price", "http://127.0.0.1:9/mcp", {"Authorization": "Bearer t"}),))
    assert http_servers(access, url="httpUrl", trust=True) == {
        "price": {"trust": True, "httpUrl": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer t"}}
    }
    assert http_servers(None) == {}


# -- the base class ------------------------------------------------------------------------------------------------------------


class ToolAgent(InstalledAgent):
    id = "tool"
    spec = SPEC
    upstream = "maker"

    def read_login(self) -> Login:
        return read_login(("FINASSAY_TEST_LOGIN",), {})

    def command(self, turn):
        resumed = ("--resume", turn.session) if turn.session else ()
        token = {"TOOL_KEY": turn.access.token} if turn.access else {}
        return Command((*self.program.argv, *resumed), turn.prompt.encode(), token, files={"tool.json": b"{}"})

    def events(self, line: bytes) -> Iterable[KitEvent]:
        word, _, rest = line.decode().partition(" ")
        match word:
            case "id":
                yield ProgramSession(rest)
            case "say":
                yield Said(rest)
            case "call":
                yield UsageReported(Usage(input_tokens=5), provisional=True, call=rest)
            case "usage":
                yield UsageReported(Usage(input_tokens=int(rest)))
            case "total":
                yield UsageReported(Usage(output_tokens=int(rest)), running_total=True)
            case "refused":
                yield Failed(rest, refused=True)
            case "done":
                yield Done()

    def lost(self, ending: Ending) -> bool:
        return "unknown conversation" in ending.stderr


@pytest.fixture
def begin(tmp_path, monkeypatch):
    """`begin(script)` starts an agent whose program is a shell script."""
    monkeypatch.delenv("FINASSAY_TEST_LOGIN", raising=False)
    boxes = []

    def make(text: str, access: Access | None = Access({"maker": "http://127.0.0.1:9/maker/"}, "throw-away"), **options):
        tool = script(tmp_path / "bin" / "tool", f'[ "$1" = --version ] && echo 1.4.0 && exit\n{text}')
        (tmp_path / "workspace" / "deliver").mkdir(parents=True, exist_ok=True)
        agent = ToolAgent(ProgramOptions(program=str(tool), **options))
        box = LocalSandbox(LocalOptions()).open(BoxSpec(tmp_path / "workspace", environment=dict(agent.capabilities.environment)))
        boxes.append(box)
        log = []
        agent.start(Setting(Brief("s", "Work well.", 6, 30, (), False), box, access=access))
        return agent, log, lambda text, turn=1: agent.send(text, TurnContext(turn, 30, log.append, lambda: False))

    yield make
    for box in boxes:
        box.close()


def test_capabilities_follow_the_options(begin):
    agent, _, _ = begin("", model="m")
    assert isinstance(agent, Diagnosable)
    assert (agent.version, agent.capabilities.upstreams, agent.capabilities.models) == ("1.4.0", ("maker",), ("m",))
    assert agent.base_url(Access({"maker": "http://127.0.0.1:9/maker/"}, "t")) == "http://127.0.0.1:9/maker"
    assert agent.capabilities.environment["PATH"].startswith(str(Path(sys.executable).parent))
    with pytest.raises(AgentError, match="no way to its models"):
        begin("", access=None)
    with pytest.raises(AgentError, match="no way to its models"):
        begin("", upstream="other")


def test_a_program_that_cannot_be_used_does_not_start(tmp_path):
    agent = ToolAgent(ProgramOptions(program=str(script(tmp_path / "broken", "exit 1"))))
    box = LocalSandbox(LocalOptions()).open(BoxSpec(tmp_path))
    with pytest.raises(AgentError, match="tells no version"):
        agent.start(Setting(Brief("s", "", 6, 30, (), False), box, access=Access({"maker": "http://127.0.0.1:9"}, "t")))
    box.close()


def test_no_log_holds_the_token_and_the_shell_has_a_python(begin):
    agent, _, send = begin('echo "say $TOOL_KEY $(command -v python3)"; echo "junk $TOOL_KEY" >&2; echo done')
    assert send("Hi.").text == f"[secret] {Path(sys.executable).parent}/python3"
    transcript = agent._setting.box.workspace / ".home" / ".finassay-kit" / "transcript.jsonl"
    assert b"throw-away" not in transcript.read_bytes()
    agent, _, send = begin('echo "$TOOL_KEY" >&2; exit 1', python="none")
    assert "PATH" not in agent.capabilities.environment
    with pytest.raises(AgentError, match=r"\[secret\]"):
        send("Hi.")


def test_a_lost_conversation_is_begun_anew_with_the_transcript_and_new_totals(begin):
    text = """
if [ -n "$1" ] && [ ! -e "$HOME/$2" ]; then echo 'unknown conversation' >&2; exit 1; fi
n=$(ls "$HOME" | grep -c id-); id=${2:-id-$n}; : > "$HOME/$id"
echo "id $id"; echo "total 7"; echo "say $(tr '\\n' '/')"; echo done
"""
    agent, log, send = begin(text)
    send("First.")
    (agent._setting.box.workspace / ".home" / "id-0").unlink()
    reply = send("Second.", 2)
    assert reply.text.startswith("Work well.")
    assert "First." in reply.text
    assert reply.usage.output_tokens == 7
    assert any("no longer knows" in event.data.get("text", "") for event in log)
    assert send("Third.", 3).text == "Third."


def test_provisional_usage_counts_only_where_nothing_better_is_told(begin):
    _, _, send = begin("echo 'call a'; echo 'call a'; echo 'call b'; echo done")
    assert send("Hi.").usage == Usage(input_tokens=10)
    _, _, send = begin("echo 'call a'; echo 'usage 3'; echo done")
    assert send("Hi.").usage == Usage(input_tokens=3)


@pytest.mark.parametrize("error", [ProviderError("overload"), BudgetError("spent")])
def test_the_gateway_knows_better_whose_failure_it_was(begin, error):
    access = Access({"maker": "http://127.0.0.1:9"}, "t", failure=lambda: error)
    _, _, send = begin("exit 1", access=access)
    with pytest.raises(type(error)):
        send("Hi.")
    _, _, send = begin("echo done", access=access)
    assert send("Hi.").text == ""


def test_a_refusal_is_told_apart_and_believed_where_no_gateway_knows_better(begin, monkeypatch):
    _, _, send = begin("echo 'refused wrong key'; exit 1")
    with pytest.raises(AgentError, match="no call failed"):
        send("Hi.")
    monkeypatch.setenv("FINASSAY_TEST_LOGIN", "secret-of-a-person")
    _, _, send = begin("echo 'refused wrong key'; exit 1", access=None, login=True)
    with pytest.raises(ProviderError) as caught:
        send("Hi.")
    assert (type(caught.value).__name__, caught.value.any_request) == ("ProviderRefusedError", True)


def test_a_login_takes_the_place_of_the_gateway(begin, monkeypatch):
    with pytest.raises(AgentError, match="not logged in"):
        begin("", access=None, login=True)
    monkeypatch.setenv("FINASSAY_TEST_LOGIN", "secret-of-a-person")
    agent, _, send = begin('echo "say secret-of-a-person"; echo done', access=None, login=True)
    assert agent.capabilities.needs_network
    assert agent.capabilities.upstreams == ()
    assert send("Hi.").text == "[secret]"
    assert agent.diagnose().login == "its own login (FINASSAY_TEST_LOGIN in the environment)"


def test_a_python_package_is_a_program_too(tmp_path, monkeypatch):
    package = tmp_path / "src" / "finassay_test_tool"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("print('finassay_test_tool 1.4.0')")
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    spec = ProgramSpec("tool", install="pip install tool", tried=("1.4.0",), oldest="1", module="finassay_test_tool")
    found = find_program(spec)
    assert (found.argv[0], found.argv[-1], found.version, found.problem) == (sys.executable, "finassay_test_tool", "1.4.0", "")
    assert package in found.readable
    assert found.environment == {"PYTHONPATH": str(tmp_path / "src")}
    missing = ProgramSpec("tool", install="pip install tool", tried=(), oldest="1", module="finassay_no_such_package")
    assert "pip install tool" in find_program(missing).hint


def test_a_script_of_an_environment_of_its_own_shows_that_environment(tmp_path):
    found = find_program(SPEC, str(script(tmp_path / "tool", "print('1.4.0')", sys.executable)))
    assert found.version == "1.4.0"
    assert set(python_runtime().readable) <= set(found.readable)


def test_a_program_without_a_model_needs_no_gateway(tmp_path):
    class Plain(ToolAgent):
        upstream = ""

    agent = Plain(ProgramOptions(program=str(script(tmp_path / "tool", "echo 1.4.0"))))
    assert agent.capabilities.upstreams == ()
    assert agent.diagnose().login == "no model behind it"
