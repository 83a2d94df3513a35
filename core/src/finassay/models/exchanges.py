"""The store of exchanges: one file for each request, by its digest.

A run's store lies in RUN/sealed/exchanges/, readable by the owner only, because prompts hold the belief. It answers a request that was
answered before, so that a stopped run goes on where it was and a second grading asks only what is new; and the provider `replay` answers
from a copy of it without a key.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from finassay.api.model import ChatReply, ChatRequest, request_digest
from finassay.api.verdict import Json
from finassay.records.convert import from_json, to_json
from finassay.records.files import check_schema, read_json, write_json

KIND: Final = "finassay-exchange"
VERSION: Final = 1
FOLDER: Final = "sealed/exchanges"
"""Where a run keeps them."""
USABLE: Final = frozenset({"stop", "tool"})
"""Ways to finish after which the same request need not be asked again."""


@frozen
class Exchange:
    """One request and its reply. `model` and `options` are what was asked; `reply.model` is who answered."""

    digest: str
    asked: str
    """Digest of the request alone, whatever model it went to."""
    model: str
    options: Mapping[str, Json]
    request: ChatRequest
    reply: ChatReply
    when: str = ""
    """ISO 8601, UTC."""


class ExchangeStore:
    """Exchanges in a folder. Safe for several threads and processes; of two writers of one digest the later stays."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, digest: str) -> Path:
        return self.folder / f"{digest}.json"

    def get(self, digest: str) -> Exchange | None:
        """The stored exchange of a digest; None if there is none. Raises `InvalidFileError` for a malformed file."""
        path = self.path(digest)
        return self.read(path) if path.exists() else None

    def put(self, model: str, options: Mapping[str, Json], request: ChatRequest, reply: ChatReply) -> Exchange:
        """Keep a reply. The file can be read by the owner only."""
        exchange = Exchange(request_digest(model, options, request), asked_digest(request), model, dict(options), request, reply, _now())
        self.folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder.mkdir(exist_ok=True, mode=0o700)
        stored = {"kind": KIND, "schema_version": VERSION, **to_json(exchange)}
        write_json(self.path(exchange.digest), stored, mode=0o600)
        return exchange

    def all(self) -> Iterator[Exchange]:
        """Every stored exchange, by digest. Raises `InvalidFileError`."""
        for path in sorted(self.folder.glob("*.json")):
            yield self.read(path)

    @staticmethod
    def read(path: Path) -> Exchange:
        """One file. Raises `InvalidFileError` naming it."""
        data: dict[str, Any] = check_schema(read_json(path, "an exchange with a model"), path, kind=KIND, version=VERSION)
        return from_json(Exchange, {k: v for k, v in data.items() if k not in ("kind", "schema_version")}, str(path))


def asked_digest(request: ChatRequest) -> str:
    """Digest of a request alone: the same for every model that it is sent to."""
    return request_digest("", {}, request)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
