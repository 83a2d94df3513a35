"""The channel's server through the official SDK's client."""

import asyncio
import json
import sys
from datetime import date

import pytest
from corpora import INCOME, filings
from mcp import Client, StdioServerParameters

from finassay.api.errors import UsageError
from finassay.catalog.catalog import Catalog
from finassay_source_corpus.source import CorpusOptions, CorpusSource

SECONDS = 60


def channel(folder, **options):
    return Catalog.installed().create("channel", "corpus", {"folder": str(folder), "cutoff": "2019-12-31", **options})[0]


def talk(spec, *calls):
    """The answers to calls of tools, as (is it an error, text)."""

    async def run():
        command, *arguments = spec.server.command
        where = StdioServerParameters(command=command, args=arguments)
        async with asyncio.timeout(SECONDS), Client(where, read_timeout_seconds=SECONDS) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            answers = [await client.call_tool(name, given) for name, given in calls]
            return tools, [(bool(a.is_error), a.content[0].text) for a in answers]

    return asyncio.run(run())


def test_an_agent_sees_what_a_writer_sees(tmp_path):
    corpus = filings(tmp_path)
    tools, answers = talk(
        channel(corpus).describe(),
        ("find", {"query": "Acme"}),
        ("search", {"query": "revenue", "limit": 5}),
        ("open", {"reference": "ACME_2018_10K", "first_page": 2}),
        ("open", {"reference": "ACME_2018_10K", "first_page": 1, "last_page": 9}),
    )
    assert tools == {"search", "find", "open"}
    assert [wrong for wrong, _ in answers] == [False] * 4
    found, passages, page, whole = (json.loads(text) for _, text in answers)
    assert [d["reference"] for d in found["documents"]] == ["ACME_2018_10K"]
    source = CorpusSource(CorpusOptions(folder=corpus))
    assert [(p["reference"], p["page"], p["text"]) for p in passages["passages"]] == [
        (p.item.reference, p.page, p.text) for p in source.search("revenue", date(2019, 12, 31), 5)
    ]
    (own,) = page["pages"]
    assert own["text"] == INCOME.replace("1,234", "999")
    assert own["sha256"] == source.open("ACME_2018_10K", date(2019, 12, 31)).pages[1].digest
    assert len(whole["pages"]) == whole["pages_in_all"] == 2
    assert "next_page" not in whole


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("open", {"reference": "ACME_2019_10K"}),
        ("open", {"reference": "ZETA_2019_10K"}),
        ("open", {"reference": "../documents.jsonl"}),
        ("open", {"reference": "ACME_2018_10K", "first_page": 0}),
        ("open", {"reference": "ACME_2018_10K", "cutoff": "2030-01-01"}),
        ("search", {"query": ""}),
        ("search", {"query": "x", "limit": 10**9}),
        ("drop", {}),
    ],
)
def test_what_is_not_there_or_wrong_is_an_error(tmp_path, tool, given):
    _, ((wrong, text),) = talk(channel(filings(tmp_path)).describe(), (tool, given))
    assert wrong
    assert "\n" not in text
    assert "2020" not in text


def test_a_long_document_comes_in_parts(tmp_path):
    from finassay_source_corpus.server import MAX_CHARACTERS, Open, opened

    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.txt").write_text("\f".join(["x" * 25_000] * 5), "utf-8")
    (folder / "documents.jsonl").write_text('{"reference": "a", "published": "2019-01-01"}', "utf-8")
    source = CorpusSource(CorpusOptions(folder=folder))
    answer = opened(source, date(2020, 1, 1), Open(reference="a", first_page=1, last_page=5))
    assert sum(len(page["text"]) for page in answer["pages"]) == MAX_CHARACTERS
    assert (answer["next_page"], "cut" in answer["pages"][-1]) == (4, True)
    assert opened(source, date(2020, 1, 1), Open(reference="a", first_page=9))["pages"] == []


def test_the_command_holds_the_cutoff_and_this_python(tmp_path):
    spec = channel(filings(tmp_path), about="filings of two companies").describe()
    assert spec.server.command[0] == sys.executable
    assert "--cutoff=2019-12-31" in spec.server.command
    assert "filings of two companies" in spec.text
    for options in ({"cutoff": "soon"}, {"folder": str(tmp_path / "none")}, {"other": 1}):
        with pytest.raises(UsageError):
            Catalog.installed().create("channel", "corpus", {"folder": str(tmp_path), "cutoff": "2019-12-31", **options})
