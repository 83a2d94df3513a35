"""The figure of a cell in an answer's sentences, by what stands around it: the metric, the year, the entity, words of change and of averages."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from attrs import evolve, frozen

from finassay_rubrics.grading.answer import Answer, Sentence
from finassay_rubrics.grading.averages import is_average
from finassay_rubrics.grading.cells import Cell, Given
from finassay_rubrics.grading.companies import of_other_company
from finassay_rubrics.grading.compare import can_be, plausible
from finassay_rubrics.grading.corrections import taken_back
from finassay_rubrics.grading.disowned import denied, listed, with_list
from finassay_rubrics.grading.headings import above
from finassay_rubrics.grading.hedges import FROM_TO, hedges, just_before, same
from finassay_rubrics.grading.in_tables import scaled
from finassay_rubrics.grading.locate import words_of
from finassay_rubrics.grading.numbers import Number, UnitKind
from finassay_rubrics.grading.vocabulary import ALTERNATIVE, AVERAGE, CHANGE, TRAILS, spread, stem
from finassay_rubrics.grading.whose import names_another, planned
from finassay_rubrics.grading.years import YEAR, marked, part_in, years_of

WINDOW: Final = 400
"""Characters before and after a figure that can speak of it."""
MAX_FIGURES: Final = 60
"""Figures of one sentence that are looked at."""
MAX_CANDIDATES: Final = 400
"""Figures of an answer's sentences that are looked at for one cell: an answer with more answers nothing."""
MAX_UNNAMED: Final = 100
"""Of these the ones whose sentence and topic do not name the metric."""
UNNAMED: Final = 0.05
"""What a sentence weighs that does not name the metric: an answer to one question often does not repeat it."""
OTHER: Final = 0.8
"""What a figure keeps for each word of another metric that leads to it."""
QUALIFIERS: Final = frozenset(
    [
        "adjusted",
        "core",
        "underlying",
        "non-gaap",
        "organic",
        "segment",
        "division",
        "subsidiary",
        "guidance",
        "target",
        "consensus",
        "industry",
        "peer",
        "competitor",
        "sector",
        "budget",
        "forecast",
        "pro-forma",
    ]
)
QUALIFIED: Final = 0.7
"""What a figure keeps whose clause speaks of something that was not asked for: a segment, a peer, an adjusted figure."""
EXACT: Final = 1.15
"""What a figure gains that is of the very kind that is asked for: points for points, where percent would do."""
SURE: Final = 0.75
"""How much of the metric must be named for a figure to stand against another one."""
_BY: Final = re.compile(r"\bby\s+(?:about |approximately |around |roughly |some |nearly |just )?$", re.IGNORECASE)
_MOVED: Final = re.compile(
    rf"(?:{CHANGE.pattern})\s*(?:of|by|:|was|is|amounts? to|came to)?\s*(?:about |approximately |around |roughly |some |nearly |just |only )?\(?$",
    re.IGNORECASE,
)
"""What stands before the size of a move: `down`, `a decline of`, `fell by`."""
_MOVED_TO: Final = re.compile(rf"(?:{CHANGE.pattern})[^.;]*$", re.IGNORECASE)


@frozen
class _Candidate:
    """A figure that can be the cell's, with what speaks for it."""

    weight: float
    given: Given
    dated: bool
    around: frozenset[str]
    """Content words of its clause."""


def from_prose(answer: Answer, cell: Cell) -> Given:
    """The figure whose surroundings speak most of the cell; of equals the last. A sentence without the metric goes by the one before."""
    best: _Candidate | None = None
    alternatives: list[Number] = []
    sure: list[_Candidate] = []
    topic: frozenset[str] = frozenset()
    year: str | None = None
    wanted = spread(cell.words)
    looked = unnamed = 0
    begins = taken_back(answer, cell)
    for place, one in enumerate(answer.sentences):
        said = _about(one, cell)
        about = bool((said | topic) & wanted)
        if one.results and one.start >= begins and looked < MAX_CANDIDATES and (about or unnamed < MAX_UNNAMED):
            looked += min(len(one.results), MAX_FIGURES)
            unnamed += 0 if about else min(len(one.results), MAX_FIGURES)
            for candidate in (_scaled(c, one, cell, answer) for c in _ranked(one, cell, topic, year, answer)):
                first = candidate.given.figures[0]
                if _is_not_it(one, first, cell, answer):
                    continue
                if ALTERNATIVE.search(just_before(one.text, first.start - one.start, 300)) and not cell.change:
                    alternatives.append(first)
                    continue
                if best is None or candidate.weight >= best.weight:
                    hedges = (*candidate.given.hedges, *listed(with_list(answer.sentences, place), first, cell.calendar))
                    best = evolve(candidate, given=evolve(candidate.given, hedges=hedges, quote=one.text.strip()[:400]))
                if candidate.given.named >= SURE and (candidate.dated or not cell.years):
                    sure.append(candidate)
        topic = said if said & wanted else frozenset() if _names_another(one, cell) else topic
        year = _spoken_of(one, cell) or year
    if best is None:
        return Given()
    return evolve(best.given, alternatives=tuple(alternatives), rivals=tuple(_against(best, sure, cell)))


def _about(one: Sentence, cell: Cell) -> frozenset[str]:
    """What a sentence speaks of, acronyms of the cell's words among it."""
    return cell.heard(one.words - cell.entities) if cell.acronyms.keys() & one.words else one.about(cell.entities)


def _scaled(candidate: _Candidate, one: Sentence, cell: Cell, answer: Answer) -> _Candidate:
    figures = tuple(scaled(n, one.text[: n.start - one.start], cell, answer) for n in candidate.given.figures)
    return evolve(candidate, given=evolve(candidate.given, figures=figures))


def _is_not_it(one: Sentence, number: Number, cell: Cell, answer: Answer) -> bool:
    """Whether a sentence denies a figure, gives it as another metric's or company's, or as a plan."""
    at, end = number.start - one.start, number.end - one.start
    if of_other_company(one, at, end, cell, answer):
        return True
    return denied(one.text, at, end) or names_another(one.text, at, end, cell.metrics) or (cell.reported and planned(one.text, at))


_COMPARED: Final = re.compile(r"\b(?:from|compared (?:with|to)|against|versus|vs\.?|than|after)\b(?:[^.;]|\.(?=\d))*$", re.IGNORECASE)


def _spoken_of(one: Sentence, cell: Cell) -> str | None:
    """The year that a sentence leaves behind: the last one that is neither in brackets nor compared with, else the last one."""
    marks = marked(one.text, cell.calendar)
    outside = [
        year
        for start, _, year in marks
        if one.text.rfind("(", 0, start) <= one.text.rfind(")", 0, start) and not _COMPARED.search(one.text[max(0, start - 60) : start])
    ]
    return next(reversed(outside or [year for _, _, year in marks]), None)


def _against(best: _Candidate, sure: Sequence[_Candidate], cell: Cell) -> list[Number]:
    """Figures that are said of the very same cell elsewhere, in other words for no other thing."""
    main = best.given.figures[0]
    wanted = spread(cell.words)
    found = []
    for one in sure:
        number = one.given.figures[0]
        strange = one.around - wanted - best.around
        if number.start == main.start or number.kind != main.kind or strange or one.dated != best.dated or best.given.named < SURE:
            continue
        if not same(number, main) and all(number.start != n.start for n in best.given.figures):
            found.append(number)
    return found


# -- candidates of one sentence ---------------------------------------------------------------------------------------


def _ranked(one: Sentence, cell: Cell, topic: frozenset[str], before: str | None, answer: Answer) -> list[_Candidate]:
    """The figures of a sentence that can be the cell's, the best last. `before` is the year that was spoken of last."""
    results = one.results[:MAX_FIGURES]
    figures = [n for n in results if cell.kind is None or _can_be(n, cell.kind)]
    if cell.growth and cell.change and cell.kind == "percent":
        figures = [n for n in figures if n.kind not in ("points", "basis points")]
    if not figures:
        return []
    dated = dict(zip([n.start for n in results], years_of(one.text, one.start, results, cell.calendar, before), strict=True))
    found = []
    for number in figures:
        moved = _is_move(one, number, cell)
        if moved != cell.change or (not moved and cell.average is not None and is_average(one.text, one.start, number) != cell.average):
            continue
        year = dated[number.start]
        if (cell.years and year is not None and year not in cell.years) or not _of_part(one, number, cell):
            continue
        if cell.years and year is None and len(figures) == 2 and FROM_TO.search(just_before(one.text, figures[0].start - one.start)):
            continue
        near, leads = _near(one, number, topic, cell)
        others = _of_others(leads, cell)
        named = cell.share(near) * OTHER**others
        if others and named < UNNAMED:
            continue
        entity = _of_entity(one, number, cell, answer)
        if entity < 0:
            continue
        paired = bool(cell.average) or bool(cell.years and year is not None)
        inherited = not paired and before in cell.years
        exact = number.kind == cell.kind or {number.kind, cell.kind} == {"points", "basis points"}
        weight = max(named, UNNAMED) * (1 + 0.5 * paired + 0.4 * inherited + 0.5 * entity) * (EXACT if exact else 1)
        figure = Given(
            (number, *_other_forms(one, number, cell)),
            hedges=tuple(hedges(one, number)),
            how="paired" if paired else "sentence",
            named=named,
            label=_label(one, number),
        )
        around = _clause(one, number, cell)
        weight *= QUALIFIED if around & QUALIFIERS - spread(cell.words) else 1
        found.append(_Candidate(weight, figure, paired or inherited, around))
    return sorted(found, key=lambda f: (f.weight, -f.given.figures[0].start if not cell.average else 0))


def _can_be(number: Number, kind: UnitKind) -> bool:
    if kind == "plain":
        return number.kind == "plain"
    return can_be(number, kind) and plausible(number, kind) and not (kind == "times" and number.kind == "days")


def _near(one: Sentence, number: Number, topic: frozenset[str], cell: Cell) -> tuple[dict[str, float], str]:
    """How near each word of the metric stands to a figure: in the text that leads to it, in what follows it, elsewhere, or in the topic."""
    at, end = number.start - one.start, number.end - one.start
    place = bisect_left(one.numbers, number.start, key=lambda n: n.start)
    ends = bisect_left(one.results, number.start, key=lambda n: n.start)  # operands part nothing
    left = one.results[ends - 1].end - one.start if ends else 0
    right = one.numbers[place + 1].start - one.start if place + 1 < len(one.numbers) else len(one.text)
    leads = one.text[max(left, at - WINDOW) : at]
    shared = _lead_of(one, ends - 1, cell)
    parallel = ends > 0 and _says_nothing(leads, cell.entities)  # `14.0% in 2021 and 13.3% in 2022`, `8.0% (2021: 8.8%)`
    leads, behind = _own_part(leads, entities=cell.entities) if ends else (leads, "")
    parts = (
        (leads, 1.0),
        (behind, 0.6),
        (re.split(r"[,;(]|\band\b|\bagainst\b", one.text[end : min(right, end + WINDOW)])[0], 0.9),
        (one.text[max(0, shared, left - WINDOW) : left], 0.97 if parallel else 0.6),
        (one.text[max(0, left - WINDOW) : shared], 0.6),
        (one.text[right : right + WINDOW], 0.35),
    )
    near: dict[str, float] = {}
    for text, weight in parts:
        for word in cell.heard(words_of(text, cell.entities)):
            near[word] = max(near.get(word, 0.0), weight)
    for word in () if _names_another(one, cell) else topic:  # a sentence that names another metric has its own topic
        near[word] = max(near.get(word, 0.0), 0.55)
    return near, leads


def _lead_of(one: Sentence, place: int, cell: Cell) -> int:
    """Where what leads to a figure of a sentence begins: behind the last figure that names something else."""
    while place > 0 and _says_nothing(
        one.text[one.results[place - 1].end - one.start : one.results[place].start - one.start], cell.entities
    ):
        place -= 1
    return one.results[place - 1].end - one.start if place > 0 else 0


def _of_others(leads: str, cell: Cell) -> int:
    """How many words that lead to a figure belong to other metrics of the rubric, two at most: `after opening 62` for the number at the end."""
    own = {stem(w) for w in spread(cell.words)}
    others = {stem(w) for w, weight in cell.weights.items() if weight >= 0.5} - own
    return min(2, len(others & {stem(w) for w in words_of(leads, cell.entities)}))


_CONNECT: Final = frozenset(
    [
        "against",
        "compared",
        "versus",
        "vs",
        "respectively",
        "after",
        "while",
        "prior",
        "previous",
        "earlier",
        "before",
        "follow",
        "following",
        "about",
        "approximately",
    ]
)


def _says_nothing(text: str, entities: frozenset[str] = frozenset()) -> bool:
    """Whether a text names no thing of its own: `in fiscal 2022, against`."""
    return not words_of(text, entities) - _CONNECT


def _own_part(leads: str, entities: frozenset[str]) -> tuple[str, str]:
    """Of the text between two figures what leads to the second, and what goes with the first: `62 were opened and 6 …`."""
    parts = list(re.finditer(r",\s|;|\band\b|\bbut\b|\bwhile\b", leads))
    for match in reversed(parts):
        if not _says_nothing(leads[match.end() :], entities):
            return leads[match.end() :], leads[: match.start()]
    first = parts[0] if parts else None
    return (
        (leads, "")
        if first is None or _says_nothing(leads[: first.start()], entities)
        else (leads[first.start() :], leads[: first.start()])
    )


def _names_another(one: Sentence, cell: Cell) -> bool:
    """Whether a sentence names another metric of the rubric."""
    return any(w not in cell.words and cell.weights.get(w, 0.0) >= 0.5 for w in one.words)


def _label(one: Sentence, number: Number) -> str:
    """What leads to a figure and what follows it, up to its neighbours."""
    at, end = number.start - one.start, number.end - one.start
    place = bisect_left(one.numbers, number.start, key=lambda n: n.start)
    right = one.numbers[place + 1].start - one.start if place + 1 < len(one.numbers) else len(one.text)
    left = at
    while place and _says_nothing(one.text[left:at]) and at - left < WINDOW:
        place -= 1
        left = one.numbers[place].end - one.start
    left = 0 if _says_nothing(one.text[left:at]) and not place else left
    return f"{one.text[max(left, at - 160) : at]} {re.split(r'[,;.]', one.text[end : min(right, end + 40)])[0]}"


def _clause(one: Sentence, number: Number, cell: Cell) -> frozenset[str]:
    """Content words of the clause that a figure stands in, up to punctuation or another figure."""
    at, end = number.start - one.start, number.end - one.start
    before = re.split(r"[,;.:()\n|]", one.text[max(0, at - 160) : at].rstrip(" :(*"))[-1]
    after = re.split(r"[,;.:()\n|\d]", one.text[end : end + 100])[0]
    words = words_of(f"{before} {after}", cell.entities)
    return frozenset(w for w in words if not CHANGE.fullmatch(w) and not AVERAGE.fullmatch(w) and not YEAR.match(w))


def _of_part(one: Sentence, number: Number, cell: Cell) -> bool:
    """Whether a figure is of the part of the year that is asked about: the last one named before it, or the one after it."""
    if not cell.part and not part_in(one.text):
        return True
    at, end = number.start - one.start, number.end - one.start
    place = bisect_left(one.numbers, number.start, key=lambda n: n.start)
    right = one.numbers[place + 1].start - one.start if place + 1 < len(one.numbers) else len(one.text)
    said = part_in(one.text[:at]) or part_in(re.split(r"[,;]", one.text[end:right])[0])
    return said == cell.part or (bool(cell.part) and not said)


def _of_entity(one: Sentence, number: Number, cell: Cell, answer: Answer) -> int:
    """1 where the figure is said of the entity, -1 where of another one, 0 where nothing is said or asked."""
    if not cell.own:
        return 0
    at, end = number.start - one.start, number.end - one.start
    after = re.match(r"\s*(?:\(|for\b|at\b|of\b|by\b|in\b|,)?\s*([\w&’'-]+)", one.text[end:])
    following = (
        re.sub(r"['’]s$", "", after[1]).lower() if after and re.match(r"\s*(?:\(|for\b|at\b|of\b|by\b|in\b)", one.text[end:]) else ""
    )
    place = bisect_left(one.numbers, number.start, key=lambda n: n.start)
    right = one.numbers[place + 1].start - one.start if place + 1 < len(one.numbers) else len(one.text)
    behind = _AT_COMPANY.search(re.split(r"[,;.]", one.text[end : min(right, end + 60)])[0])
    if following not in cell.entities and behind:
        following = re.sub(r"['’]s$", "", behind[1]).lower()
    if following in cell.entities:
        return 1 if following in cell.own else -1
    named = [
        w
        for w in (re.sub(r"['’]s$", "", w).lower() for w in re.findall(r"[\w&’'-]+", just_before(one.text, at, WINDOW)))
        if w in cell.entities
    ]
    if not named:
        under = above(answer, one.start, (cell.own, cell.entities - cell.own))
        return 0 if under is None else 1 if under == 0 else -1
    return 1 if named[-1] in cell.own else -1


_AT_COMPANY: Final = re.compile(r"\b(?:at|for|by)\s+([A-Z][\w&’'-]*)")


def _is_move(one: Sentence, number: Number, cell: Cell) -> bool:
    """Whether a figure is the size of a change, not a level."""
    if number.kind == "basis points" and cell.kind == "percent" and not cell.change and _is_level(one, number):
        return False
    if number.kind in ("points", "basis points"):
        return cell.kind not in ("points", "basis points") or cell.change
    before = just_before(one.text, number.start - one.start, 60)
    if TRAILS.match(one.text[number.end - one.start : number.end - one.start + 60]):
        return True
    if cell.change:
        if any(n.kind in ("points", "basis points") for n in one.numbers) and cell.kind in ("points", "basis points"):
            return False
        return bool(_BY.search(before) or _MOVED.search(before)) or _led_by_change(one, number) or _signed_change(one, number)
    if _signed_change(one, number):
        return True
    return bool(_BY.search(before)) and bool(CHANGE.search(just_before(one.text, number.start - one.start + WINDOW // 2, WINDOW)))


_LEVEL: Final = re.compile(
    r"(?:[:=]|\b(?:was|is|were|are|of|at|stood at|came to|amounted to|equals))\s*(?:about |approximately )?\(?$", re.IGNORECASE
)


def _is_level(one: Sentence, number: Number) -> bool:
    """Whether basis points are a level, `margin: 1,260 basis points`, and nothing in the sentence moves."""
    return bool(_LEVEL.search(just_before(one.text, number.start - one.start, 60))) and not CHANGE.search(one.text)


def _signed_change(one: Sentence, number: Number) -> bool:
    """`+99% year on year`."""
    signed = number.text[:1] in "+-−–" or one.text[max(0, number.start - one.start - 1)] == "+"
    return signed and bool(CHANGE.match(one.text[number.end - one.start :].lstrip(" (,")))


def _led_by_change(one: Sentence, number: Number) -> bool:
    """Whether a word of change leads to a figure, with no other thing's figure between: `growth was 5% in 2021 and 6% in 2022`."""
    at = number.start - one.start
    before = just_before(one.text, at, 160)
    word = next(reversed(list(CHANGE.finditer(before))), None)
    if word is None or re.search(r"[.;](?!\d)", before[word.end() :]):
        return False
    begins = number.start - len(before)
    if any(
        n.end <= begins + word.start() and not one.text[n.end - one.start : begins + word.start() - one.start].strip(" (,")
        for n in one.numbers
    ):
        return False  # it belongs to the figure before it: `+99% year on year, or 34% of revenue`
    start = begins + word.end()
    between = [n for n in one.numbers if start <= n.start < number.start]
    if between and re.search(r"\bto\s+(?:about |approximately )?[$€£(]?$", before):
        return False  # where it moved to: `improved by 27 basis points to 36.4%`
    return not between or _says_nothing(one.text[between[0].end - one.start : at])


def _other_forms(one: Sentence, number: Number, cell: Cell) -> list[Number]:
    """The same move in another unit: `0.7 percentage points (72 basis points)`."""
    if not cell.change:
        return []
    kinds = ("points", "basis points", number.kind, "plain")
    return [
        n
        for n in one.results
        if n is not number
        and n.kind in kinds
        and 0 < n.start - number.end < 25
        and _FORM.match(one.text[number.end - one.start : n.start - one.start])
    ]


_FORM: Final = re.compile(
    r"^[\s)]*[,(/=]?\s*(?:or|i\.?e\.?,?|that is,?|which is|equal to|equivalent to)?\s*(?:about |roughly |approximately |some )?[+\-−–(]?\s*$",
    re.IGNORECASE,
)
"""Between a figure and the same one in another unit."""


def from_to(answer: Answer, cell: Cell) -> tuple[Number, Number] | None:
    """(earlier, later) figure of a sentence `… from a to b`, without years."""
    wanted = spread(cell.words)
    looked = 0
    for one in answer.sentences:
        begin, sentence = one.start, one.text
        if not one.numbers or not one.about(cell.entities) & wanted:
            continue
        looked += len(one.numbers)
        if looked > MAX_CANDIDATES:
            break
        for first, second in pairwise(one.numbers[:MAX_FIGURES]):
            between = sentence[first.end - begin : second.start - begin]
            if FROM_TO.search(just_before(sentence, first.start - begin)) and re.fullmatch(r"\s*to\s*", between):
                return first, second
    return None
