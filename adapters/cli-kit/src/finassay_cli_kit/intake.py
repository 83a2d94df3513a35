"""A program's output on its way into a turn: masked, bounded, kept."""

import threading
from collections.abc import Callable, Iterable

from finassay_cli_kit.events import Failed, KitEvent
from finassay_cli_kit.turn import ProgramTurn


class Intake:
    """Takes in the lines of one turn. A program that hangs after its final event, or never stops talking, is ended."""

    def __init__(
        self,
        turn: ProgramTurn,
        write: Callable[[bytes], None],
        mask: Callable[[bytes], bytes],
        max_output: int,
        exit_seconds: float,
        stop: Callable[[], None],
        cut: Callable[[], bool],
    ) -> None:
        self._turn, self._write, self._mask = turn, write, mask
        self._max_output, self._exit_seconds = max_output, exit_seconds
        self._size = 0
        self._clock: threading.Timer | None = None
        self.stop = stop
        """End every process of the turn."""
        self.cut = cut
        """Whether the harness has ended the turn."""

    def take(self, raw: bytes, read: Callable[[bytes], Iterable[KitEvent]]) -> bool:
        """Take in a line; `read` says what it means, nothing or raising where it means nothing. Whether the turn may have more."""
        line = self._mask(raw)
        self._size += len(raw) + 1
        if self._size > self._max_output:
            self._turn.errors.append(Failed(f"wrote more than {self._max_output:,} bytes in one turn"))
            self._turn.done = False
            self.stop()
            return False
        self._write(line)
        self._turn.take(read, line)
        if self._turn.done and self._clock is None:
            self._clock = threading.Timer(self._exit_seconds, self.stop)
            self._clock.daemon = True
            self._clock.start()
        return True

    def tell(self, *events: KitEvent) -> None:
        """What the adapter itself has to say about the turn."""
        self._turn.take(lambda line: events, b"")

    def close(self) -> None:
        """Let go of the clock."""
        if self._clock is not None:
            self._clock.cancel()
            self._clock.join()
