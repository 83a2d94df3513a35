"""Screening: one plain file that a person edits, here or in any editor, and freezing what is left of it.

Each line of a task's criteria begins with `keep`, `drop` or `same`. `same` is a proposal: the criterion is nearly one above it, and somebody has to
say `keep` or `drop`. A person may also change a text or its principles.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import evolve, frozen

from finassay.api.embedding import Embedding
from finassay.api.errors import InvalidFileError, UsageError
from finassay.api.guidance import Guidance
from finassay.records.files import read_json, write_atomically
from finassay_rubrics.bank.bank import SCHEMA, write_bank
from finassay_rubrics.bank.build import PLAN, Task, criteria_file, plain, read_tasks
from finassay_rubrics.bank.criteria import problem_of
from finassay_rubrics.bank.vocabulary import metric_title
from finassay_rubrics.validate.rules import violations
from finassay_rubrics.validate.wording import similarity

SCREEN: Final = "screen.txt"
MARKS: Final = ("keep", "drop", "same")
ALIKE: Final = 0.6
"""Share of common words from which two criteria of a task are proposed as one."""
NEAR: Final = 0.85
"""Or the product of their vectors."""
AGAIN: Final = "Mend that line. Or delete the file, and the same `bank build` proposes it anew; what was decided in it is then gone."
HEAD: Final = """\
# Task bank, to be screened. Each line: keep or drop, the criterion's id, its principles, its text.
# `same` proposes that a criterion tests what the one behind `#` tests already: make it keep or drop.
# A task line that says drop leaves the whole task out. Texts and principles may be changed. Lines that begin with # are remarks.
"""
_LINE: Final = re.compile(r"(?P<mark>\w+)\s+(?P<id>[\w.]+)\s+\[(?P<principles>[\w\s,.-]*)\]\s+(?P<text>.+?)(?:\s+#\s(?P<note>.*))?$")
_TASK: Final = re.compile(r"task\s+(?P<mark>\w+)\s+(?P<id>\w+)\b")


@frozen
class Row:
    """A criterion under screening."""

    mark: str
    id: str
    principles: tuple[str, ...]
    text: str
    note: str = ""

    def line(self) -> str:
        return f"{self.mark}  {self.id}  [{', '.join(self.principles)}]  {self.text}{f'  # {self.note}' if self.note else ''}"


@frozen
class Screened:
    """A task under screening."""

    mark: str
    id: str
    rows: tuple[Row, ...]


def propose(folder: Path, embedding: Embedding) -> Path:
    """Write the file for screening, unless it is there: then a person may have worked on it."""
    path = folder / SCREEN
    if not path.exists():
        tasks = [(task, _rows(folder, task, embedding)) for task in read_tasks(folder)]
        write_screen(folder, [Screened("keep", task.id, rows) for task, rows in tasks])
    return path


def _rows(folder: Path, task: Task, embedding: Embedding) -> tuple[Row, ...]:
    found: list[Row] = []
    for place in "ab":
        path = criteria_file(folder, task.id, place)
        if not path.is_file():
            raise UsageError(f"the build in {folder} is not finished: {task.id} lacks criteria", hint="Run the same `bank build` again.")
        for number, raw in enumerate(read_json(path, "criteria of a task")["criteria"], start=1):
            found.append(Row("keep", f"{place}{number}", tuple(raw["principles"]), plain(raw["text"])))
    if not found:
        return ()
    import numpy as np

    vectors = np.asarray(embedding.embed([row.text for row in found]), dtype=np.float64)
    near = vectors @ vectors.T
    titles = [metric_title(metric) for metric in task.signature.metrics]
    # What differs in the metric alone is no duplicate.
    about = [frozenset(title for title in titles if title in row.text) for row in found]
    kept: list[Row] = []
    for at, row in enumerate(found):
        like = next(
            (
                i
                for i in range(at)
                if kept[i].mark == "keep"
                and about[i] == about[at]
                and (near[i, at] >= NEAR or similarity(found[i].text, row.text) >= ALIKE)
            ),
            None,
        )
        kept.append(row if like is None else evolve(row, mark="same", note=f"as {found[like].id}"))
    return tuple(kept)


def write_screen(folder: Path, screened: Sequence[Screened]) -> None:
    tasks = {task.id: task for task in read_tasks(folder)}
    lines = [HEAD]
    for one in screened:
        task = tasks[one.id]
        lines += [
            f"task {one.mark}  {one.id}  asked {task.queries} times",
            f"# {task.signature.text}",
            *(row.line() for row in one.rows),
            "",
        ]
    write_atomically(folder / SCREEN, "\n".join(lines).encode())


def read_screen(folder: Path) -> list[Screened]:
    """What the file says now. Raises `InvalidFileError` with the line that cannot be understood."""
    path = folder / SCREEN
    if not path.is_file():
        raise InvalidFileError(f"{folder}: nothing to screen", hint="Build it: finassay rubric bank build QUERIES --out DIR.")
    known = [task.id for task in read_tasks(folder)]
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFileError(f"{path}: cannot be read as UTF-8 text: {error}", hint=AGAIN) from error
    try:
        found = _screened(path, text, known)
    except InvalidFileError as error:
        raise InvalidFileError(str(error), hint=AGAIN) from error
    lost = [id for id in known if id not in {one.id for one in found}]
    if lost:
        raise InvalidFileError(
            f"{path}: {len(lost)} of {len(known)} tasks stand nowhere: {', '.join(lost[:5])}",
            hint=f"A task is left out by a line `task drop  ID`. {AGAIN}",
        )
    return found


def _screened(path: Path, text: str, known: Sequence[str]) -> list[Screened]:
    found: list[Screened] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where = f"{path}: line {number}"
        if task := _TASK.match(line):
            if task["id"] not in known or any(one.id == task["id"] for one in found):
                raise InvalidFileError(f"{where}: no task of the build, or one that stands above: {task['id']}")
            found.append(Screened(_mark(task["mark"], where), task["id"], ()))
        elif not found:
            raise InvalidFileError(f"{where}: stands before the first task")
        else:
            row = _row(line, where)
            if any(other.id == row.id for other in found[-1].rows):
                raise InvalidFileError(f"{where}: {row.id} stands twice in {found[-1].id}")
            found[-1] = evolve(found[-1], rows=(*found[-1].rows, row))
    return found


def _row(line: str, where: str) -> Row:
    match = _LINE.match(line.strip())
    if match is None:
        raise InvalidFileError(f"{where}: expected `keep  ID  [PRINCIPLES]  TEXT`")
    principles = tuple(p for p in re.split(r"[\s,]+", match["principles"]) if p)
    return Row(_mark(match["mark"], where), match["id"], principles, match["text"], match["note"] or "")


def _mark(text: str, where: str) -> str:
    mark = text.lower()
    if mark not in MARKS:
        raise InvalidFileError(f"{where}: {text[:40]!r} is none of {', '.join(MARKS)}")
    return mark


def settled(screened: Sequence[Screened]) -> list[Screened]:
    """The proposals taken as they are: what is the same is dropped."""
    return [evolve(one, rows=tuple(evolve(row, mark="drop") if row.mark == "same" else row for row in one.rows)) for one in screened]


def open_proposals(screened: Sequence[Screened]) -> int:
    return sum(row.mark == "same" for one in screened if one.mark == "keep" for row in one.rows)


# -- freezing ---------------------------------------------------------------------------------------------------------


def freeze(folder: Path, version: str, guidance: Guidance) -> str:
    """The bank's digest. Raises `UsageError` where proposals are open, a criterion may not stand, a rule of the guidance is broken, or it is frozen."""
    screened = read_screen(folder)
    if waiting := open_proposals(screened):
        raise UsageError(
            f"{waiting} proposed duplicates wait for a person",
            hint="Say keep or drop in screen.txt, or take all: bank screen DIR --accept.",
        )
    tasks = {task.id: task for task in read_tasks(folder)}
    known = frozenset(principle.id for principle in guidance.principles)
    kept = [(tasks[one.id], [row for row in one.rows if row.mark == "keep"]) for one in screened if one.mark == "keep"]
    wrong = [f"{task.id}.{row.id} {p}" for task, rows in kept for row in rows if (p := problem_of(row.text, row.principles, known))]
    wrong += [f"{task.id} has no criterion left; drop the task" for task, rows in kept if not rows]
    wrong += [f"{task.id}.{later} says what {first} says" for task, rows in kept for first, later in _twice(rows)]
    if not kept:
        wrong.append("no task is kept")
    document = _document(folder, version, guidance, kept)
    wrong += [f"{v.place}: {v.reason} ({v.rule})" for v in violations(document, "bank", guidance.rules)]
    if wrong:
        more = f" (and {len(wrong) - 5} more)" if len(wrong) > 5 else ""
        raise UsageError(f"the bank cannot be frozen: {'; '.join(wrong[:5])}{more}", hint=f"Mend {folder / SCREEN}.")
    return write_bank(folder, document)


def _twice(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Ids of criteria of one text; large and small letters and the last stop make none other."""
    first: dict[str, str] = {}
    twice = []
    for row in rows:
        text = " ".join(row.text.casefold().split()).rstrip(".")
        if text in first:
            twice.append((first[text], row.id))
        first.setdefault(text, row.id)
    return twice


def _document(folder: Path, version: str, guidance: Guidance, kept: Sequence[tuple[Task, Sequence[Row]]]) -> dict[str, Any]:
    plan: Mapping[str, Any] = read_json(folder / PLAN, "the plan of a bank's build")
    families = dict(zip("ab", (str(w["family"]) for w in plan["writers"]), strict=True))
    return {
        "schema": SCHEMA,
        "version": version,
        "built": dict(plan),
        "guidance": {"id": guidance.id, "version": guidance.version},
        "tasks": [
            {
                "id": task.id,
                "signature": task.signature.text,
                "deliverables": list(task.signature.deliverables),
                "metrics": list(task.signature.metrics),
                "queries": task.queries,
                "members": list(task.members),
                "criteria": [
                    {
                        "id": f"{task.id}.{row.id}",
                        "text": row.text,
                        "principles": list(row.principles),
                        "family": families.get(row.id[:1], "person"),
                    }
                    for row in rows
                ],
            }
            for task, rows in kept
        ],
    }
