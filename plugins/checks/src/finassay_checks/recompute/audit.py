"""The ten checks of the verifier audit (spec 3.7, with the rulings of D.0.6). One function a check; (c) to (f) look at what was delivered,
else at the rebuilt portfolio."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Role
from finassay_checks.recompute import audit_statements, stated
from finassay_checks.recompute.holdings import audited_holdings, delivered_cash, delivered_holdings
from finassay_checks.recompute.matches import metric_matches
from finassay_checks.recompute.outcome import Outcome, Status
from finassay_checks.recompute.panel import CASH, Floats
from finassay_checks.recompute.prices_of_fills import fill_prices, fill_values
from finassay_checks.recompute.rebuilt import APART, delivered_curve, fill_log, price_panel, rebuilding
from finassay_checks.recompute.round_trips import shares_after
from finassay_checks.recompute.schedule import KEPT, schedule

MOST_DAYS = 0.99
RUN = 5
"""More sessions than this in a row outside the band fail a share test too."""


def audit(package: Package) -> tuple[Outcome, ...]:
    """The ten outcomes, (a) to (j)."""
    return tuple(check(package) for check in CHECKS)


def level(outcomes: tuple[Outcome, ...]) -> int:
    """By failed and unverifiable checks, those that want the same missing part counted once; 0 if fewer than five could run."""
    ran = sum(o.status in ("pass", "fail", "n/a") for o in outcomes)
    if ran < 5:
        return 0
    failed = sum(o.status == "fail" for o in outcomes)
    missing = len({o.wants or o.letter for o in outcomes if o.status == "unverifiable"})
    return max(4 - failed - missing, 1)


def _wanting(package: Package, letter: str, title: str, role: Role, text: str = "") -> Outcome:
    choice = package.fact(read_delivery).choices.get(role)
    ambiguous = choice is not None and choice.status == "ambiguous"
    found = text or (f"several {role} tables fit equally well" if ambiguous else f"no {role} table was delivered")
    return Outcome(letter, title, "unverifiable", found, wants=role, ambiguous=ambiguous)


def _where(package: Package, role: Role) -> str:
    choice = package.fact(read_delivery).choices.get(role)
    return choice.chosen.table.where if choice is not None and choice.chosen is not None else ""


def tickers_in_prices(package: Package) -> Outcome:
    letter, title = "a", "traded tickers exist in prices"
    panel, made = package.fact(price_panel), package.fact(rebuilding)
    if made.fills is not None:
        traded, where = set(made.fills["ticker"].unique()), _where(package, "trades") or _where(package, "round_trips")
    else:
        weights = package.fact(read_delivery).frame("weights")
        if weights is None:
            return _wanting(package, letter, title, "trades")
        traded, where = set(weights.loc[weights["weight"].fillna(0) != 0, "ticker"].dropna().unique()) - {CASH}, _where(package, "weights")
    if panel is None:
        return _wanting(package, letter, title, "prices")
    lost = sorted(map(str, traded - set(panel.tickers)))
    found = f"{len(traded) - len(lost)} of {len(traded)}"
    return Outcome(letter, title, "fail" if lost else "pass", found, "all", where, tuple(lost[:8]))


def fills_inside_range(package: Package) -> Outcome:
    letter, title = "b", "fill prices inside the day's range, or within 1 % of the close"
    found = package.fact(fill_prices)
    if found is None:
        missing: Role = "trades" if package.fact(rebuilding).fills is None else "prices"
        return _wanting(package, letter, title, missing)
    status: Status = "pass" if found.share >= MOST_DAYS else "fail"
    text, where = f"{found.share:.2%} of {len(found.inside)} fills", _where(package, "trades") or _where(package, "round_trips")
    values = package.fact(fill_values)
    if status == "pass" and values is not None and values.share < MOST_DAYS:
        text = f"{text}; the delivered value is price times shares on {values.share:.2%} of {values.count}"
        return Outcome(letter, title, "fail", text, "99 %", where, values.named)
    return Outcome(letter, title, status, text, "99 %", where, found.named())


def no_short_position(package: Package) -> Outcome:
    letter, title = "c", "no position worth less than -0.01 % of equity"
    held, equity = package.fact(audited_holdings), _equity(package)
    if held is None:
        return _short_by_fills(package, letter, title)
    worth = _on(equity, held.dates, held.money.sum(axis=1) + _on(held.cash, held.dates, 0.0))
    with np.errstate(all="ignore"):
        share = held.money / worth[:, None]
    short = np.argwhere(share < -1e-4)
    named = tuple(f"{held.tickers[c]} on {held.dates[r].date()}: {share[r, c]:.2%} of equity" for r, c in short[:8])
    lowest = float(np.nanmin(share)) if np.isfinite(share).any() else 0.0
    sold = _sold_beyond_holding(package) if not len(short) and held.source != "rebuilt" else ()
    if sold:
        text = f"lowest {lowest:.4%} as delivered, and the fills sell more than is held"
        return Outcome(letter, title, "fail", text, "-0.01 %", _where(package, "trades") or _where(package, "round_trips"), sold)
    return Outcome(letter, title, "fail" if len(short) else "pass", f"lowest {lowest:.4%}", "-0.01 %", held.source, named)


OVERSOLD = 1e-3
"""Share of equity from which on a short position that fills leave is no rounding of delivered shares."""


def _sold_beyond_holding(package: Package) -> tuple[str, ...]:
    """Names and dates on which the fills leave a short position that the delivered holdings do not show."""
    made = package.fact(rebuilding)
    if made.rebuilt is None or made.book is None or made.fills is None:
        return ()
    with np.errstate(all="ignore"):
        share = made.book.holdings / np.abs(made.book.equity)[:, None]
    short = np.argwhere(share < -OVERSOLD)
    first = {int(c): int(r) for r, c in short[::-1]}
    return tuple(
        f"{made.book.tickers[c]} from {made.book.dates[r].date()}: {share[r, c]:.2%} of equity" for c, r in list(first.items())[:8]
    )


def _short_by_fills(package: Package, letter: str, title: str) -> Outcome:
    """Without prices: shares cumulated over the log, valued at its own fill prices."""
    made = package.fact(rebuilding)
    if made.fills is None or made.fills.empty:
        return _wanting(package, letter, title, "trades")
    worth = shares_after(made.fills) * made.fills["price"].to_numpy(dtype=float)
    scale = float((made.fills["shares"] * made.fills["price"]).abs().groupby(made.fills["date"]).sum().iloc[0])
    short = np.flatnonzero(worth < -1e-4 * max(scale, 1e-12))
    named = tuple(f"{made.fills['ticker'].iloc[i]} after {made.fills['date'].iloc[i].date()}" for i in short[:8])
    return Outcome(
        letter,
        title,
        "fail" if len(short) else "pass",
        f"{len(short)} fills leave a short position",
        "none",
        _where(package, "trades"),
        named,
    )


def cash_not_negative(package: Package) -> Outcome:
    """Cash stays above -0.5 % of equity; delivered cash also moves by fills and logged fees only."""
    letter, title = "d", "cash at least -0.5 % of equity, moved by fills and fees only"
    made = package.fact(rebuilding)
    cash = package.fact(delivered_cash)
    where = _where(package, "equity") or _where(package, "positions")
    if cash is None:
        if made.rebuilt is not None:
            cash, where = made.rebuilt.cash, "rebuilt"
        else:
            cash = _cash_by_fills(package)
            if cash is None:
                return _wanting(package, letter, title, "trades" if made.fills is None else "equity")
            where = "cumulated fills"
    equity = _on(_equity(package), pd.DatetimeIndex(cash.index), np.nan)
    with np.errstate(all="ignore"):
        share = cash.to_numpy(dtype=float) / equity
    low = np.flatnonzero(share < -0.005)
    named = tuple(f"{cash.index[i].date()}: {share[i]:.2%} of equity" for i in low[:8])
    lowest = f"lowest {float(np.nanmin(share)):.3%} of equity" if np.isfinite(share).any() else "no equity to compare with"
    if len(low):
        return Outcome(letter, title, "fail", lowest, "-0.5 %", where, named)
    moved = audit_statements.cash_moves(made, cash, equity) if where not in ("rebuilt", "cumulated fills") else None
    if moved is not None:
        return Outcome(letter, title, "fail", moved.found, moved.expected, where, moved.rows)
    return Outcome(letter, title, "pass", lowest, "-0.5 %", where)


def _cash_by_fills(package: Package) -> "pd.Series | None":
    """Cash after each fill date from the log alone, where the start capital is known."""
    delivered, made = package.fact(read_delivery), package.fact(rebuilding)
    curve = delivered_curve(delivered)
    if made.fills is None or made.fills.empty:
        return None
    flows = (-(made.fills["shares"] * made.fills["price"]) - made.fills["fee"]).groupby(made.fills["date"]).sum()
    said = [s.value for s in stated.start_capitals(delivered)]
    if curve is None or curve.empty:
        return flows.cumsum() + said[0] if said else None
    first = float(curve.iloc[0])
    if curve.index[0] >= flows.index[0]:
        first += float(made.fills.loc[made.fills["date"] <= curve.index[0], "fee"].sum())
    near = [s for s in said if abs(s / first - 1.0) < 0.05]
    return flows.cumsum() + (near[0] if near else first)


def weights_within_one(package: Package) -> Outcome:
    letter, title = "e", "weights sum to at most 1.001"
    delivered, made = package.fact(read_delivery), package.fact(rebuilding)
    weights = delivered.frame("weights")
    if weights is not None:
        rows = weights[(weights["ticker"] != CASH) & weights["date"].notna()]
        sums, where = rows.groupby("date")["weight"].sum(), _where(package, "weights")
    elif made.rebuilt is not None:
        sums, where = made.rebuilt.weights.sum(axis=1), "rebuilt"
    else:
        return _wanting(package, letter, title, "trades" if made.fills is None else "prices")
    over = sums[sums > 1.001]
    named = tuple(f"{str(day)[:10]}: {total:.4f}" for day, total in over.head(8).items())
    return Outcome(
        letter, title, "fail" if len(over) else "pass", f"largest {float(sums.max()):.4f} of {len(sums)} dates", "1.001", where, named
    )


def equity_adds_up(package: Package) -> Outcome:
    letter, title = "f", "equity = cash plus holdings within 0.5 % on 99 % of days"
    delivered, made = package.fact(read_delivery), package.fact(rebuilding)
    curve = made.delivered_equity if made.delivered_equity is not None else delivered_curve(delivered)
    if curve is None:
        return _wanting(package, letter, title, "equity")
    held = package.fact(delivered_holdings)
    if held is not None and held.cash is not None:
        total, where = pd.Series(held.money.sum(axis=1), index=held.dates).add(held.cash).dropna(), held.source
        idle = held.cash.dropna().reindex(pd.DatetimeIndex(curve.index).difference(pd.DatetimeIndex(total.index))).dropna()
        # A table of holdings has no row on a day without any: there the cash alone is the equity.
        total = pd.concat([total, idle[(curve.reindex(idle.index) / idle - 1).abs() <= APART]]).sort_index()
    elif made.rebuilt is not None:
        total, where = made.rebuilt.equity, "rebuilt"
    else:
        return _wanting(package, letter, title, "trades" if made.fills is None else "prices", made.reason)
    common = total.index.intersection(pd.DatetimeIndex(curve.index))
    if len(common) < 0.5 * len(curve):
        return _wanting(package, letter, title, "positions", f"comparable on {len(common)} of {len(curve)} days only")
    with np.errstate(all="ignore"):
        apart = (curve.loc[common] / total.loc[common] - 1.0).to_numpy(dtype=float)
    outside = ~(np.abs(apart) <= APART)
    share, longest = 1.0 - float(outside.mean()), longest_run(outside)
    named = tuple(f"{common[i].date()}: {apart[i]:+.2%}" for i in np.flatnonzero(outside)[:8])
    text = f"{share:.2%} of {len(common)} days" + (f", {longest} sessions in a row outside" if longest > RUN else "")
    ok = share >= MOST_DAYS and longest <= RUN
    return Outcome(letter, title, "pass" if ok else "fail", text, "99 % of days, no more than five in a row outside", where, named)


def longest_run(outside: NDArray[np.bool_]) -> int:
    """Length of the longest stretch of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], outside.astype(np.int8), [0]))))
    return int((edges[1::2] - edges[::2]).max()) if len(edges) else 0


def trade_count(package: Package) -> Outcome:
    letter, title = "g", "trade count as reported, in its unit"
    delivered = package.fact(read_delivery)
    if delivered.frame("trades") is None and delivered.frame("round_trips") is None:
        return _wanting(package, letter, title, "trades")
    twice = audit_statements.repeated(package)
    if twice is not None:
        return Outcome(letter, title, twice.status, twice.found, twice.expected, twice.where, twice.rows)
    match = next((m for m in package.fact(metric_matches) if m.metric == "trades"), None)
    if match is None:
        return Outcome(letter, title, "fail", "no trade count is reported", "a count")
    status: Status = "pass" if match.matches else "fail"
    unit = f" ({match.convention})" if match.convention else ""
    return Outcome(
        letter,
        title,
        status,
        f"{match.reported:g} reported",
        f"{match.recomputed:g}{unit}" if match.recomputed is not None else "",
        match.where,
    )


def on_schedule(package: Package) -> Outcome:
    letter, title = "h", "rebalance fills on schedule"
    delivered = package.fact(read_delivery)
    trades = fill_log(delivered)
    if trades is None:
        return _wanting(package, letter, title, "trades")
    where = _where(package, "trades") or _where(package, "round_trips")
    wanted, said = audit_statements.wanted_schedule(package)
    if wanted in ("drift_band", "on_event"):
        return audit_statements.by_rule(package, wanted, Outcome(letter, title, "unverifiable", where=where, wants="schedule"))
    found = package.fact(schedule)
    if found is None:
        return Outcome(letter, title, "n/a", "fewer than two rebalances", where=where)
    frequency = wanted if wanted in found.shares else found.kept
    if frequency is None:
        best = max(found.shares.values())
        return Outcome(letter, title, "fail", f"no calendar fits; best {best:.1%} of {found.fills} fills", "95 %", where)
    share = found.shares[frequency]  # type: ignore[index]  # one of its keys
    off = tuple(str(day.date()) for day in found.off(frequency)[:8])  # type: ignore[arg-type]
    status: Status = "pass" if share >= KEPT else "fail"
    return Outcome(letter, title, status, f"{share:.1%} of {found.fills} fills are {frequency}", f"95 %{said}", where, off)


def fees_as_reported(package: Package) -> Outcome:
    letter, title = "i", "fees sum to the reported cost within 2 %"
    made = package.fact(rebuilding)
    if made.fills is None:
        return _wanting(package, letter, title, "trades")
    found = audit_statements.fees(package)
    return Outcome(
        letter, title, found.status, found.found, found.expected, found.where or _where(package, "trades"), found.rows, found.wants
    )


def period_as_reported(package: Package) -> Outcome:
    letter, title = "j", "reported period = first to last date of the equity, covered by prices"
    found = audit_statements.period(package)
    return Outcome(letter, title, found.status, found.found, found.expected, found.where, found.rows, found.wants)


def _equity(package: Package) -> "pd.Series | None":
    """The rebuilt equity, else the delivered one."""
    made = package.fact(rebuilding)
    return made.rebuilt.equity if made.rebuilt is not None else made.delivered_equity


def _on(series: "pd.Series | None", dates: pd.DatetimeIndex, otherwise: "float | Floats") -> Floats:
    """A series on other dates, the last value before each; `otherwise` where there is none."""
    if series is None or series.empty:
        return np.broadcast_to(np.asarray(otherwise, dtype=float), (len(dates),)).copy()
    values = series.reindex(dates, method="ffill").to_numpy(dtype=float)
    return np.where(np.isfinite(values), values, otherwise)


CHECKS: tuple[Callable[[Package], Outcome], ...] = (
    tickers_in_prices,
    fills_inside_range,
    no_short_position,
    cash_not_negative,
    weights_within_one,
    equity_adds_up,
    trade_count,
    on_schedule,
    fees_as_reported,
    period_as_reported,
)
