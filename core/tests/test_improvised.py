"""What the belief has no view on and the user decides all the same is made up, in the opening and later; what is left open or told is not."""

from functools import cache

import pytest
from attrs import evolve

from finassay.api.conversation import Conversation, Message
from finassay.api.errors import CatalogError
from finassay.api.labels import Conduct, UserLabel
from finassay.api.simulator import Scene
from finassay.api.strategy import Belief
from finassay.catalog.catalog import Catalog
from finassay.session.disclosure import Disclosure
from finassay.session.labels import labelled
from finassay.testing.samples import sample_persona, sample_task


@cache
def belief(costs: bool) -> Belief:
    """A week's reversal alone with equal weights; no risk rule, no timing, and costs or none."""
    try:
        grammar = Catalog.installed().create("grammar", "us-long-only")[0]
    except CatalogError as error:
        pytest.skip(f"the sentences speak of strategies of the grammar us-long-only: {error}")
    for seed in range(6000):
        choices = grammar.sample(seed)
        found = grammar.belief(choices)
        ids = {item.id for item in found.items}
        factors = [name for name in ids if name.startswith("stock.factor")]
        plain = "portfolio.weighting:equal" in ids and factors == ["stock.factor:rev_5d"]
        if plain and ("cost.rate" in ids) is costs and not any(name.startswith(("risk", "timing")) for name in ids):
            return found
    pytest.skip("no such strategy among the first draws")


def label(message: str, agent: str, *, costs: bool = True, action: str = "clarify") -> UserLabel:
    held = belief(costs)
    gate = Disclosure(held)
    if not agent:
        return labelled(
            message, "open", Scene(sample_task(held), sample_persona(), Conversation()), gate, gate.read(message, "", opening=True)
        )
    gate = evolve(gate, stated=frozenset(held.opening))
    said = Conversation((Message("u0", 0, "user", "An idea."), Message("a1", 1, "agent", agent)))
    scene = Scene(sample_task(held), sample_persona(), said, (), (), gate.stated)
    return labelled(message, action, scene, gate, gate.read(message, agent))


RISK = "I can build that. Do you want a risk rule, such as a stop-loss, and if so at what level?"
MANY = (
    "How many names should I hold, what trading costs should I assume, do you want a stop-loss, and what should the benchmark be: SPY, QQQ or an "
    "equal-weight basket? Should I combine the ranks of several signals? Shall I restrict the universe?"
)
BUILT = "I built it with equal weights and sold on a trailing stop of 12%. Ten names, against SPY. The drawdown was 31%."
OPEN = "I like what got hit hardest this past week. Data until the end of 2019."

MADE_UP = [
    ("", f"{OPEN} Use a 12 percent stop-loss and hold ten names. The benchmark is the S&P 500."),
    ("", f"{OPEN} Use a 12 percent stop-loss."),
    ("", f"{OPEN} Hold ten names."),
    ("", f"{OPEN} The benchmark is the S&P 500."),
    ("", "I like what got hit hardest this past week, with a trailing stop on each name."),
    ("", f"{OPEN} Leave out banks."),
    (MANY, "Stop-loss of 12 percent."),
    (MANY, "Exclude financials, and use value as a second factor."),
    (MANY, "Use value as a second factor."),
    (MANY, "Combine the ranks, and use value as well."),
    (MANY, "Combine the ranks."),
    (MANY, "SPY."),
    (MANY, "Ten."),
    (MANY, "Use QQQ as the benchmark."),
    (RISK, "Cut to cash when the portfolio is down 20%."),
    (RISK, "A trailing stop."),
    (RISK, "Stop-loss, yes."),
    (RISK, "Yes, a stop-loss please."),
    (RISK, "Sell a name once it has lost a tenth of its price."),
    (RISK, "If a stock falls by a fifth, get out of it."),
    (RISK, "Exclude financials."),
    (RISK, "Only stocks above $5."),
    (RISK, "Go short the losers."),
    (RISK, "I'd like no sector above 30 percent."),
    (RISK, "Hedge it with index puts."),
    (RISK, "Please add momentum as a second signal."),
    (RISK, "I want to be out of the market while the index is below its 200-day average."),
    (BUILT, "Keep the trailing stop, but at 15 percent."),
    (BUILT, "The trailing stop is right."),
    (BUILT, "Tighten the stop to 8%."),
    (BUILT, "Can you use a 10 percent stop instead?"),
    (BUILT, "Could you also exclude financials?"),
    (BUILT, "Please start in 2005."),
    (RISK, "Yes."),
    (RISK, "15 percent."),
    (RISK, "I think a stop at 10 percent makes sense."),
    (RISK, "Leave out anything under a billion in market cap."),
    (MANY, "No preference on the rest, but use SPY as the benchmark."),
]


@pytest.mark.parametrize(("agent", "message"), MADE_UP, ids=lambda text: text[-40:])
def test_made_up(agent, message):
    found = label(message, agent)
    assert "improvised" in {slip.kind for slip in found.slips}, found
    assert found.label in (Conduct.HINDERED, Conduct.HELPED)


def test_the_opposite_of_the_belief_without_a_verb():
    """What the belief does have a view on is contradicted, not made up."""
    found = label("Positions in proportion to their score.", RISK)
    assert {slip.kind: slip.items for slip in found.slips} == {"contradicts": ("portfolio.weighting:equal",)}


@pytest.mark.parametrize("message", ["Costs of 10 basis points per side.", "Please charge 5 bps.", "Commissions of a tenth of a percent."])
def test_costs_where_the_belief_has_none(message):
    assert "improvised" in {slip.kind for slip in label(message, MANY, costs=False).slips}


FREE = [
    ("", OPEN),
    ("", f"{OPEN} Can you build that and show me how it would have done?"),
    (RISK, "No preference, you choose."),
    (RISK, "No stop-loss, please."),
    (RISK, "Do without any stop."),
    (RISK, "On risk control I have no preference, you choose."),
    (MANY, "No preference on the number of names or the benchmark. No stop. No view on the rest of it."),
    (BUILT, "You sold on a trailing stop of 12%, I see."),
    (BUILT, "How did the trailing stop of 12% do in 2008?"),
    (BUILT, "The trailing stop isn't what I had in mind."),
    (BUILT, "Please show me the trades that the stop-loss caused."),
    (BUILT, "I want to understand how the stop-loss of 12% worked."),
    (BUILT, "So ten names against SPY, and a drawdown of 31%."),
    (BUILT, "I'd like to see the trades with dates and prices in a file."),
    (BUILT, "Go ahead."),
    ("", f"{OPEN} Only use data up to the end of 2019, nothing after that, and stop there."),
    (RISK, "I never use a stop-loss."),
    (RISK, "No, I don't use one."),
    (RISK, "Risk control; your call."),
    (RISK, "No idea about risk control and the number of names, honestly."),
    (MANY, "1. No preference.\n2. Your call.\n3. No stop.\n4. No restrictions."),
    (MANY, "Don't exclude anything, and no second factor."),
    (MANY, "The number of names, the benchmark, how to combine signals, leverage and shorting are not in my rules, your call."),
    (BUILT, "Please remove the trailing stop."),
    (BUILT, "Leave the trailing stop out."),
    (BUILT, "I never asked for a trailing stop of 12%."),
    (BUILT, "Stick to the universe I gave you."),
    (BUILT, "That makes sense, go on."),
    (BUILT, "Can you compare the result with SPY?"),
    (BUILT, "Thanks, carry on."),
]


@pytest.mark.parametrize(("agent", "message"), FREE, ids=lambda text: text[-40:])
def test_not_made_up(agent, message):
    found = label(message, agent)
    assert not {"improvised", "endorsed"} & {slip.kind for slip in found.slips}, found
