"""Reads a user's message: which options, numbers, dates and names it states. Plain words in many paraphrases; no model."""

import calendar
import re
from collections.abc import Iterator
from datetime import date

from finassay_reference.request import COVERED, Request

_PAST = r"(?:last|past|previous|prior|recent|trailing|latest|this|this past)"
_YEAR = r"(?:12[- ]?months?|twelve[- ]months?|one[- ]year|1[- ]year|year(?:'s)?|a year|52 weeks)"
_HALF = r"(?:half[- ]?(?:a )?year(?:'s)?|6[- ]?months?|six[- ]months?|two quarters)"
_UP = r"(?:winn\w+|momentum|outperform\w*|gain\w*|leaders?|best[- ]perform\w*|strong(?:est)? (?:perform\w*|return\w*)|run[- ]?up|risen|gone up|return\w*|perform\w*)"
_DOWN = r"(?:los(?:er|ers|t|ses)|hit (?:the )?hard\w*|beaten[- ]?(?:up|down)?|fell|fallen|worst|drop\w*|bounce|reversal|oversold|sold off|punished|hammered|battered|crushed|laggards?)"

FACTORS: dict[str, tuple[str, ...]] = {
    "mom_6_1": (
        rf"{_HALF}.{{0,60}}{_UP}", rf"{_UP}.{{0,40}}{_HALF}", r"\b6[-/ ]1\b", r"mom_6_1",
    ),
    "mom_12_1": (
        rf"{_PAST}.{{0,12}}{_YEAR}.{{0,40}}{_UP}", rf"{_UP}.{{0,40}}{_PAST}.{{0,12}}{_YEAR}", rf"{_YEAR}[- ](?:price )?(?:momentum|winners)", r"\b12[-/ ]1\b", r"mom_12_1",
        rf"{_YEAR}.{{0,40}}(?:skip\w*|exclud\w*|leav\w* out|ignor\w*).{{0,12}}(?:last|latest|most recent|final)? ?month", r"\bprice momentum\b",
    ),
    "high_52w": (r"(?:52|fifty[- ]two)[- ]?w(?:ee)?k\w* high", r"(?:one|1|12)[- ](?:year|month)s?[- ]high", r"yearly high", r"year(?:'s)? high", r"near (?:their|its|the) highs?", r"high_52w"),
    "rev_5d": (
        rf"{_DOWN}.{{0,50}}(?:week\b|5 (?:trading )?(?:days|sessions)|five (?:trading )?(?:days|sessions))", rf"(?:{_PAST} week|weekly|one[- ]week|5[- ]day|five[- ]day)(?:'s)?.{{0,20}}{_DOWN}", r"rev_5d",
    ),
    "rev_21d": (
        rf"{_DOWN}.{{0,40}}{_PAST}.{{0,8}}(?:month\b|4 weeks|four weeks|21 (?:trading )?(?:days|sessions))", rf"(?:{_PAST} month|monthly|one[- ]month|21[- ]day)(?:'s)?.{{0,20}}{_DOWN}",
        rf"{_DOWN}.{{0,30}}\b(?:a|one|the) month\b", r"rev_21d",
    ),
    "earnings_yield": (r"cheap.{0,20}earnings", r"earnings yield", r"(?:low )?p/?e\b(?! ?tf)", r"price[- ]to[- ]earnings", r"low multiple of earnings"),
    "book_to_market": (r"cheap.{0,20}book", r"book[- ](?:to|value)", r"\bp/?b\b", r"price[- ](?:to[- ])?book"),
    "roe": (r"returns? on (?:shareholders' )?equity", r"\broe\b"),
    "gross_profitability": (r"gross[- ]profit\w*", r"gross margin"),
    "low_vol": (
        r"calm(?:er|est)?\b", r"low(?:er|est)?[- ](?:\w+ )?vol(?:atility|s)?\b(?! (?:target|regime))", r"least volatile", r"less volatile", r"(?:quiet|steadi|steady|sleep)\w* (?:stocks|names|ones|movers)", r"small(?:est)? (?:daily )?swings",
    ),
    "low_beta": (r"low(?:er|est)?[- ]beta", r"beta.{0,20}low", r"(?:move|swing|react|moves|swings)\w* less than the (?:\w+ )?(?:market|index)", r"less sensitive to the (?:market|index)", r"defensive names"),
    "sales_growth": (r"(?:revenue|sales|top[- ]line)s?.{0,20}grow\w*", r"grow\w*.{0,15}(?:revenue|sales)"),
    "eps_growth": (r"(?:earnings|eps|profits?).{0,12}(?:growth|grow\w*)", r"grow\w*.{0,12}(?:earnings|eps|profits?)"),
    "small_size": (r"small(?:er|est)?[- ](?:companies|caps?|stocks|names|firms)",),
    "earnings_surprise": (r"beat\w*.{0,20}(?:earnings|estimates|expectations|consensus|numbers)", r"earnings (?:surprise|beat)s?", r"positive surprise"),
}  # fmt: skip

SLOTS: dict[str, dict[str, tuple[str, ...]]] = {
    "combination": {
        "screen_then_rank": (r"screen.{0,60}(?:rank|second|then)", r"(?:better|best|top|upper) half", r"first.{0,30}filter.{0,60}(?:rank|then)", r"two[- ]step"),
        "ic_weighted": (r"information coefficients?", r"\bic[- ]?weight\w*", r"\b(?:trailing|past|rolling) ics?\b", r"how well (?:\w+ ){0,4}predict\w*", r"predictive power"),
        "rank_mean": (r"averag\w*.{0,25}\branks?\b", r"averag\w*.{0,20}rankings?", r"\b(?:mean|sum) (?:of (?:the )?)?ranks?\b", r"\branks?\b.{0,25}averag\w*", r"rankings? averaged"),
        "zscore_mean": (r"z[- ]?scores?", r"standardi[sz]e\w*.{0,40}(?:averag|mean|add|sum)", r"averag\w*.{0,30}standardi[sz]ed"),
    },
    "timing": {
        "yield_curve": (r"yield curve", r"inver(?:ted|sion)", r"10[- ]?y.{0,20}2[- ]?y", r"yield spread", r"term spread"),
        "vol_regime": (r"vol(?:atility)?[- ]regime", r"vol(?:atility)?.{0,40}(?:top|highest|upper) (?:fifth|20 ?%|quintile)", r"(?:top|highest|upper) (?:fifth|20 ?%|quintile).{0,30}vol"),
        "breadth": (r"\bbreadth\b", r"(?:half|50 ?%|majority).{0,40}(?:universe|stocks|names|members).{0,40}(?:above|over)"),
        "index_abs_mom": (
            r"(?:index|market|s&p)\S*.{0,25}(?:12[- ]?month|twelve[- ]month|one[- ]year|1[- ]year|yearly|past year).{0,25}(?:positive|return|above zero|up)", r"absolute momentum",
            r"(?:index|market) (?:is|was|has been) up (?:over|on) the (?:past |last )?(?:year|12|twelve)", r"time[- ]series momentum",
        ),
        "index_ma": (r"(?:index|market|s&p(?: 500)?)\S*.{0,40}(?:above|over|below|under).{0,40}(?:average|\bma\b|trend line)", r"moving average.{0,30}(?:index|market)", r"trend filter"),
        "none": (
            r"(?:always|fully|stay|100 ?%|constantly|permanently)(?: be| stay| fully)* invested", r"no (?:market[- ])?timing", r"without (?:any )?(?:market[- ])?timing",
            r"never (?:go|sit|move|step|be)\w*.{0,20}(?:cash|out of the market)", r"(?:don't|do not|not) (?:want to )?time the market", r"in the market (?:all the time|at all times)",
        ),
    },
    "weighting": {
        "risk_parity": (r"risk[- ]parity", r"(?:equal|same)[- ](?:amount of )?risk(?: contribution\w*)?", r"risk budget\w*", r"equal[- ]risk", r"contribut\w* (?:equally to|the same) (?:the )?risk"),
        "mean_variance": (r"mean[- /]variance", r"markowitz", r"\bmvo\b", r"efficient frontier"),
        "inverse_vol": (r"invers\w*.{0,15}vol\w*", r"vol(?:atility)?[- ]weight\w*", r"(?:less|smaller).{0,20}(?:in|to|for) (?:the )?(?:more )?volatile", r"1/vol\w*", r"one over vol\w*"),
        "market_cap": (r"(?:market[- ])?cap(?:itali[sz]ation)?[- ]weight\w*", r"(?:siz|weight|proportion)\w*.{0,25}market (?:cap|value)\w*", r"market[- ]cap weights?"),
        "score_prop": (r"(?:siz|weight|proportion|alloc)\w*.{0,30}(?:their |the |by )?(?:scores?|signal strength|ranking score)\b", r"scores?[- ](?:weight|proportion)\w*", r"(?:higher|better|stronger)[- ]scor\w*.{0,30}more"),
        "equal": (
            r"equal(?:ly)?[- ]?weight\w*", r"same weight", r"weight\w*.{0,25}(?:equally|the same)", r"equal (?:amounts?|parts?|positions?|sizes?|shares|dollars?|stakes?|slices?)", r"equally[- ]sized",
            r"same (?:size|amount|money)", r"(?:split|spread|divide)\w*.{0,20}(?:evenly|equally)", r"evenly", r"1/n\b", r"every (?:name|position|pick|stock).{0,15}the same",
        ),
    },
    "covariance": {
        "shrinkage": (r"shr[iau]nk\w*", r"ledoit"),
        "ewma": (r"ewma", r"exponential\w*", r"recent (?:days|data|returns) count(?:ing)? more"),
        "sample": (
            r"(?:sample|plain|simple|historical|ordinary|empirical|raw|standard|vanilla).{0,12}(?:covarianc\w*|estimat\w*|one|matrix)", r"covarianc\w*.{0,20}(?:plain|sample|historical)", r"\bplain sample\b", r"\bsample\b",
        ),
    },
    "risk": {
        "sector_cap": (r"sector (?:cap|limit|constraint)\w*", r"(?:in|per|to) (?:any )?(?:one|each|a single|any) sector", r"no sector"),
        "vol_target": (r"vol(?:atility)?[- ]?target\w*", r"target\w*.{0,20}vol(?:atility)?\b", r"(?:aim|scal|lever)\w*.{0,40}vol(?:atility)?\b.{0,30}%", r"volatility of \d"),
        "trailing_stop": (r"trailing", r"(?:from|off|below).{0,15}(?:its|their|the position's|the stock's|own).{0,12}(?:peak|high)\b"),
        "drawdown_to_cash": (r"drawdown.{0,60}cash", r"cash.{0,60}drawdown", r"portfolio.{0,40}(?:falls?|down|drops?|loses?).{0,40}(?:cash|peak|high)", r"drawdown (?:limit|stop|rule|cut)"),
        "position_stop": (r"stop[- ]?loss\w*", r"\b(?:hard|fixed|position)[- ]stops?\b", r"(?:from|below|under).{0,15}(?:entry|purchase|cost|bought|where (?:i|we) bought)", r"cut (?:a|any|each|every|losing) (?:single )?(?:position|loser|name)s?"),
        "none": (
            r"\bno (?:special |extra |separate |particular )?(?:stops?|stop[- ]loss\w*|risk (?:control|rule|management|overlay)s?)", r"without (?:any )?(?:stops?|risk (?:control|rule)s?)",
            r"(?:don't|do not) (?:want|use|need) (?:any )?(?:stops?|risk)", r"skip the stop",
        ),
    },
    "schedule": {
        "drift_band": (r"\bdrift\w*", r"(?:tolerance|rebalanc\w*|no[- ]trade) bands?", r"off (?:its |their |the )?target", r"only (?:trade |when )?.{0,20}weight.{0,25}(?:away|off|stray)"),
        "on_event": (r"(?:day|session) after.{0,25}(?:announce|earnings|report|print|release)\w*", r"after (?:an |each |every |the )?(?:earnings )?announcements?"),
        "weekly": (r"weekly(?! (?:reversal|loser|return))", r"(?:every|each|once a|per|a) week\b", r"every (?:mon|tues|wednes|thurs|fri)day"),
        "monthly": (r"monthly(?! (?:reversal|loser|return))", r"(?:every|each|once a|per) month\b", r"month[- ]end", r"(?:start|end) of (?:the|each|every) month", r"twelve times a year"),
        "quarterly": (r"quarterly", r"(?:every|each|once a|per) quarter\b", r"every (?:three|3) months", r"four times a year"),
    },
}  # fmt: skip
"""Slot to option to patterns; within a slot the order decides between patterns that begin at the same place."""

_COST_NONE = (
    r"(?:ignor|leav|neglect|forget)\w* (?:out |about )?(?:the |any |all )?(?:trading |transaction )?(?:costs?|fees?|commissions?)", r"(?:no|zero|without) (?:any )?(?:trading |transaction )?(?:costs?|fees?|commissions?)",
    r"cost[- ]free", r"frictionless", r"costs? (?:are |can be |is )?(?:zero|ignored|nil|none)",
)  # fmt: skip
_COST = re.compile(r"(\d+(?:\.\d+)?|\w+(?:[- ]\w+)?)\s*(basis points?|bps?\b|bips?\b)", re.I)
_COST_PERCENT = re.compile(r"(?:cost|fee|commission|slippage|per side|per trade)\w*.{0,40}?(\d*\.\d+)\s*(?:%|per ?cent)|(\d*\.\d+)\s*(?:%|per ?cent).{0,30}(?:cost|fee|commission|per side|per trade)", re.I)
_WORDS = {
    w: n for n, w in enumerate("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split())
} | {"twenty-five": 25, "thirty": 30, "thirty-five": 35, "forty": 40, "fifty": 50}
_FRACTIONS = {"a fifth": "20%", "one fifth": "20%", "a quarter of": "25% of", "a tenth": "10%", "one tenth": "10%"}
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*(?:%|per ?cent\b|pct\b)")
_NEGATED = re.compile(r"\b(?:not|no|never|without|don't|do not|doesn't|isn't|rather than|instead of|other than|neither|nor|avoid\w*|forget|drop)\b[^,;:()]*$")

PIECES: dict[str, str] = {
    "factors": r"\b(?:ranking|stock selection|stock picks?|picks|factors?|signals?|selection)\b",
    "combination": r"\b(?:way the signals|signals are (?:put|combined|blended)|combination|blend)\b",
    "timing": r"\b(?:market timing|in the market|timing)\b",
    "weighting": r"\b(?:position siz\w+|sizing|weights?|weighting)\b",
    "covariance": r"\bcovarianc\w+\b",
    "risk": r"\b(?:risk (?:rule|control|management)|stops?|level of the risk)\b",
    "schedule": r"\b(?:how often|rebalanc\w+|schedule|frequency|execution)\b",
    "cost": r"\b(?:trading costs?|costs?|fees?)\b",
}
_OBJECTS = re.compile(
    r"\b(?:off|wrong|not (?:right|what|how|quite|my)|isn't (?:right|what|how)|doesn't (?:match|look|fit)|does not (?:match|look|fit)|mismatch|fix|change|instead|deviates?|differs?|incorrect|mistake)\b", re.I
)

NAMES = {
    "apple": "AAPL", "bank of america": "BAC", "best buy": "BBY", "chevron": "CVX", "general electric": "GE", "home depot": "HD", "johnson & johnson": "JNJ", "jpmorgan": "JPM",
    "jp morgan": "JPM", "coca-cola": "KO", "coca cola": "KO", "eli lilly": "LLY", "merck": "MRK", "microsoft": "MSFT", "pepsico": "PEP", "pepsi": "PEP", "pfizer": "PFE",
    "procter & gamble": "PG", "procter and gamble": "PG", "range resources": "RRC", "unitedhealth": "UNH", "walmart": "WMT", "exxon": "XOM",
}  # fmt: skip
_LIST = re.compile(r"\b[A-Z]{1,5}\b(?:(?:,\s*(?:and\s+)?|\s+and\s+|\s*/\s*)\b[A-Z]{1,5}\b)+")
_UNIVERSE = re.compile(r"(?:\b(?:the |whole |entire )+(?:\w+[- ]){0,4}(?:market|sector|index)\b|large(?:st)? (?:US|U\.S\.) (?:compan\w+|stocks|names)[^.,;]*|members of [^.,;]*|[^.,;]{0,30}\bsector\b)", re.I)
_MONTHS = {name.lower(): n for n, name in enumerate(calendar.month_name) if name} | {name.lower(): n for n, name in enumerate(calendar.month_abbr) if name}
_MONTH = r"(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_DATES = (
    re.compile(r"\b(?P<year>20\d\d|19\d\d)-(?P<m>\d\d)-(?P<day>\d\d)\b"),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH},? (?P<year>\d{{4}})\b", re.I),
    re.compile(rf"\b{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})\b", re.I),
    re.compile(rf"\b(?:end|close|last (?:trading )?day) of {_MONTH},? (?P<year>\d{{4}})\b", re.I),
    re.compile(r"\b(?:(?:end|close|last (?:trading )?day) of(?: the year)?|year[- ]end|end|through(?: to)?|until|up to|till) (?P<year>(?:19|20)\d\d)\b", re.I),
    re.compile(rf"\b(?:until|through|up to|till|by) {_MONTH} (?P<year>\d{{4}})\b", re.I),
)
_BOUND = re.compile(r"\b(?:up to|until|till|through|end|before|no later|nothing after|not? (?:look|go|use)\w* (?:past|beyond|after)|data|stop|last|as of|latest)\b", re.I)
_START = re.compile(r"\b(?:from|since|start\w*|begin\w*)\b[^.]{0,12}$", re.I)


def sentences(text: str) -> list[str]:
    """Sentences and list lines; decimals and tickers are not cut."""
    return [s.strip(" -*\t") for s in re.split(r"(?<=[.!?;])\s+|\n+", text[:20_000]) if s.strip(" -*\t")]


def plain(sentence: str) -> str:
    """Lower case, plain quotes and dashes, small number words and fractions as digits before a percent or basis-point unit."""
    text = sentence.translate(str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-", "\xa0": " "})).lower()
    for words, digits in _FRACTIONS.items():
        text = re.sub(rf"\b{words}\b(?! of (?:a |the )?year)", digits, text) if "vol" not in text or "top" not in text else text
    numbers = "|".join(sorted(_WORDS, key=len, reverse=True))
    return re.sub(rf"\b({numbers})(?=[ -](?:%|per ?cent|percent|basis|bps?\b))", lambda m: str(_WORDS[m[1]]), text)


def _hit(patterns: tuple[str, ...], text: str) -> re.Match[str] | None:
    """The first hit that no negation governs."""
    for pattern in patterns:
        for match in re.finditer(pattern, text):
            if not _NEGATED.search(text[max(0, match.start() - 60) : match.start()]):
                return match
    return None


def factors_in(text: str) -> list[str]:
    """Factors that a plain sentence names, in the order of their mention."""
    found: dict[str, tuple[int, int]] = {}
    for name, patterns in FACTORS.items():
        match = _hit(patterns, text)
        if match:
            found[name] = match.span()
    if "mom_6_1" in found and "mom_12_1" in found and not re.search(r"\b12[-/ ]1\b|twelve|12[- ]?month", text):
        del found["mom_12_1"]
    if "high_52w" in found and "mom_12_1" in found and not re.search(r"winn|momentum|skip", text):
        del found["mom_12_1"]
    if "rev_5d" in found and "rev_21d" in found and not re.search(r"month", text):
        del found["rev_21d"]
    return sorted(found, key=lambda name: found[name][0])


def option_in(slot: str, text: str) -> str:
    """The option of a slot that a plain sentence states; the later one if two are named without a negation; empty if none is."""
    best = (-1, -1, "")
    for order, (option, patterns) in enumerate(SLOTS[slot].items()):
        if option == "none":
            match = next((m for p in patterns if (m := re.search(p, text))), None)
        else:
            match = _hit(patterns, text)
        if match and (match.start(), -order) > (best[0], best[1]):
            best = (match.start(), -order, option)
    return best[2]


def cost_in(text: str) -> float | None:
    """Basis points per side; 0 for 'ignore costs'; None if costs are not decided."""
    if any(re.search(pattern, text) for pattern in _COST_NONE):
        return 0.0
    match = _COST.search(text)
    if match:
        word = match[1].split(" ")[-1]
        number = float(word) if re.fullmatch(r"\d+(?:\.\d+)?", word) else _WORDS.get(word)
        return None if number is None else float(number)
    match = _COST_PERCENT.search(text)
    return float(match[1] or match[2]) * 100 if match else None


def last_date(text: str) -> str:
    """The last date of data that a text allows, ISO; empty if it names none."""
    found: list[tuple[bool, int, str]] = []
    for pattern in _DATES:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            year = int(parts["year"])
            month = int(parts["m"]) if parts.get("m") else _MONTHS[parts["month"].lower()] if parts.get("month") else 12
            before = text[max(0, match.start() - 80) : match.start()]
            if not 1 <= month <= 12 or _START.search(before):
                continue
            longest = calendar.monthrange(year, month)[1]
            day = min(int(parts["day"]), longest) if parts.get("day") else longest
            bounded = bool(_BOUND.search(f"{before} {match[0]}"))
            found.append((bounded, match.end() - match.start(), date(year, month, max(day, 1)).isoformat()))
    return max(found)[2] if found else ""


def tickers_in(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(covered tickers, tickers of a list that the market does not cover), in the order of their mention."""
    named: list[str] = []
    unknown: list[str] = []
    for run in _LIST.finditer(text):
        tokens = re.findall(r"\b[A-Z]{1,5}\b", run[0])
        if sum(token in COVERED for token in tokens) >= 2:
            named += [token for token in tokens if token in COVERED]
            unknown += [token for token in tokens if token not in COVERED]
    if not named:
        lower = text.lower()
        spots = sorted((lower.find(name), ticker) for name, ticker in NAMES.items() if name in lower)
        named = [ticker for _, ticker in spots] if len({t for _, t in spots}) >= 3 else []
    return tuple(dict.fromkeys(named)), tuple(dict.fromkeys(unknown))


def _slots(sentence: str, text: str) -> Iterator[tuple[str, str | float, str]]:
    for slot in SLOTS:
        option = option_in(slot, text)
        if option:
            yield slot, option, sentence
    cost = cost_in(text)
    if cost is not None:
        yield "cost_bps", cost, sentence


def read(message: str) -> Request:
    """Everything that a message states. Questions of the user state nothing."""
    fields: dict[str, object] = {}
    factors: list[str] = []
    quotes: dict[str, str] = {}
    for sentence in sentences(message):
        if sentence.endswith("?"):
            continue
        text = plain(sentence)
        for factor in factors_in(text):
            factors.append(factor)
            quotes.setdefault("factors", "")
            if sentence not in quotes["factors"]:
                quotes["factors"] = f"{quotes['factors']} {sentence}".strip()
        for name, value, quote in _slots(sentence, text):
            fields[name] = value
            quotes["cost" if name == "cost_bps" else name] = quote
        percent = _level(text, str(fields.get("risk", "")))
        if percent is not None:
            fields["risk_value"] = percent / 100
            quotes.setdefault("risk", sentence)
    named, unknown = tickers_in(message)
    universe = _UNIVERSE.search(message)
    return Request(
        factors=tuple(dict.fromkeys(factors)),
        cutoff=last_date(message),
        tickers=named,
        unknown_tickers=unknown,
        universe=universe[0].strip() if universe and not named else "",
        quotes=quotes,
        **fields,  # type: ignore[arg-type]
    )


def _level(text: str, risk: str) -> float | None:
    """A percentage that belongs to a risk rule: in a sentence about one, or of a plausible size on its own."""
    match = _PERCENT.search(text)
    if not match or re.search(r"\b(?:cost|fee|commission|per side|basis)\b", text) or re.search(r"(?:top|highest|upper) 20 ?%", text):
        return None
    value = float(match[1])
    about = re.search(r"stop|drawdown|trail|fall|fell|drop|peak|entry|vol|sector|threshold|level|cut|loss|risk|decline", text)
    return value if (about or (risk and len(text) < 40)) and 1 <= value <= 60 else None


def objections(message: str) -> list[str]:
    """Components that the user says are off."""
    found = []
    for sentence in sentences(message):
        text = plain(sentence)
        if _OBJECTS.search(text):
            found += [component for component, pattern in PIECES.items() if re.search(pattern, text)]
    return list(dict.fromkeys(found))
