"""What EDGAR's files say: companies, filings, search hits, facts. Everything that comes from there is checked before it is used."""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, Final

from attrs import frozen

from finassay.api.source import SourceItem

ACCESSION: Final = re.compile(r"\d{10}-\d{2}-\d{6}")
NAME: Final = re.compile(r"[\w][\w.\-]{0,150}\.(?:html?|txt|xhtml)", re.IGNORECASE)
REFERENCE: Final = re.compile(rf"(?P<cik>\d{{1,10}})/(?P<accession>{ACCESSION.pattern})/(?P<name>{NAME.pattern})", re.IGNORECASE)
FACTS: Final = re.compile(r"(?P<cik>\d{1,10})/facts@(?P<day>\d{4}-\d\d-\d\d)")
MAX_ROWS: Final = 100_000


@frozen
class Company:
    cik: int
    ticker: str
    title: str


@frozen
class Filing:
    """A filing's main document."""

    cik: int
    accession: str
    name: str
    form: str
    filed: date
    period_end: date | None
    company: str
    title: str = ""

    @property
    def reference(self) -> str:
        return f"{self.cik}/{self.accession}/{self.name}"

    def url(self, archives: str) -> str:
        return f"{archives}/Archives/edgar/data/{self.cik}/{self.accession.replace('-', '')}/{self.name}"

    def item(self, archives: str) -> SourceItem:
        of = f" for the period to {self.period_end.isoformat()}" if self.period_end else ""
        return SourceItem(
            "edgar", self.reference, f"{self.company} {self.title or self.form}{of}", self.filed, "filing index", self.company, self.url(archives),
            self.period_end, None, {"form": self.form, "accession": self.accession, "cik": str(self.cik)},
        )  # fmt: skip


def day(text: Any) -> date | None:
    try:
        return date.fromisoformat(text) if isinstance(text, str) and text else None
    except ValueError:
        return None


def companies(raw: Any) -> list[Company]:
    """`company_tickers.json`: an object of objects with cik_str, ticker, title."""
    rows = raw.values() if isinstance(raw, Mapping) else []
    found = [row for row in rows if isinstance(row, Mapping) and str(row.get("cik_str", "")).isdigit()]
    return [Company(int(row["cik_str"]), str(row.get("ticker", ""))[:12], str(row.get("title", ""))[:200]) for row in found]


def filings(columns: Any, cik: int, company: str) -> Iterator[Filing]:
    """Rows of `filings.recent`, or of one of the further files: columns of equal length."""
    names = ("accessionNumber", "filingDate", "reportDate", "form", "primaryDocument", "primaryDocDescription")
    if not isinstance(columns, Mapping):
        return
    found = [columns.get(name) for name in names]
    lists: list[list[Any]] = [values if isinstance(values, list) else [] for values in found]
    for accession, filed, reported, form, name, description in zip(*(values[:MAX_ROWS] for values in lists), strict=False):
        on = day(filed)
        # The rendering of an ownership form lies in a folder of its own and has no text.
        if on and ACCESSION.fullmatch(str(accession)) and NAME.fullmatch(str(name)):
            title = str(description or "")[:100]
            yield Filing(
                cik,
                str(accession),
                str(name),
                str(form)[:30],
                on,
                day(reported),
                company,
                title if title.lower() != str(form).lower() else "",
            )


def further(raw: Any) -> Iterator[tuple[str, date | None]]:
    """Names of the further files of a company's filings, with the first day that each is about."""
    files = raw.get("filings", {}).get("files", []) if isinstance(raw, Mapping) and isinstance(raw.get("filings"), Mapping) else []
    for entry in files if isinstance(files, list) else []:
        name = str(entry.get("name", "")) if isinstance(entry, Mapping) else ""
        if re.fullmatch(r"CIK\d{10}-submissions-\d{3}\.json", name):
            yield name, day(entry.get("filingFrom"))


def hits(raw: Any) -> Iterator[Filing]:
    """Hits of the full-text search: `_id` is ACCESSION:DOCUMENT, `_source` holds ciks, display_names, form, file_date, period_ending."""
    outer = raw.get("hits") if isinstance(raw, Mapping) else None
    rows = outer.get("hits") if isinstance(outer, Mapping) else None
    for row in rows if isinstance(rows, list) else []:
        source = row.get("_source") if isinstance(row, Mapping) else None
        accession, _, name = str(row.get("_id", "")).partition(":") if isinstance(row, Mapping) else ("", "", "")
        if not isinstance(source, Mapping) or not ACCESSION.fullmatch(accession) or not NAME.fullmatch(name):
            continue
        ciks, names, filed = source.get("ciks"), source.get("display_names"), day(source.get("file_date"))
        if not (isinstance(ciks, list) and ciks and str(ciks[0]).isdigit() and filed):
            continue
        company = re.sub(r"\s*\((?:CIK\s*\d+|[A-Z0-9.,\s-]+)\)", "", str(names[0] if isinstance(names, list) and names else "")).strip()
        form, title = str(source.get("form") or source.get("file_type") or ""), str(source.get("file_type") or "")
        yield Filing(int(ciks[0]), accession, name, form[:30], filed, day(source.get("period_ending")), company[:200], title[:60])


def fact_lines(raw: Any, until: date) -> list[tuple[date, str]]:
    """(day of filing, line) of every fact that was filed until then: concept, unit, period, value, form; sorted by concept and period."""
    found: list[tuple[str, str, str, date, str]] = []
    facts = raw.get("facts") if isinstance(raw, Mapping) else None
    for taxonomy, concepts in facts.items() if isinstance(facts, Mapping) else ():
        for concept, about in concepts.items() if isinstance(concepts, Mapping) else ():
            units = about.get("units") if isinstance(about, Mapping) else None
            for unit, rows in units.items() if isinstance(units, Mapping) else ():
                for row in rows if isinstance(rows, list) else ():
                    filed = day(row.get("filed")) if isinstance(row, Mapping) else None
                    if filed is None or filed > until:
                        continue
                    period = f"{row['start']} to {row['end']}" if row.get("start") else str(row.get("end"))
                    line = f"{taxonomy}:{concept}  {period}  {row.get('val')} {unit}  {row.get('form')} filed {filed.isoformat()} {row.get('accn')}"
                    found.append((f"{taxonomy}:{concept}", str(row.get("end")), str(row.get("start")), filed, line))
    return [(filed, line) for _, _, _, filed, line in sorted(found)]
