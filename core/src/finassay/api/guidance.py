"""Guidance packs: what experts wrote down once, to be used for every rubric.

Guidance acts in two ways: as instructions in the prompts of every role, and as rules in code that reject what breaks them.
"""

from collections.abc import Callable, Mapping
from typing import Literal, Protocol, runtime_checkable

from attrs import Factory, frozen

from finassay.api.verdict import Json

Stage = Literal["signature", "bank", "context", "budget", "rubric", "review", "grade"]
"""The stages whose products rules look at."""


@frozen
class Violation:
    """A rule that a stage's product breaks: where, and why."""

    rule: str
    place: str
    """Which part of the product: `criterion O1.2022`, `binding ENT1`, `signature`."""
    reason: str


@frozen
class Principle:
    """Something experts hold to, in words. Criteria name the principles that they realize."""

    id: str
    title: str
    statement: str
    why: str = ""


@frozen
class Rule:
    """A rule in code. `check` takes the stage's product as JSON data and gives violations; it is pure, quick, and reads nothing else."""

    id: str
    stage: Stage
    title: str
    check: Callable[[Mapping[str, Json]], tuple[Violation, ...]]


@frozen
class Guidance:
    """Reusable guidance of an institution. Packs are combined: principles, instructions and rules add up, ids stay unique."""

    id: str
    version: str
    principles: tuple[Principle, ...]
    instructions: Mapping[str, str] = Factory(dict)
    """Role (`signature`, `criteria`, `contextualizer`, `writer`, `reviewer`, `composer`, `global-reviewer`, `judge`, `session-judge`) to what is
    added to its prompt."""
    rules: tuple[Rule, ...] = ()
    conventions: Mapping[str, tuple[str, ...]] = Factory(dict)
    """Topic of a convention to the routes that the institution accepts, first its own; topics that are not here are open."""
    dimensions: Mapping[str, str] = Factory(dict)
    """Report-only questions that a session's judge answers besides the graded ones: id to question."""


@runtime_checkable
class GuidancePack(Protocol):
    """What a component of kind `guidance` is."""

    guidance: Guidance
