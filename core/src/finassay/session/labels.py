"""Labelling what the user said: which rules of its part a message kept, and what breaking one did to the agent.

Labels are pre-labels by stated rules on words. They never see more than the user does: the conversation, the excerpts, the belief.
"""

from collections.abc import Callable, Iterator
from typing import Final

from finassay.api.labels import Slip, UserLabel, label_of
from finassay.api.simulator import Scene
from finassay.session import improvised, slips
from finassay.session.disclosure import Disclosure, Heard
from finassay.session.said import Said

CHECKS: Final[tuple[Callable[[Said], Iterator[Slip]], ...]] = (
    slips.volunteered,
    slips.hints,
    slips.unasked,
    slips.more_than_asked,
    slips.claims_a_check,
    slips.checklist,
    improvised.open_values,
    improvised.unheld,
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
