"""What can be set for models of the provider `anthropic`."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class AnthropicOptions(BaseModel):
    """Options of `anthropic/NAME`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="the model, as Anthropic names it", min_length=1, max_length=200)
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = Field(
        default=None, description="how much effort the model puts in; none leaves it to the model's default"
    )
    thinking: Literal["adaptive", "disabled"] | None = Field(
        default=None, description="whether the model thinks first; none leaves it to the model's default. Thinking counts as output"
    )
    structured: Literal["schema", "none"] = Field(
        default="schema",
        description="none has a model told the schema in words, where the provider does not take it; the core validates either way",
    )
    cache_prompt: bool = Field(
        default=False, description="have the prompt cached for a few minutes: dearer to write, cheaper to read again"
    )
    base_url: str = Field(default="", description="another address that speaks the Messages API, such as a gateway; the key is sent there")
    key_variable: str = Field(default="", description="the environment variable that holds the key, instead of ANTHROPIC_API_KEY")
