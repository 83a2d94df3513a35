"""Which exchange's calendar fits the dates of prices that name none."""

import numpy as np
import pandas as pd

from finassay_checks.sessions import sessions_between

TRIED = ("XNYS", "XLON", "XPAR", "XETR", "XTKS", "XHKG", "XKRX", "XSHG", "XBOM", "XTSE", "XASX", "XSWX", "XSTO", "BVMF")


def fitting_exchange(dates: pd.DatetimeIndex) -> str | None:
    """None where New York fits or nothing fits clearly better. Rows on holidays show that a calendar is wrong; missing rows may be gaps."""
    dates = dates.sort_values()
    if len(dates) < 40 or float(np.mean(dates.day_of_week >= 5)) > 0.02:
        return None
    ours = sessions_between("XNYS", dates[0], dates[-1])
    extra = int((~dates.isin(ours)).sum())
    if extra < 2:
        return None
    scores = {code: _misfit(dates, code) for code in TRIED}
    best = min(scores, key=lambda code: scores[code])
    clear = scores[best] <= 0.25 * scores["XNYS"] if extra > 2 else scores[best] == 0
    return best if best != "XNYS" and clear else None


def _misfit(dates: pd.DatetimeIndex, exchange: str) -> int:
    """Rows on no session plus sessions without a row."""
    sessions = sessions_between(exchange, dates[0], dates[-1])
    return int((~dates.isin(sessions)).sum() + (~sessions.isin(dates)).sum())
