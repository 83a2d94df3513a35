"""`make fuzz`: a bounded, coverage-guided run over everything that reads delivered bytes.

python tests/fuzz/fuzz_readers.py SECONDS [CORPUS]

Whatever the bytes, reading ends in content or in `Unreadable`: no other exception, no more than ten seconds an input and 2 GB in all, and,
by an audit hook of the interpreter, no program started, no connection, no object unpickled, no library loaded and no file opened for
writing or taken away. The first violation ends the run and its input is kept in the corpus folder (default: build/fuzz).
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["finassay_checks", "finassay"]):
    import finassay_checks.reading.columnar
    import finassay_checks.reading.delimited
    import finassay_checks.reading.markdown
    import finassay_checks.reading.markup
    import finassay_checks.reading.notebook
    import finassay_checks.reading.rich
    import finassay_checks.reading.structured
    import finassay_checks.reading.worker
    import finassay_checks.roles.plain
    import finassay_checks.roles.wide
    from finassay.api.text import sentences
    from finassay_checks.figures.prose import said
    from finassay_checks.model import Table
    from finassay_checks.reading.files import read_file
    from finassay_checks.reading.limits import ReadLimits, Unreadable
    from finassay_checks.roles.context import Context
    from finassay_checks.roles.plain import plain_roles
    from finassay_checks.roles.shape import shape_of
    from finassay_checks.roles.wide import role_tables

SECONDS_AN_INPUT = 10
MEMORY_MB = 2048
LIMITS = ReadLimits(text_bytes=2**20, json_bytes=2**20, table_bytes=2**22, workbook_bytes=2**20, expanded_bytes=2**24)
SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".md", ".html", ".txt", ".py", ".ipynb", ".parquet", ".xlsx", ".pdf", ".docx")
_FORBIDDEN = (
    *("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "pty.spawn", "socket.connect", "socket.bind"),
    *("pickle.find_class", "ctypes.dlopen", "urllib.Request", "os.remove", "os.rename", "shutil.rmtree"),
)


class Violation(BaseException):
    """What reading must never do; no handler of ours catches it."""


class _Watch:
    """Turns a forbidden action into a violation while it is on."""

    on = False

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.on:
            return
        if event in _FORBIDDEN:
            raise Violation(f"{event} {arguments!r}"[:500])
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise Violation(f"opened {arguments[0]!r} for writing"[:500])


WATCH = _Watch()
sys.addaudithook(WATCH)
sys.dont_write_bytecode = True


@contextmanager
def watched() -> Iterator[None]:
    WATCH.on = True
    try:
        yield
    finally:
        WATCH.on = False


def read(path: Path, suffix: str) -> None:
    """What grading does with a file: read it, and find what roles its tables play and what figures its text states."""
    if suffix in (".xlsx", ".pdf"):  # in this process, so that coverage and the watch see them; grading gives them one of their own
        parse = finassay_checks.reading.worker.workbook if suffix == ".xlsx" else finassay_checks.reading.worker.pdf
        try:
            parse(path, LIMITS)
        except Unreadable:
            raise
        except Exception as error:  # the worker answers any of them with `Unreadable`
            raise Unreadable(type(error).__name__) from error
        return
    content = read_file(path, f"results/delivered{suffix}", LIMITS)
    context = Context("America/New_York", frozenset())
    for number, raw in enumerate(content.tables):
        table = Table(f"delivered{suffix}#{number}", f"delivered{suffix}", 1, True, raw.frame, ())
        if len(table.frame) and len(table.frame.columns):
            shape = shape_of(table, frozenset(), "America/New_York")
            role_tables(shape, context)
            plain_roles(shape)
    if content.prose:
        sentences(content.prose)
        list(said(content.prose))


def one_input(path: Path, data: bytes) -> None:
    """The first byte chooses the kind of file, the rest is what it holds."""
    if not data:
        return
    suffix = SUFFIXES[data[0] % len(SUFFIXES)]
    path.write_bytes(data[1:])
    try:
        with watched():
            read(path, suffix)
    except Unreadable:
        pass


def seeds() -> Iterator[bytes]:
    """Small well-formed files of every kind."""
    import pandas as pd

    fills = pd.DataFrame(
        {"date": ["2016-01-04", "2016-02-01"], "ticker": ["AAPL", "KO"], "side": ["BUY", "SELL"], "shares": [10, 5], "price": [26.3, 42.1]}
    )
    wide = pd.DataFrame({"date": ["2016-01-04", "2016-01-05"], "AAPL": [26.3, 25.9], "KO": [42.1, 42.0]})
    for frame in (fills, wide):
        parquet, workbook = io.BytesIO(), io.BytesIO()
        frame.to_parquet(parquet)
        frame.to_excel(workbook, index=False)
        by_suffix = {
            ".csv": frame.to_csv(index=False).encode(),
            ".tsv": frame.to_csv(index=False, sep="\t").encode(),
            ".json": frame.to_json(orient="split").encode(),
            ".jsonl": frame.to_json(orient="records", lines=True).encode(),
            ".html": frame.to_html().encode(),
            ".parquet": parquet.getvalue(),
            ".xlsx": workbook.getvalue(),
            ".md": b"# Report\n\nThe Sharpe ratio was 1.2 and the drawdown (3.1)%.\n\n| metric | value |\n|---|---|\n| CAGR | 7 % |\n",
            ".ipynb": b'{"cells": [{"cell_type": "code", "source": ["x = 1"], "outputs": [{"text": ["1"]}]}], "nbformat": 4}',
        }
        for suffix, data in by_suffix.items():
            yield bytes([SUFFIXES.index(suffix)]) + data


def main() -> None:
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    corpus = Path(sys.argv[2] if len(sys.argv) > 2 else "build/fuzz")
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds()):
        (corpus / f"seed-{number:02}").write_bytes(data)
    scratch = corpus / ".scratch"
    options = [f"-max_total_time={seconds}", f"-timeout={SECONDS_AN_INPUT}", f"-rss_limit_mb={MEMORY_MB}", "-max_len=65536"]
    options += [f"-artifact_prefix={corpus}/found-", "-print_final_stats=1", "-verbosity=1"]
    for data in seeds():  # imports happen here, where opening and compiling is allowed
        WATCH.on = False
        scratch.write_bytes(data[1:])
        try:
            read(scratch, SUFFIXES[data[0]])
        except Unreadable as error:
            raise SystemExit(f"a well-formed seed is unreadable: {error}") from error
    atheris.Setup([sys.argv[0], *options, str(corpus)], lambda data: one_input(scratch, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
