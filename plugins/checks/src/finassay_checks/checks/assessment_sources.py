"""Facts for the judged data dimensions: 1.2, 1.3 (settled where nothing could be compared), 1.5, 1.6."""

import re
from collections.abc import Iterator, Mapping

from finassay.api.delivery import Package
from finassay.api.grading import Answer
from finassay.api.verdict import Json, NotApplicable, Verdict
from finassay_checks.checks.judged import JudgedCheck
from finassay_checks.model import Delivered, Document

_URL = re.compile(r"https?://([^\s)>\]`\"'/]+)[^\s)>\]`\"']*")
_LOADER = re.compile(
    r"\b(?:[a-z_]\w*\.)*(?:load_\w*(?:dataset|index|prices|data)\w*|download|get_data\w*|DataReader|history|fetch_\w+|read_csv"
    r"|read_parquet)\s*\(",
    re.IGNORECASE,
)
_PACKAGE = re.compile(
    r"\b(skfolio|bokeh[._-]sampledata|yfinance|pytimetk|pandas[._-]datareader|stooq|tiingo|polygon|alpha[ _]?vantage|fred|simfin|edgar"
    r"|quandl|nasdaq data link|yahoo finance|bloomberg|refinitiv|crsp|compustat)\b",
    re.IGNORECASE,
)
_VINTAGE = re.compile(
    r"\b[0-9a-f]{32,64}\b|\b(?:retrieved|accessed|downloaded|fetched)\b[^\n.]{0,40}\d{4}|\b(?:version|v|==)\s?\d+\.\d+(?:\.\d+)?"
    r"|\b\d+\.\d+\.\d+\b",
    re.IGNORECASE,
)
_PARAMETERS = re.compile(r"\b\d{4}-\d{2}-\d{2}\b|\btickers?\b|\bstart\b|\bend\b|\bfields?\b|\bcolumns?\b", re.IGNORECASE)
_OWN_FILE = re.compile(r"read_(?:csv|parquet)\s*\(\s*(?:[A-Z_]+|['\"](?!https?:))", re.IGNORECASE)
SERIES = ("prices", "benchmark", "fundamentals", "universe")


def _documents(delivered: Delivered) -> tuple[Document, ...]:
    return (*delivered.reports, *delivered.documents, *delivered.messages, *delivered.code)


def endpoints(delivered: Delivered) -> Iterator[dict[str, Json]]:
    """Lines of delivered text and code that name where data come from: URL, loader call or package."""
    seen: set[tuple[str, str]] = set()
    for document in _documents(delivered):
        for line in document.text[:400_000].split("\n"):
            line = line.strip()[:400]
            kind = (
                "url"
                if _URL.search(line)
                else "loader"
                if _LOADER.search(line) and not _OWN_FILE.search(line)
                else "package"
                if _PACKAGE.search(line)
                else ""
            )
            if kind and (kind, line) not in seen and len(seen) < 60:
                seen.add((kind, line))
                package = _PACKAGE.search(line)
                yield {
                    "kind": kind,
                    "line": line,
                    "where": document.where,
                    "source": package[1].lower() if package else (m[1] if (m := _URL.search(line)) else ""),
                    "parameters": bool(_PARAMETERS.search(line)),
                    "vintage": bool(_VINTAGE.search(line)),
                }


def source_rows(delivered: Delivered) -> list[dict[str, str]]:
    """Rows of delivered source tables, bounded."""
    rows: list[dict[str, str]] = []
    for candidate in delivered.role_tables:
        if candidate.role == "sources" and candidate.table.current:
            records = candidate.frame.head(100).astype(str).to_dict("records")
            rows += [
                {str(k): v[:300] for k, v in record.items() if v not in ("nan", "None", "")} | {"table": candidate.table.where}
                for record in records
            ]
    return rows


def sources_used(delivered: Delivered) -> list[str]:
    """Distinct packages and hosts that text, code or source tables name."""
    texts = [*(str(e["line"]) for e in endpoints(delivered)), *(" ".join(row.values()) for row in source_rows(delivered))]
    named = {found for text in texts for found in (*_PACKAGE.findall(text), *_URL.findall(text))}
    return sorted({re.sub(r"[._ ]", "-", name.lower()) for name in named})


class SourceTraceability(JudgedCheck):
    """Series with source, endpoint, parameters and vintage, read from report, messages, source tables and code."""

    description = "Facts for source traceability: delivered series and the lines that name their sources."
    id = "1-2-source-traceability"
    dimension = "1.2"

    def facts(self, package: Package) -> Mapping[str, Json]:
        from finassay_checks.delivered import read_delivery

        delivered = package.fact(read_delivery)
        series = [{"series": c.role, "table": c.table.where} for c in delivered.role_tables if c.role in SERIES and c.table.current][:40]
        return {"series": series, "source_rows": source_rows(delivered), "endpoints": list(endpoints(delivered))}


class SourceDiversity(JudgedCheck):
    """n/a if one source was used and no channel of the conditions could hold a second one."""

    description = "Source diversity: sources used and compared; not applicable where only one is in reach."
    id = "1-3-source-diversity"
    dimension = "1.3"

    def facts(self, package: Package) -> Mapping[str, Json]:
        from finassay_checks.delivered import read_delivery

        delivered = package.fact(read_delivery)
        conditions = package.task.conditions
        return {
            "sources": sources_used(delivered),
            "cross_check_tables": [c.table.where for c in delivered.role_tables if c.role == "checks" and c.table.current][:20],
            "price_tables": [c.table.where for c in delivered.role_tables if c.role == "prices" and c.table.current][:20],
            "channels": list(conditions.channels),
            "network": conditions.network,
            "reach_empty": not conditions.network and len(conditions.channels) <= 1,
        }

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        facts = self.facts(package)
        if facts["reach_empty"] and len(facts["sources"]) == 1 and not facts["cross_check_tables"]:
            return NotApplicable("One source was used and the conditions offer no second one.", self.id)
        return self.open(package)


class EvidenceGradeMatch(JudgedCheck):
    """Notes on the data that statements about them should respect."""

    description = "Facts for the evidence grade match: data notes, adjusted prices, survivorship of the universe."
    id = "1-5-evidence-grade-match"
    dimension = "1.5"

    def facts(self, package: Package) -> Mapping[str, Json]:
        from finassay_checks.delivered import read_delivery
        from finassay_checks.facts.survivorship import survivorship, survivorship_facts

        delivered = package.fact(read_delivery)
        prices = delivered.frame("prices")
        return {
            "survivorship": survivorship_facts(package.fact(survivorship)),
            "findings": [f"{f.check}: {f.message}" for f in delivered.findings[:40]],
            "price_rows": 0 if prices is None else len(prices),
            "prices_have_volume": bool(prices is not None and prices["volume"].notna().any()),
            "quality": quality_facts(package),
            "sources": sources_used(delivered),
        }


class QualitySelfCheckDisclosure(JudgedCheck):
    """What a program counts on the price table, beside what the report says."""

    description = "Facts for the quality self-check disclosure: counts of missing values, gaps, duplicates, stale prices and outliers."
    id = "1-6-quality-self-check-disclosure"
    dimension = "1.6"

    def facts(self, package: Package) -> Mapping[str, Json]:
        from finassay_checks.delivered import read_delivery

        delivered = package.fact(read_delivery)
        return {
            "quality": quality_facts(package),
            "check_tables": [c.table.where for c in delivered.role_tables if c.role == "checks" and c.table.current][:20],
        }


def quality_facts(package: Package) -> Mapping[str, Json]:
    """The counts behind 1.4, as its check states them; empty where no price table can be read."""
    from finassay.api.verdict import Scored as Graded
    from finassay_checks.checks.data_quality import DeliveredDataQuality
    from finassay_checks.options import NoOptions

    verdict = DeliveredDataQuality(NoOptions()).run(package, {})
    return dict(verdict.facts) if isinstance(verdict, Graded) else {}
