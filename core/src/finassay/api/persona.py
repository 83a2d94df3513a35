"""Who the simulated user is."""

from typing import Protocol, runtime_checkable

from attrs import frozen


@frozen
class Voice:
    """Stock phrases of a persona, so that a simulator without a model can speak in character.

    Every tuple holds at least two variants; `{…}` marks are filled by the simulator. Which variant is used is decided by a hash of
    session seed and turn, never by chance.
    """

    greetings: tuple[str, ...]
    """Start of an opening: 'Hi there,'."""
    opening: tuple[str, ...]
    """`{idea}` `{universe}` `{until}`: one vague idea, the universe and the last date of data."""
    answers: tuple[str, ...]
    """`{sentence}`: states a conviction when asked."""
    confirmations: tuple[str, ...]
    """`{sentence}`: says yes to a right proposal."""
    objections: tuple[str, ...]
    """`{sentence}`: says no to a conflicting proposal and what is wanted."""
    off_pieces: tuple[str, ...]
    """`{piece}`: names the wrong part of a delivery and nothing else."""
    no_preferences: tuple[str, ...]
    """`{topic}`: leaves a choice to the agent."""
    go_aheads: tuple[str, ...]
    """Nothing was asked: asks for the work to go on. Each variant differs, so that messages need not repeat."""
    missing: tuple[str, ...]
    """`{parts}`: what the user has not yet received."""
    cut: tuple[str, ...]
    """The agent's reply broke off."""
    closings: tuple[str, ...]
    """Satisfied; asks for nothing more."""
    leavings: tuple[str, ...]
    """Gives up without being satisfied."""


@frozen
class Persona:
    """Data of a persona. All wording is the distribution's own."""

    id: str
    name: str
    background: str
    style: str
    focus: tuple[str, ...]
    utterances: tuple[str, ...]
    forbidden: tuple[str, ...]
    """Words the persona never says, lower case: evaluation vocabulary and assistant-like phrases."""
    voice: Voice


@runtime_checkable
class PersonaSource(Protocol):
    """What a component of kind `persona` is: an object that holds a persona."""

    persona: Persona
