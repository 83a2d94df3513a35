"""Both simulators against the conformance kit: somebody answers the files, a script types at the prompt."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from somebody import Somebody, answer

from finassay.testing.cases import ComponentConformance
from finassay_simulator_person.dialogue import END
from finassay_simulator_person.sheet import as_data, sheet
from finassay_simulator_person.terminal import TerminalSimulator


class TestMailbox(ComponentConformance):
    kind = "simulator"
    id = "mailbox"

    @pytest.fixture(autouse=True)
    def _somebody(self, tmp_path, monkeypatch) -> Iterator[None]:
        monkeypatch.setattr(type(self), "options", {"folder": str(tmp_path), "poll_seconds": 0.01, "timeout_minutes": 1})
        with Somebody(tmp_path):
            yield


class Typist:
    """Types what `answer` decides, line by line."""

    def __init__(self, scene: dict[str, Any]) -> None:
        value = answer(scene)
        message = [*value["message"].splitlines(), END]
        if scene["kind"] == "open":
            self.lines = message
        else:
            seen = {o["goal"]: o for o in value.get("observations", ())}
            goals = [text for g in scene["goals"] for text in (("met", ",".join(seen[g["id"]]["citations"])) if g["id"] in seen else ("",))]
            self.lines = [value["action"], *goals, *message]

    def page(self, markdown: str) -> None:
        pass

    def tell(self, text: str, style: str = "") -> None:
        pass

    def ask(self, prompt: str, seconds: float) -> str:
        return self.lines.pop(0)


class TestTerminal(ComponentConformance):
    kind = "simulator"
    id = "terminal"

    @pytest.fixture(autouse=True)
    def _typist(self, monkeypatch) -> None:
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(
            TerminalSimulator, "_show", lambda self, talk, scene, rejections: setattr(talk, "lines", Typist(as_data(sheet(scene))).lines)
        )
        monkeypatch.setattr(
            TerminalSimulator, "dialogue", lambda self: Typist({"kind": "open", "convictions": [], "universe": "", "until": ""})
        )
