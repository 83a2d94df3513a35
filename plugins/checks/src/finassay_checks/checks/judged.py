"""Help for checks of dimensions that a judge grades: they hand facts over and bound nothing, unless they settle that nothing applies."""

from collections.abc import Mapping
from typing import ClassVar

from finassay.api.delivery import Package
from finassay.api.grading import Answer, CheckBrief, CheckRole
from finassay.api.verdict import Json, Scored, Source, Verdict
from finassay_checks.options import NoOptions


class JudgedCheck:
    """Facts for a judge. A subclass gives `facts`, and `run` where a program settles the dimension."""

    api_version = 1
    Options = NoOptions
    role: ClassVar[CheckRole] = "bounds"
    by_turn = False
    id: ClassVar[str]
    dimension: ClassVar[str]

    def __init__(self, options: NoOptions) -> None:
        self.options = options

    def facts(self, package: Package) -> Mapping[str, Json]:
        """What programs know; JSON values only."""
        raise TypeError(f"{type(self).__name__} gives no facts")

    def brief(self, package: Package) -> CheckBrief:
        return CheckBrief(self.facts(package))

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        return self.open(package)

    def open(self, package: Package, reason: str = "The program adds facts and sets no bound.") -> Scored:
        """No bound: the judge's level stands."""
        return Scored(4, Source.PROGRAM, self.id, reason, facts=self.facts(package))
