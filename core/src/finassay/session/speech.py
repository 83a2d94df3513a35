"""What a simulated user is about to say: asked for, checked, asked for again, labelled.

A decision that breaks a rule is never sent. One that breaks none and still gives away or misleads is refused as well for the first
tries, if the simulator can do otherwise; after that it is sent with its label, because a session is not void for a hint.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar

from attrs import define, evolve, field, frozen

from finassay.api.errors import SimulatorError
from finassay.api.labels import Conduct, UserLabel
from finassay.api.scorecard import UserTurn
from finassay.api.simulator import DisclosureChecker, DisclosureVerdict, Rejection, Scene, Simulator
from finassay.api.strategy import Item
from finassay.records.convert import to_json
from finassay.session.disclosure import Disclosure, Heard
from finassay.session.labels import labelled

T = TypeVar("T")

SOFT_TRIES: Final = 2
"""How often a message that breaks no rule is refused for a critical label."""


@frozen
class Attempt(Generic[T]):
    """One answer of a simulator with what the rules of decisions say about it."""

    answer: T
    text: str
    problems: tuple[Rejection, ...]
    action: str = "open"


@frozen
class Sent(Generic[T]):
    """An answer that may be sent."""

    answer: T
    text: str
    heard: Heard
    label: UserLabel
    tries: int
    """How many answers were refused before it."""


@define
class Speech(Generic[T]):
    """The tries of one user turn."""

    disclosure: Disclosure
    scene: Scene
    agent_message: str
    simulator: Simulator
    rejections: tuple[Rejection, ...] = ()
    """Of all tries so far."""
    text: str = ""
    """Of the last try."""
    sent: Sent[T] | None = None
    _verdicts: dict[tuple[str, ...], DisclosureVerdict | None] = field(factory=dict)

    def take(self, attempt: Callable[[tuple[Rejection, ...]], Attempt[T]], tries: int) -> tuple[Rejection, ...]:
        """Make one try; why it is refused, or nothing, and then `sent` holds it."""
        try:
            made = attempt(self.rejections)
        except SimulatorError as error:
            self.text = ""
            return self._refused((Rejection("no-decision", f"no decision came: {error}"),))
        self.text = made.text
        opening = not self.scene.conversation.messages
        heard = self.disclosure.read(made.text, self.agent_message, self._ask(made.text), opening=opening)
        problems = (*made.problems, *heard.rejections)
        if problems:
            return self._refused(problems)
        label = labelled(made.text, made.action, self.scene, self.disclosure, heard)
        self.sent = Sent(made.answer, made.text, heard, label, tries)
        critical = tuple(slip for slip in label.slips if slip.effect in (Conduct.HELPED, Conduct.HINDERED))
        if critical and tries < SOFT_TRIES and not self.simulator.deterministic:
            return self._refused(tuple(Rejection(slip.kind, f"the message {slip.reason}: {slip.quote[:200]!r}") for slip in critical))
        return ()

    def _refused(self, problems: tuple[Rejection, ...]) -> tuple[Rejection, ...]:
        self.rejections = (*self.rejections, *problems)
        return problems

    def _ask(self, text: str) -> Callable[[tuple[Item, ...]], DisclosureVerdict | None] | None:
        checker = self.simulator
        if not isinstance(checker, DisclosureChecker):
            return None

        def ask(items: tuple[Item, ...]) -> DisclosureVerdict | None:
            key = (text, *(item.id for item in items))
            if key not in self._verdicts:  # one message is asked about once
                try:
                    self._verdicts[key] = checker.check_disclosure(items, text, self.agent_message, self.scene.seed)
                except SimulatorError:  # the matcher alone decides
                    self._verdicts[key] = None
            return self._verdicts[key]

        return ask


def disclosure_events(turn: int, heard: Heard, label: UserLabel) -> tuple[Mapping[str, Any], ...]:
    """The sealed lines of a message: what was raised, told and left open by it, the second check's verdict, and the label with its reasons."""
    state = heard.after
    disclosure = {
        "type": "disclosure",
        "turn": turn,
        "stated": sorted(state.stated),
        "told": sorted(heard.told),
        "raised": sorted(heard.raised),
        "undecided": sorted(state.undecided),
    }
    if heard.verdict is not None:
        disclosure["checked"] = {"items": sorted(heard.doubtful), **to_json(heard.verdict)}
    return disclosure, {"type": "label", **to_json(label)}


def labelled_turn(turn: UserTurn, label: UserLabel) -> UserTurn:
    """What is stored in the open beside a message: its label and the kinds of its slips, without what they were about."""
    return evolve(turn, label=label.label.value, slips=tuple(dict.fromkeys(slip.kind for slip in label.slips)))
