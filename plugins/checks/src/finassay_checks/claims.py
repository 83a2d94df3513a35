"""`claims`: the numbers of the last report and whether something delivered bears them out (spec D.0.4, D.0.6 on 4.2)."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np
import pandas as pd
from attrs import define, field, frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.fidelity.places import is_aside_heading, is_rule_heading, sections
from finassay_checks.model import Delivered, Table

MAX_CLAIMS = 2_000
MAX_PASSAGE = 4_000
"""Characters of a sentence or row that are looked at."""
MAX_TABLES = 300
"""Small tables in which numbers are looked up, in the order of the delivery."""
SMALL_TABLE = 600
"""Numeric cells up to which a table is looked up; in a longer one a match is chance."""
_HOW = re.compile(r"\bhow\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?<![\w.,/$€-])(?P<sign>[-+−]?)(?P<money>[$€£]?)(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?P<unit>\s?%"
    r"|\s?bps?\b|x\b)?(?![\w/-]|\.\d)"
)
_DATE = re.compile(
    r"\b\d{4}-\d{2}(?:-\d{2})?\b|\b\d{1,2}/\d{1,2}/\d{2,4}\b|\b\d{1,2}(?:st|nd|rd|th)?\s+(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct"
    r"|Nov|Dec)\w*\.?(?:,?\s+\d{4})?"
    r"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w*\.?\s+\d{1,2}(?:,?\s+\d{4})?|\b(?:19|20)\d{2}(?:\s*[-–]\s*(?:19"
    r"|20)?\d{2})?\b|\bQ[1-4]\b",
    re.IGNORECASE,
)
_NAMES = re.compile(
    r"S&P\s*\d+|Russell\s*\d+|Nasdaq\s*\d+|\b\d+\s*-\s*\d+\b(?!\s*%)|\b\d+[- ](?:day|days|week|weeks|month|months|year|sessions?)\b"
    r"|\btop\s+\d+\b|\bv\d[\d.]*\b|\b\d+\s*(?:bps?|basis points)\b"
    r"|\b\d+\s+(?:names|stocks|tickers|sessions a year|trading days a year)\b|\b(?:rf|sqrt|√)\s*\(?=?\s*\d+\)?|\bversion\s+\d[\d.]*"
    r"|^\s*\d+[.)]\s",
    re.IGNORECASE | re.MULTILINE,
)
_FILE = re.compile(
    r"(?<![\w./-])[\w./-]{1,300}?\.(?:csv|tsv|parquet|json|xlsx|xls|ods|md|html?|ipynb|py|txt)\b(?:#[\w ]+)?|https?://[^\s)>\]`]+",
    re.IGNORECASE,
)
_METRIC_WORDS: Mapping[str, tuple[str, ...]] = {
    "total_return": ("total return", "cumulative"),
    "annual_return": ("annual return", "cagr", "a year", "annualised return", "annualized return", "per year", "return"),
    "annual_vol": ("volatil", "vol"),
    "sharpe": ("sharpe",),
    "sortino": ("sortino",),
    "max_drawdown": ("drawdown", "dd"),
    "trades": ("trade", "fills", "orders"),
    "turnover": ("turnover",),
    "win_rate": ("win", "hit"),
    "exposure": ("exposure", "invested"),
    "beta": ("beta",),
    "alpha": ("alpha",),
    "fees": ("fee", "cost"),
}


@frozen
class Claim:
    """One number: its place, the sentence or row, the credit (1, 0.5 or 0) and what bears it out."""

    text: str
    sentence: str
    where: str
    credit: float
    by: str


@frozen
class Claims:
    claims: tuple[Claim, ...]

    @property
    def share(self) -> float | None:
        """Sum of credits over the number of claims; None without a claim."""
        return sum(claim.credit for claim in self.claims) / len(self.claims) if self.claims else None

    @property
    def untraced(self) -> tuple[Claim, ...]:
        return tuple(claim for claim in self.claims if claim.credit == 0)


@frozen
class Token:
    """A number as printed: `value` as a fraction where a percent sign stands, `step` half a unit of the last digit."""

    text: str
    value: float
    step: float
    digits: int
    percent: bool


@frozen
class Passage:
    """A sentence or table row with what surrounds it: labels for matching, files named in its paragraph, table or section."""

    text: str
    label: str
    where: str
    files: tuple[str, ...]


def tokens(text: str) -> Iterator[Token]:
    """Numeric tokens that are neither dates nor names or settings."""
    clean = _NAMES.sub(" ", _DATE.sub(" ", _FILE.sub(" ", text[:MAX_PASSAGE])))
    for match in _NUMBER.finditer(clean):
        digits = match["digits"].replace(",", "")
        decimals = len(digits.split(".")[1]) if "." in digits else 0
        unit = (match["unit"] or "").strip()
        scale = 0.01 if unit == "%" else 1e-4 if unit.startswith("bp") else 1.0
        value = float(digits) * scale * (-1 if match["sign"] in ("-", "−") else 1)
        yield Token(match[0].strip(), value, 0.5 * 10**-decimals * scale, len(digits.replace(".", "").lstrip("0")), unit == "%")


def passages(delivered: Delivered) -> Iterator[Passage]:
    """Prose sentences and rows of headline tables of the last report; headings, rules, methods, settings and other tables are left out."""
    headline = {figure.text.strip() for figure in delivered.figures}
    for document in delivered.reports:
        if delivered.last_message is not None and document.where == delivered.last_message.where:
            continue
        for section in sections(document.text):
            if is_rule_heading(section.heading) or _HOW.search(section.heading):
                continue
            yield from _section_passages(section.heading, section.text, document.where, headline)


def _section_passages(heading: str, text: str, where: str, headline: set[str]) -> Iterator[Passage]:
    files = tuple(dict.fromkeys(_FILE.findall(text)))[:100]
    table, number = [], 0
    fenced = False
    for line in [*text.split("\n"), ""]:
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif line.strip().startswith("|"):
            table.append(line)
        else:
            if table:
                number += 1
                if not is_aside_heading(heading) and _is_headline(table, headline):
                    yield from _rows(table, where, files)
                table = []
            if line.strip() and not fenced:
                for sentence in re.split(r"(?<=[.!?;])\s+(?=[A-Z(*])", line):
                    sentence = sentence.strip()[:MAX_PASSAGE]
                    yield Passage(sentence, sentence.lower(), where, files)


def _is_headline(table: list[str], headline: set[str]) -> bool:
    """A table whose rows or columns are the headline figures: at least two of its rows are, or its header names two metrics."""
    lines = {line.strip() for line in table}
    named = sum(any(word in line.lower() for word in ("return", "sharpe", "drawdown", "volatil")) for line in table)
    return len(lines & headline) >= 1 or (named >= 2 and len(table) <= 30)


def _rows(table: list[str], where: str, files: tuple[str, ...]) -> Iterator[Passage]:
    header = table[0].lower()
    for line in table[1:]:
        if set(line) - set("|:- \t"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            yield Passage(line.strip()[:MAX_PASSAGE], f"{cells[0].lower()[:MAX_PASSAGE]} {header[:MAX_PASSAGE]}", where, files)


@frozen(eq=False)
class _Cells:
    """Numbers of a small table with their labels: row label and column name in lower case."""

    names: tuple[str, ...]
    values: np.ndarray
    _masks: dict[frozenset[str], np.ndarray] = field(factory=dict)

    def alike(self, words: frozenset[str]) -> np.ndarray:
        """Which labels hold one of the words."""
        if words not in self._masks:
            self._masks[words] = np.array([any(word in name for word in words) for name in self.names], dtype=bool)
        return self._masks[words]


@define
class Tracer:
    """Looks numbers up in delivered tables and among recomputed metrics."""

    delivered: Delivered
    recomputed: Mapping[str, float]
    _tables: list[Table] = field(init=False)
    _numbers: dict[str, _Cells] = field(factory=dict)
    _by_files: dict[tuple[str, ...], list[Table]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        current = [table for table in self.delivered.tables if table.current]
        self._tables = [table for table in current if len(self._cells(table).names)][:MAX_TABLES]

    def credit(self, passage: Passage, token: Token) -> tuple[float, str]:
        named = self._named(passage.files)
        words = _words(passage.label)
        metric = _metric(passage.label, self.recomputed, token)
        for table in named:
            if self._holds(table, words, token):
                return 1.0, table.where
        if metric:
            return (1.0, f"recomputed {metric} from the named file") if named else (0.5, f"recomputed {metric}")
        for table in self._tables:
            if not _is_text(table) and self._holds(table, words, token):
                return 0.5, table.where
        return 0.0, ""

    def _named(self, files: tuple[str, ...]) -> list[Table]:
        """Current tables of the files that a passage names."""
        if files not in self._by_files:
            names = tuple(name.lower().split("#")[0].lstrip("./") for name in files)
            ends = tuple("/" + name for name in names)
            current = (table for table in self.delivered.tables if table.current)
            found = [table for table in current if (path := table.path.lower()) in names or path.endswith(ends)]
            self._by_files[files] = found[:MAX_TABLES]
        return self._by_files[files]

    def _cells(self, table: Table) -> _Cells:
        """Numbers of a table of at most `SMALL_TABLE` of them. Longer tables give nothing."""
        if table.where not in self._numbers:
            found: list[tuple[str, float]] = []
            frame = table.frame
            if frame.shape[0] * frame.shape[1] <= SMALL_TABLE * 4 and frame.shape[0]:
                labels = frame.iloc[:, 0].astype(str).str.lower().str.replace("_", " ")
                for column in frame.columns:
                    values = pd.to_numeric(frame[column].astype(str).str.replace(r"[,$%x]", "", regex=True), errors="coerce")
                    name = str(column).lower().replace("_", " ")
                    found += [(f"{label[:300]} {name[:300]}", float(v)) for label, v in zip(labels, values, strict=True) if np.isfinite(v)]
            kept = found if len(found) <= SMALL_TABLE else []
            self._numbers[table.where] = _Cells(tuple(name for name, _ in kept), np.array([value for _, value in kept], dtype=float))
        return self._numbers[table.where]

    def _holds(self, table: Table, words: frozenset[str], token: Token) -> bool:
        cells = self._cells(table)
        if not words and token.digits < 3:
            return False
        scales = (1.0, 0.01) if token.percent else (1.0,)
        for scale in scales:
            near = np.abs(np.abs(cells.values * scale) - abs(token.value)) <= token.step * 1.0001
            if near.any() and (not words or bool((near & cells.alike(words)).any())):
                return True
        return False


@lru_cache(maxsize=4_096)
def _words(label: str) -> frozenset[str]:
    """The words for metrics that a label holds."""
    return frozenset(word for words in _METRIC_WORDS.values() for word in words if word in label)


def _is_text(table: Table) -> bool:
    """A table inside a report or a message: it bears nothing out, least of all itself."""
    return "." not in table.path or table.path.lower().endswith((".md", ".markdown", ".html", ".htm", ".txt"))


def _metric(label: str, recomputed: Mapping[str, float], token: Token) -> str:
    """The metric whose own value rounds to the number and whose words stand beside it."""
    for metric, value in recomputed.items():
        if any(word in label for word in _METRIC_WORDS.get(metric, ())) and abs(abs(value) - abs(token.value)) <= token.step * 1.0001:
            return metric
    return ""


def claims(package: Package) -> Claims:
    """The fact `claims`; use it as `package.fact(claims)`."""
    from finassay_checks.recompute.matches import equity_matches, metric_matches

    delivered = package.fact(read_delivery)
    matches = (*package.fact(equity_matches), *package.fact(metric_matches))
    tracer = Tracer(delivered, {match.metric: match.recomputed for match in matches if match.recomputed is not None})
    found: list[Claim] = []
    for passage in passages(delivered):
        for token in tokens(passage.text):
            if len(found) >= MAX_CLAIMS:
                return Claims(tuple(found))
            credit, by = tracer.credit(passage, token)
            found.append(Claim(token.text, passage.text[:400], passage.where, credit, by))
    return Claims(tuple(found))
