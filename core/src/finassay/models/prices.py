"""What a call costs, from a kept table of prices or from what the settings say. An unknown price is unknown, never zero."""

from collections.abc import Mapping
from functools import cached_property
from importlib.metadata import version
from typing import Any, Final, Protocol

from finassay.api.model import ChatReply, ChatRequest
from finassay.api.usage import Usage
from finassay.api.verdict import Json

TABLE: Final = "genai-prices"
MILLION: Final = 1_000_000
SEARCH_TOKENS: Final = 100_000
"""Input that one search, with the pages that it opens, adds at most."""


class Rates(Protocol):
    """Dollars for a million tokens, as somebody states them for a model that no table knows."""

    input: float
    output: float
    cached: float | None


class PriceTable:
    """Prices of one provider's models. `stated` holds rates by the model's name; they come before the table's.

    `base_url` says where the provider is reached if not at its own address: the table is then asked by that address, so that a gateway or
    a machine of one's own is never priced like the vendor.
    """

    def __init__(self, provider: str, stated: Mapping[str, Rates] | None = None, base_url: str = "") -> None:
        self.provider, self.stated, self.base_url = provider, dict(stated or {}), base_url

    @cached_property
    def table_version(self) -> str:
        return f"{TABLE} {version(TABLE)}"

    def source(self, name: str) -> str:
        """What prices of a model rest on: the table with its version, or `settings`."""
        return "settings" if name in self.stated else self.table_version

    def known(self, name: str) -> bool:
        """Whether a plain call of a model can be priced."""
        return self._cost(name, Usage(1, 0, 1)) is not None

    def cost(self, name: str, request: ChatRequest, reply: ChatReply) -> float | None:
        """Dollars for a call. What the provider itself says of the cost comes first; None where it cannot be told.

        Searches on the provider's side, and what was written to its cache, cost extra: `reply.meta` says how much of it there was.
        """
        if reply.usage.cost_usd is not None:
            return reply.usage.cost_usd
        return self._cost(name, reply.usage, _count(reply, "searches"), _count(reply, "cache_write_tokens"))

    def cost_of(self, name: str, usage: Usage, *, searches: int = 0, written: int = 0) -> float | None:
        """Dollars for what was counted on the way: tokens, those among them written to the cache, searches. None where it cannot be told."""
        return self._cost(name, usage, searches, written)

    def at_most(self, name: str, request: ChatRequest) -> float | None:
        """A bound from above on a call whose usage nobody told, for budgets: every byte a token, and the whole output used.

        A search adds what it may read at most. None where the price itself is unknown.
        """
        searches = request.search.max_uses if request.search is not None else 0
        said = "".join(m.text for m in request.messages) + str(request.schema or "") + str(request.tools or "")
        return self._cost(name, Usage(len(said.encode()) + searches * SEARCH_TOKENS, 0, request.max_output_tokens), searches)

    def _cost(self, name: str, usage: Usage, searches: int = 0, written: int = 0) -> float | None:
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached = min(usage.cached_tokens or 0, usage.input_tokens)
        rates = self.stated.get(name)
        if rates is not None:
            fresh = usage.input_tokens - cached
            reused = rates.input if rates.cached is None else rates.cached
            return None if searches else (fresh * rates.input + cached * reused + usage.output_tokens * rates.output) / MILLION
        more = {"cache_read_tokens": cached, "cache_write_tokens": min(written, usage.input_tokens - cached), "web_searches": searches}
        tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        return self._from_table(name, tokens | {unit: number for unit, number in more.items() if number})

    def _from_table(self, name: str, tokens: Mapping[str, int]) -> float | None:
        import genai_prices

        where: dict[str, Any] = {"provider_api_url": self.base_url} if self.base_url else {"provider_id": self.provider}
        try:
            calculated = genai_prices.calc_price(genai_prices.Usage(**tokens), model_ref=name, **where)
        except Exception:  # somebody else's code: LookupError for what the table does not know, and whatever it trips over
            return None
        return float(calculated.total_price)


def _count(reply: ChatReply, name: str) -> int:
    value = reply.meta.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def table_for(provider: str, stated: Mapping[str, Rates], options: Mapping[str, Json]) -> PriceTable:
    """The prices of a model made with these options."""
    return PriceTable(provider.rpartition(":")[2], stated, str(options.get("base_url") or ""))
