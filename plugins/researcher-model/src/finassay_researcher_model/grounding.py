"""From what a model handed in to a derivation that holds: quotes found on their pages, numbers found in quotes, scripts run. Nothing is believed."""

import ast
import re
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Final

from attrs import define, field, frozen

from finassay.api.errors import FinassayError
from finassay.api.research import Derivation, Input, Period, Quote, Script
from finassay.api.verdict import Json
from finassay_researcher_model.columns import wrong_column
from finassay_researcher_model.figures import IN_SCALE, SAID, SCALES, Figure, figure_in
from finassay_researcher_model.forms import InputForm, QuoteForm, ValueForm
from finassay_researcher_model.toolbox import Toolbox
from finassay_rubrics.grading.dates import dates, same
from finassay_rubrics.record.quotes import located, normal_form

MAX_QUOTE: Final = 2_000
"""Characters of a page that a quote covers."""
MIN_LETTERS: Final = 2
UNITS: Final = {
    "usd": "USD", "$": "USD", "us$": "USD", "us dollars": "USD", "dollars": "USD",
    "usd/share": "USD/share", "usd per share": "USD/share", "$/share": "USD/share", "dollars per share": "USD/share",
    "percent": "percent", "%": "percent", "pct": "percent", "per cent": "percent", "percentage": "percent",
    "percentage points": "percentage points", "percentage point": "percentage points", "pp": "percentage points", "ppt": "percentage points",
    "points": "percentage points",
    "times": "times", "x": "times", "multiple": "times", "ratio": "times", "turns": "times",
    "days": "days", "day": "days", "count": "count", "number": "count", "units": "count", "shares": "count",
}  # fmt: skip
_CURRENCY: Final = re.compile(r"([A-Z]{3})(?:\s*(?:/|per)\s*share)?")
_YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_SHORT_YEAR: Final = re.compile(r"(?:\b(?:FY|CY|fiscal\s)\s?'?|(?<!\w)')(\d\d)(?!\d)", re.IGNORECASE)


class UngroundedError(Exception):
    """What does not hold, in words for whoever handed it in."""


@define
class Grounds:
    """The checks of one value."""

    tools: Toolbox
    form: ValueForm
    period: str = ""
    """As it was asked: FY2022."""
    numeric: bool = True
    """Whether a number is wanted, not words."""
    kind: str = "numeric"
    quotes: list[Quote] = field(init=False, factory=list)

    def derivation(self) -> Derivation:
        """The value with what it rests on. Raises `UngroundedError`, and what stops everything."""
        form = self.form
        if not form.quotes:
            raise UngroundedError("there is no quote")
        self.quotes = [self._quote(one, number) for number, one in enumerate(form.quotes, start=1)]
        figures = [self._figure(one) for one in form.inputs]
        inputs = tuple(self._input(one, figure) for one, figure in zip(form.inputs, figures, strict=True))
        names = [one.name for one in inputs]
        if len(set(names)) < len(names):
            raise UngroundedError("two inputs have one name")
        self._scales()
        end = self._end()
        self._columns(inputs, end)
        script = self._script(inputs) if form.code.strip() else None
        value = self._number(inputs, script) if self.numeric else self._words(script)
        if self.numeric:
            self._year(end)
        steps = [figure.step * SCALES[one.scale] for one, figure in zip(form.inputs, figures, strict=True)]
        return Derivation(
            value=value,
            unit=self._unit() if self.numeric else "",
            period=Period(self.period, end) if self.period or end else None,
            quotes=tuple(self.quotes),
            inputs=inputs if script is not None or self.numeric else (),
            script=script,
            step=max(steps) if steps and self.numeric else None,
        )

    # -- quotes and numbers -------------------------------------------------------------------------------------------

    def _quote(self, form: QuoteForm, number: int) -> Quote:
        what = f"quote {number}"
        page = self.tools.page(form.document, form.page)
        if isinstance(page, str):
            raise UngroundedError(f"{what}: {page}")
        if sum(c.isalpha() for c in form.text) < MIN_LETTERS:
            raise UngroundedError(f"{what} holds no words: take the whole line, with its label")
        place = located(page.text, form.text)
        if place is None:
            raise UngroundedError(f"{what} does not stand on page {form.page} of {form.document}: {form.text[:80]!r}")
        start, end = place
        if end - start > MAX_QUOTE:
            raise UngroundedError(f"{what} is longer than {MAX_QUOTE} characters")
        item = self.tools.items[form.document.strip()]
        return Quote(item.source, item.reference, page.number, start, end, page.text[start:end], page.digest, item.published)

    def _figure(self, form: InputForm) -> Figure:
        if not 1 <= form.quote <= len(self.quotes):
            raise UngroundedError(f"input {form.name}: there is no quote {form.quote}; quotes are counted from 1")
        found = figure_in(self.quotes[form.quote - 1].text, form.shown)
        if isinstance(found, str):
            raise UngroundedError(
                f"input {form.name}: {found} {form.quote}" if found.endswith("the quote") else f"input {form.name}: {found}"
            )
        return found

    def _input(self, form: InputForm, figure: Figure) -> Input:
        scale = SCALES[form.scale]
        period = Period(form.period) if form.period else None
        return Input(form.name, _plain(figure.value * scale), form.quote - 1, figure.text, scale, period, form.line)

    def _scales(self) -> None:
        """Each scale is said by a quote of its document; where a heading gives one, a copied amount takes it."""
        for form in self.form.inputs:
            reference = self.quotes[form.quote - 1].reference
            told = "\n".join(q.text for q in self.quotes if q.reference == reference)
            if form.scale != "units" and not SAID[form.scale].search(told):
                raise UngroundedError(
                    f"input {form.name}: no quote of its document says that it is in {form.scale}; quote the heading that does"
                )
            heading = IN_SCALE.search(told)
            if form.scale == "units" and heading and not self.form.code.strip() and self._unit_is_amount():
                raise UngroundedError(f"input {form.name} is in {heading[1].lower()} by its heading, not in units")

    def _columns(self, inputs: Sequence[Input], end: date | None) -> None:
        """Numbers stand in the columns of their periods, as far as headings that are quoted tell. A copied number's is the one asked for."""
        copied = len(inputs) == 1 and not self.form.code.strip()
        for one in inputs:
            own = years_of(one.period.asked if one.period else "") or (years_of(self.period) if copied else set())
            if len(own) != 1:
                continue
            quote = self.quotes[one.quote]
            headings = [q.text for q in self.quotes if q.reference == quote.reference]
            last = end if own == years_of(self.period) else None
            if told := wrong_column(quote.text, one.shown, headings, min(own), last):
                raise UngroundedError(f"input {one.name}: {told}")

    # -- values -------------------------------------------------------------------------------------------------------

    def _script(self, inputs: Sequence[Input]) -> Script:
        """The script, run; one that says the same whatever it is given computes nothing."""
        code = self.form.code
        if not inputs:
            raise UngroundedError("the code has no inputs")
        named = _strings(code)
        unused = [one.name for one in inputs if one.name not in named]
        if unused:
            raise UngroundedError(f"the code does not read the input {unused[0]!r} by its name")
        values = [one.value for one in inputs]
        script = self._run({one.name: str(one.value) for one in inputs})
        if "value" not in script.output:
            raise UngroundedError('the code printed no "value"')
        others = ([v * (n + 2) + n + 1 for n, v in enumerate(values)], values[::-1], [-v for v in values])
        for other in others:
            if self._changes(script, {one.name: f"{v:f}" for one, v in zip(inputs, other, strict=True)}):
                return script
        raise UngroundedError("the code gives the same value whatever its inputs are")

    def _run(self, given: Mapping[str, Json]) -> Script:
        try:
            return self.tools.desk.run(self.form.code, given)
        except FinassayError as error:
            if error.retry:
                raise
            raise UngroundedError(str(error)[:400]) from error

    def _changes(self, script: Script, given: Mapping[str, Json]) -> bool:
        try:
            return self._run(given).output.get("value") != script.output.get("value")
        except UngroundedError:
            return True

    def _number(self, inputs: Sequence[Input], script: Script | None) -> Decimal:
        if script is None:
            if len(inputs) != 1:
                raise UngroundedError(f"a copied value has one input, and there are {len(inputs)}; several need code")
            return inputs[0].value
        said = script.output.get("value")
        try:
            value = Decimal(str(said)) if not isinstance(said, bool) else Decimal("NaN")
        except InvalidOperation:
            value = Decimal("NaN")
        if not value.is_finite():
            raise UngroundedError(f'the code printed no number as "value": {str(said)[:60]!r}')
        return value

    def _words(self, script: Script | None) -> str:
        if script is not None:
            said = script.output.get("value")
            if not isinstance(said, str) or not said.strip():
                raise UngroundedError('the code printed no words as "value"')
            return said.strip()[:600]
        words = self.form.words.strip()
        if not words:
            raise UngroundedError("there is neither a value in words nor code that prints one")
        if self.kind == "date":
            return self._day(words)
        parts = [part.strip() for part in words.split(";") if part.strip()] if self.kind == "set" else [words]
        quoted = [normal_form(q.text).casefold() for q in self.quotes]
        for part in parts:
            if not any(normal_form(part).casefold() in text for text in quoted):
                raise UngroundedError(
                    f"{part[:60]!r} stands in none of the quotes: copy the words as they stand, or compute a verdict by code"
                )
        return "; ".join(parts)

    def _day(self, words: str) -> str:
        asked = list(dates(words))
        if len(asked) != 1:
            raise UngroundedError(f"{words[:40]!r} is not one day, written 2022-09-30")
        if not any(same(one, asked[0]) and one.day == asked[0].day for q in self.quotes for one in dates(q.text)):
            raise UngroundedError(f"{words[:40]!r} stands in none of the quotes")
        one = asked[0]
        return f"{one.year:04d}-{one.month:02d}" + (f"-{one.day:02d}" if one.day else "")

    # -- unit and period ----------------------------------------------------------------------------------------------

    def _unit(self) -> str:
        unit = unit_of(self.form.unit)
        if not unit:
            raise UngroundedError(
                f"the unit {self.form.unit[:30]!r} is none of USD or another currency code, USD/share, percent, percentage points, times, days, count"
            )
        return unit

    def _unit_is_amount(self) -> bool:
        return bool(re.fullmatch(r"[A-Z]{3}", unit_of(self.form.unit)))

    def _end(self) -> date | None:
        if not self.form.period_end.strip():
            return None
        try:
            return date.fromisoformat(self.form.period_end.strip())
        except ValueError:
            raise UngroundedError(f"period_end {self.form.period_end!r} is no day such as 2022-09-30") from None

    def _year(self, end: date | None) -> None:
        """A quote shows the year that was asked, or that of the period's end."""
        asked = years_of(self.period)
        if end is not None:
            asked |= {end.year}
            if asked and years_of(self.period) and min(abs(end.year - year) for year in years_of(self.period)) > 1:
                raise UngroundedError(f"period_end {end} is not of {self.period}")
        told = set[int]().union(*(years_of(q.text) for q in self.quotes))
        if asked and not asked & told:
            raise UngroundedError(f"no quote shows the year of {self.period or end}; quote the heading of the column")


@frozen
class Nothing:
    """A value that is not claimed, with the reason."""

    reason: str


def claimed(form: ValueForm) -> Nothing | None:
    """Whether a form says itself that there is no value: then why."""
    if form.quotes or form.inputs or form.code.strip() or form.words.strip():
        return None
    return Nothing(" ".join(form.reason.split()) or "no value was handed in, and no reason")


def unit_of(text: str) -> str:
    """A unit by its standard name; empty for one that is not known."""
    plain = " ".join(text.split())
    known = UNITS.get(plain.lower())
    if known:
        return known
    match = _CURRENCY.fullmatch(plain)
    return (f"{match[1]}/share" if "share" in plain else match[1]) if match else ""


def years_of(text: str) -> set[int]:
    """Years that a text names: 2022, FY22, '22."""
    return {int(m[0]) for m in _YEAR.finditer(text)} | {2000 + int(m[1]) for m in _SHORT_YEAR.finditer(text)}


def _plain(value: Decimal) -> Decimal:
    return Decimal(f"{value.normalize():f}") if value else Decimal(0)


def _strings(code: str) -> set[str]:
    try:
        return {node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()


def reasons(error: UngroundedError) -> str:
    """The error on one line, bounded."""
    return " ".join(str(error).split())[:500]
