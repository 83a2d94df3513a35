"""What every agent of a run is told, in the same words."""

from collections.abc import Sequence

from finassay.api.channel import ChannelSpec
from finassay.api.task import Brief, Task

_TEXT = """You are working for a person who will talk to you over several turns. Reply to each message with a message of your own.

Files that you put into the folder ./deliver are what the person receives; nothing else in your working folder reaches them. What lies in
./deliver when your turn ends is delivered, also if your turn is stopped by the clock. You have at most {turns} turns of {seconds:g} seconds each.
You may run code in your working folder{network}.

{channels}"""


def make_brief(task: Task, session: str, channels: Sequence[ChannelSpec]) -> Brief:
    """The brief of a session; holds nothing of the belief."""
    conditions = task.conditions
    text = _TEXT.format(
        turns=conditions.max_turns,
        seconds=conditions.turn_seconds,
        network=" and reach the network" if conditions.network else "; there is no network",
        channels="\n\n".join(f"Data: {channel.text}" for channel in channels),
    )
    return Brief(session, text.strip(), conditions.max_turns, conditions.turn_seconds, tuple(c.id for c in channels), conditions.network)
