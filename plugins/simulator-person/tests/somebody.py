"""Somebody who plays the user through the mailbox: a small program that knows nothing but the files."""

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from finassay.api.conversation import Conversation, Message
from finassay.api.simulator import Scene
from finassay.testing.samples import sample_persona, sample_task

OPENING = "I like last year's winners, skipping the latest month, and a monthly refresh."
GO_ON = ("Please go on.", "Carry on with it.", "I am waiting to see it.", "Keep going.", "Go ahead.", "Still here, still waiting.")


def answer(scene: dict[str, Any]) -> dict[str, Any]:
    """By the five rules, from what `scene.json` says: what was asked is told, a whole delivery is approved, otherwise the work goes on."""
    if scene["kind"] == "open":
        points = " and ".join(c["opening"] for c in scene["convictions"] if c["opening"])
        return {"message": f"I like {points}. The universe is {scene['universe']}, with data up to {scene['until']}. Can you try that out?"}
    fresh = [c for c in scene["convictions"] if not c["told"] and (c["asked"] or c["proposal"] == "conflicts")]
    if fresh:
        return {"action": "clarify", "message": " ".join(f"I want to {c['sentence']}." for c in fresh)}
    report = next((f["path"] for f in scene["files"] if "report" in f["path"].lower() and f["text"]), None)
    trades = next((f["path"] for f in scene["files"] if "trade" in f["path"].lower()), None)
    if report and trades:
        seen = [{"goal": g["id"], "status": "met", "citations": [report, trades, f"a{scene['turn']}"]} for g in scene["goals"]]
        return {"action": "close", "message": "That is what I wanted to know. Thank you.", "observations": seen}
    return {"action": "follow_up", "message": GO_ON[scene["turn"] % len(GO_ON)]}


def write(folder: Path, value: Any, name: str = "decision.json") -> None:
    """As a program should: under another name, then renamed, and old enough to be read at once."""
    scratch = folder / f".{name}.part"
    scratch.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    os.utime(scratch, (time.time() - 5, time.time() - 5))
    os.replace(scratch, folder / name)


class Somebody:
    """Answers in a thread until told to stop. `seen` counts answers by kind of scene."""

    def __init__(self, root: Path, answers: Callable[[dict[str, Any]], Any] = answer) -> None:
        self.root, self.answers = root, answers
        self.seen: list[str] = []
        self.problems: list[Exception] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> "Somebody":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join(10)
        assert not self.problems, self.problems

    def _work(self) -> None:
        while not self._stop.wait(0.01):
            try:
                for page in sorted(self.root.glob("*/scene.md")):
                    if not any((page.parent / f"decision.{kind}").exists() for kind in ("json", "txt")):
                        scene = json.loads((page.parent / "scene.json").read_text("utf-8"))
                        self.seen.append(scene["kind"])
                        write(page.parent, self.answers(scene))
            except Exception as error:
                self.problems.append(error)
                return


def scene(*texts: str, **more: Any) -> Scene:
    """A conversation in which the assistant said these texts; without any the opening."""
    said = Conversation((Message("u0", 0, "user", OPENING),)) if texts else Conversation()
    for turn, text in enumerate(texts, start=1):
        said = said.with_message(Message(f"a{turn}", turn, "agent", text))
    task = sample_task()
    return Scene(task, sample_persona(), said, stated=frozenset(task.belief.opening) if texts else frozenset(), turns_left=6, **more)
