"""The simulator against the conformance kit, on a model that plays well."""

from typing import Any, ClassVar

from puppet import MODELS

from finassay.testing.cases import ComponentConformance


class TestConformance(ComponentConformance):
    kind = "simulator"
    id = "model"
    options: ClassVar[dict[str, Any]] = {"model": "fake/model"}
    models = MODELS
