"""The index of a folder in one SQLite file: pages by words (FTS5, BM25), documents by name, text as it was extracted.

FTS5 was chosen over others because it is in Python itself (public domain, no package, no service), keeps the index on disk and exact (no
pruning), changes one document at a time, and survives being killed.
"""

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

from attrs import asdict, frozen

from finassay.api.errors import UsageError
from finassay.api.source import SourceItem
from finassay_source_corpus.cover import registrant, reported_end
from finassay_source_corpus.folder import Found, Listing
from finassay_source_corpus.metadata import Entry
from finassay_source_corpus.names import form_of, key_of
from finassay_source_corpus.reading import read_pages
from finassay_source_corpus.search import indexed
from finassay_source_corpus.text import RawPage, UnreadableError

VERSION: Final = 1
"""Of the file's shape and of how text is extracted; another one is built anew."""
BATCH: Final = 16
"""Documents between two commits."""
LAG: Final = timedelta(days=5)
"""A report is not published sooner after the end of what it reports."""
SCHEMA: Final = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE documents (
  id INTEGER PRIMARY KEY, reference TEXT UNIQUE NOT NULL, size INTEGER NOT NULL, changed INTEGER NOT NULL, digest TEXT NOT NULL, problem TEXT NOT NULL,
  pages INTEGER NOT NULL, reported_end TEXT, registrant TEXT NOT NULL, available TEXT, head TEXT NOT NULL, entry TEXT NOT NULL);
CREATE TABLE pages (id INTEGER PRIMARY KEY, document INTEGER NOT NULL, number INTEGER, text BLOB NOT NULL, words BLOB);
CREATE INDEX pages_of ON pages (document);
CREATE VIRTUAL TABLE found USING fts5 (head, body, content='', tokenize='porter unicode61 remove_diacritics 2');
"""


@frozen
class Row:
    """A document in the index. `available` is the day from which it may be read; None for one that is undated, or whose date cannot be."""

    id: int
    entry: Entry
    digest: str
    problem: str
    pages: int
    reported_end: date | None
    registrant: str
    available: date | None

    def item(self, source: str) -> SourceItem:
        e = self.entry
        meta = {name: value for name, value in (("form", e.form), ("period", e.period)) if value}
        published = self.available
        return SourceItem(
            source, e.reference, e.title, published, e.published_basis if published else "", e.publisher, e.url,
            e.period_end or self.reported_end, self.pages, {**e.meta, **meta},
        )  # fmt: skip


@frozen
class Index:
    """An index file. Connections last for one call, so it may be used from several threads."""

    path: Path

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True, timeout=60)) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=60)) as connection:
            yield connection

    def rows(self) -> list[Row]:
        with self.reading() as connection:
            return [_row(raw) for raw in connection.execute(f"{_SELECT} ORDER BY reference")]

    def pages(self, document: int) -> list[RawPage]:
        """A document's pages with words, as extracted."""
        with self.reading() as connection:
            found = connection.execute("SELECT number, text, words FROM pages WHERE document = ? ORDER BY id", (document,)).fetchall()
        return [RawPage(number, unpacked(text), _words(words)) for number, text, words in found]


_SELECT: Final = "SELECT id, entry, digest, problem, pages, reported_end, registrant, available FROM documents"


def _row(raw: tuple[Any, ...]) -> Row:
    id, entry, digest, problem, pages, reported, registrant, available = raw
    return Row(id, _entry(json.loads(entry)), digest, problem, pages, _day(reported), registrant, _day(available))


def _entry(raw: dict[str, Any]) -> Entry:
    days = {name: _day(raw[name]) for name in ("published", "period_end")}
    return Entry(**{**raw, **days, "names": tuple(raw["names"])})


def _day(text: str | None) -> date | None:
    return None if text is None else date.fromisoformat(text)


def unpacked(text: bytes) -> str:
    return zlib.decompress(text).decode("utf-8", "surrogatepass")


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)


def _words(raw: bytes | None) -> tuple[Any, ...]:
    return () if raw is None else tuple((w, x0, top, x1, bottom) for w, x0, top, x1, bottom in json.loads(zlib.decompress(raw)))


def believable(entry: Entry, reported: date | None) -> date | None:
    """The day from which a document may be read: none where it is undated, or dated before it can have been written."""
    end = entry.period_end or reported
    if entry.published is None or end is None or entry.published_basis in ("given", "filing index"):
        return entry.published
    return entry.published if entry.published > end + LAG else None


# -- building ---------------------------------------------------------------------------------------------------------


def bring_up_to_date(index: Index, listing: Listing, root: Path, told: Callable[[int, int], None] = lambda done, of: None) -> None:
    """Build what is missing and change what changed. May be killed at any time and run again. One writer at a time, behind a lock."""
    from filelock import FileLock

    index.path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(index.path.with_suffix(".lock")):
            _prepare(index, root)
            with index.writing() as connection:
                _Update(connection, listing).run(told)
    except sqlite3.Error as error:
        raise UsageError(f"the index {index.path} cannot be used: {error}", hint="Delete it; it is built again.") from error


def _prepare(index: Index, root: Path) -> None:
    """An index made by another version, or for another folder (one that was copied along), is begun anew."""
    status = root.stat()
    made_for = json.dumps([VERSION, str(root), status.st_dev, status.st_ino])
    if index.path.exists():
        try:
            with index.writing() as connection:
                if connection.execute("SELECT value FROM about WHERE name = 'made for'").fetchone() == (made_for,):
                    return
        except sqlite3.DatabaseError:
            pass
        for name in ("", "-journal", "-wal", "-shm"):
            Path(f"{index.path}{name}").unlink(missing_ok=True)
    with index.writing() as connection:
        connection.executescript(f"BEGIN;{SCHEMA}")
        connection.execute("INSERT INTO about VALUES ('made for', ?)", (made_for,))
        connection.commit()


class _Update:
    """One pass over a folder's listing."""

    def __init__(self, connection: sqlite3.Connection, listing: Listing) -> None:
        self.connection, self.listing = connection, listing

    def run(self, told: Callable[[int, int], None]) -> None:
        columns = "reference, id, size, changed, digest, entry, reported_end, head"
        known = {raw[0]: raw[1:] for raw in self.connection.execute(f"SELECT {columns} FROM documents")}
        changed = False
        for reference in sorted(set(known) - {found.entry.reference for found in self.listing.found}):
            self._forget(known[reference][0], known[reference][6])
            changed = True
        todo = [found for found in self.listing.found if not _same(found, known.get(found.entry.reference))]
        for number, found in enumerate(todo, start=1):
            self._take(found, known.get(found.entry.reference))
            if number % BATCH == 0:
                self.connection.commit()
            told(number, len(todo))
        self.connection.commit()
        if changed or todo:
            self.connection.execute("ANALYZE")
            self.connection.commit()

    def _take(self, found: Found, known: tuple[Any, ...] | None) -> None:
        digest = _digest(found.path)
        if known is not None:
            id, _, _, old, _, reported, head = known
            if digest == old and head == _head(found.entry):
                self._describe(id, found, _day(reported))
                return
            self._forget(id, head)
        pages, problem = [], ""
        try:
            pages = read_pages(found.path)
        except UnreadableError as error:
            problem = str(error)
        self._add(found, digest, pages, problem)

    def _describe(self, id: int, found: Found, reported: date | None) -> None:
        available = believable(found.entry, reported)
        self.connection.execute(
            "UPDATE documents SET size = ?, changed = ?, entry = ?, available = ? WHERE id = ?",
            (found.size, found.changed, _json(found.entry), available and available.isoformat(), id),
        )

    def _add(self, found: Found, digest: str, pages: list[RawPage], problem: str) -> None:
        reported = reported_end(pages)
        available = believable(found.entry, reported)
        head = _head(found.entry)
        day, name = reported and reported.isoformat(), registrant(pages)
        described = (day, name, available and available.isoformat(), head, _json(found.entry))
        values = (found.entry.reference, found.size, found.changed, digest, problem, len(pages), *described)
        id = self.connection.execute(f"INSERT INTO documents VALUES (NULL{', ?' * len(values)})", values).lastrowid
        for page in pages:
            words = zlib.compress(json.dumps(page.words).encode()) if page.words else None
            row = self.connection.execute(
                "INSERT INTO pages VALUES (NULL, ?, ?, ?, ?)", (id, page.number, _packed(page.text), words)
            ).lastrowid
            self.connection.execute("INSERT INTO found (rowid, head, body) VALUES (?, ?, ?)", (row, indexed(head), indexed(page.text)))

    def _forget(self, id: int, head: str) -> None:
        """What was indexed is taken out by telling it again: the index keeps no text."""
        for row, text in self.connection.execute("SELECT id, text FROM pages WHERE document = ?", (id,)).fetchall():
            values = (row, indexed(head), indexed(unpacked(text)))
            self.connection.execute("INSERT INTO found (found, rowid, head, body) VALUES ('delete', ?, ?, ?)", values)
        self.connection.execute("DELETE FROM pages WHERE document = ?", (id,))
        self.connection.execute("DELETE FROM documents WHERE id = ?", (id,))


def _same(found: Found, known: tuple[Any, ...] | None) -> bool:
    return known is not None and (found.size, found.changed, _json(found.entry)) == (known[1], known[2], known[4])


def _json(entry: Entry) -> str:
    return json.dumps(asdict(entry), default=str, sort_keys=True)


def _head(entry: Entry) -> str:
    """What every page of a document is found by besides its own words."""
    joined = " ".join(dict.fromkeys(key_of(name) for name in (entry.publisher, *entry.names) if name))
    return " ".join(
        part for part in (entry.publisher, joined, *entry.names, entry.title, entry.form, form_of(entry.form), entry.period) if part
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
