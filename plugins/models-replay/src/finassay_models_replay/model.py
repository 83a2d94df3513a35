"""The provider `replay`: answers what was answered before, from files; where told to, asks the real provider and keeps what it says."""

import threading
from pathlib import Path
from typing import Any, ClassVar

from attrs import evolve
from pydantic import BaseModel, ConfigDict, Field, field_validator

from finassay.api.errors import InvalidFileError, ProviderRefusedError
from finassay.api.model import ChatModel, ChatReply, ChatRequest, ModelCapabilities, request_digest
from finassay.api.verdict import Json
from finassay_models_kit import family_of


class ReplayOptions(BaseModel):
    """Options of `replay/PROVIDER/NAME`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="the real model, PROVIDER/NAME")
    folder: str = Field(description="where the exchanges lie, or a run's folder, whose sealed exchanges are meant", min_length=1)
    record: bool = Field(default=False, description="ask the real provider for what is not stored, and store it")
    provider_options: dict[str, Any] = Field(
        default_factory=dict, description="the real provider's options; they belong to what an exchange is found by"
    )
    effort: str | None = Field(default=None, description="the real provider's option of that name")
    base_url: str | None = Field(default=None, description="the real provider's option of that name")
    key_variable: str | None = Field(default=None, description="the real provider's option of that name")
    family: str = Field(default="", description="who trained the model, where its name does not tell")

    @field_validator("name")
    @classmethod
    def _is_whole(cls, name: str) -> str:
        provider, _, short = name.partition("/")
        if not provider or not short:
            raise ValueError("expected replay/PROVIDER/NAME")
        if provider == "replay":
            raise ValueError("a replay of a replay has nobody to ask")
        return name


class ReplayModel:
    """Stored exchanges of one model. Safe to call from several threads."""

    api_version: ClassVar = 1
    Options: ClassVar = ReplayOptions
    description: ClassVar = "answers from stored exchanges, without a key; records them if told to"
    credentials: tuple[str, ...] = ()

    def __init__(self, options: ReplayOptions) -> None:
        self.asked = options.name
        self.id = f"replay/{options.name}"
        named = {name: getattr(options, name) for name in ("effort", "base_url", "key_variable")}
        self.options: dict[str, Json] = {**options.provider_options, **{name: value for name, value in named.items() if value is not None}}
        self.folder = _exchanges(Path(options.folder).expanduser())
        self._real = self._make() if options.record else None
        self.family = options.family or (self._real.family if self._real is not None else family_of(options.name))
        # The value that a schema asks for is stored with the reply, so that the request is the one that the run stored.
        self.capabilities = ModelCapabilities(structured=True, tools=True, search=True, fetch=True, free=self._real is None)
        self._lock = threading.Lock()
        self._index: dict[str, list[str]] = {}
        self._indexed = -1

    def __repr__(self) -> str:
        return f"<model {self.id}>"

    def complete(self, request: ChatRequest) -> ChatReply:
        """The stored reply. Raises `ProviderRefusedError` naming the digest that is missing, or what the real provider raises."""
        from finassay.models.exchanges import USABLE, ExchangeStore

        if self._real is None and not self.folder.is_dir():
            raise ProviderRefusedError(
                f"{self.id}: there is no folder {self.folder}",
                hint="The option folder names a run, or where its exchanges lie.",
                any_request=True,
            )
        store = ExchangeStore(self.folder)
        digest = request_digest(self.asked, self.options, request)
        try:
            found = store.get(digest)
            if found is None and self._real is None:
                found = self._elsewise(request)
        except InvalidFileError as error:
            raise ProviderRefusedError(f"{self.id}: {error}", hint="Remove the file, or record the exchange again.") from None
        if found is not None and (self._real is None or found.reply.finish in USABLE):
            meta: dict[str, Json] = {**found.reply.meta, "replayed": found.digest}
            return evolve(found.reply, usage=evolve(found.reply.usage, cost_usd=None), meta=meta)
        if self._real is None:
            raise ProviderRefusedError(
                f"{self.id}: no exchange {digest} in {self.folder}",
                hint="The request, the model or its options differ from what was stored. record=true asks the real provider and stores it.",
            )
        reply = self._asked(self._real, request)
        store.put(self.asked, self.options, request, reply)
        return reply

    def _asked(self, real: ChatModel, request: ChatRequest) -> ChatReply:
        """The real provider's reply, with a value that fits the schema whatever the provider can do by itself, as a run stores it."""
        from finassay.models.structured import Structured

        self._check(real.capabilities, request)
        return Structured(real).complete(request)

    def _check(self, able: ModelCapabilities, request: ChatRequest) -> None:
        if (request.tools and not able.tools) or (request.search is not None and not able.search):
            raise ProviderRefusedError(
                f"{self.id}: {self.asked} offers no {'tools' if request.tools else 'search'}", hint="Choose another model."
            )

    def _elsewise(self, request: ChatRequest) -> Any:
        """The same request to the same model under other options, if that leaves no choice: options of a run need not be told again."""
        from finassay.models.exchanges import ExchangeStore, asked_digest

        with self._lock:
            self._read_index()
            found = self._index.get(asked_digest(request), [])
        return ExchangeStore(self.folder).get(found[0]) if len(found) == 1 else None

    def _read_index(self) -> None:
        """Read again what is stored of this model, if files have come or gone. Files that cannot be read are nobody's answer."""
        from finassay.models.exchanges import ExchangeStore

        changed = self.folder.stat().st_mtime_ns if self.folder.is_dir() else 0
        if changed == self._indexed:
            return
        index: dict[str, list[str]] = {}
        for path in sorted(self.folder.glob("*.json")) if changed else ():
            try:
                exchange = ExchangeStore.read(path)
            except InvalidFileError:
                continue
            if exchange.model == self.asked and exchange.digest == path.stem:
                index.setdefault(exchange.asked, []).append(exchange.digest)
        self._index, self._indexed = index, changed

    def _make(self) -> ChatModel:
        """The real provider's model."""
        from finassay.catalog.catalog import Catalog

        provider, _, name = self.asked.partition("/")
        model: ChatModel = Catalog.installed().create("model", provider, {**self.options, "name": name})[0]
        self.credentials = tuple(getattr(model, "credentials", ()))
        return model


def _exchanges(folder: Path) -> Path:
    """The folder itself, or the exchanges of the run that it is."""
    within = folder / "sealed" / "exchanges"
    return within if within.is_dir() else folder
