"""The provider `compatible`: several endpoints that speak Chat Completions, each under a name of its own, so that one run can ask them all."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from finassay.api.errors import UsageError
from finassay_models_openai.model import OpenAIModel
from finassay_models_openai.options import OpenAIOptions


class Endpoint(BaseModel):
    """One endpoint. The options are those of `openai`, where they are explained."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str = Field(description="its address, up to and with its version")
    key_variable: str = Field(default="", description="the environment variable that holds its key; without one no key is sent")
    structured: Literal["schema", "object", "none"] = Field(default="schema", description="what it holds a model to")
    stream: bool | None = Field(default=None, description="whether answers are streamed")
    token_limit: Literal["max_tokens", "max_completion_tokens"] = Field(default="max_tokens", description="the name of its output limit")
    extra: dict[str, Any] = Field(default_factory=dict, description="more fields of each request")
    family: str = Field(default="", description="who trained its models, where their names do not tell")

    @field_validator("base_url")
    @classmethod
    def _holds_no_key(cls, address: str) -> str:
        if "@" in urlsplit(address).netloc:
            raise ValueError("an address with a password in it would put it into records; name a key_variable")
        return address


class CompatibleOptions(BaseModel):
    """Options of `compatible/ENDPOINT/NAME`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="the endpoint's name here, a slash, and the model as the endpoint names it", pattern=r"^[^/\s]+/\S+$")
    endpoints: dict[str, Endpoint] = Field(default_factory=dict, description="the endpoints by name")
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = Field(
        default=None, description="how much the model reasons, where the endpoint knows the field"
    )


class CompatibleModel(OpenAIModel):
    """One model of one endpoint."""

    Options: ClassVar = CompatibleOptions
    description: ClassVar = "models of several compatible endpoints, each under a name: compatible/ENDPOINT/NAME"
    credentials = ()
    provider: ClassVar = "compatible"

    @classmethod
    def family_told(cls, name: str, options: Mapping[str, Any]) -> str:
        endpoint, _, model = name.partition("/")
        known = options.get("endpoints")
        own = known.get(endpoint) if isinstance(known, Mapping) else None
        return super().family_told(model, own if isinstance(own, Mapping) else {})

    def __init__(self, options: CompatibleOptions) -> None:
        endpoint, _, name = options.name.partition("/")
        if endpoint not in options.endpoints:
            known = ", ".join(sorted(options.endpoints)) or "none"
            raise UsageError(
                f"model provider 'compatible': no endpoint {endpoint!r}",
                hint=f"Known: {known}. State its base_url under [run.models.compatible.endpoints.{endpoint}].",
            )
        chosen = options.endpoints[endpoint].model_dump()
        super().__init__(OpenAIOptions(name=name, api="chat", effort=options.effort, **chosen))
        self.id = f"{self.provider}/{options.name}"
