"""Faults of 3.7, 3.8 and 2.12: a log that could not have happened, parts that are missing, decisions that nobody can follow."""

import numpy as np
import pandas as pd

from finassay_calibrate.clean.build import rebuilt
from finassay_calibrate.clean.draft import Draft
from finassay_calibrate.clean.engine import Plants
from finassay_calibrate.faults.registry import fault

Rng = np.random.Generator


@fault("weights-above-one", "3.7", "The target weights add up to one and a half.")
def leverage(draft: Draft, rng: Rng) -> Draft | None:
    if draft.setup.builder != "reference":
        return None
    targets = draft.tables["targets"]
    targets["target_weight"] *= 1.5
    if targets.groupby("decision_date")["target_weight"].sum().max() < 1.2:
        return None
    if "exposure" in targets:
        targets["exposure"] *= 1.5
    return draft


@fault("short-in-long-only", "3.7", "More is sold than is held.")
def short(draft: Draft, rng: Rng) -> Draft | None:
    trades = draft.tables["trades"]
    sold = np.flatnonzero((trades["side"] == "SELL").to_numpy())
    if len(sold) < 6 or draft.setup.layout.trades == "round-trips":
        return None
    at = rng.choice(sold, max(3, len(sold) // 10), replace=False)
    for column in ("shares", "value", "fee"):
        values = trades[column].to_numpy().copy()
        values[at] *= 2
        trades[column] = values
    return draft


@fault("fills-outside-the-day", "3.7", "Purchases are filled 6 % below the day's low.")
def outside(draft: Draft, rng: Rng) -> Draft | None:
    trades = draft.tables["trades"]
    lows = draft.tables["prices"].set_index(["date", "ticker"])["low"]
    bought = (trades["side"] == "BUY").to_numpy() & (rng.random(len(trades)) < 0.3)
    if bought.sum() < 3:
        return None
    at = pd.MultiIndex.from_frame(trades.loc[bought, ["fill_date", "ticker"]])
    better = lows.reindex(at).to_numpy() * 0.94
    trades.loc[bought, "price"] = better
    trades.loc[bought, "value"] = better * trades.loc[bought, "shares"]
    return draft


@fault("unadjusted-fills", "3.7", "Prices are adjusted, fills before a split are not.")
def unadjusted(draft: Draft, rng: Rng) -> Draft | None:
    if draft.setup.layout.prices == "raw-with-splits":
        return None
    trades, factor = draft.tables["trades"], draft.tables["split_factor"].set_index("date")
    ratio = np.array([factor.at[d, t] for d, t in zip(trades["fill_date"], trades["ticker"], strict=True)])
    if (ratio > 1).sum() < 3:
        return None
    trades["price"] = trades["price"] * ratio
    trades["value"] = trades["value"] * ratio
    return draft


@fault("duplicate-fills", "3.7", "One fill in ten stands twice.")
def duplicates(draft: Draft, rng: Rng) -> Draft | None:
    trades = draft.tables["trades"]
    again = trades.sample(max(2, len(trades) // 10), random_state=int(rng.integers(2**31)))
    draft.tables["trades"] = pd.concat([trades, again]).sort_values(["fill_date", "trade_id"], ignore_index=True)
    draft.figures["trades"] = float(len(draft.tables["trades"]))
    return draft


@fault("fills-on-closed-days", "3.7", "One fill in ten is dated on a Saturday.")
def weekend(draft: Draft, rng: Rng) -> Draft | None:
    trades = draft.tables["trades"]
    at = rng.random(len(trades)) < 0.1
    if at.sum() < 2:
        return None
    days = trades.loc[at, "fill_date"]
    trades.loc[at, "fill_date"] = days + pd.to_timedelta(5 - days.dt.day_of_week, unit="D")
    return draft


@fault("positions-do-not-follow", "3.7", "The table of holdings is not what the fills give.")
def positions(draft: Draft, rng: Rng) -> Draft | None:
    if draft.setup.layout.positions == "none":
        return None
    table = draft.tables["positions"]
    names = [c for c in table.columns if c not in ("date", "cash") and (table[c] > 0).mean() > 0.1][:3]
    for name in names:
        table[name] = table[name] * 1.3
    return draft if names else None


@fault("value-not-price-times-shares", "3.7", "The value of one fill in five is not its price times its shares.")
def value(draft: Draft, rng: Rng) -> Draft | None:
    if draft.setup.layout.trades == "round-trips":
        return None
    trades = draft.tables["trades"]
    at = rng.random(len(trades)) < 0.2
    trades.loc[at, "value"] = trades.loc[at, "value"] * 1.25
    return draft if at.sum() > 2 else None


@fault("unknown-ticker", "3.7", "A name is traded that has no price anywhere.")
def unknown(draft: Draft, rng: Rng) -> Draft | None:
    trades = draft.tables["trades"]
    counts = trades["ticker"].value_counts()
    name = str(counts.index[0])
    trades.loc[trades["ticker"] == name, "ticker"] = "ZZQX"
    if name in draft.tables["positions"]:
        draft.tables["positions"] = draft.tables["positions"].rename(columns={name: "ZZQX"})
    return draft


def _missing(name: str, text: str, *tables: str) -> None:
    @fault(name, "3.8", text)
    def planted(draft: Draft, rng: Rng) -> Draft | None:
        draft.dropped |= set(tables)
        return draft


_missing("no-trade-log", "No trade log was delivered.", "trades", "positions")
_missing("no-prices", "No prices were delivered.", "prices", "market_caps", "index")
_missing("no-equity-curve", "No equity curve was delivered.", "equity")


@fault(
    "no-signals-no-targets",
    "3.8",
    "Nothing says what decided: no signals, no target weights, no deciding values, and the factor needs company figures.",
)
def undecided(draft: Draft, rng: Rng) -> Draft | None:
    from finassay_calibrate.faults.strategy import RIVALS

    if set(draft.setup.settings.factors) <= set(RIVALS):
        return None
    draft.dropped |= {"signals", "targets", "fundamentals", "market_caps"}
    keep = [c for c in draft.tables["trades"] if c not in ("decided_by", "decided_value", "compared_with", "target_weight")]
    draft.tables["trades"] = draft.tables["trades"][keep]
    return draft


@fault("targets-of-another-run", "3.8", "The targets are those of another portfolio.")
def other_targets(draft: Draft, rng: Rng) -> Draft | None:
    twin = rebuilt(draft, draft.setup.settings, Plants(invert=True))
    draft.tables["targets"] = twin.tables["targets"]
    return draft


@fault("decisions-unexplained", "2.12", "No reason, no rank, no deciding value: nothing says why anything was traded.", "lower")
def unexplained(draft: Draft, rng: Rng) -> Draft | None:
    keep = ["trade_id", "fill_date", "signal_date", "ticker", "side", "shares", "price", "value", "fee"]
    draft.tables["trades"] = draft.tables["trades"][keep].assign(reason="signal")
    draft.dropped |= {"signals", "targets", "states"}
    return draft
