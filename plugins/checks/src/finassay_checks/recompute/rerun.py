"""Fact behind 3.6: delivered code run again in a clean copy, and what came of it."""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from attrs import frozen

from finassay.api.conversation import Message
from finassay.api.delivery import Package, RunResult
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Delivered, Figure, MetricMatch
from finassay_checks.recompute.conventions import Curve, own_value
from finassay_checks.recompute.matches import CURVE, first_figures, tolerance
from finassay_checks.recompute.rebuilt import delivered_curve
from finassay_checks.reruns.baseline import SECONDS, Attempt, baseline
from finassay_checks.reruns.entry import entries
from finassay_checks.reruns.written import written_package

TAIL = 400
_PAIR = re.compile(
    r"(?:^|(?<=[\s,;|{(]))[\"']?([A-Za-z][A-Za-z0-9 %/()_-]{1,60}?)[\"']?\s*[:=,|\t ]\s*(?:np\.float64\()?(\$?[-+]?[\d,]*\.?\d+(?:[eE][-+]?\d+)?\s*%?)(?=$|[\s,;|)}])"
)
HIDDEN = ("metrics", "equity")
"""Roles whose tables are kept out of the copy: first all, then only the first."""


@frozen
class Rerun:
    """One script's run. `level` is that of 3.6."""

    script: str
    level: int
    text: str
    exit_code: int | None = None
    output: str = ""
    matches: tuple[MetricMatch, ...] = ()


def scripts(delivered: Delivered) -> tuple[str, ...]:
    """Paths of the scripts that are run, in order."""
    return tuple(entry.path for entry in entries(delivered))


def rerun(package: Package) -> tuple[Rerun, ...]:
    """Runs in order, until one matches the report; empty if there is no runner or no script. Reports and tables of metrics stay out of
    the copy, so that nothing can be copied from them; the equity table too, unless a script cannot do without it."""
    base = package.fact(baseline)
    if base is None:
        return ()
    delivered = package.fact(read_delivery)
    results: list[Rerun] = []
    for entry in base.entries:
        best = _graded(package, delivered, base.attempt(entry, HIDDEN))
        if best.level == 2:
            again = base.attempt(entry, HIDDEN[:1])
            best = max(best, _graded(package, delivered, again), key=lambda run: run.level)
        results.append(best)
        if best.level == 4:
            break
    return tuple(results)


def _graded(package: Package, delivered: Delivered, attempt: Attempt) -> Rerun:
    script, result = attempt.entry.path, attempt.result
    tail = (result.stderr or result.stdout)[-TAIL:]
    if result.exit_code is None:
        return Rerun(script, 2, f"stopped after {SECONDS:.0f} s", None, tail)
    if result.exit_code != 0:
        started = not re.search(r"(?:Syntax|Indentation|ModuleNotFound|Import)Error|can't open file", result.stderr)
        return Rerun(script, 2 if started else 1, "fails" if started else "does not start", result.exit_code, tail)
    figures, curve = _yield(package, result, attempt.given)
    if not figures and curve is None:
        return Rerun(script, 2, "ends well but yields neither metrics nor equity", 0, tail)
    matches = _compare(first_figures(delivered.figures), figures, curve)
    right = matches and all(m.matches for m in matches) and any(m.metric in ("total_return", "annual_return") for m in matches)
    text = f"ends well; {sum(m.matches for m in matches)} of {len(matches)} of its metrics match the report"
    return Rerun(script, 4 if right else 3, text, 0, result.stdout[-TAIL:], matches)


def _yield(package: Package, result: RunResult, given: Mapping[str, Path]) -> tuple[tuple[Figure, ...], Curve | None]:
    """Figures that a run printed or wrote, and the equity it wrote, read like a delivery. What it rewrote unchanged tells nothing."""
    fresh = {
        name: path
        for name, path in result.written.items()
        if not name.endswith(".py") and (name not in given or path.read_bytes() != given[name].read_bytes())
    }
    printed = Message("a1", 1, "agent", f"## Results\n\n{_spaced(result.stdout)}")
    read = written_package(package, fresh, printed).fact(read_delivery)
    curve = delivered_curve(read)
    return (*read.figures, *_lines_of(result.stdout)), Curve.of(curve) if curve is not None else None


def _spaced(text: str) -> str:
    """Each printed line a paragraph of its own."""
    return "\n\n".join(line for line in text.splitlines()[:2000] if line.strip())


def _lines_of(text: str) -> tuple[Figure, ...]:
    """Figures in lines such as `sharpe: 0.81` or `trades 1913 costs 885694.37 avg invested 0.54`, which are no sentences."""
    from finassay_checks.figures.values import in_unit, printed
    from finassay_checks.roles.metric_names import metric_of

    found = []
    for line in text.splitlines()[:2000]:
        for match in _PAIR.finditer(line[:2000]):
            metric, number = metric_of(match[1].strip()), printed(match[2])
            scaled = in_unit(metric, number, match[1]) if metric is not None and number is not None else None
            if metric is not None and scaled is not None:
                found.append(Figure(metric, scaled.value, scaled.precision, "stdout", line.strip()[:200]))
    return tuple(found)


def _compare(reported: tuple[Figure, ...], figures: tuple[Figure, ...], curve: Curve | None) -> tuple[MetricMatch, ...]:
    """Each reported figure that the run yields, beside the run's: its own figure, else what follows from its equity."""
    own: dict[str, list[float]] = {}
    for figure in figures:
        own.setdefault(figure.metric, []).append(figure.value)
    matches = []
    for figure in reported:
        values = own.get(figure.metric, [])
        if not values and curve is not None and figure.metric in CURVE:
            implied = own_value(figure.metric, curve.path)
            values = [implied] if np.isfinite(implied) else []
        if values:
            best = min(values, key=lambda v: abs(v - figure.value))
            limit = max(tolerance(figure.metric, best), figure.precision)
            matches.append(MetricMatch(figure.metric, figure.value, best, limit, abs(best - figure.value) <= limit, where=figure.where))
    return tuple(matches)
