"""Progress of long work: a live bar in a terminal, plain lines elsewhere."""

import threading
import time
from types import TracebackType

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from finassay.api.errors import BudgetError, FinassayError
from finassay.api.scorecard import Scorecard
from finassay.cli.render import Terminal
from finassay.cli.words import one_line
from finassay.runs.execute import Progress as Callbacks
from finassay.runs.folder import SessionKey
from finassay.runs.plan import Planned
from finassay.session.loop import Ending

SELDOM = 10.0
"""Seconds between two lines about waiting for one model."""


class RunProgress:
    """Shows how a run goes on. Safe to call from several threads."""

    def __init__(self, total: int, *, live: bool = True) -> None:
        """`live` is False where somebody is asked at the same terminal: then there are only lines."""
        self.console = Terminal(stderr=True)
        self._lock = threading.Lock()
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not (live and self.console.is_terminal),
        )
        self._held = self._bar.add_task("sessions", total=total)
        self._graded = self._bar.add_task("graded", total=total)
        self._running: dict[str, str] = {}
        self._details: dict[str, str] = {}
        self._waits: dict[str, float] = {}

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.stop()

    def callbacks(self) -> Callbacks:
        return Callbacks(self._started, self._turn, self._ended, self._left)

    def _started(self, key: SessionKey, planned: Planned) -> None:
        self._show(key, planned.step)
        if planned.step == "resume":
            self._line(f"{key.id}: {planned.reason}")

    def _turn(self, key: SessionKey, turn: int, what: str) -> None:
        self._show(key, f"turn {turn}: {what}")

    def _ended(self, key: SessionKey, ending: Ending) -> None:
        with self._lock:
            self._running.pop(key.id, None)
            self._details[key.id] = ending.detail
        self._bar.advance(self._held)
        self._line(f"{key.id}: {ending.reason}" + (f" ({ending.detail})" if ending.detail else ""))

    def _left(self, key: SessionKey, reason: FinassayError) -> None:
        with self._lock:
            self._running.pop(key.id, None)
        self._line(f"{key.id}: {'stopped' if isinstance(reason, BudgetError) else 'waits'}: {reason}")

    def waits(self, model: str, seconds: float, error: FinassayError) -> None:
        """Tell that a model is waited for, at most once in a while for each."""
        now = time.monotonic()
        with self._lock:
            told = self._waits.get(model)
            if told is not None and now - told < SELDOM:
                return
            self._waits[model] = now
        self._line(f"waiting {seconds:.0f} s for {model}: {error}")

    def graded(self, key: SessionKey, card: Scorecard, detail: str = "") -> None:
        """Tell of a grading; `detail` says why a session that is not graded ended, if it was not held before these eyes."""
        self._bar.advance(self._graded)
        if card.grading == "none":
            detail = detail or self._details.get(key.id, "")
            self._line(f"{key.id}: not graded: {card.end_reason}" + (f" ({detail})" if detail else ""))
            return
        quality = "-" if card.quality is None else f"{card.quality:.1f}"
        verdict = "accepted" if card.accepted else f"not accepted; vetoes failed: {', '.join(card.failed_vetoes) or 'none'}"
        self._line(f"{key.id}: graded, quality {quality}, {verdict}")

    def problem(self, key: SessionKey, text: str) -> None:
        self._line(f"{key.id}: {text}")

    def _show(self, key: SessionKey, what: str) -> None:
        with self._lock:
            self._running[key.id] = what
            shown = "; ".join(f"{name} {state}" for name, state in list(self._running.items())[:2])
        self._bar.update(self._held, description=f"sessions  [dim]{escape(one_line(shown, 120))}[/dim]")

    def _line(self, text: str) -> None:
        self._bar.console.print(one_line(text), markup=False, highlight=False, soft_wrap=True)
