"""What a question asks for: metric, years, way of combining them, unit, decimals, and whose."""

import re
from decimal import Decimal
from functools import reduce
from itertools import pairwise
from typing import Final

from attrs import evolve, frozen

from finassay.api.research import Question
from finassay_rubrics.metrics.clear import refuse_explanation, refuse_qualified
from finassay_rubrics.metrics.conventions import bound, without_stated
from finassay_rubrics.metrics.entities import entities
from finassay_rubrics.metrics.formula import Extreme, Growth, Mean, Node, Operation, Pick, Sign, shifted
from finassay_rubrics.metrics.table import DECIMALS, UNITS
from finassay_rubrics.metrics.terms import Definitions, bare, definitions, fold
from finassay_rubrics.metrics.wanted import PERCENT, Wanted, wanted
from finassay_rubrics.metrics.when import DOWN, UP, AskError, label_of, mode_of, most, spanned, years_of


@frozen
class Ask:
    """A question understood. `formula` is over lines by offset from `year`."""

    metric: str
    """Id in the table; `own` for what the query defines itself."""
    what: str
    """In words, for a reader."""
    kind: str
    """As in `UNITS`, `points` for a difference of percentages, or `words` where the answer is no figure."""
    formula: Node
    year: int
    """The latest fiscal year asked for."""
    years: tuple[int, ...]
    label: str
    """The period as asked, `FY2015 - FY2017`."""
    mode: str = ""
    """`mean`, `sum`, `change`, `growth`, `compound`, `yearly`, `direction`, `side`, `year`, `extreme` or empty for one year."""
    decimals: int | None = None
    scale: Decimal | None = None
    """One million where the answer is asked in millions."""
    dollars: bool = False
    """Whether US dollars are asked for by name."""
    entities: tuple[str, ...] = ()
    """Whose figures, best guess first."""

    @property
    def unit(self) -> str:
        return "" if self.kind == "words" else "percentage points" if self.kind == "points" else UNITS[self.kind]

    @property
    def times(self) -> str:
        """The factor that a script puts before the formula."""
        return "100" if self.kind in ("percent", "points") else ""

    @property
    def shown(self) -> int:
        """Decimals of an answer: asked for, or usual for the kind."""
        return self.decimals if self.decimals is not None else DECIMALS.get(self.kind, 1)


def understand(question: Question) -> Ask:
    """What a question asks for, from its fields first and its text where they are empty. Raises `AskError`, `FormulaError`."""
    folded = _without_names(fold(question.text), question)
    given = definitions(folded)
    if question.definition:
        body = fold(question.definition)
        more = definitions(body)
        named = dict(more.bodies) if more.bodies else {question.metric or "own": body}
        given = Definitions({**given.bodies, **named}, given.rest)
    rest, conventions = without_stated(given.rest)
    core = bare(rest)
    refuse_qualified(core)
    if not question.metric:
        refuse_explanation(core)
    years = years_of(core, question)
    mode = mode_of(core, years)
    span = spanned(core, years, mode)
    percent = question.unit.startswith("percent") or bool(PERCENT.search(given.rest))
    what = wanted(question, core, given, span[-1], percent)
    what = evolve(what, formula=bound(what.formula, conventions))
    ask = _combined(what, span, mode, core, percent or bool(re.search(r"\bgrowth\b|\bgr[eo]w(?:s|n|ing)?\b", core)))
    label = question.period.asked if question.period and question.period.asked else label_of(span)
    return evolve(
        ask,
        label=label,
        decimals=_decimals(given.rest, question),
        scale=_scale(question),
        dollars=_dollars(question),
        entities=entities(question),
    )


def _without_names(folded: str, question: Question) -> str:
    """The text without the name of whose figures are asked, as long as before: one called Best asks for no best, `Core Labs` for nothing adjusted."""
    name = fold(question.entity)
    if len(name) < 2:
        return folded
    return re.sub(rf"(?<!\w){re.escape(name)}(?:'s|')?(?!\w)", lambda m: " " * len(m[0]), folded)


def _combined(what: Wanted, years: tuple[int, ...], mode: str, core: str, percent: bool) -> Ask:
    """The formula over all years asked, by offset from the last."""
    first, base = years[0], years[-1]
    at = {year: shifted(what.formula, year - base) for year in years}
    ask = Ask(what.id, what.what, what.kind, what.formula, base, years, "", mode)
    if what.kind == "words":
        if mode:
            raise AskError("asks for one of several, and for more than one year")
        return ask
    match mode:
        case "mean":
            return evolve(ask, formula=Mean(tuple(at.values())))
        case "sum" if what.kind == "amount":
            return evolve(ask, formula=reduce(lambda one, other: Operation("+", one, other), at.values()))
        case "sum":
            raise AskError("asks for the sum over years of what is no amount")
        case "compound":
            return evolve(ask, kind="percent", formula=Growth(at[first], at[base], base - first))
        case "yearly" if what.kind == "amount":
            return evolve(ask, kind="percent", formula=Mean(tuple(Growth(at[a], at[b], 1) for a, b in pairwise(years))))
        case "yearly":
            raise AskError("asks for yearly growth of what is no amount")
        case "year":
            return evolve(ask, kind="words", formula=Pick(tuple(f"FY{year}" for year in years), tuple(at.values()), most(core)))
        case "extreme":
            return evolve(ask, formula=Extreme(tuple(at.values()), most(core)))
        case "side":
            return evolve(ask, kind="words", formula=Sign(what.formula, "positive", "negative", "zero"))
        case "direction":
            return evolve(ask, kind="words", formula=Sign(Operation("-", at[base], at[first]), "increased", "declined", "did not change"))
        case "change" if what.kind == "percent":
            return evolve(ask, kind="points", formula=Operation("-", at[base], at[first]))
        case "change" if percent:
            return evolve(ask, kind="percent", mode="growth", formula=Growth(at[first], at[base], 1))
        case "change" if _falls(core):
            return evolve(ask, formula=Operation("-", at[first], at[base]))
        case "change":
            return evolve(ask, formula=Operation("-", at[base], at[first]))
    return ask


def _falls(core: str) -> bool:
    """Whether a fall is asked by its size: `by how much did X fall`, `the decrease in X`."""
    up, down = (re.search(rf"\b(?:{words})\b", core) for words in (UP, DOWN))
    return down is not None and up is None and not re.search(r"\bchange", core)


# -- unit and decimals ------------------------------------------------------------------------------------------------

_PLACES: Final = re.compile(r"\b(\d|zero|one|two|three|four|five|six)\s+(?:decimals?\b|decimal\s+(?:place|point|digit)s?)")
_COUNTS: Final = {"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}


def _decimals(text: str, question: Question) -> int | None:
    if question.decimals is not None:
        return question.decimals
    match = _PLACES.search(text)
    if match:
        return _COUNTS.get(match[1], int(match[1]) if match[1].isdigit() else 0)
    return 0 if re.search(r"\bnearest\s+(?:whole|integer|million|percent\b)", text) else None


def _dollars(question: Question) -> bool:
    return re.search(r"\busd\b|\bus\$|\bu\.?s\.? dollars?\b", f"{fold(question.unit)} {fold(question.text)}") is not None


def _scale(question: Question) -> Decimal | None:
    text = fold(question.unit) + " " + fold(question.text)
    match = re.search(r"(?:usd|us\$|\$|dollars?)\s+(?:in\s+)?(thousand|million|billion)s?\b|\bin\s+(thousand|million|billion)s\b", text)
    powers = {"thousand": 3, "million": 6, "billion": 9}
    return Decimal(10) ** powers[match[1] or match[2]] if match else None


__all__ = ["Ask", "AskError", "understand"]
