"""A dimension of the evaluation, as data."""

from enum import StrEnum

from attrs import frozen


class JudgedBy(StrEnum):
    """Who grades a dimension (paper, table 7)."""

    PROGRAM = "P"
    JUDGE = "L"
    HYBRID = "H"
    JUDGE_BOUNDED = "L<=P"
    JUDGE_BY_RULE = "L/P"
    MEASURED = "measured"


@frozen
class Dimension:
    """One of the 45. `veto` is the threshold below which the session fails, or None; `anchors` describe levels 0 to 4."""

    id: str
    name: str
    """Kebab-case."""
    title: str
    category: str
    judged_by: JudgedBy
    anchors: tuple[str, ...]
    veto: int | None = None
    scored: bool = True
    bonus: bool = False
    """Counts only if it raises its category's mean (3.6)."""
    looks_at: str = ""
    """One sentence for a person: what is looked at."""
    to_pass: str = ""
    """One sentence for the agent's author: what passes the veto. It says nothing of any strategy; empty where there is no veto."""
