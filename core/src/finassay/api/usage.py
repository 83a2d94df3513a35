"""What a turn or a call used."""

from attrs import frozen


@frozen
class Usage:
    """Tokens and money of one turn. None is unknown, never zero."""

    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
