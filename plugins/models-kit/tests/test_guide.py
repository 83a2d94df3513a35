"""The guide to writing a provider works as it stands: its provider passes the suite that it tells of."""

import re
from pathlib import Path

import pytest

from finassay.api.model import ChatMessage, ChatRequest
from finassay_models_kit.suite import ProviderSuite
from finassay_models_kit.testing import Served, loopback

GUIDE = Path(__file__).parents[3] / "docs" / "howto" / "write-a-model-provider.md"


def namespace():
    if not GUIDE.is_file():
        pytest.skip("the guide lies in the repository's docs, which are not here")
    code = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    found = {"__name__": "guide"}
    exec(compile(code[0], str(GUIDE), "exec"), found)
    exec(compile(code[1], str(GUIDE), "exec"), found)
    return found


class TestGuide(ProviderSuite):
    """Every test of the suite but for the option of another key, which the guide's provider does not have."""

    variables = ("ECHO_API_KEY",)
    test_a_key_under_another_name = None

    def make(self, url, **options):
        return namespace()["EchoModel"](namespace()["EchoOptions"](name="parrot", base_url=url))

    def plain(self, text):
        return Served(body={"said": text})

    def error(self, status, message, headers):
        return Served(status, {"error": message}, dict(headers))

    def test_a_schema_that_the_provider_does_not_take(self):
        pytest.skip("the guide's provider takes no schema and keeps no words of an error")


def test_the_guide_s_own_test_class_asks_the_guide_s_provider(monkeypatch):
    monkeypatch.setenv("ECHO_API_KEY", "k" * 20)
    found = namespace()
    case = found["TestEcho"]()
    with loopback([case.plain("Hi.")]) as server:
        assert case.make(server.url).complete(ChatRequest((ChatMessage("user", "Hello?"),))).text == "Hi."
        assert server.last.body == {"say": "Hello?"}
