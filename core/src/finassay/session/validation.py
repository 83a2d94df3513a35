"""Validation of the simulated user's decisions before anything is sent (paper, appendix D). The rules hold for every simulator."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from finassay.api.matching import contains_term, normalise, sentences
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
    "close-asks-for-more": "asks for more work in a closing message",
    "challenge-without-evidence": "challenges without evidence",
    "block-without-evidence": "ends the session without evidence or without a reason",
    "block-on-cut-turn": "ends the session although the agent's reply was stopped by the clock",
    "reason-without-block": "gives a reason for ending while not ending",
    "internal-vocabulary": "uses words of the evaluation, item ids or file names of the grading pipeline",
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
    "evaluator",
    "grader",
    "grading",
    "rubric",
    "hidden strategy",
    "hidden item",
    "belief",
    "simulator",
    "disclosure",
    "turn limit",
    "core goal",
)
ASSISTANT_LIKE: Final = (
    "let me lock a few things",
    "lock a few things",
    "as an ai",
    "i'd be happy to",
    "happy to help",
    "how can i help",
    "i can help you",
    "let me know if you need anything else",
)
_ITEM_ID = re.compile(
    r"\b(?:stock|timing|portfolio|risk|execution|cost)\.(?:factor|option|weighting|covariance|combination|threshold|schedule|rate)\b"
)
_ASKS = re.compile(
    r"\?|\b(?:please|can you|could you|i (?:still )?(?:need|want|would like)|add|send|show me|redo|rerun|change|fix|also include|next,? )\b"
)
_RESULTS = (r"\breturns?\b", r"\bsharpe\b", r"\bdraw ?-?downs?\b", r"\btrades?\b|\bfills?\b|\btransactions?\b")


def validate_opening(text: str, scene: Scene) -> tuple[Rejection, ...]:
    """Problems of an opening message; what it tells of the belief is the disclosure gate's to check."""
    return tuple(_message_problems(text, scene))


def validate(decision: Decision, scene: Scene) -> tuple[Rejection, ...]:
    """Every problem of a decision; empty if it may be sent."""
    checks: tuple[Callable[[Decision, Scene], Iterator[Rejection]], ...] = (_observations, _close, _evidence, _block)
    problems = [problem for check in checks for problem in check(decision, scene)]
    return (*problems, *_message_problems(decision.message, scene))


def _no(rule: str, detail: str) -> Rejection:
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
            yield _no("met-without-citation", observation.goal)
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
    cited = {c for o in decision.observations for c in o.citations}
    texts = [m.text for m in scene.conversation.of("agent") if m.id in cited] + [e.text for e in scene.excerpts if e.path in cited]
    material = normalise("\n".join(texts)[:200_000])
    missing = [pattern for pattern in _RESULTS if not re.search(pattern, material)]
    if missing:
        yield _no("close-without-results", f"{len(missing)} of 4 are missing")
    if any(_ASKS.search(sentence.norm) for sentence in sentences(decision.message)):
        yield _no("close-asks-for-more", "")


def _evidence(decision: Decision, scene: Scene) -> Iterator[Rejection]:
    known = _citable(scene)
    for name in decision.evidence:
        if name not in known:
            yield _no("unknown-citation", repr(name[:100]))
    if decision.action == "challenge" and not decision.evidence:
        yield _no("challenge-without-evidence", "")


def _block(decision: Decision, scene: Scene) -> Iterator[Rejection]:
    if decision.action != "block":
        if decision.block_reason is not None:
            yield _no("reason-without-block", decision.block_reason)
        return
    if not decision.evidence or decision.block_reason is None:
        yield _no("block-without-evidence", "")
    if scene.cut:
        yield _no("block-on-cut-turn", "")


def _message_problems(text: str, scene: Scene) -> Iterator[Rejection]:
    if not text.strip():
        yield _no("empty-message", "")
        return
    if len(text) > MAX_MESSAGE:
        yield _no("over-long-message", "")
        return
    for rule, terms in (("internal-vocabulary", INTERNAL), ("forbidden-term", scene.persona.forbidden), ("assistant-like", ASSISTANT_LIKE)):
        term = contains_term(terms, text)
        if term is not None:
            yield _no(rule, repr(term))
    if _ITEM_ID.search(text.lower()):
        yield _no("internal-vocabulary", "an item's id")
    spoken = normalise(text)
    if any(normalise(m.text) == spoken for m in scene.conversation.of("user")):
        yield _no("repeated-message", "")
