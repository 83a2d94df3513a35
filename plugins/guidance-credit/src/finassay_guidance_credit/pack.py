"""The component."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from finassay.api.guidance import Guidance
from finassay_guidance_credit.principles import CONVENTIONS, DIMENSIONS, INSTRUCTIONS, PRINCIPLES
from finassay_guidance_credit.rules import RULES


class CreditOptions(BaseModel):
    """Nothing to set."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CreditPack:
    """Implements `finassay.api.guidance.GuidancePack`; meant to be added to the general pack."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "a credit desk's guidance: leverage, leases, coverage, covenants, liquidity, ratings"
    Options: ClassVar[type[BaseModel]] = CreditOptions

    def __init__(self, options: CreditOptions, /) -> None:
        self.guidance = Guidance("credit", "1", PRINCIPLES, INSTRUCTIONS, RULES, CONVENTIONS, DIMENSIONS)
