"""One obligation: the writer drafts, rules and sources examine, the reviewer derives again; what comes back is drafted again, a bounded number
of times, and what then still does waits for a person."""

import re
from collections.abc import Sequence
from typing import Any, Final

from finassay.api.guidance import Violation
from finassay.api.research import Assignment, Draft
from finassay.models.serving import at_step
from finassay_rubrics.budget import bears_points
from finassay_rubrics.generate.checking import check_criterion
from finassay_rubrics.generate.criteria import criteria_of, inputs_of, plain
from finassay_rubrics.generate.decisions import Waiting
from finassay_rubrics.generate.drafts import NoDraftError, drafted
from finassay_rubrics.generate.folder import beside
from finassay_rubrics.generate.merging import merged, topics_of
from finassay_rubrics.generate.reviewing import agreed, disputes, reviewed
from finassay_rubrics.generate.scripts import digest
from finassay_rubrics.generate.work import Part, Returned, Work, criterion_of, part_from, stored, words_of
from finassay_rubrics.record.rubric import ANY, Criterion, Obligation
from finassay_rubrics.validate.rules import violations

MAX_TRIES: Final = 3
"""Drafts of an obligation: the first, and those after repair."""
SAFE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
"""Names that may stand in a file's."""
PARTIAL: Final = ("R07", "R14", "R18")
"""Rules that only hold for a whole rubric."""


def made(work: Work, obligation: Obligation) -> Part:
    """What the obligation comes to; what was made before is taken from its folder."""
    return _drafted(work, obligation, f"drafts/{obligation.id}", (), None)


def made_again(work: Work, obligation: Obligation, before: Part, returned: Sequence[Returned], look: int) -> Part:
    """The same after something of it came back from look number `look` at the whole."""
    return _drafted(work, obligation, f"drafts/{obligation.id}/look-{look}", returned, before)


# -- the loop ---------------------------------------------------------------------------------------------------------


def _drafted(work: Work, obligation: Obligation, place: str, returned: Sequence[Returned], before: Part | None) -> Part:
    if not work.folder.has(f"{place}/final.json"):
        part = _written(work, obligation, place, returned, before)
        work.folder.write(f"{place}/final.json", stored(part))
    return part_from(work.folder.read(f"{place}/final.json"))


def _written(work: Work, obligation: Obligation, place: str, returned: Sequence[Returned], before: Part | None) -> Part:
    """Drafts until nothing comes back, bounded; what then still does waits for a person."""
    best: tuple[Criterion, ...] = before.criteria if before else ()
    kept: tuple[Waiting, ...] = before.waiting if before else ()
    sent = returned
    last = _last_draft(work, obligation, place) if before else None
    if before:
        _tell(work, obligation, 0, returned)
    for number in range(1, MAX_TRIES + 1):
        try:
            with at_step("draft", number):
                draft = drafted(work.team.writer, _assignment(work, obligation, returned, last), work.team.writer_desk)
        except NoDraftError as error:
            returned = [*(r for r in returned if r.criterion), Returned("", str(error))]
            _tell(work, obligation, number, returned[-1:])
            continue
        shown = plain(draft)
        if shown == last:
            break  # the writer has nothing else to say
        last, kept = shown, ()
        _keep_scripts(work, draft)
        work.folder.write(f"{place}/{number}.json", shown)
        with at_step("review", number):
            best, returned = _examined(work, obligation, draft, f"{place}/{number}")
        _tell(work, obligation, number, returned)
        if not returned:
            break
    if before and sent and returned and all(r.stands for r in sent):
        best, returned, kept = before.criteria, sent, before.waiting  # a repair that does not hold leaves what stood
    part = _given_up(obligation, best, returned)
    named = {w.item for w in part.waiting}
    return Part(part.criteria, (*part.waiting, *(w for w in kept if w.item not in named)))


def _assignment(work: Work, obligation: Obligation, returned: Sequence[Returned], last: Any) -> Assignment:
    return Assignment(
        obligation=obligation.id,
        what=obligation.what,
        context=dict(work.context),
        criteria=work.bank_criteria.get(obligation.id, ()),
        principles=tuple(f"{p.id} {p.title}: {p.statement}" for p in work.guidance.principles),
        instructions=work.guidance.instructions.get("writer", ""),
        conventions=dict(work.guidance.conventions),
        bindings=obligation.spans,
        returned=tuple(r.words for r in returned),
        draft=last if isinstance(last, dict) else {},
    )


def _last_draft(work: Work, obligation: Obligation, place: str) -> Any:
    """The draft that was handed in last before those of `place`, as JSON: what a killed process left there is drafted again."""
    folder = work.folder.root / "drafts" / obligation.id
    before = (p for p in folder.glob("**/[0-9]*.json") if p.parent != work.folder.root / place)
    found = sorted(before, key=lambda p: (len(p.parts), p.parent.name, int(p.stem)))
    return work.folder.read(str(found[-1].relative_to(work.folder.root))) if found else None


def _tell(work: Work, obligation: Obligation, number: int, returned: Sequence[Returned]) -> None:
    """Take down why a draft comes back; number 0 is what a look at the whole sent back."""
    for one in returned:
        entry = {"obligation": obligation.id, "try": number, "rule": one.rule, "place": one.criterion, "reason": one.words}
        work.folder.append("violations.jsonl", entry)
    if returned and number:
        work.told(f"  came back: {returned[0].words}" + (f" (and {len(returned) - 1} more)" if len(returned) > 1 else ""))


def _keep_scripts(work: Work, draft: Draft) -> None:
    for criterion in draft.criteria:
        for route in criterion.routes:
            script = route.derivation.script
            if script is not None and SAFE.fullmatch(route.route or ANY):
                name = f"scripts/{digest(script.code.encode('utf-8', 'replace'))[:16]}"
                work.folder.write_text(f"{name}.py", script.code)
                work.folder.write(f"{name}.{criterion.id}.{route.route or ANY}.in.json", inputs_of(route.derivation))


# -- examination ------------------------------------------------------------------------------------------------------


def _examined(work: Work, obligation: Obligation, draft: Draft, place: str) -> tuple[tuple[Criterion, ...], list[Returned]]:
    """The draft's criteria with reviews, and why it comes back."""
    try:
        criteria = tuple(merged(one) for one in criteria_of(draft, obligation.id))
    except (ValueError, ArithmeticError, TypeError, AttributeError, IndexError, KeyError) as error:
        return (), [Returned("", f"the draft cannot be read: {' '.join(str(error).split())}"[:500])]
    found = _violations(work, obligation, criteria) if work.validate else []
    returned = [Returned(criterion_of(v), words_of(v), v.rule) for v in found if v.place != "rule"]
    broken = {one.criterion for one in returned}
    done = []
    for criterion, source in zip(criteria, draft.criteria, strict=True):
        if criterion.id in broken or work.team.reviewer is None or work.team.reviewer_desk is None:
            done.append(criterion)
            continue
        told = work.guidance.instructions.get("reviewer", "")
        reviews = reviewed(work.team.reviewer, work.team.reviewer_desk, criterion, source, told)
        if reviews:
            name = f"reviews/{criterion.id}.{place.replace('/', '-')}.json"
            work.folder.write(name, [r.model_dump(mode="json", by_alias=True) for r in reviews])
        done.append(criterion.model_copy(update={"review": (*criterion.review, *reviews)}))
        returned += [Returned(criterion.id, f"criterion {criterion.id}, {words}") for words in disputes(criterion, reviews)]
    return tuple(done), returned


def _violations(work: Work, obligation: Obligation, criteria: Sequence[Criterion]) -> list[Violation]:
    part = work.rubric([obligation], criteria, topics_of(criteria), ())
    data = part.model_dump(mode="json", by_alias=True)
    found = violations(data, "rubric", [rule for rule in work.guidance.rules if rule.id not in PARTIAL])
    found += _unknown_principles(work, criteria)
    for criterion in criteria:
        found += check_criterion(criterion, work.team.writer_desk, lambda name: beside(work.folder.root, name))
    return found


def _unknown_principles(work: Work, criteria: Sequence[Criterion]) -> list[Violation]:
    known = {principle.id for principle in work.guidance.principles}
    return [
        Violation("R21", f"criterion {criterion.id}", f"names a principle that the guidance does not have: {', '.join(strange)[:200]}")
        for criterion in criteria
        if (strange := [one for one in criterion.principles if one not in known])
    ]


# -- giving up --------------------------------------------------------------------------------------------------------


def _given_up(obligation: Obligation, criteria: Sequence[Criterion], returned: Sequence[Returned]) -> Part:
    """What still stands; what does not is unresolved and waits for a person, with everything needed to decide."""
    kept: list[Criterion] = []
    waiting: list[Waiting] = []
    for criterion in criteria:
        reasons = [r for r in returned if r.criterion == criterion.id]
        if reasons:
            waiting.append(Waiting(criterion.id, tuple(r.words for r in reasons), _about(obligation, [criterion])))
        kept.append(_left_of(criterion, reasons))
    others = tuple(r.words for r in returned if r.criterion not in {c.id for c in criteria})
    if not kept:
        kept = [_nothing(obligation, "; ".join(others)[:1000] or "nothing was handed in")]
    if others:
        waiting.append(Waiting(obligation.id, others, _about(obligation, kept)))
    elif not any(bears_points(c) for c in kept) and not waiting:
        left = tuple(dict.fromkeys(f"{c.id}: {c.reason}" for c in kept if c.reason)) or ("nothing in it can be graded",)
        waiting.append(Waiting(obligation.id, left, _about(obligation, kept)))
    return Part(tuple(kept), tuple(waiting))


def _left_of(criterion: Criterion, reasons: Sequence[Returned]) -> Criterion:
    """The criterion without what nobody could mend: without the routes that were disputed, or without any value."""
    if all(r.stands for r in reasons):
        return criterion
    words = tuple(r.words for r in reasons if not r.stands)
    standing = () if any(r.rule for r in reasons) else tuple(r for r in criterion.expected if agreed(criterion, r))
    if standing and len(standing) < len(criterion.expected):
        return criterion.model_copy(update={"expected": standing, "notes": "; ".join((criterion.notes, *words))[:1000]})
    return criterion.model_copy(update={"status": "unresolved", "expected": (), "gate": "none", "reason": "; ".join(words)[:1000]})


def _nothing(obligation: Obligation, reason: str) -> Criterion:
    return Criterion(
        id=f"{obligation.id}.1", obligation_id=obligation.id, text=obligation.what, kind="text", status="unresolved", reason=reason
    )


def _about(obligation: Obligation, criteria: Sequence[Criterion]) -> dict[str, Any]:
    return {
        "obligation": obligation.what,
        "criteria": [c.model_dump(mode="json", by_alias=True) for c in criteria],
        "obligation_id": obligation.id,
        "drafts": f"drafts/{obligation.id}/",
    }
