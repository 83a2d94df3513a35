"""What passes and what does not."""

import pytest

from finassay_gateway.masking import Masker
from finassay_gateway.routes import OddBodyError, endpoint, models_named, query_passed, read_json

PASS = [
    ("anthropic", "POST", "/v1/messages", "messages", ""),
    ("anthropic", "POST", "/v1/messages/count_tokens", "count", ""),
    ("anthropic", "GET", "/v1/models", "", ""),
    ("anthropic", "GET", "/v1/models/claude-x-1", "", ""),
    ("anthropic", "HEAD", "/api/hello", "", ""),
    ("openai", "POST", "/v1/responses", "responses", ""),
    ("openai", "POST", "/v1/chat/completions", "chat", ""),
    ("openai", "POST", "/chat/completions", "chat", ""),
    ("openai", "GET", "/v1/models/org/name", "", ""),
    ("google", "POST", "/v1beta/models/gemini-x:streamGenerateContent", "generate", "gemini-x"),
    ("google", "POST", "/v1beta/models/gemini-x:generateContent", "generate", "gemini-x"),
    ("google", "POST", "/v1beta/models/gemini-x:countTokens", "count", "gemini-x"),
    ("google", "GET", "/v1beta/models", "", ""),
]
REFUSED = [
    ("anthropic", "POST", "/v1/messages/batches"),
    ("anthropic", "GET", "/v1/files"),
    ("anthropic", "GET", "/v1/organizations/api_keys"),
    ("anthropic", "DELETE", "/v1/messages"),
    ("anthropic", "GET", "/v1/messages"),
    ("anthropic", "POST", "/v1/../v1/messages"),
    ("anthropic", "POST", "//v1/messages"),
    ("anthropic", "POST", "/v1/messages\n"),
    ("anthropic", "POST", "/v1/messages?x"),
    ("anthropic", "POST", "/v1/messages%2f"),
    ("anthropic", "GET", "/v1/models/../files"),
    ("openai", "GET", "/v1/responses/resp_1"),
    ("openai", "POST", "/v1/batches"),
    ("openai", "POST", "/v1/fine_tuning/jobs"),
    ("openai", "POST", "/v1/images/generations"),
    ("google", "POST", "/v1beta/models/a/b:generateContent"),
    ("google", "POST", "/v1beta/cachedContents"),
    ("google", "POST", "/upload/v1beta/files"),
    ("google", "POST", "/v1beta/models/gemini-x:batchGenerateContent"),
]


@pytest.mark.parametrize(("format", "method", "path", "api", "model"), PASS)
def test_passes(format, method, path, api, model):
    found = endpoint(format, method, path)
    assert (found.api, found.model, found.path) == (api, model, path)
    assert found.metered == (api in ("messages", "responses", "chat", "generate"))


@pytest.mark.parametrize(("format", "method", "path"), REFUSED)
def test_does_not_pass(format, method, path):
    assert endpoint(format, method, path) is None


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b"{", b"\xff", b'{"model": "a", "model": "b"}', b'{"Model": "b"}', b'{"model": "a", "MODEL": "b"}',
     b'{"\\u006dodel": "a", "model": "b"}', b'{"a": {"b": 1, "b": 2}}', b"[" * 200_000, b'{"STREAM": true}'],
)  # fmt: skip
def test_bodies_that_two_readers_may_take_for_different_things(body):
    with pytest.raises(OddBodyError):
        read_json(body)


def test_every_model_that_a_body_names():
    body = {"model": "a", "models": ["b", 3], "fallbacks": [{"model": "c"}], "tools": [{"type": "advisor", "model": "d"}, {"type": "x"}]}
    assert models_named(body) == ["a", "b", "c", "d"]
    assert models_named({"model": 3}) == []


def test_the_query_passes_without_tokens():
    assert query_passed("anthropic", [("beta", "true"), ("key", "x"), ("access_token", "y")]) == [("beta", "true")]
    assert query_passed("google", [("alt", "sse"), ("key", "x")]) == [("alt", "sse")]
    for odd in [("alt", "proto"), ("$httpMethod", "DELETE"), ("callback", "f"), ("upload_protocol", "raw"), ("quotaUser", "x")]:
        assert query_passed("google", [odd]) is None


KEY = "sk-secret-0a1b2c3d4e5f"


@pytest.mark.parametrize("size", range(1, 40))
def test_a_key_in_a_stream_is_masked_wherever_it_is_broken(size):
    text = f"sk-sk-se{KEY}{KEY} and {KEY[:-1]} and s{KEY}".encode()
    masker = Masker([KEY])
    got = b"".join(masker.feed(text[i : i + size]) for i in range(0, len(text), size)) + masker.rest()
    assert got == text.replace(KEY.encode(), b"[key]")


def test_nothing_is_held_back_without_need():
    masker = Masker([KEY])
    assert masker.feed(b"data: hello\n\n") == b"data: hello\n\n"
    assert masker.feed(b"tail s") == b"tail "
    assert masker.feed(b"o it went") == b"so it went"


def test_errors_hold_no_piece_of_a_key():
    clean = Masker([KEY]).strictly(f"Incorrect key {KEY[:12]}... and {KEY[4:]}".encode())
    assert not any(KEY[i : i + 8].encode() in clean for i in range(len(KEY) - 7))


def test_what_is_too_short_to_be_a_key_is_not_masked():
    assert Masker(["none", ""]).feed(b"none of it") == b"none of it"
