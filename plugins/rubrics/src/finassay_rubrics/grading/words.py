"""Meaning by stated rules: whether an answer says something in other words, denies it, or says which way a figure went. A model does better."""

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from attrs import frozen

from finassay_rubrics.grading.answer import Answer, Sentence
from finassay_rubrics.grading.locate import words_of
from finassay_rubrics.grading.vocabulary import spread

DOWN: Final = re.compile(
    r"\b(fell|fall(?:s|en|ing)?|drop\w*|declin\w*|decreas\w*|slip\w*|eas(?:ed|es|ing)|lower\w*|less|down(?! to\b)|shr[aiu]nk\w*|contract(?:ed|ing|ion|s)|reduc\w*|smaller"
    r"|narrow\w*|slow(?:s|ed|er|ing)?|plung\w*|tumbl\w*|compress\w*|diminish\w*|fewer)\b",
    re.IGNORECASE,
)
UP: Final = re.compile(
    r"\b(rose|ris(?:e|es|en|ing)|increas\w*|grew|grow(?:s|n|ing)?|growth|higher|(?<!made )(?<!make )(?<!makes )(?<!making )up(?! to\b)|climb\w*|expand\w*|expansion|gain(?:ed|s)"
    r"|larger|widen\w*|wider|jump\w*|surg\w*|soar\w*|doubl\w*|tripl\w*|accelerat\w*|advanc(?:ed|es)|more)\b",
    re.IGNORECASE,
)
FLAT: Final = re.compile(
    r"\b(flat|unchanged|stable|steady|constant(?![- ]currenc)|same(?![-\s](?:store|propert|restaurant|period|quarter|year|time|centre|center|shop|site|clinic|facilit))|no change|little changed|nothing|(?:do|does|did) not (?:matter|change))\b",
    re.IGNORECASE,
)
GOOD: Final = re.compile(r"\b(improv\w*|better|strengthen\w*|stronger|recover\w*)\b", re.IGNORECASE)
BAD: Final = re.compile(r"\b(worsen\w*|worse|deteriorat\w*|weaken\w*|weaker)\b", re.IGNORECASE)
"""Words that tell whether a change is welcome; which way that is depends on the metric."""
NOT: Final = re.compile(
    r"\b(?:not(?! only| just| least)|no(?!,| longer than)|never|without|neither|nor|hardly|cannot|fail(?:s|ed)? to|far from|unlikely)\b|n['’]t\b",
    re.IGNORECASE,
)
_DENIAL: Final = re.compile(r"\b(?:not(?! only| just| least)|never|neither|nor|no|rather than|instead of)\b|n['’]t\b", re.IGNORECASE)
CLAUSE: Final = re.compile(
    r"[;:—]|,|\.\s|\s-\s|\s–\s|\b(?:but|because|since|although|though|while|whereas|which|and|so that|as)\b", re.IGNORECASE
)
GENERIC: Final = frozenset(
    [
        "other", "charge", "asset", "item", "certain", "related", "associated", "impact", "effect", "primarily", "company", "fiscal", "year",
        "result", "amount", "additional", "yes", "not", "no", "main", "due", "because", "cause", "driven", "reason", "mainly", "partly", "also", "both",
    ]
)  # fmt: skip
MANY: Final = 5
QUALIFIERS: Final = frozenset(
    [
        "average",
        "year-end",
        "opening",
        "closing",
        "beginning",
        "gross",
        "diluted",
        "basic",
        "adjusted",
        "trailing",
        "undiluted",
        "pretax",
        "after-tax",
    ]
)
"""Words of a derivation that tell one convention from another: each must be said."""
ENOUGH: Final = 0.5
"""Share of the distinctive words that must be said."""
_ORDINAL: Final = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_BARE: Final = re.compile(r"(?<![\w.,$€£])(\d+(?:\.\d+)?)(?![\w.,]*\d|%)")


@frozen
class Said:
    """How much of something an answer says, and where."""

    share: float = 0.0
    sentence: Sentence | None = None
    matched: frozenset[str] = frozenset()

    wanted: int = 0
    """How many words and numbers tell it apart."""

    @property
    def enough(self) -> bool:
        """Whether enough of it is said: half, of many words more than half."""
        return self.share > ENOUGH or (self.share == ENOUGH and self.wanted < MANY)

    @property
    def text(self) -> str:
        return self.sentence.text.strip() if self.sentence else ""

    @property
    def span(self) -> tuple[int, int] | None:
        if self.sentence is None:
            return None
        lead = len(self.sentence.text) - len(self.sentence.text.lstrip())
        return self.sentence.start + lead, self.sentence.start + lead + len(self.text)


def direction(text: str) -> str | None:
    """`up`, `down`, `flat`, by the first word of direction that is not denied; None without one."""
    found = sorted(
        (m.start(), name) for name, pattern in (("down", DOWN), ("up", UP), ("flat", FLAT)) for m in islice(pattern.finditer(text), 8)
    )
    affirmed = next((name for at, name in found if name == "flat" or not _denied_at(text, at)), None)
    return affirmed or (f"not {found[0][1]}" if found else None)


def _denied_at(text: str, at: int) -> bool:
    """Whether a word is denied by one shortly before it in the same clause."""
    return bool(NOT.search(re.split(r"[:;,.—]", text[max(0, at - 25) : at])[-1]))


def judged(text: str) -> str | None:
    """`good` or `bad`, by words that tell whether a change is welcome."""
    found = [(m, name) for name, pattern in (("good", GOOD), ("bad", BAD)) if (m := pattern.search(text))]
    if not found:
        return None
    match, name = min(found, key=lambda one: one[0].start())
    return f"not {name}" if _denied_at(text, match.start()) else name


_PAIRS: Final = (
    (r"faster|more (?:quickly|rapidly|strongly)|outgr[eo]w\w*|outpac\w*|outperform\w*", r"slower|more slowly|less (?:quickly|rapidly|strongly)|lagg?\w*|trail\w*|underperform\w*"),
    (r"stronger", r"weaker"),
    (r"larger|bigger|greater|more", r"smaller|less|fewer"),
    (r"higher", r"lower"),
    (r"better", r"worse"),
    (r"longer", r"shorter"),
    (r"largest|biggest|most|highest", r"smallest|least|lowest|fewest"),
)  # fmt: skip
_CONTRARY: Final = tuple(tuple(re.compile(rf"\b(?:{side})\b", re.IGNORECASE) for side in pair) for pair in _PAIRS)


def contrary(value: str, text: str, telling: frozenset[str]) -> bool:
    """Whether a text compares the other way round: `grew more slowly` for `grew faster`. `telling` are words of what is compared."""
    wanted, said = _way(value), _way(text)
    pair = next((p for p in range(len(_CONTRARY)) if wanted[p] and said[p]), None)
    if pair is None:
        return False
    subject, _, other = text.partition(" than ")
    swapped = bool(other) and bool(telling & words_of(other)) and not telling & words_of(subject)
    return (wanted[pair] != said[pair]) != swapped


def _way(text: str) -> list[int]:
    """For each pair of contraries 1 or -1, by the first that a text has and does not deny; 0 for neither."""
    found = []
    for pair in _CONTRARY:
        hits = sorted((m.start(), way) for pattern, way in zip(pair, (1, -1), strict=True) for m in islice(pattern.finditer(text), 4))
        found.append(0 if not hits else -hits[0][1] if _denied_at(text, hits[0][0]) else hits[0][1])
    return found


_ABOVE: Final = re.compile(
    r"\b(?:above|exceed(?:s|ed|ing)?|in excess of|beyond|outside|breach(?:es|ed)?|over (?=the|its|their|management))\b", re.IGNORECASE
)
_BELOW: Final = re.compile(
    r"\b(?:below|within|inside|beneath|under (?=the|its|their|management)|meets?|met|complies|compliant|in line with)\b", re.IGNORECASE
)


def side(text: str) -> str:
    """`above` or `below`: on which side of a mark a text puts something, by the first word that tells; empty for none."""
    found = sorted((m.start(), name) for name, pattern in (("above", _ABOVE), ("below", _BELOW)) for m in islice(pattern.finditer(text), 4))
    if not found:
        return ""
    at, name = found[0]
    return {"above": "below", "below": "above"}[name] if _denied_at(text, at) else name


def names(
    answer: Answer,
    value: str,
    siblings: Sequence[str],
    entities: frozenset[str],
    *,
    within: Sequence[Sentence] | None = None,
    hint: str = "",
) -> Said:
    """How much of what distinguishes `value` an answer says in one sentence or row, from 0 to 1; of equals the one with most words of `hint`.

    Words that sibling criteria share do not distinguish, nor do words that say little. Numbers that are no years must be said.
    """
    distinctive, required = distinguishing(value, siblings, entities)
    if not distinctive and not required:
        return Said()
    wanted = distinctive | required
    aside = _aside(value, entities)
    aside = aside if wanted - aside else frozenset()
    proper, told = _proper(value), spread(words_of(hint, entities))
    best, rank = Said(), (0.0, 0)
    for one, about, begins in _heard(answer, entities, within):
        if not _may_say(distinctive, about, begins) and not required:
            continue
        said = _whole(one.words - entities, distinctive)
        matched = frozenset(word for word in distinctive if _said(word, said, alike=word not in proper))
        if not matched and not required:
            continue
        matched |= required & (_numbers(one.text) if distinctive else frozenset(re.findall(r"\d+(?:\.\d+)?", one.text)))
        share = 0.0 if required - matched else _sum(matched, aside) / _sum(wanted, aside)
        if share and (share, len(told & said)) > rank:
            best, rank = Said(share, one, matched, len(wanted)), (share, len(told & said))
    return best


_REMARK: Final = re.compile(
    r"[,(]\s*(?:net of|partial|partly|mainly|primarily|especially|including|excluding|in particular|as|due|which|that is|i\.e\.|e\.g\.)\b(.*)$",
    re.IGNORECASE,
)


def _aside(value: str, entities: frozenset[str]) -> frozenset[str]:
    """Words of a remark at the end, which count half: `state income taxes, net of federal benefit`."""
    remark = _REMARK.search(value)
    return words_of(value[remark.start() :], entities) - words_of(value[: remark.start()], entities) if remark else frozenset()


def _sum(words: frozenset[str], aside: frozenset[str]) -> float:
    return sum(0.5 if word in aside else 1.0 for word in words)


Heard = tuple[Sentence, frozenset[str], frozenset[str]]


def _heard(answer: Answer, entities: frozenset[str], within: Sequence[Sentence] | None) -> list[Heard]:
    """Sentences and rows with their words and the beginnings of these, made once for an answer."""
    if within is not None:
        return [_hear(one, entities) for one in within]
    key = ("heard", entities)
    if key not in answer.kept:
        answer.kept[key] = [_hear(one, entities) for one in (*answer.sentences, *answer.rows)]
    return answer.kept[key]


def _hear(one: Sentence, entities: frozenset[str]) -> Heard:
    about = _parts(one.about(entities))
    return one, about, frozenset(w[:5] for w in about if len(w) >= 5)


def _may_say(distinctive: frozenset[str], about: frozenset[str], begins: frozenset[str]) -> bool:
    return any(w in about or w[:5] in begins or "-" in w or "/" in w for w in distinctive)


def distinguishing(value: str, siblings: Sequence[str], entities: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """(words, numbers) that tell a text from its siblings."""
    own = words_of(_ORDINAL.sub("", value), entities) - GENERIC
    own = frozenset(w for w in own if not (direction(w) or judged(w))) or own
    shared = {word for text in siblings for word in words_of(text, entities)}
    if not own:
        return own, frozenset(re.findall(r"\d+(?:\.\d+)?", value))
    return own - shared or own, frozenset(n for n in _numbers(value) if not re.fullmatch(r"(?:19|20)\d\d", n))


def _numbers(text: str) -> frozenset[str]:
    return frozenset(_BARE.findall(_ORDINAL.sub("", re.sub(r"(?<=\d)-(?=[A-Za-z])", " ", text))))


def _whole(words: frozenset[str], wanted: frozenset[str]) -> frozenset[str]:
    """Words and what they stand for; parts of a compound only where all of them are wanted: `cost-income` does not speak of costs."""
    found = set(spread(w for w in words if "-" not in w))
    for word in words:
        if "-" in word:
            parts = [p for p in re.split(r"[-/]", word) if len(p) > 2]
            found |= {word, *(parts if all(_said(p, wanted) for p in parts) else ())}
    return frozenset(found) | {part for word in found for part in word.split("/") if len(part) > 2}


def _parts(words: frozenset[str]) -> frozenset[str]:
    return words | {part for word in words for part in re.split(r"[-/]", word) if len(part) > 2}


def _proper(value: str) -> frozenset[str]:
    """Words that are names: capitalised within the text, or all of a text that is capitalised throughout."""
    words = re.findall(r"[A-Za-z][\w’'/-]*", value)
    capital = [w for w in words if w[0].isupper()]
    return words_of(" ".join(capital if len(capital) == len(words) else [w for w in words[1:] if w[0].isupper()]))


def negated(text: str) -> bool:
    """Whether a text denies: `not covered`, `no`."""
    return bool(NOT.search(text))


def clause_of(text: str, matched: frozenset[str]) -> str:
    """The part of a sentence that holds most of the words that matter."""
    parts = [p for p in CLAUSE.split(text[:2_000]) if p and p.strip()]
    return max(parts, key=lambda p: sum(_said(w, _parts(spread(words_of(p)))) for w in matched), default=text)


def denied(text: str, matched: frozenset[str]) -> bool:
    """Whether a sentence denies what it names: `price increases were not the main cause`."""
    clause = clause_of(text, matched)
    tokens = re.findall(r"[\w&’'/-]+", clause)
    places = [i for i, t in enumerate(tokens) if any(_said(w, _parts(spread(words_of(t)))) for w in matched)]
    noes = [i for i, t in enumerate(tokens) if _DENIAL.fullmatch(t) or re.search(r"n['’]t$", t)] if _DENIAL.search(clause) else []
    return any(-2 <= no - place <= 4 or 0 < place - no <= 5 for no in noes for place in places)


def opposite(value: str, text: str, matched: frozenset[str]) -> bool:
    """Whether beside the words that a value names stands the other direction: `lower fuel prices` for `higher fuel prices`."""
    wanted = direction(value)
    if wanted not in ("up", "down"):
        return False
    tokens = re.findall(r"[\w&’'/-]+", text[:2_000])
    places = [i for i, t in enumerate(tokens) if any(_said(w, _parts(spread(words_of(t)))) for w in matched)]
    near = {told for place in places for t in tokens[max(0, place - 2) : place + 3] if (told := direction(t)) in ("up", "down")}
    return near == {"up" if wanted == "down" else "down"}


def _said(word: str, said: frozenset[str], *, alike: bool = True) -> bool:
    """The word itself, or one that begins alike: partial and partly, impairment and impaired. Names must be said as they are."""
    if word in said:
        return True
    parts = [p for p in re.split(r"[-/]", word) if len(p) > 2]
    if len(parts) > 1 and all(p in said for p in parts):
        return True
    return alike and len(word) >= 5 and any(len(other) >= 5 and other[:5] == word[:5] for other in said)
