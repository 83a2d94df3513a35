"""Anthropic's models: its real SDK against a server on this machine."""

from collections.abc import Mapping
from typing import Any

import pytest

from finassay.api.errors import ProviderError, ProviderRefusedError
from finassay.api.model import ChatMessage, ChatModel, ChatRequest, Citation, Tool, ToolCall, WebSearch
from finassay_models_anthropic import testing as wire
from finassay_models_anthropic.model import AnthropicModel
from finassay_models_anthropic.options import AnthropicOptions
from finassay_models_kit.suite import KeyedSuite, OptionsSuite, StreamedSuite, request
from finassay_models_kit.testing import Served, event

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
SCHEMA = {
    "type": "object",
    "properties": {"level": {"type": "integer", "minimum": 0, "maximum": 4}, "why": {"type": "string"}},
    "required": ["level"],
}


class TestAnthropic(KeyedSuite, StreamedSuite, OptionsSuite):
    variables = ("ANTHROPIC_API_KEY",)

    def make(self, url: str, **options: Any) -> ChatModel:
        return AnthropicModel(AnthropicOptions(name="claude-opus-5", base_url=url, **options))

    def plain(self, text: str) -> Served:
        return wire.answer(text)

    def error(self, status: int, message: str, headers: Mapping[str, str]) -> Served:
        return wire.error(status, KINDS.get(status, "overloaded_error" if status == 529 else "api_error"), message, headers)

    def test_what_is_sent(self) -> None:
        messages = (
            ChatMessage("system", "Be brief."),
            ChatMessage("user", "Hi"),
            ChatMessage("assistant", "Yes?"),
            ChatMessage("user", "So?"),
        )
        reply = self.ask(
            [wire.answer("So.")], ChatRequest(messages, max_output_tokens=77, temperature=0.5), effort="low", thinking="adaptive"
        )
        body = self.asked[0].body
        assert body["system"] == "Be brief."
        assert [(m["role"], m["content"][0]["text"]) for m in body["messages"]] == [("user", "Hi"), ("assistant", "Yes?"), ("user", "So?")]
        assert (body["max_tokens"], body["temperature"], body["stream"], body["model"]) == (77, 0.5, True, "claude-opus-5")
        assert body["output_config"] == {"effort": "low"}
        assert body["thinking"] == {"type": "adaptive"}
        assert reply.model == "claude-test-1"

    def test_usage_counts_cached_and_thinking_tokens(self) -> None:
        used = {"cache_read_input_tokens": 100, "cache_creation_input_tokens": 30, "output_tokens_details": {"thinking_tokens": 5}}
        reply = self.ask([wire.answer("Yes.", usage=used)], cache_prompt=True)
        usage = reply.usage
        assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens) == (141, 100, 7, 5)
        assert reply.meta["cache_write_tokens"] == 30
        assert self.asked[0].body["cache_control"] == {"type": "ephemeral"}

    def test_a_value(self) -> None:
        reply = self.ask([wire.answer('{"level": 3, "why": "sound"}')], request(schema=SCHEMA))
        assert reply.value == {"level": 3, "why": "sound"}
        sent = self.asked[0].body["output_config"]["format"]
        assert sent["type"] == "json_schema"
        assert sent["schema"]["additionalProperties"] is False
        assert "system" not in self.asked[0].body

    def test_a_text_that_is_no_value_is_left_to_be_read(self) -> None:
        reply = self.ask([wire.answer("Sure: it is 3.")], request(schema=SCHEMA))
        assert reply.value is None
        assert reply.text == "Sure: it is 3."

    def test_a_schema_with_free_keys_is_told_in_words(self) -> None:
        free = {"type": "object", "additionalProperties": {"type": "string"}}
        reply = self.ask([wire.answer('{"a": "b"}')], request(schema=free))
        assert reply.value == {"a": "b"}
        assert "output_config" not in self.asked[0].body
        assert '"additionalProperties"' in self.asked[0].body["system"]

    def test_a_schema_that_is_not_sent(self) -> None:
        assert self.ask([wire.answer('{"level": 1}')], request(schema=SCHEMA), structured="none").value == {"level": 1}
        assert "output_config" not in self.asked[0].body
        assert "system" not in self.asked[0].body, "the core has told it"

    def test_tools_both_ways(self) -> None:
        tool = Tool("look_up", "Looks up a price.", {"type": "object", "properties": {"ticker": {"type": "string"}}})
        thought = {"type": "thinking", "thinking": "I need a price.", "signature": "c2ln"}
        calls = [
            thought,
            wire.text("Wait."),
            wire.tool_use("look_up", {"ticker": "A"}, "t1"),
            wire.tool_use("look_up", {"ticker": "B"}, "t2"),
        ]
        reply = self.ask([Served(events=wire.stream(calls, stop="tool_use"))], request(tools=(tool,)))
        assert reply.finish == "tool"
        assert [(c.id, c.name, c.arguments) for c in reply.tool_calls] == [
            ("t1", "look_up", {"ticker": "A"}),
            ("t2", "look_up", {"ticker": "B"}),
        ]
        assert self.asked[0].body["tools"] == [{"name": "look_up", "description": "Looks up a price.", "input_schema": dict(tool.schema)}]
        said = ChatMessage("assistant", reply.text, reply.tool_calls)
        results = (
            ChatMessage("tool", "10", tool_call_id="t1"),
            ChatMessage("tool", "20", tool_call_id="t2"),
            ChatMessage("user", "Go on."),
        )
        self.ask([wire.answer("30.")], ChatRequest((ChatMessage("user", "Sum?"), said, *results), tools=(tool,)))
        user, assistant, back = self.asked[0].body["messages"]
        assert [b["type"] for b in assistant["content"]] == ["thinking", "text", "tool_use", "tool_use"]
        assert assistant["content"][0]["signature"] == "c2ln"
        assert [b.get("tool_use_id") for b in back["content"]] == ["t1", "t2", None]
        assert user["role"] == back["role"] == "user"

    def test_a_call_that_was_cut_has_no_arguments_that_break(self) -> None:
        message = ChatMessage("assistant", "", (ToolCall("t1", "look_up", {}),))
        self.ask([wire.answer("Hm.")], ChatRequest((ChatMessage("user", "?"), message, ChatMessage("tool", "", tool_call_id="t1"))))
        assert self.asked[0].body["messages"][1]["content"] == [{"type": "tool_use", "id": "t1", "name": "look_up", "input": {}}]

    def test_search_with_citations(self) -> None:
        found = {"type": "web_search_result", "title": "Fama", "url": "https://a.example/f", "encrypted_content": "x", "page_age": None}
        cited = {"type": "web_search_result_location", "url": "https://a.example/f", "title": "Fama", "cited_text": "Size matters."}
        blocks = [
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "factors"}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [found]},
            wire.text("Small firms ", [{**cited, "encrypted_index": "e"}]),
            wire.text("earn more."),
        ]
        used = {"server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 1}}
        search = WebSearch(max_uses=3, fetch=True, domains=("a.example",))
        reply = self.ask([Served(events=wire.stream(blocks, usage=used))], request(search=search, schema=SCHEMA))
        assert reply.text == "Small firms earn more."
        assert reply.citations == (Citation("https://a.example/f", "Fama", "Size matters."),)
        assert (reply.meta["searches"], reply.meta["fetches"], reply.meta["sources"]) == (2, 1, ["https://a.example/f"])
        web, fetch = self.asked[0].body["tools"]
        assert (web["name"], web["max_uses"], web["allowed_domains"]) == ("web_search", 3, ["a.example"])
        assert fetch["name"] == "web_fetch"
        assert "output_config" not in self.asked[0].body, "the API takes no schema beside citations"

    def test_how_old_a_page_is_stands_beside_its_citation(self) -> None:
        pages = [("https://a.example/f", "April 30, 2025"), ("https://b.example/g", None)]
        found = [{"type": "web_search_result", "title": "T", "url": url, "encrypted_content": "x", "page_age": age} for url, age in pages]
        cited = [
            {"type": "web_search_result_location", "url": url, "title": "T", "cited_text": f"Of {url}.", "encrypted_index": "e"}
            for url, _ in reversed(pages)
        ]
        blocks = [{"type": "web_search_tool_result", "tool_use_id": "s1", "content": found}, wire.text("So.", cited)]
        reply = self.ask([Served(events=wire.stream(blocks))], request(search=WebSearch()))
        assert [c.url for c in reply.citations] == ["https://b.example/g", "https://a.example/f"]
        assert reply.meta["citations"] == [{}, {"page_age": "April 30, 2025"}]

    def test_a_page_that_was_opened_is_cited_by_its_address(self) -> None:
        document = {"type": "document", "title": "Report", "source": {"type": "text", "media_type": "text/plain", "data": "…"}}
        page = {"type": "web_fetch_result", "url": "https://b.example/r", "content": document}
        cited = {"type": "char_location", "cited_text": "Up.", "document_index": 0, "document_title": "Report"}
        blocks = [
            {"type": "web_fetch_tool_result", "tool_use_id": "s1", "content": page},
            wire.text("It rose.", [{**cited, "start_char_index": 0, "end_char_index": 3}]),
        ]
        reply = self.ask([Served(events=wire.stream(blocks))], request(search=WebSearch(fetch=True)))
        assert reply.citations == (Citation("https://b.example/r", "Report", "Up."),)

    def test_a_paused_search_goes_on(self) -> None:
        query = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "factors"}}
        script = [Served(events=wire.stream([wire.text("I look. "), query], stop="pause_turn")), wire.answer("Found.")]
        reply = self.ask(script, request(search=WebSearch()))
        assert (reply.text, reply.finish) == ("I look. Found.", "stop")
        assert (reply.usage.input_tokens, reply.usage.output_tokens) == (22, 14)
        assert [b["type"] for b in self.asked[1].body["messages"][-1]["content"]] == ["text", "server_tool_use"]

    def test_a_search_that_only_pauses_ends(self) -> None:
        reply = self.ask([Served(events=wire.stream([wire.text("Hm. ")], stop="pause_turn"))], request(search=WebSearch()))
        assert reply.finish == "length"
        assert len(self.asked) == 6

    @pytest.mark.parametrize(
        ("stop", "finish"), [("max_tokens", "length"), ("model_context_window_exceeded", "length"), ("stop_sequence", "stop")]
    )
    def test_other_ends(self, stop: str, finish: str) -> None:
        reply = self.ask([wire.answer('{"level":', stop=stop)], request(schema=SCHEMA))
        assert reply.finish == finish
        assert reply.value is None

    def test_a_call_that_was_cut_is_none(self) -> None:
        reply = self.ask([Served(events=wire.stream([wire.tool_use("look_up", {"ticker": "A"})], stop="max_tokens"))])
        assert (reply.finish, reply.tool_calls) == ("length", ())

    def test_a_refusal(self) -> None:
        details = {"type": "refusal", "category": "cyber", "explanation": "Not this."}
        reply = self.ask([wire.answer("", stop="refusal", details=details)])
        assert reply.finish == "refusal"
        assert reply.meta["refusal"] == "Not this."

    @pytest.mark.parametrize(("kind", "passes"), [("overloaded_error", True), ("api_error", True), ("invalid_request_error", False)])
    def test_an_error_inside_the_stream(self, kind: str, passes: bool) -> None:
        broken = event({"type": "error", "error": {"type": kind, "message": "as it is"}}, "error")
        error = self.failing(Served(events=[*wire.stream([wire.text("Good")], stop=None), broken]))
        assert isinstance(error, ProviderRefusedError) is not passes

    def test_no_credit_is_not_waited_for(self) -> None:
        error = self.failing(wire.error(400, "invalid_request_error", "Your credit balance is too low to access the API."))
        assert isinstance(error, ProviderRefusedError)
        assert isinstance(self.failing(wire.error(402, "billing_error", "Please pay.")), ProviderRefusedError)

    def test_the_variables_of_the_sdk_do_not_reroute(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
        assert self.ask([wire.answer("Here.")]).text == "Here."
        model = AnthropicModel(AnthropicOptions(name="claude-opus-5"))
        assert str(model.client().base_url) == "https://api.anthropic.com"

    def test_family_and_name(self) -> None:
        model = self.make("http://127.0.0.1:9")
        assert (model.id, model.family) == ("anthropic/claude-opus-5", "claude")
        assert issubclass(ProviderRefusedError, ProviderError)
