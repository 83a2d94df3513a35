"""The chain of 3.8: universe, prices, signals, targets or positions, trades, equity, metrics; present, and each linked to what it rests
on."""

import re
from collections.abc import Callable

import numpy as np
import pandas as pd
from attrs import evolve, frozen
from numpy.typing import NDArray

from finassay.api.delivery import Package
from finassay.api.strategy import Stance
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Delivered, Role
from finassay_checks.recompute.audit import equity_adds_up
from finassay_checks.recompute.control import FIRST_PURCHASE, control
from finassay_checks.recompute.holdings import delivered_holdings
from finassay_checks.recompute.lags import lags
from finassay_checks.recompute.matches import equity_matches
from finassay_checks.recompute.panel import CASH
from finassay_checks.recompute.prices_of_fills import fill_prices
from finassay_checks.recompute.rebuilt import PRICED, fill_log, price_panel, rebuilding
from finassay_checks.recompute.states import exposure_by_date

LINKED = 0.95
TARGET_WITHIN = 0.02


@frozen
class Part:
    """One part of the chain. `linked` is None where the link rests on a missing part and is not counted."""

    name: str
    present: bool
    linked: bool | None
    where: str = ""
    text: str = ""
    rows: tuple[str, ...] = ()


def chain(package: Package) -> tuple[Part, ...]:
    """The seven parts in order."""
    return tuple(part(package) for part in PARTS)


def level(parts: tuple[Part, ...]) -> int:
    """By the number present; seven are 4 only if none of their links is broken."""
    present = sum(p.present for p in parts)
    if present == 7:
        return 3 if any(p.linked is False for p in parts) else 4
    return {6: 3, 5: 2, 4: 1, 3: 1}.get(present, 0)


def _place(package: Package, *roles: Role) -> str:
    for role in roles:
        choice = package.fact(read_delivery).choices.get(role)
        if choice is not None and choice.chosen is not None:
            return choice.chosen.table.where
    return ""


def traded_tickers(package: Package) -> tuple[str, ...]:
    """Tickers of the log, else of non-zero weights."""
    made = package.fact(rebuilding)
    if made.fills is not None:
        return tuple(map(str, made.fills["ticker"].unique()))
    weights = package.fact(read_delivery).frame("weights")
    if weights is None:
        return ()
    return tuple(str(t) for t in weights.loc[weights["weight"].fillna(0) != 0, "ticker"].dropna().unique() if t != CASH)


def universe(package: Package) -> Part:
    delivered = package.fact(read_delivery)
    traded = traded_tickers(package)
    frame = delivered.frame("universe")
    if frame is not None and not frame.empty:
        inside, outside = _members(frame, package.fact(rebuilding).fills, traded)
        return Part(
            "universe",
            True,
            inside >= LINKED if traded else None,
            _place(package, "universe"),
            f"{inside:.1%} of trades are in it",
            outside,
        )
    found = _list_in_text(delivered, traded) or _cross_section(package, delivered, traded)
    if found is not None:
        return found
    if _ranking_supported(package):
        return Part("universe", True, True, _place(package, "prices"), "the columns of the prices: ranking all of them gives the picks")
    return Part("universe", False, None, text="no table, list or cross-section names what could be held")


def _members(frame: pd.DataFrame, fills: pd.DataFrame | None, traded: tuple[str, ...]) -> tuple[float, tuple[str, ...]]:
    """Share of fills (else tickers) that are members as of their date, and the first that are not."""
    names = set(frame["ticker"].dropna().astype(str))
    dated = frame["start"].notna().any() or frame["end"].notna().any()
    if not dated or fills is None:
        strangers = tuple(t for t in traded if t not in names)
        return 1.0 - len(strangers) / max(len(traded), 1), strangers[:8]
    buys = fills[fills["shares"] > 0]
    buys = buys.assign(position=np.arange(len(buys)))
    spans = frame.assign(start=frame["start"].fillna(pd.Timestamp(1900, 1, 1)), end=frame["end"].fillna(pd.Timestamp(2200, 1, 1)))
    merged = buys.merge(spans[["ticker", "start", "end"]], on="ticker", how="left")
    inside = merged.loc[(merged["date"] >= merged["start"]) & (merged["date"] <= merged["end"]), "position"].unique()
    outside = buys[~buys["position"].isin(inside)]
    return len(inside) / max(len(buys), 1), tuple(f"{r.ticker} on {str(r.date)[:10]}" for r in outside.head(8).itertuples())


_TICKER = re.compile(r"\b[A-Z][A-Z0-9]{0,5}(?:[.-][A-Z])?\b")


def _list_in_text(delivered: Delivered, traded: tuple[str, ...]) -> Part | None:
    """A paragraph or table of current prose that names at least 95 % of what was traded."""
    if len(traded) < 1:
        return None
    wanted = set(traded)
    for document in (*delivered.reports, *delivered.documents, *delivered.messages[-1:]):
        for paragraph in document.text[:400_000].split("\n\n"):
            named = {t.replace(".", "-") for t in _TICKER.findall(paragraph)}
            if len(wanted & named) >= LINKED * len(wanted) and len(named & wanted) >= 3:
                return Part("universe", True, True, document.where, f"a list of {len(named & wanted)} traded tickers")
    return None


def _cross_section(package: Package, delivered: Delivered, traded: tuple[str, ...]) -> Part | None:
    """Signals of more names than were bought, or the columns of a wide table of weights or signals."""
    roles: tuple[Role, ...] = ("signals", "weights")
    for role in roles:
        frame = delivered.frame(role)
        if frame is None or frame.empty:
            continue
        names = set(frame["ticker"].dropna().astype(str)) - {CASH}
        a_date = frame.groupby("date")["ticker"].nunique()
        whole = float(a_date.median()) >= 0.9 * len(names) and len(names) > 1
        if whole and len(set(traded) & names) >= LINKED * len(traded):
            return Part("universe", True, True, _place(package, role), f"the {len(names)} names with a value on every date")
    return None


def _ranking_supported(package: Package) -> bool:
    """Whether the test of 2.1 derives the picks again from delivered files."""
    from finassay_checks.fidelity.observe import observations

    if package.fact(read_delivery).frame("prices") is None or package.fact(rebuilding).fills is None:
        return False
    asked = [o for o in package.observables.values() if o.test in ("factor", "combination")]
    if not asked:
        return False
    shown = package.fact(observations)
    return all(shown.show(o).stance is Stance.SUPPORTS for o in asked)


def prices(package: Package) -> Part:
    panel, made = package.fact(price_panel), package.fact(rebuilding)
    if panel is None or (made.book is not None and made.book.coverage < PRICED):
        return Part("prices", False, None, _place(package, "prices"), made.reason or "no price table was delivered")
    found = package.fact(fill_prices)
    if made.book is None or found is None:
        return Part("prices", True, None, _place(package, "prices"), "nothing is held that needs a price")
    linked = found.coverage >= LINKED and made.book.coverage >= LINKED
    lost = found.fills[~found.priced].head(8)
    rows = tuple(f"{r.ticker} on {str(r.date)[:10]}" for r in lost.itertuples())
    if made.book.unpriced.any():
        at = np.argwhere(made.book.unpriced)[:8]
        rows += tuple(f"{made.book.tickers[c]} held on {made.book.dates[r].date()}" for r, c in at)
    return Part(
        "prices",
        True,
        linked,
        _place(package, "prices"),
        f"{found.coverage:.2%} of fills and {made.book.coverage:.2%} of daily holdings priced",
        rows[:8],
    )


def signals(package: Package) -> Part:
    delivered = package.fact(read_delivery)
    frame, trades, panel = delivered.frame("signals"), delivered.frame("trades"), package.fact(price_panel)
    if frame is not None and not frame.empty:
        joined = _joined_prices(frame, panel) if panel is not None else None
        bought, lost = _bought_with_signal(package, frame)
        shares = [s for s in (joined, bought) if s is not None]
        text = f"{_percent(joined)} of rows have a price, {_percent(bought)} of purchases a signal at their decision"
        return Part("signals", True, all(s >= LINKED for s in shares) if shares else None, _place(package, "signals"), text, lost)
    if trades is not None and (trades["shares"] > 0).any():
        told = trades["decided_by"].notna().to_numpy()[(trades["shares"] > 0).to_numpy() & ~_driven(package)]
        share = float(told.mean()) if len(told) else 0.0
        if share > 0.5:
            return Part(
                "signals", True, share >= LINKED, _place(package, "trades"), f"a column of the log; {share:.1%} of purchases have a value"
            )
    if _ranking_supported(package):
        return Part("signals", True, True, _place(package, "prices"), "derived again from delivered prices; the picks follow")
    return Part("signals", False, None, text="no signals were delivered, and none can be derived again")


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{share:.1%}"


def _driven(package: Package) -> NDArray[np.bool_]:
    """Fills that a control caused, one a row of the trade log; first purchases follow the ranking."""
    found = package.fact(control)
    return np.asarray(found.mask & (found.causes != FIRST_PURCHASE))


def _joined_prices(frame: pd.DataFrame, panel: object) -> float | None:
    from finassay_checks.recompute.panel import Panel

    assert isinstance(panel, Panel)
    rows = panel.dates.searchsorted(pd.DatetimeIndex(frame["date"].dropna()), side="right") - 1
    columns = panel.ticker_codes(frame.loc[frame["date"].notna(), "ticker"])
    return float(np.mean((rows >= 0) & (columns >= 0))) if len(rows) else None


def _bought_with_signal(package: Package, frame: pd.DataFrame) -> tuple[float | None, tuple[str, ...]]:
    """Share of purchases that the ranking decided with a signal of their ticker at the decision, and the first without."""
    trades, found = package.fact(read_delivery).frame("trades"), package.fact(lags)
    if trades is None or found is None:
        return None, ()
    bought = (trades["shares"] > 0).to_numpy() & ~_driven(package)
    if not bought.any():
        return None, ()
    keys = pd.MultiIndex.from_frame(frame[["date", "ticker"]].dropna().drop_duplicates())
    own = pd.MultiIndex.from_arrays([found.decision, trades["ticker"]])
    has = own.isin(keys)
    lost = trades[bought & ~has].head(8)
    named = tuple(f"row {r.row}: {r.ticker} filled {str(r.fill_date)[:10]}" for r in lost.itertuples())
    return float(has[bought].mean()), named


def targets(package: Package) -> Part:
    delivered, made = package.fact(read_delivery), package.fact(rebuilding)
    weights, positions, trades = delivered.frame("weights"), delivered.frame("positions"), delivered.frame("trades")
    column = trades is not None and trades["target_weight"].notna().mean() > 0.5
    if weights is None and positions is None and not column:
        return Part("target weights or positions", False, None, text="neither targets nor positions were delivered")
    blank = Part("target weights or positions", True, None, _place(package, "weights", "positions", "trades"))
    if made.book is None or made.rebuilt is None or made.fills is None:
        return evolve(blank, text="the log or the prices to link them with are missing")
    cumulated = _cumulated(package)
    planned = _planned(package)
    if planned is not None and planned < 0.5:
        return evolve(blank, linked=False, text=f"{planned:.1%} of purchases have a target above zero at their decision")
    if cumulated is not None and cumulated >= LINKED:
        return evolve(
            blank, linked=True, text=f"cumulated fills equal the positions in {cumulated:.1%} of cells", where=_place(package, "positions")
        )
    reached, lost = _reached(package)
    if reached is None and cumulated is None:
        return evolve(blank, text="no row can be joined with a fill", linked=False)
    text = f"{_percent(reached)} of filled names end within 0.02 of their target"
    if cumulated is not None:
        text += f"; cumulated fills equal the positions in {cumulated:.1%} of cells"
    # One fill of ten or more may miss: a share of 5 % of a short log is less than one of its rows.
    linked = reached is not None and (reached >= LINKED or (len(lost) == 1 and reached >= 0.9))
    return evolve(blank, linked=linked, text=text, rows=lost)


def _planned(package: Package) -> float | None:
    """Share of purchases, decided on a date of the delivered targets, whose name has a target then; None with fewer than ten of them."""
    delivered, found, made = package.fact(read_delivery), package.fact(lags), package.fact(rebuilding)
    trades, weights = fill_log(delivered), delivered.frame("weights")
    if trades is None or weights is None or made.rebuilt is None or not (weights["kind"] == "target").any():
        return None
    filled = pd.DatetimeIndex(trades["fill_date"])
    decision = found.decision if found is not None else _session_before(made.rebuilt.equity.index, filled)
    rows = weights[(weights["kind"] == "target") & weights["weight"].gt(0)].dropna(subset=["date", "ticker"])
    wanted = pd.MultiIndex.from_frame(rows[["date", "ticker"]])
    best: float | None = None
    for dates in (pd.DatetimeIndex(decision), filled):
        bought = (trades["shares"] > 0).to_numpy() & np.asarray(dates.isin(rows["date"].unique()))
        if bought.sum() >= 10:
            keys = pd.MultiIndex.from_arrays([dates[bought], trades["ticker"][bought]])
            share = float(keys.isin(wanted).mean())
            best = share if best is None else max(best, share)
    return best


def _cumulated(package: Package) -> float | None:
    """Share of delivered position cells that the cumulated fills give."""
    made, held = package.fact(rebuilding), package.fact(delivered_holdings)
    if made.rebuilt is None or held is None or held.shares is None:
        return None
    own = made.rebuilt.shares.reindex(index=held.dates, method="ffill").reindex(columns=held.tickers).fillna(0.0).to_numpy(dtype=float)
    given = np.nan_to_num(held.shares)
    cells = (own != 0) | (given != 0)
    if not cells.any():
        return None
    return float(np.mean(np.abs(own - given)[cells] <= np.maximum(1e-4 * np.abs(given[cells]), 1e-6)))


def _reached(package: Package) -> tuple[float | None, tuple[str, ...]]:
    """Share of rebalance fills with a target whose name ends within 0.02 of it, times the states; and the first that do not."""
    made, delivered, found = package.fact(rebuilding), package.fact(read_delivery), package.fact(lags)
    trades, weights = fill_log(delivered), delivered.frame("weights")
    if trades is None or made.rebuilt is None:
        return None, ()
    decision = found.decision if found is not None else _session_before(made.rebuilt.equity.index, pd.DatetimeIndex(trades["fill_date"]))
    target = trades["target_weight"].to_numpy(dtype=float).copy()
    scaled = target
    if weights is not None and not np.isfinite(target).mean() > 0.5:
        planned = bool((weights["kind"] == "target").any())
        rows = weights[weights["kind"] == "target"] if planned else weights
        filled = pd.DatetimeIndex(trades["fill_date"])
        # A plan stands on the day of its decision; what was held, on that of the fill.
        for column, dates in (("date", decision), ("fill_date", filled), ("date", filled))[0 if planned else 1 :]:
            if column in rows:
                table = rows.dropna(subset=[column, "ticker"]).groupby([column, "ticker"])["weight"].last()
                values = table.reindex(pd.MultiIndex.from_arrays([dates, trades["ticker"]])).to_numpy(dtype=float)
                target = np.where(np.isfinite(target), target, values)
        exposure = exposure_by_date(delivered.frame("states"), decision, np.ones(len(target)))
        scaled = target * exposure if exposure is not None else target
    held = made.rebuilt.weights
    rows_, columns = held.index.get_indexer(pd.DatetimeIndex(trades["fill_date"])), held.columns.get_indexer(pd.Index(trades["ticker"]))
    joined = np.isfinite(target) & (rows_ >= 0) & (columns >= 0)
    known = joined & ~_driven(package)
    if not known.any():  # a rule drove every fill: what it buys back follows the plan
        known = joined & (trades["shares"] > 0).to_numpy()
    if not known.any():
        return None, ()
    ended = held.to_numpy()[rows_, columns]
    # A plan may hold the exposure already, or leave it to the states.
    near = (np.abs(ended - scaled) <= TARGET_WITHIN) | (np.abs(ended - target) <= TARGET_WITHIN)
    # Without a target of its own, a purchase may end below its plan where the cash for the rest was lacking.
    idle = 1.0 - held.to_numpy().sum(axis=1)[rows_]
    near |= trades["target_weight"].isna().to_numpy() & (trades["shares"] > 0).to_numpy() & (ended < scaled) & (idle <= TARGET_WITHIN)
    lost = trades[known & ~near].head(8)
    return float(near[known].mean()), tuple(f"row {r.row}: {r.ticker} on {str(r.fill_date)[:10]}" for r in lost.itertuples())


def _session_before(sessions: pd.Index, dates: pd.DatetimeIndex) -> pd.DatetimeIndex:
    """The last session before each date: when a fill without a decision of its own, as of a round trip, was decided at the latest."""
    rows = np.maximum(np.searchsorted(sessions.to_numpy(), dates.to_numpy(), side="left") - 1, 0)
    return pd.DatetimeIndex(sessions.to_numpy()[rows])


def trades(package: Package) -> Part:
    delivered = package.fact(read_delivery)
    made, found = package.fact(rebuilding), package.fact(fill_prices)
    if made.fills is None:
        return Part(
            "trades", False, None, text="no trade log was delivered" if delivered.frame("trades") is None else "the log has no usable fill"
        )
    where = _place(package, "trades", "round_trips")
    if found is None or not package.fact(prices).present:
        return Part("trades", True, None, where, "no prices to join")
    lost = tuple(f"{r.ticker} on {str(r.date)[:10]}" for r in found.fills.iloc[np.flatnonzero(~found.priced)[:8]].itertuples())
    return Part("trades", True, found.coverage >= LINKED, where, f"{found.coverage:.2%} of fills join the prices", lost)


def equity(package: Package) -> Part:
    if package.fact(read_delivery).frame("equity") is None:
        return Part("equity", False, None, text="no equity curve was delivered")
    outcome = package.fact(equity_adds_up)
    linked = None if outcome.status == "unverifiable" else outcome.status == "pass"
    return Part("equity", True, linked, _place(package, "equity"), f"cash plus holdings: {outcome.found}", outcome.rows)


def metrics(package: Package) -> Part:
    delivered = package.fact(read_delivery)
    tables = [f for f in delivered.figures if "#table" in f.where]
    where = _place(package, "metrics") or (tables[0].where if tables else "")
    if not where:
        return Part("metrics", False, None, text="neither a metrics table nor a headline table was delivered")
    if delivered.frame("equity") is None:
        return Part("metrics", True, None, where, "no equity to compare with")
    found = {m.metric: m for m in package.fact(equity_matches)}
    asked = [
        found[name] for name in ("total_return", "annual_return", "max_drawdown") if name in found and found[name].recomputed is not None
    ]
    wrong = [m for m in asked if not m.matches]
    named = tuple(f"{m.metric}: {m.reported:.6g} reported, {m.recomputed:.6g} from the equity" for m in wrong)
    has_return = any(m.metric != "max_drawdown" for m in asked)
    complete = has_return and any(m.metric == "max_drawdown" for m in asked)
    text = "return and drawdown follow from the equity" if complete and not wrong else "return or drawdown do not follow from the equity"
    return Part("metrics", True, complete and not wrong, where, text, named)


PARTS: tuple[Callable[[Package], Part], ...] = (universe, prices, signals, targets, trades, equity, metrics)
