"""Whether fills were possible at their prices: within the day's range, or within 1 % of its close."""

import numpy as np
import pandas as pd
from attrs import field, frozen
from numpy.typing import NDArray

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute.rebuilt import rebuilding

NEAR = 0.01
SLACK = 1e-6
VALUE_WITHIN = 0.01
USUAL = 0.5
"""Share of rows from which on a delivered value is taken for price times shares, and not for something else."""


@frozen(eq=False)
class FillPrices:
    """Over the clean fills: `inside` where the price fits the day, `priced` where the table has one at all."""

    inside: NDArray[np.bool_]
    priced: NDArray[np.bool_]
    fills: pd.DataFrame = field(repr=False)
    numbers: "pd.Series" = field(repr=False)
    """Delivered row number of each fill."""

    @property
    def share(self) -> float:
        return float(self.inside.mean()) if len(self.inside) else 0.0

    @property
    def coverage(self) -> float:
        """Share of fills for which the price table has a close."""
        return float(self.priced.mean()) if len(self.priced) else 0.0

    def named(self) -> tuple[str, ...]:
        """The first fills that do not fit, in words."""
        wrong = self.fills[~self.inside].head(8)
        return tuple(
            f"row {self.numbers.get(index, '?')}: {row.ticker} {str(row.date)[:10]} at {row.price:.6g}"
            for index, row in zip(wrong.index, wrong.itertuples(), strict=True)
        )


def fill_prices(package: Package) -> FillPrices | None:
    """None without a fill log or prices."""
    made = package.fact(rebuilding)
    if made.fills is None or made.panel is None:
        return None
    panel, fills = made.panel, made.fills
    rows, columns = panel.date_codes(fills["date"]), panel.ticker_codes(fills["ticker"])
    price = fills["price"].to_numpy(dtype=float)
    close = panel.at(panel.close, rows, columns)
    with np.errstate(all="ignore"):
        inside = np.abs(price - close) <= NEAR * close * (1 + SLACK)
        if panel.low is not None and panel.high is not None:
            low, high = panel.at(panel.low, rows, columns), panel.at(panel.high, rows, columns)
            ranged = np.isfinite(low) & np.isfinite(high)
            within = (price >= low * (1 - SLACK)) & (price <= high * (1 + SLACK))
            inside = np.where(ranged, within | inside, inside)
        if panel.open is not None:
            inside = inside | (np.abs(price - panel.at(panel.open, rows, columns)) <= SLACK * price)
    trades = package.fact(read_delivery).frame("trades")
    numbers = trades["row"] if trades is not None else pd.Series(dtype=float)
    return FillPrices(np.asarray(inside), np.isfinite(close), fills, numbers)


@frozen
class Values:
    """Delivered values of fills beside price times shares: share of rows that agree, and the first that do not, in words."""

    share: float
    count: int
    named: tuple[str, ...]


def fill_values(package: Package) -> Values | None:
    """None without a delivered value, price and number of shares, or where the column holds something else than price times shares.

    A value may lie off by 1 %, by its fee, and by what rounding of whole shares, prices to a cent and values to a unit leaves.
    """
    choice = package.fact(read_delivery).choices.get("trades")
    if choice is None or choice.chosen is None or not {"shares", "price", "value"} <= set(choice.chosen.columns):
        return None
    columns, trades = choice.chosen.columns, choice.chosen.frame
    if len({columns[name] for name in ("shares", "price", "value")}) < 3:
        return None
    shares, price, value = (np.abs(trades[name].to_numpy(dtype=float)) for name in ("shares", "price", "value"))
    fee = np.nan_to_num(np.abs(trades["fee"].to_numpy(dtype=float)))
    known = np.isfinite(shares) & np.isfinite(price) & np.isfinite(value) & (shares > 0) & (price > 0)
    if not known.any():
        return None
    shares, price, value, fee = shares[known], price[known], value[known], fee[known]
    whole = 0.5 if np.all(shares == np.round(shares)) else 0.0
    rounded = whole * price + 0.005 * shares + (0.5 if np.all(value == np.round(value)) else 0.005)
    agrees = np.abs(value - shares * price) <= VALUE_WITHIN * shares * price + fee + rounded
    if float(agrees.mean()) < USUAL:
        return None
    at = np.flatnonzero(~agrees)[:8]
    rows = trades[known].iloc[at]
    named = tuple(
        f"row {int(row.row)}: {row.ticker} {str(row.fill_date)[:10]} {value[k]:,.2f} for {shares[k]:,.6g} at {price[k]:.6g}"
        for k, row in zip(at, rows.itertuples(), strict=True)
    )
    return Values(float(agrees.mean()), len(agrees), named)
