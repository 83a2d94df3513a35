"""The hooks. An implementation may take any subset of a hook's arguments, by name."""

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from finassay.api.report import ReportSection
    from finassay.api.scorecard import RunView, Scorecard

GROUP = "finassay.plugins"
hookspec = pluggy.HookspecMarker("finassay")
hookimpl = pluggy.HookimplMarker("finassay")


@hookspec
def finassay_run_started(run: str, sessions: int) -> None:
    """A run begins; `run` is its folder, `sessions` how many will be held."""


@hookspec
def finassay_session_started(session: str, agent: str, task: str) -> None:
    """A session begins or is resumed."""


@hookspec
def finassay_turn_finished(session: str, turn: int, cut: bool, seconds: float, files: int) -> None:
    """An agent's turn was recorded."""


@hookspec
def finassay_session_ended(session: str, reason: str, detail: str) -> None:
    """A session has its end reason."""


@hookspec
def finassay_session_graded(session: str, scorecard: "Scorecard") -> None:
    """A session was graded; the scorecard is stored and cannot be changed."""


@hookspec
def finassay_run_finished(run: "RunView") -> None:
    """Every session of a run has been held and graded."""


@hookspec
def finassay_add_redactions() -> list[str]:  # type: ignore[empty-body]
    """Texts that must not be stored (keys, tokens): replaced in everything that an agent says."""


@hookspec
def finassay_add_report_sections(run: "RunView") -> "list[ReportSection]":  # type: ignore[empty-body]
    """Extra sections of a run's page."""
