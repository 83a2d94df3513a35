"""HTML to pages of text: a line for each block and for each row of a table, new pages where the document breaks them."""

import re
from typing import Any, Final

from finassay_source_corpus.text import RawPage, UnreadableError, sections

BLOCKS: Final = frozenset(
    (
        "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "div", "dl", "dt", "figcaption", "footer", "form", "h1", "h2",
        "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "tr", "ul", "title",
    )
)  # fmt: skip
SKIPPED: Final = frozenset(("script", "style", "noscript", "template", "iframe", "object", "svg", "head"))
_BREAK: Final = re.compile(r"(?:page-break|break)-(before|after)\s*:\s*(?:always|page)", re.IGNORECASE)
_HIDDEN: Final = re.compile(r"display\s*:\s*none", re.IGNORECASE)
PAGE: Final = "\f"


def pages_of_html(data: bytes) -> list[RawPage]:
    """The text of a page as a reader sees it. Raises `UnreadableError`."""
    text = text_of_html(data)
    if PAGE in text:
        return [RawPage(number, page) for number, page in enumerate((p for p in text.split(PAGE) if p.strip()), start=1)]
    return sections(text)


def text_of_html(data: bytes) -> str:
    """Text with a line for each block and row; a form feed where the document begins a new page. What is hidden is left out."""
    from lxml import etree

    parser = etree.HTMLParser(no_network=True, remove_comments=True, remove_pis=True, huge_tree=False, encoding=_encoding(data))
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        raise UnreadableError("not HTML that can be read") from error
    if root is None:
        raise UnreadableError("not HTML that can be read")
    walk = _Walk()
    walk.over(root)
    return walk.text()


def _encoding(data: bytes) -> str | None:
    """UTF-8 where the bytes are that; else what the document declares."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return "utf-8"


class _Walk:
    """Gathers lines over a tree, without recursion."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.pieces: list[str] = []

    def over(self, root: Any) -> None:
        stack: list[tuple[Any, bool]] = [(root, False)]
        while stack:
            element, leaving = stack.pop()
            if leaving:
                self._leave(element)
                continue
            tag = element.tag if isinstance(element.tag, str) else ""
            style = element.get("style", "")
            if tag and tag not in SKIPPED and not _HIDDEN.search(style) and element.get("hidden") is None and tag != "ix:header":
                self._enter(element, tag, style)
                stack.append((element, True))
                stack.extend((child, False) for child in reversed(element))
            else:
                self.pieces.append(element.tail or "")

    def _enter(self, element: Any, tag: str, style: str) -> None:
        if tag in BLOCKS and not (tag in ("div", "p") and _in_cell(element)):
            self.end_line()
        if (match := _BREAK.search(style)) and match[1].lower() == "before":
            self.page()
        if tag == "br":
            self.pieces.append(" ") if _in_cell(element) else self.end_line()
        if tag in ("td", "th"):
            self.pieces.append(" ")
        self.pieces.append(element.text or "")

    def _leave(self, element: Any) -> None:
        tag, style = element.tag, element.get("style", "")
        if tag in BLOCKS:
            if tag in ("div", "p") and _in_cell(element):
                self.pieces.append(" ")
            else:
                self.end_line()
        if (match := _BREAK.search(style)) and match[1].lower() == "after":
            self.page()
        if tag in ("td", "th"):
            self.pieces.append(" ")
        self.pieces.append(element.tail or "")

    def end_line(self) -> None:
        line = re.sub(r"[ \t\r\n\u00a0]+", " ", "".join(self.pieces)).strip()
        self.pieces = []
        if line:
            self.lines.append(_joined(line))

    def page(self) -> None:
        self.end_line()
        self.lines.append(PAGE)

    def text(self) -> str:
        self.end_line()
        return re.sub(r"\n?\f\n?", PAGE, "\n".join(line.replace(PAGE, " ") if line != PAGE else line for line in self.lines))


def _in_cell(element: Any) -> bool:
    return any(True for _ in element.iterancestors("td", "th"))


def _joined(line: str) -> str:
    """Signs that tables set in cells of their own, back at their figures: `$ 1,234`, `( 12 )`, `5.1 %`."""
    line = re.sub(r"([$€£¥])\s+(?=[\d(])", r"\1", line)
    line = re.sub(r"\(\s+(?=[$€£¥]?\d)", "(", line)
    return re.sub(r"(?<=\d)\s+(?=[)%])", "", line)
