"""Printed values: number, unit and precision, in the unit of the metric."""

import re
from typing import Any

from attrs import frozen

from finassay_checks.model import MetricName
from finassay_checks.roles.cells import parse_number

FRACTIONS: frozenset[MetricName] = frozenset(
    {"total_return", "annual_return", "annual_vol", "max_drawdown", "win_rate", "exposure", "alpha"}
)
_PRINTED = re.compile(
    r"[-+(]?\s*[-+]?\s*(?:US\$|[$€£])?\s*[-+]?(?P<digits>\d[\d,' ]*(?:\.(?P<decimals>\d+))?"
    r"|\.(?P<bare>\d+))(?:[eE](?P<exponent>[-+]?\d+))?\s*(?P<unit>%|bps?|x|k|mn|m|bn|b)?(?![A-Za-z])",
    re.I,
)
_SCALES = {"%": 0.01, "bp": 1e-4, "bps": 1e-4, "k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9, "b": 1e9, "x": 1.0, "": 1.0}


@frozen
class Printed:
    """A number as printed: `value` with its unit applied, `precision` half a unit of its last digit, `percent` whether a % stood
    behind it."""

    value: float
    precision: float
    unit: str

    @property
    def percent(self) -> bool:
        return self.unit == "%"


def printed(cell: Any) -> Printed | None:
    """A cell or token as a printed number; None if it is none or not finite."""
    if cell is None or isinstance(cell, bool):
        return None
    text = repr(float(cell)) if isinstance(cell, float) else str(cell)
    text = text.strip().replace("−", "-").replace("–", "-")
    if not text or len(text) > 60:
        return None
    value = parse_number(text)
    match = _PRINTED.search(text)
    if value is None or match is None or value != value or abs(value) > 1e15:
        return None
    if isinstance(cell, float) and cell.is_integer():
        return Printed(value, 0.5, "")
    unit = (match["unit"] or "").lower()
    decimals = len(match["decimals"] or match["bare"] or "")
    exponent = int(match["exponent"] or 0)
    # Below 1e-9 relative the digits of a stored float say nothing about what was meant.
    precision = max(0.5 * 10.0 ** (exponent - decimals) * _SCALES.get(unit, 1.0), 1e-9 * max(abs(value), 1e-3))
    return Printed(value, precision, unit)


def in_unit(metric: MetricName, number: Printed, hint: str) -> Printed | None:
    """The number in the metric's unit: fractions for returns and rates (drawdown negative), plain for ratios and counts; None
    where it cannot be one.

    `hint` is the label or sentence: a `%` or `pct` in it means that bare numbers are percent. A bare number beyond 1.5 is percent
    for rates that cannot exceed
    it and for drawdowns; for returns only if the label says so, since 139 may be 13,900 %.
    """
    value, precision = number.value, number.precision
    percent_label = bool(re.search(r"%|\bpct\b|percent|_pct", hint, re.I))
    if metric in FRACTIONS:
        if number.unit not in ("%", "bp", "bps", "x") and (
            (percent_label and not (metric == "annual_return" and abs(value) < 0.02 and value))
            or (metric in ("max_drawdown", "win_rate", "exposure", "annual_vol") and abs(value) > 2)
        ):
            value, precision = value / 100, precision / 100
        if metric == "max_drawdown":
            value = -abs(value)
            if value < -1.0001:
                return None
        if metric in ("win_rate", "exposure") and not 0 <= value <= 1.5:
            return None
        if metric == "annual_vol" and not 0 <= value < 20:
            return None
    elif metric == "trades":
        if value < 0 or number.unit in ("%", "x", "bp", "bps"):
            return None
    elif metric == "turnover":
        if value < 0:
            return None
        if number.unit == "" and percent_label:
            value, precision = value / 100, precision / 100
    elif metric == "fees":
        if number.unit in ("%", "bp", "bps", "x"):
            return None
        value = abs(value)
    elif number.percent or abs(value) > 100:
        return None
    return Printed(value, precision, number.unit)
