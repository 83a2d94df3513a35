"""What the person who plays the user has to know in one turn, as data and as a page."""

import re
import unicodedata
from collections.abc import Iterator
from datetime import date
from typing import Any, Final

from attrs import asdict, frozen

from finassay.api.matching import Polarity, asked, proposed
from finassay.api.simulator import Scene
from finassay.api.strategy import Item

MAX_SHOWN: Final = 60_000
"""Characters of one message that are shown."""
_MONTHS: Final = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")


def plain(text: str) -> str:
    """Text with every control and formatting character replaced: what agents write is shown, never obeyed by a terminal or an editor."""
    return "".join(c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co") else "�" for c in text[:MAX_SHOWN])


def line(text: str, limit: int = 300) -> str:
    return " ".join(plain(text[: 2 * limit]).split())[:limit]


@frozen
class Conviction:
    """One thing that the user believes, and whether it may be said now."""

    sentence: str
    piece: str
    opening: str
    """How the opening says it; empty if the opening does not."""
    told: bool
    asked: bool
    """The assistant's last message asks about it."""
    proposal: str
    """What that message proposes or reports about it: `agrees`, `conflicts`, or nothing."""

    @property
    def may_be_told(self) -> bool:
        return self.told or self.asked or bool(self.proposal)


@frozen
class Goal:
    id: str
    text: str
    core: bool


@frozen
class Said:
    id: str
    by: str
    text: str
    cut: bool


@frozen
class File:
    path: str
    text: str
    """Its beginning; empty where it is no text or not shown."""
    truncated: bool


@frozen
class Sheet:
    """One turn of the user."""

    kind: str
    """`open` or `decide`."""
    turn: int
    persona: dict[str, Any]
    convictions: tuple[Conviction, ...]
    absent: tuple[str, ...]
    """Parts of a strategy on which the user has no view."""
    universe: str
    until: str
    conversation: tuple[Said, ...]
    files: tuple[File, ...]
    goals: tuple[Goal, ...]
    turns_left: int


def sheet(scene: Scene) -> Sheet:
    """Everything that a scene tells, for the person who answers it."""
    belief, last = scene.task.belief, scene.conversation.last("agent")
    heard = last.text if last else ""
    questions, proposals = asked(belief.items, heard), proposed(belief.items, heard)
    shown = {e.path: e for e in scene.excerpts}
    persona = scene.persona
    return Sheet(
        kind="decide" if scene.conversation.messages else "open",
        turn=last.turn if last else 0,
        persona={
            "name": persona.name,
            "background": persona.background,
            "style": persona.style,
            "focus": list(persona.focus),
            "examples": list(persona.utterances),
            "never_says": list(persona.forbidden),
        },
        convictions=tuple(_conviction(item, scene, questions, proposals) for item in belief.items),
        absent=tuple(item.piece for item in belief.absent),
        universe=scene.task.conditions.universe.text,
        until=until(scene.task.conditions.cutoff),
        conversation=tuple(Said(m.id, m.sender, m.text[:MAX_SHOWN], m.cut) for m in scene.conversation.messages),
        files=tuple(_file(path, shown.get(path)) for path in scene.files),
        goals=tuple(Goal(goal.id, goal.text, goal.core) for goal in scene.task.goals),
        turns_left=scene.turns_left,
    )


def _conviction(item: Item, scene: Scene, questions: frozenset[str], proposals: dict[str, Polarity]) -> Conviction:
    stance = proposals.get(item.id)
    return Conviction(
        sentence=item.sentence,
        piece=item.piece,
        opening=item.opening if item.id in scene.task.belief.opening else "",
        told=item.id in scene.stated,
        asked=item.id in questions,
        proposal="" if stance is None else "agrees" if stance is Polarity.ACCEPTS else "conflicts",
    )


def _file(path: str, excerpt: Any) -> File:
    return File(path, excerpt.text if excerpt else "", bool(excerpt and excerpt.truncated))


def until(last: date) -> str:
    """`the end of 2019` for a year's last day, else `31 March 2018`."""
    if (last.month, last.day) == (12, 31):
        return f"the end of {last.year}"
    return f"{last.day} {_MONTHS[last.month - 1]} {last.year}"


def as_data(of: Sheet) -> dict[str, Any]:
    """The sheet as JSON can hold it."""
    data = asdict(of)
    data["convictions"] = [{**asdict(c), "may_be_told": c.may_be_told} for c in of.convictions]
    return data


# -- a page to read -----------------------------------------------------------------------------------------------------


def as_page(of: Sheet, answer: str) -> str:
    """The sheet as Markdown; `answer` says how to answer."""
    return "\n".join((*_who(of), *_may_be_said(of), *_seen(of), "", "## How to answer", "", answer, ""))


def _who(of: Sheet) -> Iterator[str]:
    yield f"# {'The opening' if of.kind == 'open' else f'Your turn, after reply {of.turn} of the assistant'}"
    yield from ("", "## Who you are", "", f"{of.persona['name']}. {of.persona['background']}", "")
    yield f"How you speak: {of.persona['style']}"
    yield f"What you care about: {'; '.join(of.persona['focus'])}."
    yield from (f'- "{text}"' for text in of.persona["examples"])
    yield from ("", f"You never say: {', '.join(of.persona['never_says'])}.")


def _may_be_said(of: Sheet) -> Iterator[str]:
    yield from ("", "## What you believe, and what you may say", "")
    if of.kind == "open":
        yield "Write one vague idea that tells exactly these points, what you invest in, and up to when data may be used. Nothing else shows:"
        yield from (f"- {c.opening}" for c in of.convictions if c.opening)
        yield from (f"- you invest in: {of.universe}", f"- data up to {of.until}")
        yield from ("", "You also believe the following, and say none of it yet:")
        yield from (f"- {c.sentence}" for c in of.convictions if not c.opening)
        return
    yield "Answer only what is asked. Say no to what conflicts, and what you want instead. If a delivery departs from a belief, name the part, no more."
    yield "Where you have no view, say so if you are asked, and make nothing up."
    for title, chosen in (
        ("You may say now, because you were asked or something was proposed:", [c for c in of.convictions if c.may_be_told and not c.told]),
        ("You have said already:", [c for c in of.convictions if c.told]),
        (
            "Nobody has raised these, so they do not come to your mind, not even as a hint:",
            [c for c in of.convictions if not c.may_be_told],
        ),
    ):
        if chosen:
            yield from ("", title)
            yield from (f"- {c.sentence} ({c.piece}){_because(c)}" for c in chosen)
    if of.absent:
        yield from ("", f"No view on: {', '.join(of.absent)}, and everything else.")


def _because(conviction: Conviction) -> str:
    why = [
        word for word, true in (("asked", conviction.asked), (f"what it proposes {conviction.proposal}", bool(conviction.proposal))) if true
    ]
    return f": {', '.join(why)}" if why else ""


def _seen(of: Sheet) -> Iterator[str]:
    if of.kind == "open":
        return
    yield from ("", "## The conversation", "")
    for message in of.conversation:
        yield f"**{message.id}, {'you' if message.by == 'user' else 'the assistant'}{', cut off by the clock' if message.cut else ''}**"
        yield from ("", fence(plain(message.text)), "")
    yield from ("## What you were handed", "")
    if not of.files:
        yield "Nothing yet."
    for file in of.files:
        yield f"- {line(file.path)}" + ("" if file.text else " (not shown)")
    for file in (f for f in of.files if f.text):
        yield from ("", f"**{line(file.path)}**{' (the beginning)' if file.truncated else ''}", "", fence(plain(file.text)))
    yield from ("", "## What you want to have in hand", "")
    yield from (f"- `{goal.id}`{' (needed to close)' if goal.core else ''}: {goal.text}" for goal in of.goals)


def fence(text: str) -> str:
    """A block of code whose marks no text inside can close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}\n{text}\n{marks}"
