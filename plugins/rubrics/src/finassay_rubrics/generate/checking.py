"""R08 for real: every document is opened again, every quote found again, every script run again."""

import json
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from finassay.api.errors import FinassayError
from finassay.api.guidance import Violation
from finassay.api.research import Desk
from finassay.api.source import Document, NotThereError
from finassay.api.verdict import Json
from finassay_rubrics.budget import frozen_record
from finassay_rubrics.generate.scripts import canonical, digest, script_problems
from finassay_rubrics.record.quotes import found_on, quote_digest
from finassay_rubrics.record.reading import digest_of
from finassay_rubrics.record.rubric import SCHEMA, Criterion, Evidence, Route, Rubric

POWER: Final = {"": 0, "thousands": 3, "millions": 6, "billions": 9}
FULL: Final = Decimal(100)
RELATIVE: Final = Decimal("1e-11")
"""How far a computed value may be from the stored one, which has 12 digits."""
Files = Callable[[str], str | None]
"""The text of a file beside the rubric, None if it is not there."""


def check_criterion(criterion: Criterion, desk: Desk, files: Files, *, run: bool = True) -> Iterator[Violation]:
    """What of a criterion's evidence does not hold. Raises what sources raise for now (`retry`)."""
    place = f"criterion {criterion.id}"
    for route in criterion.expected:
        where = "" if route.route_id == "any" else f"route {route.route_id}: "
        for evidence in route.evidence:
            told = _quoted(evidence, desk) if evidence.kind == "source" else _computed(evidence, criterion, route, desk, files, run)
            if told:
                yield Violation("R08", place, where + told)
        shown = _shown(route)
        if shown:
            yield Violation("R08", place, where + shown)


def kept_as_made(rubric: Rubric, text: str, files: Files) -> Iterator[Violation]:
    """What was changed since the rubric in `text` was made: its own content, the sum of its points, its frozen split.

    The content is taken as it stands in the file, so that a later version of this program finds the same digest. A rubric of another form, or
    one that was not made here and so has no digest, is not held to any.
    """
    data = json.loads(text)
    if data.get("schema") != SCHEMA:
        return
    made_here = bool(rubric.content_digest) or files("manifest.json") is not None
    own = {name: value for name, value in data.items() if name != "content_digest"}
    if made_here and digest_of(own) != rubric.content_digest:
        yield Violation("digest", "rubric.json", "was changed after it was made: its content_digest does not fit its content")
    total = sum((o.points for o in rubric.obligations), Decimal(0))
    if made_here and total != FULL:
        yield Violation("points", "rubric.json", f"the points of the obligations sum to {total}, not to {FULL}")
    if rubric.budget_digest and (split := files("budget.json")) is not None and (told := _other_split(rubric, split)):
        yield Violation("digest", "budget.json", told)


def _other_split(rubric: Rubric, text: str) -> str:
    """What a stored split has against the rubric; empty where it fits."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return "is no frozen split"
    made = frozen_record(rubric.query, rubric.context_digest, rubric.obligations)
    if made["digest"] != rubric.budget_digest:
        return "the frozen points of rubric.json are not those that its budget_digest was taken of"
    return "" if found == made else "is not the split that rubric.json was made with"


def count(criterion: Criterion) -> str:
    """What was looked at: `4 quotes, 1 script`."""
    kinds = [e.kind for r in criterion.expected for e in r.evidence]
    told = [(kinds.count("source"), "quote"), (kinds.count("script"), "script")]
    return ", ".join(f"{number} {what}{'' if number == 1 else 's'}" for number, what in told if number)


def _quoted(evidence: Evidence, desk: Desk) -> str:
    if not evidence.quote.strip():
        return f"{evidence.document} is named without a quote"
    known = list(getattr(desk, "sources", {}))
    if not known and hasattr(desk, "sources"):
        return ""  # no source was given: rules and scripts alone
    try:
        document = desk.open(evidence.source if evidence.source or not known else str(known[0]), evidence.document)
    except NotThereError:
        return f"{evidence.document} is not there as of the cutoff"
    except FinassayError as error:
        if error.retry:
            raise
        return f"{evidence.document} cannot be opened: {error}"
    if evidence.published != document.item.published:
        return f"{evidence.document} was published {document.item.published}, not {evidence.published}"
    return _on_page(evidence, document)


def _on_page(evidence: Evidence, document: Document) -> str:
    page = next((p for p in document.pages if p.number == evidence.page), None)
    if page is None:
        return f"{evidence.document} has no page {evidence.page}"
    where = f"page {evidence.page} of {evidence.document}"
    found = found_on(page.text, evidence.quote)
    if not found:
        return f"the quote {evidence.quote[:60]!r} does not stand on {where}"
    if quote_digest(evidence.quote) != evidence.quote_sha256:
        return f"the digest of the quote from {where} does not fit it"
    if evidence.page_sha256 and evidence.page_sha256 != page.digest:
        return f"{where} is another text now; the quote still stands there"
    at = None if evidence.start is None or evidence.end is None else page.text[evidence.start : evidence.end]
    return f"the quote does not stand at its place on {where}" if at is not None and found_on(at, evidence.quote) == "" else ""


def _computed(evidence: Evidence, criterion: Criterion, route: Route, desk: Desk, files: Files, run: bool) -> str:
    code = files(evidence.script)
    if code is None:
        return f"{evidence.script} is not there"
    if digest(code.encode()) != evidence.script_sha256:
        return f"{evidence.script} is another script now"
    if problems := script_problems(code):
        return f"{evidence.script} {problems[0]}"
    given, problem = _inputs(evidence, criterion, route, files)
    if problem or not run:
        return problem
    try:
        now = desk.run(code, given)
    except FinassayError as error:
        return f"{evidence.script}: {error}"
    if now.output_digest != evidence.stdout_sha256:
        return f"{evidence.script} gives another output now"
    return _gives(now.output, evidence, route)


def _inputs(evidence: Evidence, criterion: Criterion, route: Route, files: Files) -> tuple[dict[str, Json], str]:
    """What the script was given, as it was given, held against the numbers that are bound to quotes."""
    name = f"{evidence.script.removesuffix('.py')}.{criterion.id}.{route.route_id}.in.json"
    text = files(name)
    try:
        given = json.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        given = {one.name: f"{one.value}" for one in evidence.inputs}
    if digest(canonical(given)) != evidence.inputs_sha256:
        return given, f"the inputs of {evidence.script} are others now"
    bound = {one.name: one.value for one in evidence.inputs}
    if set(bound) != set(given) or any(_number(given[n]) != bound[n] for n in bound):
        return given, f"the inputs of {evidence.script} are not those that are bound to quotes"
    return given, ""


def _gives(output: Mapping[str, Any], evidence: Evidence, route: Route) -> str:
    value: Any = output
    for step in evidence.output.split(".") if evidence.output else ():
        value = value.get(step) if isinstance(value, Mapping) else None
    if not isinstance(route.value, Decimal):
        return "" if str(value).strip() == str(route.value).strip() else f"{evidence.script} gives {value}, not {route.value}"
    number = _number(value)
    if number is None:
        return f"{evidence.script} gives no number"
    number = number.scaleb(-POWER.get(route.scale, 0))
    return "" if _near(number, route.value) else f"{evidence.script} gives {number:.12g}, the rubric says {route.value}"


def _shown(route: Route) -> str:
    """Numbers bound to quotes are what the quotes show, and a value without a script is one of them: up to its scale and sign."""
    quotes = [e.quote for e in route.evidence if e.kind == "source"]
    for evidence in route.evidence:
        for one in evidence.inputs:
            read = _read(one.shown)
            if read is None or not isinstance(one.value, Decimal) or not _power_of_ten(abs(one.value), read):
                return f"input {one.name} is {one.value}, its quote shows {one.shown!r}"
    computed = any(e.kind == "script" for e in route.evidence)
    if isinstance(route.value, Decimal) and quotes and not computed and not any(shows(quote, route.value) for quote in quotes):
        return f"{route.value} stands in none of its quotes"
    return ""


def shows(quote: str, value: Decimal) -> bool:
    """Whether one of a quote's numbers is the value, up to its scale and sign."""
    return any(_power_of_ten(abs(value), n) for n in map(_read, quote.split()) if n is not None)


def _read(shown: str) -> Decimal | None:
    text = "".join(c for c in shown if c.isascii() and (c.isdigit() or c == "."))
    if not text:
        return Decimal(0) if shown.strip() in ("-", "–", "—") else None
    return _number(text.strip("."))


def _number(value: object) -> Decimal | None:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _near(first: Decimal, second: Decimal) -> bool:
    return abs(first - second) <= RELATIVE * max(abs(first), abs(second))


def _power_of_ten(value: Decimal, shown: Decimal) -> bool:
    """Whether one is the other in thousands, millions or billions, or the same."""
    return any(_near(value, shown.scaleb(power)) for power in (0, 3, 6, 9, -3, -6, -9))
