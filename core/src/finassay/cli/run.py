"""`finassay run`."""

import shlex
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from finassay.api.errors import BudgetError, NothingGradedError, ProviderRefusedError, UsageError
from finassay.cli.words import one_line


@click.command()
@click.option("--agent", "agents", multiple=True, help="Agent to run, as ID or ALIAS=ID; repeat for several.")
@click.option("--tasks", "tasks_path", type=click.Path(path_type=Path), help="Folder of task files, or one file.")
@click.option("--sessions", type=int, help="Independent sessions for each agent and task.  [default: 1]")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Run folder; an existing one is resumed.")
@click.option("--simulator", help="Who plays the user.  [default: policy]")
@click.option("--judge", help="Who grades meaning; 'none' leaves it ungraded.  [default: lexical]")
@click.option("--guidance", multiple=True, help="Guidance pack that adds to what the judge is told and asked; repeat for several.")
@click.option("--sandbox", help="Where agents run.  [default: the one that isolates most]")
@click.option("--jobs", type=int, help="Sessions held at the same time.  [default: one for each processor]")
@click.option("--seed", type=int, help="Seed of the simulated user's wording.")
@click.option("--turns", "max_turns", type=int, help="Overrides T of the tasks.")
@click.option("--seconds", "turn_seconds", type=float, help="Overrides Δ of the tasks.")
@click.option("--grade/--no-grade", "grade", default=None, help="Grade each session when it ends.  [default: grade]")
@click.option("-o", "--option", "options", multiple=True, help="Option of a component: NAME.KEY=VALUE.")
@click.option(
    "--budget",
    "budget_usd",
    type=click.FloatRange(min=0, min_open=True),
    help="Dollars that the run may cost; it then stops and can be gone on with.",
)
@click.option(
    "--session-budget",
    "session_budget_usd",
    type=click.FloatRange(min=0, min_open=True),
    help="Dollars that one session may cost, grading included.",
)
@click.option("--dry-run", is_flag=True, help="Print what would be done with each session, and stop.")
def run(agents: tuple[str, ...], tasks_path: Path | None, out: Path, options: tuple[str, ...], dry_run: bool, **flags: Any) -> None:
    """Hold sessions between agents and the simulated user, record and grade them. The same command resumes a stopped run."""
    from finassay.catalog.catalog import Catalog
    from finassay.cli.render import console
    from finassay.config.settings import load_settings
    from finassay.hooks.dispatch import Observers
    from finassay.records.tasks import read_tasks
    from finassay.runs.build import build
    from finassay.runs.execute import Runner
    from finassay.runs.folder import RunFolder

    flags = {**flags, "guidance": flags["guidance"] or None, **chosen(agents, options, flags)}
    settings = load_settings(flags, folder=Path.cwd())
    folder = RunFolder(out)
    if tasks_path is None and not folder.exists():
        raise UsageError("no tasks were named", hint="Name a folder with --tasks; make one with: finassay tasks sample")
    tasks = {t.id: t for t in read_tasks(tasks_path)} if tasks_path else folder.tasks()
    built = build(Catalog.installed(), settings.run, tuple(tasks.values()), out)
    observers = Observers()
    runner = Runner(folder, settings.run, tasks, built, observers)
    if dry_run:
        for planned in runner.plan():
            click.echo(one_line(f"{planned.key.id:50} {planned.step:8} {planned.reason}"))
        return
    with folder.locked():
        plan = runner.plan()
        folder.write_tasks(tuple(runner.tasks.values()))
        folder.write_manifest(_manifest(folder, settings, built, plan))
        observers.call("finassay_run_started", run=str(out), sessions=len(plan))
        ungraded = _hold_and_grade(folder, settings.run, runner, plan, observers)
        _finish(folder, observers)
        try:
            _print_result(console(), folder, plan, graded=settings.run.grade)
        finally:
            raise_unfinished({**runner.left, **ungraded})


def chosen(agents: tuple[str, ...], options: tuple[str, ...], flags: dict[str, Any]) -> dict[str, Any]:
    """Components named on the command line, with their options. Raises `UsageError` for an option of something not named."""
    from finassay.config.settings import configured_agents, parse_options

    given = parse_options(options)
    found: dict[str, Any] = {}
    declared = configured_agents(Path.cwd()) if agents else {}
    if agents:
        pairs = [(alias, name) if sep else (alias.rpartition(":")[2], alias) for alias, sep, name in (a.partition("=") for a in agents)]
        if len({alias for alias, _ in pairs}) < len(pairs):
            raise UsageError("two agents have one alias", hint="Give each its own: --agent first=ID --agent second=ID")
        found["agents"] = {alias: _agent_choice(alias, name, declared, given.pop(alias, {})) for alias, name in pairs}
    for kind in ("simulator", "judge", "sandbox", "gateway"):
        if flags.get(kind) or kind in given:
            name = flags.get(kind) or {"simulator": "policy", "judge": "lexical", "sandbox": "auto", "gateway": "standard"}[kind]
            found[kind] = {"id": name, "options": given.pop(kind, {})}
    if given:
        raise UsageError(
            f"option for {next(iter(given))!r}, which is not part of the run",
            hint="NAME is an agent's alias, simulator, judge, sandbox or gateway.",
        )
    return found


def _agent_choice(alias: str, name: str, declared: Any, options: dict[str, Any]) -> dict[str, Any]:
    """An agent named on the command line: one that `finassay.toml` declares under that alias, with its options, else the installed one."""
    own = declared.get(name)
    if own is None:
        return {"id": name, "options": options}
    return {"id": own.id, "options": {**own.options, **options}}


def _manifest(folder: Any, settings: Any, built: Any, plan: list[Any]) -> dict[str, Any]:
    old = folder.manifest() if folder.exists() else {}
    planned = dict.fromkeys([*old.get("planned", []), *(p.key.id for p in plan)])
    agents = {**old.get("settings", {}).get("agents", {}), **settings.run.model_dump(mode="json")["agents"]}
    return {
        "created": old.get("created") or datetime.now(UTC).isoformat(timespec="seconds"),
        "settings": {**settings.run.model_dump(mode="json"), "agents": agents},
        "origins": dict(settings.origins),
        "versions": {**old.get("versions", {}), **versions(built.origins)},
        "muted": old.get("muted", {}),
        "planned": list(planned),  # a stopped run can then say what it has not held
    }


def versions(origins: Any) -> dict[str, str]:
    """Distribution to version of the core and of everything that takes part."""
    from importlib.metadata import version

    return {"finassay": version("finassay"), **{o.distribution: o.version for o in origins}}


def raise_unfinished(left: dict[Any, Exception]) -> None:
    """Say what could not go on. Raises `BudgetError` if money was the reason, `UnfinishedError` if a provider was."""
    from finassay.api.errors import UnfinishedError
    from finassay.cli.words import count

    if not left:
        return
    named = ", ".join(key.id for key in list(left)[:8]) + (f" and {len(left) - 8} more" if len(left) > 8 else "")
    spent = next((reason for reason in left.values() if isinstance(reason, BudgetError)), None)
    if spent is not None:
        raise BudgetError(f"{spent}; not finished: {count(len(left), 'session')} ({named})", hint=spent.hint)
    refused = [reason for reason in left.values() if isinstance(reason, ProviderRefusedError)]
    reason = next(iter([*refused, *left.values()]))
    raise UnfinishedError(f"{count(len(left), 'session')} could not go on ({named}): {reason}", hint=_going_on(reason))


def _going_on(reason: Exception) -> str:
    """What to do about a session that waits: what the one who failed says, and that the command goes on."""
    own = getattr(reason, "hint", "")
    if "same command goes on" in own:
        return str(own)
    refused = isinstance(reason, ProviderRefusedError)
    then = "With that mended, the same command goes on." if refused else "When the provider answers, the same command goes on."
    return f"{own} {then}".strip()


def _hold_and_grade(folder: Any, settings: Any, runner: Any, plan: list[Any], observers: Any) -> dict[Any, Exception]:
    """Sessions in threads, their gradings in processes; interrupting gives up the turns and gradings in progress.

    Returns the sessions that were not graded because the money was spent, or not in whole because the judge's models were away. A session
    whose last grading lacks its judge is graded again; what was answered is not asked again.
    """
    from finassay.cli.progress import RunProgress
    from finassay.runs.grade import grading_pool, lacks_its_judge, scorecards, stop_children, unreached

    stop = threading.Event()
    waiting: dict[Any, Any] = {}
    ungraded: dict[Any, Exception] = {}
    live = not getattr(runner.built.simulator, "uses_terminal", False)
    with RunProgress(len(plan), live=live) as progress, _pool_or_none(folder, settings, grading_pool) as submit:
        runner.built.models.waits = progress.waits

        def after(key: Any) -> None:
            if submit is None:
                return
            cards = scorecards(folder, key)
            if not cards or lacks_its_judge(cards[0]):
                waiting[key] = progress.grading(key, submit(key))

        try:
            runner.run(plan, progress.callbacks(), after, stop)
            for key, future in waiting.items():
                try:
                    card = future.result()
                except Exception as error:  # a grading that fails never stops the rest
                    if isinstance(error, BudgetError):
                        ungraded[key] = error
                    progress.problem(key, f"not graded: {type(error).__name__}: {error}")
                    continue
                observers.call("finassay_session_graded", session=key.id, scorecard=card)
                progress.graded(key, card)
                if (lacking := unreached(card)) is not None:
                    ungraded[key] = lacking
            # Only now, so that all sessions of a run begin with what their agents knew before it.
            for planned in plan if submit is not None else ():
                with progress.learning(planned.key):
                    learnt = runner.learn(planned.key)
                if learnt:
                    progress.problem(planned.key, learnt)
        except KeyboardInterrupt:
            stop.set()
            stop_children()
            click.echo("stopped; the same command goes on where it was", err=True)
            raise SystemExit(130) from None
    return ungraded


@contextmanager
def _pool_or_none(folder: Any, settings: Any, grading_pool: Any) -> Iterator[Any]:
    import os

    if not settings.grade:
        yield None
        return
    with grading_pool(folder.root, settings, settings.jobs or os.cpu_count() or 1) as submit:
        yield submit


def _finish(folder: Any, observers: Any) -> None:
    from finassay.runs.view import run_view

    observers.call("finassay_run_finished", run=run_view(folder))
    if observers.muted:
        manifest = folder.manifest()
        folder.write_manifest(
            {**{k: v for k, v in manifest.items() if k not in ("kind", "schema_version")}, "muted": dict(observers.muted)}
        )


def _refuse_void(sessions: list[Any], wanted: int, played_by_model: bool) -> None:
    """Raises `NothingGradedError` if sessions were held, all of those that were asked for, and none of them counts."""
    if not sessions or len(sessions) < wanted or any(s.valid for s in sessions):
        return
    last = sessions[-1]
    played = played_by_model and all(s.end_reason == "simulator_void" for s in sessions)
    raise NothingGradedError(
        f"no session counts ({wanted} held): {last.end_reason}" + (f": {last.end_detail}" if last.end_detail else ""),
        hint="The simulated user made no valid decision: take another model for it (-o simulator.model=PROVIDER/NAME) and another --out."
        if played
        else "Their lines above say how each ended.",
    )


def _print_result(out: Any, folder: Any, plan: list[Any], *, graded: bool) -> None:
    """The table. Raises `NothingGradedError` if grading was wanted and no session of the plan has verdicts."""
    from finassay.cli.render import is_graded, print_run
    from finassay.cli.words import count
    from finassay.runs.view import run_view

    view = run_view(folder)
    print_run(out, view)
    click.echo(one_line(f"Page and details: finassay report {shlex.quote(str(folder.root))}"))
    wanted = {planned.key.id for planned in plan}
    played_by_model = any(s.role == "simulator" for s in view.spending)
    _refuse_void([s for s in view.sessions if s.id in wanted], len(wanted), played_by_model)
    if graded and wanted and not any(is_graded(s.scorecard) for s in view.sessions if s.id in wanted):
        raise NothingGradedError(
            f"no session could be graded ({count(len(wanted), 'session')} tried)", hint="Their lines above say how each ended."
        )
