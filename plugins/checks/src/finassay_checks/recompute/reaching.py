"""Scores and timing series that reach ahead of their date: centred and forward windows, and figures of the whole sample.

What is delivered is computed again from the delivered prices, once with windows that end on the date and once with windows that do not.
A series is said to reach ahead where the latter reproduce it and none of the former does. Nothing is run.
"""

import re
from collections.abc import Callable, Iterator
from functools import cached_property, partial

import numpy as np
import pandas as pd
from attrs import field, frozen
from numpy.typing import NDArray

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute.information import Information, alike_dates, information_of
from finassay_checks.recompute.panel import Floats, Panel, carried
from finassay_checks.recompute.rebuilt import price_panel

Frame = pd.DataFrame
WINDOWS = (3, 5, 7, 9, 10, 11, 15, 20, 21, 31, 41, 50, 51, 60, 61, 63, 100, 101, 120, 126, 200, 201, 252)
RETURNS = ((1, 0), (5, 0), (10, 0), (20, 0), (21, 0), (63, 0), (126, 0), (252, 0), (126, 21), (252, 21))
"""(from, to) sessions before the date."""
ROLLING = (20, 60, 63, 126, 252)
DATES, NAMES, SERIES, SESSIONS = 60, 10, 12, 15_000
"""Dates and tickers that are sampled, named series that are looked at, sessions of prices."""
AGREE, APART = 0.95, 0.2
"""A formula reproduces a series on this share of dates; the honest ones must fall short of it by so much more."""
MIN_DATES, MIN_VALUES = 10, 40
NEAR = 6e-5
"""Half of the fourth decimal, with a margin."""
SHOWN, CURVES = 8, 3
SHIFTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 21, 42, 63)
"""Sessions by which a timing series may be dated too early."""
EXACT = 2e-4
"""A line is met within this share of the spread of the values, or by the decimals that they are printed with."""
_FORWARD = re.compile(r"fwd|forward|next|future|ahead|label|realised|realized|subsequent|after", re.I)
"""Names of what is measured after the date on purpose, for validation."""
CLOSE = "the close"


@frozen(eq=False)
class Ahead:
    """A series that only data after its dates reproduce."""

    role: str
    """`signals` or `states`."""
    name: str
    formula: str
    trailing: str
    """The same with windows that end on the date."""
    share: float
    """Share of the sampled dates that the formula reproduces, and the trailing one."""
    trailing_share: float
    dates: pd.DatetimeIndex = field(repr=False)
    last_price: pd.DatetimeIndex = field(repr=False)
    """Session of the last price that the value of each date needs."""
    rows: tuple[str, ...]
    """`row N: TICKER on DATE is X, trailing it is Y`."""
    compared: int


@frozen(eq=False)
class _Pair:
    """One kind of score over all sessions, T x N: the one that reaches `reach` sessions ahead (all of the sample if None), and the honest
    one, which is computed only where it is asked for. `ahead` is None for a score that has no such twin."""

    formula: str
    trailing: str
    honest: Callable[[], Frame]
    ahead: Frame | None = None
    reach: int | None = 0


@frozen(eq=False)
class _Series:
    """Delivered values of one name on some sessions; `at` are those sessions' rows in the prices, `row` the rows of the delivered table."""

    role: str
    name: str
    dates: pd.DatetimeIndex
    at: NDArray[np.int64]
    values: Floats
    row: NDArray[np.int64]
    all_dates: pd.DatetimeIndex

    @cached_property
    def varies(self) -> NDArray[np.bool_]:
        """Dates on which the values of two names differ."""
        known = np.isfinite(self.values)
        return np.asarray(np.where(known, self.values, -np.inf).max(axis=1) > np.where(known, self.values, np.inf).min(axis=1))


@frozen(eq=False)
class _Best:
    share: float = 0.0
    pair: _Pair | None = None


def price_information(package: Package) -> tuple[Information, ...]:
    """Information dates of the scores that usual formulas on the delivered prices reproduce."""
    signals, panel = package.fact(read_delivery).frame("signals"), package.fact(price_panel)
    return information_of(signals, panel) if signals is not None and not signals.empty and panel is not None else ()


def reaching(package: Package) -> tuple[Ahead, ...]:
    """Delivered scores that reach ahead, and timing series on the index or the benchmark that do. Use as `package.fact(reaching)`."""
    delivered = package.fact(read_delivery)
    panel, signals = package.fact(price_panel), delivered.frame("signals")
    found: list[Ahead] = []
    if panel is not None and len(panel.dates) <= SESSIONS and signals is not None and not signals.empty:
        known = {one.name for one in package.fact(price_information)}
        names = panel.tickers[_spread(panel.tickers.isin(signals["ticker"].unique()), NAMES)]
        series = [one for one in _of_signals(signals, panel, names) if one.name not in known]
        codes = panel.tickers.get_indexer(names)
        matrices = [panel.close] if panel.adjusted is None else [panel.adjusted, panel.close]
        found += _judged(series, [np.asarray(carried(m[:, codes]), dtype=np.float64) for m in matrices], panel.dates, names)
    found += _of_states(package, panel)
    return tuple(found)


def _spread(usable: NDArray[np.bool_], wanted: int) -> NDArray[np.int64]:
    at = np.flatnonzero(usable)
    return at[np.unique(np.linspace(0, len(at) - 1, min(wanted, len(at))).astype(np.int64))] if len(at) else at


def _of_signals(signals: pd.DataFrame, panel: Panel, names: pd.Index) -> Iterator[_Series]:
    rows = signals[signals["score"].notna() & signals["date"].notna() & signals["ticker"].isin(names)]
    labels = rows["name"].astype(object).where(rows["name"].notna(), "")
    for name, own in list(rows.groupby(labels, sort=False))[:SERIES]:
        table = own.pivot_table(index="date", columns="ticker", values="score", aggfunc="last").reindex(columns=names)
        at_row = own.pivot_table(index="date", columns="ticker", values="row", aggfunc="last").reindex(columns=names)
        every = pd.DatetimeIndex(table.index)
        at = panel.dates.get_indexer(every)
        kept = _spread(at >= 0, DATES)
        if len(kept) >= MIN_DATES:
            values = table.to_numpy(dtype=float)[kept]
            yield _Series("signals", str(name), every[kept], at[kept], values, at_row.fillna(0).to_numpy(dtype=np.int64)[kept], every)


def _of_states(package: Package, panel: Panel | None) -> list[Ahead]:
    """Timing series in numbers against delivered curves of an index: benchmarks, an index among the prices, a level beside the state."""
    states = package.fact(read_delivery).frame("states")
    if states is None or states.empty:
        return []
    numbers = states[[isinstance(v, float | int) and not isinstance(v, bool) for v in states["value"]]]
    own = {str(n): r.drop_duplicates("date", keep="last").sort_values("date") for n, r in list(numbers.groupby("name"))[:SERIES]}
    curves = (
        _curves(package, panel) + [(n, r.set_index("date")["value"].astype(float)) for n, r in own.items() if not _LAGGED.search(n)][:4]
    )
    found: dict[str, Ahead] = {}
    honest: set[str] = set()
    curves = [(label, curve[~curve.index.duplicated(keep="last") & (curve > 0)].sort_index()) for label, curve in curves]
    curves = _distinct(curves)[:CURVES]
    for label, curve in curves:
        days, closes = pd.DatetimeIndex(curve.index), [np.asarray(curve.to_numpy(dtype=float)[:, None], dtype=np.float64)]
        series = [_of_state(n, r, days) for n, r in own.items()]
        usable = [one for one in series if len(one.at) >= MIN_VALUES and one.name != label]
        for ahead in _judged(usable, closes, days, pd.Index([label])):
            found.setdefault(ahead.name, ahead)
        daily = [one for one in usable if one.name not in found and not _FORWARD.search(one.name) and _is_daily(one, days)]
        for ahead in _shifted(daily if label not in own else [], closes[0], days, pd.Index([label])):
            found.setdefault(ahead.name, ahead)
    # What one curve makes look ahead, another may make honest: an average beside the close of the day before.
    for label, curve in curves if found else ():
        days, closes = pd.DatetimeIndex(curve.index), [np.asarray(curve.to_numpy(dtype=float)[:, None], dtype=np.float64)]
        rest = [one for n, r in own.items() if n in found and n not in honest and len((one := _of_state(n, r, days)).at) >= MIN_VALUES]
        honest |= {one.name for one, share in zip(rest, _honest(rest, closes, label not in own), strict=True) if share >= AGREE}
    return [ahead for name, ahead in found.items() if name not in honest]


def _is_daily(one: _Series, days: pd.DatetimeIndex) -> bool:
    """A row on nearly every session, and on days of the curve only: a date that names a week or a month is a label, and dates beside the
    sessions are those of another clock."""
    own = one.all_dates[(one.all_dates >= days[0]) & (one.all_dates <= days[-1])]
    steps = np.diff(own.to_numpy().astype("datetime64[D]").astype(np.int64))
    return len(steps) > 0 and float((steps <= 5).mean()) >= 0.95 and float(own.isin(days).mean()) >= 0.95


def _shifted(series: list[_Series], closes: Floats, dates: pd.DatetimeIndex, label: pd.Index) -> list[Ahead]:
    """Series that are a usual one of the curve as it stands some sessions later, and not as it stands on the date."""
    series = [one for one in series if np.isfinite(one.values).sum() >= MIN_VALUES and float(np.nanstd(one.values)) > NEAR]
    forms: dict[str, Floats] = {}
    for pair in _pairs(pd.DataFrame(closes)) if series else ():
        if pair.reach is not None and pair.trailing not in forms:
            forms[pair.trailing] = pair.honest().to_numpy(dtype=float)[:, 0]
    found: list[Ahead] = []
    for one in series:
        lines = sorted((reach, name) for name, form in forms.items() for reach in _lines(one, form))
        if lines and lines[0][0] > 0:
            reach, name = lines[0]
            pair = _Pair(f"{name}, {reach} sessions later", name, partial(pd.DataFrame, forms[name]), None, reach)
            found.append(_ahead(one, pair, _line(one.values[:, 0], _later(forms[name], one.at, reach)), 0.0, dates, label))
    return found


def _later(form: Floats, at: NDArray[np.int64], reach: int) -> Floats:
    return np.where(at + reach < len(form), form[np.minimum(at + reach, len(form) - 1)], np.nan)


def _lines(one: _Series, form: Floats) -> list[int]:
    """Shifts, 0 among them, at which the series is one and the same line of a form. A few dates are looked at before all."""
    values, shifts = one.values[:, 0], (0, *SHIFTS)
    shifted = np.stack([_later(form, one.at, reach) for reach in shifts], axis=1)
    maybe = np.zeros(len(shifts), dtype=bool)
    for few in np.array_split(np.arange(len(values)), 3):
        y, x = values[few], shifted[few]
        with np.errstate(all="ignore"):
            y, x = y - np.nanmean(y), x - x.mean(axis=0)
            related = (np.nan_to_num(y)[:, None] * x).sum(axis=0) ** 2 / (np.nansum(y * y) * (x * x).sum(axis=0))
        maybe |= related > 1 - (5 * EXACT) ** 2
    return [shifts[k] for k in np.flatnonzero(maybe) if _line(values, shifted[:, k]) >= AGREE]


def _line(values: Floats, candidate: Floats) -> float:
    """Share of dates on which the values are one and the same line of the candidate, whatever their scale."""
    both = np.isfinite(values) & np.isfinite(candidate)
    if both.sum() < MIN_VALUES or both.mean() < 0.5:
        return 0.0
    x, y = candidate[both], values[both]
    spread = float(np.std(y))
    near = max(EXACT * spread, 0.6 * next((10.0**-d for d in range(7) if np.allclose(y, np.round(y, d), rtol=0, atol=1e-9)), 0.0))
    if spread <= NEAR or near > 5 * EXACT * spread or float(np.std(x)) == 0.0:
        return 0.0
    kept = np.ones(len(x), dtype=bool)
    for _ in range(6):  # a few rows at the edge of the data may be others
        slope, level = np.polyfit(x[kept], y[kept], 1)
        off = np.abs(y - slope * x - level)
        kept = off <= max(float(np.quantile(off[kept], 0.97)), 1e-9 * spread)
    return float((off <= near).sum() / both.sum())


def _distinct(curves: "list[tuple[str, pd.Series[float]]]") -> "list[tuple[str, pd.Series[float]]]":
    """Curves of which none is another one in other units: the benchmark and the index beside the timing state are often the same."""
    kept: list[tuple[str, pd.Series[float]]] = []
    for label, curve in curves:
        if len(curve) >= MIN_VALUES and not any(_same(curve, other) for _, other in kept):
            kept.append((label, curve))
    return kept


def _same(one: "pd.Series[float]", other: "pd.Series[float]") -> bool:
    days = one.index.intersection(other.index)
    if len(days) < 0.9 * len(one):
        return False
    ratio = one.loc[days].to_numpy(dtype=float) / other.loc[days].to_numpy(dtype=float)
    return bool(np.ptp(ratio) <= 1e-6 * np.abs(ratio).max())


def _of_state(name: str, rows: pd.DataFrame, days: pd.DatetimeIndex) -> _Series:
    every = pd.DatetimeIndex(rows["date"])
    at = days.get_indexer(every)
    kept = _spread(at >= 0, 4 * DATES)
    values = rows["value"].to_numpy(dtype=float)[kept][:, None]
    return _Series("states", name, every[kept], at[kept], values, rows["row"].to_numpy()[kept][:, None], every)


def _curves(package: Package, panel: Panel | None) -> "list[tuple[str, pd.Series[float]]]":
    curves: list[tuple[str, pd.Series[float]]] = []
    for table in package.fact(read_delivery).role_tables:
        if table.role == "benchmark" and table.table.current and len(curves) < 2:
            level = table.frame.set_index("date")["equity"].dropna()
            if MIN_VALUES <= len(level) <= SESSIONS:
                curves.append((table.columns.get("equity", "benchmark"), level.sort_index()))
    if panel is not None and len(panel.dates) <= SESSIONS:
        indices = [t for t in panel.tickers if str(t).upper() in INDEX_NAMES][:1]
        curves += [(str(t), pd.Series(panel.close[:, panel.tickers.get_loc(t)], index=panel.dates).dropna()) for t in indices]
    return curves


_LEVEL = re.compile(r"close|index|price|level|spot", re.I)
_LAGGED = re.compile(r"lag|prev|prior|shift|yesterday|before", re.I)
INDEX_NAMES = frozenset({"SPY", "^GSPC", "SPX", "VTI", "IVV", "VOO", "QQQ", "IWM", "INDEX", "SP500", "S&P500", "^IXIC", "ACWI"})


def _judged(series: list[_Series], prices: list[Floats], dates: pd.DatetimeIndex, names: pd.Index) -> list[Ahead]:
    """First what reaches ahead; what is honest is computed only for a series that something ahead reproduces."""
    ahead = [_Best() for _ in series]
    for closes in prices:
        for pair in _pairs(pd.DataFrame(closes)):
            if pair.ahead is not None:
                ahead = [_better(best, one, pair, pair.ahead) for best, one in zip(ahead, series, strict=True)]
    suspects = [(one, best) for one, best in zip(series, ahead, strict=True) if best.share >= AGREE]
    honest = _honest([one for one, _ in suspects], prices)
    return [
        _ahead(one, best.pair, best.share, share, dates, names)
        for (one, best), share in zip(suspects, honest, strict=True)
        if best.pair is not None and share < min(AGREE, best.share - APART)
    ]


def _honest(series: list[_Series], prices: list[Floats], itself: bool = True) -> list[float]:
    """The best share that an honest formula reaches, for each series. That it is the curve itself says nothing where both are states."""
    found = [0.0] * len(series)
    for closes in prices if series else ():
        for pair in _pairs(pd.DataFrame(closes)):
            if not itself and pair.formula == CLOSE:
                continue
            matrix = pair.honest().to_numpy(dtype=float)
            found = [max(share, _share(one, matrix[one.at])) for share, one in zip(found, series, strict=True)]
    return found


def _better(best: _Best, one: _Series, pair: _Pair, matrix: Frame) -> _Best:
    share = _share(one, matrix.to_numpy(dtype=float)[one.at])
    return _Best(share, pair) if share > best.share + 1e-12 else best


def _share(one: _Series, candidate: Floats) -> float:
    """Share of dates that a candidate reproduces: as the same line across three or more tickers, else value by value."""
    values = one.values
    if values.shape[1] >= 3:
        alike, enough = alike_dates(values, candidate)
        spread = enough & one.varies
        known = int(spread.sum())
        return float(alike[spread].mean()) if known >= MIN_DATES and known > 0.5 * len(values) else 0.0
    both = np.isfinite(values) & np.isfinite(candidate)
    if both.sum() < MIN_VALUES or both.mean() < 0.5 or np.ptp(values[both]) <= NEAR:
        return 0.0
    near = [np.abs(values - sign * candidate) <= NEAR + 1e-5 * np.abs(values) for sign in (1.0, -1.0)]
    return float(max(n[both].mean() for n in near))


def _ahead(one: _Series, pair: _Pair, share: float, fair: float, dates: pd.DatetimeIndex, names: pd.Index) -> Ahead:
    sessions = np.asarray(dates.searchsorted(one.all_dates, side="right"), dtype=np.int64) - 1
    last = np.full(len(sessions), len(dates) - 1) if pair.reach is None else np.minimum(sessions + pair.reach, len(dates) - 1)
    honest = pair.honest().to_numpy(dtype=float)[one.at]
    shown: list[str] = []
    for date, column in zip(*np.nonzero(np.isfinite(one.values) & np.isfinite(honest)), strict=True):
        if len(shown) >= SHOWN:
            break
        value, own = one.values[date, column], honest[date, column]
        shown.append(f"row {one.row[date, column]}: {names[column]} on {one.dates[date].date()} is {value:.6g}, trailing it is {own:.6g}")
    compared = int(np.isfinite(one.values).sum())
    return Ahead(
        one.role, one.name, pair.formula, pair.trailing, share, fair, one.all_dates, dates[np.maximum(last, 0)], tuple(shown), compared
    )


def _pairs(prices: Frame) -> Iterator[_Pair]:
    """Usual scores of prices, each as it is honest and, where there is one, its twin that reaches ahead."""
    for name, x in _bases(prices):
        yield _Pair(name, name, partial(_itself, x))
        yield from _normalised(name, x)
    moves = prices.pct_change(fill_method=None)
    for window in WINDOWS:
        yield from _windows(prices, moves, window)


def _itself(x: Frame) -> Frame:
    return x


def _bases(prices: Frame) -> Iterator[tuple[str, Frame]]:
    yield CLOSE, prices
    yield "the logarithm of the close", pd.DataFrame(np.log(prices))
    for first, last in RETURNS:
        yield f"the return from t-{first} to t-{last}", prices.shift(last) / prices.shift(first) - 1.0
    moves = prices.pct_change(fill_method=None)
    for window in (20, 21, 60, 63, 252):
        yield f"the volatility of {window} sessions", moves.rolling(window).std()


def _windows(prices: Frame, moves: Frame, window: int) -> Iterator[_Pair]:
    """Averages and spreads over a window that ends on the date, is centred on it, or begins on it."""
    average, spread = prices.rolling(window).mean(), prices.rolling(window).std()
    drift, noise = moves.rolling(window).mean(), moves.rolling(window).std()
    forms: tuple[tuple[str, Callable[[int], Frame]], ...] = (
        ("the average of", lambda k: average.shift(-k)),
        ("the close over the average of", lambda k: prices / average.shift(-k)),
        ("the close less the average of", lambda k: prices - average.shift(-k)),
        ("the z-score of the close in", lambda k: (prices - average.shift(-k)) / spread.shift(-k)),
        ("the mean return of", lambda k: drift.shift(-k)),
        ("the volatility of", lambda k: noise.shift(-k)),
        ("the mean return over the volatility of", lambda k: (drift / noise).shift(-k)),
    )
    for what, made in forms:
        trailing = f"{what} the last {window} sessions"
        centred = dict.fromkeys(((window - 1) // 2, window // 2))  # of an odd window both are one
        for reach, kind in (*((reach, "centred on the date") for reach in centred), (window - 1, "that begins then")):
            yield _Pair(f"{what} a window of {window} sessions {kind}", trailing, partial(made, 0), made(reach), reach)


def _normalised(name: str, x: Frame) -> Iterator[_Pair]:
    """A ticker's values against its own history: up to the date, or the whole sample."""
    whole, known = "of the whole sample", "so far"
    grown = x.expanding(min_periods=2)
    forms: tuple[tuple[str, Callable[[], Frame], Frame], ...] = (
        (f"the z-score of {name} by mean and spread", lambda: (x - grown.mean()) / grown.std(), (x - x.mean()) / x.std()),
        (
            f"{name} between the lowest and highest",
            lambda: (x - grown.min()) / (grown.max() - grown.min()),
            (x - x.min()) / (x.max() - x.min()),
        ),
        (f"{name} less the mean", lambda: x - grown.mean(), x - x.mean()),
        (f"{name} over the spread", lambda: x / grown.std(), x / x.std()),
        (f"the rank of {name} among the values", lambda: grown.rank(pct=True), x.rank(pct=True)),
    )
    for what, honest, ahead in forms:
        yield _Pair(f"{what} {whole}", f"{what} {known}", honest, ahead, None)
    for window in ROLLING:
        yield _Pair("", f"the z-score of {name} in the last {window} sessions", partial(_rolled, x, window))


def _rolled(x: Frame, window: int) -> Frame:
    rolled = x.rolling(window)
    return (x - rolled.mean()) / rolled.std()
