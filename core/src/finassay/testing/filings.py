"""One small annual report in the shapes that text extraction gives, for tests of whoever reads filings."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from finassay.testing.research import BALANCE, CASH, COVER, INCOME

Pages = tuple[str, ...]
PLAIN: Final[Pages] = (COVER, INCOME, BALANCE, CASH)
_THREE: Final = "Years Ended September 30,\n2022 2021 2020"
_TWO: Final = "September 30,\n2022 2021"
_DATES: Final = ("September 30, 2022", "September 30, 2021", "September 30, 2020")


def _each(change: Callable[[str], str]) -> Pages:
    return (COVER, *(change(page) for page in (INCOME, BALANCE, CASH)))


def _heads(three: str, two: str) -> Pages:
    return _each(lambda page: page.replace(_THREE, three).replace(_TWO, two))


def _joined(page: str) -> str:
    """Rows on one physical line, as where a table's row ends are lost; the head stays joined to the first row."""
    head, *rows = page.split("\n")
    lines = [head]
    for number, row in enumerate(rows):
        together = number % 3 != 0 and re.search(r"[\d)]$", lines[-1]) and not re.match(r"\(In|See", row)
        lines[-1:] = [f"{lines[-1]} {row}"] if together else [lines[-1], row]
    return "\n".join(lines)


def _leaders(page: str) -> str:
    return re.sub(
        r"^([A-Za-z][^\n$]*?) (?=\$ ?\(?\d|\(?\d[\d,.]*\)? \(?\d)",
        lambda m: f"{m[1]}{'.' * max(4, 60 - len(m[1]))} ",
        page,
        flags=re.MULTILINE,
    )


def _old_first(page: str) -> str:
    lines: list[str] = []
    for line in page.split("\n"):
        match = re.search(r"((?:\$ )?\(?[\d,.]+\)?(?: (?:\$ )?\(?[\d,.]+\)?){1,2})$", line)
        parts = re.findall(r"(?:\$ )?\(?[\d,.]+\)?", match[1]) if match and "par value" not in line else []
        lines.append(line[: match.start()] + " ".join(reversed(parts)) if match and len(parts) > 1 else line)
    return "\n".join(lines)


def _thousands(page: str) -> str:
    def larger(match: re.Match[str]) -> str:
        return f"{int(match[0].replace(',', '').replace('.', '') + '00'):,}"

    body = "\n".join(
        line if "per share" in line or "par value" in line else re.sub(r"\d[\d,]*\.\d\b", larger, line) for line in page.split("\n")
    )
    return body.replace("In millions", "In thousands")


def _noted(page: str) -> str:
    """A column of notes' numbers before the figures, in the head as `Note`; not every row has one."""
    number = iter(range(2, 200))
    lines: list[str] = []
    for line in page.split("\n"):
        match = re.search(r"(?<=[a-z]) (?=(?:\$ )?\(?[\d,]+\.\d\)?(?: |$))", line)
        noted = match is not None and "par value" not in line and len(lines) % 2 == 0 and not line.startswith(("Total", "Net "))
        lines.append(f"{line[: match.start()]} {next(number) % 30 + 1} {line[match.end() :]}" if noted and match else line)
    return "\n".join(lines).replace("2022 2021 2020", "Notes 2022 2021 2020", 1).replace("\n2022 2021\n", "\nNotes 2022 2021\n", 1)


def _apart(page: str) -> str:
    return re.sub(r"\$ (\S+)", r"$ \1", page).replace("(", "( ").replace("( In", "(In").replace(" )", ")")


def _wrapped(page: str) -> str:
    page = page.replace("Net cash provided by operating activities", "Net cash provided by\noperating activities")
    page = page.replace("Purchases of property, plant and equipment (", "Purchases of property, plant and\nequipment (Note 6) (")
    return page.replace("Inventories ", "Inventories (Note 4) ").replace("Total assets", "Total assets")


def _two_pages() -> Pages:
    first, second = BALANCE.split("LIABILITIES AND EQUITY\n")
    head = "ORCHARD TOOLWORKS INC.\nCONSOLIDATED BALANCE SHEETS (Continued)\n(In millions, except par value)\nSeptember 30,\n2022 2021\n"
    return (COVER, INCOME, first, f"{head}LIABILITIES AND EQUITY\n{second}", CASH)


def other_set(page: str, title: str, note: str, factor: int = 3) -> str:
    """A second set with the same lines and smaller figures: a guarantor's, a parent's, a quarter's."""

    def smaller(match: re.Match[str]) -> str:
        return f"{int(float(match[0].replace(',', '')) / factor):,}.0"

    lines = page.split("\n")
    body = [
        line if re.search(r"par value|September|20\d\d 20\d\d", line) else re.sub(r"\d[\d,]*\.\d\b", smaller, line) for line in lines[2:]
    ]
    return "\n".join((lines[0], title, note, *body))


SHAPES: Final[Mapping[str, Pages]] = {
    "bare years": PLAIN,
    "dates on one line": _heads(" ".join(_DATES), " ".join(_DATES[:2])),
    "dates over lines": _heads(
        "Years Ended\n" + "\n".join(d.replace(", ", ",\n") for d in _DATES), "\n".join(d.replace(", ", ",\n") for d in _DATES[:2])
    ),
    "days before years": _heads("Years Ended September 30,\n2022 2021 2020", "September 30, September 30,\n2022 2021"),
    "fiscal labels": _heads("Fiscal Year\n2022 2021 2020", "September 30, 2022 September 30, 2021"),
    "weeks": _heads("52 Weeks Ended 52 Weeks Ended 52 Weeks Ended\n" + "\n".join(_DATES), "\n".join(_DATES[:2])),
    "fiscal before each year": _heads("Fiscal 2022 Fiscal 2021 Fiscal 2020", "Fiscal 2022 Fiscal 2021"),
    "weeks under the years": _heads("2022 2021 2020\n(52 weeks) (52 weeks) (53 weeks)", "2022 2021"),
    "weeks beside the years": _heads("2022 (52 weeks) 2021 (52 weeks) 2020 (53 weeks)", "September 30, 2022 September 30, 2021"),
    "years in the title too": _heads(
        "Years Ended September 30, 2022, 2021 and 2020\n2022 2021 2020", "September 30, 2022 and 2021\n2022 2021"
    ),
    "restated years": _heads("Years Ended September 30,\n2022 2021 (1) 2020 (1)", "September 30,\n2022 2021 (1)"),
    "zeros left out": _each(lambda page: _thousands(page).replace("In thousands", "000's omitted")),
    "comprehensive income": _each(
        lambda page: page.replace("CONSOLIDATED STATEMENTS OF INCOME", "CONSOLIDATED STATEMENTS OF COMPREHENSIVE INCOME")
    ),
    "a column of notes": (COVER, *(_noted(page) for page in (INCOME, BALANCE, CASH))),
    "scale after the dates": _each(lambda p: re.sub(r"(\(In millions[^\n]*\n)(.*?20\d\d 20\d\d[^\n]*\n)", r"\2\1", p, flags=re.DOTALL)),
    "joined rows": _each(_joined),
    "leaders": _each(_leaders),
    "hard spaces": _each(lambda page: re.sub(r"(?<=[a-z,]) (?=[a-z])", "\u00a0", page)),
    "oldest first": _each(_old_first),
    "thousands": _each(_thousands),
    "brackets apart": _each(_apart),
    "wrapped labels and notes": _each(_wrapped),
    "split title": _each(lambda page: page.replace("SHEETS", "SHEET S").replace("INCOME\n", "INCOM E\n", 1)),
    "carriage returns": _each(lambda page: page.replace("\n", "\r\n")),
    "continued page": _two_pages(),
    "guarantor's set": (
        *PLAIN,
        other_set(BALANCE, "CONDENSED CONSOLIDATING BALANCE SHEETS", "Guarantor Subsidiaries"),
        other_set(INCOME, "CONDENSED CONSOLIDATING STATEMENTS OF INCOME", "Guarantor Subsidiaries"),
    ),
    "parent's set": (
        *PLAIN,
        other_set(BALANCE, "SCHEDULE I BALANCE SHEETS", "Parent Company Only"),
        other_set(CASH, "STATEMENTS OF CASH FLOWS", "Parent Company Only"),
    ),
    "quarter before": (
        COVER,
        other_set(INCOME, "CONSOLIDATED STATEMENTS OF INCOME", "Three Months Ended (unaudited)", 4),
        INCOME,
        BALANCE,
        CASH,
    ),
}
"""Name of a shape to the pages of the report in it. The figures are those of the plain one."""

FIGURES: Final[Mapping[str, str]] = {
    "revenue": "4812400000",
    "net_income": "501300000",
    "inventory": "540900000",
    "total_assets": "3598800000",
    "accounts_payable": "401500000",
    "cfo": "661200000",
    "capex": "-232000000",
    "dividends_paid": "-120400000",
}
"""Lines of the latest year, in units, with the sign shown."""
