"""Progress of long work: what every session does just now in a terminal, plain lines where a wait begins elsewhere."""

import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from types import TracebackType

from attrs import define, field
from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from finassay.api.errors import BudgetError, FinassayError
from finassay.api.scorecard import Scorecard
from finassay.cli.render import Terminal, partial_words
from finassay.cli.words import one_line
from finassay.models.patience import wait_words
from finassay.models.serving import served
from finassay.runs.execute import Progress as Callbacks
from finassay.runs.folder import SessionKey
from finassay.runs.plan import Planned
from finassay.session.loop import Ending

SELDOM = 10.0
"""Seconds between two lines about a session's waits for one model."""
SLOW = 20.0
"""Seconds without an answer of a model after which a line says so where nothing live is shown; then every minute."""
MAX_ROWS = 8
"""Sessions whose state is shown at once."""
PATH = 4_000
"""Characters of a line that names a file: as many as a path may have."""


@define
class _State:
    """What a session does just now."""

    doing: str
    since: float
    where: str = ""
    """Where a person is asked."""
    before: str = ""
    """What was finished last."""
    calls: dict[tuple[int, str], tuple[float, str]] = field(factory=dict)
    """Thread and model that is asked, to since when and where somebody answers for it."""
    wait: tuple[str, str, float] | None = None
    """Model, reason, and when it is asked again."""

    def words(self, now: float) -> str:
        """The state with the time it has lasted."""
        text = f"{self.doing}, {span(now - self.since)}"
        if self.where:
            text += f"; waits for a person: {self.where}"
        if self.wait is not None and self.wait[2] > now:
            model, reason, until = self.wait
            text += f"; waits for {model}: {reason}, retry in {max(1, round(until - now))} s"
        elif self.calls:
            (_, model), (since, where) = min(self.calls.items(), key=lambda call: call[1][0])
            text += f"; {model} is asked, {span(now - since)}" + (f" ({where})" if where else "")
        return text + (f"  [{self.before}]" if self.before else "")


def span(seconds: float) -> str:
    """`12 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = int(max(0.0, seconds))
    if whole < 120:
        return f"{whole} s"
    if whole < 7_200:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class _Bar(Progress):
    """The two bars, and below them a row for each session in progress; drawn anew several times a second, so that times run."""

    states: "RunProgress | None" = None

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if self.states is not None:
            yield from self.states.rows()


class RunProgress:
    """Shows how a run goes on. Safe to call from several threads."""

    def __init__(self, total: int, *, live: bool = True) -> None:
        """`live` is False where somebody is asked at the same terminal: then there are only lines."""
        self.console = Terminal(stderr=True)
        self._lock = threading.Lock()
        self._asked_here = not live
        self._live = live and self.console.is_terminal
        self._bar = _Bar(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not self._live,
        )
        self._held = self._bar.add_task("sessions", total=total)
        self._graded = self._bar.add_task("graded", total=total)
        self._running: dict[str, _State] = {}
        self._details: dict[str, str] = {}
        self._told: dict[tuple[str, str], float] = {}
        self._over = threading.Event()
        self._bar.states = self

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        if not self._live:
            threading.Thread(target=self._watch, name="progress", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        self._bar.stop()

    def callbacks(self) -> Callbacks:
        return Callbacks(self._started, self._turn, self._ended, self._left, self._now, self.called)

    def rows(self) -> Iterator[Text]:
        """A line for each session in progress, and for each grading."""
        now = time.monotonic()
        with self._lock:
            shown = [f"{name}  {state.words(now)}" for name, state in self._running.items()]
        for text in shown[:MAX_ROWS]:
            yield Text("  " + one_line(text, PATH), style="dim", overflow="fold")
        if len(shown) > MAX_ROWS:
            yield Text(f"  and {len(shown) - MAX_ROWS} more", style="dim")

    # -- sessions -------------------------------------------------------------------------------------------------------

    def _started(self, key: SessionKey, planned: Planned) -> None:
        with self._lock:
            self._running[key.id] = _State("begins" if planned.step != "resume" else "goes on", time.monotonic())
        if planned.step == "resume":
            self._line(f"{key.id}: {planned.reason}")

    def _now(self, key: SessionKey, doing: str, where: str) -> None:
        with self._lock:
            old = self._running.get(key.id)
            before, calls = (old.before, old.calls) if old else ("", {})
            self._running[key.id] = _State(doing, time.monotonic(), where, before, calls)
        if where:
            self._line(f"{key.id}: {doing}; waits for a person, who writes {where}", PATH)
        elif self._asked_here:
            self._line(f"{key.id}: {doing}")

    def _turn(self, key: SessionKey, turn: int, what: str) -> None:
        with self._lock:
            if key.id in self._running:
                self._running[key.id].before = f"turn {turn}: {what}"

    def _ended(self, key: SessionKey, ending: Ending) -> None:
        with self._lock:
            self._running.pop(key.id, None)
            self._details[key.id] = ending.detail
        self._bar.advance(self._held)
        self._line(f"{key.id}: {ending.reason}" + (f" ({ending.detail})" if ending.detail else ""))

    def _left(self, key: SessionKey, reason: FinassayError) -> None:
        with self._lock:
            self._running.pop(key.id, None)
        self._line(f"{key.id}: {'stopped' if isinstance(reason, BudgetError) else 'waits'}: {reason}", PATH)

    # -- models ---------------------------------------------------------------------------------------------------------

    def called(self, model: str, begins: bool, where: str) -> None:
        """A call to a model begins or ends, for the session that this thread serves."""
        call, session = (threading.get_ident(), model), served().session
        with self._lock:
            state = self._running.get(session)
            if state is None:
                return
            if begins:
                state.calls[call] = (time.monotonic(), where)
            else:
                state.calls.pop(call, None)
                state.wait = None
        if begins and where:
            self._line(f"{session}: {model} waits for a person or a program: {where}", PATH)

    def waits(self, model: str, seconds: float, error: FinassayError) -> None:
        """Tell that a model is waited for; into lines at most once in a while for each session and model."""
        now, session = time.monotonic(), served().session
        text = wait_words(model, seconds, error)
        with self._lock:
            if session in self._running:
                reason = text.partition(": ")[2].rpartition("; ")[0]
                self._running[session].wait = (model, reason, now + seconds)
            told = self._told.get((session, model))
            if told is not None and now - told < SELDOM:
                return
            self._told[session, model] = now
        self._line(f"{session}: {text}" if session else text)

    def _watch(self) -> None:
        """Where nothing live is shown: a line about a model that has not answered for long, and then every minute."""
        said: dict[tuple[str, int, str, float], float] = {}
        while not self._over.wait(1.0):
            now = time.monotonic()
            with self._lock:
                slow = [(name, call, at[0]) for name, state in self._running.items() if not state.where for call, at in state.calls.items()]
            for name, (thread, model), since in slow:
                key = (name, thread, model, since)
                if now - since >= SLOW and now - said.get(key, -60.0) >= 60.0:
                    said[key] = now
                    self._line(f"{name}: {model} has not answered for {span(now - since)}")

    # -- gradings -------------------------------------------------------------------------------------------------------

    def grading(self, key: SessionKey, future: "Future[Scorecard]") -> "Future[Scorecard]":
        """A grading was asked for: it is shown until it is over."""

        def over(_: object) -> None:
            with self._lock:
                self._running.pop(key.id, None)

        with self._lock:
            self._running[key.id] = _State("is graded", time.monotonic())
        future.add_done_callback(over)
        return future

    def graded(self, key: SessionKey, card: Scorecard, detail: str = "") -> None:
        """Tell of a grading; `detail` says why a session that is not graded ended, if it was not held before these eyes."""
        self._bar.advance(self._graded)
        if card.grading == "none":
            detail = detail or self._details.get(key.id, "")
            self._line(f"{key.id}: not graded: {card.end_reason}" + (f" ({detail})" if detail else ""))
            return
        quality = "-" if card.quality is None else f"{card.quality:.1f}"
        verdict = "accepted" if card.accepted else f"not accepted; vetoes failed: {', '.join(card.failed_vetoes) or 'none'}"
        if card.complete:
            self._line(f"{key.id}: graded, quality {quality}, {verdict}")
        else:
            self._line(f"{key.id}: graded in part ({partial_words(card)}), quality {quality} of what was judged, {verdict}")

    @contextmanager
    def learning(self, key: SessionKey) -> Iterator[None]:
        """An agent learns from a graded session meanwhile."""
        with self._lock:
            self._running[key.id] = _State("learns", time.monotonic())
        try:
            yield
        finally:
            with self._lock:
                self._running.pop(key.id, None)

    def problem(self, key: SessionKey, text: str) -> None:
        self._line(f"{key.id}: {text}")

    def _line(self, text: str, limit: int = 600) -> None:
        self._bar.console.print(one_line(text, limit), markup=False, highlight=False, soft_wrap=True)
