"""What a run's page shows."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Final

from attrs import frozen
from markupsafe import Markup

from finassay.api.dimension import Dimension, JudgedBy
from finassay.api.labels import Conduct
from finassay.api.scorecard import RunView, Scorecard, SessionView
from finassay.api.verdict import NotApplicable, Scored
from finassay.grading.outcomes import OUTCOMES
from finassay.grading.summary import JUDGE_VETOES, AgentSummary, Summary, summarise
from finassay_report.charts import Cell, Column, Group, Part, RowLabel, Series, heat_map, stacked, turn_chart
from finassay_report.intervals import bootstrap_interval
from finassay_report.text import visible_line

PER_MAP: Final = 60
"""Sessions in one heat map; more agents make more maps."""
COUNTS: Final = ("sessions", "valid", "graded", "complete", "accepted", "satisfied", "silent_failures")
CATEGORIES: Final = ("data", "strategy", "backtest", "assessment", "experience")


@frozen
class ResultRow:
    """One agent of the main table."""

    agent: AgentSummary
    interval: tuple[float, float] | None
    best: frozenset[str]
    """Columns in which it is best of its group."""


@frozen
class ResultGroup:
    """Agents that may be compared: same simulator, judge and evaluator."""

    simulator: str
    judge: str
    evaluator: str
    rows: tuple[ResultRow, ...]


@frozen
class Failed:
    """A failed veto of one session."""

    dimension: Dimension
    level: int | None
    by: str


@frozen
class Silent:
    """A session whose user was satisfied and that fails."""

    session: SessionView
    link: str
    quality: float | None
    failed: tuple[Failed, ...]


@frozen
class RunPage:
    """Everything that the template of a run prints."""

    run: RunView
    summary: Summary
    groups: tuple[ResultGroup, ...]
    totals: Mapping[str, int]
    outcome_chart: Markup
    silent: tuple[Silent, ...]
    silent_vetoes: tuple[tuple[Dimension, int], ...]
    veto_shares: tuple[tuple[Dimension, tuple[float | None, ...]], ...]
    heat_maps: tuple[Markup, ...]
    quality_by_turn: Markup | None
    vetoes_by_turn: Markup | None
    end_chart: Markup
    end_reasons: tuple[tuple[str, str], ...]
    sandboxes: tuple[str, ...]
    evaluators: tuple[str, ...]
    labelled: bool
    """Some message of the user has a label."""
    conducts: tuple[Conduct, ...]
    links: Mapping[str, str]


def run_page(run: RunView, links: Mapping[str, str], resamples: int) -> RunPage:
    """The values of a run's page. `links` maps a session to its page, relative to this one."""
    summary = summarise(run)
    silent = tuple(_silent(session, run, links[session.id]) for session in run.sessions if _is_silent(session))
    counts = {one.id: sum(one.id in {f.dimension.id for f in s.failed} for s in silent) for one in run.dimensions if one.veto is not None}
    vetoes = [one for one in run.dimensions if one.veto is not None]
    agents = summary.agents
    return RunPage(
        run=run,
        summary=summary,
        groups=_groups(summary, resamples),
        totals={name: sum(getattr(a, name) for a in agents) for name in COUNTS},
        outcome_chart=stacked({_label(a, summary): _outcome_parts(a) for a in agents}, "sessions"),
        silent=silent,
        silent_vetoes=tuple(sorted(((one, counts[one.id]) for one in vetoes if counts[one.id]), key=lambda pair: -pair[1])),
        veto_shares=tuple((one, tuple(a.share(a.veto_failures.get(one.id, 0)) for a in agents)) for one in vetoes),
        heat_maps=_heat_maps(run, summary, links),
        quality_by_turn=_by_turn(run, quality=True),
        vetoes_by_turn=_by_turn(run, quality=False),
        end_chart=stacked({_label(a, summary): _end_parts(a) for a in agents}, "sessions"),
        end_reasons=tuple((r, outcome.meaning) for r, outcome in OUTCOMES.items() if any(r in a.end_reasons for a in agents)),
        sandboxes=tuple(sorted({sandbox_of(s) for s in run.sessions} - {""})),
        evaluators=tuple(sorted({s.scorecard.evaluator.hash for s in run.sessions if s.scorecard})),
        labelled=any(a.user.messages for a in agents),
        conducts=tuple(Conduct),
        links=links,
    )


def sandbox_of(session: SessionView) -> str:
    """The sandbox of a session and what it isolates, in words."""
    sandbox = session.identity.get("sandbox")
    if not isinstance(sandbox, Mapping):
        return ""
    isolation = sandbox.get("isolation")
    known = {name: bool(kept) for name, kept in isolation.items()} if isinstance(isolation, Mapping) else {}
    kept = [name for name, isolated in known.items() if isolated]
    return visible_line(f"{sandbox.get('id', '')} ({'isolates ' + ', '.join(kept) if kept else 'no isolation'})")


def _label(agent: AgentSummary, summary: Summary) -> str:
    return visible_line(agent.agent if not summary.mixed else f"{agent.agent} · {agent.judge or 'not graded'}", 40)


def _is_silent(session: SessionView) -> bool:
    return bool(session.valid and session.scorecard and session.scorecard.silent_failure)


def _silent(session: SessionView, run: RunView, link: str) -> Silent:
    card = session.scorecard
    assert card is not None
    return Silent(session, link, card.quality, failed_vetoes(card, run.dimensions))


def failed_vetoes(card: Scorecard, dimensions: Iterable[Dimension]) -> tuple[Failed, ...]:
    """The failed vetoes of a scorecard with their level and who graded."""
    found = []
    for one in dimensions:
        graded = card.graded(one.id) if one.id in card.failed_vetoes else None
        if graded is not None and graded.scored is not None:
            found.append(Failed(one, graded.scored.level, visible_line(graded.scored.by, 120)))
    return tuple(found)


# -- the main table ---------------------------------------------------------------------------------------------------


def _groups(summary: Summary, resamples: int) -> tuple[ResultGroup, ...]:
    groups: dict[tuple[str, str, str], list[AgentSummary]] = {}
    for agent in summary.agents:
        groups.setdefault((agent.simulator, agent.judge, agent.evaluator), []).append(agent)
    return tuple(
        ResultGroup(
            visible_line(simulator),
            visible_line(judge),
            evaluator,
            tuple(ResultRow(a, bootstrap_interval(list(a.quality_by_task.values()), resamples), _best(a, agents)) for a in agents),
        )
        for (simulator, judge, evaluator), agents in groups.items()
    )


def _figures(agent: AgentSummary) -> dict[str, float | None]:
    """What agents are compared by; higher is better, so lower-is-better figures are negated."""
    return {
        "acceptance": agent.acceptance_rate,
        "pass": agent.pass_k[max(agent.pass_k)] if agent.pass_k else None,
        "silent": None if not agent.graded else -agent.silent_failures / agent.graded,
        "quality": agent.quality,
        **{name: agent.categories.get(name) for name in CATEGORIES},
        "coverage": agent.coverage,
        "assumed": None if agent.assumption_rate is None else -agent.assumption_rate,
        "cut": None if agent.cut_share is None else -agent.cut_share,
        "seconds": None if agent.seconds is None else -agent.seconds,
        "cost": None if agent.cost_usd is None else -agent.cost_usd,
    }


def _best(agent: AgentSummary, agents: Sequence[AgentSummary]) -> frozenset[str]:
    """Columns in which an agent is best, where agents differ."""
    mine, best = _figures(agent), set()
    for name, value in mine.items():
        others = [v for v in (_figures(a)[name] for a in agents) if v is not None]
        if value is not None and len(set(others)) > 1 and value == max(others):
            best.add(name)
    return frozenset(best)


def _outcome_parts(agent: AgentSummary) -> list[Part]:
    """Accepted, satisfied and failing, satisfied with an open grading, the rest."""
    open_grading = agent.satisfied - agent.accepted - agent.silent_failures
    return [
        Part("p-accepted", "accepted", agent.accepted),
        Part("p-silent", "silent failure", agent.silent_failures),
        Part("p-open", "satisfied, grading incomplete", open_grading),
        Part("p-rest", "user not satisfied", agent.graded - agent.satisfied),
        Part("p-none", "not graded", agent.sessions - agent.graded),
    ]


def _end_parts(agent: AgentSummary) -> list[Part]:
    return [Part(f"e-{reason}", reason, agent.end_reasons.get(reason, 0)) for reason in OUTCOMES]


# -- the heat map -----------------------------------------------------------------------------------------------------

_JUDGES: Final = {JudgedBy.PROGRAM: "program", JudgedBy.JUDGE: "judge"}


def _heat_maps(run: RunView, summary: Summary, links: Mapping[str, str]) -> tuple[Markup, ...]:
    scored = [one for one in run.dimensions if one.scored]
    rows = [
        RowLabel(f"{one.id} {one.title}", _JUDGES.get(one.judged_by, "both"), one.veto is not None, first=before != one.category)
        for one, before in zip(scored, [*(o.category for o in scored[:1]), *(o.category for o in scored)], strict=False)
    ]
    groups = [g for g in (_group(agent.agent, run, scored, links) for agent in _unique(summary.agents)) if g.columns]
    maps: list[list[Group]] = []
    for group in groups:
        if not maps or sum(len(g.columns) for g in maps[-1]) + len(group.columns) > PER_MAP:
            maps.append([])
        maps[-1].append(group)
    return tuple(heat_map(rows, part) for part in maps)


def _unique(agents: Iterable[AgentSummary]) -> Iterable[AgentSummary]:
    return {agent.agent: agent for agent in agents}.values()


def _group(agent: str, run: RunView, scored: Sequence[Dimension], links: Mapping[str, str]) -> Group:
    graded = [s for s in run.sessions if s.agent == agent and s.scorecard is not None and s.scorecard.grading != "none"]
    ordered = sorted(graded, key=lambda s: (s.end_reason != "satisfied", s.task.id, s.repeat))
    columns = []
    for session in ordered:
        name = visible_line(session.id, 80)
        cells = tuple(_cell(session.scorecard, one, name) for one in scored if session.scorecard)
        columns.append(Column(links[session.id], f"{name}: {session.end_reason}", session.end_reason == "satisfied", cells))
    return Group(visible_line(agent, 40), tuple(columns))


def _cell(card: Scorecard, one: Dimension, name: str) -> Cell:
    graded = card.graded(one.id)
    verdict = graded.verdict if graded else None
    if isinstance(verdict, Scored):
        return Cell(f"l{verdict.level}", f"{one.id} {one.title}: {verdict.level} · {name}")
    if isinstance(verdict, NotApplicable):
        return Cell("na", f"{one.id}: not applicable · {name}")
    return Cell("un", f"{one.id}: no verdict · {name}")


# -- by turn ----------------------------------------------------------------------------------------------------------


def _by_turn(run: RunView, *, quality: bool) -> Markup | None:
    """Mean over sessions that reached the turn, by agent; None if nothing was graded by turn."""
    series = []
    for agent in dict.fromkeys(s.agent for s in run.sessions):
        values: dict[int, list[float]] = {}
        for session in run.sessions:
            for score in session.scorecard.by_turn if session.agent == agent and session.valid and session.scorecard else ():
                value = score.quality if quality else float(len(score.failed_vetoes))
                if value is not None:
                    values.setdefault(score.turn, []).append(value)
        if values:
            series.append(Series(visible_line(agent, 40), tuple((turn, fmean(found)) for turn, found in sorted(values.items()))))
    if not series:
        return None
    if quality:
        return turn_chart(series, 100, "Mean program quality after each turn")
    most = max(value for one in series for _, value in one.points)
    return turn_chart(series, max(4.0, 4.0 * -(-most // 4)), "Mean number of failed program vetoes after each turn")


JUDGE_VETO_NAMES: Final = ", ".join(JUDGE_VETOES)
