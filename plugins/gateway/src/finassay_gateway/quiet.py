"""Keeps libraries quiet that handle keys: what they log of an exchange holds addresses, headers and messages."""

import logging
from typing import Final

THREAD: Final = "finassay-gateway"
_LIBRARIES: Final = frozenset({"httpx2", "httpcore2", "mcp", "uvicorn", "sse_starlette", "starlette", "h11"})


class _Quiet(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return record.threadName != THREAD


_QUIET: Final = _Quiet()


def hush() -> None:
    """Drop what these libraries log in the gateway's thread, at every level. Elsewhere they log as before."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in _LIBRARIES:
            logging.getLogger(name).addFilter(_QUIET)  # the same one is added once
