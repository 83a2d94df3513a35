"""A hash of the code that grades, so that results of different evaluators are told apart."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path

from finassay.api.verdict import Json

_SKIPPED = ("__pycache__",)


def evaluator_hash(folders: Iterable[Path] = (), judge: Mapping[str, Json] | None = None) -> str:
    """SHA-256 over the source bytes of the core's grading, its phrase matcher, and the given source folders of components.

    Independent of where the folders lie and of the order in which they are given; caches and hidden files do not count. `judge` is what
    the judge's answers rest on besides its code; a judge of which there is nothing to say changes nothing.
    """
    core = Path(str(files("finassay")))
    digest = hashlib.sha256()
    for folder in [core / "grading", *sorted(set(folders), key=lambda p: (p.name, str(p)))]:
        for path in _sources(folder):
            _add(digest, f"{folder.name}/{path.relative_to(folder).as_posix()}", path)
    _add(digest, "api/matching.py", core / "api" / "matching.py")
    if judge:
        digest.update(b"judge\0" + json.dumps(dict(judge), sort_keys=True, ensure_ascii=False, default=str).encode())
    return digest.hexdigest()


def _sources(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*"), key=lambda p: p.relative_to(folder).as_posix()):
        parts = path.relative_to(folder).parts
        if path.is_file() and path.suffix != ".pyc" and not any(part in _SKIPPED or part.startswith(".") for part in parts):
            yield path


def _add(digest: "hashlib._Hash", name: str, path: Path) -> None:
    content = path.read_bytes()
    digest.update(f"{name}\0{len(content)}\0".encode())
    digest.update(content)
