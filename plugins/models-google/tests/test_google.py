"""Google's models: its real SDK against a server on this machine."""

import base64
from collections.abc import Mapping
from typing import Any

import pytest

from finassay.api.errors import ProviderRefusedError
from finassay.api.model import ChatMessage, ChatModel, ChatRequest, Citation, Tool, ToolCall, WebSearch
from finassay_models_google import testing as wire
from finassay_models_google.model import GoogleModel
from finassay_models_google.options import GoogleOptions
from finassay_models_kit.suite import KEY, KeyedSuite, OptionsSuite, StreamedSuite, request
from finassay_models_kit.testing import Served, event

NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}
SCHEMA = {
    "type": "object",
    "properties": {"level": {"type": "integer", "minimum": 0}, "kind": {"const": "a"}, "why": {"type": "string", "maxLength": 9}},
    "required": ["level"],
}
TOOL = Tool("look_up", "Looks up a price.", {"type": "object", "properties": {"ticker": {"type": "string"}}})


class TestGoogle(KeyedSuite, StreamedSuite, OptionsSuite):
    variables = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    drip = event({"modelVersion": "gemini-test-1"})

    def make(self, url: str, **options: Any) -> ChatModel:
        return GoogleModel(GoogleOptions(**{"name": "gemini-3.8-flash", "base_url": url, **options}))

    def plain(self, text: str) -> Served:
        return wire.answer(text)

    def error(self, status: int, message: str, headers: Mapping[str, str]) -> Served:
        return wire.error(status, NAMES.get(status, "INTERNAL"), message, headers)

    def test_what_is_sent(self) -> None:
        messages = (
            ChatMessage("system", "Be brief."),
            ChatMessage("user", "Hi"),
            ChatMessage("assistant", "Yes?"),
            ChatMessage("user", "So?"),
        )
        reply = self.ask([wire.answer("So.")], ChatRequest(messages, max_output_tokens=77, temperature=0.5), effort="low")
        asked = self.asked[0]
        assert asked.path == "/v1/models/gemini-3.8-flash:streamGenerateContent?alt=sse"
        assert asked.body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
        assert [(c["role"], c["parts"][0]["text"]) for c in asked.body["contents"]] == [("user", "Hi"), ("model", "Yes?"), ("user", "So?")]
        config = asked.body["generationConfig"]
        assert (config["maxOutputTokens"], config["temperature"]) == (77, 0.5)
        assert config["thinkingConfig"] == {"thinking_level": "LOW"}
        assert reply.model == "gemini-test-1"

    def test_usage_counts_cached_and_thinking_tokens(self) -> None:
        used = {"cachedContentTokenCount": 4, "thoughtsTokenCount": 5, "toolUsePromptTokenCount": 2}
        usage = self.ask([wire.answer("Yes.", usage=used)]).usage
        assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens) == (13, 4, 12, 5)

    def test_thoughts_are_not_the_answer(self) -> None:
        events = wire.stream([{"text": "Hm, what?", "thought": True}, {"text": "Yes."}])
        assert self.ask([Served(events=events)]).text == "Yes."

    def test_a_value(self) -> None:
        reply = self.ask([wire.answer('{"level": 3, "why": "sound"}')], request(schema=SCHEMA))
        assert reply.value == {"level": 3, "why": "sound"}
        config = self.asked[0].body["generationConfig"]
        assert config["responseMimeType"] == "application/json"
        sent = config["responseJsonSchema"]["properties"]
        assert (sent["level"]["minimum"], sent["kind"], sent["why"]) == (0, {"enum": ["a"]}, {"type": "string"})

    def test_a_schema_that_is_not_sent(self) -> None:
        assert self.ask([wire.answer('{"level": 1}')], request(schema=SCHEMA), structured="none").value == {"level": 1}
        assert "responseJsonSchema" not in self.asked[0].body["generationConfig"]
        assert "systemInstruction" not in self.asked[0].body, "the core has told it"

    def test_tools_both_ways(self) -> None:
        signature = base64.b64encode(b"signed").decode()
        parts = [wire.call("look_up", {"ticker": "A"}, "f1", signature), wire.call("look_up", {"ticker": "B"})]
        reply = self.ask([Served(events=wire.stream(parts))], request(tools=(TOOL,)))
        assert reply.finish == "tool"
        assert [(c.name, c.arguments) for c in reply.tool_calls] == [("look_up", {"ticker": "A"}), ("look_up", {"ticker": "B"})]
        declared = self.asked[0].body["tools"][0]["functionDeclarations"][0]
        assert declared["parameters_json_schema"] == dict(TOOL.schema), "both spellings are taken; this SDK writes this one"
        said = ChatMessage("assistant", "", reply.tool_calls)
        results = tuple(ChatMessage("tool", text, tool_call_id=c.id) for text, c in zip(("10", "20"), reply.tool_calls, strict=True))
        self.ask([wire.answer("30.")], ChatRequest((ChatMessage("user", "Sum?"), said, *results), tools=(TOOL,)))
        _, model, back = self.asked[0].body["contents"]
        assert base64.urlsafe_b64decode(model["parts"][0]["thoughtSignature"]) == b"signed"
        assert model["parts"][0]["functionCall"] == {"name": "look_up", "args": {"ticker": "A"}, "id": "f1"}
        assert model["parts"][1] == {"functionCall": {"name": "look_up", "args": {"ticker": "B"}}}
        assert [p["functionResponse"].get("id") for p in back["parts"]] == ["f1", None]
        assert back["parts"][1]["functionResponse"] == {"name": "look_up", "response": {"output": "20"}}

    @pytest.mark.parametrize(("name", "marked"), [("gemini-3.8-flash", True), ("gemini-2.5-pro", False)])
    def test_calls_that_come_from_elsewhere(self, name: str, marked: bool) -> None:
        said = ChatMessage("assistant", "", (ToolCall("t1", "look_up", {}),))
        self.ask(
            [wire.answer("Hm.")], ChatRequest((ChatMessage("user", "?"), said, ChatMessage("tool", "1", tool_call_id="t1"))), name=name
        )
        part = self.asked[0].body["contents"][1]["parts"][0]
        assert ("thoughtSignature" in part) is marked

    def test_search_with_citations(self) -> None:
        grounding = {
            "webSearchQueries": ["factors", "size"],
            "groundingChunks": [
                {"web": {"uri": "https://a.example/f", "title": "Fama"}},
                {"web": {"uri": "https://b.example", "title": "Unused"}},
            ],
            "groundingSupports": [{"segment": {"endIndex": 3, "text": "Up."}, "groundingChunkIndices": [0]}],
        }
        pages = [
            {"retrievedUrl": "https://c.example", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS"},
            {"retrievedUrl": "https://d.example", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_ERROR"},
        ]
        served = wire.answer('{"level": 1}', groundingMetadata=grounding, urlContextMetadata={"urlMetadata": pages})
        reply = self.ask([served], request(search=WebSearch(fetch=True), schema=SCHEMA))
        assert reply.citations == (Citation("https://a.example/f", "Fama"), Citation("https://c.example"))
        assert reply.value == {"level": 1}
        assert (reply.meta["searches"], reply.meta["fetches"]) == (2, 2)
        assert reply.meta["sources"] == ["https://a.example/f", "https://b.example", "https://c.example"]
        body = self.asked[0].body
        assert [next(iter(t)) for t in body["tools"]] == ["googleSearch", "urlContext"]
        assert "responseJsonSchema" not in body["generationConfig"]
        assert "JSON Schema" in body["systemInstruction"]["parts"][0]["text"]

    def test_domains_cannot_be_kept_to(self) -> None:
        with pytest.raises(ProviderRefusedError, match="domains"):
            self.make("http://127.0.0.1:9").complete(request(search=WebSearch(domains=("a.example",))))

    @pytest.mark.parametrize(
        ("end", "finish"),
        [
            ("MAX_TOKENS", "length"),
            ("SAFETY", "refusal"),
            ("RECITATION", "refusal"),
            ("OTHER", "refusal"),
            ("MALFORMED_FUNCTION_CALL", "invalid"),
        ],
    )
    def test_other_ends(self, end: str, finish: str) -> None:
        reply = self.ask([wire.answer('{"level":', finish=end)], request(schema=SCHEMA))
        assert (reply.finish, reply.value, reply.meta["stop"]) == (finish, None, end)

    @pytest.mark.parametrize("end", ["PUP_LIMITED_DISABLED", "MISSING_THOUGHT_SIGNATURE"])
    def test_ends_that_are_failures(self, end: str) -> None:
        assert isinstance(self.failing(wire.answer("", finish=end)), ProviderRefusedError)

    def test_a_blocked_prompt_is_a_refusal(self) -> None:
        blocked = event({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 9}})
        reply = self.ask([Served(events=[blocked])])
        assert (reply.finish, reply.meta["stop"], reply.usage.input_tokens) == ("refusal", "PROHIBITED_CONTENT", 9)

    def test_how_long_to_wait_stands_in_the_body(self) -> None:
        info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
        told = "You exceeded your current quota, please check your plan and billing details."
        error = self.failing(wire.error(429, "RESOURCE_EXHAUSTED", told, details=[{"@type": "x"}, info]))
        assert not isinstance(error, ProviderRefusedError)
        assert error.retry_after == 34.5

    def test_a_key_that_is_not_valid(self) -> None:
        error = self.failing(wire.error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."))
        assert isinstance(error, ProviderRefusedError)
        assert "GEMINI_API_KEY" in error.hint

    def test_an_error_inside_the_stream(self) -> None:
        broken = event({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}})
        error = self.failing(Served(events=[*wire.stream([{"text": "Good"}])[:1], broken]))
        assert not isinstance(error, ProviderRefusedError)
        assert "503" in str(error)

    def test_the_other_variable_and_the_platform_of_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("GEMINI_API_KEY")
        monkeypatch.setenv("GOOGLE_API_KEY", KEY)
        monkeypatch.setenv("GOOGLE_GENAI_USE_ENTERPRISE", "true")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
        assert self.ask([wire.answer("Here.")]).text == "Here."
        assert self.asked[0].headers["x-goog-api-key"] == KEY

    def test_family_and_name(self) -> None:
        model = self.make("http://127.0.0.1:9")
        assert (model.id, model.family) == ("google/gemini-3.8-flash", "gemini")
