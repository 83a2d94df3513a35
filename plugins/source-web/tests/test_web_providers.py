"""Through real providers' SDKs, in their wire formats, against servers on this machine."""

from datetime import date

import pytest
from webserver import HEADS, LATE, html, opener, serving

from finassay.catalog.catalog import Catalog
from finassay.testing.fakes import FakeModels
from finassay_source_web.source import WebOptions, WebSource

kit = pytest.importorskip("finassay_models_kit.testing", reason="the kit of the model providers is not installed")


def web(monkeypatch, provider, variable, url, **more):
    monkeypatch.setenv(variable, "key-of-a-test")
    offers = {offer.id for offer in Catalog.installed().offers("model")}
    if provider not in offers:
        pytest.skip(f"the provider {provider} is not installed")
    model, _ = Catalog.installed().create("model", provider, {"name": "tested-1", "base_url": url, **more})
    made = WebSource(WebOptions(model="p/m"), FakeModels({"p/m": model}))
    made.opener = opener()
    return made


def test_anthropic_tells_the_age_of_pages(monkeypatch):
    wire = pytest.importorskip("finassay_models_anthropic.testing", reason="the provider anthropic is not installed")
    with serving({"/dated": (200, {}, html(HEADS["JSON-LD"][0]))}) as (pages, _):
        ages = {"https://a.example/f": "April 30, 2023", f"{pages}/dated": None, "https://a.example/new": "June 1, 2025"}
        found = [
            {"type": "web_search_result", "title": "T", "url": url, "encrypted_content": "x", "page_age": age} for url, age in ages.items()
        ]
        cited = [
            {
                "type": "web_search_result_location",
                "url": url,
                "title": "T",
                "cited_text": "net sales of $1,234 million",
                "encrypted_index": "e",
            }
            for url in ages
        ]
        blocks = [
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "acme"}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": found},
            wire.text("Acme sold.", cited),
        ]
        with kit.loopback([kit.Served(events=wire.stream(blocks))]) as server:
            passages = web(monkeypatch, "anthropic", "ANTHROPIC_API_KEY", server.url).search("Acme net sales", LATE)
    assert [(p.item.reference, p.item.published, p.item.published_basis) for p in passages] == [
        ("https://a.example/f", date(2023, 4, 30), "provider"),
        (f"{pages}/dated", date(2023, 2, 14), "page metadata"),
    ]
    assert {p.text for p in passages} == {"net sales of $1,234 million"}


def test_openai_gives_addresses_and_pages_give_days(monkeypatch):
    wire = pytest.importorskip("finassay_models_openai.testing", reason="the provider openai is not installed")
    with serving({"/dated": (200, {}, html(HEADS["JSON-LD"][0])), "/undated": (200, {}, html(""))}) as (pages, _):
        notes = [
            {"type": "url_citation", "url": f"{pages}{path}", "title": "T", "start_index": 0, "end_index": 4}
            for path in ("/dated", "/undated")
        ]
        with kit.loopback([kit.Served(events=wire.stream(wire.response([wire.message("Acme sold.", annotations=notes)])))]) as server:
            source = web(monkeypatch, "openai", "OPENAI_API_KEY", f"{server.url}/v1", api="responses")
            passages = source.search("Acme net sales", LATE)
    assert [(p.item.reference, p.item.published) for p in passages] == [(f"{pages}/dated", date(2023, 2, 14))]
    assert source.undated == 1


def test_gemini_s_redirects_lead_to_dated_pages(monkeypatch):
    wire = pytest.importorskip("finassay_models_google.testing", reason="the provider google is not installed")
    with serving({"/dated": (200, {}, html(HEADS["JSON-LD"][0])), "/grounding": (302, {"Location": "/dated"}, b"")}) as (pages, _):
        chunks = [{"web": {"uri": f"{pages}/grounding", "title": "news.example"}}]
        with kit.loopback(
            [wire.answer("Acme sold.", groundingMetadata={"webSearchQueries": ["acme"], "groundingChunks": chunks})]
        ) as server:
            passages = web(monkeypatch, "google", "GEMINI_API_KEY", server.url).search("Acme net sales", LATE)
    assert [(p.item.reference, p.item.published) for p in passages] == [(f"{pages}/dated", date(2023, 2, 14))]
