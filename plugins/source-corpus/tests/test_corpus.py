"""A folder as a source: cutoffs, changes, formats, hostile files, a copied index."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest
from corpora import INCOME, filing, filings
from pdfs import pdf

from finassay.api.errors import InvalidFileError, UsageError
from finassay.api.source import NotThereError
from finassay_source_corpus import reading
from finassay_source_corpus.__main__ import main
from finassay_source_corpus.folder import CACHE, cache_folder
from finassay_source_corpus.source import CorpusOptions, CorpusSource

LATE = date(2022, 1, 1)
DATA = Path(__file__).parents[4] / "shared" / "data" / "financebench" / "corpus"


def source(folder, **more):
    return CorpusSource(CorpusOptions(folder=folder, **more))


def described(folder, rows):
    (folder / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def given(reference, **more):
    return {"reference": reference, "published": "2020-01-01", **more}


# -- dates ------------------------------------------------------------------------------------------------------------


def test_what_is_undated_or_dated_too_early_is_lost_and_counted(tmp_path):
    made = source(filings(tmp_path))
    assert {p.item.reference for p in made.search("revenue", LATE)} == {"ACME_2019_10K", "ACME_2018_10K"}
    assert made.unseen() == ("EARLY_2019_10K", "ZETA_2019_10K")
    assert made.unseen("zeta revenue") == ("ZETA_2019_10K",)
    assert made.unseen("tariffs") == ()
    for reference in made.unseen():
        with pytest.raises(NotThereError):
            made.open(reference, LATE)
    assert [p.split(":")[0] for p in made.problems()] == ["GONE_2019_10K"]


def test_the_day_of_publication_counts(tmp_path):
    made = source(filings(tmp_path))
    assert [i.reference for i in made.find("Acme", date(2020, 2, 20))] == ["ACME_2019_10K", "ACME_2018_10K"]
    assert [i.reference for i in made.find("Acme", date(2020, 2, 19))] == ["ACME_2018_10K"]
    item = made.find("Acme Tools 10-K 2019", LATE)[0]
    assert (item.published_basis, item.period_end, item.meta["form"]) == ("signature", date(2019, 12, 31), "10k")


def test_files_with_answers_are_no_documents(tmp_path):
    filings(tmp_path)
    made = source(tmp_path)
    assert [p for p in made.problems() if p.startswith("questions.jsonl")]
    assert all("questions" not in item.reference for item in made.items())


def test_a_date_that_somebody_gives_is_believed(tmp_path):
    filing(tmp_path, "a", ["For the fiscal year ended December 31, 2019"])
    described(tmp_path, [given("a")])
    assert source(tmp_path).open("a", LATE).item.published_basis == "given"


# -- changes ----------------------------------------------------------------------------------------------------------


def test_an_index_follows_its_files(tmp_path):
    corpus = filings(tmp_path)
    assert source(corpus).search("tariffs", LATE)
    before = source(corpus).open("ACME_2018_10K", LATE)
    filing(corpus, "ACME_2019_10K", ["A new annual report about copper", INCOME])
    made = source(corpus)
    assert made.search("tariffs", LATE) == []
    assert [p.page for p in made.search("copper", LATE)] == [1]
    assert made.open("ACME_2018_10K", LATE) == before
    (corpus / "ACME_2019_10K.jsonl.gz").unlink()
    assert source(corpus).search("copper", LATE) == []
    rows = (tmp_path / "documents.jsonl").read_text("utf-8")
    (tmp_path / "documents.jsonl").write_text(rows.replace("2019-02-20", "2019-02-28").replace('"Zeta"', '"Omega"'), "utf-8")
    made = source(corpus)
    assert [i.published for i in made.find("Acme", LATE)] == [date(2019, 2, 28)]
    assert made.unseen("omega") == ("ZETA_2019_10K",)


def test_an_index_made_in_steps_answers_as_one_made_at_once(tmp_path):
    corpus = filings(tmp_path)
    stepwise = source(corpus, cache=tmp_path / "one")
    stepwise.items()
    filing(corpus, "NEW_2020", ["annual report about revenue and steel"])
    filing(corpus, "ACME_2018_10K", ["another annual report about revenue"])
    first = source(corpus, cache=tmp_path / "one").search("annual report revenue steel", LATE)
    assert first == source(corpus, cache=tmp_path / "two").search("annual report revenue steel", LATE)


def test_a_build_that_was_killed_goes_on(tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number in range(400):
        filing(corpus, f"d{number:03}", [f"annual report {number} revenue"] * 20)
    described(corpus, [given(f"d{number:03}") for number in range(400)])
    command = [sys.executable, "-m", "finassay_source_corpus", "index", str(corpus)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    file = corpus / CACHE / "corpus-1.sqlite"
    deadline = time.monotonic() + 60
    while not (file.exists() and file.stat().st_size > 150_000) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait(30) == -signal.SIGKILL
    made = source(corpus)
    assert len(made.items()) == 400
    assert len(made.search("revenue", LATE, 200)) == 200


def test_an_index_that_was_copied_along_is_not_believed(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    filing(first, "a", ["annual report of today"])
    described(first, [given("a")])
    assert source(first).search("today", LATE)
    shutil.copytree(first, second)
    filing(first, "a", ["annual report that was planted"])
    shutil.copy(second / "a.jsonl.gz", first / "kept")
    source(first).items()
    shutil.copytree(first / CACHE, second / CACHE, dirs_exist_ok=True)
    assert source(second).search("planted", LATE) == []
    assert source(second).search("today", LATE)


@pytest.mark.parametrize("junk", [b"", b"not a database", b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_broken_index_is_built_anew(tmp_path, junk):
    corpus = filings(tmp_path)
    cache_folder(corpus).mkdir()
    (cache_folder(corpus) / "corpus-1.sqlite").write_bytes(junk)
    assert source(corpus).search("revenue", LATE)


def test_a_folder_that_cannot_be_written_is_indexed_elsewhere(tmp_path, monkeypatch):
    corpus = filings(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    corpus.chmod(0o555)
    try:
        assert source(corpus).search("revenue", LATE)
        assert not (corpus / CACHE).exists()
        assert list((tmp_path / "cache").rglob("*.sqlite"))
    finally:
        corpus.chmod(0o755)


def test_several_builders_at_once(tmp_path):
    corpus = filings(tmp_path)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: source(corpus).search("revenue", LATE), range(6)))
    assert found[0]
    assert all(one == found[0] for one in found)


# -- formats ----------------------------------------------------------------------------------------------------------


def test_every_format(tmp_path):
    (tmp_path / "a.txt").write_text("first page copper\fsecond page zinc", "utf-8")
    (tmp_path / "b.md").write_text("# Notes\n\nlead in the annual report", "utf-8")
    (tmp_path / "c.html").write_text("<h1>Tin</h1><table><tr><td>Revenue</td><td>$</td><td>5</td></tr></table>", "utf-8")
    (tmp_path / "d.pdf").write_bytes(pdf([[(20, 80, "Nickel 1,234")], [(20, 80, "page two")]]))
    with gzip.open(tmp_path / "e.jsonl.gz", "wt") as file:
        file.write('{"page": 3, "text": "silver \\ud800 gold"}\n{"page": 2, "text": "x"}\n')
    described(tmp_path, [given(name) for name in ("a", "b.md", "c", "d")] + [given("metals", file="e.jsonl.gz")])
    made = source(tmp_path)
    places = {word: [(p.item.reference, p.page) for p in made.search(word, LATE)] for word in ("zinc", "lead", "tin", "nickel", "gold")}
    assert places == {"zinc": [("a", 2)], "lead": [("b.md", None)], "tin": [("c", None)], "nickel": [("d", 1)], "gold": [("metals", 3)]}
    assert made.open("c", LATE).pages[0].text == "Tin\nRevenue $5"
    assert made.open("metals", LATE).pages[1].text == "silver \ud800 gold"
    page = made.open("d", LATE).pages[0]
    assert page.text.strip() == "Nickel 1,234"
    word, x0, top, x1, bottom = page.words[1]
    assert word == "1,234"
    assert 20 < x0 < x1 < 100
    assert 5 < top < bottom < 25


def test_our_own_metadata_in_toml(tmp_path):
    (tmp_path / "a.txt").write_text("annual report of Blue", "utf-8")
    (tmp_path / "documents.toml").write_text(
        '[[document]]\nreference = "blue-2019"\nfile = "a.txt"\ntitle = "Blue"\npublisher = "Blue AG"\nnames = ["BLU"]\n'
        'published = 2020-03-01\npublished_basis = "filing index"\nperiod_end = 2019-12-31\nurl = "https://example.com/a"\n',
        "utf-8",
    )
    (item,) = source(tmp_path).find("BLU", LATE)
    assert (item.reference, item.published, item.period_end, item.publisher) == (
        "blue-2019",
        date(2020, 3, 1),
        date(2019, 12, 31),
        "Blue AG",
    )


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"reference": ""}',
        '{"reference": "a", "published": "yesterday"}',
        '{"reference": "a", "extra": 1}',
        "[1]",
        '{"reference": "a"}\n{"reference": "a"}',
    ],
)
def test_bad_metadata_name_their_line(tmp_path, text):
    (tmp_path / "a.txt").write_text("x", "utf-8")
    (tmp_path / "documents.jsonl").write_text(text, "utf-8")
    with pytest.raises(InvalidFileError) as error:
        source(tmp_path).items()
    assert "documents.jsonl" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_slip_in_metadata_is_told_in_plain_words(tmp_path):
    (tmp_path / "a.txt").write_text("x", "utf-8")
    for row, line, hint in (
        ({"reference": "a", "titel": "x"}, "unknown key 'titel'", "Did you mean 'title'?"),
        ({"reference": "a", "published": "yesterday"}, "published takes a date, and is 'yesterday'", "For example: 2019-12-31"),
    ):
        (tmp_path / "documents.jsonl").write_text(json.dumps(row), "utf-8")
        with pytest.raises(InvalidFileError, match=line) as error:
            source(tmp_path).items()
        assert hint in error.value.hint


def test_two_files_of_one_reference_are_refused(tmp_path):
    for name in ("a.txt", "a.md"):
        (tmp_path / name).write_text("x", "utf-8")
    described(tmp_path, [given("a")])
    with pytest.raises(UsageError, match=r"two files are 'a'"):
        source(tmp_path).items()


# -- hostile files ----------------------------------------------------------------------------------------------------


def test_hostile_files_are_refused_each_with_its_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MAX_TEXT", 2_000_000)
    with gzip.open(tmp_path / "bomb.txt.gz", "wb") as file:
        file.write(b"annual report " * 400_000)
    with gzip.open(tmp_path / "page.jsonl.gz", "wt") as file:
        file.write(json.dumps({"page": 1, "text": "x" * 1_500_000}))
    whole = gzip.compress(b'{"page": 1, "text": "annual report"}' * 50)
    files = {
        "broken.jsonl.gz": whole[: len(whole) // 2],
        "nogzip.txt.gz": b"annual report",
        "binary.txt": b"\x00\xff\xfe\x80" * 99,
        "deep.jsonl": b"[" * 100_000,
        "twice.jsonl": b'{"page": 1, "text": "a"}\n{"page": 1, "text": "b"}\n',
        "zero.jsonl": b'{"page": 0, "text": "a"}\n',
        "true.jsonl": b'{"page": true, "text": "a"}\n',
        "empty.txt": b"",
        "bad.pdf": b"%PDF-1.4\n" + b"\xff" * 500,
        "cut.pdf": pdf([[(20, 80, "Nickel")]])[:200],
        "none.html": b"<!-- -->",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    described(tmp_path, [given(name) for name in (*files, "bomb", "page")])
    made = source(tmp_path)
    assert made.items() == ()
    assert {p.split(":")[0] for p in made.problems()} == {*files, "bomb", "page"}
    assert all("\n" not in p for p in made.problems())


def test_deep_html_is_bounded(tmp_path):
    (tmp_path / "deep.html").write_text("<div>" * 50_000 + "annual report" + "</div>" * 50_000, "utf-8")
    (tmp_path / "wide.html").write_text("<table>" + "<tr><td>annual<td>report" * 20_000, "utf-8")
    described(tmp_path, [given("deep"), given("wide")])
    assert {"wide"} <= {p.item.reference for p in source(tmp_path).search("annual report", LATE)}


def test_links_do_not_lead_out(tmp_path):
    corpus, outside = tmp_path / "corpus", tmp_path / "outside"
    corpus.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text("annual report secret", "utf-8")
    (corpus / "a.txt").write_text("annual report", "utf-8")
    (corpus / "out.txt").symlink_to(outside / "secret.txt")
    (corpus / "folder").symlink_to(outside)
    (corpus / "loop").symlink_to(corpus)
    (corpus / "gone.txt").symlink_to(corpus / "nowhere.txt")
    os.mkfifo(corpus / "pipe.txt")
    described(corpus, [given("a"), given("out"), given("secret"), given("../outside/secret.txt", file="../outside/secret.txt")])
    made = source(corpus)
    assert [i.reference for i in made.items()] == ["a"]
    assert made.search("secret", LATE) == []


# -- words ------------------------------------------------------------------------------------------------------------


def test_search_reads_what_extraction_broke(tmp_path):
    (tmp_path / "a.txt").write_text(
        "Net\u00a0sales of e\ufb03cient manu\ufffe\nfacturing grew.\n" + "filler\n" * 500 + "Capital expenditures were 86,392.", "utf-8"
    )
    described(tmp_path, [given("a")])
    made = source(tmp_path)
    for query in ("manufacturing", "efficient", "net sales", '"net sales" OR (', "86,392", "capital expenditure"):
        assert made.search(query, LATE), query
    (passage,) = made.search("capital expenditures", LATE)
    assert "86,392" in passage.text
    assert len(passage.text) <= 900
    assert passage.text in made.open("a", LATE).pages[0].text


def test_the_command_line(tmp_path, capsys):
    corpus = filings(tmp_path)
    assert main(["index", str(corpus)]) == 0
    out = capsys.readouterr().out
    assert "2 documents are undated" in out
    assert "not taken: GONE_2019_10K" in out
    assert main(["search", "--cutoff", "2021-01-01", str(corpus), "zeta", "revenue"]) == 0
    assert "1 documents have pages with all these words but are undated" in capsys.readouterr().out
    assert main(["find", str(corpus), "Acme", "10-K", "2018"]) == 0
    assert "ACME_2018_10K" in capsys.readouterr().out
    assert main(["find", str(tmp_path / "none"), "x"]) == 2


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are absent")
def test_real_filings(tmp_path):
    made = source(DATA, cache=tmp_path)
    rows = [json.loads(line) for line in (DATA.parent / "documents.jsonl").read_text("utf-8").splitlines()]
    assert len(made.items()) == len(rows)
    assert made.problems() == ()
    assert set(made.unseen()) == {row["doc_name"] for row in rows if not row["signed"]}
    for item in made.items():
        if item.published and item.meta["form"] in ("10k", "10q"):
            assert item.period_end is not None
            assert item.reference in {
                i.reference for i in made.find(f"{item.publisher} {item.meta['form']} {item.meta['period']}", item.published)
            }
