"""The sandbox `landlock` against the conformance kit, and what is its own."""

import pytest

from finassay.testing.cases import ComponentConformance
from finassay_sandbox_landlock.sandbox import LandlockOptions, LandlockSandbox

WORKS = LandlockSandbox(LandlockOptions()).probe()
needs_landlock = pytest.mark.skipif(not WORKS.ok, reason=f"Landlock does not work here: {WORKS.detail}")


@needs_landlock
class TestConformance(ComponentConformance):
    kind = "sandbox"
    id = "landlock"
