"""What a user makes up: values for what the belief leaves open, and rules, restrictions and signals that it does not hold."""

import re
from collections.abc import Iterator
from typing import Final

from finassay.api.labels import Conduct, Slip
from finassay.api.matching import MAX_TEXT, Polarity, Sentence, mentions, normalise, sentences, value_of
from finassay.api.patterns import NUMBER, hits
from finassay.api.strategy import Item
from finassay.session import deciding
from finassay.session.disclosure import touches
from finassay.session.said import NO_VIEW, Said, touched
from finassay.session.slips import slip_of

_DECIDES = re.compile(
    r"\b(?:use|take|hold|keep|set|make it|go with|start with|compare|let's|i want|i'd like|i'd prefer|prefer|fine|ok|okay|good|works|should be|must be"
    r"|at most|at least|no more than|limit|cap)\b"
)
_DIGITS = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")
_LIST_MARK = re.compile(r"\W*(?:\d{1,2}|[a-z])[.):]+\W*")
_YEARS = re.compile(r"(?:19|20)\d\d")
_VALUE = re.compile(NUMBER)
_SPOKEN: Final = (
    (re.compile(r"\b\d+ (?:stocks|names|positions|holdings|companies)\b"), "number of names"),
    (re.compile(r"[$€£] ?\d|\b\d+ (?:dollars|euros)\b"), "starting capital"),
    (
        re.compile(r"\b(?:start|begin|backtest|test|run)\w*(?: (?:it|this|that|the \w+))? (?:from|in|since|with) (?:19|20)\d\d\b"),
        "start date",
    ),
)
"""How a value is said without a word for the choice."""
_PLAIN_WORDS = re.compile(
    r"(?:please|with|that|this|them|then|than|from|have|would|like|want|make|start|take|keep|hold|against|into|just|over|only|your|should"
    r"|about|and|use|the|for|let|fine|good|okay|not|limit|yes|yeah|thanks|one|first|second|third)"
)
SHORT: Final = 6
"""An answer of so few words speaks of what was asked."""


def open_values(said: Said) -> Iterator[Slip]:
    """A value for something that the belief leaves open: the user's own, or the agent's that it takes sides for."""
    if said.action in ("close", "block"):
        return
    heard = normalise(said.agent[:MAX_TEXT])
    known = set(_DIGITS.findall(heard))
    for sentence in _orders(said):
        if sentence.text.rstrip().endswith("?") and not _DIGITS.search(sentence.norm):
            continue  # asks for a comparison or a look
        for part in _unsaid(said, sentence):
            yield from _open_value(said, part, heard, known)


def _open_value(said: Said, part: Sentence, heard: str, known: set[str]) -> Iterator[Slip]:
    told = re.sub(r"^\W*\d{1,2}[.):]\s", "", _beside_the_universe(said, part.norm))
    topics = () if _is_mark(said, part) else _left_open(said, part, told, known)
    if not topics:
        return
    if any(touches(item, part.text) for item in said.before.belief.items) and not NO_VIEW.search(part.norm):
        return
    since = _SPOKEN[2][0].search(told) is not None
    numbers = [number for number in _DIGITS.findall(told) if since or not _YEARS.fullmatch(number)]
    if not numbers and any(_only_names(name, told) for name in topics):
        return  # 'Risk control; your call.'
    words = [word for word in re.findall(r"[a-z]{3,}", told) if word not in heard and not _PLAIN_WORDS.fullmatch(word)]
    if numbers:
        own = [number for number in numbers if number not in known]
        if not own and _nothing(NO_VIEW.sub(" ", told)):
            return
        if not own and not _DECIDES.search(told) and not any(said.asks_openly(topic) for topic in said.open_topics(part.text)):
            return  # what the agent built is said again
    elif NO_VIEW.search(part.norm) or _nothing(told):
        return
    elif any(said.asks_openly(topic) for topic in said.before.belief.open_topics if topic.name in topics):
        own = words or ([told] if deciding.decides(told) and not deciding.approves(told) else [])
        if not own:  # what the agent chose is called fine, in its words
            return
    elif (deciding.strongly(told) and words and not deciding.REPORT_WORDS.search(told)) or (said.opening and deciding.fragment(told)):
        own = words
    else:
        return
    yield slip_of("improvised" if own else "endorsed", Conduct.HINDERED if own else Conduct.BENIGN, part, (), topics[0])


def _is_mark(said: Said, part: Sentence) -> bool:
    """Whether it is the '1.' of a list, with its point behind it on the same line."""
    behind = said.message[part.start + len(part.text) :].split("\n", 1)[0]
    return _LIST_MARK.fullmatch(part.text) is not None and bool(behind.strip())


def _only_names(name: str, told: str) -> bool:
    """Whether a sentence is no more than the name of a choice."""
    return told.strip(" .,:;!-").removeprefix("the ") == normalise(name).removeprefix("the ")


def _left_open(said: Said, part: Sentence, told: str, known: set[str]) -> tuple[str, ...]:
    """Names of the open choices for which a sentence gives a value."""
    topics = list(said.open_topics(part.text))
    for expression, words in _SPOKEN:
        if expression.search(told):
            topics += [topic for topic in said.before.belief.open_topics if touched(topic.topics, words)]
    if topics and not deciding.looks(told) and (_DECIDES.search(told) or _SPOKEN[0][0].search(told) or deciding.decides(told)):
        return tuple(topic.name for topic in topics)
    if len(told.split()) > SHORT or NO_VIEW.search(told) or topics:
        return ()
    bare = set(_DIGITS.findall(told)) - known and not _may_answer_an_item(said, told)
    if bare or _picks(said, told):
        return tuple(topic.name for topic in said.before.belief.open_topics if said.asks_openly(topic))
    return ()


def _may_answer_an_item(said: Said, told: str) -> bool:
    """Whether a bare value can be that of an item which the agent asked for: a percentage is no number of names."""
    for item in said.before.belief.items:
        if item.number is None or not said.asks(item.topics):
            continue
        for hit in _VALUE.finditer(told):
            if value_of(hit, item.number.unit) is not None or float(hit["value"]) == item.number.value:
                return True
    return False


_NTH = re.compile(r"^(?:the )?(?:first|second|third|last|former|latter)(?: one| option)?$")
_OR = re.compile(r"\bor\b|,|:|/")


def _picks(said: Said, told: str) -> bool:
    """Whether a bare answer picks one from a list of the agent's, in a question about what the belief leaves open and nothing else."""
    told = re.sub(r"\b(?:just|thanks|thank you|please)\b", " ", told).strip(" ,.!")
    words = [word for word in re.findall(r"[a-z][\w&]+", told) if not _PLAIN_WORDS.fullmatch(word)]
    nth = _NTH.match(told) is not None
    if not (words or nth) or not deciding.fragment(told) or deciding.approves(told):
        return False
    for question in said.questions:
        norm = normalise(question)
        if (
            not _OR.search(norm)
            or (nth and len(said.questions) > 1)
            or not all(re.search(rf"\b{re.escape(word)}\b", norm) for word in words)
        ):
            continue
        if any(said.open_topics(question)) and not any(said.about(question, item.topics) for item in said.before.belief.items):
            return True
    return False


_NOTHING = re.compile(
    r"^\W*(?:\d{1,2}[.):]\s+)?(?:please )?(?:no|none|without|never|don't|do not|nothing|not)\b|\b(?:none|nothing|no limits?|never|without|there (?:is|are|should be) no)\b"
)


def _nothing(norm: str) -> bool:
    """Whether a sentence only says that there shall be none of it."""
    return _NOTHING.search(norm) is not None or deciding.removed(norm)


def _beside_the_universe(said: Said, norm: str) -> str:
    """A sentence without the task's universe, which the user may tell in its words."""
    return norm.replace(normalise(said.scene.task.conditions.universe.text), " the universe ")


def _unsaid(said: Said, sentence: Sentence) -> Iterator[Sentence]:
    """A sentence, or where it also states something of the belief or of the conditions, those of its parts that do not."""
    if not said.says_an_item(sentence) and not deciding.CONDITIONS.search(sentence.norm):
        yield sentence
        if NO_VIEW.search(sentence.norm):  # 'No preference, but use …'
            for text in deciding.clauses(sentence):
                if deciding.strongly(normalise(text)):
                    yield Sentence(text, normalise(text), sentence.start, False)
        return
    kept = [part for part in deciding.clauses(sentence) if not _says(said, part) and not _a_condition(said, part)]
    if len(kept) < len(list(deciding.clauses(sentence))):  # else it takes the whole sentence to say the item
        open_view = NO_VIEW.search(sentence.norm)
        for part in kept:
            norm = normalise(part)
            if not open_view or deciding.strongly(norm) or _DIGITS.search(norm):
                yield Sentence(part, norm, sentence.start, False)


def _a_condition(said: Said, text: str) -> bool:
    """Whether a part tells the universe or the last date of data. What it leaves out of the universe is no condition."""
    norm = _beside_the_universe(said, normalise(text))
    return deciding.CONDITIONS.search(norm) is not None and deciding.SCREEN.search(norm) is None


def _says(said: Said, text: str) -> bool:
    return any(m.polarity is Polarity.ACCEPTS for item in said.before.belief.items for m in mentions(item, text))


# -- rules, restrictions, signals -----------------------------------------------------------------------------------------


def unheld(said: Said) -> Iterator[Slip]:
    """A rule for a component that the belief leaves out, a restriction of the universe, short positions, or one more signal."""
    if said.action in ("close", "block"):
        return
    yield from _plain_yes(said)
    for sentence in _orders(said):
        whole = deciding.decides(sentence.norm) or _approved(sentence.norm)
        for part in _unsaid(said, sentence):
            if not (whole or (part is not sentence and deciding.decides(part.norm))) or _about_files(part.norm):
                continue
            about = next(_unheld(said, part), None)
            if about is not None:
                yield slip_of("improvised", Conduct.HINDERED, part, (), about)


def _orders(said: Said) -> Iterator[Sentence]:
    """Statements, and the questions that order something."""
    for sentence in sentences(said.message):
        order = deciding.request(sentence) if sentence.norm.endswith("?") else sentence
        if order is not None:
            yield order


def _approved(norm: str) -> bool:
    """Whether a sentence calls a rule fine, which asks for it: 'The trailing stop is right.'"""
    return deciding.approves(norm) and not deciding.FAULT.search(norm) and not NO_VIEW.search(norm)


_YES = re.compile(
    r"^\W*(?:yes|yeah|yep|yup|sure|please do|absolutely|definitely|go for it)(?: please| do| that| sure| ok| thanks| exactly| do that)*\W*$"
)


def _plain_yes(said: Said) -> Iterator[Slip]:
    """A yes to the agent's one question, and that is whether it should bring in a rule which the belief leaves out."""
    yes = next((sentence for sentence in said.statements if _YES.match(sentence.norm.replace(",", ""))), None)
    if yes is None or len(said.questions) != 1:
        return
    question = said.questions[0]
    if any(mentions(item, question) or said.about(question, item.topics) for item in said.before.belief.items):
        return
    for item in said.before.belief.absent:
        if (
            touched(item.topics, question)
            and not _left_out(item, normalise(question))
            and not re.search(r"\b(?:no|not|without|none|skip|leave out|\w+n't)\b", normalise(question))
        ):
            yield slip_of("improvised", Conduct.HINDERED, yes, (), item.piece)
            return


def _about_files(norm: str) -> bool:
    return deciding.REPORT_WORDS.search(norm) is not None


def _unheld(said: Said, part: Sentence) -> Iterator[str]:
    """What a part of a deciding sentence settles though the belief does not hold it."""
    norm = _beside_the_universe(said, part.norm)
    for item in said.before.belief.absent:
        if not _left_out(item, norm) and _brings_in(item, part, norm):
            yield item.piece
    held = _own_words(said)
    screen = deciding.SCREEN.search(norm)
    if screen is not None and not _in_the_conditions(said, screen[0]) and screen[0] not in held:
        yield "a restriction of the universe"
    short = deciding.SHORTING.search(norm)
    if short is not None and not deciding.denied(norm, short.start()):
        yield "short positions or leverage"
    if any(item.slot == "factor" or item.component == "stock" for item in said.before.belief.items):
        for name, hit in deciding.factors(norm, held):
            if not deciding.denied(norm, hit.start()):
                yield f"a signal of another kind: {name}"


def _left_out(item: Item, norm: str) -> bool:
    """Whether it is said that there is no such rule."""
    return any(m.polarity is Polarity.ACCEPTS for m in mentions(item, norm))


_ASSENTS = re.compile(r"\b(?:yes|yeah|yep|sure|please|go for it|do (?:it|that|so)|do add)\b")


def _brings_in(item: Item, part: Sentence, norm: str) -> bool:
    """Whether a part of a deciding sentence gives a component a rule: one that the grammar knows, one in everyday words, or a plain yes."""
    if deciding.removed(norm):
        return False
    if any(m.polarity is Polarity.CONTRADICTS for m in mentions(item, norm)):
        return True
    rule = deciding.RULES.get(item.component)
    hit = rule.search(norm) if rule else None
    if hit is not None and not deciding.denied(norm, hit.start()):
        return True
    topic = next((hit for _, hit in hits(item.topics, norm)), None)
    settles = _ASSENTS.search(norm) or (_DIGITS.search(norm) and deciding.strongly(norm))
    return topic is not None and settles is not None and not deciding.denied(norm, topic.start())


def _own_words(said: Said) -> str:
    """The belief's factors in its own words."""
    return " ".join(
        normalise(f"{item.sentence} {item.opening}") + f" {item.id}" for item in said.before.belief.items if item.component == "stock"
    )


def _in_the_conditions(said: Said, words: str) -> bool:
    """Whether the universe of the task is named by the same words."""
    universe = normalise(said.scene.task.conditions.universe.text)
    return any(
        word in universe
        for word in re.findall(r"[a-z&]{4,}", words)
        if word not in ("only", "stocks", "names", "companies", "without", "exclude", "avoid")
    )
