"""Whole conversations with the example server, resuming, and what options may be."""

import pytest
from click.testing import CliRunner

from finassay.api.conversation import Conversation, Message
from finassay.api.errors import ProviderRefusedError, UsageError
from finassay.catalog.catalog import Catalog
from finassay.cli.conform import conform
from finassay_remote import conformance
from finassay_remote.agent import RemoteAgent
from finassay_remote.options import RemoteOptions

TOKEN = "t0ken-0f-the-test"


def test_a_conversation(session, example):
    with example() as url:
        one = session(url)
        assert "size the positions" in one.send("I like winners.").text
        assert "REPORT.md" in one.send("Equal weights.", 2).text
        one.agent.finalize()
    assert one.files() == {"REPORT.md": b"# What I was told\n\n- I like winners.\n- Equal weights.\n"}
    assert one.agent.version == "example 1.0"
    assert one.agent.capabilities.resumes
    assert [e.kind for e in one.log] == ["tool-call", "tool-result"]


def test_a_second_attempt_in_a_turn_is_a_new_one(session, example):
    with example() as url:
        one = session(url)
        assert one.send("I like winners.").text == one.send("I like winners.").text
        assert one.send("Equal weights.", 2).text
        one.agent.finalize()
    assert one.files()["REPORT.md"].count(b"I like winners.") == 1


def test_it_goes_on_with_another_server_that_knows_nothing(session, example):
    with example() as url:
        first = session(url)
        first.send("I like winners.")
        first.agent.finalize()
    history = Conversation(
        (Message("u0", 0, "user", "I like winners."), Message("a1", 1, "agent", "What?"), Message("u1", 1, "user", "Equal."))
    )
    with example() as url:
        second = session(url, history=history)
        second.send("Equal.", 2)
        second.agent.finalize()
    assert second.files()["REPORT.md"] == b"# What I was told\n\n- I like winners.\n- Equal.\n"


def test_sessions_do_not_mix(session, example):
    with example() as url:
        one, two = session(url, "one"), session(url, "two")
        one.send("I am one.")
        two.send("I am two.")
        one.send("Go.", 2)
        assert two.files() == {}
        two.send("Go.", 2)
        for made in (one, two):
            made.agent.finalize()
    assert b"I am one." in one.files()["REPORT.md"]
    assert b"I am two." not in one.files()["REPORT.md"]
    assert b"I am two." in two.files()["REPORT.md"]


def test_a_token_that_is_wrong_or_missing(session, example, monkeypatch):
    with example("--token-variable", "EX_TOKEN", environment={"EX_TOKEN": TOKEN}) as url:
        with pytest.raises(ProviderRefusedError, match="refuses the key"):
            RemoteAgent(RemoteOptions(url=url))
        monkeypatch.setenv("MY_TOKEN", "wrong")
        with pytest.raises(ProviderRefusedError, match="refuses the key"):
            RemoteAgent(RemoteOptions(url=url, token_variable="MY_TOKEN"))
        monkeypatch.setenv("MY_TOKEN", TOKEN)
        one = session(url, token_variable="MY_TOKEN")
        assert one.send("Hi.").text
        one.agent.finalize()
    with pytest.raises(ProviderRefusedError, match="NOT_SET is not set"):
        RemoteAgent(RemoteOptions(url=url, token_variable="NOT_SET"))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"url": "agents.example.com"},
        {"url": "ftp://agents.example.com"},
        {"url": "https://"},
        {"url": "https://agents.example.com:0"},
        {"url": "https://agents.example.com/a b"},
        {"url": "http://agents.example.com"},
        {"url": "http://192.168.1.4:80"},
        {"url": "http://127.0.0.1.example.com"},
        {"url": f"https://{TOKEN}@agents.example.com"},
        {"url": f"https://agents.example.com?token={TOKEN}"},
        {"url": "https://agents.example.com", "token_variable": f"{TOKEN}"},
        {"url": "https://agents.example.com", "timeout": 3},
    ],
)
def test_addresses_that_cannot_be_used(options):
    with pytest.raises(UsageError) as error:
        Catalog.installed().create("agent", "remote", options)
    assert TOKEN not in str(error.value)


@pytest.mark.parametrize("url", ["https://agents.example.com/a", "http://127.0.0.1:80", "http://[::1]:80", "http://localhost:80/x/"])
def test_addresses_that_can(url):
    assert RemoteOptions(url=url).url == url
    assert RemoteOptions(url="http://10.0.0.4", plain_http=True)


def test_the_client_check_from_the_command_line(example):
    with example() as url:
        result = CliRunner().invoke(conform, ["agents", "remote", "--url", url, "--seconds", "20"])
    assert result.exit_code == 0, result.output
    for name in (
        "two-at-once",
        "repeats-turns",
        "stops-turns",
        "refuses-what-is-too-large",
        "serves-only-its-files",
        "survives-broken-connections",
    ):
        assert f"ok  {conformance.KIND}/{name}: " in result.output


# -- servers that do not conform --------------------------------------------------------------------------------------


def failures(url):
    from finassay.testing.result import run_checks

    class Subject:
        options = {"url": url}  # noqa: RUF012

    return {r.id.split("/")[-1] for r in run_checks(conformance.KIND, Subject()) if r.applies and not r.ok}


def changed(**methods):
    """The example's service with some of its methods replaced."""
    from finassay_remote.example import Example, Service

    return type("Changed", (Service,), methods)(Example()).app()


async def _passwd(self, request):
    from starlette.responses import Response

    return Response("root:x:0:0")


async def _forgetful(self, request):
    told = await request.json()
    self._sessions.get(request.path_params["session"]).turns.pop(int(request.path_params["turn"]), None)
    from starlette.responses import JSONResponse

    from finassay_remote.example import Session

    assert isinstance(self._sessions[request.path_params["session"]], Session)
    return JSONResponse({"text": f"Reply to {told['message'][:10]} {id(told)}"})


async def _keyless(self, request):
    from uuid import uuid4

    from starlette.responses import JSONResponse

    return JSONResponse({"id": uuid4().hex}, 201)


@pytest.mark.parametrize(
    ("methods", "found"),
    [
        ({"file": _passwd}, {"serves-only-its-files", "unknown-session", "tells-turns"}),
        ({"turn": _forgetful}, {"repeats-turns", "refuses-what-it-cannot-read"}),
        ({"begin": _keyless}, {"begins-once"}),
    ],
    ids=["serves-anything", "forgets-turns", "forgets-keys"],
)
def test_servers_that_do_not_conform_are_found(serve, methods, found):
    with serve(changed(**methods)) as url:
        assert found <= failures(url)
