"""Plain text as pages, within bounds, and what every reader of a kind of file shares: the page and the refusal."""

from typing import Final

from attrs import frozen

MAX_TEXT: Final = 64 * 2**20
"""Bytes of a document's text, unpacked."""
MAX_PAGES: Final = 5_000
MAX_PAGE: Final = 1_000_000
"""Characters of a page."""
SECTION: Final = 200_000
"""Characters after which a text without pages is cut into sections, at a line's end."""
Word = tuple[str, float, float, float, float]


class UnreadableError(Exception):
    """Why a file is not taken."""


@frozen
class RawPage:
    """A page before it has a digest."""

    number: int | None
    text: str
    words: tuple[Word, ...] = ()


def decoded(data: bytes) -> str:
    """UTF-8, else Western European. Raises `UnreadableError` for what is no text."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        if b"\0" in data[:4096]:
            raise UnreadableError("not text") from None
        return data.decode("cp1252", "replace")


def pages_of_text(data: bytes) -> list[RawPage]:
    """Pages at form feeds; without any, one page without a number, or sections of a long text."""
    text = decoded(data)
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
