"""What a failed call means for the session: the provider's failure, or none of its."""

import re
from typing import Final

from attrs import evolve

from finassay.api.errors import ProviderError, ProviderRefusedError
from finassay_models_kit import Trouble
from finassay_models_kit.troubles import failure

_NO_CREDIT: Final = re.compile(
    r"insufficient_quota|spend_limit_reached|billing_hard_limit|billing_error|credit balance|insufficient (?:balance|credits)",
    re.IGNORECASE,
)
_ABOUT_KEYS: Final = re.compile(r"api.?key", re.IGNORECASE)
_BEGINS: Final = re.compile(r"^(?:your )?(?:credit balance|api.?key)\b", re.IGNORECASE)
"""How vendors' own sentences about money and keys begin. An agent can have its own words repeated in an error, but not at its beginning."""
_ECHOING: Final = frozenset({400, 404, 413, 422})
"""Statuses of answers about the request, which repeat parts of it."""
_PROVIDERS: Final = frozenset({401, 402, 403, 404, 408, 409, 425, 429})


def provider_failure(trouble: Trouble, who: str, key_names: tuple[str, ...]) -> ProviderError | None:
    """The provider's failure; None where its answer says that the program's request was wrong, which is the agent's affair.

    The upstream's own words stay out of it: they may repeat the prompt.
    """
    believed = trouble.status not in _ECHOING or _BEGINS.search(trouble.words)
    told = f"{trouble.code} {trouble.words}" if believed else trouble.code
    if trouble.kind == "status" and _NO_CREDIT.search(told):
        return ProviderRefusedError(
            f"{who}: HTTP {trouble.status}: no credit left",
            hint="The account has no credit left: pay in, or use another key.",
            any_request=True,
        )
    about_key = bool(_ABOUT_KEYS.search(told))
    if trouble.kind == "status" and trouble.status < 500 and not 300 <= trouble.status < 400:
        if trouble.status not in _PROVIDERS and not about_key:
            return None
        # A 403 may be about the words of one request, the others are about whatever is asked.
        if about_key and trouble.status in (400, 403):
            return ProviderRefusedError(f"{who}: HTTP {trouble.status}", hint=_key_hint(key_names), any_request=True)
    return failure(evolve(trouble, words=""), who, key_names, "")


def _key_hint(names: tuple[str, ...]) -> str:
    return f"The key in {' or '.join(names) or 'the environment'} may not be valid."
