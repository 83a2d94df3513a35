"""The kind's conformance."""

from finassay.testing.cases import ComponentConformance


class TestStandard(ComponentConformance):
    kind = "gateway"
    id = "standard"
