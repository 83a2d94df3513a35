"""Whether a number stands in the column of its period, where a quoted heading names as many years as its row has numbers.

A slip of a column is what models get wrong most easily, and what no quote shows by itself. Where heading and row do not fit each other nothing is said.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Final

_CELL: Final = re.compile(r"\(?[$€£]?\s?\(?(\d[\d,]*(?:\.\d+)?|\.\d+)\)?\s?%?|(?<=\s)([-–—])(?=\s|$)")
_YEAR: Final = re.compile(r"(?<![\d,.$])(?:19|20)\d\d(?![\d,.]\d|\d)")
_EARLY: Final = re.compile(r"\b(?:jan(?:uary)?|feb(?:ruary)?)\b", re.IGNORECASE)


def wrong_column(row: str, shown: str, headings: Iterable[str], year: int, end: date | None) -> str:
    """Why `shown` belongs to another year than it is taken for; empty if it does not, or nobody can tell.

    `row` is the quote that shows it, `headings` are all quotes of its document. `end` is the last day of the period where it is known;
    columns are named by the year of it. Where it is not, a year that ends in January or February may stand under the next one.
    """
    line = next((one for one in row.splitlines() if shown in one), row)
    cells = [match[1] or match[2] for match in _CELL.finditer(line)]
    places = [place for place, cell in enumerate(cells) if cell == shown]
    for years, early in _headings(headings, len(cells)):
        wanted = {end.year} if end is not None else {year, year + 1} if early else {year}
        if not wanted & set(years):
            continue
        stands = {years[place] for place in places}
        if stands and not stands & wanted:
            return f"{shown} stands in the column of {min(stands)}, not of {min(wanted)}"
        return ""
    return ""


def _headings(texts: Iterable[str], count: int) -> Iterator[tuple[list[int], bool]]:
    """The years of each heading that has as many as a row has numbers, and whether it names January or February."""
    for text in texts:
        for line in text.splitlines():
            years = [int(match[0]) for match in _YEAR.finditer(line)]
            if count > 1 and len(years) == count and len(set(years)) == count:
                yield years, bool(_EARLY.search(text))
