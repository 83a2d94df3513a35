"""The simulator against the conformance kit."""

from finassay.testing.cases import ComponentConformance


class TestConformance(ComponentConformance):
    kind = "simulator"
    id = "policy"
