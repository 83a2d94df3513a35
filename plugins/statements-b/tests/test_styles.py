"""Statements worded as issuers of other trades word theirs: every line found, none of them wrong."""

import hashlib
from datetime import date
from decimal import Decimal

import pytest

from finassay.api.source import Document, Page, SourceItem
from finassay.testing.styles import YEARS, styles
from finassay_rubrics.metrics.ground import Cell
from finassay_statements_b.filing import GridFiling


@pytest.fixture(scope="module")
def filings():
    return {name: GridFiling(report(style.pages)) for name, style in styles().items()}


def report(texts):
    made = tuple(Page(number, text, hashlib.sha256(text.encode()).hexdigest()) for number, text in enumerate(texts, 1))
    item = SourceItem("shelf", "report", "Northgate 10-K 2021", date(2022, 3, 1), "given", "Northgate Holdings, Inc.")
    return Document(item, made, "")


@pytest.mark.parametrize("name", styles())
def test_every_line_of_a_style_is_found(filings, name):
    style, filing = styles()[name], filings[name]
    assert set(filing.years) == set(YEARS)
    missing = {line: cell for line in style.lines if not isinstance(cell := filing.cell(line, YEARS[0]), Cell)}
    assert missing == {}


@pytest.mark.parametrize("name", styles())
def test_no_figure_of_a_style_is_another_line_s_or_year_s(filings, name):
    style, filing = styles()[name], filings[name]
    for line, by_year in style.figures.items():
        for year, figure in by_year.items():
            cell = filing.cell(line, year)
            if isinstance(cell, Cell):
                assert line not in style.absent, (line, cell.label)
                assert abs(cell.value) == Decimal(figure), (line, year, cell.label)
                assert cell.row.text in style.pages[cell.row.page - 1]
