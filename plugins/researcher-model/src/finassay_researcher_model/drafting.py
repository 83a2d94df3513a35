"""From the criteria that a model handed in to a draft: what holds stands, what does not is unresolved with the reason, and told."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import define, field

from finassay.api.research import Assignment, Derivation, Draft, DraftCriterion, DraftRoute, Period, Question
from finassay_researcher_model.forms import CriterionForm, DraftForm, RouteForm
from finassay_researcher_model.grounding import Grounds, UngroundedError, claimed, reasons, years_of
from finassay_researcher_model.toolbox import Toolbox
from finassay_rubrics.grading.forms import can_check
from finassay_rubrics.metrics.table import table
from finassay_rubrics.validate.wording import wording_problem

VALUELESS: Final = ("prohibited", "format")
"""Kinds without an expected value."""
NUMERIC: Final = "numeric"
_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")
_FIGURE: Final = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")


@define
class Drafting:
    """One draft as it is read. `problems` is what goes back to the model, a line each."""

    assignment: Assignment
    tools: Toolbox
    problems: list[str] = field(init=False, factory=list)

    def draft(self, form: DraftForm) -> Draft:
        """The draft with whatever holds. Raises what stops everything."""
        self.problems = []
        criteria = []
        ids = [self._id(one, number) for number, one in enumerate(form.criteria, start=1)]
        for number, one in enumerate(form.criteria):
            known = {given.id.strip(): id for given, id in zip(form.criteria, ids, strict=True) if given.id.strip()}
            criteria.append(self._criterion(one, ids[number], known))
        if len(set(ids)) < len(ids):
            self._told("the draft", "two criteria have one id")
        return Draft(tuple(criteria), form.notes.strip())

    def _id(self, form: CriterionForm, number: int) -> str:
        own = plain_name(form.id).removeprefix(f"{self.assignment.obligation}.") or str(number)
        return f"{self.assignment.obligation}.{own}"[:60]

    def _told(self, place: str, words: str) -> None:
        self.problems.append(f"{place}: {words}")

    def _criterion(self, form: CriterionForm, id: str, known: Mapping[str, str]) -> DraftCriterion:
        text = " ".join(form.text.split())
        for problem in self._worded(form, text):
            self._told(id, problem)
        routes: tuple[DraftRoute, ...] = ()
        stray = _other_years(self.assignment, form.period.strip()) or _other_entity(self.assignment, self._entity(form))
        if stray:
            self._told(id, stray)
        elif form.kind not in VALUELESS:
            routes = tuple(self._route(one, form, id) for one in form.routes[:8])
            if not routes and not form.reason.strip():
                self._told(id, "has neither a value nor a reason")
        holds = any(route.derivation.value is not None for route in routes)
        return DraftCriterion(
            id=id,
            text=text,
            kind=form.kind,
            principles=self._named(form.principles, principles_of(self.assignment), id, "principle"),
            bindings=self._named(form.bindings, bindings_of(self.assignment), id, "binding") or self.assignment.bindings,
            routes=routes,
            question=self._question(form, id, text) if form.kind not in VALUELESS else None,
            must_pass=form.must_pass and holds,
            optional=form.optional,
            depends_on=tuple(known[one.strip()] for one in form.depends_on if one.strip() in known and known[one.strip()] != id),
            reason=stray or _reason(form, routes),
        )

    def _worded(self, form: CriterionForm, text: str) -> list[str]:
        found = []
        if problem := wording_problem(text):
            found.append(f"its text {problem}")
        if form.kind == "format" and not can_check(text):
            found.append("no program can look at this layout; say it as: one table, in USD millions, one decimal; or leave it out")
        if form.kind in VALUELESS and form.routes:
            found.append(f"a criterion of kind {form.kind} has no value")
        if form.metric.strip() and form.metric.strip() not in table().metrics:
            found.append(f"there is no metric {form.metric.strip()[:40]!r} in the list; leave it empty")
        return found

    def _named(self, given: Sequence[str], known: Sequence[str], id: str, what: str) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(name.strip() for name in given))
        unknown = [name for name in names if name not in known]
        if unknown:
            self._told(id, f"there is no {what} {unknown[0][:40]!r}")
        elif not names and what == "principle" and known:
            self._told(id, "names no principle")
        return tuple(name for name in names if name in known)

    # -- values -------------------------------------------------------------------------------------------------------

    def _route(self, form: RouteForm, criterion: CriterionForm, id: str) -> DraftRoute:
        topic, route = plain_name(form.topic), plain_name(form.route) or "any"
        place = id if route == "any" else f"{id}, route {route}"
        convention = " ".join(form.convention.split())
        derivation = self._derivation(form, criterion, place)
        accepted = self.assignment.conventions.get(topic)
        problem = ""
        if route != "any" and not topic:
            problem = "a route needs the topic that it is a choice of"
        elif accepted is not None and route not in accepted:
            problem = f"only {', '.join(accepted)} are accepted for {topic}"
        elif told := self._given_away(derivation, convention):
            problem = f"the convention holds {told!r}, which gives the value away"
        if problem:
            self._told(place, problem)
            derivation = Derivation(None, reason=problem)
        return DraftRoute(route, topic if route != "any" else "", convention, derivation)

    def _derivation(self, form: RouteForm, criterion: CriterionForm, place: str) -> Derivation:
        nothing = claimed(form.value)
        if nothing is not None:
            return Derivation(None, reason=nothing.reason)
        try:
            derivation = Grounds(self.tools, form.value, criterion.period.strip(), criterion.kind == NUMERIC, criterion.kind).derivation()
        except UngroundedError as error:
            self._told(place, reasons(error))
            return Derivation(None, reason=f"not grounded: {reasons(error)}")
        if told := self._given_away(derivation, f"{criterion.text} {criterion.question} {criterion.definition}"):
            self._told(place, f"text or question hold {told!r}, which gives the value away")
            return Derivation(None, reason=f"text or question give the value away: {told!r}")
        return derivation

    @staticmethod
    def _given_away(derivation: Derivation, text: str) -> str:
        """A figure of the value that a text holds; years and small numbers stand in texts for other reasons."""
        own = {one.shown.replace(",", "") for one in derivation.inputs if len(one.shown.replace(",", "").replace(".", "")) > 2}
        return next((f for f in _FIGURE.findall(text) if f.replace(",", "") in own and not _YEAR.fullmatch(f)), "")

    def _entity(self, form: CriterionForm) -> str:
        return " ".join(form.entity.split()) or entity_of(self.assignment)

    def _question(self, form: CriterionForm, id: str, text: str) -> Question:
        metric = form.metric.strip() if form.metric.strip() in table().metrics else ""
        entity, period = self._entity(form), form.period.strip()
        if form.kind == NUMERIC and form.routes and not period:
            self._told(id, "names no period")
        return Question(
            id=id,
            text=" ".join(form.question.split()) or text,
            metric=metric,
            definition=" ".join(form.definition.split()),
            entity=entity,
            period=Period(period) if period else None,
            decimals=form.decimals if form.decimals >= 0 else None,
        )


def _reason(form: CriterionForm, routes: Sequence[DraftRoute]) -> str:
    if any(route.derivation.value is not None for route in routes) or form.kind in VALUELESS:
        return ""
    return " ".join(form.reason.split()) or ("" if routes else "no value was handed in, and no reason")


def _other_years(assignment: Assignment, period: str) -> str:
    """What is wrong with a period of years that the query does not ask about, but for the one before. Empty if nothing is, or it names none."""
    asked = set[int]().union(*(years_of(str(one.get("span", ""))) for name, one in arrays(assignment) if name == "periods"))
    outside = sorted(year for year in years_of(period) if asked and not min(asked) - 1 <= year <= max(asked))
    return f"{period!r} is no period that the query asks about" if outside else ""


def _other_entity(assignment: Assignment, entity: str) -> str:
    """What is wrong with an entity that the query does not name. Empty if nothing is, or the query asks about a population."""
    bound = arrays(assignment)
    known = [_words(str(one.get(key, ""))) for name, one in bound if name == "entities" for key in ("span", "canonical") if one.get(key)]
    if not known or not entity or any(name == "populations" for name, _ in bound):
        return ""
    return "" if any(one & _words(entity) for one in known) else f"{entity[:60]!r} is no entity that the query names"


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower())) - {"inc", "corp", "corporation", "co", "company", "plc", "ltd", "the", "and", "of"}


def plain_name(text: str) -> str:
    """A name that fits a file's: letters, digits, points and dashes."""
    return _NAME.sub("-", text.strip()).strip(".-")[:40]


def principles_of(assignment: Assignment) -> tuple[str, ...]:
    """Ids of the principles."""
    return tuple(line.split(" ", 1)[0] for line in assignment.principles)


def bindings_of(assignment: Assignment) -> tuple[str, ...]:
    """Ids of all bindings of the query."""
    return tuple(str(one["id"]) for _, one in arrays(assignment) if one.get("id"))


def arrays(assignment: Assignment) -> list[tuple[str, Mapping[str, Any]]]:
    """Each binding with the name of its array."""
    found = assignment.context.get("bindings", {})
    several = found.items() if isinstance(found, Mapping) else ()
    return [(str(name), one) for name, items in several if isinstance(items, list | tuple) for one in items if isinstance(one, Mapping)]


def entity_of(assignment: Assignment) -> str:
    """The first entity of the query, as it names it."""
    return next((str(one.get("span") or one.get("canonical") or "") for name, one in arrays(assignment) if name == "entities"), "")
