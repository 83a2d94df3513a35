"""The provider `mailbox`: each request becomes files in a folder, and the answer is waited for as a file."""

import os
import re
import threading
import time
from pathlib import Path
from typing import ClassVar, Final

from attrs import define, field
from pydantic import BaseModel, ConfigDict, Field

from finassay.api.errors import ProviderError, ProviderRefusedError
from finassay.api.model import ChatReply, ChatRequest, ModelCapabilities, request_digest
from finassay_models_mailbox.letters import Declined, UnreadableAnswerError, as_json, as_page, read_answer, write_whole

_SETTLE: Final = 0.5
"""Seconds for which a text must have been left alone: editors write in several steps."""


class MailboxOptions(BaseModel):
    """Options of `mailbox/NAME`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="who is asked; requests to different names lie apart", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    folder: str = Field(description="the mailbox; made if it is not there", min_length=1)
    timeout: float = Field(
        default=3600.0, gt=0, le=30 * 86400, description="seconds to wait for an answer before the request counts as failed"
    )
    poll: float = Field(default=0.2, gt=0, le=60, description="seconds between two looks at the folder")
    in_flight: int = Field(default=64, ge=1, le=1000, description="requests that may lie open at a time; more wait their turn")
    family: str = Field(default="unknown", description="who trained the model that answers, or `person`")


@define
class _Open:
    """A request that lies open."""

    number: str
    digest: str
    first_seen: dict[tuple[str, int, int], float] = field(factory=dict)
    """When each version of an answer (its suffix, size and time) was first seen."""
    complained: set[tuple[str, int, int]] = field(factory=set)


class MailboxModel:
    """A folder as a model. Safe to call from several threads and processes."""

    api_version: ClassVar = 1
    Options: ClassVar = MailboxOptions
    description: ClassVar = "a folder: a person or any program answers each request by writing a file"
    credentials: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: MailboxOptions) -> None:
        self.id = f"mailbox/{options.name}"
        self.family = options.family
        self.capabilities = ModelCapabilities(structured=True, tools=True, search=True, fetch=True, free=True)
        self._options = options
        home = Path(options.folder).expanduser() / options.name
        self.requests, self.answers, self.done = home / "requests", home / "answers", home / "done"
        self.waits_at = str(self.requests.absolute())
        """Shown while a request is waited for."""
        self._places = threading.BoundedSemaphore(options.in_flight)
        self._lock = threading.Lock()
        self._taken: set[str] = set()

    def __repr__(self) -> str:
        return f"<model {self.id}>"

    def complete(self, request: ChatRequest) -> ChatReply:
        """Post the request and wait. Raises `ProviderError` when nobody answers in time: the request stays, and the next try finds it."""
        end = time.monotonic() + self._options.timeout
        if not self._places.acquire(timeout=self._options.timeout):
            raise self._unanswered("no place for the request")
        letter = None
        try:
            digest = request_digest(self.id, {}, request)
            letter = self._post(request, digest)
            return self._await(letter, request, end)
        except OSError as error:
            raise ProviderRefusedError(
                f"{self.id}: {error.strerror or error}", hint="The mailbox must be a folder that can be written."
            ) from None
        finally:
            if letter is not None:
                with self._lock:
                    self._taken.discard(letter.number)
            self._places.release()

    def _post(self, request: ChatRequest, digest: str) -> _Open:
        """Lay the request down, unless it lies there from an earlier try."""
        for folder in (self.requests, self.answers, self.done):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        short = digest[:16]
        with self._lock:
            for path in sorted(self.requests.glob(f"*-{short}.json")):
                if path.stem not in self._taken:
                    self._taken.add(path.stem)
                    return _Open(path.stem, digest)
            letter = _Open(self._number(short), digest)
            self._taken.add(letter.number)
        write_whole(self.requests / f"{letter.number}.txt", as_page(letter.number, self.id, request, self.answers))
        write_whole(self.requests / f"{letter.number}.json", as_json(letter.number, self.id, digest, request))
        return letter

    def _number(self, short: str) -> str:
        """A name that sorts after all that are or were there."""
        names = [path.name for folder in (self.requests, self.done) for path in folder.glob("*.json")] + [
            f"{taken}." for taken in self._taken
        ]
        numbers = [int(found[1]) for name in names if (found := re.match(r"(\d+)-", name))]
        return f"{max(numbers, default=0) + 1:05d}-{short}"

    def _await(self, letter: _Open, request: ChatRequest, end: float) -> ChatReply:
        while True:
            reply = self._look(letter, request)
            if reply is not None:
                return reply
            if not (self.requests / f"{letter.number}.json").exists():
                # Somebody took it away: another process that asked the same, or a hand that tidied up.
                with self._lock:
                    self._taken.discard(letter.number)
                again = self._post(request, letter.digest)
                letter.number = again.number
            left = end - time.monotonic()
            if left <= 0:
                raise self._unanswered(f"nobody answered {letter.number} in {self._options.timeout:g} s")
            time.sleep(min(self._options.poll, left))

    def _look(self, letter: _Open, request: ChatRequest) -> ChatReply | None:
        """The answer, once one is there and whole: JSON when it can be read, a text when it has been left alone for a moment."""
        for suffix in (".json", ".txt"):
            path = self.answers / f"{letter.number}{suffix}"
            try:
                status = path.lstat()
            except FileNotFoundError:
                continue
            version = (suffix, status.st_size, status.st_mtime_ns)
            settled = time.monotonic() - letter.first_seen.setdefault(version, time.monotonic()) >= _SETTLE
            if version in letter.complained or (suffix == ".txt" and not settled):
                continue
            try:
                found = read_answer(path, request, self.id)
            except (UnreadableAnswerError, OSError) as error:
                if settled:
                    letter.complained.add(version)
                    self._complain(letter, path, (error.strerror if isinstance(error, OSError) else "") or str(error))
                continue
            self._put_away(letter.number)
            if isinstance(found, Declined):
                kind = ProviderError if found.retry else ProviderRefusedError
                raise kind(f"{self.id}: {letter.number} was declined: {found.why}")
            return found
        return None

    def _complain(self, letter: _Open, path: Path, why: str) -> None:
        """Say beside an answer what is wrong with it, once for each version of it."""
        write_whole(self.answers / f"{letter.number}.problem", f"{path.name} cannot be taken: {why}\nCorrect it, and it is read again.\n")

    def _put_away(self, number: str) -> None:
        """Move the answer and then the request out of the way, so that what lies open is what waits."""
        for folder, suffix, kept in (
            (self.answers, ".json", ".answer.json"),
            (self.answers, ".txt", ".answer.txt"),
            (self.requests, ".txt", ".txt"),
            (self.requests, ".json", ".json"),
        ):
            source = folder / f"{number}{suffix}"
            if source.exists():
                os.replace(source, self.done / f"{number}{kept}")
        (self.answers / f"{number}.problem").unlink(missing_ok=True)

    def _unanswered(self, what: str) -> ProviderError:
        return ProviderError(f"{self.id}: {what}", hint=f"Open requests lie in {self.requests}; answered ones are found by the next try.")
