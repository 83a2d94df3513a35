"""The figures of a run, by agent (paper, section 4.2 and tables 3 to 5). Pure Python, so that a table needs no numerical library."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from math import comb
from statistics import fmean
from typing import Final

from attrs import frozen

from finassay.api.labels import LabelCounts, count_labels
from finassay.api.scorecard import RunView, Scorecard, SessionView
from finassay.api.verdict import Measured, NotApplicable, Scored
from finassay.grading.dimensions import DIMENSIONS, SCORED_CATEGORIES

JUDGE_VETOES: Final = ("2.7", "4.1", "5.1", "5.6")
FIDELITY: Final = ("2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7")


@frozen
class Step:
    """One step of the workflow: how many graded sessions pass it alone, and together with every earlier one."""

    title: str
    alone: int
    in_sequence: int


@frozen
class AgentSummary:
    """Figures of one agent under one simulator, judge and evaluator. Shares are 0 to 1; None where nothing was measured."""

    agent: str
    simulator: str
    judge: str
    evaluator: str
    sessions: int
    valid: int
    graded: int
    """Valid sessions with a scorecard: the denominator of every share."""
    complete: int
    accepted: int
    satisfied: int
    silent_failures: int
    silent_by_veto: Mapping[str, int]
    judge_only: int
    """Satisfied sessions that pass the four vetoes of the judge: what grading without programs would accept."""
    quality: float | None
    quality_by_task: Mapping[str, float]
    """Mean Q of each task, what an interval over tasks is drawn from."""
    categories: Mapping[str, float | None]
    pass_k: Mapping[int, float]
    """k to the estimated probability that all of k sessions on a task are accepted."""
    veto_failures: Mapping[str, int]
    end_reasons: Mapping[str, int]
    """Over all sessions, invalid ones too."""
    steps: tuple[Step, ...]
    coverage: float | None
    assumption_rate: float | None
    turns: int
    cut_turns: int
    seconds: float | None
    """Mean wall-clock seconds of a session's agent turns."""
    cost_usd: float | None
    """Mean cost of a session; None if it is unknown for any graded session."""
    user: LabelCounts
    """Labels of what the user said in the valid sessions: how far it kept to its part."""

    @property
    def acceptance_rate(self) -> float | None:
        return self.accepted / self.graded if self.graded else None

    @property
    def cut_share(self) -> float | None:
        return self.cut_turns / self.turns if self.turns else None

    def share(self, count: int) -> float | None:
        """A count as a share of the graded sessions."""
        return count / self.graded if self.graded else None


@frozen
class Summary:
    """All agents of a run. A group is one agent under one simulator, judge and evaluator; groups are never averaged together."""

    run: str
    agents: tuple[AgentSummary, ...]

    @property
    def mixed(self) -> bool:
        """Whether the groups were graded by different judges or evaluators, or met different simulators: not one table to compare."""
        return len({(a.simulator, a.judge, a.evaluator) for a in self.agents if a.evaluator}) > 1


def group_of(session: SessionView, view: RunView) -> tuple[str, str, str, str]:
    """Agent, simulator, judge and evaluator hash; the last two are empty for a session that was not graded.

    Simulator and judge stand with the models that they ask.
    """
    played = session.simulator_name or view.simulator
    evaluator = session.scorecard.evaluator if session.scorecard else None
    return session.agent, played, evaluator.judge_name if evaluator else "", evaluator.hash if evaluator else ""


def summarise(view: RunView) -> Summary:
    """The figures of every agent, in the order in which agents appear in the run.

    Sessions without a grading are counted with their agent's graded group if there is just one.
    """
    groups: dict[tuple[str, str, str, str], list[SessionView]] = {}
    for session in view.sessions:
        groups.setdefault(group_of(session, view), []).append(session)
    for key in [key for key in groups if not key[3]]:
        homes = [other for other in groups if other[:2] == key[:2] and other[3]]
        if len(homes) == 1:
            groups[homes[0]].extend(groups.pop(key))
    order = list(dict.fromkeys(session.agent for session in view.sessions))
    ranked = sorted(groups.items(), key=lambda item: order.index(item[0][0]))
    return Summary(view.name, tuple(_agent(key, sessions) for key, sessions in ranked))


def _agent(key: tuple[str, str, str, str], sessions: list[SessionView]) -> AgentSummary:
    valid = [s for s in sessions if s.valid]
    cards = [(s, s.scorecard) for s in valid if s.scorecard is not None]
    silent = [card for _, card in cards if card.silent_failure]
    turns = [turn for s in valid for turn in s.turns]
    return AgentSummary(
        *key,
        sessions=len(sessions),
        valid=len(valid),
        graded=len(cards),
        complete=sum(card.complete for _, card in cards),
        accepted=sum(card.accepted for _, card in cards),
        satisfied=sum(card.satisfied for _, card in cards),
        silent_failures=len(silent),
        silent_by_veto=_by_veto(silent),
        judge_only=sum(card.satisfied and all(_passes(card, name) for name in JUDGE_VETOES) for _, card in cards),
        quality=_mean(card.quality for _, card in cards),
        quality_by_task=_by_task(cards),
        categories={name: _mean(card.categories.get(name) for _, card in cards) for name in SCORED_CATEGORIES},
        pass_k=pass_k(_outcomes(cards)),
        veto_failures=_by_veto(card for _, card in cards),
        end_reasons=dict(Counter(s.end_reason for s in sessions).most_common()),
        steps=workflow([card for _, card in cards]),
        coverage=_mean(card.elicitation.coverage for _, card in cards if card.elicitation),
        assumption_rate=_mean(card.elicitation.assumption_rate for _, card in cards if card.elicitation),
        turns=len(turns),
        cut_turns=sum(turn.cut for turn in turns),
        seconds=_mean(sum(turn.seconds for turn in s.turns) for s in valid if s.turns),
        cost_usd=_cost([card for _, card in cards]),
        user=count_labels((turn.label, turn.slips) for s in valid for turn in s.user_turns),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _by_veto(cards: Iterable[Scorecard]) -> dict[str, int]:
    counts = Counter(name for card in cards for name in card.failed_vetoes)
    return {one.id: counts[one.id] for one in DIMENSIONS if one.veto is not None and counts[one.id]}


def _by_task(cards: Iterable[tuple[SessionView, Scorecard]]) -> dict[str, float]:
    by_task: dict[str, list[float]] = {}
    for session, card in cards:
        if card.quality is not None:
            by_task.setdefault(session.task.id, []).append(card.quality)
    return {task: fmean(values) for task, values in by_task.items()}


def _outcomes(cards: Iterable[tuple[SessionView, Scorecard]]) -> dict[str, list[bool]]:
    found: dict[str, list[bool]] = {}
    for session, card in cards:
        found.setdefault(session.task.id, []).append(card.accepted)
    return found


def pass_k(by_task: Mapping[str, list[bool]], most: int = 3) -> dict[int, float]:
    """Mean over tasks of C(accepted, k) / C(sessions, k), for every k up to `most` that all tasks have sessions for.

    A k for which a task has too few sessions is left out rather than estimated on the rest.
    """
    if not by_task:
        return {}
    fewest = min(len(found) for found in by_task.values())
    return {k: fmean(comb(sum(found), k) / comb(len(found), k) for found in by_task.values()) for k in range(1, min(most, fewest) + 1)}


def _passes(card: Scorecard, name: str, threshold: int | None = None) -> bool:
    """Whether a dimension reaches a level, its veto's threshold by default. Not applicable passes; no verdict does not."""
    graded = card.graded(name)
    if graded is None:
        return False
    if isinstance(graded.verdict, NotApplicable):
        return True
    wanted = threshold if threshold is not None else next(one.veto or 0 for one in DIMENSIONS if one.id == name)
    return isinstance(graded.verdict, Scored) and graded.verdict.level >= wanted


STEPS: Final[tuple[tuple[str, Callable[[Scorecard], bool]], ...]] = (
    ("The user's strategy (2.1-2.7)", lambda card: all(_passes(card, name) for name in FIDELITY)),
    ("Data within the cutoff (1.1)", lambda card: _passes(card, "1.1")),
    ("Fills follow their signals (3.1)", lambda card: _passes(card, "3.1")),
    ("Trades reproduce the returns (3.2)", lambda card: _passes(card, "3.2", 2)),
)
"""Table 5 of the paper: where along the workflow sessions break."""


def workflow(cards: Iterable[Scorecard]) -> tuple[Step, ...]:
    """How many sessions pass each step, alone and after every earlier step."""
    left = list(cards)
    everyone, steps = list(left), []
    for title, passes in STEPS:
        left = [card for card in left if passes(card)]
        steps.append(Step(title, sum(passes(card) for card in everyone), len(left)))
    return tuple(steps)


def _cost(cards: list[Scorecard]) -> float | None:
    costs = []
    for card in cards:
        graded = card.graded("6.2")
        value = graded.measured.values.get("cost_usd") if graded and isinstance(graded.measured, Measured) else None
        costs.append(value if isinstance(value, int | float) else None)
    known = [cost for cost in costs if cost is not None]
    return fmean(known) if known and len(known) == len(costs) else None
