"""A frozen bank: tasks with their criteria, under a version and a digest. It is never changed, and refuses to be read once it was."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from finassay.api.errors import InvalidFileError, UsageError
from finassay.records.files import read_json, write_json
from finassay_rubrics.bank.criteria import Criterion
from finassay_rubrics.bank.vocabulary import metric_title
from finassay_rubrics.metrics.table import table

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


def bank_criteria(bank: Bank | None, context: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Obligation to the criteria of the task that a context matched: those that name one of its metrics; the first has those that name none."""
    match = (context.get("bank") or {}).get("match")
    if bank is None or not match:
        return {}
    canonical = {b["id"]: str(b.get("canonical", "")) for items in context["bindings"].values() for b in items}
    texts = [criterion.text for _, criterion in bank.task(str(match)).criteria]
    titles = {metric: _word(metric_title(metric)) for metric in canonical.values() if metric in table().metrics}
    found: dict[str, tuple[str, ...]] = {}
    for number, obligation in enumerate(context["obligations"]):
        own = [titles[canonical[span]] for span in obligation["spans"] if canonical.get(span) in titles]
        others = [title for title in titles.values() if title not in own]
        mine = tuple(t for t in texts if any(title.search(t) for title in own) and not _longer(t, own, others))
        free = tuple(t for t in texts if not any(title.search(t) for title in titles.values()))
        found[str(obligation["id"])] = (*mine, *(free if number == 0 else ()))
    return found


def _word(title: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(title)}(?!\w)", re.IGNORECASE)


def _longer(text: str, own: Sequence[re.Pattern[str]], others: Sequence[re.Pattern[str]]) -> bool:
    """Whether a text's longest name of a metric is another's: `net debt to EBITDA` is not about EBITDA."""
    longest = max((len(m[0]) for p in own for m in p.finditer(text)), default=0)
    return any(len(m[0]) > longest for p in others for m in p.finditer(text))
