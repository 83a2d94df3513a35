"""When a sentence of the user's settles something, and what it may settle that no belief of this kind names in words of its own.

A sentence that reports what was built, finds fault, or asks to be shown something settles nothing.
"""

import re
from collections.abc import Iterator
from typing import Final

from finassay.api.matching import Sentence
from finassay.session.said import NO_VIEW

REPORT_WORDS = re.compile(
    r"\b(?:reports?|write[- ]?ups?|sections?|tables?|charts?|plots?|columns?|files?|lists?|logs?|ledger|blotter|summary|limitations|figures?|numbers)\b"
)
_MARK = r"^\W*(?:\d{1,2}[.):]\s+|[a-z][.)]\s+)?"
_POLITE = r"(?:(?:and|so|then|also|yes|yeah|ok|okay|sure|no|well|hm+|please|just|but|instead|rather)\b[,.:;! -]*)*"
_ACTS = (
    r"(?:use|using|take|hold|set|make it|exclude|skip|omit|avoid|drop|leave out|remove|cut|sell|exit|close out|buy|go (?:short|long|to cash|with|for)|short"
    r"|combine|blend|average|mix|weight|size|rank|apply|start|stop|keep|cap|limit|restrict|assume|charge|count|scale|target|trade|rebalance|hedge|invest|move"
    r"|only (?:use|buy|hold|take)|get (?:me |us |it )?(?:out|rid)|lower|raise|tighten|loosen|widen|increase|reduce|change|switch|replace|double|halve|dump|bail|liquidate|stick (?:to|with)|choose|pick|benchmark|lever|borrow|measure|fill|execute|put|add|include|allow|have it)"
)
_IMPERATIVE = re.compile(rf"{_MARK}{_POLITE}{_ACTS}\b|[,:-] (?:and |then |also |please )*{_ACTS}\b|\band (?:also |then |please )*{_ACTS}\b")
_WISH = re.compile(
    r"\b(?:i(?: also| really| just| only)? want|makes? sense|i'd (?:also )?(?:like|want|prefer|go|take|use|say)|i would (?:like|prefer|use|take|go)|i(?: also)? prefer|i(?:'ll| will) (?:take|go)|let's|let us"
    r"|please use|my (?:stop|benchmark|level|limit|rule|choice|exit|target)\w* (?:is|would be)|(?:should|must|has to|have to|needs to|ought to) \w+|make it|go with"
    r"|i use|i hold|i sell|i(?:'d)? cut|i always|we use)\b"
)
_LOOKS = re.compile(
    r"\b(?:want|like|love|prefer|need|have|let's|would)(?: to| you to| me)* (?:see|know|understand|look|read|check|follow|hear|learn|find out|be shown|trace|compare|stop there|stop here|get a (?:look|feel))\b"
    r"|\b(?:show|tell|walk|explain|send|give|let) (?:me|us)\b"
)
FAULT = re.compile(
    r"\b(?:isn't|aren't|wasn't|doesn't|didn't|is not|are not|does not|not (?:quite|what|how|my|mine|right|the)|wrong|off|missing|incomplete|misses|lacks?"
    r"|differs?|different|bothers? me|no good|way too|never asked|can't|cannot|couldn't|why)\b"
)
_TELLS = re.compile(
    r"\b(?:i (?:see|saw|read|notice\w*|understand|wonder|noted|found|get|got|thought|expected|know|gather|guess|think|said|told|mean\w*|had|am|have|can)"
    r"|(?:was|were|did|had|been|says?|said|shows?|seems?|looks?|feels?|sounds?|reads?|means?|helps?|hurts?|costs? the|earned|made|lost money|comes?|came|gives?|gave)"
    r"|thanks?|thank you|nice|great|interesting|useful|perfect|glad|happy|hoped|better|worse|you|your|it|it's|its|they|there|this|that|these|those|i|i'm|i've)\b"
)
_APPROVES = re.compile(
    r"\b(?:fine|good|ok|okay|right|agreed?|works?|happy|stay|stays|as (?:it|they) (?:is|are)|no (?:objections?|complaints?))\b"
)
_COPULA = re.compile(rf"{_MARK}{_POLITE}(?:the |my )?[\w' -]{{3,40}}? (?:is|are|should be|will be) ")
_CLAUSE = re.compile(r"[,;:()]\s+|\s+-\s+|\b(?:and|but|with|plus)\b")
_DENIES = re.compile(
    r"\b(?:no|not|without|never|nor|neither|n't|\w+n't|forget|nothing|none|skip|drop|omit|avoid|leave out|instead of|rather than)\b[^,;:.]{0,40}$"
)
CONDITIONS = re.compile(
    r"\b(?:the )?universe (?:is|are|will be|should be|would be)\b|\buniverse ?[:=]|\b(?:(?:stop|end) (?:there|then)|nothing (?:after|later)(?: that)?)\W*$"
    r"|\b(?:use|using|have|take|only|just|all|the)? ?(?:data|prices|history)\b[^.;]{0,40}\b(?:up to|until|till|through|ending|before|to the end|no later|nothing (?:after|later))\b"
    r"|\b(?:up to|until|till|through) (?:and including )?(?:the )?(?:end of |december |31 december |\w+ \d+,? )?(?:19|20)\d\d\b"
)
"""How the task's universe and last date are told."""
_REMOVES = re.compile(
    r"\b(?:take|leave|rip|pull)\b[^.;,]{0,40}\bout\b(?! of)"
    r"|\b(?:remove|delete|scrap|ditch|get rid of|disable|undo|(?:switch|turn) off|(?:drop|skip|forget|lose|omit) (?:the|that|this|any|all|your))\b"
)
LONGEST: Final = 30
"""A sentence of more words without a verb of deciding tells a story."""


def strongly(norm: str) -> bool:
    """Whether a sentence orders or wishes: 'Use …', 'I want …'."""
    if NO_VIEW.search(norm):
        return False
    wish = _WISH.search(norm) and not _LOOKS.search(norm)
    return bool(wish or (_IMPERATIVE.search(norm) and not _LOOKS.search(norm)))


_REQUEST = re.compile(
    rf"{_MARK}{_POLITE}(?:(?:can|could|would|will) (?:you|we)|how about (?:if )?(?:you|we)|why (?:don't you|not)|what if (?:you|we)) (?:please |also |maybe |just |now |then )*(?={_ACTS}\b)"
)


def request(sentence: Sentence) -> Sentence | None:
    """What a question orders, without its 'can you': 'use a 10 percent stop instead'."""
    hit = _REQUEST.match(sentence.norm)
    return None if hit is None else Sentence(sentence.text, sentence.norm[hit.end() :].rstrip(" ?"), sentence.start, False)


def looks(norm: str) -> bool:
    """Whether a sentence asks to be shown or told something, and orders nothing."""
    return _LOOKS.search(norm) is not None


def fragment(norm: str) -> bool:
    """Whether it is an answer without a sentence around it ('A trailing stop.', 'Costs of 10 bp per side.'), or 'The benchmark is …'."""
    if NO_VIEW.search(norm) or FAULT.search(norm) or len(norm.split()) > LONGEST:
        return False
    norm = re.sub(r"^\W*just |[, ]*\b(?:thanks|thank you)\W*$", "", norm)
    told = _COPULA.sub("", norm, count=1) if not _APPROVES.search(norm) else norm
    return not _TELLS.search(told) and not re.search(r"\b(?:is|are|has|have|does|do)\b", told)


def decides(norm: str) -> bool:
    """Whether a sentence settles what it speaks about."""
    return strongly(norm) or fragment(norm)


def approves(norm: str) -> bool:
    """Whether it calls something fine that the agent chose."""
    return _APPROVES.search(norm) is not None


def denied(norm: str, start: int) -> bool:
    """Whether what stands at `start` is left out: 'no stop', 'without any shorting'."""
    return _DENIES.search(norm[max(0, start - 80) : start]) is not None


def removed(norm: str) -> bool:
    """Whether a sentence takes something out again that the agent brought in: 'Drop the stop.', 'Leave the stop out.'"""
    return _REMOVES.search(norm) is not None


def clauses(sentence: Sentence) -> Iterator[str]:
    """The parts of a sentence, verbatim."""
    yield from (part for part in _CLAUSE.split(sentence.text) if part and part.strip())


# -- what strategies may hold ---------------------------------------------------------------------------------------------

_LEAVE = r"(?:sell\w*|exit\w*|cut\w*|clos(?:e|es|ing)|dump\w*|bail\w*|liquidat\w*|get (?:me |us |it )?out|out of|drop|go(?:es|ing)? to cash|to cash|into cash|stop(?:ped)? out)"
_SINK = r"(?:los[est]\w*|fall\w*|fell|drop\w*|down|declin\w*|below|under|sink\w*|sank|drawdown|south|tank\w*|crash\w*|plung\w*|turns? bad)"
RULES: Final = {
    "risk": re.compile(
        rf"\b{_LEAVE}\b[^.;]{{0,60}}\b(?:once|when|if|after|as soon as|at|should)\b[^.;]{{0,60}}\b{_SINK}\b"
        rf"|\b(?:once|when|if|after|as soon as)\b[^.;]{{0,60}}\b{_SINK}\b[^.;]{{0,60}}\b{_LEAVE}\b"
        r"|\b(?:stop[- ]?loss\w*|trailing stops?|(?:hard|fixed|protective|catastrophe|mental) stops?|stops? (?:at|of|on|from|below)|take[- ]profits?|profit targets?"
        r"|(?:position|drawdown|loss|sector|exposure|volatility|vol|risk) (?:limit|cap|target|stop)s?|circuit breakers?|hedg\w+|protective puts?)\b"
    ),
    "timing": re.compile(
        r"\b(?:market timing|regime filters?|trend filters?|(?:only|just) (?:be )?(?:in|invested)[^.;]{0,30}(?:when|while|if)"
        r"|(?:to|in|into) cash\b[^.;]{0,30}\b(?:when|while|if|once)\b[^.;]{0,30}\b(?:market|index|s&p)|200[- ]?days?)\b"
    ),
    "cost": re.compile(
        r"\b(?:costs?|fees?|commissions?|slippage)\b[^.;]{0,30}\d|\d[\d.]*(?:bp|%| ?dollars?| ?cents?)[^.;]{0,30}\b(?:costs?|fees?|commissions?|slippage)\b"
    ),
}
"""Component to how its rules are said by people who do not speak in the phrases of the matcher."""

SHORTING = re.compile(
    r"\b(?:go(?:ing)? short|short (?:the|those|all|names|stocks|losers|selling)|shorting|sell short|long[- /]short|market[- ]neutral|dollar[- ]neutral|(?:with|use|add|some|\d+(?:\.\d+)?x) leverage"
    r"|lever(?:ed|age) (?:it|up|to|of|at)|on margin|borrow (?:money|cash)|\d+/\d+ portfolio of long)\b"
)
_SECTORS = (
    r"(?:financials?|financial (?:stocks|companies|names)|banks?|insurers?|utilit(?:y|ies)|energy|oil\w*|tech\w*|health ?care|pharma\w*|biotechs?|real estate|reits?|materials|miners?"
    r"|industrials|staples|consumer \w+|telecoms?|tobacco|defen[cs]e|weapons|gambling|alcohol|fossil \w+|chinese|foreign|adrs?|etfs?|funds|otc|penny|micro[- ]?caps?|small[- ]?caps?|mid[- ]?caps?"
    r"|large[- ]?caps?|mega[- ]?caps?|ipos?|illiquid|unprofitable|loss[- ]making|dividend payers|spacs?)"
)
SCREEN = re.compile(
    rf"\b(?:exclud\w+|leav\w+ out|skip\w*|drop|omit\w*|avoid\w*|remov\w*|without|ban|no|ex|only(?: (?:buy|use|hold|take|in))?|stick to|restrict\w*(?: it)? to|limit\w* (?:it|the universe) to)"
    rf" (?:the |any |all |of the |to )*{_SECTORS}\b"
    r"|\b(?:only |just )?(?:stocks|names|companies|shares) (?:above|over|below|under|worth|priced|trading|with (?:a )?(?:price|market|volume|at least|more than)) [^.;]{0,30}\d"
    r"|\b(?:exclud\w+|leav\w+ out|skip\w*|drop|omit\w*|avoid\w*|only|nothing|no)\b[^.;]{0,30} (?:above|over|below|under|smaller than|larger than|cheaper than|less than|more than)"
    r" (?:[$€£] ?\d|\d+(?:\.\d+)? (?:dollars|euros|million|billion)|an? (?:million|billion|dollar))"
    r"|\b(?:minimum|min) (?:price|volume|market ?cap\w*|liquidity)\b|\bmarket ?caps? (?:above|over|below|under|of at least)\b"
)
_FAMILIES: Final = {
    "value": (
        r"value|cheap(?:ness)?|book[- ]to[- ]market|price[- ]to[- ](?:book|earnings)|p/?e|p/?b|earnings yield",
        r"cheap|book|earnings.yield|value",
    ),
    "quality": (r"quality|profitab\w+|roe|return on equity|gross margins?", r"return on equity|roe|profit"),
    "growth": (r"growth|sales growth|earnings growth|revenue growth", r"grow"),
    "momentum": (r"momentum|past winners|relative strength", r"winners|return over|last year|mom_|52.week"),
    "reversal": (r"(?:short[- ]term )?reversal|mean reversion", r"hit hardest|losers|rev_"),
    "size": (r"size(?: factor| tilt| premium)|small[- ]?caps? tilt|smallness", r"smaller|size"),
    "low risk": (r"low[- ](?:vol\w*|beta|risk)|calmness|min\w*[- ]vol\w*", r"calm|volatil|move less|beta"),
    "dividends": (r"dividend yields?|(?:high )?dividends|buyback yield|shareholder yield", r"dividend"),
    "others": (
        r"sentiment|analyst (?:revisions|ratings)|short interest|insider (?:buying|trades)|accruals|leverage factor|esg|rsi|macd",
        r"\bnone\b",
    ),
}
"""Family of a ranking signal: how it is named as one, and how a belief that holds one of its kind may say it."""
_AS_FACTOR = r"(?:as (?:a|the|another|my)?\s?(?:second|third|2|3|further|other|extra|additional|another)?\s?(?:factor|signal|criteri\w+|measure|ranking)|as well|too|also|on top|alongside)"
_NAMES: Final = {
    name: re.compile(
        rf"\b(?:{said})\b[^.;]{{0,25}}\b{_AS_FACTOR}\b"
        rf"|\b(?:also|add|adding|combine\w*|blend\w*|mix\w*|plus|include|second factor|other factor|another factor|second signal|rank\w*(?: \w+){{0,3}} (?:by|on)|"
        rf"(?:use|using|want|take|pick|prefer|score on))\b(?: \w+){{0,4}} (?:{said})\b(?! (?:of|at|weight\w*))"
        rf"|\b(?:{said}) (?:factor|signal|tilt|score)s?\b"
    )
    for name, (said, _) in _FAMILIES.items()
}
_HELD: Final = {name: re.compile(held) for name, (_, held) in _FAMILIES.items()}


def factors(norm: str, held: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Families of signals that a sentence brings in, beside those of which `held`, the belief's own words, speaks."""
    for name, expression in _NAMES.items():
        hit = expression.search(norm)
        if hit is not None and not _HELD[name].search(held):
            yield name, hit
