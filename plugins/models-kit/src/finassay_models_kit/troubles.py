"""Failures of a provider, told apart: what may pass, what will not, how long to wait, and what may be said about it."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal

from attrs import Factory, frozen

from finassay.api.errors import ProviderError, ProviderRefusedError
from finassay.api.model import ChatRequest

_PASSING: Final = frozenset({408, 409, 425, 429})
_LASTING_5XX: Final = frozenset({501, 505})
_NO_CREDIT: Final = re.compile(
    r"insufficient_quota|spend_limit_reached|billing_hard_limit|credit balance|insufficient (?:balance|credits)", re.IGNORECASE
)
"""Words of vendors for an empty account. Others say `quota` and `billing` for a limit that passes, too."""
_ABOUT_KEYS: Final = re.compile(r"api.?key", re.IGNORECASE)
_WORDS: Final = 300
_ECHO: Final = 24
"""So many characters in a row that also stand in the prompt are taken for an echo of it."""


@frozen
class Trouble:
    """What a vendor's SDK told about a failure.

    `status` is the HTTP status, or the one that an error inside a stream stands for. `code` is the vendor's own short name of the error,
    `words` its message: untrusted, and perhaps an echo of the request.
    """

    kind: Literal["status", "timeout", "connection", "unreadable"]
    status: int = 0
    code: str = ""
    words: str = ""
    headers: Mapping[str, str] = Factory(dict)
    wait: float | None = None
    """Seconds to wait, where the vendor says so elsewhere than in a header."""

    @property
    def passes(self) -> bool:
        """Whether the same request may succeed later."""
        if self.kind != "status":
            return True
        if self.status in (402, 429) and _NO_CREDIT.search(f"{self.code} {self.words}"):
            return False
        return self.status in _PASSING or (self.status >= 500 and self.status not in _LASTING_5XX)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that a response asks to wait: `Retry-After-Ms`, or `Retry-After` as seconds or as an HTTP date. None where it does not say."""
    values = {name.lower(): value.strip() for name, value in headers.items()}
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(values.get(name, "")) * scale
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    try:
        when = parsedate_to_datetime(values.get("retry-after", ""))
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())


def presentable(words: str, key: str, request: ChatRequest) -> str:
    """A provider's words, fit to be shown and kept: short, in one line, without the key or parts of it, and nothing if they echo the prompt."""
    text = " ".join("".join(c if c.isprintable() else " " for c in words[: 20 * _WORDS]).split())
    if key:
        text = text.replace(key, "[key]")
    # Masked keys (sk-ab…yz) and other long tokens say nothing that a person needs.
    text = re.sub(r"(?<!\w)(?:sk|pk|AIza|Bearer )[\w\-]*[-*.…]+[\w\-*.…]*", "[key]", text)
    text = re.sub(r"[A-Za-z0-9+/_\-]{33,}={0,2}", "[…]", text)
    for start in range(max(0, len(key) - 7)):
        text = text.replace(key[start : start + 8], "[key]")
    text = text if len(text) <= _WORDS else text[: _WORDS - 1] + "…"
    return "" if _echoes(text, request) else text


def _echoes(text: str, request: ChatRequest) -> bool:
    prompt = "\n".join(" ".join(message.text.split()) for message in request.messages)
    return any(text[start : start + _ECHO] in prompt for start in range(len(text) - _ECHO + 1))


def failure(trouble: Trouble, who: str, key_names: Sequence[str], words: str) -> ProviderError:
    """The error to raise for a failed try of the model `who`. `words` are presentable, or empty."""
    told = f": {words}" if words and trouble.status != 401 else ""  # a 401 tells only what part of the key was sent
    code = f" ({trouble.code})" if re.fullmatch(r"[A-Za-z_][\w.\-]{0,60}", trouble.code) else ""
    match trouble.kind:
        case "timeout":
            return ProviderError(f"{who}: no answer in time", hint="A longer time-out, a lower effort or fewer output tokens may help.")
        case "connection":
            return ProviderError(f"{who}: the connection failed{told}", hint="Is the network up, and base_url right if one is set?")
        case "unreadable":
            return ProviderError(f"{who}: an answer that cannot be read{told}", hint="If it stays, base_url may lead to something else.")
    message = f"{who}: HTTP {trouble.status}{code}{told}" if trouble.status else f"{who}: the provider failed{code}{told}"
    if trouble.passes:
        wait = trouble.wait if trouble.wait is not None else retry_after(trouble.headers)
        return ProviderError(message, hint="It may pass.", retry_after=wait)
    return ProviderRefusedError(message, hint=_hint(trouble, key_names), any_request=_about_any(trouble))


def _about_any(trouble: Trouble) -> bool:
    """Whether the refusal is about key, model, account or address, and not about the one request. A 403 may be about its words."""
    return (
        trouble.status in (401, 402, 404, 429) or 300 <= trouble.status < 400 or bool(_ABOUT_KEYS.search(f"{trouble.code} {trouble.words}"))
    )


def _hint(trouble: Trouble, key_names: Sequence[str]) -> str:
    key = " or ".join(key_names) or "the variable that key_variable names"
    match trouble.status:
        case 401:
            return f"The key in {key} is missing or not accepted; a keyring is asked where the variable is not set."
        case 403:
            return f"The key in {key} may not use this model or endpoint."
        case 404:
            return "No such model for this key, or base_url leads elsewhere: the name is written as the provider spells it."
        case 402 | 429:
            return "The account has no credit left: pay in, or use another key."
        case 413:
            return "The request is too large for this model."
        case status if 300 <= status < 400:
            return "The address has moved; redirects are not followed, because they would take the key along. Set base_url."
        case _:
            if _ABOUT_KEYS.search(f"{trouble.code} {trouble.words}"):
                return f"The key in {key} may not be valid."
            if re.search(r"schema|response_format|output_config|grammar", f"{trouble.code} {trouble.words}", re.IGNORECASE):
                return "The provider does not take the schema: the option structured=none has the model told in words instead."
            return "The provider does not take the request as it is; an option (effort, temperature, …) may not suit this model."


def header_map(headers: Any) -> dict[str, str]:
    """Headers of whatever HTTP library, as plain strings; empty where there are none."""
    try:
        return {str(name): str(value) for name, value in dict(headers).items()}
    except (TypeError, ValueError):
        return {}
