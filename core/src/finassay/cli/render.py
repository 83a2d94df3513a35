"""What commands print. Everything that an agent wrote is shown with control characters replaced and without markup."""

from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from finassay.api.errors import UsageError
from finassay.api.scorecard import RunView, SessionView
from finassay.api.task import Task
from finassay.api.verdict import Measured, NotApplicable, Scored, Unscored
from finassay.session.intake import displayed

MAX_SHOWN = 200_000


WIDE = 150
"""Columns where the output is no terminal: a file or a pipe has no width to fit."""


def console() -> Console:
    """Where tables go: as wide as the terminal."""
    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=WIDE)


def safe(text: str, limit: int = 20_000) -> Text:
    """Hostile text for a terminal: lines kept, every other control or formatting character replaced, bounded."""
    shown = text[:limit] + ("…" if len(text) > limit else "")
    return Text("\n".join("".join(c if c == "\t" else displayed(c) for c in line) for line in shown.split("\n")))


def show_task(out: Console, task: Task, catalog: Any, *, reveal: bool) -> None:
    """The public part of a task; the hidden strategy only if asked for."""
    conditions = task.conditions
    table = Table(title=f"task {task.id}", show_header=False, box=None, title_justify="left")
    table.add_row("persona", task.persona)
    table.add_row("opening", safe(_opening(task, catalog)))
    table.add_row("universe", safe(conditions.universe.text))
    table.add_row("data until", conditions.cutoff.isoformat())
    table.add_row("channels", ", ".join(conditions.channels) or "none")
    table.add_row(
        "limits", f"{conditions.max_turns} turns of {conditions.turn_seconds:g} s; network {'allowed' if conditions.network else 'off'}"
    )
    if reveal:
        table.add_row("difficulty", str(task.strategy.difficulty))
        opening = set(task.belief.opening)
        for item in task.belief.items:
            table.add_row("told at once" if item.id in opening else "hidden", safe(f"{item.sentence}  [{item.id}]"))
        for name, value in task.strategy.parameters.items():
            table.add_row("parameter", f"{name} = {value:g}")
    else:
        table.add_row("strategy", "sealed (--reveal shows it)")
    out.print(table)


def _opening(task: Task, catalog: Any) -> str:
    """What the default simulator would say first; the opening items alone where no simulator or persona is installed."""
    from finassay.api.conversation import Conversation
    from finassay.api.errors import CatalogError
    from finassay.api.simulator import Scene

    try:
        simulator, _ = catalog.create("simulator", "policy")
        source, _ = catalog.create("persona", task.persona)
        return str(simulator.open(Scene(task, source.persona, Conversation(), turns_left=task.conditions.max_turns)))
    except CatalogError:
        return "; ".join(task.belief.item(name).opening for name in task.belief.opening)


def print_run(out: Console, view: RunView) -> None:
    """The table of a run, with the notes that belong to it."""
    from finassay.grading.summary import summarise
    from finassay.grading.tables import run_table

    for note in view.notes:
        out.print(Text(note, style="dim"))
    if not view.sessions:
        out.print("no session has ended yet")
        return
    out.print(run_table(summarise(view)))


def list_sessions(out: Console, view: RunView) -> None:
    table = Table("session", "end", "quality", "accepted", "vetoes failed", box=None)
    for session in view.sessions:
        card = session.scorecard
        quality = "-" if card is None or card.quality is None else f"{card.quality:.1f}"
        accepted = "-" if card is None else ("yes" if card.accepted else "no")
        table.add_row(session.id, session.end_reason, quality, accepted, ", ".join(card.failed_vetoes) if card else "")
    out.print(table)


def show_session(out: Console, view: SessionView) -> None:
    """Conversation, files, and every score with its source and evidence."""
    out.rule(f"session {view.id}")
    for message in view.conversation.messages:
        style = "cyan" if message.sender == "user" else "green"
        title = f"{message.id} {message.sender}" + (" (cut by the clock)" if message.cut else "")
        out.print(Panel(safe(message.text), title=title, title_align="left", border_style=style))
    out.print(f"ended: [bold]{view.end_reason}[/bold]", safe(view.end_detail))
    files = Table("file", "bytes", title="delivered", title_justify="left", box=None)
    for file in view.deliveries[-1].files if view.deliveries else ():
        files.add_row(safe(displayed(file.path)), f"{file.size:,}")
    for rejected in view.deliveries[-1].rejected if view.deliveries else ():
        files.add_row(safe(rejected.path), safe(f"not taken: {rejected.reason}"))
    out.print(files)
    if view.scorecard is None:
        out.print("not graded")
        return
    _show_scores(out, view)


def _show_scores(out: Console, view: SessionView) -> None:
    from finassay.grading.dimensions import DIMENSIONS
    from finassay.grading.tables import session_table

    card = view.scorecard
    assert card is not None
    out.print(session_table(card))
    for dimension in DIMENSIONS:
        graded = card.graded(dimension.id)
        if graded is None:
            continue
        failed = dimension.id in card.failed_vetoes
        title = f"{dimension.id} {dimension.title}" + ("  VETO FAILED" if failed else "")
        match graded.verdict:
            case Scored() as scored:
                raw = f" (judge {scored.raw_level}, bounded)" if scored.raw_level not in (None, scored.level) else ""
                out.print(
                    Text(f"{title}: {scored.level}/4{raw}  [{scored.source.value}, {scored.by}]", style="bold red" if failed else "bold")
                )
                out.print(safe("  " + scored.reason))
                for evidence in scored.evidence[:12]:
                    parts = [
                        f"{evidence.kind.value}: {evidence.text}",
                        evidence.where,
                        f"rows {', '.join(evidence.rows[:6])}" if evidence.rows else "",
                    ]
                    parts += [
                        f"expected {evidence.expected}" if evidence.expected else "",
                        f"found {evidence.found}" if evidence.found else "",
                    ]
                    out.print(safe("    - " + " · ".join(p for p in parts if p), 1000))
            case Measured() as measured:
                shown = ", ".join(f"{k} {'unknown' if v is None else v}" for k, v in measured.values.items())
                out.print(Text(f"{title}: {shown}", style="bold"))
            case NotApplicable() as absent:
                out.print(Text(f"{title}: not applicable", style="bold"), safe(absent.reason))
            case Unscored() as unscored:
                out.print(Text(f"{title}: no verdict ({unscored.reason})", style="bold yellow"), safe(unscored.detail))


def show_file(folder: Any, view: SessionView, path: str) -> None:
    """A delivered file as text, bounded. Raises `UsageError` for one that was not delivered."""
    file = view.deliveries[-1].file(path) if view.deliveries else None
    if file is None:
        names = ", ".join(f.path for f in view.deliveries[-1].files[:10]) if view.deliveries else "nothing"
        raise UsageError(f"{path!r} was not delivered", hint=f"Delivered: {names}")
    with open(folder.blobs.path(file.sha256), "rb") as stream:
        console().print(safe(stream.read(MAX_SHOWN).decode("utf-8", "replace"), MAX_SHOWN), soft_wrap=True)
