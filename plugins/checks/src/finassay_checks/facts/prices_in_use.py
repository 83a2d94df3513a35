"""Quality of the price table that the fills use."""

from collections.abc import Mapping

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.facts.quality import Quality, quality_of


def price_quality(package: Package) -> Mapping[str, Quality]:
    """Place of the price table in use to its quality; several if it is ambiguous which one counts, empty if none was delivered."""
    choice = package.fact(read_delivery).choices["prices"]
    if choice.chosen is not None:
        tables = [choice.chosen]
    else:
        tables = [c for c in choice.candidates if c.table.current] if choice.status == "ambiguous" else []
    return {t.table.where: quality_of(t.frame, package.task.conditions.exchange) for t in tables}
