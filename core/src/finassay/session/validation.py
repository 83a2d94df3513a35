"""Validation of the simulated user's decisions before anything is sent (paper, appendix D). The rules hold for every simulator.

What a message may tell of the hidden strategy is the disclosure gate's to check (`finassay.session.disclosure`).
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from finassay.api.matching import contains_term, normalise, sentences
from finassay.api.received import missing_results, missing_sections, shows_trades
from finassay.api.simulator import Decision, Rejection, Scene

MAX_REGENERATIONS: Final = 6
MAX_MESSAGE: Final = 6_000

RULES: Final = {
    "empty-message": "says nothing",
    "over-long-message": f"is longer than {MAX_MESSAGE:,} characters",
    "goal-unobserved": "leaves a goal of the task unobserved, observes it twice, or observes an unknown goal",
    "met-without-citation": "marks a goal as met without citing the agent's messages or files",
    "unknown-citation": "cites a message or file that does not exist",
    "close-with-open-goal": "closes while a core goal is not met",
    "close-without-results": "closes although what is cited does not name return, Sharpe ratio, drawdown and trades",
    "close-without-trades": "closes although what is cited shows no trade dates and prices",
    "close-without-report": "closes although what is cited has no summary, method, results or limitations",
    "close-asks-for-more": "asks for more work in a closing message",
    "challenge-without-evidence": "challenges without evidence",
    "block-without-evidence": "ends the session without evidence",
    "block-without-reason": "ends the session without a reason",
    "block-too-early": "ends the session for stalling, repeating or ignoring before the agent could do so: that takes two replies",
    "block-on-cut-turn": "ends the session although the agent's reply was stopped by the clock",
    "reason-without-block": "gives a reason for ending while not ending",
    "internal-vocabulary": "uses words of the evaluation, ids of items or goals, or file names of the grading pipeline",
    "forbidden-term": "uses a term that the persona never says",
    "assistant-like": "talks like an assistant",
    "repeated-message": "repeats an earlier message",
}
"""Rule id to what a decision that breaks it does."""

INTERNAL: Final = (
    "events.jsonl",
    "sealed.jsonl",
    "scorecard",
    "gradings",
    "feedback.txt",
    "run.json",
    "task.json",
    "point-in-time",
    "cutoff",
    "cut-off",
    "veto",
    "vetoes",
    "evaluator",
    "grader",
    "grading",
    "rubric",
    "hidden strategy",
    "hidden item",
    "belief",
    "persona",
    "simulator",
    "simulated user",
    "disclosure rule",
    "disclosure gate",
    "turn limit",
    "core goal",
    "independent recomputation",
    "verifier audit",
    "process completeness",
    "evidence grade",
    "internal leak",
)
ASSISTANT_LIKE: Final = (
    "let me lock a few things",
    "lock a few things",
    "as an ai",
    "as a language model",
    "i'd be happy to",
    "i would be happy to",
    "happy to help",
    "glad to help",
    "how can i help",
    "how can i assist",
    "i can help you",
    "let me know if you need anything else",
    "let me know if you have any questions",
    "great question",
)
_DIMENSION_ID = re.compile(r"\b(?:dimension|criterion|check)s? [1-7]\.\d{1,2}[ab]?\b")
_ASKS = re.compile(
    r"\b(?:please|can you|could you|would you|i (?:still |also )?(?:need|want|would like)|i'd like|send (?:me|over)|show me|redo|rerun"
    r"|(?<!the )(?<!this )(?<!that )(?<!your )change|fix|also include|add(?! up)|next i)\b"
)
_ASKS_NOT = re.compile(r"\b(?:no|not|nothing|never|without|what|\w+n't) (?:\w+ ){0,3}$")


def validate_opening(text: str, scene: Scene) -> tuple[Rejection, ...]:
    """Problems of an opening message."""
    return tuple(_message_problems(text, scene))


def validate(decision: Decision, scene: Scene) -> tuple[Rejection, ...]:
    """Every problem of a decision; empty if it may be sent."""
    checks: tuple[Callable[[Decision, Scene], Iterator[Rejection]], ...] = (_observations, _close, _evidence, _block)
    problems = [problem for check in checks for problem in check(decision, scene)]
    return (*problems, *_message_problems(decision.message, scene))


def _no(rule: str, detail: str = "") -> Rejection:
    return Rejection(rule, f"the decision {RULES[rule]}: {detail}" if detail else f"the decision {RULES[rule]}")


def _citable(scene: Scene) -> frozenset[str]:
    return frozenset(m.id for m in scene.conversation.of("agent")) | frozenset(scene.files)


def _observations(decision: Decision, scene: Scene) -> Iterator[Rejection]:
    wanted = sorted(goal.id for goal in scene.task.goals)
    if sorted(o.goal for o in decision.observations) != wanted:
        yield _no("goal-unobserved", f"wanted one observation of each of {', '.join(wanted)}")
    known = _citable(scene)
    for observation in decision.observations:
        if observation.status == "met" and not observation.citations:
            yield _no("met-without-citation", observation.goal[:100])
        for citation in observation.citations:
            if citation not in known:
                yield _no("unknown-citation", repr(citation[:100]))


def _close(decision: Decision, scene: Scene) -> Iterator[Rejection]:
    if decision.action != "close":
        return
    core = {goal.id for goal in scene.task.goals if goal.core}
    unmet = sorted(core - {o.goal for o in decision.observations if o.status == "met"})
    if unmet:
        yield _no("close-with-open-goal", ", ".join(unmet))
    yield from _cited_results(decision, scene, core)
    if any(_asks_for_more(sentence.norm) for sentence in sentences(decision.message)):
        yield _no("close-asks-for-more")


def _cited_results(decision: Decision, scene: Scene, core: set[str]) -> Iterator[Rejection]:
    """E7, by words: what the user says it has received must be named in what it cites. Whether it is right is not the user's to know."""
    cited = {c for o in decision.observations for c in o.citations}
    seen = {e.path: e for e in scene.excerpts if e.path in cited}
    texts = [m.text for m in scene.conversation.of("agent") if m.id in cited] + [e.text for e in seen.values()]
    material = "\n".join(texts)
    beyond_sight = any(path not in seen or seen[path].truncated for path in cited & set(scene.files))
    if "traceable-results" in core:
        missing = missing_results(material)
        if missing:
            yield _no("close-without-results", f"{', '.join(missing)} not named")
        if not beyond_sight and not shows_trades(material):
            yield _no("close-without-trades")
    if "report" in core and not beyond_sight and missing_sections(material):
        yield _no("close-without-report", f"{', '.join(missing_sections(material))} not found")


def _asks_for_more(norm: str) -> bool:
    if norm.endswith("?"):
        return True
    return any(not _ASKS_NOT.search(norm[: hit.start()]) for hit in _ASKS.finditer(norm))


def _evidence(decision: Decision, scene: Scene) -> Iterator[Rejection]:
    known = _citable(scene)
    for name in decision.evidence:
        if name not in known:
            yield _no("unknown-citation", repr(name[:100]))
    if decision.action == "challenge" and not decision.evidence:
        yield _no("challenge-without-evidence")


def _block(decision: Decision, scene: Scene) -> Iterator[Rejection]:
    if decision.action != "block":
        if decision.block_reason is not None:
            yield _no("reason-without-block", decision.block_reason)
        return
    if not decision.evidence:
        yield _no("block-without-evidence")
    if decision.block_reason is None:
        yield _no("block-without-reason")
    if decision.block_reason in ("stalled", "repeated", "ignored_objection") and len(scene.conversation.of("agent")) < 2:
        yield _no("block-too-early", decision.block_reason)
    if scene.cut:
        yield _no("block-on-cut-turn")


def _message_problems(text: str, scene: Scene) -> Iterator[Rejection]:
    if not text.strip():
        yield _no("empty-message")
        return
    if len(text) > MAX_MESSAGE:
        yield _no("over-long-message")
        return
    for rule, terms in (("internal-vocabulary", INTERNAL), ("forbidden-term", scene.persona.forbidden), ("assistant-like", ASSISTANT_LIKE)):
        term = contains_term(terms, text)
        if term is not None:
            yield _no(rule, repr(term))
    if any(identifier in text.casefold() for identifier in _identifiers(scene)) or _DIMENSION_ID.search(normalise(text)):
        yield _no("internal-vocabulary", "an id")
    spoken = normalise(text)
    if any(normalise(m.text) == spoken for m in scene.conversation.of("user")):
        yield _no("repeated-message")


def _identifiers(scene: Scene) -> tuple[str, ...]:
    """Ids that only the machinery knows. One that is an ordinary word (`report`) is none."""
    belief = scene.task.belief
    ids = (*(item.id for item in (*belief.items, *belief.absent)), *(goal.id for goal in scene.task.goals))
    return tuple(name.casefold() for name in ids if not name.isalnum())
