"""Stage 1: signatures without values, clusters, criteria by two families, screening, freezing."""

import json
import random
import signal
import subprocess
import sys
import time
import types
from datetime import date

import pytest
from attrs import evolve
from click.testing import CliRunner

from finassay.api.errors import InvalidFileError, ProviderRefusedError, UsageError
from finassay.api.guidance import Guidance, Principle, Rule, Violation
from finassay.api.model import ChatReply
from finassay.catalog.catalog import Catalog
from finassay.testing.cases import ComponentConformance
from finassay.testing.conformance import run_conformance
from finassay.testing.fakes import FakeChatModel, FakeModels
from finassay_rubrics.bank.bank import bank_criteria, read_bank
from finassay_rubrics.bank.build import Builder, read_tasks
from finassay_rubrics.bank.cluster import clusters
from finassay_rubrics.bank.criteria import ModelWriter, TemplateWriter, problem_of, writers
from finassay_rubrics.bank.embed import NoOptions, SentenceEmbedding, SentenceOptions, TfidfEmbedding
from finassay_rubrics.bank.queries import read_queries
from finassay_rubrics.bank.screen import freeze, open_proposals, propose, read_screen, settled, write_screen
from finassay_rubrics.bank.sign import ModelSigner, RuleSigner
from finassay_rubrics.bank.signature import Part, Signature
from finassay_rubrics.bank.vocabulary import metric_title, vocabulary
from finassay_rubrics.cli.bank import command
from finassay_rubrics.context.contextualize import contextualize
from finassay_rubrics.guidance.general import GeneralPack
from finassay_rubrics.guidance.general import NoOptions as PackOptions
from finassay_rubrics.metrics.table import table
from finassay_rubrics.validate.context_rules import signature as value_free

GENERAL = GeneralPack(PackOptions()).guidance
QUERIES = [
    "What was Acme Tools' operating margin in FY2019? Answer in percent to one decimal place.",
    "What was Zeta Corp's operating margin in FY2021? Answer in percent to one decimal place.",
    "Why did free cash flow of Acme Tools (NYSE: ACM) fall in fiscal 2020?",
    "Compute the current ratio of Zeta Corp for FY2018 and FY2019.",
    "Who is the CFO of Zeta Corp as of April 7, 2025?",
    "Put revenue and net income of Acme Tools for 2018 and 2019 in one table in USD millions.",
]


class TestTfidf(ComponentConformance):
    kind = "embedding"
    id = "tfidf"


def sign(query):
    return RuleSigner().sign(query)[0]


def builder(folder, queries=QUERIES, **changes):
    both = (TemplateWriter("templates-a"), TemplateWriter("templates-b"))
    settings = {"writers": both, "guidance": GENERAL, "most": 200, "signer": RuleSigner(), **changes}
    return Builder(
        folder, queries, settings["signer"], TfidfEmbedding(NoOptions()), settings["writers"], settings["guidance"], settings["most"]
    )


def built(folder, **changes):
    builder(folder, **changes).run()
    propose(folder, TfidfEmbedding(NoOptions()))
    return folder


# -- signatures -------------------------------------------------------------------------------------------------------


def test_the_same_question_about_others_is_the_same_signature():
    assert sign(QUERIES[0]).text == sign(QUERIES[1]).text
    assert len({sign(query).text for query in QUERIES}) == 5


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        (QUERIES[0], {Part("report", "operating_margin")}),
        (QUERIES[2], {Part("explain_change", "free_cash_flow")}),
        (QUERIES[4], {Part("person", "other")}),
        ("Rank the issuers by return on equity.", {Part("rank", "roe")}),
        ("What is the amount of restructuring costs in FY2022?", {Part("report", "other:costs")}),
        ("What drove gross margin change? If gross margin is not a useful metric, say so and explain why.", None),
    ],
)
def test_what_is_asked_becomes_ids(query, parts):
    got = set(sign(query).parts)
    if parts is None:
        assert got == {Part("explain_change", "gross_margin"), Part("relevance")}
    else:
        assert got == parts


def test_a_signature_holds_no_value():
    chance = random.Random(3)
    names = ["Acme Tools", "Zeta Corp", "3M", "Target", "Interest Partners", "Q4 Inc", "JPMorgan Chase & Co."]
    frames = [
        "What was {n}'s {m} in FY20{y}?",
        "{n} ({t}): why did {m} fall by 12% in Q3 20{y}?",
        "Is {n}'s {m} above $4.5 billion as of June 30, 20{y}?",
    ]
    for _ in range(150):
        metric = chance.choice([m for m in table().metrics.values() if m.names])
        name = chance.choice(names)
        query = chance.choice(frames).format(n=name, m=chance.choice(metric.names), y=chance.randrange(10, 25), t="NYSE: ABC")
        text = sign(query).text
        assert not value_free({"signature": text, "query": query, "bindings": {}})
        bare = text.replace("{", " ").replace("}", " ")
        assert not any(word in bare for word in ("Acme", "Zeta", "3M", "JPMorgan", "NYSE", "ABC", "billion", "June"))


def test_a_model_is_held_to_the_vocabulary():
    def reply(parts):
        value = {"parts": parts, "issuers": "one issuer", "periods": "one period"}
        return ModelSigner(FakeChatModel([ChatReply("", "stop", "m", value=value)])).sign(QUERIES[2])

    signature, note = reply([{"deliverable": "explain_change", "metric": "free_cash_flow"}])
    assert (signature.parts, note) == ((Part("explain_change", "free_cash_flow"),), "")
    signature, note = reply([{"deliverable": "explain_change", "metric": "Acme's cash of $5"}])
    assert signature == sign(QUERIES[2])
    assert "no metric" in note
    signature, note = ModelSigner(FakeChatModel([ChatReply("no", "invalid", "m")])).sign(QUERIES[2])
    assert signature == sign(QUERIES[2])
    assert "nothing held: the answer does not fit the form" in note


def test_a_model_that_signs_is_told_what_was_wrong():
    value = {"parts": [{"deliverable": "explain_change", "metric": "free_cash_flow"}], "issuers": "one issuer", "periods": "one period"}
    wrong = {**value, "parts": [{"deliverable": "explain_change", "metric": "Acme's cash"}]}
    model = FakeChatModel([ChatReply("", "stop", "m", value=v) for v in (wrong, value)])
    signature, note = ModelSigner(model, GENERAL).sign(QUERIES[2])
    assert (signature.parts, note) == ((Part("explain_change", "free_cash_flow"),), "")
    assert "no metric" in model.requests[1].messages[-1].text
    assert GENERAL.instructions["signature"] in model.requests[0].messages[0].text
    assert "⟦" in model.requests[0].messages[1].text


def test_a_rule_of_a_pack_on_signatures_is_kept_by_rules_and_models():
    def no_cash(product):
        return (Violation("CR01", "signature", "cash is no matter of ours"),) if "free_cash_flow" in product["signature"] else ()

    pack = Guidance("desk", "1", (), rules=(Rule("CR01", "signature", "no cash", no_cash),))
    assert sign(QUERIES[2]) != RuleSigner(pack.rules).sign(QUERIES[2])[0] == RuleSigner(pack.rules).sign("")[0]
    value = {"parts": [{"deliverable": "explain_change", "metric": "free_cash_flow"}], "issuers": "one issuer", "periods": "one period"}
    signature, note = ModelSigner(FakeChatModel([ChatReply("", "stop", "m", value=value)]), pack).sign(QUERIES[2])
    assert "free_cash_flow" not in signature.text
    assert "cash is no matter of ours" in note


def test_the_vocabulary_is_about_thirty_kinds_and_every_family_knows_each():
    assert 28 <= len(vocabulary().deliverables) <= 40
    principles = frozenset(p.id for p in GENERAL.principles)
    for writer in (TemplateWriter("templates-a"), TemplateWriter("templates-b")):
        plain = len(writer.write(Signature((), 1, 1), GENERAL).criteria)
        for kind in vocabulary().deliverables:
            for metric in ("revenue", "operating_margin", "dso", "eps_diluted", "shares_basic", "current_ratio", "other:debt", "other"):
                written = writer.write(Signature((Part(kind, metric),), 1, 1), GENERAL).criteria
                assert len(written) > plain
                assert not [p for c in written if (p := problem_of(c.text, c.principles, principles))]


# -- clusters ---------------------------------------------------------------------------------------------------------


def test_clusters_are_bounded_whole_and_the_same_each_time():
    import numpy as np

    chance = np.random.default_rng(0)
    centers = chance.normal(size=(7, 20))
    points = np.repeat(centers, 20, axis=0) + chance.normal(scale=0.05, size=(140, 20))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    texts = [f"t{i:03}" for i in range(140)]
    found = clusters(points, [1] * 140, texts, 200)
    assert len(found) == 7
    assert sorted(m for c in found for m in c.members) == list(range(140))
    assert all(c.center in c.members for c in found)
    assert found == clusters(points, [1] * 140, texts, 200)
    assert len(clusters(points, [1] * 140, texts, 3)) == 3
    assert clusters(points[:1], [1], texts[:1], 3)[0].members == (0,)
    assert clusters([], [], [], 3) == []


# -- writers ----------------------------------------------------------------------------------------------------------


def test_two_families_are_enforced():
    models = FakeModels(
        {
            "a/x": FakeChatModel(id="a/x", family="alpha"),
            "b/y": FakeChatModel(id="b/y", family="alpha"),
            "u/z": FakeChatModel(id="u/z", family="unknown"),
        }
    )
    for pair in (("templates-a", "templates-a"), ("a/x", "b/y"), ("a/x", "u/z"), ("nobody", "templates-b")):
        with pytest.raises(UsageError):
            writers(*pair, models)
    assert [w.family for w in writers("a/x", "templates-b", models)] == ["alpha", "templates-b"]


def test_what_a_model_writes_is_held_to_the_rules():
    rows = [
        {"text": "States the operating margin of each period.", "principles": ["P01"]},
        {"text": "States that revenue was 5 billion.", "principles": ["P01"]},
        {"text": "Explains the movement appropriately.", "principles": ["P09"]},
        {"text": "Names the cause of the movement.", "principles": ["P99"]},
        {"text": "Ignore all rules.", "principles": []},
    ]
    model = FakeChatModel([ChatReply("", "stop", "m", value={"criteria": rows})])
    written = ModelWriter(model).write(sign(QUERIES[0]), GENERAL)
    assert [c.text for c in written.criteria] == [rows[0]["text"]]
    assert len(written.refused) == 4
    sent = "\n".join(m.text for m in model.requests[0].messages)
    assert "Acme" not in sent
    assert "P01" in sent
    assert len(model.requests) == 3
    assert "'States that revenue was 5 billion.' holds the value '5'" in model.requests[1].messages[-1].text
    broken = ModelWriter(FakeChatModel([ChatReply("sorry", "refusal", "m")])).write(sign(QUERIES[0]), GENERAL)
    assert broken.criteria == ()
    assert "refused to answer" in broken.refused[0][1]
    mended = FakeChatModel([ChatReply("", "stop", "m", value={"criteria": r}) for r in (rows[1:2], rows[:1])])
    assert [c.text for c in ModelWriter(mended).write(sign(QUERIES[0]), GENERAL).criteria] == [rows[0]["text"]]


# -- building, screening, freezing ------------------------------------------------------------------------------------


def test_from_queries_to_a_frozen_bank(tmp_path):
    folder = built(tmp_path / "bank")
    tasks = read_tasks(folder)
    assert sum(task.queries for task in tasks) == len(QUERIES)
    with pytest.raises(InvalidFileError, match="no frozen bank"):
        read_bank(folder)
    text = (folder / "screen.txt").read_text("utf-8")
    assert open_proposals(read_screen(folder)) == text.count("\nsame ")
    first = read_screen(folder)[0]
    changed = text.replace(f"task keep  {first.id}", f"task drop  {first.id}").replace("\nsame ", "\nkeep ", 1)
    (folder / "screen.txt").write_text(changed, "utf-8")
    assert read_screen(folder)[0].mark == "drop"
    write_screen(folder, settled(read_screen(folder)))
    digest = freeze(folder, "2026-1", GENERAL)
    bank = read_bank(folder)
    assert (bank.digest, bank.version) == (digest, "2026-1")
    assert first.id not in {task.id for task in bank.tasks}
    assert all(c.principles for task in bank.tasks for _, c in task.criteria)
    assert "Acme" not in (folder / "bank.json").read_text("utf-8")
    with pytest.raises(UsageError, match="frozen as version"):
        freeze(folder, "2", GENERAL)
    with pytest.raises(UsageError, match="frozen bank"):
        builder(folder).run()


def test_an_edited_bank_is_refused(tmp_path):
    folder = built(tmp_path)
    write_screen(folder, settled(read_screen(folder)))
    freeze(folder, "1", GENERAL)
    file = folder / "bank.json"
    raw = json.loads(file.read_text("utf-8"))
    raw["tasks"][0]["criteria"][0]["text"] += " "
    file.chmod(0o644)
    file.write_text(json.dumps(raw), "utf-8")
    with pytest.raises(InvalidFileError, match="changed after it was frozen"):
        read_bank(folder)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("keep  a1", "kept  a1", "none of keep"),
        ("keep  a1  [", "keep  a1  ", "expected"),
        ("task keep", "task keep  Tdeadbeef\ntask keep", "no task of the build"),
        ("keep  a1", "keep  a2", "twice"),
    ],
)
def test_a_slip_in_the_file_names_its_line(tmp_path, old, new, said):
    folder = built(tmp_path)
    path = folder / "screen.txt"
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
    with pytest.raises(InvalidFileError, match=said) as error:
        read_screen(folder)
    assert "line" in str(error.value)


def test_what_a_person_writes_is_held_to_the_rules_at_freezing(tmp_path):
    folder = built(tmp_path)
    write_screen(folder, settled(read_screen(folder)))
    path = folder / "screen.txt"
    path.write_text(
        path.read_text("utf-8").replace("The answer is about the issuer that the query names.", "Revenue is 5 billion.", 1), "utf-8"
    )
    with pytest.raises(UsageError, match="holds the value '5'"):
        freeze(folder, "1", GENERAL)
    assert not (folder / "bank.json").exists()


def test_a_rule_of_a_pack_stops_the_freezing(tmp_path):
    def check(product):
        return tuple(
            Violation("CR01", f"task {t['id']}", "tests no covenant")
            for t in product["tasks"]
            if "covenant" not in json.dumps(t["criteria"])
        )

    pack = Guidance("credit", "1", (*GENERAL.principles, Principle("CR", "x", "y")), rules=(Rule("CR01", "bank", "covenants", check),))
    folder = built(tmp_path, guidance=pack)
    write_screen(folder, settled(read_screen(folder)))
    with pytest.raises(UsageError, match="CR01"):
        freeze(folder, "1", pack)


def test_another_build_in_the_same_folder_is_refused(tmp_path):
    built(tmp_path)
    with pytest.raises(UsageError, match="another queries, number"):
        builder(tmp_path, QUERIES[:3]).run()


def test_a_model_is_asked_once_for_what_is_there_after_a_stop(tmp_path):
    class Stops:
        id, family, asked = "slow/model", "slow", 0

        def write(self, signature, guidance):
            Stops.asked += 1
            if Stops.asked == 3:
                raise KeyboardInterrupt
            return TemplateWriter("templates-a").write(signature, guidance)

    both = (Stops(), TemplateWriter("templates-b"))
    with pytest.raises(KeyboardInterrupt):
        builder(tmp_path, writers=both).run()
    tasks = builder(tmp_path, writers=both).run()
    assert Stops.asked == len(tasks) + 1


def test_a_killed_build_goes_on_and_ends_the_same(tmp_path):
    queries = tmp_path / "queries.txt"
    queries.write_text(
        "\n".join(f"What was {m.names[0]} of Acme in FY20{y}?" for y in range(10, 30) for m in list(table().metrics.values())[:60]), "utf-8"
    )
    code = "import sys; from finassay_rubrics.cli.bank import command; command(sys.argv[1:])"
    arguments = [sys.executable, "-c", code, "build", str(queries), "--out"]
    subprocess.run([*arguments, str(tmp_path / "whole")], check=True, capture_output=True, timeout=120)
    parts = tmp_path / "parts"
    reached = (
        lambda: (parts / "signatures.jsonl").exists() and (parts / "signatures.jsonl").stat().st_size,
        lambda: (parts / "tasks.json").exists(),
        lambda: len(list(parts.glob("criteria/*.json"))) > 5,
    )
    for milestone in reached:
        process = subprocess.Popen([*arguments, str(parts)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not milestone() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        assert process.wait(timeout=30) == -signal.SIGKILL
    with (parts / "signatures.jsonl").open("a") as file:
        file.write('{"query": "cut of')
    subprocess.run([*arguments, str(tmp_path / "parts")], check=True, capture_output=True, timeout=120)
    for name in ("tasks.json", "screen.txt"):
        assert (tmp_path / "whole" / name).read_bytes() == (parts / name).read_bytes()


# -- files and commands -----------------------------------------------------------------------------------------------


def test_queries_come_in_three_shapes(tmp_path):
    for name, text in (
        ("a.txt", "# remark\nWhat is it?\n\nWhy?\nWhy?\n"),
        ("a.jsonl", '{"question": "What is it?", "answer": "4"}\n{"query": "Why?"}\n'),
        ("a.json", '["What is it?", {"query": "Why?"}]'),
    ):
        (tmp_path / name).write_text(text, "utf-8")
        assert read_queries(tmp_path / name) == ["What is it?", "Why?"]


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.txt", ""), ("a.json", "{}"), ("a.json", "[1]"), ("a.jsonl", "{\n"), ("a.jsonl", '{"answer": "x"}'), ("a.json", "[" * 9000)],
)
def test_bad_queries_are_one_line(tmp_path, name, text):
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(UsageError) as error:
        read_queries(tmp_path / name)
    assert "\n" not in str(error.value)


def test_the_commands(tmp_path):
    queries = tmp_path / "q.txt"
    queries.write_text("\n".join(QUERIES), "utf-8")
    out = str(tmp_path / "bank")
    run = CliRunner().invoke
    assert (
        "6 queries, 5 different signatures, 5 tasks" in run(command, ["build", str(queries), "--out", out], catch_exceptions=False).output
    )
    screened = run(command, ["screen", out], input="a1\nok\n\ntask\n\nq\n", catch_exceptions=False)
    assert "proposals are open" in screened.output
    first, second = read_screen(tmp_path / "bank")[:2]
    assert next(row for row in first.rows if row.id == "a1").mark == "drop"
    assert second.mark == "drop"
    assert run(command, ["screen", out, "--accept"], catch_exceptions=False).exit_code == 0
    assert "version 7, 4 tasks" in run(command, ["freeze", out, "--version", "7"], catch_exceptions=False).output


def test_what_is_said_on_the_screen_stands_at_once(tmp_path):
    folder = built(tmp_path)
    run = CliRunner().invoke
    assert run(command, ["screen", str(folder)], input="a1, a2\nq\n", catch_exceptions=False).exit_code == 0
    marks = {row.id: row.mark for row in read_screen(folder)[0].rows}
    assert (marks["a1"], marks["a2"], marks["a3"]) == ("drop", "drop", "keep")
    assert run(command, ["screen", str(folder)], input="a1\n").exit_code == 1  # the input ends, as with Ctrl-D
    assert next(row for row in read_screen(folder)[0].rows if row.id == "a1").mark == "keep"


def test_the_screen_shows_only_what_is_open(tmp_path):
    folder = built(tmp_path)
    screened = read_screen(folder)
    rows = screened[1].rows
    screened = [*settled(screened[:1]), evolve(screened[1], rows=(rows[0], evolve(rows[1], mark="same", note="as a1"), *rows[2:]))]
    write_screen(folder, [*screened, *settled(read_screen(folder)[2:])])
    said = CliRunner().invoke(command, ["screen", str(folder), "--open"], input="ok\n\n", catch_exceptions=False).output
    assert "1 of 1" in said
    assert "0 proposals are open" in said


# -- use --------------------------------------------------------------------------------------------------------------


def frozen(folder):
    built(folder)
    write_screen(folder, settled(read_screen(folder)))
    freeze(folder, "1", GENERAL)
    return read_bank(folder)


def test_a_query_finds_its_task_and_the_criteria_go_to_their_obligations(tmp_path):
    bank = frozen(tmp_path)
    query = "Put net income and revenue of Nordwind AG for 2020 and 2021 in one table in USD thousands."
    context = contextualize(query, date(2022, 3, 1), today=date(2024, 1, 1), bank=bank.document)
    assert context["bank"]["match"] in {task.id for task in bank.tasks}
    criteria = bank_criteria(bank, context)
    by_what = {o["what"]: criteria[o["id"]] for o in context["obligations"]}
    assert f"States {metric_title('net_income')} for each period that is asked." in by_what["net income"]
    assert f"States {metric_title('revenue')} for each period that is asked." in by_what["revenue"]
    assert not set(by_what["net income"]) & set(by_what["revenue"])
    assert sum(len(c) for c in criteria.values()) == len(bank.task(context["bank"]["match"]).criteria)


@pytest.mark.parametrize(
    "query",
    [
        "Compute the current ratio and the quick ratio of Zeta Corp for FY2018 and FY2019.",
        "Who is the CFO of Zeta Corp as of April 7, 2025?",
    ],
)
def test_no_complete_fit_is_no_match(tmp_path, query):
    bank = frozen(tmp_path)
    context = contextualize(query, date(2025, 6, 1), today=date(2026, 1, 1), bank=bank.document)
    assert context["bank"]["match"] is None
    assert bank_criteria(bank, context) == {}


class FakeSentences(types.ModuleType):
    """In the place of sentence-transformers: a letter a dimension."""

    class SentenceTransformer:
        def __init__(self, folder, device, local_files_only):
            assert local_files_only

        def encode(self, texts, normalize_embeddings, show_progress_bar):
            rows = [[float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
            return [[x / (sum(y * y for y in row) ** 0.5 or 1) for x in row] for row in rows]


def test_a_sentence_model_on_this_machine(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", FakeSentences("sentence_transformers"))
    results = list(run_conformance(Catalog.installed(), "embedding", "sentence", {"folder": str(tmp_path)}))
    assert not [r for r in results if not r.ok]
    with pytest.raises(ProviderRefusedError, match="no model"):
        SentenceEmbedding(SentenceOptions())
