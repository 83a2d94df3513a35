"""Programs that speak the protocol, in the sandbox `local`."""

import http.server
import json
import sys
import threading
import time
from pathlib import Path

import pytest

from finassay.api.agent import Setting, TurnContext
from finassay.api.channel import McpServer
from finassay.api.conversation import Conversation, Message
from finassay.api.errors import AgentError, ProviderError, UsageError
from finassay.api.gateway import Access
from finassay.api.sandbox import BoxSpec
from finassay.api.task import Brief
from finassay.api.usage import Usage
from finassay.testing.cases import ComponentConformance
from finassay_acp.agent import AcpAgent
from finassay_acp.exchange import CANCEL_SECONDS
from finassay_acp.options import AcpOptions
from finassay_acp.updates import MAX_OPEN_CALLS, Updates, usage_of_answer
from finassay_cli_kit import Note, Said, ToolCall, ToolResult
from finassay_sandbox_local.sandbox import LocalOptions, LocalSandbox

PEER = str(Path(__file__).parent / "peer.py")
COMMAND = (sys.executable, PEER)


class TestConformance(ComponentConformance):
    kind = "agent"
    id = "acp"
    options = {"command": COMMAND, "readable": (str(Path(PEER).parent),)}  # noqa: RUF012


class TestConformanceWithoutSessions(ComponentConformance):
    kind = "agent"
    id = "acp"
    options = {"command": (*COMMAND, "--keeps", "nothing"), "readable": (str(Path(PEER).parent),)}  # noqa: RUF012


class Session:
    """One agent in one box."""

    def __init__(self, agent, workspace: Path, access=None, history=Conversation()) -> None:
        (workspace / "deliver").mkdir(parents=True, exist_ok=True)
        self.agent, self.workspace, self.log = agent, workspace, []
        self.box = LocalSandbox(LocalOptions()).open(BoxSpec(workspace, environment=dict(agent.capabilities.environment)))
        agent.start(Setting(Brief("s1", "Work well.", 6, 30, (), False), self.box, history, access))

    def send(self, text, turn=1, seconds=30.0):
        """A turn under the harness's clock."""
        cut = threading.Event()

        def end() -> None:
            cut.set()
            self.box.stop()

        clock = threading.Timer(seconds, end)
        clock.start()
        try:
            return self.agent.send(text, TurnContext(turn, seconds, self.log.append, cut.is_set))
        finally:
            clock.cancel()
            clock.join()

    def told(self, turn=1, **how):
        """What the peer knows."""
        return json.loads(self.send("tell", turn, **how).text)

    def notes(self):
        return [e.data["text"] for e in self.log if e.kind == "note"]

    def close(self) -> None:
        self.agent.finalize()
        self.box.close()


@pytest.fixture
def begin(tmp_path):
    sessions = []

    def make(*arguments, workspace="workspace", access=None, history=Conversation(), command=COMMAND, **options):
        agent = AcpAgent(AcpOptions(command=(*command, *arguments), **options))
        sessions.append(Session(agent, tmp_path / workspace, access, history))
        return sessions[-1]

    yield make
    for session in sessions:
        session.close()


def raw(code: str) -> tuple[str, ...]:
    """A program that speaks as it likes, after a proper beginning."""
    start = """
import json, os, sys, time
def say(**m): os.write(1, json.dumps({"jsonrpc": "2.0", **m}).encode() + b"\\n")
def update(**u): say(method="session/update", params={"sessionId": "s", "update": u})
def hear():
    line = sys.stdin.readline()
    if not line: sys.exit(0)
    return json.loads(line)
def begin():
    m = hear(); say(id=m["id"], result={"protocolVersion": 1, "agentInfo": {"name": "raw", "version": "1"}})
    m = hear(); say(id=m["id"], result={"sessionId": "s"})
    return hear()["id"]
"""
    return (sys.executable, "-c", start + code)


END = "\nupdate(sessionUpdate='agent_message_chunk', content={'type': 'text', 'text': 'fine'})\nsay(id=p, result={'stopReason': 'end_turn'})\n"


# -- a turn -------------------------------------------------------------------------------------------------------------


def test_a_turn_with_tools_a_plan_permission_and_usage(begin):
    session = begin()
    reply = session.send("write report.md")
    assert reply.text == "Wrote report.md: yes"
    assert (session.workspace / "deliver" / "report.md").read_text() == "# Report"
    assert reply.usage == Usage(140, 40, 30, cost_usd=0.5)
    calls = [e.data for e in session.log if e.kind in ("tool-call", "tool-result")]
    assert calls == [
        {"id": "t1", "name": "Write report.md", "input": {"path": "report.md"}},
        {"id": "t1", "output": "yes", "is_error": False, "exit_code": 0},
    ]
    assert session.notes() == [
        "program: peer 7.1",
        "thought: I should write it.",
        "plan:\n[pending] write",
        "permission for Write report.md: allow_once",
        "said before its reply: Let me write.",
    ]
    assert session.agent.version == "peer 7.1"


def test_a_denied_permission(begin):
    session = begin(permission="deny")
    assert session.send("write report.md").text == "Wrote report.md: never"
    assert not list((session.workspace / "deliver").iterdir())
    assert [e.data["is_error"] for e in session.log if e.kind == "tool-result"] == [True]


def test_the_client_offers_neither_files_nor_terminals(begin):
    offered = begin().told()["offered"]
    assert not offered.get("terminal")
    assert not any((offered.get("fs") or {}).values())


def test_environment_arguments_and_files_get_the_sessions_token_and_addresses(begin, monkeypatch):
    monkeypatch.setenv("MY_KEY", "a-key-of-my-own")
    access = Access({"google": "http://127.0.0.1:1/google/"}, "throw-away")
    session = begin(
        "{url:google}",
        access=access,
        environment={"KEY": "{token}", "BASE": "{url:google}/v1", "ODD": "{x} {"},
        files={".peer/settings.json": '{"a": "{url:google}"}'},
        secrets=("MY_KEY",),
        models=("m",),
    )
    assert session.agent.capabilities.upstreams == ("google",)
    assert session.agent.capabilities.models == ("m",)
    assert session.agent.capabilities.credentials == ("MY_KEY",)
    told = session.told()
    assert told["env"]["BASE"] == "http://127.0.0.1:1/google/v1"
    assert told["env"]["ODD"] == "{x} {"
    assert told["env"]["KEY"] == told["env"]["MY_KEY"] == "[secret]"  # as the log and the reply have them
    assert told["argv"][-1] == "http://127.0.0.1:1/google"
    assert json.loads((session.workspace / ".home" / ".peer" / "settings.json").read_text()) == {"a": "http://127.0.0.1:1/google"}
    assert b"throw-away" not in (session.workspace / ".home" / ".finassay-kit" / "transcript.jsonl").read_bytes()
    assert told["cwd"] == session.box.inside


def test_a_placeholder_without_a_gateway_is_told(begin):
    session = begin(environment={"BASE": "{url:google}"})
    with pytest.raises(AgentError, match=r"\{url:google\}.*no value"):
        session.send("x")


def test_mode_model_and_further_options_are_set(begin):
    assert begin(mode="free", model="large", config={"brain2": True}).told()["set"] == {"mode": "free", "brain": "large", "brain2": True}


def test_a_login_by_the_protocol(begin):
    with pytest.raises(AgentError, match="session/new: Authentication required") as error:
        begin("--auth").send("x")
    assert "login" in error.value.hint
    assert begin("--auth", login="key", workspace="w2").told()["set"] == {"login": "key"}


@pytest.fixture
def channel():
    """A server that says which token it got."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(self.headers["Authorization"].encode())

        def log_message(self, *args) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield McpServer("prices", f"http://127.0.0.1:{server.server_port}/mcp", {"Authorization": "Bearer 17"})
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("keeps", ["resume", "load"])
def test_channels_reach_the_agent_in_each_turn(begin, channel, keeps):
    session = begin("--keeps", keeps, access=Access({}, "t" * 20, (channel,)))
    assert session.send("channel").text == "prices says Bearer 17"
    assert session.send("channel", 2).text == "prices says Bearer 17"


def test_an_agent_that_takes_no_servers_over_http_says_so(begin, channel):
    with pytest.raises(AgentError, match="no MCP servers over HTTP"):
        begin("--no-http", access=Access({}, "t" * 20, (channel,))).send("x")


def test_a_message_that_looks_like_a_command_is_words(begin):
    session = begin()
    session.send("hello")
    assert session.send("/quit\ntell", 2).text.startswith('{"prompt": "The message is:\\n/quit\\ntell"')


# -- from turn to turn --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keeps", ["resume", "load", "late"])
def test_a_session_goes_on(begin, keeps):
    session = begin("--keeps", keeps)
    first = session.told()
    assert first["prompt"].startswith("Work well.")
    session.send("say one", 2)
    third = session.told(3)
    assert third["prompt"] == "tell"
    assert third["said"] == ["tell", "one"]
    assert not [n for n in session.notes() if "OLD" in n]


def test_without_sessions_the_next_turn_gets_the_transcript(begin):
    session = begin("--keeps", "nothing")
    session.send("say one")
    second = session.told(2)
    assert second["said"] == []
    assert "say one" in second["prompt"]
    assert "You said: say one" in second["prompt"]
    assert any("cannot take up a session" in n for n in session.notes())


@pytest.mark.parametrize("keeps", ["resume", "load"])
def test_a_lost_session_is_begun_anew_with_the_transcript(begin, keeps):
    session = begin("--keeps", keeps)
    session.send("say one")
    for file in (session.workspace / ".home" / "peer-sessions").iterdir():
        file.unlink()
    assert "You said: say one" in session.told(2)["prompt"]
    assert any("lost" in n for n in session.notes())


def test_a_killed_harness_goes_on_with_the_same_session(begin):
    begin().send("say one")
    history = Conversation((Message("u0", 0, "user", "say one"), Message("a1", 1, "agent", "You said: say one")))
    told = begin(history=history).told(2)
    assert told["prompt"] == "tell"
    assert told["said"] == ["one"]


def test_nothing_runs_between_turns(begin, tmp_path):
    beat = tmp_path / "workspace" / "beat"
    code = f"""
import subprocess
p = begin()
subprocess.Popen([sys.executable, "-c", "import time\\nwhile True: open({str(beat)!r}, 'a').write('x'); time.sleep(0.01)"], start_new_session=True)
while not os.path.exists({str(beat)!r}): time.sleep(0.01)
{END}
hear()
"""
    begin(command=raw(code)).send("x")
    size = beat.stat().st_size
    time.sleep(0.2)
    assert beat.stat().st_size == size


# -- the clock ----------------------------------------------------------------------------------------------------------


def test_a_turn_is_cancelled_shortly_before_its_deadline_and_ended_by_it(begin):
    session = begin()
    started = time.monotonic()
    reply = session.send("wait", seconds=CANCEL_SECONDS + 8)
    assert CANCEL_SECONDS + 7.8 < time.monotonic() - started < CANCEL_SECONDS + 12
    assert reply.text == "So far."
    assert reply.usage == Usage(140, 40, 30)
    assert (session.workspace / "cancelled").exists()
    assert session.send("say more", 2).text == "You said: say more"


def test_an_agent_that_ignores_the_cancellation_is_ended(begin):
    session = begin()
    started = time.monotonic()
    assert session.send("hang", seconds=CANCEL_SECONDS + 4).text == ""
    assert time.monotonic() - started < CANCEL_SECONDS + 8
    assert session.send("say more", 2).text == "You said: say more"


def test_a_program_that_never_gets_ready(begin):
    session = begin(command=raw("hear(); say(id=0, result={'protocolVersion': 1}); time.sleep(600)"), start_seconds=0.5)
    with pytest.raises(AgentError, match=r"not ready for a prompt within 0\.5 s"):
        session.send("x")


# -- failures -----------------------------------------------------------------------------------------------------------


def test_an_error_of_the_prompt_is_told(begin):
    with pytest.raises(AgentError, match=r"session/prompt: the model said no.*overloaded"):
        begin().send("fail 500")


def test_the_gateway_knows_whether_it_was_the_provider(begin):
    access = Access({}, "t" * 20, failure=lambda: ProviderError("overloaded"))
    with pytest.raises(ProviderError, match=r"^overloaded"):
        begin(access=access).send("fail 500")


def test_a_crash_is_told_with_the_end_of_standard_error(begin):
    with pytest.raises(AgentError, match=r"(?s)exit code 3.*the reason"):
        begin().send("crash")


@pytest.mark.parametrize(("reason", "well"), [("refusal", True), ("max_tokens", False), ("max_turn_requests", False), ("cancelled", False)])
def test_why_a_turn_stopped(begin, reason, well):
    session = begin()
    if well:
        assert session.send(f"stop {reason}").text == "As far as I got."
    else:
        with pytest.raises(AgentError, match=f"stopped by itself: {reason}"):
            session.send(f"stop {reason}")


SILENT = "\nsay(id=p, result={'stopReason': 'end_turn'})\n"
TOLD = "update(sessionUpdate='agent_message_chunk', content={'type': 'text', 'text': 'I look.'})\n"
CALLED = "update(sessionUpdate='tool_call', toolCallId='1', title='look', status='completed')\n"


def test_a_turn_that_ends_without_a_word_has_failed(begin):
    """Kimi Code ends its turn like that when its model fails."""
    with pytest.raises(AgentError, match="without an answer"):
        begin(command=raw("p = begin()" + SILENT)).send("x")
    overloaded = Access({}, "t" * 20, failure=lambda: ProviderError("overloaded"))
    with pytest.raises(ProviderError, match="overloaded"):
        begin(command=raw("p = begin()\n" + TOLD + CALLED + SILENT), access=overloaded, workspace="w2").send("x")


def test_what_was_said_before_the_last_tool_is_an_answer_where_no_model_failed(begin):
    assert begin(command=raw("p = begin()\n" + TOLD + CALLED + SILENT)).send("x").text == "I look."


def test_another_version_of_the_protocol(begin):
    with pytest.raises(AgentError, match="version 9 of the protocol"):
        begin("--protocol", "9").send("x")


def test_a_program_that_is_not_there(tmp_path):
    agent = AcpAgent(AcpOptions(command=("no-such-agent", "--acp")))
    assert "not found" in agent.diagnose().problem
    with pytest.raises(AgentError, match="no-such-agent"):
        Session(agent, tmp_path / "w")


def test_a_program_that_speaks_something_else_is_diagnosed():
    diagnosis = AcpAgent(AcpOptions(command=(sys.executable, "-c", "print('hello')"))).diagnose()
    assert "initialize" in diagnosis.problem


def test_a_good_program_is_diagnosed_with_its_name():
    diagnosis = AcpAgent(AcpOptions(command=COMMAND, environment={"K": "{token}", "B": "{url:openai}"})).diagnose()
    assert (diagnosis.problem, diagnosis.version, diagnosis.login) == ("", "peer 7.1", "a key for openai, behind the gateway")


@pytest.mark.parametrize(
    "wrong", [{"command": ()}, {"command": ("x",), "environment": {"": "x"}}, {"command": ("x",), "files": {"a": "\0"}}]
)
def test_options_that_cannot_be(finassay_catalog, wrong):
    with pytest.raises(UsageError):
        finassay_catalog.create("agent", "acp", wrong)


# -- hostile output -----------------------------------------------------------------------------------------------------


def test_malformed_messages_are_noted_and_do_no_harm(begin, caplog):
    code = """
p = begin()
os.write(1, bytes(range(256)) + b"\\n\\xff\\xfe\\n\\n")
for line in ("no json", "[1]", '"x"', "7", "[" * 100_000, '{"id": []}', '{"id": 99, "result": {}}', '{"method": 5}', '{"id": {}, "method": "x"}',
             '{"method": "session/update"}', '{"method": "session/update", "params": 5}', '{"method": "session/update", "params": {"sessionId": "s"}}',
             '{"method": "invented"}', '{"id": 1e400, "result": 1}', "1" * 10_000, '{"id": true, "result": 1}', '{"id": 88, "error": 5}'):
    os.write(1, line.encode() + b"\\n")
for u in ({}, {"sessionUpdate": 5}, {"sessionUpdate": "invented"}, {"sessionUpdate": "agent_message_chunk"}, {"sessionUpdate": "tool_call"},
          {"sessionUpdate": "plan", "entries": 5}, {"sessionUpdate": "tool_call_update", "toolCallId": [], "content": "x", "status": "completed"},
          {"sessionUpdate": "usage_update", "cost": {"amount": -1, "currency": "USD"}}):
    update(**u)
say(method="session/update", params={"sessionId": "another", "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "evil"}}})
"""
    session = begin(command=raw(code + END))
    assert session.send("x").text == "fine"
    assert not caplog.records
    assert all(len(n) < 1_000 for n in session.notes())


def test_requests_that_nobody_offers_are_answered_with_an_error(begin, caplog):
    code = """
p = begin()
asks = [("fs/read_text_file", {"sessionId": "s", "path": "/etc/passwd"}), ("terminal/create", {"sessionId": "s", "command": "id"}), ("invented", 5),
        ("elicitation/create", {"message": "key?"}), ("session/request_permission", {"options": "x"}), ("session/request_permission", [1]),
        ("session/request_permission", {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": [], "_meta": {"self": 1, "options": 5}}),
        ("mcp/connect", None), ("_ext", {"a": 1})]
answers = []
for n, (method, params) in enumerate(asks):
    say(id=f"q{n}", method=method, params=params)
    answers.append(hear())
texts = [a["id"] + " " + str(a.get("error", {}).get("code") or a.get("result")) for a in answers]
update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "|".join(texts)})
say(id=p, result={"stopReason": "end_turn"})
"""
    answers = begin(command=raw(code)).send("x").text.split("|")
    assert [a.split()[0] for a in answers] == [f"q{n}" for n in range(9)]
    assert "cancelled" in answers[6]
    assert all(a.split()[1].startswith("-32") for n, a in enumerate(answers) if n != 6)
    assert not caplog.records


def test_floods_are_bounded(begin):
    code = """
p = begin()
for n in range(5_000): update(sessionUpdate="agent_thought_chunk", content={"type": "text", "text": "y" * 10})
for n in range(25_000): update(sessionUpdate="tool_call", toolCallId=str(n), title="t", status="in_progress")
"""
    session = begin(command=raw(code + END))
    assert session.send("x").text == "fine"
    assert len(session.log) <= 20_000
    assert sum(len(str(e.data)) for e in session.log) < 10_000_000


def test_a_flood_of_requests_whose_answers_nobody_reads_ends_with_the_turn(begin):
    code = "p = begin()\nfor n in range(1_000_000): say(id=n, method='fs/read_text_file', params={'sessionId': 's', 'path': 'x' * 1000})"
    session = begin(command=raw(code))
    started = time.monotonic()
    assert session.send("x", seconds=CANCEL_SECONDS + 2).text == ""
    assert time.monotonic() - started < CANCEL_SECONDS + 6


def test_a_huge_message_is_cut_and_a_turn_that_never_stops_talking_fails(begin):
    session = begin(command=raw("p = begin()\nos.write(1, b'{\"x\": \"' + b'x' * 20_000_000 + b'\"}\\n')" + END))
    assert session.send("x").text == "fine"
    endless = begin(command=raw("p = begin()\nwhile True: update(sessionUpdate='plan', entries=[])"), workspace="w2")
    endless.agent.max_output = 100_000
    with pytest.raises(AgentError, match="more than 100,000 bytes"):
        endless.send("x")


@pytest.mark.parametrize(
    "answer", ["{}", "{'stopReason': 'invented'}", "[]", "None", "{'stopReason': 'end_turn', 'usage': {'inputTokens': -1}}"]
)
def test_an_answer_that_is_none_of_the_protocol(begin, answer):
    session = begin(command=raw("p = begin()\n" + TOLD + f"say(id=p, result={answer})\nhear()"))
    if "usage" in answer:
        assert session.send("x").usage == Usage()
    else:
        with pytest.raises(AgentError, match="none of the protocol"):
            session.send("x")


# -- reading updates ------------------------------------------------------------------------------------------------------


def test_pieces_of_messages_are_joined_and_told_apart():
    def chunk(text, **more):
        return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}, **more}

    updates = Updates()
    read = [e for u in (chunk("a"), chunk("b"), chunk("c", messageId="2"), chunk("d", messageId="2")) for e in updates.read(u)]
    assert read == [Said("a"), Said("b", more=True), Said("c"), Said("d", more=True)]


def test_a_tool_call_is_told_once_its_input_is_known():
    updates = Updates()

    def read(**update):
        return list(updates.read({"toolCallId": "1", **update}))

    assert read(sessionUpdate="tool_call", title="Run", status="pending") == []
    assert read(sessionUpdate="tool_call_update", rawInput={"command": "ls"}) == [ToolCall("1", "Run", {"command": "ls"})]
    diff = {"type": "diff", "path": "a", "newText": "b"}
    assert read(sessionUpdate="tool_call_update", content=[diff, {"type": "terminal"}]) == []
    assert read(sessionUpdate="tool_call_update", status="failed") == [ToolResult("1", "a:\nb\n(terminal)", True)]
    assert read(sessionUpdate="tool_call", title="Run", status="completed", rawOutput={"exitCode": 3}) == [
        ToolCall("1", "Run"),
        ToolResult("1", '{"exitCode": 3}', False, 3),
    ]


def test_an_agent_that_only_shows_what_it_does():
    updates = Updates()
    shown = {
        "toolCallId": "1",
        "title": "Write a",
        "content": [{"type": "diff", "path": "a", "newText": "b"}],
        "locations": [{"path": "a"}],
    }
    assert list(updates.asked(shown)) == [ToolCall("1", "Write a", {"locations": [{"path": "a"}], "content": "a:\nb"})]
    assert list(updates.asked(shown)) == []
    done = {"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed", "content": []}
    assert list(updates.read(done)) == [ToolResult("1", "")]


def test_what_is_still_open_at_the_end_is_told():
    updates = Updates()
    list(updates.read({"sessionUpdate": "tool_call", "toolCallId": "1", "kind": "execute"}))
    list(updates.read({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}}))
    assert list(updates.close()) == [Note("thought: hm"), ToolCall("1", "execute")]


def test_open_tool_calls_are_bounded():
    updates = Updates()
    for n in range(MAX_OPEN_CALLS):
        list(updates.read({"sessionUpdate": "tool_call", "toolCallId": str(n)}))
    with pytest.raises(ValueError, match="too many"):
        list(updates.read({"sessionUpdate": "tool_call", "toolCallId": "more"}))


@pytest.mark.parametrize(
    ("answer", "usage"),
    [
        ({}, Usage()),
        ({"usage": {"totalTokens": 10, "inputTokens": 6, "outputTokens": 4, "cachedReadTokens": 5}}, Usage(6, 5, 4)),
        ({"usage": {"totalTokens": 15, "inputTokens": 6, "outputTokens": 4, "cachedReadTokens": 5}}, Usage(11, 5, 4)),
        (
            {"usage": {"totalTokens": 18, "inputTokens": 6, "outputTokens": 4, "cachedReadTokens": 5, "thoughtTokens": 3}},
            Usage(11, 5, 7, 3),
        ),
        ({"_meta": {"quota": {"token_count": {"input_tokens": 3, "output_tokens": 2}}}}, Usage(3, None, 2)),
        ({"usage": {"inputTokens": True, "outputTokens": 10**20}, "_meta": 5}, Usage()),
    ],
)
def test_usage_of_an_answer(answer, usage):
    assert usage_of_answer(answer) == usage
