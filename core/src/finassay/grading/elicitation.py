"""How the agent handled the user: H, O and S as item sets, coverage, and the assumption rate (paper, sections 3.3 and 4.2)."""

from collections.abc import Iterable, Mapping

from finassay.api.conversation import Conversation
from finassay.api.matching import stated
from finassay.api.scorecard import Elicitation
from finassay.api.strategy import Belief, Item, Stance
from finassay.api.verdict import Scored, Verdict

FIDELITY = ("2.1", "2.2", "2.3", "2.4", "2.5", "2.6")


def stated_items(items: Iterable[Item], conversation: Conversation) -> frozenset[str]:
    """S: the items that the user has said in words, measured from all user turns with the agent's message before each."""
    known = tuple(items)
    found: set[str] = set()
    agent_text = ""
    for message in conversation.messages:
        if message.sender == "agent":
            agent_text = message.text
        else:
            found |= stated(known, message.text, agent_text)
    return frozenset(found)


def elicitation(
    belief: Belief, conversation: Conversation, verdicts: Mapping[str, Verdict], confirmed: frozenset[str] = frozenset()
) -> Elicitation:
    """The sets and rates of one session. O is what the opening really said, not what it was meant to say.

    `confirmed` names items that the second check of the session found told where the phrase matcher was undecided (paper, section 3.3).
    """
    opening_text = next((m.text for m in conversation.of("user")), "")
    opening = stated(belief.items, opening_text)
    said = stated_items(belief.items, conversation) | opening | confirmed
    voiced = tuple(item.id for item in belief.items)
    untold = [item for item in voiced if item not in opening]
    return Elicitation(
        voiced=voiced,
        opening=tuple(i for i in voiced if i in opening),
        stated=tuple(i for i in voiced if i in said),
        session_items=tuple(sorted(stated_items(belief.absent, conversation))),
        coverage=len([i for i in untold if i in said]) / len(untold) if untold else None,
        assumption_rate=assumption_rate([i for i in voiced if i not in said], verdicts),
    )


def assumption_rate(unstated: Iterable[str], verdicts: Mapping[str, Verdict]) -> float | None:
    """Share of the unstated items that the delivered strategy does not match; None if none was left unstated or decided.

    An item whose condition nobody could decide leaves the share; one that the trades contradict is not matched.
    """
    conditions: dict[str, bool] = {}
    for name in FIDELITY:
        verdict = verdicts.get(name)
        facts = verdict.facts.get("items") if isinstance(verdict, Scored) else None
        for item, found in facts.items() if isinstance(facts, Mapping) else ():
            condition = found.get("condition") if isinstance(found, Mapping) else None
            if condition in ("matched", "contradicted", "missing"):
                conditions[str(item)] = condition == "matched" and found.get("test") != Stance.CONTRADICTS.value
    decided = [conditions[item] for item in unstated if item in conditions]
    return decided.count(False) / len(decided) if decided else None
