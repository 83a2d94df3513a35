"""Several endpoints in one run: each with its own address, its own key, its own manners."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

from finassay.api.errors import ProviderRefusedError, UsageError
from finassay.api.model import ChatModel
from finassay.testing.cases import ComponentConformance
from finassay_models_kit.suite import ProviderSuite, request
from finassay_models_kit.testing import Served, loopback
from finassay_models_openai import testing as wire
from finassay_models_openai.compatible import CompatibleModel, CompatibleOptions


class TestConformance(ComponentConformance):
    kind = "model"
    id = "compatible"
    options: ClassVar = {"name": "local/qwen3", "endpoints": {"local": {"base_url": "http://localhost:11434/v1"}}}


class TestCompatible(ProviderSuite):
    def make(self, url: str, **options: Any) -> ChatModel:
        endpoints = {"house": {"base_url": url, **options}}
        return CompatibleModel(CompatibleOptions(name="house/org/qwen3-30b", endpoints=endpoints))

    def plain(self, text: str) -> Served:
        return Served(body=wire.completion(text))

    def error(self, status: int, message: str, headers: Mapping[str, str]) -> Served:
        return wire.error(status, None, message, headers)


def test_each_endpoint_gets_its_own_and_nothing_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOONSHOT_API_KEY", "sk-moon-0123456789")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai-0123456789")
    with loopback([Served(body=wire.completion("Far."))]) as far, loopback([Served(events=wire.chunks(wire.completion("Near.")))]) as near:
        endpoints = {
            "moonshot": {"base_url": f"{far.url}/v1", "key_variable": "MOONSHOT_API_KEY"},
            "local": {"base_url": f"{near.url}/v1", "stream": True, "structured": "none", "family": "house"},
        }
        kimi = CompatibleModel(CompatibleOptions(name="moonshot/kimi-k2.5", endpoints=endpoints, effort="low"))
        own = CompatibleModel(CompatibleOptions(name="local/org/mine", endpoints=endpoints))
        assert (kimi.complete(request()).text, own.complete(request()).text) == ("Far.", "Near.")
        assert (far.last.body["model"], near.last.body["model"]) == ("kimi-k2.5", "org/mine")
        assert far.last.headers["authorization"] == "Bearer sk-moon-0123456789"
        assert "authorization" not in near.last.headers
        assert (far.last.body["reasoning_effort"], near.last.body["stream"]) == ("low", True)
    assert (kimi.id, kimi.family, kimi.credentials) == ("compatible/moonshot/kimi-k2.5", "kimi", ("MOONSHOT_API_KEY",))
    assert (own.id, own.family, own.capabilities.structured) == ("compatible/local/org/mine", "house", False)


def test_what_is_not_stated_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoints = {"far": {"base_url": "https://far.example/v1", "key_variable": "KEY_THAT_NOBODY_SET"}}
    with pytest.raises(UsageError, match="no endpoint 'near'") as caught:
        CompatibleModel(CompatibleOptions(name="near/x", endpoints=endpoints))
    assert "far" in caught.value.hint
    with pytest.raises(ProviderRefusedError, match="compatible: no key"):
        CompatibleModel(CompatibleOptions(name="far/x", endpoints=endpoints))
    for wrong in ({"name": "x"}, {"name": "far/x", "endpoints": {"far": {"base_url": "https://me:secret@far.example"}}}):
        with pytest.raises(ValidationError):
            CompatibleOptions(**wrong)
