"""Model calls through the gateway."""

import anthropic

from finassay_models_anthropic.testing import answer


def test_a_call_passes_and_is_metered(house, keys):
    session, server, told = house.session("anthropic", [answer("Good morning.")])
    client = anthropic.Anthropic(api_key=session.access.token, base_url=session.access.urls["anthropic"], max_retries=0)
    message = client.messages.create(model="claude-test", max_tokens=9, messages=[{"role": "user", "content": "Hello"}], stream=True)
    assert [event.type for event in message][-1] == "message_stop"
    client.close()
    assert server.last.headers["x-api-key"] == keys["ANTHROPIC_API_KEY"]
    assert session.access.token not in repr(server.last.headers)
    call = told.wait(1)[0]
    assert (call.to, call.what, call.status, call.usage.input_tokens, call.usage.output_tokens) == ("anthropic", "claude-test", 200, 11, 7)
    assert not call.cut
    assert session.access.failure() is None
