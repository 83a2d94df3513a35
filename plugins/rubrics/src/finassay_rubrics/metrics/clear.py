"""What makes a question about something else than a line of a primary statement: adjusted figures, parts of a company, forecasts."""

import re
from typing import Final

from finassay.api.research import Question
from finassay_rubrics.metrics.entities import entities
from finassay_rubrics.metrics.terms import STATEMENTS, Name, fold, words
from finassay_rubrics.metrics.when import AskError

_QUALIFIED: Final = re.compile(
    r"\b(?:adjusted|non-?gaap|organic|constant[- ]currency|pro[- ]?forma|core|comparable|same[- ]store|segments?|divisions?|geograph\w*|regions?|regional|subsidiar\w+|"
    r"guidance|guided|forecast\w*|projected|expected|estimated|consensus|excluding|excludes?|ex-items|normali[sz]ed|underlying|per\s+(?:store|employee|unit|customer))\b"
)


def refuse_qualified(core: str) -> None:
    """Refuse what statements do not show under that name."""
    found = _QUALIFIED.search(core)
    if found:
        raise AskError(f"asks for something {found[0]!r}, which primary statements do not show")


_WHY: Final = re.compile(
    r"\bwhy\b|\bwhat\s+(?:\w+\s+)?(?:drove|drives|caused|led|contributed|explains?|explained|accounts?\s+for\s+the)\b|\b(?:reasons?|drivers?|causes?)\s+(?:for|of|behind)\b|\bhow\s+come\b"
)


def refuse_explanation(core: str) -> None:
    """Refuse a question for reasons."""
    asked = " ".join(re.findall(r"[^.?!]*\?", core)) or core
    if _WHY.search(asked):
        raise AskError("asks for reasons, which statements do not give")


def refuse_part(question: Question, core: str, name: Name, *, before: bool = True) -> None:
    """Refuse a line that is only a part of what is named: `subscription revenue`, `revenue from services`, `net sales in Europe`.

    `before` is False where the words before the name are known to belong to the question.
    """
    if before:
        _refuse_before(question, core, name)
    _refuse_after(question, core, name)


def _refuse_before(question: Question, core: str, name: Name) -> None:
    before = re.search(r"(\S+)\s*$", core[: name.start])
    if before is None:
        return
    word = before[1].strip("'\"(),.:;%-")
    original = question.text[before.start(1) : before.end(1)]
    plain = not word or word in words("before") or word.endswith("'s") or any(c.isdigit() for c in word) or not word[-1].isalpha()
    if plain or before[1][-1] in ":;,.'":
        return
    if original[:1].isupper() and word in _whose(question):
        return
    raise AskError(f"asks for {word!r} {core[name.start : name.end]}, which may be only a part of the line")


def _refuse_after(question: Question, core: str, name: Name) -> None:
    text = STATEMENTS.sub(lambda m: "§" * len(m[0]), fold(question.text))
    after = re.match(
        r"\s+(from|in|within|across|by|generated|derived|attributable|outside)\s+(?:(?:by|in|from|to|of)\s+)?(?:the\s+)?(§|[a-z][\w&.'-]*)",
        text[name.end :],
    )
    if after is None:
        return
    word = after[2].strip("'.")
    shown = question.text[name.end + after.start(2) : name.end + after.end(2)]
    if word in words("after") or word in _whose(question) or word.startswith("§") or re.match(r"fy\d*|\d", word):
        return
    if after[1] in ("in", "by") and not shown[:1].isupper():
        return
    raise AskError(f"asks for {core[name.start : name.end]} {after[1]} {shown!r}, which may be only a part of the line")


_SHARE: Final = re.compile(
    r"(?:%|(?:%|\b(?:percent|percentage|share|proportion|fraction|part|portion|number|days|times|ratio))\s+of)\s+(?:its\s+|the\s+|total\s+|net\s+|[\w.&]+'s?\s+)*$|[\w\])]\s*/\s*$"
)
_PAID: Final = re.compile(
    r"\b(?:paid|pay|generated?|used|use|provided?|spent|spend|returned?|raised?|brought|taxes|interest|conversion|burn\w*)\b"
)


def refuse_other(question: Question, core: str, name: Name) -> None:
    """Refuse a name that only stands in that of something else: `price to sales ratio`, `dividends per share`, `cash paid for licences`."""
    word = core[name.start : name.end]
    after = core[name.end :]
    told = re.match(r"[\s-]*(/\s*\w+|[a-z][\w']*)", after)
    following = told[1].strip() if told and not re.match(r"\s*[,;:.?!]", after) else ""
    of_company = question.text[name.end :].lstrip()[:1].isupper() or following in _whose(question)
    if following and not of_company and following not in words("follows") and not re.match(r"fy\d*$|\d", following):
        raise AskError(f"asks for {word + ' ' + following!r}, which may be something else than {word!r}")
    other_before = re.search(
        r"\b(?!change|changes|added|as|due|relative|compared|attributable|equal|up|amount|amounts|amounted|came|comes)\w+\s+to\s+(?:the\s+|its\s+)?$",
        core[: name.start],
    )
    if (
        _SHARE.search(core[: name.start])
        or other_before
        or (re.search(r"\bto[\s-]+$", core[: name.start]) and re.match(r"[\s-]*(?:ratio|multiple)\b", after))
    ):
        raise AskError(f"asks for something in relation to {word!r}, and not for it")
    asked = next((m[0] for m in re.finditer(r"[^.?!]*\?", core) if word in m[0]), core)
    if name.id == "cash" and _PAID.search(asked.replace("statement of cash flows", "")):
        raise AskError("asks for a flow of cash, which the balance of cash is not")


def _whose(question: Question) -> list[str]:
    """Words of the name of whose figures are asked, the first guess alone."""
    return fold(" ".join(entities(question)[:1])).replace(".", " ").split()
