"""A small MCP server on stdin and stdout with the official SDK, for tests."""

import os

from mcp.server.mcpserver import MCPServer

server = MCPServer("prices")


@server.tool()
def get_price(ticker: str) -> dict[str, float]:
    """The last close."""
    return {ticker: 12.5}


@server.tool()
def environment() -> str:
    """The names of this process's variables, and its key."""
    return " ".join(sorted(os.environ)) + " key=" + os.environ.get("PRICE_KEY", "")


server.run()
