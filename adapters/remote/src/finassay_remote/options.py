"""What a run can set for a remote agent, and for one behind a command."""

import re
from ipaddress import ip_address
from typing import Final, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_KEYLIKE: Final = re.compile(r"(^|_)(KEY|APIKEY|SECRET|PASSWORD|PASSWD|TOKEN)$", re.IGNORECASE)


def on_loopback(url: str) -> bool:
    """Whether an address is on this machine, by name or number; nothing is looked up."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class RemoteOptions(BaseModel):
    """Where the agent is. Its key is found in the environment."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str = Field(max_length=2_000, description="Address of the agent's server, such as https://agents.example.com/my-agent.")
    token_variable: str = Field(
        default="", description="Environment variable with the bearer token that the server asks for; none if empty."
    )
    plain_http: bool = Field(
        default=False, description="Allow http:// to another machine: messages, files and the token cross the network in the clear."
    )
    network: bool = Field(
        default=True,
        description="Whether the agent has the network where it runs, which no sandbox here limits; false is your word that it has not.",
    )
    seconds: float = Field(
        default=10,
        gt=0,
        le=300,
        allow_inf_nan=False,
        description="How long the server may take to connect, and to answer everything but a turn.",
    )

    @model_validator(mode="after")
    def _usable(self) -> Self:
        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable or any(c.isspace() for c in self.url):
            raise ValueError("url: expected http:// or https:// with a host")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("url: without login and parameters, which would stand in records: name the token with token_variable")
        if parts.scheme == "http" and not on_loopback(self.url) and not self.plain_http:
            raise ValueError("url: http:// leads to another machine in the clear: use https://, or set plain_http")
        if self.token_variable and not VARIABLE.fullmatch(self.token_variable):
            raise ValueError("token_variable is the name of an environment variable, never the token")
        return self


class CommandOptions(BaseModel):
    """The program, and what it needs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: tuple[str, ...] = Field(
        min_length=1,
        max_length=200,
        description="Program and arguments that speak the line protocol; started in the sandbox for each turn.",
    )
    version: str = Field(default="", max_length=200, description="The agent's version, for the record; what --version tells if empty.")
    environment: dict[str, str] = Field(default_factory=dict, max_length=100, description="Variables of the program; no keys.")
    readable: tuple[str, ...] = Field(default=(), max_length=50, description="Folders that the program needs to see besides its own file.")
    upstreams: tuple[str, ...] = Field(
        default=(), max_length=20, description="Model APIs that it calls through the gateway: anthropic, openai, google, or a declared one."
    )
    models: tuple[str, ...] = Field(default=(), max_length=100, description="Models that it may ask for there; any if empty.")
    channels: bool = Field(default=True, description="Whether it is told the session's MCP servers.")
    network: bool = Field(default=False, description="Whether it needs the network.")
    node: str = Field(default="", description="Node.js that runs a program in JavaScript; the one beside it, or on PATH, if empty.")
    python: str = Field(
        default="", description="Python for the program: the one that runs finassay, with the libraries there, if empty; 'none'; or a path."
    )

    @field_validator("command", "readable")
    @classmethod
    def _words(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any("\0" in word or not word for word in value[:1]) or any("\0" in word for word in value):
            raise ValueError("empty names and null characters cannot be used")
        return value

    @model_validator(mode="after")
    def _no_keys(self) -> Self:
        for name, held in self.environment.items():
            if not VARIABLE.fullmatch(name) or "\0" in held:
                raise ValueError("environment: a name has letters, digits and '_'; a value has no zero byte")
            if _KEYLIKE.search(name) and held:
                raise ValueError(
                    f"{name} seems to hold a key, which the agent could read and records would show: use upstreams or channels"
                )
        return self
