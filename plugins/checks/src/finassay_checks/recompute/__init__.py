"""The backtest as a program computes it: the portfolio rebuilt from delivered trades and prices, and everything that follows from it.

Each fact is a function of the package for `package.fact`, in the module of its name. The arithmetic underneath (`metrics`, `conventions`,
`portfolio`, `round_trips`, `triggers`, `calendar`) is pure and knows no package.
"""

from finassay_checks.recompute.control import Control, control, control_fills
from finassay_checks.recompute.exact import Exact, exact
from finassay_checks.recompute.lags import Lags, information, lags
from finassay_checks.recompute.matches import equity_matches, metric_matches
from finassay_checks.recompute.rebuilt import Rebuilding, rebuilding, rebuilt, why_not
from finassay_checks.recompute.schedule import Schedule, schedule

__all__ = [
    "Control",
    "Exact",
    "Lags",
    "Rebuilding",
    "Schedule",
    "control",
    "control_fills",
    "equity_matches",
    "exact",
    "information",
    "lags",
    "metric_matches",
    "rebuilding",
    "rebuilt",
    "schedule",
    "why_not",
]
