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
        (r"(?:length|window|days) ~ (?:of|for|in) ~ (?:moving )?average", r"moving average (?:length|window|period)"),
    ),
    OpenTopic(
        "estimation",
        "the estimation window",
        (r"(?:covarian\w*|estimat\w*|correlation) (?:window|period|history)", r"half ?life", r"decay"),
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
        ),
    ),
    OpenTopic("ties", "ties and rounding", (r"ties?", r"rounding", r"fractional", r"whole shares", r"lot sizes?")),
    OpenTopic("dividends", "dividends and taxes", (r"dividends?", r"tax(?:es)?", r"total return")),
    OpenTopic(
        "caps",
        "limits on single positions",
        (
            r"(?:max\w*|cap|limit) ~ (?:position|name|stock|holding|weight)s?",
            r"position (?:cap|limit)s?",
            r"turnover (?:limit|cap|constraint)",
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
        (r"data (?:source|vendor|provider|set)s?", r"where ~ data", r"adjusted prices", r"which ~ (?:prices|data)"),
    ),
)
