"""Small ready-made words for tests: a belief, a persona, a task, a package. Invented for testing; no grammar is needed."""

import hashlib
from collections.abc import Mapping
from datetime import date
from pathlib import Path

from finassay.api.conversation import Conversation, Message
from finassay.api.delivery import DeliveredFile, Delivery, LogEvent, Package, TurnFacts
from finassay.api.persona import Persona, Voice
from finassay.api.strategy import Belief, Item, Number, OpenTopic, Strategy, Unit, Universe
from finassay.api.task import Conditions, Task
from finassay.records.blobs import BlobStore


def sample_belief() -> Belief:
    """Momentum, equal weights, a 20 % stop, monthly; the opening tells momentum and monthly."""
    factor = Item(
        "stock.factor:mom_12_1",
        "stock",
        "factor",
        "the ranking",
        "rank stocks by last year's return, skipping the latest month",
        "last year's winners, skipping the latest month",
        (r"rank\w* ~ (?:by|stocks|rule)", r"(?:which|what) ~ (?:factor|signal|stocks)", r"select\w*"),
        (r"last year's ~ (?:return|winners)", r"12 1 momentum"),
        (r"past week", r"book to market"),
    )
    weighting = Item(
        "portfolio.weighting:equal",
        "portfolio",
        "weighting",
        "the position sizing",
        "give every position the same weight",
        "equal positions",
        (r"(?:weight|siz|allocat)\w*",),
        (r"same weight", r"equal(?:ly)? weight\w*", r"weight\w* ~ equally"),
        (r"inverse vol\w*", r"risk parity"),
    )
    stop = Item(
        "risk.threshold",
        "risk",
        "threshold",
        "the stop",
        "sell a position once it has fallen 20% from its entry price",
        "a stop",
        (r"stop(?: loss)?(?: level| threshold)?",),
        (r"(?:fallen|falls|drop\w*|down) ~ {number}", r"stop\w* ~ {number}", r"{number} ~ stop\w*"),
        (),
        Number(20, Unit.PERCENT),
    )
    schedule = Item(
        "execution.schedule:monthly",
        "execution",
        "schedule",
        "the rebalancing",
        "rebalance once a month",
        "a monthly refresh",
        (r"how often", r"rebalanc\w*", r"frequency", r"schedule"),
        (r"once a month", r"monthly", r"every month"),
        (r"weekly", r"quarterly"),
    )
    costs = Item(
        "cost.option:none",
        "cost",
        "cost",
        "trading costs",
        "ignore costs",
        "no costs",
        (r"costs?",),
        (r"ignore ~ costs?", r"no costs?"),
        (),
    )
    names = OpenTopic("names", "the number of names", (r"how many (?:names|stocks|positions)", r"number of (?:names|stocks|positions)"))
    return Belief((factor, weighting, stop, schedule), (factor.id, schedule.id), (costs,), (names,))


def sample_persona() -> Persona:
    """A persona for tests."""
    voice = Voice(
        greetings=("Hello.", "Hi."),
        opening=(
            "I like {idea}. The universe is {universe}. Please use data {until} only.",
            "My idea: {idea}. Look at {universe}, data {until}.",
        ),
        answers=("I want to {sentence}.", "My answer: {sentence}."),
        confirmations=("Yes: {sentence}.", "Right, {sentence}."),
        objections=("No. I want to {sentence}.", "Not that: {sentence}."),
        off_pieces=("{piece} is not what I have in mind.", "Something about {piece} is off."),
        no_preferences=("On {topic} I have no preference, you choose.", "{topic}: your call."),
        go_aheads=("Please go on.", "Carry on.", "Go ahead with it.", "I am waiting to see it.", "Keep going.", "Please continue."),
        missing=("I still need {parts}.", "What I do not have yet: {parts}.", "Still missing: {parts}.", "Please add {parts}."),
        cut=("Your reply broke off, please go on.", "That stopped midway, carry on."),
        closings=("That is what I needed. Thank you.", "Good, that settles it."),
        leavings=("This is not getting anywhere. I will stop here.", "I will leave it at that."),
    )
    return Persona(
        "sample",
        "Sample investor",
        "An investor made up for tests.",
        "Plain.",
        ("returns",),
        ("Show me.",),
        ("cutoff", "point-in-time"),
        voice,
    )


def sample_task(belief: Belief | None = None, *, max_turns: int = 6, turn_seconds: float = 30.0) -> Task:
    """A task around `sample_belief`."""
    strategy = Strategy("sample", "1", 0, {"factor": ("mom_12_1",), "weighting": ("equal",)}, {"risk.threshold": 20.0}, 4)
    universe = Universe("basket", "these names: AAA, BBB and CCC", ("AAA", "BBB", "CCC"))
    conditions = Conditions(date(2019, 12, 31), universe, (), max_turns, turn_seconds)
    return Task("sample-0", "sample", "1", 0, "sample", strategy, belief or sample_belief(), conditions)


def sample_package(
    folder: Path,
    files: Mapping[str, bytes] | None = None,
    messages: tuple[tuple[str, str], ...] = (),
    log: tuple[LogEvent, ...] = (),
    task: Task | None = None,
) -> Package:
    """A package of one delivery: `files` by path, `messages` as (sender, text) in order starting with the user's opening."""
    blobs = BlobStore(folder / "blobs")
    delivered = []
    for path, data in (files or {}).items():
        source = folder / hashlib.sha256(data).hexdigest()
        source.write_bytes(data)
        with open(source, "rb") as stream:
            stored = blobs.add(stream.fileno(), 2**30)
        assert stored is not None
        delivered.append(DeliveredFile(path, *stored))
    said, agent_turns = Conversation(), 0
    for sender, text in messages:
        agent_turns += sender == "agent"
        name: str = f"{'a' if sender == 'agent' else 'u'}{agent_turns}"
        said = said.with_message(Message(name, agent_turns, "agent" if sender == "agent" else "user", text))
    turns = tuple(TurnFacts(turn, 1.0) for turn in range(1, agent_turns + 1))
    return Package(task or sample_task(), said, (Delivery(max(1, agent_turns), tuple(delivered)),), blobs, log, turns, "satisfied")
