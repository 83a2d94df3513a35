"""A frozen bank: tasks with their criteria, under a version and a digest. It is never changed, and refuses to be read once it was."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from finassay.api.errors import InvalidFileError, UsageError
from finassay.records.files import read_json, write_json
from finassay_rubrics.bank.criteria import Criterion

FILE: Final = "bank.json"
SCHEMA: Final = "bank/1"


@frozen
class Task:
    """A kind of task with its criteria."""

    id: str
    signature: str
    criteria: tuple[tuple[str, Criterion], ...]
    """(id, criterion)."""


@frozen
class Bank:
    """A frozen bank. `document` is the whole file, which `finassay_rubrics.context` matches queries against."""

    version: str
    digest: str
    tasks: tuple[Task, ...]
    document: Mapping[str, Any]

    def task(self, id: str) -> Task:
        """Raises `UsageError`."""
        for task in self.tasks:
            if task.id == id:
                return task
        raise UsageError(f"the bank has no task {id!r}")


def digest_of(document: Mapping[str, Any]) -> str:
    """SHA-256 over everything in a bank but its digest."""
    rest = {name: value for name, value in document.items() if name != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def read_bank(path: Path) -> Bank:
    """A frozen bank, of its folder or its file. Raises `InvalidFileError` if it is none, or was changed after it was frozen."""
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        raise InvalidFileError(f"{path}: no frozen bank", hint="Freeze it: finassay rubric bank freeze DIR.")
    raw = read_json(file, "a frozen task bank")
    if not isinstance(raw, Mapping) or raw.get("schema") != SCHEMA:
        raise InvalidFileError(f"{file}: not a task bank of the form {SCHEMA}")
    if raw.get("digest") != digest_of(raw):
        raise InvalidFileError(
            f"{file}: was changed after it was frozen as version {raw.get('version')}",
            hint="Take the frozen file back; a changed bank is a new one: build, screen and freeze it in another folder.",
        )
    try:
        return Bank(str(raw["version"]), str(raw["digest"]), tuple(_task(task) for task in raw["tasks"]), raw)
    except (KeyError, TypeError) as error:
        raise InvalidFileError(f"{file}: not a task bank: {error}") from error


def _task(raw: Mapping[str, Any]) -> Task:
    rows = tuple((str(c["id"]), Criterion(str(c["text"]), tuple(map(str, c["principles"])))) for c in raw["criteria"])
    return Task(str(raw["id"]), str(raw["signature"]), rows)


def write_bank(folder: Path, document: Mapping[str, Any]) -> str:
    """Freeze: once for ever. Gives the digest. Raises `UsageError` where a bank is frozen already."""
    file = folder / FILE
    if file.exists():
        old = read_bank(file)
        raise UsageError(
            f"{folder} is frozen as version {old.version} ({old.digest[:12]})",
            hint="A frozen bank is never changed; build a new one elsewhere.",
        )
    digest = digest_of(document)
    write_json(file, {**document, "digest": digest}, mode=0o444)
    return digest
