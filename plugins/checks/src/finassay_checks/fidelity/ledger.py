"""What the observable tests share: closes, fills, holdings, weights and decisions as matrices (date × ticker)."""

import re

import numpy as np
import pandas as pd
from attrs import field, frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.fidelity.places import Place, places
from finassay_checks.model import Delivered
from finassay_checks.recompute.control import FIRST_PURCHASE, control
from finassay_checks.recompute.panel import split_adjusted
from finassay_checks.recompute.rebuilt import Rebuilding, fill_log, rebuilding
from finassay_checks.shared import day_codes, factorized, positions, sorted_codes

MAX_CELLS = 40_000_000
BROAD = r"spy|spx|s&p|sp.?500|index|market|gspc"
"""Names of a series that is a broad index."""
FOLLOWED = 0.05
FEW = 5


@frozen(eq=False)
class Ledger:
    """Everything is None where the delivery does not give it. `closes`, `held` and `weights` share the sessions of the delivered prices."""

    delivered: Delivered
    places: tuple[Place, ...]
    rules: str
    """Text of the rule sections, the last message and the specification: where windows and slots are stated."""
    closes: pd.DataFrame | None = field(repr=False)
    """As they are delivered: what shares and fills are valued at."""
    adjusted: pd.DataFrame | None = field(repr=False)
    """The closes through delivered splits: what returns, averages and rankings are made of."""
    lows: pd.DataFrame | None = field(repr=False)
    fills: pd.DataFrame | None = field(repr=False)
    """Trades by fill date with `decision` (signal date, else the session before), `control` with its `cause`, `first` (first purchases)
    and `after` (shares after the fill date)."""
    held: pd.DataFrame | None = field(repr=False)
    """Shares after each close."""
    weights: pd.DataFrame | None = field(repr=False)
    """Value of holdings over equity at each close."""
    equity: pd.Series | None = field(repr=False)
    market: pd.Series | None = field(repr=False)
    """The broad index, if a benchmark series is delivered."""
    broad: bool
    """Whether `market` is called a broad index by its name, its column or its symbol."""
    targets: pd.DataFrame | None = field(repr=False)
    """Target weights on decision rows; a name without a row has 0."""
    rebuilding: Rebuilding = field(repr=False)

    @property
    def exposure(self) -> pd.Series | None:
        """Invested share of equity at each close."""
        return None if self.weights is None else self.weights.sum(axis=1)

    @property
    def rebalance_fills(self) -> pd.DataFrame | None:
        return None if self.fills is None else self.fills[~self.fills["control"]]

    def invested(self) -> tuple[pd.DataFrame, pd.DatetimeIndex] | None:
        """Weights right after each rebalance and the decision dates behind them: held weights at the close of rebalance dates with fills,
        else target rows by their own date."""
        fills = self.rebalance_fills
        if self.weights is not None and fills is not None and len(fills):
            decisions = fills.groupby("fill_date")["decision"].min()
            dates = decisions.index.intersection(self.weights.index)
            return self.weights.loc[dates], pd.DatetimeIndex(decisions.loc[dates])
        if self.targets is not None and len(self.targets):
            return self.targets, pd.DatetimeIndex(self.targets.index)
        return None

    def planned(self) -> tuple[pd.DataFrame, pd.DatetimeIndex] | None:
        """Delivered target rows with their dates, if the holdings right after rebalances follow them to 0.05 a name, all of them or those
        that were bought: where not every deviation is traded, the plan and not the holding is what a weighting rule gives."""
        found = self.invested()
        if found is None or self.targets is None or self.weights is None:
            return None
        held, decisions = found
        row = self.targets.index.searchsorted(decisions, side="right") - 1
        plan = self.targets.reindex(columns=held.columns).fillna(0.0).to_numpy()[np.maximum(row, 0)]
        off = np.abs(held.to_numpy() - plan * np.where(plan.sum(axis=1) > 0, 1.0, np.nan)[:, None])
        known = np.isfinite(off).all(axis=1) & (row >= 0)
        if not known.any():
            return None
        bought = self._bought(held)[known]
        followed = float((off[known].max(axis=1) <= FOLLOWED).mean()) >= 0.9
        if not followed and (bought.sum() < FEW or float((off[known][bought] <= FOLLOWED).mean()) < 0.9):
            return None
        return self.targets, pd.DatetimeIndex(self.targets.index)

    def _bought(self, held: pd.DataFrame) -> np.ndarray:
        """Which names were bought on each of the dates."""
        mask = np.zeros(held.shape, dtype=bool)
        fills = self.rebalance_fills
        if fills is not None:
            buys = fills[fills["shares"] > 0]
            row, column = held.index.get_indexer(pd.Index(buys["fill_date"])), held.columns.get_indexer(pd.Index(buys["ticker"]))
            mask[row[(row >= 0) & (column >= 0)], column[(row >= 0) & (column >= 0)]] = True
        return mask

    def rows_at(self, dates: pd.DatetimeIndex) -> np.ndarray:
        """Position of the last session on or before each date in `closes`; -1 before the first."""
        assert self.closes is not None
        return self.closes.index.searchsorted(dates, side="right") - 1


def wide(frame: pd.DataFrame | None, value: str) -> pd.DataFrame | None:
    """A long canonical frame as date × ticker; None where it is empty or beyond the bound. Of duplicates the last row counts."""
    if frame is None or value not in frame or frame[value].isna().all():
        return None
    known = (day_codes(frame, "date")[0] >= 0) & (factorized(frame["ticker"])[0] >= 0)
    kept = frame if known.all() else frame[known]
    (rows, dates), (columns, names) = day_codes(kept, "date"), sorted_codes(kept["ticker"])
    if kept.empty or len(dates) * len(names) > MAX_CELLS:
        return None
    cells = np.full((len(dates), len(names)), np.nan)
    cells[rows, columns] = kept[value].to_numpy(dtype=float)
    return pd.DataFrame(cells, index=dates.rename("date"), columns=names.rename("ticker"), copy=False)


def _targets(delivered: Delivered) -> pd.DataFrame | None:
    """Target weights by date; a name without a row has 0 in a table of targets, and keeps its last one in a column of the fill log, which
    names only what is traded."""
    choice = delivered.choices.get("weights")
    if choice is None or choice.chosen is None or choice.chosen.frame.empty:
        return None
    frame = choice.chosen.frame
    rows = frame[frame["kind"] == "target"] if "kind" in frame else frame
    table = wide(rows[rows["ticker"] != "$CASH"], "weight")
    if table is not None and any("of the fill log" in reason for reason in choice.chosen.reasons):
        table = table.ffill()
    return None if table is None else table.fillna(0.0)


def _market(delivered: Delivered, closes: pd.DataFrame | None) -> tuple[pd.Series | None, bool]:
    """The delivered index level, and whether it is called a broad index: a benchmark table, or a ticker among the prices that is an index by
    name. Where the same index lies in two tables, as for a comparison over the reported dates and in full, the longer history counts.
    """
    frame, choice = delivered.frame("benchmark"), delivered.choices.get("benchmark")
    if frame is not None and not frame.empty and choice is not None and choice.chosen is not None:
        broad = frame[frame["name"].astype(str).str.contains(BROAD, case=False)]
        level, names = _level(broad if not broad.empty else frame), [*frame["name"].astype(str).unique(), *choice.chosen.columns.values()]
        for other in choice.candidates:
            if other is not choice.chosen and other.table.current and not other.frame.empty:
                longer = _level(other.frame)
                if len(longer) and longer.index[0] < level.index.min() and _same_index(level, longer):
                    level, names = longer, [*names, *other.columns.values()]
        return level, not broad.empty or any(_INDEX_NAME.search(str(name)) for name in names)
    if closes is not None:
        for ticker in ("SPY", "^GSPC", "SPX", "SP500", "VOO", "IVV"):
            if ticker in closes:
                return closes[ticker].dropna(), True
    return None, False


_INDEX_NAME = re.compile(r"spy|spx|s&p|sp.?500|gspc", re.IGNORECASE)


def _level(frame: pd.DataFrame) -> pd.Series:
    """The level of the first series of a canonical benchmark frame by date; from returns where it has none."""
    one = frame[frame["name"] == frame["name"].iloc[0]].drop_duplicates("date", keep="last").set_index("date").sort_index()
    level = one["equity"] if one["equity"].notna().any() else (1 + one["ret"].fillna(0)).cumprod()
    return pd.Series(level.dropna())


def _same_index(level: pd.Series, longer: pd.Series) -> bool:
    """Whether a series goes on as another does, to a factor: nearly all its dates, and a ratio that stays within a tenth of a percent."""
    common = level.index.intersection(longer.index)
    if len(common) < max(20, 0.9 * len(level)) or (level.loc[common] <= 0).any() or (longer.loc[common] <= 0).any():
        return False
    ratio = longer.loc[common] / level.loc[common]
    return float(((ratio / ratio.median() - 1).abs() < 1e-3).mean()) >= 0.99


def _fills(package: Package, delivered: Delivered, closes: pd.DataFrame | None, held: pd.DataFrame | None) -> pd.DataFrame | None:
    trades = fill_log(delivered)
    if trades is None or trades.empty:
        return None
    known = (trades["fill_date"].notna() & trades["ticker"].notna()).to_numpy()
    fills, causes = trades.copy(deep=False), package.fact(control).causes
    if not known.all():
        fills, causes = fills[known], causes[known]
    codes, names = pd.factorize(causes)
    fills["cause"] = pd.array([str(name) for name in names], dtype="str").take(codes)
    fills["control"] = np.array([name not in ("", FIRST_PURCHASE) for name in names], dtype=bool)[codes]
    fills["first"] = np.array([name == FIRST_PURCHASE for name in names], dtype=bool)[codes]
    if fills["signal_date"].notna().all():
        fills["decision"] = fills["signal_date"]
    elif closes is not None:
        before = closes.index.searchsorted(pd.DatetimeIndex(fills["fill_date"]), side="left") - 1
        previous = pd.Series(closes.index.to_numpy()[np.maximum(before, 0)], index=fills.index)
        fills["decision"] = fills["signal_date"].where(fills["signal_date"].notna(), previous)
    else:
        fills["decision"] = fills["signal_date"].where(fills["signal_date"].notna(), fills["fill_date"])
    fills["after"] = _shares_after(fills, held)
    return fills if fills["fill_date"].is_monotonic_increasing else fills.sort_values("fill_date", kind="stable")


def _shares_after(fills: pd.DataFrame, held: pd.DataFrame | None) -> np.ndarray:
    if held is None:
        order = fills.sort_values("fill_date", kind="stable")
        running = order.groupby("ticker")["shares"].cumsum()
        last = running.groupby([order["ticker"], order["fill_date"]]).transform("last")
        return last.reindex(fills.index).to_numpy()
    rows = held.index.searchsorted(pd.DatetimeIndex(fills["fill_date"]), side="left")
    columns = positions(held.columns, fills["ticker"])
    values = held.to_numpy()[np.minimum(rows, len(held) - 1), np.maximum(columns, 0)]
    return np.where((rows < len(held)) & (columns >= 0), values, np.nan)


def ledger(package: Package) -> Ledger:
    """The fact `ledger`; use it as `package.fact(ledger)`."""
    delivered = package.fact(read_delivery)
    known = places(delivered)
    prices = delivered.frame("prices")
    closes = wide(prices, "close")
    made = package.fact(rebuilding)
    portfolio = made.rebuilt
    held = weights = equity = None
    if portfolio is not None:
        sessions = closes.index if closes is not None else portfolio.equity.index
        first = portfolio.equity.index[0]
        index = sessions[sessions >= first]
        held = portfolio.shares.reindex(index).fillna(0.0)
        weights = portfolio.weights.reindex(index).fillna(0.0)
        equity = portfolio.equity.reindex(index).ffill()
    market, broad = _market(delivered, closes)
    return Ledger(
        delivered=delivered,
        places=known,
        rules="\n".join(place.text for place in known if place.rank <= 1),
        closes=closes,
        adjusted=split_adjusted(closes, delivered.frame("actions")) if closes is not None else None,
        lows=wide(prices, "low"),
        fills=_fills(package, delivered, closes, held),
        held=held,
        weights=weights,
        equity=equity,
        market=market,
        broad=broad,
        targets=_targets(delivered),
        rebuilding=made,
    )


_SPAN = re.compile(r"(?<![\d.])(\d{1,4})\s*-?\s*(?:trading |business )?(days?|sessions?|weeks?|months?|years?|d|m|y)\b", re.IGNORECASE)
_PER = {"d": 1, "s": 1, "w": 5, "m": 21, "y": 252}


def stated_windows(text: str, words: str) -> tuple[int, ...]:
    """Look-backs in sessions that stand in sentences of `text` in which `words` (a pattern) occurs; 5 a week, 21 a month, 252 a year."""
    found: list[int] = []
    for line in re.split(r"\n|(?<=[.;])\s", text[:400_000]):
        if re.search(words, line[:2_000], re.IGNORECASE):
            found += [int(m[1]) * _PER[m[2][0].lower()] for m in _SPAN.finditer(line[:2_000])]
    return tuple(dict.fromkeys(window for window in found if 2 <= window <= 1300))[:8]


_SLOTS = re.compile(
    r"\b(?:top|best|hold(?:s|ing)?|up to|at most|maximum of|number of (?:names|stocks|holdings|positions"
    r"|slots)\W{1,3})\s*(?:the\s+)?(\d{1,3})\b(?!\s*(?:%|days?|months?|bp))"
    r"|\b(\d{1,3})\s+(?:names|stocks|holdings|positions|slots)\b",
    re.IGNORECASE,
)


def slots(ledger_: Ledger, held_most: int) -> int:
    """How many names the rules allow: the smallest stated number that is not below what is ever held, else what is held at most."""
    stated = {int(m[1] or m[2]) for m in _SLOTS.finditer(ledger_.rules[:400_000])}
    universe = ledger_.closes.shape[1] if ledger_.closes is not None else 10**6
    return min((n for n in stated if held_most <= n < universe), default=held_most)
