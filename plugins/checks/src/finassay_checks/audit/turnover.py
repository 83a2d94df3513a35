"""Turnover in its usual definitions: one- or two-way, a rebalance, a year or in all, with and without the first purchase."""

import numpy as np
import pandas as pd
from attrs import evolve, frozen

from finassay.api.delivery import Package
from finassay_checks.audit.basis import basis
from finassay_checks.audit.book import books
from finassay_checks.audit.weights import Weighted, weighted
from finassay_checks.recompute.conventions import Alternative, Kind
from finassay_checks.recompute.panel import Floats, carried


@frozen(eq=False)
class Turnover:
    """Bought and sold value over the portfolio's value just before, one entry a date with trades; the first is the first purchase."""

    bought: Floats
    sold: Floats
    years: float
    targets: Floats | None = None
    """Absolute differences of target weights, which ignore drift; the first is the first purchase."""

    @property
    def two_way(self) -> Floats:
        return self.bought + self.sold


def turnover(package: Package) -> Turnover | None:
    """From fills and the rebuilt value, else from weights and drifted weights. None without either."""
    book = package.fact(books)
    if book is not None and book.fills is not None and len(book.fills):
        value = book.fills["shares"] * book.fills["price"]
        by_day = pd.DataFrame({"bought": value.clip(lower=0), "sold": -value.clip(upper=0)}).groupby(book.fills["date"]).sum()
        before = book.equity.shift(1).reindex(by_day.index).fillna(book.capital).to_numpy(dtype=float)
        own = package.fact(basis)
        years = max(own.curve.path.years if own is not None else 0.0, 1e-9)
        return Turnover(by_day["bought"].to_numpy() / before, by_day["sold"].to_numpy() / before, years)
    found = package.fact(weighted)
    return of_weights(found) if found is not None else None


def of_weights(found: Weighted) -> Turnover:
    """Against the drifted weights just before each date; money not in a ticker is cash and does not count."""
    close = carried(found.panel.close)
    rows = np.maximum(found.panel.dates.get_indexer(found.dates, method="ffill"), 0)
    goal = np.nan_to_num(found.matrix)
    bought, sold = [], []
    held = np.zeros(goal.shape[1])
    for index, row in enumerate(rows):
        if index:
            with np.errstate(all="ignore"):
                grown = np.nan_to_num(held * close[row] / close[rows[index - 1]])
            held = grown / (grown.sum() + max(1.0 - held.sum(), 0.0))
        change = goal[index] - held
        bought.append(float(change.clip(min=0).sum()))
        sold.append(float(-change.clip(max=0).sum()))
        held = goal[index]
    years = max((found.panel.dates[-1] - found.dates[0]).days / 365.25, 1e-9)
    targets = np.abs(np.diff(goal, axis=0, prepend=np.zeros((1, goal.shape[1])))).sum(axis=1)
    return Turnover(np.array(bought), np.array(sold), years, targets)


def readings(name: str, found: Turnover) -> list[Alternative]:
    """Our own reading of a turnover figure's full name first, then what it is under other definitions. What contradicts the name's own
    words is a fault."""
    wanted = {
        "side": next((s for s in ("one_way", "two_way") if s in name), ""),
        "span": next((s for s in ("annual", "mean", "total") if f"_{s}" in name), ""),
        "first": "ex_initial" if "ex_initial" in name else "",
    }
    made: list[tuple[int, Alternative]] = []
    for place, (side, label, values) in enumerate(_definitions(found)):
        for first in ("", "ex_initial"):
            kept = values[1:] if first else values
            for span, divisor in (("annual", found.years), ("mean", float(max(len(kept), 1))), ("total", 1.0)):
                given = {"side": side, "span": span, "first": first}
                against = any(wanted[k] and wanted[k] != given[k] for k in wanted)
                rank = 100 * against + 10 * place + (span != "annual") + 2 * bool(first and not wanted["first"])
                text = "_".join(part for part in (label, span, first) if part)
                kind: Kind = "fault" if against else "convention"
                if len(kept) and not (span == "total" and wanted["span"] not in ("", "total")):
                    made.append((rank, Alternative(text, float(np.nansum(kept)) / divisor, kind)))
    ordered = [a for _, a in sorted(made, key=lambda m: m[0])]
    return [evolve(ordered[0], kind="same"), *ordered[1:]] if ordered else []


def _definitions(found: Turnover) -> "list[tuple[str, str, Floats]]":
    """(side, label, one value a date) of each definition, the usual ones first."""
    made = [
        ("one_way", "one_way", 0.5 * found.two_way),
        ("two_way", "two_way", found.two_way),
        ("one_way", "lesser_of_buys_and_sells", np.minimum(found.bought, found.sold)),
    ]
    if found.targets is not None:
        made += [
            ("one_way", "targets_without_drift_one_way", 0.5 * found.targets),
            ("two_way", "targets_without_drift_two_way", found.targets),
        ]
    return made
