"""What a run will do with each session: reuse, resume, hold, or hold again, with the reason."""

from typing import Any, Literal

from attrs import frozen

from finassay.api.errors import UsageError
from finassay.runs.folder import RunFolder, SessionKey
from finassay.runs.identity import differing

MAX_RERUNS = 2
"""An invalid session is held again under the same conditions at most twice (spec: session end reasons)."""

Step = Literal["hold", "resume", "reuse", "rerun", "give up"]


@frozen
class Planned:
    key: SessionKey
    step: Step
    reason: str


def plan_session(folder: RunFolder, key: SessionKey, identity: dict[str, Any], invalid: frozenset[str]) -> Planned:
    """The step for one session. Raises `UsageError` if it was recorded under other conditions, saying which part differs."""
    if not (folder.session_path(key) / "events.jsonl").exists():
        done = folder.times_set_aside(key)
        return Planned(key, "hold", "not held yet" if not done else f"held again after {done} that do not count")
    state = folder.state(key)
    if not state.identity:
        return Planned(key, "hold", "nothing was recorded")
    changed = differing(state.identity, identity)
    if changed:
        raise UsageError(
            f"session {key.id} of {folder.root} was held under other conditions; what differs: {', '.join(changed)}",
            hint="Choose another --out, or give the run the settings it was started with.",
        )
    if state.ended is None:
        return Planned(key, "resume", f"goes on after turn {state.turn}")
    if state.ended in invalid:
        if folder.times_set_aside(key) >= MAX_RERUNS:
            return Planned(key, "give up", f"{state.ended} after {MAX_RERUNS} reruns")
        return Planned(key, "rerun", f"{state.ended} does not count")
    return Planned(key, "reuse", f"ended: {state.ended}")
