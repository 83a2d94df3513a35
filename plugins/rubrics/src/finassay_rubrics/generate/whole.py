"""The whole rubric: its parts put together, looked over by rules and by a global reviewer; obligations come back a bounded number of times."""

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import evolve

from finassay.api.guidance import Violation
from finassay_rubrics.budget import moved, shared_out
from finassay_rubrics.generate.decisions import PERSON
from finassay_rubrics.generate.looks import Look
from finassay_rubrics.generate.merging import topics_of
from finassay_rubrics.generate.obligation import made_again
from finassay_rubrics.generate.once import once
from finassay_rubrics.generate.work import Part, Returned, Work, criterion_of, words_of
from finassay_rubrics.record.rubric import Criterion, Move, Obligation, Rubric
from finassay_rubrics.validate.rules import violations

MAX_LOOKS: Final = 2
"""Looks at the whole rubric after which something may come back."""
MAX_GATES: Final = 3


def looked_over(work: Work, obligations: Sequence[Obligation], parts: Mapping[str, Part]) -> dict[str, Part]:
    """The parts after what came back was made again."""
    parts = dict(parts)
    for look in range(1, MAX_LOOKS + 1):
        returned = _returned(work, obligations, parts)
        if not returned:
            break
        for one in obligations:
            if one.id in returned:
                work.told(f"whole rubric, look {look}: {one.id} comes back: {returned[one.id][0].words}")
                parts[one.id] = made_again(work, one, parts[one.id], returned[one.id], look)
    return parts


def assembled(work: Work, obligations: Sequence[Obligation], parts: Mapping[str, Part], moves: Sequence[Move]) -> Rubric:
    """The rubric with its points and gates."""
    criteria = _gated([c for one in obligations for c in parts[one.id].criteria])
    final, shared = shared_out(moved(obligations, moves), criteria)
    return work.rubric(final, shared, topics_of(shared), moves)


def broken_rules(work: Work, rubric: Rubric) -> list[Violation]:
    """What the whole breaks, but for criteria on which a person decided."""
    if not work.validate:
        return []
    data = rubric.model_dump(mode="json", by_alias=True)
    found = violations(data, "rubric", work.guidance.rules)
    found += violations(data, "review", work.guidance.rules) if work.team.reviewer else []
    persons = by_person(rubric.criteria)
    return [v for v in found if criterion_of(v) not in persons]


def looked_at(work: Work, rubric: Rubric, parts: Mapping[str, Part], decided: frozenset[str] = frozenset()) -> Look:
    """What the global reviewer finds in the whole, but for what waits for a person or was decided by one; nothing where there is none."""
    reviewer = work.team.global_reviewer
    if reviewer is None:
        return Look(())
    shown = reviewer.shown(rubric)
    look = once(work.folder, "looks", shown, lambda: reviewer.look(rubric), Look.data, Look.from_data, work.failed)
    if look.failed:
        work.told(f"whole rubric: {look.failed}")
    settled = by_person(rubric.criteria) | _waiting(parts) | decided
    return evolve(look, findings=tuple(f for f in look.findings if (f.criterion or f.obligation) not in settled))


def _waiting(parts: Mapping[str, Part]) -> set[str]:
    return {w.item for part in parts.values() for w in part.waiting}


def by_person(criteria: Sequence[Criterion]) -> set[str]:
    """Criteria that a person accepted or stated."""
    return {c.id for c in criteria if any(r.family == PERSON for r in c.review)}


def _returned(work: Work, obligations: Sequence[Obligation], parts: Mapping[str, Part]) -> dict[str, list[Returned]]:
    """What comes back of the whole, by obligation: first what breaks rules; what a global reviewer finds only once no rule is broken."""
    rubric = assembled(work, obligations, parts, ())
    owner = {c.id: c.obligation_id for c in rubric.criteria}
    waiting = _waiting(parts)  # nothing else is to be had there but from a person
    returned: dict[str, list[Returned]] = {}
    for v in broken_rules(work, rubric):
        if criterion_of(v) in owner and criterion_of(v) not in waiting:
            returned.setdefault(owner[criterion_of(v)], []).append(Returned(criterion_of(v), words_of(v), v.rule))
    if not returned:
        for finding in looked_at(work, rubric, parts).findings:
            returned.setdefault(finding.obligation, []).append(Returned(finding.criterion, finding.told, stands=True))
    return returned


def _gated(criteria: Sequence[Criterion]) -> list[Criterion]:
    """The asked headline figures as gates: what writers marked, at most three; else the first grounded figure that depends on nothing."""
    marked = [c for c in criteria if c.gate == "must_pass"][:MAX_GATES]
    if not marked:
        marked = [c for c in criteria if c.kind == "numeric" and c.status == "grounded" and not c.depends_on][:1]
    ids = {c.id for c in marked}
    return [c.model_copy(update={"gate": "must_pass" if c.id in ids else "none"}) if c.kind != "prohibited" else c for c in criteria]
