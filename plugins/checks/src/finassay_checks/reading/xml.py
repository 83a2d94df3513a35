"""XML statements (those of brokers): every kind of element that holds several values is a table. No entity, network or document type is followed."""

from typing import Any

import pandas as pd
from lxml import etree

from finassay_checks.reading.content import Content, RawTable
from finassay_checks.reading.limits import ReadLimits, Unreadable

MAX_ELEMENTS = 2_000_000
MAX_TABLES = 50
FEWEST = 3
"""Values that an element must hold to be a row."""


def read_xml(data: bytes, limits: ReadLimits) -> Content:
    """One table for each tag whose elements hold at least three values, as attributes or as children with text alone. Raises `Unreadable`."""
    if b"<!DOCTYPE" in data[:100_000] or b"<!ENTITY" in data:
        raise Unreadable("declares a document type or entities, which are not followed")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(data, parser=parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise Unreadable(f"is no readable XML: {str(error)[:120]}") from None
    rows: dict[str, list[dict[str, str]]] = {}
    for count, element in enumerate(root.iter()):
        if count > MAX_ELEMENTS:
            raise Unreadable("holds too many elements", "too-large")
        found = _values(element)
        if len(found) >= FEWEST and isinstance(element.tag, str):
            rows.setdefault(etree.QName(element).localname[:100], []).append(found)
    tables = []
    for tag, records in list(rows.items())[:MAX_TABLES]:
        frame = pd.DataFrame(records)
        if len(frame.columns) > limits.columns or len(frame) > limits.rows or frame.size > limits.cells:
            raise Unreadable("holds a table beyond the limits", "too-large")
        tables.append(RawTable(frame, tag))
    return Content(tables=tuple(tables))


def _values(element: Any) -> dict[str, str]:
    values = {etree.QName(name).localname[:200]: str(value)[:10_000] for name, value in element.attrib.items()}
    for child in element:
        if isinstance(child.tag, str) and not len(child) and not child.attrib and child.text and child.text.strip():
            values.setdefault(etree.QName(child).localname[:200], child.text.strip()[:10_000])
    return values
