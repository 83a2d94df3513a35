"""`finassay doctor`."""

import platform
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from finassay.cli.findings import Findings
from finassay.cli.words import count

if TYPE_CHECKING:
    from finassay.catalog.catalog import Catalog

NEEDED: Final = ("agent", "grammar", "persona", "simulator", "judge", "check", "reader")
"""Kinds of which a run needs one."""
LITTLE_GB, FULL_GB = 2.0, 0.1
"""Free space of a disk that is getting full, and of one that holds no run any more."""


@click.command()
@click.option(
    "--agents",
    "agents",
    is_flag=True,
    help="Only the agents: whether the program of each is there, starts, and how it is paid. Exit code 1 if one that finassay.toml"
    " declares cannot be used, or one that is installed is broken.",
)
@click.option(
    "--models",
    "models",
    is_flag=True,
    help="Only the providers of chat models: whether the key of each is there. Exit code 1 if one that is installed is broken.",
)
@click.option("--call", "call", metavar="PROVIDER/NAME", help="Make one tiny call to this model; it costs a little.")
@click.option("-o", "--option", "options", multiple=True, help="Option of the model that is called: KEY=VALUE.")
def doctor(agents: bool, models: bool, call: str | None, options: tuple[str, ...]) -> None:
    """Say what works on this machine: Python, sandboxes, plugins, space; one line each, with a hint where something is wrong.

    A line begins with `ok`; with `--` where something is not here, or not set up, that only a run needs which names it; with `!!` where
    a run with the defaults and the finassay.toml of this folder would fail. With a `!!` the exit code is 1, else 0.
    """
    from finassay.catalog.catalog import Catalog

    catalog, line = Catalog.installed(), Findings()
    if agents:
        from finassay.cli.agents import tell_agents

        tell_agents(catalog, line)
        line.conclude("what finassay.toml declares, or is installed, cannot be used")
    elif models or call:
        _models(catalog, call, options, line)
    else:
        _machine(line)
        broken = _components(catalog, line)
        line.conclude(f"{count(broken, 'installed component')} cannot be used, and a run would fail" if broken else "a run would fail")


def _machine(line: Findings) -> None:
    from importlib.metadata import version

    line(
        sys.version_info >= (3, 11),
        "python",
        f"{platform.python_version()}, finassay {version('finassay')}",
        "3.11 or newer is needed",
        needed=True,
    )
    free = shutil.disk_usage(".").free / 2**30
    line(free > LITTLE_GB, "disk", f"{free:.0f} GB free here", "runs keep every delivery: have a few GB", needed=free < FULL_GB)


def _components(catalog: "Catalog", line: Findings) -> int:
    """Tell of the sandboxes, of each kind, of what is broken, and of what the settings of this folder choose; the number of broken ones."""
    health = {h.offer.qualified: h.problem for h in catalog.health() if h.problem}
    broken = _sandboxes(catalog, line)
    for kind in ("agent", "grammar", "persona", "simulator", "judge", "check", "reader", "reporter", "channel", "gateway", "model"):
        names = [o.id for o in catalog.offers(kind)]
        told = f"{len(names)}: {', '.join(names)}" if 0 < len(names) <= 8 else str(len(names) or "none is installed")
        line(bool(names), f"{kind}s", told, needed=kind in NEEDED)
    for offer in catalog.offers():
        if (problem := health.get(offer.qualified)) and offer.qualified not in broken:
            broken.add(offer.qualified)
            line(False, f"{offer.kind} {offer.id}", problem, needed=True)
    _chosen(catalog, line, broken)
    return len(broken)


def _sandboxes(catalog: "Catalog", line: Findings) -> set[str]:
    """A line for each sandbox, and for what is lacking if none works or none isolates; the broken ones."""
    from finassay.api.errors import FinassayError
    from finassay.runs.build import probed

    broken, works, isolates = set(), False, False
    for offer in catalog.offers("sandbox"):
        try:
            sandbox, _ = catalog.create("sandbox", offer.qualified)
        except FinassayError as error:
            broken.add(offer.qualified)
            line(False, f"sandbox {offer.id}", str(error), error.hint, needed=True)
            continue
        probe = probed(sandbox)
        works |= probe.ok
        isolates |= probe.ok and sandbox.isolation.files
        line(probe.ok, f"sandbox {offer.id}", probe.detail, probe.hint)
    if not isolates:
        known = any(offer.id == "bubblewrap" for offer in catalog.offers("sandbox"))
        hint = "on Debian: apt-get install bubblewrap" if known else "install the plugin finassay-sandbox-bubblewrap"
        said = "no sandbox that hides the run's files from agents works here"
        line(False, "isolation", said + ("; runs say so on every result" if works else "; none works at all"), hint, needed=not works)
    return broken


def _chosen(catalog: "Catalog", line: Findings, broken: set[str]) -> None:
    """What the settings of this folder, or the defaults, choose and is not there, or takes other options. Broken ones were told."""
    from finassay.api.errors import FinassayError
    from finassay.config.settings import configured_agents, load_settings

    try:
        declared = configured_agents(Path.cwd())
        run = load_settings({} if declared else {"agents": {"none": {"id": "none"}}}, folder=Path.cwd()).run
    except FinassayError as error:
        line(False, "settings", str(error), error.hint, needed=True)
        return
    chosen = [(kind, "", getattr(run, kind)) for kind in ("simulator", "judge", "reader") if getattr(run, kind).id != "none"]
    chosen += [("sandbox", "", run.sandbox)] if run.sandbox.id != "auto" else []
    chosen += [("agent", alias, choice) for alias, choice in declared.items()]
    chosen += [("channel", alias, choice) for alias, choice in run.channels.items()]
    for kind, alias, choice in chosen:
        if not catalog.offers(kind):
            continue  # that none is installed was told
        try:
            offer = catalog.find(kind, choice.id)
            if offer.qualified not in broken:
                catalog.options(offer, catalog.factory(offer), choice.options, alias)
        except FinassayError as error:
            line(False, f"{kind} {alias or choice.id}", str(error), error.hint, needed=True)


def _models(catalog: "Catalog", call: str | None, options: tuple[str, ...], line: Findings) -> None:
    from finassay.cli.models import call_model, tell_providers
    from finassay.config.settings import parse_value

    if call is None:
        tell_providers(catalog, line)
        line.conclude("an installed provider cannot be used")
        return
    call_model(catalog, call, {key: parse_value(value) for key, _, value in (o.partition("=") for o in options)}, line)
