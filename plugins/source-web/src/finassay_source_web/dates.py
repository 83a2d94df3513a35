"""Days of publication: as providers tell them, and as pages tell them in metadata that publishers keep for machines."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, Final

from attrs import frozen

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WORDS: Final = (
    re.compile(r"(?P<month>[a-z]{3,9})\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<year>(?:19|20)\d\d)", re.IGNORECASE),
    re.compile(r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\s+(?P<month>[a-z]{3,9})\.?,?\s+(?P<year>(?:19|20)\d\d)", re.IGNORECASE),
)
_ARTICLES: Final = re.compile(
    r"(?:article|blogposting|posting|report|pressrelease|webpage|creativework|dataset|document|review)$", re.IGNORECASE
)
_META: Final = {
    "published": re.compile(
        r"(?:og:)?(?:article:)?published_time|datepublished|dc(?:terms)?\.(?:date|issued|date\.issued)|citation_(?:publication|online)_date|parsely-pub-date|sailthru\.date|"
        r"pubdate|publish-date|publication_date|date"
    ),
    "modified": re.compile(
        r"(?:og:)?(?:article:)?modified_time|og:updated_time|datemodified|dc(?:terms)?\.(?:date\.)?modified|last-modified|revised"
    ),
}
MAX_LD: Final = 500_000
"""Characters of one block of JSON-LD."""
MAX_OBJECTS: Final = 2_000


@frozen
class Told:
    """What a page tells. `modified` is None where it tells nothing later than `published`."""

    published: date | None = None
    modified: date | None = None

    @property
    def available(self) -> date | None:
        """The day from which the page may be read as it is now: that of its last change, never without one of publication."""
        return None if self.published is None else max(self.published, self.modified or self.published)


def day_of(text: str) -> date | None:
    """A day in ISO form or in English words, `April 30, 2025`; None for anything else, such as `3 days ago`."""
    text = text.strip()[:60]
    match = re.match(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?!\d)", text) or re.fullmatch(r"(\d{4})(\d\d)(\d\d)(?:T.*)?", text)
    if match:
        return _date(int(match[1]), int(match[2]), int(match[3]))
    for pattern in _WORDS:
        if found := pattern.match(text):
            name = found["month"].lower()[:3]
            return _date(int(found["year"]), _MONTHS.index(name) + 1, int(found["day"])) if name in _MONTHS else None
    return None


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def told_by(data: bytes) -> Told:
    """What an HTML page tells in JSON-LD, meta elements and microdata. Of several days the latest holds; addresses, headers and words tell none."""
    from lxml import etree

    parser = etree.HTMLParser(no_network=True, remove_comments=True, remove_pis=True, huge_tree=False, encoding=_encoding(data))
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError, LookupError):
        return Told()
    if root is None:
        return Told()
    published: list[date] = []
    modified: list[date] = []
    for kind, text in (*_linked(root), *_meta(root), *_microdata(root)):
        if day := day_of(text):
            (published if kind == "published" else modified).append(day)
    first = max(published, default=None)
    last = max(modified, default=None)
    return Told(first, last if first and last and last > first else None)


def _encoding(data: bytes) -> str | None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return "utf-8"


def _linked(root: Any) -> Iterator[tuple[str, str]]:
    for script in root.iter("script"):
        if (script.get("type") or "").split(";")[0].strip().lower() != "application/ld+json" or len(script.text or "") > MAX_LD:
            continue
        try:
            raw = json.loads(script.text or "")
        except (ValueError, RecursionError):
            continue
        for one in _objects(raw):
            kinds = one.get("@type")
            named = [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if isinstance(kind, str)]
            if any(_ARTICLES.search(kind) for kind in named):
                for name, kind in (("datePublished", "published"), ("dateModified", "modified")):
                    if isinstance(one.get(name), str):
                        yield kind, one[name]


def _objects(raw: Any) -> Iterator[Mapping[str, Any]]:
    """Objects at the top, in lists and in `@graph`, and what pages say they are mainly about; not those further inside."""
    todo = [raw]
    for _ in range(MAX_OBJECTS):
        if not todo:
            return
        one = todo.pop()
        if isinstance(one, list):
            todo += one[:MAX_OBJECTS]
        elif isinstance(one, Mapping):
            yield one
            todo += [one[name] for name in ("@graph", "mainEntity", "mainEntityOfPage") if name in one]


def _meta(root: Any) -> Iterator[tuple[str, str]]:
    for element in root.iter("meta"):
        names = {(element.get(attribute) or "").strip().lower() for attribute in ("property", "name", "itemprop")}
        text = element.get("content") or ""
        yield from ((kind, text) for kind, pattern in _META.items() if any(pattern.fullmatch(name) for name in names))


def _microdata(root: Any) -> Iterator[tuple[str, str]]:
    for element in root.iter("time", "span", "div", "p"):
        name = (element.get("itemprop") or "").strip().lower()
        if name in ("datepublished", "datemodified"):
            yield "published" if name == "datepublished" else "modified", element.get("datetime") or element.get("content") or ""
