"""The orchestrator: writer, validator, reviewer, composition, global review. What cannot be repaired goes to a person, never through."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final

from attrs import define, evolve, field, frozen

from finassay.api.errors import FinassayError, UsageError
from finassay.api.guidance import Guidance, Violation
from finassay.api.research import Assignment, Derivation, Desk, Draft, DraftCriterion, Researcher
from finassay_rubrics.budget import freeze, frozen_record, moved, shared_out
from finassay_rubrics.context.contextualize import asked_of, context_digest
from finassay_rubrics.generate.criteria import criteria_of, evidence_of, plain, stored_value
from finassay_rubrics.generate.folder import RubricFolder
from finassay_rubrics.record.reading import content_digest, rubric_json
from finassay_rubrics.record.rubric import ANY, Criterion, Move, Obligation, Review, Route, Rubric, Topic
from finassay_rubrics.validate.rules import violations

MAX_TRIES: Final = 3
"""Drafts of an obligation: the first, and those after repair."""
MAX_GATES: Final = 3
PARTIAL: Final = ("R07", "R14", "R18")
"""Rules that only hold for a whole rubric."""
Told = Callable[[str], None]


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
        criteria: list[Criterion] = []
        topics: dict[str, dict[str, None]] = {}
        for number, one in enumerate(obligations, start=1):
            self.told(f"obligation {number} of {len(obligations)}: {one.what}")
            done = self._obligation(one)
            criteria += done
            for criterion in done:
                for route in criterion.expected:
                    if route.topic and route.route_id != ANY:
                        topics.setdefault(route.topic, {})[route.route_id] = None
        return self._finish(obligations, criteria, topics)

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

    def _obligation(self, obligation: Obligation) -> tuple[Criterion, ...]:
        final = f"drafts/{obligation.id}/final.json"
        if self.folder.has(final):
            return tuple(Criterion.model_validate(c) for c in self.folder.read(final))
        returned: tuple[str, ...] = ()
        best: tuple[Criterion, ...] = ()
        last: Any = None
        for number in range(1, MAX_TRIES + 1):
            draft = self.team.writer.write(self._assignment(obligation, returned), self.team.writer_desk)
            shown = plain(draft)
            if shown == last:
                break  # the writer has nothing else to say
            last = shown
            self.folder.write(f"drafts/{obligation.id}/{number}.json", shown)
            self._keep_scripts(draft)
            best, returned = self._examined(obligation, draft, number)
            if not returned:
                break
            self.told(f"  came back: {returned[0]}" + (f" (and {len(returned) - 1} more)" if len(returned) > 1 else ""))
        if returned:
            best = self._given_up(obligation, best, returned)
        self.folder.write(final, [c.model_dump(mode="json", by_alias=True) for c in best])
        return best

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

    def _examined(self, obligation: Obligation, draft: Draft, number: int) -> tuple[tuple[Criterion, ...], tuple[str, ...]]:
        """The draft's criteria with reviews, and why it comes back."""
        criteria = criteria_of(draft, obligation.id)
        if not criteria:
            return (), ("there is no criterion",)
        found = self._violations(obligation, criteria) if self.validate else []
        for one in found:
            self.folder.append(
                "violations.jsonl", {"obligation": obligation.id, "try": number, "rule": one.rule, "place": one.place, "reason": one.reason}
            )
        broken = {one.place.removeprefix("criterion ") for one in found}
        reviewed, disputes = [], []
        for criterion, source in zip(criteria, draft.criteria, strict=True):
            if criterion.id in broken or self.team.reviewer is None:
                reviewed.append(criterion)
                continue
            reviews = self._reviews(criterion, source, number)
            reviewed.append(criterion.model_copy(update={"review": (*criterion.review, *reviews)}))
            disputes += [
                f"criterion {criterion.id}, route {r.route_id}: the reviewer {_words(r)}" for r in reviews if r.verdict != "agrees"
            ]
        told = [f"rule {v.rule}: {v.place}: {v.reason}" for v in found]
        return tuple(reviewed), (*told, *disputes)

    def _violations(self, obligation: Obligation, criteria: Sequence[Criterion]) -> list[Violation]:
        part = self._rubric([obligation], criteria, _topics_of(criteria), ())
        data = part.model_dump(mode="json", by_alias=True)
        rules = [rule for rule in self.guidance.rules if rule.id not in PARTIAL]
        return violations(data, "rubric", rules)

    def _reviews(self, criterion: Criterion, draft: DraftCriterion, number: int) -> list[Review]:
        """A second derivation of every route's value, by somebody who sees neither value nor quotes."""
        reviewer, desk, question = self.team.reviewer, self.team.reviewer_desk, draft.question
        if reviewer is None or desk is None or question is None or criterion.status != "grounded":
            return []
        found = []
        for route in criterion.expected:
            convention = f"{route.topic}:{route.route_id}" if route.topic else ""
            try:
                again = reviewer.derive(evolve(question, convention=convention), desk)
            except FinassayError as error:
                if error.retry:
                    raise
                again = Derivation(None, reason=str(error))
            found.append(_review(reviewer, route, again))
        self.folder.write(f"reviews/{criterion.id}.{number}.json", [r.model_dump(mode="json", by_alias=True) for r in found])
        return found

    def _given_up(self, obligation: Obligation, criteria: Sequence[Criterion], returned: tuple[str, ...]) -> tuple[Criterion, ...]:
        """What still stands; what does not is unresolved and waits for a person."""
        kept = []
        for criterion in criteria:
            reasons = [r for r in returned if f"criterion {criterion.id}" in r]
            if not reasons:
                kept.append(criterion)
                continue
            self.folder.queue(
                f"{obligation.id}.{criterion.id}",
                why=reasons,
                obligation=obligation.what,
                criterion=criterion.model_dump(mode="json", by_alias=True),
                drafts=f"drafts/{obligation.id}/",
            )
            standing = (
                tuple(r for r in criterion.expected if _agreed(criterion, r)) if not any(r.startswith("rule") for r in reasons) else ()
            )
            if standing and len(standing) < len(criterion.expected):
                kept.append(criterion.model_copy(update={"expected": standing, "notes": "; ".join(reasons)[:1000]}))
            else:
                change = {"status": "unresolved", "expected": (), "gate": "none", "reason": "; ".join(reasons)[:1000]}
                kept.append(criterion.model_copy(update=change))
        return tuple(kept)

    def _keep_scripts(self, draft: Draft) -> None:
        for criterion in draft.criteria:
            for route in criterion.routes:
                script = route.derivation.script
                if script is not None:
                    inputs = {one.name: str(one.value) for one in route.derivation.inputs}
                    self.folder.write_text(f"scripts/{script.digest[:16]}.py", script.code)
                    self.folder.write(f"scripts/{script.digest[:16]}.{criterion.id}.{route.route or ANY}.in.json", inputs)

    # -- the whole ----------------------------------------------------------------------------------------------------

    def _finish(self, obligations: tuple[Obligation, ...], criteria: list[Criterion], topics: Mapping[str, Mapping[str, None]]) -> Rubric:
        moves = self._moves()
        final = moved(obligations, moves)
        final, shared = shared_out(final, _gated(criteria))
        kept = tuple(Topic(id=name, routes=tuple(routes)) for name, routes in topics.items())
        rubric = self._rubric(final, shared, kept, moves)
        data = rubric.model_dump(mode="json", by_alias=True)
        found = (
            [
                *violations(data, "rubric", self.guidance.rules),
                *(violations(data, "review", self.guidance.rules) if self.team.reviewer else ()),
            ]
            if self.validate
            else []
        )
        waiting = [f"{item['item']}: {'; '.join(map(str, item.get('why', ())))}"[:300] for item in self.folder.queued()]
        why = [*(f"{v.rule} {v.place}: {v.reason}" for v in found), *waiting]
        if found:
            self.folder.queue("whole-rubric", why=[f"rule {v.rule}: {v.place}: {v.reason}" for v in found])
        rubric = rubric.model_copy(update={"status": "queued" if why else "final", "queued": tuple(why)[:100]})
        rubric = rubric.model_copy(update={"content_digest": content_digest(rubric)})
        self.folder.write_text("rubric.json", rubric_json(rubric))
        return rubric

    def _moves(self) -> tuple[Move, ...]:
        if not self.folder.has("moves.json"):
            self.folder.write("moves.json", [])
        return tuple(Move.model_validate(m) for m in self.folder.read("moves.json"))

    def _rubric(
        self, obligations: Sequence[Obligation], criteria: Sequence[Criterion], topics: Sequence[Topic], moves: Sequence[Move]
    ) -> Rubric:
        digest = context_digest(self.context)
        return Rubric(
            query=str(self.context["query"]),
            cutoff=date.fromisoformat(str(self.context["cutoff"]["date"])),
            obligations=tuple(obligations),
            criteria=tuple(criteria),
            topics=tuple(topics),
            moves=tuple(moves),
            context_digest=digest,
            budget_digest=str(self.folder.read("budget.json")["digest"]) if self.folder.has("budget.json") else "",
            guidance=(f"{self.guidance.id} {self.guidance.version}",),
            writer=_identity(self.team.writer),
            reviewer=_identity(self.team.reviewer) if self.team.reviewer else {},
        )


def _identity(researcher: Researcher) -> dict[str, Any]:
    own = getattr(researcher, "identity", None)
    return {
        "id": researcher.id,
        "family": researcher.family,
        "version": researcher.version,
        **(dict(own) if isinstance(own, Mapping) else {}),
    }


def _topics_of(criteria: Sequence[Criterion]) -> tuple[Topic, ...]:
    routes: dict[str, dict[str, None]] = {}
    for criterion in criteria:
        for route in criterion.expected:
            if route.topic:
                routes.setdefault(route.topic, {})[route.route_id] = None
    return tuple(Topic(id=name, routes=tuple(found)) for name, found in routes.items())


def _gated(criteria: Sequence[Criterion]) -> list[Criterion]:
    """The asked headline figures as gates: what writers marked, at most three; else the first grounded figure that depends on nothing."""
    marked = [c for c in criteria if c.gate == "must_pass"][:MAX_GATES]
    if not marked:
        marked = [c for c in criteria if c.kind == "numeric" and c.status == "grounded" and not c.depends_on][:1]
    ids = {c.id for c in marked}
    return [c.model_copy(update={"gate": "must_pass" if c.id in ids else "none"}) if c.kind != "prohibited" else c for c in criteria]


def _review(reviewer: Researcher, route: Route, again: Derivation) -> Review:
    """Agreement within half of the tolerance (R18), in the unit and scale of the route."""
    base = Review(reviewer=reviewer.id, family=reviewer.family, route_id=route.route_id, verdict="not found", evidence=evidence_of(again))
    if again.value is None:
        return base.model_copy(update={"reason": again.reason})
    value, scale = stored_value(again)
    if not isinstance(value, Decimal) or not isinstance(route.value, Decimal):
        same = str(value).strip().lower() == str(route.value).strip().lower()
        return base.model_copy(update={"verdict": "agrees" if same else "differs", "value": value})
    value = _rescaled(value, scale, route.scale)
    difference = abs(value - route.value)
    tolerance = route.tolerance
    half = max(tolerance.abs, tolerance.rel * abs(route.value)) / 2 if tolerance else Decimal(0)
    agrees = difference <= half and again.unit == route.unit
    reason = "" if again.unit == route.unit else f"its unit is {again.unit}"
    return base.model_copy(
        update={"verdict": "agrees" if agrees else "differs", "value": value, "difference": difference, "reason": reason}
    )


_POWER: Final = {"": 0, "thousands": 3, "millions": 6, "billions": 9}


def _rescaled(value: Decimal, own: str, other: str) -> Decimal:
    return value.scaleb(_POWER.get(own, 0) - _POWER.get(other, 0))


def _agreed(criterion: Criterion, route: Route) -> bool:
    last = [r for r in criterion.review if r.route_id == route.route_id]
    return bool(last) and last[-1].verdict == "agrees"


def _words(review: Review) -> str:
    if review.verdict == "not found":
        return f"did not find it ({review.reason})" if review.reason else "did not find it"
    return f"got {review.value}" + (f" ({review.reason})" if review.reason else "")
