"""A run as tables and pages show it."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, Final

from finassay.api.errors import UsageError
from finassay.api.report import ReportSection
from finassay.api.scorecard import RunView, Scorecard, SessionView
from finassay.api.task import Task
from finassay.grading.dimensions import DIMENSIONS
from finassay.grading.outcomes import INVALID
from finassay.models.ledger import NAME, read_ledger, sums
from finassay.runs.folder import RunFolder, SessionKey
from finassay.runs.grade import is_outdated, scorecards
from finassay.session.intake import displayed

NAMED: Final = 8
"""How many sessions a note names."""
HASH: Final = 12
"""Characters of an evaluator's hash that are shown."""
SHORTEST: Final = 4
"""Characters of an evaluator's hash that name it, if no other begins alike."""


def by_judge(cards: Iterable[Scorecard], judge: str) -> list[Scorecard]:
    """The gradings that a name picks: a judge's id, its name with its models, or the beginning of an evaluator's hash (4 or more).

    Raises `UsageError` where several evaluators' hashes begin like this.
    """
    cards = list(cards)
    named = [card for card in cards if judge in (card.evaluator.judge, card.evaluator.judge_name)]
    if named or len(judge) < SHORTEST:
        return named
    picked = [card for card in cards if card.evaluator.hash.startswith(judge)]
    hashes = sorted({card.evaluator.hash[:HASH] for card in picked})
    if len(hashes) > 1:
        raise UsageError(f"more than one evaluator's hash begins with {judge!r}", hint=f"Name one: {', '.join(hashes[:NAMED])}.")
    return picked


def _gradings(graders: Iterable[str]) -> str:
    """The gradings there are, as a hint."""
    return f"Gradings: {', '.join(list(graders)[:NAMED]) or 'none'}."


def session_view(folder: RunFolder, key: SessionKey, task: Task, judge: str | None = None) -> SessionView | None:
    """A session with its newest grading, of a named judge if one is named; None while it has not ended. Raises `InvalidFileError`.

    Raises `UsageError` for a judge that has not graded it.
    """
    graders: dict[str, None] = {}
    view = _session(folder, key, task, judge, graders)
    if view is not None and judge and view.scorecard is None:
        raise UsageError(f"{judge!r} has not graded session {key.id}", hint=_gradings(graders))
    return view


def _session(folder: RunFolder, key: SessionKey, task: Task, judge: str | None, others: dict[str, None]) -> SessionView | None:
    """As `session_view`; notes in `others` who else has graded it."""
    state = folder.state(key)
    if state.ended is None:
        return None
    graded = scorecards(folder, key)
    cards = by_judge(graded, judge) if judge else graded
    for card in graded:
        if not cards or card.evaluator.hash != cards[0].evaluator.hash:
            others.setdefault(f"{card.evaluator.judge_name or 'no judge'}, evaluator {card.evaluator.hash[:HASH]}")
    return SessionView(
        id=key.id,
        agent=key.agent,
        task=task,
        repeat=key.repeat,
        conversation=state.conversation,
        deliveries=state.deliveries,
        turns=state.turns,
        log=state.log,
        user_turns=state.user_turns,
        end_reason=state.ended,  # type: ignore[arg-type]
        end_detail=state.end_detail,
        scorecard=cards[0] if cards else None,
        valid=state.ended not in INVALID,
        identity=state.identity,
        blob_root=str(folder.blobs.root),
        labels=state.labels,
        usage=state.usage,
        metered=state.metered,
    )


def run_view(folder: RunFolder, sections: tuple[ReportSection, ...] = (), judge: str | None = None) -> RunView:
    """Every ended session of a run, with its newest grading, of a named judge if one is named. Raises `InvalidFileError`.

    Raises `UsageError` for a judge that has graded none of them.
    """
    manifest, tasks, keys = folder.manifest(), folder.tasks(), folder.sessions()
    if judge:  # what names two evaluators names none, also if they graded different sessions
        by_judge((card for key in keys for card in scorecards(folder, key)), judge)
    graders: dict[str, None] = {}
    views = {key: _session(folder, key, tasks[key.task], judge, graders) for key in keys if key.task in tasks}
    sessions = tuple(view for view in views.values() if view is not None)
    others = list(graders)[:NAMED]
    if judge and not any(s.scorecard for s in sessions):
        raise UsageError(f"{judge!r} has graded no session of {folder.root}", hint=_gradings(graders))
    notes = [*_gaps(folder, keys, set(tasks)), *_unfinished(manifest, keys, views), *_notes(folder, sessions, manifest.get("muted", {}))]
    if others:
        notes.append(f"Also graded by {'; '.join(others)}. To see one of them: --judge NAME or --judge HASH.")
    return RunView(
        name=displayed(folder.root.resolve().name),
        sessions=sessions,
        dimensions=DIMENSIONS,
        created=str(manifest.get("created", "")),
        versions=manifest.get("versions", {}),
        simulator=_simulator_of(sessions) or str(manifest.get("settings", {}).get("simulator", {}).get("id", "")),
        judge=_judge_of(sessions),
        notes=tuple(notes),
        sections=sections,
        spending=tuple(sums(read_ledger(folder.root / NAME))),
    )


def _gaps(folder: RunFolder, keys: Sequence[SessionKey], tasks: Set[str]) -> list[str]:
    """What is left out of the view, and why."""
    notes = []
    missing: dict[str, list[str]] = {}
    for key in keys:
        if key.task not in tasks:
            missing.setdefault(key.task, []).append(key.id)
    for task, ids in list(missing.items())[:NAMED]:
        notes.append(f"Left out, because tasks/{task}.json is missing: {_named(ids)}.")
    if len(missing) > NAMED:
        notes.append(f"Left out as well: sessions of {len(missing) - NAMED} more missing tasks.")
    strays = [displayed(path.name) for path in folder.strays()]
    if strays:
        notes.append(f"No sessions, left out of sessions/: {_named(strays)}.")
    return notes


def _unfinished(manifest: Mapping[str, Any], keys: Sequence[SessionKey], views: Mapping[SessionKey, SessionView | None]) -> list[str]:
    """Sessions that were asked for and are not there, or have not ended."""
    begun = [key.id for key, view in views.items() if view is None]
    planned = manifest.get("planned")
    known = {key.id for key in keys}
    waiting = [str(name) for name in planned if name not in known] if isinstance(planned, list) else []
    notes = [f"Begun and not ended: {_named(begun)}."] if begun else []
    notes += [f"Asked for and not begun: {_named(waiting)}."] if waiting else []
    if notes:
        notes[-1] += " The command that began the run goes on with them."
    return notes


def _named(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - NAMED
    return f"{len(names)} ({', '.join(names[:NAMED])}" + (f" and {more} more)" if more > 0 else ")")


def _simulator_of(sessions: tuple[SessionView, ...]) -> str:
    """Who played the user, with the models that were asked."""
    return ", ".join(sorted({s.simulator_name for s in sessions} - {""}))


def _judge_of(sessions: tuple[SessionView, ...]) -> str:
    """The judge, or judges, whose verdicts are shown."""
    return ", ".join(sorted({s.scorecard.evaluator.judge_name for s in sessions if s.scorecard}))


def _notes(folder: RunFolder, sessions: tuple[SessionView, ...], muted: Mapping[str, str]) -> list[str]:
    notes = []
    judges = {s.scorecard.evaluator.judge_name for s in sessions if s.scorecard}
    hashes = {s.scorecard.evaluator.hash for s in sessions if s.scorecard}
    if "lexical" in judges:
        notes.append(
            "Meaning was graded by stated rules (judge 'lexical'), not by a model: these results share no table with model-judged ones."
        )
    if len(judges) > 1:
        notes.append(f"Sessions were graded by different judges ({', '.join(sorted(judges))}): their results are not averaged together.")
    if len(hashes) > 1:
        notes.append("Sessions were graded by different versions of the evaluator; grade the run again to compare them: finassay grade.")
    outside = [s for s in sessions if _acts_outside(s)]
    if outside:
        who = ", ".join(sorted({s.agent for s in outside}))
        notes.append(f"Acted where no sandbox of this run held them: {who} ({len(outside)} of {len(sessions)} sessions).")
    for sandbox in sorted({str(s.identity.get("sandbox", {}).get("id", "")) for s in sessions if s not in outside} - {""}):
        isolation = next(s.identity["sandbox"]["isolation"] for s in sessions if s.identity.get("sandbox", {}).get("id") == sandbox)
        missing = [name for name in ("files", "network", "processes") if not isolation.get(name)]
        notes.append(f"Agents ran in the sandbox '{sandbox}'" + (f", which does not isolate {', '.join(missing)}." if missing else "."))
    elsewhere = sum(1 for s in sessions if "imported" in s.identity)
    if elsewhere:
        notes.append(f"Held elsewhere and imported, with a user and conditions that are not ours: {elsewhere} of {len(sessions)} sessions.")
    bare = [s.id for s in sessions if s.scorecard is None]
    changed = [name for name in bare if is_outdated(folder, SessionKey.parse(name))]
    if changed:
        notes.append(f"The record was changed after the grading, which therefore does not count: {_named(changed)}. See: finassay grade.")
    void = [s for s in sessions if s.scorecard is None and not s.valid and s.id not in changed]
    if void:
        why = f"{void[0].end_reason}: {void[0].end_detail}" if void[0].end_detail else void[0].end_reason
        notes.append(f"Do not count and are not graded: {_named([s.id for s in void])}; {why}.")
    if len(bare) > len(changed) + len(void):
        notes.append(f"Not graded yet: {len(bare) - len(changed) - len(void)} of {len(sessions)} sessions.")
    refused = sorted({s.end_reason for s in sessions if s.scorecard is not None and s.scorecard.grading == "none"})
    if refused:
        number = sum(1 for s in sessions if s.scorecard is not None and s.scorecard.grading == "none")
        notes.append(f"Could not be graded, because of how they ended ({', '.join(refused)}): {number} of {len(sessions)} sessions.")
    if shared := _shared_families(sessions):
        notes.append(f"User and judge are models of one family ({', '.join(shared)}): what neither of them sees, nobody sees.")
    notes += [f"Observer '{name}' was muted: {reason}" for name, reason in sorted(muted.items())]
    return notes


def _acts_outside(session: SessionView) -> bool:
    agent = session.identity.get("agent")
    own = agent.get("identity") if isinstance(agent, Mapping) else None
    return isinstance(own, Mapping) and own.get("outside_sandbox") is True


def _shared_families(sessions: Iterable[SessionView]) -> list[str]:
    """Families of models that play the user and grade, of one session or more."""
    shared: set[str] = set()
    for session in sessions:
        simulator = session.identity.get("simulator")
        played = simulator.get("identity") if isinstance(simulator, Mapping) else None
        graded = session.scorecard.evaluator.judge_identity if session.scorecard else None
        shared |= _families(played) & _families(graded)
    return sorted(shared - {"unknown"})


def _families(identity: Any) -> set[str]:
    asked = identity.get("asked") if isinstance(identity, Mapping) else None
    models = asked.values() if isinstance(asked, Mapping) else ()
    return {str(model.get("family", "unknown")) for model in models if isinstance(model, Mapping)}
