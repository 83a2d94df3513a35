"""A market: prices of a source, with what is known of how they were adjusted, up to a cutoff."""

import difflib
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

import numpy as np
from attrs import frozen

from finassay_market_data.folder import FolderMarket, source_of, sources_in
from finassay_market_data.reading import UnreadableError
from finassay_market_data.series import MarketError, Series
from finassay_market_data.words import FIELDS, PRICES

Adjustment = Literal["total", "splits", "none", "unknown"]
ADJUSTED: Final[dict[Adjustment, str]] = {
    "total": "adjusted for splits and dividends, with all that were known when the data were made",
    "splits": "adjusted for splits, not for dividends, with all splits that were known when the data were made",
    "none": "not adjusted",
    "unknown": "unknown: the source does not say",
}
EMBEDDED: Final = (
    "daily closes of 20 large US companies and the level of the S&P 500, as the Python package skfolio ships them (BSD-3-Clause)"
)
EMBEDDED_NOTES: Final = (
    "The companies were chosen with hindsight, which flatters what is tested on them.",
    "Before 2000 three decimals are coarse against adjusted closes below 1.",
)
INDEX_NAMES: Final = ("^GSPC", "^SPX", "SPX", "SP500", "S&P500", "GSPC", "INDEX")
"""Tickers that are taken for the index of a folder unless another is named."""


@frozen(eq=False)
class Market:
    """What the tools tell of. `index` may be one of the prices' own tickers."""

    source: str
    prices: FolderMarket
    index: FolderMarket | None
    index_ticker: str
    adjustments: Mapping[str, Adjustment]
    """Field to how it was adjusted; `unknown` for one that is not there."""
    cutoff: date | None = None
    notes: tuple[str, ...] = ()

    def adjustment(self, field: str) -> str:
        """In words; empty for a field to which it does not apply."""
        return ADJUSTED[self.adjustments.get(field, "unknown")] if field in PRICES else ""

    def fields(self) -> tuple[str, ...]:
        """Every field of which anything is known, in the usual order."""
        known = {name for ticker in self.prices.tickers() for name in self.prices.series(ticker).fields}
        return tuple(name for name in FIELDS if name in known)

    def series(self, tickers: Sequence[str]) -> dict[str, Series]:
        """Ticker to series, in the given order. Raises `MarketError` that names those that are not there."""
        names: list[str] = []
        unknown: list[str] = []
        for given in (name.strip() for name in tickers):
            found = self.prices.find(given)
            (names if found else unknown).append(found or given)
        if unknown:
            known = {name.casefold(): name for name in self.prices.tickers()}
            close = difflib.get_close_matches(unknown[0].casefold(), known, n=1)
            guess = f"; did you mean {known[close[0]]}?" if close else "; list_tickers tells what there is"
            raise MarketError(f"no prices of {', '.join(name[:40] for name in unknown[:10])}{guess}")
        return {name: self.prices.series(name) for name in dict.fromkeys(names)}

    def index_series(self) -> dict[str, Series]:
        """The index under its ticker. Raises `MarketError` if there is none."""
        series = self.index.series(self.index_ticker) if self.index is not None else None
        if series is None or not len(series.days):
            raise MarketError("this market has no index")
        return {self.index_ticker: series}


def embedded_market(cutoff: date | None = None) -> Market:
    """The prices that skfolio ships. Raises `MarketError` if they are not there."""
    spec = find_spec("skfolio")  # found, not imported: it takes seconds and needs a home folder
    if spec is None or not spec.submodule_search_locations:
        raise MarketError("the package skfolio, which ships the prices, is not installed")
    data = Path(next(iter(spec.submodule_search_locations))) / "datasets" / "data"
    try:
        prices, index = source_of(data / "sp500_dataset.csv.gz"), source_of(data / "sp500_index.csv.gz")
    except UnreadableError as error:
        raise MarketError(f"the prices of skfolio cannot be read: it {error}") from error
    until = None if cutoff is None else np.datetime64(cutoff, "D")
    return Market(
        source=EMBEDDED,
        prices=FolderMarket([prices], until),
        index=FolderMarket([index], until),
        index_ticker=index.values[0][1],
        adjustments={"close": "total"},
        cutoff=cutoff,
        notes=EMBEDDED_NOTES,
    )


def folder_market(
    folder: Path, cutoff: date | None = None, *, source: str = "", adjusted: Adjustment = "unknown", index: str = ""
) -> tuple[Market, list[tuple[str, str]]]:
    """The prices in a folder, and the files that were not taken with the reason. Raises `MarketError` if there are none at all."""
    sources, left = sources_in(folder)
    if not sources:
        why = f": {left[0][0]} {left[0][1]}" if left else ": it holds no .parquet, .pq, .csv or .tsv file"
        raise MarketError(f"no file of prices by day was found{why}")
    prices = FolderMarket(sources, None if cutoff is None else np.datetime64(cutoff, "D"))
    named = {s.ticker for s in sources if s.shape == "single"} | {t for s in sources if s.shape == "wide" for _, t in s.values}
    long = any(s.shape == "long" for s in sources)
    candidates = [index] if index else [name for name in INDEX_NAMES if name in named or long]
    adjustments: dict[str, Adjustment] = {**dict.fromkeys(sorted(PRICES), adjusted), "adj_close": "total"}
    chosen = next((name for name in candidates if name in named or len(prices.series(name).days)), index)
    if index and chosen not in named and not len(prices.series(index).days):
        raise MarketError(f"the folder has no prices of the index {index!r}")
    label = source or "files of daily prices that whoever runs this session provides"
    return Market(label, prices, prices if chosen else None, chosen, adjustments, cutoff), left
