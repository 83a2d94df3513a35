"""Answers to be graded: text files, or JSON with several of them."""

import json
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from finassay.api.errors import InvalidFileError

MAX_BYTES: Final = 64 * 2**20
TEXT_KEYS: Final = ("text", "answer", "response", "completion")


@frozen
class NamedAnswer:
    """An answer with the name that it is told by."""

    name: str
    text: str


def read_answers(path: Path) -> list[NamedAnswer]:
    """The answers in a file: JSON (a list of objects with `text` or `answer`), JSON lines, or the text itself. Raises `InvalidFileError`."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InvalidFileError(f"{path}: too large for answers")
        content = path.read_text("utf-8")
    except OSError as error:
        raise InvalidFileError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidFileError(f"{path}: no text: it is not UTF-8 (byte {error.start})") from error
    if "\0" in content:
        raise InvalidFileError(f"{path}: no text: it holds NUL bytes")
    if path.suffix not in (".json", ".jsonl"):
        return [NamedAnswer(path.stem, content)]
    try:
        data = json.loads(content) if path.suffix == ".json" else [json.loads(line) for line in content.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise InvalidFileError(f"{path}: not JSON: {error}") from error
    items = data if isinstance(data, list) else [data]
    return [_answer(item, number, path) for number, item in enumerate(items, start=1)]


def _answer(item: Any, number: int, path: Path) -> NamedAnswer:
    if isinstance(item, str):
        return NamedAnswer(f"{path.stem}.{number}", item)
    text = next((item[key] for key in TEXT_KEYS if isinstance(item.get(key), str)), None) if isinstance(item, dict) else None
    if text is None:
        raise InvalidFileError(f"{path}: answer {number} has no {' or '.join(TEXT_KEYS)}")
    name = item.get("id") or item.get("name") or f"{path.stem}.{number}"
    return NamedAnswer(str(name)[:80], text)
