"""What the offline families write for an obligation: a criterion for each metric, issuer and period that they can ground, and what compares them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import Factory, evolve, frozen

from finassay.api.research import Assignment, Derivation, Draft, DraftCriterion, Period, Question
from finassay_rubrics.metrics.ask import AskError, understand
from finassay_rubrics.metrics.clauses import UnclearError, sentences_of, times_beside, times_of_spans
from finassay_rubrics.metrics.compare import FASTER, Figure, said_of, together, wanted_of, wants_mean
from finassay_rubrics.metrics.conventions import words_for
from finassay_rubrics.metrics.ends import other_end
from finassay_rubrics.metrics.formula import FormulaError
from finassay_rubrics.metrics.issuers import Case, cases, named, times_in_turn
from finassay_rubrics.metrics.principles import realized
from finassay_rubrics.metrics.routes import Derive, criterion, unresolved
from finassay_rubrics.metrics.subjects import Subject, bindings_of, part_asked, subjects
from finassay_rubrics.metrics.terms import definitions, fold, names_in
from finassay_rubrics.metrics.times import Time, times_in
from finassay_rubrics.metrics.when import DOWN, UP, asks_which_year, combined, most

MAX_CRITERIA: Final = 36
"""Criteria of one obligation."""
_EACH_YEAR: Final = re.compile(r"\beach (?:of the (?:\w+ ){0,2})?(?:fiscal )?years?\b|\beach of (?:them|these|those)\b")
"""An average that is to be shown with what it is taken over."""
_EACH: Final = re.compile(r"\beach\b|\bevery\b|\ball (?:the )?(?:years|periods)\b")
_EITHER: Final = re.compile(
    r"\b(?:increas|ris|rose|grow|grew|improv|expand|went up|go up)\w* or (?:decreas|declin|fall|fell|shrink|shrank|worsen|contract|went down|down)\w*",
    re.IGNORECASE,
)
"""Asks for a direction beside the figures."""
_MORE_THAN_LEVELS: Final = re.compile(
    r"\bhow fast\b|\bwhat (?:percent(?:age)?|share|proportion|fraction|portion) of\b|\bdifference between\b|\bhow many times\b|\bcovered by\b|\bas an? multiple of\b",
    re.IGNORECASE,
)
"""Asks for a relation; a query from which only its parts were bound was not understood."""
_REASONS: Final = re.compile(
    r"\bwhy\b|\bexplain|\bexplanation|\breasons?\b|\bdrivers?\b|\bdrove\b|\bcomment|\bdiscuss|\bverdict\b|\btable\b|\bjudg|\bassess"
)
_TURN: Final = re.compile(
    rf"\bwhether\b[^.;?]*\b(?:{UP}|{DOWN}|chang(?:ed|es?))\b|\b(?:{UP})\b[^.;?]{{0,12}}\bor\b[^.;?]{{0,12}}\b(?:{DOWN})\b|\b(?:{DOWN})\b[^.;?]{{0,12}}\bor\b[^.;?]{{0,12}}\b(?:{UP})\b|"
    r"\bdirection\s+of\b|\bwhich\s+(?:way|direction)\b"
)
"""An obligation that asks which way a metric went: two figures answer it."""
_FROM: Final = re.compile(r"\bfrom\b|\bbetween\b|\bover\b|\d\s*(?:-|to|through)\s*(?:fy\s*|fiscal\s*(?:year\s*)?)?\d")
"""What makes years the two ends of one change, not years of a change each."""
_YOY: Final = re.compile(r"\byear[- ]over[- ]year\b|\byoy\b")
_FIGURE_TOO: Final = re.compile(
    r"\b(?:and|with)\s+(?:what|how\s+(?:much|high|large|low)|the\s+(?:amount|figure|value|number)|its\s+(?:amount|value|level)|by\s+how)\b|\bhow\s+(?:much|high|large|low)\b|\bwhat\s+(?:was|were)\s+(?:it|they|its|the\s+(?:amount|figure|value|level))\b"
)


def draft(assignment: Assignment, derive: Derive) -> Draft:
    """Criteria of one obligation. What is no metric of primary statements gives one unresolved criterion with the reason."""
    query = str(assignment.context.get("query", ""))
    try:
        return Draft(tuple(_drafted(assignment, lambda question: _of_end(query, derive(question)))))
    except UnclearError as error:
        return Draft((unresolved(assignment, str(error)),))


def _of_end(query: str, found: Derivation) -> Derivation:
    """The value, unless the query names the day on which its period ends and the figures are those of another."""
    reason = other_end(query, [found.period.end]) if found.value is not None and found.period is not None else ""
    return Derivation(None, reason=reason) if reason else found


def _drafted(assignment: Assignment, derive: Derive) -> list[DraftCriterion]:
    query = str(assignment.context.get("query", ""))
    what = _without_issuers(assignment)
    if part := part_asked(what):
        raise UnclearError(
            f"asks which {part} it was, and primary statements show the whole company only; a person may value it from the notes"
        )
    which_year = asks_which_year(what)
    turn = _turns(what) and not which_year
    besides = None if (turn or which_year) and names_in(fold(what)) else _asked_besides(assignment)
    if besides is not None:
        return besides
    found, reason = subjects(assignment, query, turn or which_year)
    if not found:
        raise UnclearError(reason)
    asked = [*bindings_of(assignment.context, "metrics"), *bindings_of(assignment.context, "deliverables")]
    sentences = sentences_of(query, asked, assignment.bindings)
    said = said_of(query, _arrays(assignment.context), assignment.bindings)
    whose = _cases(assignment, query)
    if which_year:
        return _of_year(assignment, found, whose, derive)
    turn = turn or any(_EITHER.search(one) for one in sentences) or (_turns(said) and not _turns(" ".join(sentences)))
    several = len(whose) > 1
    moved = "" if turn else _moved(said)
    _refuse_relations(found, assignment.what, sentences, several)
    spans = [_spans(assignment.what, case.times, query, turn, several and not turn) for case in whose]
    if moved and not any(span.how for own in spans for span in own):
        spans = [[*own, *_ends(own, moved)] for own in spans]
    made = _Making(assignment, derive, query, several)
    for subject in found:
        made.subject(subject, whose, spans, said, turn)
    if reason:
        made.criteria.append(evolve(unresolved(assignment, reason), id=f"{assignment.obligation}.{len(made.criteria) + 1}"))
    return made.criteria[:MAX_CRITERIA]


def _without_issuers(assignment: Assignment) -> str:
    """What is asked without the names of companies: one called Best asks for no best."""
    what = assignment.what
    for _, _, name in named("", [{**one, "start": None} for one in bindings_of(assignment.context, "entities")]):
        what = re.sub(rf"(?<!\w){re.escape(name)}(?:['’]s)?(?!\w)", lambda m: " " * len(m[0]), what)
    return what


def _refuse_relations(found: Sequence[Subject], what: str, sentences: Sequence[str], several: bool) -> None:
    """Raises `UnclearError` where a sentence asks for a relation of which only parts were understood."""
    more = next((m for one in sentences if (m := _MORE_THAN_LEVELS.search(one))), None)
    compares = several and more is not None and re.match(r"difference|how many times|as an? multiple", more[0], re.IGNORECASE)
    if more and not compares and all(one.is_amount for one in found) and not _MORE_THAN_LEVELS.search(what):
        raise UnclearError(
            f"its sentence asks {more[0]!r}, and how that relates to {found[0].name} was not understood; write it as `ratio of X to Y`"
        )


def _arrays(context: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    return {kind: bindings_of(context, kind) for kind in ("entities", "metrics", "deliverables", "periods")}


def _asked_besides(assignment: Assignment) -> list[DraftCriterion] | None:
    """An obligation that is no metric: an artefact, which a program can look at, or an explanation, which rules cannot ground. None for a metric."""
    from finassay_rubrics.grading.forms import can_check

    own = set(assignment.bindings)
    spans = {kind: [one for one in bindings_of(assignment.context, kind) if one.get("id") in own] for kind in ("metrics", "deliverables")}
    kinds = {str(one.get("type", "")) for one in spans["deliverables"]}
    if spans["metrics"] or not kinds & {"explain", "artefact"}:
        return None
    if "explain" in kinds:
        reason = "asks for words; this family grounds only figures of primary statements, so a person or a model writes this one"
        return [unresolved(assignment, reason)]
    texts = [f"Puts the figures into {assignment.what}"]
    if not can_check(texts[0]):
        return [unresolved(assignment, f"no program here looks at {assignment.what!r}")]
    constraints = [" ".join(str(one.get("span", "")).split()) for one in bindings_of(assignment.context, "output_constraints")]
    texts += [text for said in constraints if can_check(text := f"Keeps to the form asked: {said}")]
    return [
        DraftCriterion(
            f"{assignment.obligation}.{number}",
            text,
            "format",
            realized(assignment.principles, "", ("form",)),
            assignment.bindings,
            optional=number > 1,  # only the artefact itself was asked for: a form is looked at and earns nothing
        )
        for number, text in enumerate(texts, start=1)
    ]


def _turns(what: str) -> bool:
    """Whether words ask which way something went, and not why."""
    folded = fold(what)
    return _TURN.search(folded) is not None and _REASONS.search(folded) is None


_BY_HOW_MUCH: Final = re.compile(
    r"\bby (?:what|how (?:much|many))\b|\bhow (?:much|fast|far) (?:did|has|have) (?:it|they)\b|\bwhat was the (?:percentage |percent |total )?(?:change|growth|increase|decrease|decline)\b"
)
_SOMETHING_MOVED: Final = re.compile(rf"\b(?:chang(?:e|ed|es)|{UP}|{DOWN})\b")


def _moved(said: str) -> str:
    """Whether it is asked by how much something moved where its name says nothing of it: `change`, `growth` or empty."""
    folded = fold(said)
    if not (_BY_HOW_MUCH.search(folded) and _SOMETHING_MOVED.search(folded)) or re.search(r"\bthan\b|\bdiffer", folded):
        return ""
    return "growth" if re.search(r"percent|%|\bgrowth\b", folded) else "change"


def _ends(spans: Sequence["_Span"], how: str) -> list["_Span"]:
    """The change over the times of several figures, or none for one."""
    whole = sorted(time for span in spans for time in span.times if not time.part)
    return [_Span((whole[0], whole[-1]), how)] if len(whole) > 1 else []


# -- whose and when ---------------------------------------------------------------------------------------------------


def _cases(assignment: Assignment, query: str) -> list[Case]:
    """The issuers of an obligation, each with its times. Raises `UnclearError`."""
    arrays = _arrays(assignment.context)
    times = _times(assignment, query, arrays)
    if not times:
        raise UnclearError("names no fiscal year; name it, as `fiscal 2022` or `FY2022`")
    return cases(query, arrays, assignment.bindings, times)


def _times(assignment: Assignment, query: str, arrays: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Time]:
    """The times that the obligation names, those bound to it, those of its place in the query, else all. Raises `UnclearError`."""
    if times := times_in(assignment.what):
        return times
    periods = arrays["periods"]
    if mine := times_of_spans([one for one in periods if one.get("id") in assignment.bindings]):
        return mine
    try:
        return times_beside(query, arrays, assignment.bindings) or times_of_spans(periods) or times_in(query)
    except UnclearError:
        if times := times_in_turn(query, arrays, assignment.bindings):
            return times
        raise


@frozen
class _Span:
    """The times of one figure, and what combines several: as `combined`, or nothing."""

    times: tuple[Time, ...]
    how: str = ""

    @property
    def label(self) -> str:
        first, last = self.times[0], self.times[-1]
        return first.label if len(self.times) == 1 else f"{first.label} - {last.label}"

    @property
    def when(self) -> str:
        first, last = self.times[0], self.times[-1]
        return f"in {first.label}" if len(self.times) == 1 else f"from {first.label} to {last.label}"


def _spans(what: str, times: Sequence[Time], query: str, turn: bool, several: bool) -> list[_Span]:
    """The times of each figure. Raises `UnclearError` where years are lacking."""
    whole = [time for time in times if not time.part]
    parts = [_Span((time,)) for time in times if time.part]
    if turn:
        before = [Time(whole[0].year - 1)] if len(whole) == 1 else []
        return [*(_Span((time,)) for time in (*before, *whole)), *parts]
    kind, each = combined(what), _EACH.search(fold(what)) is not None
    if several and kind == "average" and len(times) == 1:
        kind = ""  # the mean is over issuers
    if parts:
        return [*parts, *(_Span((time,)) for time in whole)] if not kind else [_Span((time,), kind) for time in times]
    if kind in ("change", "growth") and (len(whole) == 1 or each or (len(whole) > 2 and _YOY.search(fold(what)))):
        later = whole if len(whole) == 1 or each else whole[1:]
        return [_Span((Time(time.year - 1), time), kind) for time in later]
    listed = kind in ("change", "growth") and len(whole) > 2 and not _FROM.search(fold(query))
    if kind == "unclear" or listed or (len(whole) == 1 and kind in ("CAGR", "yearly", "average")):
        raise UnclearError("asks for a mean or a rate over several years, and which they are cannot be told; name the first and the last")
    if len(whole) == 1 or not kind or (each and kind == "average"):
        return [_Span((time,)) for time in whole]
    single = [_Span((time,)) for time in whole] if kind == "average" and _EACH_YEAR.search(fold(query)) else []
    return [*single, _Span((whole[0], whole[-1]), kind)]


# -- criteria ---------------------------------------------------------------------------------------------------------


@frozen
class _Making:
    """Makes the criteria of one obligation."""

    assignment: Assignment
    derive: Derive
    query: str
    several: bool
    """Whether issuers are several, so that texts name them."""
    criteria: list[DraftCriterion] = Factory(list)

    def subject(self, subject: Subject, whose: Sequence[Case], spans: Sequence[Sequence[_Span]], said: str, turn: bool) -> None:
        """Figures of each issuer and period; then what compares the issuers, and which way each went, which rest on them."""
        faster = FASTER.search(said) if self.several and not turn else None
        figures: list[tuple[Figure, DraftCriterion]] = []
        for case, own in zip(whose, spans, strict=True):
            moving = _moving(own, subject) if faster else own
            figures += [self._figure(subject, case.issuer, _percent(span, subject, self.assignment)) for span in moving]
            if turn and (whole := [time for time in (t for span in own for t in span.times) if not time.part]):
                self._turn(subject, case.issuer, _Span((whole[0], whole[-1]), "direction"), figures)
        if self.several:
            self._refuse_parts(figures)
            self._together(subject, figures, said, faster)

    def _figure(self, subject: Subject, issuer: str, span: _Span) -> tuple[Figure, DraftCriterion]:
        question = self._question(subject, span, issuer)
        made = criterion(self.assignment, question, subject, self.derive, len(self.criteria) + 1)
        self.criteria.append(made)
        return Figure(made.id, issuer, _noun(subject.name, span), span.when, question), made

    def _turn(self, subject: Subject, issuer: str, span: _Span, figures: Sequence[tuple[Figure, DraftCriterion]]) -> None:
        made = criterion(self.assignment, self._question(subject, span, issuer), subject, self.derive, len(self.criteria) + 1)
        rests = tuple(made.id for figure, made in figures if made.routes and figure.issuer == issuer)
        self.criteria.append(evolve(made, kind="categorical", must_pass=False, depends_on=rests))

    def _refuse_parts(self, figures: Sequence[tuple[Figure, DraftCriterion]]) -> None:
        """Raises `UnclearError` where a name that no source knows stands right before the metric: it may be a part of another company."""
        near = _attributes(self.query, self.assignment)
        for figure, made in figures:
            if figure.issuer in near and not made.routes and "no document of" in made.reason:
                raise UnclearError(f"asks for {figure.issuer!r} {figure.name}, which may be only a part of another issuer's: {made.reason}")

    def _together(
        self, subject: Subject, figures: Sequence[tuple[Figure, DraftCriterion]], said: str, faster: re.Match[str] | None
    ) -> None:
        """What compares or combines the issuers' figures of one time, or those of all where each has one."""
        count = len({figure.issuer for figure, _ in figures})
        asked = wanted_of(said, count)
        if faster:
            low = re.search(r"less|least|slow|low|weak", faster["more"] or faster["before"] or "")
            asked = ["lowest" if low else "highest", *(one for one in asked if one == "difference")]
        if (
            wants_mean(said)
            and combined(self.assignment.what) == "average"
            and all(len(one.question.period.asked) < 12 for one, _ in figures if one.question.period)
        ):
            asked.append("mean")
        groups: dict[str, list[tuple[Figure, DraftCriterion]]] = {}
        for one in figures:
            groups.setdefault(one[0].when + one[0].name, []).append(one)
        sets = [group for group in groups.values() if len(group) == count] or ([list(figures)] if len(figures) == count else [])
        for number, group in enumerate(sets, start=1):
            for combine in asked:
                if combine == "sum" and not subject.is_amount:
                    continue
                self._one_together(subject, [figure for figure, _ in group], combine, number, [made for _, made in group])

    def _one_together(self, subject: Subject, figures: Sequence[Figure], combine: str, number: int, rest: Sequence[DraftCriterion]) -> None:
        id = f"{self.assignment.obligation}.{subject.id or 'relation'}.{combine}.{number}"
        question = together(id, combine, figures, subject, figures[0].question.decimals)
        made = criterion(self.assignment, question, subject, self.derive, len(self.criteria) + 1)
        words = combine in ("highest", "lowest")
        rests = tuple(one.id for one in rest if one.routes)
        self.criteria.append(evolve(made, kind="categorical" if words else "numeric", must_pass=False, depends_on=rests))

    def _question(self, subject: Subject, span: _Span, issuer: str) -> Question:
        return _question(self.assignment, self.query, subject, span, issuer or _entity(self.assignment.context), named=self.several)


def _moving(spans: Sequence[_Span], subject: Subject) -> list[_Span]:
    """The change over the times of several figures, or over the year before a single one."""
    times = sorted(time for span in spans for time in span.times)
    if any(time.part for time in times) or any(span.how for span in spans):
        return list(spans)
    first = times[0] if len(times) > 1 else Time(times[0].year - 1)
    return [_Span((first, times[-1]), "growth" if subject.is_amount else "change")]


def _percent(span: _Span, subject: Subject, assignment: Assignment) -> _Span:
    """A change of an amount that is wanted in percent is its growth."""
    return evolve(span, how="growth") if span.how == "change" and subject.is_amount and _in_percent(assignment.context) else span


def _attributes(query: str, assignment: Assignment) -> set[str]:
    """Names that stand right before the metric, without a possessive: `Northern revenue`."""
    starts = [
        one["start"]
        for one in bindings_of(assignment.context, "metrics")
        if one.get("id") in assignment.bindings and isinstance(one.get("start"), int)
    ]
    told = named(query, bindings_of(assignment.context, "entities"))
    return {
        name
        for _, end, name in told
        if any(
            0 <= start - end <= 12 and re.fullmatch(r"(?:\s+(?:total|net|FY\d{2,4}|(?:19|20)\d\d))*\s+", query[end:start])
            for start in starts
        )
    }


def _noun(name: str, span: _Span) -> str:
    heads = {"average": "average", "change": "change in", "growth": "growth of", "yearly": "average annual growth of", "CAGR": "CAGR of"}
    return f"{heads[span.how]} {name}" if span.how in heads else name


def _question(assignment: Assignment, query: str, subject: Subject, span: _Span, entity: str, *, named: bool) -> Question:
    """The question for a figure. `named` puts the issuer into its text."""
    first, last = span.times[0], span.times[-1]
    name = f"{subject.name} of {entity}" if named else subject.name
    over = f"from {first.label} to {last.label}" if len(span.times) > 1 else f"in {first.label}"
    texts = {
        "": f"States the {name} {'in' if named else 'of'} {span.label}",
        "average": f"States the {len(range(first.year, last.year + 1))} year average {name} over {span.label}",
        "change": f"States the change in {name} {over}",
        "growth": f"States the growth of {name} {over}, in units of percents",
        "yearly": f"States the average annual growth of {name} {over}, in units of percents",
        "CAGR": f"States the CAGR of {name} {over}",
        "direction": f"Says whether the {name} increased or declined {over}",
    }
    convention = words_for(query, [subject.id] if subject.id else [name.id for name in names_in(fold(subject.name))])
    names = {fold(n) for n in subject.metric.names} if subject.metric else set()
    body = next((text for defined, text in definitions(fold(query)).bodies.items() if defined in names), "")
    years = "-".join(re.sub(r"\W+", "_", time.part) or str(time.year) for time in span.times)
    who = f".{re.sub(r'[^A-Za-z0-9]+', '_', entity)[:30]}" if named else ""
    return Question(
        id=f"{assignment.obligation}.{subject.id or 'relation'}.{years}{who}{'.direction' if span.how == 'direction' else ''}",
        text=texts[span.how] + (f" ({convention})" if convention else ""),
        metric=subject.id,
        definition=body,
        entity=entity,
        period=Period(span.label),
        decimals=_decimals(query, subject),
    )


# -- which year -------------------------------------------------------------------------------------------------------


def _of_year(assignment: Assignment, found: Sequence[Subject], whose: Sequence[Case], derive: Derive) -> list[DraftCriterion]:
    """Which of several years had the most or the least of something, and how much that was. Raises `UnclearError`."""
    query, what = str(assignment.context.get("query", "")), fold(_without_issuers(assignment))
    if len(found) > 1:
        raise UnclearError(f"asks for the year of more than one metric: {', '.join(one.name for one in found[:4])}; ask for each alone")
    criteria: list[DraftCriterion] = []
    for case in whose:
        times = case.times
        if len(times) < 2 or any(time.part for time in times):
            raise UnclearError("asks which of several years it was, and which they are cannot be told; name the first and the last")
        ranged = len(times) == 2 and _FROM.search(what) is not None
        first, last = times[0].label, times[-1].label
        among = f"which fiscal year from {first} to {last}" if ranged or _runs(times) else f"which of the fiscal years {_listed(times)}"
        word = "highest" if most(what) else "lowest"
        name = f"{found[0].name} of {case.issuer}" if len(whose) > 1 else found[0].name
        label = f"{first} - {last}" if ranged or _runs(times) else _listed(times)
        base = Question(
            id=f"{assignment.obligation}.{found[0].id or 'relation'}.year.{len(criteria)}",
            text=f"Says in {among} the {name} was {word}",
            metric=found[0].id,
            entity=case.issuer or _entity(assignment.context),
            period=Period(label),
            decimals=_decimals(query, found[0]),
        )
        made = criterion(assignment, base, found[0], derive, len(criteria) + 1)
        criteria.append(evolve(made, kind="categorical"))
        figure = evolve(base, id=f"{base.id}.figure", text=f"States the {word} {name} of the fiscal years {label}")
        made = criterion(assignment, figure, found[0], derive, len(criteria) + 1)
        criteria.append(evolve(made, must_pass=False, optional=_FIGURE_TOO.search(what) is None))
    return criteria


def _runs(times: Sequence[Time]) -> bool:
    """Whether the years follow each other."""
    return len(times) > 2 and times[-1].year - times[0].year == len(times) - 1


def _listed(times: Sequence[Time]) -> str:
    return f"{', '.join(time.label for time in times[:-1])} and {times[-1].label}"


def _in_percent(context: Mapping[str, Any]) -> bool:
    """Whether the answer is wanted in percent, so that a change of an amount is its growth."""
    spans = " ; ".join(str(one.get("span", "")) for one in bindings_of(context, "output_constraints"))
    return re.search(r"\bpercents?\b|%", spans, re.IGNORECASE) is not None


def _entity(context: Mapping[str, Any]) -> str:
    return next((str(one.get("span") or one.get("canonical") or "") for one in bindings_of(context, "entities")), "")


def _decimals(query: str, subject: Subject) -> int | None:
    try:
        return understand(Question("", query, subject.id or "revenue", period=Period("FY2000"))).decimals
    except (AskError, FormulaError):
        return None
