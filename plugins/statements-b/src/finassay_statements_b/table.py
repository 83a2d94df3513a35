"""A page's table: head, columns, rows of as many values as there are columns."""

from collections.abc import Collection, Sequence
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Final

from attrs import evolve, frozen

from finassay.api.source import Page
from finassay_statements_b.grid import Token, Tokens, grid, stem

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONG: Final = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_SCALES: Final = {"thousand": Decimal(1000), "million": Decimal(1_000_000), "billion": Decimal(1_000_000_000)}
_CODES: Final = {
    **{
        sign: code
        for code, signs in {"EUR": "€ euro eur", "JPY": "¥ yen jpy", "GBP": "£ gbp sterling", "CHF": "chf"}.items()
        for sign in signs.split()
    },
    **{
        sign: code
        for code, signs in {"CNY": "rmb renminbi cny", "CAD": "c$ cad", "INR": "₹ inr rupee", "KRW": "₩ krw won"}.items()
        for sign in signs.split()
    },
    **{
        sign: code
        for code, signs in {"SEK": "sek", "DKK": "dkk", "NOK": "nok", "TWD": "nt$ twd", "BRL": "r$ brl"}.items()
        for sign in signs.split()
    },
}
"""Signs and words of currencies other than the dollar, which needs no name."""
_STRANGE: Final = frozenset(
    (
        "unaudited",
        "condensed",
        "quarter",
        "quarters",
        "quarterly",
        "half",
        "ytd",
        "parent",
        "schedule",
        "selected",
        "forma",
        "consolidating",
        "eliminations",
    )
)
_STRANGE_STEMS: Final = ("guarant", "subsidiary-only", "parent-only")
_JOINERS: Final = frozenset(("and", "of", "or", "to", "note", "notes", "for", "at", "by", "in", "from", "with", "the", "on"))
_MONTHS_OF_PART: Final = frozenset(("three", "six", "nine", "3", "6", "9"))
_WEEKS_OF_YEAR: Final = frozenset(("52", "53", "fifty-two", "fifty-three", "(52", "(53"))
_GOING_ON: Final = frozenset(("to", "of", "and", "for", "attributable"))
"""Words that begin no label, in capitals or not."""
_TAILS: Final = frozenset(("basic", "diluted", "net", "trade"))
"""Words that stand behind a dash without a space: `per share-basic`."""
HEAD_LINES: Final = 30


@frozen
class Heading:
    """A column: the year in its head, and the day that it ends where that stands there."""

    year: int
    end: date | None


@frozen
class GridRow:
    """A row. Without values its number of figures did not fit, and it cannot be relied on."""

    words: tuple[str, ...]
    """Stems of the label, without what stands in brackets."""
    label: str
    values: Tokens
    start: int
    end: int
    page: Page
    doubtful: bool = False
    """Whether the figures could be read otherwise and no sum has decided."""
    blank: frozenset[int] = frozenset()
    """Columns that are empty."""
    above: tuple[str, ...] = ()
    """Stems of the heading above."""


@frozen
class GridTable:
    """The table of a page."""

    page: Page
    columns: tuple[Heading, ...]
    scale: Decimal
    shares_in_ones: bool
    head: tuple[int, int]
    """Where the head stands in the page's text."""
    rows: tuple[GridRow, ...]
    currency: str
    """Code of the currency that a word of the head names; the dollar where none does."""
    strange: str
    """A word in the head that says that this is no annual primary statement, or nothing."""


def read_table(page: Page) -> GridTable | None:
    """The table of a page with a head of at least two columns and a scale; None where there is none."""
    lines = grid(page)
    found = _columns(lines[:HEAD_LINES])
    if found is None:
        return None
    columns, first, last = found
    until = lines[last[0]]
    head_words = [token for line in lines[: last[0]] for token in line] + list(until[: last[1] + 1])
    after = [token for line in lines[last[0] : last[0] + 3] for token in line][:40]
    scale = next((power for t in (*head_words, *after) if (power := _scale(t)) is not None), None)
    if scale is None:
        return None
    strange = next((t.text for t in head_words if _is_strange(t.text)), "") or _part_of_year(head_words)
    noted = any(stem(one.text) == "note" and year_in(other) is not None for one, other in pairwise(head_words))
    rows = _rows(page, lines, last, len(columns), noted)
    text = " ".join(stem(t.text) for t in (*head_words, *after))
    apart = "except share" in text or "except number of share" in text or "per share and share" in text
    start = min((t.start for line in lines[max(0, first[0] - 3) : last[0] + 1] for t in line[:1]), default=0)
    return GridTable(page, columns, scale, apart, (start, until[last[1]].end), tuple(rows), _currency(head_words, after), strange)


def _currency(*words: Sequence[Token]) -> str:
    for token in (token for some in words for token in some if token.number is None):
        plain = "".join(c for c in token.text.lower() if c.isalpha() or c in "$€£¥₹₩")
        if code := _CODES.get(plain) or _CODES.get(plain.rstrip("s")):
            return code
    return "USD"


def _scale(token: Token) -> Decimal | None:
    """What a word of a head scales by: `millions`, `000's`."""
    plain = token.text.strip("($),").lower().replace("’", "'")
    return Decimal(1000) if plain in ("000", "000s", "000's") else _SCALES.get(stem(token.text))


def more_rows(page: Page, columns: int) -> tuple[GridRow, ...]:
    """Rows of a page that goes on with the table of the page before."""
    return tuple(_rows(page, grid(page), (0, -1), columns))


def _is_strange(text: str) -> bool:
    word = "".join(c for c in text.lower() if c.isalpha())
    numbered = len(text) >= 2 and text[0] in "Qq" and text[1] in "1234" and not text[2:3].isdigit()
    return word in _STRANGE or word.startswith(_STRANGE_STEMS) or numbered


def _part_of_year(words: Sequence[Token]) -> str:
    """`three months` or `13 weeks` in a head, or nothing."""
    for before, token in pairwise(words):
        unit, count = stem(token.text), before.text.lower()
        if (unit == "month" and count in _MONTHS_OF_PART) or (unit == "week" and count not in _WEEKS_OF_YEAR and _counts(count)):
            return f"{before.text} {token.text}"
    return ""


def _counts(text: str) -> bool:
    """Whether a word is a number of weeks."""
    return text.strip("(").isdigit() or text.startswith(("twelve", "thirteen", "sixteen", "twenty", "thirty", "forty"))


def year_in(token: Token) -> int | None:
    """The year that a token of a head is."""
    plain = token.text.strip(",")
    return int(plain) if len(plain) == 4 and plain.isdigit() and plain[:2] in ("19", "20") else None


def _columns(lines: Sequence[Tokens]) -> tuple[tuple[Heading, ...], tuple[int, int], tuple[int, int]] | None:
    """Columns with the places (line, token) of the first and last year of the head: the last block of years before the first row."""
    events: list[tuple[str, int, int, tuple[int, int]]] = []
    for number, line in enumerate(lines):
        for place, token in enumerate(line):
            year = year_in(token)
            if year is not None:
                if token.text[-1:] == "," and _figure_follows(line, place) and any(e[0] == "year" for e in events):
                    return _headings(events)  # a label that tells a figure of each year: `allowances: 2022, $23; 2021, $50`
                events.append(("year", year, 0, (number, place)))
            elif token.number is not None and not token.dash and not _marker(token) and not _day(line, place) and not _weeks(line, place):
                if _starts_row(line, place, events):
                    return _headings(events)
            elif month := _month(token.text):
                day = line[place + 1].text.strip(",") if place + 1 < len(line) else ""
                if day.isdigit() and 1 <= int(day) <= 31:
                    events.append(("day", month, int(day), (number, place)))
    return _headings(events) if events else None


def _figure_follows(line: Tokens, place: int) -> bool:
    after = line[place + 1] if place + 1 < len(line) else None
    return after is not None and after.text[:1] == "$"


def _month(text: str) -> int:
    plain = text.lower().strip(".,")
    short = "sep" if plain == "sept" else plain
    return _LONG.index(plain) + 1 if plain in _LONG else _MONTHS.index(short) + 1 if short in _MONTHS else 0


def _day(line: Tokens, place: int) -> bool:
    return place > 0 and _month(line[place - 1].text) > 0


def _marker(token: Token) -> bool:
    """Whether a token is a footnote's mark, `(1)`."""
    return len(token.text) == 3 and token.text[0] == "(" and token.text[1].isdigit() and token.text[2] == ")"


def _weeks(line: Tokens, place: int) -> bool:
    return place + 1 < len(line) and stem(line[place + 1].text) in ("week", "month", "year")


def _starts_row(line: Tokens, place: int, events: Sequence[tuple[str, int, int, tuple[int, int]]]) -> bool:
    """Whether a figure begins the values of a row: another follows, and years have been seen."""
    after = line[place + 1] if place + 1 < len(line) else None
    return after is not None and after.number is not None and year_in(after) is None and any(e[0] == "year" for e in events)


def _headings(
    events: Sequence[tuple[str, int, int, tuple[int, int]]],
) -> tuple[tuple[Heading, ...], tuple[int, int], tuple[int, int]] | None:
    years: list[tuple[int, tuple[int, int]]] = []
    for kind, year, _, where in reversed(events):
        if kind != "year":
            continue
        block = [year, *(y for y, _ in years)]
        if not (_falls(block) or _falls(block[::-1])):
            break
        years.insert(0, (year, where))
    if len(years) < 2 or len(years) > 5:
        return None
    first = years[0][1]
    dated = _dated(events, {where for _, where in years})
    if len(dated) == len(years):
        if (dated[0] < dated[-1]) != (years[0][0] < years[-1][0]):
            dated.reverse()
        return tuple(Heading(year, end) for (year, _), end in zip(years, dated, strict=True)), first, years[-1][1]
    days = [(month, day, where) for kind, month, day, where in events if kind == "day" and where >= (first[0] - 4, 0)]
    days = days[-len(years) :] if len(days) >= len(years) else days[-1:]
    headings = []
    for place, (year, _) in enumerate(years):
        month, day, _ = days[place] if len(days) == len(years) else days[0] if days else (0, 0, (0, 0))
        headings.append(Heading(year, _date(year, month, day)))
    return tuple(headings), first, years[-1][1]


def _dated(events: Sequence[tuple[str, int, int, tuple[int, int]]], columns: Collection[tuple[int, int]]) -> list[date]:
    """Whole dates of a head whose columns bear years of their own: `At January 2, 2022 and January 3, 2021` over `2021 2020`."""
    found = []
    for before, after in pairwise(events):
        if before[0] == "day" and after[0] == "year":
            if after[3] in columns:
                return []
            whole = _date(after[1], before[1], before[2])
            found += [whole] if whole else []
    return found


def _falls(years: Sequence[int]) -> bool:
    return all(0 < a - b <= 2 for a, b in pairwise(years))


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day) if month else None
    except ValueError:
        return None


# -- rows -------------------------------------------------------------------------------------------------------------


def _rows(page: Page, lines: Sequence[Tokens], last: tuple[int, int], count: int, noted: bool = False) -> list[GridRow]:
    edges = _edges(lines[last[0] :], count)
    out: list[GridRow] = []
    held: list[Token] = []
    heading: tuple[str, ...] = ()
    for number in range(last[0], len(lines)):
        line = lines[number][last[1] + 1 :] if number == last[0] else lines[number]
        label: list[Token] = []
        cut = False
        for piece in _labels_whole(_pieces(line)):
            if piece[0].number is None or piece[-1].number is None:
                label = [*label, *piece]
                continue
            figures = piece[1:] if len(piece) == count + 1 and _beside(piece[0], noted) else piece
            row = _row(page, held, label, figures, count, edges, at_end=piece[-1] is line[-1])
            if row is None:
                label = [*label, *piece]
                continue
            if held and not _unfinished(held, label):
                heading = stems(held)
            out.append(evolve(row, above=heading))
            label, held, cut = [], [], True
        if label:
            held = label if cut or not _unfinished(held, label) else [*held, *label]
    return out


def _pieces(line: Tokens) -> list[list[Token]]:
    """Runs of words and runs of figures, in turn."""
    found: list[list[Token]] = []
    for token in line:
        if found and (found[-1][0].number is None) == (token.number is None):
            found[-1].append(token)
        else:
            found.append([token])
    return found


def _beside(token: Token, noted: bool) -> bool:
    """Whether a figure before a row's own is none of it: a footnote's mark, or a note's number in the column of such."""
    return _marker(token) or (noted and len(token.text) <= 2 and token.text.isdigit())


def _labels_whole(pieces: Sequence[list[Token]]) -> list[list[Token]]:
    """The pieces, with figures that a label goes on after put into it: `allowances of $42 and $46`."""
    out: list[list[Token]] = []
    for place, piece in enumerate(pieces):
        goes_on = place > 0 and piece[0].number is None and piece[0].text[:1].islower() and pieces[place - 1][0].number is not None
        if goes_on and out:
            figures = out.pop()
            out.append([*(out.pop() if out and out[-1][-1].number is None else []), *figures, *piece])
        else:
            out.append(piece)
    return out


def _row(
    page: Page, held: list[Token], label: list[Token], run: list[Token], count: int, edges: Sequence[float], at_end: bool
) -> GridRow | None:
    """The row that ends with a run of figures; None where the figures belong to the label."""
    words = _without_heading([*held, *label] if _unfinished(held, label) else label)
    if len(run) < count:
        placed = _by_edges(run, edges)
        if placed is not None:
            return _made(page, words, placed[0], placed[1])
        if at_end and len(run) > 1 and count > 2:
            return GridRow(stems(words), _text(words), (), (words or run)[0].start, run[-1].end, page)
        return None
    extra = len(run) - count
    row = _made(page, [*words, *run[:extra]] if extra else words, run[extra:], frozenset())
    joined = bool(words) and (words[-1].text.lower().strip(",") in _JOINERS or _of_year(words[-1].text))
    return evolve(row, doubtful=extra > 0 and not joined)


def _of_year(text: str) -> bool:
    """Whether a label tells a figure of a year: `allowances: 2021, $25`."""
    return len(text) == 5 and text[-1] in ",:" and text[:4].isdigit() and text[:2] in ("19", "20")


def _without_heading(words: Sequence[Token]) -> list[Token]:
    """A label without the heading that extraction joined to it: up to a colon, or up to `activities` after `cash flows`."""
    colon = max(
        (
            place
            for place, token in enumerate(words[:-1])
            if token.text.endswith(":") and any(len(stem(t.text)) > 2 for t in words[place + 1 :])
        ),
        default=-1,
    )
    kept = list(words[colon + 1 :])
    plain = [stem(token.text) for token in kept]
    if plain[:2] == ["cash", "flow"] and "activity" in plain[:-1]:
        return kept[plain.index("activity") + 1 :]
    return kept


def _made(page: Page, words: Sequence[Token], values: Sequence[Token], blank: frozenset[int]) -> GridRow:
    start = words[0].start if words else values[0].start
    return GridRow(stems(words), _text(words), tuple(values), min(start, values[0].start), values[-1].end, page, blank=blank)


def _unfinished(held: Sequence[Token], label: Sequence[Token]) -> bool:
    """Whether a line is the rest of the label held from the line before."""
    if not held or held[-1].text.endswith(":"):
        return False
    if not label or label[0].text[:1].islower() or label[0].text[:1] == "(" or label[0].text.lower() in _GOING_ON:
        return True
    end = held[-1].text.lower()
    return end.endswith(",") or end in _JOINERS


def _edges(lines: Sequence[Tokens], count: int) -> list[float]:
    """Right edges of the columns, from rows that have all of them; empty without positions."""
    columns: list[list[float]] = [[] for _ in range(count)]
    for line in lines:
        for piece in _pieces(line):
            rights = [token.right for token in piece if token.number is not None and token.right is not None]
            if len(rights) == count == len(piece):
                for place, right in enumerate(rights):
                    columns[place].append(right)
    return [sorted(column)[len(column) // 2] for column in columns] if all(columns) else []


def _by_edges(run: Sequence[Token], edges: Sequence[float]) -> tuple[list[Token], frozenset[int]] | None:
    """A row with empty cells, by the columns' right edges."""
    if not edges or any(token.right is None for token in run):
        return None
    found: dict[int, Token] = {}
    for token in run:
        right = token.right or 0.0
        place = min(range(len(edges)), key=lambda number: abs(edges[number] - right))
        if abs(edges[place] - right) > 8 or place in found:
            return None
        found[place] = token
    values = [found.get(place) or Token("", run[0].start, run[0].start, Decimal(0)) for place in range(len(edges))]
    return values, frozenset(place for place in range(len(edges)) if place not in found)


def stems(tokens: Sequence[Token]) -> tuple[str, ...]:
    """The stems of a label's words outside brackets; figures are left out."""
    found = []
    depth = 0
    for token in tokens:
        opening, closing = token.text.count("("), token.text.count(")")
        if depth == 0 and token.number is None:
            plain = token.text.split("(")[0].replace("/", " ").replace("—", " ").replace("–", " ")
            head, _, tail = plain.rpartition("-")
            plain = f"{head} {tail}" if tail.lower() in _TAILS else plain
            found += [s for s in (stem(part) for part in plain.split()) if s]
        depth = max(0, depth + opening - closing)
    return tuple(found)


def _text(tokens: Sequence[Token]) -> str:
    return " ".join(token.text for token in tokens)[:200]
