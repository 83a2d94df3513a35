"""Whether the log and the prices are of one market: fill prices inside the day's range, on one level and in one unit, tickers known."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from finassay.api.delivery import Package
from finassay_checks.audit.basis import where_of
from finassay_checks.audit.model import AuditFinding
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute.panel import Floats, Panel
from finassay_checks.recompute.rebuilt import price_panel, rebuilding

OUTSIDE = 0.01
"""How far a fill may lie outside the day's high and low: slippage that a log puts into its price."""
LEVEL = 0.25
"""A fill that far from the day's close, without highs and lows beside, was not made on these prices."""
MAX_ROWS = 200


def level_findings(package: Package) -> Iterator[AuditFinding]:
    """Nothing without fills and prices."""
    delivered = package.fact(read_delivery)
    made, whole = package.fact(rebuilding), package.fact(price_panel)
    panel = made.panel if made.panel is not None else whole
    if made.fills is None or made.fills.empty or panel is None:
        return
    fills = made.fills
    role = "trades" if delivered.frame("trades") is not None else "round_trips"
    where = where_of(delivered, role)  # type: ignore[arg-type]  # a role by its name
    if len(panel.tickers) > 1 or fills["ticker"].nunique() > 1:
        lost = sorted(set(map(str, fills["ticker"].unique())) - set(map(str, panel.tickers)))
        if lost:
            text = f"{len(lost)} traded names have no prices: what was held in them cannot be valued"
            yield AuditFinding("traded_without_prices", text, "note", where, tuple(lost[:MAX_ROWS]), "a price for each traded name")
    ratio = _ratios(fills, panel, panel.close)
    known = ratio[np.isfinite(ratio)]
    if not len(known):
        return
    unit = next((u for u in (100.0, 1000.0) if abs(abs(np.log(np.median(known))) - np.log(u)) < 0.2), None)
    if unit is not None:
        text = f"fill prices are {np.median(known):.4g} times the day's close: the log and the prices are in different units"
        yield AuditFinding(
            "unit_mismatch", text, "data", where, expected="one unit", found=f"{np.median(known):.4g}", facts={"factor": int(unit)}
        )
        return
    yield from _outside(fills, panel, ratio, where)


def _outside(fills: pd.DataFrame, panel: Panel, ratio: Floats, where: str) -> Iterator[AuditFinding]:
    if panel.high is not None and panel.low is not None:
        price = fills["price"].to_numpy(dtype=float)
        rows, columns = panel.date_codes(fills["date"]), panel.ticker_codes(fills["ticker"])
        with np.errstate(all="ignore"):
            off = (price > panel.at(panel.high, rows, columns) * (1 + OUTSIDE)) | (
                price < panel.at(panel.low, rows, columns) * (1 - OUTSIDE)
            )
        wanted = "inside the day's high and low"
    else:
        with np.errstate(all="ignore"):
            off = np.abs(np.log(ratio)) > LEVEL
        wanted = "near the day's close"
    if not off.any():
        return
    named = tuple(
        f"{t} on {pd.Timestamp(d).date()} at {p:g}"
        for t, d, p in fills.loc[off, ["ticker", "date", "price"]].head(MAX_ROWS).itertuples(index=False)
    )
    yield AuditFinding(
        "fill_price_outside_day_range",
        f"{int(off.sum())} of {len(fills)} fills were not possible at their price; the median is {np.nanmedian(ratio[off]):.3f} of the close",
        "wrong",
        where,
        named,
        wanted,
        facts={"count": int(off.sum())},
    )


def _ratios(fills: pd.DataFrame, panel: Panel, matrix: Floats) -> Floats:
    """Fill price over the day's value; NaN where there is none."""
    values = panel.at(matrix, panel.date_codes(fills["date"]), panel.ticker_codes(fills["ticker"]))
    with np.errstate(all="ignore"):
        return np.asarray(fills["price"].to_numpy(dtype=float) / values, dtype=float)
