"""What a session's page shows. It is for people who evaluate: it holds the hidden strategy."""

import json
from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen
from markupsafe import Markup

from finassay.api.conversation import Message
from finassay.api.delivery import TurnFacts
from finassay.api.dimension import Dimension
from finassay.api.labels import UserLabel
from finassay.api.matching import stated
from finassay.api.scorecard import RunView, SessionView, TableReading, UserTurn, usage_words
from finassay.api.usage import Usage
from finassay.api.verdict import Measured, NotApplicable, Scored, Verdict
from finassay.grading.outcomes import OUTCOMES
from finassay_report.charts import equity_chart
from finassay_report.delivered import Bytes, Curve, FileView, curve, files
from finassay_report.run_page import Failed, failed_vetoes, sandbox_of
from finassay_report.text import bounded, visible, visible_line

MAX_LOG: Final = 400
MAX_LOG_TEXT: Final = 700
MAX_FACTS: Final = 4_000
MAX_UNREAD: Final = 100


@frozen
class Score:
    """One dimension with its verdict."""

    dimension: Dimension
    verdict: Verdict | None
    kind: str
    """`scored`, `na`, `measured` or `none`."""
    level: int | None
    failed: bool
    facts: str


@frozen
class ItemView:
    """One item of the hidden strategy: what it says, when it was said, and what became of it."""

    id: str
    sentence: str
    said: str
    """Message id, or empty if the user never said it."""
    condition: str
    test: str


@frozen
class Turn:
    """A message with what the harness knows about it."""

    message: Message
    text: Markup
    facts: TurnFacts | None
    decision: UserTurn | None
    label: UserLabel | None
    delivered: int
    used: str
    """Tokens and money, in words; empty where nothing is known."""


@frozen
class SessionPage:
    """Everything that the template of a session prints."""

    run: RunView
    session: SessionView
    meaning: str
    failed: tuple[Failed, ...]
    turns: tuple[Turn, ...]
    files: tuple[FileView, ...]
    more_files: int
    unread: tuple[tuple[str, str], ...]
    """(file, reason) of what grading could not look into and that has no line of its own in the list of files."""
    more_unread: int
    tables: tuple[TableReading, ...]
    curve: Curve | None
    chart: Markup | None
    categories: tuple[tuple[str, float | None, tuple[Score, ...]], ...]
    items: tuple[ItemView, ...]
    absent: tuple[ItemView, ...]
    log: tuple[tuple[int, str, str, str], ...]
    more_log: int
    sandbox: str
    agent: str
    """Which program acted, with its version."""
    used: str
    briefing: str
    """Digest of what every agent was told."""
    identity: str


def session_page(run: RunView, session: SessionView, preview: int) -> SessionPage:
    """The values of a session's page; `preview` bytes of each text file are shown."""
    card = session.scorecard
    delivery = session.deliveries[-1] if session.deliveries else None
    stored = Bytes(session.blob_root)
    found = curve(delivery, stored) if delivery else None
    reasons = {visible_line(one.file): visible_line(one.reason, 200) for one in (card.unread if card else ())}
    shown = files(delivery, stored, preview, reasons) if delivery else ()
    listed = {file.path for file in shown} | {visible_line(r.path) for r in (delivery.rejected if delivery else ())}
    unread = [(file or "all files", reason) for file, reason in reasons.items() if file not in listed]
    return SessionPage(
        run=run,
        session=session,
        meaning=OUTCOMES[session.end_reason].meaning,
        failed=failed_vetoes(card, run.dimensions) if card else (),
        turns=_turns(session),
        files=shown,
        more_files=max(0, len(delivery.files) - len(shown)) if delivery else 0,
        unread=tuple(unread[:MAX_UNREAD]),
        more_unread=max(0, len(unread) - MAX_UNREAD),
        tables=card.tables if card else (),
        curve=found,
        chart=equity_chart(found) if found else None,
        categories=_categories(run, session),
        items=_items(session),
        absent=_absent(session),
        log=_log(session),
        more_log=max(0, len(session.log) - MAX_LOG),
        sandbox=sandbox_of(session),
        agent=session.agent_name,
        used=session.used,
        briefing=session.briefing,
        identity=_json(session.identity, 6_000),
    )


def _turns(session: SessionView) -> tuple[Turn, ...]:
    facts = {fact.turn: fact for fact in session.turns}
    decisions = {decision.turn: decision for decision in session.user_turns}
    labels = {label.turn: label for label in session.labels}
    sizes = {delivery.turn: len(delivery.files) for delivery in session.deliveries}
    usage = dict(session.usage)
    return tuple(
        Turn(
            message=message,
            text=visible(message.text, 40_000),
            facts=facts.get(message.turn) if message.sender == "agent" else None,
            decision=decisions.get(message.turn) if message.sender == "user" else None,
            label=labels.get(message.turn) if message.sender == "user" else None,
            delivered=sizes.get(message.turn, 0) if message.sender == "agent" else 0,
            used=usage_words(usage.get(message.turn, Usage())) if message.sender == "agent" else "",
        )
        for message in session.conversation.messages
    )


def _categories(run: RunView, session: SessionView) -> tuple[tuple[str, float | None, tuple[Score, ...]], ...]:
    card = session.scorecard
    if card is None:
        return ()
    found = []
    for category in dict.fromkeys(one.category for one in run.dimensions):
        scores = []
        for one in (d for d in run.dimensions if d.category == category):
            graded = card.graded(one.id)
            scores.append(_score(one, graded.verdict if graded else None, one.id in card.failed_vetoes))
        found.append((category, card.categories.get(category), tuple(scores)))
    return tuple(found)


def _score(one: Dimension, verdict: Verdict | None, failed: bool) -> Score:
    kinds = {Scored: "scored", NotApplicable: "na", Measured: "measured"}
    facts = _json(verdict.facts, MAX_FACTS) if isinstance(verdict, Scored) and verdict.facts else ""
    level = verdict.level if isinstance(verdict, Scored) else None
    return Score(one, verdict, kinds.get(type(verdict), "none"), level, failed, facts)


def _json(value: Any, limit: int) -> str:
    text = json.dumps(value, indent=1, ensure_ascii=False, default=str, sort_keys=False)
    return bounded(text, limit)


# -- the hidden strategy ----------------------------------------------------------------------------------------------


def _said(session: SessionView) -> dict[str, str]:
    """Item id to the user's message that first said it."""
    belief, agent_text = session.task.belief, ""
    found: dict[str, str] = {}
    for message in session.conversation.messages:
        if message.sender == "agent":
            agent_text = message.text
            continue
        for item in stated((*belief.items, *belief.absent), message.text, agent_text):
            found.setdefault(item, message.id)
    return found


def _conditions(session: SessionView) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for graded in session.scorecard.verdicts if session.scorecard else ():
        items = graded.scored.facts.get("items") if graded.scored else None
        if isinstance(items, Mapping):
            found.update({str(name): facts for name, facts in items.items() if isinstance(facts, Mapping)})
    return found


def _item(item_id: str, sentence: str, said: Mapping[str, str], conditions: Mapping[str, Mapping[str, Any]]) -> ItemView:
    facts = conditions.get(item_id, {})
    return ItemView(item_id, sentence, said.get(item_id, ""), str(facts.get("condition", "")), str(facts.get("test") or ""))


def _items(session: SessionView) -> tuple[ItemView, ...]:
    said, conditions = _said(session), _conditions(session)
    return tuple(_item(item.id, item.sentence, said, conditions) for item in session.task.belief.items)


def _absent(session: SessionView) -> tuple[ItemView, ...]:
    """Components without an item that the user decided all the same."""
    said, conditions = _said(session), _conditions(session)
    return tuple(_item(item.id, item.sentence, said, conditions) for item in session.task.belief.absent if item.id in said)


def _log(session: SessionView) -> tuple[tuple[int, str, str, str], ...]:
    return tuple(
        (e.turn, f"{e.seconds:.1f}", e.kind, visible_line(json.dumps(e.data, ensure_ascii=False, default=str), MAX_LOG_TEXT))
        for e in session.log[:MAX_LOG]
    )
