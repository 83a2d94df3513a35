"""The version of the contract between the core and its plugins."""

from typing import Final

API_VERSION: Final = 1
"""Raised only when a change breaks a component that was written for the version before."""

SUPPORTED: Final = frozenset({1})
"""Versions a component may state and still be loaded by this core."""
