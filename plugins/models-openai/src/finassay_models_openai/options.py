"""What can be set for models of the provider `openai`."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class OpenAIOptions(BaseModel):
    """Options of `openai/NAME`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="the model, as the endpoint names it", min_length=1, max_length=200)
    api: Literal["auto", "responses", "chat"] = Field(
        default="auto",
        description="responses or chat (Chat Completions); auto takes responses for OpenAI itself and chat for any other base_url",
    )
    base_url: str = Field(default="", description="address of a compatible endpoint, up to and with its version: http://localhost:11434/v1")
    key_variable: str = Field(
        default="",
        description="the environment variable that holds the key; with a base_url no key is sent unless this names one, otherwise OPENAI_API_KEY",
    )
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = Field(
        default=None, description="how much the model reasons; none of it set leaves it to the model's default"
    )
    structured: Literal["schema", "object", "none"] = Field(
        default="schema",
        description="whether the endpoint holds a model to a JSON Schema, only to JSON, or to nothing; the core validates in any case",
    )
    stream: bool | None = Field(default=None, description="chat: stream the answer; unset streams those that may be long")
    token_limit: Literal["max_tokens", "max_completion_tokens"] | None = Field(
        default=None, description="chat: the name of the output limit; unset is max_tokens with a base_url, else max_completion_tokens"
    )
    extra: dict[str, Any] = Field(default_factory=dict, description="chat: more fields of the request, as the endpoint documents them")
    family: str = Field(default="", description="who trained the model, where its name does not tell")
