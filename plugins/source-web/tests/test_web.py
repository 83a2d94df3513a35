"""Citations become documents only where somebody tells their date."""

from datetime import date
from typing import ClassVar

import pytest

from finassay.api.errors import ProviderError
from finassay.api.model import ChatReply, Citation, ModelCapabilities
from finassay.api.source import NotThereError, SourceError
from finassay.testing.cases import ComponentConformance
from finassay.testing.fakes import FakeChatModel, FakeModels, FunctionChatModel
from finassay_source_web.source import WebOptions, WebSource

LATE = date(2024, 1, 1)
CITED = (
    Citation("https://example.com/a", "Acme results", "Revenue was 1,234 million."),
    Citation("https://news.example.com/2023/02/14/acme", "Acme", "Acme's annual report of the company came out."),
    Citation("https://example.com/undated", "Acme page", "Revenue may be 9."),
)
META = {"citations": [{"page_age": "2023-02-10"}, {"published": "2023-02-14T08:00:00Z"}, {"page_age": "3 days ago"}]}


def replying(*replies, **options):
    """A source that opens nothing, unless it is told to."""
    chosen = WebOptions(model="fake/model", **{"open_pages": False, **options})
    return WebSource(chosen, FakeModels({"fake/model": FakeChatModel(list(replies))}))


class TestWeb(ComponentConformance):
    kind = "source"
    id = "web"
    options: ClassVar = {"model": "fake/model", "open_pages": False}
    models = FakeModels({"fake/model": FunctionChatModel(lambda request: ChatReply("words", "stop", "m", citations=CITED, meta=META))})


def test_only_dated_citations_are_there():
    source = replying(ChatReply("The model's own words.", "stop", "m", citations=CITED, meta=META))
    found = source.search("Acme revenue", LATE)
    assert [(p.item.reference, p.item.published, p.item.published_basis) for p in found] == [
        ("https://example.com/a", date(2023, 2, 10), "provider"),
        ("https://news.example.com/2023/02/14/acme", date(2023, 2, 14), "provider"),
    ]
    assert source.undated == 1
    assert source.open("https://example.com/a", LATE).pages[0].text == "Revenue was 1,234 million."
    for reference, cutoff in (
        ("https://example.com/undated", LATE),
        ("https://example.com/a", date(2023, 2, 9)),
        ("https://example.com/", LATE),
    ):
        with pytest.raises(NotThereError):
            source.open(reference, cutoff)
    assert [i.published for i in source.find("Acme revenue", date(2023, 2, 10))] == [date(2023, 2, 10)]


def test_the_question_is_asked_once_and_carries_the_cutoff():
    model = FakeChatModel([ChatReply("", "stop", "m", citations=CITED, meta=META)])
    source = WebSource(
        WebOptions(model="fake/model", domains=("sec.gov",), max_uses=2, open_pages=False), FakeModels({"fake/model": model})
    )
    assert source.search("Acme  revenue", LATE) == source.search("Acme revenue", LATE)
    (request,) = model.requests
    assert (request.search.domains, request.search.max_uses) == (("sec.gov",), 2)
    assert "2024-01-01" in request.messages[1].text


@pytest.mark.parametrize(
    "reply",
    [
        ChatReply("", "refusal", "m"),
        ChatReply(
            "x",
            "stop",
            "m",
            citations=(Citation("javascript:alert(1)", "t", "q"), Citation("https://[::1", "t", "q"), Citation("", "", "")),
        ),
        ChatReply("x", "stop", "m", citations=CITED[:1], meta={"citations": "nonsense"}),
        ChatReply("x", "stop", "m", citations=CITED[:1], meta={"citations": [{"published": 5}]}),
        ChatReply("x", "stop", "m", citations=(Citation("https://example.com/2023/02/01/x", "t", "q"),)),
        ChatReply("x", "stop", "m", citations=CITED[:1], meta={"citations": [{"published": "2025-02-01"}]}),
        ChatReply("x", "stop", "m", citations=CITED[:1], meta={"citations": [{"published": "2023-02-31"}]}),
        ChatReply(
            "x", "stop", "m", citations=(Citation("https://example.com/x", "t", " "),), meta={"citations": [{"published": "2023-02-01"}]}
        ),
    ],
)
def test_what_cannot_be_cited_is_not_there(reply):
    source = replying(reply)
    assert source.search("Acme", LATE) == []
    assert source.find("Acme", LATE) == []


def test_told_two_dates_the_later_holds():
    first, second = ({"citations": [{"published": day}]} for day in ("2023-02-10", "2023-06-01"))
    replies = [ChatReply("", "stop", "m", citations=CITED[:1], meta=meta) for meta in (first, second)]
    source = replying(*replies)
    source.search("one", LATE)
    source.search("two", LATE)
    with pytest.raises(NotThereError):
        source.open("https://example.com/a", date(2023, 3, 1))


def test_a_provider_that_fails_is_a_source_that_fails():
    with pytest.raises(SourceError, match="did not search"):
        replying(ProviderError("overloaded")).search("Acme", LATE)


def test_a_model_that_cannot_search_is_told_before_anything_is_asked():
    model = FakeChatModel([], capabilities=ModelCapabilities())
    with pytest.raises(SourceError, match="cannot search"):
        WebSource(WebOptions(model="fake/model"), FakeModels({"fake/model": model}))
