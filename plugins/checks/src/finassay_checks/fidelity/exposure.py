"""When is the portfolio out of the market? Timing rules, drawdown exits, volatility targets (spec D.2)."""

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd

from finassay.api.strategy import Stance
from finassay_checks.fidelity.execution import after_announcements, risk_fills
from finassay_checks.fidelity.ledger import Ledger, stated_windows
from finassay_checks.fidelity.shown import ENOUGH, HALF, Shown, cannot_tell, longest_run
from finassay_checks.fidelity.yields import slopes

OUT = 0.01
FULL = 0.95
NEAR = 0.05
MOST_DATES = 250
MOSTLY = 0.8
FEW_DATES = 5
RUN = 10
"""Sessions in a row against a rule which show that it was not followed (spec D.0.6)."""
_ESTIMATE = re.compile(r"vol|ex.?ante|sigma", re.IGNORECASE)
_STATE_WORDS = ("on", "in_market", "invested", "risk_on", "regime", "state", "timing", "signal", "above", "market")


def delivered_states(ledger: Ledger) -> Iterator[tuple[str, pd.Series]]:
    """Delivered boolean states by name, true is invested, each at its decision date."""
    frame = ledger.delivered.frame("states")
    if frame is None or frame.empty:
        return
    for name, part in frame.dropna(subset=["date"]).groupby("name", sort=False):
        values = part.drop_duplicates("date", keep="last").set_index("date")["value"].sort_index()
        flags = values[values.map(lambda v: isinstance(v, bool | np.bool_) or v in (0, 1, 0.0, 1.0))]
        if len(flags) >= 0.99 * len(values) and len(flags) and any(word in str(name).lower() for word in _STATE_WORDS):
            state = flags.astype(float) > 0.5
            off = any(word in str(name).lower() for word in ("off", "out", "cut", "cash"))
            yield str(name), ~state if off else state


def derived_states(ledger: Ledger, rule: str) -> Iterator[pd.Series]:
    """The rule's state at every session from delivered series, for its stated and usual windows; nothing if they do not serve it."""
    closes, market = ledger.adjusted, ledger.market
    if closes is None:
        return
    if rule == "breadth":
        for window in stated_windows(ledger.rules, "average|breadth")[:3] or (200, 100, 50):
            average = closes.rolling(window, min_periods=window).mean()
            known = average.notna()
            share = (closes > average).where(known).sum(axis=1) / known.sum(axis=1).where(lambda n: n > 0)
            yield _state(share > 0.5, share.notna())
        return
    if rule == "yield_curve":
        for slope in slopes(ledger):
            yield _state(slope >= 0, slope.notna())
        return
    if market is None:
        return
    index = market.reindex(closes.index.union(market.index)).ffill()
    if rule == "index_ma":
        for window in dict.fromkeys((*stated_windows(ledger.rules, "average|sma|ma\\b"), 200, 210, 100, 150, 50)):
            level = index.rolling(window, min_periods=window).mean()
            yield _state(index > level, level.notna())
    elif rule == "index_abs_mom":
        for window in (252, 251, 250, 231):
            change = index / index.shift(window) - 1
            yield _state(change > 0, change.notna())
        period = pd.DatetimeIndex(index.index).to_period("M")
        monthly = index.groupby(period).last()
        change = (monthly / monthly.shift(12) - 1).reindex(period)
        yield _state(pd.Series(change.to_numpy() > 0, index=index.index), pd.Series(np.isfinite(change.to_numpy()), index=index.index))
    elif rule == "vol_regime":
        for window in dict.fromkeys((*(w for w in stated_windows(ledger.rules, "volatil|regime") if w < 130), 20, 21, 60, 63)):
            level = index.pct_change(fill_method=None).rolling(window, min_periods=window).std()
            for limit in (
                level.expanding(252).quantile(0.8),
                level.rolling(252, min_periods=252).quantile(0.8),
                level.rolling(756, min_periods=252).quantile(0.8),
            ):
                yield _state(level <= limit, limit.notna())


def _state(value: pd.Series, known: pd.Series) -> pd.Series:
    return value[known].astype(bool)


def at_frequencies(state: pd.Series) -> Iterator[pd.Series]:
    """A daily state at the usual checking frequencies: every session, week ends, month ends."""
    yield state
    for frequency in ("W", "M"):
        period = pd.DatetimeIndex(state.index).to_period(frequency)
        yield state[~period.duplicated(keep="last")]


def off_sessions(state: pd.Series, sessions: pd.DatetimeIndex, delay: int) -> np.ndarray:
    """Off spells on sessions: from the fill of an off decision (`delay` sessions later) to the session before the fill of the next on."""
    row = sessions.searchsorted(state.index, side="right") - 1
    flags = np.full(len(sessions), np.nan)
    fill = row + delay
    inside = (row >= 0) & (fill < len(sessions)) & (fill >= 0)
    flags[fill[inside]] = state.to_numpy()[inside]
    return np.asarray(pd.Series(flags).ffill().to_numpy() == 0.0)


def _followed(state: pd.Series, exposure: pd.Series) -> tuple[float, int, list[bool]]:
    best: tuple[float, int, list[bool]] = (0.0, 0, [])
    for delay in (1, 0, 2):
        off = off_sessions(state, pd.DatetimeIndex(exposure.index), delay)
        if off.any():
            wrong = exposure.to_numpy()[off] > OUT
            share = float(1 - wrong.mean())
            if share > best[0] or not best[1]:
                best = (share, int(off.sum()), list(wrong))
    return best


def timing_test(ledger: Ledger, rule: str) -> Shown:
    """Exposure is at most 1 % of equity on off sessions; the state is derived again where its series are delivered, else as delivered."""
    exposure = ledger.exposure
    if exposure is None or exposure.max() <= OUT:
        return cannot_tell("no holdings can be rebuilt")
    best: tuple[float, int, list[bool], str] = (0.0, 0, [], "")
    for state in derived_states(ledger, rule):
        for checked in at_frequencies(state):
            share, count, wrong = _followed(checked, exposure)
            if count and (share > best[0] or not best[1]):
                best = (share, count, wrong, "state derived again")
        if best[0] >= 0.999:
            break
    derived = bool(best[1])
    if best[1] and beyond_chance(best[0], exposure) < HALF and longest_run(best[2]) >= RUN and _served(ledger, rule):
        # A delivered state that is followed says nothing for the rule where the rule's own series give another one.
        return Shown(Stance.CONTRADICTS, best[0], best[1], f"{best[3]}, {longest_run(best[2])} sessions in a row invested while it is off")
    if best[0] < ENOUGH:
        for name, state in delivered_states(ledger):
            share, count, wrong = _followed(state, exposure)
            if count and (share > best[0] or not best[1]):
                best, derived = (share, count, wrong, f"state '{name}' as delivered"), False
    share, count, wrong, note = best
    if count == 0:
        return cannot_tell("the rule's state is neither delivered nor derivable, or it is never off")
    run = longest_run(wrong)
    if share >= ENOUGH and (derived or run < RUN):
        return Shown(Stance.SUPPORTS, share, count, note)
    # A derived state is off by an unvoiced window at worst: only where no usual one is followed even half of the time is that evidence.
    contradicts = run >= RUN and (share < HALF or not derived)
    return Shown(Stance.CONTRADICTS if contradicts else Stance.CANNOT_TELL, share, count, note)


def beyond_chance(share: float, exposure: pd.Series) -> float:
    """What a share of off sessions without holdings is worth (kappa's correction): 0 where it is that of all sessions since the first purchase,
    1 where all off sessions have none. A portfolio that is mostly out of the market is out on most off sessions of any rule."""
    out = exposure.to_numpy() <= OUT
    usual = float(out[int(np.argmin(out)) :].mean())
    return (share - usual) / (1 - usual) if usual < 1 else 0.0


def _served(ledger: Ledger, rule: str) -> bool:
    """Whether the delivery has the rule's own series: prices of the universe, or an index that is called one."""
    if rule in ("breadth", "yield_curve"):
        return ledger.closes is not None
    return ledger.market is not None and ledger.broad


def drawdown_episodes(ledger: Ledger, threshold: float, *, restarted: bool) -> tuple[int, int]:
    """(episodes followed by an exit, episodes): the first close at or past the threshold below the reference high, all-time or restarted
    at re-entry; the exit is complete at the next session's close."""
    exposure, equity = ledger.exposure, ledger.equity
    if exposure is None or equity is None:
        return 0, 0
    invested = exposure.to_numpy() > OUT
    value = equity.to_numpy()
    high, out, hits, count = value[0], False, 0, 0
    for at in range(1, len(value)):
        if out:
            if invested[at]:
                out = False
                high = value[at - 1] if restarted else high
            else:
                high = high if restarted else max(high, value[at])
                continue
        high = max(high, value[at])
        if value[at] <= high * (1 - threshold) * (1 + 1e-9) and (invested[at] or invested[at - 1]):
            if at + 1 >= len(value):
                break
            count += 1
            followed = not invested[at] or not invested[at + 1]
            hits += followed
            out = True
            if not followed:
                high = value[at]
    return hits, count


def drawdown_test(ledger: Ledger, threshold: float) -> Shown:
    """Cash from the next fill after each first close past the threshold, against either usual reference high."""
    if ledger.exposure is None:
        return cannot_tell("no holdings can be rebuilt")
    found = [drawdown_episodes(ledger, threshold, restarted=restarted) for restarted in (True, False)]
    hits, count = max(found, key=lambda f: (f[0] / f[1] if f[1] else 0.0, f[1]))
    if count == 0:
        return cannot_tell("the portfolio never fell that far")
    note = f"{hits} of {count} drawdown episodes ended in cash at the next fill"
    share = hits / count
    if share >= ENOUGH:
        return Shown(Stance.SUPPORTS, share, count, note)
    return Shown(Stance.CONTRADICTS if share < HALF else Stance.CANNOT_TELL, share, count, note)


def _estimates(ledger: Ledger) -> Iterator[tuple[str, pd.Series]]:
    """Volatility estimates: delivered ones by name, then those that the held weights give over usual windows."""
    frame = ledger.delivered.frame("states")
    if frame is not None and not frame.empty:
        for name, part in frame[frame["name"].astype(str).str.contains(r"vol|ex.?ante|estimate|sigma", case=False, regex=True)].groupby(
            "name"
        ):
            values = (
                pd.to_numeric(part.drop_duplicates("date", keep="last").set_index("date")["value"], errors="coerce").dropna().sort_index()
            )
            if len(values) and values.median() > 0:
                yield f"delivered '{name}'", values / 100 if values.median() > 1.5 else values
    yield from _estimate_columns(ledger)
    found = ledger.invested()
    if found is None or ledger.adjusted is None:
        return
    few = np.unique(np.linspace(0, len(found[0]) - 1, min(MOST_DATES, len(found[0]))).astype(int))
    weights, decisions = found[0].iloc[few], found[1][few]
    scaled = weights.div(weights.sum(axis=1).where(lambda s: s > OUT), axis=0)
    returns = ledger.adjusted.reindex(columns=weights.columns).pct_change(fill_method=None).fillna(0.0).to_numpy()
    for window in dict.fromkeys(
        (*(w for w in stated_windows(ledger.rules, "volatil|target|covarian") if w >= 10), 60, 63, 20, 21, 126, 252)
    ):
        for dates in (decisions, pd.DatetimeIndex(weights.index)):
            row = ledger.rows_at(dates)
            estimates = [
                float(np.std(returns[max(0, r - window + 1) : r + 1] @ w, ddof=1) * np.sqrt(252)) if r >= window - 1 else np.nan
                for r, w in zip(row, scaled.fillna(0.0).to_numpy(), strict=True)
            ]
            yield f"{window}-day estimate", pd.Series(estimates, index=decisions if dates is decisions else pd.DatetimeIndex(weights.index))


def _estimate_columns(ledger: Ledger) -> Iterator[tuple[str, pd.Series]]:
    """Columns of the delivered weights and targets tables that are called a volatility estimate, by the row's date."""
    choice = ledger.delivered.choices.get("weights")
    for candidate in choice.candidates if choice else ():
        frame, day = candidate.table.frame, candidate.columns.get("date", "")
        if not candidate.table.current or day not in frame:
            continue
        dates = pd.to_datetime(frame[day].astype(str), errors="coerce")
        for column in frame.columns:
            if _ESTIMATE.search(str(column)):
                values = pd.Series(pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=float), index=pd.DatetimeIndex(dates))
                values = values[values.index.notna() & values.notna().to_numpy()].sort_index()
                values = values[~values.index.duplicated(keep="last")]
                if len(values) and values.median() > 0:
                    yield f"delivered '{column}'", values / 100 if values.median() > 1.5 else values


def vol_target_test(ledger: Ledger, target: float) -> Shown:
    """Exposure = min(1, target / estimate) within 0.05 at rebalances."""
    found = ledger.invested()
    if found is None:
        return cannot_tell("no weights right after rebalances")
    weights, decisions = found
    exposure = weights.sum(axis=1).to_numpy()
    best: tuple[float, int, str, bool] = (0.0, 0, "", False)
    over: list[float] = []
    for name, estimate in _estimates(ledger):
        for dates in (decisions, pd.DatetimeIndex(weights.index)):
            if name.startswith("delivered"):
                row = estimate.index.searchsorted(dates, side="right") - 1
                value = np.where(row >= 0, estimate.to_numpy()[np.maximum(row, 0)], np.nan)
            else:
                value = estimate[~estimate.index.duplicated()].reindex(dates).to_numpy()
            known = np.isfinite(value) & (value > 0) & (exposure > OUT)
            if known.any():
                wanted = np.minimum(1.0, target / value[known])
                over += _too_much(exposure[known], wanted)
                share = float((np.abs(exposure[known] - wanted) <= NEAR).mean())
                if (known.sum() >= FEW_DATES, share) > (best[1] >= FEW_DATES, best[0]) or not best[1]:
                    best = (share, int(known.sum()), name, name.startswith("delivered"))
        if best[0] >= 0.999 and best[1] >= FEW_DATES:
            break
    share, count, name, delivered_only = best
    if count == 0:
        return cannot_tell("no volatility estimate is delivered or derivable")
    note = f"exposure is min(1, target/estimate) by the {name}"
    if share >= ENOUGH:
        return Shown(Stance.SUPPORTS, share, count, note)
    constant = float(np.median(np.abs(exposure - 1.0))) < 0.01 and float((exposure > 0.99).mean()) >= ENOUGH
    ignored = bool(over) and min(over) >= MOSTLY
    if ignored:
        note = f"exposure stays above what every estimate allows on {min(over):.0%} of the dates on which it should be lower; {note}"
    contradicts = ignored or (share < HALF and (delivered_only or constant))
    return Shown(Stance.CONTRADICTS if contradicts else Stance.CANNOT_TELL, share, count, note)


def _too_much(exposure: np.ndarray, wanted: np.ndarray) -> list[float]:
    """Of the dates on which a target asks for less than nine tenths the share on which exposure is more than that by a tenth; nothing for
    few dates."""
    asked = wanted < 0.9
    return [float((exposure[asked] > wanted[asked] + 2 * NEAR).mean())] if asked.sum() >= FEW_DATES else []


def vol_target_moved(ledger: Ledger) -> bool | None:
    """Whether exposure after rebalances is ever held below full."""
    found = ledger.invested()
    return None if found is None else bool((found[0].sum(axis=1) < 0.99).any())


def always_invested_test(ledger: Ledger, *, controlled: bool = False, by_event: bool = False) -> Shown:
    """The session item `timing.option:none`: exposure of at least 95 % of equity from the first fill on.

    Ten sessions in a row without holdings, or three exits with a cause that is no risk rule's, count against it (spec D.0.6).
    With a risk control of the user's (`controlled`) exposure may be lower by that rule: then only sessions wholly out count against the
    item, and spells that a risk rule began, up to the next purchase, do not count at all. Where trading follows announcements (`by_event`)
    nor do spells that one of them began: what is held may leave the list with no successor.
    """
    exposure = ledger.exposure
    if exposure is None or exposure.max() <= OUT:
        return cannot_tell("no holdings can be rebuilt")
    since = exposure.iloc[int(np.argmax(exposure.to_numpy() > OUT)) :]
    if controlled:
        days = pd.DatetimeIndex(since.index)
        since = since[~(_under_control(ledger, days) | (_emptied_by_event(ledger, since) if by_event else False))]
    share = float((since >= (FULL if not controlled else OUT)).mean()) if len(since) else 1.0
    run, timed = longest_run(list((since <= OUT).to_numpy())), _timed_exits(ledger, since)
    if run >= RUN or timed >= 3 or _timed_exits(ledger, since, named=True):
        note = f"{run} sessions in a row without holdings, {timed} exits from the market that no risk rule caused"
        return Shown(Stance.CONTRADICTS, share, len(since), note)
    if share >= ENOUGH:
        return Shown(Stance.SUPPORTS, share, len(since), "sessions invested" + ("" if controlled else " to at least 95 %"))
    wholly_out = float((since <= OUT).mean())
    return Shown(
        Stance.CONTRADICTS if share < HALF or wholly_out > 0.05 else Stance.CANNOT_TELL,
        share,
        len(since),
        "sessions invested" + (", those that a risk rule began left aside" if controlled else " to at least 95 %"),
    )


_TIMING = re.compile(r"timing|market (?:filter|exit|off)|regime|risk.?off|moving average|trend filter", re.IGNORECASE)


def _timed_exits(ledger: Ledger, exposure: pd.Series, *, named: bool = False) -> int:
    """Sessions on which the last holding goes by sales that the log or a state gives a cause for, and no risk rule caused; with `named`
    only those whose cause the log itself calls timing: one of them is enough."""
    if ledger.fills is None:
        return 0
    timed = ledger.fills["control"] & ~risk_fills(ledger.fills) & (ledger.fills["shares"] < 0)
    if named:
        timed &= ledger.fills["cause"].str.contains(_TIMING) & ledger.fills["cause"].str.startswith("reason")
    out = exposure.to_numpy() <= OUT
    first = out & ~np.r_[False, out[:-1]]
    return int((first & exposure.index.isin(ledger.fills.loc[timed, "fill_date"])).sum())


def _emptied_by_event(ledger: Ledger, exposure: pd.Series) -> np.ndarray:
    """Sessions of the spells without holdings whose first day is one to three sessions after an announcement, and sees no timing exit."""
    out = exposure.to_numpy() <= OUT
    started = out & ~np.r_[False, out[:-1]]
    spell = np.cumsum(started)
    by_event = after_announcements(ledger, exposure.index)
    if ledger.fills is not None:
        timed = ledger.fills["control"] & ~risk_fills(ledger.fills) & (ledger.fills["shares"] < 0)
        by_event &= ~exposure.index.isin(ledger.fills.loc[timed, "fill_date"])
    return np.asarray(out & np.isin(spell, spell[started & by_event]))


def _under_control(ledger: Ledger, sessions: pd.DatetimeIndex) -> np.ndarray:
    """Whether a session lies between a fill that a risk rule caused and the next purchase."""
    fills = ledger.fills
    if fills is None or fills.empty:
        return np.zeros(len(sessions), dtype=bool)
    risk = risk_fills(fills)
    days = pd.DatetimeIndex(fills["fill_date"])
    out = np.sort(days[risk.to_numpy()])
    back = np.sort(days[(fills["shares"] > 0).to_numpy()])
    last_out = np.searchsorted(out, sessions, side="right")
    last_back = np.searchsorted(back, sessions, side="right")
    since_out = out[np.maximum(last_out - 1, 0)] if len(out) else sessions.to_numpy()
    since_back = back[np.maximum(last_back - 1, 0)] if len(back) else sessions.to_numpy()
    return np.asarray((last_out > 0) & ((last_back == 0) | (since_out >= since_back)))
