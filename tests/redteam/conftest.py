"""Makes the helpers beside the tests importable, and holds the runs that they look at."""

import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import trap as traps

from finassay.catalog.catalog import Catalog


@pytest.fixture(scope="module")
def trap(tmp_path_factory):
    with ExitStack() as stack:
        yield traps.plant(tmp_path_factory.mktemp("trap"), stack)


@pytest.fixture(scope="session")
def works():
    """Skips where a sandbox does not work."""

    def check(name: str) -> None:
        probe = Catalog.installed().create("sandbox", name)[0].probe()
        if not probe.ok:
            pytest.skip(f"the sandbox {name!r} does not work here: {probe.detail}")

    return check
