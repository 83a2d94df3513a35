"""The questions that pin a strategy down, and which of them are still open."""

from finassay_reference.request import COVERED, FIRST_DATE, NEEDS, OPTIMISERS, Request
from finassay_reference.rules import FACTOR_WORDS, LABELS

TOPICS = ("factors", "combination", "timing", "weighting", "covariance", "risk", "schedule", "cost", "cutoff")

QUESTIONS: dict[str, tuple[str, str]] = {
    "factors": (
        "Stock selection",
        (
            "Which factors should rank the stocks - is that the only signal, or are there other factors (momentum, short-term reversal,"
            " value, quality, low risk, growth, size, earnings surprises)?"
        ),
    ),
    "combination": (
        "Combining signals",
        (
            "If there is more than one signal, how should the signals be combined: averaged z-scores, averaged ranks, a screen on the first"
            " and a ranking by the second, or weights by trailing information coefficient?"
        ),
    ),
    "timing": (
        "Market timing",
        (
            "Should a market timing rule take us out of the market at times (index against its moving average, the index's 12-month return,"
            " a volatility regime, breadth), or are we always invested?"
        ),
    ),
    "weighting": (
        "Position sizing",
        (
            "How should the positions be sized: equal weights, in proportion to the score, by inverse volatility, risk parity, or"
            " mean-variance optimisation?"
        ),
    ),
    "covariance": (
        "Risk estimate",
        "If the sizing needs a covariance matrix, which estimator: plain sample, exponentially weighted, or shrinkage?",
    ),
    "risk": (
        "Risk control",
        (
            "Which risk control do you want: a stop-loss from entry, a trailing stop, cutting to cash on a portfolio drawdown, a volatility"
            " target, or none?"
        ),
    ),
    "schedule": (
        "Rebalancing",
        "How often should the portfolio be rebalanced: weekly, monthly, quarterly, or only when weights drift outside a band?",
    ),
    "cost": ("Trading costs", "What trading costs should I assume, in basis points per side, or should they be ignored?"),
    "cutoff": ("Data", "Up to which date may I use data?"),
}
"""Component to its title and question. A question with its options is one sentence."""

LEVEL_QUESTION = "At what level, in percent, should the risk rule act (stop distance, drawdown limit, or volatility target)?"


def first_questions(request: Request) -> list[str]:
    """Numbered lines for everything that the opening did not settle; what was understood is put up for correction."""
    lines = []
    for topic in TOPICS:
        if (topic == "schedule" and request.schedule) or (topic == "cutoff" and request.cutoff):
            continue
        if (topic == "weighting" and request.weighting and request.weighting not in NEEDS) or (
            topic == "timing" and request.timing and request.timing not in NEEDS
        ):
            continue
        if topic == "covariance" and request.weighting and request.weighting not in OPTIMISERS:
            continue
        title, question = QUESTIONS[topic]
        if topic == "risk" and request.risk and request.risk not in NEEDS:
            lines.append(f"**Risk control.** {LEVEL_QUESTION}")
            continue
        lines.append(f"**{title}.** {question}" + (f" {LEVEL_QUESTION}" if topic == "risk" else ""))
    return [f"{n}. {line}" for n, line in enumerate(lines, start=1)]


def open_points(request: Request) -> list[str]:
    """What must be known before a build and was not settled by the answers: one question a line."""
    found = []
    if not request.factors:
        found.append(QUESTIONS["factors"][1])
    if len(request.servable_factors) > 1 and not request.combination:
        found.append(
            "You named more than one signal - how should the signals be combined: averaged z-scores, averaged ranks, a screen and then a"
            " ranking, or weights by information coefficient?"
        )
    if not request.weighting:
        found.append(QUESTIONS["weighting"][1])
    if request.weighting in OPTIMISERS and not request.covariance:
        found.append(
            f"For {LABELS[request.weighting]}, which covariance estimator should I use: plain sample, exponentially weighted, or shrinkage?"
        )
    if request.risk not in ("", "none") and request.risk not in NEEDS and request.risk_value is None:
        found.append(f"You want {LABELS[request.risk]} - at what level, in percent, should it act?")
    if not request.schedule:
        found.append(QUESTIONS["schedule"][1])
    if not request.cutoff:
        found.append(QUESTIONS["cutoff"][1])
    return found


def understood(request: Request) -> str:
    """What has been understood so far, as one sentence."""
    parts = []
    if request.factors:
        parts.append("you like " + " and ".join(FACTOR_WORDS[f] for f in request.factors))
    parts += [
        LABELS[option] for option in (request.schedule, request.weighting, request.timing, request.risk) if option not in ("", "none")
    ]
    if request.cutoff:
        parts.append(f"data up to {request.cutoff}")
    return "; ".join(parts)


def own_choices(request: Request) -> str:
    """Which settings are chosen without asking, and why."""
    return (
        "I will choose the rest myself by common convention, before seeing any result, and say so in the report: the number of names"
        f" ({slots_for(request)}), the windows of signals and estimates, orders filled at the close of the session after the decision, cash"
        f" that earns nothing, prices from {FIRST_DATE} on, and the S&P 500 and the equal-weight universe for comparison. Tell me if you"
        " mind any of these."
    )


def slots_for(request: Request) -> int:
    """Names held: a quarter of the usual twenty, three of a small basket, at most half of a very small one."""
    size = len(request.tickers or COVERED)
    return 5 if size >= 12 else 3 if size >= 6 else max(1, size // 2)


def unserved(request: Request) -> str:
    """What the data cannot serve, in plain words; empty if everything can be served."""
    lines = [
        f"- {LABELS.get(option) or FACTOR_WORDS[option]}: this needs {data}, which my data do not have"
        for option, data in request.missing_data
    ]
    if not lines:
        return ""
    return (
        "One thing first. My market data are daily adjusted closes of twenty US large caps and the S&P 500 index, nothing else, and I do"
        " not make data up. These parts of your idea cannot be served with them:\n\n" + "\n".join(lines)
    )
