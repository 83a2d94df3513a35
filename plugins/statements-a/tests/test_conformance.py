"""The researcher against the conformance kit."""

from finassay.testing.cases import ComponentConformance
from finassay.testing.research import TOTAL_ASSETS, SampleDesk, total_assets
from finassay_statements_a.researcher import StatementsA, StatementsAOptions


class TestConformance(ComponentConformance):
    kind = "researcher"
    id = "statements-a"


def test_it_resolves_the_sample():
    """What the kit only recommends."""
    assert StatementsA(StatementsAOptions()).derive(total_assets(), SampleDesk()).value == TOTAL_ASSETS
