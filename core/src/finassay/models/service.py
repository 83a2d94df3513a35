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
from urllib.parse import urlsplit

from attrs import define, evolve, field, frozen

from finassay.api.errors import BudgetError, CatalogError, FinassayError, ProviderError, ProviderRefusedError, UsageError
from finassay.api.model import ChatModel, ChatReply, ChatRequest, ModelCapabilities, request_digest
from finassay.api.verdict import Json
from finassay.catalog.catalog import Catalog
from finassay.config.settings import ProviderSettings
from finassay.models.exchanges import FOLDER, USABLE, ExchangeStore
from finassay.models.ledger import NAME, Budget, Entry, Ledger, now
from finassay.models.limits import Limiter
from finassay.models.patience import Patience, Waits, nobody_waits
from finassay.models.prices import PriceTable, table_for
from finassay.models.serving import served
from finassay.models.structured import Structured
from finassay.records.masking import secrets_around, without_passages, without_secrets

MAX_MESSAGE: Final = 500
"""Characters of a provider's error that are kept."""
LOCKS: Final = "sealed/limits"
"""Where the processes of a run agree on limits."""
_KEYLIKE: Final = re.compile(r"(api[_-]?key|secret|password|credential|^key$|^token$|[_-]token$)", re.IGNORECASE)


@frozen
class _Patient:
    """A provider's model with patience and limits; its errors cleared."""

    model: ChatModel
    name: str
    limiter: Limiter
    patience: Patience

    def complete(self, request: ChatRequest) -> ChatReply:
        def attempt() -> ChatReply:
            with self.limiter.place():
                try:
                    return self.model.complete(request)
                except FinassayError as error:
                    raise _cleared(error, request) from None
                except Exception as error:  # somebody else's code; what it does not tell apart does not pass by waiting
                    raise ProviderRefusedError(_clear(f"{self.name} failed: {type(error).__name__}: {error}", request)) from None

        return self.patience.call(self.name, attempt)


@define
class _Metered:
    """A patient model that keeps to the budget and writes the ledger."""

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
        self.service.afford(self)
        started = time.monotonic()
        try:
            reply = self.model.complete(request)
        except ProviderError as error:
            self._write(request, started, failed=type(error).__name__)
            raise
        self._write(request, started, reply)
        return reply

    def _write(self, request: ChatRequest, started: float, reply: ChatReply | None = None, failed: str = "") -> None:
        entry = blank_entry(self.role or request.role, self.id, request)
        entry = evolve(entry, seconds=round(time.monotonic() - started, 3), failed=failed)
        if reply is not None:
            usage = reply.usage
            cost = 0.0 if self.capabilities.free and usage.cost_usd is None else self.prices.cost(self.short, request, reply)
            entry = evolve(
                entry,
                input_tokens=usage.input_tokens,
                cached_tokens=usage.cached_tokens,
                output_tokens=usage.output_tokens,
                reasoning_tokens=usage.reasoning_tokens,
                cost_usd=cost,
                bound_usd=self.prices.at_most(self.short, request) if cost is None else None,
                prices="provider" if usage.cost_usd is not None or self.capabilities.free else self.prices.source(self.short),
                finish=reply.finish,
            )
        self.service.ledger.add(entry)


@define
class ServedModel:
    """A model as components get it. Satisfies `finassay.api.model.ChatModel`."""

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
        if self._store is None:
            return self._inner.complete(request)
        kept = self._store.get(request_digest(self.id, self.options, request))
        if kept is not None and kept.reply.finish in USABLE:
            entry = blank_entry(self._role or request.role, self.id, request)
            self._ledger.add(evolve(entry, stored=True, finish=kept.reply.finish, cost_usd=0.0))
            return evolve(kept.reply, meta={**kept.reply.meta, "stored": True})
        reply = self._inner.complete(request)
        self._store.put(self.id, self.options, request, reply)
        return reply


@define
class ModelService:
    """Makes the models of one run, or of one process of it.

    `folder` is the run's: it holds the store, the ledger and the locks of the limits. Without one nothing is kept, and limits and budget
    hold for this process alone. Sessions that ask the same of the same model get the same stored reply: whoever wants samples tells them
    apart by `ChatRequest.repeat`.
    """

    catalog: Catalog
    settings: Mapping[str, ProviderSettings] = field(factory=dict)
    folder: Path | None = None
    budget: Budget = Budget()
    waits: Waits = nobody_waits
    sleep: Callable[[float], None] = time.sleep
    ledger: Ledger = field(init=False)
    store: ExchangeStore | None = field(init=False)
    refused: BudgetError | None = field(init=False, default=None)
    """The last call that a budget did not allow."""
    made: dict[str, "_Metered"] = field(init=False, factory=dict)
    """Every model that was asked for, by its name."""
    _limiters: dict[str, Limiter] = field(init=False, factory=dict)
    _lock: threading.Lock = field(init=False, factory=threading.Lock)

    def __attrs_post_init__(self) -> None:
        self.ledger = Ledger(self.folder / NAME if self.folder else None)
        self.store = ExchangeStore(self.folder / FOLDER) if self.folder else None

    def get(self, name: str, options: Mapping[str, Json] | None = None) -> ChatModel:
        """The model spelled `PROVIDER/NAME`, ready for use. Raises `CatalogError`, `UsageError`, `ProviderRefusedError` (no key)."""
        return self._served(name, options or {}, self.store, "")

    def for_agents(self) -> "AgentModels":
        """The same models without the store: an agent is never answered from it."""
        return AgentModels(self)

    def _served(self, name: str, options: Mapping[str, Json], store: ExchangeStore | None, role: str) -> ServedModel:
        provider, short = split_name(name)
        settings = self.settings.get(provider, ProviderSettings())
        merged: dict[str, Json] = {**settings.options, **options}
        refuse_keys(provider, merged)
        model, origin = self.catalog.create("model", provider, {**merged, "name": short})
        patience = Patience(settings.patience_seconds, self._told, self.sleep)
        patient = _Patient(model, model.id, self._limiter(origin.id, settings), patience)
        metered = _Metered(
            patient, model.capabilities, model.id, model.family, short, table_for(provider, settings.prices, merged), self, role
        )
        self.made[model.id] = metered
        return ServedModel(model.id, model.family, model.capabilities, merged, Structured(metered), store, self.ledger, role)

    def _limiter(self, provider: str, settings: ProviderSettings) -> Limiter:
        with self._lock:
            if provider not in self._limiters:
                folder = self.folder / LOCKS if self.folder else None
                self._limiters[provider] = Limiter(provider, settings.concurrency, settings.requests_per_minute, folder, self.sleep)
            return self._limiters[provider]

    def _told(self, model: str, seconds: float, error: ProviderError) -> None:
        self.waits(model, seconds, error)

    def afford(self, model: "_Metered | None" = None) -> None:
        """Raises `BudgetError` if nothing may be spent any more, or the price of a model that would be asked is unknown."""
        try:
            if model is not None and self.budget and not model.capabilities.free and not model.prices.known(model.short):
                raise BudgetError(unpriced(model.id), hint=UNPRICED_HINT)
            self.budget.check(self.ledger, served().session)
        except BudgetError as error:
            self.refused = error
            raise

    def problems(self) -> list[str]:
        """What stands against the budget, of the models that were asked for until now: those whose price is unknown."""
        if not self.budget:
            return []
        found = [m for m in self.made.values() if not m.capabilities.free and not m.prices.known(m.short)]
        return [f"{unpriced(m.id)} ({UNPRICED_HINT})" for m in found]


UNPRICED_HINT: Final = "State its rates under [run.models.PROVIDER.prices] in finassay.toml, or leave the budget out."


def unpriced(model: str) -> str:
    return f"the price of model {model!r} is unknown, so that no budget can be kept"


@frozen
class AgentModels:
    """Models for agents. Implements `finassay.api.model.Models`."""

    service: ModelService

    def get(self, name: str, options: Mapping[str, Json] | None = None) -> ChatModel:
        return self.service._served(name, options or {}, None, "agent")


def split_name(name: str) -> tuple[str, str]:
    """Provider and name of `PROVIDER/NAME`. Raises `UsageError`."""
    provider, slash, short = name.partition("/")
    if not slash or not provider or not short:
        raise UsageError(f"model {name!r}: expected PROVIDER/NAME", hint="For the providers that are installed: finassay plugins model")
    return provider, short


def refuse_keys(provider: str, options: Mapping[str, Any]) -> None:
    """Raises `UsageError` for a key among options: they stand in records."""
    for option, value in options.items():
        userinfo = isinstance(value, str) and "://" in value and "@" in urlsplit(value).netloc
        if _KEYLIKE.search(option) or userinfo:
            raise UsageError(
                f"model provider {provider!r}: option {option!r} would put a key into the run's record",
                hint="Keys come from the environment or the keyring. See: finassay doctor --models",
            )


def blank_entry(role: str, model: str, request: ChatRequest) -> Entry:
    """A ledger's line with who asked and whom."""
    here = served()
    return Entry(role or "unnamed", model, here.session, here.turn, request.about[:60], when=now())


def _clear(text: str, request: ChatRequest) -> str:
    text = without_secrets(text[: 4 * MAX_MESSAGE], secrets_around())
    return without_passages(text, [m.text for m in request.messages])[:MAX_MESSAGE]


def _cleared(error: FinassayError, request: ChatRequest) -> FinassayError:
    """The same error with another message, and without the ones that it came from: those may hold the request."""
    message, hint = _clear(str(error), request), _clear(error.hint, request)
    if isinstance(error, ProviderError):
        kind = ProviderRefusedError if isinstance(error, ProviderRefusedError) else ProviderError
        return kind(message, hint=hint, retry_after=error.retry_after)
    if isinstance(error, CatalogError):
        return CatalogError(message, hint=hint)
    return ProviderRefusedError(message, hint=hint)
