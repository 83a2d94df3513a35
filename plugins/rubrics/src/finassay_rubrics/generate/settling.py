"""What people decided, taken into what an obligation came to. Nothing is redrafted for it: decisions come last, and can be changed again."""

from collections.abc import Mapping
from typing import Any

from attrs import define, field, frozen

from finassay.api.errors import UsageError
from finassay.api.research import Desk
from finassay_rubrics.generate.checking import check_criterion
from finassay_rubrics.generate.decisions import PERSON, Decision, Waiting, refused, said_of
from finassay_rubrics.generate.folder import RubricFolder, beside
from finassay_rubrics.generate.stated import stated_route
from finassay_rubrics.generate.work import Part
from finassay_rubrics.record.rubric import Criterion, Obligation, Review, Route


@frozen
class Settled:
    """An obligation with what people decided."""

    part: Part
    decided: frozenset[str] = frozenset()
    """Items whose decision was carried out."""
    refused: tuple[str, ...] = ()
    """Decisions that were not, a line each."""


def settled(folder: RubricFolder, desk: Desk, obligation: Obligation, part: Part) -> Settled:
    """The part with what people decided on it. A decision that cannot be read or carried out leaves its item waiting, with the reason.

    Raises what sources raise for now (`retry`).
    """
    return _Settling(folder, desk, obligation, part).done()


@define
class _Settling:
    folder: RubricFolder
    desk: Desk
    obligation: Obligation
    part: Part
    said: dict[str, Decision] = field(init=False, factory=dict)
    wrong: dict[str, str] = field(init=False, factory=dict)

    def done(self) -> Settled:
        for item in (self.obligation.id, *(c.id for c in self.part.criteria)):
            found = said_of(self.folder, item)
            if found.decision is not None:
                self.said[item] = found.decision
            elif found.wrong:
                self.wrong[item] = found.wrong
        if not self.said and not self.wrong:
            return Settled(self.part)
        by_criterion = self._by_criterion()
        proposed = {c["id"]: c for w in self.part.waiting for c in w.about.get("criteria", ())}
        criteria = tuple(self._changed(c, by_criterion.get(c.id), proposed) for c in self.part.criteria)
        decided = frozenset(self.said) - frozenset(self.wrong)
        changed = {i for i in by_criterion if i not in self.wrong and by_criterion[i][0] not in self.wrong}
        left = [w for w in self.part.waiting if w.item not in decided and not _all_of(w, changed)]
        return Settled(Part(criteria, self._with_wrong(left)), decided, tuple(self.wrong.values()))

    def _by_criterion(self) -> dict[str, tuple[str, Decision]]:
        """Criterion to the item that decides it, and how. What is said of an obligation holds for the criteria of which nothing else is."""
        found = {c.id: (c.id, self.said[c.id]) for c in self.part.criteria if c.id in self.said}
        whole = self.said.get(self.obligation.id)
        if whole is None or whole.decision == "accept":
            return found
        others = [c for c in self.part.criteria if c.id not in found]
        if whole.decision == "value":
            others = [c for c in others if c.status == "unresolved"] or others
            if len(others) != 1:
                names = ", ".join(c.id for c in others) or "none"
                error = UsageError(f"{self.obligation.id} has several criteria", hint=f"State the value for one of them: {names}")
                self.wrong[self.obligation.id] = refused(self.obligation.id, error)
                return found
        return {**found, **{c.id: (self.obligation.id, whole) for c in others}}

    def _changed(self, criterion: Criterion, word: tuple[str, Decision] | None, proposed: Mapping[str, Any]) -> Criterion:
        if word is None:
            return criterion
        item, decision = word
        stood = Criterion.model_validate(proposed[criterion.id]) if criterion.id in proposed else criterion
        try:
            return self._decided(stood, decision)
        except (UsageError, ValueError, ArithmeticError) as error:  # of pydantic too: a value that no rubric can hold
            self.wrong[item] = refused(item, error if isinstance(error, UsageError) else ValueError(str(error)))
            return criterion

    def _decided(self, criterion: Criterion, decision: Decision) -> Criterion:
        """The criterion as a person left it. Raises `UsageError` where it would not stand on what it is said to stand on."""
        said = f"{decision.by}: {decision.reason}" if decision.reason else decision.by
        if decision.decision == "drop":
            update = {"status": "unresolved", "expected": (), "gate": "none", "optional": True, "reason": f"dropped by {said}"}
            return criterion.model_copy(update=update)
        if decision.decision == "accept":
            self._refuse_ungrounded(criterion)
            reviews = tuple(_review(r, said) for r in criterion.expected)
            return criterion.model_copy(update={"review": (*criterion.review, *reviews), "notes": _noted(criterion, f"accepted by {said}")})
        route = stated_route(criterion, decision, self.desk, self.folder.write_text)
        made = criterion.model_copy(
            update={
                "kind": _kind(criterion, route),
                "status": "grounded",
                "expected": (route,),
                "review": (*criterion.review, _review(route, said)),
                "reason": "",
                "optional": False,
                "discriminating": False,
                "merged_routes": (),
                "notes": _noted(criterion, f"value by {said}"),
            }
        )
        return Criterion.model_validate(made.model_dump(by_alias=True))

    def _refuse_ungrounded(self, criterion: Criterion) -> None:
        """A person may take what a reviewer did not find, and what breaks a rule of style; not what no source shows."""
        if criterion.kind not in ("prohibited", "format") and any(not r.evidence for r in criterion.expected):
            raise UsageError(f"nothing shows the value of {criterion.id}", hint="State it, with the quote or computation that shows it.")
        amiss = next(iter(check_criterion(criterion, self.desk, lambda name: beside(self.folder.root, name))), None)
        if amiss is not None:
            raise UsageError(f"{criterion.id} cannot be accepted: {amiss.reason}", hint="State its value, with what shows it, or drop it.")

    def _with_wrong(self, left: list[Waiting]) -> tuple[Waiting, ...]:
        """What waits, with what is wrong with decisions on it; what waited for nothing else waits for those."""
        named = {w.item for w in left}
        found = [Waiting(w.item, (*w.why, self.wrong[w.item]), w.about) if w.item in self.wrong else w for w in left]
        for item, line in self.wrong.items():
            if item not in named:
                criteria = [c.model_dump(mode="json", by_alias=True) for c in self.part.criteria if item in (c.id, self.obligation.id)]
                found.append(Waiting(item, (line,), {"criteria": criteria}))
        return tuple(found)


def _all_of(waiting: Waiting, changed: set[str]) -> bool:
    """Whether a person decided on every criterion that something waits with."""
    ids = [c["id"] for c in waiting.about.get("criteria", ())]
    return bool(ids) and all(i in changed for i in ids)


def _kind(criterion: Criterion, route: Route) -> str:
    if isinstance(route.value, str):
        return "text" if criterion.kind in ("numeric", "format") else criterion.kind
    return "numeric"


def _review(route: Route, said: str) -> Review:
    return Review(reviewer=PERSON, family=PERSON, route_id=route.route_id, verdict="agrees", value=route.value, reason=said)


def _noted(criterion: Criterion, words: str) -> str:
    return "; ".join(filter(None, (criterion.notes, words)))[:2000]


__all__ = ["Settled", "settled"]
