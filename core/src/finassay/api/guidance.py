"""Guidance packs: what experts wrote down for rubrics. The rubric system builds on this protocol."""

from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable

from attrs import frozen

from finassay.api.verdict import Json


@frozen
class Violation:
    """A rule that a stage's product breaks: where, and why."""

    rule: str
    place: str
    reason: str


Rule = Callable[[Mapping[str, Json]], tuple[Violation, ...]]
"""A rule in code: the product of a stage in, violations out."""


@frozen
class Guidance:
    """Reusable guidance of an institution: principles, instructions for each stage, rules in code for each stage."""

    id: str
    version: str
    principles: tuple[str, ...]
    instructions: Mapping[str, str]
    rules: Mapping[str, tuple[Rule, ...]]


@runtime_checkable
class GuidancePack(Protocol):
    """What a component of kind `guidance` is."""

    guidance: Guidance
