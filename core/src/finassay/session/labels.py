"""Labelling what the user said: which rules of its part a message kept, and what breaking one did to the agent.

Labels are pre-labels by stated rules on words. They never see more than the user does: the conversation, the excerpts, the belief.
"""

from collections.abc import Callable, Iterator
from typing import Final

from finassay.api.labels import Slip, UserLabel, label_of
from finassay.api.simulator import Scene
from finassay.session import slips
from finassay.session.disclosure import Disclosure, Heard
from finassay.session.said import Said

KINDS: Final = {
    "volunteered": "tells what the agent did not raise",
    "unraised-piece": "calls a part wrong of which nobody has spoken, which tells that there is a rule for it",
    "hints-at-more": "hints that something is missing, without being asked and without saying what",
    "hints-at-a-rule": "complains about a result in a way that points at a rule nobody has raised",
    "unasked-no-preference": "leaves open what nobody asked about",
    "more-than-asked": "tells more than was asked: the agent had only reported it as done",
    "claims-a-check": "claims to have checked or recomputed figures, which this user cannot do",
    "checklist": "asks for trade lists or parts of a report in the language of a checklist",
    "improvised": "makes up a wish that the belief does not hold",
    "endorsed": "takes sides for a value that the belief leaves open",
    "approves-the-rest": "approves the rest of what the agent chose, though a conviction is among it",
    "contradicts": "says something else than the belief",
    "gives-up-a-conviction": "says 'no preference' on something on which the belief has a view",
    "closes-on-a-correction": "tells a conviction against what was delivered, and closes in the same breath",
    "withheld": "does not answer what was asked about, though the belief has a view",
}
"""Kind of slip to what a message with it does."""

CHECKS: Final[tuple[Callable[[Said], Iterator[Slip]], ...]] = (
    slips.volunteered,
    slips.hints,
    slips.unasked,
    slips.more_than_asked,
    slips.claims_a_check,
    slips.checklist,
    slips.open_values,
    slips.approves_the_rest,
    slips.closes_on_a_correction,
    slips.against_the_belief,
    slips.withheld,
)


def labelled(message: str, action: str, scene: Scene, before: Disclosure, heard: Heard) -> UserLabel:
    """The label of a message of the user that is about to be sent, with one reason for each kind of slip and what it is about."""
    last = scene.conversation.last("agent")
    said = Said(message, action, scene, before, heard, last.text if last else "")
    found: dict[tuple[str, tuple[str, ...]], Slip] = {}
    for check in CHECKS:
        for slip in check(said):
            found.setdefault((slip.kind, slip.items), slip)
    return label_of(last.turn if last else 0, tuple(found.values()))
