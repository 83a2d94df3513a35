"""The end: points are composed, the whole is held to its rules once more, what is left waits for a person, and the rubric is written."""

from collections.abc import Mapping, Sequence

from finassay.api.guidance import Violation
from finassay_rubrics.budget import move_violations
from finassay_rubrics.generate.compose import Composition, RuleComposer
from finassay_rubrics.generate.decisions import WHOLE, Waiting, decision_of
from finassay_rubrics.generate.once import once
from finassay_rubrics.generate.whole import assembled, broken_rules, looked_at
from finassay_rubrics.generate.work import Part, Work, words_of
from finassay_rubrics.record.reading import content_digest, rubric_json
from finassay_rubrics.record.rubric import Move, Obligation, Rubric


def finished(work: Work, obligations: Sequence[Obligation], parts: Mapping[str, Part]) -> Rubric:
    """The rubric, final or queued, as it now stands in its folder."""
    moves = _composed(work, obligations, parts)
    work.folder.write("moves.json", [m.model_dump(mode="json", by_alias=True) for m in moves])
    rubric = assembled(work, obligations, parts, moves)
    waiting = [w for one in obligations for w in parts[one.id].waiting]
    whole = _left_of_the_whole(work, rubric, obligations, parts, waiting)
    if whole and not _knows(work, whole):
        waiting.append(Waiting(WHOLE, whole, {}))
    work.folder.settle({w.item: w.data() for w in waiting})
    why = tuple(f"{w.item}: {'; '.join(w.why)}"[:300] for w in waiting)
    rubric = rubric.model_copy(update={"status": "queued" if why else "final", "queued": why[:100]})
    rubric = rubric.model_copy(update={"content_digest": content_digest(rubric)})
    work.folder.write_text("rubric.json", rubric_json(rubric))
    return rubric


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
    work: Work, rubric: Rubric, obligations: Sequence[Obligation], parts: Mapping[str, Part], waiting: Sequence[Waiting]
) -> tuple[str, ...]:
    """What is still wrong with the whole and waits nowhere else, in words."""
    asked = {w.item for w in waiting} | {o.id for o in obligations if decision_of(work.folder, o.id)}
    asked |= {c.obligation_id for c in rubric.criteria if c.id in asked or decision_of(work.folder, c.id)}
    look = looked_at(work, assembled(work, obligations, parts, ()), parts)
    told = [words_of(v) for v in broken_rules(work, rubric) if not _ungraded_and_asked(v, asked)]
    return (*told, *(f.told for f in look.findings), *([look.failed] if look.failed else []))


def _ungraded_and_asked(violation: Violation, asked: set[str]) -> bool:
    """An obligation in which nothing can be graded, which a person is asked about already."""
    return violation.rule == "R14" and violation.place.removeprefix("obligation ") in asked


def _knows(work: Work, whole: Sequence[str]) -> bool:
    """Whether a person accepted just these faults of the whole."""
    decision = decision_of(work.folder, WHOLE)
    if decision is None or decision.decision != "accept" or not work.folder.has(f"queue/{WHOLE}.json"):
        return False
    return set(work.folder.read(f"queue/{WHOLE}.json").get("why", ())) >= set(whole)
