"""A run whose user and judges are models of three vendors, each through its own SDK in its own wire format, to a server on this machine.

What the server says is simple and always valid: here it matters that a run holds, is killed, goes on, and is graded twice.
"""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("finassay_models_anthropic", reason="the provider anthropic is not installed")
pytest.importorskip("finassay_models_openai", reason="the provider openai is not installed")
pytest.importorskip("finassay_models_google", reason="the provider google is not installed")
pytest.importorskip("finassay_simulator_model", reason="the simulator model is not installed")
pytest.importorskip("finassay_judge_model", reason="the judge model is not installed")

from finassay.api.verdict import Source
from finassay.models.ledger import read_ledger
from finassay.runs.folder import RunFolder
from finassay.runs.grade import scorecards
from finassay.runs.view import run_view
from finassay_models_anthropic import testing as anthropic
from finassay_models_google import testing as google
from finassay_models_kit.testing import Asked, Loopback, Served
from finassay_models_openai import testing as openai

COMMAND = [sys.executable, "-m", "finassay.cli.main"]
KEYS = {"ANTHROPIC_API_KEY": "sk-ant-planted-01", "OPENAI_API_KEY": "sk-oai-planted-02", "GEMINI_API_KEY": "g-planted-0003"}
USER = ("--simulator", "model", "-o", "simulator.model=anthropic/claude-test-1")
PANEL = ("--judge", "model", "-o", 'judge.panel=["openai/gpt-test-1","google/gemini-test-1"]')
OTHER = ("--judge", "model", "-o", "judge.model=anthropic/claude-test-1")

NUMBERS = itertools.count()
GO_ON = (
    *("Please go on with it.", "I am waiting to see something.", "Carry on, please.", "Take it further.", "Do continue."),
    *("Thanks so far.", "I am curious.", "No hurry.", "I have time.", "Good to hear from you."),
)


class Vendors:
    """Three vendors behind one address, and switches of theirs."""

    def __init__(self) -> None:
        self.down: set[str] = set()
        self.calls: Counter[str] = Counter()
        self.server = Loopback(self.serve)

    def serve(self, asked: Asked) -> Served:
        vendor = "anthropic" if asked.path.startswith("/v1/messages") else "google" if "GenerateContent" in asked.path else "openai"
        if vendor in self.down:
            kinds = {"anthropic": anthropic.error(529, "overloaded_error"), "google": google.error(503, "UNAVAILABLE")}
            return kinds.get(vendor) or openai.error(500, "server_error")
        self.calls[vendor] += 1
        words = json.dumps(reply(asked))
        if vendor == "openai":
            made = openai.completion(words)
            return Served(events=openai.chunks(made)) if asked.body.get("stream") else Served(body=made)
        return {"anthropic": anthropic.answer, "google": google.answer}[vendor](words)


def texts(value: Any) -> Iterator[str]:
    """Every text in a request."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


def reply(asked: Asked) -> dict[str, Any]:
    """What fits the form that was asked for."""
    said = "\n".join(texts(asked.body))
    if "told_words" in said:
        return {"verdicts": []}
    if "block_reason" in asked.sent:
        goals = sorted(set(re.findall(r"backtest|traceable-results|report", asked.sent)))
        number = next(NUMBERS)
        observations = [{"goal": goal, "status": "missing", "citations": []} for goal in goals]
        message = f"{GO_ON[number % 5]} {GO_ON[5 + number // 5 % 5]}"
        return {"observations": observations, "action": "follow_up", "message": message, "evidence": [], "block_reason": None}
    if "steering" in asked.sent:
        names = dict.fromkeys(re.findall(r"^(Q\d+): ", said, re.MULTILINE))
        labels = "one of its labels" in said
        answers = [{"question": n, "reason": "read", **({"cases": []} if labels else {"quotes": [], "level": 1})} for n in names]
        return {"steering": [], "answers": answers}
    if '"summary"' in asked.sent:
        return {"summary": "They talked."}
    points = re.findall(r"^- (.+?)\.?$", said.partition("close to these words:")[2].partition("Nothing else")[0], re.MULTILINE)
    universe, until = re.findall(r"You invest in: (.+?)\. You may only use data up to (.+?);", said)[0]
    ideas = " and ".join(point.removeprefix("I like ") for point in points)
    return {"message": f"I like {ideas}. I would look at {universe}, with data up to {until}. Could you try that out?"}


@pytest.fixture
def vendors(tmp_path, monkeypatch):
    one = Vendors()
    url = one.server.url
    (tmp_path / "finassay.toml").write_text(
        f'[run.models.anthropic]\nbase_url = "{url}"\npatience_seconds = 0\n'
        f'[run.models.openai]\nbase_url = "{url}/v1"\nkey_variable = "OPENAI_API_KEY"\npatience_seconds = 0\n'
        f'[run.models.google]\nbase_url = "{url}"\npatience_seconds = 0\n'
    )
    monkeypatch.chdir(tmp_path)
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    yield one
    one.server.close()


def finassay(*arguments: object) -> tuple[int, str]:
    done = subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=420, check=False)
    return done.returncode, done.stdout + done.stderr


def sample(folder: Path, seeds: str) -> Path:
    code, said = finassay(
        *("tasks", "sample", "--grammar", "us-long-only", "--seeds", seeds, "--needs", "prices", "--channel", "embedded-market"),
        *("--turns", "2", "--out", folder / "tasks"),
    )
    assert code == 0, said
    return folder / "tasks"


def ended(folder: RunFolder) -> Counter[str | None]:
    return Counter(folder.state(key).ended for key in folder.sessions())


@pytest.mark.slow
def test_ten_tasks_are_held_killed_gone_on_with_and_graded_by_two_judges(vendors, tmp_path):
    tasks, folder = sample(tmp_path, "0-9"), RunFolder(tmp_path / "run")
    hold = ("run", "--agent", "storyteller", "--tasks", tasks, "--out", folder.root, *USER, "--jobs", "2", "--no-grade")
    with subprocess.Popen(
        [*COMMAND, *map(str, hold)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as program:
        deadline = time.monotonic() + 120
        while vendors.calls["anthropic"] < 12 and program.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        os.killpg(program.pid, signal.SIGKILL)
    before = ended(folder)
    assert before["turn_limit"] < 10, "it was killed in the middle"

    vendors.down.add("anthropic")
    code, said = finassay(*hold)
    assert code == 11, said
    assert "waits: anthropic/claude-test-1" in said
    vendors.down.clear()
    code, said = finassay(*hold)
    assert code == 0, said
    assert ended(folder) == {"turn_limit": 10}, said

    code, said = finassay("grade", folder.root, *PANEL, "--jobs", "2")
    assert code == 0, said
    asked = Counter(vendors.calls)
    assert asked["openai"] > 0
    assert asked["google"] > 0
    vendors.down = {"google", "openai"}
    code, said = finassay("grade", folder.root, *OTHER, "--jobs", "2")
    assert code == 0, said
    for key in folder.sessions():
        first, second = scorecards(folder, key)[::-1]
        assert first.evaluator.judge_name == "model (google/gemini-test-1, openai/gpt-test-1)"
        assert second.evaluator.judge_name == "model (anthropic/claude-test-1)"
        assert first.evaluator.hash != second.evaluator.hash
        for card in (first, second):
            judged = {g.dimension for g in card.verdicts if g.scored and g.scored.source is Source.JUDGE}
            assert {"4.1", "5.1"} <= judged, [g for g in card.verdicts if g.dimension in ("4.1", "5.1")]
    assert "Also graded by model (" in "\n".join(run_view(folder).notes)
    nothing_secret(folder)


def nothing_secret(folder: RunFolder) -> None:
    """No key anywhere, and no sentence of a belief that was not said in the open."""
    beliefs = {key: folder.tasks()[key.task].belief for key in folder.sessions()}
    hidden = {key: [i.sentence for i in belief.items if i.id not in belief.opening] for key, belief in beliefs.items()}
    for path in (p for p in folder.root.rglob("*") if p.is_file()):
        data = path.read_bytes()
        assert not any(key.encode() in data for key in KEYS.values()), path
        if not folder.is_sealed(path) and path.parent.parent.name == "sessions":
            said = [s for key, sentences in hidden.items() if path.parent.name == key.id for s in sentences if s.encode() in data]
            assert not said, path
    roles = Counter((e.role, e.model.partition("/")[0]) for e in read_ledger(folder.root / "ledger.jsonl") if not e.failed)
    assert roles["simulator", "anthropic"] >= 30
    assert roles["judge", "openai"] > 0
    assert roles["judge", "google"] > 0
