"""Options of the judge `model`."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class ModelJudgeOptions(BaseModel):
    """One of `model` and `panel` must be given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(default="", description="The model that judges, as PROVIDER/NAME.")
    panel: tuple[str, ...] = Field(
        default=(), max_length=9, description="Several models of different families that vote, each as PROVIDER/NAME."
    )
    vote: Literal["median", "majority"] = Field(
        default="median", description="How a panel decides on a level; a tie goes to the lower level."
    )
    effort: str = Field(default="", description="Reasoning effort, for providers that have the option; empty leaves it to them.")
    options: dict[str, Any] = Field(default_factory=dict, description="Further options for the models' provider.")
    profile: Literal["category", "whole", "isolate"] = Field(
        default="category", description="Which dimensions share a call: those of one category (and all labels), all of them, or none."
    )
    isolate: bool = Field(default=False, description="Ask each dimension in a call of its own, whatever the profile says.")
    groups: tuple[tuple[str, ...], ...] = Field(
        default=(), description="Lists of dimensions that share a call, in place of a profile; the rest are asked alone."
    )
    max_characters: int = Field(
        default=240_000, ge=8_000, le=4_000_000, description="Characters of delivered material in a call; the README says what is left out."
    )
    max_output_tokens: int = Field(default=16_000, ge=500, le=200_000, description="Limit on the tokens of an answer, reasoning included.")
    shuffle: bool = Field(
        default=True, description="Vary the order of questions and levels from sample to sample and from member to member."
    )
    repeat: int = Field(default=0, ge=0, le=1_000_000, description="Number of the first sample; another one draws answers of its own.")
    parallel: int = Field(default=4, ge=1, le=64, description="Calls at the same time; the provider's own limits hold besides.")
    seconds: float = Field(default=600, gt=0, le=86_400, allow_inf_nan=False, description="How long one try of a call may take.")
