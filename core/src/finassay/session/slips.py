"""The single checks behind a label. Each looks at one message in its place and yields what was wrong with it."""

import re
from collections.abc import Iterator
from typing import Final

from finassay.api.labels import Conduct, Slip
from finassay.api.matching import MAX_TEXT, Polarity, Sentence, mentions, normalise, sentences
from finassay.api.patterns import hits
from finassay.api.strategy import Item
from finassay.session import deciding
from finassay.session.disclosure import touches
from finassay.session.said import COMPARES, NO_VIEW, Said, touched, without_assumptions

KINDS: Final = {
    "volunteered": "tells what the agent did not raise",
    "unraised-piece": "calls a part wrong of which nobody has spoken, which tells that there is a rule for it",
    "hints-at-more": "hints that something is missing, without being asked and without saying what",
    "hints-at-a-rule": "complains about a result in a way that points at a rule nobody has raised",
    "unasked-no-preference": "leaves open what nobody asked about",
    "more-than-asked": "tells more than was asked: the agent had only reported it as done",
    "claims-a-check": "claims to have checked or recomputed figures, which this user cannot do",
    "checklist": "asks for trade lists or parts of a report in the language of a checklist",
    "improvised": "makes up a wish that the belief does not hold",
    "endorsed": "takes sides for a value that the belief leaves open",
    "approves-the-rest": "approves the rest of what the agent chose, though a conviction is among it",
    "contradicts": "says something else than the belief",
    "gives-up-a-conviction": "says 'no preference' on something on which the belief has a view",
    "closes-on-a-correction": "tells a conviction against what was delivered, and closes in the same breath",
    "withheld": "does not answer what was asked about, though the belief has a view",
}
"""Kind of slip to what a message with it does."""

QUOTE: Final = 300
MANY: Final = 3
"""So many parts of a complete delivery in one request are a checklist."""

_OFF = re.compile(
    r"\b(?:isn't|aren't|wasn't|doesn't|don't|didn't|is not|are not|does not|not (?:quite|what|how|my|right|the)|wrong|off|missing|incomplete"
    r"|misses|lacks?|differs?|different|bothers? me|no good|way too|too \w+|never|there (?:should|ought to|has to) be|should have)\b"
)
_MORE = re.compile(
    r"\b(?:incomplete|not complete|(?:something|a (?:piece|part|bit))(?:'s| is)? (?:missing|lacking)|(?:more|another part) to it|half of it"
    r"|only (?:half|part)|not the whole|left (?:something|a piece|a part) out|missing (?:something|a piece|a part|an? \w+))\b"
)
_UNASKED = re.compile(
    r"\b(?:you|nobody|no one)(?:'ve| have| has| had)?(?: (?:haven't|have not|didn't|did not|never|forgot to))?(?: yet| even)? ask(?:ed)?\b"
)
_NOT_ASKED = re.compile(r"\b(?:haven't|have not|didn't|did not|never|forgot to|nobody|no one)\b")
_HOLDS = re.compile(
    r"\bi(?:'ve| do)? (?:have|got|use|follow)(?: got)? (?:a|an|my|my own|some|certain|clear|firm|strong|specific|strict)(?: \w+)? (?:rules?|levels?|limits?|numbers?"
    r"|views?|ways?|ideas?|opinions?|method\w*)\b"
)
_EXCESS = re.compile(
    r"\b(?:(?:way |far |much |a bit |a little |running |still )*too (?:hot|high|big|large|deep|much|risky|wild|rough|steep|volatile|bumpy|scary"
    r"|heavy|frequent|busy|low|slow|much)|(?:way |far )?on the (?:high|low) side|(?:more|(?:way |far )?beyond|above|below|less) (?:than )?(?:what )?i(?:'d| would)?"
    r" (?:can|could|want\w*|like|care for|am willing|was willing)(?: to)?(?: (?:stomach|take|bear|live with|see))?"
    r"|(?:can't|cannot|couldn't|could not|can not) (?:stomach|live with|sleep|sit through|take)|runs? hot|would never happen"
    r"|(?:a|an awful|quite a) lot of (?:trading|turnover|risk|swings?|volatility|names|cash|leverage))\b"
)
_RISK_FIGURE = re.compile(r"\b(?:vol|volatil\w*|draw ?downs?|loss(?:es)?|swings?|risk\w*|falls?|crash\w*)\b")
_FIGURE = re.compile(r"\b(?:turnover|trades?|trading|cash|beta|concentrat\w*|names|holdings|leverage|returns?|sharpe|exposure|costs?)\b")
_WISH = re.compile(r"\b(?:i want|i'd like|i would like|i need|something that|it should|must|never|without)\b")
_SAFE = re.compile(
    r"\b(?:boring|safe\w*|calm\w*|sleep\w*|protect\w*|gaps?|draw ?downs?|volatil\w*|blow(?:s|n|ing)? up|crash\w*|lose|losses|smooth\w*|quiet\w*)\b"
)
_CUES: Final = {
    "risk": re.compile(
        r"\b(?:risk (?:side|part|piece|handling)|exits?|exiting|gets? (?:me |us )?out|getting out|(?:a|no) way out|sell(?:s|ing)?|bail(?:s|ing)?|protect\w*"
        r"|(?:cut|cuts|cutting|limit\w*) (?:the |my |its )?loss(?:es)?|ride\w* (?:it|them) down)\b"
    ),
    "timing": re.compile(
        r"\b(?:(?:in|out of) the market|bear markets?|when (?:the )?markets? (?:turns?|falls?|drops?)|(?:go|goes|going) to cash)\b"
    ),
}
"""How people speak about a component without a word of its rules."""


def slip_of(kind: str, effect: Conduct, sentence: Sentence | str, items: tuple[str, ...] = (), about: str = "") -> Slip:
    """A slip with its reason in words, and the sentence that it quotes."""
    text = sentence if isinstance(sentence, str) else sentence.text
    return Slip(kind, effect, f"{KINDS[kind]}{f' ({about})' if about else ''}", text[:QUOTE], items)


# -- telling --------------------------------------------------------------------------------------------------------------


def volunteered(said: Said) -> Iterator[Slip]:
    """What the gate refuses. It is found only in sessions that were held without the gate."""
    allowed = frozenset(said.before.belief.opening) if said.opening else said.heard.raised
    for name in sorted(said.heard.told - allowed):
        yield slip_of("volunteered", Conduct.HELPED, said.message, (name,), name)


def more_than_asked(said: Said) -> Iterator[Slip]:
    """Told for the first time although the agent asked other things, and had only reported what it did: rule 5 names the piece, no more."""
    if said.opening or not said.questions or not said.scene.files:
        return
    for item in said.before.belief.items:
        if item.id not in said.heard.told or item.id not in said.heard.raised or said.asks(item.topics):
            continue
        if _offered(said, item) or (
            item.number is not None and any(said.asks(rule.topics) for rule in said.before.belief.of(item.component))
        ):
            continue  # a level belongs to the rule that was asked about
        quote = next((m.quote for m in mentions(item, said.message) if m.polarity is Polarity.ACCEPTS), said.message)
        yield slip_of("more-than-asked", Conduct.BENIGN, quote, (item.id,), item.id)


_PROPOSES = re.compile(
    r"\b(?:i(?:'ll| will|'d| would)|i (?:plan|propose|suggest|intend|guess\w*|can)|my guess\w*|shall|should|propos\w*|suggest\w*"
    r"|unless you|if you|do you|would you|you didn't say|you did not say|tell me|let me know|one question|confirm|which)\b"
)


def _offered(said: Said, item: Item) -> bool:
    """Whether the agent put the choice to the user: in a question or a proposal. What it assumed beside a question is neither."""
    for sentence in sentences(said.agent[:MAX_TEXT]):
        text = without_assumptions(sentence.text)
        norm = normalise(text)
        about = mentions(item, text) or said.about(text, item.topics)
        if about and _PROPOSES.search(norm) and not COMPARES.search(norm):
            return True
    return False


# -- hinting --------------------------------------------------------------------------------------------------------------


def hints(said: Said) -> Iterator[Slip]:
    """What points at an item without telling it."""
    previous = ""
    for sentence in said.statements:
        if not NO_VIEW.search(sentence.norm):
            yield from _hints(said, sentence, previous)
        previous = sentence.norm


def _hints(said: Said, sentence: Sentence, previous: str) -> Iterator[Slip]:
    if said.opening:
        risk = tuple(item.id for item in said.untold if item.component == "risk")
        if risk and _WISH.search(sentence.norm) and _SAFE.search(sentence.norm):
            yield slip_of("hints-at-a-rule", Conduct.HELPED, sentence, risk, "risk")
        return
    if said.action in ("close", "block"):
        return
    about = tuple(item for item in said.untold if _speaks_of(item, sentence))
    unasked = _UNASKED.search(sentence.norm) and _NOT_ASKED.search(sentence.norm) and said.untold
    if unasked or (about and _MORE.search(sentence.norm)):
        yield slip_of("hints-at-more", Conduct.HELPED, sentence, tuple(item.id for item in about), about[0].piece if about else "")
        return
    unraised = tuple(item for item in about if not said.spoken_of(item) and not _in_the_agents_words(said, item, sentence))
    unraised = tuple(item for item in unraised if not _with_its_level(said, item))
    if unraised and (_OFF.search(sentence.norm) or _HOLDS.search(sentence.norm)) and not _asks_for_files(sentence.norm):
        yield slip_of("unraised-piece", Conduct.HELPED, sentence, tuple(item.id for item in unraised), unraised[0].piece)
    elif _EXCESS.search(sentence.norm) and not said.says_an_item(sentence):
        yield from _excess(said, sentence, previous)


def _speaks_of(item: Item, sentence: Sentence) -> bool:
    cue = _CUES.get(item.component)
    return touches(item, sentence.text) or (cue is not None and cue.search(sentence.norm) is not None)


def _with_its_level(said: Said, item: Item) -> bool:
    """Whether the item is a rule with a level, or the level of a rule, and the other of the two was spoken of."""
    pair = said.before.belief.of(item.component)
    return any(one.number is not None for one in pair) and any(said.spoken_of(one) for one in pair)


def _in_the_agents_words(said: Said, item: Item, sentence: Sentence) -> bool:
    """Whether the agent itself used the words by which the sentence names the part."""
    cue = _CUES.get(item.component)
    words = [hit[0] for _, hit in hits(item.topics, sentence.norm)]
    words += [hit[0] for hit in cue.finditer(sentence.norm)] if cue else []
    words += [normalise(item.piece)] if normalise(item.piece) in sentence.norm else []
    return any(word in normalise(text) for word in words for text in said.seen)


def _excess(said: Said, sentence: Sentence, previous: str) -> Iterator[Slip]:
    """A result is called too high or too low: that points at a rule of the belief, or else is a wish that the belief does not hold."""
    if any(touches(item, sentence.text) for item in said.before.belief.items if item.id in said.heard.after.stated):
        return
    risky = _RISK_FIGURE.search(sentence.norm) or (not _FIGURE.search(sentence.norm) and _RISK_FIGURE.search(previous))
    risk = tuple(item for item in said.untold if item.component == "risk" and not said.spoken_of(item))
    if risky and risk:
        yield slip_of("hints-at-a-rule", Conduct.HELPED, sentence, tuple(item.id for item in risk), "risk")
    elif risky or _FIGURE.search(f"{previous} {sentence.norm}"):
        voiced = any(item.component == "risk" for item in said.before.belief.items)
        if not (risky and voiced):
            yield slip_of("improvised", Conduct.HINDERED, sentence, (), "a limit on a result")


# -- what nobody asked ----------------------------------------------------------------------------------------------------

_ANSWERS_IN_PLACE = re.compile(r"^\W*(?:\d{1,2}[.):]|[a-z][.)])\s|\b(?:there|on (?:that|those|these|this)|either way)\b")


def unasked(said: Said) -> Iterator[Slip]:
    """'No preference' where there was no question."""
    if said.opening or said.action in ("close", "block"):
        return
    for sentence in said.statements:
        if not NO_VIEW.search(sentence.norm) or _ANSWERS_IN_PLACE.search(sentence.norm):
            continue
        topics = tuple(said.open_topics(sentence.text))
        free = tuple(topic for topic in topics if not said.asks_openly(topic) and not _answered_by_item(said, topic.topics))
        if free and (len(free) == len(topics) or _named(free[0].name, sentence)):
            yield slip_of("unasked-no-preference", Conduct.BENIGN, sentence, (), free[0].name)


def _named(name: str, sentence: Sentence) -> bool:
    return normalise(name).removeprefix("the ") in sentence.norm


def _answered_by_item(said: Said, topics: tuple[str, ...]) -> bool:
    """The agent raised the component that the open choice stands for."""
    return any(item.topics == topics and item.id in said.heard.raised for item in said.before.belief.absent)


# -- checks and checklists ------------------------------------------------------------------------------------------------

_CHECKED = re.compile(
    r"(?:\b(?:i|we)(?:'ve| have|'d| had)? (?:\w+ly |also |already |just |now )*|^(?:and |so |ok,? |nice,? )*|[,;:] |\band )"
    r"(?:spot[- ]?checked|checked|double[- ]?checked|cross[- ]?checked|verified|recomputed|recalculated|reconciled|re-?ran|traced|audited"
    r"|tied (?:out|together|back|up)|added (?:it|them) up|worked (?:it|them) out|went (?:through|over) (?:every|all|each|the \w+ (?:row|line|trade))"
    r"|(?:get|got) (?:to )?the same|ran (?:it|the numbers|them|everything) (?:again|myself))\b"
    r"|\b(?:tie|ties|tied) (?:out|together|up)\b|\breconciles?\b"
    r"|\b(?:it|they|that|this|everything|all|numbers?|figures?|totals?) (?:all )?(?:add|adds|added) up\b"
)
_NOT_DONE = re.compile(
    r"\b(?:can't|cannot|couldn't|could not|n't|not|never|unable|able|need\w*|want\w*|like|please|if|whether|before|once|will|i'll|let me|until|can|could|would|should"
    r"|you(?:'ve| have)?)\b(?:\W+\w+){0,4}\W*$|\bto\W*$"
)


def claims_a_check(said: Said) -> Iterator[Slip]:
    """A simulated user reads; what it says to have recomputed it has made up."""
    for sentence in said.statements:
        for hit in _CHECKED.finditer(sentence.norm):
            if not _NOT_DONE.search(sentence.norm[: hit.start()]):
                yield slip_of("claims-a-check", Conduct.BENIGN, sentence)
                break


_LACKS = re.compile(
    r"\b(?:need\w*|wants?|send|put|add|include|give me|show me|show|missing|don't (?:see|have)|do not (?:see|have)|only see|isn't|can't|cannot"
    r"|can you|could you|please|let me see|would like|i'd like|no|without|still|where|how many|what i do not)\b"
)
_NOT_WANTED = re.compile(r"\bno need\b|\b(?:don't|do not) need\b")
_TRAIL = re.compile(
    r"\b(?:blotter|trade[- ]?(?:lists?|logs?|dates?|files?|rows|by[- ]?trade)|lists? of (?:the |all )?(?:trades|orders|fills)"
    r"|(?:actual|every|each|all|single|individual|the) (?:\w+ )?(?:trades?|orders?|fills?)|trades (?:with|behind|themselves)|ledger)\b"
)
_PRICES = re.compile(r"\bprices?\b")
_SECTIONS: Final = {
    "summary": re.compile(r"\bsummar(?:y|ies)\b"),
    "method": re.compile(r"\b(?:method\w*|how (?:it|this) (?:was|is) (?:done|built|made)|procedure)\b"),
    "results": re.compile(r"\bresults\b"),
    "limitations": re.compile(r"\b(?:limitations?|limits|caveats|weaknesses)\b"),
}
_PAPER = re.compile(r"\b(?:report|write[- ]?up|document|section|paper)s?\b")
_FIGURES = tuple(
    re.compile(rf"\b(?:{words})\b") for words in ("returns?", "sharpe", r"draw ?downs?", "(?:number of|how many) (?:trades|orders)")
)
_TRACE = re.compile(r"\b(?:tie|trace|follow|check|verify|reconcile|back to)\b")


def _asks_for_files(norm: str) -> bool:
    return bool(_TRAIL.search(norm) or _PAPER.search(norm))


def checklist(said: Said) -> Iterator[Slip]:
    """Requests that sound like a list of what a delivery must hold, and not like an investor who wants to understand it."""
    if said.opening:
        return
    asking = [s for s in sentences(said.message) if _LACKS.search(s.norm) and not _NOT_WANTED.search(s.norm)]
    text = " ".join(s.norm for s in asking)
    sections = [name for name, expression in _SECTIONS.items() if expression.search(text)] if _PAPER.search(text) else []
    trail = bool(_TRAIL.search(text) and _PRICES.search(text))
    figures = sum(bool(expression.search(text)) for expression in _FIGURES) if trail or _TRACE.search(text) else 0
    if len(sections) < 2 and trail + figures + len(sections) < MANY:
        return
    quote = next((s for s in asking if _TRAIL.search(s.norm) or any(e.search(s.norm) for e in _SECTIONS.values())), asking[0])
    parts = [*(["the trail of the trades"] if trail else []), *([f"{figures} of the four figures"] if figures else []), *sections]
    yield slip_of("checklist", Conduct.BENIGN, quote, (), ", ".join(parts))


# -- the belief -----------------------------------------------------------------------------------------------------------

_CHOICES = r"(?:choices|assumptions|settings|defaults|picks|guesses|parameters|details)"
_THE_REST_OF = re.compile(
    r"\brest of (?:what|your|the|them)\b|\bthe rest (?:is|are|looks?|seems?|can|may|stays?)\b|\bwhat(?:ever)? (?:else )?you(?:'ve| have)? (?:picked|chose|chosen|assumed|set|used|went with)\b"
    rf"|\byour (?:own |other )*{_CHOICES}\b|\b(?:the|those|these|all)(?: other)? {_CHOICES} (?:that )?you\b|\bas you (?:have|did|built|set) it\b"
    r"|\b(?:all|everything|anything)(?: else)? (?:that )?you(?:'ve| have)? (?:picked|chose|chosen|assumed|set|used|did)\b"
)
"""Unmistakably about the agent's choices."""
_THE_REST = re.compile(
    rf"\bthe rest\b|^\W*rest\b|\b(?:everything|anything) else\b|\ball the others?\b|\b(?:the|any) other {_CHOICES}\b"
    r"|\botherwise (?:leave|keep) (?:it|things|everything)\b"
)
"""About them, or about the rest of what was asked."""
_APPROVES = re.compile(
    r"\b(?:fine|good|ok|okay|stay|stays|keep|works?|agree\w*|right|sounds?|looks? (?:good|right)|happy|leave|go ahead|go with|approved?|yes"
    r"|no (?:preference|objections?|complaints)|as (?:is|it is|they are)|happy)\b"
)


def approves_the_rest(said: Said) -> Iterator[Slip]:
    """What the agent chose is approved unseen, and something that the belief has a view on is among it."""
    for sentence in said.statements:
        plain = _THE_REST_OF.search(sentence.norm) is not None
        of_what_was_asked = NO_VIEW.search(sentence.norm) and ("and the rest" in sentence.norm or any(said.open_topics(sentence.text)))
        if not plain and (not _THE_REST.search(sentence.norm) or of_what_was_asked):
            continue
        judged = NO_VIEW.search(sentence.norm) or _APPROVES.search(sentence.norm)
        if not judged or re.search(r"\b(?:not|\w+n't|wrong|off)\b", NO_VIEW.sub(" ", sentence.norm)):
            continue
        stances = {item.id: _stance(said, item) for item in said.untold}
        for effect, polarity in ((Conduct.HINDERED, Polarity.CONTRADICTS), (Conduct.HELPED, Polarity.ACCEPTS)):
            items = tuple(name for name, stance in stances.items() if stance is polarity)
            if items:
                yield slip_of("approves-the-rest", effect, sentence, items, ", ".join(items))


def _stance(said: Said, item: Item) -> Polarity | None:
    """What the agent chose for an item, by the last words about it in its message, else in what is visible of the files."""
    for text in (said.agent, *(e.text for e in said.scene.excerpts)):
        found = mentions(item, text[:MAX_TEXT])
        if found:
            return found[-1].polarity
    return None


def closes_on_a_correction(said: Said) -> Iterator[Slip]:
    """A conviction is told for the first time in the message that closes, against what was delivered: nobody can act on it any more."""
    if said.action != "close":
        return
    for item in said.before.belief.items:
        if item.id in said.heard.told and _stance(said, item) is Polarity.CONTRADICTS:
            yield slip_of("closes-on-a-correction", Conduct.HINDERED, said.message, (item.id,), item.id)


_WANTS = re.compile(
    r"\b(?:i want|i'd like|i would like|use|make it|should be|let's|go with|i(?:'d)? prefer|please|my \w+ is|i have|set it)\b"
)
_INSTEAD = re.compile(r"\b(?:than|instead of|rather than)\b")


def against_the_belief(said: Said) -> Iterator[Slip]:
    """Something else than the belief is wanted, or what the belief holds is left open."""
    if said.action in ("close", "block"):
        return
    accepted = {item.id for item in said.before.belief.items if any(m.polarity is Polarity.ACCEPTS for m in mentions(item, said.message))}
    for sentence in said.statements:
        open_view = NO_VIEW.search(sentence.norm)
        for item in said.before.belief.items:
            if item.id in accepted:
                continue
            if open_view:
                if item in said.untold and _names(item, sentence) and not any(said.open_topics(sentence.text)):
                    yield slip_of("gives-up-a-conviction", Conduct.HINDERED, sentence, (item.id,), item.id)
            elif _wants_otherwise(said, item, sentence):
                yield slip_of("contradicts", Conduct.HINDERED, sentence, (item.id,), item.id)


def _names(item: Item, sentence: Sentence) -> bool:
    """`touches` leaves sentences out that leave something open; here they are meant."""
    return normalise(item.piece) in sentence.norm or touched(item.topics, sentence.text)


def _says(item: Item, sentence: Sentence, polarity: Polarity) -> bool:
    return any(mention.polarity is polarity for mention in mentions(item, sentence.text))


def _wants_otherwise(said: Said, item: Item, sentence: Sentence) -> bool:
    if not _says(item, sentence, Polarity.CONTRADICTS) or any(_says(other, sentence, Polarity.ACCEPTS) for other in said.others(item)):
        return False
    if _OFF.search(sentence.norm) or COMPARES.search(sentence.norm) or _INSTEAD.search(sentence.norm):
        return False
    if deciding.looks(sentence.norm) and not _WISH.search(sentence.norm):
        return False  # 'Please walk me through one trade.'
    short = len(sentence.norm.split()) <= 8 and said.asks(item.topics)
    return short or _WANTS.search(sentence.norm) is not None or deciding.decides(sentence.norm)


def withheld(said: Said) -> Iterator[Slip]:
    """Asked for a value or a method, the user gives it directly (rule 3)."""
    if said.opening or said.action in ("close", "block") or said.scene.cut:
        return
    for item in said.untold:
        asking = next((q for q in said.questions if q.rstrip().endswith("?") and _asks_for(item, q)), None)
        if asking is None or any(said.open_topics(asking)) or any(other.id in said.heard.after.stated for other in said.others(item)):
            continue
        if said.heard.told or any(_names(item, sentence) for sentence in said.statements):
            continue  # a question may be about another item that its words also fit; what is said of this one is another check's
        yield slip_of("withheld", Conduct.HINDERED, asking, (item.id,), item.id)


_DIRECT = re.compile(r"\b(?:what|which|how|do you (?:want|have|prefer)|would you|should i|shall i|at what)\b")


def _asks_for(item: Item, question: str) -> bool:
    return _DIRECT.search(normalise(question)) is not None and touched(item.topics, question)
