from typing import Any, ClassVar

from finassay.api.model import ChatReply
from finassay.testing.cases import ComponentConformance
from finassay.testing.fakes import FakeChatModel, FakeModels


class TestBareModel(ComponentConformance):
    kind = "agent"
    id = "bare-model"
    options: ClassVar[dict[str, Any]] = {"model": "fake/model"}
    models = FakeModels({"fake/model": FakeChatModel([ChatReply("How should I size the positions?", "stop", "model-1")])})
