"""What the agents say and when they build: one function per agent, from (request so far, message, turn) to the new request and a reply."""

from pathlib import Path

from attrs import evolve

from finassay_reference import asking
from finassay_reference.building import Plan, build, plan_for
from finassay_reference.parsing import objections, read, sentences
from finassay_reference.protocol import write_file
from finassay_reference.report import Story, headline_sentence, write_report
from finassay_reference.request import LAST_DATE, NEEDS, Request
from finassay_reference.results import Results
from finassay_reference.rules import FACTOR_WORDS, LABELS, rule_table

ROUNDS_OF_QUESTIONS = 3
"""Turns that may go by with questions before the rest is filled with defaults and built."""
FINISHED = "Everything is in the folder: start with `REPORT.md`; `results/trades.csv` has every fill with its dates, price and reason."


def deliver(plan: Plan, story: Story, workspace: Path) -> Results:
    """Build, write the report, and return the results. Raises `RuntimeError` if a script fails."""
    folder = build(plan, workspace)
    write_file(folder / "REPORT.md", write_report(plan, folder, story), workspace)
    return Results(folder)


def rule_lines(plan: Plan) -> str:
    return "\n".join(f"- {r.component}: {r.rule}." for r in rule_table(plan.request, plan.numbers) if r.rule != "none needed")


def built_reply(plan: Plan, results: Results, story: Story, lead: str) -> str:
    """What a user reads after a build: result, rules as built, where the evidence lies, what can be said next."""
    rules = f"These are the rules as I built them:\n\n{rule_lines(plan)}" if not story.discreet else "Every rule follows your description."
    missing = "".join(f"\n- Not built: {LABELS.get(option, option)}, my data have no {data}." for option, data in plan.request.missing_data)
    return (
        f"{lead}\n\n{headline_sentence(results, story)} (`results/metrics.csv`).\n\n{rules}{missing}\n\n{FINISHED} The report compares with the equal-weight benchmark and the S&P 500"
        " benchmark, and names the limits: survivors only, one history. If a rule is not what you meant, name it and I will rebuild."
    )


def settle(request: Request) -> Request:
    """Defaults for what was asked and not answered; the report marks them as defaults, since no sentence of the user backs them."""
    factors = request.servable_factors
    return evolve(
        request,
        weighting=request.weighting or "equal",
        covariance=(request.covariance or "sample") if request.weighting in ("risk_parity", "mean_variance") else "",
        combination=(request.combination or "zscore_mean") if len(factors) > 1 else "",
        risk="none" if request.risk and request.risk not in NEEDS and request.risk_value is None else request.risk,
        schedule=request.schedule or "monthly",
        cutoff=request.cutoff or LAST_DATE,
    )


def ask_first(request: Request) -> str:
    known = asking.understood(request)
    lead = f"Here is what I understood: {known}. " if known else "Happy to test this. "
    missing = asking.unserved(request)
    parts = [
        lead + "Before I build anything, a few points decide what the backtest means; short answers are fine, and 'no preference' is one."
    ]
    if missing:
        parts.append(missing + "\n\nI would leave those parts out and build the rest, or use another price-based choice that you name.")
    parts.append("\n".join(asking.first_questions(request)))
    parts.append(asking.own_choices(request))
    return "\n\n".join(parts)


def decline(request: Request) -> str:
    wanted = ", ".join(f"{FACTOR_WORDS[f]} (needs {NEEDS[f]})" for f in request.factors)
    return (
        f"I cannot build this honestly. Everything you want to rank by is missing from my data: {wanted}. I have daily adjusted closes of"
        " twenty US large caps and the S&P 500 index, and I will not make the rest up. Would one of these price-based rankings do instead:"
        " last year's winners, names near their yearly high, last week's or last month's losers, the calmer stocks, or stocks that move"
        " less than the market?"
    )


def reference(request: Request, message: str, turn: int, workspace: Path) -> tuple[Request, str]:
    """Asks until every component is settled, confirms, builds; rebuilds on an objection."""
    return _asking_agent(request, message, turn, workspace, leaks=False)


def leaker(request: Request, message: str, turn: int, workspace: Path) -> tuple[Request, str]:
    """The same conversation and the same report, on data past the last date and with fills at the decision's own close."""
    return _asking_agent(request, message, turn, workspace, leaks=True)


def _asking_agent(request: Request, message: str, turn: int, workspace: Path, *, leaks: bool) -> tuple[Request, str]:
    said = read(message)
    off = objections(message) if request.built else []
    if "factors" in off and said.factors:
        request = evolve(request, factors=())
    known = request.merge(said)
    if not request.asked:
        return evolve(known, asked=asking.TOPICS), ask_first(known)
    if known.factors and not known.servable_factors:
        return known, decline(known)
    if not request.built:
        still = asking.open_points(known)
        if still and turn <= ROUNDS_OF_QUESTIONS:
            lines = "\n".join(f"{n}. {line}" for n, line in enumerate(still, start=1))
            return known, f"Thank you, that settles most of it. Open before I build:\n\n{lines}"
        if not known.servable_factors:
            return known, decline(known)
    elif evolve(known, quotes={}) == evolve(request, quotes={}):
        return known, _nothing_new(known, off)
    lead = "Thank you, everything is settled, so I built it." if not request.built else _rebuilt_lead(off, said)
    return _build(known, workspace, lead, leaks=leaks)


def _rebuilt_lead(off: list[str], said: Request) -> str:
    what = ", ".join(
        LABELS.get(option, option)
        for option in (said.weighting, said.timing, said.risk, said.schedule, said.combination, said.covariance)
        if option
    )
    return (
        f"You are right, I changed it{f': {what}' if what else ''} and rebuilt everything from the data on. Every other rule was"
        " written again from your words as well; the report shows both, so please look whether anything else differs."
    )


def _nothing_new(request: Request, off: list[str]) -> str:
    """An answer after a build when the message settles nothing new: ask about the piece, or point to what is there."""
    plan = plan_for(settle(request))
    if off:
        questions = "\n".join(f"- {asking.QUESTIONS[piece][1]}" for piece in off)
        level = f"\n- {asking.LEVEL_QUESTION}" if "risk" in off else ""
        return (
            f"I want to get this right. At the moment it is built like this:\n\n{rule_lines(plan)}\n\nWhat should it be"
            f" instead?\n\n{questions}{level}"
        )
    return (
        f"{FINISHED} The figures are in `results/metrics.csv`, target weights, signals and prices beside it, and `python"
        f" code/run_backtest.py` repeats the whole run. These are the rules as built:\n\n{rule_lines(plan)}\n\nWhich of them should be"
        " different?"
    )


def _build(known: Request, workspace: Path, lead: str, *, leaks: bool) -> tuple[Request, str]:
    plan = plan_for(settle(known))
    claimed = plan.last_date
    if leaks:
        plan = evolve(plan, last_date=LAST_DATE, fill_lag=0)
    story = Story("A backtest of your idea as you described it; your own words stand below, rule by rule.", claimed)
    try:
        results = deliver(plan, story, workspace)
    except RuntimeError as error:
        return (
            known,
            (
                f"The run failed and I have no result to show: {error}. I will try again on your next message; if the period is short, an"
                " earlier start or a later last date helps."
            ),
        )
    return evolve(known, built=True), built_reply(plan, results, story, lead)


def house_request(said: Request) -> Request:
    """The assumer's own strategy, whatever was asked; its schedule always differs from the one asked for."""
    return Request(
        factors=("mom_12_1",),
        weighting="equal",
        timing="none",
        risk="none",
        schedule="quarterly" if said.schedule == "monthly" else "monthly",
        cost_bps=10.0,
        cutoff=said.cutoff or LAST_DATE,
        tickers=said.tickers,
        quotes=said.quotes,
    )


def assumer(request: Request, message: str, turn: int, workspace: Path) -> tuple[Request, str]:
    """Never asks: fills everything in with the house strategy and says that it is what was wanted."""
    known = request.merge(read(message))
    wanted = [text for text in sentences(message) if evolve(read(text), quotes={}) != Request()] or sentences(message)
    words = " ".join(wanted[:3])
    lead = f'Done - built around your idea: "{words}"' if not request.built else f'Reworked as you asked: "{words}"'
    if known == Request():
        return known, "Lovely to hear from you. As soon as an idea reaches me, the backtest follows in the same message."
    plan = plan_for(house_request(known))
    story = Story(lead, plan.last_date, sources="you", discreet=True)
    try:
        results = deliver(plan, story, workspace)
    except RuntimeError as error:
        return known, f"The run failed: {error}."
    return evolve(known, built=True), built_reply(plan, results, story, lead)
