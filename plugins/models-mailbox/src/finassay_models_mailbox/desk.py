"""The other side of a mailbox: what a program uses that answers requests."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from finassay_models_mailbox.letters import write_whole


@frozen
class Letter:
    """One open request. `request` holds what was asked: messages, tools, schema, …"""

    number: str
    model: str
    digest: str
    request: Mapping[str, Any]
    answers: Path

    def answer(self, text: str = "", **more: Any) -> None:
        """Answer with a text; `more` may hold value, tool_calls, citations, finish, usage, model."""
        write_whole(self.answers / f"{self.number}.json", json.dumps({"text": text, **more}, ensure_ascii=False))

    def decline(self, why: str, *, retry: bool = False) -> None:
        """Answer that there will be none; `retry` says that a later try may get one."""
        write_whole(self.answers / f"{self.number}.json", json.dumps({"error": why, "retry": retry}))


@frozen
class Desk:
    """The mailbox of one name: FOLDER/NAME."""

    home: Path

    def letters(self) -> Iterator[Letter]:
        """Open requests without an answer, the oldest first. Raises `OSError`, `ValueError` for files that are no requests."""
        answers = self.home / "answers"
        for path in sorted((self.home / "requests").glob("*.json")):
            if any((answers / f"{path.stem}{suffix}").exists() for suffix in (".json", ".txt")):
                continue
            try:
                data = json.loads(path.read_text("utf-8"))
            except FileNotFoundError:
                continue  # answered by somebody else just now
            yield Letter(path.stem, data["model"], data["digest"], data["request"], answers)
