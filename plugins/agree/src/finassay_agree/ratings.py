"""Ratings: what one judge, or one person, says of sessions, by session and dimension."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from attrs import frozen

from finassay.api.errors import InvalidFileError
from finassay.api.scorecard import Scorecard
from finassay.api.verdict import NotApplicable, Scored
from finassay.grading.dimensions import DIMENSIONS

ABSTAINED: Final = None
Cell = tuple[str, str]
"""Session and dimension."""
BOUNDED: Final = ", bounded by "
"""How a verdict says that a program lowered the judge's level."""
MAX_ROWS: Final = 200_000


@frozen
class Ratings:
    """A level from 0 to 4, or None for no verdict, by session and dimension. What is not applicable is not there."""

    name: str
    levels: Mapping[Cell, int | None]


def of_scorecards(name: str, cards: Mapping[str, Scorecard]) -> Ratings:
    """The levels of one grading of each session. A judge's level counts as it was before a program bounded it."""
    levels: dict[Cell, int | None] = {}
    for session, card in cards.items():
        if card.grading == "none":
            continue
        for graded in card.verdicts:
            verdict = graded.verdict
            if isinstance(verdict, Scored):
                bounded = BOUNDED in verdict.by and verdict.raw_level is not None
                levels[session, graded.dimension] = verdict.raw_level if bounded else verdict.level
            elif not isinstance(verdict, NotApplicable) and graded.unscored is not None:
                levels[session, graded.dimension] = ABSTAINED
    return Ratings(name, levels)


def of_file(path: Path, sessions: Iterable[str]) -> list[Ratings]:
    """Labels from a CSV with the columns session, dimension, level and perhaps rater; an empty level is an abstention.

    One `Ratings` for each rater. Raises `InvalidFileError` naming the line.
    """
    known, dimensions = set(sessions), {one.id for one in DIMENSIONS}
    found: dict[str, dict[Cell, int | None]] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            missing = {"session", "dimension", "level"} - set(reader.fieldnames or ())
            if missing:
                raise InvalidFileError(f"{path}: no column {', '.join(sorted(missing))}", hint="Columns: session, dimension, level, rater.")
            for row in reader:
                where = f"{path}: line {reader.line_num}"
                if reader.line_num > MAX_ROWS:
                    raise InvalidFileError(f"{where}: more than {MAX_ROWS:,} lines")
                session, dimension = (row["session"] or "").strip(), (row["dimension"] or "").strip()
                if session not in known:
                    raise InvalidFileError(f"{where}: {session!r} is no session of the run that was graded")
                if dimension not in dimensions:
                    raise InvalidFileError(f"{where}: {dimension!r} is no dimension")
                mine = found.setdefault((row.get("rater") or "labels").strip() or "labels", {})
                if (session, dimension) in mine:
                    raise InvalidFileError(f"{where}: {session}, {dimension} is labelled twice by one rater")
                mine[session, dimension] = _level(row["level"], where)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidFileError(f"{path}: cannot be read: {error}") from error
    if not found:
        raise InvalidFileError(f"{path}: holds no labels")
    return [Ratings(rater, levels) for rater, levels in found.items()]


def _level(text: str | None, where: str) -> int | None:
    said = (text or "").strip()
    if not said:
        return ABSTAINED
    if said not in ("0", "1", "2", "3", "4"):
        raise InvalidFileError(f"{where}: level {said[:40]!r} is not between 0 and 4")
    return int(said)
