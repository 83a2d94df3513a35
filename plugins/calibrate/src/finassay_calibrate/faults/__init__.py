"""Planted faults: small functions on a clean draft, each with the dimension that must find it."""

from finassay_calibrate.faults import assessment, audit, data, figures, strategy, timing
from finassay_calibrate.faults.registry import FAULTS, Fault, plant

__all__ = ["FAULTS", "Fault", "assessment", "audit", "data", "figures", "plant", "strategy", "timing"]
