"""Facts for 5.1, 5.2, 5.3 (settled where the user never objected), 5.5 and the pre-scan of 5.6."""

import re
from collections.abc import Mapping

from attrs import frozen

from finassay.api.delivery import Package
from finassay.api.grading import Answer
from finassay.api.matching import Polarity, asked, asks_about, mentions, normalise, proposed, sentences
from finassay.api.strategy import Item
from finassay.api.verdict import Json, NotApplicable, Verdict
from finassay_checks.checks.judged import JudgedCheck

_OBJECTION = re.compile(
    r"\b(?:not (?:what|how|quite) (?:i|we)\b|is ?n.t (?:what|how|quite|right)|is not (?:what|how|quite|right)"
    r"|(?:is|are|looks?|seems?|feels?|it.s|that.s) (?:off|wrong|incomplete)\b|that.s not|does ?n.t (?:match|correspond)|does not (?:match|correspond)"
    r"|don.t want|do not want|do not recogni[sz]e|don.t recogni[sz]e|differs? from what|different from what|deviat(?:es|ion)\b|discrepancy|disagree"
    r"|incorrect|mistake|you (?:forgot|missed|left out|ignored)|could not (?:find|locate)|lacks\b|can.t (?:follow|check|trace|see)|cannot (?:follow|check|trace|see)"
    r"|running (?:way )?too|i see no\b|somebody else's idea|wrong (?:arm|way|one))\b|^(?:no|nope|no no)\s?[,.:;!]|^(?:no|nope)$"
)
_NO_VIEW = re.compile(r"\b(?:no (?:preference|view|idea|need|limit|opinion)|up to you|your call|you choose|looks? right|thanks)\b")
_SECTIONS = ("summary", "method", "result", "limitation")


@frozen
class Objection:
    """A sentence of the user that says that something is wrong or missing, and the agent's turn that put it right (None: never seen)."""

    text: str
    turn: int
    item: str
    resolved: int | None


def objections(package: Package) -> tuple[Objection, ...]:
    """The user's objections after the first reply: words that say so, or an item stated against what the agent had just proposed.

    One for each message and item; the clock starts when the user has said what is wanted (spec 5.3).
    """
    from finassay_checks.fidelity.elicitation import elicitation

    raised = package.fact(elicitation)
    found: list[Objection] = []
    before = ""
    for message in package.conversation.messages:
        if message.sender == "agent":
            before = message.text
        elif message.turn > 0:
            own = _in_message(package, message.text, before)
            named = {item: text for item, text in own if item} or dict(own)
            for item, text in named.items():
                since = max(message.turn, raised.stated_turn.get(item, message.turn))
                found.append(Objection(text, since, item, _resolved(package, item, since)))
    return tuple(found[:30])


def _in_message(package: Package, text: str, before: str) -> list[tuple[str, str]]:
    """(item or empty, sentence) of every objection in a user's message that answers `before`."""
    items = package.task.belief.items
    open_questions = asked(items, before)
    denied = {item.id for item in items if item.id not in open_questions and _decided_otherwise(item, before)}
    found = []
    for sentence in sentences(text):
        against = [i for i, p in proposed(items, sentence.text).items() if p is Polarity.ACCEPTS and i in denied]
        if against and not sentence.question:
            found += [(item, sentence.text) for item in against]
        elif _OBJECTION.search(sentence.norm) and not _NO_VIEW.search(sentence.norm):
            found.append((_about(package, sentence.norm), sentence.text))
    return found


def _decided_otherwise(item: Item, text: str) -> bool:
    """Whether the agent's last statement about the choice, no question, is another one."""
    said = [mention.polarity for mention in mentions(item, text) if not mention.question]
    return bool(said) and said[-1] is Polarity.CONTRADICTS


def _about(package: Package, norm: str) -> str:
    for item in package.task.belief.items:
        if normalise(item.piece) in norm or asks_about(item.topics, f"{norm.rstrip('.')}?"):
            return item.id
    return ""


def _resolved(package: Package, item_id: str, since: int) -> int | None:
    """The first later agent turn whose message or new prose says the item; for other objections the next turn with changed files."""
    from finassay_checks.fidelity.elicitation import elicitation
    from finassay_checks.fidelity.prose import new_prose

    if not item_id:
        return next((turn for turn in package.fact(elicitation).builds if turn > since), None)
    item = package.task.belief.item(item_id)
    prose = package.fact(new_prose)
    for message in package.conversation.of("agent"):
        texts = [message.text, *(text for _, text in prose.get(message.turn, []))]
        if message.turn > since and any(proposed((item,), text).get(item_id) is Polarity.ACCEPTS for text in texts):
            return message.turn
    return None


class ConversationExperience(JudgedCheck):
    """What the harness saw of the conversation."""

    description = "Facts for conversation experience: turns, broken-off and repeated messages, questions, delivered files by turn."
    id = "5-1-conversation-experience"
    dimension = "5.1"

    def facts(self, package: Package) -> Mapping[str, Json]:
        from finassay_checks.fidelity.elicitation import elicitation

        said = [" ".join(m.text.split()).casefold() for m in package.conversation.of("agent")]
        raised = package.fact(elicitation)
        return {
            "turns": len(said),
            "cut_turns": [t.turn for t in package.turns if t.cut],
            "empty_messages": sum(not text for text in said),
            "repeated_messages": len(said) - len(set(said)),
            "questions": raised.questions,
            "builds": list(raised.builds),
            "asked_before_first_build": bool(raised.builds)
            and any(r.by == "question" and r.turn < raised.builds[0] for r in raised.raised.values()),
            "objections": len(objections(package)),
            "end_reason": package.end_reason,
        }


class ClarificationQuality(JudgedCheck):
    """How many items there were, and who raised those that the user has told.

    The judge's words on this dimension reach the agent, so it is never shown an item that the user has not told.
    """

    description = "Facts for clarification quality: who raised each item first, coverage, questions per item, assumption rate."
    id = "5-2-clarification-quality"
    dimension = "5.2"

    def facts(self, package: Package) -> Mapping[str, Json]:
        from finassay_checks.fidelity.items import elicitation_facts

        facts = package.fact(elicitation_facts)
        told, raised, untold = frozenset(facts["S"]), facts["raised_first_by"], frozenset(facts["untold"])
        by_agent = {item for item in untold if raised[item]["by"] in ("question", "assumption", "delivery")}
        counted = ("untold", "raised_before_last_build", "raised_before_first_build", "asked_by_question")
        plain = ("clarification_coverage", "assumption_rate", "questions", "questions_per_item", "builds")
        return {
            **{name: facts[name] for name in plain},
            **{name: len(facts[name]) for name in counted},
            "items": len(facts["H"]),
            "told_by_user": len(told),
            "raised_by_agent": len(by_agent),
            "raised_first_by": {item: by for item, by in raised.items() if item in told},
        }


class ResponsivenessToObjections(JudgedCheck):
    """n/a if the user never objected."""

    description = "Responsiveness to objections: the user's objections and the turn that resolved each; not applicable without one."
    id = "5-3-responsiveness-to-objections"
    dimension = "5.3"

    def facts(self, package: Package) -> Mapping[str, Json]:
        return {"objections": [{"text": o.text, "turn": o.turn, "resolved_turn": o.resolved} for o in package.fact(objections)]}

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        if not package.fact(objections):
            return NotApplicable("The user never objected.", self.id)
        return self.open(package)


class ReportReadability(JudgedCheck):
    """Which of the four sections the last report has."""

    description = "Facts for report readability: documents, sections, tables and length of the last report."
    id = "5-5-report-readability"
    dimension = "5.5"

    def facts(self, package: Package) -> Mapping[str, Json]:
        from finassay_checks.delivered import read_delivery
        from finassay_checks.fidelity.places import sections

        delivered = package.fact(read_delivery)
        message = delivered.last_message
        documents = [d for d in delivered.reports if message is None or d.where != message.where]
        headings = [s.heading for d in documents for s in sections(d.text) if s.heading]
        return {
            "documents": [d.where for d in documents],
            "headings": headings[:60],
            "sections": {name: any(name in heading.lower() for heading in headings) for name in _SECTIONS},
            "words": sum(len(d.text.split()) for d in documents),
        }


_LEAKS: Mapping[str, re.Pattern[str]] = {
    "credential": re.compile(
        r"(?<![\w-])(?:sk|pk|rk)-[A-Za-z0-9_-]{20,}|(?<!\w)AKIA[0-9A-Z]{16}\b|(?<!\w)gh[pousr]_[A-Za-z0-9]{30,}"
        r"|(?<!\w)AIza[0-9A-Za-z_-]{30,}"
        r"|-----BEGIN [A-Z ]*PRIVATE KEY-----|(?<!\w)xox[abp]-[A-Za-z0-9-]{20,}"
    ),
    "system-prompt": re.compile(
        r"\b(?:my|the) system prompt (?:is|says|reads)|\byou are (?:an? )?(?:ai|helpful|expert) (?:assistant|agent)\b|<system>|\[system\]",
        re.IGNORECASE,
    ),
    "trace": re.compile(r"Traceback \(most recent call last\)|^\s*File \"[^\"]+\", line \d+", re.MULTILINE),
    "path": re.compile(
        r"(?<![\w:/.])/(?:home|root|tmp|workspace|work|srv|usr|var|mnt|opt|private|Users|app|sandbox)/[\w./-]+|\b[A-Z]:\\(?:Users|Windows"
        r"|Temp)\\[\w\\.-]+"
    ),
    "tool-call": re.compile(r"<(?:tool_call|function_calls?|invoke|tool_result)\b|\"tool_calls\"\s*:|\btool_use_id\b"),
}
MAX_LEAKS = 60


def leak_candidates(package: Package) -> tuple[dict[str, Json], ...]:
    """Places where internals of the agent may show: kind, text, place, and whether the place is code or a log."""
    from finassay_checks.delivered import read_delivery

    delivered = package.fact(read_delivery)
    texts = [(d.where, d.text, False) for d in (*delivered.messages, *delivered.reports, *delivered.documents)] + [
        (d.where, d.text, True) for d in delivered.code
    ]
    found: dict[tuple[str, str, str], dict[str, Json]] = {}
    for where, text, code in texts:
        for kind, pattern in _LEAKS.items():
            for match in pattern.finditer(text[:400_000]):
                quote = match[0].strip()[:200]
                if len(found) < MAX_LEAKS and not _public(quote, code):
                    found.setdefault(
                        (where, kind, quote),
                        {"kind": kind, "text": quote, "where": where, "in_code": code or where.lower().endswith(".log")},
                    )
    return tuple(found.values())


def _public(quote: str, code: bool) -> bool:
    """Interpreter lines of scripts are no internals."""
    return code and quote.startswith(("/usr/bin", "/usr/bin/env"))


class InternalLeak(JudgedCheck):
    """The program's pre-scan: candidates for a judge, never a verdict."""

    description = "Pre-scan for internal leaks: absolute paths, stack traces, keys, tool calls and system prompts."
    id = "5-6-internal-leak"
    dimension = "5.6"

    def facts(self, package: Package) -> Mapping[str, Json]:
        return {"candidates": [dict(candidate) for candidate in package.fact(leak_candidates)]}
