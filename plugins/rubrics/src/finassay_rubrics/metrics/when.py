"""Which years a question is about, and what it wants of them: one value, a mean, a change, a rate, a direction, the year that had the most."""

import re
from collections.abc import Sequence
from typing import Final

from finassay.api.research import Question
from finassay_rubrics.metrics.formula import FormulaError
from finassay_rubrics.metrics.terms import YEAR, fold, year_of

MAX_YEARS: Final = 12
NUMBERS: Final = {
    name: number for number, name in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 1)
}


class AskError(FormulaError):
    """A question cannot be understood well enough to be answered by rule; the message says what is missing."""


_PART: Final = re.compile(
    r"\bq[1-4]\b|\bquarter(?:ly|s)?\b|\b[hH][12]\b|\bhalf[- ]year\b|\b(?:first|second|1st|2nd|latter|last)[- ]half\b|\b(?:three|six|nine|twelve|trailing)[- ]months?\b|\bltm\b|\bttm\b"
)


def is_part(text: str) -> bool:
    """Whether a period is a part of a year, or no fiscal year: `Q4 2021`."""
    return _PART.search(fold(text)) is not None


def asks_which_year(text: str) -> bool:
    """Whether the year that had the most or the least of something is asked for, which is no figure."""
    folded = fold(text)
    asks = _WHICH_YEAR.search(folded) or re.match(r"when\b", folded)
    return asks is not None and (_MOST.search(folded) or _LEAST.search(folded)) is not None


def combined(what: str) -> str:
    """How an obligation combines years: `CAGR`, `yearly` (mean of yearly growth), `average`, `growth`, `change`, `unclear`, or empty."""
    folded = fold(what)
    if _COMPOUND.search(folded):
        return "CAGR"
    grows = re.search(r"\bgrowth\b|\bgr[eo]wn?\b", folded) is not None
    moves = re.search(
        rf"\bchanged?\b|\byear[- ]over[- ]year\b|\byoy\b|\bhow much did\b|\bby how much\b|\b(?:{UP}|{DOWN}) (?:in|of)\b", folded
    )
    if re.search(r"\baverage\b|\bmean\b", folded):
        return "yearly" if grows else "unclear" if moves else "average"
    if moves:
        return "growth" if grows and not re.search(r"\bchanged?\b|\bhow much\b", folded) else "change"
    return "growth" if re.search(r"\bgrowth\b", folded) else ""


def years_of(core: str, question: Question) -> list[int]:
    """The fiscal years named, in order. Raises `AskError` for none, too many, or a part of a year."""
    text = fold(question.period.asked) if question.period and question.period.asked else ""
    if _PART.search(text or core):
        raise AskError(f"asks for a part of a year, {(text or _PART.search(core)[0])!r}; these families read annual statements alone")  # type: ignore[index]
    years = sorted({year_of(match) for match in YEAR.finditer(text)} or {year_of(match) for match in YEAR.finditer(core)})
    if not years and question.period and question.period.end:
        years = [question.period.end.year]
    if not years:
        raise AskError("names no fiscal year")
    if years[-1] - years[0] > MAX_YEARS:
        raise AskError(f"spans {years[-1] - years[0]} years; at most {MAX_YEARS} are read")
    return years


def label_of(years: Sequence[int]) -> str:
    return f"FY{years[0]}" if len(years) == 1 else f"FY{years[0]} - FY{years[-1]}"


# -- what is wanted of the years --------------------------------------------------------------------------------------

_COUNT: Final = rf"(?:\d+|{'|'.join(NUMBERS)})"
_COMPOUND: Final = re.compile(r"\bcagr\b|\bcompound(?:ed)?\s+(?:annual\s+|average\s+)?(?:growth|rate)")
_YEARLY: Final = re.compile(
    r"\b(?:average|mean)\s+(?:of\s+)?(?:the\s+)?(?:annual|yearly|year[- ]over[- ]year|yoy)?\s*(?:rates?\s+of\s+)?(?:growth|increase|change|decline)s?\b"
)
_MEAN: Final = re.compile(
    rf"\b{_COUNT}[- ](?:years?|yr)\s+(?:average|mean|avg)\b|\b(?:average|mean|avg)\b[^.?]{{0,80}}\b(?:over|across|between|from|during|for|of|in|through)\b"
    rf"|\baveraged?\s+over\b|\bmean\s+of\b|\bon\s+average\b|\bdid\b[^.?]{{0,80}}\baverage\b"
)
_SUM: Final = re.compile(
    r"\bcumulative(?:ly)?\b|\bin\s+aggregate\b|\baggregate[d]?\b|\b(?:combined|in\s+total|altogether)\s+(?:over|across|from|between|for)\b|\bsum\b[^.?]{0,60}\b(?:over|across)\b"
)
_THRESHOLD: Final = re.compile(
    r"\b(?:more|less|greater|higher|lower|fewer)\s+than\b|\bat\s+(?:least|most)\b|\bexceed|\b(?:above|below|over|under)\s+[$\d]"
)
UP: Final = (
    r"increas(?:e|es|ed|ing)|ris(?:e|es|en|ing)|rose|grow(?:s|n|ing|th)?|grew|improv(?:e|es|ed|ing|ement)|expand(?:s|ed|ing)?|higher|up"
)
DOWN: Final = (
    r"decreas(?:e|es|ed|ing)|declin(?:e|es|ed|ing)|fall(?:s|en|ing)?|fell|drop(?:s|ped|ping)?|shr(?:ink|inks|ank|unk|inking)|worsen(?:s|ed|ing)?|"
    r"deteriorat(?:e|es|ed|ing)|contract(?:s|ed|ing)|lower|down|reduc(?:e|es|ed|ing|tion)"
)
_MOVES: Final = re.compile(rf"\bchang(?:e|es|ed|ing)\b|\byear[- ]over[- ]year\b|\byoy\b|\b(?:{UP}|{DOWN})\b")
_MEASURED: Final = re.compile(
    r"\b(?:by\s+)?how\s+(?:much|many|large|big|far)\b|\bby\s+what\b|\bwhat(?:'s|\s+is|\s+was|\s+were)?\b|\bcalculate\b|\bcompute\b|\bstates?\s+the\b"
)
_OPENS: Final = re.compile(r"(?:^|[.?!:;]\s+|,\s*)(?:please\s+)?(?:did|has|have|is|are|was|were|does|do)\s+(?!not\b)[^.?]*\?")
_EITHER: Final = re.compile(
    rf"\bwhether\b|\b(?:{UP})\b[^.?]{{0,12}}\bor\b[^.?]{{0,12}}\b(?:{DOWN})\b|\b(?:{DOWN})\b[^.?]{{0,12}}\bor\b[^.?]{{0,12}}\b(?:{UP})\b|\bin\s+which\s+direction\b"
)
_SIDE: Final = re.compile(r"\b(?:positive|negative)\b")
_MOST: Final = re.compile(
    r"\b(?:high(?:est|er)|larg(?:est|er)|great(?:est|er)|bigg(?:est|er)|most|best|better|peak(?:ed)?|maximum|max|strong(?:est|er)|top(?:ped)?)\b"
)
_LEAST: Final = re.compile(
    r"\b(?:low(?:est|er)|small(?:est|er)|least|minimum|min|weak(?:est|er)|worst|worse|bottom(?:ed)?|trough(?:ed)?)\b"
)
_OF_YEARS: Final = re.compile(
    r"\b(?:highest|lowest|largest|smallest|peak|maximum|minimum)\b[^.?]*\b(?:of|over|across|among|in|between|from|during)\b"
)
_WHICH_YEAR: Final = re.compile(
    r"\b(?:which|what)\s+(?:of\s+(?:the|these|those)\s+)?(?:fiscal\s+|financial\s+)?years?\b|\bthe\s+(?:fiscal\s+)?year\s+(?:in\s+which|with|when|that\s+had)\b"
)


def mode_of(core: str, years: Sequence[int]) -> str:
    """`compound`, `yearly` (mean of yearly growth), `mean`, `sum`, `change`, `direction`, `side`, `year`, `extreme`, or empty for one year's value.

    Raises `AskError` for several years with nothing that combines them, and for a question of yes or no that figures alone do not decide.
    """
    if _COMPOUND.search(core):
        return "compound"
    if _WHICH_YEAR.search(core) and (_MOST.search(core) or _LEAST.search(core)):
        return "year"
    if (
        len(years) > 1
        and _OF_YEARS.search(core)
        and not _MOVES.search(core)
        and not _MEAN.search(core)
        and not re.search(r"\bwhich\b", core)
    ):
        return "extreme"
    if (_YEARLY.search(core)) and (len(years) > 1 or _count(core)):
        return "yearly"
    if len(years) > 1 and _SUM.search(core):
        return "sum"
    if (len(years) > 1 or _count(core)) and _MEAN.search(core):
        return "mean"
    if (judged := _judged(core, years)) is not None:
        return judged
    if _MOVES.search(core) and len(years) <= 2:
        return "change"
    if len(years) > 1:
        raise AskError("asks for several years without a mean, a change or a growth rate of them")
    return ""


def _judged(core: str, years: Sequence[int]) -> str | None:
    """What a question is of that is answered by a word; None for one that is answered by a figure."""
    opens = _OPENS.search(core)
    told = opens[0] if opens else core if _EITHER.search(core) and not re.search(r"\bby\s+how\b|\bby\s+what\b", core) else ""
    if not told:
        return None
    if opens and _MEASURED.search(told):
        return None
    if _THRESHOLD.search(told):
        raise AskError("asks whether a figure passes a threshold, which is left to who reads it")
    if _MOVES.search(told) and len(years) <= 2:
        return "direction"
    if _SIDE.search(told) and len(years) == 1:
        return "side"
    if opens is not None:
        raise AskError("asks for a judgement, which figures alone do not make")
    return None


def most(core: str) -> bool:
    """Whether the most is asked for, not the least. Raises `AskError` where it cannot be told."""
    high, low = _MOST.search(core), _LEAST.search(core)
    if high is None and low is None:
        raise AskError("asks for neither the most nor the least")
    return high is not None and (low is None or high.start() < low.start())


def spanned(core: str, years: Sequence[int], mode: str) -> tuple[int, ...]:
    """The years that are needed. Raises `AskError` where a rate or a mean lacks its first year."""
    first, last = years[0], years[-1]
    if mode in ("change", "direction") and first == last:
        return (last - 1, last)
    if mode in ("compound", "yearly"):
        if first < last:
            return (first, last) if mode == "compound" else tuple(range(first, last + 1))
        count = _count(core)
        if not 1 < count <= MAX_YEARS:
            raise AskError("asks for a rate over several years without its first year")
        return (last - count, last) if mode == "compound" else tuple(range(last - count, last + 1))
    if mode == "mean" and first == last:
        return tuple(range(last - _count(core) + 1, last + 1))
    if mode == "year" and first == last:
        raise AskError("asks for one year among several without naming them")
    listed = mode in ("year", "extreme") and re.search(r"\bof (?:the |these )?(?:fiscal )?years [^.?-]*\band\b", core)
    ranged = mode in ("mean", "sum", "year", "extreme") and len(years) == 2 and not listed
    return tuple(range(first, last + 1)) if ranged else tuple(years)


def _count(core: str) -> int:
    """The number of years of `three-year`, `over the last 5 years`; 0 where none is told."""
    match = re.search(rf"\b({_COUNT})[- ](?:years?|yr)\b|\b(?:last|past)\s+({_COUNT})\s+(?:fiscal\s+)?years\b", core)
    text = (match[1] or match[2]) if match else ""
    count = NUMBERS.get(text) or (int(text) if text.isdigit() else 0)
    return count if 1 < count <= MAX_YEARS else 0
