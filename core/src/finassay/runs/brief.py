"""What every agent of a run is told, in the same words."""

from collections.abc import Sequence

from finassay.api.channel import ChannelSpec
from finassay.api.task import Brief, Task

_TEXT = """You are working for a person who will talk to you over several turns. Reply to each message with a message of your own.

Files that you put into the folder ./deliver are what the person receives; nothing else in your working folder reaches them. What lies in
./deliver when your turn ends is delivered, also if your turn is stopped by the clock. You have at most {turns} turns of {seconds:g} seconds each.
What still runs when a turn ends is stopped.

You may run code in your working folder. {network}

{channels}"""
_ONLINE = "You may search the web and retrieve pages."
_OFFLINE = "There is no network: what you need must be in your working folder or come through the data channels."
_SERVED = "\n(The MCP server '{name}', connected for you, serves it.)"


def make_brief(task: Task, session: str, channels: Sequence[ChannelSpec]) -> Brief:
    """The brief of a session; holds nothing of the belief."""
    conditions = task.conditions
    text = _TEXT.format(
        turns=conditions.max_turns,
        seconds=conditions.turn_seconds,
        network=_ONLINE if conditions.network else _OFFLINE,
        channels="\n\n".join(_paragraph(channel) for channel in channels),
    )
    return Brief(session, text.strip(), conditions.max_turns, conditions.turn_seconds, tuple(c.id for c in channels), conditions.network)


def _paragraph(channel: ChannelSpec) -> str:
    return f"Data: {channel.text}" + (_SERVED.format(name=channel.id) if channel.server is not None else "")
