"""Which requests of each API pass. Everything else stays here: files, batches, stored answers, organisations are not an agent's."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from finassay_gateway.options import Format

_PLAIN: Final = re.compile(r"[A-Za-z0-9._~:@/+-]*")
_VERSION: Final = r"(?:/v\d[a-z0-9]*)?"
_NAME: Final = r"[A-Za-z0-9._~:@+-]+(?:/[A-Za-z0-9._~:@+-]+)*"

_ROUTES: Final[Mapping[Format, Sequence[tuple[str, str, str]]]] = {
    "anthropic": (
        ("POST", rf"{_VERSION}/messages", "messages"),
        ("POST", rf"{_VERSION}/messages/count_tokens", "count"),
        ("GET", rf"{_VERSION}/models(?:/{_NAME})?", ""),
        ("GET", r"(?:/api/hello|/?)", ""),
    ),
    "openai": (
        ("POST", rf"{_VERSION}/responses", "responses"),
        ("POST", rf"{_VERSION}/responses/compact", "responses"),
        ("POST", rf"{_VERSION}/responses/input_tokens", "count"),
        ("POST", rf"{_VERSION}/chat/completions", "chat"),
        ("POST", rf"{_VERSION}/completions", "chat"),
        ("GET", rf"{_VERSION}/models(?:/{_NAME})?", ""),
        ("GET", r"/?", ""),
    ),
    "google": (
        ("POST", rf"{_VERSION}/(?:models|tunedModels)/(?P<model>[^/:]+):(?:generateContent|streamGenerateContent)", "generate"),
        ("POST", rf"{_VERSION}/(?:models|tunedModels)/(?P<model>[^/:]+):countTokens", "count"),
        ("GET", rf"{_VERSION}/models(?:/{_NAME})?", ""),
        ("GET", r"/?", ""),
    ),
}
_COMPILED: Final = {format: tuple((method, re.compile(path), api) for method, path, api in routes) for format, routes in _ROUTES.items()}
_SPECIAL: Final = frozenset({"model", "models", "stream", "background", "fallbacks", "tools", "stream_options"})


@frozen
class Endpoint:
    """Where a request leads."""

    path: str
    api: str
    """What it is metered as: `messages`, `responses`, `chat`, `generate`; `count` for counting tokens, empty for lists: both are free."""
    model: str = ""
    """The model that the path names."""

    @property
    def metered(self) -> bool:
        return self.api not in ("", "count")


def endpoint(format: Format, method: str, path: str) -> Endpoint | None:
    """The endpoint of a path (after the upstream's name, decoded), None if it does not pass."""
    if not _PLAIN.fullmatch(path) or ".." in path or "//" in path:
        return None
    for wanted, pattern, api in _COMPILED[format]:
        if wanted == ("GET" if method == "HEAD" else method) and (found := pattern.fullmatch(path)):
            return Endpoint(path, api, found.groupdict().get("model") or "")
    return None


class OddBodyError(ValueError):
    """A request's body that two readers could take for different things."""


def read_json(body: bytes) -> dict[str, Any]:
    """The body as an object. Raises `OddBodyError` for anything else, and for names that stand twice or differ in case only:
    the upstream must not see another model than the gateway."""
    import json

    try:
        value = json.loads(body, object_pairs_hook=_once)
    except OddBodyError:
        raise
    except (ValueError, RecursionError):
        raise OddBodyError("the body is not JSON") from None
    if not isinstance(value, dict):
        raise OddBodyError("the body is not a JSON object")
    for name in value:
        if name not in _SPECIAL and name.casefold() in _SPECIAL:
            raise OddBodyError("a field's name is written in an unusual way")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise OddBodyError("a field stands twice in the body")
    return made


def models_named(body: Mapping[str, Any]) -> list[str]:
    """Every model that a body names, its own first: also alternatives, and models that tools use."""
    found: list[str] = []
    for value in (body.get("model"), *_listed(body.get("models")), *_listed(body.get("fallbacks")), *_listed(body.get("tools"))):
        named = value.get("model") if isinstance(value, dict) else value
        if isinstance(named, str):
            found.append(named)
    return found


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


_GOOGLE_QUERY: Final = {"alt": ("sse", "json"), "$alt": ("sse", "json"), "pageSize": None, "pageToken": None, "prettyPrint": None}
_SECRETS_IN_QUERY: Final = frozenset({"key", "access_token", "oauth_token", "api_key", "token"})


def query_passed(format: Format, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]] | None:
    """What is passed on of a query, without tokens; None if something in it may not pass.

    Google's API takes its whole behaviour from the query (methods, forms that cannot be metered): only what is known passes.
    """
    kept = [(name, value) for name, value in pairs if name not in _SECRETS_IN_QUERY]
    if format == "google":
        for name, value in kept:
            allowed = _GOOGLE_QUERY.get(name, ())
            if allowed is not None and value.lower() not in allowed:
                return None
    return kept
