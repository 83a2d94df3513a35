"""Which of an institution's principles a criterion realizes, told by the words of the principles: packs name them as they like."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

ABOUT: Final = {
    "figure": r"\bunit\b|\bscale\b|\bcurrency\b|\bprimary statement\b|\b(?:right|wrong) (?:subject|issuer|entity)\b|\b(?:issuer|entity),? (?:and )?period\b",
    "computed": r"\bcomput|\brecompute|\bformula\b|\binputs\b",
    "convention": r"\bconvention|\bdefinition",
    "direction": r"\bdirection\b|\brose\b|\bfell\b",
    "vintage": r"\brestate|\blatest version\b|\bversion known\b",
    "calendar": r"\bcalendar\b|\bfiscal\b",
    "words": r"\bcauses?\b|\bevidence\b|\byardstick\b",
    "form": r"\bform\b|\bformat\b",
}
"""What a criterion is about, to words of the principles that it then realizes."""
_WORD: Final = re.compile(r"[a-z]{5,}")
_COMMON: Final = frozenset(
    ("states", "which", "their", "after", "before", "between", "other", "years", "fiscal", "under", "using", "values", "figures", "total")
)
"""Words that are no subject."""


def realized(principles: Sequence[str], text: str, about: Iterable[str]) -> tuple[str, ...]:
    """Ids of the principles (`ID title: statement`) that a criterion with this text realizes; all of them where no words tell.

    Either the principle speaks of what the criterion is about (keys of `ABOUT`), or its title and the criterion share a word that is their
    subject: `leverage`, `coverage`.
    """
    patterns = [re.compile(ABOUT[one], re.IGNORECASE) for one in about]
    own = set(_WORD.findall(text.lower())) - _COMMON
    found = []
    for line in principles:
        name, _, said = line.partition(" ")
        title = said.partition(":")[0].lower()
        if any(pattern.search(said) for pattern in patterns) or own & set(_WORD.findall(title)):
            found.append(name)
    return tuple(found) or tuple(line.partition(" ")[0] for line in principles)
