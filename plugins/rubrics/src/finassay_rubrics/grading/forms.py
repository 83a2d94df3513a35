"""Format checks by program: tables, units, decimals. They need no evidence, because they look at the answer alone."""

import re
from typing import Final

from finassay_rubrics.grading.answer import Answer
from finassay_rubrics.grading.numbers import numbers

MAX_CELLS: Final = 1_000
_COUNT: Final = {"one": 1, "single": 1, "exactly one": 1, "two": 2, "three": 3}
_LIMIT: Final = re.compile(
    r"(at most|at least|no more than|no fewer than|not more than|up to|under|below|within|fewer than|less than|maximum(?: of)?|max\.?)\s+(\d{1,6})\s+words|(?<!\d)(\d{1,6})\s+words"
)
_RATIO_ROW: Final = re.compile(r"%|percent|\bratio|/|margin|\bx\b|times|multiple|share|yield|return on", re.IGNORECASE)


def can_check(text: str) -> bool:
    """Whether a program here knows what a format criterion asks for."""
    return check_format(text, "", Answer(""))[0] is not None


def check_format(text: str, value: str, answer: Answer) -> tuple[bool | None, str]:
    """Whether a format criterion is met, and why; None for one that no program here knows."""
    said = f"{text} {value}".lower()
    problems: list[str] = []
    known = False
    if "table" in said:
        known = True
        wanted = next((number for word, number in _COUNT.items() if re.search(rf"\b{word}\b", said)), None)
        found = len(answer.tables)
        if found == 0 or (wanted is not None and found != wanted):
            problems.append(f"{found} tables")
    if (unit := re.search(r"\b(usd|eur|gbp|\$)?\s?(thousands|millions|billions)\b", said)) is not None:
        known = True
        where = " ".join([t.text_of_head + " " + " ".join(r[0].text for r in t.rows) for t in answer.tables]) or answer.text
        stem = unit[2].removesuffix("s")
        if not re.search(rf"\b{stem}s?\b|\b{ {'million': 'm|mn|mm', 'billion': 'b|bn', 'thousand': 'k'}[stem] }\b", where, re.IGNORECASE):
            problems.append(f"no label {unit[2]}")
    if (places := re.search(r"\b(one|two|three|no|\d)\s+decimal", said)) is not None:
        known = True
        wanted = {"no": 0, "one": 1, "two": 2, "three": 3}.get(places[1]) if not places[1].isdigit() else int(places[1])
        wrong = [n for n in _ratios(answer) if n[1] != wanted]
        if wrong:
            problems.append(f"{wrong[0][0]} has {wrong[0][1]} decimals")
    if (limit := _LIMIT.search(said)) is not None:
        known = True
        count = len(answer.text.split())
        wanted_words = int(limit[2] or limit[3])
        if count < wanted_words if limit[1] and re.match(r"at least|no fewer", limit[1]) else count > wanted_words:
            problems.append(f"{count} words")
    if not known:
        return None, "no program checks this"
    return not problems, "; ".join(problems) or "as asked"


def _ratios(answer: Answer) -> list[tuple[str, int]]:
    """Ratios in tables, or in the text where there is no table, with their decimals."""
    found: list[tuple[str, int]] = []
    for table in answer.tables:
        for row in table.rows[: MAX_CELLS // max(1, len(table.head))]:
            for cell in row[1:]:
                own = numbers(cell.text, answer.ignore)
                row_of_ratios = bool(_RATIO_ROW.search(row[0].text))
                found += [(n.text, n.decimals) for n in own if n.kind in ("percent", "times") or (n.kind == "plain" and row_of_ratios)]
    if answer.tables:
        return found
    return [(n.text, n.decimals) for one in answer.sentences for n in one.numbers if n.kind in ("percent", "times")]
