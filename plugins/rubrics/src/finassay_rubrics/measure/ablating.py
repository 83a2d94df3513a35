"""Ablations: what bank, reviewer, validator and another family are worth, each left out in turn on the same queries and sources.

An arm is right about a query where a grounded figure of its rubric agrees with the expert's key, wrong where it has figures and none agrees. `broken`
counts the rules that the finished rubric breaks, looked at by the validator afterwards whether or not the arm had one.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from attrs import Factory, asdict, define, frozen

from finassay.api.errors import FinassayError, InvalidFileError
from finassay.api.guidance import Guidance
from finassay.api.research import Researcher
from finassay.api.source import Source
from finassay.records.files import read_json, write_json
from finassay_rubrics.context.contextualize import contextualize
from finassay_rubrics.generate.assembly import at_work, reading_desk
from finassay_rubrics.generate.checking import check_criterion
from finassay_rubrics.generate.folder import beside
from finassay_rubrics.measure.agreeing import numeric, values
from finassay_rubrics.measure.faulty import Faulty
from finassay_rubrics.measure.recall import asked_scale, in_units
from finassay_rubrics.measure.rows import found as found_in
from finassay_rubrics.measure.statements import FolderSource, agrees, metric_questions
from finassay_rubrics.record.reading import read_rubric
from finassay_rubrics.record.rubric import Rubric
from finassay_rubrics.validate.rules import violations

KEPT: Final = "ablation.json"
Told = Callable[[str], None]


@frozen
class Item:
    """A query that a rubric is made for, and what is known of its answer."""

    id: str
    query: str
    cutoff: date
    key: str = ""
    """The expert's answer."""
    expert: Rubric | None = None


@frozen
class Arm:
    """What is left out."""

    name: str
    bank: bool = True
    reviewer: bool = True
    validator: bool = True
    same_family: bool = False


ARMS: Final = (
    Arm("full"),
    Arm("no bank", bank=False),
    Arm("no reviewer", reviewer=False),
    Arm("no validator", validator=False),
    Arm("same family", same_family=True),
    Arm("neither", reviewer=False, validator=False),
)


@frozen
class Result:
    """One query under one arm."""

    item: str
    status: str
    """`final`, `queued`, or `failed` where no rubric came of it."""
    figures: int
    """Grounded numeric criteria."""
    outcome: str
    """`right`, `wrong`, `unresolved` beside the key; empty without one."""
    recalled: int = 0
    expected: int = 0
    """Values of an expert's rubric, and those that were found."""
    precise: int = 0
    broken: tuple[str, ...] = ()
    """Rules that the finished rubric breaks."""
    by_validator: int = 0
    """Returns for a broken rule."""
    by_reviewer: int = 0
    """Returns for a value that the reviewer did not find."""
    faults: Mapping[str, str] = Factory(dict)
    """Of a faulty writer: question to `KIND: passed` or `KIND: caught`."""
    seconds: float = 0.0
    cost: float | None = 0.0
    """Dollars; None where a call's cost is not known."""
    reason: str = ""


# -- material ---------------------------------------------------------------------------------------------------------


def items_in(folder: Path, limit: int | None = None) -> list[Item]:
    """The metric questions of a folder with `questions.jsonl`, or the cases below it (`rubric.json` of an expert). Raises `InvalidFileError`."""
    if found_in(folder, "questions"):
        cutoff = max((i.published for i in FolderSource(folder).items.values() if i.published), default=None)
        if cutoff is None:
            raise InvalidFileError(f"{folder}: no dated document, so that no cutoff can be taken")
        found = [Item(str(row["financebench_id"]), str(row["question"]), cutoff, str(row["answer"])) for row in metric_questions(folder)]
    else:
        experts = [(path, read_rubric(path)) for path in sorted(folder.glob("**/rubric.json"))]
        found = [Item(path.parent.name, one.query, one.cutoff, expert=one) for path, one in experts]
    if not found:
        raise InvalidFileError(f"{folder}: neither questions.jsonl nor cases with rubric.json")
    return found[:limit]


# -- one arm ----------------------------------------------------------------------------------------------------------


@define
class Ablation:
    """Queries, sources and people; `bank` gives the criteria of a bank for a context, None for no bank at all."""

    items: Sequence[Item]
    sources: Mapping[str, Source]
    guidance: Guidance
    writer: Callable[[Path], Researcher]
    """Made anew for each query and arm, for its folder."""
    reviewer: Callable[[Path], Researcher]
    out: Path
    bank: Any = None
    criteria: Callable[[Any, Mapping[str, Any]], Mapping[str, tuple[str, ...]]] | None = None
    cost: Callable[[Path], float | None] = lambda folder: 0.0
    told: Told = lambda words: None

    def run(self, arm: Arm) -> list[Result]:
        """Every query under this arm; what was made stays in `out/ARM/ITEM` and is gone on with."""
        found = []
        for number, item in enumerate(self.items, start=1):
            found.append(self._one(arm, item))
            self.told(f"{arm.name}: {number} of {len(self.items)}: {found[-1].outcome or found[-1].status}")
        return found

    def _one(self, arm: Arm, item: Item) -> Result:
        folder = self.out / arm.name.replace(" ", "-") / item.id
        writer, started = self.writer(folder), time.perf_counter()
        reviewer = None if not arm.reviewer else writer if arm.same_family else self.reviewer(folder)
        who = [f"{one.id} {one.family} {one.version}" if one else "" for one in (writer, reviewer)]
        kept = _kept(folder, who)
        if kept is not None:
            return kept
        held = self.bank if arm.bank else None
        try:
            context = contextualize(item.query, item.cutoff, bank=held.document if held else None)
            with at_work(
                folder, context, self.guidance, (writer, reviewer), self.sources, validate=arm.validator, same_family=arm.same_family
            ) as made:
                made.bank_criteria = self.criteria(held, context) if held and self.criteria else {}
                rubric = made.make()
        except FinassayError as error:
            return Result(item.id, "failed", 0, "unresolved" if item.key else "", seconds=time.perf_counter() - started, reason=str(error))
        result = self._measured(item, rubric, folder, writer, time.perf_counter() - started)
        write_json(folder / KEPT, {"who": who, "result": asdict(result)})
        return result

    def _measured(self, item: Item, rubric: Rubric, folder: Path, writer: Researcher, seconds: float) -> Result:
        figures = numeric(rubric)
        found = values(rubric, item.expert) if item.expert else None
        returns = _returns(folder)
        return Result(
            item.id,
            rubric.status,
            len(figures),
            _outcome(item, rubric) if item.key else "",
            sum(bool(m.by) for m in found.recalled) if found else 0,
            len(found.recalled) if found else 0,
            sum(bool(m.by) for m in found.precise) if found else 0,
            self._broken(rubric, folder),
            returns["validator"],
            returns["reviewer"],
            _faults(writer, rubric) if isinstance(writer, Faulty) else {},
            seconds,
            self.cost(folder),
        )

    def _broken(self, rubric: Rubric, folder: Path) -> tuple[str, ...]:
        """Rules of the pack, evidence and scripts, looked at again in the finished rubric. That nobody reviewed (R18) is the arm itself."""
        data = rubric.model_dump(mode="json", by_alias=True)
        found = [v.rule for v in violations(data, "rubric", self.guidance.rules)]
        with reading_desk(rubric.cutoff, self.sources) as desk:
            for criterion in rubric.criteria:
                found += [v.rule for v in check_criterion(criterion, desk, lambda name: beside(folder, name))]
        return tuple(rule for rule in found if rule != "R18")


def _kept(folder: Path, who: Sequence[str]) -> Result | None:
    """What was measured before by the same people: a finished rubric is not made again, so that its faults and time are not seen again."""
    if not (folder / KEPT).is_file():
        return None
    data = read_json(folder / KEPT, "a measured rubric of an ablation")
    try:
        result = {**data["result"], "broken": tuple(data["result"]["broken"])}
        return Result(**result) if data["who"] == list(who) else None
    except (KeyError, TypeError) as error:
        raise InvalidFileError(f"{folder / KEPT}: cannot be read: {error}") from error


def _outcome(item: Item, rubric: Rubric) -> str:
    figures = numeric(rubric)
    if not figures:
        return "unresolved"
    scale = asked_scale(item.query)
    for route in (route for criterion in figures for route in criterion.expected):
        value = in_units(route)
        if value is not None and agrees(value / (scale if route.unit == "USD" else 1), item.key, route.unit):
            return "right"
    return "wrong"


def _returns(folder: Path) -> Counter[str]:
    """What came back while the rubric was made, by who returned it."""
    found: Counter[str] = Counter()
    path = folder / "violations.jsonl"
    for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
        entry = json.loads(line)
        if entry.get("rule"):
            found["validator"] += 1
        elif entry.get("place"):
            found["reviewer"] += 1
    return found


def _faults(writer: Faulty, rubric: Rubric) -> dict[str, str]:
    """Whether a false value stands in the finished rubric."""
    standing = [in_units(route) for criterion in numeric(rubric) for route in criterion.expected]
    return {
        name: f"{one.kind}: {'passed' if any(value is not None and _same(value, one.value) for value in standing) else 'caught'}"
        for name, one in writer.made.items()
    }


def _same(value: Decimal, other: Decimal) -> bool:
    return abs(value - other) <= Decimal("1e-9") * max(abs(value), abs(other))


# -- figures ----------------------------------------------------------------------------------------------------------


def summary(arm: Arm, results: Sequence[Result]) -> dict[str, Any]:
    """Counts of one arm."""
    outcomes = Counter(r.outcome for r in results if r.outcome)
    faults = Counter(said for r in results for said in r.faults.values())
    costs = [r.cost for r in results]
    resolved = outcomes["right"] + outcomes["wrong"]
    return {
        "arm": arm.name,
        "queries": len(results),
        "figures": sum(r.figures for r in results),
        "resolved": resolved,
        "right": outcomes["right"],
        "wrong": outcomes["wrong"],
        "expert_values": sum(r.expected for r in results),
        "recalled": sum(r.recalled for r in results),
        "matched_figures": sum(r.precise for r in results),
        "final": sum(r.status == "final" for r in results),
        "queued": sum(r.status == "queued" for r in results),
        "failed": sum(r.status == "failed" for r in results),
        "broken_rules": dict(sorted(Counter(rule for r in results for rule in r.broken).items())),
        "returned_by_validator": sum(r.by_validator for r in results),
        "returned_by_reviewer": sum(r.by_reviewer for r in results),
        "faults_made": sum(faults.values()),
        "faults_passed": sum(n for said, n in faults.items() if said.endswith("passed")),
        "faults": {
            kind: {"made": faults[f"{kind}: passed"] + faults[f"{kind}: caught"], "passed": faults[f"{kind}: passed"]}
            for kind in sorted({said.rpartition(":")[0] for said in faults})
        },
        "seconds": round(sum(r.seconds for r in results), 2),
        "dollars": None if any(cost is None for cost in costs) else round(sum(cost or 0 for cost in costs), 6),
        "wrong_items": [r.item for r in results if r.outcome == "wrong"],
        "failures": [f"{r.item}: {r.reason}"[:200] for r in results if r.reason],
    }
