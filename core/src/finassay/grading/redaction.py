"""Removing the hidden strategy from text that an agent may read.

A sentence that speaks of a choice in the belief, rightly or wrongly, is dropped whole; option names, parameter names and numbers that
could be settings become a placeholder. What decides is as far as possible the *kind* of a phrase or number, not whether it is the
belief's own, so that the gap itself tells nothing. When in doubt the sentence goes.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from attrs import frozen

from finassay.api.matching import mentions, normalise, sentences
from finassay.api.strategy import Item, Number, Unit
from finassay.api.task import Task

PLACEHOLDER: Final = "[withheld]"
VALUE: Final = "[value]"
MAX_TEXT: Final = 2_000

_USUAL: Final = frozenset({5, 8, 10, 12, 15, 20, 25, 30, 35, 40, 45, 50})
"""Whole numbers that are usual settings; hidden wherever they stand alone, whether or not the belief uses them."""
_ROUND_PERCENT: Final = 60.0
_ROUND_BASIS_POINTS: Final = 0.006

_UNIT = r"\s*(?:%|per\s?cent\b|percentage\s+points?\b|pct\b|pp\b|bps?\b|bips\b|basis[\s-]points?\b)"
_NUMBER = re.compile(rf"(?<![\w.])[-+−–]?(?P<value>\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?|\.\d+)(?P<unit>{_UNIT})?(?!\w|\.\d)", re.IGNORECASE)
_FRACTION = re.compile(r"(?<![\w./])(\d{1,6})\s?/\s?(\d{1,6})(?![\w/])")
_DATE = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")
_PARTS = re.compile(r"\b(?:fifths?|sixths?|eighths?|tenths?|twelfths?|twentieths?|(?:one|1) in (?:every )?\w+)\b")
_ITEM_ID = re.compile(r"(?<!\w)[a-z]+\.[a-z_]+:[\w-]+", re.IGNORECASE)
_SHINGLE: Final = 4


def clean(text: str, limit: int = MAX_TEXT) -> str:
    """Bounded text without control and formatting characters; line ends are kept."""
    kept = (
        c if c == "\n" else " " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else "" if unicodedata.category(c)[0] == "C" else c
        for c in text[:limit]
    )
    return "".join(kept) + ("…" if len(text) > limit else "")


def _words(norm: str) -> list[str]:
    return re.findall(r"[\w%.]+", norm)


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = _words(normalise(text).rstrip("."))
    size = min(_SHINGLE, len(words))
    return frozenset(tuple(words[i : i + size]) for i in range(len(words) - size + 1)) if size else frozenset()


def _spoken(name: str) -> str:
    """`mom_12_1`, `fixed-bps`, `risk.threshold` as words."""
    return re.sub(r"[\W_]+", " ", name.casefold()).strip()


@frozen
class Redactor:
    """Knows one belief, and what must not be said of it."""

    probe: Item
    """Every way in which an item or its alternatives are said, as one item."""
    valued: Item
    """The same for phrases that hold a number. With a number that is no setting they are about results: 'a drawdown of 21.91%'."""
    shingles: frozenset[tuple[str, ...]]
    names: re.Pattern[str] | None
    ids: frozenset[str]
    numbers: tuple[Number, ...]

    @classmethod
    def of(cls, task: Task) -> "Redactor":
        """The redactor of a task's belief and strategy."""
        items = (*task.belief.items, *task.belief.absent)
        patterns = tuple(dict.fromkeys(p for item in items for p in (*item.accept, *item.reject)))
        options = {option for chosen in task.strategy.choices.values() for option in chosen} - {"none", ""}
        return cls(
            probe=_probe(p for p in patterns if "{number}" not in p),
            valued=_probe(p for p in patterns if "{number}" in p),
            shingles=frozenset().union(*(_shingles(text) for item in items for text in (item.sentence, item.opening))),
            names=_name_pattern([*options, *task.strategy.parameters]),
            ids=frozenset(item.id.casefold() for item in items),
            numbers=tuple(item.number for item in items if item.number is not None),
        )

    def text(self, text: str) -> str:
        """The text as an agent may read it: bounded, cleaned, sentences and words about the belief replaced."""
        text = clean(text)
        flat = re.sub(r"[.;!?|]*\s+", " ", text)
        said = [self._sentence(sentence.text) for sentence in sentences(text)]
        if PLACEHOLDER not in said and self._speaks(flat):
            return PLACEHOLDER
        kept = [s for i, s in enumerate(said) if s != PLACEHOLDER or i == 0 or said[i - 1] != PLACEHOLDER]
        return " ".join(kept)

    def name(self, name: str) -> str:
        """A file or column name: kept whole or not at all."""
        name = clean(name, 300)
        spoken = f" {_spoken(name)} "
        parted = name.replace("_", " ").strip()
        hidden = self.text(spoken) != spoken.strip() or self.text(parted) != parted or self._speaks(name)
        return PLACEHOLDER if hidden else name

    def _sentence(self, sentence: str) -> str:
        if self._speaks(sentence):
            return PLACEHOLDER
        masked = self.names.sub(PLACEHOLDER, sentence) if self.names else sentence
        masked = self._mask_numbers(masked)
        about_a_setting = bool(mentions(self.valued, sentence)) and not mentions(self.valued, masked)
        return PLACEHOLDER if about_a_setting or self._remains(masked) else masked

    def _speaks(self, text: str) -> bool:
        """Whether a text speaks of a choice of the belief, by phrase, by id or in the belief's own words."""
        folded = text.casefold()
        if _ITEM_ID.search(text) or any(name in folded for name in self.ids):
            return True
        words = _words(normalise(text))
        for size in {len(shingle) for shingle in self.shingles}:
            if any(tuple(w.rstrip(".") for w in words[i : i + size]) in self.shingles for i in range(len(words) - size + 1)):
                return True
        return bool(mentions(self.probe, text))

    def _mask_numbers(self, text: str) -> str:
        parts, end = [], 0
        for date in _DATE.finditer(text):
            parts += [self._mask(text[end : date.start()]), date[0]]
            end = date.end()
        return "".join([*parts, self._mask(text[end:])])

    def _mask(self, text: str) -> str:
        text = _FRACTION.sub(lambda m: VALUE if int(m[2]) and self._setting(int(m[1]) / int(m[2]), "") else m[0], text)
        return _NUMBER.sub(lambda m: VALUE if self._setting(_value(m), m["unit"] or "") else m[0], text)

    def _setting(self, value: float, unit: str) -> bool:
        """Whether a number could be a setting: round, usual, or the belief's own in any notation."""
        unit = unit.strip().casefold()
        if unit.startswith("b"):
            return True
        if unit:
            return (value <= _ROUND_PERCENT and _whole(value * 2)) or self._own(value, Unit.PERCENT)
        usual = value in _USUAL or (value < 1 and _whole(value * 100) and round(value * 100) in _USUAL)
        return usual or (0 < value < _ROUND_BASIS_POINTS and _whole(value * 2000)) or self._own(value, None)

    def _own(self, value: float, unit: Unit | None) -> bool:
        for number in self.numbers:
            if number.unit is Unit.COUNT:
                readings = [] if unit else [value]
            elif number.unit is Unit.PERCENT:
                readings = [value] if unit else [value, value * 100]
            else:
                readings = [value * 100] if unit else [value, value * 100, value * 10_000]
            if any(abs(reading - number.value) <= 1e-6 * max(1.0, abs(number.value)) for reading in readings):
                return True
        return False

    def _remains(self, masked: str) -> bool:
        """Whether a name or number in words is still there after masking: 'a fifth', 'twenty per cent'."""
        norm = normalise(masked.replace(PLACEHOLDER, " ").replace(VALUE, " "))
        if _PARTS.search(norm) or (self.names and self.names.search(norm)):
            return True
        bare = _DATE.sub(" ", norm)
        return any(self._setting(_value(m), m["unit"]) if m["unit"] else self._own(_value(m), None) for m in _NUMBER.finditer(bare))


def _probe(patterns: Iterable[str]) -> Item:
    return Item("any", "", "", "", "", "", topics=(), accept=tuple(patterns), reject=())


def _value(match: re.Match[str]) -> float:
    return float(match["value"].replace(",", ""))


def _whole(value: float) -> bool:
    return abs(value - round(value)) < 1e-9


def _name_pattern(names: Iterable[str]) -> re.Pattern[str] | None:
    """Any of the names, its words separated by anything that is no letter or digit."""
    spoken = sorted({_spoken(name) for name in names if _spoken(name)}, key=len, reverse=True)
    if not spoken:
        return None
    alternatives = "|".join(r"[\W_]{0,3}".join(re.escape(word) for word in name.split()) for name in spoken)
    return re.compile(rf"(?<![a-zA-Z0-9])(?:{alternatives})(?![a-zA-Z0-9])", re.IGNORECASE)
