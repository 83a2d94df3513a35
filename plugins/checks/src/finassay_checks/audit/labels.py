"""What reported figures are called in an audit: the metric, and what a label says about it."""

import re
from functools import lru_cache

from finassay_checks.roles.languages import english
from finassay_checks.roles.metric_names import metric_of

FRACTIONS = frozenset(
    {"total_return", "annual_return", "volatility", "max_drawdown", "win_rate", "buy_and_hold_return", "exposure", "alpha"}
)
COUNTS = frozenset(
    {"number_of_trades", "number_of_closed_trades", "number_of_open_trades", "winning_trades", "losing_trades", "number_of_fills"}
)
MONEY = frozenset({"net_profit", "gross_profit", "gross_loss", "equity_end", "fees"})
RATIOS = frozenset({"sharpe", "sortino", "calmar", "profit_factor", "information_ratio"})
_SHARED = {"annual_vol": "volatility", "trades": "number_of_trades"}
_OWN = (
    ("information_ratio", r"^(?:annuali[sz]ed |ex[ -]post )?(?:information ratio|info(?:rmation)?\.? ?ratio|ir)$"),
    ("alpha", r"^(?:annual(?:i[sz]ed)? |jensen'?s? |capm )*alpha(?: \(ann\w*\.?\))?$"),
    ("beta", r"^(?:market |capm )?beta$"),
    ("exposure", r"^(?:time in (?:the )?market|exposure time|market exposure|avg\.? exposure|average exposure|exposure)\b"),
    ("buy_and_hold_return", r"\bbuy ?(?:&|and|n)? ?hold\b(?!.*\b(?:sharpe|drawdown|vol))"),
    ("profit_factor", r"^(?:net |gross )?profit factor\b"),
    ("sharpe", r"^(?:daily|weekly|monthly|yearly|annual|annuali[sz]ed|net|strategy)? ?sharpe(?: ?ratio)?(?:$|[ (\[].*)"),
    ("sharpe", r"^sharpe"),
    ("sortino", r"^(?:(?:daily|weekly|monthly|yearly|annual|annuali[sz]ed) )?sortino(?!/)"),
    ("calmar", r"^(?:calmar|mar ratio)\b"),
    ("number_of_closed_trades", r"^(?:total |number of |# ?)?(?:closed trades|trades closed|completed trades)$"),
    ("number_of_open_trades", r"^(?:total |number of |# ?)?(?:open trades|trades open|open positions)$"),
    ("number_of_fills", r"^(?:total |number of |# ?|n )?(?:fills|executions)$"),
    ("winning_trades", r"^(?:won|winners|winning trades|trades won|number of winning trades|# ?winning trades)$"),
    ("losing_trades", r"^(?:lost|losers|losing trades|trades lost|number of losing trades|# ?losing trades)$"),
    (
        "number_of_trades",
        r"^(?:trades? total|total trades|n(?:um)? ?trades|#? ?round ?trips|number of round ?trips|n round ?trips|closed positions)$",
    ),
    ("number_of_trades", r"^(?:total |number of )?(?:completed |closed )?(?:round[ -]trips|positions closed)\b.{0,30}$"),
    (
        "equity_end",
        r"^(?:equity final|final (?:equity|value|nav|capital|balance|portfolio value)|end(?:ing)? (?:value|equity|nav|balance|capital)|equity end)\b",
    ),
    ("gross_profit", r"^gross profit$"),
    ("gross_loss", r"^gross loss$"),
    (
        "net_profit",
        r"^(?:total |cumulative )?(?:net |realised |realized |overall )?(?:profit|p ?& ?l|pnl|p/l)(?: (?:(?:and|&|/) )?loss)?(?: \(?(?:net|usd|\$|total|eur|gbp)\)?)?"
        r"(?: \[\$\])?$",
    ),
    ("net_profit", r"^(?:profit total abs|absolute profit|profit abs total)$"),
    ("gross_pnl", r"^(?:total )?gross (?:pnl|p ?& ?l)$"),
    (
        "annual_return",
        r"^(?:rnorm(?:100)?|cagr\S*|compounding annual return|compound annual growth(?: rate)?|annuali[sz]ed? (?:growth|performance)|"
        r"return (?:ann(?:uali[sz]ed|ual)?|per annum|yearly)|yearly return)\b",
    ),
    (
        "total_return",
        r"^(?:rtot(?: log)?|cum(?:ulative)?\.? (?:ret(?:urn)?s?|performance|gain)|holding period return|overall (?:return|performance)|return total|"
        r"total (?:ret(?:urn)?s?|performance|gain|growth)|net (?:total )?return|strategy return|portfolio return|time[ -]*weighted (?:rate of )?return|twr|"
        r"algorithm period return|portfolio growth)\b|^returns?$|^profit total(?: pct)?$",
    ),
    (
        "volatility",
        r"^(?:(?:daily|monthly|weekly|yearly|annual|annuali[sz]ed|algo|portfolio|realised|realized|ann\.?) )*(?:vol|volatility|std(?:ev| dev)?|standard deviation)\b",
    ),
    (
        "win_rate",
        r"^(?:winrate|win ?%|wins? (?:rate|ratio|pct|percent(?:age)?)|hit (?:rate|ratio)|percent (?:profitable|winners?)|profitable trades?|winning (?:percentage|share)|success rate)\b",
    ),
    ("max_drawdown", r"^(?:max(?:imum)?\.? ?)?(?:draw ?down|dd)(?: (?:max|pct|percent))?\b(?!.*(?:duration|days|date|period|avg|average))"),
    ("turnover", r"turn ?-?over"),
)
_PATTERNS = tuple((name, re.compile(pattern, re.I)) for name, pattern in _OWN)
_NEVER = re.compile(
    r"(?:costs?|fees?) (?:a|per) year|duration|\bdays?\b(?! ret)|\bdate\b|\b(?:avg|average)\b(?!.*turn)(?! annual)|best|worst (?!draw)|prob\.|smart|√|benchmark|\bvs\b|excess|target|"
    r"limit|maximum allowed|\bmin(?:imum)?\b|risk[ -]?free|per trade|in market|rolling|rank|confidence|expected|three|six|month perc|consecutive|"
    r"^(?:execution|order|trade|transaction|fill)$|(?:execution|trade|fill) (?:price|time|date)|t-?stat|p-?value|skew|kurt|(?:deflated|information|treynor) ",
    re.I,
)
FREQUENCIES = {"daily": "D", "weekly": "W", "monthly": "M", "yearly": "Y"}
_WORDS = re.compile(r"[_\-]+|(?<=[a-z])(?=[A-Z])")


@lru_cache(maxsize=20_000)
def words_of(label: str) -> str:
    """A label as words: `oneWayTurnover_per-rebalance` is `one Way Turnover per rebalance`."""
    text = _WORDS.sub(" ", label[:160]).replace("**", "")
    return " ".join(text.split()).strip(" :*`")


@lru_cache(maxsize=20_000)
def audit_metric(label: str) -> str | None:
    """The metric that a label names, None for any other; `turnover` gets its full name from `turnover_name`."""
    text = words_of(english(label.strip(" *`")))
    bare = re.sub(
        r"\s*[\[(](?:%|\$|pct|percent|€|£|usd|eur|gbp|fraction|decimal)[\])]|\s+(?:pct|percent|usd)$|[%﹪]$", "", text, flags=re.I
    ).strip()
    if not bare or len(bare) > 90:
        return None
    if _NEVER.search(bare):
        return next((name for name, pattern in _PATTERNS[:4] if pattern.search(bare)), None)
    bare = re.sub(r"^(?:strategy|portfolio|headline|the|backtest|overall|my|our) (?=\w)", "", bare, flags=re.I)
    for name, pattern in _PATTERNS:
        if pattern.search(bare):
            return name
    shared = metric_of(bare)
    return _SHARED.get(shared, shared) if shared is not None else None


def turnover_name(label: str, around: str) -> str:
    """The full name of a turnover figure by what its label and the notes around it say: `turnover_one_way_mean_ex_initial`."""
    text, notes = words_of(label).lower(), f"{words_of(label)} {around}".lower()
    side = "_one_way" if re.search(r"one[ -]?way|single[ -]?(?:way|side)", text) else ""
    side = "_two_way" if re.search(r"two[ -]?way|round ?- ?trip|both ways", text) else side
    if not side:
        side = (
            "_one_way"
            if re.search(r"one[ -]?way", notes)
            else "_two_way"
            if re.search(r"two[ -]?way|buys? (?:plus|and) sell", notes)
            else ""
        )
    span = "_annual" if re.search(r"annual|a year|per year|yearly|p\.?a\.?\b", text) else ""
    if re.search(r"per rebal|a rebal|each rebal|\bmean\b|average|\bavg\b|per period|monthly|per month", text):
        span = "_mean"
    span = "_total" if re.search(r"\btotal\b|\bsum\b|cumulative|overall", text) else span
    ex = re.search(
        r"(?:initial|first) (?:purchase|buy|trade|rebalance|allocation|investment)s? (?:is |are )?(?:not|excluded|left out|ignored|omitted)"
        r"|(?:without|excluding|ex|excl\.?|not counting) (?:the )?(?:initial|first)",
        notes,
    )
    return f"turnover{side}{span}{'_ex_initial' if ex else ''}"


def frequency_of(label: str) -> str | None:
    """The sampling that a label names: `monthly_sharpe` is `M`."""
    first = words_of(label).lower().split(" ")[0]
    return FREQUENCIES.get(first)
