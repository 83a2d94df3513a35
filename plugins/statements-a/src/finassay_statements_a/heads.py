"""Heads of primary statements: which statement, in what scale, which columns."""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Final

from attrs import frozen

MONTHS: Final = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_MONTH: Final = "|".join((*MONTHS, "sept", *(m[:3] for m in MONTHS)))
_TITLES: Final = (
    ("balance", re.compile(r"balancesheets?|statements?of(?:consolidated)?financial(?:position|condition)")),
    ("cash", re.compile(r"statements?of(?:consolidated)?cashflows?|cashflows?statements?")),
    (
        "income",
        re.compile(
            r"statements?of(?:consolidated)?(?:net|comprehensive)?(?:income|operations|earnings|profitor?loss|profitandloss)|incomestatements?"
        ),
    ),
)
_OTHER: Final = re.compile(r"of(?:consolidated)?othercomprehensive|equity|redeemable")
_FOREIGN: Final = re.compile(
    r"guarant|parent\s+(?:company|only)|condensed|pro\s*forma|schedule|quarter|(?:three|six|nine|[369])\s+months|(?:twelve|thirteen|sixteen|twenty-?\s?\w+|thirty-?\s?\w+|forty|1[236]|2\d|3\d|40)\s+weeks|\bhalf\b|half-year|\bq[1-4]\b|\bytd\b|year[- ]to[- ]date|selected|supplement|unaudited|"
    r"index\s+to|report\s+of|deed\s+of|notes?\s+to|common-?size"
)
_SCALE: Final = re.compile(r"\b(thousands|millions|billions)\b|(?<!\d)000['’]?s\b|\$\s?000(?!\d)|\(000\)")
_POWERS: Final = {"thousands": 3, "millions": 6, "billions": 9}
_CURRENCIES: Final = tuple(
    (code, re.compile(pattern))
    for code, pattern in (
        ("EUR", r"€|\beuros?\b|\beur\b"),
        ("JPY", r"¥|\byen\b|\bjpy\b"),
        ("GBP", r"£|\bpounds? sterling\b|\bgbp\b"),
        ("CHF", r"\bchf\b|\bswiss francs?\b"),
        ("CNY", r"\brmb\b|\brenminbi\b|\bcny\b"),
        ("CAD", r"\bc\$|\bcad\b|\bcanadian dollars?\b"),
        ("SEK", r"\bsek\b"),
        ("DKK", r"\bdkk\b"),
        ("NOK", r"\bnok\b"),
        ("INR", r"₹|\binr\b|\brupees?\b"),
        ("KRW", r"₩|\bwon\b|\bkrw\b"),
        ("TWD", r"\bnt\$|\btwd\b"),
        ("BRL", r"\br\$|\bbrl\b"),
    )
)
_NOTES: Final = re.compile(rf"\bnotes?\s+(?:\$|(?:19|20)\d\d|(?:{_MONTH})\.?\s+\d)")
_BESIDE: Final = re.compile(
    r"\((?:5[23] weeks|\d|[a-z]|(?:as )?(?:restated|adjusted|recast|revised)(?: \(\d\))?)\)|\b(?:fiscal|fy|years?)\b|\*"
)
"""What stands between the years of a head and is none."""
_SAME_DAY: Final = 16
"""Days by which ends of fiscal years may differ: those of weeks wander."""
_TITLE_LINES: Final = 14
"""Lines at a page's top among which a statement's title stands."""
_DATE: Final = re.compile(rf"\b({_MONTH})\.?\s+(\d{{1,2}})\s*,\s*((?:19|20)\d\d)\b")
_DAY: Final = re.compile(rf"\b({_MONTH})\.?\s+(\d{{1,2}})\b")
_YEARS: Final = re.compile(r"(?<![\d.,])((?:19|20)\d\d)(?![\d.,]\d|\d)")
_MONEY: Final = re.compile(
    r"\$\s*\(?\s*\d|(?<![\w.,$])\(?\d{1,3}(?:,\d{3})+(?:\.\d+)?\)?(?!\w)|(?<![\w.,$])\(?\d+\.\d\)?(?![\w.])|\$\s*[—–-]|(?<!\w)[—–](?:\s+[—–])"
    r"|(?m:(?<=[a-z).:] )\(?\d{1,3}\)?(?:[ \u00a0]+\(?(?:\d{1,3}|[—–-])\)?)+[ \u00a0]*\r?$)"
)


@frozen
class Column:
    """A column of a statement: its year, and its end where the head or the filing says it."""

    year: int
    end: date | None = None


@frozen
class Head:
    """The head of a statement on a page."""

    kind: str
    """`income`, `balance` or `cash`."""
    start: int
    end: int
    """Where on the page the head begins, and where the first row does."""
    scale: Decimal
    shares_apart: bool
    """Whether numbers of shares are not in the statement's scale."""
    columns: tuple[Column, ...]
    noted: bool = False
    """Whether a column of notes' numbers stands before the figures."""
    currency: str = "USD"


def heads(text: str) -> Iterator[Head]:
    """The head of a statement on a page, if it has one with title, scale and columns."""
    for kind, start in _titles(text):
        end = _first_row(text, start)
        head = text[start:end].lower().replace("\u00a0", " ")
        before = text[max(0, start - 300) : start].lower().replace("\u00a0", " ")
        before = re.sub(r"supplementary data|index\s+to\s+(?:the\s+)?consolidated\s+financial\s+statements", "", before)
        if _FOREIGN.search(head) or _FOREIGN.search(before):
            continue
        scale = _SCALE.search(head)
        columns = _columns(head)
        if scale and len(columns) >= 2 and _yearly(columns):
            apart = re.search(r"except\s+(?:for\s+)?(?:number\s+of\s+)?(?:share|per\s+share\s+and\s+share)", head) is not None
            noted = _NOTES.search(head) is not None
            yield Head(kind, start, end, Decimal(10) ** _POWERS[scale[1] or "thousands"], apart, columns, noted, _currency(head))
            return


def _yearly(columns: Sequence[Column]) -> bool:
    """Whether columns that have ends end on about the same day of their years: a quarter's balance stands beside that of the year before."""
    ends = [column.end for column in columns if column.end is not None]
    gaps = [abs((one - other).days) % 365.25 for one, other in pairwise(ends)]
    return all(min(gap, 365.25 - gap) <= _SAME_DAY for gap in gaps)


def _currency(head: str) -> str:
    """Code of the currency that a head in lower case names; the dollar where it names none."""
    return next((code for code, pattern in _CURRENCIES if pattern.search(head)), "USD")


def continues(text: str, kind: str) -> bool:
    """Whether a page's top says that it goes on with the statement of that kind."""
    return any(found == kind for found, _ in _titles(text))


def _titles(text: str) -> Iterator[tuple[str, int]]:
    """Lines at the page's top that are a statement's title: letters only are compared, since extraction splits words."""
    place = 0
    for number, line in enumerate(text.splitlines(keepends=True)):
        if number >= _TITLE_LINES:
            return
        short = re.sub(r"[^a-z]", "", line.lower())
        for kind, pattern in _TITLES:
            match = pattern.search(short)
            if match and match.start() <= 60 and len(line) <= 400 and not _sentence(line) and not _OTHER.search(short[: match.end() + 40]):
                yield kind, place
        place += len(line)


def _sentence(line: str) -> bool:
    head = line[:120].strip().lower()
    return re.search(r"\b(?:see|our|the accompanying|in the|of the|these|refer)\b", head) is not None or head.endswith(".")


def _first_row(text: str, start: int) -> int:
    """The beginning of the first line with a figure, or in a joined line the place of the label before it."""
    masked = re.sub(
        r"\([^()\n]*(?:except|per share|par value|shares)[^()\n]*\)", lambda m: " " * len(m[0]), text[start:], flags=re.IGNORECASE
    )
    match = _MONEY.search(masked)
    return start + match.start() if match else len(text)


def _columns(head: str) -> tuple[Column, ...]:
    dates = [date_of(m[1], m[2], m[3]) for m in _DATE.finditer(re.sub(r"\s+", " ", head))]
    flat = re.sub(r"\s+", " ", head)
    full = [d for d in dates if d is not None]
    if len(full) >= 2 and len(set(full)) == len(full):
        below = _run_of_years(re.split(_DATE, flat)[-1])
        turned = len(below) == len(full) and (below[0] < below[-1]) != (full[0] < full[-1])
        return tuple(Column(d.year, d) for d in (reversed(full) if turned else full))
    years = _run_of_years(flat)
    days = {(m[1], m[2]) for m in _DAY.finditer(flat)}
    if len(days) == 1 and years:
        ((month, day),) = days
        return tuple(Column(year, date_of(month, day, str(year))) for year in years)
    if len(days) == len(years) and len(years) >= 2:
        ordered = [(m[1], m[2]) for m in _DAY.finditer(flat)]
        return tuple(Column(year, date_of(month, day, str(year))) for (month, day), year in zip(ordered, years, strict=False))
    return tuple(Column(year) for year in years) if not days else ()


def _run_of_years(flat: str) -> list[int]:
    """The longest run of years that only spaces part and that rises or falls; years that a title lists, `2021, 2020 and 2019`, are none."""
    flat = _BESIDE.sub(" ", re.sub(r"(?:(?:19|20)\d\d,? )+and (?:19|20)\d\d", "-", flat))
    best: list[int] = []
    run: list[int] = []
    last = None
    for match in _YEARS.finditer(flat):
        joined = last is not None and not flat[last : match.start()].strip(" |$")
        year = int(match[1])
        goes_on = joined and run[-1] != year and (len(run) < 2 or (run[0] < run[1]) == (run[-1] < year))
        run = [*run, year] if goes_on else [year]
        last = match.end()
        if len(run) > len(best):
            best = run
    return best if len(set(best)) == len(best) and len(best) >= 2 else []


def date_of(month: str, day: str, year: str) -> date | None:
    """A date in words, or None for one that is not."""
    number = next((place for place, name in enumerate(MONTHS, 1) if name.startswith(month.rstrip(".")[:3])), 0)
    try:
        return date(int(year), number, int(day))
    except ValueError:
        return None
