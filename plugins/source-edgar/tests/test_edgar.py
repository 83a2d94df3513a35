"""The client against a server that speaks the SEC's formats."""

from datetime import date

import pytest
from sec import CIK, TENK, sec

from finassay.api.source import NotThereError, SourceError
from finassay.testing.cases import ComponentConformance
from finassay_source_edgar.client import Pace
from finassay_source_edgar.source import EdgarOptions, EdgarSource

AGENT = "Example Research desk@example.com"
LATE = date(2022, 1, 1)


@pytest.fixture
def made(tmp_path):
    opened = []

    def make(address):
        source = EdgarSource(EdgarOptions(user_agent=AGENT, cache=tmp_path / "cache", data=address, archives=address, full_text=address))
        source.client.pace.sleep = lambda seconds: None
        opened.append(source)
        return source

    yield make
    for source in opened:
        source.client.close()


class TestEdgar(ComponentConformance):
    kind = "source"
    id = "edgar"

    @pytest.fixture(autouse=True)
    def _server(self, tmp_path):
        with sec() as (address, _):
            options = {"user_agent": AGENT, "cache": str(tmp_path), "rate": 10}
            type(self).options = {**options, "data": address, "archives": address, "full_text": address}
            import gc

            yield
            gc.collect()


def test_filings_of_a_company_by_name_form_and_year(made):
    with sec() as (address, asked):
        source = made(address)
        assert [i.reference for i in source.find("Acme Tools 10-K 2019", LATE)] == [f"{CIK}/0001234567-20-000003/{TENK}"]
        found = source.find("ACM", LATE)
        assert [i.published for i in found] == [date(2021, 2, 20), date(2020, 2, 20), date(2010, 2, 20)]
        assert {i.published_basis for i in found} == {"filing index"}
        assert [i.published for i in source.find("acmetools", date(2020, 2, 20))] == [date(2020, 2, 20), date(2010, 2, 20)]
        assert not source.find("Nobody knows this one", LATE)
        assert {agent for _, agent in asked} == {AGENT}


def test_html_becomes_pages_of_lines(made):
    with sec() as (address, _):
        document = made(address).open(f"{CIK}/0001234567-20-000003/{TENK}", LATE)
        assert [page.number for page in document.pages] == [1, 2]
        assert document.pages[1].text == "(In millions) 2019 2018\nRevenue $1,234 $(56)\nNet income 86 70"
        assert "hidden" not in document.pages[0].text
        assert document.item.period_end == date(2019, 12, 31)
        exhibit = made(address).open(f"{CIK}/0001234567-20-000003/ex21.htm", LATE)
        assert (exhibit.item.reference.split("/")[-1], exhibit.pages[0].text) == ("ex21.htm", "Subsidiaries")
        assert [p.text for p in made(address).open(f"{CIK}/0001234567-10-000001/a2009.txt", LATE).pages] == ["ANNUAL REPORT\n", "Revenue 9"]


def test_full_text_search_keeps_to_the_cutoff_by_itself(made):
    with sec() as (address, _):
        (passage,) = made(address).search("revenue and net income", date(2020, 12, 31))
        assert (passage.item.published, passage.page) == (date(2020, 2, 20), 2)
        assert "1,234" in passage.text
        assert len(made(address).search("revenue", LATE)) == 2
        assert made(address).search("tariffs", LATE) == []


def test_facts_end_at_the_cutoff(made):
    with sec() as (address, _):
        source = made(address)
        (item,) = (i for i in source.find("Acme Tools company facts", date(2020, 12, 31)) if "facts" in i.reference)
        assert (item.reference, item.published) == (f"{CIK}/facts@2020-02-20", date(2020, 2, 20))
        text = source.open(item.reference, date(2020, 2, 20)).pages[0].text
        assert "us-gaap:Revenues  2019-01-01 to 2019-12-31  1234000000 USD  10-K filed 2020-02-20" in text
        assert "1300000000" not in text
        for reference, cutoff in (
            (f"{CIK}/facts@2021-02-20", date(2020, 12, 31)),
            (f"{CIK}/facts@2020-03-01", LATE),
            (f"{CIK}/facts@2020-99-01", LATE),
        ):
            with pytest.raises(NotThereError):
                source.open(reference, cutoff)


@pytest.mark.parametrize(
    "reference",
    [
        "",
        "../x",
        f"{CIK}/0001234567-20-000003/../../etc/passwd",
        f"{CIK}/0001234567-20-000099/a.htm",
        "99/0001234567-20-000003/a.htm",
        f"{CIK}/0001234567-20-000003/none.htm",
    ],
)
def test_what_is_not_there(made, reference):
    with sec() as (address, _), pytest.raises(NotThereError):
        made(address).open(reference, LATE)


def test_what_was_got_is_not_asked_for_again_and_serves_when_the_sec_is_away(made):
    with sec() as (address, asked):
        source = made(address)
        first = source.open(f"{CIK}/0001234567-20-000003/{TENK}", LATE)
        number = len(asked)
        assert source.open(f"{CIK}/0001234567-20-000003/{TENK}", LATE) == first
        assert len(asked) == number
    with pytest.raises(SourceError, match="no answer"):
        source.search("revenue", LATE)
    assert source.open(f"{CIK}/0001234567-20-000003/{TENK}", LATE) == first


def test_a_failure_that_passes_is_waited_out_and_one_that_does_not_is_one_line(made):
    with sec(lambda path, count: (503, b"") if count < 3 else None) as (address, _):
        assert made(address).find("ACM", LATE)
    for status, said in ((403, "User-Agent"), (429, "status 429"), (301, "leads elsewhere")):
        with sec(lambda path, count, status=status: (status, b"")) as (address, asked):
            with pytest.raises(SourceError, match=said):
                made(f"{address}").search("revenue", LATE)
            assert len(asked) == (3 if status == 429 else 1)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"{}", b'{"filings": []}', b'{"filings": {"recent": {"form": "10-K"}}}', b"[" * 100_000]
)
def test_nonsense_is_no_crash(made, body):
    with sec(lambda path, count: (200, body) if "submissions" in path or "LATEST" in path else None) as (address, _):
        for call in (lambda: made(address).find("ACM", LATE), lambda: made(address).search("revenue", LATE)):
            try:
                found = list(call())
            except SourceError as error:
                found = str(error).splitlines()[1:]
            assert found == []


def test_requests_keep_a_pace():
    now, slept = [100.0], []

    def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    pace = Pace(10, lambda: now[0], sleep)
    for _ in range(21):
        pace.wait()
    assert sum(slept) == pytest.approx(2.0)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"user_agent": "curl"},
        {"user_agent": AGENT, "rate": 11},
        {"user_agent": AGENT, "data": "http://example.com"},
        {"user_agent": "a@b.c\r\nX: y"},
    ],
)
def test_what_the_sec_would_refuse_is_refused_first(options):
    with pytest.raises(ValueError):
        EdgarOptions(**options)
