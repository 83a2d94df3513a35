"""What every provider must do with what goes wrong, as a pytest class: subclass it, say how your vendor's answers look, and add what is its own.

Everything goes through the vendor's real SDK to a server on this machine.
"""

import logging
import socket
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from finassay.api.errors import ProviderError, ProviderRefusedError, UsageError
from finassay.api.model import ChatMessage, ChatModel, ChatReply, ChatRequest
from finassay_models_kit.testing import Script, Served, http_date, loopback

KEY = "sk-planted-9f8e7d6c5b4a39281706"
BELIEF = "Momentum of the last twelve months without the newest one, held in ten names."


def request(*texts: str, **more: Any) -> ChatRequest:
    """A request whose messages alternate, the user's first."""
    roles = ("user", "assistant")
    messages = tuple(ChatMessage(roles[i % 2], text) for i, text in enumerate(texts or ("Hello?",)))  # type: ignore[arg-type]
    return ChatRequest(messages, **{"seconds": 10.0, **more})


class ProviderCase:
    """A provider under test. Required: `make`."""

    variables: tuple[str, ...] = ()
    """Environment variables of the key; the first one is set."""

    def make(self, url: str, **options: Any) -> ChatModel:
        """The model under test, at an address."""
        raise AssertionError("say how the model is made")

    @pytest.fixture(autouse=True)
    def _surroundings(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in self.variables:
            monkeypatch.delenv(name, raising=False)
        if self.variables:
            monkeypatch.setenv(self.variables[0], KEY)

    def ask(self, script: Script, asked: ChatRequest | None = None, **options: Any) -> ChatReply:
        """One exchange with a server of its own. A failure must not have been tried twice."""
        with loopback(script) as server:
            try:
                return self.make(server.url, **options).complete(asked or request())
            finally:
                self.asked = server.asked

    def failing(self, served: Served, asked: ChatRequest | None = None, **options: Any) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            self.ask([served], asked, **options)
        assert len(self.asked) == 1, "the SDK retried by itself"
        assert_clean(caught.value)
        return caught.value


class ProviderSuite(ProviderCase):
    """What holds for every provider. Required: `make`, `plain`, `error`."""

    def plain(self, text: str) -> Served:
        """An ordinary answer in the vendor's wire format."""
        raise AssertionError("say how an answer looks")

    def error(self, status: int, message: str, headers: Mapping[str, str]) -> Served:
        """An error in the vendor's wire format."""
        raise AssertionError("say how an error looks")

    def test_a_text(self) -> None:
        reply = self.ask([self.plain("Good morning.")])
        assert (reply.text, reply.finish) == ("Good morning.", "stop")
        assert reply.usage.input_tokens
        assert reply.usage.output_tokens
        assert reply.usage.cost_usd is None

    def test_an_empty_answer(self) -> None:
        assert self.ask([self.plain("")]).finish == "empty"
        assert self.ask([self.plain(" \n")]).finish == "empty"

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
    def test_what_will_not_pass_is_refused_with_a_hint(self, status: int) -> None:
        error = self.failing(self.error(status, "no, thank you", {}))
        assert isinstance(error, ProviderRefusedError)
        assert error.hint
        assert str(status) in str(error)

    @pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
    def test_what_may_pass_is_told_as_that(self, status: int) -> None:
        error = self.failing(self.error(status, "later, please", {}))
        assert not isinstance(error, ProviderRefusedError)
        assert error.retry
        assert error.retry_after is None

    def test_retry_after_in_seconds(self) -> None:
        assert self.failing(self.error(429, "slow down", {"Retry-After": "17"})).retry_after == 17.0

    def test_retry_after_as_a_date(self) -> None:
        wait = self.failing(self.error(503, "closed for a while", {"Retry-After": http_date(90)})).retry_after
        assert wait is not None
        assert 80 <= wait <= 91

    def test_an_error_page_instead_of_json(self) -> None:
        page = Served(502, b"<html><body>Bad gateway</body></html>", {"Content-Type": "text/html"})
        assert not isinstance(self.failing(page), ProviderRefusedError)

    def test_a_page_under_status_200(self) -> None:
        page = Served(200, b"<html>Please sign in to this network</html>", {"Content-Type": "text/html"})
        assert not isinstance(self.failing(page), ProviderRefusedError)

    def test_malformed_json(self) -> None:
        served = self.plain("Good morning.")
        if served.events is not None:
            middle = len(served.events) // 2
            broken = [*served.events[:middle], b'event: message_delta\ndata: {"type": "message_delta", \n\n', *served.events[middle:]]
            served = evolve(served, events=broken)
        else:
            served = evolve(served, body=b'{"id": "1", "choices": [')
        assert not isinstance(self.failing(served), ProviderRefusedError)

    def test_a_connection_cut_in_the_middle(self) -> None:
        served = self.plain("Good morning to you all.")
        if served.events is not None:
            served = evolve(served, events=served.events[: len(served.events) // 2])
        assert not isinstance(self.failing(evolve(served, cut=True)), ProviderRefusedError)

    def test_no_answer_in_time(self) -> None:
        served = self.plain("Good morning.")
        began = time.monotonic()
        error = self.failing(evolve(served, pause=20.0), request(seconds=2.0))
        assert time.monotonic() - began < 15
        assert "time" in str(error)
        assert not isinstance(error, ProviderRefusedError)

    def test_an_answer_without_end_is_cut(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from finassay_models_kit import http

        monkeypatch.setattr(http, "MAX_BYTES", 50_000)
        assert not isinstance(self.failing(self.plain("word " * 20_000)), ProviderRefusedError)

    def test_nobody_listens(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
        with pytest.raises(ProviderError) as caught:
            self.make(f"http://127.0.0.1:{port}").complete(request())
        assert not isinstance(caught.value, ProviderRefusedError)
        assert_clean(caught.value)

    def test_a_redirect_is_not_followed(self) -> None:
        error = self.failing(Served(307, {}, {"Location": "/elsewhere"}))
        assert isinstance(error, ProviderRefusedError)

    def test_neither_key_nor_prompt_is_told(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        for name in ("anthropic", "openai", "google_genai", "httpx2", "httpcore2"):
            caplog.set_level(logging.DEBUG, logger=name)
        echo = f"key {KEY} (sk-plant******1706) was sent with: {BELIEF}"
        for status in (400, 401, 500):
            error = self.failing(self.error(status, echo, {}), request(BELIEF))
            assert "sk-plant" not in str(error)
        self.ask([self.plain("Good morning.")], request(BELIEF))
        assert KEY not in caplog.text
        assert BELIEF not in caplog.text

    def test_the_key_is_sent_and_shown_nowhere(self) -> None:
        with loopback([self.plain("Good morning.")]) as server:
            model = self.make(server.url)
            reply = model.complete(request())
            assert not self.variables or KEY in repr(sorted(server.last.headers.items()))
            assert KEY not in server.last.path
            assert KEY not in server.last.sent
        assert KEY not in repr(model)
        assert KEY not in repr(reply)

    def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
            monkeypatch.setenv(name.lower(), "http://127.0.0.1:9")
        assert self.ask([self.plain("Good morning.")]).finish == "stop"

    def test_an_address_that_is_none(self) -> None:
        with pytest.raises(UsageError, match="base_url"):
            self.make("ollama:11434")

    def test_several_threads(self) -> None:
        replies: list[ChatReply] = []
        with loopback([evolve(self.plain("Good morning."), pause=0.02)]) as server:
            model = self.make(server.url)
            threads = [threading.Thread(target=lambda: replies.append(model.complete(request()))) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
        assert [reply.text for reply in replies] == ["Good morning."] * 8


class KeyedSuite(ProviderSuite):
    """For a provider that needs a key."""

    def test_without_a_key_it_cannot_be_made(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(self.variables[0])
        with pytest.raises(ProviderRefusedError) as caught:
            self.make("http://127.0.0.1:9")
        assert self.variables[0] in caught.value.hint

    def test_a_key_in_a_keyring(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(self.variables[0])
        keys = {("finassay", self.variables[0]): KEY}
        monkeypatch.setitem(sys.modules, "keyring", SimpleNamespace(get_password=lambda service, name: keys.get((service, name))))
        assert self.ask([self.plain("Good morning.")]).finish == "stop"
        assert KEY in repr(sorted(self.asked[0].headers.items()))


class StreamedSuite(ProviderSuite):
    """For a provider whose `plain` answers are streams."""

    drip: bytes = b": still here\n\n"
    """What a stream may say to show that it is alive."""

    def test_a_stream_that_ends_before_its_end(self) -> None:
        served = self.plain("Good morning to you all.")
        assert served.events is not None, "plain must be a stream"
        assert not isinstance(self.failing(evolve(served, events=served.events[:-3])), ProviderRefusedError)

    def test_a_drip_is_cut_when_the_time_is_up(self) -> None:
        served = self.plain("Good morning.")
        assert served.events is not None, "plain must be a stream"
        dripping = [*served.events[:2], *([self.drip] * 200)]
        began = time.monotonic()
        error = self.failing(evolve(served, events=dripping, pause=0.1), request(seconds=2.0))
        assert time.monotonic() - began < 15
        assert "time" in str(error)


class OptionsSuite(ProviderSuite):
    """For a provider with the usual options `key_variable` and `structured`."""

    def test_a_key_under_another_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KEY_OF_SOMEBODY_ELSE", "sk-another-0a1b2c3d4e5f")
        self.ask([self.plain("Good morning.")], key_variable="KEY_OF_SOMEBODY_ELSE")
        sent = repr(sorted(self.asked[0].headers.items()))
        assert "sk-another-0a1b2c3d4e5f" in sent
        assert KEY not in sent

    def test_a_schema_that_the_provider_does_not_take(self) -> None:
        asked = request(schema={"type": "object", "properties": {"a": {"type": "string"}}})
        error = self.failing(self.error(400, "Invalid schema: too many optional parameters", {}), asked)
        assert "structured=none" in error.hint


def assert_clean(error: ProviderError) -> None:
    """An error holds neither key nor prompt, nor an exception that does."""
    assert error.__cause__ is None
    assert error.__context__ is None
    told = f"{error} {error.hint} {error!r} {error.args} " + "".join(traceback.format_exception(error))
    assert KEY not in told
    assert BELIEF not in told
    assert len(str(error)) < 500
    assert "\n" not in str(error)
