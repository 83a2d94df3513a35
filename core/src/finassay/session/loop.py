"""Holding a session: u0, a1, u1, … until the user is satisfied, gives up, or a limit is reached."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from attrs import Factory, evolve, frozen

from finassay.api.agent import Agent, Setting
from finassay.api.conversation import Message
from finassay.api.delivery import DeliveredFile, Delivery, EndReason, TurnFacts
from finassay.api.errors import (
    AgentError,
    Blame,
    BudgetError,
    FinassayError,
    IntegrityError,
    ProviderError,
    ProviderRefusedError,
    ResourceLimitError,
    SimulatorError,
)
from finassay.api.gateway import Access
from finassay.api.persona import Persona
from finassay.api.sandbox import Box
from finassay.api.scorecard import UserTurn
from finassay.api.simulator import Decision, Excerpt, Rejection, Scene, Simulator
from finassay.api.task import Brief, Task
from finassay.api.usage import Usage
from finassay.records.blobs import BlobStore
from finassay.records.convert import to_json
from finassay.records.events import EventLog, SessionState, agent_event, end_event, restore, user_event
from finassay.records.masking import without_passages
from finassay.session.disclosure import Disclosure
from finassay.session.excerpts import excerpts
from finassay.session.intake import IntakeLimits, prepare_delivery, restore_delivery, take_delivery
from finassay.session.room import Lookout, Room, excess
from finassay.session.speech import Attempt, Sent, Speech, disclosure_events, labelled_turn
from finassay.session.turns import AgentThread, TurnOutcome, run_turn
from finassay.session.validation import MAX_REGENERATIONS, validate, validate_opening

T = TypeVar("T")


class Observer(Protocol):
    """Is told what happens; can change nothing."""

    def turn_started(self, turn: int) -> None: ...
    def turn_finished(self, turn: int, cut: bool, seconds: float, files: int) -> None: ...
    def user_asked(self, turn: int, tries: int, where: str) -> None: ...
    def user_spoke(self, turn: int, action: str) -> None: ...
    def agent_used(self, turn: int, usage: Usage) -> None: ...


class NullObserver:
    def turn_started(self, turn: int) -> None:
        pass

    def turn_finished(self, turn: int, cut: bool, seconds: float, files: int) -> None:
        pass

    def user_asked(self, turn: int, tries: int, where: str) -> None:
        pass

    def user_spoke(self, turn: int, action: str) -> None:
        pass

    def agent_used(self, turn: int, usage: Usage) -> None:
        pass


@frozen
class Participants:
    """Built objects; the loop does not know where they came from."""

    task: Task
    persona: Persona
    agent: Agent
    simulator: Simulator
    brief: Brief
    box: Box | None
    """None for an agent that runs no processes."""
    probe: Callable[[], bool] = lambda: True
    """Whether the environment still works; asked before a failure is laid at the agent's door."""
    redact: Callable[[str], str] = lambda text: text
    """Takes secrets out of what an agent says before it is stored."""
    afford: Callable[[], None] = lambda: None
    """Asked before each turn of the agent. Raises `BudgetError` when nothing more may be spent."""
    access: Access | None = None
    """The agent's way to model APIs and channels."""
    metered: Callable[[Usage], Usage] = lambda own: own
    """What a turn used, given what the agent says of it; asked when the turn's processes have ended."""
    begun_with: Mapping[str, Any] = Factory(dict)
    """What the agent said before the session began (`Agent.begins_with`)."""


@frozen
class Store:
    """Where a session is kept."""

    events: EventLog
    sealed: EventLog
    blobs: BlobStore
    workspace: Path
    limits: IntakeLimits = IntakeLimits()
    room: Room = Room()


@frozen
class Ending:
    reason: EndReason
    detail: str = ""
    blame: Blame = Blame.AGENT


class Unfinished(Exception):
    """The session cannot go on now and has not ended: a model is out of reach, or the money is spent. It can be resumed.

    `of_agent` says that it is the agent's model, not the user's.
    """

    def __init__(self, reason: ProviderError | BudgetError, *, of_agent: bool = False) -> None:
        super().__init__(str(reason))
        self.reason, self.of_agent = reason, of_agent


class _Ended(Exception):
    def __init__(self, ending: Ending) -> None:
        super().__init__(ending.reason)
        self.ending = ending


class Session:
    """One session, from its first word or from where it was left."""

    def __init__(self, who: Participants, store: Store, *, seed: int = 0, observer: Observer | None = None) -> None:
        self.who, self.store, self.seed = who, store, seed
        self.observer = observer or NullObserver()
        self.state = SessionState()
        self.disclosure = Disclosure(who.task.belief)
        self.thread = AgentThread()
        self._excerpts: tuple[tuple[DeliveredFile, ...], tuple[Excerpt, ...]] = ((), ())

    def hold(self, identity: dict[str, object], digest: str) -> Ending:
        """Run to the end and record it. Goes on after the last finished turn if the session was recorded before. Raises `Unfinished`."""
        self.state = restore(self.store.events, self.store.sealed)
        if self.state.ended is not None:
            return Ending(self.state.ended, self.state.end_detail)  # type: ignore[arg-type]
        if not self.state.identity:
            self.store.events.append({"type": "session", "schema_version": 1, "identity": identity, "digest": digest}, sync=False)
        else:
            self.store.events.append({"type": "resumed", "after_turn": self.state.turn})
        self.disclosure = Disclosure(self.who.task.belief, self.state.stated)
        ending = self._converse()
        self.store.events.append(end_event(ending.reason, ending.detail, ending.blame.value))
        return ending

    def halt(self) -> None:
        """Give the session up at once, from another thread: nothing more is recorded, its processes end, and it can be resumed."""
        self.store.events.freeze()
        self.store.sealed.freeze()
        self.thread.halt()
        if self.who.box is not None:
            self.who.box.stop()

    def _converse(self) -> Ending:
        try:
            if not self.state.conversation.messages:
                self._open()
            self._prepare_workspace()
            self._call_agent(self.who.agent.start, self._setting())
            while True:
                if self.state.awaits_agent:
                    if self.state.turn >= self.who.task.conditions.max_turns:
                        return Ending("turn_limit", f"{self.state.turn} turns used", Blame.AGENT)
                    self._agent_turn()
                self._user_turn()
        except _Ended as ended:
            return ended.ending
        except (ProviderError, BudgetError) as error:  # other failures of the agent have become endings
            raise Unfinished(error) from error
        finally:
            self._finalize()

    def _setting(self) -> Setting:
        return Setting(self.who.brief, self.who.box, self.state.conversation, self.who.access, self.who.begun_with)  # type: ignore[arg-type]

    def _prepare_workspace(self) -> None:
        prepare_delivery(self.store.workspace)
        if self.state.deliveries:
            restore_delivery(self.store.workspace, self.state.deliveries[-1], self.store.blobs)

    def _finalize(self) -> None:
        try:
            self.who.agent.finalize()
        except Exception:  # somebody else's code: the session is over, its outcome stands
            pass
        finally:
            self.thread.leave()
            if self.who.box is not None:
                self.who.box.stop()

    # -- the agent --------------------------------------------------------------------------------------------------

    def _agent_turn(self) -> None:
        self.who.afford()
        turn = self.state.turn + 1
        message = self.state.conversation.messages[-1].text
        self.observer.turn_started(turn)
        outcome, failures = self._attempt(turn, message)
        outcome = evolve(outcome, usage=self.who.metered(outcome.usage))
        if (waits := _waits(outcome.error)) is not None:
            self.observer.agent_used(turn, outcome.usage)
            raise Unfinished(waits, of_agent=True) from outcome.error
        delivery = take_delivery(self.store.workspace, turn, self.store.blobs, self.store.limits)
        facts = TurnFacts(turn, round(outcome.seconds, 3), outcome.cut, failures)
        reply = Message(f"a{turn}", turn, "agent", outcome.text, outcome.cut)
        metered = self.who.access is not None and bool(self.who.access.urls)
        self.store.events.append(agent_event(reply, delivery, facts, outcome.log, outcome.usage, metered=metered))
        self._remember(reply, delivery, facts, outcome)
        self.observer.agent_used(turn, outcome.usage)
        self.observer.turn_finished(turn, outcome.cut, outcome.seconds, len(delivery.files))
        self._check_limits(delivery)
        if outcome.error is not None:
            raise _Ended(self._ending_of(outcome.error))

    def _attempt(self, turn: int, message: str) -> tuple[TurnOutcome, int]:
        """The turn, tried once more if the agent's program failed and time is left."""
        seconds = self.who.task.conditions.turn_seconds
        outcome = self._once(turn, message, seconds)
        if isinstance(outcome.error, AgentError) and outcome.error.retry and outcome.seconds < seconds:
            second = self._once(turn, message, seconds - outcome.seconds)
            failures = 1 + (second.error is not None)
            return evolve(second, seconds=outcome.seconds + second.seconds, log=(*outcome.log, *second.log)), failures
        return outcome, int(outcome.error is not None)

    def _once(self, turn: int, message: str, seconds: float) -> TurnOutcome:
        """One try of a turn. Whatever else came of it, a workspace that holds too much ends the session."""
        workspace, room = self.store.workspace, self.store.room
        lookout = Lookout(lambda: excess(workspace, room))
        outcome = run_turn(self.who.agent, self.who.box, message, turn, seconds, self.who.redact, self.thread, lookout)
        if self.who.box is None or isinstance(outcome.error, ResourceLimitError) or not (found := excess(workspace, room, quiet=True)):
            return outcome
        return evolve(outcome, error=ResourceLimitError(found))

    def _remember(self, reply: Message, delivery: Delivery, facts: TurnFacts, outcome: TurnOutcome) -> None:
        self.state.conversation = self.state.conversation.with_message(reply)
        self.state.deliveries = (*self.state.deliveries, delivery)
        self.state.turns = (*self.state.turns, facts)
        self.state.log = (*self.state.log, *outcome.log)
        self.state.seconds += facts.seconds

    def _check_limits(self, delivery: Delivery) -> None:
        conditions = self.who.task.conditions
        if conditions.session_seconds is not None and self.state.seconds > conditions.session_seconds:
            raise _Ended(Ending("resource_limit", f"{self.state.seconds:.0f} s used of {conditions.session_seconds:.0f} s"))
        if sum(f.size for f in delivery.files) > conditions.max_delivery_bytes:
            raise _Ended(Ending("resource_limit", f"more than {conditions.max_delivery_bytes:,} bytes delivered"))

    def _call_agent(self, call: Callable[[Setting], None], setting: Setting) -> None:
        try:
            call(setting)
        except Exception as error:  # somebody else's code: classified
            raise _Ended(self._ending_of(error)) from error

    def _ending_of(self, error: BaseException) -> Ending:
        """Whose failure it was. What is not one of our classes is unknown and does not count."""
        detail = self.who.redact(f"{type(error).__name__}: {error}")[:500]
        if isinstance(error, IntegrityError):
            return Ending("integrity_violation", detail, Blame.AGENT)
        if isinstance(error, ResourceLimitError):
            return Ending("resource_limit", self.who.redact(str(error))[:500], Blame.AGENT)
        if isinstance(error, AgentError) and self.who.probe():
            return Ending("agent_error", detail, Blame.AGENT)
        blame = error.blame if isinstance(error, FinassayError) and not isinstance(error, AgentError) else Blame.HARNESS
        return Ending("environment_error", detail, blame)

    # -- the user ---------------------------------------------------------------------------------------------------

    def _scene(self) -> Scene:
        last = self.state.conversation.last("agent")
        delivered = self.state.deliveries[-1].files if self.state.deliveries else ()
        if delivered != self._excerpts[0]:  # what did not change reads as it did
            self._excerpts = (delivered, excerpts(self.state.deliveries, self.store.blobs))
        return Scene(
            task=self.who.task,
            persona=self.who.persona,
            conversation=self.state.conversation,
            excerpts=self._excerpts[1],
            files=tuple(f.path for f in delivered),
            stated=self.disclosure.stated,
            cut=bool(last and last.cut),
            turns_left=self.who.task.conditions.max_turns - self.state.turn,
            seed=self.seed,
        )

    def _open(self) -> None:
        scene, started = self._scene(), time.monotonic()
        simulator = self.who.simulator

        def attempt(rejections: tuple[Rejection, ...]) -> Attempt[str]:
            text = self._ask_simulator(lambda: simulator.open(scene, rejections))
            return Attempt(text, text, validate_opening(text, scene))

        sent = self._regenerated(scene, "", attempt)
        self._user_said(sent, 0, UserTurn(0, "open", sent.tries), time.monotonic() - started)

    def _user_turn(self) -> None:
        scene, started = self._scene(), time.monotonic()
        simulator, turn = self.who.simulator, self.state.turn

        def attempt(rejections: tuple[Rejection, ...]) -> Attempt[Decision]:
            decision = self._ask_simulator(lambda: simulator.decide(scene, rejections))
            return Attempt(decision, decision.message, validate(decision, scene), decision.action)

        sent = self._regenerated(scene, self.state.conversation.messages[-1].text, attempt)
        seen = {o.goal: o.status for o in sent.answer.observations}
        decision = UserTurn(turn, sent.answer.action, sent.tries, seen)
        self._user_said(sent, turn, decision, time.monotonic() - started)
        self._conclude(sent.answer)

    def _regenerated(self, scene: Scene, heard: str, attempt: Callable[[tuple[Rejection, ...]], Attempt[T]]) -> Sent[T]:
        """The first answer that may be sent; every try is told what was wrong with all before it. Otherwise the session is void."""
        speech: Speech[T] = Speech(self.disclosure, scene, heard, self.who.simulator)
        for tries in range(MAX_REGENERATIONS + 1):
            self.observer.user_asked(self.state.turn, tries, self._where(scene))
            problems = speech.take(attempt, tries)
            if not problems:
                break
            self._refused(self.state.turn, tries, speech.text, problems)
        if speech.sent is None:
            raise _Ended(self._void(speech.rejections))
        return speech.sent

    def _where(self, scene: Scene) -> str:
        """Where a person is asked, if the simulator says so; somebody else's code, and only for people to read."""
        tells = getattr(self.who.simulator, "waits_at", None)
        if not callable(tells):
            return ""
        try:
            return str(tells(scene))
        except Exception:  # the answer itself tells what is wrong
            return ""

    def _ask_simulator(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except (ProviderError, BudgetError):  # not the simulator's failure: the session waits
            raise
        except SimulatorError as error:  # a try without a decision: made again like an invalid one
            if isinstance(error.__cause__, ProviderError | BudgetError):
                raise error.__cause__ from error
            raise
        except Exception as error:  # somebody else's code: without a decision there is no session
            raise _Ended(Ending("simulator_void", self._in_the_open(error), Blame.SIMULATOR)) from error

    def _in_the_open(self, error: Exception) -> str:
        """What may be said of an error of the user's side in the open record: its message may quote the belief or a key."""
        return self._open_words(f"{type(error).__name__}: {error}")

    def _open_words(self, text: str) -> str:
        """A text of the user's side without keys and passages of the belief."""
        said = self.who.redact(text[:2_000])
        return without_passages(said, _texts(to_json(self.who.task.belief)))[:500]

    def _user_said(self, sent: Sent[Any], turn: int, decision: UserTurn, seconds: float) -> None:
        """Disclosure and label first: if a crash falls between the writes, the sealed lines have no message and are ignored."""
        self.disclosure = sent.heard.after
        message, decision = Message(f"u{turn}", turn, "user", sent.text), labelled_turn(decision, sent.label)
        self.store.sealed.append(*disclosure_events(turn, sent.heard, sent.label), sync=False)
        self.store.events.append(user_event(message, decision, seconds), sync=False)  # synced with the agent's next turn or the end
        self.state.conversation = self.state.conversation.with_message(message)
        self.state.user_turns = (*self.state.user_turns, decision)
        self.observer.user_spoke(turn, decision.action)

    def _refused(self, turn: int, tries: int, text: str, rejections: tuple[Rejection, ...]) -> None:
        reasons = [{"rule": r.rule, "reason": r.reason} for r in rejections]
        self.store.sealed.append({"type": "refused", "turn": turn, "try": tries, "message": text[:20_000], "reasons": reasons}, sync=False)

    def _void(self, rejections: tuple[Rejection, ...]) -> Ending:
        rules = ", ".join(sorted({r.rule for r in rejections}))
        # Reasons of other rules quote the message, which may hold what is sealed.
        why = next((f"; the last time {self._open_words(r.reason)}" for r in reversed(rejections) if r.rule == "no-decision"), "")
        return Ending("simulator_void", f"no valid decision after {MAX_REGENERATIONS} regenerations ({rules}){why}", Blame.SIMULATOR)

    def _conclude(self, decision: Decision) -> None:
        if decision.action == "close":
            raise _Ended(Ending("satisfied", "", Blame.USER))
        if decision.action == "block":
            reason: EndReason = "agent_gave_up" if decision.block_reason in ("gave_up", "refused") else "user_walked_away"
            raise _Ended(Ending(reason, decision.block_reason or "", Blame.AGENT))


def _waits(error: BaseException | None) -> ProviderError | BudgetError | None:
    """Why an agent's turn is made again later: the money is spent, or its provider is away or refuses whatever it is asked.

    A provider that refuses the one request is another matter: it would be refused for ever.
    """
    for one in (error, getattr(error, "__cause__", None)):
        if isinstance(one, BudgetError):
            return one
        if isinstance(one, ProviderError) and not (isinstance(one, ProviderRefusedError) and not one.any_request):
            return one
    return None


def _texts(value: Any) -> list[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inside for text in _texts(one)]
