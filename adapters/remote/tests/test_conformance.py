import sys
from typing import Any, ClassVar

import pytest

from finassay.testing.cases import ComponentConformance


class TestRemote(ComponentConformance):
    kind = "agent"
    id = "remote"
    options: ClassVar[dict[str, Any]] = {}

    @pytest.fixture(autouse=True, params=[(), ("--pause", "0.4")], ids=["quick", "slow"])
    def _server(self, request, example, monkeypatch):
        monkeypatch.setenv("REMOTE_TOKEN", "t0ken-of-the-test")
        with example("--token-variable", "REMOTE_TOKEN", *request.param, environment={"REMOTE_TOKEN": "t0ken-of-the-test"}) as url:
            monkeypatch.setattr(type(self), "options", {"url": url, "token_variable": "REMOTE_TOKEN"})
            yield


PROGRAM = """
import json, pathlib, sys
heard = sys.stdin.buffer.read().decode()
pathlib.Path("deliver/REPORT.md").write_text(heard[:100], "utf-8")
print(json.dumps({"type": "message", "text": f"I heard {len(heard)} characters."}))
print(json.dumps({"type": "done"}), flush=True)
"""


class TestCommand(ComponentConformance):
    kind = "agent"
    id = "command"
    options: ClassVar[dict[str, Any]] = {"command": [sys.executable, "-c", PROGRAM], "version": "1"}
