"""Refusals and failures in the words of each API, so that its programs understand them."""

import json
from typing import Any, Final

from finassay_gateway.options import Format

_ANTHROPIC: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
}
_GOOGLE: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def error(format: Format, status: int, code: str, message: str) -> dict[str, Any]:
    """The body of an error. `code` is the gateway's own short word, for the formats that have a place for it."""
    match format:
        case "anthropic":
            return {"type": "error", "error": {"type": _ANTHROPIC.get(status, "api_error"), "message": message}}
        case "openai":
            kind = "server_error" if status >= 500 else "invalid_request_error"
            return {"error": {"message": message, "type": kind, "param": None, "code": code}}
        case "google":
            return {"error": {"code": status, "message": message, "status": _GOOGLE.get(status, "INTERNAL")}}


def error_event(api: str, status: int, code: str, message: str) -> bytes:
    """An error inside a stream of server-sent events, as the API words it."""
    match api:
        case "messages":
            return _event(error("anthropic", status, code, message), "error")
        case "responses":
            # The vendor's SDK raises at the first, programs that read for themselves look for the second.
            told = {"code": code, "message": message}
            first = _event({"type": "error", **told, "param": None, "sequence_number": 0}, "error")
            return first + _event({"type": "response.failed", "response": {"status": "failed", "error": told}}, "response.failed")
        case "generate":
            return _event(error("google", status, code, message))
        case _:
            return _event(error("openai", status, code, message))


def _event(data: dict[str, Any], name: str = "") -> bytes:
    return (f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(data).encode() + b"\n\n"
