"""The provider `anthropic`: the Messages API through the vendor's SDK, which is imported when a model first speaks."""

from typing import TYPE_CHECKING, Any, ClassVar, Final

from finassay.api.model import ChatReply, ChatRequest, ModelCapabilities
from finassay_models_anthropic.options import AnthropicOptions
from finassay_models_kit import Clock, ProviderModel, Trouble, find_key

if TYPE_CHECKING:
    import anthropic

_ENDPOINT: Final = "https://api.anthropic.com"
_CONTINUATIONS: Final = 5
_PAUSED: Final = "pause_turn"

_STATUS_OF: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "conflict_error": 409,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "api_error": 500,
    "overloaded_error": 529,
}
"""An error inside a stream comes under the status 200; its type says which one it stands for."""


class NoStreamError(Exception):
    """An answer without one event of the protocol: a page of somebody else, or a piece of one."""


class AnthropicModel(ProviderModel):
    """One model of Anthropic. Answers are always streamed: the API wants it for long ones, and no idle connection is cut on the way."""

    api_version: ClassVar = 1
    Options: ClassVar = AnthropicOptions
    description: ClassVar = "Claude models of Anthropic; the key comes from ANTHROPIC_API_KEY"
    credentials = ("ANTHROPIC_API_KEY",)
    provider: ClassVar = "anthropic"

    def __init__(self, options: AnthropicOptions) -> None:
        names = (options.key_variable,) if options.key_variable else self.credentials
        super().__init__(
            options.name,
            capabilities=ModelCapabilities(structured=options.structured == "schema", tools=True, search=True, fetch=True),
            key=find_key(self.provider, names),
            key_names=names,
            base_url=options.base_url or _ENDPOINT,
        )
        self._options = options

    def _make_client(self) -> "anthropic.Anthropic":
        import anthropic

        return anthropic.Anthropic(
            api_key=self._key, base_url=self._base_url, max_retries=0, open_telemetry=False, http_client=self.http_client()
        )

    def _exchange(self, request: ChatRequest, clock: Clock) -> ChatReply:
        from finassay_models_anthropic import wire

        asked = wire.parameters(request, self._options)
        parts: list[Any] = []
        while True:
            message = self._stream(asked, clock)
            parts.append(message)
            if message.stop_reason != _PAUSED or len(parts) > _CONTINUATIONS:
                return wire.reply(parts, request)
            # A long search pauses; it goes on when what there is so far is sent back as it is.
            asked = {**asked, "messages": [*asked["messages"], wire.sent_back(message)]}

    def _stream(self, asked: dict[str, Any], clock: Clock) -> Any:
        with self.client().messages.stream(model=self.name, timeout=self.timeout(clock), **asked) as stream:
            begun = ended = False
            for event in stream:
                begun, ended = True, ended or event.type == "message_stop"
            if not begun:
                raise NoStreamError
            if not ended:
                raise ConnectionError("the stream ended before its end")
            return stream.get_final_message()

    def _trouble(self, error: Exception) -> Trouble | None:
        import anthropic

        match error:
            case anthropic.APITimeoutError():
                return Trouble("timeout")
            case anthropic.APIConnectionError():
                return Trouble("connection")
            case anthropic.APIStatusError():
                kind = error.type or ""
                status = _STATUS_OF.get(kind, 500) if error.status_code == 200 else error.status_code
                return Trouble("status", status, error.error_code or kind, error.api_message or "", dict(error.response.headers))
            case anthropic.APIResponseValidationError() | NoStreamError():
                return Trouble("unreadable")
            case _:
                return None
