"""OpenAI's Responses API: the real SDK against a server on this machine."""

from collections.abc import Mapping
from typing import Any

import pytest

from finassay.api.errors import ProviderRefusedError
from finassay.api.model import ChatMessage, ChatModel, ChatRequest, Citation, Tool, WebSearch
from finassay_models_kit.suite import KEY, KeyedSuite, OptionsSuite, StreamedSuite, request
from finassay_models_kit.testing import Served, event
from finassay_models_openai import testing as wire
from finassay_models_openai.model import OpenAIModel
from finassay_models_openai.options import OpenAIOptions

SCHEMA = {
    "type": "object",
    "properties": {"level": {"type": "integer", "minimum": 0, "maximum": 4}, "why": {"type": "string"}},
    "required": ["level"],
}


class TestResponses(KeyedSuite, StreamedSuite, OptionsSuite):
    variables = ("OPENAI_API_KEY",)

    def make(self, url: str, **options: Any) -> ChatModel:
        chosen = {"name": "gpt-6-astra", "base_url": url, "api": "responses", "key_variable": "OPENAI_API_KEY", **options}
        return OpenAIModel(OpenAIOptions(**chosen))

    def plain(self, text: str) -> Served:
        return wire.answer(text)

    def error(self, status: int, message: str, headers: Mapping[str, str]) -> Served:
        return wire.error(status, None, message, headers)

    def test_what_is_sent(self) -> None:
        messages = (
            ChatMessage("system", "Be brief."),
            ChatMessage("user", "Hi"),
            ChatMessage("assistant", "Yes?"),
            ChatMessage("user", "So?"),
        )
        reply = self.ask([wire.answer("So.")], ChatRequest(messages, max_output_tokens=77, temperature=0.5), effort="low")
        body = self.asked[0].body
        assert body["input"] == [{"role": m.role, "content": m.text} for m in messages]
        assert (body["max_output_tokens"], body["temperature"], body["stream"], body["store"]) == (77, 0.5, True, False)
        assert body["reasoning"] == {"effort": "low"}
        assert self.asked[0].path == "/responses"
        assert reply.model == "gpt-test-1"

    def test_usage_counts_cached_and_reasoning_tokens(self) -> None:
        reply = self.ask([wire.answer("Yes.")])
        usage = reply.usage
        assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens) == (11, 4, 7, 3)
        assert reply.meta["cache_write_tokens"] == 2

    def test_a_value_is_asked_for_strictly(self) -> None:
        reply = self.ask([wire.answer('{"level": 3, "why": null}')], request(schema=SCHEMA))
        assert reply.value == {"level": 3}, "the null stands for a property that need not be there"
        sent = self.asked[0].body["text"]["format"]
        assert (sent["type"], sent["strict"], sent["schema"]["required"]) == ("json_schema", True, ["level", "why"])

    def test_a_schema_with_free_keys_is_asked_for_loosely(self) -> None:
        free = {"type": "object", "additionalProperties": {"type": "string"}}
        reply = self.ask([wire.answer('{"a": "b"}')], request(schema=free))
        assert reply.value == {"a": "b"}
        sent = self.asked[0].body["text"]["format"]
        assert (sent["strict"], sent["schema"]) == (False, free)

    def test_a_schema_that_is_not_sent(self) -> None:
        assert self.ask([wire.answer('{"level": 1}')], request(schema=SCHEMA), structured="none").value == {"level": 1}
        assert "text" not in self.asked[0].body
        assert not self.make("http://127.0.0.1:9", structured="none").capabilities.structured

    def test_tools_both_ways(self) -> None:
        tool = Tool("look_up", "Looks up a price.", {"type": "object", "properties": {"ticker": {"type": "string"}}})
        thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "Z2g="}
        output = [thought, wire.function_call("look_up", {"ticker": "A"}, "c1"), wire.function_call("look_up", {"ticker": "B"}, "c2")]
        reply = self.ask([Served(events=wire.stream(wire.response(output)))], request(tools=(tool,)))
        assert reply.finish == "tool"
        assert [(c.id, c.name, c.arguments) for c in reply.tool_calls] == [
            ("c1", "look_up", {"ticker": "A"}),
            ("c2", "look_up", {"ticker": "B"}),
        ]
        assert self.asked[0].body["include"] == ["reasoning.encrypted_content"]
        assert self.asked[0].body["tools"][0]["parameters"] == dict(tool.schema)
        said = ChatMessage("assistant", "", reply.tool_calls)
        results = (ChatMessage("tool", "10", tool_call_id="c1"), ChatMessage("tool", "20", tool_call_id="c2"))
        self.ask([wire.answer("30.")], ChatRequest((ChatMessage("user", "Sum?"), said, *results), tools=(tool,)))
        items = self.asked[0].body["input"]
        assert [item.get("type", item.get("role")) for item in items] == [
            "user",
            "reasoning",
            *["function_call"] * 2,
            *["function_call_output"] * 2,
        ]
        assert items[1] == thought
        assert items[4] == {"type": "function_call_output", "call_id": "c1", "output": "10"}

    def test_arguments_that_cannot_be_read(self) -> None:
        output = [wire.function_call("look_up", '{"ticker": ')]
        reply = self.ask([Served(events=wire.stream(wire.response(output)))])
        assert reply.finish == "invalid"
        assert reply.meta["unreadable_arguments"] == ['{"ticker": ']

    def test_search_with_citations(self) -> None:
        source = {"type": "url", "url": "https://a.example/f"}
        searched = {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "q", "sources": [source]},
        }
        opened = {
            "type": "web_search_call",
            "id": "ws_2",
            "status": "completed",
            "action": {"type": "open_page", "url": "https://b.example"},
        }
        note = {"type": "url_citation", "url": "https://a.example/f", "title": "Fama", "start_index": 0, "end_index": 5}
        output = [searched, opened, wire.message('{"level": 1, "why": "x"}', annotations=[note, note])]
        search = WebSearch(max_uses=3, fetch=True, domains=("a.example",))
        reply = self.ask([Served(events=wire.stream(wire.response(output)))], request(search=search, schema=SCHEMA))
        assert reply.citations == (Citation("https://a.example/f", "Fama"),)
        assert reply.value == {"level": 1, "why": "x"}
        assert (reply.meta["searches"], reply.meta["fetches"]) == (1, 1)
        assert reply.meta["sources"] == ["https://a.example/f", "https://b.example"]
        body = self.asked[0].body
        assert body["tools"] == [{"type": "web_search", "filters": {"allowed_domains": ["a.example"]}}]
        assert (body["max_tool_calls"], body["include"]) == (3, ["web_search_call.action.sources"])

    def test_commentary_is_not_the_answer(self) -> None:
        output = [wire.message("I start.", phase="commentary"), wire.message("Done.", phase="final_answer")]
        assert self.ask([Served(events=wire.stream(wire.response(output)))]).text == "Done."

    @pytest.mark.parametrize(("reason", "finish"), [("max_output_tokens", "length"), ("content_filter", "refusal")])
    def test_an_incomplete_answer(self, reason: str, finish: str) -> None:
        reply = self.ask([wire.answer('{"level":', status="incomplete", incomplete_details={"reason": reason})], request(schema=SCHEMA))
        assert (reply.finish, reply.value, reply.meta["stop"]) == (finish, None, reason)

    def test_a_refusal(self) -> None:
        reply = self.ask([Served(events=wire.stream(wire.response([wire.message("", refusal="Not this.")])))], request(schema=SCHEMA))
        assert (reply.finish, reply.text, reply.value, reply.meta["refusal"]) == ("refusal", "Not this.", None, "Not this.")

    def test_content_that_the_policy_ends_is_a_refusal(self) -> None:
        assert self.ask([wire.error(400, "invalid_prompt")]).finish == "refusal"
        failed = wire.response([], status="failed", error={"code": "bio_policy", "message": "no"})
        assert self.ask([Served(events=wire.stream(failed))]).finish == "refusal"

    @pytest.mark.parametrize(("code", "passes"), [("server_error", True), ("rate_limit_exceeded", True), ("invalid_image", False)])
    def test_a_failed_response(self, code: str, passes: bool) -> None:
        failed = wire.response([], status="failed", error={"code": code, "message": "as it is"}, usage=None)
        assert isinstance(self.failing(Served(events=wire.stream(failed))), ProviderRefusedError) is not passes

    def test_an_error_inside_the_stream(self) -> None:
        old = event({"type": "error", "code": "server_error", "message": "as it is", "param": None, "sequence_number": 9}, "error")
        new = event({"type": "error", "error": {"type": "server_error", "code": "server_error", "message": "as it is"}}, "error")
        for broken in (old, new):
            error = self.failing(Served(events=[*wire.stream(wire.response([]))[:1], broken]))
            assert not isinstance(error, ProviderRefusedError)

    def test_no_credit_is_not_waited_for(self) -> None:
        error = self.failing(wire.error(429, "insufficient_quota", "You exceeded your current quota"))
        assert isinstance(error, ProviderRefusedError)
        assert "credit" in error.hint

    def test_openai_itself(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
        model = OpenAIModel(OpenAIOptions(name="gpt-6-astra"))
        assert (model.id, model.family, model.api) == ("openai/gpt-6-astra", "gpt", "responses")
        assert str(model.client().base_url) == "https://api.openai.com/v1/"
        assert OpenAIModel(OpenAIOptions(name="gpt-6-astra", base_url="https://eu.api.openai.com/v1")).api == "responses"
        assert OpenAIModel(OpenAIOptions(name="gpt-6-astra", base_url="https://openai.com.example/v1")).api == "chat"
        assert KEY not in repr(vars(OpenAIModel(OpenAIOptions(name="x", base_url="https://openai.com.example/v1"))))
