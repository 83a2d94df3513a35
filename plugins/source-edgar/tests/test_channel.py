"""The channel's server through the official SDK's client: an agent sees what a writer sees, and nothing after the cutoff."""

import asyncio
import json
import sys
from datetime import date

import pytest
from mcp import Client, StdioServerParameters
from sec import CIK, TENK, sec

from finassay.api.errors import UsageError
from finassay.catalog.catalog import Catalog
from finassay.testing.cases import ComponentConformance
from finassay_source_edgar.__main__ import main
from finassay_source_edgar.source import EdgarOptions, EdgarSource

AGENT = "Example Research desk@example.com"
SECONDS = 60
DAY = "2020-12-31"


class TestChannel(ComponentConformance):
    kind = "channel"
    id = "edgar"

    @pytest.fixture(autouse=True)
    def _options(self, tmp_path):
        type(self).options = {"user_agent": AGENT, "cache": str(tmp_path), "cutoff": DAY}


def channel(tmp_path, address, **options):
    where = {"data": address, "archives": address, "full_text": address, "cache": str(tmp_path / "cache"), "rate": 10}
    return Catalog.installed().create("channel", "edgar", {"user_agent": AGENT, "cutoff": DAY, **where, **options})[0]


def talk(spec, *calls):
    async def run():
        command, *arguments = spec.server.command
        async with (
            asyncio.timeout(SECONDS),
            Client(StdioServerParameters(command=command, args=arguments), read_timeout_seconds=SECONDS) as client,
        ):
            tools = {tool.name for tool in (await client.list_tools()).tools}
            answers = [await client.call_tool(name, given) for name, given in calls]
            return tools, [(bool(a.is_error), a.content[0].text) for a in answers]

    return asyncio.run(run())


def test_an_agent_sees_what_a_writer_sees(tmp_path):
    reference = f"{CIK}/0001234567-20-000003/{TENK}"
    with sec() as (address, _):
        tools, answers = talk(
            channel(tmp_path, address).describe(),
            ("find", {"query": "Acme Tools 10-K"}),
            ("search", {"query": "revenue", "limit": 5}),
            ("open", {"reference": reference, "first_page": 2}),
        )
        source = EdgarSource(EdgarOptions(user_agent=AGENT, cache=tmp_path / "own", data=address, archives=address, full_text=address))
        own = source.open(reference, date.fromisoformat(DAY))
        source.client.close()
    assert tools == {"search", "find", "open"}
    assert [wrong for wrong, _ in answers] == [False] * 3
    found, passages, page = (json.loads(text) for _, text in answers)
    assert {d["published"] for d in found["documents"]} == {"2020-02-20", "2010-02-20"}
    assert [p["reference"] for p in passages["passages"]] == [reference]
    assert page["pages"][0]["text"] == own.pages[1].text
    assert page["pages"][0]["sha256"] == own.pages[1].digest


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("open", {"reference": f"{CIK}/0001234567-21-000004/acme-20201231.htm"}),
        ("open", {"reference": f"{CIK}/facts@2021-02-20"}),
        ("open", {"reference": "../../etc/passwd"}),
        ("open", {"reference": f"{CIK}/0001234567-20-000003/{TENK}", "cutoff": "2030-01-01"}),
        ("search", {"query": ""}),
        ("drop", {}),
    ],
)
def test_what_is_not_there_or_wrong_is_an_error(tmp_path, tool, given):
    with sec() as (address, _):
        _, ((wrong, text),) = talk(channel(tmp_path, address).describe(), (tool, given))
    assert wrong
    assert "\n" not in text


def test_the_sec_out_of_reach_is_an_error_and_no_end(tmp_path):
    def broken(path, count):
        return 403, b"no"

    with sec(broken) as (address, _):
        _, answers = talk(channel(tmp_path, address).describe(), ("find", {"query": "Acme"}), ("find", {"query": "Acme"}))
    assert [wrong for wrong, _ in answers] == [True, True]
    assert "refused" in answers[0][1]


def test_the_command_holds_the_cutoff_and_this_python(tmp_path, capsys):
    spec = channel(tmp_path, "https://data.sec.gov").describe()
    assert spec.server.command[0] == sys.executable
    assert f"--cutoff={DAY}" in spec.server.command
    assert DAY in spec.text
    for options in ({"cutoff": "soon"}, {"user_agent": "nobody"}, {"other": 1}):
        with pytest.raises(UsageError):
            channel(tmp_path, "https://data.sec.gov", **options)
    assert main(["serve", "--cutoff=2020-01-01", '--options={"user_agent": "x"}']) == 2
    assert capsys.readouterr().err.startswith("error: user_agent")
