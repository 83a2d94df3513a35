"""The tables of a terminal. Everything in them is the harness's own words and numbers."""

from collections.abc import Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from finassay.api.labels import Conduct, LabelCounts
from finassay.api.scorecard import Scorecard, Spending
from finassay.api.verdict import Measured, NotApplicable, Scored
from finassay.grading.dimensions import SCORED_CATEGORIES, dimension
from finassay.grading.redaction import clean
from finassay.grading.summary import AgentSummary, Summary

SHORT = {"data": "data", "strategy": "strat", "backtest": "backt", "assessment": "asses", "experience": "exper"}
OPEN: Final = "*"
"""Behind a quality that rests on incomplete gradings."""
OPEN_MEANS: Final = "* of incomplete gradings: what has no verdict is left out of the mean, so that it is not comparable"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def run_table(summary: Summary) -> Table:
    """One row an agent, like table 3 of the paper. Names of judge and simulator stand in the row where they differ within the run."""
    table = Table(title=Text(summary.run, style="bold"), title_justify="left", box=None, header_style="bold", pad_edge=False)
    table.collapse_padding = True  # so that all columns fit 120
    table.add_column("agent", overflow="fold")
    if summary.mixed:
        table.add_column("judge · simulator · evaluator", overflow="fold")
    some_open = any(agent.complete < agent.graded for agent in summary.agents)
    for name in (
        "gra-\nded",
        *(("incom-\nplete",) if some_open else ()),
        "ac-\ncepted",
        "pass^k",
        "satis-\nfied",
        "si-\nlent",
        "Q",
        *SHORT.values(),
        "cover-\nage",
        "assu-\nmed",
        "user\n+/-",
        "cut",
        "s",
        "agent\n$",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for agent in summary.agents:
        table.add_row(*_row(agent, summary.mixed, some_open))
    if some_open:
        table.caption, table.caption_justify = Text(OPEN_MEANS), "left"
    return table


def _row(agent: AgentSummary, mixed: bool, some_open: bool) -> list[str | Text]:
    last, missing = max(agent.pass_k, default=0), agent.graded - agent.complete
    group = [Text(f"{agent.judge or 'not graded'} · {agent.simulator} · {agent.evaluator[:8]}")] if mixed else []
    silent = Text(f"{agent.silent_failures}", style="red" if agent.silent_failures else "")
    return [
        Text(agent.agent),
        *group,
        f"{agent.graded}/{agent.sessions}",
        *([Text(f"{missing}", style="yellow" if missing else "")] if some_open else []),
        Text(_percent(agent.acceptance_rate), style="green" if agent.accepted else ""),
        f"{_percent(agent.pass_k[last])}\nk={last}" if last else "-",
        _percent(agent.share(agent.satisfied)),
        silent,
        _number(agent.quality) + (OPEN if missing and agent.quality is not None else ""),
        *(_number(agent.categories.get(name), 0) for name in SCORED_CATEGORIES),
        _percent(agent.coverage),
        _percent(agent.assumption_rate),
        _critical(agent.user),
        _percent(agent.cut_share),
        _number(agent.seconds, 0),
        _number(agent.cost_usd, 2),
    ]


def spending_table(spending: Sequence[Spending]) -> Table:
    """What models cost, by stage where there are any, role and model; what is not known is said to be unknown."""
    staged = any(one.stage for one in spending)
    table = Table(title=Text("models", style="bold"), title_justify="left", box=None, header_style="bold", pad_edge=False)
    for name in ("stage", "role", "model") if staged else ("role", "model"):
        table.add_column(name, no_wrap=True)
    for name in ("calls", "stored", "failed", "input", "cached", "output", "reasoning", "$"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("prices")
    for one in spending:
        tokens = (one.input_tokens, one.cached_tokens, one.output_tokens, one.reasoning_tokens)
        table.add_row(
            *([Text(clean(one.stage, 40))] if staged else ()),
            Text(clean(one.role, 40)),
            Text(clean(one.model, 80)),
            *(f"{number:,}" for number in (one.calls, one.stored, one.failed)),
            *("unknown" if number is None else f"{number:,}" for number in tokens),
            cost_text(one),
            Text(clean(", ".join(one.prices), 80)),
        )
    return table


def cost_text(one: Spending) -> str:
    """Dollars; where some calls have no known cost, what is known and how many those are."""
    if one.cost_usd is not None:
        return f"{one.cost_usd:,.4f}"
    return f"{one.known_usd:,.4f} + {one.unknown:,} unknown" if one.known_usd else "unknown"


def _critical(user: LabelCounts) -> str:
    """Shares of the user's messages that helped the agent, and that hindered it, beyond the user's part."""
    helped, hindered = user.share(Conduct.HELPED), user.share(Conduct.HINDERED)
    return "-" if helped is None or hindered is None else f"{100 * helped:.0f}/{100 * hindered:.0f} %"


def session_table(card: Scorecard) -> Table:
    """The outcome of one session: totals, categories, failed vetoes, and what left the grading incomplete."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    table.add_row("end reason", card.end_reason)
    table.add_row("accepted", Text("yes", style="bold green") if card.accepted else Text("no", style="bold red"))
    table.add_row("score", f"{card.score:.1f}")
    note = "before vetoes" if card.complete else "before vetoes, of what was judged: the grading is incomplete"
    table.add_row("quality", _number(card.quality) + (f" ({note})" if card.quality is not None else ""))
    table.add_row("categories", " · ".join(f"{name} {_number(mean, 0)}" for name, mean in card.categories.items()))
    for name in card.failed_vetoes:
        one, graded = dimension(name), card.graded(name)
        level = graded.level if graded else None
        table.add_row("veto failed", f"{one.id} {one.title}: {level} of 4, needs {one.veto}. {one.looks_at}")
    for line in card.incomplete:
        table.add_row("incomplete", Text(line[:300]))
    table.add_row("verdicts", _counts(card))
    table.add_row("graded by", Text(f"judge {card.evaluator.judge_name or 'none'}, evaluator {card.evaluator.hash[:12]}"))
    return table


def _counts(card: Scorecard) -> str:
    kinds = [type(g.verdict) for g in card.verdicts]
    absent = len(kinds) - sum(kinds.count(kind) for kind in (Scored, Measured, NotApplicable))
    known = f"{kinds.count(Scored)} scored, {kinds.count(NotApplicable)} not applicable, {kinds.count(Measured)} measured"
    return f"{known}, {absent} without a verdict"
