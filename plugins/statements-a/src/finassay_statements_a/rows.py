"""Rows of a statement: a label and as many values as there are columns."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from attrs import evolve, frozen

_NUMBER: Final = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
_VALUE: Final = re.compile(
    rf"(?P<open>\$?\s?\(\s?\$?\s?)(?P<inner>{_NUMBER})\s?\)(?P<after>\s?%)?|\$?\s?(?:(?P<minus>[-–−])(?=[$\d]))?(?:\$\s?)?(?P<plain>{_NUMBER})(?P<percent>\s?%)?|\$?\s?(?P<dash>[—–-]+)"
)
_MARKER: Final = re.compile(r"\(\d\)")
_NOTE: Final = re.compile(r"\d{1,2}")
"""A footnote's mark and a note's number, which stand beside a label and are no figures."""
_OF_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\s?[,:][\s$]*$")
"""What stands before a figure that a label tells of a year: `allowances: 2021, $25`."""
_SPACE: Final = re.compile(r"[\s\u00a0]*")
_LEADER: Final = re.compile(r"(?:\.\s?){3,}|_{3,}|…+")
_PER_SHARE: Final = re.compile(r"(?i)\bper (?:\w+ )?share\b.{0,60}$")
_OPEN_END: Final = re.compile(
    r"(?:,|(?<!,)\s(?:net)|\b(?:and|of|to|by|in|for|from|on|the|or|at|with|attributable|\(used|provided))\s*$", re.IGNORECASE
)


@frozen
class Value:
    """A value as a row shows it. A dash is zero."""

    text: str
    number: Decimal
    start: int
    end: int
    """Where it stands on the page."""
    percent: bool = False


@frozen
class Row:
    """A row of a statement."""

    label: str
    """Without leaders, wraps joined."""
    section: str
    """The last heading above it."""
    outer: str
    """The heading right above that one, if any."""
    values: tuple[Value, ...]
    """As many as the statement has columns; empty for a row with another number, which cannot be relied on."""
    start: int
    end: int


def rows(text: str, start: int, columns: int, noted: bool = False) -> list[Row]:
    """Every row of a page from the line that `start` stands in; `noted` where notes' numbers stand before the figures."""
    found: list[Row] = []
    section, outer = _headings_above(text, start)
    pending, pending_from, fresh = "", -1, 0 if section else -1
    for begin, end in _lines(text, start):
        pieces = list(_pieces(text, begin, end, columns, pending, noted))
        if not any(values for _, _, values, _ in pieces):
            tail = _clean(text[begin:end])
            if pieces and pieces[0][3]:
                found.append(Row(_clean(text[begin : pieces[0][1]]), section, outer, (), begin, end))
                pending = ""
            elif tail:
                more = _goes_on(pending, tail)
                pending, pending_from = (f"{pending} {tail}" if more else tail), (pending_from if more else begin)
                if _heading(tail):
                    outer = (outer if more else section) if fresh == len(found) else ""
                    section, fresh = pending, len(found)
            continue
        for label_from, label_to, values, _ in pieces:
            label = _clean(text[label_from:label_to])
            row_from = label_from
            if pending and (not label or _goes_on(pending, label)):
                label, row_from = f"{pending} {label}".strip(), pending_from
            pending = ""
            if values:
                found.append(Row(label, section, outer, values, row_from, values[-1].end))
            elif label:
                pending, pending_from = label, label_from
    return found


def with_totals_named(found: Sequence[Row]) -> list[Row]:
    """The rows, with a total that has no label named after the heading of what it adds up."""
    named: list[Row] = []
    open_rows: list[tuple[str, str, list[Decimal]]] = []
    for row in found:
        label = row.label
        numbers = [value.number for value in row.values]
        if not numbers:
            open_rows.clear()
        elif not label or label.lower().startswith("total"):
            first = _first_summand(open_rows, numbers)
            if first is not None:
                section, outer, _ = open_rows[first]
                label = label or f"Total {section}".rstrip(" :")
                open_rows[first:] = [(outer or section, outer, numbers)]
        else:
            open_rows.append((row.section, row.outer, numbers))
        named.append(row if label == row.label else evolve(row, label=label))
    return named


def _first_summand(rows: Sequence[tuple[str, str, list[Decimal]]], total: Sequence[Decimal]) -> int | None:
    """The place from which rows add up to a total, in every column and up to rounding; None if there is none under a heading."""
    have = [Decimal(0)] * len(total)
    for place in range(len(rows) - 1, -1, -1):
        have = [a + b for a, b in zip(have, rows[place][2], strict=True)]
        starts = rows[place][0] and (place == 0 or rows[place - 1][0] != rows[place][0])
        if starts and len(rows) - place > 1 and all(abs(a - b) <= 1 for a, b in zip(have, total, strict=True)):
            return place
    return None


def _headings_above(text: str, start: int) -> tuple[str, str]:
    """The heading right above the first row, and the one above that, where a head ends in such lines: `ASSETS`, `Current assets:`."""
    above = text[: text.rfind("\n", 0, start) + 1].splitlines()
    found: list[str] = []
    for line in reversed(above[-3:]):
        tail = _clean(line)
        if (
            not tail
            or re.search(r"(?i)\d|\bin (?:thousands|millions|billions)\b|statements? of|balance sheets?|\(", tail)
            or not _heading(tail)
        ):
            break
        found.append(tail)
    return (*found, "", "")[0], (*found, "", "")[1]


def _lines(text: str, start: int) -> Iterator[tuple[int, int]]:
    place = text.rfind("\n", 0, start) + 1
    while place < len(text):
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        yield place, end
        place = end + 1


def _pieces(text: str, begin: int, end: int, columns: int, pending: str, noted: bool) -> Iterator[tuple[int, int, tuple[Value, ...], bool]]:
    """Label and values of each row on a line; several where extraction joined them. The last flag: a run of a wrong number of values."""
    at = begin
    for run in _runs(text, begin, end):
        if text[run[-1].end : end].lstrip(" \u00a0")[:1].islower():
            continue  # the label goes on: `allowances of $42 and $46`
        if len(run) < columns:
            if run[-1].end >= end - 2 and len(run) > 1:
                yield at, run[0].start, (), True
                at = end
            continue
        extra = len(run) - columns
        before = f"{pending} {text[at : run[0].start]}".rstrip(" $,\u00a0").lower()
        beside = extra == 1 and (_MARKER.fullmatch(run[0].text) or (noted and _NOTE.fullmatch(run[0].text)))
        inside = _OF_YEAR.search(text[at : run[0].start])
        if extra and not beside and not inside and not re.search(r"\b(?:and|of|or|to)\s*$|\bnotes?\s*$|\($", before):
            yield at, run[0].start, (), True
        else:
            yield at, run[0 if beside else extra].start, tuple(run[extra:]), False
        at = run[-1].end
    if text[at:end].strip(" \u00a0\r."):
        yield at, end, (), False


def _runs(text: str, begin: int, end: int) -> Iterator[list[Value]]:
    """Values with nothing but space between them."""
    run: list[Value] = []
    for match in _VALUE.finditer(text, begin, end):
        value = _value(text, match, begin, end)
        if value is None:
            continue
        if run and text[run[-1].end : value.start].strip(" \u00a0$\t"):
            yield run
            run = []
        run.append(value)
    if run:
        yield run


def _value(text: str, match: re.Match[str], begin: int, end: int) -> Value | None:
    """A match that stands alone between spaces, as a value."""
    left, right = (
        text[match.start() - 1 : match.start()] if match.start() > begin else " ",
        text[match.end() : match.end() + 1] if match.end() < end else " ",
    )
    lead = match[0][: len(match[0]) - len(match[0].lstrip())]
    if not (left in " \u00a0.\t$" or lead) or right not in " \u00a0\r\t,":
        return None
    if right == ",":
        return None
    start = match.start() + len(lead)
    if match["dash"]:
        return Value(match["dash"], Decimal(0), start, match.end())
    digits = (match["inner"] or match["plain"]).replace(",", "")
    number = Decimal(digits)
    negative = match["inner"] is not None or match["minus"] is not None
    percent = bool(match["after"] or match["percent"])
    return Value(text[start : match.end()], -number if negative else number, start, match.end(), percent)


def _clean(label: str) -> str:
    label = label.replace("\u00a0", " ").replace("\ufffe", "-")
    return re.sub(r"\s+", " ", _LEADER.sub(" ", label)).strip(" $\r\t.")


def _goes_on(pending: str, label: str) -> bool:
    """Whether a line is the rest of the one before."""
    if not pending or pending.endswith(":"):
        return False
    return (
        label[:1].islower()
        or label[:1] == "("
        or re.match(r"(?i)(?:to|of|and|for|attributable)\b", label) is not None
        or _OPEN_END.search(pending) is not None
    )


def _heading(text: str) -> bool:
    return text.endswith(":") or _PER_SHARE.search(text) is not None or len(re.sub(r"(?i)\((?:see )?notes?[^)]*\)", " ", text).split()) <= 6
