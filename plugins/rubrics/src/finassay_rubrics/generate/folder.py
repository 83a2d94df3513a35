"""A rubric's folder while it is made: every step in a file of its own, so that the same command goes on wherever it was killed.

query.txt  context.json  budget.json  manifest.json      what is made, frozen before any research
sources.jsonl                                             what was asked of sources and scripts, with digests
drafts/OBLIGATION/TRY.json  violations.jsonl              what the writer handed in, and why it came back
reviews/CRITERION.TRY.json  scripts/                      what the reviewer found without seeing it
looks/  composition/                                      what models found in the whole, and how they would move points
moves.json  rubric.json  rubric.md  rubric.html           the rubric
queue/ITEM.json                                           what waits for a person, with everything needed to decide
ledger.jsonl  sealed/exchanges/                           what models were asked, answered and cost, where any were
"""

import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import define, field

from finassay.api.errors import InvalidFileError, UsageError
from finassay.records.files import write_atomically

MAX_BYTES: Final = 64 * 2**20
OF_MODELS: Final = frozenset(["sealed", "ledger.jsonl"])
"""What the core keeps of calls to chat models, which may come before anything else is known."""


@define
class RubricFolder:
    """Reads and writes the steps. A file that is there is whole."""

    root: Path
    _lock: threading.Lock = field(init=False, factory=threading.Lock)

    def has(self, name: str) -> bool:
        return (self.root / name).is_file()

    def read(self, name: str) -> Any:
        """The JSON of a step. Raises `InvalidFileError`."""
        path = self.root / name
        try:
            if path.stat().st_size > MAX_BYTES:
                raise InvalidFileError(f"{path}: too large")
            return json.loads(path.read_text("utf-8"))
        except OSError as error:
            raise InvalidFileError(f"{path}: cannot be read: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise InvalidFileError(f"{path}: not JSON: {error}") from error

    def write(self, name: str, data: Any) -> None:
        self.write_text(name, json.dumps(data, ensure_ascii=False, indent=1, default=str) + "\n")

    def write_text(self, name: str, text: str) -> None:
        write_atomically(self.root / name, text.encode("utf-8", "replace"))

    def append(self, name: str, entry: Mapping[str, Any]) -> None:
        """A line of a log. A torn last line, which only a crash leaves, counts for nothing."""
        path = self.root / name
        line = json.dumps(entry, ensure_ascii=False, default=str) + "\n"
        with self._lock:
            path.parent.mkdir(parents=True, exist_ok=True)
            torn = path.exists() and path.stat().st_size > 0 and path.read_bytes()[-1:] != b"\n"
            with open(path, "a", encoding="utf-8") as stream:
                stream.write(("\n" if torn else "") + line)

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        path = self.root / name
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            try:
                data = json.loads(line)
            except ValueError:
                continue
            if isinstance(data, dict):
                yield data

    def claim(self, manifest: Mapping[str, Any]) -> None:
        """Begin a rubric here, or go on with it. Raises `UsageError` if another one lies here."""
        if not self.has("manifest.json"):
            if self.root.is_dir() and any(not p.name.startswith(".") and p.name not in OF_MODELS for p in self.root.iterdir()):
                raise UsageError(f"{self.root} holds something else", hint="Choose another --out.")
            self.write("manifest.json", manifest)
            return
        old = self.read("manifest.json")
        differ = sorted(name for name in manifest if old.get(name) != manifest[name])
        if differ:
            raise UsageError(f"{self.root} holds a rubric with another {', '.join(differ)}", hint="Choose another --out, or give the same.")
        self._swept()

    def _swept(self) -> None:
        """Remove what a killed process left half-written; whoever goes on is alone here."""
        for path in self.root.rglob(".*.tmp"):
            if "sealed" not in path.relative_to(self.root).parts:
                path.unlink(missing_ok=True)

    def settle(self, waiting: Mapping[str, Mapping[str, Any]]) -> None:
        """Leave for a person what waits, and nothing else; what was decided stays."""
        for name, data in waiting.items():
            if not self.has(f"queue/{name}.json") or self.read(f"queue/{name}.json") != json.loads(json.dumps(data, default=str)):
                self.write(f"queue/{name}.json", data)
        decided = {p.name.removesuffix(".decision.json") for p in (self.root / "queue").glob("*.decision.json")}
        for path in self._items():
            if path.stem not in waiting and not decided & self._names(path):
                path.unlink()

    def _names(self, path: Path) -> set[str]:
        """By what an entry of the queue may have been decided: its own name, its criteria's, its obligation's."""
        found = self.read(f"queue/{path.name}")
        inside = found.get("criteria", ()) if isinstance(found, dict) else ()
        return {path.stem, str(found.get("obligation_id") if isinstance(found, dict) else ""), *(str(c.get("id")) for c in inside)}

    def queued(self) -> list[dict[str, Any]]:
        """What was left for a person, decided or not."""
        return [found for p in self._items() if isinstance(found := self.read(f"queue/{p.name}"), dict)]

    def _items(self) -> list[Path]:
        folder = self.root / "queue"
        return sorted(p for p in folder.glob("*.json") if not p.name.endswith(".decision.json") and not p.name.startswith("."))


def beside(root: Path, name: str) -> str | None:
    """The text of a file beside a rubric; None where there is none, or where the name leads elsewhere."""
    path = root / name
    try:
        if ".." in Path(name).parts or Path(name).is_absolute() or path.is_symlink() or path.stat().st_size > MAX_BYTES:
            return None
        return path.read_text("utf-8")
    except (OSError, ValueError):
        return None
