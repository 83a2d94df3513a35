"""What reported metrics are called."""

import re
from functools import lru_cache

from finassay_checks.model import MetricName
from finassay_checks.roles.languages import english

_PATTERNS: tuple[tuple[MetricName, str], ...] = (
    ("sortino", r"^sortino"),
    ("sharpe", r"^(?:annuali[sz]ed |annual |net |daily )?sharpe"),
    (
        "max_drawdown",
        r"^(?:max(?:imum)?\.?[ _-]*(?:draw[ _-]?down|dd)\b|mdd\b|maxdd|max[ _]dd|worst draw[ _-]?down"
        r"|largest draw[ _-]?down|deepest draw[ _-]?down|draw[ _-]?down$|dd$)",
    ),
    ("win_rate", r"^(?:win(?:ning)?[ _-]*(?:rate|ratio|share)|hit[ _-]*rate|share of winning|winners %|winning trades \[?%)"),
    ("turnover", r"^(?:annual(?:i[sz]ed)? |average |yearly |mean |two[- ]way |one[- ]way )*turn[ _-]?over"),
    (
        "exposure",
        r"^(?:average |avg\.? |mean |time )*(?:gross |market )?(?:exposure|invested|share invested|time in (?:the )?market"
        r"|money invested)",
    ),
    ("beta", r"^(?:market )?beta\b"),
    ("alpha", r"^(?:annual(?:i[sz]ed)? )?alpha\b"),
    (
        "fees",
        r"^(?:total |sum of )?(?:trading |transaction )*(?:fees?|costs?|commissions?)(?: paid)?\b(?!.*(?:drag|rate|bps?|per |model))",
    ),
    (
        "trades",
        r"^(?:(?:total |number of |no\.? of |# ?|num |n |count of )*(?:trades?|fills?|orders?|transactions?"
        r"|executions?)(?: count)?$|n ?trades|trade count|(?:number of|total) (?:trades|fills|orders)|# trades|round trips|trades? \()",
    ),
    ("annual_vol", r"^(?:annual(?:i[sz]ed)?\.? |ann\.? |realised |realized |yearly )*(?:vol(?:atility)?\b|std\b|standard deviation)"),
    (
        "total_return",
        r"^(?:total|cumulative|overall|whole[- ]period)[ _-]*(?:net |gross )?(?:return|growth|gain|ret\b)|^return \[%\]"
        r"|^net return$|^total$",
    ),
    (
        "annual_return",
        r"^(?:(?:net|gross) )?(?:cagr|annual(?:i[sz]ed)?[ _.-]*(?:net |gross |compound )*(?:return|ret)\b"
        r"|ann\.?[ _]*(?:ret|return)\b|yearly return|compound annual|return(?:s)? (?:a|per|p\.?) ?(?:year|a)"
        r"|return (?:p\.?a|pa)\b|geometric annual|annual growth|return \(ann)",
    ),
)
_NAMES = tuple((name, re.compile(pattern, re.I)) for name, pattern in _PATTERNS)
_BARE_RETURN = re.compile(r"^(?:net )?returns?$", re.I)


@lru_cache(maxsize=20_000)
def metric_of(label: str) -> MetricName | None:
    """The metric that a row or column label names: `Max drawdown`, `sharpe_rf0`, `return_pa`, `CAGR (net)`; None for any other."""
    if len(label) > 120:
        return None
    text = " ".join(re.sub(r"([a-z])([A-Z])", r"\1 \2", english(label)).replace("_", " ").replace("**", "").split()).strip(" :*`")
    text = re.sub(r"^(?:strategy|portfolio|headline|net|oos|the) (?=\w)", "", text, flags=re.I)
    for name, pattern in _NAMES:
        if pattern.search(text):
            return name
    return "annual_return" if _BARE_RETURN.match(text) else None
