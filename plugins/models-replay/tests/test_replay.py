"""Replays: found by digest, by the request alone, not found; recorded."""

import json
import stat
import threading

import pytest
from pydantic import ValidationError

from finassay.api.errors import ProviderError, ProviderRefusedError
from finassay.api.model import ChatMessage, ChatReply, ChatRequest, Citation, ModelCapabilities, ToolCall, request_digest
from finassay.api.usage import Usage
from finassay.catalog.catalog import Catalog
from finassay.models.exchanges import ExchangeStore
from finassay.testing.cases import ComponentConformance
from finassay.testing.fakes import FakeChatModel
from finassay_models_replay.model import ReplayModel, ReplayOptions

MODEL = "house/claude-test"
REQUEST = ChatRequest((ChatMessage("user", "Hello?"),), role="simulator")
REPLY = ChatReply(
    "Hi.",
    "stop",
    "claude-test-1",
    value={"a": [1]},
    tool_calls=(ToolCall("t", "look_up", {"x": 1}, {"before": ["s"]}),),
    citations=(Citation("https://a.example", "A", "q"),),
    usage=Usage(3, 1, 2, 1, 0.5),
    meta={"id": "1"},
)


class TestConformance(ComponentConformance):
    kind = "model"
    id = "replay"
    options = {"name": "anthropic/claude-opus-5", "folder": "nowhere"}  # noqa: RUF012


@pytest.fixture
def store(tmp_path):
    return ExchangeStore(tmp_path / "exchanges")


def replay(store, **more):
    return ReplayModel(ReplayOptions(**{"name": MODEL, "folder": str(store.folder), **more}))


def test_a_stored_exchange_is_answered_whole(store):
    store.put(MODEL, {"effort": "low"}, REQUEST, REPLY)
    model = replay(store, effort="low")
    reply = model.complete(REQUEST)
    assert (reply.text, reply.value, reply.tool_calls, reply.citations) == (REPLY.text, REPLY.value, REPLY.tool_calls, REPLY.citations)
    assert reply.meta == {"id": "1", "replayed": request_digest(MODEL, {"effort": "low"}, REQUEST)}
    assert reply.usage == Usage(3, 1, 2, 1, None), "nothing is paid again"
    assert (model.id, model.family, model.capabilities.free) == (f"replay/{MODEL}", "claude", True)


def test_who_asks_and_how_long_it_may_take_do_not_matter(store):
    store.put(MODEL, {}, REQUEST, REPLY)
    assert replay(store).complete(ChatRequest(REQUEST.messages, role="judge", seconds=1.0)).text == "Hi."


def test_a_request_that_is_stored_once_is_found_whatever_its_options(store):
    store.put(MODEL, {"effort": "low"}, REQUEST, REPLY)
    store.put("house/another", {}, REQUEST, REPLY)
    model = replay(store)
    assert model.complete(REQUEST).text == "Hi."
    store.put(MODEL, {"effort": "high"}, REQUEST, REPLY)
    with pytest.raises(ProviderRefusedError):
        model.complete(REQUEST)


@pytest.mark.parametrize("other", [ChatRequest((ChatMessage("user", "Hello!"),)), ChatRequest(REQUEST.messages, repeat=1)])
def test_what_is_not_stored_is_refused_by_its_digest(store, other):
    store.put(MODEL, {}, REQUEST, REPLY)
    with pytest.raises(ProviderRefusedError, match=request_digest(MODEL, {}, other)) as caught:
        replay(store).complete(other)
    assert "record" in caught.value.hint


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(ProviderRefusedError, match="there is no folder"):
        replay(ExchangeStore(tmp_path / "nowhere")).complete(REQUEST)


def test_a_run_s_folder(tmp_path):
    ExchangeStore(tmp_path / "sealed" / "exchanges").put(MODEL, {}, REQUEST, REPLY)
    assert replay(ExchangeStore(tmp_path)).complete(REQUEST).text == "Hi."


def test_files_that_cannot_be_read(store):
    exchange = store.put(MODEL, {"effort": "low"}, REQUEST, REPLY)
    (store.folder / "broken.json").write_text("{")
    renamed = store.folder / f"{'0' * 64}.json"
    renamed.write_bytes(store.path(exchange.digest).read_bytes())
    assert replay(store).complete(REQUEST).text == "Hi."
    store.path(request_digest(MODEL, {}, REQUEST)).write_text("[]")
    with pytest.raises(ProviderRefusedError, match="exchange"):
        replay(store).complete(REQUEST)


@pytest.mark.parametrize("name", ["anthropic", "/x", "anthropic/", "replay/anthropic/x"])
def test_names_that_name_no_model(name):
    with pytest.raises(ValidationError):
        ReplayOptions(name=name, folder="x")


@pytest.fixture
def real(monkeypatch):
    """A provider that is not structured by itself, and answers in words."""
    fake = FakeChatModel(
        [ChatReply('Sure: {"a": 1}', "stop", "real-1")], id=MODEL, family="qwen", capabilities=ModelCapabilities(tools=False)
    )
    made = []

    def create(self, kind, name, options=None, models=None):
        made.append((kind, name, dict(options)))
        return fake, None

    monkeypatch.setattr(Catalog, "create", create)
    fake_made = made
    return fake, fake_made


def test_recording_asks_once_and_stores_for_the_owner_alone(store, real):
    fake, made = real
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    request = ChatRequest(REQUEST.messages, schema=schema)
    model = replay(store, record=True, effort="low", provider_options={"x": 1})
    assert made == [("model", "house", {"x": 1, "effort": "low", "name": "claude-test"})]
    assert (model.family, model.capabilities.free) == ("qwen", False)
    assert model.complete(request).value == {"a": 1}
    assert model.complete(request).value == {"a": 1}
    assert len(fake.requests) == 1
    assert "JSON Schema" in fake.requests[0].messages[0].text
    [path] = store.folder.glob("*.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text())["request"]["messages"][0]["text"] == "Hello?"
    assert replay(store).complete(request).value == {"a": 1}, "without the provider, from the request as it was asked"


def test_recording_does_not_store_failures(store, real):
    fake, _ = real
    fake.replies = (ProviderError("later"), REPLY)
    model = replay(store, record=True)
    with pytest.raises(ProviderError):
        model.complete(REQUEST)
    assert model.complete(REQUEST).text == "Hi."
    assert len(list(store.folder.glob("*.json"))) == 1


def test_recording_asks_for_these_options_and_again_for_what_was_of_no_use(store, real):
    fake, _ = real
    store.put(MODEL, {"effort": "low"}, REQUEST, REPLY)
    fake.replies = (ChatReply("", "empty", "real-1"), ChatReply("Hi again.", "stop", "real-1"))
    model = replay(store, record=True)
    assert [model.complete(REQUEST).text for _ in range(3)] == ["", "Hi again.", "Hi again."]
    assert len(fake.requests) == 2


def test_recording_what_the_provider_cannot_do(store, real):
    from finassay.api.model import Tool

    with pytest.raises(ProviderRefusedError, match="tools"):
        replay(store, record=True).complete(ChatRequest(REQUEST.messages, tools=(Tool("t", "", {}),)))


def test_several_threads(store):
    requests = [ChatRequest((ChatMessage("user", str(n)),)) for n in range(20)]
    for n, request in enumerate(requests):
        store.put(MODEL, {"effort": "low"}, request, ChatReply(str(n), "stop", "m"))
    model, answers = replay(store), {}
    threads = [threading.Thread(target=lambda n=n: answers.update({n: model.complete(requests[n]).text})) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert answers == {n: str(n) for n in range(20)}
