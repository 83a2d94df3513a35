"""Grading stored sessions: verdicts are a layer over evidence and are made again without holding anything again.

Each grading is stored under the hash of the code that made it, so that verdicts of different evaluators lie side by side.
"""

import importlib.util
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from importlib.metadata import distribution
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final

from attrs import asdict

from finassay.api.delivery import LogEvent, Package
from finassay.api.errors import CatalogError, FinassayError, InvalidFileError, UnfinishedError
from finassay.api.sandbox import Sandbox
from finassay.api.scorecard import Evaluator, Graded, Scorecard
from finassay.api.task import Task
from finassay.catalog.catalog import Catalog
from finassay.config.settings import RunSettings
from finassay.grading.engine import grade
from finassay.grading.evaluator import evaluator_hash
from finassay.grading.feedback import feedback, feedback_text
from finassay.models.patience import wait_words
from finassay.models.serving import served, serving
from finassay.records.convert import from_json, to_json
from finassay.records.events import SessionState
from finassay.records.files import check_schema, read_json, write_atomically, write_json
from finassay.records.scratch import Scratch
from finassay.runs.build import GradingParts, best_sandbox, build_grading, model_service
from finassay.runs.channels import make_channel
from finassay.runs.coderunner import SandboxCodeRunner
from finassay.runs.folder import RunFolder, SessionKey
from finassay.runs.interpreter import interpreter_folders
from finassay.session.intake import displayed

KIND = "finassay-scorecard"
VERSION = 1


def describe_evaluator(parts: GradingParts, judge: str) -> Evaluator:
    """The hash over the core's grading code, the source of every distribution that takes part, and what the judge rests on."""
    names = sorted({origin.distribution for origin in parts.origins})
    return Evaluator(
        hash=evaluator_hash([_source_folder(name) for name in names], parts.judge_identity),
        judge=judge,
        checks=tuple(sorted(check.id for check in parts.checks.values())),
        parts={name: distribution(name).version for name in names},
        judge_identity=dict(parts.judge_identity),
    )


def _source_folder(name: str) -> Path:
    """Where a distribution's code lies, also when it is installed in place."""
    for entry in distribution(name).entry_points:
        spec = importlib.util.find_spec(entry.value.split(":")[0].split(".")[0])
        if spec is not None and spec.origin is not None:
            return Path(spec.origin).parent
    raise CatalogError(f"the code of {name} cannot be found")


class Grader:
    """Grades sessions of one run; made once in each process."""

    def __init__(self, root: Path, settings: RunSettings) -> None:
        self.folder, self.settings = RunFolder(root), settings
        catalog = Catalog.installed()
        self.models = model_service(catalog, settings, root)
        self.parts = build_grading(catalog, settings, self.models)
        self.evaluator = describe_evaluator(self.parts, settings.judge.id)
        self.tasks = self.folder.tasks()
        self.sandbox = self._sandbox(catalog)
        self.channels = {c: _describe(catalog, settings, c) for t in self.tasks.values() for c in t.conditions.channels}

    def _sandbox(self, catalog: Catalog) -> Sandbox | None:
        """Where delivered code runs again; none rather than an error, since 3.6 is a bonus."""
        try:
            name = best_sandbox(catalog) if self.settings.sandbox.id == "auto" else self.settings.sandbox.id
            sandbox: Sandbox = catalog.create("sandbox", name)[0]
            return sandbox if sandbox.isolation.files and sandbox.isolation.network else None
        except CatalogError:
            return None

    def grade(self, key: SessionKey) -> Scorecard:
        """Grade a stored session, and store scorecard and feedback.

        Raises `InvalidFileError` for a malformed record, `BudgetError` when the money for its judge is spent: nothing is stored then.
        """
        record, state = self.folder.record_digest(key), self.folder.state(key)
        if state.ended is None:
            raise InvalidFileError(
                f"{self.folder.session_path(key)}: the session has not ended",
                hint="The command that began the run goes on with it: finassay run",
            )
        if key.task not in self.tasks:
            raise InvalidFileError(f"{self.folder.task_path(key.task)}: not found; expected the task of session {key.id}")
        # What was lost or changed in the store must never count as not delivered.
        for sha256, name in {f.sha256: f.path for delivery in state.deliveries for f in delivery.files}.items():
            self.folder.blobs.verify(sha256, displayed(name))
        with Scratch("rerun") as scratch:
            runner = None
            if self.sandbox is not None:
                channels = [self.channels[c] for c in self.tasks[key.task].conditions.channels]
                readable = (*interpreter_folders(), *(p for c in channels if c for p in c.readable))
                runner = SandboxCodeRunner(self.sandbox, readable, {}, scratch.path)
            try:
                package = make_package(self.folder, self.tasks[key.task], state, runner)
                with serving(key.id, alone=True):
                    card = grade(
                        package,
                        self.parts.checks,
                        self.parts.judge,
                        self.parts.reader,
                        self.evaluator,
                        key.id,
                        guidance=self.parts.guidance,
                    )
            finally:
                if runner is not None:
                    runner.close()
        self._store(key, card, record)
        return card

    def _store(self, key: SessionKey, card: Scorecard, record: str) -> None:
        path = self.folder.session_path(key)
        stored = {"kind": KIND, "schema_version": VERSION, "record": record, "scorecard": to_json(card)}
        write_json(path / "gradings" / f"{card.evaluator.hash[:16]}.json", stored, mode=0o600)
        report = feedback(card, self.tasks[key.task])
        write_atomically(path / "feedback.txt", feedback_text(report).encode())


def _describe(catalog: Catalog, settings: RunSettings, name: str) -> Any:
    try:
        return make_channel(catalog, settings, name)[0]
    except FinassayError:
        return None  # an old record never needs the plugin that wrote it


def make_package(folder: RunFolder, task: Task, state: SessionState, runner: Any = None) -> Package:
    """What grading may look at, from a recorded session."""
    return Package(
        task=task,
        conversation=state.conversation,
        deliveries=state.deliveries,
        blobs=folder.blobs,
        log=_with_usage_of_turns(state),
        turns=state.turns,
        end_reason=state.ended,  # type: ignore[arg-type]
        runner=runner,
        confirmed=state.confirmed,
    )


def _with_usage_of_turns(state: SessionState) -> tuple[LogEvent, ...]:
    """The log with one event of usage for each turn, as it was metered or added up, in place of the program's own reports.

    Those may be running totals, or leave out what the way to the models counted.
    """
    if not any(value is not None for _, usage in state.usage for value in asdict(usage).values()):
        return state.log
    told = {turn: LogEvent(turn, "usage", asdict(usage)) for turn, usage in state.usage}
    kept = tuple(event for event in state.log if event.kind != "usage" or event.turn not in told)
    return (*kept, *told.values())


def scorecards(folder: RunFolder, key: SessionKey) -> list[Scorecard]:
    """Every grading of a session as it is recorded now, newest first. Raises `InvalidFileError`.

    A grading was made from a record; where the record has changed since, it says nothing about the session and is left out.
    """
    stored = _gradings(folder, key)
    record = folder.record_digest(key) if stored else ""
    return [from_json(Scorecard, data.get("scorecard"), str(path)) for path, data in stored if data.get("record") == record]


def lacks_its_judge(card: Scorecard) -> str:
    """What was not judged because the models of the judge were out of reach, in words; empty if nothing was. It is worth asking again."""
    missing = [g.dimension for g in _asked(card) if g.unscored is not None and g.unscored.reason == "judge unavailable"]
    return ", ".join(missing) if card.evaluator.judge_identity.get("asked") else ""


def _asked(card: Scorecard) -> tuple[Graded, ...]:
    """Everything that a judge may have been asked about."""
    return (*card.verdicts, *(one.graded for one in card.reported))


def unreached(card: Scorecard) -> UnfinishedError | None:
    """Why a grading lacks its judge, told once; None if it does not."""
    missing = lacks_its_judge(card)
    if not missing:
        return None
    why = next(g.unscored.detail for g in _asked(card) if g.unscored is not None and g.unscored.reason == "judge unavailable")
    return UnfinishedError(
        f"the judge's models were out of reach for {missing}: {why}", hint="Once the judge's models answer, the same command goes on."
    )


def is_outdated(folder: RunFolder, key: SessionKey) -> bool:
    """Whether there are gradings, and all were made from another record than the session has now."""
    stored = _gradings(folder, key)
    return bool(stored) and not any(data.get("record") == folder.record_digest(key) for _, data in stored)


def _gradings(folder: RunFolder, key: SessionKey) -> list[tuple[Path, dict[str, Any]]]:
    files = sorted((folder.session_path(key) / "gradings").glob("*.json"), key=lambda p: p.stat().st_mtime_ns, reverse=True)
    return [(path, check_schema(read_json(path, "a scorecard"), path, kind=KIND, version=VERSION)) for path in files]


# -- several processes ------------------------------------------------------------------------------------------------

SELDOM: Final = 30.0
_grader: Grader | None = None
_said_wait: dict[str, float] = {}


def _start(root: Path, settings: RunSettings) -> None:
    global _grader
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program that asked for gradings decides when they stop
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a grading removes what it made
    _grader = Grader(root, settings)
    _grader.models.waits, _grader.models.calls = _say_wait, _Slow()


def _end_with_parent() -> None:
    """Nobody is left to ask for gradings, or to read them, when the program that started this process is gone, however it went."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _say_wait(model: str, seconds: float, error: FinassayError) -> None:
    """A line on the terminal, seldom, about a model that a judge waits for."""
    now = time.monotonic()
    if now - _said_wait.get(model, -SELDOM) >= SELDOM:
        _said_wait[model] = now
        print(displayed(f"{served().session or 'a grading'}: {wait_words(model, seconds, error)}"[:600]), file=sys.stderr, flush=True)


class _Slow:
    """Lines on the terminal about calls of a judge that are not answered for long."""

    def __init__(self) -> None:
        self._timers: dict[tuple[int, str], threading.Timer] = {}

    def __call__(self, model: str, begins: bool, where: str) -> None:
        key = (threading.get_ident(), model)
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        if begins:
            timer = self._timers[key] = threading.Timer(SELDOM, _say_slow, (served().session, model, where))
            timer.daemon = True
            timer.start()


def _say_slow(session: str, model: str, where: str) -> None:
    at = f" ({where})" if where else ""
    text = f"{session or 'a grading'}: the judge's model {model} has not answered for {SELDOM:.0f} s{at}"
    print(displayed(text[:600]), file=sys.stderr, flush=True)


def _grade(key: SessionKey) -> Scorecard:
    assert _grader is not None
    return _grader.grade(key)


@contextmanager
def grading_pool(root: Path, settings: RunSettings, processes: int) -> Iterator[Callable[[SessionKey], "Future[Scorecard]"]]:
    """A way to grade sessions in processes of their own: pandas holds the interpreter's lock, and a check that dies takes no run down."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_start, initargs=(root, settings)) as pool:
        try:
            yield lambda key: pool.submit(_grade, key)
        except KeyboardInterrupt:  # else leaving the pool would wait for all that is to be graded
            pool.shutdown(wait=False, cancel_futures=True)
            stop_children()
            raise


def stop_children(seconds: float = 5.0) -> None:
    """End this program's grading processes: asked twice (once out of a grading, once out of waiting for the next), then killed."""
    for stop in (BaseProcess.terminate, BaseProcess.terminate, BaseProcess.kill):
        children = multiprocessing.active_children()
        for child in children:
            stop(child)
        for child in children:
            child.join(seconds / max(1, len(children)))


def grade_all(
    root: Path,
    settings: RunSettings,
    keys: Iterable[SessionKey],
    processes: int,
    done: Callable[[SessionKey, Scorecard | None, Exception | None], None],
) -> None:
    """Grade sessions and tell of each; one whose grading fails never stops the rest."""
    with grading_pool(root, settings, processes) as submit:
        futures = [(key, submit(key)) for key in keys]
        for key, future in futures:
            try:
                card = future.result()
            except Exception as error:  # reported by session; nothing was half-written
                done(key, None, error)
            else:
                done(key, card, None)
