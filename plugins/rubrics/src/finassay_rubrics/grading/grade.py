"""Grading an answer: a program for numbers, dates and formats; for meaning a judge, or stated rules where there is none."""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from attrs import define, evolve, field, frozen

from finassay_rubrics.grading.answer import Answer
from finassay_rubrics.grading.cells import Cell, Given, cell_of, given
from finassay_rubrics.grading.in_prose import from_to
from finassay_rubrics.grading.vocabulary import spread
from finassay_rubrics.grading.compare import Expected, Profile, accepts, expected_of, kind_of
from finassay_rubrics.grading.dates import Day, dates, same
from finassay_rubrics.grading.forms import check_format
from finassay_rubrics.grading.locate import words_of
from finassay_rubrics.grading.numbers import Number
from finassay_rubrics.grading.score import Found, Outcome, Score, score, topic_of
from finassay_rubrics.grading.words import ENOUGH, expected_direction, names, negated, said_direction
from finassay_rubrics.record.rubric import ANY, Criterion, Route, Rubric

PROGRAM: Final = "program"
RULES: Final = "stated rules"
MAX_ANSWER: Final = 400_000

Meaning = Callable[[Criterion, Route, str], Found | None]
"""A judge of meaning: whether an answer's text says what a route expects. None: it leaves that to the rules."""


@frozen
class Graded:
    """A graded answer with what it was graded from."""

    score: Score
    findings: Mapping[str, Mapping[str, Found]]


@define
class Grader:
    """Grades answers by one rubric."""

    rubric: Rubric
    profile: Profile = "strict"
    meaning: Meaning | None = None
    _entities: tuple[str, ...] = field(init=False)
    _several: bool = field(init=False)
    """Whether figures of more than one entity are expected."""
    _weights: Mapping[str, float] = field(init=False, factory=dict)
    """What a word of a metric tells: less, the more metrics of the rubric have it."""

    def __attrs_post_init__(self) -> None:
        publishers = {e.publisher for c in self.rubric.criteria for r in c.expected for e in r.evidence if e.publisher}
        named = {c.entity for c in self.rubric.criteria if c.entity}
        self._entities = tuple(sorted(publishers | named))
        self._several = len(named) > 1
        metrics = {self._cell(c, r).words for c in self.rubric.criteria for r in _numeric_routes(c)[:1]}
        words = frozenset(w for metric in metrics for w in metric)
        self._weights = {w: 1 / sum(w in metric for metric in metrics) for w in words}

    def grade(self, text: str) -> Graded:
        """Every criterion on every route of it, then the single best route of each convention."""
        names_with_digits = frozenset(w for e in self._entities for w in e.split() if any(c.isdigit() for c in w))
        answer = Answer(text[:MAX_ANSWER], names_with_digits)
        findings = {c.id: self._find(c, answer) for c in self.rubric.criteria if c.status != "unresolved"}
        return Graded(score(self.rubric, findings), findings)

    def _find(self, criterion: Criterion, answer: Answer) -> dict[str, Found]:
        routes = criterion.expected or (Route(value=criterion.text),)
        if criterion.kind == "numeric":
            return self._numeric(criterion, answer)
        return {route.route_id: self._of_route(criterion, route, answer) for route in routes}

    def _of_route(self, criterion: Criterion, route: Route, answer: Answer) -> Found:
        if criterion.kind in ("derivation", "format") and not route.evidence:
            met, why = check_format(criterion.text, str(route.value), answer)
            if met is not None:
                return Found("met" if met else "unmet", why, by=PROGRAM)
        if self.meaning is not None and (found := self.meaning(criterion, route, answer.text)) is not None:
            return found
        if criterion.kind == "prohibited" or criterion.polarity == "negative":
            return self._fault(criterion, answer)
        if criterion.kind == "date" and (day := next(dates(str(route.value)), None)) is not None:
            return self._date(criterion, day, answer)
        if criterion.kind == "categorical" and expected_direction(str(route.value)):
            return self._direction(criterion, route, answer)
        return self._named(criterion, route, answer)

    # -- numbers ------------------------------------------------------------------------------------------------------

    def _numeric(self, criterion: Criterion, answer: Answer) -> dict[str, Found]:
        routes = [r for r in criterion.expected if isinstance(r.value, Decimal)]
        if not routes:
            return {ANY: Found("cannot assess", "no figure is expected")}
        cell = self._cell(criterion, routes[0])
        found = given(answer, cell)
        found = found if found.figures else self._in_time(answer, cell, criterion, found)
        return {r.route_id: self._compared(found, r, cell, answer) for r in routes}

    def _cell(self, criterion: Criterion, route: Route) -> Cell:
        cell = cell_of(criterion.text, criterion.period or route.period, self._entities)
        own = frozenset(w.lower() for w in re.findall(r"\w+", criterion.entity))
        kind = kind_of(route.unit) if route.unit else None
        words = cell.words - _left_out(criterion.text)
        return evolve(cell, words=words or cell.words, kind=kind, own=own if self._several else frozenset(), weights=self._weights)

    def _in_time(self, answer: Answer, cell: Cell, criterion: Criterion, found: Given) -> Given:
        """Of `from 2.5x to 2.4x` the later figure for the later year."""
        moved = from_to(answer, cell) if cell.years else None
        if moved is None:
            return found
        years = sorted({y for c in self.rubric.criteria for r in c.expected for y in re.findall(r"(?:19|20)\d\d", r.period)})
        later = bool(years) and cell.years[0] == years[-1]
        return Given((moved[1] if later else moved[0],), how="sentence")

    def _compared(self, found: Given, route: Route, cell: Cell, answer: Answer) -> Found:
        if not found.figures:
            return Found("unmet", "the answer gives no figure for it", by=PROGRAM)
        expected = expected_of(route)
        size = (cell.change and "absolute" in route.sign_rule) or "size" in route.sign_rule
        fits = [n for n in found.figures if self._accepts(n, expected, size=size)]
        main = fits[0] if fits else found.figures[0]
        rivals = [n for n in found.rivals if not self._accepts(n, expected, size=size)]
        why = f"expected {route.value} {route.scale} {route.unit}".replace("  ", " ").strip()
        if fits and rivals:
            why = f"the answer contradicts itself: {main.text} and {rivals[0].text}"
        met = bool(fits) and not rivals
        return Found("met" if met else "unmet", why, (main.start, main.end), found.quote[:400], main.text, PROGRAM)

    def _accepts(self, number: Number, expected: Expected, *, size: bool) -> bool:
        if not size:
            return accepts(number, expected, self.profile)
        bare = Expected(abs(expected.value), expected.kind, expected.scale, expected.tolerance, expected.decimals)
        return accepts(evolve(number, value=abs(number.value)), bare, self.profile)

    # -- words --------------------------------------------------------------------------------------------------------

    def _named(self, criterion: Criterion, route: Route, answer: Answer) -> Found:
        siblings = [
            str(r.value)
            for c in self.rubric.criteria
            if c.obligation_id == criterion.obligation_id and c.id != criterion.id
            for r in c.expected
            if isinstance(r.value, str)
        ]
        siblings += [str(r.value) for r in criterion.expected if r.route_id != route.route_id]
        entities = frozenset(w.lower() for e in self._entities for w in re.findall(r"\w+", e)) | {
            "inc",
            "co",
            "corp",
            "corporation",
            "company",
        }
        share, sentence = names(answer, str(route.value), siblings, entities)
        if criterion.kind == "categorical" and share >= ENOUGH and (why := self._otherwise(str(route.value), sentence)):
            return Found("unmet", why, quote=sentence[:400], by=RULES)
        at = answer.text.find(sentence) if sentence else -1
        span = (at, at + len(sentence)) if at >= 0 else None
        outcome: Outcome = "met" if share >= ENOUGH else "unmet"
        return Found(outcome, f"{share:.0%} of the words that tell {str(route.value)[:80]!r} apart", span, sentence[:400], by=RULES)

    def _otherwise(self, value: str, sentence: str) -> str:
        """Why a sentence with the words of a verdict says another: it denies what is expected or asserts what is denied, or names another entity first."""
        if negated(value) != negated(sentence):
            return (
                f"it {'denies' if negated(sentence) else 'asserts'} what is {'not ' if negated(sentence) else ''}denied in {value[:80]!r}"
            )
        wanted, said = (next((e for e in self._named_in(text)), "") for text in (value, sentence))
        return f"expected {wanted}, said {said}" if wanted and said and said != wanted else ""

    def _named_in(self, text: str) -> list[str]:
        """Entities in the order in which a text names them."""
        places = [(text.lower().find(e.lower()), e) for e in self._entities if e]
        return [entity for at, entity in sorted(places) if at >= 0]

    def _date(self, criterion: Criterion, expected: Day, answer: Answer) -> Found:
        """The date of the sentence that speaks most of what is dated, after the words that name it where there are several."""
        cell = cell_of(criterion.text, "", self._entities)
        wanted = cell.words - {"date", "day"}
        best: tuple[float, int, Day] | None = None
        for one in answer.sentences:
            said = one.about(cell.entities)
            for day in dates(one.text):
                before = words_of(one.text[: day.start], cell.entities)
                share = (len(said & cell.words) + len(before & wanted)) / max(1, len(cell.words))
                if best is None or share >= best[0]:
                    best = (share, one.start, day)
        if best is None:
            return Found("unmet", "the answer gives no date for it", by=PROGRAM)
        _, begin, day = best
        span = (begin + day.start, begin + day.end)
        shown = answer.text[span[0] : span[1]]
        return Found(
            "met" if same(day, expected) else "unmet",
            "expected another date" if not same(day, expected) else "",
            span,
            shown,
            shown,
            PROGRAM,
        )

    def _direction(self, criterion: Criterion, route: Route, answer: Answer) -> Found:
        wanted = expected_direction(str(route.value))
        shown = self._shown_direction(criterion, answer)
        what = next((o.what for o in self.rubric.obligations if o.id == criterion.obligation_id), "")
        cell = cell_of(f"{criterion.text} {what}", "", self._entities, change=True)
        told, clause = said_direction(answer, cell)
        if told is None and shown is None:
            return Found("unmet", "the answer tells no direction", by=RULES)
        if told is not None and shown is not None and told != shown:
            return Found("unmet", f"it says {told}, its own figures say {shown}", quote=clause[:400], by=PROGRAM)
        return Found(
            "met" if (told or shown) == wanted else "unmet", f"expected {wanted}, said {told or shown}", quote=clause[:400], by=RULES
        )

    def _shown_direction(self, criterion: Criterion, answer: Answer) -> str | None:
        """What the answer's own figures for two periods of one metric in the same obligation show."""
        dated = []
        for other in self.rubric.criteria:
            routes = [r for r in other.expected if isinstance(r.value, Decimal)]
            if other.obligation_id != criterion.obligation_id or other.kind != "numeric" or not routes:
                continue
            cell = self._cell(other, routes[0])
            if not spread(words_of(criterion.text)) & cell.words:
                continue  # another metric of the same obligation
            found = given(answer, cell)
            if cell.years and found.figures and routes[0].unit in ("times", "percent", "x", "%"):
                dated.append((cell.years[0], found.figures[0].value))
        if len(dated) < 2 or len({year for year, _ in dated}) < 2:
            return None
        (_, first), (_, last) = min(dated), max(dated)
        return "up" if last > first else "down" if last < first else "flat"

    def _fault(self, criterion: Criterion, answer: Answer) -> Found:
        """Without a judge, a program finds one kind of fault: figures that belong to the neighbouring period."""
        if re.search(r"\bshift\w*\b|\bwrong (?:fiscal )?(?:year|period)", criterion.text, re.IGNORECASE) and (why := self._shifted(answer)):
            return Found("fault present", why, by=PROGRAM)
        return Found("fault absent", "no program found it", by=RULES)

    def _shifted(self, answer: Answer) -> str:
        dated: dict[str, list[tuple[Criterion, Given]]] = {}
        for criterion in self.rubric.criteria:
            routes = [r for r in criterion.expected if isinstance(r.value, Decimal)]
            if criterion.kind != "numeric" or not routes:
                continue
            cell = self._cell(criterion, routes[0])
            if cell.years:
                dated.setdefault(cell.years[0], []).append((criterion, given(answer, cell)))
        moved = []
        for year, found in dated.items():
            for criterion, got in found:
                following = dated.get(str(int(year) + 1), [])
                own = any(self._accepts(n, expected_of(r), size=False) for n in got.figures for r in _numeric_routes(criterion))
                next_one = any(
                    self._accepts(n, expected_of(r), size=False)
                    for n in got.figures
                    for other, _ in following
                    for r in _numeric_routes(other)
                )
                if next_one and not own:
                    moved.append(f"{criterion.id} has the figure of {int(year) + 1}")
        return "; ".join(moved) if len(moved) >= 2 else ""


def _numeric_routes(criterion: Criterion) -> Sequence[Route]:
    return [r for r in criterion.expected if isinstance(r.value, Decimal)]


def _left_out(text: str) -> frozenset[str]:
    """Words of conditions, which a label seldom repeats: `with short-term investments counted as cash`, `when … are left out`."""
    condition = re.search(
        r"\b(?:with|when|where|if|counting|counted|excluding|including|without|at the|for the)\b(.*)$", text, re.IGNORECASE
    )
    return words_of(condition[1]) if condition else frozenset()


__all__ = ["Graded", "Grader", "Meaning", "topic_of"]
