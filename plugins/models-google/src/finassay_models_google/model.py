"""The provider `google`: the Gemini API through the vendor's SDK, which is imported when a model first speaks."""

import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

from finassay.api.model import ChatReply, ChatRequest, ModelCapabilities
from finassay_models_google.options import GoogleOptions
from finassay_models_kit import Clock, ProviderModel, Trouble, find_key
from finassay_models_kit.troubles import header_map

if TYPE_CHECKING:
    from google import genai

_ENDPOINT: Final = "https://generativelanguage.googleapis.com/"
_DELAY: Final = re.compile(r"(\d+(?:\.\d+)?)s")
_LASTING: Final = {"MISSING_THOUGHT_SIGNATURE": 400, "PUP_LIMITED_DISABLED": 403}
"""Ends of an answer that are failures which waiting does not mend, and the status that they stand for."""


class GoogleModel(ProviderModel):
    """One model of Google. Answers are always streamed, so that no idle connection is cut on the way."""

    api_version: ClassVar = 1
    Options: ClassVar = GoogleOptions
    description: ClassVar = "Gemini models of Google; the key comes from GEMINI_API_KEY or GOOGLE_API_KEY"
    credentials = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    provider: ClassVar = "google"

    def __init__(self, options: GoogleOptions) -> None:
        names = (options.key_variable,) if options.key_variable else self.credentials
        super().__init__(
            options.name,
            capabilities=ModelCapabilities(structured=options.structured == "schema", tools=True, search=True, fetch=True),
            key=find_key(self.provider, names),
            key_names=names,
            base_url=options.base_url or _ENDPOINT,
        )
        self._options = options

    def _make_client(self) -> "genai.Client":
        from google import genai
        from google.genai import types

        # No retry options means no retries. Without `enterprise` an environment variable would choose the endpoint.
        return genai.Client(
            api_key=self._key, enterprise=False, http_options=types.HttpOptions(base_url=self._base_url, httpx_client=self.http_client())
        )

    def _check(self, request: ChatRequest) -> None:
        super()._check(request)
        if request.search is not None and request.search.domains:
            raise self.refuse("cannot keep a search to some domains", "Leave the domains out, or choose a model of another provider.")

    def _exchange(self, request: ChatRequest, clock: Clock) -> ChatReply:
        from finassay_models_google import wire

        contents, config = wire.parameters(request, self._options)
        config["http_options"] = {"timeout": max(1, round(1000 * clock.left()))}
        chunks = []
        for chunk in self.client().models.generate_content_stream(model=self.name, contents=contents, config=config):
            chunks.append(chunk)
            clock.left()
        answer = wire.Answer.of(chunks)
        if not answer.stop and not answer.blocked:
            raise ConnectionError("the stream ended before its end")
        if answer.stop in _LASTING:
            raise self.failed(Trouble("status", _LASTING[answer.stop], answer.stop), request)
        return wire.reply(answer, request, self.name)

    def _trouble(self, error: Exception) -> Trouble | None:
        from google.genai import errors

        if not isinstance(error, errors.APIError):
            return None
        headers = header_map(getattr(error.response, "headers", None))
        code = error.code if isinstance(error.code, int) else 0
        return Trouble("status", code, str(error.status or ""), str(error.message or ""), headers, wait=_delay(error.details))


def _delay(details: Any) -> float | None:
    """Seconds to wait, which the API says in the body's `RetryInfo` and not in a header."""
    inner = details.get("error", details) if isinstance(details, dict) else {}
    entries = inner.get("details", ()) if isinstance(inner, dict) else ()
    for entry in entries if isinstance(entries, list) else ():
        found = _DELAY.fullmatch(str(entry.get("retryDelay", ""))) if isinstance(entry, dict) else None
        if found:
            return float(found[1])
    return None
