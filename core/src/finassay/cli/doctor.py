"""`finassay doctor`."""

import platform
import shutil
import sys

import click


@click.command()
def doctor() -> None:
    """Say what works on this machine: Python, sandboxes, plugins, space; one line each, with a hint where something is wrong."""
    from importlib.metadata import version

    from finassay.api.errors import FinassayError
    from finassay.catalog.catalog import Catalog

    problems = 0

    def line(ok: bool, what: str, detail: str, hint: str = "") -> None:
        click.echo(
            f"{click.style('ok' if ok else '--', fg='green' if ok else 'yellow')}  {what}: {detail}"
            + (f"  ({hint})" if hint and not ok else "")
        )

    line(sys.version_info >= (3, 11), "python", f"{platform.python_version()}, finassay {version('finassay')}", "3.11 or newer is needed")
    free = shutil.disk_usage(".").free / 2**30
    line(free > 2, "disk", f"{free:.0f} GB free here", "runs keep every delivery: have a few GB")
    catalog = Catalog.installed()
    isolating = False
    for offer in catalog.offers("sandbox"):
        try:
            sandbox, _ = catalog.create("sandbox", offer.qualified)
            probe = sandbox.probe()
            isolating |= probe.ok and sandbox.isolation.files
            line(probe.ok, f"sandbox {offer.id}", probe.detail, probe.hint)
        except FinassayError as error:
            problems += 1
            line(False, f"sandbox {offer.id}", str(error), error.hint)
    if not isolating:
        line(False, "isolation", "no sandbox that hides the run's files from agents works here", "on Debian: apt-get install bubblewrap")
    for kind in ("agent", "grammar", "persona", "simulator", "judge", "check", "reader", "reporter", "channel"):
        names = [o.id for o in catalog.offers(kind)]
        line(bool(names), f"{kind}s", f"{len(names)}: {', '.join(names)}" if len(names) <= 8 else str(len(names)), "none is installed")
    for health in catalog.health():
        if health.problem:
            problems += 1
            line(False, f"{health.offer.kind} {health.offer.id}", health.problem)
    if problems:
        raise FinassayError(f"{problems} installed components cannot be used")
