"""The source `edgar`."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, ClassVar, Final, Self
from urllib.parse import urlencode, urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from finassay.api.source import Document, NotThereError, Page, Passage, SourceError, SourceItem

LIVE: Final = 12 * 3600.0
"""Seconds for which lists that grow are believed."""
MAX_RESULTS: Final = 200
MAX_COMPANIES: Final = 3
MAX_OPENED: Final = 6
"""Documents that one search opens for their passages."""
LINES: Final = 400
"""Facts on one page."""


class EdgarOptions(BaseModel):
    """Who asks, and where."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    user_agent: str = Field(min_length=5, max_length=200, description="Who asks, as the SEC wants it: name and e-mail address.")
    cache: Path | None = Field(default=None, description="Folder for what was got; in the user's cache if left out.")
    rate: float = Field(default=8, gt=0, le=10, allow_inf_nan=False, description="Requests a second; the SEC takes ten at most.")
    data: str = Field(default="https://data.sec.gov", description="Where submissions and company facts lie.")
    archives: str = Field(default="https://www.sec.gov", description="Where filings and the list of companies lie.")
    full_text: str = Field(default="https://efts.sec.gov", description="Where the full-text search is.")
    timeout: float = Field(default=30, gt=0, le=600, allow_inf_nan=False, description="Seconds to wait for an answer.")

    @field_validator("user_agent")
    @classmethod
    def _names_somebody(cls, text: str) -> str:
        if not re.fullmatch(r"[ -~]*[\w.+-]+@[\w-]+\.[\w.-]+[ -~]*", text):
            raise ValueError("the SEC wants an e-mail address in it: `Example Research desk@example.com`")
        return text

    @model_validator(mode="after")
    def _https(self) -> Self:
        for address in (self.data, self.archives, self.full_text):
            parts = urlsplit(address)
            if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")):
                raise ValueError(f"{address!r}: expected https")
        return self


class EdgarSource:
    """Implements `finassay.api.source.Source`. A filing is there from the day that the filing index gives."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "filings and company facts from the SEC's EDGAR, with full-text search"
    Options: ClassVar[type[BaseModel]] = EdgarOptions
    id = "edgar"

    def __init__(self, options: EdgarOptions, /) -> None:
        from finassay_source_edgar.client import Client, Pace

        self.options = options
        hosts = frozenset(str(urlsplit(a).hostname) for a in (options.data, options.archives, options.full_text))
        cache = options.cache or Path.home() / ".cache" / "finassay" / "source-edgar"
        self.client = Client(options.user_agent, cache, Pace(options.rate), hosts, options.timeout)

    # -- the protocol -------------------------------------------------------------------------------------------------

    def search(self, query: str, cutoff: date, limit: int = 10) -> Sequence[Passage]:
        """By the SEC's full-text search (filings since 2001); the passages are taken from the documents themselves."""
        from finassay_source_corpus.search import extract, words_of
        from finassay_source_edgar.filings import hits

        words = words_of(query)[:12]
        limit = min(limit, MAX_RESULTS)
        if not words or limit < 1 or cutoff < date(2001, 1, 1):
            return []
        asked = {"q": " ".join(words), "dateRange": "custom", "startdt": "2001-01-01", "enddt": cutoff.isoformat()}
        url = f"{self.options.full_text}/LATEST/search-index?{urlencode(asked)}"
        found = [f for f in hits(self.client.json(url, self._fresh(cutoff))) if f.filed <= cutoff]
        passages: list[Passage] = []
        for filing in list({f.reference: f for f in found}.values())[: min(limit, MAX_OPENED)]:
            item = filing.item(self.options.archives)
            try:
                pages = self._pages(filing.url(self.options.archives))
            except SourceError:
                continue
            best = max(pages, key=lambda page: (_share(page.text, words), -(page.number or 0)))
            passages.append(Passage(item, best.number, extract(best.text, query), round(_share(best.text, words), 6)))
        return sorted(passages, key=lambda p: (-p.score, p.item.reference))[:limit]

    def find(self, query: str, cutoff: date, limit: int = 50) -> Sequence[SourceItem]:
        """Filings of the companies that the query names, by name or ticker, of its form and year if it has them; and their facts."""
        from finassay_source_corpus.names import Named, chosen

        found: list[SourceItem] = []
        for company in self._companies(query):
            listed = {f.reference: f for f in self._filings(company.cik, cutoff) if f.filed <= cutoff}
            names = (company.title, company.ticker)
            named = [Named(f.reference, names, f.form, f.form, str(f.period_end or f.filed), f.filed) for f in listed.values()]
            found += [listed[n.reference].item(self.options.archives) for n in chosen(f"{company.title} {query}", named)]
            if listed and re.search(r"\bfacts?\b|\bxbrl\b", query, re.IGNORECASE):
                found += self._facts_item(company.cik, company.title, cutoff)
        return sorted(found, key=lambda item: (-(item.published or cutoff).toordinal(), item.reference))[: max(0, min(limit, MAX_RESULTS))]

    def open(self, reference: str, cutoff: date) -> Document:
        from finassay_source_edgar.filings import FACTS, REFERENCE

        if match := FACTS.fullmatch(reference[:200]):
            return self._facts(int(match["cik"]), match["day"], cutoff)
        match = REFERENCE.fullmatch(reference[:300])
        if match is None:
            raise NotThereError(f"edgar: no such document as of the cutoff: {reference[:200]}")
        for filing in self._filings(int(match["cik"]), None):
            if filing.accession == match["accession"]:
                if filing.filed > cutoff:
                    break
                url = filing.url(self.options.archives).removesuffix(filing.name) + match["name"]
                item = filing.item(self.options.archives)
                return _document(_named(item, reference, url), self._pages(url))
        raise NotThereError(f"edgar: no such document as of the cutoff: {reference[:200]}")

    # -- what the SEC has ---------------------------------------------------------------------------------------------

    def _fresh(self, cutoff: date) -> float | None:
        """Lists up to a day that is long over do not grow any more."""
        return None if (datetime.now(UTC).date() - cutoff).days > 30 else LIVE

    def _companies(self, query: str) -> list[Any]:
        from finassay_source_corpus.names import asked, fit
        from finassay_source_edgar.filings import companies

        listed = companies(self.client.json(f"{self.options.archives}/files/company_tickers.json", 7 * 86_400))
        words = asked(query).words
        tickers = set(re.findall(r"\b[A-Z][A-Z.\-]{0,5}\b", query))
        scored = (
            [(1.0 if c.ticker in tickers and len(c.ticker) > 1 else fit(words, (c.title,)), c) for c in listed] if words or tickers else []
        )
        best = max((score for score, _ in scored), default=0.0)
        kept = {c.cik: c for score, c in sorted(scored, key=lambda s: (-s[0], s[1].cik)) if score >= 0.5 and score >= best - 0.1}
        return list(kept.values())[:MAX_COMPANIES]

    def _filings(self, cik: int, until: date | None) -> Iterator[Any]:
        """A company's filings, the newest first; files whose filings all came later are not asked for."""
        from finassay_source_edgar.filings import filings, further

        base = f"{self.options.data}/submissions"
        raw = self.client.json(f"{base}/CIK{cik:010d}.json", LIVE)
        company = str(raw.get("name", ""))[:200] if isinstance(raw, dict) else ""
        recent = raw.get("filings", {}).get("recent") if isinstance(raw, dict) and isinstance(raw.get("filings"), dict) else None
        yield from filings(recent, cik, company)
        for name, first in further(raw):
            if until is None or first is None or first <= until:
                yield from filings(self.client.json(f"{base}/{name}", LIVE), cik, company)

    def _facts_item(self, cik: int, company: str, cutoff: date) -> list[SourceItem]:
        from finassay_source_edgar.filings import fact_lines

        lines = fact_lines(self._facts_raw(cik), cutoff)
        last = max((filed for filed, _ in lines), default=None)
        return [] if last is None else [_facts_item(cik, company, last, self._facts_url(cik))]

    def _facts(self, cik: int, day: str, cutoff: date) -> Document:
        from finassay_source_edgar.filings import fact_lines

        raw = self._facts_raw(cik)
        try:
            until = date.fromisoformat(day)
        except ValueError:
            until = date.max
        lines = fact_lines(raw, until) if until <= cutoff else []
        if not lines or max(filed for filed, _ in lines) != until:
            raise NotThereError(f"edgar: no such document as of the cutoff: {cik}/facts@{day}")
        texts = [line for _, line in lines]
        pages = [_page(n // LINES + 1, "\n".join(texts[n : n + LINES])) for n in range(0, len(texts), LINES)]
        return _document(_facts_item(cik, str(raw.get("entityName", ""))[:200], until, self._facts_url(cik)), pages)

    def _facts_url(self, cik: int) -> str:
        return f"{self.options.data}/api/xbrl/companyfacts/CIK{cik:010d}.json"

    def _facts_raw(self, cik: int) -> Any:
        return self.client.json(self._facts_url(cik), LIVE)

    def _pages(self, url: str) -> list[Page]:
        """A document's pages of text. Filings never change, so they are kept for ever."""
        from finassay_source_corpus.html import pages_of_html
        from finassay_source_corpus.text import UnreadableError, pages_of_text

        data = self.client.fetch(url, None)
        try:
            pages = pages_of_text(data) if url.lower().endswith(".txt") else pages_of_html(data)
        except UnreadableError as error:
            raise SourceError(f"edgar: {urlsplit(url).path}: {error}") from error
        return [_page(page.number, page.text) for page in pages]


def _share(text: str, words: Sequence[str]) -> float:
    """Share of words that a text holds, a little more for those that it holds often."""
    folded = text.casefold()
    return sum(min(folded.count(word), 5) / 50 + 0.9 for word in words if word in folded) / max(len(words), 1)


def _page(number: int | None, text: str) -> Page:
    return Page(number, text, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())


def _document(item: SourceItem, pages: Sequence[Page]) -> Document:
    from attrs import evolve

    digest = hashlib.sha256("\n".join(page.digest for page in pages).encode()).hexdigest()
    return Document(evolve(item, pages=len(pages)), tuple(pages), digest)


def _named(item: SourceItem, reference: str, url: str) -> SourceItem:
    """The item of another document of the same filing, such as an exhibit."""
    from attrs import evolve

    return item if item.reference == reference else evolve(item, reference=reference, url=url)


def _facts_item(cik: int, company: str, last: date, url: str) -> SourceItem:
    title = f"{company} company facts filed until {last.isoformat()}"
    return SourceItem("edgar", f"{cik}/facts@{last.isoformat()}", title, last, "filing index", company, url, meta={"cik": str(cik)})
