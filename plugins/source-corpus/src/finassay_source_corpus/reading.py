"""Files to pages of text, within bounds. A file that cannot be read so is refused whole, with the reason; nothing is cut off unseen."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Final

from finassay_source_corpus.text import MAX_PAGE, MAX_PAGES, MAX_TEXT, RawPage, UnreadableError, pages_of_text

MAX_FILE: Final = 256 * 2**20
SUFFIXES: Final = {
    ".txt": "text",
    ".text": "text",
    ".md": "text",
    ".markdown": "text",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".jsonl": "pages",
    ".ndjson": "pages",
    ".pdf": "pdf",
}


def kind_of(name: str) -> str:
    """How a file of this name is read; empty for one that is no document."""
    lower = name.lower()
    packed = lower.endswith(".gz")
    kind = SUFFIXES.get(Path(lower.removesuffix(".gz")).suffix, "")
    return "" if packed and kind == "pdf" else kind


def stem_of(name: str) -> str:
    """A file's name without the endings that say how it is read."""
    plain = name[:-3] if name.lower().endswith(".gz") else name
    return plain[: -len(Path(plain).suffix)] if Path(plain).suffix.lower() in SUFFIXES else plain


def read_pages(path: Path) -> list[RawPage]:
    """The pages of a document. Raises `UnreadableError`."""
    kind = kind_of(path.name)
    try:
        if path.stat().st_size > MAX_FILE:
            raise UnreadableError(f"larger than {MAX_FILE} bytes")
        if kind == "pdf":
            from finassay_source_corpus.pdf import pages_of_pdf

            pages = pages_of_pdf(path)
        else:
            from finassay_source_corpus.html import pages_of_html

            pages = {"text": pages_of_text, "html": pages_of_html, "pages": pages_of_lines}[kind](_unpacked(path))
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror or error}") from error
    if not pages or not any(page.text.strip() for page in pages):
        raise UnreadableError("holds no text")
    if len(pages) > MAX_PAGES:
        raise UnreadableError(f"more than {MAX_PAGES} pages")
    if any(len(page.text) > MAX_PAGE for page in pages):
        raise UnreadableError(f"a page of more than {MAX_PAGE} characters")
    return pages


def _unpacked(path: Path) -> bytes:
    try:
        with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
            data = file.read(MAX_TEXT + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UnreadableError(f"its compression is broken: {error}") from error
    if len(data) > MAX_TEXT:
        raise UnreadableError(f"more than {MAX_TEXT} bytes of text")
    return data


def pages_of_lines(data: bytes) -> list[RawPage]:
    """JSON lines of `{"page": 1, "text": "…"}`."""
    pages: list[RawPage] = []
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UnreadableError(f"line {number}: not JSON") from error
        if not isinstance(row, dict) or type(row.get("page")) is not int or not isinstance(row.get("text"), str) or row["page"] < 1:
            raise UnreadableError(f"line {number}: not a page: expected an object with page, from 1, and text")
        pages.append(RawPage(row["page"], row["text"]))
        if len(pages) > MAX_PAGES:
            raise UnreadableError(f"more than {MAX_PAGES} pages")
    pages.sort(key=lambda page: page.number or 0)
    if len({page.number for page in pages}) < len(pages):
        raise UnreadableError("a page stands there twice")
    return pages
