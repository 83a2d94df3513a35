"""Run folders for tests of the command line, written as a run would have written them."""

from pathlib import Path
from typing import Any

from attrs import evolve

from finassay.api.conversation import Message
from finassay.api.delivery import DeliveredFile, Delivery, Rejected, TurnFacts
from finassay.api.scorecard import Evaluator, Scorecard, UserTurn
from finassay.api.usage import Usage
from finassay.config.settings import Choice, RunSettings
from finassay.grading.engine import grade
from finassay.records.convert import to_json
from finassay.records.events import agent_event, end_event, user_event
from finassay.records.files import write_json
from finassay.runs.folder import RunFolder, SessionKey
from finassay.runs.grade import KIND, VERSION, make_package
from finassay.testing.samples import sample_task

HOSTILE = "\x1b]0;owned\x07\x1b[2Jfine\nsecond \u202eline"


def run_folder(root: Path, tasks: tuple[str, ...] = ("sample-0",), **manifest: Any) -> RunFolder:
    """A run of agent `x` on the named tasks, without sessions."""
    folder = RunFolder(root)
    root.mkdir(parents=True)
    folder.write_tasks(tuple(evolve(sample_task(), id=name) for name in tasks))
    settings = RunSettings(agents={"x": Choice(id="x")}, judge=Choice(id="none"), reader=Choice(id="none"))
    folder.write_manifest({"created": "2026-01-02T03:04:05+00:00", "settings": settings.model_dump(mode="json"), **manifest})
    return folder


def add_session(
    folder: RunFolder,
    task: str = "sample-0",
    *,
    end: str | None = "satisfied",
    detail: str = "",
    reply: str = "Done.",
    path: str = "report.md",
    rejected: tuple[Rejected, ...] = (),
    identity: Any = None,
) -> SessionKey:
    """A recorded session of one turn; `end` None leaves it unfinished."""
    key = SessionKey("x", task, 1)
    events, sealed = folder.events(key)
    source = folder.root / "source"
    source.write_bytes(b"# Report\n")
    with open(source, "rb") as stream:
        stored = folder.blobs.add(stream.fileno(), 1000)
    assert stored is not None
    events.append({"type": "session", "schema_version": 1, "identity": identity or {"agent": {"id": "x"}}, "digest": "d"})
    events.append(user_event(Message("u0", 0, "user", "Test an idea."), UserTurn(0, "open", 0), 0.0))
    delivery = Delivery(1, (DeliveredFile(path, *stored),), rejected)
    events.append(agent_event(Message("a1", 1, "agent", reply), delivery, TurnFacts(1, 10.164000000000001), (), Usage()))
    sealed.append({"type": "disclosure", "turn": 0, "stated": ["stock.factor:mom_12_1"], "undecided": []})
    if end is not None:
        events.append(end_event(end, detail, ""))
    events.close()
    sealed.close()
    return key


def add_card(folder: RunFolder, key: SessionKey, change: Any = lambda card: card) -> Scorecard:
    """A grading by no check and no judge, stored beside the session."""
    package = make_package(folder, folder.tasks()[key.task], folder.state(key))
    card: Scorecard = change(grade(package, {}, None, None, Evaluator("a" * 64, "none", ()), key.id))
    record = {"kind": KIND, "schema_version": VERSION, "record": folder.record_digest(key), "scorecard": to_json(card)}
    write_json(folder.session_path(key) / "gradings" / "aaaa.json", record)
    return card
