"""Builds a delivery: writes the code, runs it, writes the report. The code that is delivered is the code that ran."""

import shutil
from pathlib import Path
from string import Template

from attrs import evolve, frozen

from finassay_reference.asking import slots_for
from finassay_reference.protocol import run_script, write_file
from finassay_reference.request import COVERED, FIRST_DATE, LAST_DATE, Request
from finassay_reference.rules import Numbers

DELIVERED = Path(__file__).with_name("delivered")


@frozen
class Plan:
    """What is built, and the two planted faults of the leaker: a later end of the data and fills at the decision's own close."""

    request: Request
    numbers: Numbers
    last_date: str
    fill_lag: int = 1

    @property
    def tickers(self) -> tuple[str, ...]:
        return tuple(sorted(self.request.tickers or COVERED))


def plan_for(request: Request) -> Plan:
    """Only what the market can serve: unserved factors and rules are left out, and a lone factor needs no combination."""
    factors = request.servable_factors
    missing = {option for option, _ in request.missing_data}
    kept = evolve(
        request,
        factors=factors,
        combination=request.combination if len(factors) > 1 else "",
        timing="none" if request.timing in missing else request.timing or "none",
        weighting="equal" if request.weighting in missing else request.weighting,
        covariance=request.covariance if request.weighting in ("risk_parity", "mean_variance") else "",
        risk="none" if request.risk in missing else request.risk or "none",
        schedule="monthly" if request.schedule in missing else request.schedule,
    )
    if kept.combination == "screen_then_rank" and len(factors) != 2:
        kept = evolve(kept, combination="zscore_mean")
    return Plan(kept, Numbers(slots=slots_for(request)), min(request.cutoff, LAST_DATE))


def strategy_arguments(plan: Plan) -> str:
    """The keyword arguments of the delivered `Strategy(...)`, one a line.

    Every value is an option id, a number, a ticker or a date of ours: no text of the user gets into code.
    """
    request, n = plan.request, plan.numbers
    values: dict[str, object] = {
        "factors": request.factors,
        "tickers": plan.tickers,
        "start": FIRST_DATE,
        "cutoff": plan.last_date,
        "combination": request.combination or "none",
        "timing": request.timing or "none",
        "weighting": request.weighting,
        "covariance": request.covariance or "none",
        "risk": request.risk or "none",
        "risk_value": request.risk_value if request.risk not in ("", "none") else 0.0,
        "schedule": request.schedule,
        "cost_bps": request.cost_bps or 0.0,
        "slots": n.slots,
        "band": n.band,
        "lookback": n.lookback,
        "skip": n.skip,
        "vol_window": n.vol_window,
        "cov_window": n.cov_window,
        "risk_aversion": n.risk_aversion,
        "max_weight": n.max_weight,
        "ma_window": n.ma_window,
        "fill_lag": plan.fill_lag,
        "capital": n.capital,
    }
    return "\n".join(f"    {name}={value!r}," for name, value in values.items())


def write_code(plan: Plan, workspace: Path) -> Path:
    """Put the engine and the two scripts into a clean `deliver/`; returns that folder."""
    deliver = workspace / "deliver"
    deliver.mkdir(parents=True, exist_ok=True)
    for child in deliver.iterdir():
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child)
        else:
            child.unlink()
    (deliver / "code" / "engine").mkdir(parents=True)
    for module in sorted((DELIVERED / "engine").glob("*.py")):
        shutil.copyfile(module, deliver / "code" / "engine" / module.name)
    load = Template((DELIVERED / "load_template.py.txt").read_text(encoding="utf-8"))
    run = Template((DELIVERED / "run_template.py.txt").read_text(encoding="utf-8"))
    fetched = load.substitute(TICKERS=repr(list(plan.tickers)), START=FIRST_DATE, END=plan.last_date)
    write_file(deliver / "code" / "load_prices.py", fetched, workspace)
    write_file(deliver / "code" / "run_backtest.py", run.substitute(ARGUMENTS=strategy_arguments(plan)), workspace)
    return deliver


def build(plan: Plan, workspace: Path) -> Path:
    """Write and run everything but the report. Raises `RuntimeError` if a script fails."""
    deliver = write_code(plan, workspace)
    run_script(deliver / "code" / "load_prices.py", workspace)
    run_script(deliver / "code" / "run_backtest.py", workspace)
    for cache in (deliver / "code").rglob("__pycache__"):
        shutil.rmtree(cache)
    return deliver
