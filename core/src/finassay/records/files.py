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


def write_atomically(path: Path, data: bytes, *, mode: int = 0o644, sync: bool = True, make_folder: bool = True) -> None:
    """Write a file so that a reader, or a crash, sees the old bytes or the new ones and nothing between."""
    if make_folder:
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


def sync_folder(path: Path) -> None:
    """Make what was made, renamed or removed in a folder outlast a crash of the machine. Raises `OSError` if the disk refuses."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_tree(root: Path) -> None:
    """Remove a folder that a program nobody trusts has filled: however deep, also where it took permissions away. No link is followed.

    Nothing may write there meanwhile. Raises `OSError` for what cannot be removed all the same; nothing where there is no folder.
    """
    if root.is_symlink() or not root.is_dir():
        return
    root.chmod(0o700)
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        while names := os.listdir(top):
            for name in names:
                if _is_folder(name, top):
                    _flatten(name, top)
                else:
                    os.unlink(name, dir_fd=top)
    finally:
        os.close(top)
    root.rmdir()


def _flatten(name: str, top: int) -> None:
    """Remove one folder of `top`; the folders in it move up, so that no path gets long and nothing recurses."""
    os.chmod(name, 0o700, dir_fd=top)
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
    try:
        for inner in os.listdir(folder):
            if _is_folder(inner, folder):
                os.chmod(inner, 0o700, dir_fd=folder)  # a folder that is moved must itself be writable
                os.rename(inner, secrets.token_hex(16), src_dir_fd=folder, dst_dir_fd=top)
            else:
                os.unlink(inner, dir_fd=folder)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def _is_folder(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)


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
