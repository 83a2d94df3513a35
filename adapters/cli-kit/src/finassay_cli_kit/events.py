"""What a program's output lines can mean."""

from collections.abc import Mapping
from typing import Any

from attrs import Factory, frozen

from finassay.api.usage import Usage


@frozen
class Said:
    """A message to the user. The last one of a turn is the reply; `more` continues the one before it (streamed pieces)."""

    text: str
    more: bool = False


@frozen
class ToolCall:
    """The program uses a tool."""

    id: str
    name: str
    input: Mapping[str, Any] = Factory(dict)


@frozen
class ToolResult:
    """What a tool gave back."""

    id: str
    output: str
    is_error: bool = False
    exit_code: int | None = None


@frozen
class UsageReported:
    """Tokens and money since the last report of this turn."""

    usage: Usage
    running_total: bool = False
    """Counts the whole session so far, as some programs do."""
    provisional: bool = False
    """Counts only if the turn ends without a report that is not provisional: what is known of a turn that was cut."""
    call: str = ""
    """For a provisional one, the id of the model call: a later report of the same call takes the place of an earlier one."""


@frozen
class Failed:
    """The program says that something went wrong. It decides the turn only if no `Done` follows: many errors are retried inside."""

    text: str
    provider: bool = False
    """The model's provider failed, not the agent."""
    refused: bool = False
    """It refuses whatever it is asked (wrong key, unknown model, no credit): waiting does not help."""


@frozen
class ProgramSession:
    """The program's own id of the conversation, by which a later turn goes on with it."""

    id: str


@frozen
class Note:
    """Something worth keeping in the execution log."""

    text: str


@frozen
class Done:
    """The final success event. Without it a turn has failed, whatever the exit code says. `text` replaces the reply if it is given."""

    text: str | None = None


KitEvent = Said | ToolCall | ToolResult | UsageReported | Failed | ProgramSession | Note | Done
