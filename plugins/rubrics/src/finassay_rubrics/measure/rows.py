"""Reading labelled material: files of JSON lines, plain or gzipped, that may be absent, empty, broken or hold columns nobody expects."""

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from finassay.api.errors import InvalidFileError

MAX_BYTES: Final = 512 * 2**20


def found(folder: Path, name: str) -> Path | None:
    """`NAME.jsonl.gz` or `NAME.jsonl` of a folder; None where neither is there."""
    return next((path for path in (folder / f"{name}.jsonl.gz", folder / f"{name}.jsonl") if path.is_file()), None)


def rows_of(path: Path | None, needed: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """The objects of a file, those without a needed column refused; none where there is no file. Raises `InvalidFileError` with the line."""
    if path is None or not path.is_file():
        return
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidFileError(f"{path}: line {number} is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise InvalidFileError(f"{path}: line {number} is no object")
        missing = [name for name in needed if row.get(name) is None]
        if missing:
            raise InvalidFileError(f"{path}: line {number} has no {', '.join(missing)}")
        yield row


def _text(path: Path) -> str:
    try:
        with gzip.open(path, "rt", encoding="utf-8-sig") if path.suffix == ".gz" else path.open(encoding="utf-8-sig") as lines:
            text = lines.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InvalidFileError(f"{path}: cannot be read: {error}") from error
    if len(text) > MAX_BYTES:
        raise InvalidFileError(f"{path}: larger than {MAX_BYTES // 2**20} MB")
    return text
