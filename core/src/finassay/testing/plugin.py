"""The pytest plugin of the wheel. Imports nothing heavy: a fixture loads what it needs when a test asks for it."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def finassay_catalog() -> Any:
    """The catalogue of what is installed in this environment."""
    from finassay.catalog.catalog import Catalog

    return Catalog.installed()


@pytest.fixture
def finassay_task() -> Any:
    """A small task made up for tests."""
    from finassay.testing.samples import sample_task

    return sample_task()


@pytest.fixture
def finassay_workspace(tmp_path: Path) -> Path:
    """An empty workspace with its `deliver` folder."""
    (tmp_path / "workspace" / "deliver").mkdir(parents=True)
    return tmp_path / "workspace"
