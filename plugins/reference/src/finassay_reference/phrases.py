"""How the choices of a strategy are said: regular expressions over plain lower-case text."""

_PAST = r"(?:last|past|previous|prior|recent|trailing|latest|this|this past)"
_YEAR = r"(?:12[- ]?months?|twelve[- ]months?|one[- ]year|1[- ]year|year(?:'s)?|a year|52 weeks)"
_HALF = r"(?:half[- ]?(?:a )?year(?:'s)?|6[- ]?months?|six[- ]months?|two quarters)"
_UP = (
    r"(?:winn\w+|momentum|outperform\w*|gain\w*|leaders?|best[- ]perform\w*|strong(?:est)? (?:perform\w*|return\w*)|run[- ]?up|risen|gone"
    r" up|return\w*|perform\w*)"
)
_DOWN = (
    r"(?:los(?:er|ers|t|ses)|hit (?:the )?hard\w*|beaten[- ]?(?:up|down)?|fell|fallen|worst|drop\w*|bounce|reversal|oversold|sold"
    r" off|punished|hammered|battered|crushed|laggards?)"
)

FACTORS: dict[str, tuple[str, ...]] = {
    "mom_6_1": (
        rf"{_HALF}.{{0,60}}{_UP}",
        rf"{_UP}.{{0,40}}{_HALF}",
        r"\b6[-/ ]1\b",
        r"mom_6_1",
    ),
    "mom_12_1": (
        rf"{_PAST}.{{0,12}}{_YEAR}.{{0,40}}{_UP}",
        rf"{_UP}.{{0,40}}{_PAST}.{{0,12}}{_YEAR}",
        rf"{_YEAR}[- ](?:price )?(?:momentum|winners)",
        r"\b12[-/ ]1\b",
        r"mom_12_1",
        rf"{_YEAR}.{{0,40}}(?:skip\w*|exclud\w*|leav\w* out|ignor\w*).{{0,12}}(?:last|latest|most recent|final)? ?month",
        r"\bprice momentum\b",
    ),
    "high_52w": (
        r"(?:52|fifty[- ]two)[- ]?w(?:ee)?k\w* high",
        r"(?:one|1|12)[- ](?:year|month)s?[- ]high",
        r"yearly high",
        r"year(?:'s)? high",
        r"near (?:their|its|the) highs?",
        r"high_52w",
    ),
    "rev_5d": (
        rf"{_DOWN}.{{0,50}}(?:week\b|5 (?:trading )?(?:days|sessions)|five (?:trading )?(?:days|sessions))",
        rf"(?:{_PAST} week|weekly|one[- ]week|5[- ]day|five[- ]day)(?:'s)?.{{0,20}}{_DOWN}",
        r"rev_5d",
    ),
    "rev_21d": (
        rf"{_DOWN}.{{0,40}}{_PAST}.{{0,8}}(?:month\b|4 weeks|four weeks|21 (?:trading )?(?:days|sessions))",
        rf"(?:{_PAST} month|monthly|one[- ]month|21[- ]day)(?:'s)?.{{0,20}}{_DOWN}",
        rf"{_DOWN}.{{0,30}}\b(?:a|one|the) month\b",
        r"rev_21d",
    ),
    "earnings_yield": (
        r"cheap.{0,20}earnings",
        r"earnings yield",
        r"(?:low )?p/?e\b(?! ?tf)",
        r"price[- ]to[- ]earnings",
        r"low multiple of earnings",
    ),
    "book_to_market": (r"cheap.{0,20}book", r"book[- ](?:to|value)", r"\bp/?b\b", r"price[- ](?:to[- ])?book"),
    "roe": (r"returns? on (?:shareholders' )?equity", r"\broe\b"),
    "gross_profitability": (r"gross[- ]profit\w*", r"gross margin"),
    "low_vol": (
        r"calm(?:er|est)?\b",
        r"low(?:er|est)?[- ](?:\w+ )?vol(?:atility|s)?\b(?! (?:target|regime))",
        r"least volatile",
        r"less volatile",
        r"(?:quiet|steadi|steady|sleep)\w* (?:stocks|names|ones|movers)",
        r"small(?:est)? (?:daily )?swings",
    ),
    "low_beta": (
        r"low(?:er|est)?[- ]beta",
        r"beta.{0,20}low",
        r"(?:move|swing|react|moves|swings)\w* less than the (?:\w+ )?(?:market|index)",
        r"less sensitive to the (?:market|index)",
        r"defensive names",
    ),
    "sales_growth": (r"(?:revenue|sales|top[- ]line)s?.{0,20}grow\w*", r"grow\w*.{0,15}(?:revenue|sales)"),
    "eps_growth": (r"(?:earnings|eps|profits?).{0,12}(?:growth|grow\w*)", r"grow\w*.{0,12}(?:earnings|eps|profits?)"),
    "small_size": (r"small(?:er|est)?[- ](?:companies|caps?|stocks|names|firms)",),
    "earnings_surprise": (
        r"beat\w*.{0,20}(?:earnings|estimates|expectations|consensus|numbers)",
        r"earnings (?:surprise|beat)s?",
        r"positive surprise",
    ),
}

SLOTS: dict[str, dict[str, tuple[str, ...]]] = {
    "combination": {
        "screen_then_rank": (
            r"screen.{0,60}(?:rank|second|then)",
            r"(?:better|best|top|upper) half",
            r"first.{0,30}filter.{0,60}(?:rank|then)",
            r"two[- ]step",
        ),
        "ic_weighted": (
            r"information coefficients?",
            r"\bic[- ]?weight\w*",
            r"\b(?:trailing|past|rolling) ics?\b",
            r"how well (?:\w+ ){0,4}predict\w*",
            r"predictive power",
        ),
        "rank_mean": (
            r"averag\w*.{0,25}\branks?\b",
            r"averag\w*.{0,20}rankings?",
            r"\b(?:mean|sum) (?:of (?:the )?)?ranks?\b",
            r"\branks?\b.{0,25}averag\w*",
            r"rankings? averaged",
        ),
        "zscore_mean": (r"z[- ]?scores?", r"standardi[sz]e\w*.{0,40}(?:averag|mean|add|sum)", r"averag\w*.{0,30}standardi[sz]ed"),
    },
    "timing": {
        "yield_curve": (r"yield curve", r"inver(?:ted|sion)", r"10[- ]?y.{0,20}2[- ]?y", r"yield spread", r"term spread"),
        "vol_regime": (
            r"vol(?:atility)?[- ]regime",
            r"vol(?:atility)?.{0,40}(?:top|highest|upper) (?:fifth|20 ?%|quintile)",
            r"(?:top|highest|upper) (?:fifth|20 ?%|quintile).{0,30}vol",
        ),
        "breadth": (r"\bbreadth\b", r"(?:half|50 ?%|majority).{0,40}(?:universe|stocks|names|members).{0,40}(?:above|over)"),
        "index_abs_mom": (
            (
                r"(?:index|market|s&p)\S*.{0,25}(?:12[- ]?month|twelve[- ]month|one[- ]year|1[- ]year|yearly|past"
                r" year).{0,25}(?:positive|return|above zero|up)"
            ),
            r"absolute momentum",
            r"(?:index|market) (?:is|was|has been) up (?:over|on) the (?:past |last )?(?:year|12|twelve)",
            r"time[- ]series momentum",
        ),
        "index_ma": (
            r"(?:index|market|s&p(?: 500)?)\S*.{0,40}(?:above|over|below|under).{0,40}(?:average|\bma\b|trend line)",
            r"moving average.{0,30}(?:index|market)",
            r"trend filter",
        ),
        "none": (
            r"(?:always|fully|stay|100 ?%|constantly|permanently)(?: be| stay| fully)* invested",
            r"no (?:market[- ])?timing",
            r"without (?:any )?(?:market[- ])?timing",
            r"never .{0,12}(?:go|sit|move|step|be)\w*.{0,20}(?:cash|out of the market)",
            r"(?:don't|do not|not) (?:want to )?time the market",
            r"in the market (?:all the time|at all times)",
        ),
    },
    "weighting": {
        "risk_parity": (
            r"risk[- ]parity",
            r"(?:equal|same)[- ](?:amount of )?risk(?: contribution\w*)?",
            r"risk budget\w*",
            r"equal[- ]risk",
            r"contribut\w* (?:equally to|the same) (?:the )?risk",
        ),
        "mean_variance": (r"mean[- /]variance", r"markowitz", r"\bmvo\b", r"efficient frontier"),
        "inverse_vol": (
            r"invers\w*.{0,15}vol\w*",
            r"vol(?:atility)?[- ]weight\w*",
            r"(?:less|smaller).{0,20}(?:in|to|for) (?:the )?(?:more )?volatile",
            r"1/vol\w*",
            r"one over vol\w*",
        ),
        "market_cap": (
            r"(?:market[- ])?cap(?:itali[sz]ation)?[- ]weight\w*",
            r"(?:siz|weight|proportion)\w*.{0,25}market (?:cap|value)\w*",
            r"market[- ]cap weights?",
        ),
        "score_prop": (
            r"(?:siz|weight|proportion|alloc)\w*.{0,30}(?:their |the |by )?(?:scores?|signal strength|ranking score)\b",
            r"scores?[- ](?:weight|proportion)\w*",
            r"(?:higher|better|stronger)[- ]scor\w*.{0,30}more",
        ),
        "equal": (
            r"equal(?:ly)?[- ]?weight\w*",
            r"same weight",
            r"weight\w*.{0,25}(?:equally|the same)",
            r"equal (?:amounts?|parts?|positions?|sizes?|shares|dollars?|stakes?|slices?)",
            r"equally[- ]sized",
            r"same (?:size|amount|money)",
            r"(?:split|spread|divide)\w*.{0,20}(?:evenly|equally)",
            r"evenly",
            r"1/n\b",
            r"every (?:name|position|pick|stock).{0,15}the same",
        ),
    },
    "covariance": {
        "shrinkage": (r"shr[iau]nk\w*", r"ledoit"),
        "ewma": (r"ewma", r"exponential\w*", r"recent (?:days|data|returns) count(?:ing)? more"),
        "sample": (
            r"(?:sample|plain|simple|historical|ordinary|empirical|raw|standard|vanilla).{0,12}(?:covarianc\w*|estimat\w*|one|matrix)",
            r"covarianc\w*.{0,20}(?:plain|sample|historical)",
            r"\bplain sample\b",
            r"\bsample\b",
        ),
    },
    "risk": {
        "sector_cap": (r"sector (?:cap|limit|constraint)\w*", r"(?:in|per|to) (?:any )?(?:one|each|a single|any) sector", r"no sector"),
        "vol_target": (
            r"vol(?:atility)?[- ]?target\w*",
            r"target\w*.{0,20}vol(?:atility)?\b",
            r"(?:aim|scal|lever)\w*.{0,40}vol(?:atility)?\b.{0,30}%",
            r"volatility of \d",
        ),
        "trailing_stop": (
            r"trailing[- ](?:stop|loss|exit|one|\d)\w*",
            r"\btrail\w*.{0,25}stops?\b",
            r"\bstops?\b.{0,25}trail\w*",
            r"^trailing\b(?!.{0,12}(?:information|ic))",
            r"(?:from|off|below).{0,15}(?:its|their|the position's|the stock's|own).{0,12}(?:peak|high)\b",
        ),
        "drawdown_to_cash": (
            r"drawdown.{0,60}cash",
            r"cash.{0,60}drawdown",
            r"portfolio.{0,40}(?:falls?|down|drops?|loses?).{0,40}(?:cash|peak|high)",
            r"drawdown (?:limit|stop|rule|cut)",
        ),
        "position_stop": (
            r"stop[- ]?loss\w*",
            r"\b(?:hard|fixed|position)[- ]stops?\b",
            r"(?:from|below|under).{0,15}(?:entry|purchase|cost|bought|where (?:i|we) bought)",
            r"cut (?:a|any|each|every|losing) (?:single )?(?:position|loser|name)s?",
        ),
        "none": (
            r"\bno (?:special |extra |separate |particular )?(?:stops?|stop[- ]loss\w*|risk (?:control|rule|management|overlay)s?)",
            r"without (?:any )?(?:stops?|risk (?:control|rule)s?)",
            r"(?:don't|do not) (?:want|use|need) (?:any )?(?:stops?|risk)",
            r"skip the stop",
        ),
    },
    "schedule": {
        "drift_band": (
            r"\bdrift\w*",
            r"(?:tolerance|rebalanc\w*|no[- ]trade) bands?",
            r"off (?:its |their |the )?target",
            r"only (?:trade |when )?.{0,20}weight.{0,25}(?:away|off|stray)",
        ),
        "on_event": (
            r"(?:day|session) after.{0,25}(?:announce|earnings|report|print|release)\w*",
            r"after (?:an |each |every |the )?(?:earnings )?announcements?",
        ),
        "weekly": (
            r"weekly(?! (?:reversal|loser|return))",
            r"(?:every|each|once a|per|a) week\b",
            r"every (?:mon|tues|wednes|thurs|fri)day",
        ),
        "monthly": (
            r"monthly(?! (?:reversal|loser|return))",
            r"(?:every|each|once a|per) month\b",
            r"month[- ]end",
            r"(?:start|end) of (?:the|each|every) month",
            r"twelve times a year",
        ),
        "quarterly": (r"quarterly", r"(?:every|each|once a|per) quarter\b", r"every (?:three|3) months", r"four times a year"),
    },
}
"""Slot to option to patterns; within a slot the order decides between patterns that begin at the same place."""
