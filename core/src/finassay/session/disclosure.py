"""The disclosure gate: S_t ∖ S_{t−1} ⊆ Q(a_t) (paper, equation 2), enforced before a message is sent, for every simulator."""

from attrs import evolve, frozen

from finassay.api.matching import raised, stated
from finassay.api.simulator import Rejection
from finassay.api.strategy import Belief


@frozen
class Disclosure:
    """What a user has told so far."""

    belief: Belief
    stated: frozenset[str] = frozenset()
    """S_t: ids of items told by now."""
    undecided: frozenset[str] = frozenset()
    """Items that the last message may have told in words the matcher does not know; left to a model's check where one runs."""

    def check_opening(self, message: str) -> tuple[Rejection, ...]:
        """The opening states the belief's opening items, all of them and no other."""
        told, wanted = stated(self.belief.items, message), frozenset(self.belief.opening)
        problems = [Rejection("opening-incomplete", f"the opening does not tell {name}") for name in sorted(wanted - told)]
        problems += [Rejection("opening-tells-too-much", f"the opening tells {name}") for name in sorted(told - wanted)]
        return tuple(problems)

    def check(self, message: str, agent_message: str) -> tuple[Rejection, ...]:
        """One rejection for each item that the message tells although the agent did not raise it."""
        fresh = stated(self.belief.items, message, agent_message) - self.stated
        volunteered = fresh - raised(self.belief.items, agent_message)
        return tuple(Rejection("volunteered", f"the message tells {name}, which the agent did not raise") for name in sorted(volunteered))

    def after(self, message: str, agent_message: str) -> "Disclosure":
        """The state once the message was sent."""
        told = stated(self.belief.items, message, agent_message)
        return evolve(self, stated=self.stated | told, undecided=frozenset())
