"""Prices, splits, dividends, delistings, fundamentals, sectors and rates, all drawn from a seed.

The tickers are those of large US companies because deliveries of that kind are what the checks read; the numbers are invented and every
delivery that is made of them says so.
"""

from functools import cached_property, lru_cache

import numpy as np
import pandas as pd
from attrs import field, frozen
from numpy.typing import NDArray

Array = NDArray[np.float64]
LABEL = "synthetic market of finassay-calibrate"
TICKERS = (
    *("AAPL", "AMD", "BAC", "BBY", "BRK-B", "CVX", "GE", "HD", "JNJ", "JPM", "KO", "LLY", "MRK", "MSFT", "PEP", "PFE", "PG", "RRC", "UNH"),
    *("WMT", "XOM", "CAT", "DIS", "MCD"),
)
SECTORS = ("Energy", "Financials", "Health Care", "Industrials", "Information Technology", "Consumer Staples")
FUNDAMENTALS = ("eps", "book_value_per_share", "roe", "gross_profit", "total_assets", "revenue", "eps_estimate")
ANNOUNCED_EARLY = 75
"""Sessions between the announcement of a delisting and the last trade: longer than any rebalancing period."""


@frozen(eq=False)
class SyntheticMarket:
    """`close` is adjusted for splits and dividends, T x N; NaN after a delisting. `frames` hold what is delivered besides prices.

    `candidates` is false for a name from the announcement of its delisting on. `split_factor` is the number of today's shares that one
    share of a date has become: raw price = adjusted price x factor, raw shares = adjusted shares / factor (dividends left aside).
    """

    seed: int
    dates: pd.DatetimeIndex
    tickers: tuple[str, ...]
    sectors: tuple[str, ...]
    open: Array = field(repr=False)
    high: Array = field(repr=False)
    low: Array = field(repr=False)
    close: Array = field(repr=False)
    volume: Array = field(repr=False)
    index: Array = field(repr=False)
    split_factor: Array = field(repr=False)
    candidates: NDArray[np.bool_] = field(repr=False)
    market_cap: Array = field(repr=False)
    yields: pd.DataFrame = field(repr=False)
    """date, y10, y2 in percent."""
    actions: pd.DataFrame = field(repr=False)
    """date, ticker, kind, value."""
    fundamentals: pd.DataFrame = field(repr=False)
    """ticker, period_end, announced, version and the values; a restatement is a row of its own with its own `announced`."""
    delisted: pd.DataFrame = field(repr=False)
    """ticker, announced, last_date."""

    @property
    def sessions(self) -> int:
        return len(self.dates)

    @cached_property
    def announcements(self) -> NDArray[np.bool_]:
        """T x N: first announcements of a quarter (no restatements) known by the close of that session."""
        found = np.zeros((self.sessions, len(self.tickers)), dtype=bool)
        first = self.fundamentals[self.fundamentals["version"] == 1]
        at = self.dates.searchsorted(pd.DatetimeIndex(first["announced"]))
        column = {name: i for i, name in enumerate(self.tickers)}
        for session, ticker in zip(at, first["ticker"], strict=True):
            if session < self.sessions:
                found[session, column[ticker]] = True
        return found & ~np.isnan(self.close)


@lru_cache(maxsize=16)
def synthetic_market(seed: int, sessions: int = 760, names: int = 16, tickers: tuple[str, ...] = ()) -> SyntheticMarket:
    """The market of a seed. `tickers` fixes the names; else `names` of the list are drawn. Two of sixteen names are delisted on the way."""
    rng = np.random.default_rng([seed, 20_260])
    dates = _dates(rng, sessions)
    chosen = tickers or tuple(sorted(rng.choice(TICKERS, names, replace=False)))
    count = len(chosen)
    sector_of = rng.permutation(np.arange(count) % len(SECTORS))
    index, close = _closes(rng, sessions, count, sector_of)
    announced, last = _delistings(rng, sessions, count)
    close = close.round(4)
    before = np.vstack([close[:1], close[:-1]])
    opens = (before + (close - before) * rng.uniform(0, 0.6, close.shape)) * np.exp(rng.normal(0, 0.002, close.shape))
    wide = np.abs(rng.normal(0, 0.006, (2, *close.shape)))
    volume = np.round(np.exp(rng.normal(14.5, 0.5, close.shape) + rng.normal(0, 0.8, count)))
    factor, actions = _actions(rng, dates, chosen, close)
    shares_out = np.exp(rng.normal(21.0, 0.9, count))
    gone = np.arange(sessions)[:, None] > last[None, :]
    for one in (opens, close):
        one[gone] = np.nan
    opens = opens.round(4)
    quoted = last < sessions - 1
    delisted = pd.DataFrame({"ticker": np.array(chosen)[quoted], "announced": dates[announced[quoted]], "last_date": dates[last[quoted]]})
    return SyntheticMarket(
        seed,
        dates,
        chosen,
        tuple(SECTORS[i] for i in sector_of),
        opens,
        (np.maximum(opens, close) * (1 + wide[0])).round(4),
        (np.minimum(opens, close) * (1 - wide[1])).round(4),
        close,
        np.asarray(volume, dtype=float),
        index.round(2),
        factor,
        np.arange(sessions)[:, None] < announced[None, :],
        (close * shares_out).round(-3),
        _yields(rng, dates),
        actions[[dates.get_loc(d) <= last[chosen.index(t)] for d, t in zip(actions["date"], actions["ticker"], strict=True)]],
        _fundamentals(rng, dates, chosen, np.where(np.isnan(close), 0.0, close), last),
        delisted,
    )


def _dates(rng: np.random.Generator, sessions: int) -> pd.DatetimeIndex:
    """The last `sessions` sessions of the New York exchange up to a date between 2011 and 2023."""
    from finassay_checks.sessions import sessions_between

    end = pd.Timestamp(2011, 1, 31) + pd.Timedelta(days=int(rng.integers(0, 12 * 365)))
    return sessions_between("XNYS", end - pd.Timedelta(days=int(sessions * 1.5) + 30), end)[-sessions:]


def _closes(rng: np.random.Generator, sessions: int, count: int, sector_of: NDArray[np.int64]) -> tuple[Array, Array]:
    """Index level and closes: calm and stormy regimes, one crash, sector moves, drifts that change slowly (so that ranks change)."""
    stormy = np.zeros(sessions, dtype=bool)
    for begin in rng.integers(60, sessions, 5):
        stormy[begin : begin + int(rng.integers(25, 70))] = True
    common = rng.normal(0.0005, 0.0065, sessions) * np.where(stormy, 2.2, 1.0) - np.where(stormy, 0.0008, 0.0)
    crash = int(rng.integers(sessions * 55 // 100, sessions * 8 // 10))
    common[crash : crash + 18] -= 0.011
    sector = rng.normal(0, 0.004, (sessions, len(SECTORS)))
    own = rng.standard_t(5, (sessions, count)) * rng.uniform(0.006, 0.017, count)
    drift = np.cumsum(rng.normal(0, 0.00012, (sessions, count)), axis=0)
    drift -= drift.mean(axis=0) + drift.mean(axis=1, keepdims=True) - drift.mean()
    steps = common[:, None] * rng.uniform(0.5, 1.5, count) + sector[:, sector_of] + own + drift
    index = 1500 * np.exp(np.cumsum(common + rng.normal(0, 0.001, sessions)))
    return index, np.exp(rng.normal(4.0, 0.5, count)) * np.exp(np.cumsum(np.clip(steps, -0.25, 0.25), axis=0))


def _delistings(rng: np.random.Generator, sessions: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sessions of the announcement and of the last trade by name; beyond the end for those that stay. Small baskets stay whole."""
    announced, last = np.full(count, sessions + 1), np.full(count, sessions - 1)
    for name in rng.choice(count, 2, replace=False) if count >= 16 else ():
        last[name] = int(rng.integers(sessions * 6 // 10, sessions * 9 // 10))
        announced[name] = last[name] - ANNOUNCED_EARLY
    return announced, last


def _actions(rng: np.random.Generator, dates: pd.DatetimeIndex, tickers: tuple[str, ...], close: Array) -> tuple[Array, pd.DataFrame]:
    """Splits of three names, quarterly dividends of half of them; the split factor by date and name."""
    factor, rows = np.ones(close.shape), []
    for i in rng.choice(len(tickers), 3, replace=False):
        at, ratio = int(rng.integers(350, len(dates) - 30)), float(rng.choice([2.0, 3.0, 4.0]))
        factor[:at, i] *= ratio
        rows.append((dates[at], tickers[i], "split", ratio))
    for i in rng.choice(len(tickers), len(tickers) // 2, replace=False):
        share = rng.uniform(0.003, 0.008)
        rows += [
            (dates[t], tickers[i], "dividend", round(float(close[t, i] * share), 4))
            for t in range(int(rng.integers(5, 60)), len(dates), 63)
        ]
    return factor, pd.DataFrame(rows, columns=["date", "ticker", "kind", "value"]).sort_values(["date", "ticker"], ignore_index=True)


def _yields(rng: np.random.Generator, dates: pd.DatetimeIndex) -> pd.DataFrame:
    """Ten- and two-year yields in percent with spells of inversion, two decimals as published."""
    spread = np.sin(np.arange(len(dates)) / len(dates) * 2 * np.pi * rng.uniform(1.2, 2.4) + rng.uniform(0, 6)) * 0.9 + 0.35
    ten = 3 + np.cumsum(rng.normal(0, 0.02, len(dates)))
    return pd.DataFrame({"date": dates, "y10": np.round(ten, 2), "y2": np.round(ten - spread, 2)})


def _fundamentals(
    rng: np.random.Generator, dates: pd.DatetimeIndex, tickers: tuple[str, ...], close: Array, last: NDArray[np.int64]
) -> pd.DataFrame:
    """Quarters with the day of their announcement; one in eight is restated two to five months later."""
    rows = []
    ends = pd.date_range(dates[0] - pd.DateOffset(months=18), dates[-1], freq="QE")
    for i, ticker in enumerate(tickers):
        price = float(close[0, i])
        revenue, margin, book = price * rng.uniform(0.1, 0.5), rng.uniform(0.05, 0.2), price * rng.uniform(0.2, 0.9)
        for end in ends:
            revenue *= float(np.exp(rng.normal(0.015, 0.05)))
            eps = revenue * margin * float(np.exp(rng.normal(0, 0.15))) * (-1 if rng.random() < 0.04 else 1)
            book += eps * 0.5
            values = {
                "eps": eps,
                "book_value_per_share": book,
                "roe": eps * 4 / book,
                "gross_profit": revenue * rng.uniform(0.3, 0.5),
                "total_assets": book * 2.4,
                "revenue": revenue,
                "eps_estimate": eps - abs(eps) * rng.normal(0.02, 0.1),
            }
            announced = end + pd.Timedelta(days=int(rng.integers(22, 58)))
            if announced > dates[last[i]]:
                break
            rows.append({"ticker": ticker, "period_end": end, "announced": announced, "version": 1} | values)
            again = announced + pd.Timedelta(days=int(rng.integers(60, 150)))
            if rng.random() < 0.125 and again <= dates[last[i]]:
                restated = {name: value * (1 + rng.normal(0, 0.08) * (name != "eps_estimate")) for name, value in values.items()}
                rows.append({"ticker": ticker, "period_end": end, "announced": again, "version": 2} | restated)
    frame = pd.DataFrame(rows)
    frame[list(FUNDAMENTALS)] = frame[list(FUNDAMENTALS)].round(5)
    return frame.sort_values(["announced", "ticker"], ignore_index=True)
