"""The personas, read from data files beside this module when they are made."""

import tomllib
from importlib.resources import files
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from finassay.api.persona import Persona, Voice

FORBIDDEN_EVERYWHERE = (
    "point-in-time", "point in time", "cutoff", "cut-off", "look-ahead", "lookahead", "evaluation", "evaluator", "evaluate", "grader", "grading", "graded",
    "rubric", "veto", "test condition", "benchmark task", "hidden strategy", "belief", "simulator", "simulated", "persona", "ground truth", "scoring",
    "let me lock a few things", "lock in a few things", "as an ai", "happy to help", "i can help you with", "great question", "let's dive in",
)  # fmt: skip
"""Evaluation vocabulary and assistant-like phrases, which no persona says."""


class PersonaOptions(BaseModel):
    """Nothing to set."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def load_persona(name: str) -> Persona:
    """The persona in `data/NAME.toml`. Raises `KeyError` or `TypeError` if the file lacks a part."""
    data: dict[str, Any] = tomllib.loads((files("finassay_investors") / "data" / f"{name}.toml").read_text("utf-8"))
    voice = Voice(**{key: tuple(variants) for key, variants in data["voice"].items()})
    forbidden = (*FORBIDDEN_EVERYWHERE, *data.get("forbidden", ()))
    return Persona(
        name,
        data["name"],
        data["background"].strip(),
        data["style"].strip(),
        tuple(data["focus"]),
        tuple(data["utterances"]),
        forbidden,
        voice,
    )


class _Investor:
    """What the three factories share; implements `finassay.api.persona.PersonaSource`."""

    api_version: ClassVar[int] = 1
    Options: ClassVar[type[BaseModel]] = PersonaOptions
    id: ClassVar[str]

    def __init__(self, options: PersonaOptions) -> None:
        self.options = options
        self.persona = load_persona(self.id)


class RetailInvestor(_Investor):
    description: ClassVar[str] = "confident and informal, loose with the terms"
    id = "retail-investor"


class GeneralistAnalyst(_Investor):
    description: ClassVar[str] = "neutral and precise, asks about drawdown, turnover and Sharpe ratio"
    id = "generalist-analyst"


class BiotechSpecialist(_Investor):
    description: ClassVar[str] = "industry jargon, thinks in catalysts and readouts"
    id = "biotech-specialist"
