"""The server through the official SDK's client, on both transports."""

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx2
import pytest
from folders import single
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from finassay.api.errors import UsageError
from finassay.catalog.catalog import Catalog
from finassay_market_data.__main__ import main

SECONDS = 60


def arguments(*given):
    return [sys.executable, "-P", "-m", "finassay_market_data", *map(str, given)]


def talk(where, play):
    """Run `play(client)` within a bounded time."""

    async def run():
        async with asyncio.timeout(SECONDS), Client(where, read_timeout_seconds=SECONDS) as client:
            return await play(client)

    return asyncio.run(run())


@contextmanager
def listening(*given, environment=()):
    process = subprocess.Popen(
        arguments("--http", *given), stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env={**os.environ, **dict(environment)}
    )
    try:
        lines = []
        while (line := process.stderr.readline()) and not line.startswith("listening on "):
            lines.append(line)
        assert line, lines
        yield line.split()[-1]
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


async def session(client):
    """What a quant does first; the same on every transport."""
    tools = (await client.list_tools()).tools
    assert {tool.name for tool in tools} == {"describe", "list_tickers", "get_prices", "get_index"}
    assert all(tool.input_schema["type"] == "object" and tool.description for tool in tools)
    about = json.loads((await client.call_tool("describe", {})).content[0].text)
    table = await client.call_tool("get_prices", {"tickers": ["AAA", "BBB"], "end": "2019-12-30"})
    text = await client.call_tool("get_prices", {"tickers": ["AAA"], "end": "2019-12-30", "format": "csv"})
    wrong = [
        await client.call_tool(name, given)
        for name, given in (
            ("get_prices", {}),
            ("get_prices", {"tickers": ["AAA"], "start": "01/02/2020"}),
            ("get_prices", {"tickers": ["AAA"], "since": "2020-01-02"}),
            ("get_prices", {"tickers": ["ZZZ"]}),
            ("get_prices", {"tickers": ["AAA"], "frequency": "yearly"}),
            ("get_prices", {"tickers": ["AAA"], "rows": 10**9}),
            ("drop_tables", {}),
        )
    ]
    started = time.perf_counter()
    for _ in range(20):
        await client.call_tool("get_prices", {"tickers": ["AAA"]})
    return about, json.loads(table.content[0].text), [block.text for block in text.content], wrong, (time.perf_counter() - started) / 20


def check(told, cutoff):
    about, table, (line, text), wrong, seconds = told
    assert about["tickers"] == 2
    assert about["cutoff"] == cutoff
    assert table["rows"] == [["2019-12-27", 10, 20], ["2019-12-30", 10.5, None]]
    assert text == "date,AAA\n2019-12-27,10\n2019-12-30,10.5\n"
    assert json.loads(line)["rows_here"] == 2
    for result in wrong:
        assert result.is_error
        assert len(result.content) == 1
        assert 10 < len(result.content[0].text) < 300
        assert "\n" not in result.content[0].text
    assert seconds < 1


def test_over_stdio(tmp_path):
    command = arguments("--folder", single(tmp_path), "--cutoff", "2020-01-02")
    check(talk(StdioServerParameters(command=command[0], args=command[1:]), session), "2020-01-02")


def test_over_http(tmp_path):
    with listening("--folder", single(tmp_path), "--cutoff", "2020-01-02") as url:
        check(talk(url, session), "2020-01-02")


def test_the_older_handshake_works_too(tmp_path):
    async def run(url):
        async with asyncio.timeout(SECONDS), Client(url, mode="legacy") as client:
            return await session(client)

    with listening("--folder", single(tmp_path), "--cutoff", "2020-01-02") as url:
        check(asyncio.run(run(url)), "2020-01-02")


def test_a_token_is_asked_for_where_one_is_named():
    with listening("--token-variable", "MD_TOKEN", environment={"MD_TOKEN": "t0p"}) as url:
        for headers in ({}, {"Authorization": "Bearer nope"}):
            assert httpx2.post(url, json={}, headers=headers, timeout=SECONDS).status_code == 401

        async def run():
            headers = {"Authorization": "Bearer t0p"}
            async with (
                asyncio.timeout(SECONDS),
                httpx2.AsyncClient(headers=headers) as http,
                Client(streamable_http_client(url, http_client=http)) as c,
            ):
                return await c.call_tool("get_index", {"start": "2019-06-28", "end": "2019-06-28", "format": "csv"})

        assert asyncio.run(run()).content[1].text == "date,SP500\n2019-06-28,2941.76\n"


def test_other_sites_pages_are_refused():
    with listening() as url:
        for headers in ({"Origin": "https://evil.example.com"}, {"Host": "evil.example.com"}):
            assert httpx2.post(url, json={}, headers=headers, timeout=SECONDS).status_code in (403, 421)


def test_the_channels_command_is_this_server(tmp_path):
    options = {"folder": str(single(tmp_path)), "cutoff": "2020-01-02", "index": "AAA", "source": "-- our feed", "adjusted": "none"}
    spec = Catalog.installed().create("channel", "market-data", options)[0].describe()
    command = spec.server.command
    about = talk(StdioServerParameters(command=command[0], args=list(command[1:])), lambda c: c.call_tool("describe", {}))
    told = json.loads(about.content[0].text)
    assert (told["source"], told["index"]["ticker"], told["cutoff"]) == ("-- our feed", "AAA", "2020-01-02")
    assert "up to 2020-01-02" in spec.text
    assert str(tmp_path) not in spec.text


def test_the_embedded_channel_tells_no_date_after_the_cutoff():
    spec = Catalog.installed().create("channel", "market-data", {"cutoff": "2015-06-30"})[0].describe()
    assert "2015-06-30" in spec.text
    assert "2022" not in spec.text
    assert "2022" in Catalog.installed().create("channel", "market-data")[0].describe().text


@pytest.mark.parametrize(
    "options", [{"folder": "/nowhere/at/all"}, {"index": "AAA"}, {"cutoff": "soon"}, {"adjusted": "yes", "folder": "/"}]
)
def test_wrong_options_are_told_before_a_run(options):
    with pytest.raises(UsageError):
        Catalog.installed().create("channel", "market-data", options)


@pytest.mark.parametrize(
    "given",
    [
        "--folder /nowhere/at/all",
        "--index AAA",
        "--cutoff soon",
        "--token-variable NOT_SET",
        "--http --host 0.0.0.0",
        "--http --host 300.1.1.1 --token-variable HOME",
    ],
)
def test_wrong_arguments_are_one_line(given, capsys):
    try:
        code = main(shlex.split(given))
    except SystemExit as stop:
        code = stop.code
    said = capsys.readouterr().err.strip().splitlines()
    assert code == 2
    assert re.search("error: ", said[-1])


def test_the_server_ends_with_its_input(tmp_path):
    process = subprocess.Popen(arguments(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.close()
    process.stdin = None
    assert process.wait(SECONDS) == 0
    process.stdout.close()
