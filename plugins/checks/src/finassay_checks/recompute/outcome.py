"""What one check of the verifier audit came to."""

from typing import Literal

from attrs import frozen

Status = Literal["pass", "fail", "n/a", "unverifiable"]


@frozen
class Outcome:
    """One check's outcome. `wants` names the delivered part whose absence made it unverifiable; `ambiguous` that there were several."""

    letter: str
    title: str
    status: Status
    found: str = ""
    expected: str = ""
    where: str = ""
    rows: tuple[str, ...] = ()
    wants: str = ""
    ambiguous: bool = False
