"""Every component of this distribution against the conformance kit."""

import pytest

from finassay.catalog.catalog import Catalog
from finassay.testing.conformance import run_conformance

CATALOG = Catalog.installed()
OFFERED = [(o.kind, o.id) for o in CATALOG.offers() if o.distribution == "finassay-checks"]


def test_something_is_offered():
    assert len(OFFERED) > 40


@pytest.mark.parametrize(("kind", "name"), OFFERED, ids=lambda value: value)
def test_conforms(kind, name):
    failed = [f"{r.id}: {r.detail}" for r in run_conformance(CATALOG, kind, name) if not r.ok and r.level == "must"]
    assert not failed
