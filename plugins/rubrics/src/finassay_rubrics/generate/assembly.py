"""Puts an orchestrator together: guarded sources, desks that take everything down, a sandbox for scripts."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, Final

from finassay.api.errors import UsageError
from finassay.api.guidance import Guidance
from finassay.api.research import Researcher
from finassay.api.source import Source
from finassay.catalog.catalog import Catalog
from finassay.records.scratch import Scratch
from finassay.runs.build import best_sandbox
from finassay.runs.coderunner import SandboxCodeRunner
from finassay.runs.interpreter import interpreter_folders
from finassay.runs.sources import GuardedSource
from finassay_rubrics.context.contextualize import context_digest
from finassay_rubrics.generate.bounded import SECONDS, Bounded
from finassay_rubrics.generate.compose import Composer
from finassay_rubrics.generate.desk import RecordedDesk
from finassay_rubrics.generate.folder import RubricFolder
from finassay_rubrics.generate.looks import GlobalReviewer
from finassay_rubrics.generate.orchestrate import Orchestrator, Team, Told, silent
from finassay_rubrics.generate.scripts import ScriptRunner
from finassay_rubrics.generate.work import told_apart

NOTHING: Final[Mapping[str, Any]] = {}


def identities(**roles: Any) -> dict[str, Any]:
    """`ROLE_identity` of everybody who tells one: models with their families and options, digests of prompts."""
    found = {f"{role}_identity": getattr(one, "identity", None) for role, one in roles.items()}
    return {name: dict(own) for name, own in found.items() if isinstance(own, Mapping)}


@contextmanager
def script_runner() -> Iterator[ScriptRunner]:
    """Scripts in the installed sandbox that isolates most. Raises `UsageError` where none isolates files and network."""
    catalog = Catalog.installed()
    sandbox, _ = catalog.create("sandbox", best_sandbox(catalog))
    if not (sandbox.isolation.files and sandbox.isolation.network):
        raise UsageError(f"scripts need a sandbox that isolates files and network; {sandbox.id} does not", hint="Install bubblewrap.")
    with Scratch("rubric") as scratch:
        runs = SandboxCodeRunner(sandbox, interpreter_folders(), {}, scratch.path)
        try:
            yield ScriptRunner(runs)
        finally:
            runs.close()


@contextmanager
def reading_desk(cutoff: date, sources: Mapping[str, Source]) -> Iterator[RecordedDesk]:
    """A desk for who only checks: sources under the cutoff, scripts in the sandbox, nothing taken down."""
    guarded: dict[str, Any] = {name: GuardedSource(source) for name, source in sources.items()}
    with script_runner() as runner:
        yield RecordedDesk(cutoff, guarded, runner)


@contextmanager
def alone(out: Path) -> Iterator[None]:
    """Nobody else works in this folder meanwhile. Raises `UsageError`."""
    from filelock import FileLock, Timeout

    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file, no folder", hint="Choose another --out.")
    out.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(out / ".lock", timeout=0):
            yield
    except Timeout:
        raise UsageError(f"another process works on {out}", hint="Wait until it is done, or choose another --out.") from None


@contextmanager
def at_work(
    out: Path,
    context: Mapping[str, Any],
    guidance: Guidance,
    who: tuple[Researcher, Researcher | None],
    sources: Mapping[str, Source],
    *,
    validate: bool = True,
    same_family: bool = False,
    told: Told = silent,
    besides: Mapping[str, Any] = NOTHING,
    seconds: float = SECONDS,
    composer: Composer | None = None,
    global_reviewer: GlobalReviewer | None = None,
) -> Iterator[Orchestrator]:
    """An orchestrator for one rubric in `out`. Raises `UsageError` for two researchers of one family, or another rubric in `out`.

    `besides` is what else the rubric rests on, by name: other models with the digests of their prompts. It stands in `manifest.json`.
    `seconds` bounds each call of a researcher. Without a `composer` points are moved by rule, without a `global_reviewer` rules alone look
    at the whole.
    """
    writer, reviewer = who
    if not same_family:
        told_apart(writer, reviewer, global_reviewer)
    folder = RubricFolder(out)
    guarded: dict[str, Any] = {name: GuardedSource(source) for name, source in sources.items()}
    day = date.fromisoformat(str(context["cutoff"]["date"]))
    with alone(out), script_runner() as own, script_runner() as others:

        def desk(role: str) -> RecordedDesk:
            runner = others if role == "reviewer" else own
            return RecordedDesk(day, guarded, runner, lambda entry: folder.append("sources.jsonl", entry), role)

        other = Bounded(reviewer, seconds) if reviewer else None
        team = Team.checked(
            Bounded(writer, seconds),
            other,
            desk("writer"),
            desk("reviewer") if other else None,
            same_family=same_family,
            composer=composer,
            global_reviewer=global_reviewer,
            person_desk=desk("person"),
        )
        folder.claim(
            {
                "context": context_digest(context),
                "guidance": [guidance.id, guidance.version],
                "writer": [writer.id, writer.family, writer.version],
                "reviewer": [reviewer.id, reviewer.family, reviewer.version] if reviewer else None,
                "sources": sorted(sources),
                "validate": validate,
                **identities(writer=writer, reviewer=reviewer),
                **besides,
            }
        )
        yield Orchestrator(folder, context, guidance, team, validate=validate, told=told)
