"""Task files. The public part may be shown; the sealed part is for the simulator and the evaluator."""

from pathlib import Path

from finassay.api.errors import InvalidFileError
from finassay.api.task import Task
from finassay.records.convert import from_json, to_json
from finassay.records.files import check_schema, read_json, write_json

KIND = "finassay-task"
VERSION = 1
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
    return from_json(Task, {**data["public"], **data["sealed"]}, str(path))


def read_tasks(path: Path) -> tuple[Task, ...]:
    """The tasks of a folder in natural order, or of one file. Raises `InvalidFileError` also when there is none."""
    if path.is_dir():
        files = sorted(path.glob("*.json"), key=lambda p: (len(p.stem), p.stem))
        if not files:
            raise InvalidFileError(f"{path}: holds no task files (*.json)", hint="Make some: finassay tasks sample --out " + str(path))
        return tuple(read_task(file) for file in files)
    return (read_task(path),)
