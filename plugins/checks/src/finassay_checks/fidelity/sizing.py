"""Do the weights right after rebalances derive again from the option of the belief? (spec D.2)"""

import re
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pandas as pd
from attrs import frozen

from finassay_checks.fidelity.factors import zscores
from finassay_checks.fidelity.ledger import FEW, Ledger, slots, stated_windows, wide
from finassay_checks.fidelity.selection import Selection, held_most
from finassay_checks.fidelity.shown import ENOUGH, Shown, by_share, cannot_tell

WITHIN = 0.02
EXACT = 0.002
MOST_DATES = 60
VOL_WINDOWS = (60, 63, 20, 21, 126, 120, 252, 250)


@frozen(eq=False)
class Invested:
    """Weights right after rebalances, scaled to a sum of 1; rows without a holding are left out."""

    weights: pd.DataFrame
    decisions: pd.DatetimeIndex
    fills: pd.DatetimeIndex


def invested(ledger: Ledger) -> Invested | None:
    """Weights of the holdings right after rebalances; None where they cannot be rebuilt and no targets are delivered."""
    return _scaled(ledger.invested())


def planned(ledger: Ledger) -> Invested | None:
    """Delivered targets that the holdings follow."""
    return _scaled(ledger.planned())


def _scaled(found: tuple[pd.DataFrame, pd.DatetimeIndex] | None) -> Invested | None:
    if found is None:
        return None
    weights, decisions = found
    total = weights.sum(axis=1)
    kept = (total > 0.01).to_numpy()
    if not kept.any():
        return None
    scaled = weights[kept].div(total[kept], axis=0)
    return Invested(scaled, decisions[kept], pd.DatetimeIndex(weights.index[kept]))


def _share(expected: pd.DataFrame, weights: pd.DataFrame) -> tuple[float, int]:
    """Share of dates on which every name is within 0.02; dates without an expected weight for some holding leave the denominator."""
    own, other = weights.to_numpy(), expected.to_numpy()
    held = own > 1e-6
    known = ~(held & ~np.isfinite(other)).any(axis=1) & (held.sum(axis=1) > 1)
    if not known.any():
        return 0.0, 0
    return float((np.nanmax(np.abs(np.where(held, own - other, 0.0)), axis=1)[known] <= WITHIN).mean()), int(known.sum())


def proportional(measure: pd.DataFrame, weights: pd.DataFrame) -> pd.DataFrame:
    """Weights proportional to a positive measure over the names held."""
    value = measure.where((weights > 1e-6) & (measure > 0))
    return value.div(value.sum(axis=1), axis=0)


def equal_share(ledger: Ledger) -> tuple[float, int]:
    """Share of rebalance dates on which the buys are equal, or each is 1/slots, within 0.02 of equity."""
    found = ledger.invested()
    if found is None:
        return 0.0, 0
    weights, _ = found
    held = weights.to_numpy() > 1e-6
    fills = ledger.rebalance_fills
    if fills is not None and ledger.weights is not None:
        bought = fills[fills["shares"] > 0].drop_duplicates(["fill_date", "ticker"])
        row, column = weights.index.get_indexer(pd.Index(bought["fill_date"])), weights.columns.get_indexer(pd.Index(bought["ticker"]))
        mask = np.zeros_like(held)
        mask[row[(row >= 0) & (column >= 0)], column[(row >= 0) & (column >= 0)]] = True
        held &= mask
    asked = held.sum(axis=1) > 1
    if not asked.any():
        return 0.0, 0
    values = np.where(held, weights.to_numpy(), np.nan)[asked]
    spread = np.nanmax(values, axis=1) - np.nanmin(values, axis=1) <= WITHIN
    slot = np.nanmax(np.abs(values - 1 / slots(ledger, held_most(ledger))), axis=1) <= WITHIN
    return float((spread | slot).mean()), int(asked.sum())


def _measures(ledger: Ledger, chosen: Selection, option: str) -> Iterator[Callable[[Invested], pd.DataFrame]]:
    """Functions that give the measure to which the weights of an option are proportional, at each decision."""
    if option == "equal":
        yield lambda held: held.weights.gt(1e-6).astype(float)
    elif option == "inverse_vol" and ledger.adjusted is not None:
        returns = ledger.adjusted.pct_change(fill_method=None)
        for window in dict.fromkeys((*(w for w in stated_windows(ledger.rules, "volatil|vol|deviation|siz") if w >= 10), *VOL_WINDOWS)):
            measure = 1 / returns.rolling(window, min_periods=int(0.9 * window)).std().where(lambda v: v > 0)
            yield lambda held, m=measure: _at(m, held.decisions, held.weights)  # type: ignore[misc]
            yield lambda held, m=measure: _at(m, held.fills, held.weights)  # type: ignore[misc]
    elif option == "score_prop":
        for score in _scores(chosen):
            for shape in (score, zscores(score).clip(lower=0), score.sub(score.min(axis=1), axis=0), score.rank(axis=1)):
                yield lambda held, m=shape: _at(m, held.decisions, held.weights)  # type: ignore[misc]
            yield lambda held, m=score: _shifted(_at(m, held.decisions, held.weights), held.weights)  # type: ignore[misc]
    elif option == "market_cap":
        sizes = (chosen.delivered("small_size"), capitalisations(ledger))
        for size in (size.abs() for size in sizes if size is not None):
            yield lambda held, m=size: _at(m, held.decisions, held.weights)  # type: ignore[misc]
            yield lambda held, m=size: _at(m, held.fills, held.weights)  # type: ignore[misc]


_CAPS = re.compile(r"^(?:market|mkt|m)_?(?:cap|value|capitali[sz]ation)|capitali[sz]ation")
MAX_CAP_ROWS = 3_000_000


def capitalisations(ledger: Ledger) -> pd.DataFrame | None:
    """Market capitalisations from any current table with a date, a ticker and a column that is called so, as date × ticker."""
    for table in ledger.delivered.tables:
        names = {re.sub(r"(?<=[a-z])(?=[A-Z])|[\s-]+", "_", str(column)).lower(): column for column in table.frame.columns}
        value = next((names[n] for n in names if _CAPS.search(n)), None)
        ticker = next((names[n] for n in names if n in ("ticker", "symbol", "asset", "security")), None)
        day = next((names[n] for n in names if n in ("date", "day", "decision_date", "signal_date", "as_of")), None)
        if not table.current or value is None or ticker is None or day is None or len(table.frame) > MAX_CAP_ROWS:
            continue
        rows = pd.DataFrame(
            {
                "date": pd.to_datetime(table.frame[day].astype(str).str.slice(0, 10), errors="coerce"),
                "ticker": table.frame[ticker].astype(str).str.upper().str.replace(r"[./](?=[A-Z]$)", "-", regex=True),
                "value": pd.to_numeric(table.frame[value].astype(str).str.replace(r"[,$ ]", "", regex=True), errors="coerce"),
            }
        )
        found = wide(rows[rows["value"] > 0], "value")
        if found is not None:
            return found
    return None


def _scores(chosen: Selection) -> Iterator[pd.DataFrame]:
    signals = chosen.ledger.delivered.frame("signals")
    if signals is not None and not signals.empty:
        for _, part in list(signals.groupby("name", sort=False))[:6]:
            if (score := wide(part, "score")) is not None:
                yield score
    for count, (_, score) in enumerate(chosen.composites(chosen.factors, chosen.method)):
        if count < 8:
            yield score


def _at(measure: pd.DataFrame, dates: pd.DatetimeIndex, weights: pd.DataFrame) -> pd.DataFrame:
    row = measure.index.searchsorted(dates, side="right") - 1
    values = measure.reindex(columns=weights.columns).to_numpy()[np.maximum(row, 0)]
    return pd.DataFrame(np.where((row >= 0)[:, None], values, np.nan), index=weights.index, columns=weights.columns)


def _shifted(measure: pd.DataFrame, weights: pd.DataFrame) -> pd.DataFrame:
    """A measure less its smallest value among the names held, plus a hundredth of the spread, so that the last name keeps a weight."""
    held = measure.where(weights > 1e-6)
    low, high = held.min(axis=1), held.max(axis=1)
    return held.sub(low, axis=0).add((high - low) / 100, axis=0)


def closed_form_share(ledger: Ledger, chosen: Selection, option: str) -> tuple[float, int]:
    """The best share over the definitions of `equal`, `inverse_vol`, `score_prop` or `market_cap`; (0, 0) if nothing can be compared."""
    best = equal_share(ledger) if option == "equal" else (0.0, 0)
    for held in (invested(ledger), planned(ledger)):
        if held is None or best[0] >= ENOUGH:
            continue
        for measure in _measures(ledger, chosen, option):
            found = _share(proportional(measure(held), held.weights), held.weights)
            best = max(best, found)
            if best[0] >= 0.999:
                break
    return best


_NOTES: Mapping[str, str] = {
    "equal": "dates on which the buys are equal within 0.02",
    "inverse_vol": "dates on which weights are inverse to volatility within 0.02",
    "score_prop": "dates on which weights are proportional to the score within 0.02",
    "market_cap": "dates on which weights are proportional to market capitalisation within 0.02",
}


CLEARLY = 0.1
"""By how much a sibling must fit more dates before it is evidence: with few names, or names alike, one measure is close to another."""


def weighting_test(ledger: Ledger, chosen: Selection, option: str) -> Shown:
    """A weighting that is a formula of one measure, against its siblings."""
    share, count = closed_form_share(ledger, chosen, option)
    if count == 0:
        return cannot_tell("weights cannot be derived again from delivered files")
    rival = None
    if share < ENOUGH:
        closest = max(closed_form_share(ledger, chosen, other)[0] for other in _NOTES if other != option)
        rival = closest if closest - share >= CLEARLY else None
    return by_share(share, count, _NOTES[option], rival=rival)


def sampled(held: Invested) -> np.ndarray:
    """Positions of at most 60 rebalances, evenly spread."""
    return np.unique(np.linspace(0, len(held.weights) - 1, min(MOST_DATES, len(held.weights))).astype(int))


def contradicted_by_formula(ledger: Ledger, chosen: Selection) -> str:
    """The closed-form option that fits at least 95 % of five dates or more, or an empty text."""
    for option in ("equal", "inverse_vol"):
        share, count = closed_form_share(ledger, chosen, option)
        if count >= FEW and share >= ENOUGH:
            return option
    return ""


def plainly_equal(ledger: Ledger) -> bool:
    """Whether the names of a plan that is followed, or held after a rebalance, weigh the same to a fifth of a point on at least 95 % of
    dates: no optimiser's work."""
    for found in (planned(ledger), invested(ledger)):
        if found is not None:
            values = found.weights.where(found.weights > 1e-6)
            several = values.notna().sum(axis=1) > 1
            spread = (values.max(axis=1) - values.min(axis=1))[several]
            if len(spread) >= 2 and float((spread <= EXACT).mean()) >= ENOUGH:
                return True
    return False
