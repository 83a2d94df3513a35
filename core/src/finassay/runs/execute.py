"""Holding the sessions of a run, several at a time; one that fails never stops the rest."""

import hashlib
import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any

from attrs import asdict, evolve, frozen

from finassay.api.agent import Agent, AgentCapabilities
from finassay.api.channel import ChannelSpec
from finassay.api.errors import Blame, FinassayError, ProviderRefusedError
from finassay.api.sandbox import Box, BoxSpec, Limits
from finassay.api.task import Task
from finassay.api.usage import Usage
from finassay.config.settings import RunSettings
from finassay.grading.outcomes import INVALID
from finassay.hooks.dispatch import Observers
from finassay.models.ledger import Entry, Ledger, RunBudgetError, now
from finassay.models.limits import Limiter
from finassay.models.service import AGENT, LOCKS, Calls, nobody_listens
from finassay.models.serving import Serving, serving
from finassay.records.convert import to_json
from finassay.records.events import EventLog, Frozen, end_event, restore
from finassay.records.masking import without_secrets
from finassay.runs.access import LOG, Meter, SessionAccess, needs_gateway, open_access, prices_of, summed
from finassay.runs.brief import make_brief
from finassay.runs.build import Built
from finassay.runs.folder import RunFolder, SessionKey
from finassay.runs.identity import BEGUN_WITH, digest_of, session_identity
from finassay.runs.interpreter import masked_packages
from finassay.runs.learning import learn
from finassay.runs.plan import MAX_RERUNS, Planned, plan_session
from finassay.session.loop import Ending, Participants, Session, Store, Unfinished
from finassay.session.room import Room
from finassay.session.turns import Halted


@frozen
class Progress:
    """Told to whoever shows progress; called from several threads."""

    started: Callable[[SessionKey, Planned], None]
    turn: Callable[[SessionKey, int, str], None]
    ended: Callable[[SessionKey, Ending], None]
    left: Callable[[SessionKey, FinassayError], None] = lambda key, reason: None
    """A session that cannot go on now and has not ended."""
    now: Callable[[SessionKey, str, str], None] = lambda key, doing, where: None
    """What a session does from now on, and where a person is asked if one is."""
    called: Calls = nobody_listens
    """A call to a model begins or ends, in the thread that serves a session (`finassay.models.serving.served`)."""


class _SessionObserver:
    def __init__(self, key: SessionKey, observers: Observers, progress: Progress, here: Serving, ledger: Ledger | None, agent: str) -> None:
        self.key, self.observers, self.progress = key, observers, progress
        self.here, self.ledger, self.agent = here, ledger, agent

    def turn_started(self, turn: int) -> None:
        self.here.turn = turn
        self.progress.now(self.key, f"turn {turn}: the agent works", "")

    def user_asked(self, turn: int, tries: int, where: str) -> None:
        what = f"turn {turn}: the user decides" if turn else "the user writes the opening"
        self.progress.now(self.key, what + (f", try {tries + 1}" if tries else ""), where)

    def agent_used(self, turn: int, usage: Usage) -> None:
        """A line in the ledger for an agent that tells what it used; none for one that used nothing, or the run's own models."""
        if self.ledger is not None and any(asdict(usage).values()):
            self.ledger.add(
                Entry(
                    AGENT, self.agent, self.key.id, turn, **asdict(usage), prices="agent" if usage.cost_usd is not None else "", when=now()
                )
            )

    def turn_finished(self, turn: int, cut: bool, seconds: float, files: int) -> None:
        self.observers.call("finassay_turn_finished", session=self.key.id, turn=turn, cut=cut, seconds=seconds, files=files)
        self.progress.turn(self.key, turn, f"agent, {seconds:.0f} s, {files} files" + (", cut" if cut else ""))

    def user_spoke(self, turn: int, action: str) -> None:
        self.progress.turn(self.key, turn, f"user: {action}")


class Runner:
    """Holds sessions from built parts."""

    def __init__(self, folder: RunFolder, settings: RunSettings, tasks: dict[str, Task], built: Built, observers: Observers) -> None:
        self.folder, self.settings, self.built, self.observers = folder, settings, built, observers
        self.tasks = {name: task.held_under(settings.max_turns, settings.turn_seconds) for name, task in tasks.items()}
        self._lock = threading.Lock()
        self._active: dict[SessionKey, Session] = {}
        self._halted = False
        self._redactions = [text for texts in observers.call("finassay_add_redactions") for text in texts if text]
        self._redactions += built.models.secrets()
        for maker in built.agents.values():
            self._redactions += [v for name in maker.sample.capabilities.credentials if len(v := os.environ.get(name, "")) >= 8]
        if built.gateway is not None:
            self._redactions += built.gateway.secrets()
        self.left: dict[SessionKey, FinassayError] = {}
        """Sessions that could not go on and have not ended, with the reason."""
        self._over: FinassayError | None = None
        """Why nothing more is begun, once that is so."""
        self._agents_over: dict[str, FinassayError] = {}
        """The same for all sessions of one agent, by its alias."""
        self._boxes = Limiter("boxes", settings.boxes, None, folder.root / LOCKS if settings.boxes else None)

    def keys(self) -> list[SessionKey]:
        """The sessions that the settings ask for, repeat by repeat, so that a stopped run is balanced."""
        return [
            SessionKey(alias, task, repeat)
            for repeat in range(1, self.settings.sessions + 1)
            for task in self.tasks
            for alias in self.built.agents
        ]

    def plan(self) -> list[Planned]:
        return [plan_session(self.folder, key, self.identity(key), INVALID) for key in self.keys()]

    def identity(self, key: SessionKey) -> dict[str, Any]:
        task, maker, built = self.tasks[key.task], self.built.agents[key.agent], self.built
        simulator = {
            **to_json(built.simulator_origin),
            "program_version": built.simulator.version,
            "options": self.settings.simulator.options,
            **({"identity": dict(built.simulator_identity)} if built.simulator_identity else {}),
        }
        sandbox = {**to_json(built.sandbox_origin), "isolation": to_json(built.sandbox.isolation), "memory_gb": self.settings.memory_gb}
        if (room := self._room()) != Room():
            sandbox |= {"workspace": to_json(room)}
        brief = make_brief(task, "", self._channels(task))
        return session_identity(
            task,
            key.repeat,
            self.settings.seed,
            maker.sample,
            maker.offer.origin,
            {**maker.choice.options, **({"models": dict(maker.models.asked)} if maker.models.asked else {})},
            maker.identity,
            simulator,
            sandbox,
            built.personas[task.persona][1],
            brief.instructions,
        )

    def learn(self, key: SessionKey) -> str:
        """Let the agent of a graded session learn from it, if it does; a line about it, or empty. No grade depends on it."""
        return learn(self.folder, self.tasks[key.task], key, self.built.agents[key.agent], self._redact)

    def run(self, plan: list[Planned], progress: Progress, after: Callable[[SessionKey], None], stop: threading.Event) -> None:
        """Hold what the plan says; `after` is called for every session that has ended, also for reused ones.

        What cannot go on now stands in `left` afterwards. Once the money of the run is spent, or the provider of the user's model refuses
        whatever it is asked, nothing more is begun.

        Interrupted by `KeyboardInterrupt`, it gives up the turns in progress, holds nothing more and raises it again within seconds; what
        was finished stands, and the same plan goes on from there.
        """
        self.built.models.calls = progress.called
        waiting: SimpleQueue[Planned] = SimpleQueue()
        finished: SimpleQueue[tuple[SessionKey, bool | Exception]] = SimpleQueue()
        for planned in plan:
            waiting.put(planned)

        def work() -> None:
            while not stop.is_set():
                try:
                    planned = waiting.get_nowait()
                except Empty:
                    return
                try:
                    finished.put((planned.key, self._session(planned, progress, stop)))
                except Unfinished as unfinished:
                    self._leave(planned.key, unfinished, progress)
                    finished.put((planned.key, False))
                except Exception as error:  # the folder cannot be read or written: raised where the run was asked for
                    finished.put((planned.key, error))

        # Daemons, so that a call which nothing can end (a model's answer, say) never keeps an interrupted program alive.
        for number in range(min(self.settings.jobs or os.cpu_count() or 1, len(plan))):
            threading.Thread(target=work, name=f"session-{number}", daemon=True).start()
        try:
            for _ in plan:
                key, ended = finished.get()
                if isinstance(ended, Exception):
                    raise ended
                if ended:
                    after(key)
        except BaseException:
            stop.set()
            self._halt()
            raise
        finally:
            if self.built.gateway is not None:
                self.built.gateway.close()

    def _leave(self, key: SessionKey, unfinished: Unfinished, progress: Progress) -> None:
        reason = unfinished.reason
        with self._lock:
            self.left[key] = reason
            again = any(str(other) == str(reason) for name, other in self.left.items() if name != key)
            if isinstance(reason, RunBudgetError):
                self._over = reason
            elif isinstance(reason, ProviderRefusedError) and (reason.any_request or again):
                if unfinished.of_agent:
                    self._agents_over.setdefault(key.agent, reason)
                else:
                    self._over = self._over or reason  # one user plays in all sessions: it would be refused in each
        progress.left(key, reason)

    def _halt(self) -> None:
        with self._lock:
            self._halted = True
            active = list(self._active.values())
        for session in active:
            session.halt()

    def _session(self, planned: Planned, progress: Progress, stop: threading.Event) -> bool:
        """Hold one session, again if it did not count; whether it has ended. Raises `Unfinished`."""
        if planned.step in ("reuse", "give up"):
            return True
        key = planned.key
        over = self._over or self._agents_over.get(key.agent)
        if over is not None:
            if isinstance(over, ProviderRefusedError):
                with self._lock:
                    self.left[key] = over
            return False
        if planned.step == "rerun":
            self.folder.set_aside(key, str(self.folder.state(key).ended))
        while not stop.is_set():
            progress.started(key, planned)
            self.observers.call("finassay_session_started", session=key.id, agent=key.agent, task=key.task)
            ending = self._hold(key, progress)
            if stop.is_set() and not self.folder.state(key).ended:
                return False
            self.observers.call("finassay_session_ended", session=key.id, reason=ending.reason, detail=ending.detail)
            progress.ended(key, ending)
            if ending.reason not in INVALID or self.folder.times_set_aside(key) >= MAX_RERUNS:
                return True
            self.folder.set_aside(key, ending.reason)
        return False

    def _hold(self, key: SessionKey, progress: Progress) -> Ending:
        identity = self.identity(key)
        events, sealed = self.folder.events(key)
        workspace = self.folder.workspace(key)
        workspace.mkdir(parents=True, exist_ok=True)
        maker = self.built.agents[key.agent]
        try:
            with ExitStack() as stack:
                here = stack.enter_context(serving(key.id, again=self.folder.times_set_aside(key)))
                agent = maker.make()
                identity = self._begun(key, agent, identity)
                access = self._access(key, agent.capabilities, here, stack)
                box = self._box(key, agent.capabilities, access, stack)
                tells_itself = access is None and not maker.models.asked
                ledger = self.built.models.ledger if tells_itself else None
                observer = _SessionObserver(key, self.observers, progress, here, ledger, maker.choice.id)
                who = evolve(self._participants(key, agent, box, access), begun_with=identity.get(BEGUN_WITH, {}))
                if access is None and maker.models.asked:
                    who = evolve(who, metered=self._by_ledger(key, stack))
                session = Session(
                    who, Store(events, sealed, self.folder.blobs, workspace, room=self._room()), seed=self._seed(key), observer=observer
                )
                with self._lock:
                    if self._halted:
                        raise Halted
                    self._active[key] = session
                return session.hold(identity, digest_of(identity))
        except Unfinished:
            raise
        except (Halted, Frozen):
            return Ending("environment_error", "stopped", Blame.HARNESS)  # nobody sees it: the program is ending
        except Exception as error:  # a session that fails, in our code or another's, never stops the rest
            return self._failed(events, sealed, identity, error)
        finally:
            with self._lock:
                self._active.pop(key, None)
            events.close()
            sealed.close()

    def _begun(self, key: SessionKey, agent: Agent, identity: dict[str, Any]) -> dict[str, Any]:
        """The identity with what the agent begins the session with, or began it with where it is resumed."""
        begins_with = getattr(agent, "begins_with", None)
        if not callable(begins_with):
            return identity
        recorded = self.folder.state(key).identity
        return {**identity, BEGUN_WITH: recorded.get(BEGUN_WITH, {}) if recorded else to_json(begins_with())}

    def _participants(self, key: SessionKey, agent: Agent, box: Box | None, access: SessionAccess | None) -> Participants:
        task = self.tasks[key.task]
        brief = make_brief(task, self.folder.workspace(key).name, self._channels(task))
        who = Participants(
            task=task,
            persona=self.built.personas[task.persona][0],
            agent=agent,
            simulator=self.built.simulator,
            brief=brief,
            box=box,
            probe=lambda: self.built.sandbox.probe().ok,
            redact=self._redact,
            afford=self.built.models.afford,
        )
        if access is None:
            return who
        token = access.session.access.token
        return evolve(
            who,
            access=access.session.access,
            metered=access.metered,
            redact=lambda text: without_secrets(text, [*self._redactions, token]),
        )

    def _by_ledger(self, key: SessionKey, stack: ExitStack) -> Callable[[Usage], Usage]:
        """What a turn used of an agent that talks to the run's own models: as they were metered and priced, all tries of the turn."""
        since = stack.enter_context(self.built.models.ledger.following(key.id, AGENT))

        def used(own: Usage) -> Usage:
            calls = since()
            return summed(calls) if calls else own

        return used

    def _access(self, key: SessionKey, capabilities: AgentCapabilities, here: Serving, stack: ExitStack) -> SessionAccess | None:
        """The session's way through the gateway; None if its agent needs none. Raises `SandboxError`, `ProviderError`."""
        channels, gateway = self._channels(self.tasks[key.task]), self.built.gateway
        if gateway is None or not needs_gateway(capabilities, channels):
            return None
        context = copy_context()  # calls are paid for this session, from whatever thread they come
        log = EventLog(self.folder.session_path(key) / LOG)
        meter = Meter(log, self.built.models.ledger, here, lambda upstream: prices_of(self.settings, upstream))
        access = open_access(gateway, capabilities, channels, self.settings, meter, lambda: context.copy().run(self.built.models.afford))
        stack.callback(access.close)
        return access

    def _box(self, key: SessionKey, capabilities: AgentCapabilities, access: SessionAccess | None, stack: ExitStack) -> Box | None:
        """Where the agent's processes run; None for one that has none. Waits while as many boxes are open as may be."""
        if not capabilities.uses_box:
            return None
        stack.enter_context(self._boxes.place())
        box = self.built.sandbox.open(self._box_spec(key, capabilities, access))
        stack.callback(box.close)
        return box

    def _channels(self, task: Task) -> tuple[ChannelSpec, ...]:
        return tuple(self.built.channels[c] for c in task.conditions.channels)

    def _failed(self, events: EventLog, sealed: EventLog, identity: dict[str, Any], error: Exception) -> Ending:
        blame = error.blame if isinstance(error, FinassayError) else Blame.HARNESS
        state = restore(events, sealed)
        if state.ended is not None:  # what failed was the clearing up
            return Ending(state.ended, state.end_detail)  # type: ignore[arg-type]
        ending = Ending("environment_error", self._redact(f"{type(error).__name__}: {error}")[:500], blame)
        events.append({"type": "session", "schema_version": 1, "identity": identity, "digest": digest_of(identity)})
        events.append(end_event(ending.reason, ending.detail, ending.blame.value))
        return ending

    def _room(self) -> Room:
        return Room(self.settings.workspace_files, int(self.settings.workspace_gb * 2**30))

    def _box_spec(self, key: SessionKey, capabilities: AgentCapabilities, access: SessionAccess | None) -> BoxSpec:
        task, maker = self.tasks[key.task], self.built.agents[key.agent]
        return BoxSpec(
            workspace=self.folder.workspace(key),
            readable=(*capabilities.readable, *(path for channel in self._channels(task) for path in channel.readable)),
            hidden=masked_packages(keep={maker.offer.distribution, *(part.distribution for part in maker.parts)}),
            environment=dict(capabilities.environment),
            network=task.conditions.network,
            services=access.session.services if access else (),
            limits=Limits(memory_bytes=int(self.settings.memory_gb * 2**30), reserved_bytes=capabilities.reserved_bytes),
        )

    def _seed(self, key: SessionKey) -> int:
        return int(hashlib.sha256(f"{self.settings.seed}|{key.task}|{key.repeat}".encode()).hexdigest()[:12], 16)

    def _redact(self, text: str) -> str:
        return without_secrets(text, self._redactions)
