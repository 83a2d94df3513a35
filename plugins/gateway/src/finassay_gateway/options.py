"""What can be set for the gateway `standard`."""

from collections.abc import Mapping
from typing import Final, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Format = Literal["anthropic", "openai", "google"]
AUTH_OF: Final[Mapping[Format, str]] = {"anthropic": "x-api-key", "openai": "bearer", "google": "x-goog-api-key"}


class UpstreamOptions(BaseModel):
    """A model API. For a preset's name, whatever is left out stays as the preset has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str = Field(default="", description="where the API is, without its version path: https://api.example.com")
    format: Format | None = Field(
        default=None, description="what it speaks: anthropic (Messages), openai (Responses and Chat), google (generateContent)"
    )
    key: str | tuple[str, ...] | None = Field(
        default=None, description="environment variables that hold the key, the first one set is taken; empty for an API without keys"
    )
    auth: Literal["x-api-key", "x-goog-api-key", "bearer"] | None = Field(
        default=None, description="how the key is sent; unset: as the format's own vendor wants it"
    )
    concurrency: int | None = Field(default=None, ge=1, le=10_000, description="calls at once; further ones wait")
    requests_per_minute: int | None = Field(default=None, ge=1, le=1_000_000, description="calls begun in any minute; further ones wait")
    stream_usage: bool | None = Field(
        default=None,
        description="ask for the usage of streamed chat completions where the program does not (format openai; unset: yes). "
        "What the API adds for it is not passed on",
    )

    @field_validator("url")
    @classmethod
    def _is_url(cls, value: str) -> str:
        parts = urlsplit(value)
        if value and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username):
            raise ValueError("an http or https address without query and user")
        return value.rstrip("/")


class GatewayOptions(BaseModel):
    """Options of the gateway."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    upstreams: dict[str, UpstreamOptions] = Field(
        default_factory=dict,
        description="model APIs besides anthropic, openai, google and moonshotai, or changes to these: NAME = {url, format, key}",
    )
    max_body_mb: int = Field(default=64, ge=1, le=1024, description="what a request may weigh, in megabytes")
    concurrency: int | None = Field(
        default=None, ge=1, le=10_000, description="calls at once to each upstream that does not say so itself; further ones wait"
    )
    requests_per_minute: int | None = Field(
        default=None, ge=1, le=1_000_000, description="calls begun in any minute at each upstream that does not say so itself"
    )

    @model_validator(mode="after")
    def _are_whole(self) -> "GatewayOptions":
        for name, one in self.upstreams.items():
            if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii() or name == "channels" or len(name) > 60:
                raise ValueError(f"{name!r} is no name for an upstream: letters, digits, '-' and '_'; `channels` is taken")
            if name not in PRESETS and (not one.url or one.format is None):
                raise ValueError(f"the upstream {name!r} needs `url` and `format`")
        return self


PRESETS: Final[Mapping[str, UpstreamOptions]] = {
    "anthropic": UpstreamOptions(url="https://api.anthropic.com", format="anthropic", key=("ANTHROPIC_API_KEY",)),
    "openai": UpstreamOptions(url="https://api.openai.com", format="openai", key=("OPENAI_API_KEY",)),
    "google": UpstreamOptions(url="https://generativelanguage.googleapis.com", format="google", key=("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    "moonshotai": UpstreamOptions(url="https://api.moonshot.ai", format="openai", key=("MOONSHOT_API_KEY", "KIMI_API_KEY")),
}
