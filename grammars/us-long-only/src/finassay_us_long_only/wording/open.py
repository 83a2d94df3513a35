"""What a belief leaves open, and how an agent may ask about it."""

from finassay.api.strategy import OpenTopic

OPEN_TOPICS = (
    OpenTopic(
        "names",
        "the number of names",
        (
            r"how many (?:names|stocks|positions|holdings|companies)",
            r"number of (?:names|stocks|positions|holdings)",
            r"(?:top|best) (?:n|\d+)",
            r"concentrat\w*",
            r"portfolio size",
            r"how concentrated",
        ),
    ),
    OpenTopic(
        "lookback",
        "the look-back window",
        (
            r"look ?back\w*",
            r"look back",
            r"(?:window|period|horizon) ~ (?:signal|momentum|volatil|return|factor|estimat)\w*",
            r"(?:signal|volatil\w*|momentum|estimat\w*) (?:window|period|horizon)",
            r"how (?:long|many days) ~ (?:measure|window|average)\w*",
            r"formation (?:period|window)",
            r"(?:volatil\w*|beta|momentum|returns?) ~ (?:measured|estimated|calculated|computed)",
            r"(?:over how many|how many) (?:days|months|sessions)",
        ),
    ),
    OpenTopic(
        "band",
        "the width of the band",
        (r"band ~ (?:width|wide|size)", r"(?:how wide|width of|what|which) ~ band", r"drift threshold", r"tolerance"),
    ),
    OpenTopic(
        "average",
        "the length of the moving average",
        (
            r"(?:length|window|days) ~ (?:of|for|in) ~ (?:moving )?average",
            r"moving average (?:length|window|period)",
            r"\d+ (?:or|versus|vs) \d+ (?:days?|sessions?)",
            r"days? (?:moving )?average",
        ),
    ),
    OpenTopic(
        "estimation",
        "the estimation window",
        (
            r"(?:covarian\w*|estimat\w*|correlation) (?:window|period|history)",
            r"half ?life",
            r"decay",
            r"history ~ covarian\w*",
            r"covarian\w* ~ (?:window|history|days)",
        ),
    ),
    OpenTopic("benchmark", "the benchmark", (r"benchmarks?", r"compar(?:e|ed|ison)\w*")),
    OpenTopic(
        "period",
        "the start of the test period",
        (
            r"(?:start|begin)\w* (?:date|year|from)",
            r"(?:sample|test|backtest|history|data) (?:period|range|start|span|length)",
            r"how far back",
            r"when ~ (?:start|begin)",
            r"time (?:period|frame|span)",
            r"(?:over|which|what) ~ (?:period|years|span)",
            r"since when",
            r"end date",
        ),
    ),
    OpenTopic(
        "capital",
        "the starting capital",
        (r"(?:start\w*|initial|account|portfolio) (?:capital|size|value|amount)", r"how much (?:money|capital)", r"aum"),
    ),
    OpenTopic(
        "re-entry", "how to come back in", (r"re ?ent(?:er|ry)\w*", r"(?:come|get|go) back in", r"back into the market", r"buy back")
    ),
    OpenTopic("cash", "what cash earns", (r"cash (?:yield|return|interest|rate|earns?)", r"interest on cash", r"idle cash", r"risk free")),
    OpenTopic("leverage", "leverage and shorting", (r"leverag\w*", r"short(?:s|ing|-selling| selling)?", r"long only", r"margin")),
    OpenTopic(
        "fills",
        "when exactly orders are filled",
        (
            r"fill(?:s|ed|ing)?(?: price| time)?",
            r"(?:open|close) ~ (?:fill|execut|trad)\w*",
            r"next day",
            r"execution (?:price|time)",
            r"at the (?:open|close)",
            r"(?:price|when|how) ~ (?:executed|filled)",
            r"market orders?",
            r"(?:closing|intraday|opening) prices?",
        ),
    ),
    OpenTopic(
        "ties",
        "ties and rounding",
        (
            r"ties?",
            r"rounding",
            r"fractional",
            r"whole shares",
            r"lot sizes?",
            r"round(?:ed|ing)?",
            r"break ~ ties?",
            r"shares? counts?",
        ),
    ),
    OpenTopic("dividends", "dividends and taxes", (r"dividends?", r"tax(?:es)?", r"total return")),
    OpenTopic(
        "caps",
        "limits on single positions",
        (
            r"(?:max\w*|cap|limit) ~ (?:position|name|stock|holding|weight)s?",
            r"position (?:cap|limit)s?",
        ),
    ),
    OpenTopic(
        "aversion", "the settings of the optimiser", (r"risk aversion", r"expected returns?", r"optimi[sz]er settings", r"constraints?")
    ),
    OpenTopic(
        "format",
        "the form of the report",
        (r"(?:report|output|file|delivery) ~ (?:format|form|layout)", r"format", r"charts?", r"how ~ (?:present|deliver)\w*"),
    ),
    OpenTopic(
        "data-source",
        "the data source",
        (
            r"data (?:source|vendor|provider|set)s?",
            r"where ~ data",
            r"adjusted prices",
            r"which ~ (?:prices|data)",
            r"where ~ prices",
            r"(?:price|data) (?:feed|vendor)s?",
            r"survivorship\w*",
        ),
    ),
    OpenTopic(
        "screens",
        "screens on the universe",
        (
            r"(?:liquidity|volume|price) (?:filter|screen|minimum|floor)s?",
            r"(?:minimum|min) (?:price|volume|liquidity|history)",
            r"eligib\w*",
            r"(?:exclude|drop|leave out) ~ (?:stocks|names|companies)",
            r"(?:restrict|filter|narrow)\w* ~ universe",
        ),
    ),
    OpenTopic(
        "missing-data",
        "missing data",
        (r"missing (?:data|prices?|values?|days?)", r"gaps? in ~ (?:data|prices)", r"delist\w*", r"halt\w*", r"outliers?"),
    ),
    OpenTopic(
        "trading-day",
        "the exact trading day",
        (
            r"(?:which|what) ~ (?:day|weekday|date) ~ (?:week|month|quarter|trade|re ?balanc\w*)",
            r"(?:first|1|last) ~ day ~ (?:week|month|quarter)",
            r"start or end of ~ (?:week|month|quarter)",
        ),
    ),
    OpenTopic(
        "checking",
        "how often the rule is checked",
        (
            r"(?:check|monitor|observ|evaluat)\w* ~ (?:daily|weekly|monthly|intraday|close|closing)",
            r"how often ~ (?:check|monitor)\w*",
            r"intraday",
        ),
    ),
    OpenTopic(
        "reference-high",
        "the high that a fall is measured from",
        (r"(?:which|what|from) ~ (?:high|peak)", r"(?:high|peak) ~ (?:reset|restart|measur)\w*", r"high water mark"),
    ),
    OpenTopic("sectors", "the sector classification", (r"sector (?:classification|definition|scheme|mapping)s?", r"gics", r"sic codes?")),
    OpenTopic("index", "which index stands for the market", (r"(?:which|what) ~ index", r"index ~ (?:proxy|used|choice)", r"market proxy")),
    OpenTopic("turnover", "limits on turnover", (r"turnover (?:limit|cap|constraint|budget|target)s?", r"(?:limit|cap|reduce) ~ turnover")),
    OpenTopic("currency", "the currency", (r"currenc\w*", r"in (?:dollars|usd|euros?)")),
)
