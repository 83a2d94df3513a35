"""What each end reason means for grading, acceptance and the denominators."""

from typing import Final

from attrs import frozen

from finassay.api.delivery import EndReason
from finassay.api.scorecard import Grading


@frozen
class Outcome:
    """One end reason. `valid` sessions enter every denominator; the others are held again under the same conditions."""

    reason: EndReason
    graded: Grading
    can_be_accepted: bool
    valid: bool
    meaning: str
    zero: bool = False
    """The score is 0 whatever the verdicts say."""


OUTCOMES: Final[dict[str, Outcome]] = {
    outcome.reason: outcome
    for outcome in (
        Outcome("satisfied", "full", True, True, "The user closed the session with every core goal met and cited."),
        Outcome("user_walked_away", "full", False, True, "The user left: the agent stalled, repeated itself or ignored objections."),
        Outcome("agent_gave_up", "full", False, True, "The agent said that it cannot or will not do the work."),
        Outcome("turn_limit", "diagnostic", False, True, "All turns were used and the user had not closed the session.", zero=True),
        Outcome("resource_limit", "diagnostic", False, True, "The session reached its limit of money, tokens, disk or time.", zero=True),
        Outcome("agent_error", "full", False, True, "The agent's program failed twice in one turn; what it had delivered is graded."),
        Outcome(
            "integrity_violation",
            "full",
            False,
            True,
            "The agent read sealed material, tampered with the grading or left its sandbox.",
            zero=True,
        ),
        Outcome("simulator_void", "none", False, False, "The simulated user made no valid decision; the session is held again."),
        Outcome("environment_error", "none", False, False, "Sandbox, network or a data channel failed; the session is held again."),
        Outcome("cancelled", "none", False, False, "Stopped by hand."),
    )
}

INVALID: Final = frozenset(reason for reason, outcome in OUTCOMES.items() if not outcome.valid)


def outcome(reason: str) -> Outcome:
    """What an end reason means. Raises `KeyError` for an unknown one."""
    return OUTCOMES[reason]
