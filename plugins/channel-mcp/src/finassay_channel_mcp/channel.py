"""The channel `mcp`: any MCP server, declared by options."""

from pathlib import Path
from typing import Annotated, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from finassay.api.channel import ChannelSpec, ServerSpec
from finassay.api.strategy import DATA_KINDS
from finassay_channel_mcp.secrets import VARIABLE, holds_a_key, on_loopback, placeholders, refuse_keys_in

Text = Annotated[str, Field(min_length=1, max_length=4_000)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class ServerOptions(BaseModel):
    """What every channel with a server can be told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tools: tuple[Name, ...] = Field(default=(), max_length=1_000, description="Names of the tools that agents may use; all if empty.")
    start_seconds: float = Field(
        default=30, gt=0, le=600, allow_inf_nan=False, description="How long the server may take until it lists its tools."
    )


class McpOptions(ServerOptions):
    """One of `command` and `url` must be given, and what the server is for."""

    command: tuple[Text, ...] = Field(
        default=(),
        max_length=200,
        description="Program and arguments of a server on stdin and stdout; run by finassay, outside the sandbox.",
    )
    environment: dict[Name, str] = Field(default_factory=dict, max_length=100, description="Variables of the command; no keys.")
    url: str = Field(default="", max_length=2_000, description="Address of a server on streamable HTTP; a key in it is written ${NAME}.")
    headers: dict[Name, str] = Field(
        default_factory=dict, max_length=50, description="Headers of every request to url; a key in them is written ${NAME}."
    )
    secrets: tuple[str, ...] = Field(
        default=(), max_length=50, description="Environment variables of finassay that a command gets under the same names."
    )
    text: str = Field(min_length=40, max_length=8_000, description="What is there, in one paragraph: every agent reads it in its brief.")
    provides: frozenset[str] = Field(min_length=1, description=f"Kinds of data that are there: {', '.join(DATA_KINDS)}.")
    readable: tuple[Path, ...] = Field(default=(), max_length=50, description="Folders that agents must be able to read.")
    packages: tuple[Name, ...] = Field(
        default=(), max_length=50, description="Python packages that agents' programs have because of this channel."
    )
    plain_http: bool = Field(default=False, description="Allow http:// to another machine; keys then cross the network in the clear.")

    @field_validator("provides")
    @classmethod
    def _kinds(cls, value: frozenset[str]) -> frozenset[str]:
        if unknown := sorted(value - set(DATA_KINDS)):
            raise ValueError(f"no kind of data: {', '.join(unknown)[:200]}; there are {', '.join(DATA_KINDS)}")
        return value

    @field_validator("readable")
    @classmethod
    def _folders(cls, value: tuple[Path, ...]) -> tuple[Path, ...]:
        if not all(path.is_absolute() for path in value):
            raise ValueError("readable: expected absolute paths")
        return value

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("give a command or a url, one of the two")
        if not all(VARIABLE.fullmatch(name) for name in self.secrets):
            raise ValueError("secrets are names of environment variables, never their values")
        if self.command:
            self._check_command()
        else:
            self._check_url()
        return self

    # Values that may be keys are looked at here and not by validators of their fields, whose errors repeat what was given.

    def _check_command(self) -> None:
        for name, held in self.environment.items():
            if not VARIABLE.fullmatch(name) or "\0" in held:
                raise ValueError("environment: a name has letters, digits and '_'; a value has no zero byte")
            if holds_a_key(name, held):
                raise ValueError(f"{name} seems to hold a key, which would stand in records: name it in secrets instead")
        if self.headers:
            raise ValueError("headers belong to a url, not to a command")
        if placeholders((*self.command, *self.environment.values())):
            raise ValueError("${NAME} is filled in only in url and headers; a command gets its keys as variables: name them in secrets")

    def _check_url(self) -> None:
        if self.environment:
            raise ValueError("environment belongs to a command, not to a url")
        check_url(self.url, self.headers, plain_http=self.plain_http)


def check_url(url: str, headers: dict[str, str], *, plain_http: bool) -> None:
    """Raises `ValueError` for an address that cannot be used, or that would put a key into records or on the network in the clear."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(c.isspace() for c in url):
        raise ValueError("url: expected http:// or https:// with a host")
    if parts.scheme == "http" and not on_loopback(url) and not plain_http:
        raise ValueError("url: http:// leads to another machine in the clear: use https://, or set plain_http")
    placeholders((parts.netloc, parts.path, parts.query, *headers.values()))
    if placeholders((parts.netloc,)):
        raise ValueError("url: the host cannot be a secret")
    refuse_keys_in(headers, url)


class McpChannel:
    """Implements `finassay.api.channel.Channel`. Nothing is started or contacted here: the gateway does that for each session."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "any MCP server, by its command or its address; keys by name from the environment"
    Options: ClassVar[type[BaseModel]] = McpOptions
    id = "mcp"

    def __init__(self, options: McpOptions, /) -> None:
        self.options = options

    def describe(self) -> ChannelSpec:
        options = self.options
        named = placeholders((options.url, *options.headers.values()))
        return ChannelSpec(
            id=self.id,
            text=" ".join(options.text.split()),
            provides=options.provides,
            readable=options.readable,
            packages=options.packages,
            server=ServerSpec(
                command=options.command,
                environment=dict(options.environment),
                url=options.url,
                headers=dict(options.headers),
                secrets=tuple(dict.fromkeys((*options.secrets, *named))),
                tools=options.tools,
                start_seconds=options.start_seconds,
            ),
        )
