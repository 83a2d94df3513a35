"""Faults of 1.1 (what lies after the last allowed date) and 1.4 (the delivered data themselves)."""

from typing import Any

import numpy as np
import pandas as pd
from attrs import evolve

from finassay_calibrate.clean.build import refresh
from finassay_calibrate.clean.draft import Draft
from finassay_calibrate.faults.registry import fault

Rng = np.random.Generator


def _after(draft: Draft, sessions: int = 1) -> pd.Timestamp:
    """A weekday after the cutoff."""
    return pd.Timestamp(draft.setup.cutoff) + pd.offsets.BDay(sessions)


def _appended(frame: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """The frame with its last row repeated under other values."""
    return pd.concat([frame, frame.tail(1).assign(**values)], ignore_index=True)


@fault("price-row-after-cutoff", "1.1", "One price row after the last allowed date.")
def price_row(draft: Draft, rng: Rng) -> Draft | None:
    draft.tables["prices"] = _appended(draft.tables["prices"], date=_after(draft))
    return draft


@fault("price-weeks-after-cutoff", "1.1", "Four weeks of prices after the last allowed date.")
def price_weeks(draft: Draft, rng: Rng) -> Draft | None:
    prices = draft.tables["prices"]
    last = prices[prices["date"] == prices["date"].max()]
    more = [last.assign(date=_after(draft, k), close=(last["close"] * rng.uniform(0.97, 1.03, len(last))).round(4)) for k in range(1, 21)]
    draft.tables["prices"] = pd.concat([prices, *more], ignore_index=True)
    return draft


@fault("index-row-after-cutoff", "1.1", "The index series reaches past the last allowed date.")
def index_row(draft: Draft, rng: Rng) -> Draft | None:
    draft.tables["index"] = _appended(draft.tables["index"], date=_after(draft))
    return draft


@fault("equity-after-cutoff", "1.1", "The equity curve reaches past the last allowed date.")
def equity_row(draft: Draft, rng: Rng) -> Draft | None:
    equity = draft.tables["equity"]
    draft.tables["equity"] = _appended(equity, date=_after(draft), fees=0.0, ret=0.0)
    return draft


@fault("run-past-cutoff", "1.1", "The whole run goes on for forty sessions after the last date that the investor allowed.")
def run_past(draft: Draft, rng: Rng) -> Draft | None:
    earlier = draft.setup.market.dates[-41].date()
    draft.setup = evolve(draft.setup, cutoff=earlier)
    return draft


@fault("fundamentals-after-cutoff", "1.1", "A company figure that was announced after the last allowed date.")
def late_announcement(draft: Draft, rng: Rng) -> Draft | None:
    if "fundamentals" not in draft.tables:
        return None
    draft.tables["fundamentals"] = _appended(draft.tables["fundamentals"], announced=_after(draft, 4))
    return draft


@fault("rates-after-cutoff", "1.1", "Yields of days after the last allowed date.")
def late_rates(draft: Draft, rng: Rng) -> Draft | None:
    if "rates" not in draft.tables:
        return None
    draft.tables["rates"] = _appended(draft.tables["rates"], date=_after(draft, 2))
    return draft


@fault("trade-after-cutoff", "1.1", "A fill after the last allowed date.")
def late_trade(draft: Draft, rng: Rng) -> Draft | None:
    draft.tables["trades"] = _appended(draft.tables["trades"], fill_date=_after(draft))
    return draft


@fault("duplicate-prices", "1.4", "Two per cent of the price rows stand twice with different closes.", "lower")
def duplicates(draft: Draft, rng: Rng) -> Draft | None:
    if draft.setup.layout.prices in ("wide", "wide-two-row-header"):
        return None
    prices = draft.tables["prices"]
    again = prices.sample(len(prices) // 50, random_state=int(rng.integers(2**31)))
    draft.tables["prices"] = pd.concat([prices, again.assign(close=again["close"] * 1.01)]).sort_values(
        ["date", "ticker"], ignore_index=True
    )
    return draft


@fault("missing-closes", "1.4", "Four per cent of the closes are missing and nobody says so.", "lower")
def missing(draft: Draft, rng: Rng) -> Draft | None:
    prices = draft.tables["prices"]
    prices.loc[rng.random(len(prices)) < 0.04, "close"] = np.nan
    return draft


@fault("price-spikes", "1.4", "Forty closes are ten times too high for one day.", "lower")
def spikes(draft: Draft, rng: Rng) -> Draft | None:
    prices = draft.tables["prices"]
    at = rng.choice(len(prices), 40, replace=False)
    for column in ("high", "close"):
        values = prices[column].to_numpy().copy()
        values[at] *= 10
        prices[column] = values
    return draft


@fault("negative-prices", "1.4", "Closes below zero.", "lower")
def negative(draft: Draft, rng: Rng) -> Draft | None:
    prices = draft.tables["prices"]
    values = prices["close"].to_numpy().copy()
    values[rng.choice(len(prices), 25, replace=False)] *= -1
    prices["close"] = values
    return draft


@fault("stale-prices", "1.4", "Three names repeat one close for sixty sessions.", "lower")
def stale(draft: Draft, rng: Rng) -> Draft | None:
    prices = draft.tables["prices"]
    for ticker in rng.choice(draft.setup.market.tickers, 3, replace=False):
        rows = np.flatnonzero((prices["ticker"] == ticker).to_numpy())
        begin = int(rng.integers(100, len(rows) - 100))
        for column in ("open", "high", "low", "close"):
            values = prices[column].to_numpy().copy()
            values[rows[begin : begin + 60]] = values[rows[begin]]
            prices[column] = values
    return draft


@fault("stale-equity", "3.7", "The equity curve stands still for a quarter in the middle and jumps back.")
def still(draft: Draft, rng: Rng) -> Draft | None:
    equity = draft.tables["equity"]
    worth = equity["equity"].to_numpy().copy()
    begin = len(worth) // 2
    if np.abs(worth[begin : begin + 63] / worth[begin] - 1).max() < 0.03:
        return None
    worth[begin : begin + 63] = worth[begin]
    equity["equity"] = worth
    equity["ret"] = np.concatenate([[0.0], worth[1:] / worth[:-1] - 1])
    refresh(draft)
    return draft
