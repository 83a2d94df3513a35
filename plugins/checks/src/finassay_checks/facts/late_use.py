"""`late_use` (spec D.0.4): results made from data after the cutoff although no delivered row is dated after it.

Two ways to find it. The log: a logged result dated after the cutoff stands, label and value, in a delivered file. The rerun: where
the package has a runner
and delivered code loads data that was not delivered, the code is run twice, with the data as they are and with every table that
pandas reads cut at the cutoff;
a delivered signals, weights, trades or equity table that only the first run reproduces was made from late data. Reading a source
that runs past the cutoff and
dropping those rows gives the same table twice and is neither.
"""

import re
from collections.abc import Iterator

from attrs import frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.reruns.probes import probes

_DATE = re.compile(r"\b((?:19|20)\d{2}-\d{2}-\d{2})\b")
_VALUE = re.compile(r"(?<![\w.])-?\d[\d,]*\.\d{2,}(?![\w.])|(?<![\w.])\d{5,}(?![\w.-])")
MAX_OUTPUT, MAX_PAIRS = 2_000_000, 20_000


@frozen
class LateUse:
    """`status` says what was tested; `evidence` holds (place, what was found)."""

    found: bool
    status: str
    evidence: tuple[tuple[str, str], ...] = ()


def late_use(package: Package) -> LateUse:
    """Use as `package.fact(late_use)`. Not testable: not found, and the status says so."""
    logged = tuple(_logged(package))
    if logged:
        return LateUse(True, "a logged result from after the cutoff is delivered", logged[:5])
    if package.runner is None:
        return LateUse(False, "log searched; code not rerun (no runner)")
    found = package.fact(probes)
    if found.late:
        evidence = tuple(
            (table, f"reproduced by {found.script} on the data as they are, and not on the same data cut at the cutoff")
            for table in found.late
        )
        return LateUse(True, "delivered tables need data from after the cutoff", evidence)
    return LateUse(False, f"log searched; {found.late_status}")


def _logged(package: Package) -> Iterator[tuple[str, str]]:
    """Pairs of a date after the cutoff and a value on one line of a tool's output that stand on one line of a delivered text or row."""
    cutoff = package.cutoff.isoformat()
    pairs: dict[str, set[str]] = {}
    size = 0
    for event in package.log:
        if event.kind != "tool-result" or len(pairs) > MAX_PAIRS or size > MAX_OUTPUT:
            continue
        output = str(event.data.get("output", ""))[:200_000]
        size += len(output)
        for line in output.splitlines():
            for day in _DATE.findall(line[:2_000]):
                if day > cutoff:
                    pairs.setdefault(day, set()).update(v.replace(",", "") for v in _VALUE.findall(line[:2_000]))
    if not any(pairs.values()):
        return
    for where, line in _delivered_lines(package):
        for day in _DATE.findall(line):
            hits = pairs.get(day, set()) & {v.replace(",", "") for v in _VALUE.findall(line)}
            if hits:
                yield where, f"holds {sorted(hits)[0]} of {day}, which the log shows as a result dated after the cutoff"
                break


def _delivered_lines(package: Package) -> Iterator[tuple[str, str]]:
    for document in package.fact(read_delivery).documents:
        for line in document.text[:500_000].splitlines():
            yield document.where, line[:2_000]
