"""What a report's cover says of it: the end of its period, and the registrant."""

import re
from datetime import date
from typing import Final

from finassay_source_corpus.text import RawPage

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_COVER: Final = re.compile(
    r"for\s+the\s+(?:fiscal\s+year|year|annual\s+period|(?:fiscal\s+)?quarter|quarterly\s+period|(?:three|six|nine|twelve)\s+months)\s+ended:?\s+"
    rf"({'|'.join(_MONTHS)})\s+(\d{{1,2}})\s*,\s*((?:19|20)\d\d)",
    re.IGNORECASE,
)


def reported_end(pages: list[RawPage]) -> date | None:
    """The end of the period that a report's cover names (`For the fiscal year ended December 31, 2021`), where it does."""
    found: list[date] = []
    for page in pages[:3]:
        for month, day, year in _COVER.findall(page.text[:20_000]):
            try:
                found.append(date(int(year), _MONTHS.index(month.lower()) + 1, int(day)))
            except ValueError:
                continue
    return max(found, default=None)


_REGISTRANT: Final = re.compile(r"\(\s*exact\s+name\s+of\s+(?:the\s+)?registrant", re.IGNORECASE)


def registrant(pages: list[RawPage]) -> str:
    """The issuer's full name as a report's cover gives it above `(Exact name of registrant as specified in its charter)`; else nothing."""
    for page in pages[:3]:
        text = page.text[:20_000].replace("\r", "")
        match = _REGISTRANT.search(text)
        above = text[: match.start()].rstrip() if match else ""
        line = above[above.rfind("\n") + 1 :][-120:]
        if len(line) > 1:
            name = re.sub(
                r"^.*commission\s+file\s+(?:number|no)\b[\s.:]*[\d-]*[\s.]*", "", re.sub(r"[_\s]+", " ", line), flags=re.IGNORECASE
            )
            return name.strip(" -.*") if re.search(r"[^\W\d]", name) else ""
    return ""
