"""Files of others, taken apart within bounds: no key twice, no number that is none, no data that unfolds without end.

Each function raises `ValueError` in words. What comes out is what JSON can hold, so that it stays the same on its way through our own file.
"""

import csv
import io
import json
import math
import tomllib
from collections.abc import Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, Final

MAX_BYTES: Final = 256 * 2**20
"""Of JSON lines."""
MAX_WHOLE: Final = 8 * 2**20
"""Of YAML and TOML, which take long to read; in characters."""
MAX_NODES: Final = 500_000
"""Of YAML, counted as often as they are referred to."""
MAX_FIELD: Final = 16 * 2**20
SHOWN: Final = 60


def text_of(path: Path) -> str:
    """The text of a file in UTF-8. Raises `ValueError`."""
    try:
        if not path.exists():
            raise ValueError("there is no such file")
        if not path.is_file():
            raise ValueError("is no file")
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"is larger than {MAX_BYTES >> 20} MB")
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"is no text in UTF-8 (byte {error.start})") from error
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from error


def json_of(text: str) -> Any:
    """JSON, strictly: each key once, finite numbers."""
    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=no_number, parse_float=_float)
    except RecursionError as error:
        raise ValueError("is nested too deep") from error


def dumped(data: Any, indent: int | None = None) -> str:
    """As JSON; in ASCII where a text holds halves of characters, which no file in UTF-8 can."""
    text = json.dumps(data, ensure_ascii=False, indent=indent)
    return text if _is_utf8(text) else json.dumps(data, indent=indent)


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, for `object_pairs_hook`. Raises `ValueError` for a key that stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(n for n in names if names.count(n) > 1)[:SHOWN]!r} stands twice")
    return found


def no_number(word: str) -> Any:
    """For `parse_constant`: `NaN` and `Infinity`. Raises `ValueError`."""
    raise ValueError(f"{word} is no number")


def _float(word: str) -> float:
    value = float(word)
    return value if math.isfinite(value) else no_number(word[:SHOWN])


# -- YAML, TOML, CSV --------------------------------------------------------------------------------------------------


def yaml_of(text: str) -> Any:
    """YAML of plain data: references are counted as often as they stand, so that a small file cannot unfold into a large one."""
    import yaml

    _bounded(text)
    try:
        loader = yaml.SafeLoader(text)
        try:
            root = loader.get_single_node()
            if root is None:
                return None
            _count(root, {}, set())
            return _plain(loader.construct_document(root))
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {' '.join(str(error).split())[:200]}") from error
    except RecursionError as error:
        raise ValueError("is nested too deep") from error


def _count(node: Any, sizes: dict[int, int], above: set[int]) -> int:
    """Nodes below one. Raises `ValueError` for too many, for one that holds itself and for keys that stand twice."""
    import yaml

    if id(node) in above:
        raise ValueError("not YAML of plain data: something holds itself")
    if id(node) not in sizes:
        above.add(id(node))
        below: list[Any] = []
        if isinstance(node, yaml.MappingNode):
            keys = [(key.tag, key.value) for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            if len(set(keys)) < len(keys):
                raise ValueError(f"the key {next(k for k in keys if keys.count(k) > 1)[1][:SHOWN]!r} stands twice")
            below = [one for pair in node.value for one in pair]
        elif isinstance(node, yaml.SequenceNode):
            below = node.value
        sizes[id(node)] = 1 + sum(_count(one, sizes, above) for one in below)
        above.remove(id(node))
    if sizes[id(node)] > MAX_NODES:
        raise ValueError(f"unfolds into more than {MAX_NODES:,} entries")
    return sizes[id(node)]


def toml_of(text: str) -> dict[str, Any]:
    """TOML."""
    _bounded(text)
    try:
        found = _plain(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"not TOML: {error}") from error
    except RecursionError as error:
        raise ValueError("is nested too deep") from error
    return dict(found)


def _bounded(text: str) -> None:
    if len(text) > MAX_WHOLE:
        raise ValueError(f"is longer than {MAX_WHOLE >> 20} million characters")


def _plain(data: Any) -> Any:
    """As JSON holds it: keys and days as words."""
    if isinstance(data, Mapping):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(one) for one in data]
    if isinstance(data, float) and not math.isfinite(data):
        raise ValueError(f"{data} is no number")
    if isinstance(data, date | datetime | time):
        return data.isoformat()
    if data is None or isinstance(data, str | int | float | bool):
        return data
    raise ValueError(f"holds a {type(data).__name__}, which is no plain data")


def csv_of(text: str) -> list[dict[str, str]]:
    """The rows of a table with a header."""
    old = csv.field_size_limit(MAX_FIELD)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""))
        names = list(reader.fieldnames or ())
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"the column {twice[:SHOWN]!r} stands twice")
        rows = []
        for number, row in enumerate(reader, start=1):
            if None in row:
                raise ValueError(f"row {number}: has more fields than there are columns")
            rows.append({key: value if value is not None else "" for key, value in row.items()})
        return rows
    except csv.Error as error:
        raise ValueError(f"not CSV: {error}") from error
    finally:
        csv.field_size_limit(old)
