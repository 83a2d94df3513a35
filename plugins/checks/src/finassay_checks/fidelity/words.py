"""`cond(H)` in words: matched, contradicted, missing or undecided, with the quote and its place (spec D.0.4)."""

import re
from enum import StrEnum

from attrs import evolve, frozen

from finassay.api.matching import Mention, Polarity, asks_about, mentions, normalise, sentences
from finassay.api.strategy import Item
from finassay_checks.fidelity.places import Place, code_arguments

MAX_PLACE = 400_000


class Condition(StrEnum):
    MATCHED = "matched"
    CONTRADICTED = "contradicted"
    MISSING = "missing"
    UNDECIDED = "undecided"


@frozen
class InWords:
    """What the delivery says about one item."""

    condition: Condition
    quote: str = ""
    where: str = ""
    place: str = ""
    verbatim: bool = True
    rival: str = ""
    """For undecided items: a quote that says otherwise."""
    retracted: bool = False
    """Contradicted by a later sentence of the last message that takes the item back."""
    plain: bool = False
    """Contradicted by a rule section or taken back, with nothing there that accepts: the delivery's own statement of the choice."""


_BENCHMARK = re.compile(
    r"\b(?:benchmark\w*|buy and hold|compar(?:ed?|ison|ing)|variants?|sensitivity|alternatives?|would have|had we|had i|"
    r"(?:earlier|previous|first|old) (?:version|draft|run)|version 1|v[123]\b|all (?:20|names|stocks)|for reference|baseline|without the (?!last|latest|most recent|past|previous|final|current)\w+)\b"
)
_CONTRAST = re.compile(r"\b(?:instead of|versus|vs\.?|rather than|as opposed to|replaced|changed from|not)\b")
_RETRACTS = re.compile(r"\b(?:now|changed|switched|replaced|correct(?:ed|ion)|no longer|moved to|dropped|instead)\b")


def _counts(mention: Mention) -> bool:
    """Whether a mention speaks about the headline: no question, no benchmark, no variant; a contrast never contradicts."""
    norm = normalise(mention.quote)
    if mention.question or _BENCHMARK.search(norm):
        return False
    return mention.polarity is Polarity.ACCEPTS or not _CONTRAST.search(norm)


def _code_mentions(item: Item, code: str) -> list[tuple[Polarity, str]]:
    """What arguments of a script say, read as `name: value`."""
    found = []
    for name, value, line in code_arguments(code):
        text = f"{name.replace('_', ' ')}: {value.replace('_', ' ')}"
        if len(value) > 2 and not value.replace(".", "").isdigit() and asks_about(item.topics, f"which {name.replace('_', ' ')}?"):
            found += [(mention.polarity, line) for mention in mentions(item, text)]
    return found


def _said(item: Item, place: Place) -> list[tuple[Polarity, str]]:
    if place.rank == 2:
        return _code_mentions(item, place.text)
    return [(mention.polarity, mention.quote) for mention in mentions(item, place.text[:MAX_PLACE]) if _counts(mention)]


def _touched(item: Item, place: Place) -> str:
    """A sentence of a rule section that speaks about the choice without a known option, or an empty text."""
    if place.rules:
        for sentence in sentences(place.text[:MAX_PLACE]):
            if not sentence.question and asks_about(item.topics, f"{sentence.norm.rstrip('.')}?"):
                return sentence.text
    return ""


def in_words(item: Item, known: tuple[Place, ...]) -> InWords:
    """The condition of one item: the first place that decides it counts; a later sentence of the last message may retract it.

    A place that says both leaves the decision to the next one; if none decides, the item is undecided. A rule section that speaks about
    the choice without naming a known option leaves it undecided as well; silence everywhere is missing. Of values and of factors other
    mentions are common (results, alternatives, other rules): they contradict only in a rule section, and only if nothing else accepts.
    """
    denied: InWords | None = None
    rival: InWords | None = None
    for rank in sorted({place.rank for place in known}):
        said = [(place, polarity, quote) for place in known if place.rank == rank for polarity, quote in _said(item, place)]
        accepts = next(((place, quote) for place, polarity, quote in said if polarity is Polarity.ACCEPTS), None)
        denies = next(((place, quote) for place, polarity, quote in said if polarity is Polarity.CONTRADICTS), None)
        if accepts and (not denies or _loose(item)):
            found = InWords(Condition.MATCHED, accepts[1], accepts[0].where, accepts[0].name, accepts[0].verbatim)
            if denied is not None:
                return evolve(found, condition=Condition.UNDECIDED, rival=denied.quote)
            return (_retracted(item, known) if rank == 0 else None) or found
        if denies and not accepts and (rank == 0 or not _loose(item)):
            verdict = InWords(
                Condition.CONTRADICTED, denies[1], denies[0].where, denies[0].name, denies[0].verbatim, plain=rank == 0 and not _loose(item)
            )
            if not _loose(item):
                return verdict
            denied = denied or verdict
        if accepts and denies and rank <= 1 and (taken := _retracted(item, known)) is not None:
            return taken
        if accepts and denies and rival is None:
            place, quote = accepts
            rival = InWords(Condition.UNDECIDED, quote, place.where, place.name, place.verbatim, rival=denies[1])
    return denied or rival or _open(item, known) or InWords(Condition.MISSING)


def _open(item: Item, known: tuple[Place, ...]) -> InWords | None:
    """Undecided where a rule section speaks about the choice without a known option."""
    for place in known:
        text = _touched(item, place)
        if text:
            return InWords(Condition.UNDECIDED, text, place.where, place.name, place.verbatim)
    return None


def accepted(item: Item, known: tuple[Place, ...]) -> InWords | None:
    """The first place that says the item, whatever others say; earlier messages left out."""
    for place in sorted(known, key=lambda place: place.rank):
        quote = next((quote for polarity, quote in _said(item, place) if polarity is Polarity.ACCEPTS), None)
        if quote is not None and place.rank <= 3:
            return InWords(Condition.MATCHED, quote, place.where, place.name, place.verbatim)
    return None


def _loose(item: Item) -> bool:
    """Whether another mention takes nothing back: a slot that may hold several items, or a value beside other values."""
    return item.slot == "factor" or item.number is not None


def _retracted(item: Item, known: tuple[Place, ...]) -> InWords | None:
    """The last sentence on the choice in the last message, or in the rules of the report, if it contradicts and says that something has
    changed. Other values in rules take nothing back."""
    for place in known:
        if place.rank == 1 or (place.rank == 0 and not _loose(item)):
            said = [mention for mention in mentions(item, place.text[:MAX_PLACE]) if _counts(mention)]
            if said and said[-1].polarity is Polarity.CONTRADICTS and _RETRACTS.search(normalise(said[-1].quote)):
                name = "retraction in the last message" if place.rank == 1 else f"retraction in the {place.name}"
                return InWords(Condition.CONTRADICTED, said[-1].quote, place.where, name, place.verbatim, retracted=True, plain=True)
    return None
