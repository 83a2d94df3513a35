"""Real programs as agents, in the sandbox `local`."""

import json
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from finassay.api.agent import Agent, AgentCapabilities, Setting, TurnContext
from finassay.api.channel import McpServer
from finassay.api.conversation import Conversation, Message
from finassay.api.delivery import LogEvent
from finassay.api.errors import AgentError, ProviderError
from finassay.api.gateway import Access
from finassay.api.sandbox import BoxSpec, Limits
from finassay.api.task import Brief
from finassay.api.usage import Usage
from finassay.records.files import remove_tree
from finassay_cli_kit import (
    Command,
    CommandLineAgent,
    Done,
    Ending,
    Failed,
    JsonLinesAgent,
    ProgramSession,
    Said,
    UsageReported,
    parse_line,
    python_program,
)
from finassay_cli_kit.home import HomeFiles
from finassay_cli_kit.state import MAX_TRANSCRIPT, Resume, StateFolder
from finassay_cli_kit.turn import MAX_EVENTS, MAX_NOTES, MAX_REPLY, bounded
from finassay_cli_kit.usage import add, since, usage_of
from finassay_sandbox_local.sandbox import LocalOptions, LocalSandbox

SPEAK = """
import json, os, pathlib, sys, time
def say(**line): print(json.dumps(line), flush=True)
heard = sys.stdin.buffer.read().decode()
"""
DONE = "\nsay(type='done')\n"


class Session:
    """One agent in one box."""

    def __init__(
        self, agent: CommandLineAgent, workspace: Path, history: Conversation = Conversation(), access: Access | None = None
    ) -> None:
        workspace.mkdir(exist_ok=True)
        (workspace / "deliver").mkdir(exist_ok=True)
        self.agent, self.workspace, self.log = agent, workspace, list[LogEvent]()
        self.box = LocalSandbox(LocalOptions()).open(BoxSpec(workspace, environment=dict(agent.capabilities.environment)))
        agent.start(Setting(Brief("s1", "Work well.", 6, 30, (), False), self.box, history, access))

    def send(self, text: str, turn: int = 1, cut=lambda: False):
        return self.agent.send(text, TurnContext(turn, 30, self.log.append, cut))

    def send_until(self, moment: Path, text: str, turn: int = 1):
        """The harness's clock: when `moment` appears, the box is stopped and the turn is cut."""
        cut = threading.Event()

        def clock() -> None:
            deadline = time.monotonic() + 20
            while not moment.exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            cut.set()
            self.box.stop()

        watcher = threading.Thread(target=clock)
        watcher.start()
        try:
            return self.send(text, turn, cut.is_set)
        finally:
            watcher.join()

    def kinds(self) -> list[str]:
        return [event.kind for event in self.log]

    def close(self) -> None:
        self.agent.finalize()
        self.box.close()


@pytest.fixture
def begin(tmp_path: Path):
    sessions = []

    def make(code: str | CommandLineAgent, workspace: str = "workspace", **how):
        agent = JsonLinesAgent("scripted", (sys.executable, "-c", SPEAK + code), version="1") if isinstance(code, str) else code
        sessions.append(Session(agent, tmp_path / workspace, **how))
        return sessions[-1]

    yield make
    for session in sessions:
        session.close()


# -- a turn -------------------------------------------------------------------------------------------------------------


def test_a_turn_with_tools_usage_and_files(begin):
    code = """
say(type='message', text='Let me look.')
say(type='tool-call', id='1', name='shell', input={'command': 'ls'})
say(type='tool-result', id='1', output='nothing', is_error=True, exit_code=2)
say(type='usage', input_tokens=10, output_tokens=3, cost_usd=0.5)
say(type='usage', input_tokens=5, cost_usd=0.25)
pathlib.Path('deliver/report.md').write_text('# ' + heard)
say(type='message', text='Here it is: ' + heard)
"""
    session = begin(code + DONE)
    assert isinstance(session.agent, Agent)
    reply = session.send("Grüße 你好 🙂")
    assert reply.text == "Here it is: Grüße 你好 🙂"
    assert reply.usage == Usage(input_tokens=15, output_tokens=3, cost_usd=0.75)
    assert (session.workspace / "deliver" / "report.md").read_text() == "# Grüße 你好 🙂"
    assert session.kinds() == ["tool-call", "tool-result", "usage", "usage", "note"]
    assert session.log[0].data == {"id": "1", "name": "shell", "input": {"command": "ls"}}
    assert session.log[1].data == {"id": "1", "output": "nothing", "is_error": True, "exit_code": 2}
    assert "Let me look." in session.log[4].data["text"]
    assert all(event.turn == 1 and event.seconds >= 0 for event in session.log)


def test_events_are_logged_while_the_program_runs(begin):
    code = "say(type='note', text='early')\nwhile not os.path.exists('go'): time.sleep(0.01)" + DONE
    session = begin(code)
    turn = threading.Thread(target=session.send, args=("x",))
    turn.start()
    deadline = time.monotonic() + 15
    while not session.log and time.monotonic() < deadline:
        time.sleep(0.01)
    assert session.log[0].data == {"text": "early"}
    assert turn.is_alive()
    (session.workspace / "go").touch()
    turn.join(15)
    assert not turn.is_alive()


def test_memory_in_the_home_and_the_workspace_lasts_from_turn_to_turn(begin):
    code = """
for place in (pathlib.Path.home() / 'memory', pathlib.Path('memory')):
    with place.open('a') as f: f.write(heard + ' ')
say(type='message', text=(pathlib.Path.home() / 'memory').read_text() + pathlib.Path('memory').read_text() + os.environ['FINASSAY_TURN'])
"""
    session = begin(code + DONE)
    session.send("one")
    assert session.send("two", 2).text == "one two one two 2"


def test_the_program_is_told_its_brief_and_its_time(begin):
    code = "say(type='message', text=os.environ['FINASSAY_BRIEF'] + os.environ['FINASSAY_SECONDS'] + os.getcwd())"
    session = begin(code + DONE)
    assert session.send("x").text == f"Work well.30{session.box.inside}"


def test_a_large_message_in_and_out(begin):
    session = begin("say(type='message', text=heard)" + DONE)
    text = "0123456789abcdé\n" * 65_536
    assert session.send(text).text == text


def test_two_agents_at_once_do_not_mix(begin):
    code = (
        "pathlib.Path('deliver/mine').write_text(heard)\ntime.sleep(0.3)\nsay(type='message', text=pathlib.Path('deliver/mine').read_text())"
        + DONE
    )
    sessions = {name: begin(code, name) for name in ("a", "b", "c")}
    replies = {}
    threads = [threading.Thread(target=lambda n=n, s=s: replies.update({n: s.send(n).text})) for n, s in sessions.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == {"a": "a", "b": "b", "c": "c"}


def test_what_still_runs_when_a_turn_ends_is_stopped(begin):
    code = """
import subprocess
subprocess.Popen([sys.executable, '-c', 'import time\\nwhile True: open("deliver/beat", "a").write("x"); time.sleep(0.01)'], start_new_session=True)
while not os.path.exists('deliver/beat'): time.sleep(0.01)
"""
    session = begin(code + DONE)
    session.send("x")
    size = (session.workspace / "deliver" / "beat").stat().st_size
    time.sleep(0.2)
    assert (session.workspace / "deliver" / "beat").stat().st_size == size


# -- the clock ----------------------------------------------------------------------------------------------------------


def test_a_cut_turn_keeps_what_was_logged_and_said(begin):
    code = """
say(type='tool-call', id='1', name='shell', input={})
say(type='usage', input_tokens=7)
say(type='message', text='So far so good.')
open('deliver/partial', 'w').write('x')
open('ready', 'w').close()
time.sleep(600)
"""
    session = begin(code)
    reply = session.send_until(session.workspace / "ready", "x")
    assert reply.text == "So far so good."
    assert reply.usage == Usage(input_tokens=7)
    assert session.kinds() == ["tool-call", "usage"]
    assert (session.workspace / "deliver" / "partial").exists()


def test_the_conversation_goes_on_after_a_cut_turn(begin):
    session = begin("say(type='message', text='a' + heard)\nif heard == 'slow': open('ready', 'w').close(); time.sleep(600)" + DONE)
    assert session.send_until(session.workspace / "ready", "slow").text == "aslow"
    assert session.send("fast", 2).text == "afast"


def test_a_program_that_hangs_after_its_final_event_is_ended(begin):
    session = begin("say(type='message', text='ready')" + DONE + "time.sleep(600)")
    session.agent.exit_seconds = 0.3  # type: ignore[misc]
    started = time.monotonic()
    assert session.send("x").text == "ready"
    assert time.monotonic() - started < 10


# -- failures -----------------------------------------------------------------------------------------------------------


def test_without_the_final_event_a_turn_has_failed_whatever_the_exit_code(begin):
    session = begin("say(type='message', text='I am finished!')")
    with pytest.raises(AgentError, match=r"without its final event \(exit code 0\)"):
        session.send("x")


def test_a_crash_is_told_with_the_end_of_standard_error(begin):
    session = begin("raise RuntimeError('the reason')")
    with pytest.raises(AgentError, match=r"(?s)exit code 1.*the reason"):
        session.send("x")


def test_a_program_that_is_not_there_is_the_agents_failure(begin):
    session = begin(JsonLinesAgent("missing", ("no-such-agent",)))
    with pytest.raises(AgentError, match="no-such-agent"):
        session.send("x")


@pytest.mark.parametrize(("kind", "error"), [("agent", AgentError), ("provider", ProviderError)])
def test_the_last_error_decides_whose_failure_it_was(begin, kind, error):
    session = begin(f"say(type='error', text='first', kind='agent')\nsay(type='error', text='overloaded', kind={kind!r})\nsys.exit(0)")
    with pytest.raises(error, match="scripted: overloaded"):
        session.send("x")
    assert [event.data["provider"] for event in session.log] == [False, kind == "provider"]


def test_an_error_before_the_final_event_was_overcome(begin):
    session = begin("say(type='error', text='retrying', kind='provider')\nsay(type='message', text='ok')" + DONE)
    assert session.send("x").text == "ok"
    assert session.kinds() == ["error"]


def test_an_agent_can_be_called_again_after_a_failure(begin):
    session = begin(
        "n = len(list(pathlib.Path('.').glob('try*')))\nopen(f'try{n}', 'w')\nif n == 0: sys.exit(3)\nsay(type='message', text='second')"
        + DONE
    )
    with pytest.raises(AgentError):
        session.send("x")
    assert session.send("x").text == "second"


def test_before_start_there_is_no_turn():
    with pytest.raises(AgentError, match="not started"):
        JsonLinesAgent("early", ("true",)).send("x", TurnContext(1, 1, lambda event: None, lambda: False))
    JsonLinesAgent("early", ("true",)).finalize()


# -- hostile output -----------------------------------------------------------------------------------------------------


def test_unreadable_lines_are_noted_and_counted(begin):
    code = """
for i in range(150): print('no json', i)
sys.stdout.flush()
os.write(1, bytes(range(256)) + b'\\n' + b'\\xff\\xfe\\n')
for line in ('[1]', '"x"', '{"type": "invented"}', '{"type": "message", "text": 5}', '[' * 100000, '1' * 10000): print(line)
say(type='message', text='fine')
"""
    session = begin(code + DONE)
    assert session.send("x").text == "fine"
    notes = [event.data["text"] for event in session.log]
    assert len(notes) == MAX_NOTES + 1
    assert notes[-1] == "59 more lines of unreadable output"


def test_an_endless_line_and_a_flood_are_bounded(begin):
    code = """
for _ in range(100): os.write(1, b'x' * 1_000_000)
os.write(1, b'\\n')
for i in range(30_000): say(type='note', text='y' * 100)
say(type='message', text='survived')
"""
    session = begin(code + DONE)
    assert session.send("x").text == "survived"
    assert len(session.log) == MAX_EVENTS
    assert sum(len(str(event.data)) for event in session.log) < 10_000_000


def test_a_turn_that_never_stops_talking_fails(begin):
    session = begin("while True: os.write(1, b'x' * 999 + b'\\n')")
    session.agent.max_output = 2_000_000  # type: ignore[misc]
    with pytest.raises(AgentError, match="more than 2,000,000 bytes"):
        session.send("x")


def test_texts_are_bounded_and_can_be_stored(begin):
    code = """
say(type='tool-result', id='1', output='z' * 1_000_000, exit_code='x')
print('{"type": "message", "text": "lone \\\\ud800 surrogate"}')
say(type='usage', input_tokens=-1, output_tokens=float('nan'), cost_usd='much', cached_tokens=True, reasoning_tokens=4)
"""
    session = begin(code + DONE)
    reply = session.send("x")
    reply.text.encode()
    assert reply.text.startswith("lone ")
    assert reply.usage == Usage(reasoning_tokens=4)
    assert len(session.log[0].data["output"]) < 30_000
    assert session.log[0].data["exit_code"] is None
    json.dumps([dict(event.data) for event in session.log], allow_nan=False).encode()


def test_a_reply_is_bounded(begin):
    session = begin("say(type='message', text='m' * 5_000_000)" + DONE)
    assert len(session.send("x").text) <= MAX_REPLY + 1


def test_data_is_bounded_in_depth_breadth_and_length():
    deep: object = "x"
    for _ in range(100):
        deep = {"a": [deep]}
    value = bounded(
        {"deep": deep, "wide": list(range(10_000)), "keys": {str(i): i for i in range(10_000)}, "big": 10**30, "inf": float("inf")}
    )
    assert len(json.dumps(value, allow_nan=False)) < 10_000
    assert len(value["wide"]) == 100
    assert len(value["keys"]) == 50


# -- what a later turn needs ----------------------------------------------------------------------------------------------


class Resuming(CommandLineAgent):
    """Tells its session id and running totals, and repeats the command it was given."""

    id = "resuming"
    capabilities = AgentCapabilities()

    def command(self, turn):
        script = 'read n < "$HOME/n" 2>/dev/null || n=0; n=$((n + 1)); echo $n > "$HOME/n"; echo "id conversation-7"; echo "total ${n}00"; echo "said $*"; echo done'
        said = " ".join(f"{m.sender}:{m.text}" for m in turn.said.messages)
        return Command(("/bin/sh", "-c", script, "sh", str(turn.session), turn.message, said))

    def events(self, line):
        kind, _, rest = line.decode().partition(" ")
        if kind == "id":
            yield ProgramSession(rest)
        elif kind == "total":
            yield UsageReported(Usage(input_tokens=int(rest)), running_total=True)
        elif kind == "said":
            yield Said(rest)
        else:
            yield Done()


def test_session_id_running_totals_and_conversation_go_from_turn_to_turn(begin):
    session = begin(Resuming())
    first, second = session.send("hello"), session.send("more", 2)
    assert first.text.split() == ["None", "hello"]
    assert second.text == "conversation-7 more user:hello agent:None hello "
    assert (first.usage.input_tokens, second.usage.input_tokens) == (100, 100)


def test_a_killed_harness_goes_on_with_the_same_program_session(begin, tmp_path: Path):
    begin(Resuming()).send("hello")
    history = Conversation((Message("u0", 0, "user", "hello"), Message("a1", 1, "agent", "None hello"), Message("u1", 1, "user", "more")))
    resumed = begin(Resuming(), history=history)
    reply = resumed.send("more", 2)
    assert reply.text == "conversation-7 more user:hello agent:None hello"
    assert reply.usage.input_tokens == 100


def test_a_session_that_begins_knows_no_earlier_program_session(begin):
    begin(Resuming()).send("hello")
    fresh = begin(Resuming(), history=Conversation((Message("u0", 0, "user", "hello"),)))
    assert fresh.send("hello").text.split()[0] == "None"


def test_the_raw_output_is_kept_and_bounded(begin, monkeypatch):
    session = begin("say(type='note', text='n' * 1000)" + DONE)
    session.send("x")
    transcript = session.workspace / ".home" / ".finassay-kit" / "transcript.jsonl"
    assert [json.loads(line)["type"] for line in transcript.read_text().splitlines()] == ["note", "done"]
    os.truncate(transcript, MAX_TRANSCRIPT - 10)
    session.send("x", 2)
    assert transcript.stat().st_size <= MAX_TRANSCRIPT


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b"[" * 60_000, b'{"session": "-rf", "total": {"input_tokens": "x"}}', b'{"session": 5, "total": 7}', b"\xff"],
)
def test_a_spoilt_state_is_an_empty_one(tmp_path: Path, content):
    (tmp_path / ".home" / ".finassay-kit").mkdir(parents=True)
    (tmp_path / ".home" / ".finassay-kit" / "resume.json").write_bytes(content)
    assert StateFolder(tmp_path).load() == Resume()


@pytest.mark.parametrize(
    "place", [".home", ".home/.finassay-kit", ".home/.finassay-kit/resume.json", ".home/.finassay-kit/transcript.jsonl"]
)
def test_links_in_the_home_are_not_followed(tmp_path: Path, place):
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    (workspace / place).parent.mkdir(parents=True)
    outside.mkdir()
    (outside / "resume.json").write_text("untouched")
    (workspace / place).symlink_to(outside / "resume.json" if place.endswith(("json", "jsonl")) else outside)
    state = StateFolder(workspace)
    state.save(Resume("abc"))
    with state.transcript() as write:
        write(b"line")
    assert (outside / "resume.json").read_text() == "untouched"
    assert {path.name for path in outside.rglob("*")} == {"resume.json"}


def test_hard_links_and_pipes_in_the_home_are_not_written(tmp_path: Path):
    folder = tmp_path / "workspace" / ".home" / ".finassay-kit"
    folder.mkdir(parents=True)
    (tmp_path / "outside").write_text("untouched")
    os.link(tmp_path / "outside", folder / "resume.json")
    os.mkfifo(folder / "transcript.jsonl")
    state = StateFolder(tmp_path / "workspace")
    state.save(Resume("abc"))
    with state.transcript() as write:
        write(b"line")
    assert (tmp_path / "outside").read_text() == "untouched"


# -- the rest -------------------------------------------------------------------------------------------------------------


def test_an_adapter_may_tell_failures_by_other_signs(begin):
    class Sharp(JsonLinesAgent):
        def failure(self, ending: Ending):
            return ProviderError("overload") if "503" in ending.stderr and ending.exit_code == 9 else super().failure(ending)

    session = begin(Sharp("sharp", (sys.executable, "-c", SPEAK + "sys.stderr.write('503'); sys.exit(9)")))
    with pytest.raises(ProviderError, match="overload"):
        session.send("x")


def test_usage_that_is_not_known_is_not_zero():
    assert add(Usage(), Usage(input_tokens=2)) == Usage(input_tokens=2)
    assert since(Usage(input_tokens=5), Usage()) == Usage(input_tokens=5)
    assert since(Usage(input_tokens=5, cost_usd=2.0), Usage(input_tokens=3, cost_usd=1.5)) == Usage(input_tokens=2, cost_usd=0.5)
    assert since(Usage(input_tokens=1), Usage(input_tokens=9)) == Usage(input_tokens=1)
    assert usage_of({"input_tokens": 1e300, "output_tokens": 2.0}) == Usage(output_tokens=2)


def test_every_line_of_the_protocol_is_read():
    assert list(parse_line(b"  ")) == []
    assert list(parse_line(b'{"type": "done"}')) == [Done()]
    assert list(parse_line(b'{"type": "session", "id": "s"}')) == [ProgramSession("s")]
    assert list(parse_line(b'{"type": "error", "text": "t"}')) == [Failed("t")]


def test_a_module_is_run_by_this_interpreter_wherever_it_is_installed(begin):
    program = python_program("finassay_cli_kit.no_such_module")
    assert program.argv[0] == sys.executable
    assert any(Path(sys.executable).is_relative_to(folder) for folder in program.readable)
    session = begin(JsonLinesAgent("module", python_program("json.tool", "--json-lines").argv))
    with pytest.raises(AgentError, match="exit code 0"):
        session.send("{}")
    with pytest.raises(AgentError, match="not installed"):
        python_program("no_such_package_here.agent")


def test_a_program_over_its_memory_limit_is_the_agents_failure(tmp_path: Path):
    agent = JsonLinesAgent("greedy", (sys.executable, "-c", "x = bytearray(2**31)"))
    box = LocalSandbox(LocalOptions()).open(BoxSpec(tmp_path, limits=Limits(memory_bytes=2**29)))
    agent.start(Setting(Brief("s", "", 6, 30, (), False), box))
    with pytest.raises(AgentError, match="MemoryError"):
        agent.send("x", TurnContext(1, 30, lambda event: None, lambda: False))
    box.close()


def test_a_file_whose_place_holds_a_folder_without_end_is_written_all_the_same(tmp_path: Path):
    """However a program spoils its home: that is no failure of the harness."""
    files = HomeFiles(tmp_path)
    files.write({"config.json": b"1"}, {})
    (tmp_path / ".home" / "config.json").unlink()
    here = os.open(tmp_path / ".home", os.O_RDONLY)
    for name in ("config.json", *["d" * 50] * 3_000):
        os.mkdir(name, dir_fd=here)
        deeper = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    files.write({"config.json": b"2"}, {})
    assert (tmp_path / ".home" / "config.json").read_bytes() == b"2"
    remove_tree(tmp_path / ".home")  # which pytest could not


def test_a_program_of_ones_own_gets_its_way_to_models_and_servers(begin):
    access = Access({"openai": "http://127.0.0.1:9/openai"}, "t0ken", (McpServer("price", "http://127.0.0.1:9/mcp", {"a": "b"}),))
    session = begin(
        "a = json.loads(os.environ['FINASSAY_ACCESS'])\nsay(type='message', text=a['urls']['openai'] + a['servers'][0]['name'] + a['token'])"
        + DONE,
        access=access,
    )
    assert session.send("x").text == "http://127.0.0.1:9/openaiprice[secret]"


def test_a_program_that_starts_after_the_clock_struck_is_stopped(begin):
    session = begin("say(type='message', text='late')\ntime.sleep(60)" + DONE)
    started = time.monotonic()
    session.send("x", cut=lambda: True)
    assert time.monotonic() - started < 20
