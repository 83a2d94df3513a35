"""The judge against the conformance kit, over a model that goes by what it reads."""

from typing import ClassVar

from finassay.api.model import ChatRequest
from finassay.testing.cases import ComponentConformance
from finassay.testing.fakes import FakeModels

from .scripted import level, model, quote

RISK = "The largest drawdown was 31% in 2008."


def reads(dimension: str, request: ChatRequest) -> dict[str, object]:
    return level(3, quote(RISK)) if RISK in request.messages[-1].text else level(0)


class TestConformance(ComponentConformance):
    kind = "judge"
    id = "model"
    options: ClassVar = {"model": "fake/model"}
    models = FakeModels({"fake/model": model(reads)})
