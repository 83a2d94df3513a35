"""A run as tables and pages show it."""

from collections.abc import Mapping

from finassay.api.report import ReportSection
from finassay.api.scorecard import RunView, SessionView
from finassay.api.task import Task
from finassay.grading.dimensions import DIMENSIONS
from finassay.grading.outcomes import INVALID
from finassay.runs.folder import RunFolder, SessionKey
from finassay.runs.grade import scorecards


def session_view(folder: RunFolder, key: SessionKey, task: Task) -> SessionView | None:
    """A session with its newest grading; None while it has not ended. Raises `InvalidFileError`."""
    state = folder.state(key)
    if state.ended is None:
        return None
    cards = scorecards(folder, key)
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
    )


def run_view(folder: RunFolder, sections: tuple[ReportSection, ...] = ()) -> RunView:
    """Every ended session of a run. Raises `InvalidFileError`."""
    manifest, tasks = folder.manifest(), folder.tasks()
    views = [session_view(folder, key, tasks[key.task]) for key in folder.sessions() if key.task in tasks]
    sessions = tuple(view for view in views if view is not None)
    return RunView(
        name=folder.root.name,
        sessions=sessions,
        dimensions=DIMENSIONS,
        created=str(manifest.get("created", "")),
        versions=manifest.get("versions", {}),
        simulator=str(manifest.get("settings", {}).get("simulator", {}).get("id", "")),
        judge=_judge_of(sessions),
        notes=tuple(_notes(sessions, manifest.get("muted", {}))),
        sections=sections,
    )


def _judge_of(sessions: tuple[SessionView, ...]) -> str:
    """The judge, or judges, whose verdicts are shown."""
    return ", ".join(sorted({s.scorecard.evaluator.judge for s in sessions if s.scorecard}))


def _notes(sessions: tuple[SessionView, ...], muted: Mapping[str, str]) -> list[str]:
    notes = []
    judges = {s.scorecard.evaluator.judge for s in sessions if s.scorecard}
    hashes = {s.scorecard.evaluator.hash for s in sessions if s.scorecard}
    if "lexical" in judges:
        notes.append(
            "Meaning was graded by stated rules (judge 'lexical'), not by a model: these results share no table with model-judged ones."
        )
    if len(judges) > 1:
        notes.append(f"Sessions were graded by different judges ({', '.join(sorted(judges))}): their results are not averaged together.")
    if len(hashes) > 1:
        notes.append("Sessions were graded by different versions of the evaluator; grade the run again to compare them: finassay grade.")
    for sandbox in sorted({str(s.identity.get("sandbox", {}).get("id", "")) for s in sessions} - {""}):
        isolation = next(s.identity["sandbox"]["isolation"] for s in sessions if s.identity.get("sandbox", {}).get("id") == sandbox)
        missing = [name for name in ("files", "network", "processes") if not isolation.get(name)]
        notes.append(f"Agents ran in the sandbox '{sandbox}'" + (f", which does not isolate {', '.join(missing)}." if missing else "."))
    elsewhere = sum(1 for s in sessions if "imported" in s.identity)
    if elsewhere:
        notes.append(f"{elsewhere} of {len(sessions)} sessions were held elsewhere and imported: their user and conditions are not ours.")
    ungraded = sum(1 for s in sessions if s.scorecard is None)
    if ungraded:
        notes.append(f"{ungraded} of {len(sessions)} sessions have not been graded.")
    notes += [f"Observer '{name}' was muted: {reason}" for name, reason in sorted(muted.items())]
    return notes
