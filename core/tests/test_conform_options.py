"""`finassay conform`: options in their own words, and checks that a component's distribution brings."""

import sys
from importlib.metadata import EntryPoint

import pytest
from click.testing import CliRunner

from finassay.api.errors import FinassayError, UsageError
from finassay.catalog.catalog import Catalog, Offer
from finassay.cli.conform import conform, named_options

CHANNEL = """
from typing import ClassVar
from pydantic import BaseModel, ConfigDict, Field
from finassay.api.channel import ChannelSpec

class Options(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    feed_url: str = Field(description="where it is")
    careful: bool = Field(default=False, description="how it is")

class Wire:
    api_version: ClassVar = 1
    description: ClassVar = "a wire"
    Options: ClassVar = Options
    conformance: ClassVar = "{module}_checks"
    id = "wire"

    def __init__(self, options):
        self.options = options

    def describe(self):
        return ChannelSpec("wire", "A wire over which daily prices come, as they are asked for.", frozenset({{"prices"}}))
"""
CHECKS = """
from finassay.testing.result import conformance, require

@conformance("finassay-wire:wire", "has-a-feed", "a wire without a feed is dead")
def _feed(subject):
    require(subject.create().options.feed_url.startswith("wire://"), f"the feed is {subject.options['feed_url']}")
"""


@pytest.fixture
def wire(tmp_path, monkeypatch):
    name = f"wire_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(CHANNEL.format(module=name))
    (tmp_path / f"{name}_checks.py").write_text(CHECKS)
    monkeypatch.syspath_prepend(tmp_path)
    offer = Offer("channel", "wire", "finassay-wire", "1", EntryPoint("wire", f"{name}:Wire", "finassay.channels"))
    monkeypatch.setattr(Catalog, "installed", classmethod(lambda cls: cls([offer])))
    yield
    for module in (name, f"{name}_checks"):
        sys.modules.pop(module, None)


def conformed(*words):
    return CliRunner().invoke(conform, words)


@pytest.mark.parametrize(
    "given", [("--feed-url", "wire://a"), ("--feed-url=wire://a", "--careful"), ("-o", "feed_url=wire://a", "--careful", "true")]
)
def test_its_options_and_its_own_checks(wire, given):
    result = conformed("channels", "wire", *given)
    assert result.exit_code == 0, result.output
    assert "ok  finassay-wire:wire/has-a-feed: a wire without a feed is dead" in result.output


def test_a_check_of_its_own_that_fails(wire):
    result = conformed("channel", "wire", "--feed-url", "http://a")
    assert isinstance(result.exception, FinassayError)
    assert "FAILS  finassay-wire:wire/has-a-feed" in result.output
    assert "the feed is http://a" in result.output


def test_an_option_that_it_does_not_have(wire):
    result = conformed("channel", "wire", "--feed", "x")
    assert isinstance(result.exception, UsageError)
    assert "--feed-url" in result.exception.hint


def test_words_of_options():
    assert named_options(["--a-b", "-1", "--c", "--d=", "--c=x=y"], ["a_b", "c", "d"]) == {"a_b": "-1", "c": "x=y", "d": ""}
    for words in (["a"], ["-a", "1"], ["--b"]):
        with pytest.raises(UsageError):
            named_options(words, ["a"])
