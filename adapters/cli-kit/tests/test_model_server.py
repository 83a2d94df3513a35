"""The scripted model server, asked by plain HTTP."""

import http.client
import json
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from finassay_cli_kit.testing import (
    KEY,
    MODEL,
    CutStream,
    Drip,
    EmptyStream,
    Mcp,
    ModelServer,
    Reset,
    Say,
    Script,
    Shell,
    Silence,
    Status,
    TokenCount,
    Use,
    WriteFile,
    per_conversation,
)
from finassay_cli_kit.testing.mcp import price

BASH = {"name": "Bash", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}}


def post(server, body, path="/v1/messages", key=KEY, timeout=10.0, method="POST"):
    with closing(http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=timeout)) as connection:
        connection.request(method, path, body if isinstance(body, bytes) else json.dumps(body), {"x-api-key": key})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def asked(*said, model=MODEL, tools=(BASH,), stream=False, conversation=""):
    """A request: user and assistant by turns; a tuple is a tool's result."""
    messages = []
    for number, text in enumerate(said):
        if isinstance(text, tuple):
            content = [{"type": "tool_result", "tool_use_id": "t", "content": text[0]}]
        elif number % 2:
            content = [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": text}}] if text.startswith("$") else text
        else:
            content = text
        messages.append({"role": "assistant" if number % 2 else "user", "content": content})
    return {"model": model, "messages": messages, "tools": list(tools), "stream": stream, "metadata": {"user_id": conversation}}


def said(answer):
    status, text = answer
    assert status == 200, text
    blocks = json.loads(text)["content"]
    return [block.get("text") or block["input"] for block in blocks]


# -- scripts --------------------------------------------------------------------------------------------------------------------


def test_a_script_is_played_to_its_end():
    played = Script([Say("I look."), Shell("ls"), Say("None.")], [Say("One"), Say("and two.")])
    with ModelServer(played) as server:
        assert said(post(server, asked("Which files?"))) == ["I look.", {"command": "ls"}]
        with pytest.raises(AssertionError, match="1 turns"):
            server.check()
        assert said(post(server, asked("Which files?", "$ls", ("",)))) == ["None."]
        assert said(post(server, asked("Which files?", "$ls", ("",), "None.", "Sure?"))) == ["One\n\nand two."]
    server.check()
    assert [r.tools for r in server.calls] == [("Bash",), (), ()]
    assert [(r.request.turn, r.request.step) for r in server.calls] == [(1, 0), (1, 1), (2, 0)]
    assert server.calls[1].request.results == ("",)
    assert server.calls[2].request.text == "Sure?"


def test_asking_for_more_than_the_script_has_is_told():
    with ModelServer(Script([Say("Hello.")])) as server:
        post(server, asked("Hi"))
        post(server, asked("Hi", "$ls", ("",)))
        post(server, asked("Hi", "Hello.", "Again"))
    with pytest.raises(AssertionError, match=r"asks for more than its 1 replies; turn 2 is not in the script: 'Again'"):
        server.check()


def test_a_tool_that_is_not_offered_is_told():
    with ModelServer(Script([Shell("ls")])) as server:
        assert said(post(server, asked("Hi", tools=()))) == ["I cannot do that: no shell tool among no tools at all"]
    with pytest.raises(AssertionError, match="no shell tool"):
        server.check()


def test_a_player_that_raises_is_told():
    with ModelServer(lambda request: 1 / 0) as server, pytest.raises(http.client.RemoteDisconnected):
        post(server, asked("Hi"))
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        server.check()


def test_a_cut_turn_gives_way_to_the_next():
    """Also where the program merges what the user said, or answers its own tool call."""
    for history in [("One\nTwo",), ("One", "$sleep 9", "Two")]:
        with ModelServer(Script([Shell("sleep 9"), Say("1")], [Say("2")])) as server:
            assert said(post(server, asked("One"))) == [{"command": "sleep 9"}]
            assert said(post(server, asked(*history))) == ["2"]
        server.check()


def test_what_programs_inject_is_not_the_user():
    reminder = "<system-reminder>\nThe date is 2026-11-30.\n</system-reminder>"
    with ModelServer(Script([Shell("ls"), Say("1")], [Say("2")])) as server:
        post(server, asked(f"{reminder}\nHello"))
        body = asked(f"{reminder}\nHello", "$ls", ("a",))
        body["messages"][-1]["content"].append({"type": "text", "text": reminder})
        assert said(post(server, body)) == ["1"]
    assert server.calls[0].request.text == "Hello"
    assert not server.calls[1].request.starts_turn


def test_a_file_is_written_by_the_shell_where_there_is_no_other_tool(tmp_path):
    text = 'It\'s\n"$HOME" `x` \\ é\n'
    with ModelServer(Script([WriteFile("a b/$c.md", text)])) as server:
        command = said(post(server, asked("Hi")))[0]["command"]
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True, timeout=10)
    assert (tmp_path / "a b" / "$c.md").read_text("utf-8") == text


@pytest.mark.parametrize(
    ("name", "schema", "wanted"),
    [
        ("shell", {"command": {"type": "array"}}, {"command": ["bash", "-lc", "ls"]}),
        ("exec_command", {"cmd": {"type": "string"}}, {"cmd": "ls"}),
        (
            "run_shell_command",
            {"command": {"type": "string"}, "is_background": {"type": "boolean"}},
            {"command": "ls", "is_background": False},
        ),
    ],
)
def test_shells_of_many_shapes(name, schema, wanted):
    tool = {"name": name, "input_schema": {"type": "object", "properties": schema, "required": list(schema)}}
    with ModelServer(Script([Shell("ls")])) as server:
        assert said(post(server, asked("Hi", tools=[tool]))) == [wanted]
    server.check()


def test_tools_on_demand_are_searched_first():
    search = {"name": "ToolSearch", "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}}}
    deferred = {"name": "mcp__price__get_price", "defer_loading": True, "input_schema": {"type": "object"}}
    with ModelServer(Script([Mcp("price", "get_price", {"symbol": "A"}), Say("1")])) as server:
        assert said(post(server, asked("Hi", tools=[search]))) == [{"query": "select:mcp__price__get_price"}]
        body = asked("Hi", "$search", ("",), tools=[search, deferred])
        body["messages"][-1]["content"][0]["content"] = [{"type": "tool_reference", "tool_name": "mcp__price__get_price"}]
        assert said(post(server, body)) == [{"symbol": "A"}]
        body["messages"] += asked("Hi", "$get", ("3",))["messages"][1:]
        assert said(post(server, body)) == ["1"]
    server.check()


def test_a_search_that_finds_nothing_is_told():
    search = {"name": "ToolSearch", "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}}}
    with ModelServer(Script([Mcp("price", "get_price")])) as server:
        post(server, asked("Hi", tools=[search]))
        post(server, asked("Hi", "$search", ("",), tools=[search]))
    with pytest.raises(AssertionError, match="did not bring"):
        server.check()


def test_what_a_program_asks_for_itself_is_answered_without_the_script():
    """JSON of a given shape, and requests without tools beside those with tools."""
    schema = {
        "type": "object",
        "properties": {"reason": {"type": "string"}, "choice": {"enum": ["small", "large"]}},
        "required": ["choice"],
    }
    with ModelServer(Script([Say("Hello.")])) as server:
        router = {**asked("Which?", tools=()), "output_config": {"format": {"type": "json_schema", "schema": schema}}}
        assert json.loads(said(post(server, router))[0]) == {"choice": "small"}
        assert said(post(server, asked("Hi", conversation="c"))) == ["Hello."]
        assert said(post(server, asked("A title for: Hi", tools=(), conversation="c"))) == ["Scripted"]
    server.check()
    assert [r.side for r in server.requests] == [True, False, True]
    assert len(server.calls) == 1


def test_a_conversation_each():
    make = per_conversation(lambda: Script([Shell("ls"), Say("1")], [Say("2")]))
    with ModelServer(make) as server:

        def talk(name):
            first = said(post(server, asked("Hi", conversation=name)))
            second = said(post(server, asked("Hi", "$ls", ("",), conversation=name)))
            return first, second, said(post(server, asked("Hi", "$ls", ("",), "1", "Ho", conversation=name)))

        with ThreadPoolExecutor(16) as pool:
            heard = list(pool.map(talk, map(str, range(100))))
    assert heard == [([{"command": "ls"}], ["1"], ["2"])] * 100
    assert all(not player.problems and not player.left_over() for player in make.players.values())


def test_a_callable_sees_who_said_what():
    def play(request):
        assert request.key == KEY
        return [Say(f"{request.turn}.{request.step} {request.text} {request.results}")]

    with ModelServer(play) as server:
        assert said(post(server, asked("Hi", "$ls", ("a.md",)))) == ["1.1 Hi ('a.md',)"]
        assert said(post(server, asked("Hi", "$ls", ("a.md",), "Done", "More"))) == ["2.0 More ()"]
    server.check()


def test_usage_is_told_and_added_up():
    with ModelServer(Script([Say("a", TokenCount(100, 10, 40, 3))], [Say("x" * 400)])) as server:
        post(server, asked("Hi"))
        body = asked("Hi", "a", "Ho")
        counted = json.loads(post(server, body)[1])["usage"]
        assert counted["input_tokens"] == len(json.dumps(body)) // 4
        assert counted["output_tokens"] == 101
    assert server.usage == TokenCount(100 + counted["input_tokens"], 111, 40, 3)


# -- keys, models, other paths --------------------------------------------------------------------------------------------------


def test_wrong_key_and_unknown_model():
    with ModelServer(Script([Say("Hello.")])) as server:
        assert post(server, asked("Hi"), key="wrong")[0] == 401
        assert post(server, asked("Hi", model="other"))[0] == 404
        assert post(server, asked("Hi"))[0] == 200
    server.check()
    assert [r.status for r in server.requests] == [401, 404, 200]
    assert [r.key for r in server.requests] == ["wrong", KEY, KEY]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/models", 200),
        ("GET", f"/v1/models/{MODEL}", 200),
        ("GET", "/v1/models/other", 404),
        ("HEAD", "/api/hello", 200),
        ("GET", "/v1/responses", 404),
        ("POST", "/elsewhere", 404),
        ("DELETE", "/mcp", 405),
    ],
)
def test_other_paths(method, path, status):
    with ModelServer(Script()) as server:
        assert post(server, b"", path, method=method)[0] == status
    server.check()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[1]",
        b"null",
        b"\xff\xfe",
        b'{"model":5,"messages":"no"}',
        b'{"model":"scripted-model","messages":[1,{"content":{}},{"role":"user","content":[null]}],"tools":[0]}',
    ],
)
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses", "/v1/chat/completions", f"/v1beta/models/{MODEL}:generateContent"])
def test_bodies_that_mean_nothing_break_nothing(path, body):
    with ModelServer(lambda request: [Say("?")], models=None) as server:
        status, text = post(server, body, path)
        assert status == 200
        assert json.loads(text)
    server.check()


def test_a_web_socket_is_refused_in_a_way_that_clients_fall_back():
    with ModelServer(Script()) as server, closing(http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=10)) as connection:
        connection.request("GET", "/v1/responses", headers={"upgrade": "websocket", "connection": "upgrade", "x-api-key": KEY})
        assert connection.getresponse().status == 426


def test_too_much_is_refused():
    with ModelServer(Script()) as server, closing(socket.create_connection(("127.0.0.1", urlsplit(server.url).port), timeout=10)) as raw:
        raw.sendall(b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\n\r\n")
        assert b" 413 " in raw.recv(100)


# -- faults ---------------------------------------------------------------------------------------------------------------------


def test_a_fault_is_played_once_and_the_same_request_goes_on():
    with ModelServer(Script([Status(500), Status(429, "Wait.", {"retry-after": "1"}, times=2), Say("Hello.")])) as server:
        heard = [post(server, asked("Hi")) for _ in range(4)]
    assert [status for status, _ in heard] == [500, 429, 429, 200]
    assert json.loads(heard[1][1])["error"] == {"type": "rate_limit_error", "message": "Wait."}
    server.check()


def test_a_fault_for_ever_ends_with_the_turn():
    with ModelServer(Script([Status(529, times=None)], [Say("Hello.")])) as server:
        assert [post(server, asked("Hi"))[0] for _ in range(5)] == [529] * 5
        assert said(post(server, asked("Hi\nHo"))) == ["Hello."]
    server.check()


def test_a_program_that_asks_otherwise_after_a_fault_is_in_the_same_turn():
    with ModelServer(Script([Status(400, times=None)], [Say("Hello.")])) as server:
        assert [post(server, {**asked("Hi"), "system": f"Attempt {n}"})[0] for n in range(4)] == [400] * 4
        assert said(post(server, asked("Hi", "?", "Ho"))) == ["Hello."]
    server.check()


@pytest.mark.parametrize(
    ("fault", "wanted"),
    [
        (CutStream(), http.client.IncompleteRead),
        (Reset(), ConnectionError),
        (Silence(seconds=0.2), http.client.IncompleteRead),
        (Silence(headers=False, seconds=0.2), http.client.RemoteDisconnected),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_broken_streams(fault, wanted, stream):
    with ModelServer(Script([fault, Say("Hello.")])) as server:
        with pytest.raises(wanted):
            post(server, asked("Hi", stream=stream))
        assert said(post(server, asked("Hi"))) == ["Hello."]
    server.check()
    assert [r.usage is None for r in server.requests] == [True, False]


def test_an_empty_stream():
    with ModelServer(Script([EmptyStream(), Say("Hello.")])) as server:
        assert post(server, asked("Hi", stream=True)) == (200, "")


def test_a_cut_stream_has_a_beginning():
    with ModelServer(Script([CutStream("A long way to go.")])) as server, pytest.raises(http.client.IncompleteRead) as told:
        post(server, asked("Hi", stream=True))
    assert b"message_start" in told.value.partial
    assert b"message_stop" not in told.value.partial


def test_silence_lasts():
    with ModelServer(Script([Silence(times=2)])) as server:
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            post(server, asked("Hi", stream=True), timeout=0.5)
        with pytest.raises(TimeoutError):
            post(server, asked("Hi"), timeout=0.5)
        assert time.monotonic() - begun >= 1
    assert time.monotonic() - begun < 5


def test_a_slow_drip():
    with ModelServer(Script([Drip(Say("One word after another."), 0.05)])) as server:
        begun = time.monotonic()
        _, text = post(server, asked("Hi", stream=True))
    assert time.monotonic() - begun >= 0.05 * text.count("event:")
    assert "message_stop" in text


def test_a_huge_text():
    with ModelServer(Script([Say("é" * 2_000_000)])) as server:
        _, text = post(server, asked("Hi", stream=True))
    assert text.count("é") == 2_000_000
    assert max(map(len, text.splitlines())) < 20_000


def test_down_and_up_again():
    with ModelServer(Script([Say("Hello.")])) as server:
        server.down()
        with pytest.raises(ConnectionRefusedError):
            post(server, asked("Hi"))
        server.up()
        assert said(post(server, asked("Hi"))) == ["Hello."]
    server.check()


def test_all_ends_with_the_block():
    before = threading.active_count()
    with ModelServer(Script([Silence()])) as server, ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(post, server, asked("Hi", stream=True), timeout=20) for _ in range(8)]
        while len(server.requests) < 8:
            time.sleep(0.01)
        begun = time.monotonic()
        server.close()
        assert time.monotonic() - begun < 3
        assert all(w.exception(timeout=5) is not None or w.result()[0] == 200 for w in waiting)
    assert threading.active_count() <= before


# -- the MCP server -------------------------------------------------------------------------------------------------------------


CALLS = [
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "get_price", "arguments": {"symbol": "AAA"}}},
    {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "other"}},
    {"jsonrpc": "2.0", "id": 5, "method": "nothing"},
    {
        "jsonrpc": "2.0",
        "id": 6,
        "method": "tools/call",
        "params": {"name": "list_prices", "arguments": {"symbol": "A", "days": ["2020-01-02"]}},
    },
]


def check_answers(answers):
    assert answers[0]["result"]["protocolVersion"] == "2025-06-18"
    assert [tool["name"] for tool in answers[1]["result"]["tools"]] == ["get_price", "list_prices"]
    assert json.loads(answers[2]["result"]["content"][0]["text"]) == {"symbol": "AAA", "close": price("AAA")}
    assert answers[3]["result"]["isError"]
    assert answers[4]["error"]["code"] == -32601
    assert json.loads(answers[5]["result"]["content"][0]["text"]) == [{"day": "2020-01-02", "close": price("A", "2020-01-02")}]


def test_mcp_over_http():
    with ModelServer(Script()) as server:
        heard = [post(server, call, "/mcp") for call in CALLS]
        assert [status for status, _ in heard] == [200, 202, 200, 200, 200, 200, 200]
        check_answers([json.loads(text) for status, text in heard if status == 200])
        assert [name for name, _ in server.tool_calls] == ["get_price", "list_prices"]
        assert post(server, CALLS[0], "/mcp", key="wrong")[0] == 401


def test_mcp_on_standard_input(tmp_path):
    log = tmp_path / "calls.jsonl"
    done = subprocess.run(
        [sys.executable, "-m", "finassay_cli_kit.testing.mcp", "--log", str(log)],
        input="".join(json.dumps(call) + "\n" for call in [*CALLS, ["not", "a", "call"]]) + "{\n",
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    check_answers([json.loads(line) for line in done.stdout.splitlines()])
    logged = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert logged[0] == {"tool": "get_price", "arguments": {"symbol": "AAA"}}


def test_a_tool_by_its_exact_name():
    with ModelServer(Script([Use("Nowhere", {"a": 1})])) as server:
        assert said(post(server, asked("Hi"))) == [{"a": 1}]
    server.check()
