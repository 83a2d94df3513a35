"""Before any research: the context is held to its rules, 100 points are split over what is asked, and both are written down."""

from collections.abc import Sequence

from finassay.api.errors import UsageError
from finassay.api.guidance import Violation
from finassay_rubrics.budget import freeze, frozen_record
from finassay_rubrics.context.contextualize import STAGES, asked_of, context_digest
from finassay_rubrics.generate.work import Work
from finassay_rubrics.record.rubric import Obligation
from finassay_rubrics.validate.rules import violations


def frozen_obligations(work: Work) -> tuple[Obligation, ...]:
    """The obligations with their frozen points; those that were frozen here before must be the same.

    Raises `UsageError` for another split, and where context or split break a rule.
    """
    obligations = freeze(asked_of(work.context))
    record = frozen_record(str(work.context["query"]), context_digest(work.context), obligations)
    if work.folder.has("budget.json"):
        if work.folder.read("budget.json") != record:
            raise UsageError(f"{work.folder.root}/budget.json is not the frozen split of this query", hint="Choose another --out.")
        return obligations
    for stage in STAGES:
        _reject(work, violations(work.context, stage, work.guidance.rules), "context.json")
    _reject(work, violations(record, "budget", work.guidance.rules), "budget.json")
    work.folder.write("context.json", work.context)
    work.folder.write_text("query.txt", str(work.context["query"]))
    work.folder.write("budget.json", record)
    return obligations


def _reject(work: Work, found: Sequence[Violation], what: str) -> None:
    if not found or not work.validate:
        return
    for one in found:
        work.folder.append("violations.jsonl", {"what": what, "rule": one.rule, "place": one.place, "reason": one.reason})
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    raise UsageError(f"{what} breaks rule {found[0].rule}: {found[0].place}: {found[0].reason}{more}")
