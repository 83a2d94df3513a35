"""What is known about the documents of a folder: `documents.jsonl` or `documents.toml`, in it or beside it."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

from attrs import Factory, frozen
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from finassay.api.amiss import first_amiss
from finassay.api.errors import InvalidFileError

NAMES: Final = ("documents.toml", "documents.jsonl")
MAX_METADATA: Final = 256 * 2**20
BASES: Final = {
    "signature page": "signature",
    "signature": "signature",
    "auditor's report": "auditor",
    "dateline": "dateline",
    "cover": "cover",
}


@frozen
class Entry:
    """One document as its metadata tell of it."""

    reference: str
    file: str = ""
    """Path below the folder; empty where the file is found by the reference."""
    title: str = ""
    published: date | None = None
    published_basis: str = ""
    publisher: str = ""
    names: tuple[str, ...] = ()
    """Other names of the publisher, such as a ticker."""
    form: str = ""
    period: str = ""
    url: str = ""
    period_end: date | None = None
    meta: Mapping[str, str] = Factory(dict)


class DocumentRow(BaseModel):
    """A row of our own shape."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reference: str = Field(min_length=1, max_length=500)
    file: str = Field(default="", max_length=1000)
    title: str = Field(default="", max_length=1000)
    published: date | None = None
    published_basis: str = Field(default="", max_length=100)
    publisher: str = Field(default="", max_length=300)
    names: tuple[str, ...] = ()
    form: str = Field(default="", max_length=60)
    period: str | int = ""
    url: str = Field(default="", max_length=2000)
    period_end: date | None = None
    meta: dict[str, str] = Field(default_factory=dict)

    def entry(self) -> Entry:
        values = self.model_dump(exclude={"period", "published_basis"})
        return Entry(**values, period=str(self.period), published_basis=self.published_basis or ("given" if self.published else ""))


class FilingRow(BaseModel):
    """A row of FinanceBench's shape."""

    model_config = ConfigDict(extra="allow", frozen=True)

    doc_name: str = Field(min_length=1, max_length=500)
    company: str = Field(default="", max_length=300)
    form: str = Field(default="", max_length=60)
    period: str | int | None = None
    url: str | None = None
    signed: date | None = None
    signed_basis: str | None = None
    period_end: date | None = None

    def entry(self) -> Entry:
        basis = (self.signed_basis or "").strip().lower()
        period = "" if self.period is None else str(self.period)
        more = {name: str(value)[:500] for name, value in (self.model_extra or {}).items() if isinstance(value, str | int | float)}
        return Entry(
            reference=self.doc_name,
            title=" ".join(part for part in (self.company, self.form, period) if part) or self.doc_name,
            published=self.signed,
            published_basis=BASES.get(basis, basis[:100]),
            publisher=self.company,
            form=self.form,
            period=period,
            url=self.url or "",
            period_end=self.period_end,
            meta=more,
        )


def metadata_file(folder: Path) -> Path | None:
    """The metadata that belong to a folder: in it, else beside it."""
    return next((place / name for place in (folder, folder.parent) for name in NAMES if (place / name).is_file()), None)


def read_metadata(path: Path) -> dict[str, Entry]:
    """Entries by reference. Raises `InvalidFileError` with the place of what is wrong."""
    if path.stat().st_size > MAX_METADATA:
        raise InvalidFileError(f"{path}: larger than {MAX_METADATA} bytes")
    entries: dict[str, Entry] = {}
    for where, raw in _rows(path):
        if not isinstance(raw, Mapping):
            raise InvalidFileError(f"{path}: {where}: not an object")
        row = FilingRow if "doc_name" in raw else DocumentRow
        try:
            entry = row.model_validate(raw).entry()
        except ValidationError as error:
            amiss = first_amiss(error, row)
            raise InvalidFileError(f"{path}: {where}: {amiss.line()}", hint=amiss.hint) from error
        if entry.reference in entries:
            raise InvalidFileError(f"{path}: {where}: {entry.reference!r} stands there twice")
        entries[entry.reference] = entry
    return entries


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        text = path.read_text("utf-8")
        if path.suffix == ".toml":
            for number, row in enumerate(tomllib.loads(text).get("document", ()), start=1):
                yield f"document {number}", row
            return
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                yield f"line {number}", json.loads(line)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise InvalidFileError(f"{path}: cannot be read: {error}") from error
