"""Notebooks: code cells are code, Markdown cells and outputs are text with tables (spec D.0.2)."""

import json
from typing import Any

from finassay_checks.reading.content import Content
from finassay_checks.reading.limits import ReadLimits, Unreadable
from finassay_checks.reading.text import decode, plain

MAX_CELLS = 2_000


def _joined(source: Any) -> str:
    if isinstance(source, str):
        return source
    return "".join(part for part in source if isinstance(part, str)) if isinstance(source, list) else ""


def _output(output: Any) -> str:
    from finassay_checks.reading.markup import markdown_of

    if not isinstance(output, dict):
        return ""
    data = output.get("data")
    if isinstance(data, dict):
        markup = _joined(data.get("text/html"))
        if "<table" in markup:
            try:
                return markdown_of(markup[:2_000_000])
            except Unreadable:
                pass
        return _joined(data.get("text/markdown")) or _joined(data.get("text/plain"))
    return _joined(output.get("text"))


def read_notebook(data: bytes, limits: ReadLimits) -> Content:
    """Raises `Unreadable`."""
    from finassay_checks.reading.markdown import prose_content

    try:
        book = json.loads(decode(data))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"is no notebook: {str(error)[:120]}") from None
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        raise Unreadable("is no notebook: it has no cells")
    code, prose = [], []
    for cell in cells[:MAX_CELLS]:
        if not isinstance(cell, dict):
            continue
        source = _joined(cell.get("source"))
        if cell.get("cell_type") == "code":
            code.append(source)
            outputs = cell.get("outputs")
            prose += [_output(o) for o in outputs[:50]] if isinstance(outputs, list) else []
        else:
            prose.append(source)
    content = prose_content(plain("\n\n".join(p for p in prose if p.strip())[: limits.text_bytes]))
    return Content(tables=content.tables, prose=content.prose, code=plain("\n\n".join(code)))
