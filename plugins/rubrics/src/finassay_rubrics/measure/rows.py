"""Reading labelled material: files of JSON lines, plain or gzipped, that may be absent, empty, broken or hold columns nobody expects."""

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

from finassay.api.errors import InvalidFileError

MAX_BYTES: Final = 512 * 2**20


def found(folder: Path, name: str) -> Path | None:
    """`NAME.jsonl.gz` or `NAME.jsonl` of a folder; None where neither is there."""
    return next((path for path in (folder / f"{name}.jsonl.gz", folder / f"{name}.jsonl") if path.is_file()), None)


_LEFT: Final[ContextVar[dict[str, str] | None]] = ContextVar("left_out", default=None)
MAX_LEFT: Final = 10_000
"""Faults that are remembered."""


@contextmanager
def tolerant() -> Iterator[dict[str, str]]:
    """Meanwhile what cannot be read is left out, and stands in what this gives, place to reason; else it is refused."""
    left: dict[str, str] = {}
    token = _LEFT.set(left)
    try:
        yield left
    finally:
        _LEFT.reset(token)


def left_out(place: str, why: str) -> None:
    """Remember what is left out. Raises `InvalidFileError` where nothing may be."""
    left = _LEFT.get()
    if left is None:
        raise InvalidFileError(f"{place} {why}")
    if len(left) < MAX_LEFT:
        left[place] = why[:300]


def rows_of(path: Path | None, needed: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """The objects of a file, those without a needed column refused or, while `tolerant`, left out; none where there is no file.

    Raises `InvalidFileError` with the line.
    """
    if path is None or not path.is_file():
        return
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        row, why = _row(line, needed)
        if row is None:
            left_out(f"{path}: line {number}", why)
        else:
            yield row


def _row(line: str, needed: Sequence[str]) -> tuple[dict[str, Any] | None, str]:
    """The object of a line, or what is wrong with it."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return None, f"is not JSON: {error}"
    if not isinstance(row, dict):
        return None, "is no object"
    missing = [name for name in needed if row.get(name) is None]
    return (None, f"has no {', '.join(missing)}") if missing else (row, "")


def _text(path: Path) -> str:
    try:
        with gzip.open(path, "rt", encoding="utf-8-sig") if path.suffix == ".gz" else path.open(encoding="utf-8-sig") as lines:
            text = lines.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InvalidFileError(f"{path}: cannot be read: {error}") from error
    if len(text) > MAX_BYTES:
        raise InvalidFileError(f"{path}: larger than {MAX_BYTES // 2**20} MB")
    return text
