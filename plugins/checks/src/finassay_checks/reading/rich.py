"""Word documents and PDF as text with pipe tables."""

from pathlib import Path
from typing import Any

from lxml import etree

from finassay_checks.reading.archive import measure, member_bytes
from finassay_checks.reading.content import Content
from finassay_checks.reading.limits import ReadLimits, Unreadable
from finassay_checks.reading.text import plain
from finassay_checks.reading.worker import in_worker

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def _words(element: Any) -> str:
    return "".join(node.text or "" for node in element.iter(f"{_W}t"))


def _paragraph(element: Any) -> str:
    style = element.find(f"{_W}pPr/{_W}pStyle")
    name = (style.get(f"{_W}val") or "") if style is not None else ""
    level = name[-1] if name.lower().startswith("heading") and name[-1:].isdigit() else "1" if name == "Title" else ""
    return f"{'#' * int(level)} {_words(element)}" if level and level != "0" else _words(element)


def _table(element: Any) -> str:
    lines = []
    for row in element.iterchildren(f"{_W}tr"):
        cells = [_words(cell).replace("|", "\\|") for cell in row.iterchildren(f"{_W}tc")][:200]
        lines.append("| " + " | ".join(cells) + " |")
        if len(lines) == 1:
            lines.append("|" + "---|" * len(cells))
    return "\n".join(lines)


def read_docx(path: Path, limits: ReadLimits) -> Content:
    """Headings, paragraphs and tables of a Word document. Raises `Unreadable`."""
    from finassay_checks.reading.markdown import prose_content

    if path.stat().st_size > limits.workbook_bytes:
        raise Unreadable(f"is larger than {limits.workbook_bytes:,} bytes", "too-large")
    measure(path, limits, sheets=False)
    data = member_bytes(path, "word/document.xml", 4 * limits.text_bytes)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        body = etree.fromstring(data, parser).find(f"{_W}body")
    except etree.XMLSyntaxError as error:
        raise Unreadable(f"is no readable Word document: {str(error)[:120]}") from None
    if body is None:
        raise Unreadable("is no readable Word document: it has no body")
    parts = [_table(child) if child.tag == f"{_W}tbl" else _paragraph(child) for child in body.iterchildren(f"{_W}p", f"{_W}tbl")]
    return prose_content(plain("\n\n".join(parts)))


def read_pdf(path: Path, limits: ReadLimits) -> Content:
    """The text of a PDF, without tables. Raises `Unreadable`."""
    if path.stat().st_size > limits.workbook_bytes:
        raise Unreadable(f"is larger than {limits.workbook_bytes:,} bytes", "too-large")
    return Content(prose=plain(in_worker("pdf", path, limits)["text"]))
