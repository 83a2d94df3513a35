"""The kit: families, failures and what is said about them, schemas, the loopback server."""

import json
import urllib.error
import urllib.request
from datetime import UTC, datetime

import pytest
from jsonschema import Draft202012Validator

from finassay.api.errors import ProviderError, ProviderRefusedError, UsageError
from finassay.api.model import ChatMessage, ChatRequest, ModelCapabilities, Tool, WebSearch
from finassay_models_kit import ProviderModel, Trouble, family_of, settled, value_in
from finassay_models_kit.reading import arguments_in
from finassay_models_kit.schemas import is_open, keeping, strict_form, without_added_nulls
from finassay_models_kit.testing import Served, event, http_date, loopback
from finassay_models_kit.troubles import failure, presentable, retry_after

REQUEST = ChatRequest((ChatMessage("user", "Ten names, held for a month, weighted equally."),))
KEY = "sk-abcdefghijklmnop"


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("claude-opus-5", "claude"),
        ("gpt-6-astra", "gpt"),
        ("o3-mini", "gpt"),
        ("gemini-3.8-flash", "gemini"),
        ("models/gemini-4-argon", "gemini"),
        ("kimi-k2-thinking", "kimi"),
        ("moonshotai/Kimi-K2.5", "kimi"),
        ("Qwen/QwQ-32B", "qwen"),
        ("deepseek-r1-distill-llama-70b", "deepseek"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama"),
        ("anthropic/claude-sonnet-5", "claude"),
        ("openai/some-gateway-route", "unknown"),
        ("gpt-oss:20b", "gpt"),
        ("glm-5", "glm"),
        ("llama3.3", "llama"),
        ("my-own-finetune", "unknown"),
        ("solo1", "unknown"),
        ("two-step-seed-command", "unknown"),
        ("house-o3", "unknown"),
        ("openai/o4-mini", "gpt"),
        ("microsoft/Phi-4-mini", "phi"),
        ("c4ai-command-r-plus", "command"),
    ],
)
def test_families(name, family):
    assert family_of(name) == family


def test_how_long_to_wait():
    now = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    assert retry_after({"Retry-After": "12"}) == 12.0
    assert retry_after({"retry-after": "0.5"}) == 0.5
    assert retry_after({"Retry-After": "-3"}) == 0.0
    assert retry_after({"retry-after-ms": "1500", "Retry-After": "9"}) == 1.5
    assert retry_after({"Retry-After": "Mon, 30 Nov 2026 12:01:00 GMT"}, now) == 60.0
    assert retry_after({"Retry-After": "Mon, 30 Nov 2026 11:00:00 GMT"}, now) == 0.0
    assert retry_after({"Retry-After": "soon"}) is None
    assert retry_after({"Retry-After": "nan"}) is None
    assert retry_after({}) is None
    assert 25 < retry_after({"Retry-After": http_date(30)}) <= 30


def test_what_passes_and_what_does_not():
    passing = [
        Trouble("timeout"),
        Trouble("connection"),
        Trouble("unreadable"),
        *(Trouble("status", s) for s in (408, 409, 429, 500, 503, 529)),
    ]
    lasting = [Trouble("status", s) for s in (301, 400, 401, 402, 403, 404, 405, 413, 422, 501)]
    assert all(t.passes for t in passing)
    assert not any(t.passes for t in lasting)
    assert not Trouble("status", 429, "insufficient_quota").passes
    assert isinstance(failure(Trouble("status", 404), "p/m", ("KEY",), ""), ProviderRefusedError)
    assert failure(Trouble("status", 429, wait=3.5), "p/m", (), "").retry_after == 3.5


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("model not found", "model not found"),
        (f"bad key {KEY}!", "bad key [key]!"),
        ("Incorrect API key provided: sk-abc***mnop.", "Incorrect API key provided: [key]"),
        ("token eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9eyJzdWIiOiIx", "token […]"),
        ("two\nlines\x1b[31m", "two lines [31m"),
        ("you said: Ten names, held for a month, weighted equally.", ""),
        ("", ""),
    ],
)
def test_what_of_a_providers_words_is_shown(words, shown):
    assert presentable(words, KEY, REQUEST) == shown


def test_long_words_are_cut():
    assert len(presentable("no " * 5000, KEY, REQUEST)) == 300


def test_a_401_tells_no_words_of_the_provider():
    assert "thing" not in str(failure(Trouble("status", 401, words="thing"), "p/m", ("KEY",), "thing"))


def test_values_and_arguments():
    assert value_in('{"a": 1}') == {"a": 1}
    assert value_in("a") is None
    assert value_in('{"a": NaN}') is None
    assert value_in("[" * 100_000) is None
    assert arguments_in("") == {}
    assert arguments_in("[1]") is None
    assert settled("stop", " ", ()) == "empty"
    assert settled("length", "", ()) == "length"


NESTED = {
    "type": "object",
    "properties": {
        "level": {"type": "integer", "minimum": 0},
        "note": {"type": "string", "maxLength": 9},
        "kind": {"enum": ["a", "b"]},
        "gap": {"type": ["number", "null"]},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}},
        "either": {"oneOf": [{"$ref": "#/$defs/part"}, {"type": "string"}]},
    },
    "required": ["level", "parts"],
    "$defs": {"part": {"type": "object", "properties": {"id": {"type": "string"}, "why": {"type": "string"}}, "required": ["id"]}},
}


def test_a_strict_form_and_the_way_back():
    strict = strict_form(NESTED)
    assert strict is not None
    Draft202012Validator.check_schema(strict)
    assert strict["required"] == list(NESTED["properties"])
    assert strict["additionalProperties"] is False
    assert strict["$defs"]["part"]["required"] == ["id", "why"]
    assert "maxLength" not in json.dumps(strict["properties"]["note"]).replace("maxLength 9", "")
    given = {
        "level": 1,
        "note": None,
        "kind": None,
        "gap": None,
        "parts": [{"id": "x", "why": None}],
        "either": {"id": "y", "why": None},
    }
    assert not list(Draft202012Validator(strict).iter_errors(given))
    back = without_added_nulls(given, NESTED)
    assert back == {"level": 1, "gap": None, "parts": [{"id": "x"}], "either": {"id": "y"}}
    assert not list(Draft202012Validator(NESTED).iter_errors(back))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": {"type": "array"}}},
        {"type": "object", "properties": {"a": {"type": "object", "patternProperties": {"x": {"type": "string"}}}}},
    ],
)
def test_open_schemas_have_no_strict_form(schema):
    assert is_open(schema)
    assert strict_form(schema) is None


def test_keeping_only_what_a_vendor_knows():
    schema = {"type": "object", "properties": {"pattern": {"type": "string", "pattern": "x", "const": "y"}}, "not": {"type": "null"}}
    kept = keeping(schema, frozenset({"type", "properties", "enum"}))
    assert kept == {"type": "object", "properties": {"pattern": {"type": "string", "enum": ["y"]}}}


def test_a_schema_that_points_at_itself_ends():
    schema = {"$ref": "#/$defs/node", "$defs": {"node": {"$ref": "#/$defs/node"}}}
    assert without_added_nulls({"a": None}, schema) == {"a": None}


def test_the_loopback_server_answers_in_order_and_keeps_what_was_asked():
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with loopback([Served(body={"n": 1}), Served(events=[event("a"), event({"n": 2}, "b")]), Served(500, b"no")]) as server:

        def ask(body):
            return opener.open(urllib.request.Request(f"{server.url}/x", json.dumps(body).encode(), {"X-A": "1"}), timeout=10)

        with ask({"q": 1}) as first, ask({"q": 2}) as second:
            assert json.load(first) == {"n": 1}
            assert second.read() == b'data: a\n\nevent: b\ndata: {"n": 2}\n\n'
        for _ in range(2):
            with pytest.raises(urllib.error.HTTPError) as caught:
                ask({"q": 3})
            caught.value.close()
        assert [a.body for a in server.asked] == [{"q": 1}, {"q": 2}, {"q": 3}, {"q": 3}]
        assert server.last.headers["x-a"] == "1"


class Broken(ProviderModel):
    """A provider whose client, or whose exchange, raises."""

    provider = "broken"

    def __init__(self, error, *, at_once=False):
        super().__init__("m", capabilities=ModelCapabilities(tools=False), base_url="http://127.0.0.1:9")
        self.error, self.at_once = error, at_once

    def _make_client(self):
        if self.at_once:
            raise self.error
        return object()

    def _exchange(self, request, clock):
        raise self.error

    def _trouble(self, error):
        return None


@pytest.mark.parametrize(
    ("model", "refused", "told"),
    [
        (Broken(ImportError(name="vendor_sdk"), at_once=True), True, "vendor_sdk"),
        (Broken(TimeoutError("x")), False, "time"),
        (Broken(ConnectionResetError("x")), False, "connection"),
        (Broken(KeyError("secret of the answer")), False, "cannot be read"),
    ],
    ids=lambda value: getattr(getattr(value, "error", None), "__class__", type(value)).__name__,
)
def test_exceptions_that_no_sdk_told_apart(model, refused, told):
    with pytest.raises(ProviderError, match=told) as caught:
        model.complete(REQUEST)
    assert isinstance(caught.value, ProviderRefusedError) is refused
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_interrupts_and_faults_of_python_pass_through():
    with pytest.raises(KeyboardInterrupt):
        Broken(KeyboardInterrupt()).complete(REQUEST)


def test_what_a_model_cannot_do_is_refused_before_anything_is_sent():
    model = Broken(KeyError("never reached"))
    for request in (ChatRequest((), tools=(Tool("t", "", {}),)), ChatRequest((), search=WebSearch())):
        with pytest.raises(ProviderRefusedError):
            model.complete(request)


@pytest.mark.parametrize("address", ["", "localhost:1", "file:///etc/passwd", "https://", "https:// x"])
def test_addresses_that_are_none(address):
    with pytest.raises(UsageError):
        ProviderModel.__init__(Broken(KeyError()), "m", capabilities=ModelCapabilities(), base_url=address)


@pytest.mark.parametrize(
    ("trouble", "any_request"),
    [
        (Trouble("status", 401), True),
        (Trouble("status", 404), True),
        (Trouble("status", 429, code="insufficient_quota"), True),
        (Trouble("status", 400, words="API key not valid"), True),
        (Trouble("status", 400, words="temperature is not taken"), False),
        (Trouble("status", 403, words="the input was flagged"), False),
        (Trouble("status", 413), False),
    ],
)
def test_a_refusal_says_whether_it_is_about_the_one_request(trouble, any_request):
    found = failure(trouble, "p/m", ("KEY",), "")
    assert isinstance(found, ProviderRefusedError)
    assert found.any_request is any_request
