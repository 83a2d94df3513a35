"""What can be set."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class ModelResearcherOptions(BaseModel):
    """Options of the researcher `model`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=3, description="Who researches, as PROVIDER/NAME.")
    effort: str = Field(default="", description="Reasoning effort, for providers that have the option; empty leaves it to them.")
    model_options: dict[str, Any] = Field(default_factory=dict, description="Further options of the model's provider.")
    turns: int = Field(default=40, ge=2, le=400, description="Replies of the model for one obligation, or for one value.")
    tokens: int = Field(
        default=2_000_000,
        ge=10_000,
        le=100_000_000,
        description="Tokens, in and out, for one obligation or value; no further reply is asked for then.",
    )
    seconds: float = Field(default=1_200, gt=0, le=86_400, allow_inf_nan=False, description="Time for one obligation, or for one value.")
    reply_seconds: float = Field(default=300, gt=0, le=86_400, allow_inf_nan=False, description="How long one try of a reply may take.")
    repairs: int = Field(
        default=4,
        ge=0,
        le=50,
        description="How often what was handed in goes back for what does not hold; what then still does not stays unresolved.",
    )
    page_characters: int = Field(default=16_000, ge=1_000, le=200_000, description="Characters of a page that are shown at a time.")
    context_characters: int = Field(
        default=400_000,
        ge=20_000,
        le=8_000_000,
        description="Characters of tool results that a request holds; older ones are left out first.",
    )
    max_output_tokens: int = Field(default=16_000, ge=500, le=200_000, description="Limit on the tokens of a reply, reasoning included.")
    temperature: float | None = Field(default=None, ge=0, le=2, description="Left to the provider if not given.")
    repeat: int = Field(default=0, ge=0, le=1_000_000, description="Another number draws other replies where earlier ones are stored.")
