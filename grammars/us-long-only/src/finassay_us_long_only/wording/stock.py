"""Stock selection: factors and how several are combined."""

from finassay_us_long_only.wording.model import Asking, Words

FACTOR_ASKING = Asking(
    "the ranking",
    (
        r"(?:which|what) ~ (?:factor|signal|criteri\w+|stocks|names|companies|ranking|measure|metric)s?",
        r"(?:rank|select|pick|choos|screen|filter|scor)\w* ~ (?:stocks|names|companies|shares|universe|candidates)",
        r"(?:stock|name|security) (?:selection|picking|ranking|choice)",
        r"how ~ (?:rank|select|pick|choose|chosen|picked|selected|ranked)",
        r"(?:ranking|selection) (?:rule|signal|method|factor|criteri\w+|measure|metric)s?",
        r"(?:other|another|additional|second|third|further|more|any|single|only|2|3) (?:ranking |selection )?(?:factor|signal|criteri\w+|measure|screen|metric)s?",
        r"(?:factor|signal)s? ~ (?:use|want|prefer|include|consider|matter)\w*",
        r"factors?",
        r"selection",
        r"what makes ~ (?:stock|name|company)",
        r"what counts as",
        r"ranking",
    ),
)

FACTORS = {
    "mom_12_1": Words(
        "rank stocks by last year's return, skipping the latest month",
        "last year's winners, skipping the latest month",
        (
            r"last year's ~ (?:winners|returns?|performance|gains|leaders)",
            r"last year's (?:winners|returns?|performance|gains|leaders)",
            r"mom(?:entum)? 12 1",
            r"12 1(?: months?)? (?:momentum|return\w*)",
            r"(?:12 months?|1 year|twelve month) (?:price )?momentum",
            r"12 months? ~ (?:skip\w*|exclud\w*|leaving out|without|omit\w*|minus|ex) ~ month",
            r"(?:past|last|previous|prior|trailing) year ~ (?:skip\w*|exclud\w*|leaving out|without|omit\w*|ex) ~ month",
            r"winners ~ (?:past|last|previous) (?:year|12 months)",
            r"(?:past|last|previous|prior|trailing) year's ~ (?:winners|returns?|performance|gains)",
            r"(?:past|last|previous|prior|trailing) year's (?:winners|returns?|performance|gains)",
            r"t 252 ~ t 21",
            r"252 ~ 21 (?:trading )?(?:day|session)s?",
        ),
    ),
    "mom_6_1": Words(
        "rank stocks by their return over the last half year, skipping the latest month",
        "winners of the last half year, skipping the latest month",
        (
            r"(?:last|past|previous|trailing) half year",
            r"half year ~ (?:winners|returns?|performance|momentum)",
            r"mom(?:entum)? 6 1",
            r"6 1(?: months?)? (?:momentum|return\w*)",
            r"6 months? (?:price )?(?:momentum|returns?|performance|winners)",
            r"(?:winners|returns?|performance) ~ (?:past|last|previous|prior) 6 months",
            r"6 months? ~ (?:skip\w*|exclud\w*|leaving out|without|omit\w*) ~ month",
            r"t 126 ~ t 21",
            r"126 ~ 21 (?:trading )?(?:day|session)s?",
        ),
    ),
    "high_52w": Words(
        "rank stocks by how close they trade to their 52-week high",
        "names trading near their 52-week high",
        (
            r"52 weeks? highs?",
            r"52w highs?",
            r"high 52w",
            r"(?:1|one) year highs?",
            r"12 months? highs?",
            r"highest (?:close|price) ~ (?:year|52 weeks|252|12 months)",
            r"yearly highs?",
            r"(?:close|price) ~ (?:max\w*|highest) ~ 252",
        ),
    ),
    "rev_5d": Words(
        "buy what got hit hardest this past week",
        "what got hit hardest this past week",
        (
            r"rev(?:ersal)? 5d?",
            r"hit ~ hardest ~ week",
            r"(?:losers|worst|fell|fallen|beaten|sold off|drops?|dropped|losses|hardest) ~ (?:past|last|previous|latest|prior|this) (?:week|5 (?:trading )?(?:day|session)s?)",
            r"(?:past|last|previous|latest|prior) (?:week|5 (?:trading )?(?:day|session)s?)(?:'s)? (?:losers|biggest losers|losses|drops?|worst)",
            r"(?:1|one|a) week reversal",
            r"weekly reversal",
            r"5 (?:trading )?(?:day|session)s? (?:reversal|returns?|losers)",
            r"return\w* ~ (?:past|last|previous|prior) (?:week|5 (?:trading )?(?:day|session)s?) ~ (?:low|lowest|ascending|worst)",
        ),
    ),
    "rev_21d": Words(
        "buy the biggest losers of the past month, for the bounce",
        "the biggest losers of the past month, for the bounce",
        (
            r"rev(?:ersal)? 21d?",
            r"(?:losers|worst|fell|fallen|beaten|sold off|drops?|dropped|losses|hardest) ~ (?:past|last|previous|latest|prior|this) (?:month|21 (?:trading )?(?:day|session)s?)",
            r"(?:past|last|previous|latest|prior) (?:month|21 (?:trading )?(?:day|session)s?)(?:'s)? (?:losers|biggest losers|losses|drops?|worst)",
            r"(?:1|one|a) month reversal",
            r"monthly reversal",
            r"21 (?:trading )?(?:day|session)s? (?:reversal|losers)",
            r"short term reversal ~ month",
            r"return\w* ~ (?:past|last|previous|prior) (?:month|21 (?:trading )?(?:day|session)s?) ~ (?:low|lowest|ascending|worst)",
        ),
    ),
    "earnings_yield": Words(
        "prefer stocks that are cheap on earnings",
        "stocks that are cheap on earnings",
        (
            r"cheap ~ on ~ earnings",
            r"earnings yields?",
            r"earnings to price",
            r"(?:eps|earnings) (?:over|divided by|relative to|per|to) ~ price",
            r"(?:low|lowest|cheap) ~ p e",
            r"p e ratios?",
            r"price (?:to )?earnings",
            r"e p ratio",
        ),
    ),
    "book_to_market": Words(
        "prefer stocks that are cheap on book value",
        "stocks that are cheap on book value",
        (
            r"cheap ~ on ~ book",
            r"book to market",
            r"price (?:to )?book",
            r"p b ratios?",
            r"(?:low|lowest|cheap) ~ p b",
            r"book (?:value|equity) (?:over|to|relative to|divided by) ~ (?:price|market)",
            r"b m ratio",
        ),
    ),
    "roe": Words(
        "prefer companies with a high return on equity",
        "companies with a high return on equity",
        (
            r"return on ~ equity",
            r"return on equity",
            r"roe",
            r"net income (?:over|to|divided by|relative to) ~ equity",
            r"equity returns? ~ high",
        ),
    ),
    "gross_profitability": Words(
        "prefer companies with a strong gross profit for the assets they carry",
        "companies with a strong gross profit for the assets they carry",
        (r"gross profit\w* ~ assets", r"gross profitability", r"gross margin ~ assets", r"gp ta"),
    ),
    "low_vol": Words(
        "prefer the calmer stocks, those with low recent volatility",
        "the calmer stocks",
        (
            r"low(?:est)? (?:recent |realised |realized |daily |trailing |return |price |past |60 days? |60 sessions? |\d+ days? )*vol(?:atility|s)?(?![\s\-]+(?:regime|market|period|environment))",
            r"lower volatility (?:stocks|names|shares)",
            r"calm(?:er|est|ness)",
            r"least volatile",
            r"low(?:est)? ~ standard deviation",
            r"minimum volatility",
        ),
    ),
    "low_beta": Words(
        "prefer stocks that move less than the market",
        "stocks that move less than the market",
        (
            r"low(?:est|er)? (?:market |trailing |\d+ days? |252 days? )*betas?",
            r"(?:move|moves|swing|swings) less than the (?:market|index)",
            r"betas? ~ (?:low|lowest|small|ascending)",
            r"less sensitive to the (?:market|index)",
        ),
    ),
    "sales_growth": Words(
        "prefer companies whose revenue grows fast",
        "companies whose revenue grows fast",
        (
            r"(?:revenues?|sales|turnover|top line) ~ (?:grow\w*|up)",
            r"grow\w* ~ (?:revenues?|sales)",
            r"(?:revenue|sales) growth",
            r"(?:fast|rapid)\w* ~ (?:revenue|sales)",
        ),
    ),
    "eps_growth": Words(
        "prefer companies whose earnings grow fast",
        "companies whose earnings grow fast",
        (
            r"(?:earnings|eps|profits?) (?:are |is )?(?:grow\w*|up)",
            r"(?:earnings|eps|profit) growth",
            r"grow\w* (?:their |its )?(?:earnings|eps|profits?)",
            r"eps ~ grow\w*",
        ),
    ),
    "small_size": Words(
        "prefer the smaller companies",
        "the smaller companies",
        (
            r"small(?:er|est)? (?:companies|caps?|stocks|names|firms|size)",
            r"(?:low|lowest|small|smallest) market (?:cap\w*|value)",
            r"size factor ~ small",
        ),
    ),
    "earnings_surprise": Words(
        "buy companies that just beat earnings expectations",
        "companies that just beat earnings",
        (
            r"earnings surprises?",
            r"beat\w* ~ (?:earnings|estimates|consensus|expectations|forecasts?)",
            r"(?:positive|biggest|largest|standardi[sz]ed) (?:unexpected )?(?:surprises?|earnings surprises?)",
            r"earnings beats?",
            r"eps (?:minus|above|versus|less) ~ consensus",
        ),
    ),
}

COMBINATION_ASKING = Asking(
    "the way the signals are put together",
    (
        r"combin\w*",
        r"blend\w*",
        r"aggregat\w*",
        r"composite",
        r"(?:merge|mix|put|bring|tie) ~ together",
        r"(?:weigh|weight|mix|merge|balance|trade off)\w* ~ (?:factors|signals|scores|rankings|criteria|measures|two|2|both)",
        r"(?:joint|overall|total|final|single|1) (?:score|rank\w*)",
        r"(?:relative )?importance of ~ (?:factor|signal|measure)s?",
        r"(?:factors|signals|measures|criteria) ~ (?:together|against each other)",
        r"(?:z scores?|ranks?) or",
    ),
)

COMBINATIONS = {
    "zscore_mean": Words(
        "turn each signal into a z-score and average them",
        "averaged z-scores",
        (
            r"z ?scor\w* ~ (?:averag\w*|mean|sum\w*|add\w*|combin\w*)",
            r"(?:averag\w*|mean|sum\w*|add\w*) ~ z ?scor\w*",
            r"z ?score mean",
            r"(?:averag\w*|mean) ~ standardi[sz]ed",
            r"z ?scores?",
        ),
    ),
    "rank_mean": Words(
        "rank the stocks on each signal and average the ranks",
        "averaged ranks",
        (
            r"averag\w* ~ ranks?(?![\s\-]+(?:ic|correlation)s?)",
            r"(?:mean|sum) ~ of ~ ranks?",
            r"rank mean",
            r"mean ranks?(?![\s\-]+(?:ic|correlation)s?)",
            r"averag\w* (?:the )?(?:ranks?|rankings)",
            r"ranks? (?:are |is )?averag\w*",
        ),
    ),
    "screen_then_rank": Words(
        "keep the better half on the first signal and then rank that half by the second",
        "a screen on the first signal and a ranking by the second",
        (
            r"screen ~ then ~ rank\w*",
            r"screen then rank",
            r"screen\w* ~ (?:first|by) ~ (?:rank\w*|second|2)",
            r"(?:best|top|better|upper) (?:half|50%) ~ (?:first|rank\w*|second)",
            r"(?:keep|filter)\w* ~ (?:half|50%) ~ rank\w*",
            r"(?:first|1) ~ filter\w* ~ then rank\w*",
            r"2 (?:step|stage) ~ (?:screen|sort|rank)\w*",
            r"screen on the first signal",
            r"screen\w* ~ first",
        ),
    ),
    "ic_weighted": Words(
        "weight each signal by how well it has predicted returns lately, by its trailing information coefficient",
        "signals weighted by how well they have predicted",
        (
            r"ic weight\w*",
            r"information coefficients?",
            r"weight\w* ~ (?:how well|predictive|past ic|trailing ic|ics?)",
            r"(?:trailing|past|rolling) ics?",
            r"predict\w* power ~ weight\w*",
        ),
    ),
}
