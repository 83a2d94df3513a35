from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import pytest

from finassay.api.model import ChatReply
from finassay.testing.cases import ComponentConformance
from finassay.testing.fakes import FakeChatModel, FakeModels

OFFERED = Path(__file__).parent / "offered"


class InAFolder(ComponentConformance):
    """With a memory that is thrown away."""

    inner: ClassVar[dict[str, Any]]

    @pytest.fixture(autouse=True)
    def _memory(self, tmp_path, monkeypatch):
        monkeypatch.syspath_prepend(str(OFFERED))
        monkeypatch.setattr(type(self), "options", {**self.inner, "memory": str(tmp_path / "memory")})


class TestAroundAProgramless(InAFolder):
    kind = "agent"
    id = "memory"
    inner: ClassVar[dict[str, Any]] = {"agent": "parrot"}


class TestAroundOneWithAModel(InAFolder):
    kind = "agent"
    id = "memory"
    inner: ClassVar[dict[str, Any]] = {"agent": "asking", "options": {"model": "fake/model"}, "review": "fake/model"}
    models = FakeModels({"fake/model": FakeChatModel([ChatReply("How should I size the positions?", "stop", "model-1")])})


@pytest.mark.skipif(find_spec("finassay_reference") is None, reason="finassay-reference is not installed")
class TestAroundTheReference(InAFolder):
    kind = "agent"
    id = "memory"
    inner: ClassVar[dict[str, Any]] = {"agent": "reference", "tell": "brief"}
