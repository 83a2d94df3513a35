"""The second Finance Agent benchmark's table: a question a row, its rubric as JSON with the modifiers `severity` (1 to 3) and `must_pass`.

A severity is what a criterion weighs. Written from points it is the nearest of 1, 2 and 3 times the median, so that points come back coarser.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from statistics import median
from typing import Any, Final

from finassay_rubrics.record.exchange.common import Form, Requirement, figure, mapping, objects, original_of, plain, rubric_of, said, words
from finassay_rubrics.record.parsing import csv_of, dumped, json_of
from finassay_rubrics.record.rubric import Rubric

VALS_V2: Final = "vals-v2"
OPERATOR: Final = "finance_agent_v2_operator"
QUESTION, RUBRIC = "Question", "Rubric"
COLUMNS: Final = (QUESTION, "Question Type", "Expert time (mins)", RUBRIC)
HEAVIEST: Final = 3


def from_row(row: Mapping[str, Any], cutoff: date) -> Rubric:
    """One question. Raises `ValueError`."""
    try:
        data = json_of(words(row, RUBRIC))
    except ValueError as error:
        raise ValueError(f"{RUBRIC}: not JSON: {error}") from error
    rows = objects({RUBRIC: data}, RUBRIC)
    requirements = [Requirement(words(one, "criteria"), _severity(one), gate=_category(one) == "must_pass") for one in rows]
    extra = [{k: v for k, v in one.items() if k != "criteria"} for one in rows]
    rest = {k: v for k, v in row.items() if k not in (QUESTION, RUBRIC)}
    return rubric_of(words(row, QUESTION), requirements, cutoff, VALS_V2, {"rest": rest, "extra": extra, "order": list(row)})


def _severity(one: Mapping[str, Any]) -> Decimal:
    modifiers = mapping(one, "modifiers")
    return figure(modifiers, "severity") if "severity" in modifiers else Decimal(1)


def _category(one: Mapping[str, Any]) -> str:
    return str(mapping(one, "modifiers").get("category", ""))


def to_row(rubric: Rubric) -> dict[str, Any]:
    """Faults and criteria without points have no place in this form: an answer that does not have them would fail."""
    kept = original_of(rubric, VALS_V2)
    extra = kept.get("extra")
    if extra is None:
        earning = [c for c in rubric.criteria if c.points > 0 and c.kind != "prohibited"]
        middle = median([c.points for c in earning]) if earning else Decimal(1)
        extra = [
            {"operator": OPERATOR, "modifiers": _told(c.points / middle, must_pass=c.gate == "must_pass")} if c in earning else None
            for c in rubric.criteria
        ]
    rows = [{"criteria": said(c), **more} for c, more in zip(rubric.criteria, extra, strict=True) if more is not None]
    rows = [{"operator": row.pop("operator", OPERATOR), **row} for row in rows]
    rest = kept.get("rest") or {"Question Type": "", "Expert time (mins)": ""}
    row = {QUESTION: rubric.query, **rest, RUBRIC: dumped(rows)}
    return {key: row[key] for key in kept.get("order", COLUMNS)}


def _told(share: Decimal, *, must_pass: bool) -> dict[str, Any]:
    severity = min(max(share.to_integral_value(ROUND_HALF_UP), Decimal(1)), Decimal(HEAVIEST))
    return {"severity": plain(severity), **({"category": "must_pass"} if must_pass else {})}


def _read(text: str, cutoff: date, query: str) -> list[Rubric]:
    found = []
    for number, row in enumerate(csv_of(text.removeprefix("\ufeff")), start=1):
        try:
            found.append(from_row(row, cutoff))
        except ValueError as error:
            raise ValueError(f"row {number}: {error}") from error
    return found


def _write(rubrics: Sequence[Rubric]) -> str:
    rows = [to_row(rubric) for rubric in rubrics]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


FORM: Final = Form(VALS_V2, True, _read, _write)
