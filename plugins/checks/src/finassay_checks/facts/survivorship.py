"""Survivorship of the delivered universe: a limit of what a backtest can show, never a fault by itself (spec 1.5).

Two ways to see it. A dated universe lists names that left while the prices run, and the prices never had them. Or no name of a large
universe ever stops trading over many years, which no index manages: of its members some three in a hundred leave the market in a year.
"""

import re
from collections.abc import Iterator

import numpy as np
from attrs import frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Delivered
from finassay_checks.recompute.panel import Panel
from finassay_checks.recompute.rebuilt import price_panel

LEAVE = 0.03
"""Share of listed companies that stop trading in a year, by merger or otherwise; a low estimate for the United States."""
EXPECTED = 3.0
"""Departures that a universe of this size and span should have shown at least before none is remarkable (chance below one in twenty)."""
RECENT = 10
"""A name whose last price lies this many sessions before the end at most still trades."""
SHOWN = 12
_INDEX = re.compile(
    r"s&p\s?\d{3,4}|\brussell\b|nasdaq[- ]?100|dow jones|ftse|stoxx|\bmsci\b|\bindex (?:members|constituents|universe)\b|"
    r"(?:members|constituents) of (?:the|an?) [\w &-]{0,40}index|whole (?:us )?market",
    re.I,
)
_FREE = re.compile(
    r"(?:free (?:of|from) |no |without )survivorship|survivorship[- ](?:bias[- ])?free|point[- ]in[- ]time (?:members|constituents|universe)",
    re.I,
)
_SAID = re.compile(r"survivor", re.I)
_AS_BENCHMARK = re.compile(r"benchmark|compared|versus|\bvs\b|against|beat|tracks?\b", re.I)


@frozen
class Survivorship:
    """What the tables show. `departed` are names that left the universe and have no prices; `ended` of `names` stop trading before the end
    of the prices, over `years`. Quotes are of the delivery's own words, empty where it says nothing."""

    names: int
    years: float
    ended: int
    departed: tuple[str, ...]
    claimed: str
    """An index, or the market, as the universe."""
    said: str
    """Survivorship spoken of."""
    denied: str
    """Claimed to be free of it."""

    @property
    def expected(self) -> float:
        """Departures that are usual for so many names over so many years."""
        return self.names * self.years * LEAVE

    @property
    def all_survive(self) -> bool:
        return not self.ended and self.expected >= EXPECTED

    def notes(self) -> Iterator[str]:
        """Limits in words; nothing where nothing is shown."""
        if self.departed:
            listed = ", ".join(self.departed[:SHOWN])
            yield f"{len(self.departed)} names left the universe while the prices run, and have no prices: {listed}"
        if self.all_survive and (self.claimed or self.departed):
            yield (
                f"all {self.names} names trade to the end of {self.years:.1f} years of prices, where about {self.expected:.0f} would have left: "
                f"a list of survivors{f', called {self.claimed!r}' if self.claimed else ''}"
            )
        if self.denied and (self.departed or self.all_survive):
            yield f"the delivery says {self.denied!r}"


def survivorship(package: Package) -> Survivorship | None:
    """None without a price table. Use as `package.fact(survivorship)`."""
    panel = package.fact(price_panel)
    if panel is None or not len(panel.dates):
        return None
    delivered = package.fact(read_delivery)
    years = (panel.dates[-1] - panel.dates[0]).days / 365.25
    known = np.isfinite(panel.close)
    last = len(panel.dates) - 1 - known[::-1].argmax(axis=0)
    ended = int((last < len(panel.dates) - 1 - RECENT).sum())
    claimed = next(_quotes(delivered, _INDEX, _AS_BENCHMARK), "") or _told(package)
    said = next(_quotes(delivered, _SAID), "")
    denied = next((q for q in _quotes(delivered, _FREE) if not re.search(r"\bnot\b|isn't|cannot", q, re.I)), "")
    return Survivorship(len(panel.tickers), years, ended, _departed(delivered, panel), claimed, said, denied)


def _departed(delivered: Delivered, panel: Panel) -> tuple[str, ...]:
    """Names whose membership ended inside the prices' span and that no price table has."""
    universe = delivered.frame("universe")
    if universe is None or universe["end"].isna().all():
        return ()
    first, last = panel.dates[0], panel.dates[-1]
    left = universe[(universe["end"] > first) & (universe["end"] <= last)]
    priced: set[str] = set()
    for table in delivered.role_tables:
        if table.role == "prices":
            priced |= set(table.frame["ticker"].dropna().astype(str).unique())
    return tuple(sorted({str(t) for t in left["ticker"].dropna()} - priced))


def _quotes(delivered: Delivered, wanted: re.Pattern[str], unless: re.Pattern[str] | None = None) -> Iterator[str]:
    """Sentences of the report, of other current prose and of the last message in which the words stand."""
    last = [delivered.last_message] if delivered.last_message is not None else []
    for text in dict.fromkeys(d.text for d in (*delivered.reports, *delivered.documents[:50], *last)):
        for sentence in re.split(r"(?<=[.!?])\s+|\n+", text[:400_000]):
            if wanted.search(sentence) and not (unless is not None and unless.search(sentence)):
                yield sentence.strip()[:200]


def _told(package: Package) -> str:
    """The universe that the user asked for, where it is an index or a market."""
    text = package.task.conditions.universe.text
    return text[:200] if _INDEX.search(text) else ""


def survivorship_facts(found: Survivorship | None) -> dict[str, "str | float | int | list[str] | bool"]:
    """The same as JSON, for checks that hand facts to a judge; empty without prices."""
    if found is None:
        return {}
    return {
        "names": found.names,
        "years": round(found.years, 1),
        "stop_trading_before_the_end": found.ended,
        "departures_usual": round(found.expected, 1),
        "left_the_universe_without_prices": list(found.departed[:50]),
        "index_claimed": found.claimed,
        "survivorship_spoken_of": found.said,
        "claimed_to_be_free_of_it": found.denied,
        "notes": list(found.notes()),
    }
