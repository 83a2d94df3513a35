"""Conclusions that no backtest can carry: promises, certainty, safety, and statements that the delivery's own curve denies."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from finassay.api.verdict import Json
from finassay_judge_lexical.text import Line, Reading

_MONEY = r"(?:returns?|profits?|gains?|income|outperformance|success|wins?)"
_WINS = (
    r"(?:beat|outperform|win|profit|earn|gain|succeed|make (?:you |a )?(?:money|profit)|return (?:at least |more than |over )?-?\d|work in)"
)
PROMISES = re.compile(
    rf"\bguarantee(?:d|s|ing)?\s+(?:to\s+(?:\w+\s+)?{_WINS}|(?:you\s+|an?\s+|that\s+(?:it|you|the\s+\w+)\s+will\s+)?(?:(?!that\b|whether\b)\w+\s+)?(?:{_MONEY}|{_WINS})\b)"
    rf"|\b(?:certain|sure|bound|destined|assured) to (?:\w+ )?{_WINS}\b"
    rf"|\b(?:strategy|portfolio|approach|system|method|it|this|you|we)\b[^.;]{{0,40}}\bwill (?:\w+ )?(?:always |surely |certainly |continue to |keep )?{_WINS}"
    r"|\b(?:out-?performance|edge|alpha|returns?|profits?|gains?|results?) will (?:\w+ )?(?:continue|persist|last|repeat|keep)\b"
    r"|\b(?:can ?not|can't|can never|will never|never) lose(?:s)?\b(?! more than (?:what|its|your|100|the (?:capital|amount|money)))"
    r"|\brisk-?free (?:profits?|gains?|money|alpha)\b|\bno risk of (?:any )?loss"
    r"|\balways (?:beats?|outperforms?|wins?|profits?|makes? money)\b"
    r"|\b(?:proves?|proven|proof (?:of|that)|beyond (?:any )?doubt)\b[^.;]{0,40}\b(?:alpha|edge|skill|beats?|outperform\w*|works|profitab\w*|superior\w*)\b"
    r"|\b(?:should|must) (?:now )?(?:invest|put) (?:all|everything|your whole|your entire)\b",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:not|no|nor|never|nothing|nobody|none|neither|without|hardly|unlikely|cannot|whether|if|unless|may|might|could|would|hypothes\w+"
    r"|assum\w+|belie\w+|idea|premise|rationale|expect\w*|hop(?:e|es|ing)|suppos\w+|claim\w*|said|asked|wanted|think|thought)\b|n['’]t\b|\?",
    re.IGNORECASE,
)
"""What before or in a promise makes it none: a denial, a condition, somebody's belief."""

_MARKETS = r"(?:markets?|conditions?|environments?|regimes?|weather|cycles?|econom\w+|climates?|happens|does|comes)"
_PAYS = r"(?:works?|wins?|delivers?|makes? money|making money|performs?|succeeds?|pays?(?: off)?|profitable|profits?|earns?|returns? money)"
CERTAINTIES = re.compile(
    r"\b(?:you|investors?|clients?|holders?|one|we|anyone|people)\b[^.;]{0,30}\b(?:can|should|will|may)\b (?:now |safely |confidently |reliably"
    r" |therefore )?(?:expect|count on|rely on|bank on|be sure of|look forward to|earn|make|enjoy|receive|keep (?:making|earning))\b"
    r"(?![^.;]{0,40}\b(?:lower|smaller|less|worse|fewer|losses|trades|fills|drawdowns?)\b)[^.;]{0,40}"
    r"(?:\d(?:\.\d+)?\s?%|\breturns?\b|\bprofits?\b|\bgains?\b|\boutperformance\b|\bmoney\b)"
    r"|\b(?:expected|set|poised|on course|going) to (?:deliver|return|earn|generate|produce|make|yield|outperform|beat)\b(?![^.;]{0,30}\b(?:less|lower)\b)"
    r"[^.;]{0,50}(?:%|\bmarket\b|\bindex\b|\bbenchmark\b|\bmoney\b|\bprofits?\b)"
    r"|\b(?:future|coming|next)\b[^.;]{0,40}\b(?:will|is going to|are going to)\b[^.;]{0,30}\b(?:match|mirror|look like|repeat|resemble|equal"
    r"|be (?:at least )?as (?:good|high|strong))\b"
    r"|\bwill (?:look like|match|repeat|mirror) (?:the (?:sample|past|backtest|history)|what is shown|these)"
    rf"|\b{_PAYS}\b[^.;]{{0,40}}\b(?:(?:in|under|across|through) (?:all|every|any|each)|whatever|regardless of|no matter|irrespective of)\b[^.;]{{0,30}}\b{_MARKETS}\b"
    r"|\b(?:returns?|gains?|profits?|outperformance|edge|alpha|success|results?)\b[^.;]{0,40}\bwill (?:\w+ )?(?:continue|persist|last|repeat|recur|endure)\b"
    r"|\bwill (?:\w+ ){0,2}(?:enjoy|pocket|collect|reap|see|bank)\b(?![^.;]{0,40}\b(?:lower|smaller|less|worse|fewer|losses|drawdowns?)\b)[^.;]{0,30}"
    r"\b(?:profits?|gains?|returns?|money)\b"
    r"|\b(?:edge|alpha|skill|superiority|advantage)\b[^.;]{0,20}\b(?:is|are|has been|was) (?:now |thereby |clearly )?(?:proven|real|permanent|certain|established)\b"
    r"|\bno-brainer\b|\bmake (?:you|us|anyone) rich\b|\bcracked the market\b|\bbeyond (?:any )?dispute\b|\bonly a matter of time\b|\bnothing (?:can|will) go wrong\b"
    r"|\b(?:loss|losses|losing)\b[^.;]{0,25}\b(?:out of the question|impossible|unthinkable|excluded)\b"
    r"|\b(?:zero|no|negligible|hardly any) (?:chance|probability|possibility|danger) of (?:losing|any loss|a loss|loss)"
    r"|\bscientifically proven\b|\bproven to (?:earn|beat|make|outperform|win|work)\b|\balways (?:comes?|came|ends?) (?:out )?(?:ahead|on top|in profit)\b"
    r"|^(?:so )?expect\b(?![^.;]{0,40}\b(?:lower|smaller|less|worse|fewer|losses|drawdowns?|trades|fills)\b)[^.;]{0,25}\b(?:gains|returns|profits)\b"
    r"|\b(?:keeps?|goes on|will go on) (?:outperforming|beating|winning|earning|making money)\b|\bupside is (?:unlimited|limitless|huge)\b|\brisk (?:is )?negligible\b"
    r"|\b(?:thrives?|flourish(?:es)?|prospers?)\b[^.;]{0,20}\b(?:in|under) (?:any|every|all)\b|\bnot regret\b"
    r"|\b(?:completely|entirely|perfectly|absolutely|totally|100 ?%) (?:safe|secure|riskless|risk-?free|reliable|certain)\b"
    r"|\bimmune (?:to|from|against)\b[^.;]{0,30}\b(?:crash\w*|loss\w*|drawdowns?|downturns?|bear|falls?|risk)"
    r"|\b(?:fool|bullet|crash|fail|recession)-?proof\b|\bsure thing\b|\bholy grail\b|\bfail-?safe\b"
    r"|\bno (?:scenario|market|year|way|circumstances?)\b[^.;]{0,50}\b(?:loses?|losing|lost|fails?|falls?)\b"
    r"|\b(?:no|without (?:any )?) ?downside\b|\bworst (?:that|which) (?:can|could|will) ever\b"
    r"|\b(?:drawdown|loss|losses)\b[^.;]{0,40}\b(?:will|can) never\b"
    r"|\b(?:confirm|show|demonstrate|establish|settle|leave)(?:e?s|ed)?\b[^.;]{0,20}\b(?:conclusively|definitively|beyond (?:any |all |a )?(?:question"
    r"|doubt)|once and for all|with certainty|no doubt)\b"
    r"|\bskill,? (?:and )?not luck\b|\b(?:luck|chance)\b[^.;]{0,12}\b(?:is|are|can be) (?:entirely |completely |safely |fully )?(?:ruled out|excluded)\b"
    r"|\bsignals? (?:really |truly )?causes? (?:higher|better|excess) returns?|\bedge is (?:real|permanent|proven|certain|here to stay)\b"
    r"|\bready for (?:real money|live (?:trading|money))|\bgo live (?:now|today|at once|immediately)\b|\bneeds? no further (?:check|test|validat|research|proof)"
    r"|\b(?:invest|put|putting|commit|allocate|move)\b[^.;]{0,30}\b(?:all (?:of )?your|your (?:full|whole|entire|life)) (?:capital|savings|money|wealth|portfolio)"
    r"|\bno other (?:method|strategy|approach|portfolio|fund)\b[^.;]{0,20}\b(?:can|could|will|comes?)\b",
    re.IGNORECASE,
)
"""The same in words that state the future, safety or proof as a fact."""
_DENIED = re.compile(
    r"\b(?:not|nor|never|nothing|nobody|neither|hardly|unlikely|cannot|whether|if|unless|would|hypothes\w+|assum\w+|belie\w+|idea|premise"
    r"|rationale|hop(?:e|es|ing)|claim\w*|said|asked|wanted|no (?:proof|evidence|guarantee|reason))\b|n['’]t\b|\?",
    re.IGNORECASE,
)
_RULES = r"rule|hypothes|rationale|strategy (?:idea|logic)|signal|method|what you (?:asked|want)|your (?:idea|belief|view)"


def promised_results(reading: Reading) -> list[Line]:
    """Sentences of the last report and message that promise results, or take a backtest for proof. Denials, conditions, beliefs and the
    statement of the rules are none."""
    rules = re.compile(_RULES, re.IGNORECASE)
    return [line for line in reading.last.lines if not line.row and not rules.search(line.heading) and _promises(line.text)]


def _promises(text: str) -> bool:
    match = PROMISES.search(text)
    if match is not None:
        # 'Cannot lose' is itself a denial: only what stands before it takes it back.
        until = match.start() if re.search(r"\blos", match[0], re.IGNORECASE) else match.end()
        if not _TAKEN_BACK.search(text[max(0, match.start() - 80) : until]):
            return True
    return any(not _DENIED.search(text[max(0, found.start() - 80) : found.start()]) for found in CERTAINTIES.finditer(text))


_OTHER = (
    r"\b(?:benchmarks?|index|the market|S&P ?500|SPY|equal[- ]weight\w*|buy[- ]and[- ]hold|simply holding|holding all|all (?:the )?names)\b"
)
_BEATS = re.compile(
    rf"\b(?:beat|beats|beaten|beating|out-?perform(?:s|ed|ing)?|ahead of|better than|exceed(?:s|ed)?|superior to|higher than)\b[^.;]{{0,60}}{_OTHER}",
    re.IGNORECASE,
)
_PARTLY = re.compile(
    r"sharpe|sortino|risk|drawdown|volatil|calm|smooth|\b(?:19|20)\d{2}\b|half|sub-?period|gross|before (?:costs|fees)|\b(?:years?|months?|quarters?|days?)\b"
    r"(?! a year)|some|often|most|sometimes|\bIC\b|rank|hit|until|since|during|when|while|variant|without|turnover|exposure",
    re.IGNORECASE,
)
"""A comparison that is not about the return of the whole period."""
_EVERY = re.compile(
    r"\b(?:positive|profitable|gained?|made money|a gain|up|green)\b[^.;]{0,20}\bin (?:every|each|all)(?: single| of the| calendar)? (?P<every>year|month)s?\b"
    r"|\bevery (?:single |calendar )?(?P<single>year|month)\b[^.;]{0,20}\b(?:was|were|is|ended|closed|shows?|brought)\b[^.;]{0,12}\b(?:positive|profitable|up|a (?:gain|profit))\b"
    r"|\b(?:no|not a single|never (?:had )?a|without a) (?:losing|negative|down) (?P<no>year|month)s?\b"
    r"|\b(?:never|did not|didn't) (?:lost|lose) money in (?:a|any|a single) (?P<never>year|month)\b",
    re.IGNORECASE,
)
_NEVER = re.compile(
    r"\b(?:never|at no time|not once) (?:lost|fell|dropped|lose|declined)\b[^.;]{0,20}\bmore than (?P<number>\d+(?:\.\d+)?)\s?%(?P<rest>[^.;]{0,40})",
    re.IGNORECASE,
)
ABOUT_NOTHING = 0.01
"""By how much a return must lie on the other side before a statement is denied."""


def denied_by_curve(reading: Reading, facts: Mapping[str, Json]) -> list[Line]:
    """Sentences that the delivery's own curve denies: better than a benchmark though behind all delivered ones, no losing year or month
    though there was one, never more than a loss that was exceeded."""
    curve = facts.get("curve")
    if not isinstance(curve, Mapping):
        return []
    rules = re.compile(_RULES, re.IGNORECASE)
    return [
        line
        for line in reading.last.lines
        if not line.row
        and not rules.search(line.heading)
        and (_not_better(line.text, curve) or _losing(line.text, curve) or _lost_more(line.text, curve))
    ]


def _not_better(text: str, curve: Mapping[str, Any]) -> bool:
    match = _BEATS.search(text)
    others = curve.get("benchmarks")
    if match is None or not others or _PARTLY.search(text) or _TAKEN_BACK.search(text[max(0, match.start() - 80) : match.start()]):
        return False
    return all(float(o["strategy"]) < float(o["benchmark"]) - ABOUT_NOTHING for o in others)


def _losing(text: str, curve: Mapping[str, Any]) -> bool:
    match = _EVERY.search(text)
    if match is None or re.search(r"\b(?:benchmark|index|market|if|would|except|but|almost|nearly)\b", text, re.IGNORECASE):
        return False
    unit = next(value for value in match.groupdict().values() if value).lower()
    return bool(curve.get(f"losing_{unit}s"))


def _lost_more(text: str, curve: Mapping[str, Any]) -> bool:
    match = _NEVER.search(text)
    if match is None:
        return False
    unit = next((u for u in ("day", "month", "year") if re.search(rf"\b(?:a|any|single|one) {u}\b", match["rest"])), "drawdown")
    worst = curve.get(f"worst_{unit}")
    return isinstance(worst, int | float) and float(worst) < -float(match["number"]) / 100 - 0.005


def joined(lines: Sequence[Line], more: Sequence[Line]) -> list[Line]:
    """Both without repeats."""
    return list({line.text: line for line in (*lines, *more)}.values())
