"""The words of one option and of one slot."""

from attrs import frozen


@frozen
class Words:
    """How an option is said: `{value}` in sentence and opening stands for the drawn number, `{number}` in a pattern for any number."""

    sentence: str
    opening: str
    says: tuple[str, ...]
    denies: tuple[str, ...] = ()
    """How it is said when it speaks against the alternatives, where `says` would be too generous: 'monthly' alone is no schedule in the
    middle of a report. Empty: as `says`."""

    @property
    def against_others(self) -> tuple[str, ...]:
        return self.denies or self.says


@frozen
class Asking:
    """How a slot is named and asked about."""

    piece: str
    topics: tuple[str, ...]
