"""The models of a run: made by name, waited for, limited, kept, priced, metered. Implements `finassay.api.model.Models`.

A call passes, from the outside in: the store of the run, the value that fits its schema, budget and ledger, patience, the limits of the
provider, and the provider's one plain try. Whatever a provider raises is cleared of keys and of passages of the request before it goes on.
"""

import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import define, evolve, field, frozen

from finassay.api.component import Origin
from finassay.api.credentials import credential
from finassay.api.errors import BudgetError, FinassayError, InvalidFileError, ProviderError, ProviderRefusedError, UsageError
from finassay.api.model import ChatModel, ChatReply, ChatRequest, ModelCapabilities, request_digest
from finassay.api.verdict import Json
from finassay.catalog.catalog import Catalog
from finassay.config.settings import WOULD_RECORD_A_KEY, ProviderSettings, key_among
from finassay.models.exchanges import FOLDER, USABLE, ExchangeStore
from finassay.models.ledger import NAME, Budget, Entry, Ledger, now
from finassay.models.limits import Limiter
from finassay.models.patience import Patience, Waits, nobody_waits
from finassay.models.prices import PriceTable, table_for
from finassay.models.serving import served, step
from finassay.models.sound import sound_reply, sound_request
from finassay.models.structured import Structured
from finassay.records.masking import secrets_around, without_passages, without_secrets

MAX_MESSAGE: Final = 500
"""Characters of a provider's error that are kept."""
AGENT: Final = "agent"
Calls = Callable[[str, bool, str], None]
"""Told when a call to a model begins (True) and ends: its name, and where somebody is asked if the model says so (`waits_at`)."""


def nobody_listens(model: str, begins: bool, where: str) -> None:
    """The observer that nobody set."""


BRIEF_SECONDS: Final = 15.0
"""How long a failure is waited out that another call has waited out in vain."""
LOCKS: Final = "sealed/limits"
"""Where the processes of a run agree on limits."""
AGAIN: Final = 1_000_000_007
"""Added to `repeat` for each time that a session was held before."""
MAX_ABOUT: Final = 300
_UNPLAIN: Final = re.compile(r"[^\w.,:/-]+")


@define
class _Provider:
    """What all models of one provider share."""

    limiter: Limiter
    patience: Patience
    secrets: tuple[str, ...] = ()
    down: bool = False
    """The last call outlasted its patience: those that follow wait only briefly, until one gets through."""
    refused: dict[str, ProviderRefusedError] = field(factory=dict)
    """Models that refuse whatever they are asked: they are not asked again by this process."""


@frozen
class _Patient:
    """A provider's model with patience and limits; its errors cleared."""

    model: ChatModel
    name: str
    provider: _Provider

    def complete(self, request: ChatRequest) -> ChatReply:
        patience = self.provider.patience
        if self.provider.down:
            patience = evolve(patience, seconds=min(patience.seconds, BRIEF_SECONDS))
        try:
            reply = patience.call(self.name, lambda: self._attempt(request))
        except ProviderError as error:
            self.provider.down = self.provider.down or error.retry
            if isinstance(error, ProviderRefusedError) and error.any_request:
                self.provider.refused[self.name] = error
            raise
        self.provider.down = False
        return reply

    def _attempt(self, request: ChatRequest) -> ChatReply:
        with self.provider.limiter.place():
            try:
                return sound_reply(self.model.complete(request), self.name)
            except FinassayError as error:
                raise self._cleared(error, request) from None
            except Exception as error:  # somebody else's code; what it does not tell apart does not pass by waiting
                raise ProviderRefusedError(self._clear(f"{self.name} failed: {type(error).__name__}: {error}", request)) from None

    def _cleared(self, error: FinassayError, request: ChatRequest) -> FinassayError:
        """The same error with another message, and without the ones that it came from: those may hold the request or the key."""
        message, hint = self._clear(str(error), request), self._clear(error.hint, request)
        if isinstance(error, ProviderError) and not isinstance(error, ProviderRefusedError):
            return ProviderError(message, hint=hint, retry_after=error.retry_after)
        return ProviderRefusedError(message, hint=hint, any_request=getattr(error, "any_request", False))

    def _clear(self, text: str, request: ChatRequest) -> str:
        text = without_secrets(text[: 4 * MAX_MESSAGE], (*secrets_around(), *self.provider.secrets))
        return without_passages(text, [m.text for m in request.messages])[:MAX_MESSAGE]


@define
class _Metered:
    """A patient model that keeps to the budget and writes the ledger. Satisfies `ChatModel`."""

    model: _Patient
    capabilities: ModelCapabilities
    id: str
    family: str
    short: str
    """The name without the provider, as the price table knows it."""
    prices: PriceTable
    service: "ModelService"
    role: str

    def complete(self, request: ChatRequest) -> ChatReply:
        refused = self.model.provider.refused.get(self.id)
        if refused is not None:
            raise ProviderRefusedError(str(refused), hint=refused.hint, any_request=True)
        self.service.afford(self)
        started, where = time.monotonic(), str(getattr(self.model.model, "waits_at", ""))
        self.service.calls(self.id, True, where)
        try:
            reply = self.model.complete(request)
        except ProviderError as error:
            self._write(request, started, failed=type(error).__name__)
            raise
        finally:
            self.service.calls(self.id, False, where)
        self._write(request, started, reply)
        return reply

    def _write(self, request: ChatRequest, started: float, reply: ChatReply | None = None, failed: str = "") -> None:
        entry = blank_entry(self.role, self.id, request)
        entry = evolve(entry, seconds=round(time.monotonic() - started, 3), failed=failed)
        if reply is not None:
            usage = reply.usage
            free = self.capabilities.free and usage.cost_usd is None
            cost = 0.0 if free else self.prices.cost(self.short, request, reply)
            entry = evolve(
                entry,
                input_tokens=usage.input_tokens,
                cached_tokens=usage.cached_tokens,
                output_tokens=usage.output_tokens,
                reasoning_tokens=usage.reasoning_tokens,
                cost_usd=cost,
                bound_usd=self.prices.at_most(self.short, request) if cost is None else None,
                prices="" if cost is None else "provider" if free or usage.cost_usd is not None else self.prices.source(self.short),
                finish=reply.finish,
            )
        self.service.ledger.add(entry)

    @property
    def priced(self) -> bool:
        return self.capabilities.free or self.prices.known(self.short)


@define
class ServedModel:
    """A model as components get it. Satisfies `ChatModel`."""

    id: str
    family: str
    capabilities: ModelCapabilities
    options: Mapping[str, Json]
    _inner: Structured
    _store: ExchangeStore | None
    _ledger: Ledger
    _role: str

    def complete(self, request: ChatRequest) -> ChatReply:
        """A reply, from the run's store where it has one. Raises `ProviderError` once patience is at its end, `BudgetError`."""
        try:
            return self._complete(sound_request(request))
        except OSError as error:  # of the run's folder: nobody's decision, and no fault of whoever asks
            raise ProviderRefusedError(f"what {self.id} answered cannot be kept: {error.strerror or type(error).__name__}") from error

    def _complete(self, request: ChatRequest) -> ChatReply:
        if self._store is None:
            return self._inner.complete(request)
        if again := served().again:
            request = evolve(request, repeat=request.repeat + again * AGAIN)
        kept = self._kept(self._store, request)
        if kept is not None:
            entry = blank_entry(self._role, self.id, request)
            self._ledger.add(evolve(entry, stored=True, finish=kept.finish, cost_usd=0.0))
            return evolve(kept, meta={**kept.meta, "stored": True})
        reply = self._inner.complete(request)
        self._store.put(self.id, self.options, request, reply)
        return reply

    def _kept(self, store: ExchangeStore, request: ChatRequest) -> ChatReply | None:
        """The stored reply, if it can be used again; a file that cannot be read is asked anew and written over."""
        try:
            kept = store.get(request_digest(self.id, self.options, request))
        except InvalidFileError:
            return None
        return kept.reply if kept is not None and kept.reply.finish in USABLE else None


@define
class ModelService:
    """Makes the models of one run, or of one process of it.

    `folder` is the run's: it holds the store, the ledger and the locks of the limits. Without one nothing is kept, and limits and budget
    hold for this process alone. Sessions that ask the same of the same model get the same stored reply: whoever wants samples, or another
    try after one that was refused, tells them apart by `ChatRequest.repeat`. A session that is held again is told apart here.
    """

    catalog: Catalog
    settings: Mapping[str, ProviderSettings] = field(factory=dict)
    folder: Path | None = None
    budget: Budget = Budget()
    waits: Waits = nobody_waits
    """Told before each wait; may be set later."""
    calls: Calls = nobody_listens
    """Told of each call that is not answered from the store; may be set later."""
    sleep: Callable[[float], None] = time.sleep
    ledger: Ledger = field(init=False)
    store: ExchangeStore | None = field(init=False)
    made: dict[str, "_Metered"] = field(init=False, factory=dict)
    """Every model that was asked for, by its name."""
    origins: dict[str, Origin] = field(init=False, factory=dict)
    """Where the providers that were asked for come from."""
    _providers: dict[str, _Provider] = field(init=False, factory=dict)
    _lock: threading.Lock = field(init=False, factory=threading.Lock)

    def __attrs_post_init__(self) -> None:
        self.ledger = Ledger(self.folder / NAME if self.folder else None)
        self.store = ExchangeStore(self.folder / FOLDER) if self.folder else None

    def get(self, name: str, options: Mapping[str, Json] | None = None) -> ChatModel:
        """The model spelled `PROVIDER/NAME`, ready for use. Raises `CatalogError`, `UsageError`, `ProviderRefusedError` (no key)."""
        return self.serve(name, options or {}, "", stored=True)

    def family(self, name: str, options: Mapping[str, Json] | None = None) -> str:
        """The family of `PROVIDER/NAME` as its provider tells it without a key (`family_told` of its class); empty where it does not.

        So that models that may not work together are refused before a key is asked for. Raises `CatalogError`, `UsageError`.
        """
        provider, short = split_name(name)
        told = getattr(self.catalog.factory(self.catalog.find("model", provider)), "family_told", None)
        settings = self.settings.get(provider, ProviderSettings())
        return str(told(short, {**settings.options, **(options or {})})) if callable(told) else ""

    def to(self, role: str) -> "ComponentModels":
        """The models of one component, which remembers what it asked for. An agent is never answered from the store."""
        return ComponentModels(self, role)

    def serve(self, name: str, options: Mapping[str, Json], role: str, *, stored: bool) -> ServedModel:
        """As `get`, for a role: what the ledger calls a caller that does not name itself, and an agent always."""
        provider, short = split_name(name)
        settings = self.settings.get(provider, ProviderSettings())
        merged: dict[str, Json] = {**settings.options, **options}
        refuse_keys(provider, merged)
        model, origin = self.catalog.create("model", provider, {**merged, "name": short}, beside=tuple(ProviderSettings.model_fields))
        self.origins[origin.id] = origin
        patient = _Patient(model, model.id, self._provider(provider, origin, settings, model))
        prices = table_for(provider, settings.prices, merged)
        metered = _Metered(patient, model.capabilities, model.id, model.family, short, prices, self, role)
        self.made[model.id] = metered
        store = self.store if stored else None
        return ServedModel(model.id, model.family, model.capabilities, merged, Structured(metered), store, self.ledger, role)

    def _provider(self, name: str, origin: Origin, settings: ProviderSettings, model: ChatModel) -> _Provider:
        factory = self.catalog.factory(self.catalog.find("model", name))
        key = credential(tuple(getattr(model, "credentials", getattr(factory, "credentials", ()))))
        with self._lock:
            if origin.id not in self._providers:
                folder = self.folder / LOCKS if self.folder else None
                limiter = Limiter(origin.id, settings.concurrency, settings.requests_per_minute, folder, self.sleep)
                patience = Patience(settings.patience_seconds, self._told, self.sleep)
                self._providers[origin.id] = _Provider(limiter, patience)
            provider = self._providers[origin.id]
            if key and key not in provider.secrets:
                provider.secrets = (*provider.secrets, key)
            return provider

    def _told(self, model: str, seconds: float, error: ProviderError) -> None:
        self.waits(model, seconds, error)

    def secrets(self) -> tuple[str, ...]:
        """The keys of the providers that were asked for: what must not be seen in any record."""
        return tuple(key for provider in self._providers.values() for key in provider.secrets)

    def afford(self, model: "_Metered | None" = None) -> None:
        """Raises `BudgetError` if nothing may be spent any more, or the price of a model that would be asked is unknown."""
        if model is not None and self.budget and not model.priced:
            raise BudgetError(unpriced(model.id), hint=UNPRICED_HINT)
        self.budget.check(self.ledger, served().session)

    def problems(self) -> list[str]:
        """What stands against the budget, of the models that were asked for until now: those whose price is unknown."""
        return [f"{unpriced(m.id)} ({UNPRICED_HINT})" for m in self.made.values() if not m.priced] if self.budget else []


@define
class ComponentModels:
    """The models of one component. Implements `finassay.api.model.Models`."""

    service: ModelService
    role: str
    asked: dict[str, dict[str, Json]] = field(init=False, factory=dict)
    """Name of each model to its family and options: part of what the component's results rest on."""

    def get(self, name: str, options: Mapping[str, Json] | None = None) -> ChatModel:
        model = self.service.serve(name, options or {}, self.role, stored=self.role != AGENT)
        self.asked[model.id] = {"family": model.family, "options": _without_keys_places(model.options)}
        return model


def _without_keys_places(options: Mapping[str, Json]) -> dict[str, Json]:
    """Options without what says where a key is kept: that changes no answer, and a run must go on once it is mended."""
    return {
        name: _without_keys_places(value) if isinstance(value, Mapping) else value
        for name, value in options.items()
        if name != "key_variable"
    }


UNPRICED_HINT: Final = "State its rates under [run.models.PROVIDER.prices] in finassay.toml, or leave the budget out."


def unpriced(model: str) -> str:
    return f"the price of model {model!r} is unknown, so that no budget can be kept"


def split_name(name: str) -> tuple[str, str]:
    """Provider and name of `PROVIDER/NAME`. Raises `UsageError`."""
    provider, slash, short = name.partition("/")
    if not slash or not provider or not short:
        raise UsageError(f"model {name!r}: expected PROVIDER/NAME", hint="For the providers that are installed: finassay plugins model")
    return provider, short


def refuse_keys(provider: str, options: Mapping[str, Any]) -> None:
    """Raises `UsageError` for a key among options: they stand in records."""
    option = key_among(options)
    if option is not None:
        raise UsageError(f"model provider {provider!r}: option {option!r} {WOULD_RECORD_A_KEY}", hint="See: finassay doctor --models")


def blank_entry(role: str, model: str, request: ChatRequest) -> Entry:
    """A ledger's line with who asked and whom."""
    here, now_in = served(), step()
    who = role if role == AGENT else request.role or role
    about = _UNPLAIN.sub("_", request.about[:MAX_ABOUT])  # a name, whatever a component puts there: no words of a prompt
    return Entry(who or "unnamed", model, here.session, here.turn, about, now_in.stage, now_in.attempt, when=now())
