"""What `finassay doctor --models` says: each provider, whether a key is there, and a tiny call if one is asked for."""

import time
from pathlib import Path
from typing import Any, Final

from finassay.api.credentials import credential_source
from finassay.api.errors import CatalogError, FinassayError
from finassay.api.model import ChatMessage, ChatRequest
from finassay.catalog.catalog import Catalog
from finassay.cli.findings import Findings

PATIENCE_SECONDS: Final = 20.0
MAX_TOKENS: Final = 1024
"""Of the answer to a tiny call: models that think first need room for it, and what is not used costs nothing."""


def tell_providers(catalog: Catalog, line: Findings) -> None:
    """One line for each installed provider. Contacts nobody."""
    offers = catalog.offers("model")
    if not offers:
        line(False, "models", "no provider is installed", "for example: pip install finassay-models-NAME")
    for offer in offers:
        try:
            names = tuple(getattr(catalog.factory(catalog.find("model", offer.qualified)), "credentials", ()))
        except CatalogError as error:
            line(False, f"model {offer.id}", str(error), error.hint, needed=True)
            continue
        source = credential_source(names)
        if not names:
            line(True, f"model {offer.id}", "needs no key", "")
        elif source:
            line(True, f"model {offer.id}", f"a key is there: {source}", "")
        else:
            line(False, f"model {offer.id}", "no key", f"set {' or '.join(names)}, or keep it in a keyring")


def call_model(catalog: Catalog, name: str, options: dict[str, Any], line: Findings) -> None:
    """One tiny call, told in one line with its tokens and cost. Raises what the provider raises."""
    from finassay.config.settings import ProviderSettings, RunSettings, provider_settings
    from finassay.models.service import ModelService, split_name

    provider, _ = split_name(name)
    told = provider_settings(RunSettings(agents={}), Path.cwd()).get(provider, ProviderSettings())
    service = ModelService(catalog, {provider: told.model_copy(update={"patience_seconds": min(told.patience_seconds, PATIENCE_SECONDS)})})
    model = service.get(name, options)
    started = time.monotonic()
    request = ChatRequest(
        (ChatMessage("user", "Reply with the one word: ready"),), max_output_tokens=MAX_TOKENS, role="doctor", seconds=PATIENCE_SECONDS
    )
    reply = model.complete(request)
    entry = service.ledger.entries()[-1]
    cost = "cost unknown" if entry.cost_usd is None else f"${entry.cost_usd:.6f}"
    tokens = f"{_number(entry.input_tokens)} tokens in, {_number(entry.output_tokens)} out"
    said = f"answered as {reply.model} (family {model.family}) in {time.monotonic() - started:.1f} s: {reply.finish}, {tokens}, {cost}"
    line(reply.finish in ("stop", "length"), f"model {name}", said, "see the finish reason")
    if reply.finish not in ("stop", "length"):
        raise FinassayError(f"model {name!r} gave no answer: {reply.finish}")


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"
