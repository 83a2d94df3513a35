"""A model server for tests of adapters: it speaks the model APIs on loopback and says what a script tells it to.

    from finassay_cli_kit.testing import ModelServer, Mcp, Say, Script, Shell, Status, WriteFile

    script = Script(
        [Say("I look at the prices first."), Mcp("price", "get_price", {"symbol": "AAA"}), WriteFile("deliver/a.md", "# A"), Say("Done.")],
        [Status(500), Shell("ls deliver"), Say("There it is.")],
    )
    with ModelServer(script) as server:
        ...  # run the program against server.urls["anthropic"], server.key and the model server.models[0], two user turns
    server.check()  # raises if a step could not be played as told, or steps were left over
    assert server.usage.output_tokens == ...

One server speaks all APIs at once: Anthropic Messages, OpenAI Responses, OpenAI chat completions, Gemini `generateContent`, each streamed and
not. `server.urls` has the base URL that clients of "anthropic", "openai" and "google" want, the same names as a session's gateway has.

**Scripts.** One list of steps per user turn. A model's reply is made of what comes before the next tool result: `Say` followed by a tool step is
one reply, `Say` at the end of a turn is the last. Tool steps are neutral (`Shell`, `WriteFile`, `Mcp`; `Use` names a tool exactly) and become calls
of the tools that the request really offers, in their shape; `Together(...)` puts several calls into one reply. A new user text starts the next
turn, also if the one before was cut; a request that is sent again after a fault is answered by the step after the fault.

**Faults** are steps too: `Status(500)`, `CutStream()`, `EmptyStream()`, `Silence()`, `Reset()`, `Drip(step, seconds)`; `times=None` plays one for
ever. `server.down()` refuses connections until `server.up()`. A wrong key gets 401, a model that is not in `models` 404.

**Callables.** For whole sessions give a function instead of a script: `ModelServer(lambda request: [...])`. It gets a `ModelRequest` (who said what so
far, `request.text` the newest user text, `request.turn`, `request.step`, `request.results`) and returns the steps of this one reply. For one script per conversation use
`per_conversation(make_script)`.

Every request is kept in `server.requests`, with its key, body, answer and usage. Only the standard library is used, so a test may
run the server in the harness's process without disturbing it; all threads end with the `with` block.
"""

from finassay_cli_kit.testing.faults import CutStream, Drip, EmptyStream, Reset, Silence, Status
from finassay_cli_kit.testing.request import Item, ModelRequest, Tool
from finassay_cli_kit.testing.script import Player, Script, per_conversation
from finassay_cli_kit.testing.server import KEY, MODEL, ModelServer, Recorded
from finassay_cli_kit.testing.steps import Mcp, Say, Shell, Step, Together, TokenCount, Use, WriteFile

__all__ = [
    "KEY",
    "MODEL",
    "CutStream",
    "Drip",
    "EmptyStream",
    "Item",
    "Mcp",
    "ModelRequest",
    "ModelServer",
    "Player",
    "Recorded",
    "Reset",
    "Say",
    "Script",
    "Shell",
    "Silence",
    "Status",
    "Step",
    "Together",
    "TokenCount",
    "Tool",
    "Use",
    "WriteFile",
    "per_conversation",
]
