"""Talking to whoever sits at the terminal."""

import select
import sys
import threading
import time
from typing import Final, Protocol

from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from finassay.api.errors import ProviderError
from finassay_simulator_person.sheet import plain

END: Final = "."
"""A line that ends a message of several lines."""


class Dialogue(Protocol):
    """Shows things and asks for lines."""

    def page(self, markdown: str) -> None:
        """Show a page of ours, in which what others wrote stands in blocks of code."""
        ...

    def tell(self, text: str, style: str = "") -> None:
        """Show a line of text as it is."""
        ...

    def ask(self, prompt: str, seconds: float) -> str:
        """One line. Raises `ProviderError` when nobody answers in time or the terminal is gone."""
        ...


class TerminalDialogue:
    """The real one. Lines are asked for with a time-out, which needs a terminal or a pipe."""

    def __init__(self) -> None:
        self.console = Console(highlight=False)

    def page(self, markdown: str) -> None:
        self.console.print(Markdown(markdown, hyperlinks=False))

    def tell(self, text: str, style: str = "") -> None:
        self.console.print(Text(plain(text), style=style))

    def ask(self, prompt: str, seconds: float) -> str:
        self.console.print(Text(f"{prompt} "), end="")
        sys.stdout.flush()
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        typed = sys.stdin.readline() if ready else ""
        if not ready:
            raise ProviderError(f"nobody answered at the terminal within {seconds / 60:g} minutes", hint="The same command goes on.")
        if not typed:
            raise ProviderError("the terminal was closed", hint="The same command goes on with the session.")
        return typed.strip()


ONE_AT_A_TIME: Final = threading.Lock()
"""Sessions that are held at the same time take turns at the terminal."""


def several_lines(talk: Dialogue, prompt: str, seconds: float) -> str:
    """A message of several lines, ended by a line with a single dot."""
    ends = time.monotonic() + seconds
    talk.tell(f"{prompt} (end with a line that holds only '{END}')")
    lines: list[str] = []
    while (typed := talk.ask(">", max(0.1, ends - time.monotonic()))) != END:
        lines.append(typed)
    return "\n".join(lines).strip()
