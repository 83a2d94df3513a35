"""Labels on the way from a session that was held elsewhere to the tables and pages of a run."""

import contextlib
import json

from finassay.catalog.catalog import Catalog
from finassay.cli.main import main
from finassay.records.events import EventLog
from finassay.runs.folder import RunFolder
from finassay.runs.importing import import_session

SAID = [
    ("user", "Can you test an idea of mine?"),
    ("agent", "Here is a first version. The return was 8% and the Sharpe ratio 0.7."),
    ("user", "I want a write-up with summary, method, results and limitations."),
    ("agent", "Done."),
    ("user", "I recomputed the Sharpe ratio and it adds up. Thanks."),
]


def session(folder):
    turns = [{"turn": (place + 1) // 2, "from": sender, "text": text} for place, (sender, text) in enumerate(SAID)]
    data = {"task": {"cutoff": "2019-12-31"}, "conversation": turns, "deliveries": {}, "end": {"end_reason": "satisfied"}}
    (folder / "files").mkdir(parents=True)
    (folder / "session.json").write_text(json.dumps(data))
    return folder


def call(capsys, *arguments: object) -> str:
    with contextlib.suppress(SystemExit):
        main([str(a) for a in arguments])
    return capsys.readouterr().out


def test_show_and_the_record_tell_labels(tmp_path, capsys):
    key = import_session(session(tmp_path / "in"), tmp_path / "run", Catalog([])).key
    folder = RunFolder(tmp_path / "run")
    assert [turn.label for turn in folder.state(key).user_turns] == ["error-free", "benign", "benign"]
    assert [turn.slips for turn in folder.state(key).user_turns] == [(), ("checklist",), ("claims-a-check",)]
    sealed = [e["label"] for e in EventLog(folder.session_path(key) / "sealed.jsonl").read() if e["type"] == "label"]
    assert sealed == ["error-free", "benign", "benign"]
    shown = call(capsys, "show", tmp_path / "run", key.id)
    assert "u0 user · error-free" in shown
    assert "u1 benign: asks for trade lists or parts of a report" in shown
    assert "u2 benign: claims to have checked" in shown


def test_records_without_labels_are_read_and_leave_the_rate_unknown(tmp_path, capsys):
    key = import_session(session(tmp_path / "in"), tmp_path / "run", Catalog([])).key
    folder = RunFolder(tmp_path / "run")
    path = folder.session_path(key)
    events = [json.loads(line) for line in (path / "events.jsonl").read_text().splitlines()]
    for event in events:
        if event["type"] == "user":
            del event["decision"]["label"], event["decision"]["slips"]
    (path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    lines = [line for line in (path / "sealed.jsonl").read_text().splitlines() if json.loads(line)["type"] != "label"]
    (path / "sealed.jsonl").write_text("".join(f"{line}\n" for line in lines))
    assert folder.state(key).labels == ()
    assert "user · " not in call(capsys, "show", tmp_path / "run", key.id)
