"""The frame of a provider's model: one try, on the vendor's own client, whose failures are told apart and say nothing that is secret."""

import logging
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from finassay.api.credentials import credential
from finassay.api.errors import ProviderError, ProviderRefusedError, UsageError
from finassay.api.model import ChatReply, ChatRequest, ModelCapabilities
from finassay_models_kit.families import family_of
from finassay_models_kit.troubles import Trouble, failure, presentable

_TALKATIVE: Final = {
    **dict.fromkeys(("anthropic", "openai", "httpx2", "httpcore2"), logging.WARNING),
    "google_genai": logging.ERROR,  # it warns of keys that it was not given
}
"""Loggers and the level from which they may speak. Below it they write whole requests, and prompts hold the belief."""
_CONNECT_SECONDS: Final = 30.0


class OutOfTimeError(Exception):
    """A try has used up its time."""


class Clock:
    """The time that one try may take."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left, at least a hundredth. Raises `OutOfTimeError` when none are."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise OutOfTimeError
        return max(0.01, left)


def find_key(provider: str, names: Sequence[str]) -> str:
    """The key from the environment or a keyring. Raises `ProviderRefusedError` where there is none."""
    key = credential(names)
    if not key:
        raise ProviderRefusedError(
            f"{provider}: no key", hint=f"Set {' or '.join(names)}, or keep it in a keyring under service finassay and that name."
        )
    return key


class ProviderModel(ABC):
    """Base of a provider's `ChatModel`. A vendor's class makes its client, exchanges, and says what an exception of its SDK means."""

    provider: ClassVar[str]
    credentials: tuple[str, ...] = ()
    """On the class: the variables that usually hold the key. On a model: those that may hold its own."""

    def __init__(
        self,
        name: str,
        *,
        capabilities: ModelCapabilities,
        key: str = "",
        key_names: Sequence[str] = (),
        base_url: str,
        family: str = "",
    ) -> None:
        if not re.match(r"https?://[^/\s]+", base_url):
            raise UsageError(
                f"model provider {self.provider!r}: base_url must begin with http:// or https://", hint="Write the whole address."
            )
        self.name = name
        self.id = f"{self.provider}/{name}"
        self.family = family or family_of(name)
        self.capabilities = capabilities
        self._key = key
        self.credentials = tuple(key_names)
        self._base_url = base_url
        self._lock = threading.Lock()
        self._made: Any = None

    @classmethod
    def family_told(cls, name: str, options: Mapping[str, Any]) -> str:
        """Who trained the model of that name, without a key: what `family` will say. For those who combine models by family."""
        return str(options.get("family") or family_of(name))

    def __repr__(self) -> str:
        return f"<model {self.id}>"

    def complete(self, request: ChatRequest) -> ChatReply:
        """One try. Raises `ProviderError` or `ProviderRefusedError`."""
        self._check(request)
        trouble: ProviderError | None = None
        try:
            self.client()  # importing an SDK takes seconds, which are not the provider's
            return self._exchange(request, Clock(request.seconds))
        except ProviderError as error:
            trouble = error
        except ImportError as error:
            trouble = self.refuse(
                f"its SDK cannot be imported ({error.name or type(error).__name__})", "Install the provider's distribution again."
            )
        except OutOfTimeError:
            trouble = failure(Trouble("timeout"), self.id, self.credentials, "")
        except Exception as error:  # somebody else's code: a vendor's SDK and all below it
            trouble = self._failure(error, request)
        # Raised here so that it carries no cause: an SDK's exception holds the request, with the key and the prompt.
        trouble.__cause__ = trouble.__context__ = None
        raise trouble

    def refuse(self, message: str, hint: str) -> ProviderRefusedError:
        return ProviderRefusedError(f"{self.id}: {message}", hint=hint)

    def failed(self, trouble: Trouble, request: ChatRequest) -> ProviderError:
        """The error for a failure that the vendor reported inside an answer."""
        return failure(trouble, self.id, self.credentials, presentable(trouble.words, self._key, request))

    def client(self) -> Any:
        """The vendor's client, made when first needed, shared by all threads."""
        with self._lock:
            if self._made is None:
                self._made = self._make_client()
                for name, level in _TALKATIVE.items():  # after the SDK, which a variable of the environment may have made talkative
                    logger = logging.getLogger(name)
                    logger.setLevel(max(logger.level, level))
            return self._made

    def http_client(self) -> Any:
        """An HTTP client for the vendor's SDK: see `finassay_models_kit.http`."""
        from finassay_models_kit.http import http_client

        return http_client(self._base_url)

    def timeout(self, clock: Clock) -> Any:
        """What is left of a try's time, as the HTTP library takes it."""
        import httpx2

        left = clock.left()
        return httpx2.Timeout(left, connect=min(left, _CONNECT_SECONDS))

    def _check(self, request: ChatRequest) -> None:
        able = self.capabilities
        if request.tools and not able.tools:
            raise self.refuse("takes no tools", "Choose another model.")
        if request.search is not None and not able.search:
            raise self.refuse("offers no search", "Choose a model whose provider searches.")
        if request.search is not None and request.search.fetch and not able.fetch:
            raise self.refuse("opens no pages", "Choose a model whose provider fetches pages, or ask for search alone.")

    def _failure(self, error: Exception, request: ChatRequest) -> ProviderError:
        trouble = self._trouble(error) or _general(error)
        return self.failed(trouble, request)

    @abstractmethod
    def _make_client(self) -> Any:
        """The vendor's client, without retries of its own."""

    @abstractmethod
    def _exchange(self, request: ChatRequest, clock: Clock) -> ChatReply:
        """Ask and read the answer."""

    @abstractmethod
    def _trouble(self, error: Exception) -> Trouble | None:
        """What an exception of the SDK means; None for one that is not its own."""


def _general(error: Exception) -> Trouble:
    """What an exception below or beside the SDK means."""
    import httpx2

    if isinstance(error, httpx2.TimeoutException | TimeoutError):
        return Trouble("timeout")
    if isinstance(error, httpx2.TransportError | OSError):
        return Trouble("connection", words=type(error).__name__)
    return Trouble("unreadable", words=type(error).__name__)
