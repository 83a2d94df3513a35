"""Finding components: errors that help, nothing imported early, nothing first-wins."""

import sys
import types
from importlib.metadata import EntryPoint

import pytest
from pydantic import BaseModel, ConfigDict, Field

from finassay.api.errors import UsageError
from finassay.catalog.catalog import AmbiguousComponentError, BrokenComponentError, Catalog, Offer, UnknownComponentError


class Options(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    words: int = Field(default=1, description="How many.")


class GoodChannel:
    api_version = 1
    description = "a channel"
    Options = Options
    id = "good"

    def __init__(self, options):
        self.options = options

    def describe(self):
        return None


class OldChannel(GoodChannel):
    api_version = 99


class NoChannel:
    api_version = 1
    description = "no describe"
    Options = Options
    id = "no"

    def __init__(self, options):
        pass


class CrashingChannel(GoodChannel):
    def __init__(self, options):
        raise RuntimeError("boom")


@pytest.fixture(autouse=True)
def module():
    made = types.ModuleType("fake_plugins")
    made.__dict__.update(good=GoodChannel, old=OldChannel, no=NoChannel, crashing=CrashingChannel, number=3)
    sys.modules["fake_plugins"] = made
    yield
    del sys.modules["fake_plugins"]


def offer(name: str, target: str = "fake_plugins:good", distribution: str = "finassay-one") -> Offer:
    return Offer("channel", name, distribution, "1.0", EntryPoint(name, target, "finassay.channels"))


def test_a_component_is_made_with_its_options_and_origin():
    component, origin = Catalog([offer("good")]).create("channel", "good", {"words": 3})
    assert component.options.words == 3
    assert str(origin) == "good (finassay-one 1.0)"


def test_unknown_names_the_closest_and_the_known():
    with pytest.raises(UnknownComponentError) as caught:
        Catalog([offer("good")]).find("channel", "goood")
    assert "Did you mean 'good'" in caught.value.hint


def test_two_distributions_with_one_id_are_an_error_with_ways_out():
    catalog = Catalog([offer("good"), offer("good", distribution="finassay-two")])
    with pytest.raises(AmbiguousComponentError) as caught:
        catalog.create("channel", "good")
    assert "finassay-one" in str(caught.value)
    assert "finassay-two" in str(caught.value)
    assert catalog.create("channel", "finassay-two:good")[1].distribution == "finassay-two"


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("no_such_module:x", "cannot be imported"),
        ("fake_plugins:missing", "cannot be imported"),
        ("fake_plugins:number", "no component factory"),
        ("fake_plugins:old", "API version 99"),
        ("fake_plugins:no", "no channel: it has no describe"),
        ("fake_plugins:crashing", "boom"),
    ],
)
def test_a_broken_component_says_who_and_why(target, says):
    with pytest.raises(BrokenComponentError) as caught:
        Catalog([offer("it", target)]).create("channel", "it")
    assert says in str(caught.value)
    assert "finassay-one 1.0" in str(caught.value)


def test_an_unknown_option_names_the_known_ones():
    with pytest.raises(UsageError) as caught:
        Catalog([offer("good")]).create("channel", "good", {"wordz": 3})
    assert "wordz" in str(caught.value)
    assert "words" in caught.value.hint


def test_listing_imports_nothing():
    catalog = Catalog([offer("bad", "no_such_module:x"), offer("good")])
    assert [o.id for o in catalog.offers("channel")] == ["bad", "good"]


def test_health_names_the_broken_and_goes_on():
    health = {h.offer.id: h.problem for h in Catalog([offer("bad", "no_such_module:x"), offer("good")]).health()}
    assert "cannot be imported" in health["bad"]
    assert health["good"] == ""
