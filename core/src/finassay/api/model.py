"""Chat models: what simulators, judges and rubric writers talk to. Agents bring their own.

A component that talks to models says so: its factory carries `takes_models = True` and is called with its options and a `Models`.
What it gets from there is ready for use: failures that pass are waited out, replies are kept where the run says so, a structured value is
validated, every call is metered. A provider's distribution offers only the plain exchange.

Such a component asks for its models when it is made, not when it first speaks: then a wrong name, a missing key or an unknown price is told
before anything is spent. What besides its options affects what it says (the models' families, the digests of its prompts) it tells in an
optional attribute `identity: Mapping[str, Json]`, which the core puts on every result that it took part in.

A provider's factory carries, besides what every factory does, `credentials: tuple[str, ...]`: the names of the environment variables any of
which may hold its key; empty where it needs none. A model whose options name another variable carries its own
`credentials`. It finds the key with `finassay.api.credentials.credential` and raises `ProviderRefusedError` when it is made without one.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

from attrs import Factory, asdict, frozen

from finassay.api.usage import Usage
from finassay.api.verdict import Json


@frozen
class ToolCall:
    """What a model wants called. `arguments` follow the tool's schema only as far as the model does."""

    id: str
    name: str
    arguments: Mapping[str, Json]
    opaque: Mapping[str, Json] = Factory(dict)
    """What the provider wants back with the call (its signed reasoning), as it gave it. Whoever sends the call back passes it on unread."""


@frozen
class ChatMessage:
    """One message. An assistant's may hold the calls that it made; a tool's answers the call `tool_call_id`."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


@frozen
class Tool:
    name: str
    description: str
    schema: Mapping[str, Json]


@frozen
class WebSearch:
    """Search, and opening of pages, on the provider's side."""

    max_uses: int = 5
    fetch: bool = False
    """May open pages as well."""
    domains: tuple[str, ...] = ()
    """Only these; empty is everything."""


@frozen
class Citation:
    """Where a provider's search found what a reply says."""

    url: str
    title: str = ""
    quote: str = ""
    """The passage of the source, as the provider gives it."""


@frozen
class ChatRequest:
    """One exchange. `schema` (JSON Schema of an object) asks for a structured value; `repeat` tells cached repeats of one request apart."""

    messages: Sequence[ChatMessage]
    tools: Sequence[Tool] = ()
    schema: Mapping[str, Json] | None = None
    search: WebSearch | None = None
    max_output_tokens: int = 4096
    temperature: float | None = None
    """None leaves it to the provider; many models take none."""
    repeat: int = 0
    role: str = ""
    """Who asks, for the ledger: `simulator`, `judge`, `writer`, `reviewer`, `learner`. Not part of the digest."""
    about: str = ""
    """What is asked about, for the ledger: a dimension's id, a turn. Never text of a prompt. Not part of the digest."""
    seconds: float = 300.0
    """How long one try may take. Not part of the digest."""


Finish = Literal["stop", "length", "tool", "refusal", "empty", "invalid"]
"""`length`: cut at the token limit. `invalid`: a value was asked for and none that fits the schema came, also after a repair."""


@frozen
class ChatReply:
    """`finish` tells a refusal, a cut, an empty and an unusable reply apart from a normal end."""

    text: str
    finish: Finish
    model: str
    """The model that answered, as the provider names it: often more exact than the one that was asked for."""
    value: Json = None
    """The structured value that `schema` asked for. A provider that has no structured output leaves it None and `text` to be read."""
    tool_calls: tuple[ToolCall, ...] = ()
    citations: tuple[Citation, ...] = ()
    usage: Usage = Usage()
    """`input_tokens` counts the cached ones too, `output_tokens` the reasoning ones. `cost_usd` only where the provider itself tells it."""
    meta: Mapping[str, Json] = Factory(dict)
    """What else is worth keeping. Billed are `searches` (their number; absent is none) and `cache_write_tokens` (those of the input that were
    written to a cache). The core adds `stored` where the reply comes from the run's store, and `repaired` after a repair turn."""


@frozen
class ModelCapabilities:
    """What a model can do. Checked before anything is spent."""

    structured: bool = False
    """Holds to a schema by itself; otherwise the reply's text is read."""
    tools: bool = True
    search: bool = False
    fetch: bool = False
    free: bool = False
    """Costs no money whatever it is asked: a replay, a person, a machine of one's own."""


@runtime_checkable
class ChatModel(Protocol):
    """One model of one provider.

    `id` is `PROVIDER/NAME`. `family` is the line of models that it belongs to, in lower case, whoever serves it, or `unknown`, so
    that rules about different families can be enforced. Safe to call from several threads.
    """

    id: str
    family: str
    capabilities: ModelCapabilities

    def complete(self, request: ChatRequest) -> ChatReply:
        """One try, without retries of its own. Raises `ProviderError` (a failure that may pass, with `retry_after` where the provider says
        so) or `ProviderRefusedError` (one that will not)."""
        ...


@runtime_checkable
class Models(Protocol):
    """The chat models that a component may use."""

    def get(self, name: str, options: Mapping[str, Json] | None = None) -> ChatModel:
        """The model spelled `PROVIDER/NAME`, with the provider's options; contacts nobody.

        Raises `CatalogError` or `UsageError`, and `ProviderRefusedError` where there is no key.
        """
        ...


def request_digest(model: str, options: Mapping[str, Json], request: ChatRequest) -> str:
    """SHA-256 over everything that can change the reply: model, its options, and the request but for who asks, what about and for how long."""
    asked: dict[str, Any] = asdict(request)
    for name in ("role", "about", "seconds"):
        del asked[name]
    text = json.dumps({"model": model, "options": dict(options), "request": asked}, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
