"""Faults of 3.1: what was not known yet is used, or fills come before they could."""

from dataclasses import replace

import numpy as np
import pandas as pd
from attrs import evolve

from finassay_calibrate.clean.draft import Draft
from finassay_calibrate.clean.engine import Plants
from finassay_calibrate.faults.registry import fault
from finassay_calibrate.faults.strategy import RIVALS, traded
from finassay_calibrate.market.known import known_factors

Rng = np.random.Generator
SKIPPING = frozenset({"mom_12_1", "mom_6_1"})
"""Factors whose last price is a month old."""


def _same_bar(draft: Draft) -> Draft | None:
    return traded(draft, replace(draft.setup.settings, fill_lag=0), share=0.5)


@fault("fill-on-signal-bar", "3.1", "Every order is filled at the close that decided it.")
def same_bar(draft: Draft, rng: Rng) -> Draft | None:
    return _same_bar(draft)


@fault("fill-on-signal-bar-relabelled", "3.1", "The same, and the log dates the decision one session earlier.")
def relabelled(draft: Draft, rng: Rng) -> Draft | None:
    # A ranking whose last price is a month old is nearly the same a session earlier: nothing says which of the two was used.
    if not set(draft.setup.settings.factors) <= set(RIVALS) - SKIPPING:
        return None
    twin = _same_bar(draft)
    if twin is None:
        return None
    dates = draft.setup.market.dates
    for name, column in (("trades", "signal_date"), ("targets", "decision_date"), ("signals", "decision_date")):
        frame = twin.tables[name]
        frame[column] = dates[np.maximum(dates.get_indexer(pd.DatetimeIndex(frame[column])) - 1, 0)]
    return twin


@fault("fill-before-signal", "3.1", "Fills are dated up to four days before their decision.")
def before_signal(draft: Draft, rng: Rng) -> Draft | None:
    trades = draft.tables["trades"]
    at = rng.random(len(trades)) < 0.3
    trades.loc[at, "signal_date"] = trades.loc[at, "fill_date"] + pd.Timedelta(days=4)
    return draft if at.any() and draft.setup.layout.trades != "round-trips" else None


@fault("announcement-used-early", "3.1", "Company figures are used from the end of their quarter, weeks before they were announced.")
def early(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    if len(s.factors) != 1 or s.factors[0] in (*RIVALS, "small_size"):
        return None
    return traded(draft, s, Plants(factors=known_factors(draft.setup.market, "period_end")), share=0.15)


@fault("restated-used-early", "3.1", "The restated figures are used from the first announcement on.")
def restated(draft: Draft, rng: Rng) -> Draft | None:
    s, market = draft.setup.settings, draft.setup.market
    if len(s.factors) != 1 or s.factors[0] in (*RIVALS, "small_size"):
        return None
    rows = market.fundamentals.sort_values("version")
    last = rows.drop_duplicates(["ticker", "period_end"], keep="last").drop(columns="announced")
    first = rows.drop_duplicates(["ticker", "period_end"], keep="first")[["ticker", "period_end", "announced"]]
    leaked = evolve(market, fundamentals=last.merge(first, on=["ticker", "period_end"]))
    return traded(draft, s, Plants(factors=known_factors(leaked)), share=0.03)


@fault("ranking-reaches-ahead", "3.1", "The ranking already contains the next week's returns.")
def peeking(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    # A look-back that leaves out the last month would still end in the past five sessions on.
    ahead = 5 + (s.skip if set(s.factors) <= SKIPPING else 0)
    return traded(draft, s, Plants(peek=ahead)) if set(s.factors) <= set(RIVALS) else None


@fault("timing-reaches-ahead", "3.1", "The timing rule already knows the next two weeks of the index.")
def peeking_timing(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    if s.timing not in ("index_ma", "index_abs_mom", "vol_regime"):
        return None
    return traded(draft, s, Plants(peek_timing=10), share=0.02)


@fault("bought-before-member", "3.1", "Names are bought before they belong to the universe (a list of survivors).", "lower")
def before_member(draft: Draft, rng: Rng) -> Draft | None:
    bought = draft.tables["trades"][draft.tables["trades"]["side"] == "BUY"].groupby("ticker")["fill_date"].agg(["min", "count"])
    often = bought[bought["count"] >= 3].index[:6]
    if len(often) < 3:
        return None
    universe = draft.tables["universe"]
    universe["first_date"] = pd.to_datetime(universe["first_date"])
    middle = draft.tables["equity"]["date"].iloc[len(draft.tables["equity"]) * 2 // 3]
    universe.loc[universe["ticker"].isin(often), "first_date"] = middle
    return draft
