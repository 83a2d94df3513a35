"""What must hold of every run with hostile agents, whatever the sandbox."""

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import trap as traps
import ways


def unexpected(results: dict[str, dict[str, Any]], sandbox: str) -> list[str]:
    """Ways whose outcome is another one than the table says. What is open may work or not: it depends on the machine and the user."""
    told = []
    for way in ways.every():
        result = results.get(way.id)
        if result is not None and getattr(way, sandbox) != "open" and (result["found"] or result["worked"]):
            told.append(f"{way.id}: found {result['found'][:5]}, worked: {result['worked'][:5]}")
    return told


def untried(results: dict[str, dict[str, Any]], groups: Iterable[ways.Group]) -> tuple[list[str], list[str]]:
    """(ways of the table that were not tried, tried ones that are not in the table)."""
    listed = {way.id for group in groups for way in group.ways if way.where == "agent"}
    silent = {"endless-output", "provider-failure-forged"}  # which end the program before they can tell
    known = {way.id for way in ways.every()}
    return sorted(listed - silent - set(results)), sorted(set(results) - known)


def untouched(held: traps.Held) -> list[str]:
    """What is wrong with the record; nothing should be."""
    wrong = []
    if held.code != 0:
        wrong.append(f"the run ended with {held.code}: {held.said[-2000:]}")
    (given,) = traps.tasks_of(held.trap).glob("*.json")
    (kept,) = (held.folder.root / "tasks").glob("*.json")
    if json.loads(given.read_text())["sealed"] != json.loads(kept.read_text())["sealed"]:
        wrong.append("the task is another one")
    if (held.folder.root / "invalid").exists():
        wrong.append("an agent had a session set aside")
    for key in held.folder.sessions():
        state = held.folder.state(key)
        if state.ended in (None, "environment_error"):
            wrong.append(f"{key.id}: {state.ended}, {state.end_detail}")
        files = {file.sha256: file.path for delivery in state.deliveries for file in delivery.files}
        wrong += [
            f"{key.id}: {path} is another file now"
            for sha256, path in files.items()
            if hashlib.sha256(held.folder.blobs.path(sha256).read_bytes()).hexdigest() != sha256
        ]
    return [*wrong, *_bystander(held), *_left_running(held.trap.folder.name)]


def _bystander(held: traps.Held) -> list[str]:
    """The honest session: what it said and delivered is its own, in every turn."""
    state = held.folder.state(held.session("bystander"))
    (says,) = {text for what, text in held.trap.marks.items() if what == f"the other session ({held.folder.root.parent.name})"}
    wrong = [f"{m.id}: {m.text}" for m in state.conversation.of("agent") if m.text != f"I work on it: {says}"]
    for delivery in state.deliveries:
        found = {f.path: held.folder.blobs.path(f.sha256).read_text() for f in delivery.files}
        if found != {"report.md": says}:
            wrong.append(f"the bystander's delivery: {sorted(found)}")
    return wrong


def _left_running(tag: str) -> list[str]:
    """What hostile agents have started and still lives, by its arguments."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with suppress(OSError):
                line = (folder / "cmdline").read_bytes()
                if tag.encode() in line and b"redteam" in line.replace(b"deliver/late-", b"redteam"):
                    found.append(f"{folder.name} still runs: {line[:120]!r}")
    return found


def learnt(held: traps.Held, alias: str) -> list[str]:
    """What an agent said, logged or delivered of what was planted, or of the strategy beyond what it was told."""
    found = []
    sentences = [sentence.encode() for sentence in traps.hidden_sentences(held)]
    for where, data in held.reached(alias):
        found += [f"{where}: {what}" for what in held.trap.finds(data.decode("utf-8", "replace"))]
        found += [f"{where}: {sentence.decode()}" for sentence in sentences if sentence in data]
    return found
