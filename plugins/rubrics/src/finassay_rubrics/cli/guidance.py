"""Guidance packs by name."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from finassay.api.guidance import Guidance
    from finassay.catalog.catalog import Catalog


def guidance_of(catalog: "Catalog", names: Sequence[str]) -> "Guidance":
    """The packs put together. Raises `UsageError`."""
    from finassay_rubrics.guidance.packs import combined

    return combined([catalog.create("guidance", name)[0].guidance for name in dict.fromkeys(names)])
