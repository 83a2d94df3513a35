"""Chat Completions, as compatible endpoints speak it: the real SDK against a server on this machine."""

from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve

from finassay.api.errors import ProviderRefusedError
from finassay.api.model import ChatMessage, ChatModel, ChatRequest, Citation, Tool, WebSearch
from finassay_models_kit.suite import OptionsSuite, ProviderCase, StreamedSuite, request
from finassay_models_kit.testing import Served, event
from finassay_models_openai import testing as wire
from finassay_models_openai.model import OpenAIModel
from finassay_models_openai.options import OpenAIOptions

SCHEMA = {"type": "object", "properties": {"level": {"type": "integer"}, "why": {"type": "string"}}, "required": ["level"]}
TOOL = Tool("look_up", "Looks up a price.", {"type": "object", "properties": {"ticker": {"type": "string"}}})


def plain(text: str | None, **more: Any) -> Served:
    return Served(body=wire.completion(text, **more))


def streamed(text: str | None, **more: Any) -> Served:
    return Served(events=wire.chunks(wire.completion(text, **more)))


class ChatCase(ProviderCase):
    """An endpoint that needs no key."""

    stream: bool | None = None

    def make(self, url: str, **options: Any) -> ChatModel:
        return OpenAIModel(OpenAIOptions(**{"name": "kimi-k2.5", "base_url": f"{url}/v1", "stream": self.stream, **options}))


class TestPlain(ChatCase, OptionsSuite):
    def error(self, status: int, message: str, headers: Mapping[str, str]) -> Served:
        return wire.error(status, None, message, headers)

    def plain(self, text: str) -> Served:
        return plain(text)

    def test_what_is_sent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
            monkeypatch.setenv(name, "for-openai-alone")
        monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Tenant: for-openai-alone\nAuthorization: Bearer for-openai-alone")
        messages = (
            ChatMessage("system", "Be brief."),
            ChatMessage("user", "Hi"),
            ChatMessage("assistant", "Yes?"),
            ChatMessage("user", "So?"),
        )
        extra = {"thinking": {"type": "disabled"}}
        reply = self.ask([plain("So.")], ChatRequest(messages, max_output_tokens=77, temperature=0.5), effort="low", extra=extra)
        asked = self.asked[0]
        assert asked.path == "/v1/chat/completions"
        assert asked.body["messages"] == [{"role": m.role, "content": m.text} for m in messages]
        assert (asked.body["max_tokens"], asked.body["temperature"], asked.body["reasoning_effort"]) == (77, 0.5, "low")
        assert asked.body["thinking"] == {"type": "disabled"}
        assert "store" not in asked.body
        assert "for-openai-alone" not in repr(sorted(asked.headers.items()))
        assert "authorization" not in asked.headers
        assert reply.model == "kimi-test-1"
        assert (reply.usage.input_tokens, reply.usage.cached_tokens, reply.usage.output_tokens) == (11, 4, 7)

    def test_an_answer_that_may_be_long_is_streamed(self) -> None:
        assert self.ask([streamed("So.")], request(max_output_tokens=9000)).text == "So."
        assert self.asked[0].body["stream_options"] == {"include_usage": True}

    def test_a_key_that_is_named_but_not_set(self) -> None:
        with pytest.raises(ProviderRefusedError, match="no key"):
            self.make("http://127.0.0.1:9", key_variable="KEY_THAT_NOBODY_SET")

    def test_no_search(self) -> None:
        with pytest.raises(ProviderRefusedError, match="search"):
            self.make("http://127.0.0.1:9").complete(request(search=WebSearch()))

    def test_an_error_under_status_200(self) -> None:
        assert not isinstance(self.failing(Served(body={"error": {"message": "busy", "code": 503}})), ProviderRefusedError)

    def test_how_much_an_endpoint_can_hold_a_model_to(self) -> None:
        assert self.ask([plain('{"level": 1}')], request(schema=SCHEMA), structured="object").value == {"level": 1}
        assert self.asked[0].body["response_format"] == {"type": "json_object"}
        assert self.ask([plain('{"level": 1}')], request(schema=SCHEMA), structured="none").value == {"level": 1}
        assert "response_format" not in self.asked[0].body
        assert self.make("http://127.0.0.1:9").capabilities.structured
        assert not self.make("http://127.0.0.1:9", structured="object").capabilities.structured

    def test_openai_itself_by_chat(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
        model = OpenAIModel(OpenAIOptions(name="gpt-6-astra", api="chat"))
        from finassay_models_openai import chat

        asked = chat.parameters(request(), OpenAIOptions(name="gpt-6-astra", api="chat"), own=True)
        assert model.api == "chat"
        assert (asked["max_completion_tokens"], asked["store"]) == (4096, False)

    def test_families(self) -> None:
        assert self.make("http://127.0.0.1:9").family == "kimi"
        assert self.make("http://127.0.0.1:9", name="house-model", family="qwen").family == "qwen"


class TestStreamed(ChatCase, StreamedSuite, OptionsSuite):
    stream = True

    def error(self, status: int, message: str, headers: Mapping[str, str]) -> Served:
        return wire.error(status, None, message, headers)

    def plain(self, text: str) -> Served:
        return streamed(text)

    def test_an_error_inside_the_stream(self) -> None:
        broken = event({"error": {"message": "busy", "type": "server_error", "code": "server_error"}})
        served = streamed("Good morning.")
        assert served.events is not None
        assert not isinstance(self.failing(evolve(served, events=[*served.events[:2], broken])), ProviderRefusedError)


@pytest.mark.parametrize("form", [plain, streamed], ids=["plain", "streamed"])
class TestEither(ChatCase):
    """What an answer means, in one piece or streamed."""

    def one(self, form: Any, *args: Any, asked: ChatRequest | None = None, **more: Any) -> Any:
        return self.ask([form(*args, **more)], asked, stream=form is streamed)

    def test_a_value(self, form: Any) -> None:
        reply = self.one(form, '<think>{"level": 9}</think>\n{"level": 3, "why": null}', asked=request(schema=SCHEMA))
        assert reply.value == {"level": 3}
        sent = self.asked[0].body["response_format"]
        assert (sent["type"], sent["json_schema"]["strict"]) == ("json_schema", True)

    @pytest.mark.parametrize("place", ["reasoning_content", "reasoning"])
    def test_tools_both_ways(self, form: Any, place: str) -> None:
        calls = [wire.called("look_up", {"ticker": "A"}, "c1"), wire.called("look_up", "", "c2")]
        asked = request(tools=(TOOL,))
        reply = self.one(form, None, finish="tool_calls", calls=calls, asked=asked, **{place: "I need a price."})
        assert reply.finish == "tool"
        assert [(c.id, c.arguments) for c in reply.tool_calls] == [("c1", {"ticker": "A"}), ("c2", {})]
        assert self.asked[0].body["tools"][0]["function"]["name"] == "look_up"
        said = ChatMessage("assistant", "", reply.tool_calls)
        back = ChatRequest((ChatMessage("user", "Sum?"), said, ChatMessage("tool", "10", tool_call_id="c1")), seconds=10.0)
        self.one(form, "30.", asked=back)
        _, assistant, result = self.asked[0].body["messages"]
        assert assistant[place] == "I need a price."
        assert assistant["tool_calls"][0] == wire.called("look_up", {"ticker": "A"}, "c1")
        assert result == {"role": "tool", "tool_call_id": "c1", "content": "10"}

    def test_arguments_that_cannot_be_read(self, form: Any) -> None:
        reply = self.one(form, None, finish="tool_calls", calls=[wire.called("look_up", '{"ticker": ')])
        assert reply.finish == "invalid"

    def test_calls_under_a_plain_end(self, form: Any) -> None:
        assert self.one(form, "", finish="stop", calls=[wire.called("look_up", {})]).finish == "tool"

    @pytest.mark.parametrize(("end", "finish"), [("length", "length"), ("content_filter", "refusal")])
    def test_other_ends(self, form: Any, end: str, finish: str) -> None:
        reply = self.one(form, '{"level":', finish=end, asked=request(schema=SCHEMA))
        assert (reply.finish, reply.value, reply.meta["stop"]) == (finish, None, end)

    def test_a_refusal(self, form: Any) -> None:
        reply = self.one(form, None, refusal="Not this.")
        assert (reply.finish, reply.text) == ("refusal", "Not this.")

    def test_content_that_the_policy_ends_is_a_refusal(self, form: Any) -> None:
        reply = self.ask([wire.error(400, "content_filter")], stream=form is streamed)
        assert reply.finish == "refusal"

    def test_an_endpoint_that_tells_no_usage(self, form: Any) -> None:
        made = wire.completion("Hi.")
        del made["usage"]
        served = Served(body=made)
        if form is streamed:
            events = wire.chunks({**made, "usage": None})
            served = Served(events=[*events[:-2], events[-1]])
        assert self.ask([served], stream=form is streamed).usage.input_tokens is None


def test_citations_of_endpoints_that_search_by_themselves() -> None:
    note = {"type": "url_citation", "url_citation": {"url": "https://a.example", "title": "A", "start_index": 0, "end_index": 2}}
    suite = ChatCase()
    assert suite.ask([plain("Up.", annotations=[note])]).citations == (Citation("https://a.example", "A"),)
