"""How the index grows: `python curve.py FOLDER --counts 48 480 2000`, or `python curve.py --counts 1000 10000` with documents of made-up words.
The folder's documents under other names, again and again, in a folder of their own; prints processor time to build, memory, size on disk and
processor time of queries for each number of documents. Not a test."""

import argparse
import json
import os
import random
import resource
import tempfile
import time
from datetime import date
from pathlib import Path

from finassay_source_corpus.folder import list_folder
from finassay_source_corpus.source import CorpusOptions, CorpusSource

DAY = date(2021, 1, 1)
QUERIES = (
    "net sales",
    "capital expenditures free cash flow",
    "what drove the change in operating margin compared to the prior year",
    "total current liabilities accounts payable inventories",
    "restructuring",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="documents to multiply; made-up ones if left out")
    parser.add_argument("--counts", type=int, nargs="+", default=[48, 480])
    parser.add_argument("--pages", type=int, default=12, help="pages of a made-up document")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = given.folder or made_up(Path(name), 200, given.pages)
        grow(list_folder(folder).found, given.counts)


def made_up(folder: Path, count: int, pages: int) -> Path:
    """Documents whose words are as unevenly common as those of a language, with figures between them."""
    chance = random.Random(7)
    words = ["".join(chance.choice("aeiou" if n % 2 else "bcdfglmnprst") for n in range(chance.randint(3, 10))) for _ in range(20_000)]
    weights = [1 / (rank + 3) for rank in range(len(words))]
    known = [word for query in QUERIES for word in query.split()]
    rows = []
    for number in range(count):
        with (folder / f"made-{number}.jsonl").open("w", encoding="utf-8") as file:
            for page in range(1, pages + 1):
                told = (
                    chance.choices(words, weights, k=280) + [f"{chance.randint(1, 99_999):,}" for _ in range(40)] + chance.sample(known, 6)
                )
                chance.shuffle(told)
                file.write(json.dumps({"page": page, "text": " ".join(told)}) + "\n")
        rows.append(
            {
                "reference": f"made-{number}",
                "publisher": f"{words[number].title()} {words[-number - 1].title()} Inc.",
                "form": "10-K",
                "published": "2020-01-01",
            }
        )
    (folder / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def grow(found, counts) -> None:
    names = sorted({f.entry.publisher for f in found if f.entry.publisher})
    print(
        f"{'documents':>9} {'pages':>8} {'build s':>8} {'memory MB':>9} {'disk MB':>7} {'search ms':>26} {'+company ms':>12} {'find ms':>8} {'open ms':>8}"
    )
    with tempfile.TemporaryDirectory() as name:
        corpus, cache, rows, built, pages = Path(name, "corpus"), Path(name, "cache"), [], 0.0, 0
        corpus.mkdir()
        for count in sorted(counts):
            while len(rows) < count:
                one, copy = found[len(rows) % len(found)], len(rows) // len(found)
                suffix = one.path.name[one.path.name.index(".jsonl") :] if ".jsonl" in one.path.name else one.path.suffix
                reference = f"{one.entry.reference}-{copy}"
                target = corpus / f"{reference}{suffix}"
                try:
                    os.link(one.path, target)
                except OSError:
                    target.write_bytes(one.path.read_bytes())
                company = f"{one.entry.publisher} {copy or ''}".strip()
                rows.append(
                    {"reference": reference, "title": reference, "publisher": company, "form": one.entry.form, "published": "2020-01-01"}
                )
            (corpus / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
            source = CorpusSource(CorpusOptions(folder=corpus, cache=cache))
            started = time.process_time()
            pages = sum(item.pages or 0 for item in source.items())
            built += time.process_time() - started
            size = sum(p.stat().st_size for p in cache.iterdir()) / 1e6
            each = [timed(source.search, q, DAY) for q in QUERIES]
            named = [timed(source.search, f"{n} operating income", DAY) for n in names[:8]]
            finds = [timed(source.find, f"{n} 10-K", DAY) for n in names[:8]]
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            opens = timed(source.open, rows[0]["reference"], DAY)
            spread = f"{min(each):7.0f} to {max(each):7.0f}, mean {sum(each) / len(each):5.0f}"
            print(
                f"{count:>9} {pages:>8} {built:>8.1f} {memory:>9.0f} {size:>7.0f} {spread:>26} {sum(named) / max(len(named), 1):>12.0f} {sum(finds) / max(len(finds), 1):>8.0f} {opens:>8.0f}",
                flush=True,
            )


def timed(call, *arguments) -> float:
    started = time.process_time()
    call(*arguments)
    return (time.process_time() - started) * 1000


if __name__ == "__main__":
    main()
