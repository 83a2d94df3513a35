"""Market timing, risk control, execution and costs."""

from finassay_us_long_only.wording.model import Asking, Words

TIMING_ASKING = Asking(
    "the market timing",
    (
        r"market timing",
        r"tim(?:e|ing) ~ market",
        r"timing",
        r"(?:in or out|out|exit|leave|stay in|stay out|step out|get out|pull out) (?:of )?the market",
        r"(?:be|being|stay) (?:in|out of) the market",
        r"(?:market |trend |regime )(?:filter|overlay|switch|gate|condition)s?",
        r"regimes?",
        r"(?:always |fully |100% )invested",
        r"(?:go|goes|going|move|switch|shift|sit|hold|retreat)\w* ~ (?:to|into|in) cash",
        r"risk off",
        r"bear markets?",
        r"when ~ (?:invested|hold cash|market falls)",
        r"always (?:be )?(?:in the market|invested)",
        r"(?:hold|sit|stay|go|raise) (?:in )?cash(?! (?:earn|yield|return|interest))",
        r"exposure (?:always|be|constant|ever|vary|change)\w*",
        r"(?:reduce|cut|lower|vary|scale) ~ exposure ~ market",
        r"market ~ (?:weak|falls|falling|turns|crash\w*|downturns?)",
        r"(?:when|if) ~ market is (?:down|weak|falling)",
    ),
)

TIMINGS = {
    "index_ma": Words(
        "be in the market only while the index is above its moving average",
        "being in the market only while the index is above its moving average",
        (
            r"index ma",
            r"(?:index|market|s&p|s&p 500|spy|benchmark)(?:'s)? ~ (?:above|below|over|under) ~ (?:moving )?average",
            r"moving average ~ (?:of|on) the (?:index|market)",
            r"(?:index|market) trend filter",
            r"\d+ days? moving average ~ (?:index|market)",
            r"(?:index|market|s&p|s&p 500|spy|benchmark)(?:'s)? ~ (?:above|below|over|under|vs\.?|versus|against|crosses) ~ (?:\d+ ?(?:d|day|days|session|sessions) ?)?(?:moving average|average|sma|ma|dma|200dma)",
            r"\d+ ?(?:d|day|days) ?(?:sma|ma|dma|moving average)(?: filter| rule)? ~ (?:index|market|s&p|spy)",
            r"trend filter ~ (?:on|for|of) ~ (?:index|market|s&p|spy)",
            r"(?:index|market|s&p|s&p 500|spy) ~ (?:above|below|over|under) ~ \d+dma",
        ),
    ),
    "index_abs_mom": Words(
        "be in the market only while the index's 12-month return is positive",
        "being in the market only while the index's 12-month return is positive",
        (
            r"index abs mom",
            r"absolute momentum",
            r"(?:index|market|s&p|s&p 500)(?:'s)? ~ (?:12 months?|1 year|yearly|annual) returns?",
            r"(?:12 months?|1 year) returns? (?:of|on) the (?:index|market) ~ positive",
            r"(?:index|market) ~ (?:up|positive) ~ (?:year|12 months)",
            r"time series momentum",
            r"(?:index|market) ~ (?:up|down|positive|negative|higher|lower) ~ (?:year|12 months)",
            r"(?:index|market)(?:'s)? ~ (?:1|one) year returns?",
            r"(?:index|market) returns? ~ 12 months",
            r"time series momentum ~ (?:index|market)",
        ),
    ),
    "vol_regime": Words(
        "step out of the market while index volatility is in its top fifth",
        "stepping out of the market while index volatility is in its top fifth",
        (
            r"vol(?:atility)? regime",
            r"(?:index|market) volatil\w* ~ (?:top|highest|upper) ~ (?:fifth|20%|quintile)",
            r"(?:top|highest|upper) (?:fifth|20%|quintile) ~ volatil\w*",
            r"volatil\w* ~ (?:top|highest|upper) (?:fifth|20%|quintile)",
            r"(?:index|market) volatil\w* ~ (?:high|80th|above its)",
            r"(?:index|market)(?:'s)? vol(?:atility)? ~ (?:top|highest|upper) ~ (?:fifth|20%|quintile)",
            r"(?:index|market)(?:'s)? vol(?:atility)? ~ (?:80th|percentile)",
            r"(?:index|market)(?:'s)? vol(?:atility)? ~ (?:top|highest|upper) (?:fifth|20%|quintile)",
            r"high volatility regimes?",
        ),
    ),
    "breadth": Words(
        "be in the market only while more than half of the universe is above its own average",
        "being in the market only while more than half of the universe is above its own average",
        (
            r"breadth",
            r"(?:half|50%|majority) ~ (?:universe|stocks|names|members|shares) ~ (?:above|over) ~ average\w*",
            r"(?:share|percentage|fraction|number) of ~ (?:stocks|names|members) ~ (?:above|over) ~ average\w*",
            r"(?:percent|share|fraction|half|majority) of ~ (?:stocks|names|members|universe) ~ (?:above|over) ~ averages?",
            r"(?:percent|%) of (?:stocks|names|members) (?:above|over) ~ averages?",
        ),
    ),
    "yield_curve": Words(
        "step out of the market while the 10-year minus 2-year yield spread is negative",
        "stepping out of the market while the yield curve is inverted",
        (
            r"yield curve",
            r"10 ?y(?:ears?|r)? ~ 2 ?y(?:ears?|r)?",
            r"(?:term|yield) spread",
            r"curve ~ invert\w*",
            r"invert\w* ~ curve",
            r"2s10s",
        ),
    ),
}

TIMING_NONE = (
    r"always (?:be )?(?:fully )?invested",
    r"(?:no|without|skip|forget) (?:any )?market timing",
    r"fully invested (?:at all times|always|throughout)",
    r"stay (?:fully )?invested",
    r"never (?:go|goes|move|sit|switch|hold|raise|be|retreat)\w* ~ (?:cash|out of the market)",
    r"timing\W{1,3}none",
    r"(?:100%|fully) invested",
)

RISK_ASKING = Asking(
    "the risk rule",
    (
        r"risk (?:control|management|limit|rule|overlay|measure|protection)s?",
        r"(?:control|manage|limit|reduce|contain|handle)\w* ~ (?:risk|losses|drawdowns?|downside)",
        r"stops?",
        r"stop loss(?:es)?",
        r"drawdown ~ (?:limit|control|rule|stop|cut|protection|trigger|brake)s?",
        r"(?:cut|cap|limit)\w* ~ loss\w*",
        r"downside protection",
        r"(?:sector|volatility|vol) (?:cap|limit|target|constraint)\w*",
        r"trailing",
        r"exit rules?",
        r"(?:when|what) ~ (?:sell|exit|get out|bail)",
        r"loss limits?",
        r"(?:protect|safety|safeguard|circuit breaker)\w*",
        r"(?:position|stock|trade|holding) ~ (?:moves?|goes|go) against (?:us|you|me)",
        r"(?:limit|cap|restrict)\w* ~ sector\w*",
        r"(?:manage|handle|protect|limit)\w* ~ downside",
        r"downside ~ (?:managed|handled|protected|limited|risk)",
        r"cut ~ los\w*",
        r"losers?(?! of)",
        r"(?:losing|bad) (?:positions?|trades?|stocks?)",
        r"hedg\w*",
    ),
)
_LEVEL = r"(?:level|threshold|percent\w*|percentage|trigger|value|number|size|figure|setting)"
_RULE = r"(?:stop|drawdown|loss|fall|drop|decline|cap|target|volatility|limit|trail\w*|risk rule|risk control)s?"
THRESHOLD_ASKING = Asking(
    "the level of the risk rule",
    (
        rf"{_LEVEL} ~ {_RULE}",
        rf"{_RULE} ~ {_LEVEL}",
        rf"{_RULE} {_LEVEL}",
        rf"(?:at what|what|which|how (?:far|much|deep|large|tight|wide|high|big)|where) ~ {_RULE}",
        rf"{_RULE} ~ (?:at what|how (?:far|much|deep|large|tight|wide|high|big)|set|placed|be at|kick in|%)",
        r"(?:how (?:far|much|deep|large|tight)) ~ (?:fall|lose|drop|decline)",
        r"risk threshold",
        r"threshold for ~ (?:risk|selling|exit\w*|stop\w*)",
        r"(?:at|to|which|what) (?:what |which )?(?:level|percentage|percent|threshold)(?!.*\b(?:band|drift|cost|fee|weight|significan|confiden))",
        r"how (?:much|far|low) ~ (?:fall|drop|lose|decline|go down)",
    ),
)

RISKS = {
    "position_stop": Words(
        "cut a single position after a set loss from its entry price",
        "a stop-loss on each position",
        (
            r"position stop",
            r"(?<!trailing[\s\-])(?<!trailing[\s])stop loss(?:es)?(?! ~ (?:peak|high))",
            r"(?:fall|falls|fell|fallen|drop\w*|down|los\w*|declin\w*)(?![^.;]{0,60}(?:peak|high|top)) ~ (?:from|below|under|since|against) ~ (?:entry|purchase|cost|bought|buy price)",
            r"stop\w* ~ (?:from|below|under|on) ~ (?:entry|purchase|cost)",
            r"(?:fixed|hard) stops?",
            r"loss from ~ entry",
            r"(?:individual|per position|position level) stops?",
            r"(?:relative to|from|below) (?:what we paid|the price paid|what i paid)",
        ),
    ),
    "trailing_stop": Words(
        "sell a position with a trailing stop once it has dropped a set amount from its own peak",
        "a trailing stop on each position",
        (
            r"trailing (?:stop|loss|exit)\w*",
            r"stops? ~ trail\w*",
            r"(?:position|stock|name|holding|share)s? ~ (?:fall|falls|fell|fallen|drop\w*|down|declin\w*) ~ (?:from|below|off) ~ (?:peak|high|highest)",
            r"(?:from|below|off) (?:its|the position's) ~ (?:peak|high) since entry",
            r"(?:from|below|off|under) ~ (?:peak|high|highest (?:close|price)) since ~ (?:purchase\w*|bought|buying)",
            r"stops? (?:from|off|below) (?:the|its|their) (?:own )?(?:peak|high)",
        ),
    ),
    "drawdown_to_cash": Words(
        "cut the whole portfolio to cash when its drawdown gets too deep",
        "going to cash when the portfolio's drawdown gets too deep",
        (
            r"drawdown to cash",
            r"(?:cut|go|goes|going|move|switch|sell|out|retreat|liquidat)\w* ~ cash ~ drawdown",
            r"drawdown ~ (?:to|into|in) cash",
            r"cash ~ (?:when|once|if|after|at) ~ drawdown",
            r"portfolio ~ (?:fall|falls|fallen|down|drop\w*|declin\w*|los\w*) ~ (?:from|below|off) ~ (?:peak|high)",
            r"drawdown (?:stop|rule|limit|cut|brake|control|exit)s?",
            r"(?:liquidat|exit|sell)\w* ~ (?:everything|all|whole) ~ drawdown",
            r"(?:exit|out|move|go|cut|switch|flee|sell)\w* to cash ~ (?:drawdown|portfolio)",
            r"drawdown circuit breaker",
        ),
    ),
    "sector_cap": Words(
        "limit how much of the portfolio may sit in one sector",
        "a limit on how much sits in one sector",
        (
            r"sector (?:cap|limit|maximum|constraint|ceiling)s?",
            r"(?:cap|limit|max\w*|restrict)\w* ~ (?:per|each|any|1|one|single|every) sector",
            r"(?:no|any|each) sector ~ (?:more|above|over|beyond|exceed\w*|at most|capped|limited)",
            r"sector ~ (?:at most|no more than|capped|limited)",
            r"sector exposure ~ (?:cap|limit)\w*",
            r"sits? in (?:one|any|each|a single) sector",
            r"(?:max\w*|cap|limit|ceiling) ~ sector (?:weight|exposure|share|allocation|concentration)s?",
            r"sectors? (?:is |are |be )?(?:capped|limited)",
            r"(?:more than|above|over|exceed\w*|at most) ~ (?:in|per|of) (?:any|each|one|a|1|single)(?: one| single)? sector",
            r"sector (?:weight|exposure|share|allocation)s? ~ (?:cap\w*|limit\w*|at most|max\w*)",
        ),
    ),
    "vol_target": Words(
        "scale the exposure to a volatility target",
        "scaling the exposure to a volatility target",
        (
            r"vol(?:atility)? target\w*",
            r"target\w* ~ vol(?:atility)?",
            r"scal\w* ~ exposure ~ vol(?:atility)?",
            r"exposure ~ (?:target|desired) ~ vol(?:atility)?",
            r"constant volatility",
            r"vol(?:atility)? (?:scaling|scaled) ~ target",
            r"exposure ~ vol(?:atility)? ~ target",
            r"scal\w* ~ exposure ~ target",
            r"constant vol",
        ),
    ),
}

THRESHOLDS = {
    "position_stop": Words(
        "set the stop at a {value}% fall from the entry price",
        "a stop at {value}%",
        (
            r"stop\w* ~ {number}",
            r"{number} ~ stop\w*",
            r"{number} stop\w*",
            r"stop\w* {number}",
            r"(?:fall|falls|fell|fallen|drop\w*|down|los\w*|declin\w*) ~ {number}",
            r"{number} ~ (?:fall|loss|drop|decline|below|under|from) ~ (?:entry|purchase|cost|bought)",
            r"{number} (?:fall|loss|drop|decline|below|under|from)",
            r"(?:threshold|level|trigger) ~ {number}",
            r"stop\w* ~ (?:pct|percent|%) ~ {number}!",
        ),
    ),
    "trailing_stop": Words(
        "set the trailing stop at a {value}% drop from the peak",
        "a trailing stop at {value}%",
        (
            r"(?:stop|trail)\w* ~ {number}",
            r"{number} ~ (?:stop|trail)\w*",
            r"{number} (?:stop|trail)\w*",
            r"(?:stop|trail)\w* {number}",
            r"(?:fall|falls|fell|fallen|drop\w*|down|declin\w*) ~ {number}",
            r"{number} (?:fall|drop|decline|below|under|from|off)",
            r"{number} ~ (?:peak|high)",
            r"(?:threshold|level|trigger) ~ {number}",
            r"(?:stop|trail)\w* ~ (?:pct|percent|%) ~ {number}!",
        ),
    ),
    "drawdown_to_cash": Words(
        "cut to cash once the drawdown reaches {value}%",
        "going to cash at a drawdown of {value}%",
        (
            r"drawdown ~ {number}",
            r"drawdown {number}",
            r"{number} ~ drawdown",
            r"{number} drawdown",
            r"(?:fall|falls|fallen|drop\w*|down|declin\w*|los\w*) ~ {number} ~ (?:peak|high)",
            r"(?:cut|go|move|switch)\w* ~ cash ~ {number}",
            r"(?:threshold|level|trigger|limit) ~ {number}",
            r"{number} (?:below|under|off|from) ~ (?:peak|high)",
            r"liquidat\w* ~ {number}",
            r"(?:go|cut|move|exit|switch)\w* ~ cash ~ {number}",
            r"drawdown\w* ~ (?:pct|percent|%) ~ {number}!",
        ),
    ),
    "sector_cap": Words(
        "hold at most {value}% of the portfolio in any one sector",
        "at most {value}% in one sector",
        (
            r"sector\w* ~ {number}",
            r"{number} ~ sector\w*",
            r"{number} sector\w*",
            r"(?:cap|limit|at most|max\w*|threshold|level) ~ {number}",
            r"at most {number}",
            r"(?:sector|cap)\w* ~ (?:pct|percent|%) ~ {number}!",
        ),
    ),
    "vol_target": Words(
        "aim at a volatility of {value}% a year",
        "a volatility of {value}% a year",
        (
            r"volatil\w* ~ {number}",
            r"vol ~ {number}",
            r"{number} ~ vol(?:atility)?",
            r"{number} (?:annuali[sz]ed |annual )?vol(?:atility)?",
            r"target\w* ~ {number}",
            r"target {number}",
            r"(?:threshold|level) ~ {number}",
            r"(?:vol|target)\w* ~ (?:pct|percent|%) ~ {number}!",
        ),
    ),
}

RISK_NONE = (
    r"(?:no|without|skip|forget) (?:any |special |extra |separate )?(?:stop\w*|risk (?:control|management|rule|overlay)s?)",
    r"no stop loss\w*",
    r"(?:stops?|stop loss|risk (?:control|rule|overlay|management))\W{1,3}none",
    r"(?:do not|don't) (?:want|use|need) ~ (?:stops?|risk control\w*)",
)

SCHEDULE_ASKING = Asking(
    "the trading schedule",
    (
        r"re ?balanc\w*",
        r"how often",
        r"frequen\w*",
        r"schedule",
        r"cadence",
        r"holding periods?",
        r"(?:trad|refresh|updat|review|turn|reshuffl|reconstitut)\w* ~ (?:often|interval|when|dates?|weekly|monthly|quarterly)",
        r"(?:when|what day|which day) ~ trad\w*",
        r"(?:daily|weekly|monthly|quarterly) or",
        r"execution",
        r"trading (?:schedule|calendar|dates|rhythm|interval)",
        r"(?:daily|weekly|monthly|quarterly|annual) (?:strategy|basis|refresh|trading|cycle|rhythm)",
        r"(?:refresh|renew|rotate|change|update|review)\w* ~ (?:holdings|positions|portfolio|names)",
        r"how long ~ (?:hold|keep|held|kept)",
        r"when ~ (?:refresh|reshuffle|rotate|update|review)\w*",
    ),
)

_TRADING = r"(?:re ?balanc|refresh|trad|updat|review|rebuil|re ?construct|rotat|roll|re ?select|re ?rank|schedul|frequen|cadence)"


def _calendar(adverb: str, noun: str) -> tuple[str, ...]:
    """A calendar schedule as said against others: by the adverb beside a word for trading, alone in its sentence, or by 'once a ...'."""
    return (
        rf"{_TRADING}\w* ~ {adverb}",
        rf"{adverb} (?:{_TRADING}|basis|rhythm|calendar)\w*",
        rf"{adverb}(?:[\W\d]*(?:please)?\W*$)",
        rf"{_TRADING}\w* ~ (?:every|each|once a|once per|per) {noun}",
        rf"(?:every|once a|once per) {noun}",
        rf"{noun}s? ends? {_TRADING}\w*",
        rf"{_TRADING}\w* ~ {noun}s? ends?",
    )


SCHEDULES = {
    "monthly": Words(
        "rebalance once a month",
        "a monthly refresh",
        (
            r"monthly(?! (?:return|volatil|reversal|data|winner|loser|series|ic|cost|turnover|table|contribution|figure|statistic|average)\w*)",
            r"(?:every|each|once a|once per|per|1 a) month",
            r"month end (?:re ?balanc\w*|trad\w*|dates?)",
            r"(?:end|start|first|last) ~ of (?:the|each|every) month",
            r"(?:1|first|last|final) (?:trading |business )?(?:day|session) ~ month",
            r"12 times a year",
            r"months? ends?(?! (?:value|price|return|nav|equity)\w*)",
        ),
        denies=_calendar("monthly", "month"),
    ),
    "quarterly": Words(
        "rebalance once a quarter",
        "a quarterly refresh",
        (
            r"quarterly(?! (?:earning|report|result|return|data|filing|figure|number|series)\w*)",
            r"(?:every|each|once a|once per|per|1 a) quarter",
            r"every 3 months",
            r"(?:4 times|4x) a year",
            r"(?:end|start|first|last) ~ of (?:the|each|every) quarter",
            r"(?:1|first|last|final) (?:trading |business )?(?:day|session) ~ quarter",
            r"quarters? ends?(?! (?:value|price|return|nav|equity)\w*)",
        ),
        denies=_calendar("quarterly", "quarter"),
    ),
    "weekly": Words(
        "rebalance every week",
        "a weekly refresh",
        (
            r"weekly(?! (?:reversal|return|loser|data|series|volatil|figure|turnover|table|ic)\w*)",
            r"(?:every|each|once a|once per|per|1 a) week",
            r"(?:end|start|first|last) ~ of (?:the|each|every) week",
            r"every (?:monday|tuesday|wednesday|thursday|friday)",
            r"every 5 (?:trading |business )?(?:days|sessions)",
            r"52 times a year",
            r"weeks? ends?(?! (?:value|price|return|nav|equity)\w*)",
        ),
        denies=_calendar("weekly", "week"),
    ),
    "drift_band": Words(
        "trade only when a weight has drifted off its target by more than a band",
        "trading only when a weight has drifted off its target",
        (
            r"(?<!earnings[\s\-])(?<!announcement[\s\-])drift\w*(?! (?:after|following|post) )",
            r"(?:tolerance|no trade|re ?balanc\w*|trading) bands?",
            r"off (?:its|their|the) targets? by",
            r"weights? ~ (?:stray|deviat|wander)\w*",
            r"band re ?balanc\w*",
            r"(?:outside|leaves|exceeds) (?:a|its|the) band",
            r"threshold re ?balanc\w*",
            r"(?:tolerance|no trade|re ?balanc\w*|trading|drift) (?:zone|range|corridor|band|threshold)s?",
            r"off (?:its |the |their )?target ~ (?:band|more than)",
            r"band (?:based |triggered )?re ?balanc\w*",
            r"bands? around ~ targets?",
        ),
    ),
    "on_event": Words(
        "trade the day after an earnings announcement",
        "trading the day after an announcement",
        (
            r"day after ~ (?:announcement|earnings|report|release|print)\w*",
            r"on event",
            r"(?:after|following) (?:an |the |each |every |its |their )?(?:earnings |company )?announcements?",
            r"event (?:driven|based) (?:re ?balanc|trad|entr|execut)\w*",
            r"session after ~ (?:announcement|earnings)\w*",
            r"(?:re ?balanc|trad|buy|enter|act)\w* ~ (?:on|after|following) (?:the |each |every |an )?(?:earnings )?(?:announcement|earnings (?:date|report|release|day))s?",
            r"after (?:each|every|the|an) (?:earnings|quarterly) (?:report|release|call)s?",
            r"next (?:trading )?(?:day|session) after ~ (?:earnings|announcement|report|release)\w*",
        ),
    ),
}

COST_ASKING = Asking(
    "the cost assumption",
    (
        r"(?:transaction|trading|trade|execution|dealing) costs?",
        r"costs?",
        r"fees?",
        r"commissions?",
        r"slippage",
        r"basis points?",
        r"bps?",
        r"frictions?",
        r"spreads? ~ (?:cost|assum|pay)\w*",
        r"(?:gross|net) of",
        r"brokerage",
        r"(?:trades?|transactions?|orders?) ~ (?:charged|cost|free)",
        r"charg\w* ~ (?:trades?|transactions?)",
    ),
)

COST = Words(
    "count trading costs of {value} basis points per side on traded value",
    "costs of {value} basis points",
    (
        r"{number} ~ (?:per|a|each|one) (?:side|way|trade)",
        r"{number} (?:per|a|each|one) (?:side|way|trade)",
        r"(?:cost|fee|commission|slippage|charge)\w* ~ {number}",
        r"(?:cost|fee|commission|slippage|charge)\w* {number}",
        r"{number} ~ (?:cost|fee|commission|slippage)\w*",
        r"{number} (?:trading |transaction )?(?:cost|fee|commission|slippage)\w*",
        r"fixed bps {number}",
        r"{number} (?:on|of|per|for) ~ (?:traded|turnover|value|trade|trades|notional)",
        r"{number} (?:of|on) (?:turnover|notional|trades?)",
        r"(?:fixed )?bps? ~ {number}!",
        r"(?:fixed )?bps? {number}!",
        r"basis points ~ {number}!",
    ),
)

COST_NONE = (
    r"ignore ~ (?:costs?|fees?|commissions?)",
    r"ignore (?:costs?|fees?|commissions?)",
    r"(?:no|zero|without|0) (?:trading |transaction |any )?(?:costs?|fees?|commissions?)",
    r"(?:costs?|fees?) ~ (?:can be ignored|zero|nil)",
    r"(?:leave|keep) (?:out )?costs? out",
    r"cost free",
    r"frictionless",
)
