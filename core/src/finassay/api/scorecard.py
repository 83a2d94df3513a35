"""The result of grading one session, and what a run's page is made of."""

from collections.abc import Mapping
from typing import Any, Literal

from attrs import Factory, frozen

from finassay.api.conversation import Conversation
from finassay.api.delivery import Delivery, EndReason, LogEvent, TurnFacts
from finassay.api.dimension import Dimension
from finassay.api.labels import UserLabel
from finassay.api.report import ReportSection
from finassay.api.task import Task
from finassay.api.usage import Usage
from finassay.api.verdict import Json, Measured, NotApplicable, Scored, Unscored, Verdict

Grading = Literal["full", "diagnostic", "none"]
"""How an end reason is graded (spec: session end reasons)."""


@frozen
class Graded:
    """A dimension's verdict as stored: exactly one of the four is present."""

    dimension: str
    scored: Scored | None = None
    measured: Measured | None = None
    not_applicable: NotApplicable | None = None
    unscored: Unscored | None = None

    @classmethod
    def of(cls, dimension: str, verdict: Verdict) -> "Graded":
        match verdict:
            case Scored():
                return cls(dimension, scored=verdict)
            case Measured():
                return cls(dimension, measured=verdict)
            case NotApplicable():
                return cls(dimension, not_applicable=verdict)
            case Unscored():
                return cls(dimension, unscored=verdict)

    @property
    def verdict(self) -> Verdict:
        found = self.scored or self.measured or self.not_applicable or self.unscored
        if found is None:
            raise ValueError(f"dimension {self.dimension} holds no verdict")
        return found

    @property
    def level(self) -> int | None:
        return self.scored.level if self.scored else None


@frozen
class TurnScore:
    """Program scores as they stood after a turn."""

    turn: int
    levels: Mapping[str, int]
    """Dimension to level, of the program-judged dimensions that are cheap enough to grade by turn."""
    failed_vetoes: tuple[str, ...]
    quality: float | None
    """Mean over categories of the graded program dimensions, 0 to 100; not comparable with Q."""


@frozen
class Elicitation:
    """How the agent handled the user. H voiced, O opening, S stated by the end: item ids."""

    voiced: tuple[str, ...]
    opening: tuple[str, ...]
    stated: tuple[str, ...]
    session_items: tuple[str, ...] = ()
    """Absent components that the user decided in words."""
    coverage: float | None = None
    """|S∖O| / |H∖O|; None if the opening told everything."""
    assumption_rate: float | None = None
    """Share of H∖S that the delivered strategy does not match; None if nothing was left unstated or nothing was graded."""


def with_models(name: str, identity: Json) -> str:
    """The id of a component with the models that its identity names, for people: two judges of one id may be two judges.

    A simulator that is played by somebody stands with whom its identity names as `player`.
    """
    known = identity if isinstance(identity, Mapping) else {}
    models, player = known.get("asked"), known.get("player")
    if isinstance(models, Mapping) and models:
        return f"{name} ({', '.join(sorted(map(str, models)))})"
    return f"{name} ({player})" if isinstance(player, str) and player else name


@frozen
class Evaluator:
    """What graded: a hash of the scoring code and who took part."""

    hash: str
    judge: str
    checks: tuple[str, ...]
    parts: Mapping[str, str] = Factory(dict)
    """Distribution to version."""
    judge_identity: Mapping[str, Json] = Factory(dict)
    """What the judge's answers rest on besides its code: its options, its models, the digests of its prompts. Part of the hash."""

    @property
    def judge_name(self) -> str:
        """The judge with the models that it asks, for people."""
        return with_models(self.judge, self.judge_identity)


@frozen
class Unread:
    """A delivered file that grading could not look into, and why: plain facts about the agent's own files."""

    file: str
    """As it may be shown; empty where it is about the whole delivery."""
    reason: str


@frozen
class TableReading:
    """How grading read a delivered table: the role that it plays, which columns it took for what, and why."""

    where: str
    """File, with the sheet or the number of the table in it."""
    role: str
    columns: Mapping[str, str]
    """What the role calls a column to what the delivery calls it."""
    reasons: tuple[str, ...]
    used: bool
    """It is the one of its role that counts."""
    ambiguous: bool = False
    """Several tables fit the role equally well, so that none counts."""


@frozen
class Steering:
    """A passage of the delivery that tries to steer whoever grades, verbatim. It costs and earns nothing."""

    quote: str
    where: str
    by: str
    """Id of the judge that saw it."""


@frozen
class Reported:
    """A question that a guidance pack asks, answered for the report alone: it counts for nothing."""

    question: str
    graded: Graded


@frozen
class Scorecard:
    """Equations (3) to (6) of the paper on one session, with every verdict."""

    session: str
    evaluator: Evaluator
    end_reason: EndReason
    grading: Grading
    verdicts: tuple[Graded, ...]
    categories: Mapping[str, float | None]
    """Category to its mean on the scale 0 to 100; None if nothing of it applies or was graded."""
    quality: float | None
    """Q, the pre-veto quality, 0 to 100; None if the session is not graded."""
    passed: bool
    """No veto fails and none is unscored."""
    failed_vetoes: tuple[str, ...]
    score: float
    accepted: bool
    complete: bool
    incomplete: tuple[str, ...]
    """What left the grading incomplete, in words."""
    by_turn: tuple[TurnScore, ...] = ()
    elicitation: Elicitation | None = None
    unread: tuple[Unread, ...] = ()
    """Files that were not taken, or not read in whole: what the verdicts do not rest on."""
    tables: tuple[TableReading, ...] = ()
    steering: tuple[Steering, ...] = ()
    """What of the delivery speaks to the judge instead of the investor."""
    reported: tuple[Reported, ...] = ()
    """Answers to what guidance packs ask. In no mean, no veto and no feedback."""

    def graded(self, dimension: str) -> Graded | None:
        return next((g for g in self.verdicts if g.dimension == dimension), None)

    @property
    def satisfied(self) -> bool:
        return self.end_reason == "satisfied"

    @property
    def silent_failure(self) -> bool:
        """The user is satisfied and at least one veto fails."""
        return self.satisfied and bool(self.failed_vetoes)


@frozen
class UserTurn:
    """What is stored beside a user's message."""

    turn: int
    action: str
    regenerations: int
    observations: Mapping[str, str] = Factory(dict)
    label: str = ""
    """`finassay.api.labels.Conduct` of the message; empty in records that are older than labels."""
    slips: tuple[str, ...] = ()
    """Kinds of what was wrong with it. What they were about is sealed."""


@frozen
class SessionView:
    """One finished session as a report may show it. Delivered bytes are hostile; `blobs` gives their paths."""

    id: str
    agent: str
    """Alias of the agent in the run."""
    task: Task
    repeat: int
    conversation: Conversation
    deliveries: tuple[Delivery, ...]
    turns: tuple[TurnFacts, ...]
    log: tuple[LogEvent, ...]
    user_turns: tuple[UserTurn, ...]
    end_reason: EndReason
    end_detail: str
    scorecard: Scorecard | None
    valid: bool
    """Counts in every denominator (spec: session end reasons)."""
    identity: Mapping[str, Json] = Factory(dict)
    """What affects the outcome: agent and version, simulator, sandbox, limits."""
    blob_root: str = ""
    labels: tuple[UserLabel, ...] = ()
    """Of the user's messages, with reasons that name hidden items."""
    usage: tuple[tuple[int, Usage], ...] = ()
    """(turn, what it used)."""
    metered: bool = False
    """The usage was metered on the way to the models, not told by the agent's program."""

    @property
    def simulator_name(self) -> str:
        """Who played the user, with the models that were asked, for people; empty where it is not recorded."""
        simulator = self.identity.get("simulator")
        if not isinstance(simulator, Mapping):
            return str(simulator or "")
        return with_models(str(simulator.get("id") or ""), simulator.get("identity"))

    @property
    def agent_name(self) -> str:
        """Which program acted, in which version, for people; empty where it is not recorded."""
        agent = self.identity.get("agent")
        if not isinstance(agent, Mapping):
            return ""
        version = str(agent.get("program_version") or "unknown")
        return f"{agent.get('id') or self.agent}, program version {version} ({agent.get('distribution')} {agent.get('version')})"

    @property
    def briefing(self) -> str:
        """SHA-256 of what every agent of the run was told; empty where it is not recorded."""
        return str(self.identity.get("instructions") or "")

    @property
    def used(self) -> str:
        """What all turns used, in words, and who counted it; a sum with an unknown part is left out."""

        def total(name: str) -> Any:
            values = [getattr(usage, name) for _, usage in self.usage]
            return sum(values) if values and all(value is not None for value in values) else None

        names = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "cost_usd")
        words = usage_words(Usage(*(total(name) for name in names)))
        return f"{words}, {'metered on the way to its models' if self.metered else 'as its program tells'}" if words else ""


def usage_words(usage: Usage) -> str:
    """Tokens and money in words; what is unknown is left out."""
    counts = ((usage.input_tokens, "tokens in"), (usage.cached_tokens, "of them cached"), (usage.output_tokens, "out"))
    words = [f"{count:,} {what}" for count, what in counts if count]
    return ", ".join([*words, *([f"${usage.cost_usd:,.4f}"] if usage.cost_usd is not None else [])])


@frozen
class Spending:
    """Calls of one role to one model, in one stage. Tokens and cost are None as soon as one call's are unknown."""

    role: str
    model: str
    calls: int
    """Calls that were answered by the model itself."""
    stored: int
    """Answered from the run's store, for nothing."""
    failed: int
    """Gave no reply; their cost is unknown and not counted."""
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cost_usd: float | None
    known_usd: float
    """What is known of the cost."""
    unknown: int
    """Calls whose cost is unknown."""
    prices: tuple[str, ...]
    """What the costs rest on: a table with its version, `settings`, `provider`, `agent`."""
    stage: str = ""
    """Of what works in stages, as the making of a rubric does."""


@frozen
class RunView:
    """A whole run as a report may show it."""

    name: str
    sessions: tuple[SessionView, ...]
    dimensions: tuple[Dimension, ...]
    created: str
    versions: Mapping[str, str]
    simulator: str
    judge: str
    notes: tuple[str, ...] = ()
    """Lines to print above the results: judge without a model, sandbox without isolation, muted observers."""
    sections: tuple[ReportSection, ...] = ()
    spending: tuple[Spending, ...] = ()
    """What models cost, by role and model."""
