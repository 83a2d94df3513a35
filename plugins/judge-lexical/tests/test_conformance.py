"""The judge against the conformance kit."""

from finassay.testing.cases import ComponentConformance


class TestConformance(ComponentConformance):
    kind = "judge"
    id = "lexical"
