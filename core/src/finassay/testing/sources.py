"""Conformance of sources and embeddings.

What a source holds is not known here, so its own answers to a few probing queries are what is looked at. A source in which the usual ones find
nothing names others: an attribute `probes: tuple[str, ...]`.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from typing import Final

from attrs import define, field

from finassay.api.embedding import Embedding
from finassay.api.source import Document, NotThereError, Passage, Source, SourceError, SourceItem
from finassay.testing.result import conformance, require

PROBES: Final = ("annual report", "revenue", "net income", "10-K", "company")
MAX_ITEMS: Final = 3
"""Documents that are looked at closely."""
ODD: Final = ("", " ", '"', "' OR 1=1 --", "AND OR NOT ( * ^", "\x00\ud800", "é" * 500, "x" * 20_000, "../../etc/passwd")


@define
class SourceSubject:
    """A source, and what its answers to the probes were."""

    source: Source
    today: date = field(factory=lambda: datetime.now(UTC).date())
    _items: list[SourceItem] | None = None

    @property
    def probes(self) -> Sequence[str]:
        return tuple(getattr(self.source, "probes", PROBES))

    @property
    def items(self) -> list[SourceItem]:
        """Documents that the probes find, each once."""
        if self._items is None:
            found = {item.reference: item for probe in self.probes for item in self._found(probe, self.today)}
            self._items = list(found.values())
        return self._items

    def _found(self, query: str, cutoff: date) -> Iterator[SourceItem]:
        yield from (passage.item for passage in self.source.search(query, cutoff, 10))
        yield from self.source.find(query, cutoff, 20)

    def references(self, cutoff: date) -> set[str]:
        return {item.reference for probe in self.probes for item in self._found(probe, cutoff)}


def _something(subject: SourceSubject) -> bool:
    return bool(subject.items)


_NOTHING: Final = "the probes found nothing; name others in an attribute `probes`"


@conformance("source", "lists-what-it-is", "references and dates stand in records")
def _lists(subject: SourceSubject) -> None:
    for item in subject.items:
        require(item.source == subject.source.id, f"{item.reference}: says it is of {item.source!r}, not of {subject.source.id!r}")
        require(item.reference and item.title, f"{item!r}: no reference or no title")
        require(item.published_basis, f"{item.reference}: does not say what its date rests on")


@conformance("source", "undated-never", "what has no date may have been written at any time")
def _undated(subject: SourceSubject) -> None:
    for item in subject.items:
        require(item.published is not None, f"{item.reference} is undated, and was handed out")
        require(item.published is None or item.published <= subject.today, f"{item.reference} is of {item.published}, after the cutoff")


@conformance(
    "source", "cutoff-inclusive", "what was published on the day of the cutoff was public then", applies=_something, otherwise=_NOTHING
)
def _inclusive(subject: SourceSubject) -> None:
    for item in subject.items[:MAX_ITEMS]:
        assert item.published is not None
        document = subject.source.open(item.reference, item.published)
        require(
            document.item.published == item.published, f"{item.reference}: opened, it is of {document.item.published}, not {item.published}"
        )
        require(item.reference in subject.references(item.published), f"{item.reference} is not found on the day of its publication")


@conformance(
    "source", "nothing-after-the-cutoff", "an answer that was not known yet is worth nothing", applies=_something, otherwise=_NOTHING
)
def _after(subject: SourceSubject) -> None:
    for item in subject.items[:MAX_ITEMS]:
        assert item.published is not None
        before = item.published - timedelta(days=1)
        try:
            subject.source.open(item.reference, before)
        except NotThereError:
            pass
        else:
            require(False, f"{item.reference} of {item.published} was opened as of {before}")
        require(item.reference not in subject.references(before), f"{item.reference} of {item.published} was found as of {before}")
    require(not subject.references(date(1900, 1, 1)), "something was found as of 1900")


@conformance("source", "stable-digests", "a quote is believed by its page's digest", applies=_something, otherwise=_NOTHING)
def _stable(subject: SourceSubject) -> None:
    for item in subject.items[:MAX_ITEMS]:
        first, second = (subject.source.open(item.reference, subject.today) for _ in range(2))
        require(_texts(first) == _texts(second) and first.digest == second.digest, f"{item.reference}: opened twice, it is not the same")
        for page in first.pages:
            require(
                page.digest == hashlib.sha256(page.text.encode("utf-8", "surrogatepass")).hexdigest(),
                f"{item.reference}: digest of page {page.number}",
            )
        joined = hashlib.sha256("\n".join(page.digest for page in first.pages).encode()).hexdigest()
        require(first.digest == joined, f"{item.reference}: its digest is not that of its pages' digests")
        numbers = [page.number for page in first.pages]
        require(len(set(numbers)) == len(numbers) or set(numbers) == {None}, f"{item.reference}: pages {numbers[:10]}")


def _texts(document: Document) -> list[tuple[int | None, str]]:
    return [(page.number, page.text) for page in document.pages]


@conformance("source", "passages-are-of-their-page", "a passage that is nowhere can not be quoted", applies=_something, otherwise=_NOTHING)
def _passages(subject: SourceSubject) -> None:
    for probe in subject.probes:
        for passage in subject.source.search(probe, subject.today, 3):
            document = subject.source.open(passage.item.reference, subject.today)
            texts = [page.text for page in document.pages if passage.page in (page.number, None)]
            require(
                any(passage.text in text for text in texts), f"{passage.item.reference}, page {passage.page}: does not hold the passage"
            )


@conformance("source", "same-question-same-answer", "a rubric is made again from the same answers")
def _order(subject: SourceSubject) -> None:
    for probe in subject.probes:
        first, second = (_answers(subject.source, probe, subject.today) for _ in range(2))
        require(first == second, f"{probe!r}: asked twice, the answers differ")


def _answers(source: Source, query: str, cutoff: date) -> list[tuple[str, int | None, str]]:
    passages: Sequence[Passage] = source.search(query, cutoff, 10)
    return [*((p.item.reference, p.page, p.text) for p in passages), *((i.reference, None, "") for i in source.find(query, cutoff, 20))]


@conformance("source", "best-first", "whoever reads only the first ones reads the best", applies=_something, otherwise=_NOTHING)
def _best(subject: SourceSubject) -> None:
    for probe in subject.probes:
        scores = [passage.score for passage in subject.source.search(probe, subject.today, 10)]
        require(scores == sorted(scores, reverse=True), f"{probe!r}: scores {scores}")


@conformance("source", "unknown-reference", "a caller is not told whether a document exists later")
def _unknown(subject: SourceSubject) -> None:
    for reference in ("no-such-document-8f3a", "../../etc/passwd", "", "x" * 5000):
        try:
            subject.source.open(reference, subject.today)
        except NotThereError:
            continue
        require(False, f"{reference[:60]!r} was opened")


@conformance("source", "bounded", "results are read by models, which pay for each word")
def _bounded(subject: SourceSubject) -> None:
    for probe in subject.probes[:2]:
        for limit in (0, 1, 3):
            require(len(subject.source.search(probe, subject.today, limit)) <= limit, f"{probe!r}: more than {limit} passages")
            require(len(subject.source.find(probe, subject.today, limit)) <= limit, f"{probe!r}: more than {limit} documents")
        found = subject.source.search(probe, subject.today, 10**6)
        require(len(found) <= 1000, f"{probe!r}: {len(found)} passages")
        require(all(len(passage.text) <= 5000 for passage in found), f"{probe!r}: a passage of more than 5,000 characters")


@conformance("source", "odd-questions", "a model may ask anything")
def _odd(subject: SourceSubject) -> None:
    for query in ODD:
        for call in (subject.source.search, subject.source.find):
            try:
                call(query, subject.today, 3)
            except SourceError:
                continue


@conformance("source", "threads", "researchers work side by side")
def _threads(subject: SourceSubject) -> None:
    probes = [probe for probe in subject.probes[:3] for _ in range(4)]
    expected = {probe: _answers(subject.source, probe, subject.today) for probe in subject.probes[:3]}
    with ThreadPoolExecutor(8) as pool:
        for probe, answers in zip(probes, pool.map(lambda p: _answers(subject.source, p, subject.today), probes), strict=True):
            require(answers == expected[probe], f"{probe!r}: another answer in another thread")


# -- embeddings -------------------------------------------------------------------------------------------------------


@define
class EmbeddingSubject:
    embedding: Embedding


_TEXTS: Final = (
    "compute metric.free_cash_flow for each period and compare",
    "explain the change in metric.operating_margin",
    "Explain the change in metric.operating_margin.",
    "list risks",
    "",
    "   \n",
    "é 漢字 \ufffe",
)


def _vectors(subject: EmbeddingSubject, texts: Sequence[str]) -> list[list[float]]:
    return [[float(x) for x in vector] for vector in subject.embedding.embed(texts)]


@conformance("embedding", "one-vector-each", "vectors are told apart by their place")
def _one_each(subject: EmbeddingSubject) -> None:
    vectors = _vectors(subject, _TEXTS)
    require(len(vectors) == len(_TEXTS), f"{len(vectors)} vectors for {len(_TEXTS)} texts")
    require(len({len(vector) for vector in vectors}) == 1 and vectors[0], f"lengths {sorted({len(vector) for vector in vectors})}")
    require(not subject.embedding.embed(()), "vectors for no text")
    require(subject.embedding.version, "no version")


@conformance("embedding", "unit-length", "nearness is a product of vectors")
def _unit(subject: EmbeddingSubject) -> None:
    for text, vector in zip(_TEXTS, _vectors(subject, _TEXTS), strict=True):
        length = math.sqrt(sum(x * x for x in vector))
        require(all(math.isfinite(x) for x in vector), f"{text!r}: not finite")
        require(
            abs(length - (1 if text.strip() else 0)) < 1e-5 or (length < 1e-5 and not any("a" <= c <= "z" for c in text)),
            f"{text!r}: {length}",
        )


@conformance("embedding", "a-text-is-a-vector", "a task keeps its place when others come")
def _alone(subject: EmbeddingSubject) -> None:
    together = _vectors(subject, _TEXTS)
    for place in (0, 1, 3):
        alone = _vectors(subject, _TEXTS[place : place + 1])[0]
        apart = max(abs(a - b) for a, b in zip(alone, together[place], strict=True))
        require(apart < 1e-4, f"{_TEXTS[place]!r} alone is another vector: by {apart}")


@conformance("embedding", "alike-is-near", "that is what it is for")
def _near(subject: EmbeddingSubject) -> None:
    first, second, third, other = _vectors(subject, _TEXTS[:4])
    near, far = (sum(a * b for a, b in zip(second, v, strict=True)) for v in (third, other))
    require(near > far, f"a text and its copy with a full stop: {near:.3f}; another text: {far:.3f}")
    require(first != second, "two texts are one vector")
