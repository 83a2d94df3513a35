"""Fact behind 2.8b: stated statistics of the signal, and which of them recompute."""

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
from attrs import frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Delivered
from finassay_checks.recompute.costs import table_lines
from finassay_checks.recompute.panel import Floats, Panel, carried
from finassay_checks.recompute.rebuilt import price_panel
from finassay_checks.recompute.stated import Statement

WITHIN = 0.02
HORIZONS = (1, 5, 21, 63)
DERIVED = "derived again"
QUANTILES = (3, 4, 5, 10)


@frozen
class Statistic:
    """A stated statistic of the signal; `own` is the nearest own value, None if it cannot be recomputed."""

    kind: str
    value: float
    where: str
    text: str
    own: float | None
    recomputes: bool
    denied: bool = False
    """Whether the whole sample's own values all lie so far away that no usual definition explains it."""


@frozen
class SignalStatistics:
    signals: str
    """Where signals come from: a delivered table, or `derived again`; empty if there are none."""
    stated: tuple[Statistic, ...]
    """One a kind."""
    by_period: tuple[Statement, ...]
    """Lines in which a statistic stands for a sub-period."""


_NUMBER = r"(?P<number>[-+−]?\d*\.?\d+)\s*(?P<percent>%)?"
_KINDS = (
    ("rank IC", re.compile(rf"(?:rank[ -]?ic|spearman|rank information coefficient)\b[^\d\n%-]{{0,50}}?{_NUMBER}", re.I)),
    ("IC", re.compile(rf"(?<!rank )(?<!rank-)(?:\bic\b|information coefficient)[^\d\n%-]{{0,50}}?{_NUMBER}", re.I)),
    (
        "quantile spread",
        re.compile(
            rf"(?:(?:quintile|quartile|tercile|decile|top[- ]minus[- ]bottom|long[- ]short|top[- ]bottom)"
            rf"[\w ,-]{{0,30}}(?:spread|return|difference)?|\bspread\b)[^\d\n%-]{{0,40}}?{_NUMBER}",
            re.I,
        ),
    ),
    ("forward return", re.compile(rf"(?:forward|next[- ](?:month|week|quarter|period))[ -]returns?[^\d\n%-]{{0,50}}?{_NUMBER}", re.I)),
    ("hit rate", re.compile(rf"hit[ -]?rate[^\d\n%-]{{0,50}}?{_NUMBER}", re.I)),
    ("autocorrelation", re.compile(rf"(?:auto-?correlation|rank stability|signal persistence)[^\d\n%-]{{0,50}}?{_NUMBER}", re.I)),
    ("coverage", re.compile(rf"(?:signal |score )?coverage[^\d\n%-]{{0,50}}?{_NUMBER}", re.I)),
)
_SIGNAL = re.compile(
    r"\bic\b|information coefficient|signal|score|rank|factor|quantile|quintile|quartile|decile|tercile|autocorr|forward", re.I
)
_LOW_IS_GOOD = re.compile(r"vol|beta|rank|rev|size|risk", re.I)
_OTHER = re.compile(
    r"std|dev|vol|t[- _]?(?:val|stat)|ratio|\bir\b|hit|positive|share|max|min|best|worst|decay|half|thresh|above|below|cumul|%"
    r"|resid|neutral|sector|naive|random|shuffl|bench",
    re.I,
)
_PART = re.compile(
    r"\b(?:first|second|third|fourth|last|1st|2nd|early|late|later) (?:half|third|quarter|part|years?)\b|\bsub-?periods?\b"
    r"|\b(?:in|out[- ]of)[- ]sample\b|\b(?:train|test|validation)(?:ing)?\b|\b(?:regime|bull|bear|crisis|covid)\b",
    re.I,
)
_LONG = re.compile(r"\b(?:[4-9]|1[0-2]|24|six|nine|twelve)[- ]?m(?:onths?)?\b|\b(?:1[0-9]{2}|2[0-9]{2})[- ]?d(?:ays?)?\b|year|annual", re.I)
"""Horizons beyond those that are computed again."""
_ALL = re.compile(r"\b(?:full|whole|entire|overall)\b", re.I)
_PERIOD = re.compile(r"\b(?:19|20)\d{2}\b|first half|second half|sub-?period|early|late(?:r)? (?:part|half|years)", re.I)


def signal_statistics(package: Package) -> SignalStatistics:
    delivered, panel = package.fact(read_delivery), package.fact(price_panel)
    scores = _scores(package, delivered, panel)
    source = "" if scores is None else scores[0]
    own = _own(scores[1], panel) if scores is not None and panel is not None else {}
    sure = scores is not None and panel is not None and source != DERIVED and _broad(scores[1], panel)
    span = _span(scores[1]) if scores is not None else None
    found: dict[tuple[str, bool], Statistic] = {}
    periods: list[Statement] = []
    for kind, value, where, text, plain in _stated(delivered):
        if _PERIOD.search(text) and len(set(re.findall(r"\b(?:19|20)\d{2}\b|first half|second half|early|later?", text.lower()))) >= 1:
            periods.append(Statement(value, where, text))
        candidates, whole = own.get(kind, []), _whole(text, span)
        best = min(candidates, key=lambda v: abs(v - value)) if candidates else None
        recomputes = best is not None and abs(best - value) <= WITHIN
        denied = sure and whole and plain and kind in ("IC", "rank IC") and _far(value, candidates, scores[1] if scores else {}, text)
        statistic = Statistic(kind, value, where, text, best, recomputes, denied)
        known = found.get((kind, whole))
        if known is None or (not known.recomputes and (recomputes or (denied and not known.denied))):
            found[kind, whole] = statistic
    # What is stated of the whole sample is what own values are of; a part's figure may be near them by chance.
    kept = [s for (kind, whole), s in found.items() if whole or (kind, True) not in found]
    return SignalStatistics(source, tuple(kept), tuple(periods[:20]))


def _broad(scores: dict[str, pd.DataFrame], panel: Panel) -> bool:
    """Whether some delivered score ranks at least half of the names that have prices: of the picks alone no IC can be computed again."""
    return any(float(table.notna().sum(axis=1).median()) >= max(5.0, 0.5 * len(panel.tickers)) for table in scores.values())


def _span(scores: dict[str, pd.DataFrame]) -> tuple[pd.Timestamp, pd.Timestamp]:
    return min(t.index.min() for t in scores.values()), max(t.index.max() for t in scores.values())


def _whole(text: str, span: tuple[pd.Timestamp, pd.Timestamp] | None) -> bool:
    """Whether a line tells of the whole sample: it says so, or names neither a part nor dates that cover less than nine tenths of it."""
    if _PART.search(text):
        return False
    if span is None or _ALL.search(text):
        return True
    days = sorted(pd.to_datetime(re.findall(r"\b(?:19|20)\d{2}-\d{2}-\d{2}\b", text), errors="coerce").dropna())
    if len(days) >= 2:
        return bool((days[-1] - days[0]).days >= 0.9 * (span[1] - span[0]).days)
    years = [int(y) for y in re.findall(r"\b(?:19|20)\d{2}\b", text)]
    return not years or max(years) - min(years) + 1 >= 0.9 * (span[1].year - span[0].year + 1)


def _far(value: float, candidates: list[float], scores: dict[str, pd.DataFrame], text: str) -> bool:
    """Whether a mean IC differs from every own one by more than another choice of dates would make (correlations of unrelated ranks of k
    names vary by 1 / √(k-1) a date; a line that counts as many dates as were delivered chose no others), and is none of them for the score
    upside down."""
    dates = max((len(t) for t in scores.values()), default=0)
    names = max((float(t.notna().sum(axis=1).median()) for t in scores.values()), default=0.0)
    if dates < 10 or names < 5 or not candidates or _LONG.search(text):
        return False
    counted = {int(n) for n in re.findall(r"(?<![\d.,-])\d{2,5}(?![\d.,%-])", text)}
    same = bool(counted & {dates, dates - 1, dates - 2})
    limit = 3 * WITHIN if same else max(3 * WITHIN, 2.0 / np.sqrt((names - 1) * dates))
    return all(abs(value - own) > limit and abs(value + own) > WITHIN for own in candidates)


def _stated(delivered: Delivered) -> Iterator[tuple[str, float, str, str, bool]]:
    """(kind, value as a fraction or coefficient, where, line, whether the name stands right before the value, as of a mean)."""
    for where, line in table_lines(delivered):
        if not _SIGNAL.search(line):
            continue
        for kind, pattern in _KINDS:
            if kind == "quantile spread" and "bid" in line.lower():
                continue
            for match in pattern.finditer(line):
                value = float(match["number"].replace("−", "-"))
                value = value / 100 if match["percent"] else value
                if kind in ("hit rate", "coverage") and value > 1:
                    value /= 100
                if abs(value) <= 1.0 + 1e-9:
                    yield kind, value, where, line, not _OTHER.search(match[0])


def _scores(package: Package, delivered: Delivered, panel: Panel | None) -> tuple[str, dict[str, pd.DataFrame]] | None:
    """Scores as date × ticker by name: of the signals table, else of the ranking that the test of 2.1 derives again."""
    frame = delivered.frame("signals")
    if frame is not None and not frame.empty:
        known = frame[frame["date"].notna() & frame["ticker"].notna()]
        value = known["score"].where(known["score"].notna(), -known["rank"])
        known = known.assign(value=value).dropna(subset=["value"])
        tables = {}
        for name, rows in list(known.groupby(known["name"].fillna(""), sort=False))[:6]:
            rows = rows.drop_duplicates(["date", "ticker"], keep="last")
            tables[str(name)] = rows.pivot(index="date", columns="ticker", values="value")
        choice = delivered.choices["signals"].chosen
        return (choice.table.where if choice is not None else "", tables) if tables else None
    return _derived(package) if panel is not None else None


def _derived(package: Package) -> tuple[str, dict[str, pd.DataFrame]] | None:
    from finassay.api.strategy import Stance
    from finassay_checks.fidelity.observe import observations

    if not any(o.test == "factor" for o in package.observables.values()) or package.fact(read_delivery).frame("trades") is None:
        return None
    shown = package.fact(observations)
    if not all(shown.show(o).stance is Stance.SUPPORTS for o in package.observables.values() if o.test == "factor"):
        return None
    for _, table in shown.chosen.composites(shown.chosen.factors, shown.chosen.method):
        agreement = shown.chosen.agreement(table)
        fills = shown.chosen.ledger.rebalance_fills
        if agreement is not None and agreement.share >= 0.95 and fills is not None:
            dates = pd.DatetimeIndex(fills["decision"].unique()).sort_values()
            return DERIVED, {"": table.reindex(table.index.intersection(dates))}
    return None


def _own(scores: dict[str, pd.DataFrame], panel: Panel | None) -> dict[str, list[float]]:
    """Own values of every kind over usual horizons and quantiles; for scores of which low may be good, of either sign."""
    found: dict[str, list[float]] = {}
    if panel is None:
        return found
    closes = carried(panel.close)
    for name, table in scores.items():
        columns = panel.tickers.get_indexer(table.columns)
        if (columns < 0).all():
            continue
        score = table.to_numpy(dtype=float)[:, columns >= 0]
        rows = np.asarray(panel.dates.searchsorted(pd.DatetimeIndex(table.index), side="right"), dtype=np.int64) - 1
        price = closes[:, columns[columns >= 0]]
        for forward in _forwards(price, rows):
            _add_forward(found, score, forward)
            if _LOW_IS_GOOD.search(name):
                _add_forward(found, -score, forward)
        for values, kind in ((_rank_changes(score), "autocorrelation"), ([float(np.isfinite(score).mean())], "coverage")):
            found.setdefault(kind, []).extend(values)
    return {kind: [v for v in values if np.isfinite(v)] for kind, values in found.items()}


def _forwards(price: Floats, rows: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> Iterator[Floats]:
    """Returns from each decision to the next, from the session after it, and over usual horizons; NaN where the data end."""

    def between(first: "np.ndarray[tuple[int], np.dtype[np.int64]]", last: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> Floats:
        ok = (first >= 0) & (last < len(price))
        out = np.full((len(first), price.shape[1]), np.nan)
        with np.errstate(all="ignore"):
            out[ok] = price[last[ok]] / price[first[ok]] - 1.0
        return out

    following = np.append(rows[1:], len(price))
    yield between(rows, following)
    yield between(rows + 1, following + 1)
    for horizon in HORIZONS:
        yield between(rows, rows + horizon)
        yield between(rows + 1, rows + 1 + horizon)


def _correlations(x: Floats, y: Floats) -> Floats:
    """Correlation of two cross-sections on each date with at least three common names; NaN elsewhere."""
    both = np.isfinite(x) & np.isfinite(y)
    n = both.sum(axis=1)
    x, y = np.where(both, x, 0.0), np.where(both, y, 0.0)
    with np.errstate(all="ignore"):
        dx = np.where(both, x - (x.sum(axis=1) / n)[:, None], 0.0)
        dy = np.where(both, y - (y.sum(axis=1) / n)[:, None], 0.0)
        out = (dx * dy).sum(axis=1) / np.sqrt((dx**2).sum(axis=1) * (dy**2).sum(axis=1))
    return np.where(n >= 3, out, np.nan)


def _ranks(values: Floats) -> Floats:
    return np.asarray(pd.DataFrame(values).rank(axis=1).to_numpy(dtype=float))


def _add_forward(found: dict[str, list[float]], score: Floats, forward: Floats) -> None:
    both = np.where(np.isfinite(score) & np.isfinite(forward), score, np.nan)
    linear, ranked = _correlations(both, forward), _correlations(_ranks(both), _ranks(np.where(np.isfinite(both), forward, np.nan)))
    for kind, values in (("IC", linear), ("rank IC", ranked)):
        if np.isfinite(values).any():
            mean = float(np.nanmean(values))
            found.setdefault(kind, []).append(mean)
            share = float(np.mean(values[np.isfinite(values)] > 0))
            found.setdefault("hit rate", []).append(share)
    percent = np.asarray(pd.DataFrame(both).rank(axis=1, pct=True).to_numpy(dtype=float))
    for parts in QUANTILES:
        top = np.where(percent > 1 - 1 / parts, forward, np.nan)
        bottom = np.where(percent <= 1 / parts, forward, np.nan)
        usable = np.isfinite(top).any(axis=1) & np.isfinite(bottom).any(axis=1)
        if usable.any():
            high, low = np.nanmean(top[usable], axis=1), np.nanmean(bottom[usable], axis=1)
            spread = float(np.mean(high - low))
            found.setdefault("quantile spread", []).append(spread)
            found.setdefault("forward return", []).extend((float(np.mean(high)), float(np.mean(low))))
            found.setdefault("hit rate", []).extend(
                (float(np.mean(high > low)), float(np.nanmean(np.where(np.isfinite(top), top > 0, np.nan))))
            )


def _rank_changes(score: Floats) -> list[float]:
    """Mean correlation of each cross-section with the next, of values and of ranks."""
    if len(score) < 3:
        return []
    found = []
    for table in (score, _ranks(score)):
        values = _correlations(table[:-1], table[1:])
        if np.isfinite(values).any():
            found.append(float(np.nanmean(values)))
    return found
