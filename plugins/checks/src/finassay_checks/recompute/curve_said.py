"""What the strategy's curve and the delivered benchmarks say, for sentences about them (4.1): losing periods, worst periods, who is ahead."""

import numpy as np
import pandas as pd

from finassay.api.delivery import Package
from finassay.api.verdict import Json
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute.benchmark import strategy_curve

MOST_SERIES = 8
FULL_YEAR = 120
"""Returns from which on a calendar year counts as one."""
FLAT = 5e-4


def curve_facts(package: Package) -> dict[str, Json]:
    """`losing_months`, `losing_years` (counts), `worst_day`, `worst_month`, `worst_year`, `worst_drawdown` (returns), and `benchmarks`: the
    total returns of strategy and series over their common dates. Empty without a curve."""
    delivered = package.fact(read_delivery)
    curve = strategy_curve(package, delivered)
    if curve is None or not isinstance(curve.index, pd.DatetimeIndex) or not (curve > 0).all():
        return {}
    curve = curve[~curve.index.duplicated(keep="last")].sort_index()
    returns = curve.pct_change().dropna()
    found: dict[str, Json] = {"worst_day": float(returns.min()), "worst_drawdown": float((curve / curve.cummax() - 1).min())}
    for name, frequency, least in (("month", "M", 1), ("year", "Y", FULL_YEAR)):
        period = pd.DatetimeIndex(returns.index).to_period(frequency)
        whole = (1 + returns).groupby(period).prod() - 1
        whole = whole[(returns.groupby(period).size() >= least).to_numpy()]
        if len(whole):
            found[f"losing_{name}s"] = int((whole < -FLAT).sum())
            found[f"worst_{name}"] = float(whole.min())
    found["benchmarks"] = _benchmarks(delivered.frame("benchmark"), curve)
    return {key: value for key, value in found.items() if not isinstance(value, float) or np.isfinite(value)}


def _benchmarks(frame: "pd.DataFrame | None", curve: pd.Series) -> list[Json]:
    found: list[Json] = []
    for name, part in [] if frame is None or frame.empty else list(frame.groupby("name", sort=False))[:MOST_SERIES]:
        rows = part.dropna(subset=["date"]).drop_duplicates("date", keep="last").set_index("date").sort_index()
        level = rows["equity"] if rows["equity"].notna().any() else (1 + rows["ret"].fillna(0.0)).cumprod()
        both = pd.concat([curve.rename("own"), level.rename("other")], axis=1, join="inner").dropna()
        if len(both) > 2 and (both > 0).to_numpy().all():
            ends = both.iloc[-1] / both.iloc[0] - 1
            found.append({"name": str(name)[:80], "strategy": float(ends["own"]), "benchmark": float(ends["other"])})
    return found
