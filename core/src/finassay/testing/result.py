"""What a conformance check says."""

from collections.abc import Callable, Iterator
from typing import Any, Literal

from attrs import frozen

Level = Literal["must", "should"]


@frozen
class Result:
    """One check's outcome. `reason` is one line that says why the check exists; `detail` what was found, or why it does not apply."""

    id: str
    level: Level
    reason: str
    ok: bool
    detail: str = ""
    applies: bool = True
    """Whether it was made at all; what does not apply to a component is said, not passed over."""


class ConformanceFailure(AssertionError):
    """Raised by a check; its text is the detail."""


@frozen
class ConformanceCheck:
    """A check of one kind: `call(subject)` raises `ConformanceFailure` (or anything) if it does not hold; `applies` selects by capability."""

    kind: str
    id: str
    level: Level
    reason: str
    call: Callable[[Any], None]
    applies: Callable[[Any], bool]
    otherwise: str
    """What it means that it does not apply."""

    def run(self, subject: Any) -> Result:
        if not self.applies(subject):
            return Result(self.id, self.level, self.reason, True, self.otherwise, applies=False)
        try:
            self.call(subject)
        except Exception as error:  # somebody else's code is what is being tested
            detail = str(error) if isinstance(error, ConformanceFailure) else f"{type(error).__name__}: {error}"
            return Result(self.id, self.level, self.reason, False, detail[:1000])
        return Result(self.id, self.level, self.reason, True)


_CHECKS: dict[str, list[ConformanceCheck]] = {}


def conformance(
    kind: str,
    name: str,
    reason: str,
    *,
    level: Level = "must",
    applies: Callable[[Any], bool] = lambda subject: True,
    otherwise: str = "its capabilities make it pointless",
) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Declare a check of a kind."""

    def declare(call: Callable[[Any], None]) -> Callable[[Any], None]:
        _CHECKS.setdefault(kind, []).append(ConformanceCheck(kind, f"{kind}/{name}", level, reason, call, applies, otherwise))
        return call

    return declare


def checks_of(kind: str) -> tuple[ConformanceCheck, ...]:
    """Every declared check of a kind, in order."""
    return tuple(_CHECKS.get(kind, ()))


def run_checks(kind: str, subject: Any) -> Iterator[Result]:
    """Results of every check, those that do not apply included."""
    for check in checks_of(kind):
        yield check.run(subject)


def require(condition: object, detail: str) -> None:
    """Raise `ConformanceFailure` unless the condition holds."""
    if not condition:
        raise ConformanceFailure(detail)
