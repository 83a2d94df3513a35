"""The scripted model server, asked by plain HTTP."""

import http.client
import json
from urllib.parse import urlsplit

import pytest

from finassay_cli_kit.testing import KEY, MODEL, ModelServer, Say, Script, Shell

BASH = {"name": "Bash", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}}


def post(server: ModelServer, path: str, body: dict[str, object], key: str = KEY) -> tuple[int, str]:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=10)
    try:
        connection.request("POST", path, json.dumps(body), {"x-api-key": key})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def ask(*messages: dict[str, object], model: str = MODEL) -> dict[str, object]:
    return {"model": model, "max_tokens": 100, "messages": list(messages), "tools": [BASH]}


def test_a_script_is_played_to_its_end():
    first = {"role": "user", "content": "Which files?"}
    with ModelServer(Script([Say("I look."), Shell("ls"), Say("None.")])) as server:
        status, text = post(server, "/v1/messages", ask(first))
        assert status == 200
        said = json.loads(text)["content"]
        assert [block["type"] for block in said] == ["text", "tool_use"]
        assert said[1]["input"] == {"command": "ls"}
        result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": said[1]["id"], "content": ""}]}
        with pytest.raises(AssertionError, match="1 replies"):
            server.check()
        status, text = post(server, "/v1/messages", ask(first, {"role": "assistant", "content": said}, result))
        assert json.loads(text)["content"][0]["text"] == "None."
    server.check()
    assert [r.tools for r in server.calls] == [("Bash",), ()]


def test_wrong_key_and_unknown_model():
    with ModelServer(Script([Say("Hello.")])) as server:
        assert post(server, "/v1/messages", ask({"role": "user", "content": "Hi"}), key="wrong")[0] == 401
        assert post(server, "/v1/messages", ask({"role": "user", "content": "Hi"}, model="other"))[0] == 404
        assert post(server, "/v1/messages", ask({"role": "user", "content": "Hi"}))[0] == 200
    server.check()
