"""What delivered code does on changed data: the future perturbed, the data cut at the cutoff, returns without an edge (spec 3.1, 1.1).

One extra run perturbs and shuffles at once; a second one, cut at the cutoff, is made only where the script loads data that were not
delivered. Both can only lower a score: that code passes them earns nothing, and code that does not rerun is not tested, which is said.
"""

import json
import tempfile
from datetime import date
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from attrs import evolve, frozen

from finassay.api.delivery import Package, RunResult
from finassay.api.errors import SandboxError
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Delivered, Role, RoleTable
from finassay_checks.recompute.rerun import rerun
from finassay_checks.reruns import harness
from finassay_checks.reruns.baseline import SECONDS, Attempt, Baseline, baseline, delivered_as
from finassay_checks.reruns.positions import Moved, decision_day, moved, restated
from finassay_checks.reruns.same import same_table
from finassay_checks.reruns.written import written_package

TESTED: Final[tuple[Role, ...]] = ("signals", "weights", "trades", "equity")
POSITIONS: Final[tuple[Role, ...]] = ("trades", "weights", "positions")
MOST_READ: Final = 20
"""Files of a run that are read for their roles."""
HARNESS: Final = "_probe_harness_.py"
SEED: Final = 1
SETTLED: Final = 5
"""Days after the perturbed day that the shuffled Sharpe leaves out: the jump of prices lies there."""
FEWEST_DAYS: Final = 252
HIGH_T: Final = 4.0
"""A mean return this many standard errors above zero on data without an edge is no chance."""
HIGH_SHARPE: Final = 1.0


@frozen
class NoEdge:
    """Yearly Sharpe ratio (252 days, no risk-free rate) after the perturbed day: on shuffled returns without a mean, and as delivered."""

    sharpe: float
    delivered: float
    days: int
    t: float

    @property
    def leak(self) -> bool:
        return self.t >= HIGH_T and self.sharpe >= HIGH_SHARPE


@frozen
class Probes:
    """`status` says what was run. `late` names delivered tables that the script gives on the data as they are and not on data cut at the
    cutoff; `moved` positions up to `after` that depend on what came later."""

    status: str
    script: str = ""
    after: date | None = None
    compared: int = 0
    moved: tuple[Moved, ...] = ()
    moved_status: str = "not tested"
    late: tuple[str, ...] = ()
    late_status: str = "the code was not rerun"
    no_edge: NoEdge | None = None


def probes(package: Package) -> Probes:
    """Use as `package.fact(probes)`."""
    try:
        base = package.fact(baseline)
        if base is None:
            return Probes("the evaluator runs no code", late_status="code not rerun (no runner)")
        if not base.entries:
            return Probes("no script was delivered", late_status="no code to rerun")
        package.fact(rerun)
        return _probed(package, base)
    except SandboxError as error:
        return Probes(f"the sandbox could not run delivered code: {error}", late_status="the sandbox could not run delivered code")


def _probed(package: Package, base: Baseline) -> Probes:
    delivered = package.fact(read_delivery)
    found = _reproducing(package, base, delivered)
    if found is None:
        text = "the code did not reproduce a delivered table when rerun"
        return Probes(text, late_status=text)
    attempt, same = found
    made = Probes(f"{attempt.entry.path} rerun ({attempt.entry.why})", attempt.entry.path)
    made = _cut(package, base, attempt, same, made)
    return _perturbed(package, base, delivered, attempt, same, made)


def _reproducing(package: Package, base: Baseline, delivered: Delivered) -> tuple[Attempt, frozenset[str]] | None:
    """The first run that gives a delivered table again, and which."""
    for attempt in base.made:
        if same := _same(package, attempt, delivered):
            return attempt, same
    for entry in base.entries:  # a script that needs a report or a table that was kept out of its copy
        if entry.loads and not any(a.result.exit_code == 0 for a in base.made if a.entry == entry):
            attempt = base.attempt(entry)
            if same := _same(package, attempt, delivered):
                return attempt, same
    return None


def _same(package: Package, attempt: Attempt, delivered: Delivered) -> frozenset[str]:
    """Delivered files with tables in the tested roles that a run wrote again. A twin that another format stands for is read for itself."""
    files = {file.path: file for file in package.tree.files if file.path not in delivered.superseded}
    again = {path for path, made in delivered_as(attempt.result, files).items() if same_table(path, made, package.path(files[path]))} - {
        path for path in files if path.endswith((".py", ".md", ".txt", ".html", ".png"))
    }
    roles = {(r.table.path, r.role) for r in delivered.role_tables if r.table.current}
    known = {path for path, _ in roles}
    roles |= {(r.table.path, r.role) for r in _read(package, {p: package.path(files[p]) for p in again - known}).role_tables}
    return frozenset(path for path in again if any((path, role) in roles for role in TESTED))


def _read(package: Package, files: dict[str, Path]) -> Delivered:
    return written_package(package, dict(sorted(files.items())[:MOST_READ])).fact(read_delivery)


def _run(base: Baseline, attempt: Attempt, config: dict[str, object]) -> RunResult:
    with tempfile.TemporaryDirectory() as folder:
        settings, program = Path(folder) / harness.CONFIG, Path(folder) / HARNESS
        settings.write_text(json.dumps({"script": attempt.entry.path, **config}))
        program.write_bytes(Path(harness.__file__).read_bytes())
        files = {**attempt.given, harness.CONFIG: settings, HARNESS: program}
        return base.runner.run(files, ("{python}", HARNESS), seconds=SECONDS)


def _cut(package: Package, base: Baseline, attempt: Attempt, same: frozenset[str], made: Probes) -> Probes:
    """The run on data cut at the cutoff, where the script loads data of its own; what it reads of the delivery is tested row by row."""
    if not attempt.entry.loads:
        return evolve(made, late_status="the code reads delivered files only, so that the delivered rows tell")
    result = _run(base, attempt, {"cut": package.cutoff.isoformat()})
    files = {file.path: file for file in package.tree.files}
    again = delivered_as(result, same)
    differing = tuple(sorted(p for p in again if not same_table(p, again[p], package.path(files[p]))))
    if differing:
        return evolve(made, late=differing, late_status="rerun on cut data")
    if result.exit_code != 0:
        text = "the code ran on the data as they are; on cut data it did not end well, so that late use is not tested"
        return evolve(made, late_status=text)
    return evolve(made, late_status="code rerun: cutting its data at the cutoff changes no delivered table")


def _perturbed(package: Package, base: Baseline, delivered: Delivered, attempt: Attempt, same: frozenset[str], made: Probes) -> Probes:
    """The run on data that are perturbed after a decision day, and cut at the cutoff."""
    chosen = _table(package, delivered, POSITIONS, same)
    after = decision_day(chosen) if chosen is not None else None
    if chosen is None or after is None:
        return evolve(made, moved_status="not tested: no delivered positions that the code gives again")
    config: dict[str, object] = {"cut": package.cutoff.isoformat(), "after": after.date().isoformat(), "seed": SEED}
    if rewritten := _without_pandas(delivered, attempt):
        config["rewrite"] = rewritten
    result = _run(base, attempt, config)
    made = evolve(made, after=after.date())
    again_as = delivered_as(result, same)
    if result.exit_code != 0 or chosen.table.path not in again_as:
        return evolve(made, moved_status="not tested: on perturbed data the code did not end well")
    if not _changed_cells(result):
        return evolve(made, moved_status="not tested: the code read no market data that could be perturbed")
    equity = _table(package, delivered, ("equity",), same)
    wanted = {chosen.table.path} | ({equity.table.path} if equity is not None else set())
    read = _read(package, {p: again_as[p] for p in wanted if p in again_as})
    again = restated(read, chosen)
    if again is None:
        return evolve(made, moved_status="not tested: the positions of the run on perturbed data cannot be read")
    compared, found, later = moved(chosen.frame, again, chosen.role, after)
    text = f"market data after {after.date()} perturbed; {compared:,} positions up to that day compared, {len(found):,} moved"
    made = evolve(made, compared=compared, moved=tuple(found), moved_status=text if compared else "not tested: no position by then")
    curve = restated(read, equity) if equity is not None and later else None
    return evolve(made, no_edge=_no_edge(equity.frame, curve, after)) if equity is not None and curve is not None else made


def _table(package: Package, delivered: Delivered, roles: tuple[Role, ...], same: frozenset[str]) -> RoleTable | None:
    """The chosen table of the first role that the run gives again; else one that it gives again, a twin of the chosen one for example."""
    for role in roles:
        chosen = delivered.choices[role].chosen
        if chosen is not None and chosen.table.path in same:
            return chosen
    files = {file.path: package.path(file) for file in package.tree.files if file.path in same}
    found = _read(package, files).role_tables
    for role in roles:
        alike = [r for r in found if r.role == role]
        if alike:
            return max(alike, key=lambda r: len(r.frame))
    return None


def _without_pandas(delivered: Delivered, attempt: Attempt) -> list[str]:
    """Delivered price files to rewrite, where no delivered code reads by pandas."""
    if any("pandas" in d.text for d in delivered.code):
        return []
    chosen = delivered.choices["prices"].chosen
    path = chosen.table.path if chosen is not None else ""
    return [path] if path.endswith(".csv") and path in attempt.given else []


def _changed_cells(result: RunResult) -> int:
    path = result.written.get(harness.REPORT)
    if path is None or path.stat().st_size > 10_000:
        return 0
    try:
        told = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return 0
    cells = told.get("cells") if isinstance(told, dict) else 0
    return cells if isinstance(cells, int) else 0


def _no_edge(delivered: pd.DataFrame, shuffled: pd.DataFrame, after: pd.Timestamp) -> NoEdge | None:
    one, other = (_returns(frame, after) for frame in (shuffled, delivered))
    if len(one) < FEWEST_DAYS or len(other) < FEWEST_DAYS or float(one.std()) * np.sqrt(252) < 0.02:
        return None
    daily = float(one.mean() / one.std())
    base = float(other.mean() / other.std() * np.sqrt(252)) if float(other.std()) > 0 else float("nan")
    return NoEdge(daily * float(np.sqrt(252)), base, len(one), daily * float(np.sqrt(len(one))))


def _returns(frame: pd.DataFrame, after: pd.Timestamp) -> pd.Series:
    rows = frame[frame["date"] > after].sort_values("date")
    steps = rows["equity"].pct_change() if rows["equity"].notna().any() else rows["ret"]
    return steps.replace([np.inf, -np.inf], np.nan).dropna().iloc[SETTLED:]
