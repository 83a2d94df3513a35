"""A value that fits its schema: from the provider, out of a text, after a repair, or not at all."""

import pytest
from attrs import evolve
from scripted_models import request, scripted_catalog

from finassay.api.errors import ProviderError
from finassay.api.model import ChatMessage, ChatReply, ChatRequest, ModelCapabilities, ToolCall
from finassay.api.usage import Usage
from finassay.models.service import ModelService
from finassay.models.structured import misfits, objects_in

SCHEMA = {
    "type": "object",
    "properties": {"level": {"type": "integer", "minimum": 0, "maximum": 4}, "reason": {"type": "string"}},
    "required": ["level"],
    "additionalProperties": False,
}
WORDS = ModelCapabilities(structured=False)


def said(text: str, finish: str = "stop", **more: object) -> ChatReply:
    return ChatReply(text, finish, "m", **more)  # type: ignore[arg-type]


def ask(*replies: ChatReply | Exception, asked: ChatRequest | None = None, **more: object) -> tuple[ChatReply, list[ChatRequest]]:
    catalog, requests = scripted_catalog(*replies, **more)
    return ModelService(catalog).get("scripted/m").complete(asked or request(schema=SCHEMA)), requests


@pytest.mark.parametrize(
    "text",
    [
        '{"level": 3}',
        '```json\n{"level": 3}\n```',
        'Certainly! Here it is:\n\n{"level": 3}\n\nAnything else?',
        'Of {these} I choose {"level": 3}.',
        'First {"level": 9}, no, {"level": 3}',
        '\ufeff{"level": 3}',
    ],
)
def test_a_value_is_found_in_a_text(text):
    reply, requests = ask(said(text), capabilities=WORDS)
    assert (reply.value, reply.finish) == ({"level": 3}, "stop")
    assert len(requests) == 1


def test_a_providers_own_value_is_validated_too():
    reply, requests = ask(said("", value={"level": 3}))
    assert reply.value == {"level": 3}
    reply, requests = ask(said("", value={"level": 7}), said("", value={"level": 2}))
    assert (reply.value, reply.meta["repaired"], len(requests)) == ({"level": 2}, True, 2)


def test_a_repair_is_told_what_was_wrong_and_both_calls_are_counted():
    first, second = said("Level three.", usage=Usage(100, 0, 10)), said('{"level": 3}', usage=Usage(150, None, 20))
    reply, requests = ask(first, second, capabilities=WORDS)
    assert (reply.value, reply.finish) == ({"level": 3}, "stop")
    assert reply.usage == Usage(250, None, 30)
    *_, answer, complaint = requests[1].messages
    assert (answer.role, answer.text) == ("assistant", "Level three.")
    assert complaint.role == "user"
    assert "no JSON object" in complaint.text


@pytest.mark.parametrize(
    "text", ['{"level": 9}', '{"level": "3"}', '{"level": NaN}', "[]", "3", "no", "", '{"level": 3, "extra": 1}', '{"level": 3']
)
def test_what_never_fits_is_invalid_after_one_repair(text):
    reply, requests = ask(said(text), capabilities=WORDS)
    assert (reply.value, reply.finish, len(requests)) == (None, "invalid", 2)
    assert reply.meta["problems"]


@pytest.mark.parametrize("finish", ["refusal", "length"])
def test_a_refusal_and_a_cut_are_not_repaired(finish):
    reply, requests = ask(said('{"level": 9', finish), capabilities=WORDS)
    assert (reply.value, reply.finish, len(requests)) == (None, finish, 1)


def test_a_refusal_after_the_repair_stays_one():
    reply, _ = ask(said("hm"), said("I will not.", "refusal"), capabilities=WORDS)
    assert (reply.value, reply.finish) == (None, "refusal")


def test_calls_of_tools_come_before_the_value():
    called = said("", "tool", tool_calls=(ToolCall("1", "look", {}),))
    reply, requests = ask(called)
    assert (reply.finish, reply.tool_calls, len(requests)) == ("tool", called.tool_calls, 1)


def test_a_provider_that_fails_at_the_repair_is_told():
    with pytest.raises(ProviderError, match="down"):
        ask(said("hm"), evolve_error(), capabilities=WORDS)


def evolve_error() -> Exception:
    from finassay.api.errors import ProviderRefusedError

    return ProviderRefusedError("down")


def test_the_schema_is_said_in_words_where_a_model_does_not_hold_to_it_by_itself():
    system = ChatRequest((ChatMessage("system", "You grade."), ChatMessage("user", "Grade.")), schema=SCHEMA)
    _, (sent,) = ask(said('{"level": 3}'), asked=system, capabilities=WORDS)
    assert [m.role for m in sent.messages] == ["system", "user"]
    assert sent.messages[0].text.startswith("You grade.")
    assert '"additionalProperties": false' in sent.messages[0].text
    _, (sent,) = ask(said('{"level": 3}'), capabilities=WORDS)
    assert [m.role for m in sent.messages] == ["system", "user"]
    _, (sent,) = ask(said("", value={"level": 3}), asked=system)
    assert sent == system, "a model that holds to schemas by itself is asked as it was asked"


def test_without_a_schema_nothing_is_looked_for():
    reply, requests = ask(said('{"level": 3}'), asked=request())
    assert (reply.value, len(requests)) == (None, 1)


def test_hostile_texts_are_bounded():
    assert objects_in("{" * 100_000) == []
    assert objects_in('{"a":' * 5_000) == []
    assert len(objects_in('{"a":1} ' * 10_000)) <= 50


def test_no_other_document_is_fetched():
    assert misfits({"a": 1}, {"type": "object"}) == []
    with pytest.raises(Exception, match="nresolvable"):
        misfits({"a": 1}, {"$ref": "http://127.0.0.1:9/schema.json"})


def test_problems_name_the_place():
    schema = {"type": "object", "properties": {"cases": {"type": "array", "items": {"type": "integer"}}}}
    (problem,) = misfits({"cases": [1, "x"]}, schema)
    assert problem.startswith("cases[1]: ")
    assert evolve(said("x"), text="y").text == "y"


def test_where_a_key_is_kept_is_no_part_of_what_was_asked():
    from finassay.models.service import _without_keys_places

    options = {"effort": "low", "key_variable": "A_KEY", "endpoints": {"here": {"base_url": "http://x", "key_variable": "B_KEY"}}}
    assert _without_keys_places(options) == {"effort": "low", "endpoints": {"here": {"base_url": "http://x"}}}
