"""`finassay doctor`."""

import platform
import shutil
import sys
from typing import Any

import click

from finassay.cli.words import count, one_line


@click.command()
@click.option("--agents", "agents", is_flag=True, help="Only the agents: whether the program of each is there, starts, and how it is paid.")
@click.option("--models", "models", is_flag=True, help="Only the providers of chat models: whether the key of each is there.")
@click.option("--call", "call", metavar="PROVIDER/NAME", help="Make one tiny call to this model; it costs a little.")
@click.option("-o", "--option", "options", multiple=True, help="Option of the model that is called: KEY=VALUE.")
def doctor(agents: bool, models: bool, call: str | None, options: tuple[str, ...]) -> None:
    """Say what works on this machine: Python, sandboxes, plugins, space; one line each, with a hint where something is wrong."""
    from importlib.metadata import version

    from finassay.api.errors import FinassayError
    from finassay.catalog.catalog import Catalog
    from finassay.runs.build import probed

    broken: set[str] = set()

    def line(ok: bool, what: str, detail: str, hint: str = "") -> None:
        click.echo(
            f"{click.style('ok' if ok else '--', fg='green' if ok else 'yellow')}  {one_line(f'{what}: {detail}')}"
            + (f"  ({one_line(hint)})" if hint and not ok else "")
        )

    if agents:
        from finassay.cli.agents import tell_agents

        tell_agents(Catalog.installed(), line)
        return
    if models or call:
        _models(Catalog.installed(), call, options, line)
        return
    line(sys.version_info >= (3, 11), "python", f"{platform.python_version()}, finassay {version('finassay')}", "3.11 or newer is needed")
    free = shutil.disk_usage(".").free / 2**30
    line(free > 2, "disk", f"{free:.0f} GB free here", "runs keep every delivery: have a few GB")
    catalog = Catalog.installed()
    isolating = False
    for offer in catalog.offers("sandbox"):
        try:
            sandbox, _ = catalog.create("sandbox", offer.qualified)
            probe = probed(sandbox)
            isolating |= probe.ok and sandbox.isolation.files
            line(probe.ok, f"sandbox {offer.id}", probe.detail, probe.hint)
        except FinassayError as error:
            broken.add(offer.qualified)
            line(False, f"sandbox {offer.id}", str(error), error.hint)
    if not isolating:
        known = any(offer.id == "bubblewrap" for offer in catalog.offers("sandbox"))
        needed = "on Debian: apt-get install bubblewrap" if known else "install the plugin finassay-sandbox-bubblewrap"
        line(False, "isolation", "no sandbox that hides the run's files from agents works here", needed)
    for kind in ("agent", "grammar", "persona", "simulator", "judge", "check", "reader", "reporter", "channel", "gateway", "model"):
        names = [o.id for o in catalog.offers(kind)]
        line(
            bool(names), f"{kind}s", f"{len(names)}: {', '.join(names)}" if 0 < len(names) <= 8 else str(len(names) or "none is installed")
        )
    for health in catalog.health():
        if health.problem and health.offer.qualified not in broken:
            broken.add(health.offer.qualified)
            line(False, f"{health.offer.kind} {health.offer.id}", health.problem)
    if broken:
        raise FinassayError(f"{count(len(broken), 'installed component')} cannot be used")


def _models(catalog: Any, call: str | None, options: tuple[str, ...], line: Any) -> None:
    from finassay.cli.models import call_model, tell_providers
    from finassay.config.settings import parse_value

    if call is None:
        tell_providers(catalog, line)
        return
    call_model(catalog, call, {key: parse_value(value) for key, _, value in (o.partition("=") for o in options)}, line)
