"""Analysts' queries as files give them."""

import json
from pathlib import Path
from typing import Any, Final

from finassay.api.errors import InvalidFileError, UsageError

FIELDS: Final = ("query", "question", "Question", "text")
MAX_QUERIES: Final = 200_000
MAX_QUERY: Final = 20_000


def read_queries(path: Path) -> list[str]:
    """Queries of a text file (one a line), JSON lines or a JSON list (texts, or objects with `query` or `question`); each once, in order.

    Raises `InvalidFileError` with the line, `UsageError` if there are none.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFileError(f"{path}: cannot be read as UTF-8 text: {error}") from error
    suffix = path.suffix.lower()
    if suffix == ".json":
        rows = [(f"item {n}", row) for n, row in enumerate(_list(path, text), start=1)]
    elif suffix in (".jsonl", ".ndjson"):
        rows = [(f"line {n}", _parsed(path, n, line)) for n, line in enumerate(text.splitlines(), start=1) if line.strip()]
    else:
        rows = [(f"line {n}", line) for n, line in enumerate(text.splitlines(), start=1) if line.strip() and not line.startswith("#")]
    found = list(dict.fromkeys(query for where, row in rows if (query := _query(path, where, row)).strip()))
    if not found:
        raise UsageError(f"{path}: holds no query")
    if len(found) > MAX_QUERIES:
        raise UsageError(f"{path}: {len(found):,} queries; at most {MAX_QUERIES:,} are read")
    return found


def _list(path: Path, text: str) -> list[Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidFileError(f"{path}: not JSON: {error}") from error
    if not isinstance(value, list):
        raise InvalidFileError(f"{path}: expected a list of queries")
    return value


def _parsed(path: Path, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidFileError(f"{path}: line {number}: not JSON: {error}") from error


def _query(path: Path, where: str, row: Any) -> str:
    value = next((row[name] for name in FIELDS if name in row), None) if isinstance(row, dict) else row
    if not isinstance(value, str):
        raise InvalidFileError(f"{path}: {where}: expected a text, or an object with {' or '.join(FIELDS[:2])}")
    if len(value) > MAX_QUERY:
        raise InvalidFileError(f"{path}: {where}: a query of {len(value):,} characters; at most {MAX_QUERY:,}")
    return value
