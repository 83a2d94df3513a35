"""Makes the helpers beside the tests importable, and holds the runs that they look at."""

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import trap as traps

from finassay.catalog.catalog import Catalog
from finassay.records.files import remove_tree


@pytest.fixture(scope="module")
def trap():
    """Not below pytest's own folder, whose clearing up would fail at folders without end."""
    folder = Path(tempfile.mkdtemp(prefix="red-team-"))
    with ExitStack() as stack:
        stack.callback(remove_tree, folder)
        yield traps.plant(folder, stack)


@pytest.fixture(scope="session")
def works():
    """Skips where a sandbox does not work."""

    def check(name: str) -> None:
        probe = Catalog.installed().create("sandbox", name)[0].probe()
        if not probe.ok:
            pytest.skip(f"the sandbox {name!r} does not work here: {probe.detail}")

    return check
