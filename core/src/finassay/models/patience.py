"""Waiting out what passes: overload, rate limits, a network that is away."""

import time
from collections.abc import Callable
from typing import Final

from attrs import frozen

from finassay.api.errors import ProviderError
from finassay.api.model import ChatReply

FIRST_WAIT: Final = 1.0
LONGEST_WAIT: Final = 60.0
"""Between two tries, unless the provider asks for longer."""

Waits = Callable[[str, float, ProviderError], None]
"""Told before each wait: the model, for how many seconds, and what failed."""


def wait_words(model: str, seconds: float, error: Exception) -> str:
    """A wait in words. Providers begin their messages with the name of the model, which stands there once."""
    reason = str(error).strip()
    if reason.startswith(model):
        reason = reason[len(model) :].lstrip(" :")
    return f"waits for {model}: {reason or type(error).__name__}; asked again " + (f"in {seconds:.0f} s" if seconds >= 0.5 else "at once")


def nobody_waits(model: str, seconds: float, error: ProviderError) -> None:
    """The observer that nobody set."""


@frozen
class Patience:
    """Tries a call again while its failure may pass, for at most `seconds` in all.

    The waits grow exponentially and are drawn at random; where the provider says how long to wait, it is never less. What will not pass is
    raised at once, and so is a failure whose wait would outlast the patience.
    """

    seconds: float = 600.0
    waits: Waits = nobody_waits
    sleep: Callable[[float], None] = time.sleep

    def call(self, model: str, attempt: Callable[[], ChatReply]) -> ChatReply:
        """Raises `ProviderError`, the last one if it was tried several times."""
        import tenacity

        drawn = tenacity.wait_random_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT)

        def wait(state: tenacity.RetryCallState) -> float:
            asked = getattr(_failure(state), "retry_after", None) or 0.0
            return float(max(asked + drawn(state) / 10 if asked else drawn(state), 0.0))

        def told(state: tenacity.RetryCallState) -> None:
            error = _failure(state)
            if isinstance(error, ProviderError):
                self.waits(model, state.upcoming_sleep, error)

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, ProviderError) and error.retry),
            wait=wait,
            stop=tenacity.stop_before_delay(self.seconds),
            before_sleep=told,
            sleep=self.sleep,
            reraise=True,
        )
        reply: ChatReply = retrying(attempt)
        return reply


def _failure(state: object) -> BaseException | None:
    outcome = getattr(state, "outcome", None)
    return outcome.exception() if outcome is not None else None
