"""What a test by trades answers."""

from attrs import frozen

from finassay.api.strategy import Stance

ENOUGH = 0.95
HALF = 0.5


@frozen
class Shown:
    """`share` of the decisions, fills or sessions that agree (None: nothing could be compared), out of `count`."""

    stance: Stance
    share: float | None = None
    count: int = 0
    note: str = ""


def cannot_tell(note: str) -> Shown:
    return Shown(Stance.CANNOT_TELL, None, 0, note)


def by_share(share: float, count: int, note: str, *, rival: float | None = None, delivered_only: bool = False) -> Shown:
    """Supports from 95 %; contradicts below it if a rival option reaches 95 %, or below 50 % where only delivered values are used."""
    if count == 0:
        return cannot_tell(note or "nothing to compare")
    if share >= ENOUGH:
        return Shown(Stance.SUPPORTS, share, count, note)
    if (rival is not None and rival >= ENOUGH) or (delivered_only and share < HALF):
        return Shown(Stance.CONTRADICTS, share, count, note)
    return Shown(Stance.CANNOT_TELL, share, count, note)


def longest_run(wrong: "list[bool]") -> int:
    """Length of the longest stretch of true values."""
    longest = now = 0
    for value in wrong:
        now = now + 1 if value else 0
        longest = max(longest, now)
    return longest
