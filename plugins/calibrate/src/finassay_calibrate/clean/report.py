"""The report and the messages of a draft. Everything is rendered from the draft, so a planted figure stands wherever the true one would."""

import html
from collections.abc import Sequence

import pandas as pd

from finassay_calibrate.clean.draft import Draft
from finassay_calibrate.market.synthetic import LABEL

FIGURES: tuple[tuple[str, str, str, str], ...] = (
    ("total_return", "Total return", "{:.2%}", "net of fees, whole period"),
    ("annual_return", "Annual return", "{:.2%}", "net of fees, geometric, annualised with 252 sessions"),
    ("annual_volatility", "Annual volatility", "{:.2%}", "net of fees, daily standard deviation x sqrt(252), annualised"),
    ("sharpe", "Sharpe ratio", "{:.3f}", "net of fees, daily, x sqrt(252), risk-free rate 0, annualised"),
    ("sortino", "Sortino ratio", "{:.3f}", "net of fees, daily, x sqrt(252), downside deviation, annualised"),
    ("max_drawdown", "Maximum drawdown", "{:.2%}", "net of fees, daily closes"),
    ("trades", "Number of trades", "{:.0f}", "fills"),
    ("turnover", "Turnover", "{:.2%}", "one-way, of equity a year, annualised"),
    ("exposure", "Exposure", "{:.2%}", "mean share of equity invested, all sessions"),
    ("fees", "Fees", "{:,.2f}", "USD, sum of the fees of all fills"),
)
"""Name, label, format and basis of every headline figure."""


def span(draft: Draft) -> str:
    days = draft.tables["equity"]["date"]
    return f"{days.iloc[0]:%Y-%m-%d} to {days.iloc[-1]:%Y-%m-%d}"


def printed(draft: Draft, name: str) -> str:
    form = next(f for n, _, f, _ in FIGURES if n == name)
    return form.format(draft.figures[name]) if name in draft.figures else "not reported"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [list(header), ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "/") for cell in line) + " |" for line in lines)


def basis_of(draft: Draft, name: str, basis: str) -> str:
    """The basis of a figure; trades are counted in the unit of the delivered log."""
    return "closed round trips, first in first out" if name == "trades" and draft.setup.layout.trades == "round-trips" else basis


def metrics_frame(draft: Draft) -> pd.DataFrame:
    """The metrics table: name, value, basis."""
    rows = [
        (name, draft.figures[name], f"{basis_of(draft, name, basis)}, {span(draft)}")
        for name, _, _, basis in FIGURES
        if name in draft.figures
    ]
    return pd.DataFrame(rows, columns=["metric", "value", "basis"])


def headline(draft: Draft) -> str:
    if "sharpe" not in draft.figures:
        return f"From {span(draft)} the strategy returned {printed(draft, 'total_return')} in total, net of fees"
    return (
        f"From {span(draft)} the strategy returned {printed(draft, 'total_return')} in total, {printed(draft, 'annual_return')} a year net of"
        f" fees, with a Sharpe ratio of {printed(draft, 'sharpe')}, a maximum drawdown of {printed(draft, 'max_drawdown')} and"
        f" {printed(draft, 'trades')} trades ({basis_of(draft, 'trades', 'fills')})"
    )


def sections(draft: Draft) -> dict[str, str]:
    """Heading to text, faults applied."""
    made = {
        "Summary": _summary(draft),
        "Headline figures": _figures(draft),
        "Rules": "Each row is one rule with one reading.\n\n"
        + table(["Component", "Choice", "Rule", "Decided by"], [(r.component, r.choice, r.text, r.source) for r in draft.rules]),
        "Method": _method(draft),
        "Trades": _trades(draft),
        "Benchmark comparison": _comparison(draft),
        "Do the signals predict": _statistics(draft),
        "Sensitivity": "One setting is moved at a time, everything else stays.\n\n" + _numbers(draft.tables["sensitivity"]),
        "Validation by period": "No rule or number was fitted to results; the same rules are shown for both halves.\n\n"
        + _numbers(draft.tables["sub_periods"]),
        "Risks": _risks(draft),
        "Cases at the edges": EDGES,
        "Data": _data(draft),
        "Limitations": LIMITATIONS,
    }
    made |= draft.sections
    for heading, text in draft.appended.items():
        made[heading] = made.get(heading, "") + "\n\n" + text
    return {heading: text for heading, text in made.items() if heading not in draft.dropped}


EDGES = (
    "- A name without a close is neither bought nor sold on that session and is no candidate.\n- Ties in the ranking go to the ticker that"
    " comes first in the alphabet.\n- A name whose delisting has been announced is no candidate any more and is sold at the next"
    " rebalance.\n- Before the windows of the signals are full nothing is held.\n- Empty slots stay in cash, which earns 0."
)
LIMITATIONS = (
    f"- The prices are a {LABEL}: nothing here is evidence about real companies.\n- Fills at a session's close in any size, without market"
    " impact; no taxes.\n- Adjusted prices: dividends are reinvested through the adjustment.\n- The S&P 500 series is a price index without"
    " dividends."
)


def _summary(draft: Draft) -> str:
    rows = {r["portfolio"]: r for r in draft.tables["benchmark_comparison"].to_dict("records")}
    other = rows["equal-weight benchmark"]["annual_return"]
    better = "did better" if draft.figures["annual_return"] > other else "did worse"
    return (
        f"{headline(draft)}. All figures are net of fees.\n\nOver the same dates the equal-weight benchmark of the same names returned"
        f" {other:.2%} a year: the rules {better} than simply holding all names. One history cannot tell luck from skill; see Limitations."
    )


def _figures(draft: Draft) -> str:
    rows = [
        (label, form.format(draft.figures[name]), f"{basis_of(draft, name, basis)}, {span(draft)}")
        for name, label, form, basis in FIGURES
        if name in draft.figures
    ]
    return table(["Metric", "Strategy", "Basis"], rows)


def _method(draft: Draft) -> str:
    s = draft.setup.settings
    cost = f"{s.cost_bps:g} basis points of traded value per side" if s.cost_bps else "no fees"
    return (
        f"Starting capital: ${draft.tables['equity']['equity'].iloc[0]:,.0f}, long only, no borrowing, cash earns 0. Orders are"
        f" {draft.timing}; {cost}, charged on the day of the fill. No data after {draft.setup.cutoff} were used. The reported period begins"
        " with the first decision that buys."
    )


def _trades(draft: Draft) -> str:
    trades = draft.tables["trades"]
    shown = pd.concat([trades.head(2), trades.tail(2)])
    rows = [
        (f"{t['signal_date']:%Y-%m-%d}", f"{t['fill_date']:%Y-%m-%d}", t["ticker"], t["side"], str(t.get("reason", "")))
        for t in shown.to_dict("records")
    ]
    return "The first and the last two fills; the log holds all of them.\n\n" + table(
        ["Decided", "Filled", "Ticker", "Side", "Reason"], rows
    )


def _comparison(draft: Draft) -> str:
    return (
        f"All over {span(draft)}. The equal-weight benchmark holds all names in equal parts, refreshed at each month's last close, without"
        " costs; it has the same names as the strategy, so it is the fair comparison.\n\n" + _numbers(draft.tables["benchmark_comparison"])
    )


def _statistics(draft: Draft) -> str:
    frame = draft.tables.get("signal_statistics")
    if frame is None:
        return "Too few decisions for a statistic of the signal."
    whole = frame.iloc[0]
    return (
        "Rank IC is the rank correlation of a decision's ranking with the return from its close to the next decision's close.\n\n"
        + _numbers(frame[["period", "from", "to", "decisions", "mean_rank_ic", "ic_t_value", "hit_rate"]])
        + f"\n\nThe mean rank IC is {whole['mean_rank_ic']:.4f} with a t value of {whole['ic_t_value']:.2f} over {whole['decisions']} decisions."
    )


def _risks(draft: Draft) -> str:
    equity = draft.tables["equity"]
    returns = equity["equity"].pct_change().dropna()
    worst = int(returns.argmin())
    return (
        f"- Worst day: {returns.min():.2%} on {equity['date'].iloc[worst + 1]:%Y-%m-%d}.\n- Maximum drawdown:"
        f" {printed(draft, 'max_drawdown')}.\n- Concentration: at most {draft.setup.settings.slots} names.\n- Model: one history, one set of"
        " rules; costs can be higher than assumed."
    )


def _data(draft: Draft) -> str:
    rows = [
        (r["series"], r["source"], f"{r['first_date']:%Y-%m-%d} to {r['last_date']:%Y-%m-%d}", str(r["rows"]))
        for r in draft.tables["sources"].to_dict("records")
    ]
    gone = ", ".join(draft.setup.market.delisted["ticker"]) or "none"
    prices = "Prices are adjusted for splits and dividends"
    if draft.setup.layout.prices == "raw-with-splits":
        prices = "Prices and share counts are as they were on the day, before later splits; the splits are in the table of actions, dividends are left aside"
    return table(["Series", "Source", "Dates", "Rows"], rows) + f"\n\n{prices}. Delisted names that are kept in the data: {gone}."


def _numbers(frame: pd.DataFrame) -> str:
    percents = {"total_return", "annual_return", "annual_volatility", "max_drawdown"}
    rows = []
    for record in frame.to_dict("records"):
        row = []
        for name, value in record.items():
            if name in percents:
                row.append(f"{value:.2%}")
            elif isinstance(value, pd.Timestamp):
                row.append(f"{value:%Y-%m-%d}")
            else:
                row.append(f"{value:.0f}" if name == "trades" else f"{value:.3f}" if isinstance(value, float) else str(value))
        rows.append(row)
    return table([str(c).replace("_", " ").capitalize() for c in frame.columns], rows)


def markdown(draft: Draft) -> str:
    body = "\n\n".join(f"## {heading}\n\n{text}" for heading, text in sections(draft).items())
    return f"# Backtest of your idea\n\n{body}\n"


def as_html(text: str) -> str:
    """The Markdown of a report as a plain page: headings, lists, tables, paragraphs."""
    out, rows = ["<!doctype html><html><head><meta charset='utf-8'><title>Backtest</title></head><body>"], []
    for line in [*text.split("\n"), ""]:
        if line.startswith("|"):
            rows.append([html.escape(cell.strip()) for cell in line.strip("|").split("|")])
            continue
        if rows:
            head = "".join(f"<th>{c}</th>" for c in rows[0])
            body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in r) + "</tr>" for r in rows[2:])
            out.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
            rows = []
        level = len(line) - len(line.lstrip("#"))
        if level:
            out.append(f"<h{level}>{html.escape(line[level:].strip())}</h{level}>")
        elif line.startswith("- "):
            out.append(f"<ul><li>{html.escape(line[2:])}</li></ul>")
        elif line:
            out.append(f"<p>{html.escape(line)}</p>")
    return "\n".join([*out, "</body></html>"])


def last_message(draft: Draft, report_path: str) -> str:
    """What the agent says with the delivery."""
    stated = "\n".join(f"- {r.component}: {r.text}" for r in draft.rules)
    closing = f"\n\n{draft.closing}" if draft.closing else ""
    return f"The backtest is done; the report is `{report_path}`. {headline(draft)}.\n\nThe rules that were run:\n\n{stated}{closing}"
