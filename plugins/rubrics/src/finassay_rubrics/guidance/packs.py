"""Packs put together: principles, instructions and rules add up; nothing is overridden."""

from collections.abc import Sequence

from finassay.api.errors import UsageError
from finassay.api.guidance import Guidance


def combined(packs: Sequence[Guidance]) -> Guidance:
    """One guidance out of several, in order. Raises `UsageError` where two give one id to a principle or a rule."""
    if not packs:
        raise UsageError("no guidance was named", hint="The general pack is 'general'.")
    for what, ids in (("principle", [p.id for g in packs for p in g.principles]), ("rule", [r.id for g in packs for r in g.rules])):
        twice = {i for i in ids if ids.count(i) > 1}
        if twice:
            raise UsageError(f"two guidance packs have a {what} {min(twice)!r}", hint="Ids of a pack begin with letters of its own: CR01.")
    roles = dict.fromkeys(role for pack in packs for role in pack.instructions)
    topics = dict.fromkeys(topic for pack in packs for topic in pack.conventions)
    return Guidance(
        id="+".join(p.id for p in packs),
        version="+".join(p.version for p in packs),
        principles=tuple(p for pack in packs for p in pack.principles),
        instructions={role: "\n".join(p.instructions[role] for p in packs if role in p.instructions) for role in roles},
        rules=tuple(r for pack in packs for r in pack.rules),
        conventions={t: next(p.conventions[t] for p in reversed(packs) if t in p.conventions) for t in topics},
        dimensions={k: v for pack in packs for k, v in pack.dimensions.items()},
    )
