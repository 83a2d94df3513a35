"""What the program remembers from turn to turn, in its HOME; written whole or not at all."""

import json
import os
from pathlib import Path

from finassay_reference.request import Request, from_json, to_json


class Memory:
    """The request after each finished turn. A turn that is run again starts from the state before it."""

    def __init__(self, home: Path) -> None:
        self._path = home / ".finassay-reference.json"

    def before(self, turn: int) -> Request:
        """The state after the newest turn before `turn`; an empty request if there is none that can be read."""
        try:
            turns = json.loads(self._path.read_text(encoding="utf-8"))
            earlier = [int(number) for number in turns if int(number) < turn]
            return from_json(turns[str(max(earlier))]) if earlier else Request()
        except (OSError, ValueError, TypeError, AttributeError):
            return Request()

    def keep(self, turn: int, request: Request) -> None:
        """Store the state after `turn`; what was stored for it or for later turns is gone."""
        try:
            turns = {n: data for n, data in json.loads(self._path.read_text(encoding="utf-8")).items() if int(n) < turn}
        except (OSError, ValueError, AttributeError):
            turns = {}
        turns[str(turn)] = to_json(request)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".tmp")
        with fresh.open("w", encoding="utf-8") as out:
            json.dump(turns, out)
            out.flush()
            os.fsync(out.fileno())
        os.replace(fresh, self._path)
