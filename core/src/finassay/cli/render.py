"""What commands print. Everything that an agent, a plugin or a file wrote is shown with control characters replaced and without markup."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from finassay.api.dimension import Dimension
from finassay.api.errors import InvalidFileError, UsageError
from finassay.api.scorecard import Graded, RunView, Scorecard, SessionView, Spending, usage_words
from finassay.api.task import Task
from finassay.api.usage import Usage
from finassay.api.verdict import Evidence, Measured, NotApplicable, Scored, Unscored
from finassay.cli.words import clean, count, one_line

MAX_SHOWN = 200_000
MAX_EVIDENCE = 12
MAX_FILES = 500
LOW = 3
"""`show --failed` shows levels below this."""


READER_GONE = 141
"""Exit code where the reader of the output went away."""
WIDE = 150
"""Columns where the output is no terminal: a file or a pipe has no width to fit."""


class Terminal(Console):
    """A console that ends the program with our own code when whoever reads the output is gone."""

    def on_broken_pipe(self) -> None:
        try:
            super().on_broken_pipe()
        except SystemExit:
            raise SystemExit(READER_GONE) from None


def console() -> Console:
    """Where tables go: as wide as the terminal."""
    out = Terminal(highlight=False)
    return out if out.is_terminal else Terminal(highlight=False, width=WIDE)


def safe(text: str, limit: int = 20_000) -> Text:
    """Hostile text for a terminal: lines kept, every other control or formatting character replaced, bounded."""
    return Text(clean(text[:limit]) + ("…" if len(text) > limit else ""))


def line(text: str, limit: int = 300, style: str = "") -> Text:
    """The same on one line."""
    return Text(one_line(text, limit), style=style)


def show_task(out: Console, task: Task, *, reveal: bool) -> None:
    """The public part of a task; the hidden strategy only if asked for."""
    conditions = task.conditions
    table = Table(title=line(f"task {task.id}"), show_header=False, box=None, title_justify="left")
    table.add_row("persona", line(task.persona))
    table.add_row("opening tells", line("; ".join(task.belief.item(name).opening for name in task.belief.opening) or "nothing", 2_000))
    table.add_row("", Text("the user puts it in words of their own, drawn for each session", style="dim"))
    table.add_row("universe", line(conditions.universe.text, 2_000))
    table.add_row("data until", conditions.cutoff.isoformat())
    table.add_row("channels", line(", ".join(conditions.channels) or "none"))
    table.add_row(
        "limits",
        f"{count(conditions.max_turns, 'turn')} of {conditions.turn_seconds:g} s; network {'allowed' if conditions.network else 'off'}",
    )
    if reveal:
        table.add_row("difficulty", str(task.strategy.difficulty))
        opening = set(task.belief.opening)
        for item in task.belief.items:
            table.add_row("told at once" if item.id in opening else "hidden", line(f"{item.sentence}  [{item.id}]", 2_000))
        for name, value in task.strategy.parameters.items():
            table.add_row("parameter", line(f"{name} = {value:g}"))
    else:
        table.add_row("strategy", "sealed (--reveal shows it)")
    out.print(table)


def print_run(out: Console, view: RunView) -> None:
    """The table of a run, with the notes that belong to it."""
    from finassay.grading.summary import summarise
    from finassay.grading.tables import run_table

    print_notes(out, view)
    if view.sessions:
        out.print(run_table(summarise(view)))
    else:
        out.print("no session has ended yet")
    print_spending(out, view.spending)


def print_spending(out: Console, spending: tuple[Spending, ...]) -> None:
    """What models cost; nothing where none was asked."""
    from finassay.grading.tables import spending_table

    if spending:
        out.print(spending_table(spending))


def print_notes(out: Console, view: RunView) -> None:
    """Who played and who graded, and what else belongs to the results."""
    if view.sessions:
        out.print(line(f"user played by {view.simulator or 'nobody that is recorded'}; meaning judged by {view.judge or 'nobody'}", 600))
    for note in view.notes:
        out.print(line(note, 2_000, "dim"))


def partial_words(card: Scorecard) -> str:
    """How much an incomplete grading lacks."""
    return f"{count(len(card.incomplete), 'dimension')} without a full verdict"


def is_graded(card: Scorecard | None) -> bool:
    """Whether there are verdicts; a session that ended for a reason that is not graded has none."""
    return card is not None and card.grading != "none"


def list_sessions(out: Console, view: RunView) -> None:
    """A line for each session; a quality of an incomplete grading is marked."""
    from finassay.grading.tables import OPEN, OPEN_MEANS

    print_notes(out, view)
    if not view.sessions:
        out.print("no session has ended yet")
        print_spending(out, view.spending)
        return
    table = Table("session", "end", "quality", "accepted", "vetoes failed", "incomplete", box=None)
    for session in view.sessions:
        card = session.scorecard
        name, end = line(session.id), line(session.end_reason)
        if card is None or not is_graded(card):
            table.add_row(name, end, "-", "-", Text("not graded", style="dim"))
            continue
        quality = "-" if card.quality is None else f"{card.quality:.1f}" + ("" if card.complete else OPEN)
        missing = Text("" if card.complete else partial_words(card), style="yellow")
        table.add_row(name, end, quality, "yes" if card.accepted else "no", ", ".join(card.failed_vetoes) or "none", missing)
    out.print(table)
    if any(is_graded(s.scorecard) and s.scorecard and not s.scorecard.complete for s in view.sessions):
        out.print(Text(OPEN_MEANS, style="dim"))
    print_spending(out, view.spending)


def show_session(out: Console, view: SessionView) -> None:
    """Conversation, files, and every score with its source and evidence."""
    out.rule(line(f"session {view.id}"))
    labels = {f"u{turn.turn}": turn for turn in view.user_turns}
    usage = dict(view.usage)
    for message in view.conversation.messages:
        style = "cyan" if message.sender == "user" else "green"
        title = f"{message.id} {message.sender}" + (" (cut by the clock)" if message.cut else "")
        if message.sender == "agent" and (used := usage_words(usage.get(message.turn, Usage()))):
            title += f" · {used}"
        if message.id in labels and labels[message.id].label:
            title += f" · {labels[message.id].label}"
        out.print(Panel(safe(message.text), title=line(title), title_align="left", border_style=style))
    _print_labels(out, view)
    told = (("agent", view.agent_name), ("used by the agent", view.used), ("briefing of the agent", view.briefing[:16]))
    for name, words in told:
        if words:
            out.print(line(f"{name}: {words}"))
    out.print(Text("user played by: ").append(one_line(view.simulator_name) or "not recorded", style="bold"))
    _print_end(out, view)
    _print_files(out, view)
    if view.scorecard is None or not is_graded(view.scorecard):
        out.print(_ungraded(view))
        return
    _print_scores(out, view.scorecard)


def _print_labels(out: Console, view: SessionView) -> None:
    """What the user did wrong, with the reasons: found by stated rules, for people to confirm."""
    for label in view.labels:
        for slip in label.slips:
            about = f" [{', '.join(slip.items)}]" if slip.items else ""
            out.print(line(f"u{label.turn} {slip.effect.value}: {slip.reason}{about}: {slip.quote!r}", 600, "yellow"))


def show_failed(out: Console, view: SessionView) -> None:
    """Only what went wrong: failed vetoes, levels below 3, and vetoes without a verdict."""
    out.rule(line(f"session {view.id}"))
    _print_end(out, view)
    if view.scorecard is None or not is_graded(view.scorecard):
        out.print(_ungraded(view))
        return
    _print_scores(out, view.scorecard, failed=True)


def _print_end(out: Console, view: SessionView) -> None:
    out.print(Text("ended: ").append(one_line(view.end_reason), style="bold"), line(view.end_detail, 1_000))


def _ungraded(view: SessionView) -> Text:
    return line("not graded" if view.scorecard is None else f"not graded: {view.end_reason}")


def _print_files(out: Console, view: SessionView) -> None:
    last = view.deliveries[-1] if view.deliveries else None
    files = Table("file", "bytes", "finding", title="delivered", title_justify="left", box=None)
    unread = {found.file: found.reason for found in view.scorecard.unread} if view.scorecard else {}
    for file in last.files[:MAX_FILES] if last else ():
        files.add_row(line(file.path), f"{file.size:,}", line(unread.pop(file.path, "")))
    for rejected in last.rejected[:MAX_FILES] if last else ():
        unread.pop(rejected.path, None)
        files.add_row(line(rejected.path), "", line(f"not taken: {rejected.reason}"))
    for path, reason in list(unread.items())[:MAX_FILES]:
        files.add_row(line(path or "(all files)"), "", line(reason))
    out.print(files)
    if last and len(last.files) > MAX_FILES:
        out.print(f"and {len(last.files) - MAX_FILES:,} more files")


def _print_scores(out: Console, card: Scorecard, *, failed: bool = False) -> None:
    from finassay.grading.dimensions import DIMENSIONS
    from finassay.grading.tables import session_table

    out.print(session_table(card))
    for dimension in DIMENSIONS:
        graded = card.graded(dimension.id)
        if graded is not None and (not failed or _went_wrong(dimension, graded, card)):
            _print_score(out, dimension, graded, card)
    for one in () if failed else card.reported:
        told, missing = one.graded.scored, one.graded.unscored
        found = f"{told.level}/4" if told else f"no verdict ({missing.reason if missing else ''})"
        out.print(line(f"Asked by guidance, counts for nothing: {one.graded.dimension}: {found}", 300, "bold"))
        for text in (one.question, told.reason if told else missing.detail if missing else ""):
            out.print(safe("  " + text))
    for passage in card.steering:
        out.print(line(f"Speaks to the judge in {passage.where} (costs and earns nothing): {passage.quote}", 700))


def _went_wrong(dimension: Dimension, graded: Graded, card: Scorecard) -> bool:
    low = graded.level is not None and graded.level < LOW
    return low or dimension.id in card.failed_vetoes or (dimension.veto is not None and graded.unscored is not None)


def _print_score(out: Console, dimension: Dimension, graded: Graded, card: Scorecard) -> None:
    failed = dimension.id in card.failed_vetoes
    title = f"{dimension.id} {dimension.title}" + ("  VETO FAILED" if failed else "")
    match graded.verdict:
        case Scored() as scored:
            raw = f" (judge {scored.raw_level}, bounded)" if scored.raw_level not in (None, scored.level) else ""
            style = "bold red" if failed else "bold"
            out.print(line(f"{title}: {scored.level}/4{raw}  [{scored.source.value}, {scored.by}]", style=style))
            out.print(safe("  " + scored.reason))
            if failed and dimension.to_pass:
                out.print(Text(f"  To pass: {dimension.to_pass}"))
            for text in _evidence_lines(scored.evidence):
                out.print(Text("    ").append(one_line(text, 1_000)))
        case Measured() as measured:
            shown = ", ".join(f"{name} {measure(value)}" for name, value in measured.values.items())
            out.print(line(f"{title}: {shown}", 2_000, "bold"))
        case NotApplicable() as absent:
            out.print(line(f"{title}: not applicable", style="bold"), safe(absent.reason))
        case Unscored() as unscored:
            out.print(line(f"{title}: no verdict ({unscored.reason})", style="bold yellow"), safe(unscored.detail))


def _evidence_lines(evidence: tuple[Evidence, ...]) -> Iterator[str]:
    """Each thing that was seen once, with everything that was expected of it."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for one in evidence:
        tails = groups.setdefault((one.kind.value, one.text, one.where), [])
        parts = [f"rows {', '.join(one.rows[:6])}" if one.rows else ""]
        parts += [f"expected {one.expected}" if one.expected else "", f"found {one.found}" if one.found else ""]
        tail = " · ".join(part for part in parts if part)
        if tail and tail not in tails:
            tails.append(tail)
    for (kind, text, where), tails in list(groups.items())[:MAX_EVIDENCE]:
        yield "- " + " · ".join(part for part in (f"{kind}: {text}", where, "; ".join(tails)) if part)
    if len(groups) > MAX_EVIDENCE:
        yield f"and {len(groups) - MAX_EVIDENCE} more"


def measure(value: float | str | None) -> str:
    """A measured value for people: thousands separated, three decimals at most, three digits where it is small."""
    if value is None:
        return "unknown"
    if isinstance(value, str):
        return value
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if 0 < abs(value) < 0.01:
        return f"{value:.3g}"
    return f"{value:,.3f}".rstrip("0").rstrip(".")


def show_file(folder: Any, view: SessionView, path: str) -> None:
    """A delivered file as text, bounded. Raises `UsageError` for one that was not delivered, `InvalidFileError` if its bytes are lost."""
    file = view.deliveries[-1].file(path) if view.deliveries else None
    if file is None:
        names = ", ".join(f.path for f in view.deliveries[-1].files[:10]) if view.deliveries else ""
        raise UsageError(f"{path!r} was not delivered", hint=f"Delivered: {names or 'nothing'}")
    try:
        stored = folder.blobs.path(file.sha256)
    except KeyError:
        raise InvalidFileError(f"{folder.blobs.root}: the bytes of {path!r} are not there") from None
    with open(stored, "rb") as stream:
        console().print(safe(stream.read(MAX_SHOWN).decode("utf-8", "replace"), MAX_SHOWN), soft_wrap=True)
