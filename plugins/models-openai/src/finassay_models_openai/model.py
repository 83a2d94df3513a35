"""The provider `openai`: the Responses API for OpenAI itself, Chat Completions for compatible endpoints. The SDK is imported when a model first
speaks."""

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import urlsplit

from attrs import frozen
from pydantic import BaseModel

from finassay.api.model import ChatReply, ChatRequest, ModelCapabilities
from finassay.api.verdict import Json
from finassay_models_kit import Clock, ProviderModel, Trouble, find_key
from finassay_models_openai.bodies import OtherBodyError, events, is_stream, whole
from finassay_models_openai.options import OpenAIOptions

if TYPE_CHECKING:
    import openai

_ENDPOINT: Final = "https://api.openai.com/v1"
_OWN_HOST: Final = "openai.com"
_REFUSALS: Final = frozenset(
    {"content_filter", "content_policy_violation", "invalid_prompt", "bio_policy", "misalignment_policy_violation"}
)
"""Codes of errors that mean: this content is not answered."""
_PASSING_CODES: Final = {"server_error": 500, "rate_limit_exceeded": 429, "insufficient_quota": 429, "vector_store_timeout": 504}
"""Codes inside an answer, and the status that they stand for."""


class OpenAIModel(ProviderModel):
    """One model of OpenAI, or of an endpoint that speaks as OpenAI does."""

    api_version: ClassVar = 1
    Options: ClassVar[type[BaseModel]] = OpenAIOptions
    description: ClassVar = "models of OpenAI (key in OPENAI_API_KEY), and of any compatible endpoint by base_url"
    credentials: tuple[str, ...] = ("OPENAI_API_KEY",)
    provider: ClassVar = "openai"

    def __init__(self, options: OpenAIOptions) -> None:
        host = urlsplit(options.base_url).hostname or ""
        own = not options.base_url or host == _OWN_HOST or host.endswith(f".{_OWN_HOST}")
        self.api = options.api if options.api != "auto" else ("responses" if own else "chat")
        # A key for OpenAI is no business of another endpoint: it goes where key_variable says, or to OpenAI.
        names = (options.key_variable,) if options.key_variable else self.credentials if own else ()
        super().__init__(
            options.name,
            capabilities=ModelCapabilities(
                structured=options.structured == "schema",
                tools=True,
                search=self.api == "responses",
                fetch=self.api == "responses",
            ),
            key=find_key(self.provider, names) if names else "",
            key_names=names,
            base_url=options.base_url or _ENDPOINT,
            family=options.family,
        )
        self._own = own
        self._options = options

    def _make_client(self) -> "openai.OpenAI":
        import openai

        return openai.OpenAI(
            api_key=self._key,
            admin_api_key="",
            base_url=self._base_url,
            max_retries=0,
            http_client=self.http_client(),
            _enforce_credentials=False,
        )

    def headers(self) -> dict[str, Any]:
        """Headers that keep what belongs to OpenAI from other endpoints."""
        from openai import Omit

        unwanted = [] if self._key else ["Authorization"]
        if not self._own:
            custom = os.environ.get("OPENAI_CUSTOM_HEADERS", "")  # which the SDK would send anywhere
            unwanted += [
                "OpenAI-Organization",
                "OpenAI-Project",
                *(line.partition(":")[0].strip() for line in custom.splitlines() if ":" in line),
            ]
            unwanted = [name for name in unwanted if not (self._key and name.lower() == "authorization")]
        return {name: Omit() for name in unwanted}

    def _exchange(self, request: ChatRequest, clock: Clock) -> ChatReply:
        import openai

        try:
            return self._responses(request, clock) if self.api == "responses" else self._chat(request, clock)
        except openai.APIError as error:
            if (error.code or "") in _REFUSALS or (error.type or "") in _REFUSALS:
                meta: dict[str, Json] = {"stop": error.code or error.type}
                return ChatReply("", "refusal", self.name, meta=meta)
            raise

    def _responses(self, request: ChatRequest, clock: Clock) -> ChatReply:
        from finassay_models_openai import responses

        asked = responses.parameters(request, self._options)
        final = None
        with self.client().responses.create(
            model=self.name, stream=True, timeout=self.timeout(clock), extra_headers=self.headers(), **asked
        ) as stream:
            for event in self._events_of(stream):
                if event.type == "error":
                    raise self.failed(_inside(getattr(event, "error", None) or event), request)
                if event.type in ("response.completed", "response.incomplete", "response.failed"):
                    final = event.response
        if final is None:
            raise ConnectionError("the stream ended before its end")
        if final.error is not None:
            if final.error.code in _REFUSALS:
                return responses.refused(final)
            raise self.failed(_inside(final.error), request)
        return responses.reply(final, request)

    def _chat(self, request: ChatRequest, clock: Clock) -> ChatReply:
        from finassay_models_openai import chat

        asked = chat.parameters(request, self._options, own=self._own)
        create = self.client().chat.completions.create
        more = {"model": self.name, "timeout": self.timeout(clock), "extra_headers": self.headers()}
        if not chat.streams(request, self._options):
            try:
                completion = create(**asked, **more)
            except json.JSONDecodeError as error:
                completion = error.doc
            except RecursionError as error:
                raise OtherBodyError("nested too deep") from error
            if isinstance(completion, str):  # what the SDK gives for what is no JSON
                completion = self._completion(completion, request)
        else:
            with create(**asked, **more, stream=True, stream_options={"include_usage": True}) as stream:
                body = _read(stream.response)
                kind = stream.response.headers.get("content-type", "")
                completion = chat.gathered(stream) if is_stream(body) else self._completion(body, request, kind)
        if not getattr(completion, "choices", None):
            told = getattr(completion, "error", None)
            raise self.failed(_inside(told) if told else Trouble("unreadable", words="no choices"), request)
        return chat.reply(completion, request)

    def _completion(self, body: str, request: ChatRequest, kind: str = "text") -> Any:
        """A completion of a body that is not in the shape that was asked for."""
        from openai.types.chat import ChatCompletion, ChatCompletionChunk

        from finassay_models_openai import chat

        if not is_stream(body):
            return ChatCompletion.construct(**whole(body, kind))
        parts = list(events(body))
        if told := next((part["error"] for part in parts if part.get("error")), None):
            raise self.failed(_inside(told), request)
        return chat.gathered(ChatCompletionChunk.construct(**part) for part in parts)

    def _events_of(self, stream: Any) -> Iterator[Any]:
        """The events of a response; one that came whole is the last event of its stream."""
        from openai.types.responses import Response, ResponseCompletedEvent

        body = _read(stream.response)
        if is_stream(body):
            yield from stream
            return
        made = whole(body, stream.response.headers.get("content-type", ""))
        if made.get("object") != "response" and made.get("error"):
            yield ErrorEvent(error=made["error"])
            return
        if "output" not in made:
            raise OtherBodyError("an answer of another kind than a response")
        final = Response.construct(**made)
        yield ResponseCompletedEvent.construct(type="response.completed", response=final, sequence_number=0)

    def _trouble(self, error: Exception) -> Trouble | None:
        import openai

        match error:
            case openai.APITimeoutError():
                return Trouble("timeout")
            case openai.APIConnectionError():
                return Trouble("connection")
            case openai.APIStatusError():
                return Trouble(
                    "status", error.status_code, error.code or error.type or "", _message(error.body), dict(error.response.headers)
                )
            case openai.APIResponseValidationError():
                return Trouble("unreadable")
            case OtherBodyError():
                return Trouble("unreadable", words=str(error))
            case openai.APIError():
                return _inside(error)
            case _:
                return None


@frozen
class ErrorEvent:
    """An error that came instead of a stream."""

    error: Any
    type: str = "error"


def _read(response: Any) -> str:
    """The whole body, which may be read again; the HTTP client bounds its time and size."""
    return bytes(response.read()).decode("utf-8", "replace")


def _inside(error: Any) -> Trouble:
    """An error that came inside an answer: its code says which status it stands for; an unknown one may pass."""
    told = error if isinstance(error, dict) else {name: getattr(error, name, None) for name in ("code", "type", "message")}
    code = str(told.get("code") or told.get("type") or "")
    status = int(code) if code.isdigit() else _PASSING_CODES.get(code, 400 if code.startswith("invalid_") else 500)
    return Trouble("status", status, code, str(told.get("message") or ""))


def _message(body: object) -> str:
    told = body.get("message") if isinstance(body, dict) else None
    return told if isinstance(told, str) else ""
