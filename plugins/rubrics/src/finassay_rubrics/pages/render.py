"""From a rubric to Markdown and HTML. Queries, quotes and criteria are other people's words: escaped, and nothing invisible in them."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from attrs import frozen
from jinja2 import Environment, PackageLoader, StrictUndefined

from finassay_rubrics.record.rubric import ANY, Criterion, Evidence, Obligation, Review, Route, Rubric, Tolerance

MAX_QUOTE: Final = 1_500
MAX_HISTORY: Final = 200
"""Entries of what came back that a page holds; the whole stands in violations.jsonl."""
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>()#+!|~-])")


@frozen
class Shown:
    """An obligation with its criteria."""

    obligation: Obligation
    criteria: tuple[Criterion, ...]


@frozen
class CameBack:
    """A draft or a review that was sent back: of which obligation or criterion, by which rule (empty for a reviewer), why."""

    obligation: str
    place: str
    rule: str
    reason: str


def html(rubric: Rubric, history: Sequence[CameBack] = ()) -> str:
    """A whole page, self-contained. `history` is what came back while the rubric was made."""
    return _environment(escape=True).get_template("rubric.html.j2").render(**_values(rubric, history))


def markdown(rubric: Rubric, history: Sequence[CameBack] = ()) -> str:
    return _environment(escape=False).get_template("rubric.md.j2").render(**_values(rubric, history))


def _values(rubric: Rubric, history: Sequence[CameBack]) -> Mapping[str, Any]:
    shown = tuple(Shown(o, tuple(c for c in rubric.criteria if c.obligation_id == o.id)) for o in rubric.obligations)
    return {
        "r": rubric,
        "parts": shown,
        "grounded": sum(1 for c in rubric.criteria if c.status == "grounded"),
        "unresolved": sum(1 for c in rubric.criteria if c.status == "unresolved"),
        "gates": [c.id for c in rubric.criteria if c.gate == "must_pass"],
        "held": sum((c.points for c in rubric.criteria), Decimal(0)),
        "total": sum((o.points for o in rubric.obligations), Decimal(0)),
        "frozen": sum((o.frozen for o in rubric.obligations), Decimal(0)),
        "waiting": [_item(line) for line in rubric.queued],
        "open": sum((o.points for o in rubric.obligations if not o.graded), Decimal(0)),
        "ANY": ANY,
        "history": history[:MAX_HISTORY],
        "more": max(0, len(history) - MAX_HISTORY),
    }


def _environment(*, escape: bool) -> Environment:
    made = Environment(
        loader=PackageLoader("finassay_rubrics.pages"), autoescape=escape, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters.update(plain=visible, md=in_markdown, value=value_of, tolerance=tolerance_in_words, review=review_in_words, where=place_of)
    made.filters.update(evidence=evidence_in_words, band=band_of, rule=rule_of)
    made.tests["numeric"] = lambda route: isinstance(route.value, Decimal)
    return made


def visible(text: object) -> str:
    """One line, with nothing in it that cannot be seen or that turns its direction."""
    joined = " ".join(str(text).replace("\ufffe", "").split())
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn") else c for c in joined)[:MAX_QUOTE]


def in_markdown(text: object) -> str:
    """The same as Markdown that says just this."""
    return _MARKDOWN.sub(r"\\\1", visible(text)).replace("&", "&amp;")


def value_of(route: Route) -> str:
    """`86,392 millions USD`, `13.33 percent`, or words. Computed values are shown to two decimals more than must be stated."""
    if not isinstance(route.value, Decimal):
        return visible(route.value)
    decimals = max(0, -int(route.value.as_tuple().exponent))
    if route.tolerance and route.tolerance.decimals is not None:
        decimals = min(decimals, max(0, route.tolerance.decimals) + 2)
    return " ".join(filter(None, (f"{route.value:,.{min(decimals, 6)}f}", route.scale, route.unit)))


def tolerance_in_words(tolerance: Tolerance | None) -> str:
    return visible("; ".join(filter(None, (rule_of(tolerance), band_of(tolerance)))))


def band_of(tolerance: Tolerance | None) -> str:
    """`±0.05 or ±0.1 %`; empty where there is no band."""
    if tolerance is None:
        return ""
    parts = [f"±{tolerance.abs:f}" if tolerance.abs else "", f"±{100 * tolerance.rel:f} %" if tolerance.rel else ""]
    return " or ".join(filter(None, parts))


def rule_of(tolerance: Tolerance | None) -> str:
    return "" if tolerance is None else visible("; ".join(dict.fromkeys(filter(None, (tolerance.rule, tolerance.rounding)))))


def evidence_in_words(criterion: Criterion) -> str:
    """`3 quotes, 1 script`: each quote once."""
    found = {(e.kind, e.quote_sha256 or e.script_sha256 or e.quote or e.script) for r in criterion.expected for e in r.evidence}
    kinds = [kind for kind, _ in found]
    told = ((kinds.count("source"), "quote"), (kinds.count("script"), "script"))
    return ", ".join(f"{number} {what}{'' if number == 1 else 's'}" for number, what in told if number)


def _item(line: str) -> tuple[str, str]:
    """The item of the queue and why it waits, of a line of the rubric's."""
    item, colon, why = line.partition(": ")
    return (item, why) if colon else ("", line)


def _short(value: Decimal | str) -> str:
    """A value as a reader wants it: at most six significant digits after the point is reached."""
    if not isinstance(value, Decimal) or not value.is_finite():
        return str(value)
    decimals = max(0, -int(value.as_tuple().exponent))
    return f"{value:,.{min(decimals, 4)}f}"


def review_in_words(review: Review) -> str:
    found = "" if review.value is None else f" ({_short(review.value)})"
    look = ", second look" if review.seen_quotes else ""
    return visible(f"{review.reviewer} {review.verdict}{found}{look}" + (f": {review.reason}" if review.reason else ""))


def place_of(evidence: Evidence) -> str:
    """`DOCUMENT, page 62, published 2023-02-08`."""
    page = f", page {evidence.page}" if evidence.page is not None else ""
    day = f", published {evidence.published}" if evidence.published else ", undated"
    return visible(f"{evidence.document}{page}{day}")
