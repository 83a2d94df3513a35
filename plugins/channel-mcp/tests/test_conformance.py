from typing import Any, ClassVar

from finassay.testing.cases import ComponentConformance


class TestMcp(ComponentConformance):
    kind = "channel"
    id = "mcp"
    options: ClassVar[dict[str, Any]] = {
        "command": ["my-server"],
        "text": "An MCP server with daily prices of everything that is traded.",
        "provides": ["prices"],
    }


class TestFmp(ComponentConformance):
    kind = "channel"
    id = "fmp"
