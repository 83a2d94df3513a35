"""The entry points: one component for each persona file."""

from functools import cached_property
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from finassay.api.persona import Persona


class NoOptions(BaseModel):
    """Nothing to set."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class _Investor:
    """Holds the persona of its data file; implements `finassay.api.persona.PersonaSource`."""

    api_version: ClassVar[int] = 1
    Options: ClassVar[type[BaseModel]] = NoOptions
    id: ClassVar[str]

    def __init__(self, options: BaseModel) -> None:
        self.options = options

    @cached_property
    def persona(self) -> Persona:
        """Read once, when it is first asked for."""
        from finassay_investors.loading import load_persona

        return load_persona(self.id)


class RetailInvestor(_Investor):
    description: ClassVar[str] = "private investor: sure of the idea, loose with the terms"
    id = "retail-investor"


class GeneralistAnalyst(_Investor):
    description: ClassVar[str] = "analyst at a multi-asset firm: neutral, asks about drawdown, turnover and Sharpe ratio"
    id = "generalist-analyst"


class BiotechSpecialist(_Investor):
    description: ClassVar[str] = "biotech specialist: industry jargon, thinks in catalysts and approvals"
    id = "biotech-specialist"
