"""A request to a model, read the same way whichever API it came by."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from attrs import Factory, frozen

Wire = Literal["anthropic", "openai-responses", "openai-chat", "google"]

INJECTED = (
    "system-reminder",
    "environment_context",
    "session_context",
    "turn_aborted",
    "user_instructions",
    "skills_instructions",
    "permissions instructions",
    "permissions_instructions",
    "recommended_plugins",
)
"""Tags around what programs add to a conversation by themselves, under the user's name."""
_BLOCK = re.compile("|".join(rf"\s*<{tag}>.*?</{tag}>\s*" for tag in map(re.escape, INJECTED)), re.DOTALL)
_CWD = re.compile(r"(?:working directory:?|<cwd>|Workspace Directories:\*\*)[\s\-`*]*(/[^\n<`]*)", re.IGNORECASE)


@frozen
class Tool:
    """A tool that the request offers."""

    name: str
    schema: Mapping[str, Any] = Factory(dict)
    namespace: str = ""
    free_text: bool = False
    """Its input is text, not a JSON object."""
    description: str = ""


@frozen
class Item:
    """One thing said, in order. What programs inject as the user is `system`."""

    role: Literal["system", "user", "assistant", "result"]
    text: str


def spoken(role: Literal["system", "user", "assistant", "result"], text: str) -> list[Item]:
    """`text` under `role`, with what the program itself put around a user's words told apart."""
    if role != "user":
        return [Item(role, text)]
    said = _BLOCK.sub("", text)
    injected = [Item("system", block.group()) for block in _BLOCK.finditer(text)]
    return [*injected, Item("user", said)] if said.strip() else injected


@frozen
class ModelRequest:
    """What a program asked, told neutrally; `body` is the request as it came."""

    wire: Wire
    model: str
    stream: bool
    tools: tuple[Tool, ...]
    items: tuple[Item, ...]
    body: Mapping[str, Any]
    headers: Mapping[str, str] = Factory(dict)
    """With lower-case names."""
    key: str = ""
    conversation: str = ""
    """The program's own id of the conversation where the request holds one, else the key."""

    @property
    def fresh(self) -> tuple[Item, ...]:
        """What came after the model's last words."""
        start = max((n + 1 for n, item in enumerate(self.items) if item.role == "assistant"), default=0)
        return self.items[start:]

    @property
    def text(self) -> str:
        """The newest text of the user."""
        return next((item.text.strip() for item in reversed(self.items) if item.role == "user"), "")

    @property
    def results(self) -> tuple[str, ...]:
        """What the tools gave back since the model's last words."""
        return tuple(item.text for item in self.fresh if item.role == "result")

    @property
    def starts_turn(self) -> bool:
        """Whether the user has said something since the model's last words."""
        return any(item.role == "user" for item in self.fresh)

    @property
    def turn(self) -> int:
        """Number of the user's turn from 1, as far as the history shows it: a program may merge a cut turn with the next."""
        return self._turns()[0]

    @property
    def step(self) -> int:
        """How many replies the model has given in this turn."""
        return self._turns()[1]

    @property
    def cwd(self) -> str:
        """The working folder that the program tells its model, or empty."""
        for item in self.items:
            if item.role == "system" and (found := _CWD.search(item.text)):
                return found[1].strip()
        return ""

    def tool(self, *names: str) -> Tool | None:
        """The first of `names` that is offered."""
        return next((tool for name in names for tool in self.tools if tool.name == name), None)

    def _turns(self) -> tuple[int, int]:
        turn = step = 0
        after_model, mine = True, False
        for item in self.items:
            if item.role == "assistant":
                step += 0 if mine else 1
                after_model = mine = True
            elif item.role == "user":
                if after_model:
                    turn, step = turn + 1, 0
                after_model = mine = False
            elif item.role == "result":
                mine = False
        return turn, step
