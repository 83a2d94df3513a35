"""A session's append-only log, its source of truth, and what is read back from it.

Two files lie side by side. `events.jsonl` holds what was said, delivered, done and measured, and nothing of the hidden strategy beyond what the
user said aloud. `sealed.jsonl` holds what only the evaluator may read: which items were raised, told and left open, the second check's
verdict on them, the label of every message with its reasons, and why decisions were refused.
A line is written with one call; each turn is synced once, when the agent's part of it is over; a torn last line, which only a crash leaves, is ignored when reading and cut off before
the next line is appended.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from finassay.api.conversation import Conversation, Message
from finassay.api.delivery import DeliveredFile, Delivery, LogEvent, Rejected, TurnFacts
from finassay.api.errors import InvalidFileError
from finassay.api.labels import UserLabel
from finassay.api.scorecard import UserTurn
from finassay.api.usage import Usage
from finassay.records.convert import from_json, to_json

VERSION = 1
MAX_LINE = 64 * 2**20
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)


class Frozen(BaseException):
    """A line was to be written to a log whose session was given up. No handler of errors catches it."""


class EventLog:
    """An append-only file of JSON lines."""

    def __init__(self, path: Path, *, mode: int = 0o644) -> None:
        self.path = path
        self._mode = mode
        self._descriptor: int | None = None
        self._frozen = False

    def freeze(self) -> None:
        """Refuse every later line: the session is given up and will go on from what is written."""
        self._frozen = True

    def read(self) -> Iterator[dict[str, Any]]:
        """Every whole line. Raises `InvalidFileError` for a malformed line that is not the last."""
        if not self.path.exists():
            return
        with open(self.path, "rb") as stream:
            for number, line in enumerate(stream, start=1):
                if not line.endswith(b"\n"):
                    return
                try:
                    event = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise InvalidFileError(f"{self.path}: line {number} is not a JSON event: {error}") from error
                if not isinstance(event, dict) or not isinstance(event.get("type"), str):
                    raise InvalidFileError(f"{self.path}: line {number}: expected an event with a type")
                yield event

    def append(self, *events: Mapping[str, Any], sync: bool = True) -> None:
        """Append events in one write, and sync. Without `sync` a line survives the program's death at once, and the machine's with the next sync.
        Raises `Frozen` once the log is frozen.
        """
        if self._frozen:
            raise Frozen(str(self.path))
        if self._descriptor is None:
            self._open()
        assert self._descriptor is not None
        data = b"".join(_JSON.encode(event).encode("utf-8", "replace") + b"\n" for event in events)
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
        if sync:
            os.fdatasync(self._descriptor)

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        try:
            self._descriptor = os.open(self.path, flags, self._mode)
        except FileNotFoundError:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self.path, flags, self._mode)
        size = os.fstat(self._descriptor).st_size
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            os.ftruncate(self._descriptor, self._end_of_last_line(size))

    def _end_of_last_line(self, size: int) -> int:
        assert self._descriptor is not None
        while size > 0:
            start = max(0, size - 65536)
            found = os.pread(self._descriptor, size - start, start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            size = start
        return 0

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


@define
class SessionState:
    """A session as far as it was recorded."""

    identity: dict[str, Any] = field(factory=dict)
    digest: str = ""
    conversation: Conversation = Conversation()
    deliveries: tuple[Delivery, ...] = ()
    turns: tuple[TurnFacts, ...] = ()
    log: tuple[LogEvent, ...] = ()
    user_turns: tuple[UserTurn, ...] = ()
    stated: frozenset[str] = frozenset()
    confirmed: frozenset[str] = frozenset()
    """Those of `stated` that only the second check found."""
    ended: str | None = None
    end_detail: str = ""
    seconds: float = 0.0
    labels: tuple[UserLabel, ...] = ()
    usage: tuple[tuple[int, Usage], ...] = ()
    """(turn, what it used), as the gateway metered it or, where nothing passed one, as the agent told."""
    metered: bool = False
    """The usage is the gateway's."""

    @property
    def turn(self) -> int:
        """Number of the agent's last finished turn."""
        last = self.conversation.last("agent")
        return last.turn if last else 0

    @property
    def awaits_agent(self) -> bool:
        """Whether the user has spoken last."""
        return bool(self.conversation.messages) and self.conversation.messages[-1].sender == "user"


def user_event(message: Message, turn: UserTurn, seconds: float) -> dict[str, Any]:
    return {"type": "user", "message": to_json(message), "decision": to_json(turn), "seconds": round(seconds, 3)}


def agent_event(
    message: Message, delivery: Delivery, facts: TurnFacts, log: tuple[LogEvent, ...], usage: Usage, *, metered: bool = False
) -> dict[str, Any]:
    return {
        "type": "agent",
        "message": to_json(message),
        "files": to_json(delivery.files),
        "rejected": to_json(delivery.rejected),
        "facts": to_json(facts),
        "log": to_json(log),
        "usage": to_json(usage),
        "usage_by": "gateway" if metered else "agent",
    }


def end_event(reason: str, detail: str, blame: str) -> dict[str, Any]:
    return {"type": "end", "reason": reason, "detail": detail, "blame": blame}


def restore(events: EventLog, sealed: EventLog) -> SessionState:
    """The state of a recorded session; an empty state if nothing was recorded. Raises `InvalidFileError`."""
    state = SessionState()
    for number, event in enumerate(events.read(), start=1):
        place = f"{events.path}: event {number}"
        try:
            _apply(state, event, place)
        except (KeyError, TypeError) as error:
            raise InvalidFileError(f"{place}: {event.get('type')} event without {error}") from error
    known = {m.turn for m in state.conversation.of("user")}
    labels: dict[int, UserLabel] = {}
    for event in sealed.read():
        if event.get("turn") not in known:
            continue
        if event["type"] == "disclosure":
            state.stated |= frozenset(event.get("stated", ()))
            by_check = frozenset(event.get("checked", {}).get("told", ()))
            state.confirmed |= by_check & frozenset(event.get("told", ()))
        elif event["type"] == "label":
            label = from_json(UserLabel, {k: v for k, v in event.items() if k != "type"}, str(sealed.path))
            labels[label.turn] = label  # of a message that was written twice because of a crash the last counts
    state.labels = tuple(labels[turn] for turn in sorted(labels))
    return state


def _apply(state: SessionState, event: dict[str, Any], place: str) -> None:
    kind = event["type"]
    if kind == "session":
        if event["schema_version"] != VERSION:
            raise InvalidFileError(f"{place}: schema version {event['schema_version']!r}; this finassay reads version {VERSION}")
        state.identity, state.digest = event["identity"], event["digest"]
    elif kind == "user":
        state.conversation = state.conversation.with_message(from_json(Message, event["message"], place))
        state.user_turns = (*state.user_turns, from_json(UserTurn, event["decision"], place))
    elif kind == "agent":
        message = from_json(Message, event["message"], place)
        state.conversation = state.conversation.with_message(message)
        files = tuple(from_json(DeliveredFile, f, place) for f in event["files"])
        rejected = tuple(from_json(Rejected, r, place) for r in event["rejected"])
        state.deliveries = (*state.deliveries, Delivery(message.turn, files, rejected))
        state.turns = (*state.turns, from_json(TurnFacts, event["facts"], place))
        state.log = (*state.log, *(from_json(LogEvent, e, place) for e in event["log"]))
        if any(value is not None for value in event["usage"].values()) and not any(e["kind"] == "usage" for e in event["log"]):
            state.log = (*state.log, LogEvent(message.turn, "usage", event["usage"]))
        if event["usage"]:
            state.usage = (*state.usage, (message.turn, from_json(Usage, event["usage"], place)))
        state.metered = state.metered or event.get("usage_by") == "gateway"
        state.seconds += state.turns[-1].seconds
    elif kind == "end":
        state.ended, state.end_detail = event["reason"], event["detail"]
    elif kind != "resumed":
        raise InvalidFileError(f"{place}: unknown event type {kind!r}")
