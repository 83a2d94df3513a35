"""The words of one option and of one slot."""

from attrs import frozen


@frozen
class Words:
    """How an option is said: `{value}` in sentence and opening stands for the drawn number, `{number}` in a pattern for any number."""

    sentence: str
    opening: str
    says: tuple[str, ...]


@frozen
class Asking:
    """How a slot is named and asked about."""

    piece: str
    topics: tuple[str, ...]
