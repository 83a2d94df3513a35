"""Reading and writing stored files: one line of explanation when one is malformed, and nothing half-written."""

import json
import os
import secrets
import stat
from pathlib import Path
from typing import Any

from finassay.api.errors import InvalidFileError

MAX_RECORD_BYTES = 512 * 2**20


def read_json(path: Path, what: str) -> Any:
    """The JSON value in a file. Raises `InvalidFileError` naming the file and that `what` was expected."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            raise InvalidFileError(f"{path}: is no regular file; expected {what}")
        if status.st_size > MAX_RECORD_BYTES:
            raise InvalidFileError(f"{path}: too large for {what}")
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InvalidFileError(f"{path}: not found; expected {what}") from None
    except IsADirectoryError:
        raise InvalidFileError(f"{path}: is a folder; expected {what}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidFileError(f"{path}: not {what}: {error}") from error


def write_atomically(path: Path, data: bytes, *, mode: int = 0o644, sync: bool = True) -> None:
    """Write a file so that a reader, or a crash, sees the old bytes or the new ones and nothing between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            if sync:
                os.fsync(stream.fileno())
        os.replace(scratch, path)
    except BaseException as error:
        scratch.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, scratch, str(scratch)):
            error.filename = str(path)  # a full disk names no file, and the scratch file is nobody's concern
        raise


def write_json(path: Path, value: Any, *, mode: int = 0o644) -> None:
    """Write a JSON value atomically, indented, in UTF-8."""
    write_atomically(path, (json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode(), mode=mode)


def check_schema(data: Any, path: Path, *, kind: str, version: int) -> dict[str, Any]:
    """The object in `data` if it is a stored `kind` of a known schema version. Raises `InvalidFileError`."""
    if not isinstance(data, dict) or data.get("kind") != kind:
        found = data.get("kind") if isinstance(data, dict) else type(data).__name__
        raise InvalidFileError(f"{path}: expected a {kind} record, found {found!r}")
    if data.get("schema_version") != version:
        raise InvalidFileError(
            f"{path}: {kind} record of schema version {data.get('schema_version')!r}; this finassay reads version {version}"
        )
    return data
