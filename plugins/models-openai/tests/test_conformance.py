"""The provider against the conformance kit."""

from typing import ClassVar

import pytest

from finassay.testing.cases import ComponentConformance


class TestConformance(ComponentConformance):
    kind = "model"
    id = "openai"
    options: ClassVar = {"name": "gpt-6-astra"}

    @pytest.fixture(autouse=True)
    def _key(self, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-nothing")
