"""Reading personas from the data files beside this module."""

import tomllib
from importlib.resources import files
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from finassay.api.persona import Persona, Voice

Variants = Annotated[tuple[str, ...], Field(min_length=3)]
ManyVariants = Annotated[tuple[str, ...], Field(min_length=6)]


class VoiceFile(BaseModel):
    """The table `[voice]` of a persona file; what each entry is for stands at `finassay.api.persona.Voice`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    greetings: Variants
    opening: Variants
    answers: Variants
    confirmations: Variants
    objections: Variants
    off_pieces: Variants
    no_preferences: Variants
    go_aheads: ManyVariants
    missing: ManyVariants
    cut: Variants
    closings: Variants
    leavings: Variants


class PersonaFile(BaseModel):
    """A persona file. `forbidden` adds to the terms that no investor uses (`forbidden.toml`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    background: str
    style: str
    focus: Variants
    utterances: Variants
    forbidden: tuple[str, ...] = ()
    voice: VoiceFile


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files("finassay_investors").joinpath("data", name).read_text(encoding="utf-8"))


def common_forbidden() -> tuple[str, ...]:
    """Terms that none of these personas says: the vocabulary of evaluations, and phrases that assistants use."""
    return tuple(term for terms in _read("forbidden.toml").values() for term in terms)


def load_persona(persona_id: str) -> Persona:
    """The persona in `data/<persona_id>.toml`. Raises `pydantic.ValidationError` if the file lacks something or holds too much."""
    stored = PersonaFile.model_validate(_read(f"{persona_id}.toml"))
    voice = Voice(**{name: getattr(stored.voice, name) for name in VoiceFile.model_fields})
    forbidden = tuple(dict.fromkeys((*common_forbidden(), *stored.forbidden)))
    return Persona(persona_id, stored.name, stored.background, stored.style, stored.focus, stored.utterances, forbidden, voice)
