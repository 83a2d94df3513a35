"""What can be set for models of the provider `google`."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class GoogleOptions(BaseModel):
    """Options of `google/NAME`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="the model, as Google names it", min_length=1, max_length=200)
    effort: Literal["minimal", "low", "medium", "high", "xhigh"] | None = Field(
        default=None, description="how much the model thinks (its thinking level, from Gemini 3 on); unset leaves it to the model's default"
    )
    thinking_budget: int | None = Field(
        default=None, ge=-1, description="tokens for thinking, for models before Gemini 3: 0 for none, -1 for as many as the model likes"
    )
    structured: Literal["schema", "none"] = Field(
        default="schema",
        description="none has a model told the schema in words, where the provider does not take it; the core validates either way",
    )
    base_url: str = Field(default="", description="another address that speaks the Gemini API, such as a gateway; the key is sent there")
    key_variable: str = Field(
        default="", description="the environment variable that holds the key, instead of GEMINI_API_KEY or GOOGLE_API_KEY"
    )
