"""What can go wrong between a program and its model. Each is a step of a script."""

from collections.abc import Mapping

from attrs import Factory, frozen

from finassay_cli_kit.testing.steps import Step


@frozen
class Status:
    """An HTTP error in the vendor's shape: 400, 401, 404, 429, 500, 529 …"""

    code: int
    message: str = ""
    headers: Mapping[str, str] = Factory(dict)
    times: int | None = 1
    """How many requests get it; None: every one until the user says something new."""


@frozen
class CutStream:
    """The connection closes in the middle of a reply that would have said `text`."""

    text: str = "This reply does not come to its end."
    times: int | None = 1


@frozen
class EmptyStream:
    """Status 200 and not one event."""

    times: int | None = 1


@frozen
class Silence:
    """Nothing more comes: after the headers and the first event, or with `headers=False` not even those; for `seconds`, then the connection closes."""

    headers: bool = True
    seconds: float = 3600.0
    times: int | None = 1


@frozen
class Reset:
    """The connection is reset as soon as the request was read."""

    times: int | None = 1


@frozen
class Drip:
    """A reply whose events come one by one, `seconds` apart."""

    step: Step
    seconds: float


Fault = Status | CutStream | EmptyStream | Silence | Reset
Move = Step | Fault | Drip
