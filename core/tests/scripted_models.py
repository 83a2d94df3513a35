"""A provider for tests whose models reply as a script says; a catalogue that offers it."""

import sys
import types
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from finassay.api.model import ChatMessage, ChatReply, ChatRequest, ModelCapabilities
from finassay.catalog.catalog import Catalog, Offer


class Options(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="the model")
    effort: str = Field(default="", description="how hard it tries")
    base_url: str = Field(default="", description="where it is")


def scripted_catalog(*replies: ChatReply | Exception, **more: Any) -> tuple[Catalog, list[ChatRequest]]:
    """A catalogue with the provider `scripted`, whose models share one script (its last entry again when it runs out), and what they are asked."""
    asked: list[ChatRequest] = []

    class Model:
        api_version = 1
        description = "says what a script says"
        credentials: Sequence[str] = ()
        family = "scripted"
        capabilities = ModelCapabilities(structured=True)

        def __init__(self, options: Options) -> None:
            self.id, self.options = f"scripted/{options.name}", options

        def complete(self, request: ChatRequest) -> ChatReply:
            reply = replies[min(len(asked), len(replies) - 1)]
            asked.append(request)
            if isinstance(reply, Exception):
                raise reply
            return reply

    Model.Options = Options  # type: ignore[attr-defined]
    for name, value in more.items():
        setattr(Model, name, value)
    module = types.ModuleType("scripted_provider")
    module.Model = Model  # type: ignore[attr-defined]
    sys.modules["scripted_provider"] = module
    entry = EntryPoint("scripted", "scripted_provider:Model", "finassay.models")
    return Catalog([Offer("model", "scripted", "finassay-scripted", "1", entry)]), asked


def request(text: str = "Hello?", **more: Any) -> ChatRequest:
    return ChatRequest((ChatMessage("user", text),), **more)
