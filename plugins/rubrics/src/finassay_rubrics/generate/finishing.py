"""The end: points are composed, the whole is held to its rules once more, what is left waits for a person, and the rubric is written."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

from finassay.api.errors import UsageError
from finassay.api.guidance import Violation
from finassay_rubrics.budget import move_violations
from finassay_rubrics.generate.compose import Composition, RuleComposer
from finassay_rubrics.generate.decisions import HOW, WHOLE, Waiting, decided_items, refuse_misfit, refused, said_of
from finassay_rubrics.generate.once import once
from finassay_rubrics.generate.settling import Settled
from finassay_rubrics.generate.waiting import entry
from finassay_rubrics.generate.whole import assembled, broken_rules, looked_at
from finassay_rubrics.generate.work import Part, Work, words_of
from finassay_rubrics.record.reading import content_digest, rubric_json
from finassay_rubrics.record.rubric import Move, Obligation, Rubric

FULL: Final = Decimal(100)
MAX_WHY: Final = 300


def finished(work: Work, obligations: Sequence[Obligation], settled: Mapping[str, Settled]) -> Rubric:
    """The rubric as it now stands in its folder: final once nothing waits and 100 points stand in criteria that can be graded; else queued."""
    parts = {name: one.part for name, one in settled.items()}
    decided = frozenset[str]().union(*(one.decided for one in settled.values()))
    moves = _composed(work, obligations, parts)
    work.folder.write("moves.json", [m.model_dump(mode="json", by_alias=True) for m in moves])
    rubric = assembled(work, obligations, parts, moves)
    waiting = [w for one in obligations for w in parts[one.id].waiting]
    whole = _left_of_the_whole(work, rubric, obligations, parts, waiting, decided)
    if whole:
        waiting += _whole_waiting(work, whole)
    _tell_of_decisions(work, [line for one in settled.values() for line in one.refused], rubric)
    work.folder.settle({w.item: entry(work, w, rubric.obligations) for w in waiting})
    why = tuple(f"{w.item}: {'; '.join(w.why)}"[:MAX_WHY] for w in waiting)
    why += tuple(_ungraded(work, rubric, {w.item for w in waiting}))
    rubric = rubric.model_copy(update={"status": "queued" if why else "final", "queued": why[:100]})
    rubric = rubric.model_copy(update={"content_digest": content_digest(rubric)})
    work.folder.write_text("rubric.json", rubric_json(rubric))
    return rubric


def _ungraded(work: Work, rubric: Rubric, waiting: set[str]) -> list[str]:
    """Obligations whose points stand in no criterion although a person decided: why the rubric is not final."""
    held = sum((c.points for c in rubric.criteria), Decimal(0))
    told = []
    for one in rubric.obligations:
        own = [c.id for c in rubric.criteria if c.obligation_id == one.id]
        if one.graded or waiting & {one.id, *own}:
            continue
        by = next((f"{w.decision} by {w.by}; " for i in (one.id, *own) if (w := said_of(work.folder, i).decision)), "")
        told.append(f"{one.id}: {by}its {one.points} points stand in no criterion that can be graded: not final until a value is stated")
    if not told and not waiting and held != FULL:
        told.append(f"{WHOLE}: {held} of {FULL} points stand in criteria that can be graded")
    return [line[:MAX_WHY] for line in told]


def _tell_of_decisions(work: Work, lines: Sequence[str], rubric: Rubric) -> None:
    """Decisions that were not taken, each on a line; those that name nothing too."""
    known = {WHOLE, *(o.id for o in rubric.obligations), *(c.id for c in rubric.criteria)}
    strange = [
        refused(item, UsageError(f"there is no {item} in this rubric", hint=HOW))
        for item in decided_items(work.folder)
        if item not in known
    ]
    for line in (*lines, *strange):
        work.told(line)


def _composed(work: Work, obligations: Sequence[Obligation], parts: Mapping[str, Part]) -> tuple[Move, ...]:
    """Moves within their bounds, whoever proposed them; none, with a line why, where no proposal kept to them."""
    composer, criteria = work.team.composer, [c for one in obligations for c in parts[one.id].criteria]
    if composer.id == RuleComposer.id or len(obligations) < 2:
        return RuleComposer().compose(obligations, criteria).moves
    shown = composer.shown(obligations, criteria)
    made = once(
        work.folder,
        "composition",
        shown,
        lambda: composer.compose(obligations, criteria),
        Composition.data,
        Composition.from_data,
        work.failed,
    )
    wrong = made.failed or next((words_of(v) for v in move_violations(obligations, made.moves)), "")
    if wrong:
        work.told(f"composition: the frozen points stand: {wrong}")
        return ()
    return made.moves


def _left_of_the_whole(
    work: Work,
    rubric: Rubric,
    obligations: Sequence[Obligation],
    parts: Mapping[str, Part],
    waiting: Sequence[Waiting],
    decided: frozenset[str],
) -> tuple[str, ...]:
    """What is still wrong with the whole and waits nowhere else, in words."""
    asked = {w.item for w in waiting} | decided
    asked |= {c.obligation_id for c in rubric.criteria if c.id in asked}
    look = looked_at(work, assembled(work, obligations, parts, ()), parts, decided)
    told = [words_of(v) for v in broken_rules(work, rubric) if not _ungraded_and_asked(v, asked)]
    return (*told, *(f.told for f in look.findings), *([look.failed] if look.failed else []))


def _ungraded_and_asked(violation: Violation, asked: set[str]) -> bool:
    """An obligation in which nothing can be graded, which a person is asked about already."""
    return violation.rule == "R14" and violation.place.removeprefix("obligation ") in asked


def _whole_waiting(work: Work, whole: Sequence[str]) -> list[Waiting]:
    """The whole as an item of the queue; nothing where a person accepted just these faults of it."""
    said = said_of(work.folder, WHOLE)
    wrong = said.wrong
    if said.decision is not None:
        try:
            refuse_misfit(WHOLE, said.decision)
        except UsageError as error:
            wrong = refused(WHOLE, error)
        else:
            known = work.folder.read(f"queue/{WHOLE}.json").get("why", ()) if work.folder.has(f"queue/{WHOLE}.json") else ()
            if set(known) >= set(whole):
                return []
    if wrong:
        work.told(wrong)
    return [Waiting(WHOLE, (*whole, *([wrong] if wrong else [])), {})]
