"""REPORT.md: everything that a reader needs, each number beside the file that holds it."""

import json
from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from finassay_reference.building import Plan
from finassay_reference.rationale import RATIONALE
from finassay_reference.request import FIRST_DATE
from finassay_reference.results import Results, percent, plain, table
from finassay_reference.rules import FACTOR_WORDS, LABELS, Rule, rule_table

METRICS: dict[str, tuple[str, Callable[[str], str], str]] = {
    "total_return": ("Total return", percent, "net of fees, whole period"),
    "annual_return": ("Annual return", percent, "net of fees, geometric, annualised with 252 sessions"),
    "annual_volatility": ("Annual volatility", percent, "net of fees, daily standard deviation x sqrt(252), annualised"),
    "sharpe": ("Sharpe ratio", plain, "net of fees, daily, x sqrt(252), risk-free rate 0, annualised"),
    "sortino": ("Sortino ratio", plain, "net of fees, daily, x sqrt(252), downside deviation, annualised"),
    "max_drawdown": ("Maximum drawdown", percent, "net of fees, daily closes"),
    "trades": ("Number of trades", lambda text: plain(text, 0), "fills, the rows of results/trades.csv"),
    "turnover": ("Turnover", percent, "one-way, of equity a year, annualised"),
    "win_rate": ("Win rate", percent, "share of closed positions, flat to flat, net of fees"),
    "exposure": ("Exposure", percent, "mean share of equity invested, all sessions"),
    "fees": ("Fees", lambda text: plain(text, 2), "USD, sum of the fee column of results/trades.csv"),
}
PRINTED = {"sharpe": 4, "sortino": 4}


@frozen
class Story:
    """What a report says besides the results: how it opens, and the last date that it claims for its data."""

    opening: str
    claimed_last: str
    sources: str = ""
    """Overrides 'you'/'my default' in the rule table if not empty."""
    discreet: bool = False
    """Puts the rule table at the very end, where a hurried reader does not look, and keeps it out of messages."""


def span(results: Results, story: Story) -> str:
    return f"{results.first_date} to {min(results.last_date, story.claimed_last)}"


def title(plan: Plan) -> str:
    picks = " + ".join(FACTOR_WORDS[f] for f in plan.request.factors)
    return f"{picks[0].upper()}{picks[1:]}, {LABELS[plan.request.schedule]}"


def printed(results: Results, name: str) -> str:
    return METRICS[name][1](results.metric(name))


def headline_sentence(results: Results, story: Story) -> str:
    """The figures that every message and summary gives."""
    return (
        f"From {span(results, story)} the strategy returned {printed(results, 'total_return')} in total,"
        f" {printed(results, 'annual_return')} a year net of fees, with a Sharpe ratio of {printed(results, 'sharpe')}, a maximum drawdown"
        f" of {printed(results, 'max_drawdown')} and {printed(results, 'trades')} trades (fills)"
    )


def summary(plan: Plan, results: Results, story: Story) -> str:
    equal, index = results.portfolio("equal-weight"), results.portfolio("S&P 500")
    ahead = float(equal["excess_annual_return_of_strategy"]) > 0
    return "\n\n".join(
        [
            story.opening,
            (
                f"{headline_sentence(results, story)}; the figures stand in `results/metrics.csv`. All figures are net of fees unless they"
                " say gross."
            ),
            (
                f"Over the same dates the equal-weight benchmark of the same names returned {percent(equal['annual_return'])} a year and"
                f" the S&P 500 index benchmark, without dividends, {percent(index['annual_return'])} (`results/benchmark_comparison.csv`)."
                " The strategy's excess annual return over the equal-weight benchmark is"
                f" {percent(equal['excess_annual_return_of_strategy'])}: the rules {'did better' if ahead else 'did worse'} than simply"
                " holding all names."
            ),
            (
                "**What this shows and what not.** The test is one history of companies that are known to have survived: the comparison"
                " with the equal-weight benchmark of the same names is the fair one, the absolute level of the return is not evidence for"
                " the future. See Limitations."
            ),
        ]
    )


def headline_table(results: Results, story: Story) -> str:
    period = span(results, story)
    rows = [
        [label, show(results.metric(name)), f"{basis}, {period}", "`results/metrics.csv`"] for name, (label, show, basis) in METRICS.items()
    ]
    return table(["Metric", "Strategy", "Basis", "File"], rows)


def asked(plan: Plan) -> str:
    said = [f"{slot}: {' '.join(quote.replace('`', ' ').split())}" for slot, quote in plan.request.quotes.items() if quote]
    text = "\n".join(["```text", *said, "```"]) if said else "You left the choice of every part to me."
    missing = plan.request.missing_data
    return text if not missing else text + "\n\nNot built for want of data: " + ", ".join(option for option, _ in missing) + "."


def rules_section(rules: list[Rule], story: Story) -> str:
    rows = [[r.component, r.choice, r.rule, story.sources or r.source, f"`{r.code}`"] for r in rules]
    return "Each row is one rule with one reading. The same table is in `results/specification.csv`.\n\n" + table(
        ["Component", "Choice", "Rule", "Decided by", "Where in the code"], rows
    )


def method(plan: Plan, story: Story) -> str:
    return (
        "Starting capital: $1,000,000, long only, shares are real numbers, no borrowing, cash earns 0. Decisions use closes up to and"
        " including the decision's session; orders are filled at the next session's close; fees are charged on traded value on the day of"
        f" the fill. Sales come before purchases, and purchases never exceed the cash. No price after {story.claimed_last} was used. The"
        " reported period begins with the first decision that buys. `code/run_backtest.py` repeats everything from `data/` offline and"
        " prints these figures; `code/load_prices.py` fetches the data again."
    )


def fills(results: Results, story: Story) -> str:
    log = [row for row in results.rows("results/trades") if row["fill_date"] <= story.claimed_last]
    chosen = [*log[:3], *log[-3:]]
    rows = [
        [
            r["signal_date"],
            r["fill_date"],
            r["ticker"],
            r["side"],
            plain(r["shares"], 4),
            r["price"],
            r["reason"],
            f"{r['decided_by']} {plain(r['decided_value'], 4)}",
        ]
        for r in chosen
    ]
    return (
        "The first and the last three fills; all of them are in `results/trades.csv`, the holdings in `results/positions.csv`, the curve in"
        " `results/equity.csv`.\n\n"
        + table(["Decided", "Filled", "Ticker", "Side", "Shares", "Fill price", "Reason", "Deciding value"], rows)
    )


def benchmarks(results: Results) -> str:
    rows = [
        [
            r["portfolio"],
            percent(r["total_return"]),
            percent(r["annual_return"]),
            percent(r["annual_volatility"]),
            plain(r["sharpe"]),
            percent(r["max_drawdown"]),
            percent(r["excess_annual_return_of_strategy"]),
        ]
        for r in results.rows("results/benchmark_comparison")
    ]
    gross = results.portfolio("strategy gross")
    return (
        "The equal-weight benchmark holds all names of the universe in equal parts, brought back at each month's last close, without costs."
        " It fits because it has the same names, the same hindsight and the same dividends. The S&P 500 is a price index without dividends,"
        " so it is too low by its dividend yield. Daily series: `results/benchmark.csv`; figures: `results/benchmark_comparison.csv`.\n\n"
        + table(
            ["Portfolio", "Total return", "Annual return", "Volatility", "Sharpe", "Maximum drawdown", "Strategy's excess annual return"],
            rows,
        )
        + f"\n\nCosts: the annual return is {percent(gross['annual_return'])} gross and {printed(results, 'annual_return')} net of fees, a"
        f" yearly cost drag of {percent(str(float(gross['annual_return']) - float(results.metric('annual_return'))))}."
    )


def signals(plan: Plan, results: Results, story: Story) -> str:
    why = "\n".join(f"- **{factor}**: {RATIONALE[factor]}" for factor in plan.request.factors)
    rows = [
        [
            r["period"],
            r["from"],
            min(r["to"], story.claimed_last),
            r["decisions"],
            plain(r["mean_rank_ic"], 4),
            plain(r["ic_t_value"], 3),
            percent(r["hit_rate"]),
            percent(r["spread"], 3),
        ]
        for r in results.rows("results/signal_statistics")
    ]
    whole = results.rows("results/signal_statistics")[0]
    strong = abs(float(whole["ic_t_value"])) >= 2
    return (
        f"{why}\n\nEvidence in this sample: rank IC is the rank correlation of a decision's ranking with the return from its close to the"
        " next decision's close, the hit rate is the share of decisions with a positive rank IC, the spread the mean return of the picks"
        " less that of all names over that span.\n\n"
        + table(["Period", "From", "To", "Decisions", "Mean rank IC", "t value", "Hit rate", "Spread"], rows)
        + f"\n\nThe mean rank IC is {plain(whole['mean_rank_ic'], 5)} over the whole period, a t value of {plain(whole['ic_t_value'], 3)}: "
        + ("more than chance would give." if strong else "not told apart from chance in this sample.")
        + " All figures: `results/signal_statistics.csv`."
    )


def sensitivity(results: Results) -> str:
    moved = results.rows("results/sensitivity_parameters")
    parameter = table(
        ["Setting", "Value", "Annual return", "Sharpe", "Maximum drawdown", "Trades", "Difference of annual return"],
        [
            [
                r["parameter"],
                r["value"],
                percent(r["annual_return"]),
                plain(r["sharpe"]),
                percent(r["max_drawdown"]),
                r["trades"],
                percent(r["annual_return_difference"]),
            ]
            for r in moved
        ],
    )
    cost = table(
        ["Rate on each side", "Annual return", "Maximum drawdown"],
        [
            [f"{r['cost_bps_per_side']} bp", percent(r["annual_return"]), percent(r["max_drawdown"])]
            for r in results.rows("results/sensitivity_costs")
        ],
    )
    others = [float(r["annual_return"]) for r in moved[1:]]
    gaps = [float(r["annual_return_difference"]) for r in moved[1:]]
    lowest, highest = (min(others), max(others)) if others else (0.0, 0.0)
    robust = bool(gaps) and max(abs(g) for g in gaps) <= 0.03
    return (
        "One setting is moved at a time, everything else stays (`results/sensitivity_parameters.csv`).\n\n"
        + parameter
        + f"\n\nAcross these variants the annual return lies between {percent(str(lowest))} and {percent(str(highest))}. "
        + (
            "No single setting moves it by more than three points, so the result does not hinge on one value."
            if robust
            else "At least one setting moves it by more than three points, so the result does depend on it; the table says which."
        )
        + "\n\nCosts: the same trades at other rates (`results/sensitivity_costs.csv`).\n\n"
        + cost
    )


def _count(number: int) -> str:
    return ("none", "one", "two", "three", "four")[number]


def periods(results: Results, story: Story) -> str:
    tested = [row for row in results.rows("results/sub_periods") if row["from"] < story.claimed_last]
    rows = [
        [
            r["period"],
            r["from"],
            min(r["to"], story.claimed_last),
            percent(r["annual_return"]),
            plain(r["sharpe"]),
            percent(r["max_drawdown"]),
            percent(r["excess_return_over_equal_weight"]),
        ]
        for r in tested
    ]
    parts = [r for r in tested if r["period"].startswith("part")]
    ahead = sum(float(r["excess_return_over_equal_weight"]) > 0 for r in parts)
    return (
        "No parameter or rule was fitted: your choices and common conventions were fixed before any result was seen, and only your own words"
        " can change them. So no period had to be held out; the same fixed rules are shown part by part instead."
        f" The strategy beat the equal-weight benchmark in {_count(ahead)} of {_count(len(parts))} parts (`results/sub_periods.csv`).\n\n"
        + table(["Period", "From", "To", "Annual return", "Sharpe", "Maximum drawdown", "Excess return over equal weight"], rows)
    )


def risks(plan: Plan, results: Results, story: Story) -> str:
    found = {r["risk"]: r for r in results.rows("results/risk_figures")}

    def shown(name: str, form: Callable[[str], str] = plain) -> str:
        return form(found[name]["value"])

    def when(name: str) -> str:
        note = found[name]["note"]
        return f" ({note})" if note <= story.claimed_last else ""

    best = found["share of the profit from the best name"]
    return (
        f"- Market: beta to the S&P 500 {shown('beta to the S&P 500')}.\n- Worst day {shown('worst day', percent)}"
        f"{when('worst day')}.\n- Worst month {shown('worst month', percent)}{when('worst month')}.\n- One day in"
        f" twenty lost {shown('5th percentile of daily returns', percent)} or more.\n- Drawdown: {printed(results, 'max_drawdown')} at"
        f" worst, and {plain(found['longest time below a peak']['value'], 0)} sessions below a peak at the longest.\n- Concentration: at"
        f" most {plan.numbers.slots} names; {best['note']} alone made {percent(best['value'], 1)} of the profit.\n- Model: the Sharpe ratio"
        f" has a standard error of {shown('standard error of the Sharpe ratio')}; one history cannot tell luck from skill inside that"
        " margin.\n- Data: twenty companies that survived, chosen with hindsight; adjusted closes; no delistings.\n- Implementation: fills"
        " at the close in any size, no market impact; the cost table above shows what a worse rate takes away.\n\nAll figures:"
        " `results/risk_figures.csv`, `results/metrics.csv`."
    )


def edges(results: Results) -> str:
    rows = [[r["case"], r["count"], r["rule"]] for r in results.rows("results/boundary_cases")]
    return "How often each case came up and what the code does (`results/boundary_cases.csv`, `code/engine/simulate.py`).\n\n" + table(
        ["Case", "Count", "What happens"], rows
    )


def data(results: Results, story: Story) -> str:
    rows = [
        [
            r["series"],
            r["source"],
            f"`{r['loader']}`",
            r["tickers"],
            f"{r['first_date']} to {min(r['last_date'], story.claimed_last)}",
            r["fields"],
            f"`{r['file_sha256'][:16]}`",
        ]
        for r in results.rows("data/sources")
    ]
    return (
        "Vendor-grade daily data as the package skfolio ships them, not a primary source. Files: `data/prices.csv`, `data/index.csv`,"
        " `data/sources.csv` (full hashes).\n\n"
        + table(["Series", "Source", "Loader", "Tickers", "Dates", "Fields", "SHA-256"], rows)
        + f"\n\nCloses before {FIRST_DATE} are left out because three decimals are coarse on prices of a few cents. The index is the level"
        " of the S&P 500 without dividends. There is no second source for these series in reach, so no cross-check was made."
    )


def quality(results: Results) -> str:
    found = results.rows("results/data_quality")
    rows = [[r["check"], r["count"], percent(r["share"], 4), r["action"], r["effect"]] for r in found]
    return f"Checked on all {found[0]['cells']} closes (`results/data_quality.csv`).\n\n" + table(
        ["Check", "Count", "Share", "Action", "Effect"], rows
    )


def limitations(plan: Plan) -> str:
    lines = [
        (
            "The universe is twenty large companies of today with a full history: survivors chosen with hindsight. Returns of all long-only"
            " rules on it are too high; only differences against the equal-weight benchmark of the same names mean something."
        ),
        (
            "Adjusted closes carry the split and dividend factors that were known when the data were made, also those of later years."
            " Returns and ranks by returns are not changed by them; the printed price levels are not the prices of the day."
        ),
        (
            "Closes only: no open, high, low, volume, sectors, fundamentals, announcements, market values or interest rates. Nothing that"
            " needs them was used."
        ),
        "Fills at the close of the next session without market impact; dividends are reinvested through the adjustment; no taxes.",
        "The S&P 500 series has no dividends.",
    ]
    if plan.request.universe and not plan.request.tickers:
        lines.insert(
            1,
            f"You asked for {plan.request.universe}; the data cannot tell its members, so the test runs on all names that the data cover"
            f" ({', '.join(plan.tickers)}).",
        )
    if plan.request.unknown_tickers:
        lines.insert(1, f"No prices for {', '.join(plan.request.unknown_tickers)}: left out.")
    lines += [f"Not built: {option}, which needs {needed}." for option, needed in plan.request.missing_data]
    return "\n".join(f"- {line}" for line in lines)


def choices(plan: Plan, results: Results) -> str:
    n, request = plan.numbers, plan.request
    rows = [
        ["names held", str(n.slots), "mine: a quarter of the usual universe, fewer of a small basket", "sensitivity table"],
        ["skipped month", f"{n.skip} sessions", "mine: convention, short-term reversal (Jegadeesh 1990)", "fixed"],
        ["long window", f"{n.lookback} sessions", "mine: one year, the convention of the literature", "sensitivity table"],
        ["short window", f"{n.vol_window} sessions", "mine: one quarter of daily data", "sensitivity table where used"],
        ["covariance window", f"{n.cov_window} sessions", "mine: one year", "sensitivity table where used"],
        [
            "moving average",
            f"{n.ma_window} sessions",
            "mine: the usual long average (Brock, Lakonishok and LeBaron 1992)",
            "sensitivity table where used",
        ],
        ["fill", "next session's close", "mine: the first close that can be traded after the decision", "sensitivity table"],
        ["start", results.first_date, "mine: first scheduled decision after the warm-up of 320 sessions from " + FIRST_DATE, "sub-periods"],
    ]
    for slot, value in (("risk level", request.risk_value), ("cost per side, bp", request.cost_bps)):
        if value is not None:
            rows.append([slot, f"{value:g}", "yours", "sensitivity table"])
    return "No number was chosen by its result. What is yours and what is mine:\n\n" + table(["Number", "Value", "Why", "Tested in"], rows)


TABLES = (
    ("what was decided", "specification universe signals target_weights"),
    ("what was traded and held", "trades positions equity"),
    ("what came out", "metrics benchmark benchmark_comparison sub_periods"),
    ("how far it can be relied on", "sensitivity_parameters sensitivity_costs signal_statistics risk_figures data_quality boundary_cases"),
)
FILES = "\n".join(
    [
        "- `REPORT.md`: this report",
        "- `data/prices.csv`, `data/index.csv`, `data/sources.csv`: all data that were used",
        "- `code/load_prices.py`, `code/run_backtest.py`, `code/engine/`: the code that made this delivery",
        *(f"- {what}: " + ", ".join(f"`results/{name}.csv`" for name in names.split()) for what, names in TABLES),
    ]
)


def file_list(deliver: Path) -> str:
    extra = [
        f"- `results/{name}.csv`: {what}"
        for name, what in (
            ("states", "daily states of the timing or risk rule"),
            ("factor_mix", "weights of the signals at each decision"),
            ("optimiser_check", "weights solved again with skfolio's own optimiser"),
        )
        if (deliver / "results" / f"{name}.csv").is_file()
    ]
    return "\n".join([FILES, *extra])


def optimiser(results: Results) -> str:
    rows = results.rows("results/optimiser_check")
    if not rows:
        return ""
    worst = max(float(r["largest_difference"]) for r in rows)
    apart = "a thousandth" if worst < 0.001 else f"{worst:.4f}"
    return (
        f"\n\nThe weights of a dozen decisions were solved again with skfolio's own optimiser: no weight differs by more than {apart}"
        " (`results/optimiser_check.csv`)."
    )


def specification_csv(rules: list[Rule], story: Story) -> str:
    """The rule table as a file."""
    lines = ["component,choice,rule,decided_by,code"]
    lines += [
        ",".join(json.dumps(cell).replace('\\"', '""') for cell in (r.component, r.choice, r.rule, story.sources or r.source, r.code))
        for r in rules
    ]
    return "\n".join(lines) + "\n"


def write_report(plan: Plan, deliver: Path, story: Story) -> str:
    """The text of REPORT.md; also writes `results/specification.csv`."""
    results = Results(deliver)
    rules = rule_table(plan.request, plan.numbers)
    (deliver / "results" / "specification.csv").write_text(specification_csv(rules, story), encoding="utf-8")
    sections = [
        ("Summary", summary(plan, results, story)),
        ("Headline figures", headline_table(results, story)),
        ("Your words", asked(plan)),
        ("Rules", rules_section(rules, story)),
        ("Method", method(plan, story)),
        ("Trades", fills(results, story) + optimiser(results)),
        ("Benchmark comparison", benchmarks(results)),
        ("Why the signals should work, and whether they did", signals(plan, results, story)),
        ("Sensitivity", sensitivity(results)),
        ("Validation by period", periods(results, story)),
        ("Risks", risks(plan, results, story)),
        ("Cases at the edges", edges(results)),
        ("Data", data(results, story)),
        ("Data quality", quality(results)),
        ("Limitations", limitations(plan)),
        ("How each number was chosen", choices(plan, results)),
        ("Files", file_list(deliver)),
    ]
    if story.discreet:
        sections.sort(key=lambda section: section[0] == "Rules")
    heading_text = "A backtest of your idea" if story.discreet else title(plan)
    return f"# {heading_text}\n\n" + "\n\n".join(f"## {heading}\n\n{text}" for heading, text in sections) + "\n"
