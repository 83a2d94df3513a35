"""What is kept of calls to models: exchanges by digest, a ledger without words, and no secret anywhere."""

import json
import math
import os
import stat
import subprocess
import sys
import threading

import pytest
from attrs import evolve
from scripted_models import request, scripted_catalog

from finassay.api.errors import BudgetError, InvalidFileError, ProviderError, ProviderRefusedError, UsageError
from finassay.api.model import (
    ChatMessage,
    ChatReply,
    ChatRequest,
    Citation,
    ModelCapabilities,
    Tool,
    ToolCall,
    WebSearch,
    request_digest,
)
from finassay.api.usage import Usage
from finassay.config.settings import ModelRates, ProviderSettings
from finassay.models.exchanges import ExchangeStore, asked_digest
from finassay.models.ledger import Budget, Entry, Ledger, RunBudgetError, read_ledger, sums
from finassay.models.prices import PriceTable
from finassay.models.service import ModelService, refuse_keys
from finassay.models.serving import served, serving
from finassay.records.masking import without_passages

REPLY = ChatReply("Yes.", "stop", "m-exact", usage=Usage(1000, 400, 100, 20))
FULL = ChatRequest(
    (
        ChatMessage("system", "You want momentum."),
        ChatMessage("assistant", "", (ToolCall("1", "look", {"at": [1, None, "x"]}),)),
        ChatMessage("tool", "seen", tool_call_id="1"),
    ),
    tools=(Tool("look", "Looks.", {"type": "object"}),),
    schema={"type": "object", "properties": {"a": {"enum": [1, "b"]}}},
    search=WebSearch(3, True, ("example.org",)),
    temperature=0.5,
    repeat=2,
    role="judge",
    about="4.1",
)


# -- exchanges --------------------------------------------------------------------------------------------------------


def test_an_exchange_comes_back_as_it_was(tmp_path):
    store = ExchangeStore(tmp_path / "sealed" / "exchanges")
    reply = ChatReply(
        "", "tool", "m", {"a": 1}, (ToolCall("2", "look", {}),), (Citation("https://example.org", "T", "q"),), Usage(1, None, 2), {"n": 1}
    )
    kept = store.put("p/m", {"effort": "low"}, FULL, reply)
    assert kept.digest == request_digest("p/m", {"effort": "low"}, FULL)
    assert kept.asked == asked_digest(FULL) == asked_digest(evolve(FULL, role="simulator", about="", seconds=1.0))
    assert store.get(kept.digest) == kept
    assert list(store.all()) == [kept]
    path = store.path(kept.digest)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700
    assert store.get("0" * 64) is None


@pytest.mark.parametrize(
    "damage", ["", "{}", "[1]", '{"kind": "finassay-exchange", "schema_version": 9}', '{"kind": "finassay-exchange", "schema_version": 1}']
)
def test_a_damaged_exchange_names_its_file_and_is_asked_anew(tmp_path, damage):
    catalog, asked = scripted_catalog(REPLY)
    service = ModelService(catalog, folder=tmp_path)
    model = service.get("scripted/m")
    model.complete(request())
    (path,) = (tmp_path / "sealed" / "exchanges").iterdir()
    path.write_text(damage)
    assert service.store is not None
    with pytest.raises(InvalidFileError, match=path.name):
        service.store.read(path)
    assert model.complete(request()).text == "Yes."
    assert len(asked) == 2
    assert service.store.read(path).reply.text == "Yes."


@pytest.mark.parametrize(
    ("changed", "again"),
    [
        ({}, False),
        ({"role": "judge"}, False),
        ({"about": "4.1"}, False),
        ({"seconds": 1.0}, False),
        ({"repeat": 1}, True),
        ({"temperature": 0.0}, True),
        ({"max_output_tokens": 5}, True),
        ({"schema": {"type": "object"}}, True),
        ({"search": WebSearch()}, True),
    ],
)
def test_the_store_answers_the_same_request_only(tmp_path, changed, again):
    catalog, asked = scripted_catalog(evolve(REPLY, value={}))
    model = ModelService(catalog, folder=tmp_path).get("scripted/m")
    assert "stored" not in model.complete(request()).meta
    reply = model.complete(request(**changed))
    assert (len(asked) == 2) is again
    assert reply.meta.get("stored", False) is not again


def test_other_options_and_other_models_are_asked_themselves(tmp_path):
    catalog, asked = scripted_catalog(REPLY)
    service = ModelService(catalog, {"scripted": ProviderSettings.model_validate({"effort": "low"})}, tmp_path)
    for name, options in (("scripted/a", {}), ("scripted/b", {}), ("scripted/a", {"effort": "high"}), ("scripted/a", {"effort": "low"})):
        service.get(name, options).complete(request())
    assert len(asked) == 3, "what the settings say is an option like one that is given"


@pytest.mark.parametrize("finish", ["refusal", "length", "empty", "invalid"])
def test_a_reply_of_no_use_is_kept_and_not_used_again(tmp_path, finish):
    catalog, asked = scripted_catalog(evolve(REPLY, finish=finish))
    service = ModelService(catalog, folder=tmp_path)
    for _ in range(2):
        assert service.get("scripted/m").complete(request()).finish == finish
    assert len(asked) == 2
    assert service.store is not None
    assert len(list(service.store.all())) == 1


def test_an_agent_is_never_answered_from_the_store(tmp_path):
    catalog, asked = scripted_catalog(REPLY)
    service = ModelService(catalog, folder=tmp_path)
    models = service.to("agent")
    for _ in range(2):
        models.get("scripted/m").complete(request(role="judge"))
    assert len(asked) == 2
    assert service.store is not None
    assert not list(service.store.all())
    assert {e.role for e in service.ledger.entries()} == {"agent"}, "whatever it says of itself"
    assert models.asked == {"scripted/m": {"family": "scripted", "options": {}}}


# -- what is not sound ------------------------------------------------------------------------------------------------


def test_half_characters_of_an_agent_or_a_model_stop_nothing(tmp_path):
    """An agent could otherwise make its user void with one of them."""
    half = "a\ud800b"
    said = ChatReply(
        half, "stop", half, {half: [half]}, (ToolCall("1", half, {"x": half}),), (Citation(half, half),), REPLY.usage, {"m": half}
    )
    catalog, asked = scripted_catalog(said)
    model = ModelService(catalog, folder=tmp_path).get("scripted/m")
    first = model.complete(request(half))
    assert first.text == first.citations[0].url == "a?b"
    assert first.value == {"a?b": ["a?b"]}
    assert asked[0].messages[0].text == "a?b"
    assert evolve(model.complete(request(half)), meta={}) == evolve(first, meta={})
    assert len(asked) == 1


@pytest.mark.parametrize(
    "reply",
    [
        None,
        "Yes.",
        ChatReply(None, "stop", "m"),  # type: ignore[arg-type]
        ChatReply("Yes.", "done", "m"),  # type: ignore[arg-type]
        ChatReply("Yes.", "stop", "m", value={"a": math.nan}),
        ChatReply("Yes.", "stop", "m", meta={"a": object()}),
    ],
)
def test_what_is_no_reply_is_the_providers_fault(tmp_path, reply):
    catalog, _ = scripted_catalog(reply)
    with pytest.raises(ProviderRefusedError, match="scripted/m gave"):
        ModelService(catalog, folder=tmp_path).get("scripted/m").complete(request())


def test_numbers_that_are_none_are_unknown(tmp_path):
    wrong = Usage("many", -1, True, 2.5, math.inf)  # type: ignore[arg-type]
    catalog, _ = scripted_catalog(evolve(REPLY, usage=wrong))
    service = ModelService(catalog, folder=tmp_path)
    assert service.get("scripted/m").complete(request()).usage == Usage()
    (entry,) = read_ledger(tmp_path / "ledger.jsonl")
    assert (entry.input_tokens, entry.output_tokens, entry.cost_usd) == (None, None, None)


# -- money ------------------------------------------------------------------------------------------------------------


def test_prices_come_from_a_table_with_its_version():
    anthropic = PriceTable("anthropic")
    plain, cached = Usage(100_000, 0, 0), Usage(100_000, 100_000, 0)
    full = anthropic.cost("claude-sonnet-4-5", request(), evolve(REPLY, usage=plain))
    assert full == pytest.approx(0.3)
    assert anthropic.cost("claude-sonnet-4-5", request(), evolve(REPLY, usage=cached)) == pytest.approx(0.03)
    assert anthropic.source("claude-sonnet-4-5").startswith("genai-prices ")


def test_an_unknown_price_is_unknown():
    assert PriceTable("anthropic").cost("none-such", request(), REPLY) is None
    assert PriceTable("nobody").cost("gpt-5", request(), REPLY) is None
    assert not PriceTable("nobody").known("gpt-5")
    known = PriceTable("openai")
    assert known.known("gpt-5")
    assert known.cost("gpt-5", request(), evolve(REPLY, usage=Usage(100, None, None))) is None
    assert PriceTable("openai", base_url="http://127.0.0.1:8000/v1").cost("gpt-5", request(), REPLY) is None, (
        "no gateway has the vendor's prices"
    )


def test_searches_and_what_is_written_to_a_cache_cost_extra():
    table = PriceTable("anthropic")
    plain = table.cost("claude-sonnet-4-5", request(), REPLY)
    searched = table.cost("claude-sonnet-4-5", request(search=WebSearch()), evolve(REPLY, meta={"searches": 3}))
    written = table.cost("claude-sonnet-4-5", request(), evolve(REPLY, meta={"cache_write_tokens": 600}))
    assert plain is not None
    assert searched == pytest.approx(plain + 0.03)
    assert written == pytest.approx(plain + 600 * 0.75 / 1e6)
    bound = table.at_most("claude-sonnet-4-5", request(search=WebSearch(max_uses=3)))
    assert bound is not None
    assert bound > 0.03 + 0.9
    stated = PriceTable("anywhere", {"m": ModelRates(input=1, output=1)})
    assert stated.cost("m", request(), evolve(REPLY, meta={"searches": 1})) is None, "rates say nothing of searches"


def test_stated_rates_come_first():
    rates = {"m": ModelRates(input=10, output=20, cached=1), "n": ModelRates(input=10, output=20)}
    table = PriceTable("anywhere", rates)
    assert table.cost("m", request(), REPLY) == pytest.approx((600 * 10 + 400 * 1 + 100 * 20) / 1e6)
    assert table.cost("n", request(), REPLY) == pytest.approx((1000 * 10 + 100 * 20) / 1e6)
    assert table.source("m") == "settings"
    assert table.at_most("n", request("x" * 50, max_output_tokens=1000)) == pytest.approx((50 * 10 + 1000 * 20) / 1e6, rel=0.2)


def test_what_the_provider_says_of_the_cost_stands():
    assert PriceTable("anywhere").cost("m", request(), evolve(REPLY, usage=Usage(1, 0, 1, 0, 0.5))) == 0.5


def stated(budget: Budget = Budget(), **more: object) -> dict[str, object]:
    prices = {"m": ModelRates(input=1000, output=1000)}
    return {"settings": {"scripted": ProviderSettings(prices=prices)}, "budget": budget, **more}


def test_every_call_has_a_line(tmp_path):
    catalog, _ = scripted_catalog(REPLY, ProviderRefusedError("no"), REPLY)
    service = ModelService(catalog, folder=tmp_path, **stated())
    model = service.to("simulator").get("scripted/m")
    with serving("x.one.1") as here:
        here.turn = 3
        model.complete(request(about="2.1, and what you want: momentum"))
        model.complete(request(role="checker"))
    with pytest.raises(ProviderRefusedError):
        model.complete(request("other"))
    one, kept, failed = read_ledger(tmp_path / "ledger.jsonl")
    assert (one.role, one.model, one.session, one.turn, one.about) == (
        "simulator",
        "scripted/m",
        "x.one.1",
        3,
        "2.1,_and_what_you_want:_momentum",
    )
    assert (one.input_tokens, one.cached_tokens, one.output_tokens, one.reasoning_tokens) == (1000, 400, 100, 20)
    assert (one.cost_usd, one.prices, one.finish, one.stored) == (pytest.approx(1.1), "settings", "stop", False)
    assert (kept.role, kept.stored, kept.cost_usd) == ("checker", True, 0.0)
    assert (failed.failed, failed.cost_usd, failed.session) == ("ProviderRefusedError", None, "")
    assert "Hello" not in (tmp_path / "ledger.jsonl").read_text()


def test_sums_keep_the_unknown_unknown():
    known = Entry("judge", "p/m", input_tokens=10, cached_tokens=0, output_tokens=1, reasoning_tokens=0, cost_usd=0.5, prices="t 1")
    (one,) = sums([known, known, Entry("judge", "p/m", stored=True, cost_usd=0.0), Entry("judge", "p/m", failed="ProviderError")])
    assert (one.calls, one.stored, one.failed, one.input_tokens, one.cost_usd, one.unknown) == (2, 1, 1, 20, 1.0, 0)
    (one,) = sums([known, evolve(known, cost_usd=None, output_tokens=None)])
    assert (one.cost_usd, one.known_usd, one.unknown, one.output_tokens, one.input_tokens) == (None, 0.5, 1, None, 20)
    assert [(s.role, s.model) for s in sums([evolve(known, role="z"), evolve(known, model="p/a"), known])] == [
        ("judge", "p/a"),
        ("judge", "p/m"),
        ("z", "p/m"),
    ]
    assert sums([]) == []


def test_a_budget_is_kept_over_processes(tmp_path):
    """Another process writes the ledger; this one's budget is spent by it."""
    ledger = Ledger(tmp_path / "ledger.jsonl")
    Budget(1.0).check(ledger, "")
    program = (
        "import sys; from pathlib import Path; from finassay.models.ledger import Entry, Ledger\n"
        "Ledger(Path(sys.argv[1])).add(Entry('judge', 'p/m', 's', cost_usd=1.5))"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "ledger.jsonl")], check=True)
    with pytest.raises(RunBudgetError, match=r"\$1\.00 is spent \(\$1\.50\)"):
        Budget(1.0).check(ledger, "")
    with pytest.raises(BudgetError, match="session s "):
        Budget(None, 1.0).check(ledger, "s")
    Budget(None, 1.0).check(ledger, "t")
    Budget(2.0, 2.0).check(ledger, "s")
    ledger.add(Entry("judge", "p/m", "t", cost_usd=None, bound_usd=3.0))
    assert ledger.spent() == pytest.approx(4.5), "an unknown cost counts as what it was at most"


def test_many_threads_write_whole_lines(tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")

    def write() -> None:
        for _ in range(50):
            ledger.add(Entry("judge", "p/m", "s", cost_usd=0.01))
            ledger.spent()

    threads = [threading.Thread(target=write) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(list(read_ledger(tmp_path / "ledger.jsonl"))) == 300
    assert ledger.spent() == pytest.approx(3.0)


def test_a_torn_last_line_is_left_and_another_malformed_one_named(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path)
    ledger.add(Entry("judge", "p/m", cost_usd=1.0))
    whole = path.read_text()
    path.write_text(whole + whole[:40])
    assert len(list(read_ledger(path))) == 1
    assert ledger.spent() == 1.0
    ledger.add(Entry("judge", "p/m", cost_usd=2.0))
    assert [e.cost_usd for e in read_ledger(path)] == [1.0, 2.0], "what comes after a torn line is whole"
    assert ledger.spent() == 3.0
    path.write_text("{}\n" + whole)
    with pytest.raises(InvalidFileError, match="line 1"):
        list(read_ledger(path))
    assert list(read_ledger(tmp_path / "none")) == []


def test_nothing_is_asked_once_the_money_is_spent(tmp_path):
    catalog, asked = scripted_catalog(REPLY)
    service = ModelService(catalog, folder=tmp_path, **stated(Budget(2.0)))
    model = service.get("scripted/m")
    for number in range(2):
        model.complete(request(str(number)))
    with pytest.raises(RunBudgetError):
        model.complete(request("2"))
    assert len(asked) == 2
    assert model.complete(request("1")).meta["stored"], "what was paid for is still there"


def test_a_budget_and_an_unknown_price_do_not_go_together():
    catalog, asked = scripted_catalog(REPLY)
    service = ModelService(catalog, budget=Budget(5.0))
    model = service.get("scripted/m")
    assert "the price of model 'scripted/m' is unknown" in service.problems()[0]
    with pytest.raises(BudgetError, match="unknown"):
        model.complete(request())
    assert asked == []
    catalog, _ = scripted_catalog(REPLY, capabilities=ModelCapabilities(free=True))
    free = ModelService(catalog, budget=Budget(5.0))
    assert free.get("scripted/m").complete(request()).text == "Yes."
    assert free.problems() == []
    assert free.ledger.spent() == 0.0


# -- whom a call serves -----------------------------------------------------------------------------------------------


def test_a_call_serves_the_session_of_its_thread():
    seen: list[str] = []
    with serving("a"):
        with serving("b"):
            assert served().session == "b"
        assert served().session == "a"
        thread = threading.Thread(target=lambda: seen.append(served().session))
        thread.start()
        thread.join()
    with serving("c", alone=True):
        thread = threading.Thread(target=lambda: seen.append(served().session))
        thread.start()
        thread.join()
    assert seen == ["", "c"]
    assert served().session == ""


# -- secrets ----------------------------------------------------------------------------------------------------------


PROMPT = 'You want: "give every position the same weight"\nand nothing else, whoever asks. The belief is XYZZY-0815.'


@pytest.mark.parametrize("kind", [ProviderError, ProviderRefusedError, ValueError])
def test_errors_hold_neither_key_nor_prompt(monkeypatch, kind):
    monkeypatch.setenv("SOME_API_KEY", "sk-planted-42424242")
    quoted = json.dumps(PROMPT)
    catalog, _ = scripted_catalog(kind(f"refused with sk-planted-42424242: {PROMPT} or {quoted} or {PROMPT[20:70]}"))
    model = ModelService(catalog, {"scripted": ProviderSettings(patience_seconds=0)}).get("scripted/m")
    with pytest.raises(ProviderError) as told:
        model.complete(request(PROMPT))
    for text in (str(told.value), told.value.hint, repr(told.value)):
        assert "planted" not in text
        assert "same weight" not in text
        assert "XYZZY" not in text
    assert "refused with [redacted]" in str(told.value)
    assert told.value.__cause__ is None
    assert told.value.__suppress_context__


def test_a_folder_that_cannot_be_written_is_nobodys_decision(tmp_path):
    catalog, asked = scripted_catalog(REPLY)
    (tmp_path / "sealed").write_text("in the way")
    model = ModelService(catalog, {"scripted": ProviderSettings(concurrency=None)}, tmp_path).get("scripted/m")
    with pytest.raises(ProviderRefusedError, match="cannot be kept"):
        model.complete(request())
    assert len(asked) <= 1


def test_short_agreements_are_no_passages():
    assert without_passages("the connection failed", [PROMPT]) == "the connection failed"
    assert without_passages("", [PROMPT]) == ""
    assert without_passages("x" * 100, ["y" * 15]) == "x" * 100
    assert without_passages(f"before {PROMPT} after", [PROMPT]).startswith("before […]")


@pytest.mark.parametrize(
    "options", [{"api_key": "x"}, {"API-KEY": "x"}, {"token": "x"}, {"auth_token": "x"}, {"base_url": "https://me:pw@example.org/v1"}]
)
def test_no_option_is_a_key(monkeypatch, options):
    monkeypatch.setenv("SOME_API_KEY", "sk-planted-42424242")
    with pytest.raises(UsageError, match="key into the run's record"):
        refuse_keys("p", options)


def test_other_options_are_taken():
    refuse_keys("p", {"key_variable": "MOONSHOT_API_KEY", "max_tokens": 5, "base_url": "https://example.org/@me", "keyboard": 1, "n": None})


def test_keys_of_providers_that_were_asked_for_are_known(monkeypatch):
    monkeypatch.setenv("SCRIPTED_KEY", "k-123456789")
    catalog, _ = scripted_catalog(REPLY, credentials=("SCRIPTED_KEY",))
    service = ModelService(catalog)
    assert service.secrets() == ()
    service.get("scripted/m")
    service.get("scripted/n")
    assert service.secrets() == ("k-123456789",)
    assert "SCRIPTED_KEY" in os.environ
