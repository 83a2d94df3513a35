"""The researcher against the conformance kit."""

from finassay.testing.cases import ComponentConformance
from finassay.testing.research import TOTAL_ASSETS, SampleDesk, total_assets
from finassay_statements_b.researcher import StatementsB, StatementsBOptions


class TestConformance(ComponentConformance):
    kind = "researcher"
    id = "statements-b"


def test_it_resolves_the_sample():
    """What the kit only recommends."""
    assert StatementsB(StatementsBOptions()).derive(total_assets(), SampleDesk()).value == TOTAL_ASSETS
