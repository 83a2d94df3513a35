"""What a run kept is said again without a key: from the store of a run's models to the provider `replay`, through the core's whole chain."""

import pytest

pytest.importorskip("finassay_models_openai", reason="the provider openai is not installed")
pytest.importorskip("finassay_models_replay", reason="the provider replay is not installed")

from finassay.api.errors import ProviderRefusedError
from finassay.api.model import ChatMessage, ChatRequest
from finassay.catalog.catalog import Catalog
from finassay.config.settings import ProviderSettings
from finassay.models.service import ModelService
from finassay_models_kit.testing import Served, loopback
from finassay_models_openai import testing as wire

SCHEMA = {"type": "object", "properties": {"level": {"type": "integer"}}, "required": ["level"]}
ASKED = ChatRequest((ChatMessage("user", "How good is it?"),), schema=SCHEMA, role="judge")
KEY = "sk-planted-0123456789abcdef"


def answers(*texts):
    return [Served(body=wire.completion(text)) for text in texts]


def test_a_run_is_said_again_from_its_store(tmp_path, monkeypatch):
    monkeypatch.setenv("HOUSE_KEY", KEY)
    with loopback(answers("I would say 3.", '{"level": 3}')) as server:
        settings = {"openai": ProviderSettings(base_url=f"{server.url}/v1", key_variable="HOUSE_KEY")}
        service = ModelService(Catalog.installed(), settings, tmp_path)
        first = service.get("openai/kimi-test", {"effort": "low"}).complete(ASKED)
        assert (first.value, len(server.asked)) == ({"level": 3}, 2), "a text without a value is asked for once more"
    monkeypatch.delenv("HOUSE_KEY")
    again = ModelService(Catalog.installed(), {"replay": ProviderSettings(folder=str(tmp_path))})
    reply = again.get("replay/openai/kimi-test").complete(ASKED)
    assert (reply.value, reply.text, reply.model) == (first.value, first.text, first.model)
    assert again.problems() == []
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]


def test_what_was_recorded_is_said_again(tmp_path):
    with loopback(answers('{"level": 1}')) as server:
        options = {"folder": str(tmp_path), "record": True, "base_url": f"{server.url}/v1", "provider_options": {"structured": "none"}}
        recording = ModelService(Catalog.installed(), {"replay": ProviderSettings(**options)})
        model = recording.get("replay/openai/kimi-test")
        assert [model.complete(ASKED).value for _ in range(2)] == [{"level": 1}] * 2
        assert len(server.asked) == 1
        assert "JSON Schema" in server.last.sent
    replaying = ModelService(Catalog.installed(), {"replay": ProviderSettings(folder=str(tmp_path))})
    assert replaying.get("replay/openai/kimi-test").complete(ASKED).value == {"level": 1}
    with pytest.raises(ProviderRefusedError, match=r"no exchange [0-9a-f]{64}"):
        replaying.get("replay/openai/another").complete(ASKED)
