"""Reads the result tables of a build and prints their numbers."""

import csv
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

Row = dict[str, str]


def read_rows(path: Path) -> list[Row]:
    """The rows of a CSV; none if the file is absent."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def percent(text: str, digits: int = 2) -> str:
    """A fraction as a percentage: `0.1234` gives `12.34%`; what is no number gives `n/a`."""
    number = _number(text)
    return "n/a" if number is None else f"{number * 100:.{digits}f}%"


def plain(text: str, digits: int = 2) -> str:
    number = _number(text)
    return "n/a" if number is None else f"{number:,.{digits}f}"


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number == number else None


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; a bar inside a cell is replaced."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "/") for cell in line) + " |" for line in lines)


@frozen
class Results:
    """The tables of `deliver/results` and `deliver/data` by name."""

    folder: Path

    def rows(self, name: str) -> list[Row]:
        return read_rows(self.folder / f"{name}.csv")

    def metric(self, name: str) -> str:
        return next((row["value"] for row in self.rows("results/metrics") if row["metric"] == name), "")

    def portfolio(self, start: str) -> Row:
        """The row of a portfolio in the benchmark comparison whose name begins so."""
        return next(row for row in self.rows("results/benchmark_comparison") if row["portfolio"].startswith(start))

    @property
    def first_date(self) -> str:
        return self.rows("results/equity")[0]["date"]

    @property
    def last_date(self) -> str:
        return self.rows("results/equity")[-1]["date"]
