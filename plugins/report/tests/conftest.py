"""A run that never happened: four agents on ten tasks, with stored deliveries, graded by the real equations."""

import hashlib
import random
from datetime import date, timedelta
from pathlib import Path

import pytest
from attrs import evolve

from finassay.api.conversation import Conversation, Message
from finassay.api.delivery import DeliveredFile, Delivery, EndReason, LogEvent, Rejected, TurnFacts
from finassay.api.labels import Conduct, Slip, UserLabel
from finassay.api.report import ReportSection
from finassay.api.scorecard import Evaluator, Graded, RunView, Scorecard, SessionView, TurnScore, UserTurn
from finassay.api.strategy import Belief, Item, Number, Strategy, Unit, Universe
from finassay.api.task import Conditions, Task
from finassay.api.verdict import Evidence, EvidenceKind, Measured, NotApplicable, Scored, Source, Unscored, Verdict
from finassay.grading.dimensions import DIMENSIONS
from finassay.grading.elicitation import elicitation
from finassay.grading.score import category_means, failed_vetoes, quality, totals

EVALUATOR = Evaluator(hash="9f2c4d7be1a05c38" * 4, judge="lexical", checks=("recompute",), parts={"finassay-checks": "0.1.0"})
ITEMS = (
    Item(
        "stock.factor:mom_12_1",
        "stock",
        "factor",
        "the picking",
        "I buy last year's winners and skip the latest month.",
        "last year's winners",
        ("which stocks", "factor"),
        (r"last year's winners", r"12 1 momentum"),
        ("losers",),
    ),
    Item(
        "portfolio.weighting:inverse_vol",
        "portfolio",
        "weighting",
        "the position sizing",
        "I give calmer stocks a bigger slice.",
        "calmer ones bigger",
        ("weighting", "sizing"),
        (r"calmer stocks ~ bigger", r"inverse volatil\w*"),
        ("equal weight",),
    ),
    Item(
        "risk.threshold",
        "risk",
        "threshold",
        "the risk rule",
        "I sell when a position is 15% below its entry.",
        "a 15% stop",
        ("stop",),
        (r"{number} below ~ entry", r"stop ~ {number}"),
        (),
        Number(15, Unit.PERCENT),
    ),
    Item(
        "execution.schedule:quarterly",
        "execution",
        "schedule",
        "the trading schedule",
        "I rebalance once a quarter.",
        "once a quarter",
        ("how often", "rebalanc\\w*"),
        ("once a quarter", "quarterly"),
        ("monthly",),
    ),
)
NO_TIMING = Item(
    "timing.option:none",
    "timing",
    "option",
    "the timing",
    "Always be fully invested.",
    "always in",
    ("timing",),
    ("always ~ invested",),
    (),
)
BELIEF = Belief(ITEMS, ("stock.factor:mom_12_1", "execution.schedule:quarterly"), absent=(NO_TIMING,))
FAULTS = {
    "reference": (),
    "assumer": ("2.3", "2.4", "5.2"),
    "leaker": ("1.1", "3.1"),
    "storyteller": ("3.2", "3.7", "3.8", "4.1"),
}
REASON = "Rebuilt from 412 fills and 2,013 sessions of prices; total return 0.8412 against 0.8409 reported."


class Store:
    """Delivered bytes under a folder, as a run keeps them."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def add(self, path: str, content: bytes) -> DeliveredFile:
        digest = hashlib.sha256(content).hexdigest()
        place = self.root / digest[:2] / digest
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        return DeliveredFile(path, digest, len(content))


def equity(days: int = 1500) -> bytes:
    lines, value, draws = ["date,nav,cash"], 1_000_000.0, random.Random(1)
    for i in range(days):
        value *= 1 + draws.gauss(0.0004, 0.011)
        lines.append(f"{date(2014, 1, 2) + timedelta(days=i)},{value:.2f},{value * 0.02:.2f}")
    return "\n".join(lines).encode()


def standard_files(store: Store) -> tuple[DeliveredFile, ...]:
    trades = "date,ticker,side,shares,price,fee\n" + "\n".join(
        f"2014-0{1 + i % 9}-06,TKR{i},buy,{10 + i},{20.5 + i},1.25" for i in range(40)
    )
    return (
        store.add("report.md", b"# Momentum, calmly weighted\n\n## Summary\n\nThe strategy returned 84.09 % with a drawdown of 21.9 %.\n"),
        store.add("results/equity.csv", equity()),
        store.add("results/trades.csv", trades.encode()),
        store.add("code/run.py", b"from pathlib import Path\n\nprint('total return', 0.8409)\n"),
        store.add("model.pkl", b"\x80\x04\x95"),
    )


def _verdict(name: str, level: int) -> Scored:
    one = next(d for d in DIMENSIONS if d.id == name)
    source = {"P": Source.PROGRAM, "H": Source.HYBRID}.get(one.judged_by.value, Source.JUDGE)
    evidence = (
        Evidence(EvidenceKind.QUOTE, "The strategy returned 84.09 % with a drawdown of 21.9 %.", "report.md"),
        Evidence(EvidenceKind.VALUE, "maximum drawdown", "results/equity.csv", expected="-0.2191", found="-0.1896"),
        Evidence(EvidenceKind.ROWS, "rows dated after the cutoff", "results/trades.csv", rows=("2020-01-02 TKR1", "2020-01-03 TKR2")),
    )
    facts = (
        {"items": {i.id: {"condition": "matched" if level > 2 else "missing", "test": "supports"} for i in ITEMS}}
        if name == "2.1"
        else {"share": 0.97}
    )
    by = "lexical" if source is Source.JUDGE else f"{one.name}-check"
    return Scored(level, source, by, REASON, evidence[: 1 + level % 3], raw_level=min(4, level + 1) if name == "5.4" else None, facts=facts)


def _levels(agent: str, task: int, repeat: int) -> dict[str, Verdict]:
    base = {"reference": 4, "assumer": 3, "leaker": 3, "storyteller": 2}[agent]
    verdicts: dict[str, Verdict] = {}
    for index, one in enumerate(DIMENSIONS):
        wobble = (index * 7 + task * 3 + repeat) % 5
        level = max(0, min(4, base - (wobble == 0) - (wobble == 1 and base < 4)))
        if one.veto is not None:
            level = max(level, one.veto)
        if one.id in FAULTS[agent] and (task + index) % 6:
            level = 0 if one.veto == 1 else max(0, (one.veto or 2) - 1 - task % 2)
        verdicts[one.id] = _verdict(one.id, level)
    verdicts["2.2"] = NotApplicable("the belief voices no item of this component", "fidelity")
    verdicts["6.1"] = Measured({"turns": 3.0, "seconds": 84.25, "cut_turns": 0.0}, "finassay")
    verdicts["6.2"] = Measured({"input_tokens": None, "cost_usd": None, "price_table": None}, "finassay")
    verdicts["6.3"] = Measured({"calls": 12.0, "failed": 1.0, "distinct": 9.0}, "finassay")
    if agent == "assumer" and task == 4:
        verdicts["4.4"] = Unscored("judge unparsed", "the reply held no level", "lexical")
    return verdicts


def _end(agent: str, task: int) -> EndReason:
    if agent == "reference":
        return "satisfied"
    if task == 9:
        return "turn_limit"
    return "satisfied" if (task * 3 + len(agent)) % 4 else "user_walked_away"


def make_task(number: int) -> Task:
    strategy = Strategy(
        "us-long-only", "1", number, {"factor": ("mom_12_1",), "weighting": ("inverse_vol",)}, {"stop": 15.0}, difficulty=6 + number
    )
    conditions = Conditions(
        date(2019, 12, 31), Universe("basket", "these eight names: AAPL, KO, XOM, JNJ, PG, IBM, GE, WMT"), ("embedded-market",)
    )
    return Task(
        f"us-long-only-{number}",
        "us-long-only",
        "1",
        number,
        ("retail-investor", "generalist-analyst")[number % 2],
        strategy,
        BELIEF,
        conditions,
    )


CONVERSATION = Conversation(
    (
        Message(
            "u0",
            0,
            "user",
            "Hi there, I like last year's winners, trading once a quarter, on these eight names. Use nothing after the end of 2019.",
        ),
        Message(
            "a1",
            1,
            "agent",
            "Before I build anything:\n\n1. How should positions be weighted?\n2. Do you want a stop, and at which loss?\n3. Any costs?",
        ),
        Message("u1", 1, "user", "I give calmer stocks a bigger slice. I sell when a position is 15% below its entry."),
        Message(
            "a2", 2, "agent", "Done. The report, the trade log, the equity curve and the code that made them are in the folder.", cut=False
        ),
        Message("u2", 2, "user", "That is what I wanted, thank you."),
    )
)


def make_session(agent: str, number: int, store: Store, repeat: int = 1) -> SessionView:
    task, verdicts, reason = make_task(number), _levels(agent, number, repeat), _end(agent, number)
    result = totals(DIMENSIONS, verdicts, reason)
    by_turn = tuple(_turn(verdicts, turn) for turn in (1, 2, 3)[: 2 + number % 2])
    session_id = f"{agent}.{task.id}.{repeat}"
    card = Scorecard(
        session_id,
        EVALUATOR,
        reason,
        "diagnostic" if reason == "turn_limit" else "full",
        tuple(Graded.of(n, v) for n, v in verdicts.items()),
        result.categories,
        result.quality,
        result.passed,
        result.failed_vetoes,
        result.score,
        result.accepted,
        not result.incomplete,
        result.incomplete,
        by_turn,
        elicitation(BELIEF, CONVERSATION, verdicts),
    )
    files = standard_files(store)
    return SessionView(
        id=session_id,
        agent=agent,
        task=task,
        repeat=repeat,
        conversation=CONVERSATION,
        deliveries=(Delivery(1), Delivery(2, files, (Rejected("link", "is a link"),))),
        turns=(TurnFacts(1, 21.5), TurnFacts(2, 62.75, cut=agent == "leaker", failed_attempts=0)),
        log=(
            LogEvent(2, "tool-call", {"name": "python", "input": {"file": "code/run.py"}}, 3.5),
            LogEvent(2, "tool-result", {"exit_code": 0}, 9.0),
        ),
        user_turns=(
            UserTurn(0, "open", 0, label="error-free"),
            UserTurn(1, "clarify", 1, {"backtest": "missing"}, "critical-helped", ("unraised-piece",)),
            UserTurn(2, "close", 0, {"backtest": "met"}),
        ),
        end_reason=reason,
        end_detail="",
        scorecard=card,
        valid=True,
        identity={
            "agent": {"id": agent, "program_version": "0.1.0"},
            "simulator": {"id": "policy"},
            "sandbox": {"id": "bubblewrap", "isolation": {"files": True, "network": True, "processes": True}},
        },
        blob_root=str(store.root),
        labels=(
            UserLabel(0, Conduct.ERROR_FREE),
            UserLabel(
                1,
                Conduct.HELPED,
                (Slip("unraised-piece", Conduct.HELPED, "calls a part <wrong>", "The <b>exit</b> is off.", ("risk.option",)),),
            ),
        ),
    )


def _turn(verdicts: dict[str, Verdict], turn: int) -> TurnScore:
    then = {
        n: evolve(v, level=max(0, v.level - (3 - turn)))
        for n, v in verdicts.items()
        if isinstance(v, Scored) and v.source is Source.PROGRAM
    }
    return TurnScore(
        turn, {n: v.level for n, v in then.items()}, failed_vetoes(DIMENSIONS, then), quality(category_means(DIMENSIONS, then))
    )


def make_run(root: Path) -> RunView:
    store = Store(root)
    sessions = tuple(make_session(agent, number, store) for agent in FAULTS for number in range(10))
    return RunView(
        "first",
        sessions,
        DIMENSIONS,
        "2026-11-30T08:12:44+00:00",
        {"finassay": "0.1.0", "finassay-checks": "0.1.0"},
        "policy",
        "lexical",
        notes=(
            "Meaning was graded by stated rules (judge 'lexical'), not by a model: these results share no table with model-judged ones.",
        ),
        sections=(ReportSection("From an observer", "Two paragraphs.\n\nOf <b>text</b>."),),
    )


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    return make_run(tmp_path_factory.mktemp("blobs"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "blobs")
