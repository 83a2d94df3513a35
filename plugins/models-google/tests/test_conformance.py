"""The provider against the conformance kit."""

from typing import ClassVar

import pytest

from finassay.testing.cases import ComponentConformance


class TestConformance(ComponentConformance):
    kind = "model"
    id = "google"
    options: ClassVar = {"name": "gemini-3.8-flash"}

    @pytest.fixture(autouse=True)
    def _key(self, monkeypatch):
        monkeypatch.setenv("GEMINI_API_KEY", "sk-nothing")
