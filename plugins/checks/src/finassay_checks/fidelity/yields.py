"""The slope of the yield curve from delivered tables of interest rates or states."""

import re
from collections.abc import Iterator

import pandas as pd

from finassay_checks.fidelity.ledger import Ledger

MAX_ROWS = 1_000_000
_UNIT = r"(?:y|yr|year|years|yrs)?"
_LONG = re.compile(
    rf"^(?:us|usd|y|yld|yield|dgs|gs|t|tsy|treasury|rate|r|bond|note|cmt)*10{_UNIT}(?:t|treasury|yield|yld|rate|pct|percent|bond|note|cmt)*$"
)
_SHORT = re.compile(
    rf"^(?:us|usd|y|yld|yield|dgs|gs|t|tb|tsy|treasury|rate|r|bill|note|cmt)*(?:0?2{_UNIT}|3(?:m|mo|month|months)|13w)(?:t|treasury|yield|yld|rate|pct|percent|bill|note|cmt)*$"
)
_SLOPE = re.compile(r"yield_?spread|term_?spread|curve|slope|10y?_?(?:minus|less|-)?_?2y?|t10y2y|t10y3m")
_DATE = re.compile(r"^(?:date|day|datetime|time|observationdate|asof|session)$")


def slopes(ledger: Ledger) -> Iterator[pd.Series]:
    """Long less short yield by date, from each current table that has both or their difference."""
    frame = ledger.delivered.frame("states")
    if frame is not None and not frame.empty:
        for name, part in frame.dropna(subset=["date"]).groupby("name", sort=False):
            if _SLOPE.search(str(name).lower().replace(" ", "_")) and "needed" not in str(name).lower():
                values = part.drop_duplicates("date", keep="last").set_index("date")["value"]
                yield from _known(pd.to_numeric(values, errors="coerce"))
    for table in ledger.delivered.tables:
        if not table.current or len(table.frame) > MAX_ROWS:
            continue
        plain = {re.sub(r"[^a-z0-9]", "", str(column).lower()): column for column in table.frame.columns}
        day = next((plain[n] for n in plain if _DATE.match(n)), None)
        long, short = (next((plain[n] for n in plain if pattern.match(n)), None) for pattern in (_LONG, _SHORT))
        if day is None or long is None or short is None:
            continue
        dates = pd.to_datetime(table.frame[day].astype(str).str.slice(0, 10), errors="coerce")
        gap = _number(table.frame[long]) - _number(table.frame[short])
        yield from _known(pd.Series(gap.to_numpy(), index=pd.DatetimeIndex(dates)))


def _number(column: pd.Series) -> pd.Series:
    return pd.to_numeric(column.astype(str).str.rstrip("% "), errors="coerce")


def _known(values: pd.Series) -> Iterator[pd.Series]:
    kept = values[values.notna().to_numpy() & pd.Index(values.index).notna()].sort_index()
    kept = kept[~kept.index.duplicated(keep="last")]
    if len(kept) > 1:
        yield kept
