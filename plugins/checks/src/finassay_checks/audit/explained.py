"""Names of conventions and faults as an audit writes them, and which of them leave a fingerprint that is a finding of its own."""

import re

from finassay_checks.recompute.conventions import Alternative

_SAMPLED = {
    "252": "trading_days",
    "365": "calendar_days",
    "52": "weekly_data",
    "12": "monthly_data",
    "4": "quarterly_data",
    "1": "yearly_data",
}
_ROOT = re.compile(r"sqrt\((\d+)\) on data with (\d+) periods a year")
_PERIODS = re.compile(r"(\d+) periods a year on (?:data with (\d+)|trading days)")
FREQUENCY = {252.0: "daily", 365.0: "daily", 52.0: "weekly", 12.0: "monthly", 4.0: "quarterly", 1.0: "yearly"}
_ANNUALISATION = re.compile(r"^sqrt_\d+_on|_periods_on|^years_counted|^not_annualised|365")


def slug(name: str) -> str:
    """`sqrt(365) on data with 252 periods a year` is `sqrt_365_on_trading_days`; other names are written with underscores."""
    if match := _ROOT.search(name):
        return f"sqrt_{match[1]}_on_{_SAMPLED.get(match[2], match[2])}"
    if match := _PERIODS.search(name):
        return f"{match[1]}_periods_on_{_SAMPLED.get(match[2] or '252', match[2])}"
    return re.sub(r"[^a-z0-9.]+", "_", name.lower().replace("/", "over").replace("×", "times").replace("'", "")).strip("_")


def is_annualisation(name: str) -> bool:
    """Whether a fault is a wrong number of periods a year."""
    return bool(_ANNUALISATION.search(name))


def named(alternative: Alternative) -> str:
    return slug(alternative.name)
