"""The MCP servers of a session in the shape that programs' configuration files have."""

from collections.abc import Mapping
from typing import Any

from finassay.api.gateway import Access


def http_servers(access: Access | None, *, url: str = "url", **fixed: Any) -> dict[str, Mapping[str, Any]]:
    """Name to what a program writes for a server of streamable HTTP.

    `url` is the program's name for the address; `fixed` is added to each, such as `type="http"`. Empty where the session has no server.
    """
    servers = access.servers if access is not None else ()
    return {server.name: {**fixed, url: server.url, "headers": dict(server.headers)} for server in servers}
