"""The program behind the agents: `python -m finassay_reference.program NAME`.

It reads the user's message from standard input and writes JSON lines to standard output.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from finassay_reference.memory import Memory
from finassay_reference.protocol import emit, say
from finassay_reference.request import Request

Reply = Callable[[Request, str, int, Path], tuple[Request, str]]


def reply_of(name: str) -> Reply:
    """The conversation of an agent by name. Raises `KeyError` for another name."""
    from finassay_reference.conversation import assumer, leaker, reference
    from finassay_reference.storyteller import storyteller

    return {"reference": reference, "assumer": assumer, "leaker": leaker, "storyteller": storyteller}[name]


def main(argv: list[str]) -> int:
    """One turn in the current folder. Exit code 2 for a wrong command line."""
    try:
        reply = reply_of(argv[0]) if len(argv) == 1 else None
    except KeyError:
        reply = None
    if reply is None:
        emit("error", text="usage: python -m finassay_reference.program reference|assumer|leaker|storyteller", kind="agent")
        return 2
    message = sys.stdin.buffer.read().decode("utf-8", "replace")
    turn = int(os.environ.get("FINASSAY_TURN", "1"))
    workspace = Path.cwd()
    (workspace / "deliver").mkdir(exist_ok=True)
    memory = Memory(Path(os.environ.get("HOME", ".home")))
    request, text = reply(memory.before(turn), message, turn, workspace)
    memory.keep(turn, request)
    say(text)
    emit("usage", input_tokens=0, output_tokens=0, cost_usd=0.0)
    emit("done")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
