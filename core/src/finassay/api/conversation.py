"""What was said."""

from typing import Literal

from attrs import frozen

Sender = Literal["user", "agent"]


@frozen
class Message:
    """One message; `id` is `u0` for the opening, then `a1`, `u1`, `a2` …; `cut` marks a reply stopped by the clock."""

    id: str
    turn: int
    sender: Sender
    text: str
    cut: bool = False


@frozen
class Conversation:
    """Messages in order: u0, a1, u1, …"""

    messages: tuple[Message, ...] = ()

    def of(self, sender: Sender) -> tuple[Message, ...]:
        return tuple(message for message in self.messages if message.sender == sender)

    def last(self, sender: Sender) -> Message | None:
        for message in reversed(self.messages):
            if message.sender == sender:
                return message
        return None

    def with_message(self, message: Message) -> "Conversation":
        return Conversation((*self.messages, message))

    def until(self, turn: int) -> "Conversation":
        """Everything up to and including the agent's message of `turn`; the user's reply to it is left out."""
        return Conversation(tuple(m for m in self.messages if m.turn < turn or (m.turn == turn and m.sender == "agent")))
