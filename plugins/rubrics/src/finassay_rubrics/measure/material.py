"""What agreement is measured on: folders of a rubric with answers, and tables. Every fault of a file ends in one line that names it."""

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from finassay.api.errors import InvalidFileError
from finassay_rubrics.grading.compare import Profile
from finassay_rubrics.grading.grade import Grader
from finassay_rubrics.measure.agreeing import Pair, verdict_of
from finassay_rubrics.measure.tracking import Scores
from finassay_rubrics.record.exchange.forms import read
from finassay_rubrics.record.reading import read_rubric
from finassay_rubrics.record.rubric import Rubric

MAX_BYTES: Final = 256 * 2**20
MAX_ROWS: Final = 500_000
MAX_SCORE: Final = 1e9
EXPERT: Final = ("expert.json", "expert.jsonl", "expert.yaml", "expert.yml")
ANSWERS: Final = ("answers.json", "answers.jsonl")
POINTS: Final = ("points", "score")


# -- verdicts ---------------------------------------------------------------------------------------------------------


def pairs_of(path: Path, profile: Profile) -> tuple[list[Pair], Counter[str]]:
    """Verdicts of program and person, and how often either gave none where the other did. Raises `InvalidFileError`."""
    rows = _graded_verdicts(path, profile) if path.is_dir() else _told_verdicts(path)
    pairs, left = [], Counter[str]()
    for query, answer, criterion, program, person in rows:
        said = verdict_of(program), verdict_of(person)
        if said[0] is not None and said[1] is not None:
            pairs.append(Pair(query, answer, criterion, said[0], said[1]))
        else:
            left["program"] += said[0] is None and said[1] is not None
            left["person"] += said[1] is None and said[0] is not None
    return pairs, left


def _told_verdicts(path: Path) -> list[tuple[str, str, str, str, str]]:
    rows = table(path, ("query", "program", "person"))
    return [
        (str(row["query"]), str(row.get("answer", "")), str(row.get("criterion", "")), str(row["program"]), str(row["person"]))
        for row in rows
    ]


def _graded_verdicts(folder: Path, profile: Profile) -> list[tuple[str, str, str, str, str]]:
    rubric, rows = read_rubric(folder), answers_in(folder)
    grader = Grader(rubric, profile)
    found: list[tuple[str, str, str, str, str]] = []
    kinds = {c.id: c.kind for c in rubric.criteria}
    for number, row in enumerate(rows, start=1):
        labels = row.get("verdicts")
        labels = labels if isinstance(labels, Mapping) else {}
        for result in grader.grade(str(row["text"])).score.results:
            if result.criterion in labels and kinds[result.criterion] != "prohibited":
                name, person = str(row.get("id") or number), str(labels[result.criterion])
                found.append((rubric.query, name, result.criterion, result.found.outcome, person))
    return found


# -- scores -----------------------------------------------------------------------------------------------------------


def scores_of(path: Path, profile: Profile, first: str, second: str) -> tuple[list[Scores], int]:
    """Scores of answers, and how many answers lack one of the two. Raises `InvalidFileError`."""
    rows = _graded_scores(path, profile) if path.is_dir() else _told_scores(path, first, second)
    known = [Scores(q, a, one, two) for q, a, one, two in rows if one is not None and two is not None]
    return known, len(rows) - len(known)


def _told_scores(path: Path, first: str, second: str) -> list[tuple[str, str, float | None, float | None]]:
    out = []
    for number, row in enumerate(table(path, ("query", first, second)), start=1):
        one, two = (_score(row[name], f"{path}: row {number}: {name}") for name in (first, second))
        out.append((str(row["query"]), str(row.get("answer", number)), one, two))
    return out


def _graded_scores(folder: Path, profile: Profile) -> list[tuple[str, str, float | None, float | None]]:
    rubric, rows = read_rubric(folder), answers_in(folder)
    beside = next((folder / name for name in EXPERT if (folder / name).is_file()), None)
    grader = Grader(rubric, profile)
    expert = Grader(expert_of(beside, rubric.query), profile) if beside else None
    out = []
    for number, row in enumerate(rows, start=1):
        text, where = str(row["text"]), f"{folder}: answer {number}"
        one = grader.grade(text).score.points
        if expert is not None:
            points = expert.grade(text).score.points
            two = None if points is None else float(points)
        else:
            name = next((n for n in POINTS if n in row), "")
            if not name:
                raise InvalidFileError(f"{where}: neither an expert's rubric ({', '.join(EXPERT[:2])}) nor {' or '.join(POINTS)} of people")
            two = _score(row[name], f"{where}: {name}")
        out.append((rubric.query, str(row.get("id") or number), None if one is None else float(one), two))
    return out


def _score(value: Any, where: str) -> float | None:
    """A number; None for an empty cell, which is a score that somebody did not give."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        number = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or abs(number) > MAX_SCORE:
        raise InvalidFileError(f"{where}: expected a number, found {str(value)[:40]!r}")
    return number


# -- files ------------------------------------------------------------------------------------------------------------


def expert_of(path: Path, query: str) -> Rubric:
    """The rubric of this query in a file of any form; a file with a single one needs not name the query alike. Raises `InvalidFileError`."""
    rubrics = read(path, datetime.now(UTC).date())
    plain = " ".join(query.split())
    chosen = next((r for r in rubrics if " ".join(r.query.split()) == plain), rubrics[0] if len(rubrics) == 1 else None)
    if chosen is None:
        raise InvalidFileError(f"{path}: none of its {len(rubrics)} rubrics is of this query")
    return chosen


def answers_in(folder: Path) -> list[Mapping[str, Any]]:
    """Objects with the `text` of an answer and what people say of it. Raises `InvalidFileError`."""
    path = next((folder / name for name in ANSWERS if (folder / name).is_file()), folder / ANSWERS[0])
    rows = _objects(path, _text(path))
    if not rows:
        raise InvalidFileError(f"{path}: holds no answers")
    wrong = next((n for n, row in enumerate(rows, start=1) if not isinstance(row.get("text"), str)), None)
    if wrong is not None:
        raise InvalidFileError(f"{path}: answer {wrong} has no text")
    return rows


def table(path: Path, needed: Sequence[str]) -> list[Mapping[str, Any]]:
    """Rows of a table: CSV with a head, JSON lines, or a JSON list of objects. Raises `InvalidFileError`."""
    text = _text(path)
    rows = _objects(path, text) if path.suffix in (".json", ".jsonl") else _cells(path, text)
    if not rows:
        raise InvalidFileError(f"{path}: holds no rows")
    if len(rows) > MAX_ROWS:
        raise InvalidFileError(f"{path}: more than {MAX_ROWS:,} rows")
    for number, row in enumerate(rows, start=1):
        missing = [name for name in needed if name not in row]
        if missing:
            raise InvalidFileError(f"{path}: row {number} has no {', '.join(missing)}", hint=f"Columns: {', '.join(needed)}.")
    return rows


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InvalidFileError(f"{path}: larger than {MAX_BYTES // 2**20} MB")
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFileError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _cells(path: Path, text: str) -> list[Mapping[str, Any]]:
    try:
        return [{k: v for k, v in row.items() if k is not None} for row in csv.DictReader(io.StringIO(text, newline=""))]
    except csv.Error as error:
        raise InvalidFileError(f"{path}: not CSV: {error}") from error


def _objects(path: Path, text: str) -> list[Mapping[str, Any]]:
    try:
        rows = json.loads(text) if path.suffix == ".json" else [json.loads(line) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError) as error:
        raise InvalidFileError(f"{path}: cannot be read: {error}") from error
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise InvalidFileError(f"{path}: expected a list of objects")
    return rows
