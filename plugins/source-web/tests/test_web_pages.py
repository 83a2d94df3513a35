"""Pages of the web: opened within bounds, from the public web alone, dated by what publishers keep for machines."""

import gzip
import time
from datetime import date

import pytest
from webserver import BODY, DAY, HEADS, LATE, html, opener, serving

from finassay.api.model import ChatReply, Citation
from finassay.api.source import NotThereError
from finassay.runs.sources import GuardedSource
from finassay.testing.fakes import FakeChatModel, FakeModels
from finassay_source_web.dates import day_of, told_by
from finassay_source_web.pages import MAX_BYTES, Opener, UnopenedError, public
from finassay_source_web.source import WebOptions, WebSource

# -- days -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2023-02-14", date(2023, 2, 14)),
        ("2023-02-14T08:00:00Z", date(2023, 2, 14)),
        ("20230214", date(2023, 2, 14)),
        ("April 30, 2025", date(2025, 4, 30)),
        ("Apr. 3rd, 2025", date(2025, 4, 3)),
        ("30 April 2025", date(2025, 4, 30)),
        ("3 days ago", None),
        ("2023-02-31", None),
        ("Never 3, 2023", None),
        ("2023", None),
        ("", None),
    ],
)
def test_days_in_the_words_of_providers(text, day):
    assert day_of(text) == day


@pytest.mark.parametrize("name", HEADS)
def test_days_that_pages_tell(name):
    head, told = HEADS[name]
    found = told_by(html(head, f"<p>Published February 14, 2023</p>{BODY}"))
    assert found.published == told.published
    assert found.available == (max(filter(None, (told.published, told.modified))) if told.published else None)


# -- opening ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "port", "allowed"),
    [
        ("93.184.216.34", 443, True),
        ("2606:2800:220:1::1", 80, True),
        ("93.184.216.34", 8080, False),
        ("127.0.0.1", 80, False),
        ("10.0.0.8", 443, False),
        ("172.16.1.1", 443, False),
        ("192.168.1.1", 80, False),
        ("169.254.169.254", 80, False),
        ("100.64.0.1", 80, False),
        ("0.0.0.0", 80, False),
        ("224.0.0.1", 80, False),
        ("::1", 80, False),
        ("fe80::1", 80, False),
        ("fc00::1", 80, False),
        ("::ffff:127.0.0.1", 80, False),
        ("64:ff9b::7f00:1", 80, False),
        ("2002:7f00:1::", 80, False),
    ],
)
def test_only_the_public_web_is_asked(address, port, allowed):
    assert public(address, port) is allowed


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://localhost/", "http://[::1]/", "http://2130706433/", "http://0x7f.1/", "ftp://example.com/", "file:///etc/passwd",
        "http://user:secret@example.com/", "https://", "http://exa mple.com/", "http://example.com:99999/",
    ],
)  # fmt: skip
def test_what_is_no_address_of_the_web_is_not_opened(url):
    with pytest.raises(UnopenedError) as told:
        Opener(seconds=5).open(url)
    assert "secret" not in str(told.value)


def test_a_name_that_leads_inside_is_not_opened():
    for found in (["10.0.0.1"], ["93.184.216.34", "127.0.0.1"], []):
        with pytest.raises(UnopenedError, match="public web"):
            Opener(resolve=lambda host, port, found=found: found).open("https://news.example/a")


def test_a_page_is_read_with_its_day_and_name():
    page = html(HEADS["JSON-LD"][0])
    with serving({"/a": (200, {"Last-Modified": "Tue, 01 Jan 2019 00:00:00 GMT"}, page)}) as (url, asked):
        found = opener().open(f"{url}/a#part")
    assert (found.title, found.available, found.url) == ("Acme results", DAY, f"{url}/a#part")
    assert "net sales of $1,234 million" in found.pages[0].text
    ((path, headers),) = asked
    assert path == "/a"
    assert headers["Host"].startswith("news.example:")
    assert "Cookie" not in headers


def test_a_header_is_no_day_of_publication():
    with serving({"/a": (200, {"Last-Modified": "Tue, 14 Feb 2023 00:00:00 GMT", "Date": "Tue, 14 Feb 2023 00:00:00 GMT"}, html(""))}) as (
        url,
        _,
    ):
        assert opener().open(f"{url}/a").available is None


def test_every_redirect_is_asked_about_again():
    seen = []

    def resolve(host, port):
        seen.append(host)
        return ["10.0.0.1" if host == "inside.example" else "127.0.0.1"]

    answers = {"/out": (302, {"Location": "/in"}, b""), "/in": (301, {"Location": "http://inside.example/x"}, b"")}
    with serving(answers) as (url, asked), pytest.raises(UnopenedError, match=r"inside\.example is not on the public web"):
        opener(resolve=resolve, allowed=lambda address, port: address == "127.0.0.1").open(f"{url}/out")
    assert seen == ["news.example", "news.example", "inside.example"]
    assert [path for path, _ in asked] == ["/out", "/in"]


def test_redirects_keep_to_the_domains_and_end():
    answers = {"/out": (302, {"Location": "https://other.example/"}, b""), "/round": (302, {"Location": "/round"}, b"")}
    with serving(answers) as (url, asked):
        with pytest.raises(UnopenedError, match="not among the domains"):
            opener(domains=("news.example",)).open(f"{url}/out")
        with pytest.raises(UnopenedError, match="leads on more than"):
            opener().open(f"{url}/round")
    assert len(asked) <= 8


def test_what_is_too_large_slow_or_no_page_is_left():
    bomb = gzip.compress(b"<p>" + b"x" * (MAX_BYTES + 1))

    def slow(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/html")
        handler.end_headers()
        for _ in range(40):
            try:
                handler.wfile.write(b"<p>more</p>" * 8_000)
                handler.wfile.flush()
            except OSError:
                return
            time.sleep(0.05)

    answers = {
        "/bomb": (200, {"Content-Encoding": "gzip"}, bomb),
        "/pdf": (200, {"Content-Type": "application/pdf"}, b"%PDF-1.7"),
        "/gone": (410, {}, b""),
        "/empty": (200, {}, b"<html></html>"),
        "/slow": slow,
    }
    with serving(answers) as (url, _):
        for path, reason in (
            ("/bomb", "more than"),
            ("/pdf", "no page of text"),
            ("/gone", "status 410"),
            ("/empty", "no text"),
            ("/none", "status 404"),
        ):
            with pytest.raises(UnopenedError, match=reason):
                opener().open(url + path)
        started = time.monotonic()
        with pytest.raises(UnopenedError, match="longer than"):
            opener(seconds=0.4).open(f"{url}/slow")
        assert time.monotonic() - started < 3


# -- the source -------------------------------------------------------------------------------------------------------


def source(url_citations, open_with=None, meta=None, **options):
    reply = ChatReply("words", "stop", "m", citations=tuple(url_citations), meta=meta or {})
    made = WebSource(WebOptions(model="fake/model", **options), FakeModels({"fake/model": FakeChatModel([reply])}))
    made.opener = open_with or opener()
    return made


def test_addresses_alone_become_documents_by_their_own_days():
    """As where a provider gives addresses and nothing else."""
    answers = {
        "/dated": (200, {}, html(HEADS["JSON-LD"][0])),
        "/late": (200, {}, html(HEADS["changed later"][0])),
        "/undated": (200, {}, html("")),
        "/go": (302, {"Location": "/dated"}, b""),
    }
    with serving(answers) as (url, _):
        web = GuardedSource(source(Citation(url + path, "T") for path in ("/go", "/late", "/undated", "/missing")))
        found = web.search("Acme net sales", LATE)
        assert [(p.item.reference, p.item.published, p.item.published_basis) for p in found] == [(f"{url}/dated", DAY, "page metadata")]
        assert "net sales of $1,234 million" in found[0].text
        document = web.open(f"{url}/dated", LATE)
        assert found[0].text in document.pages[0].text
        for path, cutoff in (("/late", LATE), ("/undated", LATE), ("/missing", LATE), ("/dated", date(2023, 2, 13))):
            with pytest.raises(NotThereError):
                web.open(url + path, cutoff)
        assert {u.removeprefix(url): r.split(":")[0] for u, r in web.source.lost.items()} == {"/undated": "undated", "/missing": "undated"}
        assert web.source.undated == 2


def test_a_document_is_opened_again_without_a_search():
    with serving({"/dated": (200, {}, html(HEADS["JSON-LD"][0]))}) as (url, _):
        document = source([]).open(f"{url}/dated", LATE)
    assert document.item.published == DAY
    assert document.item.title == "Acme results"


def test_a_quote_is_found_in_the_page_s_own_words():
    with serving({"/dated": (200, {}, html(HEADS["JSON-LD"][0]))}) as (url, _):
        web = source([Citation(f"{url}/dated", "T", "net sales of $1,234 million"), Citation(f"{url}/dated", "T", "words nobody wrote")])
        texts = [p.text for p in web.search("best year", LATE)]
    assert texts[0] == "net sales of $1,234 million"
    assert "words nobody wrote" not in texts[1]


def test_a_day_that_the_provider_tells_needs_no_page():
    asked = []
    web = source(
        [Citation("https://a.example/f", "T", "Size matters.")],
        opener(resolve=lambda host, port: asked.append(host)),
        {"citations": [{"page_age": "April 30, 2023"}]},
    )
    (found,) = web.search("size", LATE)
    assert (found.item.published, found.item.published_basis, asked) == (date(2023, 4, 30), "provider", [])


def test_a_question_opens_only_so_many_pages():
    with serving({f"/{n}": (200, {}, html(HEADS["JSON-LD"][0])) for n in range(9)}) as (url, asked):
        web = source([Citation(f"{url}/{n}") for n in range(9)], max_opened=3)
        assert len(web.search("Acme", LATE)) == 3
        assert len(asked) == 3
    assert web.undated == 6
