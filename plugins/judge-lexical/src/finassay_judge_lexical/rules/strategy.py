"""2.7 strategy ambiguity, 2.8a signal rationale, 2.9 parameter justification."""

import re
from collections.abc import Mapping

from finassay.api.verdict import Json
from finassay_judge_lexical.grade import Grade, Rule, grade, kinds
from finassay_judge_lexical.text import Line, Reading, Text

RULE_HEADING = r"rule|method|specification|\bspec\b|setting|parameter|assumption|strategy|construction|how it works|approach"

DEFINED: Mapping[str, str] = {
    "selection": (
        r"(?:return|momentum|rank|score|signal|volatil|beta|high|earnings|book|growth|profit|moment|winner|loser|cheap"
        r"|calm)\w*.{0,160}\d|\d.{0,80}(?:return|rank|score|day|month|session)"
    ),
    "weighting": (
        r"equal(?:ly)?[- ]?weight|equal weights?|same weight|inverse[- ](?:vol|variance)|risk parity|equal risk|mean[-"
        r" ]variance|proportional to|market[- ]cap|minimum[- ]variance|1/n\b|sharpe[- ]optimal"
    ),
    "schedule": (
        r"\b(?:weekly|monthly|quarterly|daily|every (?:week|month|quarter|day)|month[- ]end|week[- ]end|quarter[- ]end|drift"
        r"|band|announcement|last (?:close|session) of (?:the|a|each|every))\b"
    ),
    "fill": (
        r"\b(?:next|following|same|that|trade[- ]?day'?s?)\s+(?:session|day|close|open|trading day|bar)\w*|\b(?:filled|traded"
        r"|executed)\s+(?:at|on)\b|\bfill(?:s|ed)?\b.{0,30}\b(?:close|open)\b"
    ),
    "cost": (
        r"\d+(?:\.\d+)?\s*(?:bps?\b|basis points?\b|%).{0,60}\b(?:cost|fee|side|traded|trade|commission)|\b(?:cost|fee"
        r"|commission)s?\b.{0,80}(?:\d+(?:\.\d+)?\s*(?:bps?|basis points?|%)|\bnone\b|\bzero\b|\bno\b)|\bno (?:trading "
        r"|transaction )?costs?\b"
    ),
}
"""What makes a rule executable, by kind of rule."""

OPEN = re.compile(
    r"\b(?:at|in) (?:our|my|the manager's|its|their|your) (?:own |sole )?discretion\b|\bdiscretionary\b|\bjudge?ment calls?\b|\bby (?:feel|eye|judge?ment)\b"
    r"|\b(?:if|when|where|whenever|as) (?:it |this |that |we |i |they |one )?(?:seems?|feels?|looks?|deemed?|thinks?|judges?|considers?(?:ed)?|sees?)"
    r" (?:it |this |them )?(?:to be )?(?:appropriate|sensible|right|fit|best|attractive|necessary|reasonable|prudent|useful|good|promising)\b"
    r"|\b(?:if|when|whenever|as|once) (?:the )?(?:market |trading )?(?:conditions|circumstances|the situation|opportunities|sentiment) (?:suggest|warrant|allow|permit"
    r"|require|demand|arise|(?:is|are|look|looks) (?:right|good|favou?rable|suitable))\w*\b"
    r"|\b(?:roughly|about|around|approximately|some|usually|typically) \d+ (?:to|-|–|or) \d+ (?:of the |of )?(?:better |best |top )?(?:names|stocks|positions"
    r"|holdings)?\b(?= (?:of|or|names|stocks|positions|holdings|better|best)|\s*$|[,.;|])"
    r"|\b(?:names|stocks|positions|holdings|candidates) (?:that|which) (?:look|seem|appear|feel)s? (?:good|attractive|promising|cheap|strong|right|solid)\b"
    r"|\b(?:from time to time|now and then|more or less often|every so often|as needed|as and when)\b|\bor (?:more|fewer|less|another number) if\b",
    re.IGNORECASE,
)
"""A rule that leaves the decision to whoever carries it out."""
_CLOSED = re.compile(r"\b(?:no|not|never|nothing|none|without|neither|nor|instead of|rather than)\b|n['’]t\b", re.IGNORECASE)

COMPONENTS: Mapping[str, str] = {
    "selection": r"select|signal|factor|rank|score|momentum|stock",
    "timing": r"timing|market filter|regime|invested|in the market",
    "weighting": r"weight|sizing|allocation|construction",
    "risk": r"risk|stop|drawdown|vol(?:atility)? target|sector cap|control|\bexit",
    "execution": r"schedul|rebalanc|refresh|execution|trade|fill",
    "cost": r"cost|fee|commission",
}
TIES = (
    r"\bties?\b|tied|alphabetical|method\s*=\s*[\"'](?:first|min)|kind\s*=\s*[\"'](?:stable|mergesort)|sort_values\([^)]*\[|lexsort"
    r"|nlargest"
)
ROUNDING = r"\bround(?:ed|ing)?\b|fractional shares?|whole shares?|np\.floor|\bfloor\(|round\("
WARM_UP = (
    r"warm[- ]?up|enough history|first (?:signal|decision|trade|rebalance) (?:on|in|at|after)|min_periods|dropna\(|not enough"
    r"|len\([^)]*\)\s*<|full history|\.rolling\("
)
PLACE = r"[\w/]+\.py\b.{0,60}|\b[a-z_]{3,}\(\)|\bsheet\b.{0,30}\bcells?\b|\b[A-Z]{1,2}\d{1,4}\b"


def _rules(reading: Reading) -> Text:
    """Rule sections of report and last message, and the rows of specification tables."""
    heads = tuple(
        Line(raw, table.where, "specification", True) for table in reading.tables("spec") for raw in table.head.split("\n") if raw.strip()
    )
    found = (*reading.last.under(RULE_HEADING), *heads)
    return Text(found or reading.last.lines)


def open_rules(rules: Text) -> list[Line]:
    """Rules that leave what is done to discretion, conditions nobody defines, or a rough number; denials are none."""
    found = []
    for line in rules.lines:
        match = OPEN.search(line.text)
        if match and not _CLOSED.search(line.text[max(0, match.start() - 50) : match.start()]):
            found.append(line)
    return found


def ambiguity(reading: Reading, facts: Mapping[str, Json]) -> Grade:
    """Whether each kind of rule has a definition that can be executed; what code closes counts for ties, rounding, warm-up and the fill."""
    rules = _rules(reading)
    touched = kinds(COMPONENTS, lambda pattern: rules.find(pattern, words=2))
    defined = kinds(DEFINED, lambda pattern: rules.find(pattern, done=False))
    for name in ("weighting", "schedule", "fill", "cost"):
        if name not in defined and (lines := reading.last.find(DEFINED[name], done=False)):
            defined[name] = lines
    if "fill" not in defined and (lines := reading.code.find(r"shift\(|searchsorted|next_(?:session|day|close)|\bfill", done=False)):
        defined["fill"] = lines
    rebuilt = facts.get("rebuilt_by_a_test")
    if isinstance(rebuilt, Mapping):
        known = {"stock": "selection", "portfolio": "weighting", "execution": "schedule", "cost": "cost"}
        for component, shown in rebuilt.items():
            if shown is True and known.get(component) in DEFINED and known[component] not in defined and touched:
                defined[known[component]] = next(iter(touched.values()))
    if not touched or (len(defined) < 2 and rules.words < 40):
        return grade(0, "no rules are written")
    missing = [name for name in DEFINED if name not in defined]
    if missing:
        return grade(1, f"two engineers would build this differently: {', '.join(missing)}", *touched.values())
    vague = open_rules(rules)
    if vague:
        return grade(
            1, "two engineers would build this differently: a rule is left to discretion or to conditions that nothing defines", vague
        )
    both = Text((*reading.everything.lines, *reading.code.lines, *rules.lines))
    closed = kinds({"ties": TIES, "rounding": ROUNDING, "warm-up": WARM_UP}, lambda pattern: both.find(pattern, done=False))
    if len(closed) < 2:
        return grade(2, "each rule has one definition; ties, rounding or warm-up stay open", *defined.values())
    rows = Text(tuple(line for line in rules.lines if line.row))
    covered = kinds(COMPONENTS, lambda pattern: rows.find(pattern, done=False))
    places = rows.find(PLACE, done=False)
    if len(covered) == len(COMPONENTS) and len(places) >= len(COMPONENTS):
        return grade(4, "one table covers all six components and names where each rule is carried out", places, *covered.values())
    return grade(3, f"closed in text or code: {', '.join(closed)}", *defined.values(), *closed.values())


MECHANISM = (
    r"\b(?:under-?react\w*|over-?react\w*|risk premi\w+|compensat\w+|behaviou?ral|anchor(?:ed|ing)|herding|slow(?:ly)? (?:diffus\w+"
    r"|spread\w*|incorporat\w+)"
    r"|disposition effect|leverage constraints?|forced sell\w*|liquidity provi\w+|mispric\w+|lottery|limits to arbitrage|news travels)"
    r"|\b(?:because|due to|driven by|since)\b.{0,80}\b(?:investors?|traders?|holders?|funds?|buyers?|sellers?|news|attention|analysts?)\b"
    r"|\b(?:investors?|traders?|holders?|funds?)\b.{0,80}\b(?:because|so that|which (?:lets|makes|keeps))\b"
    r"|\b(?:investors?|traders?|sellers?|buyers?|holders?|funds?|managers?|analysts?|markets?)\b.{0,60}\b(?:over-?pay\w*|over-?price\w*"
    r"|under-?price\w*|anchor\w*|chase\w*|ignor\w+|neglect\w*|demand\w*|take in|digest\w*|push\w*|sell too|(?:is|are|be|react\w*) (?:too )?slow\w*)"
    r"|\bslow (?:reaction|response) to\b|\bpressure (?:of|from) (?:sellers|buyers)\b"
)
SIGNAL_WORDS = (
    r"momentum|winner|reversal|los[eti]|volatil|calm|beta|value|cheap|quality|profitab|growth|size|small|earnings|surprise"
    r"|signal|factor|52[- ]week|high|yield|trend|strategy|idea|stocks?"
)
FAILS = (
    r"\b(?:fails?|should fail|break(?:s|ing)? down|stops? working|does (?:badly|poorly)|suffers?|hurts?|crash\w*|reversals?|loses?"
    r" when|weak(?:est)? when|turn(?:s|ing)? points?|would not work)\b"
)
CITED = (
    r"\b[A-Z][a-z]+(?: (?:and|&) [A-Z][a-z]+| et al\.?)?,? \(?(?:19|20)\d{2}\)?|\bet al\b|\bdoi\b|https?://\S*(?:ssrn|nber|doi|jstor|arxiv)"
)
SLOGAN = (
    r"\b(?:momentum works|winners keep winning|proven|time-tested|well[- ]known|cut your losses|the trend is your friend|it works"
    r"|anomaly)\b"
)


def rationale(reading: Reading, facts: Mapping[str, Json]) -> Grade:
    """Sentences that give a reason why a signal should pay, when it should fail, and what supports that."""
    named = facts.get("signals")
    names = [str(name) for name in named] if isinstance(named, list) else []
    about = "|".join((SIGNAL_WORDS, *(re.escape(name) for name in names if len(name) > 2)))
    mechanism = [line for line in reading.everything.find(MECHANISM, words=8) if Text((line,)).find(about)]
    if not mechanism:
        slogan = reading.everything.find(SLOGAN)
        return grade(1, "a slogan instead of a mechanism", slogan) if slogan else grade(0, "no reason is given why a signal should pay")
    wanted = max(1, min(3, len([name for name in names if not _is_total(name)])))
    fails = [line for line in reading.everything.find(FAILS, words=6) if Text((line,)).find(about)]
    if len(mechanism) < wanted or not fails:
        return grade(
            2,
            f"a mechanism for {min(len(mechanism), wanted)} of {wanted} signals" + ("" if fails else ", not when it should fail"),
            mechanism,
        )
    cited = reading.everything.find(CITED, done=False)
    linked = reading.everything.find(
        r"\b(?:in this sample|here|over these years|our (?:results|sample)|the sample)\b.{0,120}\d|\bIC\b.{0,60}\d|quantile|spread of",
        number=True,
    )
    if cited and linked:
        return grade(4, "mechanism, when it should fail, evidence cited and linked to the sample", mechanism, fails, cited, linked)
    return grade(3, "a mechanism for each signal and when it should fail", mechanism, fails)


def _is_total(name: str) -> bool:
    return any(word in name.lower() for word in ("composite", "total", "combined", "score", "rank", "final"))


BY_USER = r"\b(?:you(?:r|rs)?|the user|client|investor|as (?:asked|requested|you said)|given by you|stated)\b"
BY_OWN = (
    r"\b(?:mine|my (?:choice|setting|assumption|reading)|own choice|assum(?:ed|ption)|default|chosen|our choice|i (?:chose|set|used))\b"
)
BY_SOURCE = r"\b(?:literature|paper|convention(?:al)?|following|standard in|et al|common in|industry)\b|\(\d{4}\)"
BY_TEST = r"\b(?:test(?:ed)?|sensitivity|varied|robust\w*|other values?|tried)\b"
STANDARD = r"\b(?:standard|usual|typical|common(?:ly)?|conventional) (?:values?|settings?|parameters?|choices?|windows?)\b|\bstandard\b"


def justification(reading: Reading, facts: Mapping[str, Json]) -> Grade:
    """Lines of rule sections that hold a number, and how many are attributed to the user, a source, a test or an own choice."""
    rules = _rules(reading)
    rows = [line for line in rules.lines if line.row and line.numbers and line.words >= 2]
    settings = rows if len(rows) >= 3 else [line for line in rules.lines if line.numbers and line.words >= 2]
    if not settings:
        return grade(0, "no parameter is given")
    reasoned = [line for line in settings if _attributed(line)]
    asides = reading.last.find(rf"(?:{BY_USER}|{BY_OWN}).{{0,120}}\d|\d.{{0,120}}(?:{BY_USER}|{BY_OWN})", number=True)
    if not reasoned and not asides:
        standard = rules.find(STANDARD) or reading.last.find(STANDARD)
        return grade(1, "parameters are called standard", standard) if standard else grade(0, "no parameter is explained")
    share = len(reasoned) / len(settings)
    hinge = reading.everything.find(
        r"\b(?:hinge|does not depend|not sensitive|insensitive|robust to|between \d.{0,40}\band \d)\b", number=True
    ) + sensitivity_rows(reading)
    if share < 0.8:
        return grade(2, f"{len(reasoned)} of {len(settings)} settings are attributed", reasoned or asides)
    if len(hinge) >= 3 or (hinge and facts.get("variant_tables")):
        return grade(4, "each setting is attributed and varied", reasoned, hinge)
    return grade(3, f"{len(reasoned)} of {len(settings)} settings are attributed", reasoned)


def _attributed(line: Line) -> bool:
    own = Text((line,))
    return bool(
        own.find(BY_USER, done=False) or own.find(BY_SOURCE, done=False) or own.find(BY_TEST, done=False) or own.find(BY_OWN, done=False)
    )


def sensitivity_rows(reading: Reading) -> list[Line]:
    """Rows with numbers under a heading about sensitivity."""
    return [
        row for row in reading.everything.rows(r"sensitiv|robust|variant|hinge|what if|alternative|parameter (?:scan|grid)") if row.numbers
    ]


RULES: Mapping[str, Rule] = {"2.7": ambiguity, "2.8a": rationale, "2.9": justification}
