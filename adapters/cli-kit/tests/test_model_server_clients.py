"""The vendors' own SDKs read what the scripted model server says, streamed and whole."""

import json

import pytest

from finassay_cli_kit.testing import Mcp, ModelServer, Say, Script, Shell, Status, Together, TokenCount, Use, WriteFile

BASH = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "description": {"type": "string"}},
    "required": ["command", "description"],
}
WRITE = {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}, "required": ["path", "content"]}
PRICE = {"type": "object", "properties": {"symbol": {"type": "string"}}}
SCHEMAS = {"Bash": BASH, "Write": WRITE, "mcp__price__get_price": PRICE}
COUNT = TokenCount(1000, 50, cached=400, reasoning=10)
TEXT = "Grüße, 世界 – and a long tail " * 40
WANTED = [
    ("Bash", {"command": 'ls; echo "x"', "description": "scripted"}),
    ("Write", {"path": "deliver/a.md", "content": "# A\n'q'\n"}),
    ("mcp__price__get_price", {"symbol": "AAA"}),
]


def script() -> Script:
    """One reply with three calls, then a last one."""
    calls = Together(Shell('ls; echo "x"'), WriteFile("deliver/a.md", "# A\n'q'\n"), Mcp("price", "get_price", {"symbol": "AAA"}))
    return Script([Say("I look."), calls, Say(TEXT, COUNT, thinking="Let me think about this.")])


@pytest.mark.parametrize("stream", [False, True])
def test_anthropic(stream):
    anthropic = pytest.importorskip("anthropic", reason="the SDK of finassay-models-anthropic")
    with (
        ModelServer(script()) as server,
        anthropic.Anthropic(base_url=server.url, api_key=server.key, max_retries=0) as client,
    ):

        def ask(messages):
            given = {"model": server.model, "max_tokens": 100, "messages": messages}
            tools = [{"name": name, "input_schema": schema} for name, schema in SCHEMAS.items()]
            if not stream:
                return client.messages.create(**given, tools=tools)
            with client.messages.stream(**given, tools=tools) as answer:
                return answer.get_final_message()

        messages = [{"role": "user", "content": "Go."}]
        first = ask(messages)
        assert first.stop_reason == "tool_use"
        assert first.content[0].text == "I look."
        calls = first.content[1:]
        assert [(c.name, c.input) for c in calls] == WANTED
        results = [{"type": "tool_result", "tool_use_id": c.id, "content": "ok"} for c in calls]
        last = ask(
            [*messages, {"role": "assistant", "content": [b.model_dump() for b in first.content]}, {"role": "user", "content": results}]
        )
        assert last.stop_reason == "end_turn"
        assert [b.type for b in last.content] == ["thinking", "text"]
        assert last.content[0].thinking == "Let me think about this."
        assert last.content[1].text == TEXT
        assert (last.usage.input_tokens, last.usage.cache_read_input_tokens, last.usage.output_tokens) == (600, 400, 50)
        assert client.messages.count_tokens(model=server.model, messages=messages).input_tokens > 0
        assert [m.id for m in client.models.list()] == [server.model]
    server.check()
    assert server.calls[1].request.results == ("ok", "ok", "ok")


@pytest.mark.parametrize("stream", [False, True])
def test_openai_chat(stream):
    openai = pytest.importorskip("openai", reason="the SDK of finassay-models-openai")
    with ModelServer(script()) as server, openai.OpenAI(base_url=f"{server.url}/v1", api_key=server.key, max_retries=0) as client:
        tools = [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in SCHEMAS.items()]

        def ask(messages):
            given = {"model": server.model, "messages": messages, "tools": tools}
            if not stream:
                answer = client.chat.completions.create(**given)
                return answer.choices[0].message, answer.usage
            text, calls, usage = "", {}, None
            for chunk in client.chat.completions.create(**given, stream=True, stream_options={"include_usage": True}):
                usage = chunk.usage or usage
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    for call in choice.delta.tool_calls or ():
                        known = calls.setdefault(call.index, call)
                        known.function.arguments += call.function.arguments if known is not call else ""
            return openai.types.chat.ChatCompletionMessage(
                role="assistant", content=text, tool_calls=[c.model_dump() for c in calls.values()]
            ), usage

        messages = [{"role": "user", "content": "Go."}]
        first, _ = ask(messages)
        assert first.content == "I look."
        assert [(c.function.name, json.loads(c.function.arguments)) for c in first.tool_calls] == WANTED
        results = [{"role": "tool", "tool_call_id": c.id, "content": "ok"} for c in first.tool_calls]
        last, usage = ask([*messages, first.model_dump(exclude_none=True), *results])
        assert last.content == TEXT
        assert (usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens, usage.completion_tokens) == (1000, 400, 50)
        assert usage.completion_tokens_details.reasoning_tokens == 10
        assert [m.id for m in client.models.list()] == [server.model]
    server.check()


@pytest.mark.parametrize("stream", [False, True])
def test_openai_responses(stream):
    openai = pytest.importorskip("openai", reason="the SDK of finassay-models-openai")
    with ModelServer(script()) as server, openai.OpenAI(base_url=f"{server.url}/v1", api_key=server.key, max_retries=0) as client:
        tools = [{"type": "function", "name": name, "parameters": schema, "strict": False} for name, schema in SCHEMAS.items()]

        def ask(given):
            if not stream:
                return client.responses.create(model=server.model, input=given, tools=tools)
            with client.responses.stream(model=server.model, input=given, tools=tools) as events:
                said = "".join(event.delta for event in events if event.type == "response.output_text.delta")
                answer = events.get_final_response()
            assert said == answer.output_text
            return answer

        given = [{"role": "user", "content": "Go."}]
        first = ask(given)
        assert first.output_text == "I look."
        calls = [item for item in first.output if item.type == "function_call"]
        assert [(c.name, json.loads(c.arguments)) for c in calls] == WANTED
        results = [{"type": "function_call_output", "call_id": c.call_id, "output": "ok"} for c in calls]
        last = ask([*given, *(item.model_dump(exclude_none=True) for item in first.output), *results])
        assert last.output_text == TEXT
        assert last.output[0].summary[0].text == "Let me think about this."
        assert (last.usage.input_tokens, last.usage.input_tokens_details.cached_tokens, last.usage.output_tokens) == (1000, 400, 50)
    server.check()


def test_openai_code_mode():
    """A tool that takes free text and reaches the others by itself, nested in namespaces."""
    openai = pytest.importorskip("openai", reason="the SDK of finassay-models-openai")
    played = Script([Shell("ls"), Mcp("price-feed", "get_price", {"symbol": "A"}), Use("exec", text="text(1);"), Say("Done.")])
    with ModelServer(played) as server, openai.OpenAI(base_url=f"{server.url}/v1", api_key=server.key, max_retries=0) as client:
        given = [
            {
                "type": "additional_tools",
                "tools": [{"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]}],
            },
            {"role": "user", "content": "Go."},
        ]
        codes = []
        while True:
            answer = client.responses.create(model=server.model, input=given)
            calls = [item for item in answer.output if item.type == "custom_tool_call"]
            if not calls:
                break
            codes += [c.input for c in calls]
            given += [item.model_dump(exclude_none=True) for item in answer.output]
            given += [{"type": "custom_tool_call_output", "call_id": c.call_id, "output": "ok"} for c in calls]
    assert 'tools.exec_command({"cmd": "ls"})' in codes[0]
    assert 'tools.mcp__price_feed__get_price({"symbol": "A"})' in codes[1]
    assert codes[2] == "text(1);"
    server.check()


@pytest.mark.parametrize("stream", [False, True])
def test_google(stream):
    genai = pytest.importorskip("google.genai", reason="the SDK of Gemini")
    options = genai.types.HttpOptions
    with ModelServer(script()) as server:
        client = genai.Client(
            api_key=server.key, http_options=options(base_url=server.url, retry_options=genai.types.HttpRetryOptions(attempts=1))
        )
        declared = [{"name": name, "parameters_json_schema": schema} for name, schema in SCHEMAS.items()]
        config = genai.types.GenerateContentConfig(
            tools=[{"function_declarations": declared}], automatic_function_calling={"disable": True}
        )

        def ask(contents):
            given = {"model": server.model, "contents": contents, "config": config}
            if not stream:
                answer = client.models.generate_content(**given)
                return answer.candidates[0].content.parts, answer.usage_metadata
            chunks = list(client.models.generate_content_stream(**given))
            return [part for chunk in chunks for part in chunk.candidates[0].content.parts], chunks[-1].usage_metadata

        contents = [{"role": "user", "parts": [{"text": "Go."}]}]
        parts, _ = ask(contents)
        assert "".join(p.text for p in parts if p.text) == "I look."
        calls = [p.function_call for p in parts if p.function_call]
        assert [(c.name, c.args) for c in calls] == WANTED
        results = [{"function_response": {"name": c.name, "id": c.id, "response": {"output": "ok"}}} for c in calls]
        parts, usage = ask([*contents, {"role": "model", "parts": parts}, {"role": "user", "parts": results}])
        assert "".join(p.text for p in parts if p.text and not p.thought) == TEXT
        assert "".join(p.text for p in parts if p.thought) == "Let me think about this."
        assert (usage.prompt_token_count, usage.cached_content_token_count, usage.candidates_token_count) == (1000, 400, 40)
        assert usage.thoughts_token_count == 10
        client.close()
    server.check()


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (400, "BadRequestError"),
        (401, "AuthenticationError"),
        (404, "NotFoundError"),
        (429, "RateLimitError"),
        (500, "InternalServerError"),
        (529, ""),
    ],
)
def test_errors_are_the_sdk_s_own(code, name):
    anthropic = pytest.importorskip("anthropic", reason="the SDK of finassay-models-anthropic")
    openai = pytest.importorskip("openai", reason="the SDK of finassay-models-openai")
    with ModelServer(Script([Status(code, "Slow down."), Status(code)])) as server:
        asked = {"model": server.model, "messages": [{"role": "user", "content": "Go."}]}
        with anthropic.Anthropic(base_url=server.url, api_key=server.key, max_retries=0) as client:
            kind = getattr(anthropic, name) if name else anthropic.APIStatusError
            with pytest.raises(kind, match=r"Slow down\.") as told:
                client.messages.create(**asked, max_tokens=9)
            assert told.value.status_code == code
        with openai.OpenAI(base_url=f"{server.url}/v1", api_key=server.key, max_retries=0) as other:
            kind = getattr(openai, name) if name else openai.APIStatusError
            with pytest.raises(kind) as told:
                other.chat.completions.create(**asked)
            assert told.value.status_code == code
    server.check()
