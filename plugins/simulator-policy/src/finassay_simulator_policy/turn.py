"""A turn of the user: what was heard and seen, what is said to it, and what the decision is."""

from collections.abc import Iterator

from finassay.api.conversation import Message
from finassay.api.matching import raised
from finassay.api.simulator import Action, Decision, Observation, Scene
from finassay.api.strategy import Item
from finassay_simulator_policy.conduct import Leaving, objections, reason_to_leave
from finassay_simulator_policy.hearing import Heard, Point, bounded, hear
from finassay_simulator_policy.reading import Off, Received, off, received, tells_results, unmentioned
from finassay_simulator_policy.speech import Speech, listed, sayable, unheard

BROAD = (
    "That is a lot at once. Ask me about one part of it and I will tell you.",
    "I cannot put all of it into words like that. Ask about a specific part and you get a specific answer.",
    "Too broad for me. Name the part that you need to know about.",
    "I would not know where to begin. Take it part by part, then I can be exact.",
)
REST = "the rest"
PLAIN_GO_AHEAD = "Please go on."


class Turn:
    """One decision in the making. Everything is derived from the scene."""

    def __init__(self, scene: Scene, patience: int, salt: int = 0) -> None:
        self.scene, self.patience = scene, patience
        belief = scene.task.belief
        self.last = scene.conversation.last("agent") or Message("a0", 0, "agent", "")
        self.text = bounded(self.last.text)
        self.delivered = bool(scene.files) or tells_results(self.text)
        self.heard: Heard = hear(belief, self.text, self.delivered)
        self.received: Received = received(scene)
        allowed = scene.stated | raised(sayable(belief), self.text)
        self.speech = Speech(belief, scene.persona, allowed, scene.seed, self.last.turn, salt, " ".join(self._said()))
        reacted = {point.item.id for point in self.heard.points}
        self.off = tuple(o for o in (*off(scene, self.text, self.delivered), *self._forgotten()) if o.item.id not in reacted)

    def _forgotten(self) -> Iterator[Off]:
        """Pieces that were told and are nowhere to be seen: said once, since the words may have escaped the user."""
        if self.received.complete:
            yield from (o for o in unmentioned(self.scene) if not objections(self.scene, o.item.piece))

    def decision(self) -> Decision:
        if self._satisfied():
            return self._close()
        leaving = reason_to_leave(self.scene, self.off, self.patience)
        return self._leave(leaving) if leaving else self._go_on()

    # -- endings ----------------------------------------------------------------------------------------------------

    def _satisfied(self) -> bool:
        """Everything is there and nothing visibly wrong; a question that could still change the work is answered first."""
        if not self.received.complete or self.off or any(p.manner == "object" for p in self.heard.points):
            return False
        if self.scene.turns_left <= 0:
            return True
        pending = any(p.asked and p.item.id not in self.scene.stated for p in self.heard.points)
        return not (self.scene.cut or pending)

    def _close(self) -> Decision:
        message = self.speech.say(self.scene.persona.voice.closings, "closing", "That is what I needed, thank you.")
        return self._decided("close", message)

    def _leave(self, leaving: Leaving) -> Decision:
        message = self.speech.say(self.scene.persona.voice.leavings, "leaving", "I will leave it at that.")
        said = unheard(message, self._said(), self.last.turn)
        return Decision("block", self._observations(), said, leaving.evidence, leaving.reason)

    # -- going on ---------------------------------------------------------------------------------------------------

    def _go_on(self) -> Decision:
        voice = self.scene.persona.voice
        parts: list[str] = []
        if self.scene.cut:
            parts.append(self.speech.say(voice.cut, "cut", "Your reply broke off, please go on."))
        replies = self._replies()
        pieces = [self.speech.say(voice.off_pieces, f"off|{piece}", "{piece} is off.", piece=piece) for piece in self._pieces()]
        parts += [*replies, *pieces, *self._openness(), *self._missing()]
        if self.heard.everything and not replies:
            parts.append(self.speech.say(BROAD, "broad", BROAD[0]))
        parts = [part for part in parts if part]
        message = " ".join(parts) or self.speech.say(voice.go_aheads, "go", PLAIN_GO_AHEAD)
        return self._decided(self._action(replies), unheard(message, self._said(), self.last.turn))

    def _replies(self) -> list[str]:
        """To each thing asked or proposed its answer, in the order of asking."""
        said: list[str] = []
        for point in self._to_answer():
            if not self.speech.tells(said, point.item):
                said.append(self.speech.tell(self._variants(point), point.item, point.manner, step=len(said)))
        return [text for text in said if text]

    def _to_answer(self) -> list[Point]:
        """An agreeing plan about something told before needs no word; a level says its rule as well and goes first where both are asked."""
        points = [p for p in self.heard.points if not (p.manner == "confirm" and not p.asked and p.item.id in self.scene.stated)]
        valued = {p.item.component for p in points if p.item.number is not None}
        implied = {p.item.id for p in points if p.item.number is None and p.item.component in valued and self._implied(p.item, points)}
        return [p for p in points if p.item.id not in implied]

    def _implied(self, item: Item, points: list[Point]) -> bool:
        return any(self.speech.tells([p.item.sentence], item) for p in points if p.item is not item and p.item.number is not None)

    def _variants(self, point: Point) -> tuple[str, ...]:
        voice = self.scene.persona.voice
        return {"answer": voice.answers, "confirm": voice.confirmations, "object": voice.objections}[point.manner]

    def _pieces(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(found.item.piece for found in self.off))

    def _openness(self) -> list[str]:
        names = list(self.heard.open_names)
        if self.heard.other:
            names.append(REST if names or self.heard.points else "that")
        if not names:
            return []
        plain = "On {topic} I have no preference, you choose."
        return [self.speech.say(self.scene.persona.voice.no_preferences, "open", plain, topic=listed(names))]

    def _missing(self) -> list[str]:
        if not self.delivered or self.scene.cut or self.received.complete:
            return []
        parts = listed(missing_parts(self.received))
        return [self.speech.say(self.scene.persona.voice.missing, "missing", "I still need {parts}.", parts=parts)]

    def _action(self, replies: list[str]) -> Action:
        if self.off or any(p.manner == "object" for p in self.heard.points):
            return "challenge"
        return "clarify" if replies or self.heard.open_names or self.heard.everything or self.heard.other else "follow_up"

    # -- the decision -----------------------------------------------------------------------------------------------

    def _said(self) -> list[str]:
        return [m.text for m in self.scene.conversation.of("user")]

    def _decided(self, action: Action, message: str) -> Decision:
        evidence: tuple[str, ...] = ()
        if action == "challenge":
            evidence = tuple(dict.fromkeys((*(found.where for found in self.off), self.last.id)))
        return Decision(action, self._observations(), message, evidence)

    def _observations(self) -> tuple[Observation, ...]:
        return tuple(self._observation(goal.id) for goal in self.scene.task.goals)

    def _observation(self, goal: str) -> Observation:
        got = self.received
        held = {
            "backtest": not got.figures_missing,
            "traceable-results": not got.figures_missing and got.trades,
            "report": got.report and not got.sections_missing,
        }.get(goal, got.complete)
        if not held or not got.citations:
            return Observation(goal, "missing")
        doubted = bool(self.off) and goal not in ("report", "traceable-results")
        return Observation(goal, "uncertain" if doubted else "met", got.citations)


def missing_parts(got: Received) -> list[str]:
    """What is not there yet, in the user's words."""
    parts = []
    if got.figures_missing:
        parts.append(listed([f"the {name}" for name in got.figures_missing]))
    if not got.trades:
        parts.append("the trades with their dates and prices")
    if not got.report:
        parts.append("a report with a summary, the method, the results and the limitations")
    elif got.sections_missing:
        parts.append(f"{listed([f'the {name}' for name in got.sections_missing])} in the report")
    return parts
