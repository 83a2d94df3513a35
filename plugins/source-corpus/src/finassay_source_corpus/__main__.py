"""`python -m finassay_source_corpus`: look after a folder, or serve it over MCP."""

import argparse
import logging
import sys
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path

from finassay.api.errors import FinassayError
from finassay_source_corpus.source import CorpusOptions, CorpusSource


def main(arguments: list[str] | None = None) -> int:
    """Exit code 2 and one line for what cannot be done."""
    parser = _parser()
    given = parser.parse_args(arguments)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO if given.what == "index" else logging.WARNING, format="%(message)s")
    if not given.folder.is_dir():
        print(f"error: there is no folder {str(given.folder)!r}", file=sys.stderr)
        return 2
    source = CorpusSource(CorpusOptions(folder=given.folder, cache=given.cache))
    try:
        {"index": _index, "search": _search, "find": _find, "serve": _serve}[given.what](source, given)
    except FinassayError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m finassay_source_corpus", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="what", required=True)
    for name, words in (
        ("index", "bring the index up to date and tell what the folder holds, and what of it is not there and why"),
        ("search", "search pages as of a day, and tell how many undated documents are left out"),
        ("find", "list documents as of a day"),
        ("serve", "serve MCP on stdin and stdout"),
    ):
        command = commands.add_parser(name, help=words, allow_abbrev=False)
        command.add_argument("--cache", type=Path, help="folder for the index")
        if name != "index":
            today = None if name == "serve" else datetime.now(UTC).date()
            command.add_argument("--cutoff", type=date.fromisoformat, metavar="YYYY-MM-DD", required=name == "serve", default=today)
        if name in ("search", "find"):
            command.add_argument("--limit", type=int, default=10)
        command.add_argument("folder", type=Path)
        if name in ("search", "find"):
            command.add_argument("query", nargs="+")
    return parser


def _index(source: CorpusSource, given: argparse.Namespace) -> None:
    for item in source.items():
        print(f"{item.published or 'undated':>10}  {item.published_basis:<12}  {item.pages:>5}  {item.reference}  {item.title}")
    for problem in source.problems():
        print(f"not taken: {problem}")
    print(_lost(source, ""))


def _search(source: CorpusSource, given: argparse.Namespace) -> None:
    query = " ".join(given.query)
    for passage in source.search(query, given.cutoff, given.limit):
        text = " ".join(passage.text.split())
        print(f"{passage.score:8.3f}  {passage.item.published}  {passage.item.reference}  page {passage.page or '-'}\n    {text[:300]}")
    print(_lost(source, query))


def _find(source: CorpusSource, given: argparse.Namespace) -> None:
    for item in source.find(" ".join(given.query), given.cutoff, given.limit):
        print(f"{item.published}  {item.reference}  {item.title}")
    print(_lost(source, ""))


def _lost(source: CorpusSource, query: str) -> str:
    lost = source.unseen(query)
    which = f": {', '.join(lost[:20])}{', …' if len(lost) > 20 else ''}" if lost else ""
    about = "have pages with all these words but are" if query else "are"
    return f"{len(lost)} documents {about} undated, or dated before they can have been written, and so not there{which}"


def _serve(source: CorpusSource, given: argparse.Namespace) -> None:
    from finassay_source_corpus.server import make_server, serve

    source.problems()  # indexes, before the first question is waited for
    serve(make_server(source, given.cutoff, version("finassay-source-corpus")))


if __name__ == "__main__":
    sys.exit(main())
