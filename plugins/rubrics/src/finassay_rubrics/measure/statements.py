"""How well the offline families find values: questions with experts' answers, filings as the only source.

`measure(folder)` reads a folder with `questions.jsonl`, `documents.jsonl` and `corpus/NAME.jsonl.gz` and gives a record for each question and family.
"""

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from attrs import Factory, define, evolve, frozen

from finassay.api.errors import InvalidFileError
from finassay.api.research import Derivation, Question, Researcher, Script, ScriptError
from finassay.api.source import Document, NotThereError, Page, Passage, SourceItem
from finassay.api.verdict import Json
from finassay_rubrics.grading.asked import keyed
from finassay_rubrics.measure.rows import found, left_out, rows_of
from finassay_rubrics.metrics.ask import understand
from finassay_rubrics.metrics.formula import FormulaError
from finassay_rubrics.metrics.ground import ORIGINAL
from finassay_rubrics.metrics.terms import fold

Outcome = Literal["right", "wrong", "unresolved"]
METRICS: Final = "metrics-generated"
BOTH: Final = "both"
"""Name of the record of two families that must agree."""
SCRIPT_SECONDS: Final = 20
NAME: Final = re.compile(r"[^/\\\x00]{1,200}")
"""A document's name, which is that of its file."""


@frozen
class Record:
    """What one family made of one question."""

    question: str
    issuer: str
    family: str
    outcome: Outcome
    expert: str
    value: Decimal | None = None
    """In the unit in which the expert answers, where that is known."""
    reason: str = ""
    documents: tuple[str, ...] = ()
    """Those that its quotes are of."""
    coincides: bool | None = None
    """Whether the document of the expert is among them."""
    reachable: str = ""
    """Empty where the expert's document is there and dated, else why not."""
    by_original: bool = False
    """Wrong by the latest filing, right as first reported."""


# -- the folder as a source -------------------------------------------------------------------------------------------


class FolderSource:
    """The filings of a folder; implements `finassay.api.source.Source`. Search is by plain word count: it serves measuring alone."""

    id = "corpus"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.items = {item.reference: item for item in _items(folder)}
        self._open: dict[str, Document] = {}

    def find(self, query: str, cutoff: date, limit: int = 50) -> Sequence[SourceItem]:
        words = set(re.findall(r"\w+", fold(query)))
        fits = [i for i in self.items.values() if _by(i, cutoff) and words <= set(re.findall(r"\w+", fold(f"{i.publisher} {i.title}")))]
        return sorted(fits, key=lambda item: item.published or date.min, reverse=True)[:limit]

    def search(self, query: str, cutoff: date, limit: int = 10) -> Sequence[Passage]:
        words = set(re.findall(r"\w+", fold(query)))
        found = [
            Passage(item, page.number, page.text[:500], float(score))
            for item in self.items.values()
            if _by(item, cutoff)
            for page in self._document(item).pages
            if (score := len(words & set(re.findall(r"\w+", fold(page.text)))))
        ]
        return sorted(found, key=lambda passage: -passage.score)[:limit]

    def open(self, reference: str, cutoff: date) -> Document:
        item = self.items.get(reference)
        if item is None or not _by(item, cutoff):
            raise NotThereError(f"there is no {reference} as of {cutoff}")
        return self._document(item)

    def _document(self, item: SourceItem) -> Document:
        if item.reference not in self._open:
            raw = list(rows_of(found(self.folder / "corpus", item.reference), ("page", "text")))
            try:
                pages = tuple(Page(int(r["page"]), str(r["text"]), _digest(str(r["text"]))) for r in raw)
            except (TypeError, ValueError) as error:
                raise InvalidFileError(f"{self.folder / 'corpus' / item.reference}: a page has no number: {error}") from error
            whole = hashlib.sha256("\n".join(page.digest for page in pages).encode()).hexdigest()
            self._open[item.reference] = Document(item, pages, whole)
        return self._open[item.reference]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _by(item: SourceItem, cutoff: date) -> bool:
    return item.published is not None and item.published <= cutoff


def _items(folder: Path) -> Iterator[SourceItem]:
    for raw in rows_of(found(folder, "documents"), ("doc_name",)):
        name = str(raw["doc_name"])
        if NAME.fullmatch(name) and found(folder / "corpus", name):
            title = " ".join(str(raw.get(part) or "") for part in ("company", "form", "period")).strip()
            basis, url, meta = str(raw.get("signed_basis") or ""), str(raw.get("url") or ""), {"form": str(raw.get("form") or "")}
            yield SourceItem("corpus", name, title, _day(raw, folder), basis, str(raw.get("company") or ""), url, meta=meta)


def _day(raw: Mapping[str, Any], folder: Path) -> date | None:
    try:
        return date.fromisoformat(str(raw["signed"])) if raw.get("signed") else None
    except ValueError as error:
        left_out(f"{folder}: {raw['doc_name']}: signed", f"is no date, so that it is undated: {error}")
        return None


@define
class FolderDesk:
    """Implements `finassay.api.research.Desk` over a folder; scripts run in a bare interpreter of their own, without a sandbox.

    Only scripts of the offline families run here: what they hold was generated by this package.
    """

    source: FolderSource
    cutoff: date
    asked: list[str] = Factory(list)

    def search(self, query: str, limit: int = 10) -> Sequence[Passage]:
        return self.source.search(query, self.cutoff, limit)

    def find(self, query: str, limit: int = 50) -> Sequence[SourceItem]:
        return self.source.find(query, self.cutoff, limit)

    def open(self, source: str, reference: str) -> Document:
        self.asked.append(reference)
        return self.source.open(reference, self.cutoff)

    def run(self, code: str, inputs: Mapping[str, Json]) -> Script:
        argv = [sys.executable, "-I", "-S", "-c", code]
        try:
            done = subprocess.run(argv, input=json.dumps(inputs), capture_output=True, text=True, timeout=SCRIPT_SECONDS, check=False)
        except subprocess.TimeoutExpired as error:
            raise ScriptError(f"the script ran longer than {SCRIPT_SECONDS} s") from error
        if done.returncode != 0:
            raise ScriptError((done.stderr.strip().splitlines() or ["the script failed without a word"])[-1])
        return Script(
            code, hashlib.sha256(code.encode()).hexdigest(), json.loads(done.stdout), hashlib.sha256(done.stdout.encode()).hexdigest()
        )


def metric_questions(folder: Path) -> list[dict[str, Any]]:
    """Those of the type `metrics-generated`; in a folder that has none, those whose answer is one figure. Raises `InvalidFileError`."""
    rows = list(rows_of(found(folder, "questions"), ("financebench_id", "question", "answer")))
    typed = [row for row in rows if row.get("question_type") == METRICS]
    return typed or [row for row in rows if keyed(str(row["question"]), str(row["answer"]), str(row.get("company") or "")) is not None]


# -- questions --------------------------------------------------------------------------------------------------------


@define
class Measurement:
    """A folder's questions and filings. `cutoff` None is the day of the latest dated filing."""

    folder: Path
    researchers: Sequence[Researcher]
    cutoff: date | None = None

    @cached_property
    def source(self) -> FolderSource:
        return FolderSource(self.folder)

    def questions(self) -> list[dict[str, Any]]:
        """The questions whose answer is a metric."""
        return metric_questions(self.folder)

    def records(self, issuers: Sequence[str] | None = None) -> Iterator[Record]:
        """A record for each question and family, and one for both agreeing where there are two families."""
        dates = [item.published for item in self.source.items.values() if item.published]
        desk = FolderDesk(self.source, self.cutoff or max(dates, default=date(1970, 1, 1)))
        for raw in self.questions():
            if issuers is not None and str(raw.get("company") or "") not in issuers:
                continue
            found = [(one.family, *self._asked(raw, one, desk)) for one in self.researchers]
            yield from (record for _, record, _ in found)
            if len(found) == 2:
                yield _both([record for _, record, _ in found], [derivation for _, _, derivation in found])

    def _asked(self, raw: Mapping[str, Any], researcher: Researcher, desk: FolderDesk) -> tuple[Record, Derivation]:
        """The record of one family. All that it is told is the question's text."""
        question = Question(str(raw["financebench_id"]), str(raw["question"]))
        derivation = researcher.derive(question, desk)
        record = judged(raw, researcher.family, question, derivation)
        record = evolve(record, reachable=self._reachable(str(raw.get("doc_name", ""))))
        if record.outcome == "wrong":
            again = judged(raw, researcher.family, question, researcher.derive(evolve(question, convention=ORIGINAL), desk))
            record = evolve(record, by_original=again.outcome == "right")
        return record, derivation

    def _reachable(self, name: str) -> str:
        item = self.source.items.get(name)
        if item is None:
            return "the expert's document is not in the corpus"
        return "" if item.published is not None else "the expert's document is undated"


def judged(raw: Mapping[str, Any], family: str, question: Question, derivation: Derivation) -> Record:
    """A derivation beside the expert's answer."""
    documents = tuple(dict.fromkeys(quote.reference for quote in derivation.quotes))
    name = str(raw.get("doc_name", ""))
    record = Record(
        str(raw["financebench_id"]),
        str(raw.get("company", "")),
        family,
        "unresolved",
        str(raw["answer"]),
        None,
        derivation.reason,
        documents,
    )
    if derivation.value is None or isinstance(derivation.value, str):
        return record
    try:
        scale = understand(question).scale
    except FormulaError:
        scale = None
    value = (
        derivation.value / (scale or Decimal(1))
        if derivation.unit == "count" or re.fullmatch("[A-Z]{3}", derivation.unit)
        else derivation.value
    )
    right = agrees(value, str(raw["answer"]), derivation.unit)
    return evolve(record, outcome="right" if right else "wrong", value=value, coincides=name in documents)


def agrees(value: Decimal, answer: str, unit: str) -> bool:
    """Whether a value is the expert's within the rounding that the expert shows; trailing zeros of amounts say nothing.

    A percentage may be answered as a share (0.0102 for 1.02 %) and the other way round, by the sign `%`.
    """
    match = re.search(r"\(?-?\$?\s?\(?\d[\d,]*(?:\.\d+)?\)?", answer.replace("−", "-"))
    if match is None:
        return False
    text = re.sub(r"[$,\s()]", "", match[0])
    try:
        expert = Decimal(text)
    except InvalidOperation:
        return False
    if match[0].startswith("(") and match[0].endswith(")"):
        expert = -expert
    if "%" in answer and unit in ("times",):
        value *= 100
    if "%" not in answer and unit == "percent" and abs(expert) < 1 < abs(value):
        value /= 100
    places = max(0, -int(expert.normalize().as_tuple().exponent))
    half = Decimal("0.5").scaleb(-places)
    if places == 0 and unit == "USD":
        half = Decimal("0.5")
    return abs(value - expert) <= half * (1 + Decimal("1e-9"))


def _both(records: Sequence[Record], derivations: Sequence[Derivation]) -> Record:
    """Two families as one that speaks only where both give the same value."""
    first, second = records
    values = [d.value for d in derivations]
    if first.value is not None and second.value is not None and values[0] == values[1]:
        return evolve(first, family=BOTH)
    reasons = [f"{one.family}: {one.reason}" for one in records if one.reason]
    reason = "; ".join(reasons) or f"{first.family} finds {first.value}, {second.family} {second.value}"
    return evolve(first, family=BOTH, outcome="unresolved", value=None, reason=reason, documents=(), coincides=None)


@frozen
class Figures:
    """Counts of one family over questions."""

    family: str
    questions: int
    resolved: int
    right: int
    wrong: int
    original: int
    """Of the wrong, those right as first reported."""
    coincide: int
    """Of the resolved, those that rest on the expert's document too."""

    @property
    def resolved_share(self) -> float | None:
        return self.resolved / self.questions if self.questions else None

    @property
    def right_share(self) -> float | None:
        return self.right / self.resolved if self.resolved else None


def figures(records: Sequence[Record]) -> list[Figures]:
    """Counts for each family, in the order of the records."""
    out = []
    for family in dict.fromkeys(record.family for record in records):
        own = [record for record in records if record.family == family]
        resolved = [record for record in own if record.outcome != "unresolved"]
        out.append(
            Figures(
                family,
                len(own),
                len(resolved),
                sum(record.outcome == "right" for record in own),
                sum(record.outcome == "wrong" for record in own),
                sum(record.by_original for record in own),
                sum(bool(record.coincides) for record in resolved),
            )
        )
    return out


def halves(issuers: Sequence[str]) -> tuple[list[str], list[str]]:
    """Issuers in alphabetical order at odd places, on which rules were tuned, and at even places, held out."""
    order = sorted(set(issuers), key=str.casefold)
    return order[0::2], order[1::2]
