"""The gateway: agents reach model APIs and MCP servers through it and never hold a key."""
