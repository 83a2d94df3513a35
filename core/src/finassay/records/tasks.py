"""Task files. The public part may be shown; the sealed part is for the simulator and the evaluator."""

import json
import math
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from finassay.api.errors import InvalidFileError
from finassay.api.task import Task
from finassay.records.convert import from_json, to_json
from finassay.records.files import check_schema, read_json, write_json

KIND = "finassay-task"
VERSION = 1
MAX_TURNS = 1_000
MAX_SECONDS = 7 * 86_400.0
_ID = re.compile(r"[\w-]{1,100}")
"""Ids of tasks become names of files and parts of session ids."""
SEALED = ("seed", "strategy", "belief", "observables")


def write_task(path: Path, task: Task) -> None:
    """Store a task, readable by its owner only: it holds the hidden strategy."""
    data = to_json(task)
    sealed = {name: data.pop(name) for name in SEALED}
    write_json(path, {"kind": KIND, "schema_version": VERSION, "public": data, "sealed": sealed}, mode=0o600)


def read_task(path: Path) -> Task:
    """The task stored in a file. Raises `InvalidFileError`."""
    data = check_schema(read_json(path, "a task"), path, kind=KIND, version=VERSION)
    if not isinstance(data.get("public"), dict) or not isinstance(data.get("sealed"), dict):
        raise InvalidFileError(f"{path}: a task needs the parts 'public' and 'sealed'")
    unknown = data.keys() - {"kind", "schema_version", "public", "sealed"}
    if unknown:
        raise InvalidFileError(f"{path}: unknown key {min(unknown)!r}; known are kind, public, schema_version, sealed")
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidFileError(f"{path}: holds half of a surrogate pair, which is no text") from None
    task = from_json(Task, {**data["public"], **data["sealed"]}, str(path))
    for problem in problems(task):
        raise InvalidFileError(f"{path}: {problem}")
    return task


def problems(task: Task) -> Iterator[str]:
    """What makes a well-typed task one that no session can be held with."""
    conditions, belief = task.conditions, task.belief
    if not _ID.fullmatch(task.id):
        yield f"id {task.id[:60]!r}: expected 1 to 100 letters, digits, - or _"
    if not 1 <= conditions.max_turns <= MAX_TURNS:
        yield f"conditions.max_turns {conditions.max_turns}: expected 1 to {MAX_TURNS:,}"
    for name in ("turn_seconds", "session_seconds"):
        value = getattr(conditions, name)
        if value is not None and not (math.isfinite(value) and 0 < value <= MAX_SECONDS):
            yield f"conditions.{name} {value}: expected more than 0 and at most {MAX_SECONDS:,.0f}"
    if conditions.max_delivery_bytes < 1:
        yield f"conditions.max_delivery_bytes {conditions.max_delivery_bytes}: expected at least 1"
    if not re.fullmatch(r"[A-Z0-9]{4}", conditions.exchange):
        yield f"conditions.exchange {conditions.exchange[:60]!r}: expected an ISO 10383 code such as XNYS"
    try:
        ZoneInfo(conditions.timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        yield f"conditions.timezone {conditions.timezone[:60]!r}: expected a time zone such as America/New_York"
    if not any(goal.core for goal in task.goals) or len({goal.id for goal in task.goals}) < len(task.goals):
        yield "goals: expected goals with different ids, at least one of them core"
    voiced = [item.id for item in belief.items]
    if len(set(voiced)) < len(voiced):
        yield "belief.items: one id stands twice"
    for name in sorted(set(belief.opening) - set(voiced)):
        yield f"belief.opening: {name!r} is none of the belief's items"


def read_tasks(path: Path) -> tuple[Task, ...]:
    """The tasks of a folder in natural order, or of one file. Raises `InvalidFileError` also when there is none."""
    if path.is_dir():
        files = sorted(path.glob("*.json"), key=lambda p: (len(p.stem), p.stem))
        if not files:
            raise InvalidFileError(
                f"{path}: holds no task files (*.json)", hint="Make some: finassay tasks sample --out " + shlex.quote(str(path))
            )
        tasks = tuple(read_task(file) for file in files)
        first: dict[str, Path] = {}
        for task, file in zip(tasks, files, strict=True):
            if task.id in first:
                raise InvalidFileError(f"{file}: has the id {task.id!r} of {first[task.id].name}")
            first[task.id] = file
        return tasks
    return (read_task(path),)
