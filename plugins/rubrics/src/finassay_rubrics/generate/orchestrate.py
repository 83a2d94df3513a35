"""The orchestrator: writer, validator, reviewer, composition, global review. What cannot be repaired goes to a person, never through."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from importlib.metadata import version
from typing import Any, Final

from attrs import define, field, frozen

from finassay.api.errors import InvalidFileError, UsageError
from finassay.api.guidance import Guidance, Violation
from finassay.api.research import Assignment, Desk, Draft, Researcher
from finassay_rubrics.budget import bears_points, freeze, frozen_record, moved, shared_out
from finassay_rubrics.context.contextualize import asked_of, context_digest
from finassay_rubrics.generate.checking import check_criterion
from finassay_rubrics.generate.compose import composed
from finassay_rubrics.generate.criteria import criteria_of, inputs_of, plain
from finassay_rubrics.generate.decisions import PERSON, WHOLE, Waiting, decided, decision_of
from finassay_rubrics.generate.drafts import NoDraftError, drafted
from finassay_rubrics.generate.folder import RubricFolder, beside
from finassay_rubrics.generate.merging import merged, topics_of
from finassay_rubrics.generate.reviewing import agreed, disputes, reviewed
from finassay_rubrics.generate.scripts import digest
from finassay_rubrics.record.reading import content_digest, rubric_json
from finassay_rubrics.record.rubric import ANY, Criterion, Move, Obligation, Rubric, Topic
from finassay_rubrics.validate.rules import violations

SAFE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
MAX_TRIES: Final = 3
"""Drafts of an obligation: the first, and those after repair."""
MAX_ROUNDS: Final = 2
"""Looks at the whole rubric after which something may come back."""
MAX_GATES: Final = 3
PARTIAL: Final = ("R07", "R14", "R18")
"""Rules that only hold for a whole rubric."""
Told = Callable[[str], None]


@frozen
class Returned:
    """Why something comes back."""

    criterion: str
    """Its id; empty where it is no single one."""
    words: str
    rule: str = ""
    """The rule that is broken; empty where the reviewer found something else."""


@frozen
class Part:
    """What an obligation came to."""

    criteria: tuple[Criterion, ...]
    waiting: tuple[Waiting, ...] = ()


def silent(words: str) -> None:
    """Shows nothing."""


@frozen
class Team:
    """Who makes a rubric."""

    writer: Researcher
    reviewer: Researcher | None
    writer_desk: Desk
    reviewer_desk: Desk | None

    @classmethod
    def checked(
        cls, writer: Researcher, reviewer: Researcher | None, writer_desk: Desk, reviewer_desk: Desk | None, *, same_family: bool = False
    ) -> "Team":
        """Raises `UsageError` for two of one family, unless that is what is tried out."""
        if reviewer is not None and reviewer.family == writer.family and not same_family:
            raise UsageError(
                f"writer and reviewer are of one family, {writer.family}",
                hint="Take a reviewer of another: what neither sees, nobody sees.",
            )
        return cls(writer, reviewer, writer_desk, reviewer_desk)


@define
class Orchestrator:
    """Makes one rubric in one folder; made again with the same folder it goes on."""

    folder: RubricFolder
    context: Mapping[str, Any]
    guidance: Guidance
    team: Team
    bank_criteria: Mapping[str, tuple[str, ...]] = field(factory=dict)
    """Obligation to the criteria of the bank's task."""
    validate: bool = True
    """False tries out what the validator is worth."""
    told: Told = silent

    def make(self) -> Rubric:
        """The rubric, final or queued. Raises what sources and models raise; the same call then goes on."""
        obligations = self._freeze()
        parts: dict[str, Part] = {}
        for number, one in enumerate(obligations, start=1):
            self.told(f"obligation {number} of {len(obligations)}: {one.what}")
            parts[one.id] = self._obligation(one)
        for number in range(1, MAX_ROUNDS + 1):
            returned = self._looked_over(obligations, parts)
            if not returned:
                break
            for one in obligations:
                if one.id in returned:
                    self.told(f"whole rubric, look {number}: {one.id} comes back: {returned[one.id][0].words}")
                    parts[one.id] = self._again(one, parts[one.id], returned[one.id], number)
        return self._finish(obligations, parts)

    # -- before research ----------------------------------------------------------------------------------------------

    def _freeze(self) -> tuple[Obligation, ...]:
        obligations = freeze(asked_of(self.context))
        digest = context_digest(self.context)
        record = frozen_record(str(self.context["query"]), digest, obligations)
        if self.folder.has("budget.json"):
            if self.folder.read("budget.json") != record:
                raise UsageError(f"{self.folder.root}/budget.json is not the frozen split of this query", hint="Choose another --out.")
        else:
            self._reject(violations(self.context, "context", self.guidance.rules), "context.json")
            self._reject(violations(record, "budget", self.guidance.rules), "budget.json")
            self.folder.write("context.json", self.context)
            self.folder.write_text("query.txt", str(self.context["query"]))
            self.folder.write("budget.json", record)
        return obligations

    def _reject(self, found: Sequence[Violation], what: str) -> None:
        if found and self.validate:
            first = found[0]
            for one in found:
                self.folder.append("violations.jsonl", {"what": what, "rule": one.rule, "place": one.place, "reason": one.reason})
            raise UsageError(
                f"{what} breaks rule {first.rule}: {first.place}: {first.reason}"
                + (f" (and {len(found) - 1} more)" if len(found) > 1 else "")
            )

    # -- one obligation -----------------------------------------------------------------------------------------------

    def _obligation(self, obligation: Obligation) -> Part:
        place = f"drafts/{obligation.id}"
        if self.folder.has(f"{place}/final.json"):
            return self._decided(_part(self.folder.read(f"{place}/final.json")))
        return self._written(obligation, place, ())

    def _again(self, obligation: Obligation, before: Part, returned: Sequence[Returned], number: int) -> Part:
        """An obligation after something of it came back from a look at the whole."""
        place = f"drafts/{obligation.id}/look-{number}"
        if self.folder.has(f"{place}/final.json"):
            return self._decided(_part(self.folder.read(f"{place}/final.json")))
        return self._written(obligation, place, returned, before)

    def _written(self, obligation: Obligation, place: str, returned: Sequence[Returned], before: Part | None = None) -> Part:
        """Drafts until nothing comes back, bounded; what then still does waits for a person."""
        best: tuple[Criterion, ...] = before.criteria if before else ()
        last = self._last_draft(obligation) if before else None
        for number in range(1, MAX_TRIES + 1):
            assignment = self._assignment(obligation, tuple(r.words for r in returned))
            try:
                draft = drafted(self.team.writer, assignment, self.team.writer_desk)
            except NoDraftError as error:
                returned = [*(r for r in returned if r.criterion), Returned("", str(error))]
                self._tell(obligation, number, returned[-1:])
                continue
            shown = plain(draft)
            if shown == last:
                break  # the writer has nothing else to say
            last = shown
            self._keep_scripts(draft)
            self.folder.write(f"{place}/{number}.json", shown)
            best, returned = self._examined(obligation, draft, f"{place}/{number}")
            self._tell(obligation, number, returned)
            if not returned:
                break
        part = self._given_up(obligation, best, returned)
        self.folder.write(f"{place}/final.json", _stored(part))
        return self._decided(part)

    def _last_draft(self, obligation: Obligation) -> Any:
        """The draft that was handed in last, as JSON."""
        folder = self.folder.root / "drafts" / obligation.id
        found = sorted(folder.glob("**/[0-9]*.json"), key=lambda p: (len(p.parts), p.parent.name, int(p.stem)))
        return self.folder.read(str(found[-1].relative_to(self.folder.root))) if found else None

    def _tell(self, obligation: Obligation, number: int, returned: Sequence[Returned]) -> None:
        for one in returned:
            entry = {"obligation": obligation.id, "try": number, "rule": one.rule, "place": one.criterion, "reason": one.words}
            self.folder.append("violations.jsonl", entry)
        if returned:
            self.told(f"  came back: {returned[0].words}" + (f" (and {len(returned) - 1} more)" if len(returned) > 1 else ""))

    def _assignment(self, obligation: Obligation, returned: tuple[str, ...]) -> Assignment:
        return Assignment(
            obligation=obligation.id,
            what=obligation.what,
            context=dict(self.context),
            criteria=self.bank_criteria.get(obligation.id, ()),
            principles=tuple(f"{p.id} {p.title}: {p.statement}" for p in self.guidance.principles),
            instructions=self.guidance.instructions.get("writer", ""),
            conventions=dict(self.guidance.conventions),
            bindings=obligation.spans,
            returned=returned,
        )

    def _examined(self, obligation: Obligation, draft: Draft, place: str) -> tuple[tuple[Criterion, ...], list[Returned]]:
        """The draft's criteria with reviews, and why it comes back."""
        try:
            criteria = tuple(merged(one) for one in criteria_of(draft, obligation.id))
        except (ValueError, ArithmeticError, TypeError, AttributeError, IndexError, KeyError) as error:
            return (), [Returned("", f"the draft cannot be read: {' '.join(str(error).split())}"[:500])]
        found = self._violations(obligation, criteria) if self.validate else []
        returned = [Returned(_criterion_of(v), f"rule {v.rule}: {v.place}: {v.reason}", v.rule) for v in found if v.place != "rule"]
        broken = {one.criterion for one in returned}
        done = []
        for criterion, source in zip(criteria, draft.criteria, strict=True):
            if criterion.id in broken or self.team.reviewer is None or self.team.reviewer_desk is None:
                done.append(criterion)
                continue
            reviews = reviewed(self.team.reviewer, self.team.reviewer_desk, criterion, source)
            if reviews:
                name = f"reviews/{criterion.id}.{place.replace('/', '-')}.json"
                self.folder.write(name, [r.model_dump(mode="json", by_alias=True) for r in reviews])
            done.append(criterion.model_copy(update={"review": (*criterion.review, *reviews)}))
            returned += [Returned(criterion.id, f"criterion {criterion.id}, {words}") for words in disputes(criterion, reviews)]
        return tuple(done), returned

    def _violations(self, obligation: Obligation, criteria: Sequence[Criterion]) -> list[Violation]:
        part = self._rubric([obligation], criteria, topics_of(criteria), ())
        data = part.model_dump(mode="json", by_alias=True)
        found = violations(data, "rubric", [rule for rule in self.guidance.rules if rule.id not in PARTIAL])
        for criterion in criteria:
            found += check_criterion(criterion, self.team.writer_desk, self._file, run=False)
        return found

    def _file(self, name: str) -> str | None:
        return beside(self.folder.root, name)

    def _given_up(self, obligation: Obligation, criteria: Sequence[Criterion], returned: Sequence[Returned]) -> Part:
        """What still stands; what does not is unresolved and waits for a person, with everything needed to decide."""
        kept: list[Criterion] = []
        waiting: list[Waiting] = []
        for criterion in criteria:
            reasons = [r for r in returned if r.criterion == criterion.id]
            if not reasons:
                kept.append(criterion)
                continue
            words = tuple(r.words for r in reasons)
            waiting.append(Waiting(criterion.id, words, self._about(obligation, [criterion])))
            standing = () if any(r.rule for r in reasons) else tuple(r for r in criterion.expected if agreed(criterion, r))
            if standing and len(standing) < len(criterion.expected):
                kept.append(criterion.model_copy(update={"expected": standing, "notes": "; ".join((criterion.notes, *words))[:1000]}))
            else:
                change = {"status": "unresolved", "expected": (), "gate": "none", "reason": "; ".join(words)[:1000]}
                kept.append(criterion.model_copy(update=change))
        others = tuple(r.words for r in returned if r.criterion not in {c.id for c in criteria})
        if not kept:
            reason = "; ".join(others)[:1000] or "nothing was handed in"
            kept = [
                Criterion(
                    id=f"{obligation.id}.1",
                    obligation_id=obligation.id,
                    text=obligation.what,
                    kind="text",
                    status="unresolved",
                    reason=reason,
                )
            ]
        if others:
            waiting.append(Waiting(obligation.id, others, self._about(obligation, kept)))
        elif not any(bears_points(c) for c in kept) and not waiting:
            reasons_left = tuple(dict.fromkeys(f"{c.id}: {c.reason}" for c in kept if c.reason)) or ("nothing in it can be graded",)
            waiting.append(Waiting(obligation.id, reasons_left, self._about(obligation, kept)))
        return Part(tuple(kept), tuple(waiting))

    def _about(self, obligation: Obligation, criteria: Sequence[Criterion]) -> dict[str, Any]:
        return {
            "obligation": obligation.what,
            "criteria": [c.model_dump(mode="json", by_alias=True) for c in criteria],
            "drafts": f"drafts/{obligation.id}/",
            "decide": "accept, value or drop: `finassay rubric queue` writes it, or a file ITEM.decision.json",
        }

    def _decided(self, part: Part) -> Part:
        """With what a person decided meanwhile."""
        proposed = {w.item: Criterion.model_validate(c) for w in part.waiting for c in w.about["criteria"] if c["id"] == w.item}
        changed: dict[str, Criterion] = {}
        for criterion in part.criteria:
            decision = decision_of(self.folder, criterion.id)
            if decision is not None:
                changed[criterion.id] = decided(proposed.get(criterion.id, criterion), decision, self.team.writer_desk)
        criteria = tuple(changed.get(c.id, c) for c in part.criteria)
        settled = {w.item for w in part.waiting if w.item in changed or decision_of(self.folder, w.item) is not None}
        left = tuple(w for w in part.waiting if w.item not in settled and not (changed and _of_these(w, changed)))
        return Part(criteria, left)

    def _keep_scripts(self, draft: Draft) -> None:
        for criterion in draft.criteria:
            for route in criterion.routes:
                script = route.derivation.script
                if script is not None and SAFE.fullmatch(route.route or ANY):
                    name = f"scripts/{digest(script.code.encode('utf-8', 'replace'))[:16]}"
                    self.folder.write_text(f"{name}.py", script.code)
                    self.folder.write(f"{name}.{criterion.id}.{route.route or ANY}.in.json", inputs_of(route.derivation))

    # -- the whole ----------------------------------------------------------------------------------------------------

    def _looked_over(self, obligations: Sequence[Obligation], parts: Mapping[str, Part]) -> dict[str, list[Returned]]:
        """What comes back of the whole rubric, by obligation. What a person has accepted does not."""
        if not self.validate:
            return {}
        rubric = self._assembled(obligations, parts, ())
        owner = {c.id: c.obligation_id for c in rubric.criteria}
        by_person = {c.id for c in rubric.criteria if any(r.family == PERSON for r in c.review)}
        returned: dict[str, list[Returned]] = {}
        for v in self._found(rubric):
            criterion = _criterion_of(v)
            if criterion in owner and criterion not in by_person:
                words = f"rule {v.rule}: {v.place}: {v.reason}"
                returned.setdefault(owner[criterion], []).append(Returned(criterion, words, v.rule))
        return returned

    def _found(self, rubric: Rubric) -> list[Violation]:
        data = rubric.model_dump(mode="json", by_alias=True)
        found = violations(data, "rubric", self.guidance.rules)
        return found + (violations(data, "review", self.guidance.rules) if self.team.reviewer else [])

    def _assembled(self, obligations: Sequence[Obligation], parts: Mapping[str, Part], moves: Sequence[Move]) -> Rubric:
        criteria = _gated([c for one in obligations for c in parts[one.id].criteria])
        final, shared = shared_out(moved(obligations, moves), criteria)
        return self._rubric(final, shared, topics_of(shared), moves)

    def _finish(self, obligations: tuple[Obligation, ...], parts: Mapping[str, Part]) -> Rubric:
        moves = composed(obligations, [c for one in obligations for c in parts[one.id].criteria])
        self.folder.write("moves.json", [m.model_dump(mode="json", by_alias=True) for m in moves])
        rubric = self._assembled(obligations, parts, moves)
        waiting = [w for one in obligations for w in parts[one.id].waiting]
        asked = {w.item for w in waiting} | {o.id for o in obligations if decision_of(self.folder, o.id)}
        asked |= {c.obligation_id for c in rubric.criteria if c.id in asked or decision_of(self.folder, c.id)}
        by_person = {c.id for c in rubric.criteria if any(r.family == PERSON for r in c.review)}
        found = [v for v in self._found(rubric) if _criterion_of(v) not in by_person] if self.validate else []
        found = [v for v in found if not (v.rule == "R14" and v.place.removeprefix("obligation ") in asked)]
        if found and not self._knows(found):
            waiting.append(Waiting(WHOLE, tuple(f"rule {v.rule}: {v.place}: {v.reason}" for v in found), {}))
        self.folder.settle({w.item: w.data() for w in waiting})
        why = tuple(f"{w.item}: {'; '.join(w.why)}"[:300] for w in waiting)
        rubric = rubric.model_copy(update={"status": "queued" if why else "final", "queued": why[:100]})
        rubric = rubric.model_copy(update={"content_digest": content_digest(rubric)})
        self.folder.write_text("rubric.json", rubric_json(rubric))
        return rubric

    def _knows(self, found: Sequence[Violation]) -> bool:
        """Whether a person accepted just these violations of the whole."""
        decision = decision_of(self.folder, WHOLE)
        if decision is None or decision.decision != "accept" or not self.folder.has(f"queue/{WHOLE}.json"):
            return False
        return set(self.folder.read(f"queue/{WHOLE}.json").get("why", ())) >= {f"rule {v.rule}: {v.place}: {v.reason}" for v in found}

    def _rubric(
        self, obligations: Sequence[Obligation], criteria: Sequence[Criterion], topics: Sequence[Topic], moves: Sequence[Move]
    ) -> Rubric:
        return Rubric(
            query=str(self.context["query"]),
            cutoff=date.fromisoformat(str(self.context["cutoff"]["date"])),
            obligations=tuple(obligations),
            criteria=tuple(criteria),
            topics=tuple(topics),
            moves=tuple(moves),
            context_digest=context_digest(self.context),
            budget_digest=str(self.folder.read("budget.json")["digest"]) if self.folder.has("budget.json") else "",
            guidance=(f"{self.guidance.id} {self.guidance.version}",),
            writer=_identity(self.team.writer),
            reviewer=_identity(self.team.reviewer) if self.team.reviewer else {},
            versions={"finassay-rubrics": version("finassay-rubrics")},
        )


def _criterion_of(violation: Violation) -> str:
    """The criterion that a violation is about; empty where it is about none."""
    return violation.place.removeprefix("criterion ") if violation.place.startswith("criterion ") else ""


def _of_these(waiting: Waiting, changed: Mapping[str, Criterion]) -> bool:
    """Whether a person decided on every criterion that something waits with."""
    ids = [c["id"] for c in waiting.about.get("criteria", ())]
    return bool(ids) and all(i in changed for i in ids)


def _stored(part: Part) -> dict[str, Any]:
    return {
        "criteria": [c.model_dump(mode="json", by_alias=True) for c in part.criteria],
        "waiting": [{"item": w.item, "why": list(w.why), "about": w.about} for w in part.waiting],
    }


def _part(data: Any) -> Part:
    try:
        criteria = tuple(Criterion.model_validate(c) for c in data["criteria"])
        return Part(criteria, tuple(Waiting(w["item"], tuple(w["why"]), w["about"]) for w in data["waiting"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidFileError(f"a stored obligation cannot be read: {error}"[:300]) from error


def _identity(researcher: Researcher) -> dict[str, Any]:
    own = getattr(researcher, "identity", None)
    return {
        "id": researcher.id,
        "family": researcher.family,
        "version": researcher.version,
        **(dict(own) if isinstance(own, Mapping) else {}),
    }


def _gated(criteria: Sequence[Criterion]) -> list[Criterion]:
    """The asked headline figures as gates: what writers marked, at most three; else the first grounded figure that depends on nothing."""
    marked = [c for c in criteria if c.gate == "must_pass"][:MAX_GATES]
    if not marked:
        marked = [c for c in criteria if c.kind == "numeric" and c.status == "grounded" and not c.depends_on][:1]
    ids = {c.id for c in marked}
    return [c.model_copy(update={"gate": "must_pass" if c.id in ids else "none"}) if c.kind != "prohibited" else c for c in criteria]
