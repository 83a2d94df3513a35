"""The cutoff is kept by program, whatever a source says."""

from datetime import date

import pytest
from attrs import evolve

from finassay.api.source import Document, NotThereError, Page, Passage, SourceError, SourceItem
from finassay.runs.sources import MAX_EXTRACT, GuardedSource, allowed

CUTOFF = date(2023, 3, 1)
ITEM = SourceItem("shelf", "r1", "A report", date(2023, 3, 1))


class Shelf:
    """A source that does not care about cutoffs."""

    id = "shelf"

    def __init__(self, *items):
        self.items = items

    def search(self, query, cutoff, limit=10):
        return [Passage(item, 1, "x" * 9_000, 1.0) for item in self.items]

    def find(self, query, cutoff, limit=50):
        return self.items

    def open(self, reference, cutoff):
        for item in self.items:
            if item.reference == reference:
                return Document(item, (Page(1, "text", "a digest made up"),), "another")
        raise RuntimeError("a bug of the source")


@pytest.mark.parametrize(
    ("item", "there"),
    [
        (ITEM, True),
        (evolve(ITEM, published=date(2023, 3, 2)), False),
        (evolve(ITEM, published=None), False),
        (evolve(ITEM, published=date(2022, 1, 1), period_end=date(2021, 12, 31), published_basis="signature"), False),
        (evolve(ITEM, published=date(2022, 1, 3), period_end=date(2021, 12, 31), published_basis="filing index"), True),
        (evolve(ITEM, published=date(2022, 2, 10), period_end=date(2021, 12, 31)), True),
        (evolve(ITEM, published=date(2021, 6, 1), period_end=date(2021, 12, 31), published_basis="cover"), False),
    ],
)
def test_what_was_public_on_the_day(item, there):
    source = GuardedSource(Shelf(item))
    assert allowed(item, CUTOFF) is there
    assert (len(source.search("report", CUTOFF)), len(source.find("report", CUTOFF))) == (there, there)
    if there:
        assert source.open("r1", CUTOFF).pages[0].text == "text"
    else:
        with pytest.raises(NotThereError):
            source.open("r1", CUTOFF)


def test_digests_are_computed_and_extracts_bounded():
    source = GuardedSource(Shelf(ITEM))
    document = source.open("r1", CUTOFF)
    assert document.pages[0].digest == "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"
    assert document.digest not in ("another", "")
    assert len(source.search("x", CUTOFF)[0].text) == MAX_EXTRACT


def test_a_source_that_breaks_says_so_in_one_line():
    with pytest.raises(SourceError, match="source shelf failed: RuntimeError: a bug"):
        GuardedSource(Shelf()).open("r9", CUTOFF)
