"""What a writer hands in is checked before anything is made of it: it may come from a model, and may be anything."""

import re
from typing import Any, Final

from attrs import evolve

from finassay.api.errors import BudgetError, FinassayError
from finassay.api.research import Assignment, Derivation, Desk, Draft, DraftCriterion, DraftRoute, Researcher

MAX_CRITERIA: Final = 40
MAX_ROUTES: Final = 8
MAX_TEXT: Final = 2_000
_KINDS: Final = frozenset(["numeric", "date", "categorical", "set", "text", "derivation", "prohibited", "format"])
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


class NoDraftError(Exception):
    """Why what came is no draft; told to the writer, who may try again."""


def stops_all(error: FinassayError) -> bool:
    """Whether nothing can go on for now, so that the same command is to be given again: a source or model that is away, no money left, a key
    that is refused."""
    return error.retry or isinstance(error, BudgetError) or bool(getattr(error, "any_request", False))


def drafted(writer: Researcher, assignment: Assignment, desk: Desk) -> Draft:
    """A draft that is one, its ids safe for names of files. Raises `NoDraftError`; what stops a whole run (`stops_all`) goes through."""
    try:
        draft = writer.write(assignment, desk)
    except FinassayError as error:
        if stops_all(error):
            raise
        raise NoDraftError(f"the writer failed: {error}"[:500]) from error
    except Exception as error:  # somebody else's code
        raise NoDraftError(f"the writer failed: {type(error).__name__}: {error}"[:500]) from error
    problem = _problem(draft)
    if problem:
        raise NoDraftError(problem)
    return _named(draft, assignment.obligation)


def _problem(draft: Any) -> str:
    if not isinstance(draft, Draft):
        return f"what came is no draft but {type(draft).__name__}"
    if not draft.criteria:
        return "there is no criterion"
    if len(draft.criteria) > MAX_CRITERIA:
        return f"{len(draft.criteria)} criteria; at most {MAX_CRITERIA} are read"
    for number, one in enumerate(draft.criteria, start=1):
        if not _is(one, DraftCriterion):
            return f"criterion number {number} is no criterion but {type(one).__name__}"
        texts = (one.id, one.text, one.reason)
        if any(not isinstance(t, str) or len(t) > MAX_TEXT for t in texts) or one.kind not in _KINDS:
            return f"criterion number {number} is not filled in as it should be"
        if len(one.routes) > MAX_ROUTES or not all(_is(r, DraftRoute) and _is(r.derivation, Derivation) for r in one.routes):
            return f"criterion number {number} has routes that are none, or more than {MAX_ROUTES}"
    return ""


def _is(value: Any, kind: type) -> bool:
    return isinstance(value, kind)


def _named(draft: Draft, obligation: str) -> Draft:
    """Ids begin with the obligation's, are unique, and fit a file's name."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    made = []
    for number, one in enumerate(draft.criteria, start=1):
        name = one.id if _ID.fullmatch(one.id) and one.id.startswith(f"{obligation}.") else f"{obligation}.{number}"
        while name in taken:
            name = f"{name}b"
        taken.add(name)
        names.setdefault(one.id, name)
        made.append(evolve(one, id=name))
    return evolve(draft, criteria=tuple(evolve(one, depends_on=tuple(names[d] for d in one.depends_on if d in names)) for one in made))
