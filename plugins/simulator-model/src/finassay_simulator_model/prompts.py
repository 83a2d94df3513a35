"""Prompts from scenes."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final

from finassay.api.conversation import Message
from finassay.api.model import ChatMessage
from finassay.api.persona import Persona
from finassay.api.simulator import Excerpt, Rejection, Scene
from finassay.api.strategy import Belief, Item
from finassay.api.task import Task
from finassay_simulator_model import wording
from finassay_simulator_model.fencing import bounded, fenced, neutral

LAST_MESSAGES: Final = 6
MAX_FILES: Final = 20
MAX_FILE: Final = 8_000
MAX_FILES_TOTAL: Final = 12_000
MAX_LISTED: Final = 200
MAX_REASONS: Final = 40
MAX_REASON: Final = 600
_MONTHS: Final = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")


def part(persona: Persona, task: Task) -> str:
    """Who the model plays and how: the same in every turn of a session."""
    conditions = task.conditions
    return wording.PART.format(
        name=persona.name,
        background=persona.background,
        style=persona.style,
        focus="; ".join(persona.focus),
        utterances="\n".join(f'- "{text}"' for text in persona.utterances),
        forbidden=", ".join(f'"{term}"' for term in persona.forbidden),
        convictions=convictions(task.belief.items),
        universe=conditions.universe.text,
        until=until(conditions.cutoff),
    )


def convictions(items: Sequence[Item]) -> str:
    return "\n".join(f"- I want to {item.sentence}." for item in items) or "- You have none."


def until(last: date) -> str:
    """`the end of 2019` for a year's last day, else `31 March 2018`."""
    if (last.month, last.day) == (12, 31):
        return f"the end of {last.year}"
    return f"{last.day} {_MONTHS[last.month - 1]} {last.year}"


def opening(scene: Scene, rejections: Sequence[Rejection]) -> tuple[ChatMessage, ...]:
    belief = scene.task.belief
    clauses = "\n".join(f"- I like {belief.item(name).opening}." for name in belief.opening) or "- (no point: just the wish to invest)"
    asked = wording.OPENING.format(clauses=clauses) + refused(rejections, belief)
    return ChatMessage("system", part(scene.persona, scene.task)), ChatMessage("user", asked)


def turn(scene: Scene, rejections: Sequence[Rejection], summary: str = "") -> tuple[ChatMessage, ...]:
    """A decision is asked for. `summary` stands for the messages before the last six."""
    cut = "The assistant's last reply broke off before it was finished.\n" if scene.cut else ""
    told = tuple(item for item in scene.task.belief.items if item.id in scene.stated)
    asked = wording.TURN.format(
        conversation=conversation(scene.conversation.messages, summary),
        files=files(scene.excerpts, scene.files),
        told="\n".join(f"- {item.sentence}" for item in told) or "Nothing.",
        goals="\n".join(f'- "{goal.id}"{" (core)" if goal.core else ""}: {goal.text}' for goal in scene.task.goals),
        situation=cut,
    )
    asked += refused(rejections, scene.task.belief)
    return ChatMessage("system", part(scene.persona, scene.task)), ChatMessage("user", asked)


def conversation(messages: Sequence[Message], summary: str = "") -> str:
    """The last six messages, the last of them at greater length, behind what stands for the earlier ones."""
    shown = [f"Earlier, in short: {neutral(summary)}"] if summary else []
    for place, message in enumerate(messages[-LAST_MESSAGES:], start=1):
        newest = place == min(LAST_MESSAGES, len(messages))
        shown.append(spoken(message, bounded(message.text) if newest else bounded(message.text, 6_000, 2_000)))
    return "\n\n".join(shown)


def spoken(message: Message, text: str) -> str:
    who = "You" if message.sender == "user" else "The assistant"
    return f"{who} ({message.id}{', cut off' if message.cut else ''}):\n{fenced(message.id, text)}"


def files(excerpts: Sequence[Excerpt], paths: Sequence[str]) -> str:
    """Paths, and the beginnings of the newest files: 20 files, 8,000 characters each, 12,000 in all (paper, appendix D)."""
    if not paths:
        return "Nothing yet."
    listed = "\n".join(f"- {neutral(' '.join(path.split()))[:300]}" for path in paths[:MAX_LISTED])
    more = f"\n- and {len(paths) - MAX_LISTED:,} more files" if len(paths) > MAX_LISTED else ""
    shown, left = [], MAX_FILES_TOTAL
    for excerpt in excerpts[:MAX_FILES]:
        text = excerpt.text[: min(MAX_FILE, left)]
        if not text:
            break
        left -= len(text)
        cut = excerpt.truncated or len(text) < len(excerpt.text)
        shown.append(fenced(f"file {excerpt.path}", text) + ("\n(only the beginning)" if cut else ""))
    return f"Files:\n{listed}{more}\n\n" + "\n\n".join(shown)


def refused(rejections: Sequence[Rejection], belief: Belief) -> str:
    """Why earlier tries could not be sent, in words that the person knows."""
    if not rejections:
        return ""
    names = {item.id: f'"{item.sentence}" ({item.piece})' for item in (*belief.items, *belief.absent)}
    reasons = dict.fromkeys(readable(rejection.reason, names) for rejection in rejections)
    return wording.REFUSED.format(reasons="\n".join(f"- {reason}" for reason in list(reasons)[-MAX_REASONS:]))


def readable(reason: str, names: Mapping[str, str]) -> str:
    """A reason with item ids put into words; what it quotes may be the assistant's."""
    for name in sorted(names, key=len, reverse=True):
        reason = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w:])", lambda _, name=name: names[name], reason)  # type: ignore[misc]
    return neutral(" ".join(reason.split()))[:MAX_REASON]


def summing_up(messages: Sequence[Message], words: int) -> tuple[ChatMessage, ...]:
    said = "\n\n".join(spoken(message, bounded(message.text, 6_000, 2_000)) for message in messages)
    return (ChatMessage("system", wording.SUMMARY.format(words=words)), ChatMessage("user", said))


def extract(messages: Sequence[Message], length: int = 400) -> str:
    """What stands for earlier messages where no summary could be had: how each began, and what the assistant asked."""
    lines = []
    for message in messages:
        text = " ".join(message.text.split())
        questions = [q.strip() for q in re.findall(r"[^.!?]{3,300}\?", text[length:20_000])][:6] if message.sender == "agent" else []
        who = "You" if message.sender == "user" else "The assistant"
        lines.append(f"{who} ({message.id}): {text[:length]}{'…' if len(text) > length else ''} {' '.join(questions)}".rstrip())
    return "\n".join(lines)


def checking(items: Sequence[Item], user_message: str, agent_message: str) -> tuple[ChatMessage, ...]:
    """Which items were told and raised. Items go by number: their ids would tell more than the question needs."""
    statements = "\n".join(f"S{number}: The person wants to {item.sentence}." for number, item in enumerate(items, start=1))
    said = (
        [f"The assistant's message:\n{fenced('assistant', bounded(agent_message))}"]
        if agent_message
        else ["The assistant has said nothing yet."]
    )
    said.append(f"The person's message:\n{fenced('person', bounded(user_message))}")
    return (ChatMessage("user", wording.CHECK.format(statements=statements, messages="\n\n".join(said))),)
