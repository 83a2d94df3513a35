"""What a run can set for an agent of the protocol."""

import re
from collections.abc import Mapping
from typing import Final, Literal

from attrs import frozen
from pydantic import BaseModel, ConfigDict, Field, field_validator

from finassay.api.errors import AgentError
from finassay.api.gateway import Access

PLACE: Final = re.compile(r"\{(token|url:[A-Za-z0-9_-]+)\}")


class AcpOptions(BaseModel):
    """The command, and what it needs. In `command`, `environment` and `files`, `{token}` and `{url:NAME}` stand for the gateway's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: tuple[str, ...] = Field(
        min_length=1, description="Program and arguments that speak the protocol on standard input and output, such as gemini, --acp."
    )
    environment: Mapping[str, str] = Field(
        default={},
        description="Variables of the program; {token} stands for the session's token, {url:NAME} for the gateway's address of the model API NAME.",
    )
    files: Mapping[str, str] = Field(
        default={}, description="Files in the program's private home, path to text, with the same placeholders."
    )
    secrets: tuple[str, ...] = Field(
        default=(), description="Variables of your own environment that the program gets as they are. The agent can read them."
    )
    readable: tuple[str, ...] = Field(default=(), description="Folders that the program needs to see besides its own package.")
    models: tuple[str, ...] = Field(default=(), description="Models that the gateway lets it ask for; any if empty.")
    login: str = Field(default="", description="The protocol's authentication method to use, by its id; none if empty.")
    mode: str = Field(default="", description="Session mode to set, by its id; the agent's own default if empty.")
    model: str = Field(default="", description="Model to set in the session, where the agent offers a choice of models.")
    config: Mapping[str, str | bool] = Field(default={}, description="Further options of the session to set, by their ids.")
    permission: Literal["allow", "deny"] = Field(
        default="allow", description="Answer when the agent asks whether it may use a tool; whatever it does, it does in the sandbox."
    )
    usage: Literal["turn", "session"] = Field(
        default="turn", description="What the token counts cover that the agent tells with its answers: the turn, or the session so far."
    )
    start_seconds: float = Field(default=60.0, gt=0, description="How long the program may take until it is ready for a prompt.")
    node: str = Field(
        default="", description="Node.js that runs a program in JavaScript; the one beside it, else the one on PATH, if empty."
    )
    python: str = Field(
        default="",
        description="Python in the agent's shell: the one that runs finassay, with the libraries installed there, if empty; 'none'; or a path.",
    )

    @field_validator("environment", "files")
    @classmethod
    def _plain(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        if any("\0" in text or "\0" in name or not name for name, text in value.items()):
            raise ValueError("empty names and null characters cannot be used")
        return value

    def upstreams(self) -> tuple[str, ...]:
        """The model APIs that the placeholders name."""
        texts = (*self.command, *self.environment.values(), *self.files.values())
        names = [m[1].removeprefix("url:") for text in texts for m in PLACE.finditer(text) if m[1] != "token"]
        return tuple(dict.fromkeys(names))


@frozen
class Filling:
    """Puts a session's token and addresses into texts."""

    token: str
    urls: Mapping[str, str]

    @classmethod
    def of(cls, access: Access | None) -> "Filling":
        """From a session's access; with none, every placeholder is an error."""
        return cls("", {}) if access is None else cls(access.token, access.urls)

    def __call__(self, text: str) -> str:
        """Raises `AgentError` for a placeholder that has no value."""
        return PLACE.sub(self._value, text)

    def _value(self, match: "re.Match[str]") -> str:
        name = match[1]
        value = self.token if name == "token" else self.urls.get(name.removeprefix("url:"), "").rstrip("/")
        if not value:
            raise AgentError(
                f"{{{name}}} in the options of the agent has no value", hint="Run it with a gateway that serves this model API."
            )
        return value
