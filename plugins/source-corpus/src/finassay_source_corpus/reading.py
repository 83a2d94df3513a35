"""Files to pages of text, within bounds. A file that cannot be read so is refused whole, with the reason; nothing is cut off unseen."""

import gzip
import json
import re
import zlib
from datetime import date
from pathlib import Path
from typing import Final

from attrs import frozen

MAX_FILE: Final = 256 * 2**20
MAX_TEXT: Final = 64 * 2**20
"""Bytes of a document's text, unpacked."""
MAX_PAGES: Final = 5_000
MAX_PAGE: Final = 1_000_000
"""Characters of a page."""
SECTION: Final = 200_000
"""Characters after which a text without pages is cut into sections, at a line's end."""
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
Word = tuple[str, float, float, float, float]


class UnreadableError(Exception):
    """Why a file is not taken."""


@frozen
class RawPage:
    """A page before it has a digest."""

    number: int | None
    text: str
    words: tuple[Word, ...] = ()


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
            data = _unpacked(path)
            pages = {"text": pages_of_text, "html": _html, "pages": pages_of_lines}[kind](data)
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


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        if b"\0" in data[:4096]:
            raise UnreadableError("not text") from None
        return data.decode("cp1252", "replace")


def pages_of_text(data: bytes) -> list[RawPage]:
    """Pages at form feeds; without any, one page without a number, or sections of a long text."""
    text = _decoded(data)
    if "\f" in text:
        return [RawPage(number, page) for number, page in enumerate(text.split("\f"), start=1)]
    return sections(text)


def sections(text: str) -> list[RawPage]:
    """A text without pages: one page without a number, or numbered sections of bounded length, cut at a line's end."""
    if len(text) <= SECTION:
        return [RawPage(None, text)]
    parts: list[str] = []
    start = 0
    while start < len(text):
        end = start + SECTION
        if end < len(text):
            end = max(text.rfind("\n", start, end) + 1, 0) or end
        parts.append(text[start:end])
        start = end
    return [RawPage(number, part) for number, part in enumerate(parts, start=1)]


def _html(data: bytes) -> list[RawPage]:
    from finassay_source_corpus.html import pages_of_html

    return pages_of_html(data)


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


_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_COVER: Final = re.compile(
    r"for\s+the\s+(?:fiscal\s+year|year|annual\s+period|(?:fiscal\s+)?quarter|quarterly\s+period|(?:three|six|nine|twelve)\s+months)\s+ended:?\s+"
    rf"({'|'.join(_MONTHS)})\s+(\d{{1,2}})\s*,\s*((?:19|20)\d\d)",
    re.IGNORECASE,
)


def reported_end(pages: list[RawPage]) -> date | None:
    """The end of the period that a report's cover names (`For the fiscal year ended December 31, 2021`), where it does."""
    found: list[date] = []
    for page in pages[:3]:
        for month, day, year in _COVER.findall(page.text[:20_000]):
            try:
                found.append(date(int(year), _MONTHS.index(month.lower()) + 1, int(day)))
            except ValueError:
                continue
    return max(found, default=None)


_REGISTRANT: Final = re.compile(r"\(\s*exact\s+name\s+of\s+(?:the\s+)?registrant", re.IGNORECASE)


def registrant(pages: list[RawPage]) -> str:
    """The issuer's full name as a report's cover gives it above `(Exact name of registrant as specified in its charter)`; else nothing."""
    for page in pages[:3]:
        text = page.text[:20_000].replace("\r", "")
        match = _REGISTRANT.search(text)
        above = text[: match.start()].rstrip() if match else ""
        line = above[above.rfind("\n") + 1 :][-120:]
        if len(line) > 1:
            name = re.sub(
                r"^.*commission\s+file\s+(?:number|no)\b[\s.:]*[\d-]*[\s.]*", "", re.sub(r"[_\s]+", " ", line), flags=re.IGNORECASE
            )
            return name.strip(" -.*") if re.search(r"[^\W\d]", name) else ""
    return ""
