"""Slips in words of many kinds, and messages that are none, on strategies of the installed grammar.

Not found, and left to people: evaluations without a word of what they evaluate ("3.1x is more than I'd want", "that would never happen
with my rules"), reasons that nobody asked for, invented persons, and files that are praised unread.
"""

from functools import cache

import pytest
from attrs import evolve

from finassay.api.conversation import Conversation, Message
from finassay.api.errors import CatalogError
from finassay.api.labels import UserLabel
from finassay.api.simulator import Scene
from finassay.api.strategy import Belief
from finassay.catalog.catalog import Catalog
from finassay.session.disclosure import Disclosure
from finassay.session.labels import labelled
from finassay.testing.samples import sample_persona, sample_task


@cache
def beliefs() -> tuple[Belief, Belief]:
    """One with a trailing stop, inverse volatility and costs; one with timing, an estimator and costs, and no risk rule."""
    try:
        grammar = Catalog.installed().create("grammar", "us-long-only")[0]
    except CatalogError as error:
        pytest.skip(f"the sentences speak of strategies of the grammar us-long-only: {error}")
    wanted = (
        lambda ids: {"risk.option:trailing_stop", "portfolio.weighting:inverse_vol", "cost.rate"} <= ids and "timing" not in " ".join(ids),
        lambda ids: {"portfolio.covariance:shrinkage", "cost.rate"} <= ids and "timing" in " ".join(ids) and "risk" not in " ".join(ids),
    )
    found = [grammar.belief(grammar.sample(seed)) for seed in range(400)]
    return tuple(next(b for b in found if test({item.id for item in b.items})) for test in wanted)  # type: ignore[return-value]


BUILT = (
    "I ranked the 20 names, hold the top 5 at equal weight and rebalanced once a month. The return was 12.1% a year with a Sharpe of 0.8 and a "
    "drawdown of 44%. Turnover 3.1x. I have a 252-day history."
)
ASK = f"{BUILT} How many names should I hold, what should I compare it with, and what starting capital do you want?"
LEVELS = f"{BUILT} How do you want to weight the positions? And at what level should the stop be?"
LEVEL = f"{BUILT} At what level should the trailing stop be?"
STOPS, TIMES = 0, 1

SLIPS = {
    ("unraised-piece", STOPS, BUILT): (
        "The exit isn't right.",
        "Also the way it sells isn't mine.",
        "When it gets out of a name is not how I do it.",
        "Position sizing, exit and costs are all wrong.",
        "It holds on to losers forever, that's not my style.",
        "There should be a way out before the quarter ends.",
        "You never sell anything in between, that's off.",
        "I do have my own rule for getting out.",
        "Something about the risk side doesn't feel right.",
    ),
    ("hints-at-more", STOPS, BUILT): (
        "You haven't asked me about the exit yet.",
        "There is one thing that nobody has asked me about.",
        "You forgot to ask how I get out.",
    ),
    ("unraised-piece", TIMES, BUILT): (
        "The covariance isn't how I'd estimate it.",
        "You are always in the market, that's not how I run it.",
        "The timing is off.",
        "The trading costs aren't what I'd use.",
    ),
    ("improvised", STOPS, ASK): (
        "Ten.",
        "Hold 12 stocks.",
        "Make it 10 names, and compare it with the S&P 500.",
        "Start with $250,000.",
        "Let's say 15 positions.",
        "Use the Nasdaq as the benchmark.",
        "Compare it to a 60/40 portfolio please.",
    ),
    ("improvised", TIMES, BUILT): ("Turnover is too high for me.", "That is a lot of trading."),
    ("endorsed", TIMES, BUILT): ("Keep it below 20 names.",),
    ("hints-at-a-rule", STOPS, BUILT): (
        "A 44% drawdown is too much for me.",
        "I couldn't sit through a 44% fall.",
        "That drawdown is way beyond what I can take.",
    ),
    ("claims-a-check", STOPS, BUILT): (
        "I went through the ledger line by line and it holds.",
        "I ran the numbers again and they match.",
        "I get the same Sharpe.",
        "Recalculated it by hand, fine.",
        "I verified the trades.",
        "All figures reconcile.",
        "I double-checked the costs.",
    ),
    ("approves-the-rest", STOPS, BUILT): (
        "The rest of what you picked is fine.",
        "Everything else looks good.",
        "Rest is ok.",
        "The size I don't mind, and the rest is fine.",
        "Keep the other settings as they are.",
        "I'm happy with the other choices you made.",
        "All your assumptions work for me.",
        "Whatever else you assumed is fine by me.",
        "Otherwise leave it as it is.",
        "No objections to anything else.",
        "Fine with everything you chose.",
    ),
    ("unasked-no-preference", STOPS, BUILT): (
        "No preference on the benchmark.",
        "Number of names: up to you.",
        "I don't care about the starting capital.",
        "Whatever you like for the look-back window.",
    ),
    ("checklist", STOPS, BUILT): (
        "Please send a trade log with dates and prices, the Sharpe ratio, the max drawdown and the number of trades.",
        "The report needs a summary, a method section, results and limitations.",
        "I need every trade with its date and price so I can tie out the return and the drawdown.",
        "Can you add a limitations section and a summary to the report?",
    ),
    ("contradicts", STOPS, ASK): ("I want equal weights.", "Please assume costs of 50 basis points."),
    ("gives-up-a-conviction", STOPS, LEVELS): ("On the weights I have no preference.", "The stop level is up to you."),
    ("withheld", STOPS, LEVEL): ("Let's see some results first.", "Just go on."),
}
FREE = {
    (STOPS, BUILT): (
        "The position sizing is off.",
        "Equal weight isn't how I'd do it.",
        "Thanks, interesting. What was the worst year?",
        "Why is the Sharpe only 0.8?",
        "Hm, 12% a year is less than I hoped.",
        "Not thrilled, but go on.",
        "Can you show me what it bought and sold?",
        "OK, please continue.",
        "I can't follow how you got to the 44%.",
        "So I can tie nothing to anything here.",
        "Ask me about one part of it and I will tell you.",
        "As you asked, here is what I think of it: fine.",
    ),
    (STOPS, ASK): (
        "No preference on the number of names, the benchmark or the capital.",
        "You choose all three.",
        "No view on any of that.",
    ),
    (TIMES, BUILT): (
        "The position sizing isn't what I have in mind.",
        "Looks like a start, keep going.",
        "I don't see how the 12.1% came about.",
    ),
    (STOPS, LEVEL): ("Sell it when it falls {level} from its peak since you bought it.",),
}


def label(which: int, agent: str, message: str) -> UserLabel:
    belief = beliefs()[which]
    level = next((f"{item.number.value:g}%" for item in belief.items if item.id == "risk.threshold" and item.number), "")
    message = message.replace("{level}", level)
    gate = evolve(Disclosure(belief), stated=frozenset(name for name in belief.opening if name.startswith("stock")))
    said = Conversation((Message("u0", 0, "user", "An idea."), Message("a1", 1, "agent", agent)))
    scene = Scene(sample_task(belief), sample_persona(), said, (), ("REPORT.md",), gate.stated)
    return labelled(message, "clarify", scene, gate, gate.read(message, agent))


@pytest.mark.parametrize(
    ("kind", "which", "agent", "message"), [(*place, text) for place, texts in SLIPS.items() for text in texts], ids=lambda v: str(v)[:30]
)
def test_slips(kind, which, agent, message):
    found = label(which, agent, message)
    assert kind in {slip.kind for slip in found.slips}, found


@pytest.mark.parametrize(
    ("which", "agent", "message"), [(*place, text) for place, texts in FREE.items() for text in texts], ids=lambda v: str(v)[:30]
)
def test_no_slips(which, agent, message):
    found = label(which, agent, message)
    assert found.slips == (), found
