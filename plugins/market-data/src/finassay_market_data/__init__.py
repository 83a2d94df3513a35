"""An MCP server over real prices."""
