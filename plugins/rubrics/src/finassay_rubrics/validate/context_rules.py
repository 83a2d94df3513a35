"""Rules on the contextualized query and its budget: R01 to R06."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from finassay.api.guidance import Violation
from finassay.api.verdict import Json

ARRAYS: Final = (
    "entities",
    "periods",
    "metrics",
    "assumptions",
    "deliverables",
    "output_constraints",
    "convention_topics",
    "populations",
)
VALUES: Final = ("entities", "periods", "populations", "assumptions")
"""Arrays whose spans would give a task away in a signature."""
_NUMBER_WORD: Final = re.compile(
    r"\b(three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twenty|thirty|forty|fifty|hundred|thousand|million|billion)\b",
    re.IGNORECASE,
)
_MONTH: Final = re.compile(r"\b(january|february|march|april|june|july|august|september|october|november|december)\b", re.IGNORECASE)
_TICKER: Final = re.compile(r"\((?:NYSE|NASDAQ|AMEX)\s*:\s*[A-Z.]{1,6}\)|\$[A-Z]{1,5}\b")
_PLACEHOLDER: Final = re.compile(r"\{[a-z0-9_.,* -]+\}")
_CLAUSE: Final = re.compile(
    r"(?<![\w-])(report|compute|calculate|compare|explain|say|state|list|show|give|provide|estimate|forecast|assess|evaluate|determine|identify|describe|summari[sz]e|rank"
    r"|recommend|what|which|why|how|who|when|where|is|are|was|were|did|does|do|has|have|put|support|quantify)\b",
    re.IGNORECASE,
)


def spans(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R01: every binding is a verbatim span of the query, by code points."""
    return tuple(_spans(product))


def _spans(product: Mapping[str, Json]) -> Iterator[Violation]:
    query, seen = str(product.get("query", "")), set()
    for array, binding in bindings(product):
        place = f"binding {binding.get('id', '?')}"
        if binding.get("id") in seen:
            yield Violation("R01", place, "its id stands twice")
        seen.add(binding.get("id"))
        parts = binding.get("parts") or [binding]
        for part in parts if isinstance(parts, list) else [binding]:
            start, end, span = part.get("start"), part.get("end"), part.get("span")
            whole = isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(query)
            if not whole or query[start:end] != span:
                yield Violation("R01", place, f"the span {str(span)[:80]!r} of {array} does not stand in the query at {start}-{end}")


def bindings(product: Mapping[str, Json]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    arrays = product.get("bindings")
    for name in ARRAYS:
        items = arrays.get(name) if isinstance(arrays, Mapping) else None
        for item in items if isinstance(items, list) else []:
            if isinstance(item, Mapping):
                yield name, item


def signature(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R02: the signature is value-free."""
    text = _PLACEHOLDER.sub(" ", str(product.get("signature", "")))
    found = []
    for pattern, what in ((re.compile(r"\d"), "digit"), (_NUMBER_WORD, "number"), (_MONTH, "month"), (_TICKER, "ticker")):
        if hit := pattern.search(text):
            found.append(Violation("R02", "signature", f"holds the {what} {hit[0]!r}"))
    for array, binding in bindings(product):
        span = str(binding.get("span", ""))
        if array in VALUES and len(span) > 2 and re.search(rf"(?<!\w){re.escape(span)}(?!\w)", text, re.IGNORECASE):
            found.append(Violation("R02", "signature", f"gives the task away: {span!r} of {array}"))
    if not text.strip():
        found.append(Violation("R02", "signature", "there is none"))
    return tuple(found)


def arrays(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R03: the eight arrays are there, and everything that is asked is bound by a deliverable or a metric."""
    own = product.get("bindings")
    if not isinstance(own, Mapping):
        return (Violation("R03", "bindings", "there are none"),)
    found = [
        Violation("R03", f"bindings.{name}", "is missing; an empty array is a list")
        for name in ARRAYS
        if not isinstance(own.get(name), list)
    ]
    found += [Violation("R03", f"bindings.{name}", "is none of the eight arrays") for name in own if name not in ARRAYS]
    query = str(product.get("query", ""))
    bound = [(b.get("start"), b.get("end")) for array, b in bindings(product) if array in ("deliverables", "metrics", "output_constraints")]
    for start, end, text in sentences(query):
        asks = _CLAUSE.match(text.strip()) or "?" in text
        if asks and not any(isinstance(s, int) and isinstance(e, int) and s < end and start < e for s, e in bound):
            found.append(Violation("R03", f"query {start}-{end}", f"what is asked is bound by nothing: {text.strip()[:80]!r}"))
    return tuple(found)


def sentences(query: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, text) of the query's sentences."""
    start = 0
    for match in re.finditer(r"[.?!](?:\s+|$)", query):
        yield start, match.end(), query[start : match.end()]
        start = match.end()
    if query[start:].strip():
        yield start, len(query), query[start:]


def bank_match(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R04: a bank's task matches only if it is the only one, and every binding that bears an obligation fills one of its slots."""
    bank = product.get("bank")
    if not isinstance(bank, Mapping) or not bank.get("match"):
        return ()
    candidates, unplaced = bank.get("candidates"), bank.get("unplaced")
    found = []
    if isinstance(candidates, list) and len(candidates) != 1:
        found.append(Violation("R04", "bank", f"{len(candidates)} tasks fit; a match is complete and unique"))
    if isinstance(unplaced, list) and unplaced:
        found.append(
            Violation("R04", f"bank task {bank['match']}", f"{len(unplaced)} bindings without a place: {', '.join(map(str, unplaced[:5]))}")
        )
    return tuple(found)


def cutoff(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R05: the cutoff was written by code, and agrees with what the query says."""
    own = product.get("cutoff")
    if not isinstance(own, Mapping) or not own.get("date"):
        return (Violation("R05", "cutoff", "there is none"),)
    found = []
    if own.get("written_by") != "code" or own.get("inclusive") is not True:
        found.append(Violation("R05", "cutoff", "was not written by code as an inclusive date"))
    if own.get("agrees") is False:
        found.append(Violation("R05", "cutoff", f"the query says {own.get('phrase_in_query')!r}, the command says {own['date']}"))
    return tuple(found)


def budget(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R06: the frozen points are cents, differ by one cent at most, sum to 100, and were digested before the first tool call."""
    own = product.get("obligations")
    if not isinstance(own, list) or not own:
        return (Violation("R06", "budget", "has no obligations"),)
    try:
        cents = [Decimal(str(o["points"])) * 100 for o in own if isinstance(o, Mapping)]
    except (KeyError, InvalidOperation) as error:
        return (Violation("R06", "budget", f"has points that are no numbers: {error}"),)
    found = []
    if any(c != c.to_integral_value() for c in cents):
        found.append(Violation("R06", "budget", "has fractions of a cent"))
    if sum(cents) != 10_000:
        found.append(Violation("R06", "budget", f"sums to {sum(cents) / 100}"))
    if max(cents) - min(cents) > 1:
        found.append(Violation("R06", "budget", "is not split equally"))
    if product.get("frozen_before_research") is False or not product.get("digest"):
        found.append(Violation("R06", "budget", "was not digested before the first tool call"))
    return tuple(found)
