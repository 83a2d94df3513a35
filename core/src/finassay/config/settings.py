"""Run settings: defaults, then `finassay.toml`, then the environment, then the command line; the later wins and its origin is kept."""

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from attrs import evolve, frozen
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from finassay.api.amiss import first_amiss, nearest
from finassay.api.errors import InvalidFileError, UsageError
from finassay.records.masking import secrets_around

FILE = "finassay.toml"
PREFIX = "FINASSAY_"
M = TypeVar("M", bound=BaseModel)


class Choice(BaseModel):
    """A component chosen by name, with its options."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(description="Component id, or distribution:id.")
    options: dict[str, Any] = Field(default_factory=dict, description="Options of the component.")


class ModelRates(BaseModel):
    """What a model costs, in dollars for a million tokens, where no table knows it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0, allow_inf_nan=False, description="Input tokens.")
    output: float = Field(ge=0, allow_inf_nan=False, description="Output tokens, reasoning included.")
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False, description="Cached input tokens; like other input if not given.")


class ProviderSettings(BaseModel):
    """How a provider of chat models is used: what the core does around it, and options that are handed on to every model of it."""

    model_config = ConfigDict(frozen=True, extra="allow")

    concurrency: int | None = Field(default=8, ge=1, le=1000, description="Calls at the same time.")
    requests_per_minute: int | None = Field(default=None, ge=1, description="Calls that begin within a minute.")
    patience_seconds: float = Field(default=600, ge=0, allow_inf_nan=False, description="How long a failure that may pass is waited out.")
    prices: dict[str, ModelRates] = Field(default_factory=dict, description="Rates of models whose price no table knows, by name.")

    @model_validator(mode="after")
    def _holds_no_key(self) -> "ProviderSettings":
        option = key_among(self.options)
        if option is not None:
            raise ValueError(f"option {option!r} {WOULD_RECORD_A_KEY}")
        return self

    @property
    def options(self) -> dict[str, Any]:
        """What the provider's own options are to be."""
        return dict(self.model_extra or {})


WOULD_RECORD_A_KEY = "would put a key into the run's record; keys come from the environment or the keyring"
_KEYLIKE = re.compile(r"(^|[_-])(api_?key|key|secret|password|token|authorization)$", re.IGNORECASE)


def key_among(options: Mapping[str, Any]) -> str | None:
    """The name of an option that is, or looks like, a key: by its name, by a password in an address, or because the environment holds it."""
    return next(_keys(options, "", secrets_around()), None)


def _keys(value: Any, name: str, secrets: tuple[str, ...]) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner, held in value.items():
            place = f"{name}.{inner}" if name else str(inner)
            if _KEYLIKE.search(str(inner)) and held not in (None, ""):
                yield place
            yield from _keys(held, place, secrets)
    elif isinstance(value, list | tuple):
        for held in value:
            yield from _keys(held, name, secrets)
    elif isinstance(value, str):
        has_password = "://" in value and "@" in urlsplit(value).netloc
        if has_password or any(secret in value for secret in secrets):
            yield name


class RunSettings(BaseModel):
    """Everything that a run can be told. Unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agents: dict[str, Choice] = Field(description="Alias in this run to the agent.")
    simulator: Choice = Field(default=Choice(id="policy"), description="Who plays the user.")
    judge: Choice = Field(default=Choice(id="lexical"), description="Who grades meaning.")
    reader: Choice = Field(default=Choice(id="standard"), description="Who prepares what the judge reads.")
    guidance: tuple[str, ...] = Field(
        default=(), max_length=8, description="Guidance packs whose words the judge gets, and whose questions are reported."
    )
    sandbox: Choice = Field(default=Choice(id="auto"), description="Where agents run; 'auto' takes the installed one that isolates most.")
    gateway: Choice = Field(default=Choice(id="standard"), description="How agents reach model APIs and channels without a key.")
    channels: dict[str, Choice] = Field(
        default_factory=dict, description="Channels by the name that tasks use; one that is not here is an installed channel of that name."
    )
    stall_seconds: float = Field(default=300, gt=0, allow_inf_nan=False, description="How long a model of an agent may be silent.")
    sessions: int = Field(default=1, ge=1, le=1000, description="Independent sessions for each agent and task.")
    jobs: int = Field(default=0, ge=0, le=256, description="Sessions held at the same time; 0 is one for each processor.")
    seed: int = Field(default=0, description="Seed of the simulated user's choice of words.")
    turn_seconds: float | None = Field(default=None, gt=0, le=7 * 86_400, allow_inf_nan=False, description="Overrides Δ of the tasks.")
    max_turns: int | None = Field(default=None, ge=1, le=1000, description="Overrides T of the tasks.")
    boxes: int | None = Field(
        default=None, ge=1, le=10_000, description="Sandboxes open at the same time; as many as are asked for if not given."
    )
    memory_gb: float = Field(default=8, gt=0, allow_inf_nan=False, description="Memory limit of an agent's processes.")
    workspace_files: int = Field(
        default=200_000, ge=100, description="Files and folders that an agent's workspace may hold; a session that goes beyond ends."
    )
    workspace_gb: float = Field(
        default=16,
        gt=0,
        allow_inf_nan=False,
        description="What an agent's workspace may take on the disk; a session that goes beyond ends.",
    )
    grade: bool = Field(default=True, description="Grade each session when it ends.")
    models: dict[str, ProviderSettings] = Field(default_factory=dict, description="How providers of chat models are used, by their id.")
    budget_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="What the run may cost.")
    session_budget_usd: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="What a session may cost, grading included."
    )


@frozen
class Settings:
    """Merged settings and, for each key that is not a default, where its value came from."""

    run: RunSettings
    origins: Mapping[str, str]


def load_settings(flags: Mapping[str, Any], *, folder: Path, environment: Mapping[str, str] | None = None) -> Settings:
    """Merge all sources; `flags` holds what was given on the command line, by key. Raises `UsageError` or `InvalidFileError`."""
    environment = os.environ if environment is None else environment
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, values in (
        (FILE, _from_file(folder / FILE)),
        ("environment", _from_environment(environment)),
        ("command line", {k: v for k, v in flags.items() if v is not None}),
    ):
        for key, value in values.items():
            merged[key] = _choices(key, value)
            origins[key] = origin
    if not merged.get("agents"):
        raise UsageError(
            "no agent was named", hint=f"Name one with --agent ID, or agents under [run] in {FILE}. See: finassay plugins agent"
        )
    try:
        return Settings(RunSettings.model_validate(merged), origins)
    except ValidationError as error:
        amiss = first_amiss(error, RunSettings)
        origin = origins.get(amiss.path[0], "settings") if amiss.path else "settings"
        raise UsageError(f"{origin}: {amiss.line('setting')}", hint=amiss.hint) from error


def provider_settings(recorded: RunSettings, folder: Path) -> dict[str, ProviderSettings]:
    """How providers are used: as the run was told, with what `finassay.toml` says of providers now. Raises `UsageError`, `InvalidFileError`."""
    return {**recorded.models, **_declared("models", ProviderSettings, folder)}


def declared_channels(folder: Path) -> dict[str, str]:
    """Names that `finassay.toml` gives to channels, with the component that each is. Raises `UsageError`, `InvalidFileError`."""
    return {name: choice.id for name, choice in _declared("channels", Choice, folder).items()}


def configured_agents(folder: Path) -> dict[str, Choice]:
    """The agents that `finassay.toml` names, by alias. Raises `UsageError`, `InvalidFileError`."""
    return _declared("agents", Choice, folder)


def configured_gateway(folder: Path) -> Choice:
    """The gateway as `finassay.toml` has it, else the default. Raises `UsageError`, `InvalidFileError`."""
    told = _choices("gateway", _from_file(folder / FILE).get("gateway"))
    if told is None:
        default: Choice = RunSettings.model_fields["gateway"].default
        return default
    try:
        return Choice.model_validate(told)
    except ValidationError as error:
        amiss = first_amiss(error, Choice)
        raise UsageError(f"{FILE}: {evolve(amiss, path=('gateway', *amiss.path)).line('setting')}", hint=amiss.hint) from error


def _declared(key: str, kind: type[M], folder: Path) -> dict[str, M]:
    """The tables under one key of the settings file, by their names."""
    told = _choices(key, _from_file(folder / FILE).get(key, {}))
    if not isinstance(told, dict):
        raise UsageError(f"{FILE}: {key} takes a table, and is {str(told)[:60]!r}", hint=RunSettings.model_fields[key].description or "")
    found = {}
    for name, value in told.items():
        try:
            found[str(name)] = kind.model_validate(value)
        except ValidationError as error:
            amiss = first_amiss(error, kind)
            raise UsageError(f"{FILE}: {evolve(amiss, path=(key, str(name), *amiss.path)).line('setting')}", hint=amiss.hint) from error
    return found


def recorded_settings(manifest: Mapping[str, Any], path: Path) -> RunSettings:
    """The settings that a run's manifest holds. Raises `InvalidFileError` naming its file."""
    try:
        return RunSettings.model_validate(manifest.get("settings"))
    except ValidationError as error:
        amiss = first_amiss(error, RunSettings)
        raise InvalidFileError(f"{path}: {evolve(amiss, path=('settings', *amiss.path)).line('setting')}", hint=amiss.hint) from error


def _choices(key: str, value: Any) -> Any:
    """A bare name stands for a choice without options."""
    if key in ("simulator", "judge", "reader", "sandbox", "gateway") and isinstance(value, str):
        return {"id": value}
    if key == "guidance":
        return tuple(dict.fromkeys([value] if isinstance(value, str) else value)) if isinstance(value, str | list | tuple) else value
    if key == "agents" and isinstance(value, list):
        return {str(name): {"id": str(name)} for name in value}
    if key in ("agents", "channels") and isinstance(value, dict):
        return {alias: {"id": choice} if isinstance(choice, str) else choice for alias, choice in value.items()}
    return value


def _from_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidFileError(f"{path}: not valid TOML: {error}") from error
    unknown = data.keys() - {"run"}
    if unknown:
        meant = "Did you mean [run]? " if nearest(min(unknown), ("run",)) else ""
        raise UsageError(f"{path}: unknown table or key {min(unknown)!r}", hint=f"{meant}Settings of a run stand in the table [run].")
    run = data.get("run", {})
    if not isinstance(run, dict):
        raise InvalidFileError(f"{path}: [run] must be a table")
    return run


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    names = {f"{PREFIX}{field.upper()}": field for field in RunSettings.model_fields}
    return {field: parse_value(environment[name]) for name, field in names.items() if name in environment}


def parse_value(text: str) -> Any:
    """A value given as text: JSON if it is JSON, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def parse_options(pairs: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """`NAME.KEY=VALUE` pairs to {NAME: {KEY: value}}. Raises `UsageError`."""
    options: dict[str, dict[str, Any]] = {}
    for pair in pairs:
        target, separator, value = pair.partition("=")
        name, dot, key = target.rpartition(".")
        if not separator or not dot or not name or not key:
            raise UsageError(
                f"option {pair!r}: expected NAME.KEY=VALUE",
                hint="NAME is an agent's alias, simulator, judge, sandbox or gateway; KEY one of its options.",
            )
        options.setdefault(name, {})[key] = parse_value(value)
    return options
