"""Labels of the user's messages: every kind of slip is found, and what is none stays free."""

import pytest
from attrs import evolve

from finassay.api.conversation import Conversation, Message
from finassay.api.labels import Conduct, Slip, UserLabel, count_labels, label_of
from finassay.api.simulator import Excerpt, Scene
from finassay.session.disclosure import Disclosure
from finassay.session.labels import labelled
from finassay.session.slips import KINDS
from finassay.testing.samples import sample_belief, sample_persona, sample_task

OPENING = "I like last year's winners, skipping the latest month, and a monthly refresh."
STOP, EQUAL = "risk.threshold", "portfolio.weighting:equal"


def label(
    message: str, agent: str, *, action: str = "clarify", files: dict[str, str] | None = None, told: tuple[str, ...] = ()
) -> UserLabel:
    """The label of an answer to an agent's first message; `told` was said before."""
    gate = Disclosure(sample_belief()).after(OPENING, "")
    gate = evolve(gate, stated=gate.stated | set(told))
    said = Conversation((Message("u0", 0, "user", OPENING), Message("a1", 1, "agent", agent)))
    shown = tuple(Excerpt(path, text) for path, text in (files or {}).items())
    scene = Scene(sample_task(), sample_persona(), said, shown, tuple(files or ()), gate.stated)
    return labelled(message, action, scene, gate, gate.read(message, agent))


def kinds(found: UserLabel) -> dict[str, tuple[str, ...]]:
    return {slip.kind: slip.items for slip in found.slips}


# message, the agent's message, kind, label
SLIPS = [
    ("And the way it gets out of a stock isn't right either.", "I hold five names with a 3-day lag.", "unraised-piece", Conduct.HELPED),
    ("The stop is not how I do it.", "I built it: five names, inverse volatility weights.", "unraised-piece", Conduct.HELPED),
    ("The ranking is incomplete, there is more to it.", "I rank on past returns.", "", Conduct.ERROR_FREE),  # the ranking was told whole
    ("The position sizing is missing something.", "I weight by inverse volatility.", "hints-at-more", Conduct.HELPED),
    ("A -47% drawdown is way too deep for me.", "The return was 12% with a drawdown of 47%.", "hints-at-a-rule", Conduct.HELPED),
    ("Turnover is on the high side.", "The turnover was 670% a year.", "improvised", Conduct.HINDERED),
    ("Make the number of names 12, that is fine.", "How many names do you want?", "improvised", Conduct.HINDERED),
    ("No preference, your 10 stocks are fine for the number of names.", "How many names? I took 10.", "endorsed", Conduct.BENIGN),
    ("On the number of names I have no preference.", "I rank the stocks.", "unasked-no-preference", Conduct.BENIGN),
    ("Number of names, no preference.", "Happy to adjust the number of names.", "unasked-no-preference", Conduct.BENIGN),
    ("The rest of what you picked is fine.", "I used inverse volatility weights.", "approves-the-rest", Conduct.HINDERED),
    ("Your other choices can stay.", "I weighted the names equally.", "approves-the-rest", Conduct.HELPED),
    ("I don't mind the rest.", "I weighted the names equally.", "approves-the-rest", Conduct.HELPED),
    ("I checked the fills against the prices and they add up.", "Here are the trades.", "claims-a-check", Conduct.BENIGN),
    ("Thanks. Recomputed the Sharpe ratio from the ledger.", "Here are the trades.", "claims-a-check", Conduct.BENIGN),
    ("Ledger, curve and report tie out.", "Here are the trades.", "claims-a-check", Conduct.BENIGN),
    ("I want a write-up with summary, method, results and limitations.", "Here are the numbers.", "checklist", Conduct.BENIGN),
    (
        "I see no list of trades and no prices, so I can't trace the return, the Sharpe or the drawdown.",
        "Here are the numbers.",
        "checklist",
        Conduct.BENIGN,
    ),
    ("I want to use inverse volatility weights.", "How should I size the positions?", "contradicts", Conduct.HINDERED),
    ("Stop at 15%, please.", "Which stop level do you want?", "contradicts", Conduct.HINDERED),
    ("On the weights I have no preference.", "How should I set the weights?", "gives-up-a-conviction", Conduct.HINDERED),
    ("Let's see the first numbers.", "How should I size the positions?", "withheld", Conduct.HINDERED),
]


@pytest.mark.parametrize(("message", "agent", "kind", "expected"), SLIPS, ids=[f"{n}-{s[2] or 'free'}" for n, s in enumerate(SLIPS)])
def test_slips(message, agent, kind, expected):
    found = label(message, agent)
    assert set(kinds(found)) == ({kind} if kind else set()), found
    assert found.label is expected
    assert all(slip.quote and slip.reason.startswith(KINDS[slip.kind]) for slip in found.slips)


FREE = [
    ("Give every position the same weight.", "How should I size the positions?"),
    ("Sell a position once it has fallen 20% from its entry price.", "Which stop level do you want, in percent?"),
    ("No. Same weight for everything.", "I plan to use inverse volatility weights."),
    ("The position sizing is off.", "I used inverse volatility weights."),
    ("On the number of names I have no preference, you choose.", "How many names should I hold?"),
    ("Please go on.", "Working on it."),
    ("I can't follow how the last one came about. Can you walk me through it?", "Here is the report."),
    ("I can't verify any of this.", "Here are the numbers."),
    ("Please make sure that it all adds up.", "Here are the numbers."),
    ("You say you checked the fills; good.", "I checked every fill."),
    ("The report could do with a summary.", "Here are the numbers."),
    ("As I said, once a month.", "How often should it trade?"),
    ("Yes, exactly.", "Shall I weight them equally?"),
    ("The stop at 20% is too loose? No, 20% down from entry, that is it.", "Isn't a 20% stop too loose?"),
]


@pytest.mark.parametrize(("message", "agent"), FREE, ids=[str(n) for n in range(len(FREE))])
def test_no_slips(message, agent):
    found = label(message, agent)
    assert found.label is Conduct.ERROR_FREE, found


def test_a_piece_that_the_files_show_may_be_called_wrong():
    report = {"REPORT.md": "Each position has a stop loss at 10% below entry."}
    assert label("The stop is not how I do it.", "Here is the report.", files=report).label is Conduct.ERROR_FREE


def test_more_than_asked_needs_a_delivery_and_a_question_about_something_else():
    built = "I built it with inverse volatility weights.\n\nHow many names do you want?"
    told = "Ten is your guess, I have no preference. Give every position the same weight."
    assert "more-than-asked" in kinds(label(told, built, files={"REPORT.md": "x"}))
    assert "more-than-asked" not in kinds(label(told, built.replace("How many names", "What weights"), files={"REPORT.md": "x"}))
    assert "more-than-asked" not in kinds(label(told, built.replace("I built it", "I plan to build it"), files={"REPORT.md": "x"}))


def test_what_a_gate_would_have_refused_is_labelled_where_there_was_none():
    found = label("Same weight for all, and sell once it has fallen 20%.", "How should I size the positions?")
    assert kinds(found)["volunteered"] == (STOP,)
    assert found.label is Conduct.HELPED


def test_a_hint_in_the_opening():
    gate = Disclosure(sample_belief())
    scene = Scene(sample_task(), sample_persona(), Conversation())
    text = f"{OPENING} I want something calm that does not blow up."
    found = labelled(text, "open", scene, gate, gate.read(text, "", opening=True))
    assert kinds(found) == {"hints-at-a-rule": (STOP,)}
    assert found.turn == 0
    assert labelled(OPENING, "open", scene, gate, gate.read(OPENING, "", opening=True)).label is Conduct.ERROR_FREE


def test_what_was_told_before_may_be_named_and_approved():
    assert label("The stop is not how I do it.", "I built it.", told=(STOP, EQUAL)).label is Conduct.ERROR_FREE
    assert label("The rest of what you picked is fine.", "I used inverse volatility weights.", told=(EQUAL,)).label is Conduct.ERROR_FREE


def test_nobody_can_act_on_a_correction_in_the_message_that_closes():
    text, built = "Thanks, that is it. Only give every position the same weight.", "I used inverse volatility weights."
    assert kinds(label(text, built, action="close")) == {"closes-on-a-correction": (EQUAL,)}
    assert label(text, built, action="challenge").label is Conduct.ERROR_FREE
    assert label("Thanks, the position sizing is right.", "I weighted the names equally.", action="close").label is Conduct.ERROR_FREE


def test_the_worst_slip_gives_the_label():
    slips = tuple(Slip("x", effect, "r", "q") for effect in (Conduct.BENIGN, Conduct.HELPED))
    assert label_of(1, slips).label is Conduct.HELPED
    assert label_of(1, (*slips, Slip("y", Conduct.HINDERED, "r", "q"))).label is Conduct.HINDERED
    assert label_of(1, ()).label is Conduct.ERROR_FREE


def test_rates_leave_out_what_has_no_label():
    counts = count_labels([("error-free", ()), ("critical-helped", ("a", "a", "b")), ("", ()), ("benign", ("a",))])
    assert counts.messages == 3
    assert counts.share(Conduct.HELPED) == pytest.approx(1 / 3)
    assert counts.by_kind == {"a": 2, "b": 1}
    assert count_labels([("", ())]).share(Conduct.BENIGN) is None


@pytest.mark.parametrize("text", ["x" * 200_000, "not " * 20_000, "(" * 5_000, "the rest of " * 5_000, "1. " * 5_000, ", " * 20_000])
def test_hostile_text_is_labelled_in_time(text):
    import time

    started = time.monotonic()
    label(text[:6_000], text)
    label("The rest of what you picked is fine.", text, files={"a.md": text[:8_000]})
    assert time.monotonic() - started < 5
