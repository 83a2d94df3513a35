"""What a program is told: the briefing and the user's message, in the same words for every agent."""

from typing import Final

from finassay.api.conversation import Conversation
from finassay.api.task import Brief

MAX_SAID: Final = 200_000
"""Characters of one message in a transcript."""
FIRST: Final = "{brief}\n\nThe person's first message:\n\n{message}"
AGAIN: Final = (
    "{brief}\n\nYou have been working for this person already. Your files are still in your working folder. This was said so far:"
    "\n\n{said}\n\nThe person's new message:\n\n{message}"
)


def brief_and_message(brief: Brief, said: Conversation, message: str) -> str:
    """The first prompt of a conversation with a program: briefing and message.

    Where something was said before (the program lost its conversation, or keeps none), what was said stands between them.
    """
    if not said.messages:
        return FIRST.format(brief=brief.instructions, message=message)
    return AGAIN.format(brief=brief.instructions, said=transcript(said), message=message)


def as_words(text: str) -> str:
    """A message that no program takes for one of its own commands, which begin with a slash."""
    return f"The message is:\n{text}" if text.lstrip().startswith("/") else text


def transcript(said: Conversation) -> str:
    """A conversation as text, for a program that must be told what was said; a message of excessive length keeps its beginning."""
    return "\n\n".join(f"{'The person' if m.sender == 'user' else 'You'}:\n{_bounded(m.text)}" for m in said.messages)


def _bounded(text: str) -> str:
    return text if len(text) <= MAX_SAID else text[:MAX_SAID] + "…"
