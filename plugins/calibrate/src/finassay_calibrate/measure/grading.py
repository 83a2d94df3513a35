"""The installed checks and the lexical judge, loaded once in a process."""

from functools import lru_cache
from typing import Any

from attrs import frozen

from finassay.api.delivery import Package
from finassay.api.dimension import Dimension
from finassay.api.scorecard import Evaluator
from finassay.api.verdict import NotApplicable, Scored, Unscored, Verdict
from finassay.catalog.catalog import Catalog
from finassay.config.settings import RunSettings
from finassay.grading.dimensions import DIMENSIONS
from finassay.grading.engine import grade
from finassay.runs.build import GradingParts, build_grading

VETOES: tuple[str, ...] = tuple(d.id for d in DIMENSIONS if d.veto is not None)
BY_ID: dict[str, Dimension] = {d.id: d for d in DIMENSIONS}


@lru_cache(maxsize=1)
def parts() -> GradingParts:
    return build_grading(Catalog.installed(), RunSettings(agents={}))


@frozen
class Grade:
    """One dimension of one delivery: the level (None if there is none), its reason, and what it is if it is no level."""

    level: int | None
    reason: str
    outcome: str = "scored"
    named: bool = False
    """Whether the evidence names a fault, whatever the level."""

    def failed(self, dimension: str) -> bool:
        """Whether the dimension's veto failed; an unscored dimension neither passes nor fails."""
        veto = BY_ID[dimension].veto
        return veto is not None and self.level is not None and self.level < veto


def grades(package: Package, dimensions: frozenset[str] | None = None) -> dict[str, Grade]:
    """Dimension to grade; only those named, which saves the time of the others."""
    made = parts()
    checks = {name: c for name, c in made.checks.items() if dimensions is None or c.dimension in dimensions}
    card = grade(package, checks, made.judge, made.reader, Evaluator("", "", (), {}), "calibrate", by_turn=False)
    return {g.dimension: _grade(g.verdict) for g in card.verdicts if dimensions is None or g.dimension in dimensions}


def _grade(verdict: Verdict | Any) -> Grade:
    if isinstance(verdict, Scored):
        return Grade(verdict.level, verdict.reason, named=any("(fault" in e.text for e in verdict.evidence))
    if isinstance(verdict, NotApplicable):
        return Grade(None, verdict.reason, "not applicable")
    if isinstance(verdict, Unscored):
        return Grade(None, f"{verdict.reason}: {verdict.detail}", "unscored")
    return Grade(None, "", "measured")
