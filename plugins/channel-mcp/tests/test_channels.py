"""What the channels declare, and that no option can hold a key."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from finassay.api.errors import UsageError
from finassay.api.strategy import DATA_KINDS
from finassay.catalog.catalog import Catalog

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
BASE = {"text": "An MCP server with daily prices of everything that is traded.", "provides": ["prices"]}
KEY = "sk-4f9a8b7c6d5e4f3a2b1c"


def made(id="mcp", **options):
    return Catalog.installed().create("channel", id, {**(BASE if id == "mcp" else {}), **options})[0]


def test_a_command_gets_its_secrets_by_name(monkeypatch):
    monkeypatch.setenv("TICK_LICENCE", KEY)
    spec = made(command=["ticks", "--fast"], environment={"FOLDER": "/data"}, secrets=["TICK_LICENCE"], readable=["/data"]).describe()
    assert spec.server.command == ("ticks", "--fast")
    assert spec.server.environment == {"FOLDER": "/data"}
    assert spec.server.secrets == ("TICK_LICENCE",)
    assert spec.readable == (Path("/data"),)
    assert KEY not in repr(spec)


def test_secrets_of_an_address_are_those_that_it_names(monkeypatch):
    monkeypatch.setenv("A_KEY", KEY)
    channel = made(url="https://mcp.example.com/x?apikey=${A_KEY}", headers={"Authorization": "Bearer ${B_TOKEN}"}, secrets=["A_KEY"])
    server = channel.describe().server
    assert server.secrets == ("A_KEY", "B_TOKEN")
    assert server.url == "https://mcp.example.com/x?apikey=${A_KEY}"
    assert KEY not in repr(channel.describe()) + repr(channel.options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"command": ["a"], "url": "https://mcp.example.com"},
        {"command": ["a"], "headers": {"X-Team": "a"}},
        {"url": "https://mcp.example.com", "environment": {"A": "b"}},
        {"url": "ftp://mcp.example.com"},
        {"url": "mcp.example.com"},
        {"url": "https://"},
        {"url": "https://mcp.example.com:99999"},
        {"url": "https://[::1"},
        {"url": "http://mcp.example.com"},
        {"url": "http://10.0.0.4/mcp"},
        {"url": "https://${HOST}/mcp"},
        {"url": "https://mcp.example.com/${not a name}"},
        {"url": "https://mcp.example.com", "headers": {"X Team": "a"}},
        {"url": "https://mcp.example.com", "headers": {"X-Team": "a\r\nX-Other: b"}},
        {"command": ["a", "--key", "${A_KEY}"]},
        {"command": ["a"], "environment": {"B": "${A_KEY}"}},
        {"command": ["a"], "environment": {"A=B": "c"}},
        {"command": ["a"], "readable": ["data"]},
        {"command": ["a"], "provides": ["price"]},
        {"command": ["a"], "provides": []},
        {"command": ["a"], "text": "too short"},
        {"command": ["a"], "unknown": 1},
        {"command": ["a"], "start_seconds": float("inf")},
    ],
)
def test_what_cannot_be_meant_is_one_clear_error(options):
    with pytest.raises(UsageError) as error:
        made(**options)
    assert "mcp" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "options",
    [
        {"url": f"https://mcp.example.com?apikey={KEY}"},
        {"url": f"https://mcp.example.com?access_token={KEY}&x=1"},
        {"url": f"https://user:{KEY}@mcp.example.com"},
        {"url": f"https://{KEY}@mcp.example.com"},
        {"url": "https://mcp.example.com", "headers": {"Authorization": f"Bearer {KEY}"}},
        {"url": "https://mcp.example.com", "headers": {"x-api-key": KEY}},
        {"url": "https://mcp.example.com", "headers": {"Cookie": KEY}},
        {"command": ["a"], "environment": {"FMP_API_KEY": KEY}},
        {"command": ["a"], "environment": {"DB_PASSWORD": KEY}},
        {"command": ["a"], "secrets": [KEY]},
    ],
)
def test_a_key_in_an_option_is_refused_and_not_repeated(options):
    with pytest.raises(UsageError) as error:
        made(**options)
    assert KEY not in f"{error.value} {error.value.hint}"


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/mcp", "http://localhost/mcp", "http://[::1]:80/mcp"])
def test_plain_http_is_for_this_machine(url):
    assert made(url=url).describe().server.url == url


def test_plain_http_elsewhere_is_a_choice():
    assert made(url="http://10.0.0.4/mcp", plain_http=True).describe().server.url == "http://10.0.0.4/mcp"


def test_fmp_names_its_key_and_serves_every_kind(monkeypatch):
    monkeypatch.setenv("FMP_API_KEY", KEY)
    spec = made("fmp").describe()
    assert spec.provides == frozenset(DATA_KINDS)
    assert spec.server.url == "https://financialmodelingprep.com/mcp?apikey=${FMP_API_KEY}"
    assert spec.server.secrets == ("FMP_API_KEY",)
    assert KEY not in repr(spec)


def test_fmp_by_another_variable_tools_and_plan():
    spec = made("fmp", key_variable="MY_FMP", tools=["quote"], provides=["prices"], url="http://127.0.0.1:7/mcp").describe()
    assert spec.server.url == "http://127.0.0.1:7/mcp?apikey=${MY_FMP}"
    assert (spec.server.secrets, spec.server.tools, spec.provides) == (("MY_FMP",), ("quote",), frozenset({"prices"}))


@pytest.mark.parametrize(
    "options",
    [{"key_variable": "sk-123"}, {"url": "https://x.example.com?apikey=1"}, {"url": "http://x.example.com"}, {"provides": ["gossip"]}],
)
def test_fmp_refuses_what_cannot_be_meant(options):
    with pytest.raises(UsageError):
        made("fmp", **options)


def test_the_readme_is_right():
    for block in re.findall(r"```toml\n(.*?)```", README, re.DOTALL):
        for choice in tomllib.loads(block)["run"]["channels"].values():
            choice = {"id": choice} if isinstance(choice, str) else choice
            spec = Catalog.installed().create("channel", choice["id"], choice.get("options", {}))[0].describe()
            assert spec.server is not None
            json.dumps([spec.text, sorted(spec.provides), spec.server.url])
