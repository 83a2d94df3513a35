"""A small MCP server on stdin and stdout, for tests; its first argument says how it behaves."""

import os
import subprocess
import sys
import time

from mcp.server.mcpserver import MCPServer

how = sys.argv[1] if len(sys.argv) > 1 else "well"
if how == "breaks":
    print("cannot start: no licence for " + os.environ.get("PRICE_KEY", "nobody"), file=sys.stderr)
    sys.exit(3)
if how == "silent":
    time.sleep(600)

server = MCPServer("prices")


@server.tool()
def get_price(ticker: str) -> dict[str, float]:
    """The last close."""
    return {ticker: 12.5}


@server.tool()
def environment() -> str:
    """The names of this process's variables, and its key."""
    return " ".join(sorted(os.environ)) + " key=" + os.environ.get("PRICE_KEY", "")


@server.tool()
def pid() -> int:
    """This process."""
    return os.getpid()


@server.tool()
def leave_child() -> int:
    """A child in a session of its own, which would outlive the server."""
    return subprocess.Popen(["sleep", "300"], start_new_session=True).pid


@server.tool()
def die() -> str:
    """Ends the process in the middle of a call."""
    os._exit(1)


@server.tool()
def slow(seconds: float) -> str:
    """Takes its time."""
    time.sleep(seconds)
    return "done"


server.run()
