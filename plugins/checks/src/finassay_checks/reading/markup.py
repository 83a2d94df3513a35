"""HTML as text with pipe tables: nothing is executed, fetched or shown; scripts, styles and embedded data are left out."""

from collections.abc import Iterator

from lxml import etree, html

from finassay_checks.reading.content import Content
from finassay_checks.reading.limits import ReadLimits, Unreadable
from finassay_checks.reading.text import decode, plain

_LEFT_OUT = frozenset({"script", "style", "template", "noscript", "svg", "math", "object", "iframe", "head"})
_BLOCKS = frozenset(
    {
        "p",
        "div",
        "section",
        "article",
        "li",
        "ul",
        "ol",
        "br",
        "blockquote",
        "pre",
        "figcaption",
        "caption",
        "header",
        "footer",
        "main",
        "hr",
        "dt",
        "dd",
    }
)
_HEADINGS = {f"h{n}": "#" * n for n in range(1, 7)}
MAX_EVENTS = 2_000_000


def markdown_of(data: str) -> str:
    """The text of an HTML document as Markdown: headings, paragraphs and pipe tables. Raises `Unreadable`."""
    try:
        root = html.document_fromstring(
            data.encode("utf-8", "replace"),
            parser=html.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True),
        )
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as error:
        raise Unreadable(f"is no readable HTML: {str(error)[:120]}") from None
    return "".join(_text(root))


def _text(root: html.HtmlElement) -> Iterator[str]:
    """Depth first without recursion."""
    stack: list[tuple[html.HtmlElement, bool]] = [(root, False)]
    steps = 0
    while stack and steps < MAX_EVENTS:
        element, closing = stack.pop()
        steps += 1
        tag = element.tag if isinstance(element.tag, str) else ""
        if closing:
            if tag in _BLOCKS or tag in _HEADINGS:
                yield "\n\n"
            yield _flat(element.tail)
        elif tag in _LEFT_OUT or not tag:
            yield _flat(element.tail)
        elif tag == "table":
            yield "\n\n" + _table(element) + "\n\n" + _flat(element.tail)
        else:
            if tag in _HEADINGS:
                yield f"\n\n{_HEADINGS[tag]} "
            elif tag in _BLOCKS:
                yield "\n- " if tag == "li" else "\n\n"
            yield _flat(element.text)
            stack.append((element, True))
            stack.extend((child, False) for child in reversed(element))


def _flat(text: str | None) -> str:
    if not text:
        return ""
    flat = " ".join(text.split())
    return (" " if text[0].isspace() else "") + flat + (" " if text[-1].isspace() and flat else "")


def _table(table: html.HtmlElement) -> str:
    """A table as pipe rows; spans are repeated as empty cells, nested tables flattened."""
    lines: list[str] = []
    for row in table.iter("tr"):
        cells: list[str] = []
        for cell in row.iterchildren("td", "th"):
            text = " ".join("".join(t for t in cell.itertext()).split()).replace("|", "\\|")[:2_000]
            span = cell.get("colspan", "1")
            cells += [text, *[""] * (min(int(span), 50) - 1 if span.isdigit() and len(span) < 4 else 0)]
        if cells:
            lines.append("| " + " | ".join(cells[:200]) + " |")
            if len(lines) == 1:
                lines.append("|" + "---|" * len(cells[:200]))
        if len(lines) > 20_000:
            break
    return "\n".join(lines)


def read_html(data: bytes, limits: ReadLimits) -> Content:
    from finassay_checks.reading.markdown import prose_content

    return prose_content(plain(markdown_of(decode(data))))
