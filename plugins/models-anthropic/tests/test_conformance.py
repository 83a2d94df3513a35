"""The provider against the conformance kit."""

from typing import ClassVar

import pytest

from finassay.testing.cases import ComponentConformance


class TestConformance(ComponentConformance):
    kind = "model"
    id = "anthropic"
    options: ClassVar = {"name": "claude-opus-5"}

    @pytest.fixture(autouse=True)
    def _key(self, monkeypatch):
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-nothing")
