"""What a calibration found, and which goals it misses."""

from datetime import datetime
from typing import Any

from attrs import asdict, frozen

from finassay_agree.measure import Comparison
from finassay_calibrate.measure.checks import GOAL, ChecksResult, Tally
from finassay_calibrate.measure.grading import BY_ID

SCHEMA = 1


@frozen
class Attack:
    """One kind of attack on a judge or a simulator: how often it was tried, how often it changed something, what was seen."""

    party: str
    kind: str
    text: str
    tried: int
    failed: int
    examples: tuple[str, ...] = ()


@frozen
class Calibration:
    """Everything of one command."""

    when: datetime
    command: str
    seconds: float
    checks: ChecksResult | None
    judges: tuple[Attack, ...]
    simulators: tuple[Attack, ...]
    agreement: tuple[Comparison, ...] = ()
    """Of the judge with itself, and with people's labels."""


def shortfalls(found: Calibration) -> list[str]:
    """What misses the goals, one line each; empty if everything holds."""
    lines = []
    if found.checks is not None:
        for dimension, (bad, of) in found.checks.false_vetoes().items():
            if bad:
                lines.append(f"{dimension} {BY_ID[dimension].title}: {bad} of {of} clean deliveries vetoed")
        lines += [f"{c.id}: {c.error}" for c in found.checks.clean if c.error and not c.error.startswith("not made")]
        for t in found.checks.tallies:
            if not t.planted:
                lines.append(f"{t.fault}: never planted (no drawn strategy could hold it)")
            elif not t.good:
                lines.append(
                    f"{t.fault} ({t.dimension}): {t.found} of {t.planted} found, {t.others} by another veto only, {t.none} by none"
                )
    lines += [f"{a.party}, {a.kind}: {a.failed} of {a.tried} failed" for a in (*found.judges, *found.simulators) if a.failed or not a.tried]
    return lines


def to_json(found: Calibration) -> dict[str, Any]:
    """A record that can be read without this package; `goals` repeats what is asked for."""
    data: dict[str, Any] = {
        "kind": "finassay-calibration",
        "schema_version": SCHEMA,
        "when": found.when.isoformat(timespec="seconds"),
        "command": found.command,
        "seconds": round(found.seconds, 1),
        "market": "synthetic",
        "goals": {"false_vetoes": 0, "detection": GOAL},
        "shortfalls": shortfalls(found),
        "judges": [asdict(a) for a in found.judges],
        "simulators": [asdict(a) for a in found.simulators],
        "agreement": [comparison.json() for comparison in found.agreement],
    }
    if found.checks is not None:
        data["clean"] = {
            "drawn": len(found.checks.clean),
            "graded": len(found.checks.made),
            "not_made": [{"id": c.id, "reason": c.error} for c in found.checks.clean if c.error],
            "by_builder": {b: sum(c.builder == b for c in found.checks.made) for b in sorted({c.builder for c in found.checks.made})},
            "false_vetoes": {d: {"vetoed": bad, "of": of} for d, (bad, of) in found.checks.false_vetoes().items()},
            "vetoed": [
                {
                    "id": c.id,
                    "parts": c.parts,
                    "dimensions": {d: {"level": c.grades[d].level, "reason": c.grades[d].reason[:600]} for d in c.vetoed},
                }
                for c in found.checks.vetoed
            ],
            "unscored": sum(len(c.unscored) for c in found.checks.made),
            "parts": _counts(found.checks),
        }
        data["faults"] = [_fault(t) for t in found.checks.tallies]
    return data


def _counts(checks: ChecksResult) -> dict[str, int]:
    seen: dict[str, int] = {}
    for clean in checks.made:
        for part in clean.parts:
            seen[part] = seen.get(part, 0) + 1
    return dict(sorted(seen.items()))


def _fault(t: Tally) -> dict[str, Any]:
    row = {n: getattr(t, n) for n in ("fault", "dimension", "shows", "planted", "found", "others", "none", "errors")}
    misses = [
        {"delivery": m.delivery, "level": m.level, "before": m.before, "others": m.others, "reason": m.reason, "error": m.error}
        for m in t.misses[:10]
    ]
    return row | {"rate": t.rate if t.planted else None, "misses": misses}
