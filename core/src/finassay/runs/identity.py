"""What a session's outcome depends on, with a digest, so that a mismatch can say which part differs."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from finassay.api.agent import Agent
from finassay.api.component import Origin
from finassay.api.task import Task
from finassay.records.convert import to_json

BEGUN_WITH: Final = "begun_with"
"""The part that each session has of its own: what its agent began with. A session that is resumed keeps it."""


def digest_of(parts: Any) -> str:
    """SHA-256 of canonical JSON."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def session_identity(
    task: Task,
    repeat: int,
    seed: int,
    agent: Agent,
    agent_origin: Origin,
    agent_options: dict[str, Any],
    agent_identity: Mapping[str, Any],
    simulator: dict[str, Any],
    sandbox: dict[str, Any],
    persona: Origin,
    instructions: str,
) -> dict[str, Any]:
    """The parts. The task is named by its digest, because the identity is not sealed."""
    return {
        "task": {"id": task.id, "digest": digest_of(to_json(task))},
        "repeat": repeat,
        "seed": seed,
        "agent": {
            **to_json(agent_origin),
            "program_version": agent.version,
            "options": agent_options,
            **({"identity": dict(agent_identity)} if agent_identity else {}),
        },
        "simulator": simulator,
        "persona": to_json(persona),
        "sandbox": sandbox,
        "limits": {"max_turns": task.conditions.max_turns, "turn_seconds": task.conditions.turn_seconds},
        "instructions": digest_of(instructions),
    }


def differing(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Names of the parts that differ, of those that must not."""
    return sorted(name for name in (set(old) | set(new)) - {BEGUN_WITH} if old.get(name) != new.get(name))
